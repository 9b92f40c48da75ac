//! Rows to meaning: thread time, causes, wakers, call trees, statistics and comparisons.
//!
//! Everything here is a pure function of a [`Recording`](culprit_model::Recording) and the user's
//! [`Filter`](culprit_model::Filter): no file, no clock, no environment, no thread, no printing.
//! The same input gives the same bytes.
//!
//! ```text
//! switches, samples,      threads::build        intervals     calls::CallTree     views
//! wakeups, looks at /proc -------------------->  (cause,  --+--------------------> by name, tree,
//!                           causes::Causes       stack,     |                      flame, callers
//!                                                waker)     +- wakers::Relevance -> findings
//!                                                           +- compare::compare --> `why`
//! ```
//!
//! ```
//! use culprit_engine::{calls, threads, wakers};
//! use culprit_model::{Filter, Nanos, notation};
//!
//! // What a recorder saw: main waits for a lock until worker wakes it.
//! let mut recording = notation::parse_raw(
//!     "stack a cpu.user main;work
//!      stack l blocked.lock main;pthread_mutex_lock;[kernel]!futex_do_wait
//!      app(1)/main(1)    aaaalllllraa|
//!      app(1)/worker(2)  aaaaaaaaaa
//!      wake 9 worker > main main;unlock
//!      root app(1)",
//! )?;
//! let sums = threads::build(&mut recording);
//! assert_eq!(sums.life.ours, sums.life.theirs);
//!
//! let query = calls::Query::compile(&Filter::default())?;
//! let tree = calls::CallTree::of(&recording, &query);
//! let rows = calls::by_name(&tree);
//! let lock = rows.iter().find(|row| row.name.as_str() == "blocked.lock");
//! assert_eq!(lock.map(|row| row.exc), Some(5_000_000));
//!
//! // The wait delayed main by 5 ms, and none of that was its own: worker worked.
//! let relevance = wakers::Relevance::of(&recording);
//! let wait = recording.intervals.iter().position(|row| row.cause.is_blocked()).unwrap();
//! assert_eq!(relevance.waited(wait), Nanos(5_000_000));
//! assert_eq!(relevance.own(wait), Nanos::ZERO);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;

pub mod accounting;
pub mod activities;
pub mod calls;
pub mod causes;
pub mod compare;
mod cut;
pub mod fleet;
pub mod lanes;
pub mod losses;
pub mod names;
pub mod own;
pub mod phases;
pub mod run_time;
pub mod stats;
pub mod threads;
pub mod wakers;

pub use cut::cut;
pub use error::FilterError;
