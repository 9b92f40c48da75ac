//! What the threads of a process poll that both serves and asks: connections that others made to it, or
//! its own.
//!
//! An HTTP client may have a thread that only waits for answers, in the process of a server whose threads
//! wait for requests. Both stand in `epoll_wait`; only the sockets that they poll tell them apart.
//!
//! ```text
//! /proc/PID/task/TID/syscall   epoll_wait 5      the thread polls descriptor 5
//! /proc/PID/fdinfo/5           tfd: 7, tfd: 8    which stands for 7 and 8
//! the socket 7                 its own port is one that the process listens on: requests
//! the socket 8                 any other port: answers
//! ```
//!
//! Looking at a socket takes a copy of its descriptor for some microseconds (pidfd_getfd(2)). Calls of
//! `select` are not read.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use culprit_kernel::Task;
use culprit_symbols::runtimes::MemoryPiece;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::sys::read_process;

/// Descriptors of one thread that are looked at, at most. At some 2.5 us each, more would cost a poll of
/// many connections more than it tells: the first ones say which kind they are.
const MOST_SOCKETS: usize = 64;
/// Bytes of `struct pollfd` (poll(2)); the descriptor comes first.
const POLLFD: usize = 8;

/// A socket of each kind that a thread polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PolledSockets {
    /// Where the process listens.
    pub(crate) requests: Option<SocketAddr>,
    /// Whom the process has connected to.
    pub(crate) answers: Option<SocketAddr>,
}

/// What a thread polls now; nothing where it does not, or where Culprit may not look. `ports` are those
/// that its process listens on.
pub(crate) fn polled_sockets(task: Task, ports: &BTreeSet<u16>) -> PolledSockets {
    let mut found = PolledSockets::default();
    let descriptors = descriptors(task).unwrap_or_default();
    let Some(process) =
        rustix::process::Pid::from_raw(task.pid).filter(|_| !descriptors.is_empty())
    else {
        return found;
    };
    let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else { return found };
    for descriptor in descriptors.into_iter().take(MOST_SOCKETS) {
        found.add(process.as_fd(), descriptor, ports);
    }
    found
}

impl PolledSockets {
    fn add(&mut self, process: BorrowedFd<'_>, descriptor: i32, ports: &BTreeSet<u16>) {
        let Ok(copy) = pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()) else { return };
        let socket = TcpStream::from(copy);
        // What is no internet socket has no such address.
        let Ok(own) = socket.local_addr() else { return };
        if ports.contains(&own.port()) {
            self.requests = self.requests.or(Some(own));
        } else if let Ok(peer) = socket.peer_addr() {
            self.answers = self.answers.or(Some(peer));
        }
    }
}

/// The descriptors that a thread polls.
fn descriptors(task: Task) -> Option<Vec<i32>> {
    let Task { pid, tid } = task;
    let call = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let (number, arguments) = parse_call(&call)?;
    match poll_call(number)? {
        PollCall::Epoll => {
            let epoll = arguments[0];
            let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).ok()?;
            Some(targets(&info))
        }
        PollCall::Poll => {
            let count = usize::try_from(arguments[1]).ok()?.min(MOST_SOCKETS);
            let mut bytes = vec![0; count * POLLFD];
            let into = bytes.as_mut_slice();
            let read =
                read_process(pid, &mut [MemoryPiece { address: arguments[0], into }]).ok()?;
            Some(polled_by(&bytes[..read]))
        }
    }
}

/// How a system call says what it polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollCall {
    /// The first argument is a descriptor that stands for others.
    Epoll,
    /// The first argument is the address of a list, the second its length.
    Poll,
}

fn poll_call(number: i64) -> Option<PollCall> {
    match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => Some(PollCall::Epoll),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(PollCall::Epoll),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => Some(PollCall::Poll),
        libc::SYS_ppoll => Some(PollCall::Poll),
        _ => None,
    }
}

/// Number and the first two arguments of a line of `syscall`; none for a thread that runs.
fn parse_call(text: &str) -> Option<(i64, [u64; 2])> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    Some((number, [argument()?, argument()?]))
}

/// The descriptors behind one of epoll: lines `tfd: 7 events: 19 ...` (proc_pid_fdinfo(5)).
fn targets(info: &str) -> Vec<i32> {
    let lines = info.lines().filter_map(|line| line.strip_prefix("tfd:"));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// The descriptors in a list of `struct pollfd`; negative ones are passed over by the kernel, too.
fn polled_by(list: &[u8]) -> Vec<i32> {
    let first = |entry: &[u8]| Some(i32::from_ne_bytes(*entry.first_chunk()?));
    list.chunks_exact(POLLFD).filter_map(first).filter(|descriptor| *descriptor >= 0).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_call_has_its_number_and_arguments() {
        let line = "232 0x5 0x7ffd1c 0x400 0xffffffff 0x0 0x0 0x7ffd10 0x7f3a\n";
        assert_eq!(parse_call(line), Some((232, [5, 0x7f_fd1c])));
        assert_eq!(parse_call("running\n"), None);
        assert_eq!(parse_call("-1 0x7ffd10 0x7f3a\n"), Some((-1, [0x7f_fd10, 0x7f3a])));
        assert_eq!(poll_call(-1), None);
    }

    #[test]
    fn the_descriptors_of_a_poll_are_found() {
        let info = "pos:\t0\nflags:\t02\ntfd:        7 events:       19 data:  7  pos:0\n\
                    tfd:       12 events:       19 data: c  pos:0\n";
        assert_eq!(targets(info), [7, 12]);
        let list = [7_i32, 1, -1, 1, 9, 1].map(i32::to_ne_bytes).concat();
        assert_eq!(polled_by(&list), [7, 9]);
    }

    #[test]
    fn the_own_port_tells_requests_from_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).expect("a connection");
        let (served, _) = listener.accept().expect("a connection");
        let ports = BTreeSet::from([address.port()]);
        let process = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).expect("oneself");
        let kinds = |descriptor: &dyn std::os::fd::AsRawFd| {
            let mut found = PolledSockets::default();
            found.add(process.as_fd(), descriptor.as_raw_fd(), &ports);
            found
        };
        let requests = PolledSockets { requests: Some(address), answers: None };
        assert_eq!([kinds(&listener), kinds(&served)], [requests; 2]);
        assert_eq!(kinds(&client), PolledSockets { requests: None, answers: Some(address) });
        let file = std::fs::File::open("/dev/null").expect("a file");
        assert_eq!(kinds(&file), PolledSockets::default());
    }

    #[test]
    fn what_a_thread_polls_is_read_while_it_does() {
        use rustix::event::{PollFd, PollFlags, poll};
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).expect("a connection");
        let (sender, receiver) = std::sync::mpsc::channel();
        let polling = std::thread::spawn(move || {
            sender.send(rustix::thread::gettid()).expect("a receiver");
            let mut list = [PollFd::new(&client, PollFlags::IN)];
            poll(&mut list, None).expect("an event");
        });
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let tid = receiver.recv().expect("a number").as_raw_nonzero().get();
        let ports = BTreeSet::from([address.port()]);
        let answers = PolledSockets { requests: None, answers: Some(address) };
        culprit_testkit::wait_until("the thread polls", || {
            polled_sockets(Task { pid, tid }, &ports) == answers
        });
        // The client's end sees that this one is closed.
        drop(listener.accept().expect("a connection"));
        polling.join().expect("an event");
    }
}
