//! A command's input, from a file of ours to the engine's connection.
//!
//! The file may be anything: a terminal, a pipe, a regular file. It is not ours alone, so it cannot
//! be made non-blocking for an event loop. A thread reads it instead and hands on through a socket,
//! whose other end the event loop can wait for:
//!
//! ```text
//!   file ── thread ── socket pair ── event loop ── engine
//! ```
//!
//! When the command has ended the event loop's end of the socket is closed, which the thread sees
//! while it waits for input that nobody wants any more.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// The engine's side of a command's input.
pub(super) type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// The size of a pipe, of which input mostly comes.
const CHUNK: usize = 64 * 1024;

/// Copies until the file ends or the command takes no more, then says that this was all.
pub(super) async fn copy(from: Arc<File>, mut to: Input) {
    // Neither end's failure is the command's: it sees the end of its input, as with any pipe.
    let _ended = copy_all(from, &mut to).await;
    let _ended = to.shutdown().await;
}

async fn copy_all(from: Arc<File>, to: &mut Input) -> io::Result<()> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut ours = tokio::net::UnixStream::from_std(ours)?;
    let thread = std::thread::Builder::new().name("culprit-stdin".to_owned());
    thread.spawn(move || drop(read_on(&from, &theirs)))?;
    tokio::io::copy(&mut ours, to).await.map(drop)
}

/// Reads until the file ends or nobody listens.
fn read_on(mut from: &File, mut to: &UnixStream) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let mut asked = [PollFd::new(&from, PollFlags::IN), PollFd::new(&to, PollFlags::empty())];
        match poll(&mut asked, None) {
            Err(rustix::io::Errno::INTR) => continue,
            result => result?,
        };
        if !asked[1].revents().is_empty() {
            return Ok(());
        }
        match from.read(&mut chunk)? {
            0 => return Ok(()),
            n => to.write_all(&chunk[..n])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{copy, read_on};
    use crate::engine::client::runtime;
    use std::fs::File;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    #[test]
    fn a_regular_file_is_copied_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        std::fs::write(&path, vec![b'x'; 200_000]).unwrap();
        let file = Arc::new(File::open(&path).unwrap());
        let taken = runtime().unwrap().block_on(async {
            let (to, mut from) = tokio::io::duplex(1 << 20);
            copy(file, Box::pin(to)).await;
            tokio::io::copy(&mut from, &mut tokio::io::sink()).await
        });
        assert_eq!(taken.unwrap(), 200_000);
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_wait_for_input() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let waiting = std::thread::spawn(move || {
            let file = File::from(std::os::fd::OwnedFd::from(reader));
            read_on(&file, &theirs).is_ok()
        });
        drop(ours);
        assert!(waiting.join().unwrap());
    }
}
