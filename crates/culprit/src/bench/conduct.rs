//! Carrying the plan out: set up, warm up, timed rounds until they tell enough, recorded rounds, clean
//! up.

use culprit_engine::calls::Patterns;
use culprit_engine::stats::{Judged, Stop, judge};
use culprit_model::Nanos;
use culprit_place::{Command, Place};

use super::plan::{Arm, Plan, Recording};
use crate::clock::Moment;
use crate::failure::Failure;
use crate::files;
use crate::output::Progress;
use crate::rounds::{
    Places, Recorded, RecordedRun, Rounds, Step, Timed, UntimedRun, record_run, run_timed,
    run_untimed, steps_of,
};
use crate::session::Control;
use culprit_probe::inside::Clock;
use culprit_probe::{Gate, Watch};

/// Holds nothing but its length: where a program's stack begins depends on the size of its
/// environment, and one start may be luckier than another. Source: T. Mytkowicz and others, Producing
/// wrong data without doing anything obviously wrong!, ASPLOS 2009.
const PADDING: &str = "CULPRIT_PADDING";
/// A page: beyond it, alignments repeat.
const MOST_PADDING: usize = 4096;

/// What was run.
#[derive(Debug)]
pub(crate) struct Session {
    /// The timed runs, by arm; the baseline's second runs after the last arm.
    pub(crate) timed: Rounds<Timed>,
    /// The timed rounds that were begun.
    pub(crate) begun: u32,
    /// Why they ended; none when Ctrl-C or a failure ended them.
    pub(crate) stop: Option<Stop>,
    /// What the machine did meanwhile.
    pub(crate) gate: Gate,
    /// The recorded runs, by arm.
    pub(crate) recorded: Rounds<Recorded>,
    /// Why not all clean-ups could be done, by position of the place.
    pub(crate) left: Vec<(usize, Failure)>,
}

/// Does everything that is planned.
///
/// # Errors
/// When a command cannot be set up or the folder of the recordings cannot be made. What fails later is
/// kept beside what was done before.
pub(crate) fn conduct(
    plan: &Plan,
    control: &Control,
    progress: &Progress,
) -> Result<Session, Failure> {
    if let Some(recording) = &plan.recording {
        files::make_folder(&recording.folder, "--record")?;
    }
    let mut places = Places::new(plan.places.clone());
    let mut session = Session {
        timed: Rounds::default(),
        begun: 0,
        stop: None,
        gate: Gate::default(),
        recorded: Rounds::default(),
        left: Vec::new(),
    };
    let ready = set_up(plan, &mut places, control);
    if matches!(ready, Ok(true)) {
        warm_up(plan, &mut session, (&mut places, control), progress);
        timed_rounds(plan, &mut session, (&mut places, control), progress);
        if let Some(recording) = &plan.recording {
            recorded_rounds(plan, recording, &mut session, (&mut places, control), progress);
        }
    }
    progress.doing("cleaning up");
    session.left = clean_up(plan, &mut places);
    session.left.extend(places.remove());
    session.timed.interrupted |= !ready?;
    Ok(session)
}

/// False when Ctrl-C cut it.
fn set_up(plan: &Plan, places: &mut Places, control: &Control) -> Result<bool, Failure> {
    for arm in &plan.arms {
        if let Some(argv) = &arm.setup {
            let run = UntimedRun { argv, what: "the setup", streams: &plan.streams };
            let place = places.get(arm.place)?;
            if control.interrupted() || run_untimed(run, place, control)?.is_none() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Also after Ctrl-C, which was not meant for these: so with a control of their own.
fn clean_up(plan: &Plan, places: &mut Places) -> Vec<(usize, Failure)> {
    let control = Control::new();
    let mut failures = Vec::new();
    for arm in &plan.arms {
        if let Some(argv) = &arm.cleanup {
            let run = UntimedRun { argv, what: "the clean-up", streams: &plan.streams };
            let done = places.get(arm.place).and_then(|place| run_untimed(run, place, &control));
            failures.extend(done.err().map(|failure| (arm.place, failure)));
        }
    }
    failures
}

/// What fails or is cut here ends the timed rounds before they begin.
fn warm_up(
    plan: &Plan,
    session: &mut Session,
    (places, control): (&mut Places, &Control),
    progress: &Progress,
) {
    let arms = plan.arm_places();
    let mut rounds = Rounds::default();
    for round in 0..plan.warmup {
        rounds.conduct(
            steps_of(&arms, round),
            (places, control),
            (progress, &|step| format!("warm-up: {}", plan.arm(step).name)),
            |step, place| one(plan, step, place, control),
        );
    }
    session.timed.problems = rounds.problems;
    session.timed.interrupted = rounds.interrupted;
}

fn timed_rounds(
    plan: &Plan,
    session: &mut Session,
    (places, control): (&mut Places, &Control),
    progress: &Progress,
) {
    let arms = plan.round_places();
    let (started, mut watch) = (Moment::now(), Watch::default());
    let rounds = &mut session.timed;
    let mut problems = 0;
    // A place that never worked leaves the others to be timed. What fails later leaves nobody to be
    // compared with: the rounds before it are kept.
    let fine = |rounds: &Rounds<Timed>, before: usize, begun: u32| {
        let as_before = begun <= 1 || rounds.problems.len() == before;
        as_before && !rounds.interrupted && !rounds.failed(plan.arms[0].place)
    };
    while session.stop.is_none() && fine(rounds, problems, session.begun) {
        problems = rounds.problems.len();
        watch.look(Clock::now());
        let mut used = Nanos::ZERO;
        let left = time_left(plan, session.begun, started);
        rounds.conduct(
            steps_of(&arms, session.begun),
            (places, control),
            (progress, &|step| format!("{}{left}", told(plan, step))),
            |step, place| {
                let ran = one(plan, step, place, control)?;
                used += ran.as_ref().map_or(Nanos::ZERO, |ran| ran.all_cpu);
                Ok(ran.map(|ran| ran.timed))
            },
        );
        watch.ran(used.0);
        session.begun += 1;
        let out_of_time = started.elapsed() >= plan.budget;
        session.stop = plan.stopping.decide(session.begun, out_of_time, || {
            judged(plan, rounds, session.begun, &|run| Some(run.wall)).all_ratios()
        });
    }
    watch.look(Clock::now());
    let whole = whole_rounds(plan, rounds, session.begun);
    session.gate = watch.gate(&|round| whole.get(round as usize) == Some(&true));
}

fn recorded_rounds(
    plan: &Plan,
    recording: &Recording,
    session: &mut Session,
    (places, control): (&mut Places, &Control),
    progress: &Progress,
) {
    let arms = plan.arm_places();
    let rounds = &mut session.recorded;
    rounds.interrupted = session.timed.interrupted;
    if rounds.interrupted || session.timed.failed(plan.arms[0].place) {
        return;
    }
    for round in 0..recording.rounds {
        rounds.conduct(
            steps_of(&arms, round),
            (places, control),
            (progress, &|step| {
                format!("recording {} of {}: {}", round + 1, recording.rounds, plan.arm(step).name)
            }),
            |step, place| {
                let arm = plan.arm(step);
                if around(plan, (arm.prepare.as_deref(), "the preparation"), place, control)?
                    .is_none()
                {
                    return Ok(None);
                }
                let run = RecordedRun {
                    argv: &arm.argv,
                    files: plan.files(&recording.folder, step),
                    settings: &recording.settings,
                    limit: None,
                    label: &plan.label(step.arm),
                    own: &Patterns::default(),
                };
                let Some(ran) = record_run(run, place, control)? else { return Ok(None) };
                let after = (arm.conclude.as_deref(), "the conclusion");
                Ok(around(plan, after, place, control)?.map(|_| ran))
            },
        );
    }
}

/// A timed run and what it took with all that belongs to it.
#[derive(Debug)]
struct One {
    timed: Timed,
    /// CPU time of the run, its preparation and conclusion.
    all_cpu: Nanos,
}

/// Prepares, times and concludes; none when Ctrl-C cut it.
fn one(
    plan: &Plan,
    step: Step,
    place: &dyn Place,
    control: &Control,
) -> Result<Option<One>, Failure> {
    let arm = plan.arm(step);
    let prepare = (arm.prepare.as_deref(), "the preparation");
    let Some(before) = around(plan, prepare, place, control)? else { return Ok(None) };
    let mut command: Command = plan.streams.command(&arm.argv)?;
    command.env.push((PADDING.into(), padding(step).into()));
    let Some(timed) = run_timed(place, &command, control)? else { return Ok(None) };
    fail_when_failed(plan, arm, &timed)?;
    let conclude = (arm.conclude.as_deref(), "the conclusion");
    let Some(after) = around(plan, conclude, place, control)? else { return Ok(None) };
    let all_cpu = before + after + timed.cpu.unwrap_or_default();
    Ok(Some(One { timed, all_cpu }))
}

/// Runs a preparation or conclusion, if there is one, and tells its CPU time; none when Ctrl-C cut it.
fn around(
    plan: &Plan,
    (argv, what): (Option<&[String]>, &str),
    place: &dyn Place,
    control: &Control,
) -> Result<Option<Nanos>, Failure> {
    let Some(argv) = argv else { return Ok(Some(Nanos::ZERO)) };
    let ran = run_untimed(UntimedRun { argv, what, streams: &plan.streams }, place, control)?;
    Ok(ran.map(|ran| ran.cpu.unwrap_or_default()))
}

/// The time of a command that fails says little about one that succeeds; a program that was not there
/// (126, 127: POSIX XCU 2.8.2) was not run at all.
fn fail_when_failed(plan: &Plan, arm: &Arm, timed: &Timed) -> Result<(), Failure> {
    let failed =
        || Failure::bad_input(format!("the command failed: `{}`: {}", arm.line, timed.exit));
    match timed.exit.shell_code() {
        0 => Ok(()),
        126 | 127 => {
            Err(failed()
                .hint("check that every program the command uses is installed in this place"))
        }
        _ if plan.ignore_failure => Ok(()),
        _ => Err(failed()
            .hint("`--output inherit` shows the output of the command")
            .hint("`--ignore-failure` measures failing commands too")),
    }
}

/// Of another length in each run, the same in each session.
fn padding(step: Step) -> String {
    let seed = u64::from(step.round) << 16 | step.arm as u64;
    "x".repeat(culprit_engine::stats::Random::new(seed).below(MOST_PADDING))
}

/// The rounds of which every arm has a run, judged by one metric. Arms of places that failed have no
/// values.
pub(crate) fn judged(
    plan: &Plan,
    rounds: &Rounds<Timed>,
    begun: u32,
    metric: &dyn Fn(&Timed) -> Option<Nanos>,
) -> Judged {
    let values = |arm: usize| -> Vec<f64> {
        let runs = counted_runs(plan, rounds, begun, arm);
        let values: Vec<f64> =
            runs.iter().filter_map(|run| metric(run)).map(Nanos::seconds).collect();
        // A metric that some runs lack cannot be paired.
        if values.len() == runs.len() { values } else { Vec::new() }
    };
    let again = plan.control_at().map(values);
    let candidates: Vec<Vec<f64>> = (1..plan.arms.len()).map(values).collect();
    judge(&values(0), again.as_deref(), &candidates, plan.band)
}

/// An arm's runs in the rounds that were finished; none of an arm whose place never worked.
pub(crate) fn counted_runs<'a>(
    plan: &Plan,
    rounds: &'a Rounds<Timed>,
    begun: u32,
    arm: usize,
) -> Vec<&'a Timed> {
    if !counted_arms(plan, rounds).get(arm).is_some_and(|counts| *counts) {
        return Vec::new();
    }
    let whole = whole_rounds(plan, rounds, begun);
    let runs = rounds.of(arm).into_iter();
    runs.filter(|(round, _)| whole.get(*round as usize) == Some(&true))
        .map(|(_, run)| run)
        .collect()
}

/// Whether each round that was begun has a run of every arm that counts.
fn whole_rounds(plan: &Plan, rounds: &Rounds<Timed>, begun: u32) -> Vec<bool> {
    let counted = counted_arms(plan, rounds);
    let wanted = counted.iter().filter(|counts| **counts).count();
    let mut runs_of_round = vec![0_usize; begun as usize];
    for (step, _) in rounds.runs.iter().filter(|(step, _)| counted[step.arm]) {
        if let Some(runs) = runs_of_round.get_mut(step.round as usize) {
            *runs += 1;
        }
    }
    runs_of_round.into_iter().map(|runs| wanted > 0 && runs == wanted).collect()
}

/// Whether each arm counts: every arm of its place has a run of the first round. A place that failed
/// before that was done left the others to be timed without it; one that failed later ended the rounds.
fn counted_arms(plan: &Plan, rounds: &Rounds<Timed>) -> Vec<bool> {
    let places = plan.round_places();
    let mut began = vec![false; places.len()];
    for (step, _) in rounds.runs.iter().filter(|(step, _)| step.round == 0) {
        began[step.arm] = true;
    }
    let worked =
        |place: &usize| places.iter().zip(&began).all(|(other, began)| other != place || *began);
    places.iter().map(worked).collect()
}

fn told(plan: &Plan, step: Step) -> String {
    let again = if Some(step.arm) == plan.control_at() { " (control)" } else { "" };
    format!("round {}: {}{again}", step.round + 1, plan.arm(step).name)
}

/// How long the rest takes: from the least number of rounds to the most, or to the end of the budget.
fn time_left(plan: &Plan, done: u32, started: Moment) -> String {
    if done == 0 {
        return String::new();
    }
    let (passed, budget) = (started.elapsed().as_secs_f64(), plan.budget.as_secs_f64());
    let each = passed / f64::from(done);
    let rounds = |number: u32| f64::from(number.saturating_sub(done)) * each;
    let least = rounds(plan.stopping.least);
    let most = rounds(plan.stopping.most).min((budget - passed).max(0.0)).max(least);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a length of time that is not negative"
    )]
    let shown = |seconds: f64| Nanos((seconds * 1e9) as u64);
    if most - least < each {
        format!(", {} left", shown(most))
    } else {
        format!(", {} to {} left", shown(least), shown(most))
    }
}

#[cfg(test)]
mod tests {
    use culprit_place::Exit;

    use super::super::plan::tests::plan;
    use super::*;

    /// A and B on the host and elsewhere, and A once more: arms 0 to 4, places 0, 0, 1, 1, 0.
    fn two_places() -> Plan {
        plan(&["--place", "host", "--place", "host:/tmp", "a", "b"]).unwrap()
    }

    fn rounds(runs: impl IntoIterator<Item = (usize, u32)>) -> Rounds<Timed> {
        let places = two_places().round_places();
        let run = |(arm, round)| {
            let timed = Timed {
                wall: Nanos(1_000_000 + u64::from(round)),
                exit: Exit::Code(0),
                cpu: None,
                user: None,
                system: None,
                peak_memory_bytes: None,
            };
            (Step { arm, place: places[arm], round }, timed)
        };
        Rounds { runs: runs.into_iter().map(run).collect(), ..Rounds::default() }
    }

    fn of_arms(arms: &[usize], number: u32) -> Vec<(usize, u32)> {
        (0..number).flat_map(|round| arms.iter().map(move |arm| (*arm, round))).collect()
    }

    fn counts(rounds: &Rounds<Timed>, begun: u32) -> Vec<usize> {
        let plan = two_places();
        (0..5).map(|arm| counted_runs(&plan, rounds, begun, arm).len()).collect()
    }

    #[test]
    fn a_place_that_fails_in_the_first_round_costs_the_others_no_round() {
        let mut runs = of_arms(&[0, 1, 4], 9);
        // The third arm ran before the fourth failed in the same place.
        runs.push((2, 0));
        let rounds = rounds(runs);
        assert_eq!(counts(&rounds, 9), [9, 9, 0, 0, 9]);
        let judged = judged(&two_places(), &rounds, 9, &|run| Some(run.wall));
        assert!(judged.all_ratios().iter().all(|ratio| ratio.rounds == 9), "{judged:?}");
        assert_eq!(judged.ratios.iter().flatten().count(), 1);
    }

    #[test]
    fn a_round_that_is_not_finished_does_not_count() {
        let mut runs = of_arms(&[0, 1, 2, 3, 4], 4);
        runs.extend([(0, 4), (2, 4)]);
        let cut = rounds(runs);
        assert_eq!(counts(&cut, 5), [4; 5]);
        assert_eq!(whole_rounds(&two_places(), &cut, 5), [true, true, true, true, false]);
        assert_eq!(counts(&rounds([(0, 0), (4, 0)]), 1), [0; 5]);
    }
}
