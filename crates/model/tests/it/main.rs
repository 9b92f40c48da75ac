//! Rules of the workspace as ordinary tests; they live here because every build has this crate.

mod arrows;
mod documents;
mod features;
mod walks;
