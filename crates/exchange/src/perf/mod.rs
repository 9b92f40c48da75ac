//! Linux perf: its own files, and what `perf script` prints of them.

mod data;
mod event;
mod script;

use crate::format::Spec;

pub(crate) const DATA: Spec = Spec {
    extensions: &["data"],
    about: "what `perf record` writes, to a file or into a pipe",
    detect: data::detect,
    read: Some(data::read),
    write: None,
};

pub(crate) const SCRIPT: Spec = Spec {
    extensions: &["perf", "data.txt", "trace.zip"],
    about: "what `perf script` prints, also in perfcollect's .trace.zip",
    detect: script::detect,
    read: Some(script::read),
    write: None,
};
