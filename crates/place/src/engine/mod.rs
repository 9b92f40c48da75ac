//! Containers, through the HTTP interface that Docker defined and Podman answers too.
//!
//! bollard and its runtime stay in this folder. Every call is made on a runtime of its own that
//! lives as long as the call ([`client`]), so nothing async leaks out and nothing runs behind the
//! caller's back but one thread a started command ([`session`]).
//!
//! ```text
//!   create   options -> the engine's request        host_image  an image for `@host`
//!   place    docker:IMAGE, podman:IMAGE             existing    container:NAME
//!   lower    an image with files of ours            program     a program of ours in one of those
//!   export   an image, read while the engine sends it
//!   inspect  what a container and an image were made with
//!   session  one command: streams, start, end       refusal     why it did not start
//! ```
//!
//! Nothing is ever pulled: an image that is not here is an error that says which are.

mod client;
mod create;
mod existing;
mod export;
mod host_image;
mod inspect;
mod leftovers;
mod lower;
mod place;
mod program;
mod refusal;
mod removal;
mod session;
mod stdin;

pub use existing::{RunningContainer, running_container};
pub use export::{ImageExport, export_image};
pub use inspect::{InspectedContainer, InspectedImage, inspect_container, inspect_image};
pub use program::LIBRARY;

pub(crate) use create::text;
pub(crate) use existing::Existing;
pub(crate) use leftovers::sweep;
pub(crate) use place::Container;
