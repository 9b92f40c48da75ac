//! What only /proc and the cgroup files know, read again and again by a thread of its own.
//!
//! - The scheduler's account of every recorded thread: the oracle. A thread's last account before
//!   its exit counts, because after it there is none.
//! - Memory, I/O and allowed CPUs of processes, counters of the cgroup, what the machine's CPUs did.
//! - Datagrams that were dropped because a process's socket was full.
//! - In processes that both listen and connect: which sockets each thread polls.
//! - Where kernel stacks may not be recorded: what each thread waits in.
//!
//! Each round takes the time that it takes; the pause after it is so long that polling stays under
//! two per cent of a CPU.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use culprit_kernel::Task;
use culprit_model::{Tid, counter_names as names};
use culprit_place::procfs::{self, State};
use culprit_place::{Counters, Pid};

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::enrich::bytecode::{Bytecode, BytecodeLoop};
use crate::enrich::datagrams::{DatagramDrops, Dropped};
use crate::enrich::interpreters::Interpreted;
use crate::enrich::joined::{Cgroups, JoinedCgroup};
use crate::enrich::managed::ManagedNews;
use crate::events::sockets::{PolledSockets, ServerAndClient, polled_sockets};
use crate::session::subjects::processes_with_threads;
use crate::symbolize::modules::kernel_pid;

/// What was read, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// `CLOCK_MONOTONIC`, ns.
    pub(crate) at: u64,
    /// What.
    pub(crate) what: Polled,
}

/// One thing that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Polled {
    /// A thread's account: time on a CPU and time ready, ns.
    Account {
        /// Whose.
        task: Task,
        /// How long reading took, ns.
        took: u64,
        /// Time on a CPU since the thread's start, ns.
        on_cpu: u64,
        /// Time ready since the thread's start, ns.
        ready: u64,
    },
    /// A number of a process, or of the cgroup or machine.
    Counter {
        /// Whose; none for the cgroup and the machine.
        pid: Option<i32>,
        /// One of the model's names.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// Recorded processes have joined a cgroup that has no events yet.
    Joined(JoinedCgroup),
    /// The recorded threads that live, where no event tells of births and deaths.
    Living(Vec<Task>),
    /// What an interpreter runs on a thread.
    Interpreted {
        /// Which thread.
        task: Task,
        /// How long reading took, ns.
        took: u64,
        /// The outermost first.
        frames: Arc<[Interpreted]>,
        /// The thread ran on meanwhile: they are the outermost, and what they call is not known.
        ran_on: bool,
    },
    /// Functions of an interpreter that were met in a process.
    Bytecode {
        /// The process.
        pid: i32,
        /// The function of native code that runs them.
        runner: BytecodeLoop,
        /// They, with where their instructions are.
        functions: Vec<Bytecode>,
    },
    /// What code a process's runtime has made.
    Managed {
        /// The process.
        pid: i32,
        /// What is new.
        news: ManagedNews,
    },
    /// What a thread polls whose process both listens and connects.
    Polls {
        /// Which thread.
        task: Task,
        /// The sockets.
        sockets: PolledSockets,
    },
    /// Why an interpreter was not read as long as its process lived, in words.
    NeverRead(String),
    /// An interpreter that cannot be read.
    Unread {
        /// Its process.
        pid: i32,
        /// Why, in words.
        why: String,
    },
    /// What a thread is doing.
    Doing {
        /// Who.
        task: Task,
        /// State letter.
        state: char,
        /// System call that it is blocked in.
        syscall: Option<u32>,
        /// Kernel function that it waits in.
        wchan: Option<String>,
        /// What the call's descriptor leads to.
        file: Option<String>,
    },
}

/// The recorded threads that live, as the worker knows them.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    tasks: Mutex<Arc<[Task]>>,
    servers_and_clients: Mutex<Vec<ServerAndClient>>,
}

impl Roster {
    /// Replaces the list.
    pub(crate) fn set(&self, tasks: Vec<Task>) {
        *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks.into();
    }

    /// The list: another allocation after each change.
    pub(crate) fn get(&self) -> Arc<[Task]> {
        Arc::clone(&self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the processes that both listen and connect.
    pub(crate) fn set_servers_and_clients(&self, processes: Vec<ServerAndClient>) {
        *self.servers_and_clients.lock().unwrap_or_else(PoisonError::into_inner) = processes;
    }

    fn servers_and_clients(&self) -> Vec<ServerAndClient> {
        self.servers_and_clients.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads on behalf of a recording.
pub(crate) struct Poller {
    /// Whom to read of.
    pub(crate) roster: Arc<Roster>,
    /// The recorded cgroup's files, and those that its processes join.
    pub(crate) cgroups: Cgroups,
    /// What was dropped for its processes.
    pub(crate) drops: DatagramDrops,
    /// Whether to look at what threads do.
    pub(crate) observe: bool,
    /// Processes whose descendants are to be listed, because no event tells of them.
    pub(crate) list_below: Vec<Pid>,
    /// Where readings go.
    pub(crate) out: Sender<Vec<Reading>>,
    /// Set to end polling.
    pub(crate) stop: Arc<AtomicBool>,
}

/// When each kind of reading is due.
#[derive(Debug, Clone, Copy, Default)]
struct Due {
    living: u64,
    memberships: u64,
    accounts: u64,
    counters: u64,
    processes: u64,
    datagrams: u64,
    polls: u64,
    observations: u64,
}

const MILLISECOND: u64 = 1_000_000;

impl Poller {
    /// Polls until told to stop; the last thing is one more round of accounts and counters.
    pub(crate) fn run(mut self) {
        let mut due = Due::default();
        while !self.stop.load(Ordering::Acquire) {
            let readings = self.round(&mut due);
            if !readings.is_empty() && self.out.send(readings).is_err() {
                return;
            }
            let pause = if self.observe { 5 } else { 20 };
            std::thread::park_timeout(Duration::from_millis(pause));
        }
        let readings = self.round(&mut Due { observations: u64::MAX, ..Due::default() });
        // Nobody listens when the worker has failed; it has said why.
        let _ = self.out.send(readings);
    }

    fn living(&self) -> Reading {
        let processes = processes_with_threads(&self.list_below).into_iter();
        let tasks = processes
            .flat_map(|(pid, tids)| tids.into_iter().map(move |tid| Task { pid, tid }))
            .collect();
        Reading { at: monotonic_ns(), what: Polled::Living(tasks) }
    }

    fn round(&mut self, due: &mut Due) -> Vec<Reading> {
        let tasks = self.roster.get();
        let mut readings = Vec::new();
        let mut pids: Vec<i32> = tasks.iter().map(|task| task.pid).collect();
        pids.dedup();
        every(&mut due.living, 20, || {
            if !self.list_below.is_empty() {
                readings.push(self.living());
            }
        });
        every(&mut due.observations, 5, || {
            if self.observe {
                readings.extend(tasks.iter().filter_map(|task| look(*task)));
            }
        });
        every(&mut due.accounts, 100, || {
            readings.extend(tasks.iter().filter_map(|task| account(*task)));
        });
        every(&mut due.memberships, 40, || {
            let joined = self.cgroups.look(&pids);
            let at = monotonic_ns();
            readings.extend(joined.into_iter().map(|j| Reading { at, what: Polled::Joined(j) }));
        });
        every(&mut due.counters, 200, || {
            readings.extend(self.cgroups.read().iter().flat_map(cgroup_counters));
            readings.extend(machine());
        });
        every(&mut due.processes, 200, || {
            readings.extend(pids.iter().copied().flat_map(status));
            readings.extend(pids.iter().copied().flat_map(io));
        });
        every(&mut due.datagrams, 200, || {
            readings.extend(self.drops.look(&pids).into_iter().flat_map(dropped));
        });
        every(&mut due.polls, 200, || {
            for process in self.roster.servers_and_clients() {
                let own = tasks.iter().filter(|task| task.pid == process.pid);
                readings.extend(own.filter_map(|task| polls(*task, &process)));
            }
        });
        readings
    }
}

/// Runs `read` when it is due, and sets when it is due again: after `milliseconds`, or after fifty
/// times the CPU time that it took.
fn every(due: &mut u64, milliseconds: u64, read: impl FnOnce()) {
    let begun = monotonic_ns();
    if begun < *due {
        return;
    }
    let before = thread_cpu_ns();
    read();
    let took = thread_cpu_ns().saturating_sub(before);
    *due = begun + (milliseconds * MILLISECOND).max(took.saturating_mul(50));
}

fn tid(task: Task) -> Tid {
    Tid(kernel_pid(task.tid).0)
}

/// A thread's account, with the time at which it was read.
pub(crate) fn account(task: Task) -> Option<Reading> {
    let began = monotonic_ns();
    let account = procfs::schedstat(kernel_pid(task.pid), tid(task)).ok()?;
    let (on_cpu, ready) = (account.on_cpu_ns, account.run_queue_ns);
    let at = monotonic_ns();
    let took = at.saturating_sub(began);
    Some(Reading { at, what: Polled::Account { task, took, on_cpu, ready } })
}

/// What a thread polls; none for one that polls no internet socket.
fn polls(task: Task, process: &ServerAndClient) -> Option<Reading> {
    let sockets = polled_sockets(task, &process.ports);
    let found = sockets != PolledSockets::default();
    found.then(|| Reading { at: monotonic_ns(), what: Polled::Polls { task, sockets } })
}

fn look(task: Task) -> Option<Reading> {
    let pid = kernel_pid(task.pid);
    let stat = procfs::thread_stat(pid, tid(task)).ok()?;
    let waits = !matches!(stat.state, State::Running);
    let syscall = if waits { blocked_call(task) } else { None };
    let what = Polled::Doing {
        task,
        state: letter(stat.state),
        syscall: syscall.as_ref().map(|call| call.number),
        wchan: if waits { procfs::wait_channel(pid, tid(task)).ok().flatten() } else { None },
        file: syscall.and_then(|call| call.file),
    };
    Some(Reading { at: monotonic_ns(), what })
}

/// The letter that /proc showed.
const fn letter(state: State) -> char {
    match state {
        State::Running => 'R',
        State::Sleeping => 'S',
        State::Uninterruptible => 'D',
        State::Stopped => 'T',
        State::Ended => 'Z',
        State::Idle => 'I',
        _ => '?',
    }
}

/// A system call that a thread is blocked in.
struct BlockedCall {
    number: u32,
    file: Option<String>,
}

/// `/proc/PID/task/TID/syscall`: number, then arguments in hex; `running` or -1 else. When the
/// first argument could be a descriptor, what that leads to is read too.
fn blocked_call(task: Task) -> Option<BlockedCall> {
    let Task { pid, tid } = task;
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let first = words.next().and_then(|word| word.strip_prefix("0x"));
    let descriptor = first.and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let link = descriptor.and_then(|fd| std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok());
    Some(BlockedCall { number, file: link.map(|path| path.to_string_lossy().into_owned()) })
}

fn cgroup_counters(counters: &Counters) -> Vec<Reading> {
    let at = monotonic_ns();
    let named = counters.named();
    named.map(|(name, value)| counter(at, None, name, value)).collect()
}

/// Counting begins with a zero, because the first reading of a process is else where its counter starts.
fn dropped(one: Dropped) -> impl Iterator<Item = Reading> {
    let at = monotonic_ns();
    let values = [Some(0).filter(|_| one.earlier == 0), Some(one.now)];
    let drops = values.into_iter().flatten();
    drops.map(move |value| counter(at, Some(one.pid), names::DATAGRAM_DROPS, value))
}

fn counter(at: u64, pid: Option<i32>, name: &'static str, value: u64) -> Reading {
    Reading { at, what: Polled::Counter { pid, name, value } }
}

/// Columns of the line `cpu` (proc_stat(5)) in which a CPU works for somebody: user, nice, system, irq, softirq. A
/// guest's time is in user, too.
const BUSY: [usize; 5] = [1, 2, 3, 6, 7];
/// The column of the time that a hypervisor took.
const STEAL: usize = 8;

/// What the machine's CPUs did, by the line `cpu` of `/proc/stat`.
fn machine() -> Vec<Reading> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let at = monotonic_ns();
    let named = machine_times(&text).into_iter().flatten();
    named.map(|(name, value)| counter(at, None, name, value)).collect()
}

/// The machine's counters, ns; none for a line that lacks a column. The kernel counts in hundredths of a second.
fn machine_times(text: &str) -> Option<[(&'static str, u64); 2]> {
    let columns: Vec<&str> = text.lines().next()?.split_whitespace().collect();
    let ns =
        |at: &usize| Some(columns.get(*at)?.parse::<u64>().ok()?.saturating_mul(10 * MILLISECOND));
    let busy = BUSY.iter().map(ns).sum::<Option<u64>>()?;
    Some([(names::MACHINE_CPU_NS, busy), (names::STEAL_NS, ns(&STEAL)?)])
}

/// Lines of `/proc/PID/status` (kB) and of `/proc/PID/io`, and the names that they get.
const STATUS: [(&str, &str); 4] = [
    ("RssAnon", names::RSS_ANON_BYTES),
    ("RssFile", names::RSS_FILE_BYTES),
    ("RssShmem", names::RSS_SHMEM_BYTES),
    ("VmSwap", names::SWAP_BYTES),
];
const IO: [(&str, &str); 6] = [
    ("rchar", names::IO_READ_BYTES),
    ("wchar", names::IO_WRITE_BYTES),
    ("syscr", names::IO_READS),
    ("syscw", names::IO_WRITES),
    ("read_bytes", names::IO_DISK_READ_BYTES),
    ("write_bytes", names::IO_DISK_WRITE_BYTES),
];

fn process_file(pid: i32, name: &str) -> String {
    let Pid(number) = kernel_pid(pid);
    std::fs::read_to_string(format!("/proc/{number}/{name}")).unwrap_or_default()
}

/// What a process has in memory, and how many CPUs it may use.
fn status(pid: i32) -> Vec<Reading> {
    let status = process_file(pid, "status");
    let at = monotonic_ns();
    let memory = values(&status, &STATUS).map(|(name, kib)| (name, kib.saturating_mul(1024)));
    let allowed = procfs::allowed_cpus(&status).map(|cpus| (names::ALLOWED_CPUS, cpus.into()));
    memory.chain(allowed).map(|(name, value)| counter(at, Some(pid), name, value)).collect()
}

fn io(pid: i32) -> Vec<Reading> {
    let io = process_file(pid, "io");
    let at = monotonic_ns();
    values(&io, &IO).map(|(name, value)| counter(at, Some(pid), name, value)).collect()
}

/// The numbers of the lines `key: number` that are wanted.
fn values<'a>(
    text: &'a str,
    wanted: &'a [(&'static str, &'static str)],
) -> impl Iterator<Item = (&'static str, u64)> + 'a {
    text.lines().filter_map(move |line| {
        let (key, rest) = line.split_once(':')?;
        let (_, name) = wanted.iter().find(|(known, _)| *known == key)?;
        Some((*name, rest.split_whitespace().next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_works_without_its_idle_and_stolen_time() {
        let text = "cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 50 10 15 2000 250 3 3 4 45 0\n";
        let named = machine_times(text).unwrap();
        assert_eq!(named[0], (names::MACHINE_CPU_NS, 163 * 10 * MILLISECOND));
        assert_eq!(named[1], (names::STEAL_NS, 80 * MILLISECOND));
        assert_eq!(machine_times("cpu 1 2\n"), None);
    }

    #[test]
    fn wanted_lines_are_picked() {
        let io = "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\n\
            cancelled_write_bytes: 0\n";
        let found: Vec<_> = values(io, &IO).collect();
        assert_eq!(found.len(), 6);
        assert_eq!(found[5], (names::IO_DISK_WRITE_BYTES, 4096));
    }

    #[test]
    fn our_own_thread_has_an_account_and_a_state() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let task = Task { pid, tid: pid };
        assert!(account(task).is_some());
        assert!(matches!(look(task), Some(Reading { what: Polled::Doing { .. }, .. })));
    }
}
