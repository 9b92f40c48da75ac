//! The kernel's tracepoints of sockets: how they are opened, and what their records say.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use culprit_kernel::tracepoint::{Field, Tracepoint};

use super::{SocketActivity, SocketSide};
use crate::error::Error;
use crate::events::attr::{EventSpec, Fields, Rate, Role, Source, Watch};
use crate::events::tracefs::Tracefs;
use crate::session::ladder::{Errno, Limits, Rights};

/// `AF_UNIX` and `IPPROTO_TCP`, as filters and records have them.
const UNIX: u64 = 1;
pub(super) const TCP: u64 = 6;

/// States of a TCP socket that tell of its life (include/net/tcp_states.h): it connects; it will send
/// no more; it is closed.
pub(super) const SYN_SENT: u64 = 2;
const FIN_WAIT1: u64 = 4;
const CLOSE: u64 = 7;
const LAST_ACK: u64 = 9;

/// `MSG_PEEK`: what was looked at is received again later.
const PEEK: u32 = 2;

/// The tracepoints, where they may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketPoints {
    sent: u64,
    received: u64,
    addressed: u64,
    state: u64,
    /// What their records hold.
    pub(crate) fields: SocketFields,
}

/// Where records keep what they tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketFields {
    pub(crate) sent: PassedFields,
    pub(crate) received: PassedFields,
    pub(crate) addressed: AddressFields,
    pub(crate) state: StateFields,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassedFields {
    socket: Field,
    family: Field,
    returned: Field,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressFields {
    socket: Field,
    cookie: Field,
    local_port: Field,
    remote_port: Field,
    remote: Field,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateFields {
    socket: Field,
    state: Field,
    remote_port: Field,
    remote: Field,
}

/// Bytes passed on a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToldPassed {
    /// The kernel's address of the socket.
    pub(crate) socket: u64,
    /// A Unix socket, else a TCP socket.
    pub(crate) unix: bool,
    /// Nothing was received because the other side has ended.
    pub(crate) ended: bool,
}

/// Where a TCP socket is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToldAddress {
    /// The kernel's address of the socket.
    pub(crate) socket: u64,
    /// What tells it from all other sockets, also from those that had its address.
    pub(crate) cookie: u64,
    /// The port on this side.
    pub(crate) local_port: u16,
    /// The other side.
    pub(crate) remote: SocketAddr,
}

/// A TCP socket begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToldState {
    /// This socket connects to there; its own port may not have been chosen.
    Connects(u64, SocketAddr),
    /// This socket will send no more.
    Ends(u64),
}

impl SocketPoints {
    /// Finds the tracepoints and tries them.
    ///
    /// # Errors
    /// The kernel's answer; `ENOENT` where it has no such tracepoint.
    pub(crate) fn find(
        wanted: &[SocketActivity],
        rights: &Rights,
        cpu: u32,
    ) -> Result<Self, Errno> {
        rights.kernel?;
        let tracefs = Tracefs::open()?;
        let sent = tracefs.tracepoint("sock", "sock_send_length")?;
        let received = tracefs.tracepoint("sock", "sock_recv_length")?;
        let addressed = tracefs.tracepoint("tcp", "tcp_rcv_space_adjust")?;
        let state = tracefs.tracepoint("sock", "inet_sock_set_state")?;
        let fields = SocketFields::of([&sent, &received, &addressed, &state]);
        let fields = fields.ok_or(Errno(libc::EINVAL))?;
        let [sent, received, addressed, state] =
            [sent, received, addressed, state].map(|point| point.id);
        let found = Self { sent, received, addressed, state, fields };
        for spec in found.events(wanted) {
            crate::events::extras::opens(&spec, rights, cpu)?;
        }
        Ok(found)
    }

    /// The events for these activities.
    pub(crate) fn events(&self, wanted: &[SocketActivity]) -> Vec<EventSpec> {
        let filters = Filters::of(wanted);
        let event = |role, id, filter| EventSpec {
            role,
            source: Source::Tracepoint(id),
            rate: Rate::Every(1),
            fields: Fields { raw: true, ..Fields::default() },
            watch: Watch::Target,
            kernel: true,
            kernel_chain_only: false,
            filter,
        };
        vec![
            event(Role::SocketSent, self.sent, Some(filters.sent)),
            event(Role::SocketReceived, self.received, Some(filters.received)),
            event(Role::SocketAddressed, self.addressed, filters.addressed),
            event(Role::SocketState, self.state, Some(filters.state)),
        ]
    }
}

/// What the kernel lets through.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filters {
    sent: String,
    received: String,
    addressed: Option<String>,
    state: String,
}

impl Filters {
    fn of(wanted: &[SocketActivity]) -> Self {
        let states = [SYN_SENT, FIN_WAIT1, CLOSE, LAST_ACK].map(|at| format!("newstate == {at}"));
        let state = format!("protocol == {TCP} && ({})", states.join(" || "));
        let of_port = |activity: &SocketActivity| {
            let port = match activity.side {
                SocketSide::Serve => "sport",
                SocketSide::Call => "dport",
            };
            activity.port.map(|number| format!("{port} == {number}"))
        };
        let ports: Option<Vec<String>> = wanted.iter().map(of_port).collect();
        match ports {
            Some(ports) => Self {
                sent: format!("ret > 0 && protocol == {TCP}"),
                received: format!("ret > 0 && !(flags & {PEEK}) && protocol == {TCP}"),
                addressed: Some(ports.join(" || ")),
                state,
            },
            None => Self {
                sent: format!("ret > 0 && (protocol == {TCP} || family == {UNIX})"),
                // Of Unix sockets the end is told too: by nothing else their addresses get free.
                received: format!(
                    "!(flags & {PEEK}) && ((ret > 0 && protocol == {TCP}) || (ret >= 0 && family == {UNIX}))"
                ),
                addressed: None,
                state,
            },
        }
    }
}

impl SocketFields {
    fn of([sent, received, addressed, state]: [&Tracepoint; 4]) -> Option<Self> {
        Some(Self {
            sent: PassedFields::of(sent)?,
            received: PassedFields::of(received)?,
            addressed: AddressFields {
                socket: addressed.field("skaddr")?,
                cookie: addressed.field("sock_cookie")?,
                local_port: addressed.field("sport")?,
                remote_port: addressed.field("dport")?,
                remote: addressed.field("daddr_v6")?,
            },
            state: StateFields {
                socket: state.field("skaddr")?,
                state: state.field("newstate")?,
                remote_port: state.field("dport")?,
                remote: state.field("daddr_v6")?,
            },
        })
    }
}

impl PassedFields {
    fn of(point: &Tracepoint) -> Option<Self> {
        Some(Self {
            socket: point.field("sk")?,
            family: point.field("family")?,
            returned: point.field("ret")?,
        })
    }

    /// What a record says.
    pub(crate) fn read(&self, raw: &[u8]) -> Option<ToldPassed> {
        Some(ToldPassed {
            socket: self.socket.read(raw)?,
            unix: self.family.read(raw)? == UNIX,
            ended: self.returned.read(raw)? == 0,
        })
    }
}

impl AddressFields {
    /// What a record says.
    pub(crate) fn read(&self, raw: &[u8]) -> Option<ToldAddress> {
        Some(ToldAddress {
            socket: self.socket.read(raw)?,
            cookie: self.cookie.read(raw)?,
            local_port: port(self.local_port, raw)?,
            remote: SocketAddr::new(address(self.remote, raw)?, port(self.remote_port, raw)?),
        })
    }
}

impl StateFields {
    /// What a record says.
    pub(crate) fn read(&self, raw: &[u8]) -> Option<ToldState> {
        let socket = self.socket.read(raw)?;
        if self.state.read(raw)? != SYN_SENT {
            return Some(ToldState::Ends(socket));
        }
        let remote = SocketAddr::new(address(self.remote, raw)?, port(self.remote_port, raw)?);
        Some(ToldState::Connects(socket, remote))
    }
}

/// These tracepoints tell ports in the machine's order of bytes.
pub(super) fn port(field: Field, raw: &[u8]) -> Option<u16> {
    u16::try_from(field.read(raw)?).ok()
}

/// An address of version 4 is told as one of version 6, too.
pub(super) fn address(field: Field, raw: &[u8]) -> Option<IpAddr> {
    let bytes = raw.get(field.offset..)?.first_chunk::<16>()?;
    Some(IpAddr::V6(Ipv6Addr::from(*bytes)).to_canonical())
}

/// The refusal in words.
pub(crate) fn refusal(errno: Errno, limits: Limits) -> Error {
    let found = std::io::Error::from_raw_os_error(errno.0);
    let (reason, hint) = match errno.0 {
        libc::ENOENT => (
            "this kernel has no tracepoint sock:sock_send_length; Linux 6.3 and later have it"
                .to_owned(),
            "give the function that handles a request instead: `--activity NAME=FUNCTION`",
        ),
        _ if limits.perfmon => (
            format!("Culprit cannot use the tracepoints of sockets ({found})"),
            "mount tracefs: `mount -t tracefs none /sys/kernel/tracing`",
        ),
        _ => (
            format!("the tracepoints of sockets need CAP_PERFMON and a readable tracefs ({found})"),
            if limits.root {
                "give this process CAP_PERFMON, for a container with `docker run --cap-add PERFMON`"
            } else {
                "run `culprit` as root"
            },
        ),
    };
    let target = "requests on sockets".to_owned();
    Error::Refused { target, reason, hints: vec![hint.to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(side: SocketSide, port: Option<u16>) -> SocketActivity {
        SocketActivity { name: "x".to_owned(), side, port }
    }

    #[test]
    fn ports_are_asked_of_the_kernel_where_all_are_known() {
        let web = activity(SocketSide::Serve, Some(80));
        let database = activity(SocketSide::Call, Some(5432));
        let filters = Filters::of(&[web.clone(), database]);
        assert_eq!(filters.addressed.as_deref(), Some("sport == 80 || dport == 5432"));
        assert!(!filters.sent.contains("family") && filters.received.contains("!(flags & 2)"));
        let filters = Filters::of(&[web, activity(SocketSide::Call, None)]);
        assert_eq!(filters.addressed, None);
        assert!(filters.sent.contains("family == 1"), "{}", filters.sent);
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let mut raw = [0_u8; 40];
        raw[8..16].copy_from_slice(&7_u64.to_le_bytes());
        raw[16..18].copy_from_slice(&5432_u16.to_le_bytes());
        raw[20] = 2;
        raw[24..40].copy_from_slice(&std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
        let field = |offset, size| Field { offset, size };
        let fields = StateFields {
            socket: field(8, 8),
            state: field(20, 4),
            remote_port: field(16, 2),
            remote: field(24, 16),
        };
        let to = "127.0.0.1:5432".parse().expect("an address");
        assert_eq!(fields.read(&raw), Some(ToldState::Connects(7, to)));
        raw[20] = 9;
        assert_eq!(fields.read(&raw), Some(ToldState::Ends(7)));
        assert_eq!(fields.read(&raw[..20]), None);
    }

    #[test]
    fn a_refusal_names_the_kernel_that_has_it_or_the_right() {
        let old = refusal(Errno(libc::ENOENT), Limits::default());
        assert!(old.to_string().contains("Linux 6.3"), "{old}");
        let denied = refusal(Errno(libc::EACCES), Limits::default());
        assert!(denied.to_string().contains("CAP_PERFMON"), "{denied}");
        assert_eq!(denied.hints(), ["run `culprit` as root"]);
    }
}
