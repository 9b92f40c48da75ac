//! Results as people read them: numbers with their units, and pages of HTML.
//!
//! Pure: it reads no file and no clock. Both programs use it, so that a finding about an analytics
//! store looks like one about a recording.
//!
//! ```text
//! units     1.00 s, 12.5 KiB, 97 %
//! html      a page without scripts, its sections, pictures in SVG
//! ```

pub mod html;
mod units;

pub use units::{bytes, evidence_value, measured, number, percent, signed_duration, size};
