//! `culprit bench`: commands timed against each other, and probes of places.

use std::time::Duration;

use culprit_experiment::{Results, place_label};
use culprit_probe::probes::copy_up::CopyUp;
use culprit_probe::probes::files::Files;
use culprit_probe::probes::log::Log;
use culprit_probe::probes::memory::Memory;
use culprit_probe::probes::net::{Dns, Net};
use culprit_probe::probes::notify::Notify;
use culprit_probe::probes::pressure::Pressure;
use culprit_probe::probes::quota::Quota;
use culprit_probe::probes::start::Start;
use culprit_probe::probes::syscall::Syscall;
use culprit_report::experiment::{BenchDocument, bench_csv, bench_markdown, bench_text, hyperfine};

use super::exports::Exports;
use super::{bench_compare, disk, probe};
use crate::args::{BenchArgs, CmdArgs, FailOnVerdict, NetArgs, Probe};
use crate::bench::{Planned, of_bench};
use crate::failure::{Context as _, Failure, Outcome};
use crate::files;
use crate::interrupt::interruptible;
use crate::output::Output;
use crate::workbench::{SessionRecorder, workbench};

/// Runs it.
///
/// # Errors
/// When nothing could be measured, or a place or a clean-up failed; what was measured is shown before.
pub(crate) fn run(args: &BenchArgs, output: &mut Output) -> Result<Outcome, Failure> {
    match &args.probe {
        Probe::Cmd(args) => cmd(args, output),
        Probe::Compare(args) => bench_compare::run(args, output),
        Probe::Disk(args) => disk::run(args, output),
        Probe::Syscall(args) => {
            let probe = Syscall { calls: args.calls, batches: args.batches };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Files(args) => {
            let probe = Files { count: args.files, bytes: args.size, records: args.records };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::CopyUp(args) => {
            let probe = CopyUp { sizes: args.size.clone(), tree: args.tree };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Net(args) => {
            let duration = Duration::from_nanos(args.duration.0);
            let server = args.dns_server;
            let dns = args.dns.clone().map(|name| Dns { name, server });
            let NetArgs { trips, connects, rate, .. } = **args;
            let probe = Net { trips, connects, duration, rate, dns };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Start(args) => {
            let probe = Start {
                spawns: args.spawns,
                forks: args.forks,
                runtime: !args.no_runtime,
                cold: args.cold,
            };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Memory(args) => {
            probe::run(Box::new(Memory { bytes: args.size }), &args.probe, output)
        }
        Probe::Pressure(args) => {
            let limit = culprit_place::Memory(args.memory);
            let probe = Pressure { bytes: args.size, passes: args.passes, limit };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Quota(args) => {
            let probe = Quota { cpus: args.cpus, chunks: args.chunks, siblings: args.siblings };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Log(args) => {
            let probe = Log { lines: args.lines, bytes: args.bytes };
            probe::run(Box::new(probe), &args.probe, output)
        }
        Probe::Notify(args) => {
            let probe = Notify {
                readers: args.reader.clone(),
                think: Duration::from_nanos(args.think.0),
                duration: Duration::from_nanos(args.duration.0),
            };
            probe::run(Box::new(probe), &args.probe, output)
        }
    }
}

fn cmd(args: &CmdArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let planned = of_bench(args)?;
    let exports = Exports(vec![&args.export_json, &args.export_csv, &args.export_markdown]);
    exports.check(output)?;
    let show = |results: &Results, output: &mut Output| {
        let document = BenchDocument::new(results);
        if let Some(path) = &args.save {
            files::write_json(path, &document)?;
        }
        let json = || {
            let text = serde_json::to_string_pretty(&hyperfine(results));
            text.map(|text| text + "\n").or_refused(|| "cannot write the JSON".to_owned())
        };
        let (csv, markdown) = (|| Ok(bench_csv(results)), || Ok(bench_markdown(results)));
        exports.write(&[&json, &csv, &markdown], output)?;
        let text = bench_text(results, output.layout());
        exports.show(&document, &text, output)
    };
    measure(&planned, output, show, &args.measure.fail_on)
}

/// Runs an experiment and shows its results; the exit code follows.
///
/// # Errors
/// As [`run`].
pub(super) fn measure(
    (experiment, settings): &Planned,
    output: &mut Output,
    show: impl FnOnce(&Results, &mut Output) -> Result<(), Failure>,
    fail_on: &[FailOnVerdict],
) -> Result<Outcome, Failure> {
    let (progress, recorder) = (output.progress(), SessionRecorder { settings });
    let trials = interruptible(|control| {
        let trials = experiment.run(&workbench(control, &progress, &recorder), &|_| true);
        progress.clear();
        trials
    })??;
    let results = Results::new(experiment, &trials);
    let interrupted = trials.interrupted();
    let mut problems = trials.timed.problems.into_iter();
    if results.rounds == 0 {
        return Err(problems.next().map_or_else(nothing_finished, |(_, error)| error.into()));
    }
    show(&results, output)?;
    let mut problems = problems.chain(trials.recorded.problems).chain(trials.left);
    match problems.next() {
        // The rest was worth showing, but not all that was asked was done.
        Some((place, error)) => {
            let label = place_label(&experiment.places, place);
            Err(Failure::from(error).into_refused().of(&label))
        }
        None if interrupted => Ok(Outcome::Interrupted),
        None if fails_on(&results, fail_on) => Ok(Outcome::Found),
        None => Ok(Outcome::Done),
    }
}

/// Whether a verdict is one that the user asked to fail on.
fn fails_on(results: &Results, asked: &[FailOnVerdict]) -> bool {
    results.verdicts().any(|verdict| asked.contains(&FailOnVerdict::from(verdict)))
}

fn nothing_finished() -> Failure {
    Failure::interrupted("cannot time the commands: interrupted before the first round finished")
}
