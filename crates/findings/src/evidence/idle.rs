//! Idle waits of a service's threads: waiting for work that nobody was waiting for.
//!
//! A thread of a service goes round a loop and waits at its head for the next request, job or
//! tick: its home. Waits further in, inside the handling of a request, are nearer to the leaf. So
//! the home is the wait with the fewest user frames above the thread's start, among the kinds of
//! wait that can be idle. Mutexes, disks, faults and children are never a home.

use std::collections::BTreeMap;

use culprit_engine::wakers::Lives;
use culprit_model::{Cause, Interval, Nanos, Recording, Text, ThreadId};

use super::stacks::{Stacks, WaitKind};

/// What marks a home: its cause, the function that waits.
type Home = (Cause, Option<Text>);

/// The homes of a recording's threads.
#[derive(Debug)]
pub(crate) struct Idle<'s> {
    stacks: &'s Stacks,
    /// One entry a thread.
    homes: Vec<Option<(Home, u32)>>,
    functions: Vec<Option<Text>>,
}

impl<'s> Idle<'s> {
    /// Finds every thread's home; linear in intervals.
    pub(crate) fn of(recording: &Recording, lives: &Lives, stacks: &'s Stacks) -> Self {
        let functions = (0..recording.stacks.len())
            .map(|s| {
                let frame = stacks.focus(Some(culprit_model::StackId::from_index(s)))?;
                Some(recording.frame(frame).function.clone())
            })
            .collect();
        let mut idle = Self { stacks, homes: Vec::new(), functions };
        idle.homes = (0..recording.threads.len())
            .map(|t| idle.home(&recording.intervals[lives.rows(ThreadId::from_index(t))]))
            .collect();
        idle
    }

    /// The shallowest idle-capable wait of a thread; of equally shallow ones the longest in sum.
    fn home(&self, rows: &[Interval]) -> Option<(Home, u32)> {
        let mut waits: BTreeMap<(u32, Home), Nanos> = BTreeMap::new();
        for interval in rows.iter().filter(|i| self.can_be_idle(i)) {
            let depth = self.stacks.user_depth(interval.stack);
            *waits.entry((depth, self.key(interval))).or_default() += interval.duration;
        }
        let shallowest = waits.first_key_value()?.0.0;
        waits
            .into_iter()
            .take_while(|((depth, _), _)| *depth == shallowest)
            .max_by_key(|(_, total)| *total)
            .map(|((depth, home), _)| (home, depth))
    }

    fn key(&self, interval: &Interval) -> Home {
        let function =
            interval.stack.and_then(|s| self.functions.get(s.index()).cloned().flatten());
        (interval.cause, function)
    }

    fn can_be_idle(&self, interval: &Interval) -> bool {
        match interval.cause {
            Cause::Lock => self.stacks.wait_kind(interval.stack) != Some(WaitKind::Mutex),
            Cause::Net
            | Cause::Sleep
            | Cause::Poll
            | Cause::Pipe
            | Cause::Ipc
            | Cause::Notify
            | Cause::Signal
            | Cause::Child
            | Cause::Other => true,
            _ => false,
        }
    }

    /// True when the thread waited at home. Stopped threads are idle too: nobody but a person or a
    /// debugger waits for them.
    pub(crate) fn is_idle(&self, interval: &Interval) -> bool {
        if interval.cause == Cause::Stopped {
            return true;
        }
        let Some((home, depth)) = &self.homes[interval.thread.index()] else { return false };
        self.can_be_idle(interval)
            && self.stacks.user_depth(interval.stack) == *depth
            && self.key(interval) == *home
    }
}
