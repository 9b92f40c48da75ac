//! Who offers something on a TCP socket, and which waits are for requests.
//!
//! A server that nobody asks and a program that waits for nothing look the same to the scheduler; the
//! recorder's marks of listening and connecting tell them apart. In a process that does both, marks say
//! which thread polls which sockets: an HTTP client's thread that polls only connections of its own waits
//! for answers, even where other threads have made these connections.
//!
//! ```text
//! listens   .L....................    marks of the process
//! connects  ......................    none: nobody that is recorded asks
//! work      ##....................    hardly any once it listens
//!             ^^^^^^^^^^^^^^^^^^^^    what passes here is the wait for requests
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, MarkKind, ProcessId, Recording, Text, ThreadId, Time};

use super::Family;
use super::relation::executed;
use super::stacks::{Stacks, WaitKind};
use super::work::Work;

/// Share of the time since it listens up to which a program that nobody asks may work: its start, its
/// end, a heartbeat. At double, a program that pauses in its own work and has a port for its metrics
/// counts as idle; at half, an interpreter's start of 200 ms does not fit into a run of 4 s.
const MAX_WORKING: f64 = 0.05;

/// Processes that listen, and threads that ask others.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// Since when each listens, and where.
    listens: BTreeMap<ProcessId, (Time, Text)>,
    /// Threads that connect to somewhere, or wait for what others of their process have asked for.
    asking: BTreeSet<ThreadId>,
    /// The processes of these.
    asking_processes: BTreeSet<ProcessId>,
    /// The ports that each process has connected to.
    connected: BTreeMap<ProcessId, BTreeSet<Text>>,
}

/// The port of an address such as `*:5432` or `[::1]:80`.
fn port(address: &str) -> Text {
    address.rsplit_once(':').map_or(address, |(_, port)| port).into()
}

impl Serving {
    /// Reads the marks.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut serving = Self::default();
        let (mut poll_answers, mut poll_requests) = (BTreeSet::new(), BTreeSet::new());
        for mark in &recording.marks {
            if mark.kind == MarkKind::Connect {
                serving.connected.entry(mark.process).or_default().insert(port(&mark.text));
            }
            match (mark.kind, mark.thread) {
                (MarkKind::Listen, _) => {
                    let first = (mark.time, mark.text.clone());
                    serving.listens.entry(mark.process).or_insert(first);
                }
                (MarkKind::Connect, Some(thread)) => {
                    serving.asking.insert(thread);
                }
                (MarkKind::PollAnswers, Some(thread)) => {
                    poll_answers.insert(thread);
                }
                (MarkKind::PollRequests, Some(thread)) => {
                    poll_requests.insert(thread);
                }
                _ => {}
            }
        }
        serving.inherit(recording);
        serving.asking.extend(poll_answers.difference(&poll_requests));
        let processes = serving.asking.iter().map(|thread| recording.thread(*thread).process);
        serving.asking_processes = processes.collect();
        serving
    }

    /// A server's workers that are copies of it serve what it listens for. Parents come before their children.
    fn inherit(&mut self, recording: &Recording) {
        let executed = executed(recording);
        for (at, process) in recording.processes.iter().enumerate() {
            let id = ProcessId::from_index(at);
            let of_parent = process.parent.and_then(|parent| self.listens.get(&parent));
            let copied = of_parent.filter(|(since, _)| *since <= process.start);
            if let Some(listens) = copied.filter(|_| !executed.contains_key(&id)).cloned() {
                self.listens.entry(id).or_insert(listens);
            }
        }
    }

    /// True where nobody is known to listen.
    pub(crate) fn is_nobody(&self) -> bool {
        self.listens.is_empty()
    }

    /// True for a process that listens.
    pub(crate) fn listens(&self, process: ProcessId) -> bool {
        self.listens.contains_key(&process)
    }

    /// True for a process that listens and asks others, such as a proxy or a pool of connections.
    pub(crate) fn listens_and_asks(&self, process: ProcessId) -> bool {
        self.listens(process) && self.asking_processes.contains(&process)
    }

    /// True where a process has connected to the port that another one listens at.
    pub(crate) fn is_client_of(&self, client: ProcessId, server: ProcessId) -> bool {
        let ports = self.connected.get(&client);
        let listens = self.listens.get(&server);
        listens.zip(ports).is_some_and(|((_, address), ports)| ports.contains(&port(address)))
    }

    /// Where a process listens that a wait for requests is of: for connections or for events of any kind,
    /// by a thread that itself asks nobody; for data, in a process that asks nobody.
    pub(crate) fn for_requests(
        &self,
        recording: &Recording,
        stacks: &Stacks,
        wait: &Interval,
    ) -> Option<&Text> {
        let process = recording.thread(wait.thread).process;
        let (since, address) = self.listens.get(&process)?;
        let waits = match wait.cause {
            Cause::Net if stacks.in_family(wait.stack, Family::Accept) => true,
            // Where no thread of a process asks anybody, what it receives is what others ask.
            Cause::Net => {
                !stacks.writes(wait.stack)
                    && !stacks.in_family(wait.stack, Family::Connect)
                    && !self.asking_processes.contains(&process)
            }
            // A database's backend polls its latch also while another one has the row that it needs.
            cause => cause == Cause::Poll && stacks.wait_kind(wait.stack) != Some(WaitKind::Mutex),
        };
        (waits && *since <= wait.start && !self.asking.contains(&wait.thread)).then_some(address)
    }

    /// Since when and where a program listens that nobody asks for anything until `end`.
    pub(crate) fn unasked(&self, work: &Work, end: Time) -> Option<(Time, &Text)> {
        let (since, address) = self.listens.values().min().filter(|_| self.asking.is_empty())?;
        let worked = work.with_at_least(1, *since, end);
        (worked.share_of(end.since(*since)) <= MAX_WORKING).then_some((*since, address))
    }
}
