//! What interpreters run: read from their processes' memory by a thread of its own, up to a thousand
//! times a second.
//!
//! ```text
//! roster, new mappings -> has the process an interpreter? -> each of its threads, when it is due -> reading
//! ```
//!
//! The thread sleeps until something is due, or until a [`Notice`] comes. A thread that is off the CPU does not
//! change its frames, so what is read during a wait is exact; the engine finds out which readings were. A thread
//! that waits and whose frames stay the same is read less and less often. After each round comes a pause that is
//! fifty times as long as the CPU time that the round and the pause before it took, so reading takes at most 2 % of
//! one CPU. What is done once may take 400 ms of CPU time more than that, in all of a recording: finding interpreters,
//! and naming the places of a JVM's code. A JVM that starts runs a thousand of them within a second, and those of a
//! wait that follows would not have their turn before it ends.

mod finder;
mod jvm;
mod memory;
mod names;
mod php;
mod programs;
mod python;
mod ruby;
mod urgency;
mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use culprit_kernel::Task;
use culprit_symbols::runtimes::{InterpreterError, Unreadable};
use rustc_hash::FxHashMap;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::enrich::managed::{CodeRequest, ManagedPlace};
use crate::enrich::poller::{Polled, Reading, Roster};

use finder::Finder;
pub(crate) use jvm::is_jvm;
use urgency::Urgency;

const MILLISECOND: u64 = 1_000_000;
/// Between two readings of a thread that runs, or whose frames change.
const SHORTEST: u64 = MILLISECOND;
/// Between two readings of a thread that waits.
const LONGEST: u64 = 16 * MILLISECOND;
/// A burst of notices is taken in together, after this.
const BURST: u64 = MILLISECOND;
/// When nothing is due for this long, the thread looks all the same.
const REST: u64 = 250 * MILLISECOND;
/// A round of readings ends after this, and the next one goes on where it ended: the thread goes
/// before others, so whatever else wants its CPU waits for it.
const ROUND: u64 = MILLISECOND;
/// Between two attempts to find an interpreter in a process, at first and later.
const ATTEMPTS: (u64, u64) = (2 * MILLISECOND, 250 * MILLISECOND);
/// A runtime takes some 50 ms to start. One that cannot be read for less has run nothing of its own.
const START: u64 = 100 * MILLISECOND;
/// A process that maps code and that the roster does not know after this has ended, or is not recorded.
const UNLISTED: u64 = 1000 * MILLISECOND;
/// A pause is so many times as long as the CPU time before it.
const SHARE: u64 = 50;
/// CPU time that what is done once may take ahead of its share. To read the symbols of a large runtime takes 10 to
/// 100 ms once, more on a slow machine; without this nothing would be read for fifty times as long, which is often
/// all that a command runs.
const AHEAD: u64 = 400 * MILLISECOND;
/// No pause is longer: only what is done once for a file makes a round long.
const LONGEST_PAUSE: u64 = 100 * MILLISECOND;
/// What is asked for at the recording's end is answered for so long.
const LAST_ANSWERS: u64 = 500 * MILLISECOND;

/// A frame as an interpreter has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interpreted {
    /// The interpreter's own loop: a function of the native stack.
    Loop(Arc<str>),
    /// A function that it runs.
    Function {
        /// Its name.
        name: Arc<str>,
        /// Its source file.
        file: Arc<str>,
        /// The line that it is at, if one is.
        line: Option<u32>,
    },
    /// The functions behind it are not called by those before it: an event loop of this kind waits for
    /// them.
    Awaits(&'static str),
    /// A function that the interpreter has in itself, under the name that programs call it by.
    BuiltIn {
        /// Its name.
        name: Arc<str>,
        /// The language, as its module is called in brackets: `ruby`.
        module: &'static str,
    },
}

/// Reads interpreters on behalf of a recording.
pub(crate) struct Interpreters {
    /// Whom to read.
    pub(crate) roster: Arc<Roster>,
    /// What happens meanwhile.
    pub(crate) notices: Receiver<Notice>,
    /// Where readings go.
    pub(crate) out: Sender<Vec<Reading>>,
}

/// What the reader of interpreters has to know at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A process maps code, long before the roster knows it: it may have an interpreter now.
    Mapped(i32),
    /// A stack has a place in a runtime's code.
    Asked(CodeRequest),
    /// The roster has changed.
    Roster,
    /// The recording ends.
    Stop,
}

/// What reads one process's interpreter.
trait Interpreter: Send {
    /// Adds what the threads run that are due. Reads one of them at least, and no more of them after
    /// `until` (`CLOCK_MONOTONIC`, ns): the next call goes on behind it.
    ///
    /// # Errors
    /// When the process has ended, has executed another program, or may not be read.
    fn read(&mut self, until: u64, readings: &mut Vec<Reading>) -> Result<(), Unreadable>;

    /// When there is something to read next (`CLOCK_MONOTONIC`, ns).
    fn due(&self) -> u64;

    /// The process has mapped code.
    fn mapped(&mut self) {}

    /// Threads may have begun or ended.
    fn threads_changed(&mut self) {}

    /// A stack has this place in the runtime's code; one of the next calls of `read` says what it is.
    fn ask(&mut self, _place: ManagedPlace) {}

    /// Whether places are still to be looked at.
    fn is_asked(&self) -> bool {
        false
    }

    /// Why nothing was read so far, where nothing was.
    fn why_silent(&self) -> Option<String> {
        None
    }
}

/// Why an interpreter is not read.
#[derive(Debug)]
enum Trouble {
    /// It may have started later; if it never does, this is why.
    Later(String),
    /// It cannot be read, for this reason.
    Never(String),
}

impl Trouble {
    /// Whether an interpreter in a file is tried again, and what is said of it if not.
    fn of(error: &InterpreterError, path: &str) -> Self {
        let why = format!("{path}: {error}");
        if error.is_transient() { Self::Later(why) } else { Self::Never(why) }
    }
}

/// What is known of a process.
enum Process {
    /// No interpreter was found; the next attempt, the pause after it, and since when one that is there is not
    /// read, with the latest reason.
    Unknown {
        due: u64,
        pause: u64,
        why: Option<(u64, String)>,
    },
    /// It has one that cannot be read. Only when the process maps more code is another one looked for.
    Unreadable {
        due: u64,
    },
    Read(Box<dyn Interpreter>),
}

impl Process {
    /// Nothing was looked at yet.
    const UNKNOWN: Self = Self::Unknown { due: 0, pause: ATTEMPTS.0, why: None };

    /// The process has mapped code.
    fn mapped(&mut self, now: u64) {
        match self {
            Self::Unknown { due, pause, .. } => (*due, *pause) = (0, ATTEMPTS.0),
            Self::Unreadable { due } => *due = (*due).min(now + ATTEMPTS.1),
            Self::Read(interpreter) => interpreter.mapped(),
        }
    }

    /// What is said of it when it ends, or the recording: an interpreter that was never read is a loss.
    fn never_read(&self) -> Option<Reading> {
        let at = monotonic_ns();
        let why = match self {
            Self::Unknown { why, .. } => {
                let (since, why) = why.as_ref()?;
                (at.saturating_sub(*since) >= START).then(|| why.clone())
            }
            Self::Unreadable { .. } => None,
            Self::Read(interpreter) => interpreter.why_silent(),
        };
        Some(Reading { at, what: Polled::NeverRead(why?) })
    }

    /// When there is something to do next.
    fn due(&self) -> u64 {
        match self {
            Self::Unknown { due, .. } | Self::Unreadable { due } => *due,
            Self::Read(interpreter) => interpreter.due(),
        }
    }
}

impl Interpreters {
    /// Reads until a notice says to stop. Gives who answers what is asked for after that.
    pub(crate) fn run(self) -> LastAnswers {
        let mut urgency = Urgency::new();
        let mut processes = Processes::default();
        processes.list(&self.roster.get());
        let mut ahead = AHEAD;
        let mut before = thread_cpu_ns();
        loop {
            let began = thread_cpu_ns();
            processes.forget();
            let mut readings = processes.find();
            let found = thread_cpu_ns();
            let is_asked = processes.is_asked();
            processes.read(&mut readings);
            if !readings.is_empty() && self.out.send(readings).is_err() {
                break;
            }
            let now = thread_cpu_ns();
            let once = if is_asked { now } else { found }.saturating_sub(began).min(ahead);
            let used = now.saturating_sub(before).saturating_sub(once);
            ahead -= once;
            before = now;
            let pause = used.saturating_mul(SHARE).clamp(SHORTEST, LONGEST_PAUSE);
            let earliest = monotonic_ns() + pause;
            if !self.rest(&mut processes, &mut urgency, earliest) {
                break;
            }
        }
        LastAnswers { processes, notices: self.notices }
    }

    /// Waits until something is due, and until `earliest` at least. Takes in what happens meanwhile. False
    /// when the recording ends.
    fn rest(&self, processes: &mut Processes, urgency: &mut Urgency, earliest: u64) -> bool {
        let mut until = processes.due().clamp(earliest, earliest.max(monotonic_ns() + REST));
        loop {
            let left = until.saturating_sub(monotonic_ns());
            if left == 0 {
                return true;
            }
            let first = match self.notices.recv_timeout(Duration::from_nanos(left)) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    urgency.woke(monotonic_ns().saturating_sub(until));
                    return true;
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            };
            // Who sends many would wake this thread with each of them.
            std::thread::sleep(Duration::from_nanos(BURST));
            let (mut goes_on, mut roster_changed) = (true, false);
            for notice in std::iter::once(first).chain(self.notices.try_iter()) {
                match notice {
                    Notice::Stop => goes_on = false,
                    Notice::Roster => roster_changed = true,
                    Notice::Mapped(pid) => processes.mapped(pid),
                    Notice::Asked(request) => processes.ask(request),
                }
            }
            if !goes_on {
                return false;
            }
            if roster_changed {
                processes.list(&self.roster.get());
            }
            until = earliest;
        }
    }
}

/// Answers what the last records ask for, while the processes that were recorded live.
pub(crate) struct LastAnswers {
    processes: Processes,
    notices: Receiver<Notice>,
}

impl LastAnswers {
    /// What is known of the places that were asked for and not looked at yet.
    pub(crate) fn read(mut self) -> Vec<Reading> {
        for notice in self.notices.try_iter() {
            if let Notice::Asked(request) = notice {
                self.processes.ask(request);
            }
        }
        let until = monotonic_ns() + LAST_ANSWERS;
        let mut readings = Vec::new();
        while monotonic_ns() < until && self.processes.answer(until, &mut readings) {}
        let Processes { known, never_read, .. } = self.processes;
        readings.extend(never_read);
        readings.extend(known.values().filter_map(Process::never_read));
        readings
    }
}

/// The processes of the recording.
#[derive(Default)]
struct Processes {
    known: BTreeMap<i32, Process>,
    /// The last one whose threads were read.
    last: i32,
    /// When a process was last told of that the roster may not know yet.
    told: FxHashMap<i32, u64>,
    living: BTreeSet<i32>,
    finder: Finder,
    /// What is said of processes that have ended.
    never_read: Vec<Reading>,
}

impl Processes {
    /// Takes in who lives.
    fn list(&mut self, roster: &[Task]) {
        self.living = roster.iter().map(|task| task.pid).collect();
        for pid in &self.living {
            if let Process::Read(interpreter) = self.known.entry(*pid).or_insert(Process::UNKNOWN) {
                interpreter.threads_changed();
            }
        }
        self.drop_ended();
    }

    /// Drops who has ended.
    fn drop_ended(&mut self) {
        let Self { known, told, living, never_read, .. } = self;
        known.retain(|pid, process| {
            let lives = living.contains(pid) || told.contains_key(pid);
            if !lives {
                never_read.extend(process.never_read());
            }
            lives
        });
    }

    /// Forgets who mapped code and never came to live.
    fn forget(&mut self) {
        if self.told.is_empty() {
            return;
        }
        let now = monotonic_ns();
        self.told.retain(|_, at| now.saturating_sub(*at) < UNLISTED);
        self.drop_ended();
    }

    /// A process has mapped code: in that an interpreter is looked for at once.
    fn mapped(&mut self, pid: i32) {
        let now = monotonic_ns();
        self.told.insert(pid, now);
        self.known.entry(pid).or_insert(Process::UNKNOWN).mapped(now);
    }

    /// When there is something to do next.
    fn due(&self) -> u64 {
        self.known.values().map(Process::due).min().unwrap_or(u64::MAX)
    }

    /// Whether places of any process are still to be looked at.
    fn is_asked(&self) -> bool {
        let mut known = self.known.values();
        known.any(|process| matches!(process, Process::Read(found) if found.is_asked()))
    }

    /// Reads the processes of which something is asked; true where there are such.
    fn answer(&mut self, until: u64, readings: &mut Vec<Reading>) -> bool {
        let mut any = false;
        for process in self.known.values_mut() {
            let Process::Read(interpreter) = process else { continue };
            if interpreter.is_asked() {
                any = true;
                if interpreter.read(until, readings).is_err() {
                    *process = Process::UNKNOWN;
                }
            }
        }
        any
    }

    /// Passes on which place is asked for.
    fn ask(&mut self, CodeRequest { pid, place }: CodeRequest) {
        if let Some(Process::Read(interpreter)) = self.known.get_mut(&pid) {
            interpreter.ask(place);
        }
    }

    /// Looks for interpreters until the round's time is up. What is wrong with one is told.
    fn find(&mut self) -> Vec<Reading> {
        let until = monotonic_ns() + ROUND;
        let mut told = std::mem::take(&mut self.never_read);
        for (pid, process) in &mut self.known {
            told.extend(self.finder.find(*pid, process));
            if monotonic_ns() >= until {
                break;
            }
        }
        told
    }

    /// Reads the threads that are due until the round's time is up.
    fn read(&mut self, readings: &mut Vec<Reading>) {
        let until = monotonic_ns() + ROUND;
        let Self { known, last, .. } = self;
        let behind = known.range(*last + 1..).map(|(pid, _)| *pid);
        let order: Vec<i32> = behind.chain(known.range(..=*last).map(|(pid, _)| *pid)).collect();
        for pid in order {
            let Some(process) = known.get_mut(&pid) else { continue };
            let Process::Read(interpreter) = process else { continue };
            if interpreter.read(until, readings).is_err() {
                *process = Process::UNKNOWN;
            }
            *last = pid;
            if monotonic_ns() >= until {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
