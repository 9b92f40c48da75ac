//! Which thread ended each process.
//!
//! `exit_group` kills every thread of a process. Whichever of them runs last tears the memory down
//! (`do_exit`, `exit_mm`, `exit_mmap` in kernel/exit.c and mm/mmap.c), often long after the program
//! is over: when that thread ended says nothing of what the program did.
//!
//! ```text
//! main    UUUUUUUUUE|             E calls exit_group
//! helper  llllllllllrrrXXXX|      X killed: it frees the memory that all of them used
//! ```

use std::collections::BTreeMap;

use culprit_model::{Nanos, ProcessId, Recording, StackId, ThreadId, Time};

use super::askers::{asker, killers};
use super::lives::end;
use super::sites::WaitSites;
use crate::causes::KERNEL_MODULE;
use crate::names::{Family, kernel};

/// A child's exit record and its parent's wakeup are this close, where no waker tells: both happen
/// inside one `do_exit` of the child.
const EXIT_TO_WAKEUP: Nanos = Nanos(1_000_000);

/// A first thread whose others lived on this long after its end left them to finish. Threads that
/// are killed when a process exits get no further than that.
pub(super) const LEFT_BEHIND: Nanos = Nanos(50_000_000);

/// The thread that ended each process.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    threads: Vec<Option<ThreadId>>,
    /// Whether a thread ends at each stack.
    dying: Vec<bool>,
    /// The processes that each process started and that ended, in the order of their ends.
    children: BTreeMap<ProcessId, Vec<(Time, ProcessId)>>,
}

impl Ends {
    /// Finds them. Linear in intervals, given where each thread's rows begin.
    pub(super) fn of(recording: &Recording, begins: &[usize]) -> Self {
        let in_family =
            |wanted: Family| with_any(recording, true, |name| kernel(name).families.has(wanted));
        let (ends_all, dying) = (in_family(Family::EndsProcess), in_family(Family::Ends));
        let is_at = |stacks: &[bool], stack: Option<StackId>| {
            stack.is_some_and(|s| stacks.get(s.index()).copied().unwrap_or(false))
        };
        let mut lived: Vec<Option<(ThreadId, Time)>> = vec![None; recording.processes.len()];
        let mut first = vec![None; recording.processes.len()];
        let mut called = vec![None; recording.processes.len()];
        for (at, thread) in recording.threads.iter().enumerate() {
            let id = ThreadId::from_index(at);
            let rows = &recording.intervals[begins[at]..begins[at + 1]];
            let process = thread.process.index();
            if rows.is_empty() || process >= lived.len() {
                continue;
            }
            // A thread that was killed becomes ready, and then dies.
            let last = rows.iter().rfind(|r| !r.cause.is_runnable() && !is_at(&dying, r.stack));
            let until = last.map_or(rows[0].start, end);
            if lived[process].is_none_or(|(_, longest)| until > longest) {
                lived[process] = Some((id, until));
            }
            if thread.tid.0 == recording.processes[process].pid.0 && first[process].is_none() {
                first[process] = Some((id, until));
            }
            let dead = rows.iter().rev().take_while(|r| is_at(&dying, r.stack));
            if dead.into_iter().any(|r| is_at(&ends_all, r.stack)) {
                called[process] = Some(id);
            }
        }
        let killers = killers(recording, begins);
        let mut sites = WaitSites::new(recording);
        let mut of_process = |at: usize| {
            let (longest, until) = lived[at]?;
            let leader = first[at].map(|(thread, _)| thread);
            let serving = called[at].or(killers[at]).filter(|ender| Some(*ender) != leader);
            let asked = serving.and_then(|ender| asker(recording, begins, &mut sites, ender));
            let stayed = |(_, own): &(ThreadId, Time)| until.since(*own) <= LEFT_BEHIND;
            let first = first[at].filter(stayed).map(|(thread, _)| thread);
            Some(asked.or(called[at]).or(first).unwrap_or(longest))
        };
        let threads = (0..lived.len()).map(&mut of_process).collect();
        Self { threads, dying, children: children(recording) }
    }

    /// The thread that ended the child process for which a process waited from one time to another: the
    /// latest child that ended in it. On a busy machine its parent may be told milliseconds after its last
    /// thread has gone; so long after it, only a process without another child can have waited for it.
    pub(super) fn child(
        &self,
        recording: &Recording,
        parent: ProcessId,
        (from, to): (Time, Time),
    ) -> Option<ThreadId> {
        let children = self.children.get(&parent)?;
        let at = children.partition_point(|(ended, _)| *ended <= to).checked_sub(1)?;
        let (ended, child) = children[at];
        let lives_on = |process: &culprit_model::Process| {
            process.parent == Some(parent)
                && process.start < to
                && process.end.is_none_or(|end| end > to)
        };
        let at_once = to.since(ended) <= EXIT_TO_WAKEUP;
        let only = || ended >= from && !recording.processes.iter().any(lives_on);
        (at_once || only()).then(|| self.thread(child)).flatten()
    }

    /// The thread that called for the end of a process, or asked the one that did; where no record tells,
    /// its first thread if that lived to the end, else the one that did something last.
    pub(super) fn thread(&self, process: ProcessId) -> Option<ThreadId> {
        self.threads.get(process.index()).copied().flatten()
    }

    /// True at a stack at which a thread ends.
    pub(super) fn is_dying(&self, stack: Option<StackId>) -> bool {
        stack.is_some_and(|s| self.dying.get(s.index()).copied().unwrap_or(false))
    }
}

fn children(recording: &Recording) -> BTreeMap<ProcessId, Vec<(Time, ProcessId)>> {
    let mut children: BTreeMap<ProcessId, Vec<(Time, ProcessId)>> = BTreeMap::default();
    for (at, process) in recording.processes.iter().enumerate() {
        if let (Some(parent), Some(ended)) = (process.parent, process.end) {
            children.entry(parent).or_default().push((ended, ProcessId::from_index(at)));
        }
    }
    children.values_mut().for_each(|ends| ends.sort_unstable());
    children
}

/// Whether each stack has a frame, of the kernel or of the program, whose function is `wanted`.
pub(super) fn with_any(
    recording: &Recording,
    kernel: bool,
    wanted: impl Fn(&str) -> bool,
) -> Vec<bool> {
    let of_kernel: Vec<bool> =
        recording.modules.iter().map(|m| m.name.as_str() == KERNEL_MODULE).collect();
    let is_wanted = |frame: &culprit_model::Frame| {
        let module = frame.module.and_then(|m| of_kernel.get(m.index())).copied();
        module.unwrap_or(false) == kernel && wanted(&frame.function)
    };
    let frames: Vec<bool> = recording.frames.iter().map(is_wanted).collect();
    let mut stacks: Vec<bool> = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        let above = node.parent.and_then(|p| stacks.get(p.index())).copied().unwrap_or(false);
        stacks.push(above || frames.get(node.frame.index()).copied().unwrap_or(false));
    }
    stacks
}
