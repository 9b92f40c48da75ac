//! The requests that a .NET process takes at its diagnostics socket.
//!
//! One request and one answer a connection, each a header of 20 bytes and a payload, little-endian.
//! Source: .NET's `docs/design-docs/ipc-protocol.md` (repository `diagnostics`) and
//! `src/native/eventpipe/ds-process-protocol.c`.

use std::io::{self, Read, Write};

/// How each message begins.
const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";

/// Bytes of a header.
const HEADER: usize = 20;

/// The set of requests about the process, and that of answers.
const PROCESS: u8 = 0x04;
const ANSWER: u8 = 0xff;

/// The answer's number when the request was carried out.
const DONE: u8 = 0x00;

/// An answer has four bytes of payload.
const LONGEST_ANSWER: usize = 4096;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// Write a perf map, with what was compiled until now, and go on.
    EnablePerfMap,
    /// Write no more.
    DisablePerfMap,
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The process does not know the request, or cannot carry it out: the runtime's error code.
    #[error("the runtime answered {0:#x}")]
    Code(u32),
    /// The socket failed, or nobody answered in time.
    #[error("no answer: {0}")]
    Io(#[from] io::Error),
}

impl Request {
    fn message(self) -> Vec<u8> {
        /// Only the map: the dump would take a copy of all code.
        const PERF_MAP: u32 = 3;
        let (command, payload) = match self {
            Self::EnablePerfMap => (0x05, PERF_MAP.to_le_bytes().to_vec()),
            Self::DisablePerfMap => (0x06, Vec::new()),
        };
        let size = u16::try_from(HEADER + payload.len()).unwrap_or(u16::MAX);
        let mut message = MAGIC.to_vec();
        message.extend(size.to_le_bytes());
        message.extend([PROCESS, command, 0, 0]);
        message.extend(payload);
        message
    }

    /// Sends the request and reads the answer.
    ///
    /// # Errors
    /// When the runtime refuses, or does not answer as it should.
    pub(super) fn send(self, stream: &mut (impl Read + Write)) -> Result<(), Refusal> {
        let malformed = || io::Error::from(io::ErrorKind::InvalidData);
        stream.write_all(&self.message())?;
        let mut header = [0; HEADER];
        stream.read_exact(&mut header)?;
        let [.., low, high, set, answer, _, _] = header;
        let size = usize::from(u16::from_le_bytes([low, high]));
        if !header.starts_with(MAGIC) || set != ANSWER || !(HEADER..LONGEST_ANSWER).contains(&size)
        {
            return Err(malformed().into());
        }
        if answer == DONE {
            return Ok(());
        }
        let mut code = [0; 4];
        stream.read_exact(&mut code)?;
        Err(Refusal::Code(u32::from_le_bytes(code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that answers with given bytes and keeps what was written.
    struct Line {
        answer: io::Cursor<Vec<u8>>,
        written: Vec<u8>,
    }

    impl Read for Line {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.answer.read(buffer)
        }
    }

    impl Write for Line {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn send(request: Request, answer: &[u8]) -> (Vec<u8>, Result<(), Refusal>) {
        let mut line = Line { answer: io::Cursor::new(answer.to_vec()), written: Vec::new() };
        let result = request.send(&mut line);
        (line.written, result)
    }

    #[test]
    fn a_request_is_a_header_and_its_payload() {
        let (written, result) =
            send(Request::EnablePerfMap, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0");
        assert!(result.is_ok());
        assert_eq!(written, b"DOTNET_IPC_V1\0\x18\0\x04\x05\0\0\x03\0\0\0");
        let (written, _) = send(Request::DisablePerfMap, b"");
        assert_eq!(written, b"DOTNET_IPC_V1\0\x14\0\x04\x06\0\0");
    }

    #[test]
    fn what_is_no_good_answer_is_a_refusal() {
        let of =
            |answer: &[u8]| send(Request::EnablePerfMap, answer).1.expect_err("no").to_string();
        let unknown = of(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80");
        assert_eq!(unknown, "the runtime answered 0x80131385");
        for answer in [
            &b""[..],
            b"DOTNET_IPC_V1\0\x18\0\xff",
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            b"DOTNET_IPC_V1\0\xff\xff\xff\0\0\0\0\0\0\0",
            b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0",
        ] {
            assert!(of(answer).starts_with("no answer"), "{answer:?}");
        }
    }
}
