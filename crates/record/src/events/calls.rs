//! Which named functions a thread is inside of, so that those that never return are left in time.
//!
//! ```text
//! main ---- serve ---- parse --- throw     caught in main: no return of parse, none of serve
//! stack     deeper     deeper    ...       the next hit finds the stack above both
//! ```
//!
//! An exception or `longjmp` ends functions without a return. The stack tells: a function whose frame
//! lies at or below the stack pointer of the next hit is gone. A tail call leaves the stack as it was
//! and is no end: the caller there is the kernel's own trampoline for returns, which is of no module.

use culprit_model::Text;

/// Calls that are remembered a thread; deeper ones end with a return or with the one around them.
const MOST: usize = 4_096;

/// Bytes of stack that a return takes: the return address, where calls push one.
const RETURN_BYTES: u64 = if cfg!(target_arch = "aarch64") { 0 } else { 8 };

/// The named functions that a thread is inside of, outermost first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(Vec<Call>);

#[derive(Debug, Clone)]
struct Call {
    /// The stack pointer at its entry.
    stack_pointer: u64,
    name: Text,
}

impl Calls {
    /// A function is entered. The names of those that are gone without a return, innermost first.
    pub(crate) fn enter(&mut self, name: &Text, stack_pointer: u64, tail_call: bool) -> Vec<Text> {
        let gone = self.leave_below(|call| {
            call.stack_pointer < stack_pointer
                || (call.stack_pointer == stack_pointer && !tail_call)
        });
        if self.0.len() < MOST {
            self.0.push(Call { stack_pointer, name: name.clone() });
        }
        gone
    }

    /// A function has returned. The names of those inside of it that are gone without a return.
    pub(crate) fn leave(&mut self, name: &Text, stack_pointer: u64) -> Vec<Text> {
        let entered = stack_pointer.saturating_sub(RETURN_BYTES);
        let gone = self.leave_below(|call| call.stack_pointer < entered);
        let same = |call: &Call| call.stack_pointer == entered && call.name == *name;
        if let Some(at) = self.0.iter().rposition(same) {
            self.0.remove(at);
        }
        gone
    }

    fn leave_below(&mut self, is_gone: impl Fn(&Call) -> bool) -> Vec<Text> {
        let mut gone = Vec::new();
        while let Some(call) = self.0.pop_if(|call| is_gone(call)) {
            gone.push(call.name);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(gone: &[Text]) -> Vec<&str> {
        gone.iter().map(Text::as_str).collect()
    }

    #[test]
    fn what_was_thrown_through_is_left_when_the_stack_is_above_it() {
        let mut calls = Calls::default();
        let [serve, parse, other] = ["serve", "parse", "other"].map(Text::from);
        assert!(calls.enter(&serve, 1000, false).is_empty());
        assert!(calls.enter(&parse, 900, false).is_empty());
        assert_eq!(names(&calls.enter(&other, 1000, false)), ["parse", "serve"]);
        assert!(calls.leave(&other, 1000 + RETURN_BYTES).is_empty());
        assert!(calls.0.is_empty());
    }

    #[test]
    fn returns_and_tail_calls_leave_nothing_behind() {
        let mut calls = Calls::default();
        let [outer, inner, next] = ["outer", "inner", "next"].map(Text::from);
        calls.enter(&outer, 1000, false);
        calls.enter(&inner, 800, false);
        assert!(calls.leave(&inner, 800 + RETURN_BYTES).is_empty());
        assert!(calls.enter(&next, 1000, true).is_empty());
        assert!(calls.leave(&next, 1000 + RETURN_BYTES).is_empty());
        assert!(calls.leave(&outer, 1000 + RETURN_BYTES).is_empty());
        assert!(calls.0.is_empty());
    }

    #[test]
    fn a_return_past_others_leaves_them() {
        let mut calls = Calls::default();
        let [outer, inner] = ["outer", "inner"].map(Text::from);
        calls.enter(&outer, 1000, false);
        calls.enter(&inner, 900, false);
        assert_eq!(names(&calls.leave(&outer, 1000 + RETURN_BYTES)), ["inner"]);
    }
}
