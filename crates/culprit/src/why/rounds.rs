//! Carrying out the plan: run after run, each recorded and summarised.

use culprit_place::Place;

use super::plan::{Plan, Variant};
use crate::failure::Failure;
use crate::files;
use crate::output::Progress;
use crate::rounds::{Places, Recorded, RecordedRun, Rounds, Step, record_run, steps_of};
use crate::session::Control;

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
    let steps = (0..plan.runs).flat_map(|round| steps_of(&arms, round));
    rounds.conduct(
        steps,
        (&mut places, control),
        (progress, &|step| told(plan, step)),
        |step, place| one(plan, step, place, control),
    );
    rounds.problems.extend(places.remove());
    Ok(rounds)
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
