//! `culprit why -- CMD`: the same command in several places, and why one is slower.

use culprit_experiment::why::{Earlier, PlaceRuns, WhyResults};
use culprit_findings::Mechanism;
use culprit_model::Filter;
use culprit_report::experiment::{
    WhyDocument, because, compare_section, fact_value, verdict, wall_text, why_text,
};
use culprit_report::{Digest, filters, html};

use super::fail_on::{FailOn, outcome};
use crate::args::WhyArgs;
use crate::failure::{Context as _, Failure, Outcome};
use crate::interrupt::interruptible;
use crate::output::{Output, percent};
use crate::workbench::{SessionRecorder, workbench};
use crate::{files, load, why};

/// Runs it.
///
/// # Errors
/// When a place failed; what the others gave is shown before.
pub(crate) fn run(args: &WhyArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let fail_on = FailOn::parse(args.fail_on.as_deref())?;
    let settings = why::settings(args)?;
    let recorder = SessionRecorder { settings: &settings };
    let own = filters::patterns(&args.own)?;
    let earlier = Earlier::read(&args.against, &args.command, &own, &recorder)?;
    let plan = why::plan(args, earlier)?;
    let progress = output.progress();
    let (trials, notes) = interruptible(|control| {
        let bench = workbench(control, &progress, &recorder);
        let ran = why::run_all(&plan, args.prove, &bench);
        progress.clear();
        ran
    })??;
    let results = WhyResults::new(&plan, &trials, args.all, notes);
    let interrupted = trials.interrupted();
    let mut problems = trials.recorded.problems.into_iter().chain(trials.left);
    if trials.recorded.runs.is_empty() {
        return Err(problems.next().map_or_else(nothing_finished, |(_, error)| error.into()));
    }
    files::write_whole(&plan.page(), page(&results, output)?.as_bytes())?;
    output.show(|| WhyDocument::new(&results), |layout| why_text(&results, layout))?;
    if interrupted {
        return Ok(Outcome::Interrupted);
    }
    match problems.next() {
        // The rest was worth showing, but the question was not answered.
        Some((place, error)) => Err(Failure::from(error).into_refused().of(&plan.label(place))),
        None if !results.different_ends.is_empty() => Err(Failure::bad_input(
            "cannot compare the places: the command ends differently in some of them",
        )
        .hint(
            "read the command's output in the `.log` next to each recording, and add what is \
             missing",
        )
        .hint("if the exit status does not matter, compare `sh -c 'COMMAND || true'`")),
        None => Ok(outcome(fail_on.as_ref(), results.findings())),
    }
}

fn nothing_finished() -> Failure {
    Failure::interrupted("cannot compare the places: interrupted before the first run finished")
}

/// The page of results.
///
/// # Errors
/// When a recording that it shows cannot be read.
pub(crate) fn page(results: &WhyResults, output: &Output) -> Result<String, Failure> {
    let mut digests: Vec<(String, Digest)> = Vec::new();
    for runs in &results.places {
        if let Some(path) = &runs.typical {
            let filter = Filter { own: results.own.clone(), ..filters::run_filter() };
            let digest = load::digest(load::recording(path, output)?, &filter, false)?;
            digests.push((format!("{}, {}", runs.place, digest.recording.meta.wall), digest));
        }
    }
    let views: Vec<_> = digests.iter().map(|(label, digest)| (label.clone(), digest)).collect();
    let page = html::Page {
        verdict: verdict(results),
        because: because(results),
        what: results.command.join(" "),
        facts: facts(results),
        comparison: Some(compare_section(results)),
        findings: results.findings(),
        findings_lead: lead(results),
        first: shown_first(results, &digests),
        configuration: culprit_report::config::html::kept_section(&views),
        views,
    };
    html::render(&page).or_refused(|| "cannot create the HTML page".to_owned())
}

/// The recording of the place that the answer is about.
fn shown_first(results: &WhyResults, digests: &[(String, Digest)]) -> usize {
    let main = results.main().map(|against| against.label.as_str());
    let label_of = |(label, _): &(String, Digest)| main.is_some_and(|main| label.starts_with(main));
    digests.iter().position(label_of).unwrap_or(0)
}

fn facts(results: &WhyResults) -> Vec<(&'static str, String)> {
    let runs: usize = results.places.iter().map(|runs| runs.walls.len()).sum();
    let places: Vec<&str> = results.places.iter().map(|runs| runs.place.as_str()).collect();
    let median =
        |runs: &PlaceRuns| runs.median().map(|wall| wall_text(results, wall)).unwrap_or_default();
    let mut facts = vec![("places", places.join(", ")), ("runs", runs.to_string())];
    facts.push(("medians", results.places.iter().map(median).collect::<Vec<_>>().join(", ")));
    if let Some(main) = results.main() {
        let told = main.report.mechanisms.iter().map(mechanism).collect::<Vec<_>>();
        if !told.is_empty() {
            facts.push(("differences", told.join("; ")));
        }
    }
    facts.extend(results.notes.iter().map(|note| ("note", note.clone())));
    facts
}

/// A fact that differs, in a few words.
fn mechanism(found: &Mechanism) -> String {
    let told = |value: &Option<String>| fact_value(found.fact, value.as_deref());
    let (here, there) = (told(&found.candidate), told(&found.baseline));
    format!("{}: {here} instead of {there}", found.what)
}

fn lead(results: &WhyResults) -> String {
    match (results.baseline(), results.main()) {
        (Some(baseline), Some(main)) => format!(
            "Extra time of a run in {} over a run in {}. Each interval is counted once. Together \
             the findings explain {} of the extra time.",
            main.label,
            baseline.place,
            percent(main.report.explained_share)
        ),
        _ => String::new(),
    }
}
