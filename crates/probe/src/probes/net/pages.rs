//! Requests for a page, each on a connection of its own, as fast as they are answered or as planned.
//!
//! One thread waits for all of them. A thread a client would have to be switched to for each step of
//! its request, on CPUs that the server wants as well: time that belongs to the client and is counted
//! as the way's.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use culprit_engine::stats::Random;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::client::PATIENCE;
use super::server::PAGE;
use crate::histogram::Histogram;
use crate::inside::Clock;

/// Requests that are under way at once.
pub(super) const CLIENTS: usize = 8;

/// When requests are made.
pub(super) enum Pace {
    /// The next one when one is answered, for so long, ns.
    AsFastAs(u64),
    /// At these times, ns from the beginning, whether the one before is answered or not; with all
    /// clients busy one waits for the first that is not, and is late by that.
    Planned(Vec<u64>),
}

impl Pace {
    /// Times of a Poisson process: what many independent users make.
    pub(super) fn planned(rate: u32, duration_ns: u64, seed: u64) -> Self {
        Self::Planned(poisson(rate, duration_ns, seed))
    }

    /// The time for which request `number` is planned, ns from the beginning; none when there are no
    /// more.
    fn time_of(&self, number: usize, elapsed: u64) -> Option<u64> {
        match self {
            Self::AsFastAs(duration) => Some(elapsed).filter(|elapsed| elapsed < duration),
            Self::Planned(times) => times.get(number).copied(),
        }
    }
}

fn poisson(rate: u32, duration_ns: u64, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let gap = 1e9 / f64::from(rate.max(1));
    let mut at = 0.0_f64;
    std::iter::from_fn(|| {
        at -= gap * (1.0 - random.share()).ln();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sum of times that lies within a number of 64 bits"
        )]
        (at < duration_ns as f64).then_some(at as u64)
    })
    .collect()
}

/// Latencies, from the time for which a request was planned to the end of its answer, and how many
/// answers came a second.
pub(super) fn pages(to: SocketAddr, pace: &Pace) -> io::Result<(Histogram, f64)> {
    let (mut times, begun, mut made) = (Histogram::with_room(), Clock::now(), 0);
    let mut open: Vec<Request> = Vec::with_capacity(CLIENTS);
    loop {
        let mut wait = PATIENCE;
        while open.len() < CLIENTS {
            let elapsed = Clock::now() - begun;
            let Some(planned) = pace.time_of(made, elapsed) else { break };
            if planned > elapsed {
                wait = Duration::from_nanos(planned - elapsed);
                break;
            }
            open.push(Request::begin(to, begun + planned)?);
            made += 1;
        }
        if open.is_empty() && pace.time_of(made, Clock::now() - begun).is_none() {
            break;
        }
        let ready = ready(&open, wait)?;
        if !ready.contains(&true) && wait == PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // From the end, so that what is taken out moves nobody who is still to be looked at.
        for at in (0..open.len()).rev().filter(|at| ready[*at]) {
            if open[at].step()? {
                times.record(Clock::now() - open.swap_remove(at).planned);
            }
        }
    }
    let per_s = times.count() as f64 * 1e9 / (Clock::now() - begun).max(1) as f64;
    Ok((times, per_s))
}

/// Which of them can go on, after at most `wait`.
fn ready(open: &[Request], wait: Duration) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd<'_>> = open.iter().map(Request::waits_for).collect();
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    retry_on_intr(|| poll(&mut fds, Some(&wait)))?;
    Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
}

/// A request under way.
struct Request {
    connection: TcpStream,
    /// ns of the monotonic clock.
    planned: u64,
    /// Whether it is on its way; the connection is still being made otherwise.
    asked: bool,
    /// Bytes of the answer that have come.
    answered: usize,
}

impl Request {
    fn begin(to: SocketAddr, planned: u64) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        let connected = match connect(&socket, &to) {
            Err(Errno::INPROGRESS) => false,
            said => said.map(|()| true)?,
        };
        let connection = TcpStream::from(socket);
        let mut request = Self { connection, planned, asked: false, answered: 0 };
        if connected {
            request.ask()?;
        }
        Ok(request)
    }

    fn waits_for(&self) -> PollFd<'_> {
        let what = if self.asked { PollFlags::IN } else { PollFlags::OUT };
        let fd: BorrowedFd<'_> = self.connection.as_fd();
        PollFd::from_borrowed_fd(fd, what)
    }

    /// Goes on as far as there is something to do; true when the answer is whole.
    fn step(&mut self) -> io::Result<bool> {
        if !self.asked {
            return self.ask().map(|()| false);
        }
        // Room for all of it, and for more than it may be.
        let mut bytes = [0; 2 * PAGE];
        loop {
            match self.connection.read(&mut bytes) {
                Ok(0) if self.answered > PAGE => return Ok(true),
                Ok(0) => return Err(io::Error::other("an answer ended early")),
                Ok(read) if self.answered > 0 || bytes[..read].starts_with(b"HTTP/1.0 200") => {
                    self.answered += read;
                }
                Ok(_) => {
                    return Err(io::Error::other("an answer did not come from the probe's server"));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends it: a few bytes, for which a new connection has room. What became of the connection is
    /// told here.
    fn ask(&mut self) -> io::Result<()> {
        self.connection.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        self.asked = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_plan_has_its_rate_and_is_in_order() {
        let plan = poisson(1000, 4_000_000_000, 7);
        assert!((3600..4400).contains(&plan.len()), "{}", plan.len());
        assert!(plan.is_sorted() && plan == poisson(1000, 4_000_000_000, 7));
    }

    /// Answers each connection with these bytes, and keeps none open.
    fn server(answer: Vec<u8>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                connection.read_exact(&mut [0; 18]).unwrap();
                connection.write_all(&answer).unwrap();
            }
        });
        at
    }

    #[test]
    fn every_planned_request_is_made_and_counts_from_its_plan() {
        let at = server([&b"HTTP/1.0 200 OK\r\n\r\n"[..], &[b'x'; PAGE]].concat());
        let plan = vec![0, 1_000, 1_000, 2_000_000, 30_000_000];
        let (times, _) = pages(at, &Pace::Planned(plan)).unwrap();
        assert_eq!(times.count(), 5);
        let (times, per_s) = pages(at, &Pace::AsFastAs(200_000_000)).unwrap();
        assert!(times.count() > 0 && per_s > 0.0);
    }

    #[test]
    fn answers_that_are_none_are_told() {
        for (answer, said) in [
            (b"HTTP/1.0 200 OK\r\n".to_vec(), "ended early"),
            (b"no".to_vec(), "did not come from"),
        ] {
            let error = pages(server(answer), &Pace::Planned(vec![0])).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = pages(gone, &Pace::Planned(vec![0])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
