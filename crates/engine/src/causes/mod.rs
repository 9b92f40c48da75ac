//! Why a thread was not running: from the kernel functions on its stack, or from what `/proc` said.
//!
//! The rules are data ([`RULES`], one row a rule, each with its kernel source); [`Causes`] applies
//! them once per stack; [`observed`] serves recorders that were allowed no kernel stacks. An
//! unknown wait is called [`Cause::Other`](culprit_model::Cause::Other) and keeps its stack.

mod classify;
mod names;
mod observed;
mod rules;

pub use classify::{Causes, KERNEL_MODULE, Verdict};
pub use names::{matches, source_name};
pub use observed::observed;
pub use rules::{Context, RULES, Rule, Strength};

#[cfg(test)]
mod tests;
