//! The threads of one interpreter: when each is read, and what was found.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use culprit_kernel::Task;
use culprit_model::{Pid, Tid};
use culprit_place::procfs::{self, State};
use culprit_symbols::runtimes::{InterpreterError, Look as Looked, Unreadable};
use rustc_hash::FxHashMap;

use super::memory::Memory;
use super::{Interpreted, Interpreter, LONGEST, MILLISECOND, SHORTEST};
use crate::clock::monotonic_ns;
use crate::enrich::bytecode::{Bytecode, BytecodeLoop};
use crate::enrich::poller::{Polled, Reading};
use crate::symbolize::modules::kernel_pid;

/// So often the threads of a process are counted, and listed if their number has changed.
const COUNT: u64 = 10 * MILLISECOND;
/// So often they are listed in any case: one may have begun as another one ended.
const LIST: u64 = 100 * MILLISECOND;

/// How the frames of a runtime's threads are read.
pub(super) trait Look {
    /// A frame as it stands in memory.
    type Frame: PartialEq;

    /// Replaces `frames` by those of a thread, the outermost first. `thread` is its number as its own
    /// namespace counts.
    ///
    /// # Errors
    /// When the process has ended, has executed another program, or may not be read.
    fn look(
        &mut self,
        memory: &Memory,
        thread: u32,
        frames: &mut Vec<Self::Frame>,
    ) -> Result<Seen, Unreadable>;

    /// A frame with its name; none where the name cannot be read.
    fn name(&mut self, memory: &Memory, frame: &Self::Frame) -> Option<Interpreted>;

    /// What comes behind the frames of a thread that stays in them: what it awaits. `tid` is its number
    /// here, `thread` as its own namespace counts.
    ///
    /// # Errors
    /// When the process has ended, has executed another program, or may not be read.
    fn awaited(
        &mut self,
        _memory: &Memory,
        _tid: i32,
        _thread: u32,
    ) -> Result<Vec<Interpreted>, Unreadable> {
        Ok(Vec::new())
    }

    /// Functions that were met since the last call, with where their instructions are, and the function of
    /// native code that runs them.
    fn met(&mut self) -> Option<(BytecodeLoop, Vec<Bytecode>)> {
        None
    }

    /// The process has mapped code.
    fn mapped(&mut self) {}
}

/// What a look at a thread has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The thread runs nothing of this interpreter.
    Nothing,
    /// The thread ran on meanwhile, so its frames may be of two moments.
    RanOn,
    /// The thread ran on meanwhile, and these are its outermost frames, which stayed.
    Outermost,
    /// All of its frames, as they were at one moment.
    Whole,
}

/// A process whose interpreter is read thread by thread.
#[derive(Debug)]
pub(super) struct Watched<L: Look> {
    memory: Memory,
    look: L,
    /// The process's threads, how many there were, and when they are counted and listed next.
    tids: BTreeSet<i32>,
    count: u64,
    count_due: u64,
    list_due: u64,
    /// The last one that was looked at: when time is up, the next round goes on behind it.
    last: i32,
    threads: FxHashMap<i32, Thread<L::Frame>>,
    scratch: Vec<L::Frame>,
}

/// What is known of a thread.
#[derive(Debug)]
struct Thread<F> {
    /// Its number as its own namespace counts.
    own: u32,
    /// When it is read next.
    due: u64,
    /// Since when it has waited, as far as is known.
    since: u64,
    frames: Vec<F>,
    /// Whether it runs: open as long as it does, so that few files are.
    state: Option<procfs::ThreadState>,
    /// They are the outermost only.
    ran_on: bool,
    /// What it awaits.
    awaited: Vec<Interpreted>,
    told: Arc<[Interpreted]>,
}

impl Seen {
    /// What a look has seen of a thread with these frames.
    pub(super) fn of_look<F>(look: Looked, frames: &[F]) -> Self {
        match look.changed {
            false => Self::Whole,
            true if frames.is_empty() => Self::RanOn,
            true => Self::Outermost,
        }
    }

    /// What a failed look has seen: what makes no sense was read while the thread ran.
    ///
    /// # Errors
    /// When the process can no longer be read at all.
    pub(super) fn of_error(error: &InterpreterError) -> Result<Self, Unreadable> {
        match error {
            InterpreterError::Memory { reason, .. } if *reason != Unreadable::Unmapped => {
                Err(*reason)
            }
            _ => Ok(Self::RanOn),
        }
    }
}

impl<L: Look> Watched<L> {
    /// A process that nothing was read of yet.
    pub(super) fn new(memory: Memory, look: L) -> Self {
        Self {
            memory,
            look,
            tids: BTreeSet::new(),
            count: 0,
            count_due: 0,
            list_due: 0,
            last: 0,
            threads: FxHashMap::default(),
            scratch: Vec::new(),
        }
    }

    fn list(&mut self) -> Result<(), Unreadable> {
        let now = monotonic_ns();
        if now < self.count_due {
            return Ok(());
        }
        self.count_due = now + COUNT;
        let pid = kernel_pid(self.memory.pid);
        let count = procfs::thread_count(pid).map_err(|_| Unreadable::Ended)?;
        if count == self.count && now < self.list_due {
            return Ok(());
        }
        (self.count, self.list_due) = (count, now + LIST);
        let listed = procfs::threads(pid).map_err(|_| Unreadable::Ended)?;
        self.tids = listed.into_iter().filter_map(|tid| i32::try_from(tid.0).ok()).collect();
        self.threads.retain(|tid, _| self.tids.contains(tid));
        Ok(())
    }

    /// What a thread runs; none when it is not due, or runs nothing, or ran on while it was read.
    fn read_thread(&mut self, tid: i32) -> Result<Option<Reading>, Unreadable> {
        let began = monotonic_ns();
        let Some(thread) = self.thread(tid).filter(|thread| thread.due <= began) else {
            return Ok(None);
        };
        let own = thread.own;
        let mut frames = std::mem::take(&mut self.scratch);
        let seen = self.look.look(&self.memory, own, &mut frames)?;
        let (whole, ran_on) = (seen == Seen::Whole, seen == Seen::Outermost);
        let is_read = whole || ran_on;
        let known = self.threads.get(&tid);
        let known = known.filter(|known| known.frames == frames && known.ran_on == ran_on);
        let awaited = match known {
            Some(_) if whole => self.look.awaited(&self.memory, tid, own)?,
            _ => Vec::new(),
        };
        let at = monotonic_ns();
        let same = known.is_some_and(|known| !is_read || known.awaited == awaited);
        let told = if is_read && !same { Some(self.told(&frames, &awaited)) } else { None };
        let stays = (same || seen == Seen::Nothing) && !self.is_running(tid);
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(None) };
        thread.since = if stays { thread.since } else { at };
        // Who has waited for long will probably wait on.
        let pause = at.saturating_sub(thread.since) / 8;
        thread.due = at + pause.clamp(SHORTEST, LONGEST);
        if let Some(told) = told {
            (thread.told, thread.awaited, thread.ran_on) = (told, awaited, ran_on);
            std::mem::swap(&mut thread.frames, &mut frames);
        }
        let what = Polled::Interpreted {
            task: Task { pid: self.memory.pid, tid },
            took: at.saturating_sub(began),
            frames: Arc::clone(&thread.told),
            ran_on,
        };
        self.scratch = frames;
        Ok(is_read.then_some(Reading { at: began, what }))
    }

    /// Whether a thread may be in another function at any moment: one that runs can be in the same function
    /// twice by chance.
    fn is_running(&mut self, tid: i32) -> bool {
        let Some(thread) = self.threads.get_mut(&tid) else { return false };
        let state = thread.state.take().or_else(|| {
            let Pid(tid) = kernel_pid(tid);
            procfs::ThreadState::open(kernel_pid(self.memory.pid), Tid(tid)).ok()
        });
        let runs = |state: &procfs::ThreadState| state.read() == Some(State::Running);
        thread.state = state.filter(runs);
        thread.state.is_some()
    }

    fn thread(&mut self, tid: i32) -> Option<&Thread<L::Frame>> {
        match self.threads.entry(tid) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                let numbers = procfs::namespace_pids(kernel_pid(tid)).ok()?;
                Some(place.insert(Thread {
                    own: numbers.last()?.0,
                    due: 0,
                    since: monotonic_ns(),
                    state: None,
                    frames: Vec::new(),
                    ran_on: false,
                    awaited: Vec::new(),
                    told: Arc::new([]),
                }))
            }
        }
    }

    fn told(&mut self, frames: &[L::Frame], awaited: &[Interpreted]) -> Arc<[Interpreted]> {
        let Self { memory, look, .. } = self;
        let frames = frames.iter().filter_map(|frame| look.name(memory, frame));
        frames.chain(awaited.iter().cloned()).collect()
    }
}

impl<L: Look + Send> Interpreter for Watched<L>
where
    L::Frame: Send,
{
    fn read(&mut self, until: u64, readings: &mut Vec<Reading>) -> Result<(), Unreadable> {
        self.list()?;
        let (before, behind) = (..=self.last, (self.last + 1)..);
        let order: Vec<i32> =
            self.tids.range(behind).chain(self.tids.range(before)).copied().collect();
        for tid in order {
            readings.extend(self.read_thread(tid)?);
            self.last = tid;
            if monotonic_ns() >= until {
                break;
            }
        }
        let met = self.look.met().filter(|(_, functions)| !functions.is_empty());
        readings.extend(met.map(|(runner, functions)| Reading {
            at: monotonic_ns(),
            what: Polled::Bytecode { pid: self.memory.pid, runner, functions },
        }));
        Ok(())
    }

    fn due(&self) -> u64 {
        if self.threads.len() < self.tids.len() || self.tids.is_empty() {
            return 0;
        }
        self.threads.values().map(|thread| thread.due).min().unwrap_or_default()
    }

    fn mapped(&mut self) {
        self.look.mapped();
    }

    fn threads_changed(&mut self) {
        (self.count_due, self.list_due) = (0, 0);
    }
}
