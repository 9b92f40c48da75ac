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
use crate::stacks::{RawStack, Reach, Unwound};
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
    pub(crate) unwound: Unwound,
}

/// A wait whose stack is deeper than its copy.
#[derive(Debug, Clone)]
pub(crate) struct CutWait {
    /// What the wait's stack is to be.
    stack: RawStack,
    dumped: Dumped,
    /// All frames, and when they were read.
    whole: Option<(Time, Unwound)>,
}

impl Handler {
    /// What is known of the user frames with which a thread leaves a CPU. Where there is more, it is read
    /// if the thread waits for long enough.
    pub(crate) fn unwound_wait(
        &mut self,
        thread: ThreadId,
        stack: RawStack,
        dumped: Dumped,
    ) -> Option<Unwound> {
        let state = self.tracker.state(thread);
        let unwound = dumped.unwound.clone();
        if unwound.reach == Reach::CopyEnd && state.waits && self.raw.is_open(stack) {
            state.cut_wait = Some(CutWait { stack, dumped, whole: None });
            self.cut_waits.push(thread);
        }
        self.raw.told(stack, unwound)
    }

    /// Reads the stacks of threads that still wait, as far as the records up to now say.
    pub(crate) fn read_cut_waits(&mut self, now: u64) {
        let now = self.time(now);
        let mut reads = 0;
        for thread in std::mem::take(&mut self.cut_waits) {
            let Some(wait) = self.tracker.state(thread).cut_wait.take() else { continue };
            if reads == MOST_READS {
                continue;
            }
            reads += 1;
            let whole = self.read_whole(thread, &wait.dumped).map(|whole| (now, whole));
            self.tracker.state(thread).cut_wait = Some(CutWait { whole, ..wait });
        }
    }

    /// A thread's stack as its memory has it now; none where it says no more than the copy, or something
    /// else.
    fn read_whole(&mut self, thread: ThreadId, dumped: &Dumped) -> Option<Unwound> {
        let Dumped { task, registers, unwound: copied } = dumped;
        let base = registers.stack_pointer()?;
        let bytes = read_stack(task.pid, base);
        let dump = StackDump { base: Avma(base), bytes: &bytes };
        let outcome = self.unwind((task.pid, thread), *registers, dump);
        let chain = self.user_chain(task.pid, thread);
        let goes_on = chain.len() > copied.chain.len() && chain.starts_with(&copied.chain);
        let reach = if outcome == Outcome::Complete { Reach::Root } else { Reach::CopyEnd };
        goes_on.then_some(Unwound { chain, reach })
    }

    /// A thread runs again that had waited until now.
    pub(crate) fn cut_wait_ended(&mut self, wait: CutWait, time: Time) {
        if let Some((at, whole)) = wait.whole
            && at < time
        {
            self.raw.learn(wait.stack, &whole);
        }
    }

    /// The recording ends: who waits has waited until now.
    pub(crate) fn end_cut_waits(&mut self) {
        for wait in self.tracker.take_cut_waits() {
            self.cut_wait_ended(wait, Time(u64::MAX));
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
    use super::*;

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
