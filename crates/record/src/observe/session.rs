//! Following processes: stops at births, new programs and ends, and what is armed and collected there.
//!
//! One thread does everything, because the kernel takes requests about a traced thread from one thread only. A traced
//! thread waits in each stop until this thread has looked, so the loop asks often while something happens, and up
//! to [`LONGEST_NAP`] apart while nothing does.

mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use std::time::Duration;

use culprit_model::Pid;
use culprit_place::procfs;

use super::behalf::KernelStacks;
use super::code::CodeNames;
use super::facts::{Gap, GapKind, Observed};
use super::guard::Guarded;
use super::names::NameProbes;
use super::program::{Maps, attach_files};
use super::rows::Row;
use super::watch::{Rings, keep_apart};
use crate::clock::monotonic_ns;
use crate::session::StopHandle;
use crate::session::ladder::online_cpus;
use crate::sys::trace::{Stop, detach, interrupt, listen, made, next_stop, resume, seize};

/// The loop's shortest and longest pause. The longest is what a stop costs at most; 1,000 idle looks a second are
/// 1 % of a processor.
const SHORTEST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);
/// How often leaving is tried while threads do not stop: they may hang in the kernel.
const MOST_LEAVING_NS: u64 = 2_000_000_000;

/// What to observe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Variables whose values are watched, the decoy among them; at most [`MOST_WATCHED`](super::MOST_WATCHED).
    pub watched: Vec<String>,
    /// A variable that no program knows.
    pub decoy: Option<String>,
    /// A text that is taken out of a variable where a program could not reach what it names.
    pub guarded: Option<Guarded>,
}

/// Whom to observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A process that is held before it executes its command. The observation ends with it.
    Held(Pid),
    /// Processes that run already. The observation ends when all have ended, or on request.
    Running(Vec<Pid>),
}

/// Observes processes.
#[derive(Debug)]
pub struct Observer {
    wishes: Wishes,
    rings: Option<Rings>,
    programs: Option<Programs>,
    names: CodeNames,
    kernel: KernelStacks,
    /// The process of each observed thread.
    threads: BTreeMap<i32, i32>,
    /// Threads that ran before and have not stopped yet.
    joining: BTreeSet<i32>,
    /// An event of each thread that keeps its watchpoints apart from those of its children.
    apart: BTreeMap<i32, OwnedFd>,
    rows: BTreeMap<i32, Row>,
    observed: Observed,
    gaps: BTreeSet<Gap>,
    root: Option<i32>,
    leaving: bool,
}

/// What the kernel runs for us.
#[derive(Debug)]
struct Programs {
    maps: Maps,
    probes: Option<NameProbes>,
    /// Keeps the program at its tracepoint.
    _files: Option<OwnedFd>,
}

impl Observer {
    /// Gets everything ready that needs a right. A right that is missing becomes a gap.
    #[must_use]
    fn new(wishes: Wishes) -> Self {
        let mut observer = Self {
            wishes,
            rings: None,
            programs: None,
            names: CodeNames::default(),
            kernel: KernelStacks::default(),
            threads: BTreeMap::new(),
            joining: BTreeSet::new(),
            apart: BTreeMap::new(),
            rows: BTreeMap::new(),
            observed: Observed::default(),
            gaps: BTreeSet::new(),
            root: None,
            leaving: false,
        };
        let cpus = online_cpus().unwrap_or_default();
        if !observer.wishes.watched.is_empty() {
            match Rings::new(&cpus) {
                Ok(rings) => observer.rings = Some(rings),
                Err(error) => observer.no_watchpoints(&error),
            }
        }
        observer.load_programs(cpus.first().copied().unwrap_or(0));
        observer
    }

    fn load_programs(&mut self, cpu: u32) {
        let maps = match Maps::new() {
            Ok(maps) if cfg!(target_arch = "x86_64") => maps,
            Ok(_) => return self.no_programs(&io::ErrorKind::Unsupported.into()),
            Err(error) => return self.no_programs(&error),
        };
        let files = attach_files(&maps);
        let probes = NameProbes::new(cpu);
        for (kind, error) in
            [(GapKind::Files, files.as_ref().err()), (GapKind::Names, probes.as_ref().err())]
        {
            if let Some(error) = error {
                self.gap(kind, format!("the kernel refuses the program ({error})"), AS_ROOT);
            }
        }
        self.programs = Some(Programs { maps, probes: probes.ok(), _files: files.ok() });
    }

    fn gap(&mut self, kind: GapKind, why: impl Into<String>, next: &str) {
        self.gaps.insert(Gap { kind, why: why.into(), next: next.to_owned() });
    }

    fn no_programs(&mut self, error: &io::Error) {
        let why =
            format!("probes in programs need CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN ({error})");
        self.gap(GapKind::Names, why, AS_ROOT);
        let why = format!("following files needs CAP_BPF and CAP_PERFMON ({error})");
        self.gap(GapKind::Files, why, AS_ROOT);
    }

    fn no_watchpoints(&mut self, error: &io::Error) {
        let (why, next) = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EBUSY) => (
                "another program uses the processor's watchpoints".to_owned(),
                "end the debugger that watches the process, and run the command again",
            ),
            Some(libc::EACCES | libc::EPERM) => (
                format!(
                    "watchpoints need CAP_PERFMON, or kernel.perf_event_paranoid of 2 or less ({error})"
                ),
                AS_ROOT,
            ),
            _ => (format!("the kernel gives no watchpoints ({error})"), ""),
        };
        self.gap(GapKind::Watchpoints, why, next);
    }

    /// Observes until the subject has ended or `stop` asks for the end. `ready` is told when a held process may
    /// start, or why it cannot be observed. To be called on a thread of its own.
    ///
    /// # Errors
    /// When no process of the subject can be observed.
    pub fn observe(
        wishes: Wishes,
        subject: &Subject,
        ready: &Sender<()>,
        stop: &StopHandle,
    ) -> io::Result<Observed> {
        let mut observer = Self::new(wishes);
        match subject {
            Subject::Held(pid) => {
                let tid = i32::try_from(pid.0).map_err(io::Error::other)?;
                seize(tid)?;
                observer.threads.insert(tid, tid);
                observer.keep_apart(tid);
                observer.root = Some(tid);
            }
            Subject::Running(pids) => observer.join(pids)?,
        }
        // Nobody has to wait for it.
        let _ = ready.send(());
        observer.run(stop);
        Ok(observer.finish())
    }

    /// Joins processes that run.
    fn join(&mut self, pids: &[Pid]) -> io::Result<()> {
        let mut refused = None;
        for (pid, tids) in procfs::with_threads(pids) {
            for tid in tids {
                let joined = i32::try_from(tid.0).map_err(io::Error::other).and_then(|tid| {
                    seize(tid)?;
                    interrupt(tid).map(|()| tid)
                });
                match joined {
                    Ok(tid) => {
                        self.threads.insert(tid, i32::try_from(pid.0).unwrap_or(0));
                        self.joining.insert(tid);
                    }
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => refused = Some((pid, error)),
                }
            }
        }
        match refused {
            Some((_, error)) if self.threads.is_empty() => Err(error),
            Some((pid, error)) => {
                let next = "end the debugger or tracer of the process, or run `culprit` as root";
                self.gap(
                    GapKind::Process,
                    format!("process {pid} cannot be traced ({error})"),
                    next,
                );
                Ok(())
            }
            None if self.threads.is_empty() => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            None => Ok(()),
        }
    }

    fn run(&mut self, stop: &StopHandle) {
        let mut nap = SHORTEST_NAP;
        let mut left_at = None;
        loop {
            match next_stop() {
                Ok(Some((tid, reason))) => {
                    nap = SHORTEST_NAP;
                    self.handle(tid, reason);
                    continue;
                }
                Ok(None) => {}
                Err(_) => return,
            }
            self.drain();
            if self.leaving || self.threads.is_empty() {
                let since = *left_at.get_or_insert_with(monotonic_ns);
                if self.threads.is_empty() || monotonic_ns() - since > MOST_LEAVING_NS {
                    return;
                }
            } else if stop.is_stopped() {
                self.leave();
            } else if self.root_has_ended() {
                self.name_those_left();
                self.leave();
            }
            std::thread::sleep(nap);
            nap = (nap * 2).min(LONGEST_NAP);
        }
    }

    /// Whether the process that was held is gone, and others are left.
    fn root_has_ended(&self) -> bool {
        self.root.is_some_and(|root| !self.threads.values().any(|pid| *pid == root))
    }

    /// Says which processes outlive the command: what they read later is not seen.
    fn name_those_left(&mut self) {
        let mut left: Vec<i32> = self.threads.values().copied().collect();
        left.sort_unstable();
        left.dedup();
        for pid in left {
            let why = format!("process {pid} still ran when the command had ended");
            self.gap(GapKind::Process, why, "observe it with `--pid`");
        }
    }

    /// Asks every thread to stop, so that it can be let go.
    fn leave(&mut self) {
        self.leaving = true;
        for tid in self.threads.keys() {
            // One that has ended is reported as such.
            let _ = interrupt(*tid);
        }
        for row in self.rows.values_mut() {
            row.process.whole_life = false;
        }
    }

    fn handle(&mut self, tid: i32, reason: Stop) {
        let signal = if let Stop::Signal(signal) = reason { signal } else { 0 };
        match reason {
            Stop::Executed => self.executed(tid),
            Stop::Attached if !self.leaving => self.attached(tid),
            // Who is made is known here, and not when it first runs: its parent may be gone by then.
            Stop::Made if !self.leaving => {
                if let Ok(child) = made(tid) {
                    self.made(tid, child);
                }
            }
            Stop::Ending => {
                self.thread_ends(tid);
                // Its parent, not we, is to hear how it ended.
                let _ = detach(tid, 0);
                return;
            }
            Stop::Gone => {
                self.thread_ends(tid);
                return;
            }
            _ => {}
        }
        // A thread that was killed meanwhile is reported once more.
        let _ = match reason {
            _ if self.leaving => {
                self.thread_ends(tid);
                detach(tid, signal)
            }
            Stop::Stopped => listen(tid),
            _ => resume(tid, signal),
        };
    }

    /// A process executes another program.
    fn executed(&mut self, pid: i32) {
        self.drain();
        let parent = self.rows.get(&pid).and_then(|row| row.process.parent);
        self.end_row(pid, true);
        self.threads.retain(|_, of| *of != pid);
        self.threads.insert(pid, pid);
        self.begin_row(pid, false);
        if let Some(row) = self.rows.get_mut(&pid) {
            row.process.parent = parent;
        }
    }

    /// A thread has made another one, or a process.
    fn made(&mut self, tid: i32, child: i32) {
        if self.threads.contains_key(&child) {
            return;
        }
        let parent = self.threads.get(&tid).copied().unwrap_or(tid);
        let is_process = process_of(child).is_none_or(|(pid, _)| pid == child);
        self.threads.insert(child, if is_process { child } else { parent });
        if is_process {
            self.forked(parent, child);
        }
    }

    /// A process has made another one, which runs the same program.
    fn forked(&mut self, parent: i32, child: i32) {
        let forked = self.rows.get(&parent).map(|row| row.fork(child, monotonic_ns()));
        self.admit(child);
        if let Some(forked) = forked {
            self.rows.insert(child, forked);
        }
    }

    /// Keeps the watchpoints of a thread, which has not run yet, apart from those of what it makes.
    fn keep_apart(&mut self, tid: i32) {
        if self.rings.is_some()
            && let Ok(event) = keep_apart(tid)
        {
            self.apart.insert(tid, event);
        }
    }

    /// A thread runs for the first time, or stops for the first time because we asked for it.
    fn attached(&mut self, tid: i32) {
        let known = self.threads.get(&tid).copied();
        let pid = known.unwrap_or_else(|| process_of(tid).map_or(tid, |(pid, _)| pid));
        self.threads.insert(tid, pid);
        self.keep_apart(tid);
        if known.is_none() && tid == pid && !self.rows.contains_key(&pid) {
            let parent = process_of(tid).map_or(0, |(_, parent)| parent);
            self.forked(parent, pid);
        } else if self.joining.remove(&tid) {
            self.joined(tid, pid);
        }
    }

    /// A thread that ran before: its process is known from now on, and it gets watchpoints of its own.
    fn joined(&mut self, tid: i32, pid: i32) {
        if !self.rows.contains_key(&pid) {
            self.begin_row(tid, true);
            return;
        }
        // Other threads of the process share the row; the processor watches each thread by itself.
        let entries: Vec<(String, u64)> = self.rows.get(&pid).map_or_else(Vec::new, |row| {
            row.armed.iter().map(|point| (point.name.clone(), point.address)).collect()
        });
        let points = self.watch(tid, &entries);
        if let Some(row) = self.rows.get_mut(&pid) {
            row.arm_more(points);
        }
    }

    /// Lets the kernel's programs look at a process.
    fn admit(&mut self, pid: i32) {
        if let Some(programs) = &self.programs {
            // A full map: 16,384 processes at a time.
            let added = programs.maps.observed.insert(&pid.to_le_bytes(), &1_u32.to_le_bytes());
            if added.is_err() {
                let why =
                    format!("process {pid}: too many processes at a time for names and files");
                self.gap(GapKind::Lost, why, "");
            }
        }
    }

    fn thread_ends(&mut self, tid: i32) {
        self.drain();
        self.apart.remove(&tid);
        let Some(pid) = self.threads.remove(&tid) else { return };
        if tid == pid {
            self.look_at_libraries(pid);
        }
        if !self.threads.values().any(|of| *of == pid) {
            self.end_row(pid, false);
        }
    }

    fn finish(mut self) -> Observed {
        self.drain();
        let left: Vec<i32> = self.rows.keys().copied().collect();
        for pid in left {
            self.end_row(pid, false);
        }
        if let Some(lost) = self.rings.as_ref().map(Rings::lost).filter(|lost| *lost > 0) {
            self.gap(GapKind::Lost, format!("{lost} records of accesses were lost"), "");
            let processes = self.observed.processes.iter_mut();
            processes.flat_map(|one| &mut one.watched).for_each(|value| value.spent = true);
        }
        let counter = self.programs.as_ref().and_then(|all| all.maps.lost.get(&[0; 4]).ok());
        let lost = counter.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        if lost > 0 {
            self.gap(GapKind::Lost, format!("{lost} records of names and files were lost"), "");
        }
        let refusals = self.programs.iter_mut().filter_map(|all| all.probes.as_mut());
        let refusals: Vec<String> =
            refusals.flat_map(|probes| std::mem::take(&mut probes.refusals)).collect();
        for refusal in refusals {
            self.gap(GapKind::Names, format!("no probe on {refusal}"), AS_ROOT);
        }
        self.observed.gaps = self.gaps.into_iter().collect();
        self.observed
    }
}

/// The next step for a missing right.
const AS_ROOT: &str = "run `culprit` as root, on the host rather than in a container";

/// The process and its parent of a thread.
fn process_of(tid: i32) -> Option<(i32, i32)> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some((field("Tgid:")?, field("PPid:")?))
}
