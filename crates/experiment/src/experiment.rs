//! What will be run against what, where, in which rounds, and where the results go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_engine::stats::Stopping;
use culprit_place::PlaceSpec;

use crate::error::{Error, Result};
use crate::folder::stem;
use crate::parameters::Parameters;
use crate::places::place_label;
use crate::timed::Streams;
use crate::trial::Trial;
use crate::words;

/// The plan of all rounds.
#[derive(Debug)]
pub struct Experiment {
    /// What is compared, the baseline first.
    pub arms: Vec<Arm>,
    /// Where.
    pub places: Vec<PlaceSpec>,
    /// Timed rounds; none where runs are only recorded.
    pub timing: Option<Timing>,
    /// Recorded rounds, after the timed ones; none where only times are wanted.
    pub recording: Option<RecordedRounds>,
    /// Where timed commands read and write.
    pub streams: Streams,
    /// The shell that commands run in; none for none.
    pub shell: Option<String>,
}

/// A command line in a place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arm {
    /// What it is called.
    pub name: String,
    /// What it is called in prose: its name, and its place where there are several.
    pub label: String,
    /// How the names of its files begin.
    pub file: String,
    /// The command line, parameters put in.
    pub line: String,
    /// What is executed.
    pub argv: Vec<String>,
    /// Position of its place.
    pub place: usize,
    /// The parameters that were put in.
    pub parameters: Parameters,
    /// Before all of its runs.
    pub setup: Option<Vec<String>>,
    /// Before each.
    pub prepare: Option<Vec<String>>,
    /// After each.
    pub conclude: Option<Vec<String>>,
    /// After all.
    pub cleanup: Option<Vec<String>>,
}

/// How rounds are timed.
#[derive(Debug)]
pub struct Timing {
    /// Whether the baseline runs twice a round.
    pub control: bool,
    /// Rounds that are not counted.
    pub warmup: u32,
    /// When rounds end.
    pub stopping: Stopping,
    /// No round beyond the least number is begun after this time.
    pub budget: Duration,
    /// What differs by less is the same.
    pub band: f64,
    /// Whether commands that fail are measured too.
    pub ignore_failure: bool,
}

/// Rounds that are recorded.
#[derive(Debug)]
pub struct RecordedRounds {
    /// Where the recordings go.
    pub folder: PathBuf,
    /// The option that names the folder, for messages.
    pub option: &'static str,
    /// How many rounds.
    pub rounds: u32,
    /// What counts as the program's own code; empty for the usual rule.
    pub own: Patterns,
    /// A run is ended after this time.
    pub limit: Option<Duration>,
}

/// A command line as it was typed.
#[derive(Debug, Clone, Copy)]
pub struct CommandLine<'a> {
    /// Its name, if it was given one.
    pub name: Option<&'a str>,
    /// The line.
    pub line: &'a str,
    /// Before each run.
    pub prepare: Option<&'a str>,
    /// After each run.
    pub conclude: Option<&'a str>,
}

/// What all command lines share.
#[derive(Debug, Clone, Copy)]
pub struct AroundLines<'a> {
    /// The shell that reads them; none for none.
    pub shell: Option<&'a str>,
    /// Before all runs of an arm.
    pub setup: Option<&'a str>,
    /// After all runs of an arm.
    pub cleanup: Option<&'a str>,
}

impl Experiment {
    /// The band of what is the same.
    #[must_use]
    pub fn band(&self) -> f64 {
        self.timing.as_ref().map_or(0.0, |timing| timing.band)
    }

    /// The places of what runs in a timed round, by position: of each arm, and of the baseline once more.
    #[must_use]
    pub fn round_places(&self) -> Vec<usize> {
        let again = self.control_at().map(|_| self.arms[0].place);
        self.arms.iter().map(|arm| arm.place).chain(again).collect()
    }

    /// The places of the arms.
    #[must_use]
    pub fn arm_places(&self) -> Vec<usize> {
        self.arms.iter().map(|arm| arm.place).collect()
    }

    /// The position of the baseline's second run among what runs in a round.
    #[must_use]
    pub fn control_at(&self) -> Option<usize> {
        self.timing.as_ref().is_some_and(|timing| timing.control).then_some(self.arms.len())
    }

    /// The arm that a trial runs.
    #[must_use]
    pub fn arm(&self, trial: Trial) -> &Arm {
        self.arms.get(trial.arm).unwrap_or(&self.arms[0])
    }

    /// The recording of a run, and what it printed.
    #[must_use]
    pub fn files(&self, folder: &Path, trial: Trial) -> (PathBuf, PathBuf) {
        let name = format!("{}-{}", self.arm(trial).file, trial.round + 1);
        (folder.join(format!("{name}.culprit")), folder.join(format!("{name}.log")))
    }
}

impl Arm {
    /// Every command line with all parameters in every place.
    ///
    /// # Errors
    /// When a line that no shell reads cannot be split into words.
    pub fn all(
        lines: &[CommandLine<'_>],
        (places, combinations): (&[PlaceSpec], &[Parameters]),
        around: &AroundLines<'_>,
    ) -> Result<Vec<Self>> {
        let mut arms = Vec::new();
        for place in 0..places.len() {
            for command in lines {
                for parameters in combinations {
                    arms.push(Self::new(command, parameters, place, around)?);
                }
            }
        }
        Ok(Self::labelled(arms, places))
    }

    fn new(
        command: &CommandLine<'_>,
        parameters: &Parameters,
        place: usize,
        around: &AroundLines<'_>,
    ) -> Result<Self> {
        let line = words::fill(command.line, parameters);
        // Around the runs a shell is always at hand: nobody times it.
        let beside = |line: Option<&str>| {
            let shell = around.shell.unwrap_or("sh");
            line.map(|line| in_shell(shell, &words::fill(line, parameters)))
        };
        let argv = match around.shell {
            Some(shell) => in_shell(shell, &line),
            None => words::split(&line).filter(|words| !words.is_empty()).ok_or_else(|| {
                Error::input(format!(
                    "cannot split the command `{line}` into words: it is empty, or a quote is not \
                     closed"
                ))
                .hint("close the quote, or remove `--shell none` to let a shell read the command")
            })?,
        };
        Ok(Self {
            name: command.name.map_or_else(|| line.clone(), |name| words::fill(name, parameters)),
            line,
            argv,
            place,
            parameters: parameters.clone(),
            setup: beside(around.setup),
            prepare: beside(command.prepare),
            conclude: beside(command.conclude),
            cleanup: beside(around.cleanup),
            ..Self::default()
        })
    }

    /// The same arms with labels, and with names of their files.
    #[must_use]
    pub fn labelled(mut arms: Vec<Self>, places: &[PlaceSpec]) -> Vec<Self> {
        let one_command = arms.iter().all(|other| other.name == arms[0].name);
        for (at, arm) in arms.iter_mut().enumerate() {
            let place = || place_label(places, arm.place);
            arm.label = match places.len() {
                1 => arm.name.clone(),
                _ if one_command => place(),
                _ => format!("{} in {}", arm.name, place()),
            };
            let program = arm.line.split_whitespace().next().unwrap_or_default();
            arm.file = format!("{}-{}", at + 1, stem(program));
        }
        arms
    }
}

/// A shell's own words may be options: `--shell 'bash --norc'`.
fn in_shell(shell: &str, line: &str) -> Vec<String> {
    let mut words = words::split(shell).unwrap_or_default();
    if words.is_empty() {
        words.push("sh".to_owned());
    }
    words.extend(["-c".to_owned(), line.to_owned()]);
    words
}
