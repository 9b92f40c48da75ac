//! The client: on the host, for every arm the same.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::pages::{Pace, pages};
use super::proxy::Proxy;
use super::server::{ECHO, ONCE, SINK, STREAM_BLOCK};
use crate::histogram::Histogram;
use crate::inside::{Clock, Fault, Here, Task, stay_on, stopped, this_cpu};

/// Trips that are not counted: the connection's first ones.
const DISCARDED: u32 = 100;
/// Datagrams that come back and are counted in a round.
pub(super) const DATAGRAMS: u32 = 1000;
/// After so long a datagram is lost. On one machine none is, unless a filter drops them all.
const LOST: Duration = Duration::from_secs(1);
/// How long a server that was just begun, or an engine's port, may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// One round of one arm.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Talk {
    pub(super) to: String,
    /// Whether datagrams come back from there, too.
    pub(super) datagrams: bool,
    pub(super) trips: u32,
    pub(super) connects: u32,
    pub(super) duration_ns: u64,
    pub(super) rate: u32,
    pub(super) seed: u64,
    /// The host's port behind which a proxy may stand.
    pub(super) published: Option<u16>,
}

/// What it told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(super) trips: Histogram,
    pub(super) connects: Histogram,
    pub(super) stream_bytes_per_s: f64,
    pub(super) http: Histogram,
    pub(super) http_per_s: f64,
    pub(super) load: Histogram,
    pub(super) load_per_s: f64,
    pub(super) proxy: ProxyCost,
    /// Round trips by UDP; empty where there are none.
    pub(super) datagrams: Histogram,
}

/// CPU time of the proxy on the way; none where there is no proxy.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ProxyCost {
    pub(super) trip_ns: Option<f64>,
    pub(super) connect_ns: Option<f64>,
    pub(super) gib_ns: Option<f64>,
    pub(super) datagram_ns: Option<f64>,
}

impl Task for Talk {
    const NAME: &'static str = "net-talk";
    type Output = Told;

    fn run(self, here: &mut Here) -> Result<Told, Fault> {
        self.talk(here).map_err(|error| {
            Fault::new(format!("cannot talk to the server at {}: {error}", self.to))
        })
    }
}

impl Talk {
    fn talk(&self, here: &Here) -> io::Result<Told> {
        let to: SocketAddr = self.to.parse().map_err(io::Error::other)?;
        first_answer(to)?;
        let proxy = self.published.and_then(|port| Proxy::of_port(port, "tcp"));
        let cpu = || proxy.as_ref().and_then(Proxy::cpu_ns);
        let each = |before: Option<u64>, after: Option<u64>, count: f64| {
            Some(after?.saturating_sub(before?) as f64 / count.max(1.0))
        };
        let begun = cpu();
        let trips = trips(to, self.trips)?;
        let after_trips = cpu();
        let connects = connects(to, self.connects, here)?;
        let after_connects = cpu();
        let (bytes, wall_ns) = stream(to, self.duration_ns)?;
        let after_stream = cpu();
        let proxy = ProxyCost {
            trip_ns: each(begun, after_trips, trips.count() as f64),
            connect_ns: each(after_trips, after_connects, connects.count() as f64),
            gib_ns: each(after_connects, after_stream, bytes as f64 / (1_u64 << 30) as f64),
            datagram_ns: None,
        };
        let (http, http_per_s) = pages(to, &Pace::AsFastAs(self.duration_ns))?;
        let planned = Pace::planned(self.rate, self.duration_ns, self.seed);
        let (load, load_per_s) = pages(to, &planned)?;
        let for_datagrams = self.published.and_then(|port| Proxy::of_port(port, "udp"));
        let cpu = || for_datagrams.as_ref().and_then(Proxy::cpu_ns);
        let begun = cpu();
        // What a filter on the way drops cannot be told, and everything else can.
        let datagrams = self
            .datagrams
            .then(|| datagrams(to, DATAGRAMS, here).ok())
            .flatten()
            .unwrap_or_default();
        let trips_back = (datagrams.count() > 0).then(|| datagrams.count() as f64);
        let datagram_ns = trips_back.and_then(|count| each(begun, cpu(), count));
        let proxy = ProxyCost { datagram_ns, ..proxy };
        let stream_bytes_per_s = bytes as f64 * 1e9 / wall_ns.max(1) as f64;
        Ok(Told {
            trips,
            connects,
            stream_bytes_per_s,
            http,
            http_per_s,
            load,
            load_per_s,
            proxy,
            datagrams,
        })
    }
}

/// A proxy accepts before its container listens, so the first byte must have come back.
fn first_answer(to: SocketAddr) -> io::Result<()> {
    let until = Clock::now() + u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
    loop {
        match once(to) {
            Ok(()) => return Ok(()),
            Err(error) if Clock::now() > until => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let connection = TcpStream::connect_timeout(&to, PATIENCE)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    Ok(connection)
}

fn once(to: SocketAddr) -> io::Result<()> {
    let mut connection = connect(to)?;
    connection.write_all(&[ONCE])?;
    connection.read_exact(&mut [0])
}

/// Trips between two threads on one CPU: of this one, and of the server's for this connection.
fn trips(to: SocketAddr, count: u32) -> io::Result<Histogram> {
    let trips = || trips_from_here(to, count);
    // A thread of its own, which ends with its CPU; the others go on to be wherever they like.
    std::thread::scope(|scope| scope.spawn(trips).join())
        .unwrap_or_else(|_| Err(io::Error::other("a client thread panicked")))
}

fn trips_from_here(to: SocketAddr, count: u32) -> io::Result<Histogram> {
    let (mut times, mut connection) = (Histogram::with_room(), connect(to)?);
    let cpu = this_cpu();
    // Refused, or with more CPUs than a byte can count, the numbers are only less steady.
    let meeting = u8::try_from(cpu).ok().filter(|_| stay_on(cpu)).unwrap_or(u8::MAX);
    connection.write_all(&[ECHO, meeting])?;
    connection.read_exact(&mut [0])?;
    for trip in 0..count + DISCARDED {
        if trip % 256 == 0 && stopped() {
            break;
        }
        let begun = Clock::now();
        connection.write_all(&[1])?;
        connection.read_exact(&mut [0])?;
        if trip >= DISCARDED {
            times.record(Clock::now() - begun);
        }
    }
    Ok(times)
}

/// One datagram of one byte after the other, each when the one before has come back.
fn datagrams(to: SocketAddr, count: u32, here: &Here) -> io::Result<Histogram> {
    let (mut times, socket) =
        (Histogram::with_room(), UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?);
    socket.connect(to)?;
    socket.set_read_timeout(Some(LOST))?;
    for trip in 0..count + DISCARDED {
        if trip % 256 == 0 && here.stopped() {
            break;
        }
        let begun = Clock::now();
        socket.send(&[1])?;
        socket.recv(&mut [0])?;
        if trip >= DISCARDED {
            times.record(Clock::now() - begun);
        }
    }
    Ok(times)
}

fn connects(to: SocketAddr, count: u32, here: &Here) -> io::Result<Histogram> {
    let mut times = Histogram::with_room();
    for _ in 0..count {
        if here.stopped() {
            break;
        }
        let begun = Clock::now();
        once(to)?;
        times.record(Clock::now() - begun);
    }
    Ok(times)
}

/// Bytes that have arrived, and the time until the last one had.
fn stream(to: SocketAddr, duration_ns: u64) -> io::Result<(u64, u64)> {
    let mut connection = connect(to)?;
    connection.write_all(&[SINK])?;
    let (block, begun) = (vec![0; STREAM_BLOCK], Clock::now());
    let mut sent = 0;
    while Clock::now() - begun < duration_ns {
        connection.write_all(&block)?;
        sent += block.len() as u64;
    }
    connection.shutdown(std::net::Shutdown::Write)?;
    connection.read_exact(&mut [0])?;
    Ok((sent, Clock::now() - begun))
}
