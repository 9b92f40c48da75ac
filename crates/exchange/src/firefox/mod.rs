//! The Firefox Profiler's JSON (firefox-devtools/profiler `src/types/profile.ts`,
//! `src/types/gecko-profile.ts`): what samply, Firefox, perf's and others' converters write.
//!
//! A *processed* profile is made of columns; strings, stacks, frames and functions belong to each
//! thread in older versions and to all threads together since version 60. Firefox itself writes the
//! *gecko* form: rows with a schema, and a sub-profile for each further process. A sample says that
//! a thread was seen at a stack: how often is exact, how long is not, so weights become counts,
//! unless the file says that they are milliseconds or bytes; the CPU time that each sample states
//! (`threadCPUDelta`) becomes CPU time.

mod columns;
mod gecko;
mod names;
mod read;
mod write;

use crate::format::Spec;
use crate::json;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["json.gz", "json"],
    about: "the Firefox Profiler's JSON: samply, Firefox",
    detect,
    read: Some(read::read),
    write: Some(write::write),
};

fn detect(head: &[u8]) -> bool {
    let signs = ["\"preprocessedProfileVersion\"", "\"stackwalk\"", "\"stackTable\""];
    json::is_object(head)
        && json::mentions(head, "\"meta\"")
        && !json::mentions(head, "\"traceEvents\"")
        && signs.iter().any(|sign| json::mentions(head, sign))
}

/// Where we say what the weights of a profile of ours count; other programs pass it over.
const METRIC: &str = "culprit.metric";

/// The name of the thread that stands for rows of no thread in a profile of ours.
const NO_THREAD: &str = "(no thread)";
