//! What was read during waits, by where they wait.

use culprit_model::{ProcessId, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::NEAR_BOTH;
use super::joiner::NativeCall;

/// Whose wait it is.
type Waiter = (ProcessId, ThreadId);

/// A wait that was read, and its interpreted functions.
type Read = (Time, StackId);

/// Waits whose interpreted functions are known. One that was too short to be read has those of the nearest
/// wait at the same place of the same process, the same thread's if there is one. Without one it has those
/// that all waits in the same native function have.
#[derive(Debug, Default)]
pub(super) struct Proven {
    of_call: FxHashMap<(ProcessId, NativeCall), Vec<Read>>,

    of_process: FxHashMap<(ProcessId, StackId), Vec<Read>>,
    of_thread: FxHashMap<(ThreadId, StackId), Vec<Read>>,
}

impl Proven {
    /// Takes in a wait. `place` is the native stack up to the kernel.
    pub(super) fn add(
        &mut self,
        (process, thread): Waiter,
        (place, call): (StackId, NativeCall),
        read: Read,
    ) {
        self.of_call.entry((process, call)).or_default().push(read);
        self.of_thread.entry((thread, place)).or_default().push(read);
        self.of_process.entry((process, place)).or_default().push(read);
    }

    /// With all waits in order of time, so that the nearest is found.
    pub(super) fn in_order(mut self) -> Self {
        let process = self.of_process.values_mut();
        let all = process.chain(self.of_thread.values_mut()).chain(self.of_call.values_mut());
        all.for_each(|reads| reads.sort_by_key(|(time, _)| *time));
        self
    }

    /// What every wait in this native function ran, if one was read near this time; none where that differs.
    pub(super) fn only(&self, process: ProcessId, call: NativeCall, time: Time) -> Option<StackId> {
        let reads = self.of_call.get(&(process, call))?;
        let (near, only) = nearest(reads, time)?;
        let is_near = time.since(near) + near.since(time) <= NEAR_BOTH;
        (is_near && reads.iter().all(|(_, stack)| *stack == only)).then_some(only)
    }

    /// What the nearest wait at this place ran.
    pub(super) fn nearest(
        &self,
        (process, thread): Waiter,
        place: StackId,
        time: Time,
    ) -> Option<StackId> {
        let own = self.of_thread.get(&(thread, place));
        let reads = own.or_else(|| self.of_process.get(&(process, place)))?;
        nearest(reads, time).map(|(_, stack)| stack)
    }
}

/// The nearest in time of waits in order.
fn nearest(reads: &[Read], time: Time) -> Option<Read> {
    let after = reads.partition_point(|(at, _)| *at < time);
    let before = after.checked_sub(1).and_then(|at| reads.get(at));
    let sides = [before, reads.get(after)].into_iter().flatten();
    sides.min_by_key(|(at, _)| time.since(*at) + at.since(time)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_the_functions_of_the_nearest_at_its_place() {
        let waiter = |process, thread| (ProcessId(process), ThreadId(thread));
        let call = |place: u32| NativeCall(vec![place.to_string().into()]);
        let mut proven = Proven::default();
        for (who, place, at, stack) in [
            (waiter(0, 1), 7, 30, 100),
            (waiter(0, 1), 8, 31, 101),
            (waiter(0, 1), 7, 60, 102),
            (waiter(0, 2), 9, 50, 103),
            (waiter(0, 1), 9, 10, 104),
        ] {
            proven.add(who, (StackId(place), call(place)), (Time(at), StackId(stack)));
        }
        let proven = proven.in_order();
        let nearest = |who, place, at| proven.nearest(who, StackId(place), Time(at)).map(|s| s.0);
        assert_eq!(nearest(waiter(0, 1), 7, 32), Some(100), "not the other place's");
        assert_eq!(nearest(waiter(0, 1), 7, 46), Some(102));
        assert_eq!(nearest(waiter(0, 2), 7, 99), Some(102), "another thread's");
        assert_eq!(nearest(waiter(0, 1), 9, 50), Some(104), "its own comes first");
        assert_eq!(nearest(waiter(0, 3), 9, 20), Some(104));
        assert_eq!(nearest(waiter(1, 4), 7, 30), None, "another program");
        let only = |process, place, at| {
            proven.only(ProcessId(process), call(place), Time(at)).map(|stack| stack.0)
        };
        assert_eq!(only(0, 8, 1), Some(101));
        assert_eq!(only(0, 8, 40 + NEAR_BOTH.0), None, "too long ago");
        assert_eq!(only(0, 7, 30), None, "it is called by several");
        assert_eq!(only(1, 8, 31), None, "another program");
    }
}
