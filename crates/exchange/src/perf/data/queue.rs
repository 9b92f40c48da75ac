//! What was read, until it can be put in order.
//!
//! Each CPU's ring is written out by itself, so that a file is ordered only from round to round:
//! when a round has ended, everything up to the latest time of the round before it is there.
//! The same rule is in tools/perf/util/ordered-events.c.

use std::mem;

use super::chains::ChainId;
use super::other::Other;

/// Records that wait at most, and bytes of stacks: a round is far smaller. Where a file has no
/// rounds, order is made within so many.
const MOST_RECORDS: usize = 1 << 22;
const MOST_BYTES: usize = 256 << 20;

/// In an order's number: it is no sample.
const OTHER: u32 = 1 << 31;

/// A sample as small as it can be kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw {
    /// The address where it was.
    pub(super) leaf: u64,
    pub(super) value: u64,
    pub(super) chain: ChainId,
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) cpu: u32,
    pub(super) event: u32,
    /// The place of what else it has, counted from 1; else 0.
    pub(super) extra: u32,
    /// In the kernel.
    pub(super) kernel: bool,
    /// The file states its period.
    pub(super) weighed: bool,
}

/// What few samples have.
#[derive(Debug)]
pub(super) enum Extra {
    /// A copy of the user's stack with the registers, and the chain to which it belongs.
    Dump { chain: Vec<u64>, registers: Vec<u64>, stack: Vec<u8> },
    /// `sched_switch`.
    Switch { prev: i32, state: u64, next: i32 },
    /// `sched_waking`, `sched_wakeup`.
    Wake { tid: i32, flags: u64, waking: bool },
    /// What the events of a group counted since the sample before, by the number of the event.
    Values(Vec<(u32, u64)>),
}

impl Extra {
    fn bytes(&self) -> usize {
        match self {
            Self::Dump { chain, registers, stack } => {
                stack.len() + (chain.len() + registers.len()) * 8
            }
            Self::Values(values) => values.len() * 16,
            _ => 0,
        }
    }
}

/// What waits for its turn.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Waiting,
    /// The memory of the round before.
    spare: Waiting,
    /// The latest time so far, and up to when the rounds that have ended are whole.
    newest: u64,
    whole: u64,
}

/// Records in the order of the file, and the order of time in which their turns come.
#[derive(Debug, Default)]
struct Waiting {
    order: Vec<(u64, u32)>,
    samples: Vec<Raw>,
    others: Vec<Option<Other>>,
    extras: Vec<Option<Extra>>,
    bytes: usize,
}

impl Waiting {
    #[inline]
    fn push(&mut self, time: u64, mut sample: Raw, extra: Option<Extra>) {
        sample.extra = 0;
        if let Some(extra) = extra {
            self.bytes += extra.bytes();
            self.extras.push(Some(extra));
            sample.extra = u32::try_from(self.extras.len()).unwrap_or(0);
        }
        let number = u32::try_from(self.samples.len()).unwrap_or(0);
        self.samples.push(sample);
        self.order.push((time, number));
    }

    fn push_other(&mut self, time: u64, other: Other) {
        let number = u32::try_from(self.others.len()).unwrap_or(0);
        self.others.push(Some(other));
        self.order.push((time, number | OTHER));
    }

    /// The record of a number.
    #[inline]
    fn pick(&mut self, number: u32) -> Option<Due> {
        if number & OTHER != 0 {
            return self.others.get_mut((number & !OTHER) as usize)?.take().map(Due::Other);
        }
        let sample = *self.samples.get(number as usize)?;
        let extra = (sample.extra as usize).checked_sub(1);
        Some(Due::Sample(sample, extra.and_then(|at| self.extras.get_mut(at)?.take())))
    }

    fn clear(&mut self) {
        self.order.clear();
        self.samples.clear();
        self.others.clear();
        self.extras.clear();
        self.bytes = 0;
    }
}

/// One thing whose turn it is.
#[derive(Debug)]
pub(super) enum Due {
    Sample(Raw, Option<Extra>),
    Other(Other),
}

impl Queue {
    /// Adds a sample.
    #[inline]
    pub(super) fn push(&mut self, time: u64, sample: Raw, extra: Option<Extra>) {
        self.waiting.push(time, sample, extra);
        self.newest = self.newest.max(time);
    }

    /// Adds another record.
    pub(super) fn push_other(&mut self, time: u64, other: Other) {
        self.waiting.push_other(time, other);
        self.newest = self.newest.max(time);
    }

    /// Whether it is too long to wait for the end of a round.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.order.len() >= MOST_RECORDS || self.waiting.bytes >= MOST_BYTES
    }

    /// Up to when the rounds that have ended are whole.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// A round has ended: up to when nothing more can come.
    pub(super) fn end_round(&mut self) -> u64 {
        mem::replace(&mut self.whole, self.newest)
    }

    /// Hands out what is due up to a time, in order; equal times in the order of the file.
    pub(super) fn take(&mut self, until: u64, mut each: impl FnMut(u64, Due)) {
        let Self { waiting, spare, .. } = self;
        waiting.order.sort_by_key(|(time, _)| *time);
        let due = waiting.order.partition_point(|(time, _)| *time <= until);
        if due == 0 {
            return;
        }
        spare.clear();
        for at in 0..waiting.order.len() {
            let (time, number) = waiting.order[at];
            match waiting.pick(number) {
                Some(next) if at < due => each(time, next),
                Some(Due::Sample(sample, extra)) => spare.push(time, sample, extra),
                Some(Due::Other(other)) => spare.push_other(time, other),
                None => {}
            }
        }
        mem::swap(waiting, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(queue: &mut Queue, until: u64) -> Vec<(u64, Due)> {
        let mut taken = Vec::new();
        queue.take(until, |time, due| taken.push((time, due)));
        taken
    }

    fn exit(pid: i32) -> Other {
        Other::Exit { pid, tid: pid }
    }

    fn pids(due: Vec<(u64, Due)>) -> Vec<(u64, i32)> {
        let pid = |due| match due {
            Due::Other(Other::Exit { pid, .. }) => pid,
            Due::Sample(raw, _) => raw.pid,
            Due::Other(_) => -1,
        };
        due.into_iter().map(|(time, due)| (time, pid(due))).collect()
    }

    #[test]
    fn rounds_are_put_in_order() {
        let mut queue = Queue::default();
        // Two rings a round; what is later than the round before has ended waits.
        queue.push_other(10, exit(1));
        queue.push_other(5, exit(2));
        let until = queue.end_round();
        assert!(take(&mut queue, until).is_empty());
        queue.push_other(20, exit(3));
        queue.push_other(7, exit(4));
        let until = queue.end_round();
        assert_eq!(pids(take(&mut queue, until)), [(5, 2), (7, 4), (10, 1)]);
        assert_eq!(pids(take(&mut queue, u64::MAX)), [(20, 3)]);
    }

    #[test]
    fn equal_times_keep_the_order_of_the_file_and_extras_their_sample() {
        let mut queue = Queue::default();
        let raw = |pid| Raw {
            leaf: 0,
            value: 1,
            chain: ChainId(0),
            pid,
            tid: pid,
            cpu: 0,
            event: 0,
            extra: 0,
            kernel: false,
            weighed: true,
        };
        queue.push(9, raw(1), None);
        queue.push(9, raw(2), Some(Extra::Values(vec![(0, 7)])));
        queue.push_other(9, exit(3));
        queue.push(8, raw(4), Some(Extra::Values(vec![(0, 8)])));
        let due = take(&mut queue, 8);
        let Some((8, Due::Sample(_, Some(Extra::Values(values))))) = due.into_iter().next() else {
            panic!("no sample")
        };
        assert_eq!(values, [(0, 8)]);
        let due = take(&mut queue, 9);
        assert!(matches!(&due[1].1, Due::Sample(_, Some(Extra::Values(v))) if v[0].1 == 7));
        assert_eq!(pids(due), [(9, 1), (9, 2), (9, 3)]);
    }
}
