//! The way that all probes of `culprit bench` go: options to a plan, rounds, the answer in every form.

use std::path::PathBuf;

use culprit_engine::stats::Stopping;
use culprit_experiment::{Control, measured_findings};
use culprit_findings::MeasuredFindings;
use culprit_model::Nanos;
use culprit_place::PlaceSpec;
use culprit_probe::{
    Answer, Asked, Error, Hooks, Plan, Probe, Role, Session, Stopped, Workers, conduct,
};
use culprit_report::probe::{ProbeDocument, csv, markdown, probe_page, probe_text};

use super::exports::Exports;
use crate::args::{FailOnVerdict, ProbeArgs};
use crate::bench::stopping;
use crate::failure::{Context as _, Failure, Outcome, chain};
use crate::interrupt::interruptible;
use crate::output::Output;
use crate::settings::of_places;
use crate::{files, places};

/// After this time no round beyond the least number is begun, unless the user says otherwise.
const USUAL_BUDGET: Nanos = Nanos(60_000_000_000);

/// Measures places by a probe.
///
/// # Errors
/// When nothing could be measured, or not all places; what was measured is shown before.
pub(super) fn run(
    probe: Box<dyn Probe>,
    args: &ProbeArgs,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let plan = plan(probe, args)?;
    exports(args).check(output)?;
    let files = Exports(vec![&args.save, &args.html, &args.export_csv, &args.export_markdown]);
    files.files().try_for_each(files::check_writable)?;
    if let Some(round) = plan.round_ns().filter(|round| *round > plan.budget_ns) {
        output.warn(&format!(
            "one round takes at least {} here, longer than the budget of {}; give fewer places, a \
             shorter `--duration` or a larger `--budget`\n",
            Nanos(round),
            Nanos(plan.budget_ns)
        ));
    }
    let show = |session: &Session, output: &mut Output| {
        let answer = Answer::new(&plan, session);
        let shown = if answer.rounds == 0 { Ok(()) } else { show(&answer, args, output) };
        (answer, shown)
    };
    let Measured { session, shown: (answer, shown), left } = measure(&plan, output, show)?;
    if answer.rounds == 0 {
        return Err(nothing(session, &plan));
    }
    shown?;
    if session.stopped == Stopped::Interrupted {
        left.iter().for_each(|failure| output.warn(&failure.text()));
        return Ok(Outcome::Interrupted);
    }
    outcome(&answer, &session, left, args, &plan)
}

fn plan(probe: Box<dyn Probe>, args: &ProbeArgs) -> Result<Plan, Failure> {
    let places: Vec<PlaceSpec> = match args.place.as_slice() {
        [] => vec![PlaceSpec::HOST, PlaceSpec::SANDBOX],
        typed => typed.iter().map(|text| places::spec(text)).collect::<Result<_, _>>()?,
    };
    places.iter().try_for_each(check_folder)?;
    let host_dir = host_dir(places.first())?;
    let asked = Asked { places, at: args.at.clone(), host_dir, control: !args.no_control };
    let arms = probe.arms(&asked).map_err(|error| failure(&error))?;
    let stopping = stopping_of(args, probe.least_rounds())?;
    Ok(Plan {
        probe,
        arms,
        warmup: args.warmup,
        stopping,
        budget_ns: args.budget.unwrap_or(USUAL_BUDGET).0,
        band: args.band,
    })
}

/// A folder of the host that is not there is known before anything is begun.
fn check_folder(place: &PlaceSpec) -> Result<(), Failure> {
    match place {
        PlaceSpec::Host { dir: Some(dir) } | PlaceSpec::Sandbox { dir: Some(dir) }
            if !dir.is_dir() =>
        {
            let what =
                format!("cannot measure in {place}: the folder `{}` does not exist", dir.display());
            Err(Failure::bad_input(what).hint("create the folder, or name another one"))
        }
        _ => Ok(()),
    }
}

/// The folder of the first place where it is the host's and names one; else the current one.
fn host_dir(first: Option<&PlaceSpec>) -> Result<PathBuf, Failure> {
    match first {
        Some(PlaceSpec::Host { dir: Some(dir) }) => Ok(dir.clone()),
        _ => std::env::current_dir().or_refused(|| "cannot find the current folder".to_owned()),
    }
}

fn stopping_of(args: &ProbeArgs, least_of_probe: u32) -> Result<Stopping, Failure> {
    // Who gives a time wants it kept, whatever number of rounds would tell more.
    let usual = if args.budget.is_some() { 1 } else { least_of_probe.min(args.max) };
    stopping(args.rounds, (args.min.unwrap_or(usual), args.max), args.band)
}

/// A session that has ended, with what `show` made of it.
pub(super) struct Measured<T> {
    pub(super) session: Session,
    pub(super) shown: T,
    /// What could not be removed.
    pub(super) left: Vec<Failure>,
}

/// Runs the rounds, shows the answer, and then removes everything that was made: to remove files may
/// take long.
///
/// # Errors
/// When signals cannot be watched, or our own program is not found.
pub(super) fn measure<T>(
    plan: &Plan,
    output: &mut Output,
    show: impl FnOnce(&Session, &mut Output) -> T,
) -> Result<Measured<T>, Failure> {
    interruptible(|control| measure_until(control, plan, output, show))?
}

fn measure_until<T>(
    control: &Control,
    plan: &Plan,
    output: &mut Output,
    show: impl FnOnce(&Session, &mut Output) -> T,
) -> Result<Measured<T>, Failure> {
    places::sweep();
    let program = std::env::current_exe()
        .or_refused(|| "cannot find Culprit's own program file".to_owned())?;
    let mut workers = Workers::new(program, of_places());
    let progress = output.progress();
    let hooks = Hooks {
        interrupted: &|| control.interrupted(),
        doing: &|what| progress.doing(what.to_owned()),
    };
    let session = conduct(plan, &mut workers, &hooks);
    progress.clear();
    let shown = show(&session, output);
    let progress = output.progress();
    progress.doing("removing the files and containers of the measurement".to_owned());
    let (late, left): (Vec<_>, Vec<_>) = workers
        .remove()
        .into_iter()
        .partition(|(_, error)| matches!(error, Error::NotRemoved { .. }));
    let told = |(place, error): (PlaceSpec, Error)| failure(&error).of(&place.to_string());
    progress.clear();
    late.into_iter().for_each(|(_, error)| output.warn(&failure(&error).text()));
    let left = left.into_iter().map(told).collect();
    Ok(Measured { session, shown, left })
}

fn nothing(session: Session, plan: &Plan) -> Failure {
    match session.problems.into_iter().next() {
        Some((arm, error)) => failure(&error).of(&whose(plan, arm, &error)),
        None => Failure::interrupted("interrupted before the first round finished"),
    }
}

/// What a problem is told of: the place as it was typed where that is what failed, else the row that the
/// table has. A control does what the first place does, and nobody has asked for one.
fn whose(plan: &Plan, arm: usize, error: &Error) -> String {
    let arms = &plan.arms;
    match error {
        Error::Place(_) => arms[arm].asked.to_string(),
        _ if arms[arm].role.is_control() => arms[0].label.clone(),
        _ => arms[arm].label.clone(),
    }
}

fn outcome(
    answer: &Answer,
    session: &Session,
    left: Vec<Failure>,
    args: &ProbeArgs,
    plan: &Plan,
) -> Result<Outcome, Failure> {
    let failed = session.problems.iter();
    let failed = failed.map(|(arm, error)| failure(error).of(&whose(plan, *arm, error)));
    match failed.chain(left).next() {
        // The rest was worth showing, but not all that was asked was done.
        Some(failure) => Err(failure.into_refused()),
        None if fails(answer, &args.fail_on) => Ok(Outcome::Found),
        None => Ok(Outcome::Done),
    }
}

fn fails(answer: &Answer, on: &[FailOnVerdict]) -> bool {
    let about_places = answer.comparisons.iter().filter(|row| {
        answer.metrics[row.metric].is_judged() && answer.arms[row.arm].arm.role == Role::Candidate
    });
    about_places.map(|row| FailOnVerdict::from(row.verdict)).any(|verdict| on.contains(&verdict))
}

fn exports(args: &ProbeArgs) -> Exports<'_> {
    Exports(vec![&args.export_csv, &args.export_markdown])
}

/// Shows the answer, also where a file could not be written.
fn show(answer: &Answer, args: &ProbeArgs, output: &mut Output) -> Result<(), Failure> {
    let findings = measured_findings(answer);
    let document = ProbeDocument::new(answer, &findings);
    let written = write(answer, (&findings, &document), args, output);
    let text = probe_text(answer, &findings, output.layout());
    exports(args).show(&document, &text, output)?;
    written
}

fn write(
    answer: &Answer,
    (findings, document): (&MeasuredFindings, &ProbeDocument),
    args: &ProbeArgs,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(path) = &args.save {
        files::write_json(path, document)?;
    }
    if let Some(path) = &args.html {
        files::write_whole(path, probe_page(answer, findings).as_bytes())?;
        output.say(&format!("wrote {}", path.display()));
    }
    exports(args).write(&[&|| Ok(csv(answer)), &|| Ok(markdown(answer))], output)
}

/// A probe's error as users see it.
pub(super) fn failure(error: &Error) -> Failure {
    let what = chain(error);
    let failure = match error {
        Error::Interrupted => Failure::interrupted(what),
        error if error.is_refusal() => Failure::refused(what),
        _ => Failure::bad_input(what),
    };
    failure.hints(error.hints())
}

#[cfg(test)]
mod tests {
    use culprit_probe::probes::files::Files;

    use super::*;

    #[test]
    fn a_problem_is_told_of_what_was_typed() {
        let asked = Asked {
            places: ["docker:x,cpus=1", "host"].map(|text| places::spec(text).unwrap()).to_vec(),
            at: Vec::new(),
            host_dir: "/tmp".into(),
            control: true,
        };
        let probe = Box::new(Files::default());
        let plan = Plan {
            arms: probe.arms(&asked).unwrap(),
            probe,
            warmup: 0,
            stopping: Stopping::for_band(0.05, 1),
            budget_ns: 0,
            band: 0.05,
        };
        assert_eq!(plan.arms[1].label, "docker:x layer again");
        let missing = Error::Place(culprit_place::Error::NoCommand);
        assert_eq!(whose(&plan, 1, &missing), "docker:x,cpus=1");
        let inside = Error::Asked { what: String::new(), hint: None };
        let told: Vec<String> = (0..3).map(|arm| whose(&plan, arm, &inside)).collect();
        assert_eq!(told, ["docker:x layer", "docker:x layer", "docker:x volume"]);
    }
}
