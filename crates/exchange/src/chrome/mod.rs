//! Chrome's trace events ("Trace Event Format"), as Chromium, Node, Perfetto's converters,
//! viztracer, py-spy and `clang -ftime-trace` write them, and V8's CPU profiles.
//!
//! A trace is a list of events, each of a phase: `B` and `E` begin and end a span, `X` is a whole
//! one, `M` names processes and threads, `P` carries pieces of a CPU profile. A thread's spans are
//! nested; each contributes the time in which none was open inside it. V8 looks at what runs by the
//! clock, so its samples are wall-clock time too. A list whose end is missing is usual: the format
//! allows it, so that a program may be killed while it writes.

mod asynchronous;
mod cpuprofile;
mod read;
mod samples;
mod spans;
mod trace;
mod v8;
mod write;

use crate::format::Spec;
use crate::json;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["trace.json", "json"],
    about: "Chrome's trace events: Chromium, Node, viztracer, clang -ftime-trace",
    detect,
    read: Some(read::read),
    write: Some(write::write),
};

pub(crate) const CPUPROFILE: Spec = Spec {
    extensions: &["cpuprofile"],
    about: "V8's CPU profile: Node's profiler, Chromium's developer tools",
    detect: cpuprofile::detect,
    read: Some(cpuprofile::read),
    write: None,
};

fn detect(head: &[u8]) -> bool {
    let table = json::mentions(head, "\"stackFrames\"") && json::mentions(head, "\"sf\"");
    let event = json::mentions(head, "\"ph\"") && json::mentions(head, "\"pid\"");
    (json::is_object(head) && (json::mentions(head, "\"traceEvents\"") || event || table))
        || (json::is_array(head) && event)
}
