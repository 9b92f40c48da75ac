//! Making samples.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use culprit_audit::{SampleFormat, SampleOptions, Truth, write_sample};
use culprit_model::Label as _;

/// A small sample in all formats.
pub(crate) fn options(interactions: u64) -> SampleOptions {
    SampleOptions {
        interactions,
        robots: 0.2,
        seed: 7,
        days: 14,
        formats: SampleFormat::ALL.to_vec(),
        malformed: 0,
    }
}

/// Writes a sample.
pub(crate) fn sample(folder: &Path, options: &SampleOptions) -> Truth {
    write_sample(folder, options, &AtomicBool::new(false)).unwrap()
}
