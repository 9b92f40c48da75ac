//! Stacks of waiting threads that are deeper than what the kernel copied of them.
//!
//! ```text
//! switch out    the copy ends in the middle of the stack
//! batch's end   the thread waits as far as its records say: the rest is read from its memory
//! switch in     later than that: what was read is the stack of the wait
//! ```
//!
//! A thread that waits does not change its stack, so what was read is exact, and it teaches the stacks of
//! all waits that look the same (`stacks`). One function may need more than a copy holds: `uv__io_poll`, in
//! which Node.js waits, has 15 KiB of variables. Waits shorter than the time to the batch's end are not read.

use culprit_model::{ThreadId, Time};
use culprit_symbols::runtimes::MemoryPiece;
use culprit_symbols::{Avma, Outcome, Registers, StackDump};

use crate::decode::Task;
use crate::handle::Handler;
use crate::stacks::{RawStack, Reach, UnwoundFrames};
use crate::sys::read_process;

/// Bytes of a stack that are read at most. Programs that recurse deeper are unwound this far.
const MOST_BYTES: usize = 256 << 10;
/// What is not mapped is known by pages.
const PAGE: usize = 4096;
/// Stacks that are read at the end of one batch: at some 100 us each 2 % of the time between two batches.
const MOST_READS: usize = 16;

/// What a dump of the user stack tells of a switch.
#[derive(Debug, Clone)]
pub(crate) struct Dumped {
    pub(crate) task: Task,
    pub(crate) registers: Registers,
    pub(crate) unwound: UnwoundFrames,
}

/// A wait whose stack is deeper than its copy.
#[derive(Debug, Clone)]
pub(crate) struct DeepWait {
    /// The stack that was sampled, and the one that has what the copy tells.
    stacks: [RawStack; 2],
    dumped: Dumped,
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
    ) -> Option<RawStack> {
        let exact = self.raw.user_frames(sampled, dumped.unwound.clone()).map(|user| {
            self.raw.learn_from_now_on(sampled, &user);
            self.raw.exact(sampled, &user)
        });
        let stack = exact.unwrap_or(sampled);
        let state = self.tracker.state(thread);
        if dumped.unwound.reach == Reach::CopyEnd && state.waits && self.raw.is_open(stack) {
            state.deep_wait = Some(DeepWait { stacks: [sampled, stack], dumped, whole: None });
            self.deep_waits.push(thread);
        }
        exact
    }

    /// Reads the stacks of threads that still wait, as far as the records up to now say.
    pub(crate) fn read_deep_waits(&mut self, now: u64) {
        let now = self.time(now);
        // A thread that waits often in one batch is in the list often.
        let mut threads = std::mem::take(&mut self.deep_waits);
        threads.sort_unstable();
        threads.dedup();
        let mut reads = 0;
        for thread in threads {
            if reads == MOST_READS {
                break;
            }
            let Some(wait) = self.tracker.state(thread).deep_wait.take() else { continue };
            reads += 1;
            let whole = self.read_whole(thread, &wait.dumped).map(|whole| (now, whole));
            self.tracker.state(thread).deep_wait = Some(DeepWait { whole, ..wait });
        }
    }

    /// A thread's stack as its memory has it now; none where it says no more than the copy, or something
    /// else.
    fn read_whole(&mut self, thread: ThreadId, dumped: &Dumped) -> Option<UnwoundFrames> {
        let Dumped { task, registers, unwound: copied } = dumped;
        let base = registers.stack_pointer()?;
        let bytes = read_stack(task.pid, base);
        let dump = StackDump { base: Avma(base), bytes: &bytes };
        let outcome = self.unwind((task.pid, thread), *registers, dump);
        let chain = self.user_chain(task.pid, thread);
        let goes_on = chain.len() > copied.chain.len() && chain.starts_with(&copied.chain);
        let reach = if outcome == Outcome::Complete { Reach::Root } else { Reach::CopyEnd };
        goes_on.then_some(UnwoundFrames { chain, reach })
    }

    /// A thread runs again that had waited until now.
    pub(crate) fn deep_wait_ended(&mut self, wait: DeepWait, time: Time) {
        if let Some((at, whole)) = wait.whole
            && at < time
        {
            for stack in wait.stacks {
                self.raw.learn(stack, &whole);
            }
        }
    }

    /// The recording ends: who waits has waited until now.
    pub(crate) fn end_deep_waits(&mut self) {
        for wait in self.tracker.take_deep_waits() {
            self.deep_wait_ended(wait, Time(u64::MAX));
        }
    }
}

/// The memory of a process from an address on, up to what is not mapped.
fn read_stack(pid: i32, base: u64) -> Vec<u8> {
    let mut bytes = vec![0; MOST_BYTES];
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
    use culprit_symbols::Arch;

    use super::*;
    use crate::handle::Context;
    use crate::stacks::{Variant, join, split};

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
            let stack = handler.apply_dump(thread, (sampled, dumped)).unwrap();
            split(handler.raw.chain(stack)).1.to_vec()
        };
        assert_eq!(frames_of(&[10, 20]), [10, 20]);
        assert_eq!(frames_of(&[10, 21]), [10, 21]);
        assert_eq!(frames_of(&[10, 20]), [10, 20]);
        assert_eq!(handler.raw.repaired(first), None, "one without a dump may be either");
    }

    #[test]
    fn what_is_read_of_a_wait_teaches_unless_the_thread_had_gone_on() {
        for (comes, learnt) in [(60, true), (50, false), (40, false)] {
            let (mut handler, thread, sampled) = waiting();
            let dumped = dumped(&[10, 20, 25], Reach::CopyEnd);
            let stack = handler.apply_dump(thread, (sampled, dumped)).unwrap();
            assert_eq!(handler.deep_waits, [thread]);
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
    fn a_stack_is_read_up_to_what_is_not_mapped() {
        let own = i32::try_from(std::process::id()).expect("a number");
        let here = [7_u64; 1024];
        let base = here.as_ptr().addr() as u64 + 8;
        let read = read_stack(own, base);
        assert_eq!(read[..8 * 1023], [7_u64.to_ne_bytes(); 1023].concat());
        assert_eq!(read_stack(own, 8), [0; 0]);
        assert_eq!(read_stack(own, u64::MAX - 100), [0; 0]);
    }
}
