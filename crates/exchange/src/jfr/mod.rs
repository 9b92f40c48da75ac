//! JDK Flight Recorder's files (`jdk.jfr` of the JDK; JEP 328), which Java's own recorder,
//! async-profiler and Datadog's profiler write.
//!
//! ```text
//! chunk -> Header, Classes (its own types), constants -> Record -> Names -> Rows -> costs
//! ```
//!
//! Nothing of an event's layout is taken for granted: its fields are found by their names in the
//! types that the chunk itself describes.

mod bytes;
mod chunk;
mod classes;
mod events;
mod names;
mod read;
mod settings;

use crate::format::Spec;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["jfr"],
    about: "Java's flight recordings: the JDK, async-profiler",
    detect,
    read: Some(read::read),
    write: None,
};

fn detect(head: &[u8]) -> bool {
    head.starts_with(chunk::MAGIC)
}
