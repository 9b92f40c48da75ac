//! The built page, `ui/dist`, out of the program itself.
//!
//! ```text
//! ui/dist ─ build.rs: compressed, once ─> assets ─┬─> server: file by file
//!                                                 └─> one_file: one HTML file with a recording inside
//! ```
//!
//! It knows neither HTTP nor what a recording holds.

mod assets;
mod one_file;

pub use assets::{Asset, asset, assets};
pub use one_file::{OneFile, Start};
