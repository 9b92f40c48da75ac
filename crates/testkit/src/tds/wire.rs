//! Packets and tokens of TDS, and the handshake of TLS inside of packets.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::tables::{TdsColumn, TdsTable, utf16};

/// Bytes of a packet at most, with its header.
const PACKET: usize = 4096;
const HEADER: usize = 8;
/// Kinds of packets.
const BATCH: u8 = 0x01;
const ANSWER: u8 = 0x04;
const LOGIN: u8 = 0x10;
const PRELOGIN: u8 = 0x12;

/// A key with its certificate.
#[derive(Debug, Clone)]
pub struct TdsKeys(Arc<ServerConfig>);

impl TdsKeys {
    /// Makes a key and a certificate for 127.0.0.1 in a folder: `key.pem` and `cert.pem`.
    ///
    /// # Errors
    /// The reason where `openssl` cannot be had.
    pub fn make(folder: &Path) -> Result<Self, String> {
        let setup = "[req]\nprompt=no\ndistinguished_name=n\nx509_extensions=x\n[n]\nCN=localhost\n[x]\n\
                     basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n";
        let text = |error: io::Error| error.to_string();
        std::fs::write(folder.join("setup"), setup).map_err(text)?;
        let line =
            "req -x509 -newkey rsa:2048 -nodes -days 2 -config setup -keyout key.pem -out cert.pem";
        let mut openssl = crate::program("openssl");
        let made = openssl.args(line.split(' ')).current_dir(folder).output().map_err(text)?;
        if !made.status.success() {
            return Err(crate::stderr(&made));
        }
        let read = |error: rustls::pki_types::pem::Error| error.to_string();
        let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).map_err(read)?;
        let certificate = CertificateDer::from_pem_file(folder.join("cert.pem")).map_err(read)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        // Before TDS 8, a server speaks TLS 1.2: messages after the handshake have no packets around them.
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS12])
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![certificate], key)
            });
        Ok(Self(Arc::new(config.map_err(|error| error.to_string())?)))
    }
}

/// The tokens of an answer.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A text with the count of its characters in one byte.
    fn short(&mut self, text: &str) {
        let text = utf16(text);
        self.0.push(u8::try_from(text.len() / 2).unwrap_or(0));
        self.bytes(&text);
    }

    /// A token whose length stands behind its number.
    fn token(&mut self, number: u8, rest: &Self) {
        self.0.push(number);
        self.bytes(&u16::try_from(rest.len()).unwrap_or(0).to_le_bytes());
        self.bytes(&rest.0);
    }
}

pub(super) fn login_ack(out: &mut Message) {
    let mut rest = Message::default();
    rest.bytes(&[1, 0x74, 0, 0, 4]);
    rest.short("stand-in");
    rest.bytes(&[16, 0, 0, 0]);
    out.token(0xad, &rest);
}

pub(super) fn error(out: &mut Message, number: u32, text: &str) {
    let mut rest = Message::default();
    rest.bytes(&number.to_le_bytes());
    rest.bytes(&[1, 16]);
    let text = utf16(text);
    rest.bytes(&u16::try_from(text.len() / 2).unwrap_or(0).to_le_bytes());
    rest.bytes(&text);
    rest.short("stand-in");
    rest.short("");
    rest.bytes(&1_u32.to_le_bytes());
    out.token(0xaa, &rest);
}

/// A transaction begins.
pub(super) fn environment(out: &mut Message, transaction: u64) {
    let mut rest = Message::default();
    rest.bytes(&[8, 8]);
    rest.bytes(&transaction.to_le_bytes());
    rest.bytes(&[0]);
    out.token(0xe3, &rest);
}

pub(super) fn done(out: &mut Message, failed: bool) {
    out.bytes(&[0xfd]);
    out.bytes(&(if failed { 2_u16 } else { 0x10 }).to_le_bytes());
    out.bytes(&[0xc1, 0]);
    out.bytes(&0_u64.to_le_bytes());
}

pub(super) fn metadata(out: &mut Message, columns: &[&TdsColumn]) {
    out.bytes(&[0x81]);
    out.bytes(&u16::try_from(columns.len()).unwrap_or(0).to_le_bytes());
    for column in columns {
        // No type of the user's own; the column may be NULL.
        out.bytes(&[0, 0, 0, 0, 1, 0]);
        column.ty.describe(out);
        out.short(&column.name);
    }
}

/// A row: every second one with a bitmap of the cells that are NULL, which are left out then.
pub(super) fn row(
    out: &mut Message,
    table: &TdsTable,
    columns: &[usize],
    cells: &[Option<String>],
) {
    let cell = |at: &usize| cells.get(*at).and_then(Option::as_deref);
    let with_bitmap = out.len().is_multiple_of(2);
    if with_bitmap {
        out.bytes(&[0xd2]);
        let mut bitmap = vec![0_u8; columns.len().div_ceil(8)];
        for (at, column) in columns.iter().enumerate() {
            bitmap[at / 8] |= u8::from(cell(column).is_none()) << (at % 8);
        }
        out.bytes(&bitmap);
    } else {
        out.bytes(&[0xd1]);
    }
    for at in columns {
        if let (None, true) = (cell(at), with_bitmap) {
            continue;
        }
        table.columns[*at].ty.value(out, cell(at));
    }
}

/// Who wants in.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
}

/// Bytes both ways.
trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// A connection of a client.
pub(super) struct Wire {
    stream: Box<dyn Duplex>,
    /// The same connection, to end it.
    tcp: TcpStream,
    number: u8,
}

impl Wire {
    /// Answers the first packet, and encrypts the connection if there is a key.
    pub(super) fn accept(mut tcp: TcpStream, keys: Option<&TdsKeys>) -> io::Result<Self> {
        let (kind, _) = message(&mut tcp)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        expect(kind, PRELOGIN)?;
        // Version and encryption: offsets and lengths, then the values. 2 is "not there", 3 "required".
        let encryption = if keys.is_some() { 3 } else { 2 };
        let options = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
        let values = [16, 0, 0, 0, 0, 0, encryption];
        let answer = Message([&options[..], &values].concat());
        let mut plain =
            Self { stream: Box::new(tcp.try_clone()?), tcp: tcp.try_clone()?, number: 0 };
        plain.send(&answer)?;
        let Some(TdsKeys(config)) = keys else { return Ok(plain) };
        let mut session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut inside = Inside { tcp: tcp.try_clone()?, rest: Vec::new() };
        while session.is_handshaking() {
            session.complete_io(&mut inside)?;
        }
        let stream = Box::new(StreamOwned::new(session, tcp.try_clone()?));
        Ok(Self { stream, tcp, number: 0 })
    }

    /// Reads the login.
    pub(super) fn login(&mut self) -> io::Result<Login> {
        let (kind, bytes) = message(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        expect(kind, LOGIN)?;
        // From byte 36 on stand offsets and lengths: host, user, password, program, server, unused,
        // library, language, database.
        let text = |at: usize| {
            let number = |at: usize| match bytes.get(at..at + 2) {
                Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
                _ => 0,
            };
            let (from, length) = (number(36 + 4 * at), number(38 + 4 * at));
            bytes.get(from..from + 2 * length).unwrap_or_default().to_vec()
        };
        // Passwords are not legible at once: halves of bytes are exchanged and bits turned.
        let password: Vec<u8> = text(2).iter().map(|byte| (byte ^ 0xa5).rotate_left(4)).collect();
        Ok(Login {
            user: text_of(&text(1)),
            password: text_of(&password),
            database: text_of(&text(8)),
        })
    }

    /// Reads a statement with the transaction that it is of; none at the end.
    pub(super) fn batch(&mut self) -> io::Result<Option<(u64, String)>> {
        let Some((kind, bytes)) = message(&mut self.stream)? else { return Ok(None) };
        expect(kind, BATCH)?;
        // Headers, with their length in front; one of them has the transaction at its byte 6.
        let length = bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let length = usize::try_from(length).unwrap_or(0);
        let transaction = bytes.get(10..).and_then(<[u8]>::first_chunk::<8>);
        let transaction = transaction.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Ok(Some((transaction, text_of(bytes.get(length..).unwrap_or_default()))))
    }

    /// Sends an answer.
    pub(super) fn send(&mut self, answer: &Message) -> io::Result<()> {
        let packets = self.packets(answer, true);
        self.write_all(&packets)
    }

    /// Sends what fills whole packets; the rest stays.
    pub(super) fn send_part(&mut self, answer: &mut Message) -> io::Result<()> {
        let whole = answer.len() / (PACKET - HEADER) * (PACKET - HEADER);
        let rest = Message(answer.0.split_off(whole));
        let packets = self.packets(answer, false);
        *answer = rest;
        self.write_all(&packets)
    }

    /// An answer as packets.
    pub(super) fn packets(&mut self, answer: &Message, last: bool) -> Vec<u8> {
        let count = answer.len().div_ceil(PACKET - HEADER);
        let mut out = Vec::with_capacity(answer.len() + count * HEADER);
        for (at, part) in answer.0.chunks(PACKET - HEADER).enumerate() {
            self.number = self.number.wrapping_add(1);
            let length = u16::try_from(part.len() + HEADER).unwrap_or(0).to_be_bytes();
            let status = u8::from(last && at + 1 == count);
            out.extend_from_slice(&[ANSWER, status, length[0], length[1], 0, 0, self.number, 0]);
            out.extend_from_slice(part);
        }
        out
    }

    /// Ends the connection as it is.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.tcp.shutdown(Shutdown::Both)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn text_of(bytes: &[u8]) -> String {
    let letters: Vec<u16> =
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&letters)
}

fn expect(kind: u8, expected: u8) -> io::Result<()> {
    match kind == expected {
        true => Ok(()),
        false => Err(io::Error::other(format!("a packet of kind {kind}, not {expected}"))),
    }
}

/// The packets of one message; none when the client has gone.
fn message(stream: &mut (impl Read + ?Sized)) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut all = Vec::new();
    loop {
        let mut header = [0; HEADER];
        if stream.read_exact(&mut header).is_err() {
            return Ok(None);
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let begin = all.len();
        all.resize(begin + length.saturating_sub(HEADER), 0);
        stream.read_exact(&mut all[begin..])?;
        if header[1] & 1 == 1 {
            return Ok(Some((header[0], all)));
        }
    }
}

/// TLS inside of packets.
struct Inside {
    tcp: TcpStream,
    rest: Vec<u8>,
}

impl Read for Inside {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            let Some((kind, bytes)) = message(&mut self.tcp)? else { return Ok(0) };
            expect(kind, PRELOGIN)?;
            self.rest = bytes;
        }
        let count = out.len().min(self.rest.len());
        out[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

impl Write for Inside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.chunks(PACKET - HEADER) {
            let length = u16::try_from(part.len() + HEADER).unwrap_or(0).to_be_bytes();
            self.tcp.write_all(&[PRELOGIN, 1, length[0], length[1], 0, 0, 0, 0])?;
            self.tcp.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}
