//! Name lookups, as the place is configured: both addresses (A and AAAA) of one name, asked at once of the
//! name servers of the place's own `/etc/resolv.conf`, one server after the other (resolver(5)).
//!
//! By questions of our own (RFC 1035), so that it is the resolver that is measured, in every image alike:
//! `/etc/hosts`, caches and modules of a C library, and search lists take no part. Only the name that the
//! user gives is ever asked for.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::inside::{Clock, Fault, Here, Task};

/// Lookups a round.
pub(super) const LOOKUPS: u32 = 20;
/// After so long no more lookups are begun in a round: a server that does not answer costs each 5 s.
const ENOUGH_NS: u64 = 2_000_000_000;
/// How long a server may take where `/etc/resolv.conf` does not say (RES_TIMEOUT).
const PATIENCE_S: u64 = 5;
/// The port of name servers.
const PORT: u16 = 53;
/// Types of the questions: an address of 4 bytes, and one of 16.
const QUESTIONS: [u8; 2] = [1, 28];

/// A name that servers can be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name(String);

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(known);
        if name.len() <= 253 && name.split('.').all(label) {
            Ok(Self(name.to_owned()))
        } else {
            Err(format!("`{text}` is not a host name such as `db.example.internal`"))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Looks a name up, again and again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Lookup {
    pub(super) name: Name,
    /// Asked instead of the place's own servers.
    pub(super) server: Option<SocketAddr>,
    pub(super) times: u32,
}

/// What it took.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// Until both answers had come.
    pub(super) times: Histogram,
    /// Records that the last answers had: addresses, and other names on the way to them.
    pub(super) records: u16,
    pub(super) servers: Vec<SocketAddr>,
    /// Why there was no answer, where there was none; then there were no more questions, either.
    pub(super) silence: Option<String>,
}

impl Task for Lookup {
    const NAME: &'static str = "net-lookup";
    type Output = Looked;

    fn run(self, here: &mut Here) -> Result<Looked, Fault> {
        // Waiting for a server that is not there would be most of every round.
        if let Some(silent) = here.kept::<Looked>() {
            return Ok(silent.clone());
        }
        let (servers, patience) = match self.server {
            Some(server) => (vec![server], Duration::from_secs(PATIENCE_S)),
            None => configured(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
        };
        let mut looked = Looked { servers, ..Looked::default() };
        let until = Clock::now() + ENOUGH_NS;
        for time in 0..self.times {
            if here.stopped() || Clock::now() > until {
                break;
            }
            let begun = Clock::now();
            match self.once(&looked.servers, patience, time) {
                Ok(records) => looked.records = records,
                Err(error) => {
                    looked.silence = Some(error.to_string());
                    here.keep(looked.clone());
                    break;
                }
            }
            looked.times.record(Clock::now() - begun);
        }
        Ok(looked)
    }
}

impl Lookup {
    /// The first server's answer; an error is the last one's.
    fn once(&self, servers: &[SocketAddr], patience: Duration, time: u32) -> io::Result<u16> {
        let mut last = io::Error::other("no server is configured");
        for server in servers {
            match ask(*server, &self.name, patience, time) {
                Ok(records) => return Ok(records),
                Err(error) => last = io::Error::other(format!("{server}: {}", words(&error))),
            }
        }
        Err(last)
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer".to_owned(),
        _ => error.to_string(),
    }
}

/// Both questions at once; how many records the answers have.
fn ask(server: SocketAddr, name: &Name, patience: Duration, time: u32) -> io::Result<u16> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // A port of its own for each lookup, so that late answers to earlier ones do not come here.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(patience))?;
    for question in QUESTIONS {
        socket.send(&message(name, question, time))?;
    }
    let (mut open, mut records) = (QUESTIONS.to_vec(), 0);
    let mut answer = [0; 1500];
    while !open.is_empty() {
        let length = socket.recv(&mut answer)?;
        let answered =
            |question: &u8| is_answer(&answer[..length], &message(name, *question, time));
        if let Some(at) = open.iter().position(answered) {
            open.swap_remove(at);
            records = u16::from_be_bytes([answer[6], answer[7]]).saturating_add(records);
        }
    }
    Ok(records)
}

/// A question: the head, the name as labels, its type, and the class of the Internet.
fn message(name: &Name, question: u8, time: u32) -> Vec<u8> {
    let [.., low] = time.to_be_bytes();
    // The number, "recursion is wanted", and that one question follows.
    let mut message = vec![question, low, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.0.split('.') {
        // A label has at most 63 bytes.
        message.push(u8::try_from(label.len()).unwrap_or(0));
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, 0, question, 0, 1]);
    message
}

/// Whether it is an answer (the first bit of the flags) to this question: also that there is no such name.
fn is_answer(answer: &[u8], question: &[u8]) -> bool {
    answer.len() >= 12 && answer[..2] == question[..2] && answer[2] & 0x80 != 0
}

/// The servers and how long each may take. Without any that is this machine (resolv.conf(5)).
fn configured(text: &str) -> (Vec<SocketAddr>, Duration) {
    let (mut servers, mut patience) = (Vec::new(), PATIENCE_S);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => {
                let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
                servers.extend(address.map(|address| SocketAddr::new(address, PORT)));
            }
            Some("options") => {
                let mut told = words.filter_map(|word| word.strip_prefix("timeout:")?.parse().ok());
                patience = told.next_back().unwrap_or(patience).clamp(1, 30);
            }
            _ => {}
        }
    }
    if servers.is_empty() {
        servers.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT));
    }
    (servers, Duration::from_secs(patience))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hosts_names() {
        for text in ["localhost", "a.b-c.d_e.", "x1"] {
            assert!(text.parse::<Name>().is_ok(), "{text}");
        }
        for text in ["", ".", "a..b", "a b", "ä.de", "http://a", &"x".repeat(64)] {
            assert!(text.parse::<Name>().is_err(), "{text}");
        }
        let asked = message(&"ab.c".parse().unwrap(), 28, 7);
        assert_eq!(asked[12..], [2, b'a', b'b', 1, b'c', 0, 0, 28, 0, 1]);
    }

    #[test]
    fn servers_are_those_of_the_place() {
        let text =
            "# x\nsearch a b\nnameserver 10.0.0.1\nnameserver ::1\noptions ndots:0 timeout:2\n";
        let (servers, patience) = configured(text);
        let told: Vec<String> = servers.iter().map(ToString::to_string).collect();
        assert_eq!((told, patience.as_secs()), (vec!["10.0.0.1:53".into(), "[::1]:53".into()], 2));
        assert_eq!(configured("").0[0].to_string(), "127.0.0.1:53");
    }

    /// Answers each question with an address, the second one late.
    fn resolver(late: Duration) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                (bytes[2], bytes[7]) = (0x81, 1);
                if bytes[length - 3] == QUESTIONS[1] {
                    std::thread::sleep(late);
                }
                socket.send_to(&bytes[..length], from).unwrap();
            }
        });
        address
    }

    #[test]
    fn a_lookup_ends_with_the_later_of_both_answers() {
        let late = Duration::from_millis(15);
        let server = Some(resolver(late));
        let lookup = Lookup { name: "x.test".parse().unwrap(), server, times: 3 };
        let looked = lookup.run(&mut Here::default()).unwrap();
        assert_eq!((looked.times.count(), looked.records, looked.silence), (3, 2, None));
        assert!(u128::from(looked.times.least()) >= late.as_nanos());
    }

    #[test]
    fn where_nobody_answers_nobody_is_asked_again() {
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let lookup = Lookup { name: "x.test".parse().unwrap(), server: Some(nobody), times: 5 };
        let mut here = Here::default();
        for _ in 0..2 {
            let looked = lookup.clone().run(&mut here).unwrap();
            assert_eq!(looked.times.count(), 0);
            assert!(looked.silence.unwrap().contains("127.0.0.1"));
        }
        assert!(here.kept::<Looked>().is_some());
    }
}
