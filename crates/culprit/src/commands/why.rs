//! `culprit why -- CMD`: the same command in several places, and why one is slower.

use culprit_findings::Mechanism;
use culprit_model::Filter;
use culprit_report::{Digest, filters, html};

use super::fail_on::{FailOn, outcome};
use crate::args::WhyArgs;
use crate::failure::{Context as _, Failure, Outcome};
use crate::html::{compare_section, kept_section};
use crate::interrupt::Interrupts;
use crate::json::WhyDocument;
use crate::output::{Output, percent};
use crate::session::Control;
use crate::text::{fact_value, why_text};
use crate::why::{Answer, Earlier, PlaceRuns, Plan, run_all};
use crate::{files, load};

/// Runs it.
///
/// # Errors
/// When a place failed; what the others gave is shown before.
pub(crate) fn run(args: &WhyArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let fail_on = FailOn::parse(args.fail_on.as_deref())?;
    let earlier = Earlier::read(&args.against, &args.command, &args.own, output)?;
    let plan = Plan::new(args, earlier)?;
    let control = Control::new();
    let signalled = control.clone();
    let interrupts = Interrupts::watch(move |interrupt| signalled.interrupt(interrupt))?;
    let progress = output.progress();
    let rounds = run_all(&plan, &control, &progress);
    progress.clear();
    drop(interrupts);
    let rounds = rounds?;
    let answer = Answer::new(&plan, &rounds, args.all);
    if rounds.runs.is_empty() {
        let first = rounds.problems.into_iter().next();
        return Err(first.map_or_else(interrupted, |(_, failure)| failure));
    }
    files::write_whole(&plan.page(), page(&answer, output)?.as_bytes())?;
    if output.wants_json() {
        output.document(&WhyDocument::new(&answer))?;
    } else {
        let text = why_text(&answer, output);
        output.print(&text)?;
    }
    if rounds.interrupted {
        return Ok(Outcome::Interrupted);
    }
    match rounds.problems.into_iter().next() {
        // The rest was worth showing, but the question was not answered.
        Some((place, failure)) => Err(failure.into_refused().of(&plan.label(place))),
        None if !answer.otherwise.is_empty() => Err(Failure::bad_input(
            "cannot compare the places: the command ends differently in some of them",
        )
        .hint(
            "read the command's output in the `.log` next to each recording, and add what is \
             missing",
        )
        .hint("if the exit status does not matter, compare `sh -c 'COMMAND || true'`")),
        None => Ok(outcome(fail_on.as_ref(), answer.findings())),
    }
}

fn interrupted() -> Failure {
    Failure::interrupted("cannot compare the places: interrupted before the first run finished")
}

/// The page of an answer.
///
/// # Errors
/// When a recording that it shows cannot be read.
pub(crate) fn page(answer: &Answer, output: &Output) -> Result<String, Failure> {
    let mut digests: Vec<(String, Digest)> = Vec::new();
    for runs in &answer.places {
        if let Some(path) = &runs.typical {
            let filter = Filter { own: answer.own.clone(), ..filters::run_filter() };
            let digest = load::digest(load::recording(path, output)?, &filter, false)?;
            digests.push((format!("{}, {}", runs.place, digest.recording.meta.wall), digest));
        }
    }
    let views: Vec<_> = digests.iter().map(|(label, digest)| (label.clone(), digest)).collect();
    let page = html::Page {
        verdict: answer.verdict(),
        because: answer.because(),
        what: answer.command.join(" "),
        facts: facts(answer),
        comparison: Some(compare_section(answer)),
        findings: answer.findings(),
        findings_lead: lead(answer),
        first: shown_first(answer, &digests),
        configuration: kept_section(&views),
        views,
    };
    html::render(&page).or_refused(|| "cannot create the HTML page".to_owned())
}

/// The recording of the place that the answer is about.
fn shown_first(answer: &Answer, digests: &[(String, Digest)]) -> usize {
    let main = answer.main().map(|against| against.place.as_str());
    let label_of = |(label, _): &(String, Digest)| main.is_some_and(|main| label.starts_with(main));
    digests.iter().position(label_of).unwrap_or(0)
}

fn facts(answer: &Answer) -> Vec<(&'static str, String)> {
    let runs: usize = answer.places.iter().map(|runs| runs.walls.len()).sum();
    let places: Vec<&str> = answer.places.iter().map(|runs| runs.place.as_str()).collect();
    let median = |runs: &PlaceRuns| runs.median().map(|wall| answer.told(wall)).unwrap_or_default();
    let mut facts = vec![("places", places.join(", ")), ("runs", runs.to_string())];
    facts.push(("medians", answer.places.iter().map(median).collect::<Vec<_>>().join(", ")));
    if let Some(main) = answer.main() {
        let told = main.report.mechanisms.iter().map(mechanism).collect::<Vec<_>>();
        if !told.is_empty() {
            facts.push(("differences", told.join("; ")));
        }
    }
    facts.extend(answer.notes.iter().map(|note| ("note", note.clone())));
    facts
}

/// A fact that differs, in a few words.
fn mechanism(found: &Mechanism) -> String {
    let told = |value: &Option<String>| fact_value(found.fact, value.as_deref());
    let (here, there) = (told(&found.candidate), told(&found.baseline));
    format!("{}: {here} instead of {there}", found.what)
}

fn lead(answer: &Answer) -> String {
    match (answer.baseline(), answer.main()) {
        (Some(baseline), Some(main)) => format!(
            "Extra time of a run in {} over a run in {}. Each interval is counted once. Together \
             the findings explain {} of the extra time.",
            main.place,
            baseline.place,
            percent(main.report.explained_share)
        ),
        _ => String::new(),
    }
}
