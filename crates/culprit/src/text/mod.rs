//! Reports as text for people: one screen, readable without colour.

mod findings;
mod report;
mod why;

pub(crate) use findings::{Detail, culprit, finding_page, findings_text};
pub(crate) use report::{report_text, summary_text};
pub(crate) use why::why_text;
