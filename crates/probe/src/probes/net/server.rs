//! The server: a process of its own in the place, one thread a connection.
//!
//! The first byte of a connection says what it is for. Datagrams of one byte come back from the UDP
//! port of the same number, where that is free.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::inside::{Fault, Here, Peer, Task, stay_on};

/// Every byte that follows comes back. The first of them is the number of a CPU that the server's
/// thread goes to, where it may.
pub(super) const ECHO: u8 = b'E';
/// Comes back itself, and the connection ends.
pub(super) const ONCE: u8 = b'P';
/// Everything is dropped until the connection ends.
pub(super) const SINK: u8 = b'S';
/// An HTTP request: `GET ...`.
pub(super) const GET: u8 = b'G';

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;

/// What the client may take in one go.
pub(super) const STREAM_BLOCK: usize = 128 << 10;

/// Begins the server once, as a second process beside the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Open {
    pub(super) program: PathBuf,
    /// 0 for any.
    pub(super) port: u16,
    /// Whether everybody may reach it, which in a network of its own is the engine's to say.
    pub(super) own_network: bool,
}

/// Where it listens.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(super) port: u16,
    /// Whether datagrams come back, too.
    pub(super) datagrams: bool,
    /// The place's own address beside loopback.
    pub(super) own_address: Option<String>,
}

/// The server's process, as long as the worker lives.
struct Server {
    _peer: Peer,
    opened: Opened,
}

impl Task for Open {
    const NAME: &'static str = "net-open";
    type Output = Opened;

    fn run(self, here: &mut Here) -> Result<Opened, Fault> {
        if let Some(server) = here.kept::<Server>() {
            return Ok(server.opened.clone());
        }
        let dir = here.dir()?.join("server");
        let failed = |error: std::io::Error| Fault::io("start the server", &self.program, &error);
        let mut peer = Peer::start(&self.program).map_err(failed)?;
        let Ports { port, datagrams } =
            peer.ask(&Serve { port: self.port, everywhere: self.own_network }, &dir)?;
        let own_address = self.own_network.then(own_address).flatten();
        let opened = Opened { port, datagrams, own_address };
        here.keep(Server { _peer: peer, opened: opened.clone() });
        Ok(opened)
    }
}

/// Listens; in the server's own process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Serve {
    port: u16,
    everywhere: bool,
}

/// What it listens on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Ports {
    port: u16,
    /// Whether on the UDP port of the same number, too: on the host somebody else may have it.
    datagrams: bool,
}

impl Task for Serve {
    const NAME: &'static str = "net-serve";
    type Output = Ports;

    fn run(self, _: &mut Here) -> Result<Ports, Fault> {
        let host = if self.everywhere { "0.0.0.0" } else { "127.0.0.1" };
        let failed =
            |error: std::io::Error| Fault::new(format!("cannot listen on {host}: {error}"));
        let listener = TcpListener::bind((host, self.port)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(connection) = connection else {
                    // One client that went away, or no descriptor left just now, is no reason to
                    // turn the next ones away.
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                };
                // The client sees how it ends, also where there is no thread left for it.
                let serving = std::thread::Builder::new();
                let _ = serving.spawn(move || serve(connection));
            }
        });
        let socket = UdpSocket::bind((host, port));
        let datagrams = socket.is_ok();
        if let Ok(socket) = socket {
            std::thread::spawn(move || send_back(&socket));
        }
        Ok(Ports { port, datagrams })
    }
}

/// Sends every datagram of one byte back, as long as the process lives.
fn send_back(socket: &UdpSocket) {
    // One more than is answered, so that longer ones are known.
    let mut bytes = [0; 2];
    loop {
        match socket.recv_from(&mut bytes) {
            // A client that went away is told to the next call, and is no reason to end.
            Ok((1, from)) => drop(socket.send_to(&bytes[..1], from)),
            Ok(_) => {}
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut first = [0];
    connection.read_exact(&mut first)?;
    match first[0] {
        ECHO => {
            let mut byte = [0];
            connection.read_exact(&mut byte)?;
            // Refused, the numbers are only less steady.
            let _ = stay_on(byte[0].into());
            connection.write_all(&byte)?;
            while connection.read(&mut byte)? == 1 {
                connection.write_all(&byte)?;
            }
            Ok(())
        }
        SINK => {
            let mut block = vec![0; STREAM_BLOCK];
            while connection.read(&mut block)? > 0 {}
            // The client learns so when everything has arrived.
            connection.write_all(&[SINK])
        }
        GET => {
            let mut request = Vec::new();
            let mut block = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                match connection.read(&mut block)? {
                    0 => return Ok(()),
                    count => request.extend_from_slice(&block[..count]),
                }
            }
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {PAGE}\r\n\r\n");
            connection.write_all(&[head.as_bytes(), &[b'x'; PAGE]].concat())
        }
        once => connection.write_all(&[once]),
    }
}

/// This network's address that is not loopback (`/proc/net/fib_trie`: the leaf's address stands in the
/// line before `host LOCAL`).
fn own_address() -> Option<String> {
    local_address(&std::fs::read_to_string("/proc/net/fib_trie").ok()?)
}

fn local_address(trie: &str) -> Option<String> {
    let mut leaf = "";
    for line in trie.lines() {
        if let Some(address) = line.trim_start().strip_prefix("|-- ") {
            leaf = address;
        } else if line.trim_end().ends_with("host LOCAL") && !leaf.starts_with("127.") {
            return Some(leaf.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_one_byte_come_back_and_others_do_not() {
        let dir = std::path::Path::new("/tmp");
        let ports = Serve { port: 0, everywhere: false }.run(&mut Here::at(dir)).unwrap();
        assert!(ports.datagrams, "a port that was just given out has its twin free");
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", ports.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut answer = [0; 4];
        for sent in [&[7, 8][..], &[], &[9]] {
            socket.send(sent).unwrap();
        }
        assert_eq!((socket.recv(&mut answer).unwrap(), answer[0]), (1, 9));
    }

    #[test]
    fn the_address_beside_loopback_is_found() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 172.17.0.2\n        /32 host LOCAL\n";
        assert_eq!(local_address(trie).as_deref(), Some("172.17.0.2"));
        assert_eq!(local_address("Main:\n     |-- 127.0.0.1\n        /32 host LOCAL\n"), None);
    }
}
