//! `culprit-data audit sample`.

use std::io::{self, Write as _};
use std::sync::atomic::Ordering;

use culprit_audit::{SampleFormat, SampleOptions, Truth, write_sample};
use culprit_model::Label as _;

use super::stop_flag;
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
    print(args, &truth, json)
        .map_err(|error| Failure::refused(format!("cannot write to stdout: {error}")))
}

fn print(args: &AuditSampleArgs, truth: &Truth, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, truth)?;
        return writeln!(out);
    }
    let robots: u64 = truth
        .visits_by_visitor
        .iter()
        .filter(|(visitor, _)| visitor.is_robot())
        .map(|(_, visits)| visits)
        .sum();
    writeln!(
        out,
        "{} visits, {robots} of them by robots; {} contacts, {} of them without interactions",
        truth.visits, truth.contacts, truth.contacts_without_interactions
    )?;
    for (name, file) in &truth.files {
        writeln!(out, "{:>12} rows {:>14} bytes  {name}", file.rows, file.bytes)?;
    }
    writeln!(out, "The true answers: {}", args.output.join("truth.json").display())
}
