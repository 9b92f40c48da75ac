//! What will be run where, in which order, and where the results go.

use std::path::PathBuf;
use std::time::Duration;

use culprit_place::PlaceSpec;
use culprit_record::Extras;

use crate::args::{WhyArgs, Work};
use crate::failure::{Context as _, Failure};
use crate::session::Settings;
use crate::{files, places};

/// The page's file.
const PAGE: &str = "report.html";

/// Which of the command lines a run is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The command itself.
    Command,
    /// `--instead`.
    Instead,
}

/// The plan of all runs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The command.
    pub(crate) command: Vec<String>,
    /// The other command line, as it is run.
    pub(crate) instead: Option<Vec<String>>,
    /// Where, the baseline first.
    pub(crate) places: Vec<PlaceSpec>,
    /// Runs in each place.
    pub(crate) runs: u32,
    /// What one run does.
    pub(crate) work: Option<Work>,
    /// A run is ended after this time.
    pub(crate) limit: Option<Duration>,
    /// How runs are recorded.
    pub(crate) settings: Settings,
    /// Where everything is written.
    pub(crate) folder: PathBuf,
}

/// One run to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Position in the plan's places.
    pub(crate) place: usize,
    /// Which command line.
    pub(crate) variant: Variant,
    /// Counted from 0.
    pub(crate) round: u32,
}

impl Plan {
    /// The plan that the arguments come down to.
    ///
    /// # Errors
    /// When a place is none, or all are the same.
    pub(crate) fn new(args: &WhyArgs) -> Result<Self, Failure> {
        let places = if args.place.is_empty() {
            vec![PlaceSpec::HOST, PlaceSpec::SANDBOX]
        } else {
            args.place.iter().map(|text| places::spec(text)).collect::<Result<_, _>>()?
        };
        for (index, place) in places.iter().enumerate() {
            if places[..index].contains(place) {
                return Err(Failure::bad_input(format!(
                    "compare places: `{place}` is given twice"
                ))
                .hint("give two different places, as in `--place host --place sandbox`"));
            }
        }
        if places.len() < 2 {
            return Err(Failure::bad_input(format!(
                "compare places: only `{}` is given",
                places[0]
            ))
            .hint("give a second `--place`, or use `culprit record` for one place"));
        }
        let instead = args
            .instead
            .as_ref()
            .map(|line| ["sh".to_owned(), "-c".to_owned(), line.clone()].to_vec());
        Ok(Self {
            command: args.command.clone(),
            instead,
            places,
            runs: args.runs,
            work: args.work.clone(),
            limit: args.duration.map(|length| Duration::from_nanos(length.0)),
            settings: Settings {
                frequency: args.frequency,
                stacks: args.stacks,
                extras: Extras::default(),
                max_event_bytes: None,
            },
            folder: args.output.clone().unwrap_or_else(|| files::unused("culprit-why", "")),
        })
    }

    /// Every run, in order: rounds alternate their direction (AB BA), so that a machine that gets
    /// slower or faster meanwhile treats all places alike.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let variants = match self.instead {
            Some(_) => &[Variant::Command, Variant::Instead][..],
            None => &[Variant::Command],
        };
        let mut steps = Vec::new();
        for round in 0..self.runs {
            let all = (0..self.places.len()).flat_map(|place| {
                variants.iter().map(move |variant| Step { place, variant: *variant, round })
            });
            let mut all: Vec<Step> = all.collect();
            if round % 2 == 1 {
                all.reverse();
            }
            steps.extend(all);
        }
        steps
    }

    /// What a place is called in prose: its name without options, where that tells it apart.
    pub(crate) fn label(&self, place: usize) -> String {
        let bare = |spec: &PlaceSpec| {
            let name = spec.to_string();
            name.split(',').next().unwrap_or(&name).to_owned()
        };
        let own = bare(&self.places[place]);
        if self.places.iter().filter(|other| bare(other) == own).count() == 1 {
            own
        } else {
            self.places[place].to_string()
        }
    }

    /// The recording of a run, and what it printed.
    pub(crate) fn files(&self, step: Step) -> (PathBuf, PathBuf) {
        let place = files::stem(&self.label(step.place));
        let instead = if step.variant == Variant::Instead { "-instead" } else { "" };
        // The number tells places apart whose names differ only in signs that files cannot have.
        let name = format!("{}-{place}{instead}-{}", step.place + 1, step.round + 1);
        (self.folder.join(format!("{name}.culprit")), self.folder.join(format!("{name}.log")))
    }

    /// The page.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join(PAGE)
    }

    /// Makes the folder. The files of an earlier answer go: one folder holds one answer.
    ///
    /// # Errors
    /// When it cannot be made or written into, or holds anything else.
    pub(crate) fn make_folder(&self) -> Result<(), Failure> {
        let folder = self.folder.display();
        let elsewhere = |failure: Failure| failure.hint("`-o` names another folder");
        let what = || format!("write into the folder `{folder}`");
        std::fs::create_dir_all(&self.folder).or_refused(what).map_err(elsewhere)?;
        let mut earlier = Vec::new();
        for entry in std::fs::read_dir(&self.folder).or_refused(what).map_err(elsewhere)? {
            let entry = entry.or_refused(what)?;
            let name = entry.file_name();
            if !is_of_an_answer(&name.to_string_lossy()) {
                return Err(elsewhere(Failure::bad_input(format!(
                    "{}: it holds `{}`, which is of no earlier answer",
                    what(),
                    name.to_string_lossy()
                ))));
            }
            earlier.push(entry.path());
        }
        let removed = earlier.into_iter().try_for_each(std::fs::remove_file);
        removed.or_refused(what).map_err(elsewhere)?;
        // Found out now, not after the first run.
        let probe = self.page();
        std::fs::File::create_new(&probe)
            .and_then(|_| std::fs::remove_file(&probe))
            .or_refused(what)
            .map_err(elsewhere)
    }
}

/// Whether a file is one that an answer writes: the page, or `NUMBER-PLACE-ROUND` with the ending of
/// a recording or a log.
fn is_of_an_answer(name: &str) -> bool {
    let stem = name.strip_suffix(".culprit").or_else(|| name.strip_suffix(".log"));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbered = |stem: &str| {
        stem.split_once('-').is_some_and(|(place, _)| number(place))
            && stem.rsplit_once('-').is_some_and(|(_, round)| number(round))
    };
    name == PAGE || stem.is_some_and(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Stacks;

    fn plan(places: usize, runs: u32, instead: bool) -> Plan {
        let all = ["host", "sandbox", "host:/tmp"].map(|text| text.parse().unwrap());
        Plan {
            command: vec!["x".to_owned()],
            instead: instead.then(|| vec!["y".to_owned()]),
            places: all[..places].to_vec(),
            runs,
            work: None,
            limit: None,
            settings: Settings {
                frequency: 99,
                stacks: Stacks::Auto,
                extras: Extras::default(),
                max_event_bytes: None,
            },
            folder: PathBuf::from("out"),
        }
    }

    #[test]
    fn rounds_alternate_their_direction() {
        let order: Vec<usize> = plan(2, 3, false).steps().iter().map(|step| step.place).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn places_are_called_by_as_little_as_tells_them_apart() {
        let mut plan = plan(2, 1, false);
        plan.places = ["host", "docker:x,cpus=1", "docker:y,cpus=1", "docker:y,cpus=2"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let labels: Vec<String> = (0..4).map(|place| plan.label(place)).collect();
        assert_eq!(labels, ["host", "docker:x", "docker:y,cpus=1", "docker:y,cpus=2"]);
    }

    #[test]
    fn every_run_has_files_of_its_own() {
        let plan = plan(3, 4, true);
        let steps = plan.steps();
        let files: std::collections::BTreeSet<_> =
            steps.iter().map(|step| plan.files(*step)).collect();
        assert_eq!((steps.len(), files.len()), (24, 24));
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan(2, 1, true);
        plan.folder = folder.path().join("w");
        plan.make_folder().unwrap();
        for step in plan.steps() {
            let (recording, log) = plan.files(step);
            std::fs::write(recording, "").unwrap();
            std::fs::write(log, "").unwrap();
        }
        std::fs::write(plan.page(), "").unwrap();
        plan.make_folder().unwrap();
        assert_eq!(std::fs::read_dir(&plan.folder).unwrap().count(), 0);
        for other in ["notes.txt", "x.culprit", "1-host.log"] {
            let other = plan.folder.join(other);
            std::fs::write(&other, "mine").unwrap();
            let refused = plan.make_folder().unwrap_err();
            assert!(refused.to_string().contains("no earlier answer"), "{refused}");
            std::fs::remove_file(&other).unwrap();
        }
    }
}
