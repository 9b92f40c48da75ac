//! What interpreters run: read from their processes' memory by a thread of its own, about a thousand
//! times a second.
//!
//! ```text
//! roster, new mappings -> has the process an interpreter? -> each of its threads, when it is due -> reading
//! ```
//!
//! A thread that is off the CPU does not change its frames, so what is read during a wait is exact; the
//! engine finds out which readings were. A thread that waits and whose frames stay the same is read less and
//! less often. After each round comes a pause that is fifty times as long as the CPU time that the round took,
//! so reading takes at most 2 % of one CPU. Finding interpreters may take 100 ms of CPU time more than
//! that, once in a recording.

mod jvm;
mod memory;
mod names;
mod php;
mod programs;
mod python;
mod ruby;
mod watched;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use culprit_place::procfs::{self, Mapping};
use culprit_symbols::runtimes::cpython::CPythonProgram;
use culprit_symbols::runtimes::php::PhpProgram;
use culprit_symbols::runtimes::ruby::RubyProgram;
use culprit_symbols::runtimes::{InterpreterError, Unreadable};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::decode::Task;
use crate::managed::{CodeRequest, ManagedPlace};
use crate::modules::kernel_pid;
use crate::poller::{Polled, Reading, Roster};
use crate::sys::be_realtime;

use jvm::JavaPrograms;
use programs::Programs;

const MILLISECOND: u64 = 1_000_000;
/// Between two readings of a thread that runs, or whose frames change.
const SHORTEST: u64 = MILLISECOND;
/// Between two readings of a thread that waits.
const LONGEST: u64 = 16 * MILLISECOND;
/// So often new processes are looked for while none has an interpreter.
const SEARCH: u64 = 5 * MILLISECOND;
/// A round of readings ends after this, and the next one goes on where it ended: the thread has a
/// real-time priority, so whatever else wants its CPU waits for it.
const ROUND: u64 = MILLISECOND;
/// Between two attempts to find an interpreter in a process, at first and later.
const ATTEMPTS: (u64, u64) = (2 * MILLISECOND, 250 * MILLISECOND);
/// A process that maps code and that the roster does not know after this has ended, or is not recorded.
const UNLISTED: u64 = 1000 * MILLISECOND;
/// A pause is so many times as long as the CPU time before it.
const SHARE: u64 = 50;
/// CPU time that finding interpreters may take ahead of its share. A program of 8 MiB takes some 8 ms
/// once; without this nothing would be read for the next 400 ms, which are often all that a command runs.
const AHEAD: u64 = 100 * MILLISECOND;
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
    /// Processes that map code, told long before the roster knows them: they may have an interpreter now.
    pub(crate) mapped: Receiver<i32>,
    /// Places in the code of runtimes that stacks have.
    pub(crate) requests: Receiver<CodeRequest>,
    /// Where readings go.
    pub(crate) out: Sender<Vec<Reading>>,
    /// Set to end reading.
    pub(crate) stop: Arc<AtomicBool>,
}

/// What reads one process's interpreter.
trait Interpreter: Send {
    /// Adds what the threads run that are due. Reads one of them at least, and no more of them after
    /// `until` (`CLOCK_MONOTONIC`, ns): the next call goes on behind it.
    ///
    /// # Errors
    /// When the process has ended, has executed another program, or may not be read.
    fn read(&mut self, until: u64, readings: &mut Vec<Reading>) -> Result<(), Unreadable>;

    /// The process has mapped code.
    fn mapped(&mut self) {}

    /// A stack has this place in the runtime's code; one of the next calls of `read` says what it is.
    fn ask(&mut self, _place: ManagedPlace) {}

    /// Whether places are still to be looked at.
    fn is_asked(&self) -> bool {
        false
    }
}

/// Why an interpreter is not read.
#[derive(Debug)]
enum Trouble {
    /// It may have started later.
    Later,
    /// It cannot be read, for this reason.
    Never(String),
}

impl Trouble {
    /// Whether an interpreter in a file is tried again, and what is said of it if not.
    fn of(error: &InterpreterError, path: &str) -> Self {
        if error.is_transient() { Self::Later } else { Self::Never(format!("{path}: {error}")) }
    }
}

/// What is known of a process.
enum Process {
    /// No interpreter was found; the next attempt, and the pause after it.
    Unknown {
        due: u64,
        pause: u64,
    },
    /// It has one that cannot be read. Only when the process maps more code is another one looked for.
    Unreadable {
        due: u64,
    },
    Read(Box<dyn Interpreter>),
}

impl Process {
    /// Nothing was looked at yet.
    const UNKNOWN: Self = Self::Unknown { due: 0, pause: ATTEMPTS.0 };

    /// The process has mapped code.
    fn mapped(&mut self, now: u64) {
        match self {
            Self::Unknown { .. } => *self = Self::UNKNOWN,
            Self::Unreadable { due } => *due = (*due).min(now + ATTEMPTS.1),
            Self::Read(interpreter) => interpreter.mapped(),
        }
    }
}

impl Interpreters {
    /// Reads until told to stop. Gives who answers what is asked for after that.
    pub(crate) fn run(self) -> LastAnswers {
        // Not allowed without CAP_SYS_NICE; then readings come late where CPUs are busy. Pauses keep it
        // from taking more than its share.
        let _ = be_realtime();
        let mut processes = Processes::default();
        let mut ahead = AHEAD;
        while !self.stop.load(Ordering::Acquire) {
            let before = thread_cpu_ns();
            processes.list(self.roster.get(), self.mapped.try_iter());
            processes.ask(self.requests.try_iter());
            let mut readings = processes.find();
            let found = thread_cpu_ns();
            processes.read(&mut readings);
            if !readings.is_empty() && self.out.send(readings).is_err() {
                break;
            }
            let any = processes.known.values().any(|process| matches!(process, Process::Read(_)));
            let least = if any { SHORTEST } else { SEARCH };
            let finding = found.saturating_sub(before);
            let used = finding.saturating_sub(ahead) + thread_cpu_ns().saturating_sub(found);
            ahead = ahead.saturating_sub(finding);
            let pause = least.max(used.saturating_mul(SHARE));
            std::thread::park_timeout(Duration::from_nanos(pause));
        }
        LastAnswers { processes, requests: self.requests }
    }
}

/// Answers what the last records ask for, while the processes that were recorded live.
pub(crate) struct LastAnswers {
    processes: Processes,
    requests: Receiver<CodeRequest>,
}

impl LastAnswers {
    /// What is known of the places that were asked for and not looked at yet.
    pub(crate) fn read(mut self) -> Vec<Reading> {
        self.processes.ask(self.requests.try_iter());
        let until = monotonic_ns() + LAST_ANSWERS;
        let mut readings = Vec::new();
        while monotonic_ns() < until && self.processes.answer(until, &mut readings) {}
        readings
    }
}

/// The processes of the recording.
#[derive(Default)]
struct Processes {
    known: BTreeMap<i32, Process>,
    /// Who lives, as it was taken in last.
    roster: Arc<[Task]>,
    /// The last one whose threads were read.
    last: i32,
    /// When a process was last told of that the roster may not know yet.
    told: FxHashMap<i32, u64>,
    finder: Finder,
}

impl Processes {
    /// Takes in who lives, and who has mapped code. In that an interpreter is looked for at once.
    fn list(&mut self, roster: Arc<[Task]>, mapped: impl Iterator<Item = i32>) {
        let mut mapped = mapped.peekable();
        if self.told.is_empty() && mapped.peek().is_none() && Arc::ptr_eq(&roster, &self.roster) {
            return;
        }
        let now = monotonic_ns();
        let Self { known, told, .. } = self;
        told.retain(|_, at| now.saturating_sub(*at) < UNLISTED);
        for pid in mapped {
            told.insert(pid, now);
            known.entry(pid).or_insert(Process::UNKNOWN).mapped(now);
        }
        let living: FxHashSet<i32> = roster.iter().map(|task| task.pid).collect();
        known.retain(|pid, _| living.contains(pid) || told.contains_key(pid));
        for task in roster.iter() {
            known.entry(task.pid).or_insert(Process::UNKNOWN);
        }
        self.roster = roster;
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

    /// Passes on which places are asked for.
    fn ask(&mut self, requests: impl Iterator<Item = CodeRequest>) {
        for CodeRequest { pid, place } in requests {
            if let Some(Process::Read(interpreter)) = self.known.get_mut(&pid) {
                interpreter.ask(place);
            }
        }
    }

    /// Looks for interpreters until the round's time is up. What is wrong with one is told.
    fn find(&mut self) -> Vec<Reading> {
        let until = monotonic_ns() + ROUND;
        let mut told = Vec::new();
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

/// Finds interpreters in processes.
#[derive(Debug, Default)]
struct Finder {
    python: Programs<CPythonProgram>,
    java: JavaPrograms,
    ruby: Programs<RubyProgram>,
    php: Programs<PhpProgram>,
}

impl Finder {
    /// Looks for an interpreter in a process that has none yet, when that is due. What is wrong with one
    /// is told.
    fn find(&mut self, pid: i32, process: &mut Process) -> Option<Reading> {
        let now = monotonic_ns();
        let pause = match *process {
            Process::Unknown { due, pause } if due <= now => pause,
            Process::Unreadable { due } if due <= now => ATTEMPTS.0,
            _ => return None,
        };
        let wait = |longer: u64| Process::Unknown {
            due: now + pause,
            pause: (pause + longer).min(ATTEMPTS.1),
        };
        match self.look(pid) {
            Ok(Some(interpreter)) => *process = Process::Read(interpreter),
            Ok(None) => *process = wait(pause),
            // It is about to start: what it runs first is missed by a fifth of the time that its start takes.
            Err(Trouble::Later) => *process = wait(pause / 4),
            Err(Trouble::Never(why)) => {
                *process = Process::Unreadable { due: u64::MAX };
                return Some(Reading { at: now, what: Polled::Unread { pid, why } });
            }
        }
        None
    }

    fn look(&mut self, pid: i32) -> Result<Option<Box<dyn Interpreter>>, Trouble> {
        let maps: Vec<Mapping> = procfs::maps(kernel_pid(pid)).map_err(|_| Trouble::Later)?;
        if let Some(java) = jvm::find(pid, &maps, &mut self.java)? {
            return Ok(Some(java));
        }
        if let Some(python) = python::find(pid, &maps, &mut self.python)? {
            return Ok(Some(python));
        }
        if let Some(ruby) = ruby::find(pid, &maps, &mut self.ruby)? {
            return Ok(Some(ruby));
        }
        php::find(pid, &maps, &mut self.php)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Takes all the time that there is, and counts how often it was read.
    struct Slow(Arc<AtomicUsize>);

    impl Interpreter for Slow {
        fn read(&mut self, until: u64, _: &mut Vec<Reading>) -> Result<(), Unreadable> {
            self.0.fetch_add(1, Ordering::Relaxed);
            while monotonic_ns() < until {
                std::hint::spin_loop();
            }
            Ok(())
        }
    }

    #[test]
    fn a_process_that_takes_the_whole_round_does_not_keep_others_from_being_read() {
        let counts: Vec<Arc<AtomicUsize>> = (0..3).map(|_| Arc::default()).collect();
        let reader = |count: &Arc<AtomicUsize>| Process::Read(Box::new(Slow(Arc::clone(count))));
        let known = counts.iter().enumerate();
        let known = known.map(|(pid, count)| (i32::try_from(pid).unwrap() + 1, reader(count)));
        let mut processes = Processes { known: known.collect(), ..Processes::default() };
        for _ in 0..3 {
            processes.read(&mut Vec::new());
        }
        for count in counts {
            assert_eq!(count.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn only_what_stays_as_it_is_is_told_of_an_interpreter() {
        let trouble = |reason| {
            let (what, address) = ("a frame", 8);
            Trouble::of(&InterpreterError::Memory { what, address, reason }, "/usr/bin/python3")
        };
        assert!(matches!(trouble(Unreadable::Ended), Trouble::Later));
        assert!(matches!(trouble(Unreadable::Denied), Trouble::Never(_)));
    }

    #[test]
    fn one_that_cannot_be_read_is_looked_at_again_when_it_maps_code() {
        let mut process = Process::Unreadable { due: u64::MAX };
        let mut finder = Finder::default();
        assert!(finder.find(i32::MAX, &mut process).is_none());
        assert!(matches!(process, Process::Unreadable { due: u64::MAX }));
        process.mapped(0);
        finder.find(i32::MAX, &mut process);
        assert!(matches!(process, Process::Unknown { .. }), "no such process");
    }
}
