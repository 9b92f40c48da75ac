//! Chains of frame pointers, and what makes them good: they end where they go astray, and go on from there by
//! what is known of the thread's outermost frames.
//!
//! An address of a chain is a caller if it lies in code and, where the code's file can be read, directly behind a
//! call. Frames that were unwound by tables are not judged.

use std::borrow::Cow;

use culprit_model::ThreadId;
use culprit_symbols::Avma;

use crate::events::handle::Handler;
use crate::events::space::SpaceId;
use crate::events::stacks::{NOWHERE, RawStack, Reach, UnwoundFrames, Variant, up_to_nowhere};

impl Handler {
    /// The unique stack of a chain that the kernel found by frame pointers.
    pub(crate) fn pointer_stack(
        &mut self,
        space: SpaceId,
        variant: Variant,
        chain: &[u64],
    ) -> RawStack {
        let code = self.spaces.unwind(space);
        self.raw.intern_pointers(space, variant, chain, |word| code.is_return_address(Avma(word)))
    }

    /// The unique stack of a chain below a function that is probed. The kernel may have replaced return addresses
    /// of such functions by some that lie in no code.
    pub(crate) fn probed_pointer_stack(
        &mut self,
        space: SpaceId,
        variant: Variant,
        chain: &[u64],
    ) -> RawStack {
        let code = self.spaces.unwind(space);
        self.raw.intern_pointers(space, variant, chain, |word| !code.follows_no_call(Avma(word)))
    }

    /// What a dump tells, and where that ends early the frames `by_pointers` and the thread's outermost ones;
    /// none where frame pointers alone tell as much.
    pub(crate) fn dumped_and_found(
        &self,
        thread: ThreadId,
        dumped: UnwoundFrames,
        by_pointers: &[u64],
    ) -> Option<UnwoundFrames> {
        if dumped.reach == Reach::Root {
            return Some(dumped);
        }
        let code = self.spaces.unwind(self.tracker.space(thread));
        let callers = up_to_nowhere(by_pointers, |word| code.is_return_address(Avma(word)));
        let by_pointers = callers.map_or(Cow::Borrowed(by_pointers), Cow::Owned);
        dumped.with(&by_pointers).map(|user| self.with_outermost(thread, user))
    }

    /// Frames that end early, with the thread's outermost ones where it is known how they go on.
    pub(crate) fn with_outermost(
        &self,
        thread: ThreadId,
        mut user: UnwoundFrames,
    ) -> UnwoundFrames {
        let chain = &mut user.chain;
        let known = chain.len() - usize::from(chain.last() == Some(&NOWHERE));
        // The innermost frame has no return address.
        let last =
            chain.get(1..known).and_then(<[u64]>::last).filter(|_| user.reach != Reach::Root);
        let outermost = &self.tracker.thread_state(thread).outermost;
        if let Some(callers) =
            last.and_then(|last| outermost.callers(self.tracker.space(thread), *last))
        {
            chain.truncate(known);
            chain.extend(callers);
        }
        user
    }
}
