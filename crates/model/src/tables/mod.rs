//! One file a table. A row's position in its table is its handle.

mod activities;
mod columns;
mod costs;
mod counters;
mod faults;
mod frames;
mod intervals;
mod losses;
mod mappings;
mod marks;
mod modules;
mod observations;
mod processes;
mod samples;
mod stacks;
mod switches;
mod threads;
mod wakeups;

pub use activities::{Activity, ActivityEdge, ActivitySource, ActivityWork, EdgeKind};
pub use columns::{CostColumns, IntervalColumns, OptionalColumn};
pub use costs::Cost;
pub use counters::{Counter, names as counter_names};
pub use faults::{Fault, FaultKind};
pub use frames::{Frame, Instruction};
pub use intervals::{Basis, Interval};
pub use losses::Loss;
pub use mappings::Mapping;
pub use marks::{Mark, MarkKind};
pub use modules::Module;
pub use observations::Observation;
pub use processes::Process;
pub use samples::{Sample, SampleKind};
pub use stacks::Stack;
pub use switches::{Switch, SwitchKind, UNKNOWN_CPU};
pub use threads::Thread;
pub use wakeups::{WakeSource, Wakeup, WakeupKind};
