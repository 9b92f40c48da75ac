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

mod chain;
mod ends;
mod lives;
mod path;
mod relevance;
mod tasks;

pub use chain::{Ended, Link, chain, ended};
pub use lives::Lives;
pub use path::{CriticalPath, PathWait, Segment, critical_path, selected_path};
pub use relevance::{Relevance, Scope};
pub use tasks::PARKS;

#[cfg(test)]
mod tests;
