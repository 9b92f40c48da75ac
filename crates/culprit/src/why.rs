//! `why`: its plan from the arguments, and what its places differ in besides time.

use std::time::Duration;

use culprit_experiment::why::{Earlier, WhyPlan, WhyRequest};
use culprit_experiment::{OBSERVED, Trials, Workbench, stem};
use culprit_place::PlaceSpec;
use culprit_record::ClockRate;
use culprit_report::filters;

use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::prove::{self, prove};
use crate::running::{Differing, PlaceFiles, PlaceVariables, file_notes, notes};
use crate::session::{Control, Settings};
use crate::{files, places};

/// The plan that the arguments come down to.
///
/// # Errors
/// When a place is none, or all are the same.
pub(crate) fn plan(args: &WhyArgs, earlier: Option<Earlier>) -> Result<WhyPlan, Failure> {
    let places = match &earlier {
        Some(earlier) if args.place.is_empty() => vec![places::spec(&earlier.place)?],
        None if args.place.is_empty() => vec![PlaceSpec::HOST, PlaceSpec::SANDBOX],
        _ => args.place.iter().map(|text| places::spec(text)).collect::<Result<_, _>>()?,
    };
    Ok(WhyPlan::new(WhyRequest {
        command: args.command.clone(),
        instead: args.instead.clone(),
        places,
        earlier,
        runs: args.runs,
        work: args.work.clone(),
        limit: args.duration.map(|length| Duration::from_nanos(length.0)),
        own: (args.own.clone(), filters::patterns(&args.own)?),
        folder: args.output.clone().unwrap_or_else(|| files::unused("culprit-why", "")),
    })?)
}

/// How its runs are recorded.
///
/// # Errors
/// When no key can be made for what recordings keep.
pub(crate) fn settings(args: &WhyArgs) -> Result<Settings, Failure> {
    Ok(Settings {
        clock: ClockRate::asked(args.frequency),
        stacks: args.stacks,
        runtime_help: args.runtimes.help(),
        config_key: args.keep.key()?,
        ..Settings::default()
    })
}

/// Runs everything that is planned; with what the places differ in, one sentence or two each. `observes` lets the
/// command run once more to see what of it is read.
///
/// # Errors
/// When the folder cannot be made. A place's failure is kept beside the others' runs.
pub(crate) fn run_all(
    plan: &WhyPlan,
    observes: bool,
    bench: &Workbench<'_>,
) -> Result<(Trials, Vec<String>), Failure> {
    let mut trials = plan.run(bench)?;
    let variables = std::mem::take(&mut trials.environments).into_iter();
    let variables = variables.map(|(at, all)| PlaceVariables::new(&plan.label(at), all));
    let variables: Vec<PlaceVariables> = variables.collect();
    let mut found = notes(&variables);
    let rounds = &trials.recorded;
    let first_of = |place: usize| {
        let (_, run) = rounds.runs.iter().find(|(trial, _)| trial.place == place)?;
        PlaceFiles::of_recording(&plan.label(place), &run.recording)
    };
    let places = 0..plan.request.places.len();
    let files: Vec<PlaceFiles> = places.clone().filter_map(first_of).collect();
    found.extend(file_notes(&files));
    if observes && !trials.interrupted() {
        let differing = Differing::new(&variables, &files);
        for place in places.filter(|place| !rounds.failed(*place)) {
            found.extend(observed(plan, place, &differing, bench.control));
        }
    }
    Ok((trials, found))
}

/// Which of what differs the command reads in a place.
fn observed(plan: &WhyPlan, at: usize, differing: &Differing, control: &Control) -> Vec<String> {
    let label = plan.label(at);
    if differing.is_empty() {
        return Vec::new();
    }
    let request = &plan.request;
    let proof = places::open(&request.places[at]).and_then(|place| {
        let log = format!("{}-{}-{OBSERVED}.log", at + 1, stem(&label));
        let log = request.folder.join(log);
        let rounds = differing.rounds(&label);
        let limits = (log, request.limit);
        prove(&prove::Plan::of_command(&request.command, place, rounds, limits), control)
    });
    match proof {
        Ok(proof) => differing.notes(&label, &proof),
        Err(failure) => vec![format!("The command could not be observed in {label}: {failure}.")],
    }
}
