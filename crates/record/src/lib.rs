//! The thread-time recorder: what the kernel knows of some threads, turned into rows.
//!
//! ```text
//! session     what may be recorded, on which rung; events opened, threads started, the end
//! rings       a thread empties the kernel's rings; one order in time over all of them
//! events      a thread makes rows of records, and writes them out
//! enrich      what /proc, files and runtimes add: a poller, and readings placed among the events
//! symbolize   from addresses to frames with names
//! probes      probes in programs, where they are wanted
//! observe     what a program reads of its configuration, by tracing it
//! ```
//!
//! What comes out is a [`culprit_model::Recording`] without intervals: switches, samples, wakeups,
//! faults, counters as they happened. What the time was spent on is for the engine to say.
//!
//! ```no_run
//! use culprit_record::{Ending, Options, StopHandle, Target, Waiting, plan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Target::Processes(vec![culprit_model::Pid(4711)]);
//! let plan = plan(Options::new(target, "out.culprit"))?;
//! for sentence in plan.degraded() {
//!     // What is missing on this rung, and the command that lifts it.
//!     assert!(!sentence.is_empty());
//! }
//! let armed = plan.arm(Waiting::default())?;
//! let stop = StopHandle::new();
//! armed.run(&stop, &mut |progress| assert_eq!(progress.lost, 0));
//! let finished = armed.finish(Ending::default())?;
//! assert!(!finished.recording.switches.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: times are `CLOCK_MONOTONIC`; a switch record is never given up for a stack; nothing
//! is lost without a row of the loss table; memory is bounded by what [`Plan::memory_bytes`] says
//! and the parsed programs.

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("records are decoded for 64-bit little-endian machines only");

mod clock;
mod enrich;
mod error;
mod events;
pub mod observe;
mod probes;
mod rings;
mod session;
mod symbolize;
#[expect(unsafe_code, reason = "the system call and the shared ring have no safe interface")]
mod sys;

pub use culprit_model::Rung;
pub use error::Error;
pub use events::extras::{AllocationTrace, Extras};
pub use events::sets::{Stacks, Wakers};
pub use events::sockets::{SocketActivity, SocketSide};
pub use probes::sampler::{DEFAULT_SAMPLING_BYTES, SAMPLER_FILE_NAME, sampler_library};
pub use probes::{ActivityEnds, ActivityProbe, Function, probe_cost};
pub use rings::pace::DEFAULT_STACK_RATE;
pub use session::finish::{Ending, Finished};
pub use session::plan::{ClockRate, HOST_FACT, HelpedRuntime, Options, Plan, Target, plan};
pub use session::{Armed, Closing, Progress, StopHandle, Waiting};
pub use sys::HugePages;
