//! What interpreters run: read from their processes' memory by a thread of its own, about a thousand
//! times a second.
//!
//! ```text
//! roster, new mappings -> has the process an interpreter? -> each of its threads, when it is due -> reading
//! ```
//!
//! A thread that is off the CPU does not change its frames, so what is read during a wait is exact; the
//! engine finds out which readings were. A thread whose frames stay the same is read less and less
//! often. Reading takes at most a fiftieth of a CPU.

mod python;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::decode::Task;
use crate::poller::{Polled, Reading, Roster};
use crate::sys::be_realtime;

use python::{Programs, Python};

const MILLISECOND: u64 = 1_000_000;
/// Between two readings of a thread whose frames change.
const SHORTEST: u64 = MILLISECOND;
/// Between two readings of a thread whose frames stay the same.
const LONGEST: u64 = 16 * MILLISECOND;
/// So often new processes are looked for while none has an interpreter.
const SEARCH: u64 = 5 * MILLISECOND;
/// Between two attempts to find an interpreter in a process, at first and later.
const ATTEMPTS: (u64, u64) = (2 * MILLISECOND, 250 * MILLISECOND);
/// A process that maps code and that the roster does not know after this has ended, or is not recorded.
const UNLISTED: u64 = 1000 * MILLISECOND;
/// A pause is so many times as long as the CPU time before it.
const SHARE: u64 = 50;

/// A frame as an interpreter has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interpreted {
    /// The interpreter's own loop: a function of the native stack.
    Loop(&'static str),
    /// A function that it runs.
    Function {
        /// Its name.
        name: Arc<str>,
        /// Its source file.
        file: Arc<str>,
        /// The line that it is at, if one is.
        line: Option<u32>,
    },
}

/// Reads interpreters on behalf of a recording.
pub(crate) struct Interpreters {
    /// Whom to read.
    pub(crate) roster: Arc<Roster>,
    /// Processes that map code, told long before the roster knows them: they may have an interpreter now.
    pub(crate) mapped: Receiver<i32>,
    /// Where readings go.
    pub(crate) out: Sender<Vec<Reading>>,
    /// Set to end reading.
    pub(crate) stop: Arc<AtomicBool>,
}

/// What is known of a process.
enum Process {
    /// No interpreter was found; the next attempt, and the pause after it.
    Unknown {
        due: u64,
        pause: u64,
    },
    /// It will never have one that can be read.
    Given,
    Python(Box<Python>),
}

impl Process {
    /// Nothing was looked at yet.
    const UNKNOWN: Self = Self::Unknown { due: 0, pause: ATTEMPTS.0 };
}

impl Interpreters {
    /// Reads until told to stop.
    pub(crate) fn run(self) {
        // Not allowed without CAP_SYS_NICE; then readings come late where CPUs are busy. Pauses keep it
        // from taking more than its share.
        let _ = be_realtime();
        let mut processes = Processes::default();
        while !self.stop.load(Ordering::Acquire) {
            let before = thread_cpu_ns();
            processes.list(&self.roster.get(), self.mapped.try_iter());
            let readings = processes.round();
            if !readings.is_empty() && self.out.send(readings).is_err() {
                return;
            }
            let any = processes.known.values().any(|process| matches!(process, Process::Python(_)));
            let least = if any { SHORTEST } else { SEARCH };
            let used = thread_cpu_ns().saturating_sub(before);
            let pause = least.max(used.saturating_mul(SHARE));
            std::thread::park_timeout(Duration::from_nanos(pause));
        }
    }
}

/// The processes of the recording.
#[derive(Default)]
struct Processes {
    known: BTreeMap<i32, Process>,
    /// When a process was last told of that the roster may not know yet.
    told: FxHashMap<i32, u64>,
    programs: Programs,
}

impl Processes {
    /// Takes in who lives, and who has mapped code. In that an interpreter is looked for at once.
    fn list(&mut self, roster: &[Task], mapped: impl Iterator<Item = i32>) {
        let now = monotonic_ns();
        let Self { known, told, .. } = self;
        told.retain(|_, at| now.saturating_sub(*at) < UNLISTED);
        for pid in mapped {
            told.insert(pid, now);
            let process = known.entry(pid).or_insert(Process::UNKNOWN);
            if matches!(process, Process::Unknown { .. }) {
                *process = Process::UNKNOWN;
            }
        }
        let living: FxHashSet<i32> = roster.iter().map(|task| task.pid).collect();
        known.retain(|pid, _| living.contains(pid) || told.contains_key(pid));
        for task in roster {
            known.entry(task.pid).or_insert(Process::UNKNOWN);
        }
    }

    /// Looks for interpreters, and reads the threads that are due.
    fn round(&mut self) -> Vec<Reading> {
        let mut readings = Vec::new();
        for (pid, process) in &mut self.known {
            readings.extend(find(*pid, process, &mut self.programs));
            if let Process::Python(python) = process
                && python.read(&mut readings).is_err()
            {
                // It has executed another program, or has ended.
                *process = Process::UNKNOWN;
            }
        }
        readings
    }
}

/// Looks for an interpreter in a process that has none yet, when that is due. What is wrong with one is
/// told.
fn find(pid: i32, process: &mut Process, programs: &mut Programs) -> Option<Reading> {
    let Process::Unknown { due, pause } = process else { return None };
    let now = monotonic_ns();
    if now < *due {
        return None;
    }
    *due = now + *pause;
    *pause = (2 * *pause).min(ATTEMPTS.1);
    match python::find(pid, programs) {
        Ok(None) => None,
        Ok(Some(python)) => {
            *process = Process::Python(Box::new(python));
            None
        }
        Err(why) => {
            *process = Process::Given;
            Some(Reading { at: now, what: Polled::Unread { pid, why } })
        }
    }
}
