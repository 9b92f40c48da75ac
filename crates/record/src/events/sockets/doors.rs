//! Where programs listen and whom they connect to first: marks of every recording.
//!
//! A program that waits for requests and one that waits for nothing look the same to the scheduler.
//! One tracepoint tells them apart, filtered to two states of TCP sockets that a program enters a few
//! times in its life. Unix sockets have none. Source: net/ipv4/inet_connection_sock.c
//! `inet_csk_listen_start`, net/ipv4/tcp_ipv4.c `tcp_v4_connect`.
//!
//! Of a process that does both, the poller finds out which thread polls which sockets (`polled`).

use std::collections::BTreeSet;
use std::net::SocketAddr;

use culprit_kernel::Task;
use culprit_kernel::tracepoint::{Field, Tracepoint};
use culprit_model::{Mark, MarkKind, ProcessId, Text, ThreadId, Time};
use rustc_hash::{FxHashMap, FxHashSet};

use super::PolledSockets;
use super::points::{SYN_SENT, TCP, address, port};
use crate::events::attr::{EventSpec, Fields, Rate, Role, Source, Watch};
use crate::events::decode::Sample;
use crate::events::extras::opens;
use crate::events::handle::Handler;
use crate::events::tracefs::Tracefs;
use crate::session::ladder::{Errno, Rights};

/// `TCP_LISTEN` (include/net/tcp_states.h).
const LISTEN: u64 = 10;

/// The tracepoint, where it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoorPoint {
    id: u64,
    /// What its records hold.
    pub(crate) fields: DoorFields,
}

/// Where records keep what they tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoorFields {
    state: Field,
    local: End,
    remote: End,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    address: Field,
    port: Field,
}

impl DoorPoint {
    /// Finds the tracepoint and tries it.
    ///
    /// # Errors
    /// The kernel's answer; `ENOENT` where it has no such tracepoint.
    pub(crate) fn find(rights: &Rights, cpu: u32) -> Result<Self, Errno> {
        rights.kernel?;
        let point = Tracefs::open()?.tracepoint("sock", "inet_sock_set_state")?;
        let fields = DoorFields::of(&point).ok_or(Errno(libc::EINVAL))?;
        let found = Self { id: point.id, fields };
        opens(&found.event(), rights, cpu)?;
        Ok(found)
    }

    /// The event.
    pub(crate) fn event(&self) -> EventSpec {
        let states = format!("newstate == {LISTEN} || newstate == {SYN_SENT}");
        EventSpec {
            role: Role::Door,
            source: Source::Tracepoint(self.id),
            rate: Rate::Every(1),
            fields: Fields { raw: true, ..Fields::default() },
            watch: Watch::Target,
            kernel: true,
            kernel_chain_only: false,
            filter: Some(format!("protocol == {TCP} && ({states})")),
        }
    }
}

impl DoorFields {
    fn of(point: &Tracepoint) -> Option<Self> {
        let end = |address: &str, port: &str| {
            Some(End { address: point.field(address)?, port: point.field(port)? })
        };
        Some(Self {
            state: point.field("newstate")?,
            local: end("saddr_v6", "sport")?,
            remote: end("daddr_v6", "dport")?,
        })
    }

    /// What a record says, and the address on which the program listens or to which it connects.
    fn read(&self, raw: &[u8]) -> Option<(MarkKind, SocketAddr)> {
        let (kind, end) = match self.state.read(raw)? {
            LISTEN => (MarkKind::Listen, self.local),
            _ => (MarkKind::Connect, self.remote),
        };
        Some((kind, SocketAddr::new(address(end.address, raw)?, port(end.port, raw)?)))
    }
}

/// A process that both listens and connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAndClient {
    /// Its number.
    pub(crate) pid: i32,
    /// The ports that it listens on.
    pub(crate) ports: BTreeSet<u16>,
}

/// What is known of the processes that listen or connect.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    listening: FxHashMap<ProcessId, ServerAndClient>,
    connected: FxHashSet<ProcessId>,
    /// What each thread polls, as far as it is marked.
    polls: FxHashSet<(ThreadId, MarkKind)>,
    changed: bool,
}

impl Doors {
    /// True for the first time that a process connects.
    fn connects(&mut self, process: ProcessId) -> bool {
        let is_first = self.connected.insert(process);
        self.changed |= is_first;
        is_first
    }

    fn listens(&mut self, (process, pid): (ProcessId, i32), port: u16) {
        let new = || ServerAndClient { pid, ports: BTreeSet::new() };
        self.changed |= self.listening.entry(process).or_insert_with(new).ports.insert(port);
    }

    /// The processes that do both; none where they are the same as at the last call.
    pub(crate) fn take_changes(&mut self) -> Option<Vec<ServerAndClient>> {
        std::mem::take(&mut self.changed).then(|| {
            let both = self.listening.iter().filter(|(id, _)| self.connected.contains(*id));
            both.map(|(_, process)| process.clone()).collect()
        })
    }
}

impl Handler {
    /// What a thread of a process that both listens and connects was seen to poll.
    pub(crate) fn polls(&mut self, task: Task, sockets: PolledSockets, time: Time) {
        let Some(thread) = self.tracker.recorded(task.tid) else { return };
        let Some(process) = self.tracker.process_of(task.pid) else { return };
        let kinds =
            [(MarkKind::PollRequests, sockets.requests), (MarkKind::PollAnswers, sockets.answers)];
        for (kind, address) in kinds {
            let Some(address) = address.filter(|_| self.doors.polls.insert((thread, kind))) else {
                continue;
            };
            let text = Text::from(address.to_string());
            self.tracker.mark(Mark { time, kind, process, thread: Some(thread), text });
        }
    }

    /// A program listens or connects; of connections each process's first is kept.
    pub(crate) fn door(&mut self, sample: &Sample<'_>, time: Time) {
        let told = self.context.doors.and_then(|fields| fields.read(sample.raw));
        let Some((kind, address)) = told else { return };
        let thread = self.seen(sample.task, time);
        let Some(process) = self.tracker.process_of(sample.task.pid) else { return };
        match kind {
            MarkKind::Listen => self.doors.listens((process, sample.task.pid), address.port()),
            _ if !self.doors.connects(process) => return,
            _ => {}
        }
        let text = Text::from(address.to_string());
        self.tracker.mark(Mark { time, kind, process, thread: Some(thread), text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_tells_this_end_and_connecting_the_other() {
        let mut raw = [0_u8; 48];
        let field = |offset, size| Field { offset, size };
        let fields = DoorFields {
            state: field(0, 4),
            local: End { address: field(16, 16), port: field(4, 2) },
            remote: End { address: field(32, 16), port: field(6, 2) },
        };
        raw[0] = 10;
        raw[4..6].copy_from_slice(&8080_u16.to_le_bytes());
        raw[6..8].copy_from_slice(&5432_u16.to_le_bytes());
        raw[32..48].copy_from_slice(&std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
        let told = |raw: &[u8]| fields.read(raw).map(|(kind, at)| (kind, at.to_string()));
        assert_eq!(told(&raw), Some((MarkKind::Listen, "[::]:8080".to_owned())));
        raw[0] = 2;
        assert_eq!(told(&raw), Some((MarkKind::Connect, "127.0.0.1:5432".to_owned())));
        assert_eq!(told(&raw[..20]), None);
    }

    #[test]
    fn processes_that_listen_and_connect_are_listed_when_something_is_new() {
        let (server, client, both) = (ProcessId(0), ProcessId(1), ProcessId(2));
        let mut doors = Doors::default();
        assert_eq!(doors.take_changes(), None);
        doors.listens((server, 10), 80);
        assert!(doors.connects(client));
        assert!(doors.connects(both));
        doors.listens((both, 12), 81);
        let ports = BTreeSet::from([81]);
        assert_eq!(doors.take_changes(), Some(vec![ServerAndClient { pid: 12, ports }]));
        assert!(!doors.connects(both));
        doors.listens((both, 12), 81);
        assert_eq!(doors.take_changes(), None);
    }

    #[test]
    fn what_a_thread_polls_is_marked_once() {
        let mut handler = Handler::new(crate::events::handle::Context::default());
        let task = Task { pid: 10, tid: 11 };
        handler.switch_in(task, 1, Time(10));
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let sockets = PolledSockets { requests: Some(address), answers: None };
        handler.polls(task, sockets, Time(20));
        handler.polls(task, PolledSockets { answers: Some(address), ..sockets }, Time(30));
        handler.polls(Task { pid: 20, tid: 20 }, sockets, Time(40));
        let marks = handler.tracker.take_marks();
        let told: Vec<_> = marks.iter().map(|m| (m.time, m.kind, m.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Time(20), MarkKind::PollRequests, "127.0.0.1:80"),
                (Time(30), MarkKind::PollAnswers, "127.0.0.1:80"),
            ]
        );
    }
}
