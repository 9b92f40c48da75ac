//! A run that is timed and not recorded, and the commands around it that are neither.
//!
//! The clock starts just before the held process is let go, when everything of ours is done, and
//! stops when its end is noticed. In a container of an engine that is from the request to start it to
//! the engine's word that it ended. CPU time is the cgroup's where the command has one to itself:
//! then it is exact and has everything that the command started in it. Else it is what the kernel
//! tells the parent.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use culprit_model::Nanos;
use culprit_place::{
    Cgroup, Command, CounterReader, Counters, Exit, Place, Running, Stdio, procfs,
};
use culprit_probe::inside::Clock;

use crate::control::{Control, LAST_GRACE};
use crate::error::{Context as _, Error, Result};

/// A timed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// From its start to its end.
    pub wall: Nanos,
    /// How it ended.
    pub exit: Exit,
    /// CPU time; none where nobody can tell.
    pub cpu: Option<Nanos>,
    /// Of it, in user space.
    pub user: Option<Nanos>,
    /// Of it, in the kernel.
    pub system: Option<Nanos>,
    /// The most memory that it held: all of it in a cgroup that counts, else its largest process.
    pub peak_memory_bytes: Option<u64>,
}

/// Where a timed command reads from and writes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Streams {
    /// The file it reads; none for `/dev/null`.
    pub input: Option<PathBuf>,
    /// Where its output goes.
    pub output: Sink,
}

/// Where output goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Sink {
    /// Nowhere.
    #[default]
    Null,
    /// Through a pipe, whose other end throws it away.
    Pipe,
    /// To our stderr.
    Shown,
    /// Into a file, which each run of a command writes anew; what stands around the runs leaves it
    /// alone.
    File(PathBuf),
}

impl Streams {
    /// The command with these streams.
    ///
    /// # Errors
    /// When a file cannot be opened.
    pub fn command(&self, argv: &[String]) -> Result<Command> {
        let stdin = match &self.input {
            None => Stdio::Null,
            Some(path) => {
                let file = File::open(path);
                let file = file.or_input(|| format!("cannot read `{}`", path.display()))?;
                Stdio::File(Arc::new(file))
            }
        };
        let (stdout, stderr) = match &self.output {
            Sink::Null => (Stdio::Null, Stdio::Null),
            Sink::Pipe => (Stdio::Pipe, Stdio::Pipe),
            Sink::Shown => {
                let ours = std::io::stderr().as_fd().try_clone_to_owned();
                let ours =
                    ours.or_refused(|| "cannot show the output of the command".to_owned())?;
                let ours = Stdio::File(Arc::new(File::from(ours)));
                (ours.clone(), ours)
            }
            Sink::File(path) => {
                let file = File::create(path);
                let file = file.or_input(|| format!("cannot write `{}`", path.display()))?;
                let file = Stdio::File(Arc::new(file));
                (file.clone(), file)
            }
        };
        Ok(Command { stdin, stdout, stderr, ..Command::new(argv.iter()) })
    }

    /// These for a command around the timed ones: a conclusion may look at the file that a run wrote.
    fn around(&self) -> Self {
        match &self.output {
            Sink::File(_) => Self { output: Sink::Null, ..self.clone() },
            _ => self.clone(),
        }
    }
}

/// Times a run; none when Ctrl-C cut it.
///
/// # Errors
/// When the place cannot run it.
pub(crate) fn run_timed(
    place: &dyn Place,
    command: &Command,
    control: &Control,
) -> Result<Option<Timed>> {
    // Without one of its own the kernel's word to the parent has to do.
    let cgroup = place.make_cgroup().ok();
    let counters = cgroup.as_ref().and_then(|cgroup| cgroup.counters().ok());
    let held = place.hold(command, cgroup.as_ref())?;
    let before = counters.as_ref().map(CounterReader::read_use).unwrap_or_default();
    let control = control.next();
    let started = Clock::now();
    let mut running = held.start()?;
    [running.take_stdout(), running.take_stderr()].into_iter().flatten().for_each(drain);
    let running = Arc::new(running);
    let exit = control.watch(&running, None)?;
    let wall = Nanos(Clock::now().saturating_sub(started));
    let Some(exit) = exit.filter(|_| !control.interrupted()) else {
        let members = || members(cgroup.as_ref(), &running);
        running.end(&members, LAST_GRACE)?;
        return Ok(None);
    };
    let after = counters.as_ref().map(CounterReader::read_use).unwrap_or_default();
    let own = cgroup.as_ref().is_some_and(Cgroup::is_ours);
    Ok(Some(timed(wall, exit, &running, (before, after, own))))
}

fn timed(
    wall: Nanos,
    exit: Exit,
    running: &Running,
    (before, after, own): (Counters, Counters, bool),
) -> Timed {
    let usage = running.usage();
    let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let counted =
        |from: Option<u64>, to: Option<u64>| Some(Nanos(to?.checked_sub(from.unwrap_or(0))?));
    let cpu = counted(before.cpu.usage_ns, after.cpu.usage_ns);
    let user = counted(before.cpu.user_ns, after.cpu.user_ns);
    let system = counted(before.cpu.system_ns, after.cpu.system_ns);
    // The peak of a cgroup that others use too is theirs as well.
    let peak = after.memory.peak_bytes.filter(|peak| own && *peak > 0);
    Timed {
        wall,
        exit,
        cpu: cpu.or_else(|| usage.map(|usage| nanos(usage.user + usage.system))),
        user: user.or_else(|| usage.map(|usage| nanos(usage.user))),
        system: system.or_else(|| usage.map(|usage| nanos(usage.system))),
        peak_memory_bytes: peak.or_else(|| usage?.peak_memory_bytes),
    }
}

/// Reads a pipe empty until everybody has closed it, so that its writers are never held up.
fn drain(mut pipe: File) {
    std::thread::spawn(move || {
        // What cannot be read any more holds nobody up.
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
}

/// The processes that are the command's, and nobody else's.
fn members(cgroup: Option<&Cgroup>, running: &Running) -> Vec<culprit_place::Pid> {
    match cgroup {
        Some(own) if own.is_ours() => own.members().unwrap_or_default(),
        _ => running.pid().and_then(|pid| procfs::tree(pid).ok()).unwrap_or_default(),
    }
}

/// A command around the timed ones: a preparation or a clean-up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UntimedRun<'a> {
    /// The command and its arguments.
    pub(crate) argv: &'a [String],
    /// What it is, for messages: `the preparation`.
    pub(crate) what: &'a str,
    /// Where it reads and writes.
    pub(crate) streams: &'a Streams,
}

/// Runs a command whose time does not count; it must succeed. None when Ctrl-C cut it.
///
/// # Errors
/// When the place cannot run it, or it ends with another status than 0.
pub(crate) fn run_untimed(
    run: UntimedRun<'_>,
    place: &dyn Place,
    control: &Control,
) -> Result<Option<Timed>> {
    let command = run.streams.around().command(run.argv)?;
    match run_timed(place, &command, control)? {
        None => Ok(None),
        Some(ran) if ran.exit.success() => Ok(Some(ran)),
        Some(ran) => Err(Error::input(format!(
            "{} failed: `{}`: {}",
            run.what,
            run.argv.last().map_or("", String::as_str),
            ran.exit
        ))
        .hint("`--output inherit` shows the output of the commands")),
    }
}
