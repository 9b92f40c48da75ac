//! `culprit record`: records a command, or what runs already, until it ends.

use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use culprit_experiment::stem as file_stem;
use culprit_model::{Pid, Recording, SeenRuntime};
use culprit_place::{Cgroup, Command, PlaceSpec, SharedLibrary, Stdio};
use culprit_record::{ActivityProbe, AllocationTrace, ClockRate, Extras, SocketActivity, Target};
use culprit_report::filters;
use culprit_report::json::{OfRecording, SCHEMA};
use culprit_report::text::summary_text;
use serde::Serialize;

use crate::args::{ActivityArg, Allocations, RecordArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::files::{self, Replaced};
use crate::interrupt::interruptible;
use crate::output::{Output, Progress};
use crate::session::{CommandRun, Control, SamplerFolder, Settings, run_command, run_target};
use crate::{load, places};

/// Bytes in a MiB.
const MIB: u64 = 1 << 20;

/// What the arguments come down to.
#[derive(Debug)]
struct Plan {
    subject: Subject,
    /// The library that samples allocations.
    #[expect(dead_code, reason = "kept while the command runs; its drop removes the file")]
    sampler: Option<SamplerFolder>,
    settings: Settings,
    output: PathBuf,
    limit: Option<Duration>,
}

/// What is recorded.
#[derive(Debug)]
enum Subject {
    Command {
        place: PlaceSpec,
        command: Command,
    },
    Running {
        target: Target,
        place: String,
    },
    /// What runs already, and in which place, while a command puts load on it.
    During {
        target: Target,
        place: String,
        command: Command,
    },
}

impl Plan {
    fn new(args: &RecordArgs) -> Result<Self, Failure> {
        let subject = subject(args)?;
        let sampler = sampler(args.alloc, &subject)?;
        let settings = Settings {
            clock: ClockRate::asked(args.frequency),
            stacks: args.stacks,
            extras: Extras {
                allocations: args.alloc.map(|_| trace(sampler.as_ref())),
                transfers: args.io,
                counters: args.counters,
                activities: args.activity.iter().filter_map(probe).collect(),
                requests: args.activity.iter().filter_map(socket).collect(),
            },
            max_event_bytes: args.max_mib.map(|mib| mib * MIB),
            raw: args.raw.clone(),
            runtime_help: args.runtimes.help(),
            config_key: args.keep.key()?,
            labels: args.label.clone(),
        };
        let output = args.output.clone().unwrap_or_else(|| files::unused(&stem(args), ".culprit"));
        Ok(Self {
            subject,
            sampler,
            settings,
            output,
            limit: args.duration.map(|length| Duration::from_nanos(length.0)),
        })
    }
}

/// The library that the command preloads, where its allocations are sampled.
fn sampler(
    allocations: Option<Allocations>,
    subject: &Subject,
) -> Result<Option<SamplerFolder>, Failure> {
    match (allocations, subject) {
        (Some(Allocations::Sampled(mean)), Subject::Command { .. }) => {
            SamplerFolder::new(mean).map(Some)
        }
        (Some(Allocations::Sampled(_)), _) => {
            let what = "cannot sample the allocations of processes that run already: a program loads the \
                        library that samples them when it starts";
            Err(Failure::bad_input(what.to_owned())
                .hint("start the program with `culprit record --alloc -- CMD`")
                .hint("`--alloc=every` also records running processes, at some microseconds for each allocation"))
        }
        (Some(Allocations::Every) | None, _) => Ok(None),
    }
}

fn trace(sampler: Option<&SamplerFolder>) -> AllocationTrace {
    sampler.map_or(AllocationTrace::Every, |folder| {
        AllocationTrace::Sampled(SharedLibrary::new(&folder.file()))
    })
}

/// What the tracing of every allocation will cost.
fn warning() -> Option<String> {
    let cost = culprit_record::probe_cost()?;
    Some(format!(
        "every allocation takes up to {cost} longer now, in all processes that use the same libraries; \
         recording of allocations stops if a program runs more than 10 times slower"
    ))
}

fn probe(activity: &ActivityArg) -> Option<ActivityProbe> {
    match activity {
        ActivityArg::Probe(probe) => Some(probe.clone()),
        ActivityArg::Socket(_) => None,
    }
}

fn socket(activity: &ActivityArg) -> Option<SocketActivity> {
    match activity {
        ActivityArg::Probe(_) => None,
        ActivityArg::Socket(socket) => Some(socket.clone()),
    }
}

/// What the recording is named after.
fn stem(args: &RecordArgs) -> String {
    match (args.command.first(), args.pid.first(), &args.container) {
        (Some(program), ..) => file_stem(program),
        (_, Some(pid), _) => format!("pid-{pid}"),
        (_, _, Some(name)) => file_stem(name),
        _ if args.all => "machine".to_owned(),
        _ => "cgroup".to_owned(),
    }
}

fn subject(args: &RecordArgs) -> Result<Subject, Failure> {
    let command = Command::new(args.command.iter());
    Ok(match (running(args)?, args.command.is_empty()) {
        (Some((target, place)), true) => Subject::Running { target, place },
        (Some((target, place)), false) => Subject::During { target, place, command },
        (None, _) => {
            let place = args.place.as_deref().map_or(Ok(PlaceSpec::HOST), places::spec)?;
            Subject::Command { place, command }
        }
    })
}

/// What runs already and is to be recorded, and its place; none for a command.
fn running(args: &RecordArgs) -> Result<Option<(Target, String)>, Failure> {
    let on_host = |target| Some((target, PlaceSpec::HOST.to_string()));
    if !args.pid.is_empty() {
        let pids = args.pid.iter().map(|pid| living(*pid)).collect::<Result<_, _>>()?;
        return Ok(on_host(Target::Processes(pids)));
    }
    if let Some(name) = &args.container {
        return container(name).map(Some);
    }
    if let Some(path) = &args.cgroup {
        let cgroup = Cgroup::open(path).map_err(|error| places::failure(&error))?;
        return Ok(on_host(Target::Cgroup(cgroup.folder().to_owned())));
    }
    Ok(if args.all { on_host(Target::Machine) } else { None })
}

fn living(pid: i32) -> Result<Pid, Failure> {
    let there = u32::try_from(pid).ok().filter(|pid| Path::new(&format!("/proc/{pid}")).exists());
    there.map(Pid).ok_or_else(|| {
        Failure::bad_input(format!("cannot record process {pid}: the process does not exist"))
            .hint("`ps -e` lists the running processes")
    })
}

fn container(name: &str) -> Result<(Target, String), Failure> {
    let spec = PlaceSpec::Container { name: name.to_owned() };
    let place = places::open(&spec)?;
    let cgroup = place.make_cgroup().map_err(|error| places::failure(&error))?;
    let target = Target::Cgroup(cgroup.folder().to_owned());
    Ok((target, spec.to_string()))
}

/// Runs it.
///
/// # Errors
/// When nothing could be recorded.
pub(crate) fn run(args: &RecordArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let mut plan = Plan::new(args)?;
    if output.wants_json() {
        plan.keep_stdout_free()?;
    }
    let warning = if args.alloc == Some(Allocations::Every) { warning() } else { None };
    if let Some(warning) = warning {
        output.say(&warning);
    }
    let replaced = Replaced::set_aside(&plan.output, args.force)?;
    let progress = output.progress();
    let recorded = interruptible(|control| {
        let recorded = plan.carry_out(control, &progress);
        progress.clear();
        recorded
    })??;
    replaced.discard();
    tell(&plan, recorded, output)
}

/// Says what was recorded, and ends as the command ended.
fn tell(plan: &Plan, recorded: Recorded, output: &mut Output) -> Result<Outcome, Failure> {
    let path = plan.output.display();
    let document = Document::new(plan, &recorded);
    if recorded.cut {
        output.say("the recording ended before the command; Culprit ended the command");
    }
    for line in SeenRuntime::all(&recorded.recording).iter().filter_map(SeenRuntime::printed) {
        output.say(&line);
    }
    let digest = load::digest(recorded.recording, &filters::run_filter(), false)?;
    output.say_painted(&summary_text(&digest, &plan.output, output.talk_paint()));
    if output.wants_json() {
        output.document(&OfRecording::new(&digest.recording, document))?;
    }
    if let Some(problem) = recorded.problem {
        return Err(Failure::refused(format!("cannot write `{path}`: {problem}")).hint(format!(
            "the file keeps what was written before; `culprit report {path}` shows it"
        )));
    }
    Ok(recorded.exit_code.map_or(Outcome::Done, |code| Outcome::Command(clamp(code))))
}

/// What came of it.
struct Recorded {
    recording: Recording,
    exit_code: Option<i32>,
    /// True when the command did not end by itself.
    cut: bool,
    problem: Option<String>,
}

impl Plan {
    /// Stdout is for the one document: what the command prints there goes to stderr.
    fn keep_stdout_free(&mut self) -> Result<(), Failure> {
        let (Subject::Command { command, .. } | Subject::During { command, .. }) =
            &mut self.subject
        else {
            return Ok(());
        };
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.or_refused(|| "cannot pass stderr to the command".to_owned())?;
        command.stdout = Stdio::File(Arc::new(stderr.into()));
        Ok(())
    }

    fn carry_out(&self, control: &Control, shown: &Progress) -> Result<Recorded, Failure> {
        let mut tell = |now: &culprit_record::Progress| shown.doing(told(now));
        places::sweep();
        match &self.subject {
            Subject::Running { target, place } => {
                let subject = (target.clone(), place.clone());
                let (recording, problem) = run_target(
                    subject,
                    &self.settings,
                    &self.output,
                    self.limit,
                    control,
                    &mut tell,
                )?;
                Ok(Recorded { recording, exit_code: None, cut: false, problem })
            }
            Subject::Command { place, command } => {
                let place = places::open(place)?;
                let run = self.command_run(place.as_ref(), command, None);
                let ran = run_command(&run, control, &mut tell)?;
                place.remove().map_err(|error| places::failure(&error))?;
                Ok(Recorded::of(ran))
            }
            Subject::During { target, place, command } => {
                let host = places::open(&PlaceSpec::HOST)?;
                let recorded = (target.clone(), place.clone());
                let run = self.command_run(host.as_ref(), command, Some(recorded));
                Ok(Recorded::of(run_command(&run, control, &mut tell)?))
            }
        }
    }

    fn command_run<'a>(
        &'a self,
        place: &'a dyn culprit_place::Place,
        command: &'a Command,
        recorded: Option<(Target, String)>,
    ) -> CommandRun<'a> {
        let (settings, output, limit) = (&self.settings, self.output.as_path(), self.limit);
        CommandRun { place, command, recorded, settings, output, limit }
    }
}

impl Recorded {
    fn of(ran: culprit_experiment::RecordedCommand) -> Self {
        let exit_code = Some(ran.exit.shell_code());
        Self { recording: ran.recording, exit_code, cut: ran.cut, problem: ran.problem }
    }
}

/// One line on how the recording is coming along.
fn told(now: &culprit_record::Progress) -> String {
    let lost = if now.lost > 0 { format!(", {} records lost", now.lost) } else { String::new() };
    format!(
        "recording: {} threads, {} switches, {} samples, {:.1} MiB{lost}; press Ctrl-C to stop",
        now.threads,
        now.switches,
        now.samples,
        mebibytes(now.bytes)
    )
}

#[expect(clippy::cast_precision_loss, reason = "one decimal of a size")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// An exit code as the kernel passes it on: its low eight bits.
fn clamp(code: i32) -> u8 {
    code.to_le_bytes()[0]
}

#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    recording: String,
    wall_ns: u64,
    threads: usize,
    exit_code: Option<i32>,
    rung: String,
    complete: bool,
    problem: Option<String>,
}

impl Document {
    fn new(plan: &Plan, recorded: &Recorded) -> Self {
        let Recording { meta, threads, .. } = &recorded.recording;
        Self {
            schema: SCHEMA,
            recording: plan.output.display().to_string(),
            wall_ns: meta.wall.0,
            threads: threads.iter().filter(|thread| thread.recorded).count(),
            exit_code: recorded.exit_code,
            rung: meta.rung.to_string(),
            complete: recorded.problem.is_none(),
            problem: recorded.problem.clone(),
        }
    }
}
