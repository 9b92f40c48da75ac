//! `net`: what the way to a server in a place costs.
//!
//! Client and server are two of our own processes: the client on the host, the server in the place, a
//! thread a connection. So the way between them is all that differs: loopback, the host's network in a
//! container, the bridge, or a published port, which on loopback goes through a process of the engine
//! (docker-proxy) that copies every byte; its CPU time is counted.
//!
//! ```text
//!   host       client ── lo ── server
//!   hostnet    client ── lo ── server in a container without a network of its own
//!   bridge     client ── docker0 ── server
//!   published  client ── lo ── docker-proxy ── docker0 ── server
//!   inside     client ── lo of the place ── server
//! ```
//!
//! What has a network of its own that nobody reaches from outside (a sandbox, a container without a
//! network, one that was there before) is measured inside: both ends are in the place.
//!
//! Name lookups ([`Dns`]) are asked for by the place itself, and only where the user gives a name.

mod client;
mod lookup;
mod pages;
mod proxy;
mod server;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use culprit_model::Unit;
use culprit_place::{Network, PlaceSpec, Protocol, Publish};
use serde_json::{Value, json};

pub(crate) use client::Talk;
pub(crate) use lookup::Lookup;
pub use lookup::Name;
pub(crate) use server::{Open, Serve};

use crate::arm::{Arm, Location, Role};
use crate::error::{Error, Result};
use crate::histogram::Histogram;
use crate::metric::{Metric, Part};
use crate::probe::{Asked, Probe, standard_arms};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};

/// What is measured.
#[derive(Debug, Clone)]
pub struct Net {
    /// Trips of one byte on one connection, a round.
    pub trips: u32,
    /// Connections a round, each with one byte there and back.
    pub connects: u32,
    /// How long bytes are sent one way, and how long requests are made.
    pub duration: Duration,
    /// Requests a second at which the load is held; their latency counts from their planned time.
    pub rate: u32,
    /// What each place looks up; nothing unless the user says so.
    pub dns: Option<Dns>,
}

/// A name that is looked up.
#[derive(Debug, Clone)]
pub struct Dns {
    /// The only name that is ever asked for.
    pub name: Name,
    /// Who is asked instead of the place's own name servers.
    pub server: Option<SocketAddr>,
}

impl Default for Net {
    fn default() -> Self {
        let duration = Duration::from_millis(400);
        Self { trips: 4000, connects: 300, duration, rate: 500, dns: None }
    }
}

const RTT: Metric = nanos("rtt_ns.p50", "round trip, p50", Part::Headline);
const RTT_LOW: Metric = nanos("rtt_ns.p10", "round trip, p10", Part::Detail);
const CONNECT: Metric = nanos("connect_ns.p50", "connect + 1 byte, p50", Part::Headline);
const CONNECT_LOW: Metric = nanos("connect_ns.p10", "connect + 1 byte, p10", Part::Detail);
const STREAM: Metric =
    Metric::higher("stream_bytes_per_s", "stream", Unit::BytesPerSecond, Part::Headline);
const HTTP_RATE: Metric =
    Metric::higher("http_per_s", "HTTP requests", Unit::PerSecond, Part::Shown);
const HTTP: Metric = nanos("http_ns.p50", "HTTP request, p50", Part::Headline);
const HTTP_TAIL: Metric = nanos("http_ns.p99", "HTTP request, p99", Part::Detail);
const LOAD: Metric = nanos("load_ns.p50", "at a fixed rate, p50", Part::Shown);
const LOAD_TAIL: Metric = nanos("load_ns.p99", "at a fixed rate, p99", Part::Detail);
const LOAD_RATE: Metric = Metric::fact("load_per_s", "rate reached", Unit::PerSecond);
const UDP: Metric = nanos("udp_rtt_ns.p50", "UDP round trip, p50", Part::Shown);
const LOOKUP: Metric = nanos("dns_ns.p50", "name lookup, p50", Part::Shown);
const LOOKUP_LOW: Metric = nanos("dns_ns.p10", "name lookup, p10", Part::Detail);
const LOOKUP_LONGEST: Metric = nanos("dns_ns.max", "name lookup, the longest", Part::Detail);
const RECORDS: Metric = Metric::fact("dns_records", "records found", Unit::Count);
const PROXY_TRIP: Metric = nanos("proxy_cpu_ns_per_trip", "proxy's CPU, round trip", Part::Shown);
const PROXY_CONNECT: Metric =
    nanos("proxy_cpu_ns_per_connect", "proxy's CPU, connect", Part::Shown);
const PROXY_GIB: Metric = nanos("proxy_cpu_ns_per_gib", "proxy's CPU, GiB", Part::Detail);
const PROXY_DATAGRAM: Metric =
    nanos("proxy_cpu_ns_per_datagram", "proxy's CPU, UDP round trip", Part::Detail);

const fn nanos(id: &'static str, name: &'static str, part: Part) -> Metric {
    Metric::lower(id, name, Unit::Nanos, part)
}

/// The server's port in networks of their own.
const PORT: u16 = 7411;

const HOST_NETWORK: &str = "hostnet";
const BRIDGE: &str = "bridge";
const PUBLISHED: &str = "published";
const INSIDE: &str = "inside";

impl Probe for Net {
    fn id(&self) -> &'static str {
        "net"
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![
            RTT,
            CONNECT,
            STREAM,
            HTTP,
            HTTP_RATE,
            LOAD,
            UDP,
            PROXY_TRIP,
            PROXY_CONNECT,
            RTT_LOW,
            CONNECT_LOW,
            HTTP_TAIL,
            LOAD_TAIL,
            LOAD_RATE,
            PROXY_GIB,
            PROXY_DATAGRAM,
        ];
        if self.dns.is_some() {
            metrics.extend([LOOKUP, LOOKUP_LOW, LOOKUP_LONGEST, RECORDS]);
        }
        metrics
    }

    fn round_time(&self) -> Option<Duration> {
        // The stream, requests as fast as they are answered, and requests at a fixed rate.
        self.duration.checked_mul(3)
    }

    fn workload(&self) -> Value {
        let mut workload = json!({
            "trips": self.trips,
            "connects": self.connects,
            "datagrams": client::DATAGRAMS,
            "duration_ns": length(self.duration),
            "rate_per_s": self.rate,
            "http_clients": pages::CLIENTS,
            "http_bytes": server::PAGE,
        });
        if let Some(dns) = &self.dns {
            workload["dns_name"] = dns.name.to_string().into();
            workload["dns_server"] = dns.server.map(|server| server.to_string()).into();
            workload["dns_lookups"] = lookup::LOOKUPS.into();
        }
        workload
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![
            "the server runs in the place and the client on the host; for `inside` both run in \
             the place"
                .to_owned(),
            format!(
                "{} round trips of 1 byte on one connection between two threads on one CPU, then \
                 {} new connections with one such round trip each",
                self.trips, self.connects
            ),
            format!(
                "then three workloads of {:?} each: bytes in one direction, HTTP requests for 4 \
                 KiB by {} clients as fast as possible, and the same requests at {} per second",
                self.duration,
                pages::CLIENTS,
                self.rate
            ),
            format!("then {} round trips of a datagram of 1 byte", client::DATAGRAMS),
            "latency at a fixed rate counts from the planned time of the request".to_owned(),
        ];
        words.extend(self.dns.as_ref().map(|dns| {
            let whom = dns.server.map_or_else(
                || "the place's own name servers".to_owned(),
                |server| format!("the name server {server}"),
            );
            format!(
                "at the end, the place asks {whom} for the addresses (A and AAAA) of `{}`, up to \
                 {} times",
                dns.name,
                lookup::LOOKUPS
            )
        }));
        words
    }

    /// Storage plays no part; an engine's place comes by each way to it.
    fn arms(&self, asked: &Asked) -> Result<Vec<Arm>> {
        let asked = Asked { at: vec![Location::Layer(None)], ..asked.clone() };
        let mut arms = Vec::new();
        for arm in standard_arms(&asked) {
            arms.extend(ways(arm)?);
        }
        Ok(arms)
    }

    /// One lookup, which says who is asked.
    fn prepare(&self, stand: &mut Stand<'_>) -> Result<Vec<String>> {
        let Some(dns) = &self.dns else { return Ok(Vec::new()) };
        let looked = stand.ask(&dns.lookup(1))?;
        let servers: Vec<String> = looked.servers.iter().map(ToString::to_string).collect();
        let servers = servers.join(", ");
        Ok(vec![match (&looked.silence, looked.records) {
            (Some(why), _) => format!("the lookup of `{}` failed: {why}", dns.name),
            (None, 0) => format!("`{}` has no records at {servers}", dns.name),
            (None, 1) => format!("`{}` has 1 record at {servers}", dns.name),
            (None, some) => format!("`{}` has {some} records at {servers}", dns.name),
        }])
    }

    fn measure(&self, stand: &mut Stand<'_>, round: ProbeRound) -> Result<Sample> {
        let Server { address: to, datagrams } = server(stand)?;
        let dir = stand.dir().to_path_buf();
        let talk = Talk {
            to,
            datagrams,
            trips: self.trips,
            connects: self.connects,
            duration_ns: length(self.duration),
            rate: self.rate,
            seed: round.seed,
            published: published_port(stand.arm()),
        };
        let told = match stand.arm().variant {
            Some(INSIDE) => stand.ask(&talk)?,
            _ => stand.ask_host(&talk, &dir)?,
        };
        let looked = match &self.dns {
            Some(dns) => looked(&stand.ask(&dns.lookup(lookup::LOOKUPS))?),
            None => Sample::default(),
        };
        let part = |times: &Histogram, q: f64| times.percentile(q).map(|ns| ns as f64);
        Ok(looked
            .maybe(RTT.id, part(&told.trips, 0.5))
            .maybe(RTT_LOW.id, part(&told.trips, 0.1))
            .maybe(CONNECT.id, part(&told.connects, 0.5))
            .maybe(CONNECT_LOW.id, part(&told.connects, 0.1))
            .with(STREAM.id, told.stream_bytes_per_s)
            .maybe(HTTP.id, part(&told.http, 0.5))
            .maybe(HTTP_TAIL.id, part(&told.http, 0.99))
            .with(HTTP_RATE.id, told.http_per_s)
            .maybe(LOAD.id, part(&told.load, 0.5))
            .maybe(LOAD_TAIL.id, part(&told.load, 0.99))
            .with(LOAD_RATE.id, told.load_per_s)
            .maybe(UDP.id, part(&told.datagrams, 0.5))
            .maybe(PROXY_TRIP.id, told.proxy.trip_ns)
            .maybe(PROXY_CONNECT.id, told.proxy.connect_ns)
            .maybe(PROXY_GIB.id, told.proxy.gib_ns)
            .maybe(PROXY_DATAGRAM.id, told.proxy.datagram_ns)
            .with_latencies("round trip", told.trips)
            .with_latencies("connect", told.connects)
            .with_latencies("HTTP", told.http)
            .with_latencies("at a fixed rate", told.load))
    }
}

impl Dns {
    fn lookup(&self, times: u32) -> Lookup {
        Lookup { name: self.name.clone(), server: self.server, times }
    }
}

fn looked(told: &lookup::Looked) -> Sample {
    if told.times.count() == 0 {
        return Sample::default();
    }
    let part = |q: f64| told.times.quantile(q).map(|ns| ns as f64);
    Sample::default()
        .maybe(LOOKUP.id, part(0.5))
        .maybe(LOOKUP_LOW.id, part(0.1))
        .maybe(LOOKUP_LONGEST.id, part(1.0))
        .with(RECORDS.id, f64::from(told.records))
        .with_latencies("name lookup", told.times.clone())
}

fn length(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The ways to a place: a container without a network option comes by all of them.
fn ways(arm: Arm) -> Result<Vec<Arm>> {
    let options = match &arm.spec {
        PlaceSpec::Engine { options, .. } => options.clone(),
        PlaceSpec::Container { .. } | PlaceSpec::Sandbox { .. } => return Ok(vec![inside(arm)]),
        PlaceSpec::Host { .. } => return Ok(vec![arm]),
    };
    let way = |variant: &'static str, network: Network, publish: &[Publish]| {
        let mut options = options.clone();
        options.network = Some(network);
        options.publish.extend_from_slice(publish);
        let PlaceSpec::Engine { engine, image, .. } = &arm.spec else { return None };
        let spec = PlaceSpec::Engine { engine: *engine, image: image.clone(), options };
        let label = format!("{} {variant}", arm.label);
        Some(Arm { label, spec, variant: Some(variant), ..arm.clone() })
    };
    let host = Some(free_port()?);
    let published =
        [Protocol::Tcp, Protocol::Udp].map(|protocol| Publish { host, container: PORT, protocol });
    let ways = match options.network {
        None => vec![
            way(HOST_NETWORK, Network::Host, &[]),
            way(BRIDGE, Network::Bridge, &published),
            way(PUBLISHED, Network::Bridge, &published),
        ],
        Some(Network::Host) => vec![way(HOST_NETWORK, Network::Host, &[])],
        Some(Network::Bridge) => vec![
            way(BRIDGE, Network::Bridge, &published),
            way(PUBLISHED, Network::Bridge, &published),
        ],
        Some(Network::None) => return Ok(vec![inside(arm)]),
    };
    let mut ways: Vec<Arm> = ways.into_iter().flatten().collect();
    if arm.role == Role::Again {
        // The noise is told by one way, the baseline's.
        ways.truncate(1);
    }
    // One way is the baseline; the others are compared with it.
    for other in ways.iter_mut().skip(1) {
        other.role = Role::Candidate;
    }
    Ok(ways)
}

/// Both ends in the place.
fn inside(arm: Arm) -> Arm {
    Arm { label: format!("{} {INSIDE}", arm.label), variant: Some(INSIDE), ..arm }
}

/// A port that nobody has just now; what takes it in the meantime makes the container's start fail,
/// which is told.
fn free_port() -> Result<u16> {
    let found = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| {
        let port = listener.local_addr()?.port();
        // For datagrams, too.
        UdpSocket::bind(("127.0.0.1", port)).map(|_| port)
    });
    found.map_err(|source| Error::File {
        doing: "find a free port on",
        path: "127.0.0.1".to_owned(),
        source,
    })
}

fn published_port(arm: &Arm) -> Option<u16> {
    let PlaceSpec::Engine { options, .. } = &arm.spec else { return None };
    let ours = options.publish.iter().find(|publish| publish.container == PORT)?;
    ours.host.filter(|_| arm.variant == Some(PUBLISHED))
}

/// Where the client finds the arm's server.
struct Server {
    address: String,
    /// Whether datagrams find it, too.
    datagrams: bool,
}

/// The arm's server, which is begun when it is first asked for.
fn server(stand: &mut Stand<'_>) -> Result<Server> {
    let arm = stand.arm();
    let own_network = matches!(arm.variant, Some(BRIDGE | PUBLISHED));
    let (bridge, published) = (arm.variant == Some(BRIDGE), published_port(arm));
    debug_assert!(arm.role != Role::Again || !own_network, "the host is the baseline's place");
    let open =
        Open { program: stand.program(), port: if own_network { PORT } else { 0 }, own_network };
    let opened = stand.ask(&open)?;
    let host = match (bridge, opened.own_address) {
        (true, Some(address)) => address,
        (true, None) => {
            return Err(Error::Asked {
                what: "the container has no address of its own on the bridge".to_owned(),
                hint: None,
            });
        }
        _ => "127.0.0.1".to_owned(),
    };
    Ok(Server {
        address: format!("{host}:{}", published.unwrap_or(opened.port)),
        datagrams: opened.datagrams,
    })
}
