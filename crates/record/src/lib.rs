//! The thread-time recorder: what the kernel knows of some threads, turned into rows.
//!
//! ```text
//! plan      what may be recorded, on which rung, and what that costs      ladder, plan
//! arm       events opened per CPU, three threads started                  session, perf, attr
//!   reader  empties the rings, opens files of new mappings                reader, sys, files, pace
//!   poller  reads accounts and counters from /proc                        poller
//!   worker  sorts records, makes rows, names stacks, writes the spool     order, decode, handle,
//!                                                                         tracker, space, stacks,
//!                                                                         resolve, probed, weighed,
//!                                                                         sockets, costs, tables
//!   prober  puts probes into programs, where they are wanted              probes
//! finish    rows read back, stacks repaired, generated code named         finish
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

mod accounts;
mod arguments;
mod asleep;
mod assembler;
mod attr;
mod bytecode;
mod calls;
mod chains;
mod clock;
mod costs;
mod datagrams;
mod decode;
mod dotnet;
mod error;
mod events;
mod extras;
mod fault_files;
mod files;
mod finish;
mod handle;
mod instants;
mod interpreters;
mod joined;
mod ladder;
mod learned;
mod ledger;
mod managed;
mod modules;
pub mod observe;
mod order;
mod outermost;
mod pace;
mod perf;
mod plan;
mod poller;
mod probed;
mod probes;
mod reader;
mod resolve;
mod runtimes;
mod sampled;
mod sampler;
#[cfg(test)]
mod saved;
mod session;
mod sizes;
mod sockets;
mod source;
mod space;
mod stacks;
mod subjects;
mod switching;
#[expect(unsafe_code, reason = "the system call and the shared ring have no safe interface")]
mod sys;
mod tables;
mod tracefs;
mod tracker;
mod unnamed;
mod unsampled;
mod waiting;
mod wakers;
mod weighed;
mod worker;

pub use culprit_model::Rung;
pub use error::Error;
pub use events::{Stacks, Wakers};
pub use extras::{AllocationTrace, Extras};
pub use finish::{Ending, Finished};
pub use pace::DEFAULT_STACK_RATE;
pub use plan::{ClockRate, HOST_FACT, HelpedRuntime, Options, Plan, Target, plan};
pub use probes::{ActivityEnds, ActivityProbe, Function, probe_cost};
pub use sampler::{DEFAULT_SAMPLING_BYTES, SAMPLER_FILE_NAME, sampler_library};
pub use session::{Armed, Closing, Progress, StopHandle, Waiting};
pub use sockets::{SocketActivity, SocketSide};
pub use sys::HugePages;
