//! Reports as text for people: one screen, readable without colour.

mod bench;
mod findings;
mod ratio;
mod report;
mod why;

pub(crate) use bench::{bench_text, verify_text};
pub(crate) use findings::{Detail, culprit, finding_page, findings_text};
pub(crate) use ratio::{Sides, compared};
pub(crate) use report::{report_text, summary_text};
pub(crate) use why::why_text;
