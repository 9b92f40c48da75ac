//! Thread time: from raw switches, samples, wakeups and observations to gapless intervals.
//!
//! ```text
//! switches   in          out            in         out (preempted)   in
//! samples       u    k                       u
//! wakeups                        waking
//! intervals  | user | kernel | blocked | ready | user     | runnable     | ...
//! ```
//!
//! On-CPU time comes from the switches, its stacks from the clock samples, split half way between
//! them in the thread's CPU time; off-CPU time has the stack at the switch out and the cause that
//! [`Causes`](crate::causes::Causes) reads there; the wakeup splits it into blocked and runnable.
//! Each recorded thread's rows tile its life: nothing is left out and nothing counts twice.

mod borders;
mod build;
mod evidence;
mod interpreters;
mod polled;
mod quota;
mod reconcile;
mod state;
mod timeline;

pub use build::{build, build_missing};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
