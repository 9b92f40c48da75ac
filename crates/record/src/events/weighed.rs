//! Samples that weigh something else than time: bytes that a call moved, what a counter counted.

use culprit_model::{Metric, ThreadId, Time};

use crate::events::attr::{SWITCH_REGISTERS, stack_pointer};
use crate::events::decode::Sample;
use crate::events::extras::Hardware;
use crate::events::handle::Handler;
use crate::events::stacks::{RawStack, Variant, join, split};

impl Handler {
    /// A call that moves data has returned.
    pub(crate) fn transferred(&mut self, sample: &Sample<'_>, time: Time) {
        let returned = self.context.returned.and_then(|field| field.read(sample.raw));
        // The registers of a 32-bit program are missing, and so is the meaning of its calls' numbers.
        let Some(bytes) = returned.filter(|_| !sample.registers.is_empty()) else { return };
        let thread = self.seen(sample.task, time);
        let stack = self.call_stack(sample, thread);
        self.rows.costs.add(Metric::IoBytes, (time, thread, stack), bytes);
    }

    /// A dump of the stack at some of these calls: teaches the callers of all at the same place.
    pub(crate) fn transfer_dump(&mut self, sample: &Sample<'_>, time: Time) {
        let thread = self.seen(sample.task, time);
        if let Some(stack) = self.call_stack(sample, thread) {
            self.teach(stack, (sample, SWITCH_REGISTERS), thread, time);
        }
    }

    /// A sample of one of the processor's counters.
    pub(crate) fn counted(&mut self, sample: &Sample<'_>, counter: Hardware, time: Time) {
        let thread = self.seen(sample.task, time);
        let space = self.tracker.space(thread);
        let stack = (!sample.chain.is_empty())
            .then(|| self.pointer_stack(space, Variant::default(), sample.chain));
        self.rows.costs.add(counter.metric(), (time, thread, stack), sample.period);
    }

    /// What a dump tells of the user frames of a stack.
    pub(crate) fn teach(
        &mut self,
        stack: RawStack,
        (sample, mask): (&Sample<'_>, u64),
        thread: ThreadId,
        time: Time,
    ) {
        let dumped = self.dumped_frames((sample, mask), thread, time);
        if let Some(unwound) = dumped.and_then(|dumped| self.raw.user_frames(stack, dumped)) {
            let unwound = self.with_outermost(thread, unwound);
            self.raw.learn(stack, &unwound);
        }
    }

    /// The unique stack of a call, without what the kernel did.
    fn call_stack(&mut self, sample: &Sample<'_>, thread: ThreadId) -> Option<RawStack> {
        let stack_pointer = stack_pointer(SWITCH_REGISTERS, sample.registers)?;
        let (_, user) = split(sample.chain);
        let variant = Variant { thread: thread.0, stack_pointer };
        Some(self.pointer_stack(self.tracker.space(thread), variant, &join(&[], user)))
    }
}
