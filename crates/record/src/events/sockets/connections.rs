//! Connections by the kernel's addresses of their sockets.
//!
//! An address leads to another connection as soon as its socket is closed, so a connection is new
//!
//! - when a TCP socket connects, has another cookie than before, or sends after it was closed
//! - when a Unix socket is used by another process, or after its end was received.
//!
//! What it is may be known only after its first bytes: the ports of a TCP connection that was open
//! before the recording with its first receive, and whether a Unix socket has an other side that
//! answers (or takes datagrams) with its first bytes the other way. Until then its first bytes are
//! held back. Memory: one entry for each address that sockets had.

use std::net::SocketAddr;

use culprit_model::{ActivityEdge, ActivitySource, EdgeKind, Text, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::points::{ToldAddress, ToldPassed, ToldState};
use super::{SocketActivity, SocketSide, Way};

/// Bytes that a thread sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) told: ToldPassed,
    pub(super) way: Way,
    /// The thread's process.
    pub(super) pid: i32,
    pub(super) thread: ThreadId,
    pub(super) time: Time,
}

/// The connections of recorded processes.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// With their names.
    wanted: Vec<(SocketActivity, Text)>,
    by_socket: FxHashMap<u64, Connection>,
    /// How many have a key so far.
    keyed: u32,
}

#[derive(Debug, Clone, Default)]
struct Connection {
    unix: bool,
    /// Of a Unix socket, who uses it.
    pid: i32,
    /// Of a TCP socket, once it has received.
    cookie: Option<u64>,
    /// Ports and the other side, once they are known; a client's own port may be 0.
    address: Option<(u16, SocketAddr)>,
    /// The kernel has told the address since the last receive.
    told: bool,
    /// Which way the first bytes passed.
    first: Option<Way>,
    /// The first bytes, while it is not known what the connection is.
    held: Option<(Way, ThreadId, Time)>,
    /// Bytes have passed either way.
    both: bool,
    /// Nothing more is sent, or received if it is a Unix socket.
    ended: bool,
    key: Option<Text>,
}

impl Connections {
    /// No connection so far, for these activities.
    pub(crate) fn new(wanted: Vec<SocketActivity>) -> Self {
        let named = |activity: SocketActivity| {
            let name = Text::from(activity.name.as_str());
            (activity, name)
        };
        Self { wanted: wanted.into_iter().map(named).collect(), ..Self::default() }
    }

    /// A TCP socket connects or closes.
    pub(super) fn state(&mut self, told: ToldState) {
        match told {
            ToldState::Connects(socket, remote) => {
                let connection = Connection { address: Some((0, remote)), ..Connection::default() };
                self.by_socket.insert(socket, connection);
            }
            ToldState::Ends(socket) => {
                if let Some(known) = self.by_socket.get_mut(&socket) {
                    known.ended = true;
                }
            }
        }
    }

    /// The kernel tells what a TCP socket is connected to, just before a receive.
    pub(super) fn addressed(&mut self, told: ToldAddress) {
        let known = self.by_socket.entry(told.socket).or_default();
        if known.unix || known.cookie.is_some_and(|cookie| cookie != told.cookie) {
            *known = Connection::default();
        }
        known.cookie = Some(told.cookie);
        known.address = Some((told.local_port, told.remote));
        known.told = true;
    }

    /// A thread sent or received: what it says of the wanted activities goes to `edges`.
    pub(super) fn passed(&mut self, passed: Passed, edges: &mut Vec<ActivityEdge>) {
        let Passed { told, way, thread, time, .. } = passed;
        let known = self.by_socket.entry(told.socket).or_default();
        if told.ended {
            known.ended |= known.unix;
            return;
        }
        if known.is_over(&passed) {
            *known = Connection::default();
        }
        (known.unix, known.pid) = (told.unix, passed.pid);
        let untold = way == Way::Received && !std::mem::take(&mut known.told);
        if untold && !told.unix && self.wanted.iter().all(|(activity, _)| activity.port.is_some()) {
            // The kernel tells of the wanted ports only, so this is another connection.
            self.by_socket.remove(&told.socket);
            return;
        }
        known.both |= *known.first.get_or_insert(way) != way;
        if !known.is_known() {
            known.held.get_or_insert((way, thread, time));
            return;
        }
        let held = known.held.take();
        for bytes in held.into_iter().chain([(way, thread, time)]) {
            self.tell(told.socket, bytes, edges);
        }
    }

    fn tell(&mut self, socket: u64, bytes: (Way, ThreadId, Time), edges: &mut Vec<ActivityEdge>) {
        let Some(known) = self.by_socket.get_mut(&socket) else { return };
        let (way, thread, time) = bytes;
        for (activity, name) in &self.wanted {
            if known.is_wanted(activity) {
                edges.push(ActivityEdge {
                    time,
                    thread,
                    kind: activity.side.edge(way),
                    name: name.clone(),
                    key: Some(known.key(&mut self.keyed)),
                    source: activity.side.source(),
                });
            }
        }
    }
}

impl Connection {
    /// Whether these bytes are of another connection whose socket has the same address.
    fn is_over(&self, passed: &Passed) -> bool {
        let fresh = self.first.is_none();
        if fresh && self.address.is_none() {
            return false;
        }
        if passed.told.unix != self.unix {
            return true;
        }
        if self.unix {
            // Who served may still answer what was received before the end.
            let answers = passed.way == Way::Sent && self.first == Some(Way::Received);
            self.pid != passed.pid || (self.ended && !answers)
        } else {
            self.ended && passed.way == Way::Sent
        }
    }

    /// Whether it is known what its bytes mean.
    fn is_known(&self) -> bool {
        if self.unix { self.both } else { self.address.is_some() }
    }

    /// The other side and a number, which no other connection has.
    fn key(&mut self, keyed: &mut u32) -> Text {
        let key = self.key.get_or_insert_with(|| {
            *keyed += 1;
            match self.address {
                Some((_, remote)) => Text::from(format!("{remote} #{keyed}")),
                None => Text::from(format!("unix #{keyed}")),
            }
        });
        key.clone()
    }

    fn is_wanted(&self, activity: &SocketActivity) -> bool {
        match (activity.port, self.address) {
            (Some(port), Some((local, remote))) => match activity.side {
                SocketSide::Serve => local == port,
                SocketSide::Call => remote.port() == port,
            },
            (Some(_), None) => false,
            (None, _) => self.first.is_some_and(|first| activity.side.edge(first) == EdgeKind::Ask),
        }
    }
}

impl SocketSide {
    /// What bytes that passed this way are.
    fn edge(self, way: Way) -> EdgeKind {
        match (self, way) {
            (Self::Serve, Way::Received) | (Self::Call, Way::Sent) => EdgeKind::Ask,
            (Self::Serve, Way::Sent) | (Self::Call, Way::Received) => EdgeKind::Answer,
        }
    }

    fn source(self) -> ActivitySource {
        match self {
            Self::Serve => ActivitySource::Serve,
            Self::Call => ActivitySource::Call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: u64 = 0xffff_8881_0000_0040;

    /// What the kernel tells of one address of a socket, at growing times.
    struct Told {
        connections: Connections,
        edges: Vec<ActivityEdge>,
        now: u64,
    }

    impl Told {
        fn of(wanted: &[(SocketSide, Option<u16>)]) -> Self {
            let wanted = wanted.iter().map(|&(side, port)| {
                let name = if side == Serve { "serve" } else { "call" }.to_owned();
                SocketActivity { name, side, port }
            });
            Self { connections: Connections::new(wanted.collect()), edges: Vec::new(), now: 0 }
        }

        fn passed(&mut self, way: Way, unix: bool, pid: i32) -> &mut Self {
            self.now += 1;
            let told = ToldPassed { socket: SOCKET, unix, ended: false };
            let (thread, time) = (ThreadId(0), Time(self.now));
            let passed = Passed { told, way, pid, thread, time };
            self.connections.passed(passed, &mut self.edges);
            self
        }

        fn sent(&mut self) -> &mut Self {
            self.passed(Way::Sent, false, 1)
        }

        /// A receive on a TCP socket, as it is traced.
        fn received(&mut self, cookie: u64, local_port: u16, remote_port: u16) -> &mut Self {
            let remote = SocketAddr::from(([127, 0, 0, 1], remote_port));
            let told = ToldAddress { socket: SOCKET, cookie, local_port, remote };
            self.connections.addressed(told);
            self.passed(Way::Received, false, 1)
        }

        fn connects(&mut self, port: u16) -> &mut Self {
            let remote = SocketAddr::from(([127, 0, 0, 1], port));
            self.connections.state(ToldState::Connects(SOCKET, remote));
            self
        }

        fn closes(&mut self) -> &mut Self {
            self.connections.state(ToldState::Ends(SOCKET));
            self
        }

        fn end_received(&mut self) -> &mut Self {
            let told = ToldPassed { socket: SOCKET, unix: true, ended: true };
            let (thread, time) = (ThreadId(0), Time(self.now));
            let passed = Passed { told, way: Way::Received, pid: 1, thread, time };
            self.connections.passed(passed, &mut self.edges);
            self
        }

        /// Edges as `time name kind number-of-connection`.
        fn shown(&self) -> Vec<String> {
            let show = |edge: &ActivityEdge| {
                let key = edge.key.as_deref().unwrap_or_default();
                let number = key.rsplit('#').next().unwrap_or_default();
                format!("{} {} {} {number}", edge.time.0, edge.name, edge.kind)
            };
            self.edges.iter().map(show).collect()
        }
    }

    use SocketSide::{Call, Serve};

    #[test]
    fn a_server_is_known_by_its_own_port_and_a_client_by_the_others() {
        let mut told = Told::of(&[(Serve, Some(80)), (Call, Some(5432))]);
        told.received(1, 80, 40_000).sent();
        assert_eq!(told.shown(), ["1 serve ask 1", "2 serve answer 1"]);
        assert_eq!(told.edges[0].key.as_deref(), Some("127.0.0.1:40000 #1"));
        told.edges.clear();
        told.connects(5432).sent().received(2, 40_001, 5432);
        assert_eq!(told.shown(), ["3 call ask 2", "4 call answer 2"]);
    }

    #[test]
    fn of_other_ports_nothing_is_told() {
        let mut told = Told::of(&[(Serve, Some(80))]);
        told.received(1, 80, 40_000).sent();
        // The kernel was asked for port 80, so of this connection only the receive is told.
        told.passed(Way::Received, false, 1).sent();
        told.connects(80).sent().received(3, 40_002, 80);
        assert_eq!(told.shown().len(), 2);
    }

    #[test]
    fn what_was_sent_before_the_ports_were_known_is_told_then() {
        let mut told = Told::of(&[(Call, Some(80))]);
        told.sent().sent();
        assert!(told.edges.is_empty());
        told.received(1, 40_000, 80).sent();
        assert_eq!(told.shown(), ["1 call ask 1", "3 call answer 1", "4 call ask 1"]);
    }

    #[test]
    fn without_a_port_who_speaks_first_is_the_client() {
        let mut told = Told::of(&[(Serve, None), (Call, None)]);
        told.connects(25).sent().received(1, 40_000, 25);
        told.received(2, 25, 40_001).sent();
        let all = ["1 call ask 1", "2 call answer 1", "3 serve ask 2", "4 serve answer 2"];
        assert_eq!(told.shown(), all);
    }

    #[test]
    fn a_socket_that_was_closed_is_another_when_it_sends_again() {
        let mut told = Told::of(&[(Serve, None)]);
        told.received(1, 80, 40_000).closes().sent();
        assert_eq!(told.shown(), ["1 serve ask 1"]);
    }

    #[test]
    fn a_unix_socket_is_told_when_it_has_passed_bytes_both_ways() {
        let mut told = Told::of(&[(Serve, None), (Call, None)]);
        let unix = |told: &mut Told, way| {
            told.passed(way, true, 1);
        };
        unix(&mut told, Way::Received);
        unix(&mut told, Way::Received);
        assert!(told.edges.is_empty());
        told.end_received();
        unix(&mut told, Way::Sent);
        assert_eq!(told.shown(), ["1 serve ask 1", "3 serve answer 1"]);
        // Its address belongs to another one now, by which this process asks.
        unix(&mut told, Way::Received);
        unix(&mut told, Way::Sent);
        told.passed(Way::Sent, true, 2).passed(Way::Received, true, 2);
        let rest = ["4 serve ask 2", "5 serve answer 2", "6 call ask 3", "7 call answer 3"];
        assert_eq!(told.shown()[2..], rest);
        assert_eq!(told.edges[2].key.as_deref(), Some("unix #2"));
    }
}
