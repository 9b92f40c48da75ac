//! What a case needs and this machine lacks.

use culprit_model::Rung;

use super::case::Case;
use crate::failure::chain;
use crate::settings;

/// What is missing for a case, in words; empty when it can be run.
pub(crate) fn missing(case: &Case) -> Vec<String> {
    let programs = case.needs.iter().filter(|program| !settings::has_program(program));
    programs.cloned().chain(rights()).collect()
}

/// Waits, wakers and files are what cases are about: they take every right of the recorder.
fn rights() -> Option<String> {
    let options = culprit_record::Options::new(culprit_record::Target::Command, "");
    match culprit_record::plan(options) {
        Ok(plan) if plan.rung() == Rung::Full => None,
        Ok(plan) => Some(format!("the right to record in full (`{}` here)", plan.rung())),
        Err(error) => Some(format!("the right to record ({})", chain(&error))),
    }
}
