//! Who offers something on a TCP socket, and which waits are for requests.
//!
//! A server that nobody asks and a program that waits for nothing look the same to the scheduler; the
//! recorder's marks of listening and connecting tell them apart.
//!
//! ```text
//! listens   .L....................    marks of the process
//! connects  ......................    none: nobody that is recorded asks
//! work      ##....................    hardly any once it listens
//!             ^^^^^^^^^^^^^^^^^^^^    what passes here is the wait for requests
//! ```
//!
//! A process that connects to its own address has both ends of its connections. Its threads wait for
//! answers as well as for requests, and whoever asks is recorded, so none of its polls is idleness.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use culprit_model::{Cause, Interval, MarkKind, ProcessId, Recording, Text, ThreadId, Time};

use super::families::Family;
use super::stacks::Stacks;
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
    /// Threads that connect to somewhere.
    asking: BTreeSet<ThreadId>,
    /// Processes that connect to where they listen.
    asking_themselves: BTreeSet<ProcessId>,
}

impl Serving {
    /// Reads the marks.
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut serving = Self::default();
        for mark in &recording.marks {
            match (mark.kind, mark.thread) {
                (MarkKind::Listen, _) => {
                    let first = (mark.time, mark.text.clone());
                    serving.listens.entry(mark.process).or_insert(first);
                }
                (MarkKind::Connect, Some(thread)) => {
                    serving.asking.insert(thread);
                    let own = serving.listens.get(&mark.process);
                    if own.is_some_and(|(_, address)| leads_to(&mark.text, address)) {
                        serving.asking_themselves.insert(mark.process);
                    }
                }
                _ => {}
            }
        }
        serving
    }

    /// True where nobody is known to listen.
    pub(crate) fn is_nobody(&self) -> bool {
        self.listens.is_empty()
    }

    /// Where a process listens that a wait for requests is of: in a function that waits for connections
    /// or for events of any kind, by a thread that itself asks nobody, in a process that asks others at most.
    pub(crate) fn for_requests(
        &self,
        recording: &Recording,
        stacks: &Stacks,
        wait: &Interval,
    ) -> Option<&Text> {
        let process = recording.thread(wait.thread).process;
        let (since, address) = self.listens.get(&process)?;
        let waits = match wait.cause {
            Cause::Net => stacks.in_family(wait.stack, Family::Accept),
            cause => cause == Cause::Poll && !self.asking_themselves.contains(&process),
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

/// True where a connection to one address and port comes to who listens at the other on the same machine.
fn leads_to(connects: &str, listens: &str) -> bool {
    let (Some((to, port)), Some((at, own_port))) = (parts(connects), parts(listens)) else {
        return false;
    };
    port == own_port && (to == at || at.is_unspecified() && to.is_loopback())
}

/// Address and port of `127.0.0.1:80` or `[::1]:80`.
fn parts(text: &str) -> Option<(IpAddr, &str)> {
    let (address, port) = text.rsplit_once(':')?;
    let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
    Some((address.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::leads_to;

    #[test]
    fn a_connection_leads_to_the_same_port_at_the_same_or_any_address() {
        for (connects, listens, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "0.0.0.0:80", true),
            ("[::ffff:127.0.0.1]:80", "[::]:80", true),
            ("[::1]:80", "[::]:80", true),
            ("127.0.0.1:81", "127.0.0.1:80", false),
            ("10.0.0.1:80", "0.0.0.0:80", false),
            ("", "127.0.0.1:80", false),
        ] {
            assert_eq!(leads_to(connects, listens), expected, "{connects} {listens}");
        }
    }
}
