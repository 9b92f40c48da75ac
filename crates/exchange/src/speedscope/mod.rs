//! speedscope's JSON (speedscope `src/lib/file-format-spec.ts`): what py-spy, pyinstrument, rbspy
//! and many others write.
//!
//! A file holds several profiles over one list of frames. A *sampled* one is a list of stacks, root
//! first, each with a weight; an *evented* one a list of openings and closings. Values in a unit of
//! time are wall-clock time: none of the writers counts CPU time, they look at the clock.

mod read;
mod write;

use crate::format::Spec;
use crate::json;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["speedscope.json", "json"],
    about: "speedscope's JSON: py-spy, pyinstrument, rbspy",
    detect,
    read: Some(read::read),
    write: Some(write::write),
};

fn detect(head: &[u8]) -> bool {
    let kinds = || json::mentions(head, "\"evented\"") || json::mentions(head, "\"sampled\"");
    json::is_object(head)
        && (json::mentions(head, "speedscope.app/file-format-schema")
            || (json::mentions(head, "\"profiles\"") && kinds()))
}
