//! What will be recorded and how: settled before anything starts, and shown to the user.
//!
//! A plan is made from what is wanted ([`Options`]) and what is allowed (`ladder`); it says which
//! rung the recording stands on and what that costs. Nothing has been opened yet: a plan can be
//! printed by `culprit doctor` and thrown away.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use culprit_model::{Pid, Rung, Runtime};

use crate::error::Error;
use crate::events::extras::{Extras, Found};
use crate::events::sets::{EventChoice, Stacks, Wakers};
use crate::rings::pace::DEFAULT_STACK_RATE;
use crate::rings::perf::RingSizes;
use crate::session::ladder::{Limits, Rights, WakerPoints, explain, online_cpus, refusal};

/// How often the clock samples a second of CPU time: at first, and from [`ClockRate::EASED_AFTER`] on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRate {
    /// Samples a second at first, 1 to 10,000.
    pub first: u32,
    /// Samples a second later; none for the same. Where running processes are recorded one by one, the
    /// kernel cannot change the rate, and it stays as at first.
    pub later: Option<u32>,
}

impl ClockRate {
    /// The rate when nothing else is asked for.
    ///
    /// Not 500, so that what happens every some milliseconds is neither always hit nor never. A sample
    /// takes some 20 us from the program, most of it for the timer's interrupt: at twice the rate,
    /// programs of language runtimes were 3 percent of wall time slower (docs/performance.md). Samples
    /// only divide the time on a CPU, which is known from the switches, among functions: a short run
    /// needs them close together, a long one has enough of them anyway.
    pub const USUAL: Self = Self { first: 499, later: Some(199) };

    /// When the later rate begins, after the start of the recording: 1,000 samples of a busy thread tell
    /// a share to within 3 points.
    pub const EASED_AFTER: Duration = Duration::from_secs(2);

    /// The same rate from the start to the end, 1 to 10,000 a second.
    #[must_use]
    pub const fn fixed(rate: u32) -> Self {
        Self { first: rate, later: None }
    }

    /// What the user asked for; the usual rate where that is nothing.
    #[must_use]
    pub fn asked(rate: Option<u32>) -> Self {
        rate.map_or(Self::USUAL, Self::fixed)
    }
}

/// The fact that names the machine that recorded, as the kernel has it.
pub const HOST_FACT: &str = "host.name";

/// What is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A command that is held before its first instruction when the recording is armed.
    Command,
    /// Running processes, each with all its descendants.
    Processes(Vec<Pid>),
    /// A running cgroup with all below it: its folder in the hierarchy that carries perf events.
    Cgroup(PathBuf),
    /// Everything on the machine.
    Machine,
}

/// What a recording is to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What is to be recorded.
    pub target: Target,
    /// Where the recording is written while it is made.
    pub output: PathBuf,
    /// The highest rung to use, where a higher one would be allowed.
    pub highest: Rung,
    /// How often the clock samples CPU time.
    pub clock: ClockRate,
    /// How user stacks are found.
    pub stacks: Stacks,
    /// Stacks of switches a second and CPU at most; above that, only some switches get their own
    /// (see [`DEFAULT_STACK_RATE`]). None for a stack at every switch, whatever it costs.
    pub stack_rate: Option<u32>,
    /// Whether and how wakeups are recorded.
    pub wakers: Wakers,
    /// What is counted besides time.
    pub extras: Extras,
    /// Bytes that the recorded events may take up in the file; none for no bound. The oldest make
    /// room for the newest.
    pub max_event_bytes: Option<u64>,
    /// The command, for the recording's own description.
    pub command: Vec<String>,
    /// The place as the user wrote it, for the recording's own description.
    pub place: String,
    /// Facts about the place, for the recording's own description.
    pub place_facts: Vec<(String, String)>,
    /// Language runtimes that were asked by their environment to name their code.
    pub helped_runtimes: Vec<HelpedRuntime>,
    /// Whether running processes are asked to name their code, where their runtime can be asked.
    pub ask_runtimes: bool,
}

/// A language runtime that names its code because the command was given a variable: the files that
/// it writes are read and then removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpedRuntime {
    /// Which runtime.
    pub runtime: &'static Runtime,
    /// The variable with its whole value. A process that has it in its environment was asked.
    pub variable: (OsString, OsString),
}

impl Options {
    /// The usual recording of a target: [`ClockRate::USUAL`], stacks as `auto`.
    #[must_use]
    pub fn new(target: Target, output: impl Into<PathBuf>) -> Self {
        Self {
            target,
            output: output.into(),
            highest: Rung::Full,
            clock: ClockRate::USUAL,
            stacks: Stacks::Auto,
            stack_rate: Some(DEFAULT_STACK_RATE),
            wakers: Wakers::Threads,
            extras: Extras::default(),
            max_event_bytes: None,
            command: Vec::new(),
            place: "host".to_owned(),
            place_facts: Vec::new(),
            helped_runtimes: Vec::new(),
            ask_runtimes: true,
        }
    }
}

/// What will be recorded and how.
#[derive(Debug)]
pub struct Plan {
    pub(crate) options: Options,
    pub(crate) rights: Rights,
    pub(crate) limits: Limits,
    pub(crate) rung: Rung,
    pub(crate) degraded: Vec<String>,
    pub(crate) cpus: Vec<u32>,
    pub(crate) sizes: RingSizes,
    /// What there is of what is counted besides time.
    pub(crate) found: Found,
}

/// Settles how to record: tries what the kernel allows and takes the highest rung.
///
/// # Errors
/// [`Error::Refused`] when the target cannot be recorded at all with the rights that we have, or
/// something that was asked for cannot be seen;
/// [`Error::Read`] without /sys.
pub fn plan(options: Options) -> Result<Plan, Error> {
    let cpus = online_cpus()?;
    let rights = Rights::probe(cpus.first().copied().unwrap_or(0));
    let limits = Limits::read();
    let (rights, degraded) = if options.highest > rights.rung() {
        let rights = rights.at_most(options.highest);
        (rights, vec![format!("the access level was limited to `{}`", options.highest)])
    } else {
        let degraded = explain(&rights, limits);
        (rights, degraded)
    };
    let needs_machine = match &options.target {
        Target::Command | Target::Processes(_) => None,
        Target::Cgroup(path) => Some(format!("cgroup `{}`", path.display())),
        Target::Machine => Some("the whole machine".to_owned()),
    };
    if let Some(target) = needs_machine
        && rights.machine.is_err()
    {
        return Err(refusal(&target, rights.machine, limits));
    }
    let rung = rights.rung();
    let found = options.extras.find(&rights, limits, &cpus)?;
    let sizes = RingSizes::wanted(cpus.len());
    let sizes = if found.may_be_many() { sizes.with_probes() } else { sizes };
    Ok(Plan { options, rights, limits, rung, degraded, cpus, sizes, found })
}

impl Plan {
    /// What the recorder may see.
    #[must_use]
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// Why the recording stands on no higher rung and what would lift it, one sentence each; empty
    /// on the highest.
    #[must_use]
    pub fn degraded(&self) -> &[String] {
        &self.degraded
    }

    /// Notes that the command is given variables by which language runtimes name their code, and what
    /// the recording is to say about it.
    pub fn help_runtimes(&mut self, helped: Vec<HelpedRuntime>, facts: Vec<(String, String)>) {
        self.options.helped_runtimes = helped;
        self.options.place_facts.extend(facts);
    }

    /// Whether the command should be started in a cgroup of its own: then nothing of it can be
    /// missed, and the cost does not grow with its threads.
    #[must_use]
    pub fn wants_cgroup(&self) -> bool {
        self.options.target == Target::Command && self.rights.machine.is_ok()
    }

    /// The recorder's memory bound: rings, buffers on the way, unique stacks, rows of a second;
    /// bytes. The parsed programs come on top.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        (self.sizes.total(self.cpus.len()) + crate::session::BUFFER_BYTES) as u64
    }

    /// The wakeup tracepoints, where they are allowed and wanted.
    pub(crate) fn wakers(&self) -> Option<&WakerPoints> {
        self.rights.wakers.as_ref().ok().filter(|_| self.options.wakers != Wakers::None)
    }

    /// The events of the rung; `paced` when their rates can be changed while they run.
    pub(crate) fn events(&self, paced: bool) -> Vec<crate::events::attr::EventSpec> {
        let choice = EventChoice {
            kernel: self.rights.kernel.is_ok(),
            frequency: self.options.clock.first.clamp(1, 10_000),
            stacks: self.options.stacks,
            waker_stacks: self.options.wakers == Wakers::WithStacks,
            wakers: self.wakers(),
            paced,
            most_samples: self.limits.most_samples.unwrap_or(u32::MAX),
        };
        let mut events = choice.events();
        let most = u64::from(choice.most_samples.max(1));
        let frequency = u64::from(choice.frequency).min(most);
        let dump = choice.stacks.dump().map(|(bytes, rate)| (bytes, rate.min(choice.most_samples)));
        events.extend(self.found.events(choice.kernel, frequency, dump));
        if let Some(points) = self.found.sockets {
            events.extend(points.events(&self.options.extras.requests));
        }
        events
    }
}
