//! What each event that is used says.

use culprit_model::Cause;

use crate::rows::Part;

/// What an event tells about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// A thread was seen running Java code, or by async-profiler on a CPU.
    Running,
    /// A thread was seen on a CPU; the event itself says how much CPU time it stands for.
    CpuTime,
    /// A thread was seen in native code, where it runs or waits.
    Native,
    /// A thread was seen by async-profiler's clock, running or not.
    Looked,
    /// A thread waited.
    Waited(Wait),
    /// Memory: the event's field for the bytes, and whether each event is one allocation.
    Heap { bytes: &'static str, part: Part, counted: bool },
    /// Memory that was still in use when the recording ended.
    Live,
}

/// A wait's cause, and which fields say for what and how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) cause: Cause,
    pub(super) on: On,
    pub(super) bytes: Option<&'static str>,
}

/// What was waited for, as a frame at the leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Nothing,
    /// An object, by its class in this field.
    Object(&'static str),
    File,
    Peer,
}

const fn wait(cause: Cause, on: On, bytes: Option<&'static str>) -> Tells {
    Tells::Waited(Wait { cause, on, bytes })
}

const fn heap(bytes: &'static str, part: Part, counted: bool) -> Tells {
    Tells::Heap { bytes, part, counted }
}

/// The events that are used, by name (the JDK's `metadata.xml`; async-profiler's
/// `jfrMetadata.cpp`). Files are written through the page cache, so that a wait in one is not
/// always the disk's; the recorder's threshold, 10 or 20 ms as a rule, leaves out most that are not.
const EVENTS: &[(&str, Tells)] = &[
    ("jdk.ExecutionSample", Tells::Running),
    ("jdk.CPUTimeSample", Tells::CpuTime),
    ("jdk.NativeMethodSample", Tells::Native),
    ("profiler.WallClockSample", Tells::Looked),
    ("jdk.JavaMonitorEnter", wait(Cause::Lock, On::Object("monitorClass"), None)),
    ("jdk.JavaMonitorWait", wait(Cause::Lock, On::Object("monitorClass"), None)),
    ("jdk.ThreadPark", wait(Cause::Lock, On::Object("parkedClass"), None)),
    ("profiler.NativeLock", wait(Cause::Lock, On::Nothing, None)),
    ("jdk.ThreadSleep", wait(Cause::Sleep, On::Nothing, None)),
    ("jdk.SocketRead", wait(Cause::Net, On::Peer, Some("bytesRead"))),
    ("jdk.SocketWrite", wait(Cause::Net, On::Peer, Some("bytesWritten"))),
    ("jdk.SocketConnect", wait(Cause::Net, On::Peer, None)),
    ("jdk.FileRead", wait(Cause::Disk, On::File, Some("bytesRead"))),
    ("jdk.FileWrite", wait(Cause::Disk, On::File, Some("bytesWritten"))),
    ("jdk.FileForce", wait(Cause::Fsync, On::File, None)),
    ("jdk.ObjectAllocationSample", heap("weight", Part::HeapSampled, false)),
    ("jdk.ObjectAllocationInNewTLAB", heap("tlabSize", Part::Heap, true)),
    ("jdk.ObjectAllocationOutsideTLAB", heap("allocationSize", Part::Heap, true)),
    ("profiler.Malloc", heap("size", Part::Heap, true)),
    ("profiler.LiveObject", Tells::Live),
];

/// Events that are used as facts, or that the recorder writes about itself.
const FACTS: &[&str] = &["jdk.ActiveSetting", "jdk.ActiveRecording", "jdk.JVMInformation"];

pub(super) fn tells(name: &str) -> Option<Tells> {
    EVENTS.iter().find(|(event, _)| *event == name).map(|(_, tells)| *tells)
}

pub(super) fn is_fact(name: &str) -> bool {
    FACTS.contains(&name)
}

/// What a span is called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The method in this field.
    Method(&'static str),
    /// The text in this field.
    Text(&'static str),
}

/// Spans that are called by more than the type of their event: methods that the user asked to
/// trace (JEP 520; async-profiler's `--trace`), and what a program tells async-profiler of.
const NAMED: &[(&str, NamedBy)] = &[
    ("jdk.MethodTrace", NamedBy::Method("method")),
    ("profiler.MethodTrace", NamedBy::Method("method")),
    ("profiler.Span", NamedBy::Text("tag")),
];

pub(super) fn names_span(name: &str) -> Option<NamedBy> {
    NAMED.iter().find(|(event, _)| *event == name).map(|(_, by)| *by)
}

/// Whether an event that tells nothing else is a span if it lasts: those that programs and their
/// libraries define. The JDK's own last as long as what the virtual machine did.
pub(super) fn is_span(name: &str) -> bool {
    names_span(name).is_some() || !name.starts_with("jdk.")
}
