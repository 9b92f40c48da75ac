//! `culprit-data audit sample`.

use std::path::Path;
use std::sync::atomic::Ordering;

use culprit_audit::{SampleFormat, SampleOptions, Truth, write_sample};
use culprit_model::{Label as _, counted};

use super::import::rows_and_bytes;
use super::stop_flag;
use super::text::put;
use crate::audit_args::AuditSampleArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Runs it.
///
/// # Errors
/// When the sample cannot be written.
pub(crate) fn run(args: &AuditSampleArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    if !(0.0..=1.0).contains(&args.robots) {
        return Err(Failure::bad_input(format!("`--robots {}` is not a share", args.robots))
            .hint("give a number from 0 to 1"));
    }
    if !args.force {
        expect_empty(&args.output)?;
    }
    let formats = args.formats.iter().filter_map(|word| SampleFormat::from_word(word)).collect();
    let options = SampleOptions {
        interactions: args.interactions,
        robots: args.robots,
        seed: args.seed,
        days: args.days,
        formats,
        malformed: args.malformed,
    };
    let stop = stop_flag()?;
    let truth = write_sample(&args.output, &options, &stop)
        .map_err(|error| Failure::refused(error.to_string()))?;
    if stop.load(Ordering::Relaxed) {
        talk.warn("interrupted: the sample has fewer visits than asked; truth.json is of these\n");
    }
    if json {
        return put(&format!("{}\n", serde_json::to_string(&truth).unwrap_or_default()));
    }
    put(&text(args, &truth))
}

/// Refuses a place with files of somebody.
fn expect_empty(folder: &Path) -> Result<(), Failure> {
    let has_files = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if !has_files {
        return Ok(());
    }
    Err(Failure::bad_input(format!("the folder `{}` is not empty", folder.display()))
        .hint("`--force` replaces an earlier sample; `-o` writes to another folder"))
}

fn text(args: &AuditSampleArgs, truth: &Truth) -> String {
    let robots: u64 = truth
        .visits_by_visitor
        .iter()
        .filter(|(visitor, _)| visitor.is_robot())
        .map(|(_, visits)| visits)
        .sum();
    let mut text = format!(
        "{}, {robots} of them by robots; {}, {} of them without interactions\n",
        counted(truth.visits, "visit"),
        counted(truth.contacts, "contact"),
        truth.contacts_without_interactions
    );
    for (name, file) in &truth.files {
        text.push_str(&rows_and_bytes(file.rows, file.bytes, name));
    }
    text.push_str(&format!("The true answers: {}\n", args.output.join("truth.json").display()));
    text
}
