//! How a thread's stack begins, for stacks whose outermost frames cannot be found.
//!
//! Functions of libraries keep no frame pointers, so chains of them seldom reach a thread's root. The copy of a
//! deep stack does not reach it either. But the outermost frames stay the same while the program runs:
//!
//! ```text
//! unwound once, to the root   _start  __libc_start_main  __libc_start_call_main  main  load
//! later, by frame pointers                            ?  __libc_start_call_main  main  work  ...
//! together                    _start  __libc_start_main  __libc_start_call_main  main  work  ...
//! ```
//!
//! A caller is known in this way if it stood near the root on the last complete stack, and never left since it was
//! first seen there. One that has returned may have been called again from elsewhere.

use rustc_hash::FxHashSet;

use crate::events::space::SpaceId;

/// So many frames from the root belong to how a thread begins. `_start` to `main` of a Rust program are six.
const MOST_FRAMES: usize = 8;

/// Return addresses that are remembered to have left. A thread that has more of them near its root has no more
/// frames that stay.
const MOST_RETURNED: usize = 256;

/// The outermost frames of a thread, as far as its complete stacks tell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outermost {
    space: SpaceId,
    /// Return addresses of the last complete stack, the root first.
    words: Vec<u64>,
    /// Those that were among them, and were not on a later complete stack.
    returned: FxHashSet<u64>,
}

impl Outermost {
    /// Frames of a complete stack that are looked at: the first of them is no caller.
    pub(crate) const LOOKED_AT: usize = MOST_FRAMES + 1;

    /// The last frames of a complete stack, innermost first.
    pub(crate) fn learn(&mut self, space: SpaceId, chain: &[u64]) {
        if self.space != space {
            *self = Self { space, ..Self::default() };
        }
        let callers = chain.get(1..).unwrap_or_default();
        let outer = || callers.iter().rev().take(MOST_FRAMES);
        let same = self.words.iter().zip(outer()).take_while(|(one, other)| one == other).count();
        if same < self.words.len() {
            self.returned.extend(self.words.drain(same..));
        }
        if self.returned.len() < MOST_RETURNED {
            self.words.extend(outer().skip(same));
        }
    }

    /// The callers of a frame, innermost first; none where they are not known.
    pub(crate) fn callers(&self, space: SpaceId, of: u64) -> Option<Vec<u64>> {
        if self.space != space || self.returned.contains(&of) {
            return None;
        }
        let mut places = (0..self.words.len()).filter(|at| self.words[*at] == of);
        let at = places.next().filter(|_| places.next().is_none())?;
        Some(self.words[..at].iter().rev().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: SpaceId = SpaceId(1);

    #[test]
    fn frames_that_stay_are_known_from_a_complete_stack() {
        let mut outermost = Outermost::default();
        assert_eq!(outermost.callers(SPACE, 30), None);
        outermost.learn(SPACE, &[7, 20, 10]);
        outermost.learn(SPACE, &[9, 40, 30, 21, 10]);
        outermost.learn(SPACE, &[9, 41, 30, 21, 10]);
        assert_eq!(outermost.callers(SPACE, 30), Some(vec![21, 10]));
        assert_eq!(outermost.callers(SPACE, 10), Some(vec![]));
        assert_eq!(outermost.callers(SPACE, 9), None, "the innermost is no caller");
        assert_eq!(outermost.callers(SpaceId(2), 30), None);
        outermost.learn(SpaceId(2), &[9, 10]);
        assert_eq!(outermost.callers(SpaceId(2), 30), None);
    }

    #[test]
    fn what_has_returned_may_have_another_caller_now() {
        let mut outermost = Outermost::default();
        outermost.learn(SPACE, &[9, 30, 20, 10]);
        outermost.learn(SPACE, &[9, 21, 10]);
        outermost.learn(SPACE, &[9, 30, 20, 10]);
        assert_eq!([30, 20].map(|of| outermost.callers(SPACE, of)), [None, None]);
        assert_eq!(outermost.callers(SPACE, 21), None);
    }

    #[test]
    fn a_function_that_calls_itself_is_at_several_places() {
        let mut outermost = Outermost::default();
        outermost.learn(SPACE, &[9, 30, 20, 20, 10]);
        assert_eq!(outermost.callers(SPACE, 20), None);
        assert_eq!(outermost.callers(SPACE, 30), Some(vec![20, 20, 10]));
    }

    #[test]
    fn memory_is_bounded() {
        let mut outermost = Outermost::default();
        for caller in 100..10_000 {
            outermost.learn(SPACE, &[9, caller, 10]);
        }
        assert!(outermost.returned.len() <= MOST_RETURNED + MOST_FRAMES);
        assert_eq!(outermost.callers(SPACE, 10), Some(vec![]));
        let deep: Vec<u64> = (0..100).collect();
        outermost.learn(SpaceId(2), &deep);
        assert_eq!(outermost.callers(SpaceId(2), 91), None);
        assert_eq!(outermost.callers(SpaceId(2), 92).map(|callers| callers.len()), Some(7));
    }
}
