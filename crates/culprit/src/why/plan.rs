//! What will be run where, in which order, and where the results go.

use std::path::PathBuf;
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_place::PlaceSpec;
use culprit_record::{ClockRate, Extras};
use culprit_report::filters;

use super::earlier::Earlier;
use crate::args::{WhyArgs, Work};
use crate::failure::Failure;
use crate::rounds::Step;
use crate::session::Settings;
use crate::{files, places};

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
    /// Earlier recordings, which are the baseline of all places.
    pub(crate) earlier: Option<Earlier>,
    /// Runs in each place.
    pub(crate) runs: u32,
    /// What one run does.
    pub(crate) work: Option<Work>,
    /// A run is ended after this time.
    pub(crate) limit: Option<Duration>,
    /// How runs are recorded.
    pub(crate) settings: Settings,
    /// What counts as the program's own code; empty for the usual rule.
    pub(crate) own: Patterns,
    /// Whether what differs in configuration is observed.
    pub(crate) prove: bool,
    /// Where everything is written.
    pub(crate) folder: PathBuf,
}

impl Plan {
    /// The plan that the arguments come down to.
    ///
    /// # Errors
    /// When a place is none, or all are the same.
    pub(crate) fn new(args: &WhyArgs, earlier: Option<Earlier>) -> Result<Self, Failure> {
        let places = match &earlier {
            Some(earlier) if args.place.is_empty() => vec![places::spec(&earlier.place)?],
            None if args.place.is_empty() => vec![PlaceSpec::HOST, PlaceSpec::SANDBOX],
            _ => args.place.iter().map(|text| places::spec(text)).collect::<Result<_, _>>()?,
        };
        for (index, place) in places.iter().enumerate() {
            if places[..index].contains(place) {
                return Err(Failure::bad_input(format!(
                    "cannot compare places: `{place}` is given twice"
                ))
                .hint("give two different places, such as `--place host --place sandbox`"));
            }
        }
        if places.len() < 2 && earlier.is_none() {
            return Err(Failure::bad_input(format!(
                "cannot compare places: only `{}` is given",
                places[0]
            ))
            .hint("give a second `--place`, or an earlier recording with `--against`")
            .hint("to record in one place, use `culprit record`"));
        }
        let instead = args
            .instead
            .as_ref()
            .map(|line| ["sh".to_owned(), "-c".to_owned(), line.clone()].to_vec());
        Ok(Self {
            command: args.command.clone(),
            instead,
            places,
            earlier,
            runs: args.runs,
            work: args.work.clone(),
            limit: args.duration.map(|length| Duration::from_nanos(length.0)),
            settings: Settings {
                clock: ClockRate::asked(args.frequency),
                stacks: args.stacks,
                extras: Extras::default(),
                max_event_bytes: None,
                raw: None,
                runtime_help: args.runtimes.help(),
                config_key: args.keep.key()?,
                labels: Vec::new(),
            },
            own: filters::patterns(&args.own)?,
            prove: args.prove,
            folder: args.output.clone().unwrap_or_else(|| files::unused("culprit-why", "")),
        })
    }

    /// What runs in every round: each command line in each place, by the position of the place.
    pub(crate) fn arms(&self) -> Vec<(usize, Variant)> {
        let variants = match self.instead {
            Some(_) => &[Variant::Command, Variant::Instead][..],
            None => &[Variant::Command],
        };
        let places = 0..self.places.len();
        places.flat_map(|place| variants.iter().map(move |variant| (place, *variant))).collect()
    }

    /// The place of each arm.
    pub(crate) fn arm_places(&self) -> Vec<usize> {
        self.arms().into_iter().map(|(place, _)| place).collect()
    }

    /// Which command line an arm is of.
    pub(crate) fn variant(&self, arm: usize) -> Variant {
        if self.instead.is_some() && arm % 2 == 1 { Variant::Instead } else { Variant::Command }
    }

    /// What a place is called in prose.
    pub(crate) fn label(&self, place: usize) -> String {
        places::label(&self.places, place)
    }

    /// The recording of a run, and what it printed.
    pub(crate) fn files(&self, step: Step) -> (PathBuf, PathBuf) {
        let place = files::stem(&self.label(step.place));
        let instead = if self.variant(step.arm) == Variant::Instead { "-instead" } else { "" };
        // The number tells places apart whose names differ only in signs that files cannot have.
        let name = format!("{}-{place}{instead}-{}", step.place + 1, step.round + 1);
        (self.folder.join(format!("{name}.culprit")), self.folder.join(format!("{name}.log")))
    }

    /// The page.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join(files::PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Stacks;
    use crate::rounds::steps_of;

    fn plan(places: usize, runs: u32, instead: bool) -> Plan {
        let all = ["host", "sandbox", "host:/tmp"].map(|text| text.parse().unwrap());
        Plan {
            command: vec!["x".to_owned()],
            instead: instead.then(|| vec!["y".to_owned()]),
            places: all[..places].to_vec(),
            earlier: None,
            runs,
            work: None,
            limit: None,
            settings: Settings {
                clock: ClockRate::fixed(99),
                stacks: Stacks::Auto,
                extras: Extras::default(),
                max_event_bytes: None,
                raw: None,
                runtime_help: true,
                config_key: None,
                labels: Vec::new(),
            },
            own: Patterns::default(),
            prove: false,
            folder: PathBuf::from("out"),
        }
    }

    fn steps(plan: &Plan) -> Vec<Step> {
        (0..plan.runs).flat_map(|round| steps_of(&plan.arm_places(), round)).collect()
    }

    #[test]
    fn rounds_alternate_their_direction() {
        let order: Vec<usize> = steps(&plan(2, 3, false)).iter().map(|step| step.place).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn arms_are_command_lines_in_places() {
        let plan = plan(3, 1, true);
        for (arm, (_, variant)) in plan.arms().into_iter().enumerate() {
            assert_eq!(plan.variant(arm), variant);
        }
        assert_eq!(plan.arm_places(), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn every_run_has_files_of_its_own() {
        let plan = plan(3, 4, true);
        let steps = steps(&plan);
        let files: std::collections::BTreeSet<_> =
            steps.iter().map(|step| plan.files(*step)).collect();
        assert_eq!((steps.len(), files.len()), (24, 24));
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan(2, 1, true);
        plan.folder = folder.path().join("w");
        files::make_folder(&plan.folder, "-o").unwrap();
        for step in steps(&plan) {
            let (recording, log) = plan.files(step);
            std::fs::write(recording, "").unwrap();
            std::fs::write(log, "").unwrap();
        }
        std::fs::write(plan.page(), "").unwrap();
        files::make_folder(&plan.folder, "-o").unwrap();
        assert_eq!(std::fs::read_dir(&plan.folder).unwrap().count(), 0);
        for other in ["notes.txt", "x.culprit", "1-host.log"] {
            let other = plan.folder.join(other);
            std::fs::write(&other, "mine").unwrap();
            let refused = files::make_folder(&plan.folder, "-o").unwrap_err();
            assert!(refused.to_string().contains("which Culprit did not write"), "{refused}");
            std::fs::remove_file(&other).unwrap();
        }
    }
}
