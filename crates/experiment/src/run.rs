//! Running an experiment: set up, warm up, timed rounds until they tell enough, recorded rounds, clean up.

use std::ffi::OsString;

use culprit_engine::stats::{Random, Stop};
use culprit_model::Nanos;
use culprit_place::{Command, Place};
use culprit_probe::inside::Clock;
use culprit_probe::{Gate, Watch};

use crate::control::Control;
use crate::counted::{judged, whole_rounds};
use crate::error::{Error, Result};
use crate::experiment::{Arm, Experiment, RecordedRounds, Timing};
use crate::folder::make_folder;
use crate::places::Places;
use crate::recorded::{Recorded, RecordedRun, record_run};
use crate::timed::{Timed, UntimedRun, run_timed, run_untimed};
use crate::trial::{Round, Rounds, Trial};
use crate::workbench::Workbench;

/// Holds nothing but its length: where a program's stack begins depends on the size of its
/// environment, and one start may be luckier than another. Source: T. Mytkowicz and others, Producing
/// wrong data without doing anything obviously wrong!, ASPLOS 2009.
const PADDING: &str = "CULPRIT_PADDING";
/// A page: beyond it, alignments repeat.
const MOST_PADDING: usize = 4096;

/// What was run.
#[derive(Debug, Default)]
pub struct Trials {
    /// The timed runs, by arm; the baseline's second runs after the last arm.
    pub timed: Rounds<Timed>,
    /// The timed rounds that were begun.
    pub begun: u32,
    /// Why they ended; none when Ctrl-C or a failure ended them.
    pub stop: Option<Stop>,
    /// What the machine did meanwhile.
    pub gate: Gate,
    /// The recorded runs, by arm.
    pub recorded: Rounds<Recorded>,
    /// Why not all clean-ups could be done, by position of the place.
    pub left: Vec<(usize, Error)>,
    /// The variables with which commands begin in the places, by position; of runs that are only recorded.
    pub environments: Vec<(usize, Vec<(OsString, OsString)>)>,
}

impl Trials {
    /// Whether Ctrl-C cut them short.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.timed.interrupted || self.recorded.interrupted
    }
}

impl Experiment {
    /// Does everything that is planned. Where runs are only recorded, `goes_on` says whether more of them can tell
    /// anything.
    ///
    /// # Errors
    /// When a command cannot be set up or the folder of the recordings cannot be made. What fails later is
    /// kept beside what was done before.
    pub fn run(
        &self,
        bench: &Workbench<'_>,
        goes_on: &dyn Fn(&Rounds<Recorded>) -> bool,
    ) -> Result<Trials> {
        if let Some(recording) = &self.recording {
            make_folder(&recording.folder, recording.option)?;
        }
        let mut running = Running {
            experiment: self,
            bench,
            places: Places::new(self.places.clone(), bench.places.clone()),
            trials: Trials::default(),
        };
        let ready = running.set_up();
        if matches!(ready, Ok(true)) {
            if let Some(timing) = &self.timing {
                running.warm_up(timing);
                running.timed_rounds(timing);
            }
            if let Some(recording) = &self.recording {
                running.recorded_rounds(recording, goes_on);
            }
        }
        if self.timing.is_none() {
            running.trials.environments = running.places.environments();
        }
        running.clean_up();
        let Running { places, mut trials, .. } = running;
        trials.left.extend(places.remove());
        trials.timed.interrupted |= !ready?;
        Ok(trials)
    }
}

/// An experiment that runs.
struct Running<'a> {
    experiment: &'a Experiment,
    bench: &'a Workbench<'a>,
    places: Places,
    trials: Trials,
}

impl Running<'_> {
    /// False when Ctrl-C cut it.
    fn set_up(&mut self) -> Result<bool> {
        let control = self.bench.control;
        for arm in &self.experiment.arms {
            if let Some(argv) = &arm.setup {
                let streams = &self.experiment.streams;
                let run = UntimedRun { argv, what: "the setup", streams };
                let place = self.places.get(arm.place)?;
                if control.interrupted() || run_untimed(run, place, control)?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Also after Ctrl-C, which was not meant for these: so with a control of their own.
    fn clean_up(&mut self) {
        self.bench.progress.doing("cleaning up".to_owned());
        let control = Control::new();
        for arm in &self.experiment.arms {
            if let Some(argv) = &arm.cleanup {
                let streams = &self.experiment.streams;
                let run = UntimedRun { argv, what: "the clean-up", streams };
                let place = self.places.get(arm.place);
                let done = place.and_then(|place| run_untimed(run, place, &control));
                self.trials.left.extend(done.err().map(|error| (arm.place, error)));
            }
        }
    }

    /// What fails or is cut here ends the timed rounds before they begin.
    fn warm_up(&mut self, timing: &Timing) {
        let (experiment, bench) = (self.experiment, self.bench);
        let arms = experiment.arm_places();
        let mut rounds = Rounds::default();
        for number in 0..timing.warmup {
            rounds.run(
                Round::new(&arms, number),
                (&mut self.places, bench),
                &|trial| format!("warm-up: {}", experiment.arm(trial).name),
                |trial, place| one(experiment, trial, place, bench.control),
            );
        }
        self.trials.timed.problems = rounds.problems;
        self.trials.timed.interrupted = rounds.interrupted;
    }

    fn timed_rounds(&mut self, timing: &Timing) {
        let (experiment, bench) = (self.experiment, self.bench);
        let arms = experiment.round_places();
        let (started, mut watch) = (Clock::now(), Watch::default());
        let Trials { timed: rounds, begun, stop, gate, .. } = &mut self.trials;
        let mut problems = 0;
        // A place that never worked leaves the others to be timed. What fails later leaves nobody to be
        // compared with: the rounds before it are kept.
        let fine = |rounds: &Rounds<Timed>, before: usize, begun: u32| {
            let as_before = begun <= 1 || rounds.problems.len() == before;
            as_before && !rounds.interrupted && !rounds.failed(experiment.arms[0].place)
        };
        while stop.is_none() && fine(rounds, problems, *begun) {
            problems = rounds.problems.len();
            watch.look(Clock::now());
            let mut used = Nanos::ZERO;
            let left = time_left(timing, *begun, started);
            rounds.run(
                Round::new(&arms, *begun),
                (&mut self.places, bench),
                &|trial| format!("{}{left}", describe(experiment, trial)),
                |trial, place| {
                    let ran = one(experiment, trial, place, bench.control)?;
                    used += ran.as_ref().map_or(Nanos::ZERO, |ran| ran.all_cpu);
                    Ok(ran.map(|ran| ran.timed))
                },
            );
            watch.ran(used.0);
            *begun += 1;
            let out_of_time = u128::from(Clock::now() - started) >= timing.budget.as_nanos();
            *stop = timing.stopping.decide(*begun, out_of_time, || {
                judged(experiment, rounds, *begun, &|run| Some(run.wall)).all_ratios()
            });
        }
        watch.look(Clock::now());
        let whole = whole_rounds(experiment, rounds, *begun);
        *gate = watch.gate(&|round| whole.get(round as usize) == Some(&true));
    }

    fn recorded_rounds(
        &mut self,
        recording: &RecordedRounds,
        goes_on: &dyn Fn(&Rounds<Recorded>) -> bool,
    ) {
        let (experiment, bench) = (self.experiment, self.bench);
        let arms = experiment.arm_places();
        let rounds = &mut self.trials.recorded;
        rounds.interrupted = self.trials.timed.interrupted;
        if rounds.interrupted || self.trials.timed.failed(experiment.arms[0].place) {
            return;
        }
        let alone = experiment.timing.is_none();
        if alone {
            bench.progress.steps(u64::from(recording.rounds) * arms.len() as u64);
        }
        let what = if alone { "round" } else { "recording" };
        for number in 0..recording.rounds {
            rounds.run(
                Round::new(&arms, number),
                (&mut self.places, bench),
                &|trial| {
                    let name = &experiment.arm(trial).name;
                    format!("{what} {} of {}: {name}", number + 1, recording.rounds)
                },
                |trial, place| record_one((experiment, recording), trial, place, bench),
            );
            if alone && (rounds.interrupted || !goes_on(rounds)) {
                break;
            }
        }
    }
}

/// Prepares, records and concludes; none when Ctrl-C cut it.
fn record_one(
    (experiment, recording): (&Experiment, &RecordedRounds),
    trial: Trial,
    place: &dyn Place,
    bench: &Workbench<'_>,
) -> Result<Option<Recorded>> {
    let arm = experiment.arm(trial);
    let prepare = (arm.prepare.as_deref(), "the preparation");
    if around(experiment, prepare, place, bench.control)?.is_none() {
        return Ok(None);
    }
    let run = RecordedRun {
        argv: &arm.argv,
        files: experiment.files(&recording.folder, trial),
        limit: recording.limit,
        label: &arm.label,
        own: &recording.own,
    };
    let Some(ran) = record_run(run, place, bench)? else { return Ok(None) };
    let conclude = (arm.conclude.as_deref(), "the conclusion");
    Ok(around(experiment, conclude, place, bench.control)?.map(|_| ran))
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
    experiment: &Experiment,
    trial: Trial,
    place: &dyn Place,
    control: &Control,
) -> Result<Option<One>> {
    let arm = experiment.arm(trial);
    let prepare = (arm.prepare.as_deref(), "the preparation");
    let Some(before) = around(experiment, prepare, place, control)? else { return Ok(None) };
    let mut command: Command = experiment.streams.command(&arm.argv)?;
    command.env.push((PADDING.into(), padding(trial).into()));
    let Some(timed) = run_timed(place, &command, control)? else { return Ok(None) };
    fail_when_failed(experiment, arm, &timed)?;
    let conclude = (arm.conclude.as_deref(), "the conclusion");
    let Some(after) = around(experiment, conclude, place, control)? else { return Ok(None) };
    let all_cpu = before + after + timed.cpu.unwrap_or_default();
    Ok(Some(One { timed, all_cpu }))
}

/// Runs a preparation or conclusion, if there is one, and gives its CPU time; none when Ctrl-C cut it.
fn around(
    experiment: &Experiment,
    (argv, what): (Option<&[String]>, &str),
    place: &dyn Place,
    control: &Control,
) -> Result<Option<Nanos>> {
    let Some(argv) = argv else { return Ok(Some(Nanos::ZERO)) };
    let ran = run_untimed(UntimedRun { argv, what, streams: &experiment.streams }, place, control)?;
    Ok(ran.map(|ran| ran.cpu.unwrap_or_default()))
}

/// The time of a command that fails says little about one that succeeds; a program that was not there
/// (126, 127: POSIX XCU 2.8.2) was not run at all.
fn fail_when_failed(experiment: &Experiment, arm: &Arm, timed: &Timed) -> Result<()> {
    let failed = || Error::input(format!("the command failed: `{}`: {}", arm.line, timed.exit));
    match timed.exit.shell_code() {
        0 => Ok(()),
        126 | 127 => {
            Err(failed()
                .hint("check that every program the command uses is installed in this place"))
        }
        _ if experiment.timing.as_ref().is_some_and(|timing| timing.ignore_failure) => Ok(()),
        _ => Err(failed()
            .hint("`--output inherit` shows the output of the command")
            .hint("`--ignore-failure` measures failing commands too")),
    }
}

/// Of another length in each run, the same in each session.
fn padding(trial: Trial) -> String {
    let seed = u64::from(trial.round) << 16 | trial.arm as u64;
    "x".repeat(Random::new(seed).below(MOST_PADDING))
}

fn describe(experiment: &Experiment, trial: Trial) -> String {
    let again = if Some(trial.arm) == experiment.control_at() { " (control)" } else { "" };
    format!("round {}: {}{again}", trial.round + 1, experiment.arm(trial).name)
}

/// How long the rest takes: from the least number of rounds to the most, or to the end of the budget.
fn time_left(timing: &Timing, done: u32, started: u64) -> String {
    if done == 0 {
        return String::new();
    }
    let passed = (Clock::now() - started) as f64 / 1e9;
    let budget = timing.budget.as_secs_f64();
    let each = passed / f64::from(done);
    let rounds = |number: u32| f64::from(number.saturating_sub(done)) * each;
    let least = rounds(timing.stopping.least);
    let most = rounds(timing.stopping.most).min((budget - passed).max(0.0)).max(least);
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
    use std::time::Duration;

    use culprit_engine::calls::Patterns;
    use culprit_engine::stats::Stopping;
    use culprit_place::{PlaceSpec, Settings};

    use super::*;
    use crate::experiment::{AroundLines, CommandLine};
    use crate::results::Results;
    use crate::timed::Streams;
    use crate::workbench::Drawn;

    #[test]
    fn rounds_are_set_up_timed_recorded_and_cleaned_up() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let write = |word: &str| format!("echo {word} >> {}", log.display());
        let (a, b, before, setup) = (write("a"), write("b"), write("before"), write("setup"));
        let cleanup = write("cleanup");
        let lines = [&a, &b].map(|line| CommandLine {
            name: None,
            line,
            prepare: Some(&before),
            conclude: None,
        });
        let around =
            AroundLines { shell: Some("sh"), setup: Some(&setup), cleanup: Some(&cleanup) };
        let places = vec![PlaceSpec::HOST];
        let experiment = Experiment {
            arms: Arm::all(&lines, (&places, &[Vec::new()]), &around).unwrap(),
            places,
            timing: Some(Timing {
                control: true,
                warmup: 1,
                stopping: Stopping { least: 3, ..Stopping::for_band(0.05, 3) },
                budget: Duration::MAX,
                band: 0.05,
                ignore_failure: false,
            }),
            recording: Some(RecordedRounds {
                folder: folder.path().join("recordings"),
                option: "--record",
                rounds: 2,
                own: Patterns::default(),
                limit: None,
            }),
            streams: Streams::default(),
            shell: None,
        };
        let bench = Workbench {
            control: &Control::new(),
            progress: &(),
            recorder: &Drawn,
            places: Settings::default(),
        };
        let trials = experiment.run(&bench, &|_| true).unwrap();
        assert!(trials.begun == 3 && trials.stop.is_some(), "{trials:?}");
        let log = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        let count = |word: &str| lines.iter().filter(|line| **line == word).count();
        // One warm-up and three rounds, in which the baseline runs twice; what is recorded is not run.
        assert_eq!((count("a"), count("b"), count("before")), (1 + 6, 1 + 3, 2 + 9 + 4));
        assert_eq!((lines[..2].concat(), lines[lines.len() - 2..].concat()), {
            ("setupsetup".to_owned(), "cleanupcleanup".to_owned())
        });
        let results = Results::new(&experiment, &trials);
        assert_eq!((results.arms.len(), results.rounds, results.inside.len()), (3, 3, 1));
    }
}
