//! Which runs count: those of rounds that were finished.

use culprit_engine::stats::{Judged, judge};
use culprit_model::Nanos;

use crate::experiment::Experiment;
use crate::timed::Timed;
use crate::trial::Rounds;

/// The rounds of which every arm has a run, judged by one metric. Arms of places that failed have no
/// values.
pub(crate) fn judged(
    experiment: &Experiment,
    rounds: &Rounds<Timed>,
    begun: u32,
    metric: &dyn Fn(&Timed) -> Option<Nanos>,
) -> Judged {
    let values = |arm: usize| -> Vec<f64> {
        let runs = counted_runs(experiment, rounds, begun, arm);
        let values: Vec<f64> =
            runs.iter().filter_map(|run| metric(run)).map(Nanos::seconds).collect();
        // A metric that some runs lack cannot be paired.
        if values.len() == runs.len() { values } else { Vec::new() }
    };
    let again = experiment.control_at().map(values);
    let candidates: Vec<Vec<f64>> = (1..experiment.arms.len()).map(values).collect();
    judge(&values(0), again.as_deref(), &candidates, experiment.band())
}

/// An arm's runs in the rounds that were finished; none of an arm whose place never worked.
pub(crate) fn counted_runs<'a>(
    experiment: &Experiment,
    rounds: &'a Rounds<Timed>,
    begun: u32,
    arm: usize,
) -> Vec<&'a Timed> {
    if !counted_arms(experiment, rounds).get(arm).is_some_and(|counts| *counts) {
        return Vec::new();
    }
    let whole = whole_rounds(experiment, rounds, begun);
    let runs = rounds.of(arm).into_iter();
    runs.filter(|(round, _)| whole.get(*round as usize) == Some(&true))
        .map(|(_, run)| run)
        .collect()
}

/// Whether each round that was begun has a run of every arm that counts.
pub(crate) fn whole_rounds(
    experiment: &Experiment,
    rounds: &Rounds<Timed>,
    begun: u32,
) -> Vec<bool> {
    let counted = counted_arms(experiment, rounds);
    let wanted = counted.iter().filter(|counts| **counts).count();
    let mut runs_of_round = vec![0_usize; begun as usize];
    for (trial, _) in rounds.runs.iter().filter(|(trial, _)| counted[trial.arm]) {
        if let Some(runs) = runs_of_round.get_mut(trial.round as usize) {
            *runs += 1;
        }
    }
    runs_of_round.into_iter().map(|runs| wanted > 0 && runs == wanted).collect()
}

/// Whether each arm counts: every arm of its place has a run of the first round. A place that failed
/// before that was done left the others to be timed without it; one that failed later ended the rounds.
fn counted_arms(experiment: &Experiment, rounds: &Rounds<Timed>) -> Vec<bool> {
    let places = experiment.round_places();
    let mut began = vec![false; places.len()];
    for (trial, _) in rounds.runs.iter().filter(|(trial, _)| trial.round == 0) {
        began[trial.arm] = true;
    }
    let worked =
        |place: &usize| places.iter().zip(&began).all(|(other, began)| other != place || *began);
    places.iter().map(worked).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use culprit_engine::stats::Stopping;
    use culprit_place::{Exit, PlaceSpec};

    use super::*;
    use crate::experiment::{Arm, AroundLines, CommandLine, Timing};
    use crate::timed::Streams;
    use crate::trial::Trial;

    /// A and B on the host and elsewhere, and A once more: arms 0 to 4, places 0, 0, 1, 1, 0.
    fn two_places() -> Experiment {
        let places = vec![PlaceSpec::HOST, "host:/tmp".parse().unwrap()];
        let lines =
            ["a", "b"].map(|line| CommandLine { name: None, line, prepare: None, conclude: None });
        let around = AroundLines { shell: Some("sh"), setup: None, cleanup: None };
        let timing = Timing {
            control: true,
            warmup: 0,
            stopping: Stopping::for_band(0.05, 9),
            budget: Duration::ZERO,
            band: 0.05,
            ignore_failure: false,
        };
        Experiment {
            arms: Arm::all(&lines, (&places, &[Vec::new()]), &around).unwrap(),
            places,
            timing: Some(timing),
            recording: None,
            streams: Streams::default(),
            shell: None,
        }
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
            (Trial { arm, place: places[arm], round }, timed)
        };
        Rounds { runs: runs.into_iter().map(run).collect(), ..Rounds::default() }
    }

    fn of_arms(arms: &[usize], number: u32) -> Vec<(usize, u32)> {
        (0..number).flat_map(|round| arms.iter().map(move |arm| (*arm, round))).collect()
    }

    fn counts(rounds: &Rounds<Timed>, begun: u32) -> Vec<usize> {
        let experiment = two_places();
        (0..5).map(|arm| counted_runs(&experiment, rounds, begun, arm).len()).collect()
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
