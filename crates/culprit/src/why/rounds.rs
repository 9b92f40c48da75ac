//! Carrying out the plan: run after run, each recorded and summarised.

use culprit_place::Place;

use super::plan::{Plan, Variant};
use crate::failure::Failure;
use crate::output::Progress;
use crate::prove::{self, prove};
use crate::rounds::{Places, Recorded, RecordedRun, Rounds, Step, record_run, steps_of};
use crate::running::{Differing, PlaceFiles, PlaceVariables, file_notes, notes};
use crate::session::Control;
use crate::{files, places};

/// Runs everything that is planned.
///
/// # Errors
/// When the folder cannot be made. A place's failure is kept beside the others' runs.
pub(crate) fn run_all(
    plan: &Plan,
    control: &Control,
    progress: &Progress,
) -> Result<Rounds<Recorded>, Failure> {
    files::make_folder(&plan.folder, "-o")?;
    let arms = plan.arm_places();
    let mut places = Places::new(plan.places.clone());
    progress.steps(u64::from(plan.runs) * arms.len() as u64);
    let mut rounds = Rounds::default();
    for round in 0..plan.runs {
        rounds.conduct(
            steps_of(&arms, round),
            (&mut places, control),
            (progress, &|step| told(plan, step)),
            |step, place| one(plan, step, place, control),
        );
        if rounds.interrupted || !is_comparable(plan, &rounds) {
            break;
        }
    }
    let variables = places.environments().into_iter();
    let variables = variables.map(|(at, all)| PlaceVariables::new(&plan.label(at), all));
    let variables: Vec<PlaceVariables> = variables.collect();
    rounds.notes = notes(&variables);
    let first_of = |place: usize| {
        let (_, run) = rounds.runs.iter().find(|(step, _)| step.place == place)?;
        PlaceFiles::of_recording(&plan.label(place), &run.recording)
    };
    let files: Vec<PlaceFiles> = (0..plan.places.len()).filter_map(first_of).collect();
    rounds.notes.extend(file_notes(&files));
    rounds.problems.extend(places.remove());
    if plan.prove && !rounds.interrupted {
        let differing = Differing::new(&variables, &files);
        let working = (0..plan.places.len()).filter(|place| !rounds.failed(*place));
        for place in working.collect::<Vec<_>>() {
            rounds.notes.extend(observed(plan, place, &differing, control));
        }
    }
    Ok(rounds)
}

/// Which of what differs the command reads in a place.
fn observed(plan: &Plan, at: usize, differing: &Differing, control: &Control) -> Vec<String> {
    let label = plan.label(at);
    if differing.is_empty() {
        return Vec::new();
    }
    let proof = places::open(&plan.places[at]).and_then(|place| {
        let log = format!("{}-{}-{}.log", at + 1, files::stem(&label), files::OBSERVED);
        let log = plan.folder.join(log);
        let rounds = differing.rounds(&label);
        prove(&prove::Plan::of_command(&plan.command, place, rounds, (log, plan.limit)), control)
    });
    match proof {
        Ok(proof) => differing.notes(&label, &proof),
        Err(failure) => vec![format!("The command could not be observed in {label}: {failure}.")],
    }
}

/// Whether more rounds can tell anything.
fn is_comparable(plan: &Plan, rounds: &Rounds<Recorded>) -> bool {
    let ending = |place: usize| {
        let own = |(step, _): &&(Step, Recorded)| {
            step.place == place && plan.variant(step.arm) == Variant::Command
        };
        rounds.runs.iter().rev().find(own).map(|(_, run)| run.exit_code)
    };
    let working = (0..plan.places.len()).filter(|place| !rounds.failed(*place));
    let endings: Vec<i32> = working.filter_map(ending).collect();
    if plan.earlier.is_some() { !endings.is_empty() } else { has_partner(&endings) }
}

/// Whether the first place's runs have some to be compared with: a place that has not failed, in which the
/// command ends as it does there.
fn has_partner(endings: &[i32]) -> bool {
    endings.split_first().is_some_and(|(first, others)| others.contains(first))
}

fn one(
    plan: &Plan,
    step: Step,
    place: &dyn Place,
    control: &Control,
) -> Result<Option<Recorded>, Failure> {
    let argv = match (plan.variant(step.arm), &plan.instead) {
        (Variant::Instead, Some(instead)) => instead,
        _ => &plan.command,
    };
    let run = RecordedRun {
        argv,
        files: plan.files(step),
        settings: &plan.settings,
        limit: plan.limit,
        label: &plan.label(step.place),
        own: &plan.own,
    };
    record_run(run, place, control)
}

fn told(plan: &Plan, step: Step) -> String {
    let what = match plan.variant(step.arm) {
        Variant::Command => "",
        Variant::Instead => ", the other command",
    };
    format!("round {} of {}: {}{what}", step.round + 1, plan.runs, plan.label(step.place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_a_partner_are_not_gone_on_with() {
        assert!(has_partner(&[0, 3, 0]) && has_partner(&[1, 1]));
        assert!(!has_partner(&[0, 3]) && !has_partner(&[0]) && !has_partner(&[]));
    }
}
