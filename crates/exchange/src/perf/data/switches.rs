//! Who ran when: thread time from switches, where none of them is missing.
//!
//! Switch records (`--switch-events`) say when a thread got onto a CPU and off it;
//! `sched:sched_switch`, each of them and on whole CPUs, says both of two threads at once, and where
//! the one that left was. Both together give the times of the first and the stacks of the second.
//! Whether all are there is checked: whom a switch brings onto a CPU must be who leaves it next.

use culprit_kernel::tracepoint::Woken;
use culprit_model::{
    Recording, StackId, Switch, SwitchKind, ThreadId, Time, WakeSource, Wakeup, WakeupKind,
};
use rustc_hash::FxHashMap;

/// One in so many switches may break the order of its CPU: lost records do that here and there.
/// Where only some threads were recorded, nearly every switch does.
const BROKEN: u64 = 10;

/// From where switches come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Source {
    /// There are none from which time can be told.
    #[default]
    None,
    /// Switch records.
    Records,
    /// `sched:sched_switch` alone.
    Tracepoint,
}

/// A thread that is about to leave its CPU.
#[derive(Debug, Clone, Copy)]
struct Leaving {
    stack: Option<StackId>,
    state: char,
}

/// What `sched_switch` says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) cpu: u32,
    pub(super) prev: (i32, ThreadId),
    pub(super) state: char,
    pub(super) next: (i32, Option<ThreadId>),
    pub(super) stack: Option<StackId>,
}

/// Switches under reading.
#[derive(Debug, Default)]
pub(super) struct Switching {
    pub(super) source: Source,
    leaving: FxHashMap<ThreadId, Leaving>,
    /// Who runs on each CPU, and since when.
    running: FxHashMap<u32, (i32, u64)>,
    /// Stretches in which a CPU's switches do not follow from each other.
    pub(super) gaps: Vec<(u64, u64)>,
    pub(super) told: u64,
    broken: u64,
    /// Threads by the machine's numbers for them, which tracepoints use; perf's own are those of
    /// the pid namespace that it runs in, and `foreign` when it is not the machine's.
    numbers: FxHashMap<i32, ThreadId>,
    foreign: bool,
}

/// Stretches that are kept; of more only the number counts.
const MOST_GAPS: usize = 1 << 12;

impl Switching {
    /// A switch record.
    pub(super) fn record(
        &mut self,
        time: u64,
        (thread, cpu): (ThreadId, u32),
        (out, preempted): (bool, bool),
        recording: &mut Recording,
    ) {
        let left = self.leaving.remove(&thread).filter(|_| out);
        let kind = match (out, preempted) {
            (false, _) => SwitchKind::In,
            (true, true) => SwitchKind::Preempted,
            (true, false) => SwitchKind::Out,
        };
        recording.switches.push(Switch {
            time: Time(time),
            thread,
            kind,
            cpu,
            stack: left.and_then(|left| left.stack),
            state: left.map(|left| u32::from(left.state)),
        });
    }

    /// Notes whom the tracepoint means by `number` when perf calls it `tid`; gives the thread, also
    /// of one that has ended and has no number any more.
    pub(super) fn learn(&mut self, number: i32, tid: i32, thread: ThreadId) -> ThreadId {
        if tid < 0 {
            return self.numbers.get(&number).copied().unwrap_or(thread);
        }
        self.foreign |= tid != number;
        self.numbers.insert(number, thread);
        thread
    }

    /// The thread of a number of the machine; none inside where it was never seen, and none at all
    /// where perf's own numbers are the machine's.
    pub(super) fn by_number(&self, number: i32) -> Option<Option<ThreadId>> {
        self.foreign.then(|| self.numbers.get(&number).copied())
    }

    /// A `sched_switch`.
    pub(super) fn tell(&mut self, time: u64, told: Told, recording: &mut Recording) {
        self.told += 1;
        let Told { cpu, prev, state, next, stack } = told;
        if self.source == Source::Records {
            self.leaving.insert(prev.1, Leaving { stack, state });
            return;
        }
        if let Some((running, since)) = self.running.insert(cpu, (next.0, time))
            && running != prev.0
        {
            self.broken += 1;
            if self.gaps.len() < MOST_GAPS {
                self.gaps.push((since, time));
            }
        }
        let kind = if state == 'R' { SwitchKind::Preempted } else { SwitchKind::Out };
        let state = Some(u32::from(state));
        let time = Time(time);
        recording.switches.push(Switch { time, thread: prev.1, kind, cpu, stack, state });
        if let Some(thread) = next.1 {
            let kind = SwitchKind::In;
            recording.switches.push(Switch { time, thread, kind, cpu, stack: None, state: None });
        }
    }

    /// A wakeup.
    pub(super) fn wake(
        time: u64,
        thread: ThreadId,
        by: (ThreadId, Option<StackId>),
        (woken, waking): (Woken, bool),
        recording: &mut Recording,
    ) {
        let interrupt = woken.in_interrupt();
        recording.wakeups.push(Wakeup {
            time: Time(time),
            thread,
            kind: if waking { WakeupKind::Waking } else { WakeupKind::Wakeup },
            source: if interrupt { WakeSource::Interrupt } else { WakeSource::Thread },
            waker: (!interrupt).then_some(by.0),
            waker_stack: by.1.filter(|_| !interrupt),
        });
    }

    /// Why no time can be told from the switches that were read; none when it can.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        let broken = self.source == Source::Tracepoint && self.broken * BROKEN > self.told;
        broken.then_some(
            "sched:sched_switch was recorded for some threads only, so Culprit cannot compute \
             durations; record with -a or with --switch-events",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(cpu: u32, prev: u32, state: char, next: u32) -> Told {
        let id = |number: u32| (number.cast_signed(), ThreadId(number));
        Told { cpu, prev: id(prev), state, next: (id(next).0, Some(id(next).1)), stack: None }
    }

    #[test]
    fn switches_that_follow_from_each_other_give_time_and_others_do_not() {
        let mut recording = Recording::default();
        let mut all = Switching { source: Source::Tracepoint, ..Switching::default() };
        for at in 0..20 {
            let (prev, next) = if at % 2 == 0 { (0, 1) } else { (1, 0) };
            all.tell(at * 10, told(0, prev, 'S', next), &mut recording);
            all.tell(at * 10 + 1, told(1, 0, 'R', 0), &mut recording);
        }
        assert!(all.refusal().is_none() && all.gaps.is_empty());
        let mut some = Switching { source: Source::Tracepoint, ..Switching::default() };
        for at in 0..20 {
            some.tell(at * 10, told(0, 1, 'S', 7), &mut recording);
        }
        assert!(some.refusal().is_some());
        assert_eq!(some.gaps.len(), 19);
    }

    #[test]
    fn records_take_stack_and_state_from_the_tracepoint_before_them() {
        let mut recording = Recording::default();
        let mut both = Switching { source: Source::Records, ..Switching::default() };
        let stack = Some(StackId(4));
        both.tell(10, Told { stack, ..told(0, 1, 'D', 0) }, &mut recording);
        both.record(11, (ThreadId(1), 0), (true, false), &mut recording);
        both.record(20, (ThreadId(1), 1), (false, false), &mut recording);
        both.record(30, (ThreadId(1), 1), (true, true), &mut recording);
        let rows: Vec<_> =
            recording.switches.iter().map(|row| (row.kind, row.stack, row.state)).collect();
        let d = Some(u32::from('D'));
        let expected = [
            (SwitchKind::Out, stack, d),
            (SwitchKind::In, None, None),
            (SwitchKind::Preempted, None, None),
        ];
        assert_eq!(rows, expected);
    }
}
