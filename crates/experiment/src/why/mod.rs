//! The same command in several places, and what makes one slower.
//!
//! ```text
//! plan ─> recorded rounds ─> one summary a run ─> each place against the first ─> results
//!                            earlier recordings ───────────────┘ or against these
//! ```
//!
//! The recordings stay on disk; in memory there is one summary a run.

mod earlier;
mod results;

use std::path::PathBuf;
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_model::Nanos;
use culprit_place::PlaceSpec;

use crate::error::{Error, Result};
use crate::experiment::{Arm, Experiment, RecordedRounds};
use crate::folder::{PAGE, stem};
use crate::places::place_label;
use crate::recorded::Recorded;
use crate::run::Trials;
use crate::timed::Streams;
use crate::trial::{Rounds, Trial};
use crate::workbench::Workbench;

pub use earlier::Earlier;
pub use results::{DifferentEnd, PlaceRuns, WhyResults};

/// What one run of a command does.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// How many units.
    pub amount: f64,
    /// What a unit is called, in the plural.
    pub unit: String,
}

impl Work {
    /// Units a second, for a run of this length.
    #[must_use]
    pub fn rate(&self, wall: Nanos) -> f64 {
        if wall.0 == 0 { 0.0 } else { self.amount / wall.seconds() }
    }
}

/// What is compared, and in which places.
#[derive(Debug)]
pub struct WhyRequest {
    /// The command.
    pub command: Vec<String>,
    /// Another command line, which runs in the same places and rounds.
    pub instead: Option<String>,
    /// Where, the baseline first.
    pub places: Vec<PlaceSpec>,
    /// Earlier recordings, which are the baseline of all places.
    pub earlier: Option<Earlier>,
    /// Runs in each place.
    pub runs: u32,
    /// What one run does.
    pub work: Option<Work>,
    /// A run is ended after this time.
    pub limit: Option<Duration>,
    /// What counts as the program's own code, as typed, and compiled.
    pub own: (String, Patterns),
    /// Where everything is written.
    pub folder: PathBuf,
}

/// The plan of all runs.
#[derive(Debug)]
pub struct WhyPlan {
    /// What is asked.
    pub request: WhyRequest,
    /// What runs.
    pub experiment: Experiment,
}

impl WhyPlan {
    /// The plan of a request.
    ///
    /// # Errors
    /// When there is nothing to compare with, or a place is given twice.
    pub fn new(request: WhyRequest) -> Result<Self> {
        let places = &request.places;
        for (index, place) in places.iter().enumerate() {
            if places[..index].contains(place) {
                return Err(Error::input(format!(
                    "cannot compare places: `{place}` is given twice"
                ))
                .hint("give two different places, such as `--place host --place sandbox`"));
            }
        }
        if places.len() < 2 && request.earlier.is_none() {
            return Err(Error::input(format!(
                "cannot compare places: only `{}` is given",
                places[0]
            ))
            .hint("give a second `--place`, or an earlier recording with `--against`")
            .hint("to record in one place, use `culprit record`"));
        }
        let arms = (0..places.len()).flat_map(|place| arms_of(&request, place)).collect();
        let experiment = Experiment {
            arms,
            places: places.clone(),
            timing: None,
            recording: Some(RecordedRounds {
                folder: request.folder.clone(),
                option: "-o",
                rounds: request.runs,
                own: request.own.1.clone(),
                limit: request.limit,
            }),
            streams: Streams::default(),
            shell: None,
        };
        Ok(Self { request, experiment })
    }

    /// The arm that runs the command in a place.
    fn command_in(&self, place: usize) -> usize {
        place * self.commands()
    }

    /// How many command lines run in each place.
    fn commands(&self) -> usize {
        1 + usize::from(self.request.instead.is_some())
    }

    /// What a place is called in prose.
    #[must_use]
    pub fn label(&self, place: usize) -> String {
        place_label(&self.request.places, place)
    }

    /// The page.
    #[must_use]
    pub fn page(&self) -> PathBuf {
        self.request.folder.join(PAGE)
    }

    /// Runs everything that is planned, as long as more rounds can tell anything.
    ///
    /// # Errors
    /// When the folder cannot be made. A place's error is kept beside the others' runs.
    pub fn run(&self, bench: &Workbench<'_>) -> Result<Trials> {
        self.experiment.run(bench, &|rounds| self.is_comparable(rounds))
    }

    /// Whether more rounds can tell anything.
    fn is_comparable(&self, rounds: &Rounds<Recorded>) -> bool {
        let ending = |place: usize| {
            let arm = self.command_in(place);
            let own = |(trial, _): &&(Trial, Recorded)| trial.arm == arm;
            rounds.runs.iter().rev().find(own).map(|(_, run)| run.exit_code)
        };
        let working = (0..self.request.places.len()).filter(|place| !rounds.failed(*place));
        let endings: Vec<i32> = working.filter_map(ending).collect();
        if self.request.earlier.is_some() { !endings.is_empty() } else { has_partner(&endings) }
    }
}

/// The command, and the other one, in a place.
fn arms_of(request: &WhyRequest, place: usize) -> impl Iterator<Item = Arm> {
    let label = place_label(&request.places, place);
    // The number tells places apart whose names differ only in signs that files cannot have.
    let file = format!("{}-{}", place + 1, stem(&label));
    let instead = request.instead.as_ref().map(|line| Arm {
        name: format!("{label}, the other command"),
        label: label.clone(),
        file: format!("{file}-instead"),
        line: line.clone(),
        argv: ["sh".to_owned(), "-c".to_owned(), line.clone()].to_vec(),
        place,
        ..Arm::default()
    });
    let command = Arm {
        name: label.clone(),
        label,
        file,
        line: request.command.join(" "),
        argv: request.command.clone(),
        place,
        ..Arm::default()
    };
    std::iter::once(command).chain(instead)
}

/// Whether the first place's runs have some to be compared with: a place that has not failed, in which the
/// command ends as it does there.
fn has_partner(endings: &[i32]) -> bool {
    endings.split_first().is_some_and(|(first, others)| others.contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::make_folder;
    use crate::trial::Round;

    fn plan(places: usize, runs: u32, instead: bool) -> WhyPlan {
        let all = ["host", "sandbox", "host:/tmp"].map(|text| text.parse().unwrap());
        WhyPlan::new(WhyRequest {
            command: vec!["x".to_owned()],
            instead: instead.then(|| "y".to_owned()),
            places: all[..places].to_vec(),
            earlier: None,
            runs,
            work: None,
            limit: None,
            own: (String::new(), Patterns::default()),
            folder: PathBuf::from("out"),
        })
        .unwrap()
    }

    fn trials(plan: &WhyPlan) -> Vec<Trial> {
        let arms = plan.experiment.arm_places();
        (0..plan.request.runs).flat_map(|round| Round::new(&arms, round).trials).collect()
    }

    #[test]
    fn arms_are_command_lines_in_places() {
        let plan = plan(3, 1, true);
        assert_eq!(plan.experiment.arm_places(), [0, 0, 1, 1, 2, 2]);
        assert_eq!((plan.command_in(1), plan.experiment.arms[2].argv.len()), (2, 1));
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(3, 4, true);
        let own = folder.path().join("w");
        make_folder(&own, "-o").unwrap();
        let mut files = std::collections::BTreeSet::from([own.join(PAGE)]);
        for trial in trials(&plan) {
            let (recording, log) = plan.experiment.files(&own, trial);
            files.extend([recording, log]);
        }
        assert_eq!(files.len(), 1 + 2 * 24, "every run has files of its own");
        files.iter().for_each(|file| std::fs::write(file, "").unwrap());
        make_folder(&own, "-o").unwrap();
        assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
        for other in ["notes.txt", "x.culprit", "1-host.log"] {
            let other = own.join(other);
            std::fs::write(&other, "mine").unwrap();
            let refused = make_folder(&own, "-o").unwrap_err();
            assert!(refused.to_string().contains("which Culprit did not write"), "{refused}");
            std::fs::remove_file(&other).unwrap();
        }
    }

    #[test]
    fn runs_without_a_partner_are_not_gone_on_with() {
        assert!(has_partner(&[0, 3, 0]) && has_partner(&[1, 1]));
        assert!(!has_partner(&[0, 3]) && !has_partner(&[0]) && !has_partner(&[]));
    }
}
