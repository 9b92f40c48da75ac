//! Where threads wait that were asleep when the recording began.
//!
//! A thread that never runs while it is recorded (an idle pool's) makes no record at all, and its
//! whole time would be without a reason. Root may read its kernel stack from /proc; it becomes a
//! switch out at the recording's start, as if that had been seen. A thread whose first record says
//! that it was on a CPU was not asleep then, and what was read is dropped.

use culprit_place::procfs::{self, State};

use crate::decode::Task;
use crate::modules::kernel_pid;

/// A thread that waited when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asleep {
    /// The CPU that it ran on last.
    pub(crate) cpu: u32,
    /// Kernel functions, innermost first, each with its module; empty where we may not look.
    pub(crate) functions: Vec<(Option<String>, String)>,
}

/// Looks at a thread; none when it runs, is ready, or is gone.
pub(crate) fn look(task: Task) -> Option<Asleep> {
    let tid = culprit_model::Tid(kernel_pid(task.tid).0);
    let stat = procfs::thread_stat(kernel_pid(task.pid), tid).ok()?;
    if !matches!(stat.state, State::Sleeping | State::Uninterruptible | State::Stopped) {
        return None;
    }
    let folder = format!("/proc/{}/task/{}", task.pid, task.tid);
    let stack = std::fs::read_to_string(format!("{folder}/stack")).unwrap_or_default();
    let line = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    Some(Asleep { cpu: last_cpu(&line)?, functions: parse_stack(&stack) })
}

/// Field 39 of proc_pid_stat(5), counted behind the name, which may hold anything.
fn last_cpu(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
}

/// `[<0>] futex_do_wait+0x3b/0x60`, for a module's function with ` [ext4]` behind it.
fn parse_stack(text: &str) -> Vec<(Option<String>, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("[<0>] "));
    let parsed = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let function = words.next()?.split('+').next()?;
        let module = words.next().map(|word| word.trim_matches(['[', ']']).to_owned());
        Some((module, function.to_owned()))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_proc_is_names_with_their_modules() {
        let text = "[<0>] futex_do_wait+0x3b/0x60\n[<0>] ext4_read+0x1/0x2 [ext4]\n";
        let expected = vec![
            (None, "futex_do_wait".to_owned()),
            (Some("ext4".to_owned()), "ext4_read".to_owned()),
        ];
        assert_eq!(parse_stack(text), expected);
    }

    #[test]
    fn the_last_cpu_is_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let line = format!("7 (a) b (c)) {}", fields.join(" "));
        assert_eq!(last_cpu(&line), Some(39));
    }
}
