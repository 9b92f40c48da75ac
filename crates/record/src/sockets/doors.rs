//! Where programs listen and whom they connect to first: marks of every recording.
//!
//! A program that waits for requests and one that waits for nothing look the same to the scheduler.
//! One tracepoint tells them apart, filtered to two states of TCP sockets that a program enters a few
//! times in its life. Unix sockets have none. Source: net/ipv4/inet_connection_sock.c
//! `inet_csk_listen_start`, net/ipv4/tcp_ipv4.c `tcp_v4_connect`.

use std::net::SocketAddr;

use culprit_model::{Mark, MarkKind, Text, Time};

use super::points::{SYN_SENT, TCP, address, port};
use crate::attr::{EventSpec, Fields, Rate, Role, Source, Watch};
use crate::decode::Sample;
use crate::extras::opens;
use crate::handle::Handler;
use crate::ladder::{Errno, Rights};
use crate::tracefs::{Field, Tracefs, Tracepoint};

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

impl Handler {
    /// A program listens or connects; of connections each process's first is kept.
    pub(crate) fn door(&mut self, sample: &Sample<'_>, time: Time) {
        let told = self.context.doors.and_then(|fields| fields.read(sample.raw));
        let Some((kind, address)) = told else { return };
        let thread = self.seen(sample.task, time);
        let Some(process) = self.tracker.process_of(sample.task.pid) else { return };
        if kind == MarkKind::Connect && !self.connected.insert(process) {
            return;
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
}
