//! What a recording says about itself.

use crate::ids::ProcessId;
use crate::label::labels;
use crate::time::{Nanos, Time};

labels! {
    /// What the recorder was allowed to see, from most to least.
    Rung ("rung") {
        /// Switch records, kernel and user stacks at each switch, wakers from the whole machine.
        Full = "full",
        /// Switch records with kernel and user stacks; no wakers from outside the recorded threads.
        KernelStacks = "kernel-stacks",
        /// Switch records and user samples; reasons of waits come from polling /proc.
        UserOnly = "user-only",
        /// No perf events at all: states of threads polled from /proc.
        Polling = "polling",
        /// Made from another tool's file.
        Imported = "imported",
    }
}

/// One instant on two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockPair {
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic: u64,
    /// `CLOCK_REALTIME`, ns since 1970.
    pub realtime: u64,
}

/// What a recording keeps of the configuration of what it recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptConfiguration {
    /// The lines of a snapshot of `culprit config`. They hold no plaintext of a secret.
    Snapshot(String),
    /// Why there is no snapshot, in words.
    LeftOut(String),
}

/// What a recording says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Meta {
    /// Version of the program that wrote it.
    pub tool: String,
    /// The recorded command; empty when running processes were attached to.
    pub command: Vec<String>,
    /// Where it ran, as the user writes places.
    pub place: String,
    /// Facts about the place, name and value, in the order they were found.
    pub place_facts: Vec<(String, String)>,
    /// Clocks at the recording's start; times count from `start.monotonic`.
    pub start: ClockPair,
    /// Clocks at its end.
    pub end: ClockPair,
    /// Length of the recording.
    pub wall: Nanos,
    /// When the command itself began and ended, on the recording's clock, if there was one.
    pub command_span: Option<(Time, Time)>,
    /// The command's own process; none when running processes were attached to.
    pub root_process: Option<ProcessId>,
    /// Exit code of the command: 128 + N when signal N ended it. None when it has not ended.
    pub exit_code: Option<i32>,
    /// What the recorder was allowed to see.
    pub rung: Rung,
    /// Why it stands on no higher rung, and what would lift it; one sentence each.
    pub degraded: Vec<String>,
    /// Kernel release.
    pub kernel: String,
    /// CPUs online.
    pub cpus: u32,
    /// Clock samples a second of CPU time, at first.
    pub frequency: u32,
    /// The same from the second second of a long recording on; 0 where the rate stayed.
    pub later_frequency: u32,
    /// Bytes of ring memory, bytes of buffers at most: the recorder's memory bound.
    pub recorder_memory_bytes: u64,
    /// CPU time that the recorder itself used until the recording ended.
    pub recorder_cpu: Nanos,
    /// False while the recorder runs, and for ever when it was killed.
    pub complete: bool,
    /// Configuration of the command and its place; none where nothing looked for it.
    pub configuration: Option<KeptConfiguration>,
}

impl Default for Meta {
    fn default() -> Self {
        Self {
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            command: Vec::new(),
            place: "host".to_owned(),
            place_facts: Vec::new(),
            start: ClockPair::default(),
            end: ClockPair::default(),
            wall: Nanos::ZERO,
            command_span: None,
            root_process: None,
            exit_code: None,
            rung: Rung::Full,
            degraded: Vec::new(),
            kernel: String::new(),
            cpus: 0,
            frequency: 0,
            later_frequency: 0,
            recorder_memory_bytes: 0,
            recorder_cpu: Nanos::ZERO,
            complete: true,
            configuration: None,
        }
    }
}
