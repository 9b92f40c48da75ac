//! What will be timed against what, where, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use culprit_engine::stats::Stopping;
use culprit_place::PlaceSpec;
use culprit_record::{ClockRate, Extras};

use super::parameters::{Parameters, combinations};
use super::words;
use crate::args::{CmdArgs, MeasureArgs, Stacks, VerifyArgs};
use crate::failure::Failure;
use crate::rounds::{Sink, Step, Streams};
use crate::session::Settings;
use crate::{files, places};

/// A command line in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arm {
    /// What it is called.
    pub(crate) name: String,
    /// The command line, parameters put in.
    pub(crate) line: String,
    /// What is executed.
    pub(crate) argv: Vec<String>,
    /// Position of its place.
    pub(crate) place: usize,
    /// The parameters that were put in.
    pub(crate) parameters: Parameters,
    /// Before all of its runs.
    pub(crate) setup: Option<Vec<String>>,
    /// Before each.
    pub(crate) prepare: Option<Vec<String>>,
    /// After each.
    pub(crate) conclude: Option<Vec<String>>,
    /// After all.
    pub(crate) cleanup: Option<Vec<String>>,
}

/// Rounds that are recorded after the timed ones.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Where the recordings go.
    pub(crate) folder: PathBuf,
    /// How many rounds.
    pub(crate) rounds: u32,
    /// How they are recorded.
    pub(crate) settings: Settings,
}

/// The plan of all rounds.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What is compared, the baseline first.
    pub(crate) arms: Vec<Arm>,
    /// Whether the baseline runs twice a round.
    pub(crate) control: bool,
    /// Where.
    pub(crate) places: Vec<PlaceSpec>,
    /// Rounds that are not counted.
    pub(crate) warmup: u32,
    /// When rounds end.
    pub(crate) stopping: Stopping,
    /// No round beyond the least number is begun after this time.
    pub(crate) budget: Duration,
    /// What differs by less is the same.
    pub(crate) band: f64,
    /// Where the commands read and write.
    pub(crate) streams: Streams,
    /// Whether commands that fail are measured too.
    pub(crate) ignore_failure: bool,
    /// The shell that commands run in; none for none.
    pub(crate) shell: Option<String>,
    /// Recorded rounds; none when only times are wanted.
    pub(crate) recording: Option<Recording>,
}

/// A command as it was typed.
struct Typed<'a> {
    name: Option<&'a str>,
    line: &'a str,
    prepare: Option<&'a str>,
    conclude: Option<&'a str>,
}

impl Plan {
    /// The plan of `bench cmd`.
    ///
    /// # Errors
    /// When a place is none, a parameter makes no sense, or counts do not fit.
    pub(crate) fn of_bench(args: &CmdArgs) -> Result<Self, Failure> {
        let places = match args.place.as_slice() {
            [] => vec![PlaceSpec::HOST],
            typed => typed.iter().map(|text| places::spec(text)).collect::<Result<_, _>>()?,
        };
        let combinations = combinations(args)?;
        if args.name.len() > args.command.len() {
            return Err(Failure::bad_input(format!(
                "cannot name the commands: {} names for {} commands",
                args.name.len(),
                args.command.len()
            ))
            .hint("give at most one `--name` for each command; a name can contain {VAR}"));
        }
        let lines: Vec<&str> = args.command.iter().map(String::as_str).collect();
        let names = args.name.iter().map(|name| Some(name.as_str())).chain(std::iter::repeat(None));
        let typed = typed(&lines, names, &args.measure)?;
        let folder = args.record.clone();
        Self::new(&typed, (places, &combinations), &args.measure, folder)
    }

    /// The plan of `verify`.
    ///
    /// # Errors
    /// When the place is none, or counts do not fit.
    pub(crate) fn of_verify(args: &VerifyArgs) -> Result<Self, Failure> {
        let lines = [args.before.as_str(), args.after.as_str()];
        let names = ["before", "after"].map(Some).into_iter();
        let typed = typed(&lines, names, &args.measure)?;
        let folder = (!args.no_record)
            .then(|| args.record.clone().unwrap_or_else(|| files::unused("culprit-verify", "")));
        let places = vec![places::spec(&args.place)?];
        Self::new(&typed, (places, &[Vec::new()]), &args.measure, folder)
    }

    fn new(
        typed: &[Typed<'_>],
        (places, combinations): (Vec<PlaceSpec>, &[Parameters]),
        args: &MeasureArgs,
        folder: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let shell = (!args.no_shell && args.shell != "none").then(|| args.shell.clone());
        let mut arms = Vec::new();
        for place in 0..places.len() {
            for command in typed {
                for parameters in combinations {
                    let arm = Arm::new(command, parameters, place, (args, shell.as_deref()))?;
                    arms.push(arm);
                }
            }
        }
        let config_key = if folder.is_some() { args.keep.key()? } else { None };
        Ok(Self {
            control: !args.no_control && arms.len() > 1,
            arms,
            places,
            warmup: args.warmup,
            stopping: stopping(args)?,
            budget: Duration::from_nanos(args.budget.0),
            band: args.band,
            streams: streams(args),
            ignore_failure: args.ignore_failure,
            shell,
            recording: folder.map(|folder| Recording {
                folder,
                rounds: args.record_rounds,
                settings: Settings {
                    clock: ClockRate::asked(args.frequency),
                    stacks: Stacks::Auto,
                    extras: Extras::default(),
                    max_event_bytes: None,
                    raw: None,
                    runtime_help: args.runtimes.help(),
                    config_key,
                    labels: Vec::new(),
                },
            }),
        })
    }

    /// The places of what runs in a round, by position: of each arm, and of the baseline once more.
    pub(crate) fn round_places(&self) -> Vec<usize> {
        let control = self.control.then(|| self.arms[0].place);
        self.arms.iter().map(|arm| arm.place).chain(control).collect()
    }

    /// The places of the arms.
    pub(crate) fn arm_places(&self) -> Vec<usize> {
        self.arms.iter().map(|arm| arm.place).collect()
    }

    /// The position of the baseline's second run among what runs in a round.
    pub(crate) fn control_at(&self) -> Option<usize> {
        self.control.then_some(self.arms.len())
    }

    /// The arm that a step runs.
    pub(crate) fn arm(&self, step: Step) -> &Arm {
        self.arms.get(step.arm).unwrap_or(&self.arms[0])
    }

    /// What an arm is called in prose: its name, and its place where there are several.
    pub(crate) fn label(&self, arm: usize) -> String {
        let place = || places::label(&self.places, self.arms[arm].place);
        let one_command = self.arms.iter().all(|other| other.name == self.arms[arm].name);
        match self.places.len() {
            1 => self.arms[arm].name.clone(),
            _ if one_command => place(),
            _ => format!("{} in {}", self.arms[arm].name, place()),
        }
    }

    /// The recording of a run, and what it printed.
    pub(crate) fn files(&self, folder: &std::path::Path, step: Step) -> (PathBuf, PathBuf) {
        let arm = self.arm(step);
        let program = arm.line.split_whitespace().next().unwrap_or_default();
        let name = format!("{}-{}-{}", step.arm + 1, files::stem(program), step.round + 1);
        (folder.join(format!("{name}.culprit")), folder.join(format!("{name}.log")))
    }
}

impl Arm {
    fn new(
        typed: &Typed<'_>,
        parameters: &Parameters,
        place: usize,
        (args, shell): (&MeasureArgs, Option<&str>),
    ) -> Result<Self, Failure> {
        let line = words::fill(typed.line, parameters);
        // Around the runs a shell is always at hand: nobody times it.
        let around = |line: Option<&str>| {
            line.map(|line| in_shell(shell.unwrap_or("sh"), &words::fill(line, parameters)))
        };
        let argv = match shell {
            Some(shell) => in_shell(shell, &line),
            None => words::split(&line).filter(|words| !words.is_empty()).ok_or_else(|| {
                Failure::bad_input(format!(
                    "cannot split the command `{line}` into words: it is empty, or a quote is not \
                     closed"
                ))
                .hint("close the quote, or remove `--shell none` to let a shell read the command")
            })?,
        };
        Ok(Self {
            name: typed.name.map_or_else(|| line.clone(), |name| words::fill(name, parameters)),
            line,
            argv,
            place,
            parameters: parameters.clone(),
            setup: around(args.setup.as_deref()),
            prepare: around(typed.prepare),
            conclude: around(typed.conclude),
            cleanup: around(args.cleanup.as_deref()),
        })
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

fn typed<'a>(
    lines: &[&'a str],
    names: impl Iterator<Item = Option<&'a str>>,
    args: &'a MeasureArgs,
) -> Result<Vec<Typed<'a>>, Failure> {
    let one = |all: &'a [String], at: usize, option: &str| match all {
        [] => Ok(None),
        [for_all] => Ok(Some(for_all.as_str())),
        each if each.len() == lines.len() => Ok(Some(each[at].as_str())),
        each => Err(Failure::bad_input(format!(
            "cannot use `{option}`: it is given {} times for {} commands",
            each.len(),
            lines.len()
        ))
        .hint("give it once for all commands, or once for each command")),
    };
    let commands = lines.iter().zip(names).enumerate();
    commands
        .map(|(at, (line, name))| {
            let prepare = one(&args.prepare, at, "--prepare")?;
            let conclude = one(&args.conclude, at, "--conclude")?;
            Ok(Typed { name, line, prepare, conclude })
        })
        .collect()
}

fn stopping(args: &MeasureArgs) -> Result<Stopping, Failure> {
    if let Some(rounds) = args.rounds {
        return Ok(Stopping { least: rounds, ..Stopping::for_band(args.band, rounds) });
    }
    if args.min > args.max {
        return Err(Failure::bad_input(format!(
            "cannot choose the number of rounds: `--min {}` is larger than `--max {}`",
            args.min, args.max
        ))
        .hint("lower `--min` or raise `--max`; `--rounds` runs an exact number"));
    }
    Ok(Stopping { least: args.min, ..Stopping::for_band(args.band, args.max) })
}

fn streams(args: &MeasureArgs) -> Streams {
    Streams {
        input: (args.input != "null").then(|| PathBuf::from(&args.input)),
        output: match args.output.as_str() {
            "null" => Sink::Null,
            "pipe" => Sink::Pipe,
            "inherit" => Sink::Shown,
            path => Sink::File(path.into()),
        },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::args::{Cli, Command, Probe, parse};
    use crate::settings;

    pub(in super::super) fn plan(line: &[&str]) -> Result<Plan, Failure> {
        let line = ["culprit", "bench", "cmd"].iter().chain(line);
        let Ok(Cli { command: Command::Bench(bench), .. }) =
            parse(&settings::Settings::none(), line)
        else {
            panic!("not parsed")
        };
        let Probe::Cmd(args) = bench.probe else { panic!("another probe") };
        Plan::of_bench(&args)
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.arms.iter().map(|arm| arm.name.as_str()).collect()
    }

    #[test]
    fn every_command_runs_with_every_parameter_in_every_place() {
        let plan = plan(&[
            "--place",
            "host",
            "--place",
            "sandbox",
            "-L",
            "n",
            "1,2",
            "make -j{n}",
            "ninja -j{n}",
        ])
        .unwrap();
        assert_eq!(names(&plan)[..4], ["make -j1", "make -j2", "ninja -j1", "ninja -j2"]);
        assert_eq!(plan.arm_places(), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!((plan.round_places().len(), plan.control_at()), (9, Some(8)));
        assert_eq!(plan.label(5), "make -j2 in sandbox");
        assert_eq!(plan.arms[0].argv, ["sh", "-c", "make -j1"]);
        assert_eq!(plan.arms[0].parameters, [("n".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn preparations_are_for_all_or_for_each() {
        let both = plan(&["-p", "a", "x", "y"]).unwrap();
        assert!(both.arms.iter().all(|arm| arm.prepare.as_ref().unwrap()[2] == "a"));
        let each = plan(&["-p", "a", "-p", "b", "x", "y"]).unwrap();
        assert_eq!(each.arms[1].prepare.as_ref().unwrap()[2], "b");
        assert!(plan(&["-p", "a", "-p", "b", "x", "y", "z"]).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            &["--min", "9", "--max", "3", "x"][..],
            &["-n", "a", "-n", "b", "x"],
            &["-N", "x 'y"],
            &["-P", "n", "3", "1", "x"],
            &["-L", "n", "1", "-L", "n", "2", "x"],
            &["--place", "nowhere", "x"],
        ] {
            assert!(plan(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn one_command_alone_needs_no_control_and_rounds_may_be_fixed() {
        let one = plan(&["-r", "4", "-N", "ls -l"]).unwrap();
        assert_eq!((one.control, one.stopping.least, one.stopping.most), (false, 4, 4));
        assert_eq!((one.arms[0].argv.len(), one.shell), (2, None));
        let named = plan(&["-n", "small {n}", "-P", "n", "1", "2", "x {n}"]).unwrap();
        assert_eq!(names(&named), ["small 1", "small 2"]);
    }
}
