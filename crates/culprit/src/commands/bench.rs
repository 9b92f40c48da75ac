//! `culprit bench`: commands timed against each other, and probes of places.

use std::path::Path;
use std::time::Duration;

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

use super::{bench_compare, disk, probe};
use crate::args::{BenchArgs, CmdArgs, NetArgs, Probe};
use crate::bench::{Answer, Plan, conduct, csv, hyperfine, markdown, place_label};
use crate::failure::{Context as _, Failure, Outcome};
use crate::files;
use crate::interrupt::Interrupts;
use crate::json::BenchDocument;
use crate::output::Output;
use crate::session::Control;
use crate::text::bench_text;

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
    let plan = Plan::of_bench(args)?;
    if output.wants_json() && !stdout_is_free(args) {
        return Err(Failure::bad_input(
            "cannot print the results: `--json` and the export both need stdout",
        )
        .hint("write the export to a file"));
    }
    let show = |answer: &Answer, output: &mut Output| {
        if let Some(path) = &args.save {
            files::write_json(path, &BenchDocument::new(answer))?;
        }
        export(args, answer, output)?;
        if output.wants_json() {
            output.document(&BenchDocument::new(answer))
        } else if stdout_is_free(args) {
            let text = bench_text(answer, output);
            output.print(&text)
        } else {
            output.say_painted(&bench_text(answer, output));
            Ok(())
        }
    };
    measure(&plan, output, show, &args.measure.fail_on)
}

/// Carries a plan out and shows the answer; the exit code follows.
///
/// # Errors
/// As [`run`].
pub(super) fn measure(
    plan: &Plan,
    output: &mut Output,
    show: impl FnOnce(&Answer, &mut Output) -> Result<(), Failure>,
    fail_on: &[crate::args::FailOnVerdict],
) -> Result<Outcome, Failure> {
    let control = Control::new();
    let signalled = control.clone();
    let interrupts = Interrupts::watch(move |interrupt| signalled.interrupt(interrupt))?;
    let progress = output.progress();
    let session = conduct(plan, &control, &progress);
    progress.clear();
    drop(interrupts);
    let session = session?;
    let answer = Answer::new(plan, &session);
    let interrupted = session.timed.interrupted || session.recorded.interrupted;
    let mut problems = session.timed.problems.into_iter();
    if answer.rounds == 0 {
        return Err(problems.next().map_or_else(nothing_finished, |(_, failure)| failure));
    }
    show(&answer, output)?;
    let mut problems = problems.chain(session.recorded.problems).chain(session.left);
    match problems.next() {
        // The rest was worth showing, but not all that was asked was done.
        Some((place, failure)) => Err(failure.into_refused().of(&place_label(plan, place))),
        None if interrupted => Ok(Outcome::Interrupted),
        None if answer.fails_on(fail_on) => Ok(Outcome::Found),
        None => Ok(Outcome::Done),
    }
}

fn nothing_finished() -> Failure {
    Failure::interrupted("cannot time the commands: interrupted before the first round finished")
}

/// Where an export goes that is meant for stdout.
const STDOUT: &str = "-";

fn exports(args: &CmdArgs) -> [Option<&Path>; 3] {
    [&args.export_json, &args.export_csv, &args.export_markdown].map(|path| path.as_deref())
}

/// Whether no export is meant for stdout, where it would stand between the answer.
fn stdout_is_free(args: &CmdArgs) -> bool {
    exports(args).into_iter().flatten().all(|path| path != Path::new(STDOUT))
}

fn export(args: &CmdArgs, answer: &Answer, output: &mut Output) -> Result<(), Failure> {
    let json = || {
        let text = serde_json::to_string_pretty(&hyperfine(answer));
        text.map(|text| text + "\n").or_refused(|| "cannot write the JSON".to_owned())
    };
    let forms: [&dyn Fn() -> Result<String, Failure>; 3] =
        [&json, &|| Ok(csv(answer)), &|| Ok(markdown(answer))];
    for (path, form) in exports(args).into_iter().zip(forms) {
        match path {
            None => {}
            Some(path) if path == Path::new(STDOUT) => output.print(&form()?)?,
            Some(path) => files::write_whole(path, form()?.as_bytes())?,
        }
    }
    Ok(())
}
