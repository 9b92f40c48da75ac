//! Where a command runs: the host, a sandbox, a container. The only door to processes and to
//! foreign file systems.
//!
//! [`open`] turns a [`PlaceSpec`] into a [`Place`]; a place holds a [`Command`] just before its
//! first instruction ([`Held`]), so that events can be armed on its [`Cgroup`] or its process; then
//! it runs ([`Running`]) and ends ([`Exit`]). [`procfs`] and [`PlaceFacts`] look at processes and
//! places from outside.
//!
//! What is made here is undone here: by dropping the value, or after a crash by the next run's
//! sweep, which knows our things by their names and whether their maker lives.

mod bundle;
mod cgroup;
mod command;
mod detached;
mod ending;
mod engine;
mod error;
mod facts;
pub mod fake;
mod held;
mod host;
mod mounts;
mod owner;
mod place;
pub mod procfs;
mod replace;
mod sandbox;
mod spawn;
mod spec;
mod streams;
mod sweep;

pub use bundle::{Bundle, no_runtime};
pub use cgroup::{
    Cgroup, CounterReader, Counters, CpuCounters, CpuGroups, IoCounters, Limits, MemoryCounters,
    Position, Pressure,
};
pub use command::{Command, Exit, Group, Signal, Stdio};
pub use culprit_model::{Pid, Tid};
pub use detached::start_detached;
pub use engine::{
    ImageExport, InspectedContainer, InspectedImage, LIBRARY, RunningContainer, export_image,
    inspect_container, inspect_image, running_container,
};
pub use error::{Error, Result};
pub use facts::{FileSystem, OVERLAY_MAGIC, PlaceFacts, Seccomp, file_system};
pub use held::{Held, Running, Usage};
pub use mounts::{Mount, mount_of, mounts};
pub use owner::{fresh_name, maker_lives};
pub use place::{Place, Settings, SharedLibrary, open};
pub use replace::replace_with;
pub use spawn::Stage;
pub use spec::{
    ContainerOptions, EngineKind, Filter, Image, LogDriver, LowerFile, Memory, NanoCpus, Network,
    PlaceSpec, Protocol, Publish, SpecError, Volume,
};
pub use sweep::{Swept, sweep};
