//! `/proc/PID/stat` and `/proc/PID/task/TID/schedstat`: state, times and counts of a thread.
//!
//! `schedstat` is the kernel's own sum of on-CPU and run-queue time in nanoseconds; recordings
//! compare their sums with it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use culprit_model::{Pid, Tid};

use super::{gone, read, thread_file};
use crate::error::{Error, Result};

/// What a thread is doing, as one letter of `/proc/PID/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// `R`: on a CPU or ready for one.
    Running,
    /// `S`: waits and can be woken by a signal.
    Sleeping,
    /// `D`: waits and cannot be woken by a signal.
    Uninterruptible,
    /// `T`, `t`: stopped by a signal or a debugger.
    Stopped,
    /// `Z`, `X`: has ended.
    Ended,
    /// `I`: an idle kernel thread.
    Idle,
    /// Any other letter.
    Other,
}

impl State {
    fn of(letter: &str) -> Self {
        match letter {
            "R" => Self::Running,
            "S" => Self::Sleeping,
            "D" => Self::Uninterruptible,
            "T" | "t" => Self::Stopped,
            "Z" | "X" => Self::Ended,
            "I" => Self::Idle,
            _ => Self::Other,
        }
    }
}

/// The fields of `/proc/PID/stat` that we use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The name, without its brackets.
    pub comm: String,
    /// What it is doing.
    pub state: State,
    /// The parent; 0 when that lies outside our pid namespace.
    pub parent: Pid,
    /// Minor page faults so far.
    pub minor_faults: u64,
    /// Major page faults so far.
    pub major_faults: u64,
    /// CPU time in user space so far, in clock ticks (100 a second on every Linux of today).
    pub user_ticks: u64,
    /// CPU time in the kernel so far, in clock ticks.
    pub system_ticks: u64,
    /// Threads of the process.
    pub threads: u32,
    /// When it started, in clock ticks since boot. With the pid it identifies a process.
    pub start_ticks: u64,
}

impl Stat {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        // The name may hold brackets and spaces itself; the last bracket ends it.
        let (head, tail) = text.rsplit_once(')')?;
        let (_pid, comm) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        // proc(5) counts from 1 with the state as field 3, which is our index 0.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            comm: comm.to_owned(),
            state: State::of(fields.first()?),
            parent: Pid(u32::try_from(number(4)?).ok()?),
            minor_faults: number(10)?,
            major_faults: number(12)?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            threads: u32::try_from(number(20)?).ok()?,
            start_ticks: number(22)?,
        })
    }
}

fn parsed(pid: Pid, file: &str, bytes: &[u8]) -> Result<Stat> {
    let error = || Error::Kernel {
        path: format!("/proc/{pid}/{file}"),
        why: "22 fields with a name in brackets",
    };
    Stat::parse(bytes).ok_or_else(error)
}

/// State and counts of a process: times are sums over its threads.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended and was waited for.
pub fn stat(pid: Pid) -> Result<Stat> {
    parsed(pid, "stat", &read(pid, "stat")?)
}

/// State and counts of one thread.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn thread_stat(pid: Pid, tid: Tid) -> Result<Stat> {
    parsed(pid, "task/TID/stat", &thread_file(pid, tid, "stat")?)
}

/// A thread's file of [`thread_stat`], open: reading it again is a third of the cost.
#[derive(Debug)]
pub struct ThreadState(File);

impl ThreadState {
    /// That of a thread.
    ///
    /// # Errors
    /// [`Error::NoProcess`] when it has ended.
    pub fn open(pid: Pid, tid: Tid) -> Result<Self> {
        let path = format!("/proc/{pid}/task/{tid}/stat");
        File::open(&path).map(Self).map_err(|error| gone(pid, path, error))
    }

    /// What the thread does now; none when it has ended.
    #[must_use]
    pub fn read(&self) -> Option<State> {
        // The name before the state has at most 63 bytes (`proc_task_name` of a worker of the kernel).
        let mut line = [0; 128];
        let length = self.0.read_at(&mut line, 0).ok()?;
        let text = line.get(..length)?;
        let behind = text.get(text.iter().rposition(|byte| *byte == b')')? + 1..)?;
        let letter = behind.trim_ascii_start().get(..1)?;
        Some(State::of(std::str::from_utf8(letter).ok()?))
    }
}

/// When a process started, as time since boot (to a hundredth of a second).
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn start_time(pid: Pid) -> Result<Duration> {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let ticks = stat(pid)?.start_ticks;
    let part = (ticks % per_second) * 1_000_000_000 / per_second;
    Ok(Duration::from_secs(ticks / per_second) + Duration::from_nanos(part))
}

/// The scheduler's account of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedStat {
    /// Time on a CPU so far, ns. Up to date to the last tick while the thread runs.
    pub on_cpu_ns: u64,
    /// Time ready and waiting for a CPU so far, ns; a wait is added when it ends.
    pub run_queue_ns: u64,
    /// How often it was given a CPU.
    pub slices: u64,
}

/// The scheduler's account of one thread (`/proc/PID/task/TID/schedstat`).
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] when the kernel keeps no such account.
pub fn schedstat(pid: Pid, tid: Tid) -> Result<SchedStat> {
    let bytes = thread_file(pid, tid, "schedstat")?;
    let text = String::from_utf8_lossy(&bytes);
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(on_cpu_ns)), Some(Ok(run_queue_ns)), Some(Ok(slices))) => {
            Ok(SchedStat { on_cpu_ns, run_queue_ns, slices })
        }
        _ => Err(Error::Kernel {
            path: format!("/proc/{pid}/task/{tid}/schedstat"),
            why: "three numbers",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pid, Stat, State, ThreadState, Tid, schedstat, start_time};

    #[test]
    fn what_a_thread_does_is_read_again_from_its_open_file() {
        let pid = Pid(std::process::id());
        let own = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        let state = ThreadState::open(pid, Tid(own)).unwrap();
        assert_eq!([state.read(), state.read()], [Some(State::Running); 2]);
        let (number, numbers) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            number.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            ends.recv().ok();
        });
        let tid = u32::try_from(numbers.recv().unwrap()).unwrap();
        let state = ThreadState::open(pid, Tid(tid)).unwrap();
        while state.read() != Some(State::Sleeping) {
            std::thread::yield_now();
        }
        drop(end);
        other.join().unwrap();
        assert_eq!(state.read(), None, "it has ended");
    }

    #[test]
    fn a_name_may_hold_brackets_and_spaces() {
        let line = b"42 (a) R (b) S 7 42 42 0 -1 0 11 0 12 0 13 14 0 0 20 0 3 0 999 0 0\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.comm, "a) R (b");
        assert_eq!((stat.state, stat.parent, stat.threads), (State::Sleeping, Pid(7), 3));
        assert_eq!((stat.minor_faults, stat.major_faults), (11, 12));
        assert_eq!((stat.user_ticks, stat.system_ticks, stat.start_ticks), (13, 14, 999));
    }

    #[test]
    fn a_cut_line_is_none() {
        assert_eq!(Stat::parse(b"42 (a) S 7 42"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn we_have_run_and_were_started() {
        let us = Pid(std::process::id());
        assert!(schedstat(us, Tid(us.0)).unwrap().slices > 0);
        assert!(!start_time(us).unwrap().is_zero());
    }
}
