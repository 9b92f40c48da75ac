//! Linux perf: what `perf script` prints.

mod event;
mod script;

use crate::format::Spec;

pub(crate) const SCRIPT: Spec = Spec {
    extensions: &["perf", "data.txt", "trace.zip"],
    about: "what `perf script` prints, also in perfcollect's .trace.zip",
    detect: script::detect,
    read: Some(script::read),
    write: None,
};
