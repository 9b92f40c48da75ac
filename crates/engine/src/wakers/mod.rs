//! Who ended a wait, what they were doing, and whose time counts.
//!
//! A wait has a cause (how it waited) and an end (who made it ready). Following the ends backwards
//! from the last instant of a command gives its critical path: every nanosecond of the command's
//! life, charged to the thread that it was really waiting for.
//!
//! ```text
//! time    0         5         10
//! main    UUUUllllllllllllUU        the wait l ended when worker woke main
//! worker  ....UUUUssssssssUU        which slept most of that time
//! path    mmmmwwwwwwwwwwwwmm        main's life = own work + worker's work + worker's sleep
//! ```

mod askers;
mod callers;
mod chain;
mod children;
mod creator;
mod ends;
mod lives;
mod path;
mod patience;
mod relevance;
mod sites;
mod tasks;

use culprit_model::{ProcessId, Recording, ThreadId};

pub use callers::{Callers, callers};
pub use chain::{Ended, Link, chain, ended};
pub use children::is_descendant;
pub use lives::Lives;
pub use path::{CommandPath, CriticalPath, PathWait, Row, Segment, critical_path, selected_path};
pub(crate) use relevance::idle_waits;
pub use relevance::{Relevance, Scope};

/// The process of a thread; none of a thread that a damaged recording does not list.
fn process_of(recording: &Recording, thread: ThreadId) -> Option<ProcessId> {
    recording.threads.get(thread.index()).map(|thread| thread.process)
}

#[cfg(test)]
mod tests;
