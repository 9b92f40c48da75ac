//! Trials and rounds: what is run in which order, and what was run.
//!
//! ```text
//! arms ─> Round: trials in the schedule's order ─> place of the trial ─> one run ─> Rounds
//! ```
//!
//! One that fails leaves its place out from then on, and its error is kept; the others go on. Ctrl-C ends the run
//! in hand, which is thrown away, and keeps the rounds before it.

use culprit_engine::stats;
use culprit_place::Place;

use crate::error::{Error, Result};
use crate::places::Places;
use crate::workbench::Workbench;

/// One run to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// What runs: a command in a place.
    pub arm: usize,
    /// Position of its place.
    pub place: usize,
    /// Counted from 0.
    pub round: u32,
}

/// A trial of every arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// In the order in which they are done.
    pub trials: Vec<Trial>,
}

impl Round {
    /// The round of this number; `places` has the place of each arm.
    #[must_use]
    pub fn new(places: &[usize], number: u32) -> Self {
        let trial = |arm| Trial { arm, place: places[arm], round: number };
        Self { trials: stats::order(places.len(), number).into_iter().map(trial).collect() }
    }
}

/// Runs that were done.
#[derive(Debug)]
pub struct Rounds<R> {
    /// Those that count, in the order in which they were done.
    pub runs: Vec<(Trial, R)>,
    /// Why a place was left out, by its position.
    pub problems: Vec<(usize, Error)>,
    /// True when Ctrl-C cut them short.
    pub interrupted: bool,
}

impl<R> Default for Rounds<R> {
    fn default() -> Self {
        Self { runs: Vec::new(), problems: Vec::new(), interrupted: false }
    }
}

impl<R> Rounds<R> {
    /// The runs of an arm with their rounds, by round.
    #[must_use]
    pub fn of(&self, arm: usize) -> Vec<(u32, &R)> {
        let own = self.runs.iter().filter(|(trial, _)| trial.arm == arm);
        let mut runs: Vec<(u32, &R)> = own.map(|(trial, run)| (trial.round, run)).collect();
        runs.sort_by_key(|(round, _)| *round);
        runs
    }

    /// The runs of two arms in the rounds that have both.
    #[must_use]
    pub fn paired(&self, baseline: usize, candidate: usize) -> Vec<(&R, &R)> {
        let before = self.of(baseline);
        let of_round = |wanted: u32| before.iter().find(|(round, _)| *round == wanted);
        let after = self.of(candidate).into_iter();
        after.filter_map(|(round, run)| Some((of_round(round)?.1, run))).collect()
    }

    /// How many of these rounds have a run of every arm whose place did not fail.
    #[must_use]
    pub fn finished(&self, places: &[usize], rounds: u32) -> u32 {
        (0..rounds).map(|round| u32::from(self.is_whole(places, round))).sum()
    }

    /// Whether a round has a run of every arm whose place did not fail.
    fn is_whole(&self, places: &[usize], round: u32) -> bool {
        let mut wanted = (0..places.len()).filter(|arm| !self.failed(places[*arm]));
        wanted
            .all(|arm| self.runs.iter().any(|(trial, _)| (trial.arm, trial.round) == (arm, round)))
    }

    /// Whether a place was left out.
    #[must_use]
    pub fn failed(&self, place: usize) -> bool {
        self.problems.iter().any(|(other, _)| *other == place)
    }

    /// Does a round; `one` does a run and gives none where Ctrl-C cut it, `doing` says what is going on.
    pub(crate) fn run(
        &mut self,
        round: Round,
        (places, bench): (&mut Places, &Workbench<'_>),
        doing: &dyn Fn(Trial) -> String,
        mut one: impl FnMut(Trial, &dyn Place) -> Result<Option<R>>,
    ) {
        for trial in round.trials {
            if bench.control.interrupted() {
                self.interrupted = true;
                break;
            }
            if !self.failed(trial.place) {
                bench.progress.doing(doing(trial));
                match places.get(trial.place).and_then(|place| one(trial, place)) {
                    Ok(Some(run)) => self.runs.push((trial, run)),
                    Ok(None) => self.interrupted = true,
                    Err(error) => self.problems.push((trial.place, error)),
                }
            }
            bench.progress.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::workbench::Drawn;
    use culprit_place::{PlaceSpec, Settings};

    #[test]
    fn a_place_that_fails_is_left_out_and_the_others_go_on() {
        let arms = [0, 1, 0];
        let specs = vec![PlaceSpec::HOST, "host:/tmp".parse().unwrap()];
        let mut places = Places::new(specs, Settings::default());
        let control = Control::new();
        let bench = Workbench {
            control: &control,
            progress: &(),
            recorder: &Drawn,
            places: Settings::default(),
        };
        let mut rounds = Rounds::default();
        let mut seen = Vec::new();
        for number in 0..3 {
            let round = Round::new(&arms, number);
            rounds.run(round, (&mut places, &bench), &|_| String::new(), |trial, _| {
                seen.push(trial);
                match trial.place {
                    0 => Ok(Some(trial.arm)),
                    _ => Err(Error::refused("not here")),
                }
            });
        }
        assert_eq!(seen.iter().filter(|trial| trial.place == 1).count(), 1);
        assert_eq!((rounds.of(0).len(), rounds.of(1).len(), rounds.of(2).len()), (3, 0, 3));
        assert_eq!((rounds.finished(&arms, 3), rounds.finished(&arms, 5)), (3, 3));
        assert_eq!((rounds.paired(0, 2).len(), rounds.paired(0, 1).len()), (3, 0));
        assert_eq!(rounds.problems.len(), 1);
        assert!(places.remove().is_empty());
    }

    #[test]
    fn rounds_alternate_their_direction() {
        let order = |number| Round::new(&[0, 1], number).trials.into_iter().map(|trial| trial.arm);
        assert_eq!((0..3).flat_map(order).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1]);
    }
}
