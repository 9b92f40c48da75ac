//! The closed list of everything that can be missing from a recording.
//!
//! Every drop, truncation and guess is a row of the `losses` table of one of these kinds; the kind
//! fixes the severity, the origin and the advice, so no loss reaches a user without a next step.

use crate::label::{Label, labels};

labels! {
    /// How bad a loss is.
    LossSeverity ("loss severity") {
        /// Nothing is missing; a fact about how the evidence was gathered.
        Info = "info",
        /// Detail is missing; no claim changes.
        Notice = "notice",
        /// Evidence is missing; claims that rest on it are weaker.
        Loss = "loss",
        /// A whole kind of evidence is missing.
        Error = "error",
    }
}

labels! {
    /// Where a loss arose.
    LossOrigin ("loss origin") {
        /// While recording: only a new recording can bring it back.
        Recording = "recording",
        /// While analysing: more input (symbol files) can bring it back.
        Analysis = "analysis",
    }
}

labels! {
    /// What was lost, cut or guessed.
    LossKind ("loss") {
        /// Switch records that the kernel dropped because a ring was full: time accounting has a hole.
        SwitchesLost = "switches-lost",
        /// Sample records (stacks, wakeups, faults) that the kernel dropped because a ring was full.
        SamplesLost = "samples-lost",
        /// The kernel throttled sampling.
        SamplingThrottled = "sampling-throttled",
        /// Switch-outs that have no stack.
        StacksMissing = "stacks-missing",
        /// User stacks that end before the thread's start function.
        StacksTruncated = "stacks-truncated",
        /// Executable mappings whose file could not be opened.
        ModulesUnreadable = "modules-unreadable",
        /// Modules without a symbol table.
        SymbolsMissing = "symbols-missing",
        /// Kernel addresses that could not be named.
        KernelSymbolsMissing = "kernel-symbols-missing",
        /// Addresses in memory that belongs to no known file (generated code without a map).
        AddressesUnknown = "addresses-unknown",
        /// Addresses that generated code reused, so that a name may be wrong.
        NamesAmbiguous = "names-ambiguous",
        /// Stacks whose interpreted functions are those that were read nearest in time, or the outermost
        /// that were read before and after: of code on the CPU, and of waits that were over before they
        /// could be read.
        InterpreterFramesGuessed = "interpreter-frames-guessed",
        /// Stacks of interpreters whose functions were not read, or did not fit.
        InterpreterFramesMissing = "interpreter-frames-missing",
        /// Wakers could not be recorded.
        WakersMissing = "wakers-missing",
        /// Kernel stacks could not be recorded: causes come from polling, or not at all.
        KernelStacksMissing = "kernel-stacks-missing",
        /// The oldest part was dropped to stay within the size that the user set.
        OldestDropped = "oldest-dropped",
        /// The recorder was killed: everything since its last flush is missing.
        RecorderKilled = "recorder-killed",
        /// A part of the file is damaged.
        FileDamaged = "file-damaged",
        /// Damaged functions, call stacks, modules, threads or processes: what the other rows of the file
        /// mean is unknown.
        NamesDamaged = "names-damaged",
        /// The disk was full: recording ended early.
        DiskFull = "disk-full",
        /// Some threads could not be attached to.
        ThreadsNotAttached = "threads-not-attached",
        /// The on-CPU or run-queue sums differ from the kernel's own accounting.
        AccountingDiffers = "accounting-differs",
        /// Records with malformed content.
        RecordsMalformed = "records-malformed",
        /// Smaller rings than wanted: locked memory is limited.
        RingsSmall = "rings-small",
        /// Detail of another profiler's file that a recording cannot hold.
        DetailLeftOut = "detail-left-out",
        /// What another profiler's values count was guessed from their unit alone.
        MetricGuessed = "metric-guessed",
        /// Values below zero in another profiler's file: a recording cannot hold them.
        ValuesNegative = "values-negative",
        /// Hits of probes, or calls that move data, that the kernel or the recorder dropped: sums over
        /// them are too small.
        ProbeHitsLost = "probe-hits-lost",
        /// Programs and libraries that ran before they were probed: their earlier hits are missing.
        ProbesLate = "probes-late",
        /// Programs and libraries that could not be probed.
        ProbesRefused = "probes-refused",
        /// Counters of the processor that were requested and do not exist.
        CountersMissing = "counters-missing",
        /// What the requested probes cost the recorded program; one each hit.
        ProbesCost = "probes-cost",
        /// Allocations were sampled, so their numbers and bytes are estimates.
        AllocationsSampled = "allocations-sampled",
        /// Programs whose allocations were not seen, or only until tracing stopped.
        AllocationsMissing = "allocations-missing",
        /// Ends of activities without a beginning, and activities that others ended.
        ActivitiesUnpaired = "activities-unpaired",
    }
}

impl LossKind {
    /// How bad this kind is.
    #[must_use]
    pub const fn severity(self) -> LossSeverity {
        match self {
            Self::SwitchesLost
            | Self::RecorderKilled
            | Self::FileDamaged
            | Self::NamesDamaged
            | Self::DiskFull => LossSeverity::Error,
            Self::KernelStacksMissing
            | Self::SamplesLost
            | Self::StacksMissing
            | Self::ThreadsNotAttached
            | Self::RecordsMalformed
            | Self::OldestDropped
            | Self::WakersMissing
            | Self::ProbeHitsLost
            | Self::ProbesRefused
            | Self::AllocationsMissing
            | Self::ValuesNegative
            | Self::KernelSymbolsMissing => LossSeverity::Loss,
            Self::SamplingThrottled
            | Self::StacksTruncated
            | Self::ModulesUnreadable
            | Self::SymbolsMissing
            | Self::AddressesUnknown
            | Self::NamesAmbiguous
            | Self::InterpreterFramesMissing
            | Self::MetricGuessed
            | Self::CountersMissing
            | Self::ProbesLate
            | Self::ProbesCost
            | Self::ActivitiesUnpaired
            | Self::AccountingDiffers => LossSeverity::Notice,
            Self::RingsSmall
            | Self::DetailLeftOut
            | Self::InterpreterFramesGuessed
            | Self::AllocationsSampled => LossSeverity::Info,
        }
    }

    /// Where this kind arises.
    #[must_use]
    pub const fn origin(self) -> LossOrigin {
        match self {
            Self::SymbolsMissing
            | Self::AddressesUnknown
            | Self::NamesAmbiguous
            | Self::DetailLeftOut
            | Self::MetricGuessed
            | Self::ValuesNegative
            | Self::FileDamaged
            | Self::NamesDamaged => LossOrigin::Analysis,
            _ => LossOrigin::Recording,
        }
    }

    /// What the user can do about it; a row's detail may say more.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "one text for each kind")]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::SwitchesLost | Self::SamplesLost => {
                "record fewer processes, or run as root: the recorder then gets real-time priority and larger rings"
            }
            Self::SamplingThrottled => "lower -F, or raise kernel.perf_event_max_sample_rate",
            Self::StacksMissing => {
                "see samples-lost and rights-missing for the reason; the time itself is counted"
            }
            Self::StacksTruncated => {
                "record with --stacks dwarf, or build with -fno-omit-frame-pointer"
            }
            Self::ModulesUnreadable => {
                "run as root, so that the recorder can open files through /proc/PID/root"
            }
            Self::SymbolsMissing => {
                "install the debug symbols of the module, or keep the unstripped file"
            }
            Self::KernelSymbolsMissing => {
                "if this machine's kernel was recorded: run as root, or sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1; if another kernel was recorded: import the file on the machine that runs that kernel"
            }
            Self::AddressesUnknown => {
                "if a runtime generates the code, let it write a perf map: `culprit record -- CMD` asks Node.js, the JVM and .NET for it; start other processes with node --perf-basic-prof --interpreted-frames-native-stack or DOTNET_PerfMapEnabled=1; for a running JVM: jcmd PID Compiler.perfmap"
            }
            Self::NamesAmbiguous => {
                "use jitdump instead of a perf map: it says when each name was valid"
            }
            Self::InterpreterFramesGuessed => {
                "single functions may be wrong; sums over many samples are right"
            }
            Self::InterpreterFramesMissing => {
                "record longer: functions are read about a thousand times a second"
            }
            Self::WakersMissing => "run as root, or with CAP_PERFMON and a readable tracefs",
            Self::KernelStacksMissing => {
                "sysctl kernel.perf_event_paranoid=1, or run with CAP_PERFMON"
            }
            Self::OldestDropped => "raise --max-mib",
            Self::RecorderKilled => "end the recording with Ctrl-C",
            Self::FileDamaged | Self::NamesDamaged => {
                "copy the file again from the machine that recorded it"
            }
            Self::DiskFull => {
                "free space, write to another disk with -o, or limit the size with --max-mib"
            }
            Self::ThreadsNotAttached => {
                "run as root, or record the command from its start; `--all` also records what moves to other cgroups"
            }
            Self::AccountingDiffers => {
                "compare the residuals in the report; the usual reasons are steal time and lost records"
            }
            Self::DetailLeftOut => "open the file with the tool that wrote it",
            Self::MetricGuessed => "read the numbers as the tool that wrote the file explains them",
            Self::ValuesNegative => {
                "the file is a difference of two profiles: import both and compare them with `culprit diff`"
            }
            Self::ProbeHitsLost => {
                "record a shorter part or fewer processes, or run as root: the recorder then gets real-time priority"
            }
            Self::ProbesLate => {
                "record the command from its start, on the host or in the sandbox, or attach to running processes"
            }
            Self::CountersMissing => {
                "record on the bare machine, or let the hypervisor pass its counters to the guest"
            }
            Self::ProbesRefused => {
                "read the detail: it has the kernel's error, or the name that no program or library has; `culprit top` shows the names of functions that run"
            }
            Self::ProbesCost => {
                "every hit traps into the kernel, and recording fewer hits would not make them fewer; for true times record again without `--alloc=every` and `--activity`"
            }
            Self::AllocationsSampled => {
                "record with a smaller mean, such as `--alloc=64KiB`, for smaller errors"
            }
            Self::AllocationsMissing => {
                "read the detail; `--alloc=every` also traces static programs and other allocators, at some microseconds for each allocation"
            }
            Self::ActivitiesUnpaired => {
                "name functions that return, or both start and stop (START..STOP); an activity that began before the recording has no start in it"
            }
            Self::RecordsMalformed => "please report this, with the recording",
            Self::RingsSmall => {
                "raise kernel.perf_event_mlock_kb or the locked-memory limit (ulimit -l)"
            }
        }
    }

    /// Every kind.
    #[must_use]
    pub fn all() -> &'static [Self] {
        Self::ALL
    }
}
