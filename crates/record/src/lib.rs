//! The thread-time recorder.

mod attr;
mod clock;
mod decode;
mod error;
mod events;
mod fault_files;
mod files;
mod finish;
mod handle;
mod ladder;
mod ledger;
mod modules;
mod order;
mod pace;
mod perf;
mod plan;
mod poller;
mod reader;
mod resolve;
mod session;
mod source;
mod space;
mod stacks;
mod subjects;
#[expect(unsafe_code, reason = "the system call and the shared ring have no safe interface")]
mod sys;
mod tables;
mod tracefs;
mod tracker;
mod wakers;
mod worker;

pub use culprit_model::Rung;
pub use error::Error;
pub use events::{Stacks, Wakers};
pub use finish::{Ending, Finished};
pub use pace::DEFAULT_STACK_RATE;
pub use plan::{Options, Plan, Target, plan};
pub use session::{Armed, Progress, StopHandle, Waiting};
