//! Stacks of waiting threads that are deeper than what the kernel copied of them.
//!
//! ```text
//! switch out    the copy ends in the middle of the stack
//! batch's end   the thread waits, as far as its records say: the rest is read from its memory
//! switch in     later than that: what was read is the stack of the wait
//! ```
//!
//! A thread that waits does not change its stack, so what was read is exact, and it teaches the stacks of
//! all waits that look the same (`stacks`). One function may need more than a copy holds: `uv__io_poll`, in
//! which Node.js waits, has 15 KiB of variables, and `socketRead0` of Java 11 has 64 KiB.
//!
//! Records come a tenth of a second late. Whose wait is over by then is read all the same: it probably waits
//! again, and its next records say since when. A wait during which nothing was read stays as it is.

use culprit_kernel::Task;
use culprit_model::{Nanos, ThreadId, Time};
use culprit_symbols::runtimes::MemoryPiece;
use culprit_symbols::{Avma, Outcome, Registers, StackDump};

use crate::clock::monotonic_ns;
use crate::events::handle::Handler;
use crate::events::stacks::{RawStack, Reach, UnwoundFrames};
use crate::sys::read_process;

/// Bytes of a stack that are read at most. Programs that recurse deeper are unwound this far.
pub(crate) const MOST_BYTES: usize = 256 << 10;
/// What is not mapped is known by pages.
const PAGE: usize = 4096;
/// Stacks that are read at the end of one batch: at some 100 us each 2 % of the time between two batches.
const MOST_READS: usize = 16;

/// What was read is kept for so long: 16 stacks a batch, at most ten batches a second.
const KEPT: Nanos = Nanos(500_000_000);

/// What a dump of the user stack tells of a switch.
#[derive(Debug, Clone)]
pub(crate) struct Dumped {
    pub(crate) task: Task,
    pub(crate) registers: Registers,
    pub(crate) unwound: UnwoundFrames,
}

/// A thread's stack as it was read from its memory.
#[derive(Debug)]
pub(crate) struct StackRead {
    /// Before and after it was read.
    between: (Time, Time),
    /// Where it begins.
    base: u64,
    bytes: Vec<u8>,
}

/// A wait whose stack is deeper than its copy.
#[derive(Debug, Clone)]
pub(crate) struct DeepWait {
    /// The stack that was sampled, and the one that has what the copy tells.
    stacks: [RawStack; 2],
    dumped: Dumped,
    /// When it began.
    left: Time,
    /// All frames, and when they were read.
    whole: Option<(Time, UnwoundFrames)>,
}

impl Handler {
    /// Takes in a dump that was taken for the switch of a sampled stack. Answers the stack that has its
    /// frames: two calls that look alike by their addresses may be of different functions. Where there is
    /// more than was copied, it is read if the thread waits for long enough.
    pub(crate) fn apply_dump(
        &mut self,
        thread: ThreadId,
        (sampled, dumped): (RawStack, Dumped),
        left: Time,
    ) -> Option<RawStack> {
        let exact = self.raw.user_frames(sampled, dumped.unwound.clone()).map(|user| {
            let user = self.with_outermost(thread, user);
            self.raw.learn_from_now_on(sampled, &user);
            self.raw.exact(sampled, &user)
        });
        let stack = exact.unwrap_or(sampled);
        let state = self.tracker.state(thread);
        if dumped.unwound.reach == Reach::CopyEnd && state.waits && self.raw.is_open(stack) {
            let base = dumped.registers.stack_pointer().unwrap_or_default();
            self.deep_waits.push((thread, dumped.task.pid, base));
            let stacks = [sampled, stack];
            state.deep_wait = Some(DeepWait { stacks, dumped, left, whole: None });
        }
        exact
    }

    /// Reads the stacks of threads that had a deep wait in this batch.
    pub(crate) fn read_deep_waits(&mut self) {
        // Their records may come two batches later.
        let now = self.time(monotonic_ns());
        self.stack_reads.retain(|(_, read)| now.since(read.between.1) < KEPT);
        for (thread, pid, base) in latest(std::mem::take(&mut self.deep_waits)) {
            let began = self.time(monotonic_ns());
            let bytes = read_stack(pid, base, MOST_BYTES);
            let between = (began, self.time(monotonic_ns()));
            let read = StackRead { between, base, bytes };
            if let Some(wait) = self.tracker.state(thread).deep_wait.take() {
                let whole = self.whole_frames(thread, &wait.dumped, &read);
                let whole = whole.map(|whole| (between.1, whole));
                self.tracker.state(thread).deep_wait = Some(DeepWait { whole, ..wait });
            }
            self.stack_reads.push((thread, read));
        }
    }

    /// A thread's frames by its memory; none where that says no more than the copy, or something else.
    fn whole_frames(
        &mut self,
        thread: ThreadId,
        dumped: &Dumped,
        read: &StackRead,
    ) -> Option<UnwoundFrames> {
        let Dumped { task, registers, unwound: copied } = dumped;
        let base = registers.stack_pointer()?;
        let from = usize::try_from(base.checked_sub(read.base)?).ok()?;
        let dump = StackDump { base: Avma(base), bytes: read.bytes.get(from..)? };
        let outcome = self.unwind((task.pid, thread), *registers, dump);
        let chain = self.user_chain(task.pid, thread);
        let goes_on = chain.len() > copied.chain.len() && chain.starts_with(&copied.chain);
        let reach = if outcome == Outcome::Complete { Reach::Root } else { Reach::CopyEnd };
        goes_on.then_some(UnwoundFrames { chain, reach })
    }

    /// A thread runs again that had waited until now.
    pub(crate) fn deep_wait_ended(&mut self, thread: ThreadId, wait: &DeepWait, time: Time) {
        let whole = match &wait.whole {
            Some((at, whole)) => (*at < time).then(|| whole.clone()),
            None => self.read_meanwhile(thread, wait, time),
        };
        if let Some(whole) = whole {
            for stack in wait.stacks {
                self.raw.learn(stack, &whole);
            }
        }
    }

    /// What was read of a wait before its records came.
    fn read_meanwhile(
        &mut self,
        thread: ThreadId,
        wait: &DeepWait,
        ended: Time,
    ) -> Option<UnwoundFrames> {
        let within = |(of, read): &(ThreadId, StackRead)| {
            *of == thread && wait.left < read.between.0 && read.between.1 < ended
        };
        let at = self.stack_reads.iter().position(within)?;
        let (_, read) = self.stack_reads.swap_remove(at);
        self.whole_frames(thread, &wait.dumped, &read)
    }

    /// The recording ends: who waits has waited until now.
    pub(crate) fn end_deep_waits(&mut self) {
        for (thread, wait) in self.tracker.take_deep_waits() {
            self.deep_wait_ended(thread, &wait, Time(u64::MAX));
        }
    }
}

/// The last wait of each thread, where a batch has several: that is the one that may still last, and its stack may
/// reach further down than those before.
fn latest(mut waits: Vec<(ThreadId, i32, u64)>) -> impl Iterator<Item = (ThreadId, i32, u64)> {
    waits.reverse();
    waits.sort_by_key(|(thread, ..)| *thread);
    waits.dedup_by_key(|(thread, ..)| *thread);
    waits.into_iter().take(MOST_READS)
}

/// The memory of a process from an address on, `most` bytes or up to what is not mapped.
pub(crate) fn read_stack(pid: i32, base: u64, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let (mut pieces, mut rest, mut address) = (Vec::new(), bytes.as_mut_slice(), base);
    while !rest.is_empty() {
        let in_page = usize::try_from(address).unwrap_or_default() % PAGE;
        let (into, behind) = rest.split_at_mut(rest.len().min(PAGE - in_page));
        let length = into.len() as u64;
        pieces.push(MemoryPiece { address, into });
        (rest, address) = (behind, address.saturating_add(length));
    }
    let read = read_process(pid, &mut pieces).unwrap_or_default();
    bytes.truncate(read);
    bytes
}

#[cfg(test)]
mod tests {
    use culprit_kernel::Map;
    use culprit_symbols::Arch;

    use super::*;
    use crate::events::handle::Context;
    use crate::events::stacks::{Variant, join, split};

    const TASK: Task = Task { pid: 10, tid: 10 };

    /// A thread that is about to wait, and the stack that frame pointers give of it.
    fn waiting() -> (Handler, ThreadId, RawStack) {
        let mut handler = Handler::new(Context::default());
        handler.switch_in(TASK, 1, Time(10));
        let thread = handler.tracker.recorded(TASK.tid).unwrap();
        handler.tracker.state(thread).waits = true;
        let space = handler.tracker.space(thread);
        let sampled = handler.raw.intern(space, Variant::default(), &join(&[], &[10, 77]));
        (handler, thread, sampled)
    }

    fn dumped(chain: &[u64], reach: Reach) -> Dumped {
        let registers = Registers::new(Arch::X86_64, 10, 0x1000, 0);
        Dumped { task: TASK, registers, unwound: UnwoundFrames { chain: chain.to_vec(), reach } }
    }

    #[test]
    fn each_switch_has_the_frames_of_its_own_dump() {
        let (mut handler, thread, first) = waiting();
        let space = handler.tracker.space(thread);
        let mut frames_of = |chain: &[u64]| {
            let sampled = handler.raw.intern(space, Variant::default(), &join(&[], &[10, 77]));
            let dumped = dumped(chain, Reach::Root);
            let stack = handler.apply_dump(thread, (sampled, dumped), Time(20)).unwrap();
            split(handler.raw.chain(stack)).1.to_vec()
        };
        assert_eq!(frames_of(&[10, 20]), [10, 20]);
        assert_eq!(frames_of(&[10, 21]), [10, 21]);
        assert_eq!(frames_of(&[10, 20]), [10, 20]);
        assert_eq!(handler.raw.repaired(first), None, "one without a dump may be either");
    }

    #[test]
    fn of_several_waits_in_a_batch_the_last_one_is_read() {
        let [one, two] = [1, 2].map(ThreadId::from_index);
        let waits =
            vec![(one, 10, 0x9000), (two, 20, 0x5000), (one, 10, 0x7000), (one, 10, 0x6000)];
        let read: Vec<_> = latest(waits).collect();
        assert_eq!(read, [(one, 10, 0x6000), (two, 20, 0x5000)]);
    }

    #[test]
    fn what_is_read_of_a_wait_teaches_unless_the_thread_had_gone_on() {
        for (comes, learnt) in [(60, true), (50, false), (40, false)] {
            let (mut handler, thread, sampled) = waiting();
            let dumped = dumped(&[10, 20, 25], Reach::CopyEnd);
            let stack = handler.apply_dump(thread, (sampled, dumped), Time(20)).unwrap();
            assert_eq!(handler.deep_waits, [(thread, 10, 0x1000)]);
            let wait = handler.tracker.state(thread).deep_wait.as_mut().unwrap();
            let chain = vec![10, 20, 25, 30];
            wait.whole =
                Some((Time(50), UnwoundFrames { chain: chain.clone(), reach: Reach::Root }));
            handler.switch_in(TASK, 1, Time(comes));
            let whole = learnt.then(|| join(&[], &chain));
            assert_eq!(handler.raw.repaired(stack), whole, "{comes}");
            assert_eq!(handler.raw.is_open(stack), !learnt);
        }
    }

    #[test]
    fn what_was_read_before_the_records_came_teaches_if_it_was_read_during_the_wait() {
        // Code at 0x1000 in which frame pointers lead from each frame to the next.
        let words: [u64; 6] = [0, 0x8018, 0x1100, 0x8028, 0x1200, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for (between, learnt) in [((30, 40), true), ((15, 40), false), ((30, 70), false)] {
            let (mut handler, thread, sampled) = waiting();
            let map = Map {
                task: TASK,
                address: 0x1000,
                length: 0x1000,
                offset: 0,
                executable: true,
                file: None,
                build_id: None,
                path: b"",
            };
            handler.known_map(&map, Time(10));
            let registers = Registers::new(Arch::X86_64, 0x1010, 0x8000, 0x8008);
            let unwound = UnwoundFrames { chain: vec![0x1010], reach: Reach::CopyEnd };
            let dumped = Dumped { task: TASK, registers, unwound };
            handler.apply_dump(thread, (sampled, dumped), Time(20));
            let between = (Time(between.0), Time(between.1));
            let read = StackRead { between, base: 0x7ff8, bytes: [&[0; 8], &*bytes].concat() };
            handler.stack_reads.push((thread, read));
            handler.switch_in(TASK, 1, Time(60));
            let whole = learnt.then(|| join(&[], &[0x1010, 0x1100, 0x1200]));
            assert_eq!(handler.raw.repaired(sampled), whole, "{between:?}");
        }
    }

    #[test]
    fn a_stack_is_read_up_to_what_is_not_mapped() {
        let own = i32::try_from(std::process::id()).expect("a number");
        let here = [7_u64; 1024];
        let base = here.as_ptr().addr() as u64 + 8;
        let read = read_stack(own, base, MOST_BYTES);
        assert_eq!(read[..8 * 1023], [7_u64.to_ne_bytes(); 1023].concat());
        assert_eq!(read_stack(own, base, 24), [7_u64.to_ne_bytes(); 3].concat());
        assert_eq!(read_stack(own, 8, 100), [0; 0]);
        assert_eq!(read_stack(own, u64::MAX - 100, 100), [0; 0]);
    }
}
