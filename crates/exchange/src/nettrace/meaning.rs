//! Which events are used, and for what.

use super::types::Type;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Meaning {
    /// The sample profiler saw a thread.
    Look,
    /// So much was allocated since the event before.
    Allocation,
    /// A thread begins to wait for a lock that another holds, or ends it.
    LockStart,
    LockStop,
    /// A thread begins to wait for a handle, or ends it.
    WaitStart,
    WaitStop,
    /// Where a generated method is.
    Method,
    /// Which file a module is.
    Module,
    /// The command line.
    Command,
    /// A process and its name.
    Process,
    /// A file in the memory of a process.
    Mapping,
    /// A function in such a file.
    Symbol,
    /// A process ended, or how a file's symbols are found.
    Nothing,
    /// A sample of a CPU.
    Cpu,
    /// A thread gets onto a CPU after so much time.
    Switch,
    /// Another event with a stack, which a tool for Linux recorded.
    Counted,
}

/// The .NET runtime's events (dotnet/runtime `ClrEtwAll.man`), and those of Linux tools by name.
pub(super) fn meaning(of: &Type) -> Option<Meaning> {
    Some(match (of.provider.as_str(), of.id, of.name.as_str()) {
        ("Microsoft-DotNETCore-SampleProfiler", 0, _) => Meaning::Look,
        ("Microsoft-DotNETCore-EventPipe", 1, _) => Meaning::Command,
        ("Microsoft-Windows-DotNETRuntime", id, _) => match id {
            10 => Meaning::Allocation,
            81 => Meaning::LockStart,
            91 => Meaning::LockStop,
            143 | 144 => Meaning::Method,
            152 | 153 => Meaning::Module,
            301 => Meaning::WaitStart,
            302 => Meaning::WaitStop,
            _ => return None,
        },
        ("Microsoft-Windows-DotNETRuntimeRundown", id, _) => match id {
            143 | 144 => Meaning::Method,
            153 | 154 => Meaning::Module,
            // Where each instruction of a method is from, and when the telling begins and ends.
            145..=150 => Meaning::Nothing,
            _ => return None,
        },
        ("Universal.System", _, name) => match name {
            "ExistingProcess" | "ProcessCreate" => Meaning::Process,
            "ProcessMapping" => Meaning::Mapping,
            "ProcessSymbol" => Meaning::Symbol,
            "ProcessExit" | "ProcessMappingMetadata" => Meaning::Nothing,
            _ => return None,
        },
        ("Universal.Events", _, name) => match name {
            "cpu" => Meaning::Cpu,
            "cswitch" => Meaning::Switch,
            _ => Meaning::Counted,
        },
        _ => return None,
    })
}
