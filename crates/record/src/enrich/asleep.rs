//! Where threads wait that were asleep when the recording began, or when their process joined it.
//!
//! ```text
//! start     /proc, the kernel: where each waits, its registers, the top of its stack
//! worker    what is mapped -> unwound; the frames of a JVM once it is known what they look like
//! switch in later than the look: what was seen is the stack of the wait
//! ```
//!
//! A thread that never runs while it is recorded (an idle pool's) makes no record at all, and its whole time
//! would be without a reason. What is seen of it becomes a switch out at the recording's start. A thread whose
//! first record says that it was on a CPU was not asleep then, and what was seen is dropped. One that came to a
//! CPU before it was looked at may have waited elsewhere then: of it the kernel's functions are kept only.

mod kernel_types;
mod registers;

use std::collections::BTreeMap;

use culprit_kernel::Task;
use culprit_model::{LossKind, ThreadId, Tid, Time};
use culprit_place::procfs::{self, State};
use culprit_symbols::{Avma, Outcome, Registers, StackDump, Truncation};

use crate::clock::monotonic_ns;
use crate::enrich::interpreters::is_jvm;
use crate::enrich::managed::ManagedCode;
use crate::events::handle::{Handler, why_cut};
use crate::events::space::SpaceId;
use crate::events::waiting::{MOST_BYTES, read_stack};
use crate::symbolize::modules::kernel_pid;
pub(crate) use registers::RegistersReader;

/// Bytes of each stack that are read at first; where that is not all, it is read again.
const FIRST_BYTES: usize = 12 << 10;
/// Bytes that are kept of all stacks together: of some 5000 threads.
const MOST_KEPT: usize = 64 << 20;
/// Stacks that are read deeper than that at most: 64 MiB.
const MOST_DEEP: usize = 256;
/// So often a stack is unwound anew when more of a JVM's code is known. All of it is listed in some ten rounds.
const MOST_TRIES: u32 = 32;

/// What the loss table says of stacks beyond [`MOST_KEPT`].
const TOO_MANY: &str =
    "threads that waited already: there were too many to read all of their stacks";
/// And of those that could not be read.
const UNREADABLE: &str = "threads that waited already: their memory could not be read";
/// And of threads that ran before anybody could look.
const RAN: &str = "threads that waited already ran before their stacks were read";

/// A thread that waited when it was looked at.
#[derive(Debug)]
struct Looked {
    task: Task,
    /// The CPU that it ran on last.
    cpu: u32,
    /// Kernel functions, innermost first, each with its module; empty where we may not look.
    functions: Vec<(Option<String>, String)>,
    registers: Option<Registers>,
    /// Its stack, from the stack pointer on; empty where it could not be read.
    stack: Vec<u8>,
    /// When all of this was known (`CLOCK_MONOTONIC`, ns).
    at: u64,
}

/// The threads that waited when they were looked at.
#[derive(Debug, Default)]
pub(crate) struct Asleep {
    threads: Vec<Looked>,
    /// Of so many, the stack was not read.
    left_out: u64,
    /// Why only some registers are known.
    few_registers: Option<String>,
}

impl Asleep {
    /// Looks at threads, a moment after the events were started. Some 50 us a thread.
    pub(crate) fn look(
        tasks: impl Iterator<Item = Task>,
        reader: Option<&RegistersReader>,
    ) -> Self {
        let registers = reader.map(RegistersReader::read).unwrap_or_default();
        let mut found = Self::default();
        let mut kept = 0;
        for task in tasks {
            let Some(mut looked) = look(task) else { continue };
            looked.registers = registers.of(task);
            let base = looked.registers.and_then(|registers| registers.stack_pointer());
            match base {
                Some(base) if kept < MOST_KEPT => {
                    looked.stack = read_stack(task.pid, base, FIRST_BYTES);
                    kept += looked.stack.len();
                }
                Some(_) => found.left_out += 1,
                None => {}
            }
            looked.at = monotonic_ns();
            found.threads.push(looked);
        }
        found.few_registers = registers.missing;
        found
    }
}

/// Looks at a thread; none when it runs, is ready, or is gone.
fn look(task: Task) -> Option<Looked> {
    let tid = Tid(kernel_pid(task.tid).0);
    let stat = procfs::thread_stat(kernel_pid(task.pid), tid).ok()?;
    if !matches!(stat.state, State::Sleeping | State::Uninterruptible | State::Stopped) {
        return None;
    }
    let folder = format!("/proc/{}/task/{}", task.pid, task.tid);
    let stack = std::fs::read_to_string(format!("{folder}/stack")).unwrap_or_default();
    let line = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    let (cpu, functions) = (last_cpu(&line)?, parse_stack(&stack));
    Some(Looked { task, cpu, functions, registers: None, stack: Vec::new(), at: 0 })
}

/// A thread that was asleep when the recording began, or when it joined that later.
#[derive(Debug)]
pub(crate) struct Sleeper {
    looked: Looked,
    /// Its wait is known from here on.
    since: Time,
    /// Its user frames, innermost first, and the space that they belong to.
    user: Option<(SpaceId, Vec<u64>)>,
    /// Why there are no more of them.
    cut: Option<String>,
    /// More cannot become known of its frames.
    settled: bool,
    /// How often its process's code had been told of when it was last unwound, and how often it was.
    told: u32,
    tries: u32,
    /// When it woke, or the recording ended.
    woke: Option<Time>,
}

impl Sleeper {
    fn new(looked: Looked, since: Time) -> Self {
        let (user, cut, woke) = (None, None, None);
        Self { looked, since, user, cut, settled: false, told: 0, tries: 0, woke }
    }
}

/// Threads that were asleep when the recording began and have no row of it yet.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    threads: BTreeMap<ThreadId, Sleeper>,
    /// Why only some of their registers are known.
    few_registers: Option<String>,
    /// So many stacks were read deeper.
    deep: usize,
}

impl Sleepers {
    /// A thread was on a CPU when the recording began.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        self.threads.remove(&thread);
    }
}

/// What becomes a row of the switches table.
#[derive(Debug)]
pub(crate) struct SleeperRow {
    /// Who waits.
    pub(crate) thread: ThreadId,
    /// From when.
    pub(crate) since: Time,
    /// The CPU that it had left.
    pub(crate) cpu: u32,
    /// The kernel's functions, innermost first.
    pub(crate) functions: Vec<(Option<String>, String)>,
    /// The program's, as words of a chain.
    pub(crate) user: Option<(SpaceId, Vec<u64>)>,
}

impl Handler {
    /// Takes in who was asleep when events began to see them, without those that they have seen already. Their
    /// processes and what those map are known.
    pub(crate) fn adopt_sleepers(&mut self, asleep: Asleep, since: Time) {
        self.ledger.at(LossKind::StacksTruncated, TOO_MANY, asleep.left_out, since);
        if asleep.few_registers.is_some() {
            self.sleepers.few_registers = asleep.few_registers;
        }
        for looked in asleep.threads {
            let Some(thread) = self.tracker.recorded(looked.task.tid) else { continue };
            let state = self.tracker.state(thread);
            if state.switched > since {
                continue;
            }
            state.asleep = true;
            let mut sleeper = Sleeper::new(looked, since);
            self.unwind_sleeper(thread, &mut sleeper);
            self.sleepers.threads.insert(thread, sleeper);
        }
    }

    /// A thread that was asleep came to a CPU.
    pub(crate) fn sleeper_woke(&mut self, thread: ThreadId, time: Time) {
        let Some(mut sleeper) = self.sleepers.threads.remove(&thread) else { return };
        sleeper.woke = Some(time);
        // Its process may be about to end.
        self.unwind_sleeper(thread, &mut sleeper);
        self.sleepers.threads.insert(thread, sleeper);
    }

    /// Unwinds those anew of whose processes more code is known.
    pub(crate) fn settle_sleepers(&mut self) {
        self.unwind_sleepers(|sleeper, managed| {
            let told = managed.times_told(sleeper.looked.task.pid);
            told != sleeper.told && sleeper.tries < MOST_TRIES
        });
    }

    /// A process ends, or executes another program: no more becomes known of its code.
    pub(crate) fn settle_process(&mut self, pid: i32) {
        for thread in self.unwind_sleepers(|sleeper, _| sleeper.looked.task.pid == pid) {
            if let Some(sleeper) = self.sleepers.threads.get_mut(&thread) {
                sleeper.settled = true;
            }
        }
    }

    /// The recording ends: who did not wake has waited until now.
    pub(crate) fn end_sleepers(&mut self) {
        self.unwind_sleepers(|_, _| true);
        for sleeper in self.sleepers.threads.values_mut() {
            sleeper.settled = true;
            sleeper.woke.get_or_insert(Time(u64::MAX));
        }
    }

    /// Unwinds those that may have more frames, and are chosen; answers which.
    fn unwind_sleepers(
        &mut self,
        chosen: impl Fn(&Sleeper, &ManagedCode) -> bool,
    ) -> Vec<ThreadId> {
        let open = |sleeper: &Sleeper| !sleeper.settled && chosen(sleeper, &self.managed);
        let open = self.sleepers.threads.iter().filter(|(_, sleeper)| open(sleeper));
        let threads: Vec<ThreadId> = open.map(|(thread, _)| *thread).collect();
        for thread in &threads {
            if let Some(mut sleeper) = self.sleepers.threads.remove(thread) {
                self.unwind_sleeper(*thread, &mut sleeper);
                self.sleepers.threads.insert(*thread, sleeper);
            }
        }
        threads
    }

    fn unwind_sleeper(&mut self, thread: ThreadId, sleeper: &mut Sleeper) {
        let space = self.tracker.space(thread);
        // Threads of the kernel have no code of their own.
        let registers = sleeper.looked.registers.filter(|_| self.spaces.has_code(space));
        let base = registers.and_then(|registers| registers.stack_pointer());
        let (Some(registers), Some(base), false) = (registers, base, sleeper.settled) else {
            sleeper.settled = true;
            return;
        };
        let pid = sleeper.looked.task.pid;
        let mut modules = self.spaces.modules(space).into_iter();
        let is_read = modules.any(|id| is_jvm(&self.modules.rows()[id.index()].path));
        let mut outcome = self.unwind_looked(thread, registers, &sleeper.looked);
        let is_short = matches!(outcome, Outcome::Truncated(Truncation::StackEnd { .. }));
        // Where frames are still to be known, nobody knows yet how deep they are.
        if (is_short || is_read) && self.may_read_deeper(sleeper) {
            self.sleepers.deep += 1;
            sleeper.looked.stack = read_stack(pid, base, MOST_BYTES);
            sleeper.looked.at = monotonic_ns();
            outcome = self.unwind_looked(thread, registers, &sleeper.looked);
        }
        sleeper.cut = match outcome {
            Outcome::Complete => None,
            Outcome::Truncated(_) if sleeper.looked.stack.is_empty() => Some(UNREADABLE.to_owned()),
            Outcome::Truncated(reason) => Some(self.why_sleeper_cut(reason)),
        };
        let mut frames = self.unwound.iter();
        let unknown = frames.any(|frame| self.is_unknown((pid, space), frame.lookup()));
        sleeper.settled = !is_read || (outcome == Outcome::Complete && !unknown);
        (sleeper.told, sleeper.tries) = (self.managed.times_told(pid), sleeper.tries + 1);
        sleeper.user = Some((space, self.user_chain(pid, thread)));
        if sleeper.settled {
            sleeper.looked.stack = Vec::new();
        }
    }

    /// Whether a thread that still waits has more of a stack than was read.
    fn may_read_deeper(&self, sleeper: &Sleeper) -> bool {
        sleeper.woke.is_none()
            && sleeper.looked.stack.len() == FIRST_BYTES
            && self.sleepers.deep < MOST_DEEP
    }

    fn unwind_looked(
        &mut self,
        thread: ThreadId,
        registers: Registers,
        looked: &Looked,
    ) -> Outcome {
        let base = Avma(registers.stack_pointer().unwrap_or_default());
        let dump = StackDump { base, bytes: &looked.stack };
        self.unwind((looked.task.pid, thread), registers, dump)
    }

    fn why_sleeper_cut(&self, reason: Truncation) -> String {
        match (&self.sleepers.few_registers, reason) {
            (Some(why), Truncation::RegisterUnknown { .. }) => format!("{reason}: {why}"),
            _ => why_cut(reason),
        }
    }

    /// Whether an address is in generated code that was not told of.
    fn is_unknown(&self, (pid, space): (i32, SpaceId), address: Avma) -> bool {
        let map = self.spaces.find(space, address.0);
        map.is_some_and(|map| self.modules.is_generated(map.module))
            && !self.managed.knows(pid, address)
    }

    /// Those whose wait is over and of whose frames no more becomes known.
    pub(crate) fn take_sleepers(&mut self) -> Vec<SleeperRow> {
        let mut rows = Vec::new();
        let is_over = |sleeper: &Sleeper| sleeper.settled && sleeper.woke.is_some();
        let over = self.sleepers.threads.extract_if(.., |_, sleeper| is_over(sleeper));
        for (thread, sleeper) in over {
            let Sleeper { looked, since, mut user, cut, woke, .. } = sleeper;
            let at = Time(looked.at.saturating_sub(self.context.start));
            let ran = user.is_some() && woke.is_some_and(|woke| woke <= at);
            let lost = if ran { Some(RAN) } else { cut.as_deref() };
            if let Some(why) = lost {
                self.ledger.at(LossKind::StacksTruncated, why, 1, since);
            }
            user = user.filter(|_| !ran);
            let Looked { cpu, functions, .. } = looked;
            rows.push(SleeperRow { thread, since, cpu, functions, user });
        }
        rows
    }
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
