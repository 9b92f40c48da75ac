//! Why a thread was not running: from the kernel functions on its stack, or from what `/proc` said.
//!
//! The rules are data ([`rules`], each with its kernel source); [`Causes`] applies them once per stack;
//! [`observed`] serves recorders that were allowed no kernel stacks. An
//! unknown wait is called [`Cause::Other`](culprit_model::Cause::Other) and keeps its stack.

mod classify;
mod futex;
mod observed;
mod rules;

pub use classify::{Causes, KERNEL_MODULE, Verdict};
pub use futex::FutexWaits;
pub use observed::observed;
pub use rules::{Context, Rule, Strength, rules};

#[cfg(test)]
mod tests;
