//! Following processes: stops at births, new programs and ends, and what is armed and collected there.
//!
//! One thread does everything, because the kernel takes requests about a traced thread from one thread only. A traced
//! thread waits in each stop until this thread has looked, so the loop asks often while something happens, and up
//! to [`LONGEST_NAP`] apart while nothing does.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use culprit_model::Pid;
use culprit_place::procfs;

use super::behalf::{Behalf, KernelStacks};
use super::block;
use super::classify::By;
use super::code::CodeNames;
use super::facts::{Gap, GapKind, Observed, Reader};
use super::files::{FileRecord, word};
use super::guard::Guarded;
use super::names::NameProbes;
use super::program::{self, Maps, attach_files};
use super::rows::Row;
use super::watch::{Rings, keep_apart};
use crate::clock::monotonic_ns;
use crate::ladder::online_cpus;
use crate::session::StopHandle;
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

    fn begin_row(&mut self, tid: i32, late: bool) {
        let pid = self.threads.get(&tid).copied().unwrap_or(tid);
        let of = Pid(u32::try_from(pid).unwrap_or(0));
        self.admit(pid);
        if let Some(Programs { maps, probes: Some(probes), .. }) = &mut self.programs {
            probes.prepare(maps, of);
        }
        let entries = match block::entries(of) {
            Ok(entries) => entries,
            Err(why) => {
                self.gap(GapKind::Process, format!("environment of process {pid}: {why}"), AS_ROOT);
                Vec::new()
            }
        };
        if let Some(guarded) = self.wishes.guarded.as_ref().filter(|_| !late) {
            guarded.protect(of, &entries);
        }
        let mut row = Row::new(pid, monotonic_ns(), &entries);
        row.process.late = late;
        row.process.whole_life = !late;
        let wanted: Vec<(String, u64)> = self
            .wishes
            .watched
            .iter()
            .filter_map(|name| entries.iter().find(|entry| entry.name == *name))
            .map(|entry| (entry.name.clone(), entry.value_at))
            .collect();
        let points = self.watch(tid, &wanted);
        row.arm(Rc::new(points));
        self.rows.insert(pid, row);
    }

    fn watch(&mut self, tid: i32, wanted: &[(String, u64)]) -> Vec<super::watch::Watchpoint> {
        let Some(rings) = &mut self.rings else { return Vec::new() };
        let mut points = Vec::new();
        let mut failed = None;
        for (name, address) in wanted {
            match rings.watch(tid, name, *address) {
                Ok(point) => points.push(point),
                Err(error) => failed = Some(error),
            }
        }
        let kernel_hidden = !rings.kernel;
        if let Some(error) = failed {
            self.no_watchpoints(&error);
        }
        if kernel_hidden {
            let why = "system calls that read a value are seen only with CAP_PERFMON, or with \
                       kernel.perf_event_paranoid of 1 or less";
            self.gap(GapKind::KernelAccess, why, AS_ROOT);
        }
        points
    }

    fn drain_accesses(&mut self) {
        let Some(rings) = &mut self.rings else { return };
        let (accesses, paused) = (rings.drain(), std::mem::take(&mut rings.paused));
        for id in paused {
            self.rows.values().for_each(|row| row.pause(id));
        }
        let mut hidden = false;
        for access in accesses {
            let row = self.rows.get_mut(&access.pid);
            let Some(row) = row.filter(|row| row.since <= access.time) else { continue };
            match access.in_kernel.then(|| self.kernel.behalf(&access.chain)) {
                None => _ = row.add(&access, By::Program, &mut self.names),
                Some(Behalf::Program) => _ = row.add(&access, By::Call, &mut self.names),
                Some(Behalf::Exec) => _ = row.add(&access, By::Exec, &mut self.names),
                Some(Behalf::Other) => {}
                Some(Behalf::Unknown) => hidden = true,
            }
        }
        if hidden {
            let why = "the kernel hides its functions, so that a system call that reads a value looks \
                       like another profiler's copy (/proc/kallsyms)";
            self.gap(GapKind::KernelAccess, why, AS_ROOT);
        }
    }

    /// Takes all records that wait.
    fn drain(&mut self) {
        self.drain_accesses();
        let Some(Programs { maps, probes, .. }) = &mut self.programs else { return };
        let (rows, names) = (&mut self.rows, &mut self.names);
        maps.ring.drain(&mut |record| {
            let pid =
                word(record, 0).map(|both| both >> 32).and_then(|pid| i32::try_from(pid).ok());
            let Some(row) = pid.and_then(|pid| rows.get_mut(&pid)) else { return };
            match word(record, 16) {
                Some(kind) if kind == program::file::KIND as u64 => {
                    if let Some(record) = FileRecord::parse(record) {
                        row.files.add(record);
                    }
                }
                Some(_) => {
                    if let Some(probes) = probes {
                        first_call(row, record, probes, names);
                    }
                }
                None => {}
            }
        });
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

    /// The last thread to end may be met when the memory is gone; the first one's end comes before.
    fn look_at_libraries(&mut self, pid: i32) {
        let Some(row) = self.rows.get_mut(&pid) else { return };
        if let Some(Programs { maps, probes: Some(probes), .. }) = &mut self.programs {
            row.covered = probes.covers(maps, row.process.pid).unwrap_or(false);
        }
    }

    /// A program has run its last instruction, or is not observed any more.
    fn end_row(&mut self, pid: i32, replaced: bool) {
        let Some(mut row) = self.rows.remove(&pid) else { return };
        let mut counted = Vec::new();
        if let Some(Programs { maps, probes, .. }) = &mut self.programs {
            if let Some(probes) = probes {
                // Behind an exec the maps are the next program's already.
                let complete = replaced || row.covered;
                row.process.names_complete =
                    complete || probes.covers(maps, row.process.pid).unwrap_or(false);
                counted = probes.take(maps, pid);
            }
            take_bytes(maps, &mut row);
            if !replaced {
                let _ = maps.observed.remove(&pid.to_le_bytes());
            }
        }
        if let Some(rings) = &mut self.rings {
            rings.count_lost(row.points());
        }
        self.names.forget(pid);
        self.observed.processes.push(row.finish(self.wishes.decoy.as_deref(), counted));
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

/// Bytes of descriptors that are still open.
fn take_bytes(maps: &Maps, row: &mut Row) {
    for key in maps.bytes.keys() {
        let Some((pid, descriptor)) = key.split_first_chunk::<4>() else { continue };
        if i32::from_le_bytes(*pid) != row.pid {
            continue;
        }
        let descriptor = descriptor.try_into().map_or(-1, i32::from_le_bytes);
        let bytes = maps.bytes.get(&key).ok().and_then(|value| value.try_into().ok());
        row.files.read(descriptor, bytes.map_or(0, u64::from_le_bytes));
        let _ = maps.bytes.remove(&key);
    }
}

/// Order of the kernel's numbers of registers (`PERF_REG_X86_`) in `struct pt_regs`, in words.
const PERF_ORDER: [usize; 17] = [10, 5, 11, 12, 13, 14, 4, 19, 16, 9, 8, 7, 6, 3, 2, 1, 0];

fn first_call(row: &mut Row, record: &[u8], probes: &NameProbes, names: &mut CodeNames) {
    let at = |offset: i16| usize::try_from(offset).unwrap_or(usize::MAX);
    let first = |word_at: usize| {
        let offset = program::first::REGISTERS + i16::try_from(8 * word_at).unwrap_or(0);
        word(record, offset).unwrap_or(0)
    };
    let Some(key) = record.get(at(program::first::KEY)..).and_then(|key| probes.key(key)) else {
        return;
    };
    let registers: Vec<u64> = PERF_ORDER.iter().map(|word_at| first(*word_at)).collect();
    let size = word(record, program::first::STACK_SIZE).and_then(|size| usize::try_from(size).ok());
    let stack = record.get(at(program::first::STACK)..).unwrap_or_default();
    let stack = stack.get(..size.unwrap_or(0)).unwrap_or_default();
    let found = names.stack(row.pid, &registers, stack, None);
    row.add_first_call(key.function, key.name, Reader::new(found.frames));
}
