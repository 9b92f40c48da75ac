//! Traces of .NET's EventPipe (microsoft/perfview `NetTraceFormat.md`, `NetTraceFormat_v5.md`):
//! dotnet-trace and dotnet-monitor write versions 4 and 5, one-collect's record-trace and
//! `dotnet-trace collect-linux` version 6, with the events of `UniversalProviders.md`.
//!
//! ```text
//! Blocks -> types, stacks, threads, labels, Events -> Gathered -> Code (what is where) -> rows
//!                                                           -> Activities -> edges
//! ```
//!
//! Which method is at an address is told at the end of most traces, so that samples are kept until
//! then.

mod activities;
mod blocks;
mod bytes;
mod code;
mod events;
mod gather;
mod guid;
mod labels;
mod meaning;
mod payload;
mod read;
mod types;

use crate::format::Spec;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["nettrace"],
    about: ".NET's EventPipe traces: dotnet-trace, dotnet-monitor, record-trace",
    detect,
    read: Some(read::read),
    write: None,
};

fn detect(head: &[u8]) -> bool {
    head.starts_with(blocks::MAGIC)
}
