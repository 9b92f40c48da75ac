//! Requests and answers on sockets: the kernel's records of bytes that passed, into edges of
//! activities.
//!
//! ```text
//! sock_send_length        who sent on which socket       ask or answer
//! sock_recv_length        who received on which socket   ask or answer
//! tcp_rcv_space_adjust    just before a receive          the ports and the cookie of the socket
//! inet_sock_set_state     a socket connects or closes    the peer's port; the address is free again
//! ```
//!
//! The kernel names a socket by its address, which the next socket may have as soon as the last is
//! closed. [`connections`] keeps them apart. Which bytes make a request is for the engine to say.
//! Sources: include/trace/events/sock.h and tcp.h, net/socket.c, net/ipv4/tcp_input.c.

mod connections;
mod doors;
mod points;
mod polled;

use culprit_model::Time;

use crate::events::decode::Sample;
use crate::events::handle::Handler;

pub(crate) use connections::Connections;
pub(crate) use doors::{DoorFields, DoorPoint, Doors, ServerAndClient};
pub(crate) use points::{SocketFields, SocketPoints, refusal};
pub(crate) use polled::{PolledSockets, polled_sockets};

/// An activity that is a request on a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketActivity {
    /// What to call it.
    pub name: String,
    /// Whose side is looked at.
    pub side: SocketSide,
    /// The port of the server, on TCP; none for every TCP and Unix stream socket, on which the side
    /// that speaks first is the client.
    pub port: Option<u16>,
}

/// A side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketSide {
    /// The one that receives requests and sends answers.
    Serve,
    /// The one that sends requests and receives answers.
    Call,
}

/// Which way bytes passed, as seen from the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A thread sent them.
    Sent,
    /// A thread received them.
    Received,
}

impl Handler {
    /// A thread has sent or received on a socket.
    pub(crate) fn passed(&mut self, sample: &Sample<'_>, way: Way, time: Time) {
        let told = self.context.sockets.as_ref().and_then(|known| {
            let fields = if way == Way::Sent { &known.sent } else { &known.received };
            fields.read(sample.raw)
        });
        let Some(told) = told else { return self.untold(time) };
        let thread = self.seen(sample.task, time);
        let passed = connections::Passed { told, way, pid: sample.task.pid, thread, time };
        self.connections.passed(passed, &mut self.rows.activity_edges);
    }

    /// A thread is about to have received on a TCP socket.
    pub(crate) fn addressed(&mut self, sample: &Sample<'_>, time: Time) {
        let fields = self.context.sockets.as_ref();
        match fields.and_then(|known| known.addressed.read(sample.raw)) {
            Some(told) => self.connections.addressed(told),
            None => self.untold(time),
        }
    }

    /// A TCP socket connects or closes.
    pub(crate) fn socket_state(&mut self, sample: &Sample<'_>, time: Time) {
        let fields = self.context.sockets.as_ref();
        match fields.and_then(|known| known.state.read(sample.raw)) {
            Some(told) => self.connections.state(told),
            None => self.untold(time),
        }
    }
}
