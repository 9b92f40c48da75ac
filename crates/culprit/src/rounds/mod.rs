//! Commands in places, in rounds: the one way in which `why`, `bench` and `verify` run things.
//!
//! ```text
//! arms ─> steps of a round, in the schedule's order ─> place of the step ─> one run ─┐
//!                                                                     recorded or timed
//! ```
//!
//! A place is opened when its first run comes, and removed at the end. One that fails is left out from
//! then on and its error kept; the others go on. Ctrl-C ends the run in hand, which is thrown away,
//! and keeps the rounds before it.

mod places;
mod recorded;
mod timed;

use culprit_engine::stats;
use culprit_place::Place;

use crate::failure::Failure;
use crate::output::Progress;
use crate::session::Control;

pub(crate) use places::Places;
pub(crate) use recorded::{Fingerprint, Recorded, RecordedRun, record_run, wall_of};
pub(crate) use timed::{Sink, Streams, Timed, UntimedRun, run_timed, run_untimed};

/// One run to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// What runs: a command in a place.
    pub(crate) arm: usize,
    /// Position of its place.
    pub(crate) place: usize,
    /// Counted from 0.
    pub(crate) round: u32,
}

/// The runs of a round, in order; `places` has the place of each arm.
pub(crate) fn steps_of(places: &[usize], round: u32) -> Vec<Step> {
    let order = stats::order(places.len(), round);
    order.into_iter().map(|arm| Step { arm, place: places[arm], round }).collect()
}

/// Runs that were done.
#[derive(Debug)]
pub(crate) struct Rounds<R> {
    /// Those that count, in the order in which they were done.
    pub(crate) runs: Vec<(Step, R)>,
    /// Why a place was left out, by its position.
    pub(crate) problems: Vec<(usize, Failure)>,
    /// True when Ctrl-C cut them short.
    pub(crate) interrupted: bool,
    /// What the places differ in besides time, one sentence or two each.
    pub(crate) notes: Vec<String>,
}

impl<R> Default for Rounds<R> {
    fn default() -> Self {
        Self { runs: Vec::new(), problems: Vec::new(), interrupted: false, notes: Vec::new() }
    }
}

impl<R> Rounds<R> {
    /// The runs of an arm with their rounds, by round.
    pub(crate) fn of(&self, arm: usize) -> Vec<(u32, &R)> {
        let own = self.runs.iter().filter(|(step, _)| step.arm == arm);
        let mut runs: Vec<(u32, &R)> = own.map(|(step, run)| (step.round, run)).collect();
        runs.sort_by_key(|(round, _)| *round);
        runs
    }

    /// How many of these rounds have a run of every arm whose place did not fail.
    pub(crate) fn finished(&self, places: &[usize], rounds: u32) -> u32 {
        (0..rounds).map(|round| u32::from(self.is_whole(places, round))).sum()
    }

    /// Whether a round has a run of every arm whose place did not fail.
    pub(crate) fn is_whole(&self, places: &[usize], round: u32) -> bool {
        let mut wanted = (0..places.len()).filter(|arm| !self.failed(places[*arm]));
        wanted.all(|arm| self.runs.iter().any(|(step, _)| (step.arm, step.round) == (arm, round)))
    }

    /// Whether a place was left out.
    pub(crate) fn failed(&self, place: usize) -> bool {
        self.problems.iter().any(|(other, _)| *other == place)
    }

    /// Does the steps; `one` does a run and gives none where Ctrl-C cut it, `told` says what is going
    /// on.
    pub(crate) fn conduct(
        &mut self,
        steps: impl IntoIterator<Item = Step>,
        (places, control): (&mut Places, &Control),
        (progress, told): (&Progress, &dyn Fn(Step) -> String),
        mut one: impl FnMut(Step, &dyn Place) -> Result<Option<R>, Failure>,
    ) {
        for step in steps {
            if control.interrupted() {
                self.interrupted = true;
                break;
            }
            if !self.failed(step.place) {
                progress.doing(told(step));
                match places.get(step.place).and_then(|place| one(step, place)) {
                    Ok(Some(run)) => self.runs.push((step, run)),
                    Ok(None) => self.interrupted = true,
                    Err(failure) => self.problems.push((step.place, failure)),
                }
            }
            progress.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_place::PlaceSpec;

    #[test]
    fn a_place_that_fails_is_left_out_and_the_others_go_on() {
        let arms = [0, 1, 0];
        let mut places = Places::new(vec![PlaceSpec::HOST, "host:/tmp".parse().unwrap()]);
        let (control, progress) = (Control::new(), Progress::new(false));
        let mut rounds = Rounds::default();
        let mut seen = Vec::new();
        for round in 0..3 {
            rounds.conduct(
                steps_of(&arms, round),
                (&mut places, &control),
                (&progress, &|_| String::new()),
                |step, _| {
                    seen.push(step);
                    match step.place {
                        0 => Ok(Some(step.arm)),
                        _ => Err(Failure::refused("not here")),
                    }
                },
            );
        }
        assert_eq!(seen.iter().filter(|step| step.place == 1).count(), 1);
        assert_eq!((rounds.of(0).len(), rounds.of(1).len(), rounds.of(2).len()), (3, 0, 3));
        assert_eq!((rounds.finished(&arms, 3), rounds.finished(&arms, 5)), (3, 3));
        assert_eq!(rounds.problems.len(), 1);
        assert!(places.remove().is_empty());
    }
}
