//! The experiments of `bench cmd` and `verify`, from their arguments.

use std::path::PathBuf;
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_engine::stats::Stopping;
use culprit_experiment::{
    Arm, AroundLines, CommandLine, Experiment, Parameters, RecordedRounds, Sink, Streams, Timing,
    combinations,
};
use culprit_place::PlaceSpec;
use culprit_record::ClockRate;

use crate::args::{CmdArgs, MeasureArgs, VerifyArgs};
use crate::failure::Failure;
use crate::session::Settings;
use crate::{files, places};

/// An experiment, and how its runs are recorded.
pub(crate) type Planned = (Experiment, Settings);

/// What `bench cmd` runs.
///
/// # Errors
/// When a place is none, a parameter makes no sense, or counts do not fit.
pub(crate) fn of_bench(args: &CmdArgs) -> Result<Planned, Failure> {
    let places = match args.place.as_slice() {
        [] => vec![PlaceSpec::HOST],
        typed => typed.iter().map(|text| places::spec(text)).collect::<Result<_, _>>()?,
    };
    let scans = (args.parameter_scan.as_slice(), args.parameter_step_size.as_str());
    let combinations = combinations(scans, &args.parameter_list)?;
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
    let lines = command_lines(&lines, names, &args.measure)?;
    planned(&lines, (places, &combinations), &args.measure, args.record.clone())
}

/// What `verify` runs.
///
/// # Errors
/// When the place is none, or counts do not fit.
pub(crate) fn of_verify(args: &VerifyArgs) -> Result<Planned, Failure> {
    let lines = [args.before.as_str(), args.after.as_str()];
    let names = ["before", "after"].map(Some).into_iter();
    let lines = command_lines(&lines, names, &args.measure)?;
    let folder = (!args.no_record)
        .then(|| args.record.clone().unwrap_or_else(|| files::unused("culprit-verify", "")));
    let places = vec![places::spec(&args.place)?];
    planned(&lines, (places, &[Vec::new()]), &args.measure, folder)
}

fn planned(
    lines: &[CommandLine<'_>],
    (places, combinations): (Vec<PlaceSpec>, &[Parameters]),
    args: &MeasureArgs,
    folder: Option<PathBuf>,
) -> Result<Planned, Failure> {
    let shell = (!args.no_shell && args.shell != "none").then(|| args.shell.clone());
    let around = AroundLines {
        shell: shell.as_deref(),
        setup: args.setup.as_deref(),
        cleanup: args.cleanup.as_deref(),
    };
    let arms = Arm::all(lines, (&places, combinations), &around)?;
    let settings = Settings {
        clock: ClockRate::asked(args.frequency),
        runtime_help: args.runtimes.help(),
        config_key: if folder.is_some() { args.keep.key()? } else { None },
        ..Settings::default()
    };
    let experiment = Experiment {
        timing: Some(Timing {
            control: !args.no_control && arms.len() > 1,
            warmup: args.warmup,
            stopping: stopping(args.rounds, (args.min, args.max), args.band)?,
            budget: Duration::from_nanos(args.budget.0),
            band: args.band,
            ignore_failure: args.ignore_failure,
        }),
        recording: folder.map(|folder| RecordedRounds {
            folder,
            option: "--record",
            rounds: args.record_rounds,
            own: Patterns::default(),
            limit: None,
        }),
        arms,
        places,
        streams: streams(args),
        shell,
    };
    Ok((experiment, settings))
}

fn command_lines<'a>(
    lines: &[&'a str],
    names: impl Iterator<Item = Option<&'a str>>,
    args: &'a MeasureArgs,
) -> Result<Vec<CommandLine<'a>>, Failure> {
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
            Ok(CommandLine { name, line, prepare, conclude })
        })
        .collect()
}

/// When rounds end: after an exact number, or between a least and a most.
///
/// # Errors
/// When the least is more than the most.
pub(crate) fn stopping(
    rounds: Option<u32>,
    (least, most): (u32, u32),
    band: f64,
) -> Result<Stopping, Failure> {
    let (least, most) = rounds.map_or((least, most), |rounds| (rounds, rounds));
    if least > most {
        return Err(Failure::bad_input(format!(
            "cannot choose the number of rounds: `--min {least}` is larger than `--max {most}`"
        ))
        .hint("lower `--min` or raise `--max`; `--rounds` runs an exact number"));
    }
    Ok(Stopping { least, ..Stopping::for_band(band, most) })
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
mod tests {
    use super::*;
    use crate::args::{Cli, Command, Probe, parse};
    use crate::settings;

    fn plan(line: &[&str]) -> Result<Experiment, Failure> {
        let line = ["culprit", "bench", "cmd"].iter().chain(line);
        let Ok(Cli { command: Command::Bench(bench), .. }) =
            parse(&settings::Settings::none(), line)
        else {
            panic!("not parsed")
        };
        let Probe::Cmd(args) = bench.probe else { panic!("another probe") };
        Ok(of_bench(&args)?.0)
    }

    fn names(plan: &Experiment) -> Vec<&str> {
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
        assert_eq!(plan.arms[5].label, "make -j2 in sandbox");
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
        let timing = one.timing.as_ref().unwrap();
        let stopping = &timing.stopping;
        assert_eq!((timing.control, stopping.least, stopping.most), (false, 4, 4));
        assert_eq!((one.arms[0].argv.len(), &one.shell), (2, &None));
        let named = plan(&["-n", "small {n}", "-P", "n", "1", "2", "x {n}"]).unwrap();
        assert_eq!(names(&named), ["small 1", "small 2"]);
    }
}
