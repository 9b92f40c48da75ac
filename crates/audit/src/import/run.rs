//! Reads sources on all cores: one thread cuts them into chunks, the others read the chunks, and
//! the caller takes the batches in the order of the source.
//!
//! ```text
//! chunks (in order) -> workers -> batches (in any order) -> by number -> take
//! ```

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::parallel::cores;
use super::plan::{PlannedSource, ReadRows};
use super::source::Chunks;
use crate::error::Error;

/// Chunks under way for each core.
const AHEAD: usize = 3;

/// A chunk of a source, read.
#[derive(Debug)]
pub(crate) struct ReadChunk {
    pub(crate) source: usize,
    pub(crate) rows: ReadRows,
    /// Bytes of the chunk.
    pub(crate) bytes: u64,
    /// Where the next chunk begins.
    pub(crate) next_offset: u64,
}

/// What ended a source.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A chunk was read.
    Chunk(Box<ReadChunk>),
    /// The source has ended; the hash of its bytes.
    End { source: usize, digest: u64 },
}

struct Job {
    number: u64,
    source: usize,
    bytes: Vec<u8>,
    /// The lines before it that say what its lines have.
    header: Vec<u8>,
    next_offset: u64,
}

/// Reads sources from a position on and calls `take` with what was read, in order. True when all
/// was read, false when `stop` was set: then what `take` got is all up to a boundary of chunks.
///
/// # Errors
/// When a source cannot be read, or `take` fails.
pub(crate) fn run(
    sources: &[PlannedSource],
    (first, offset): (usize, u64),
    stop: &AtomicBool,
    mut take: impl FnMut(Progress) -> Result<(), Error>,
) -> Result<bool, Error> {
    let workers = cores();
    let (jobs, work) = sync_channel::<Job>(workers * AHEAD);
    let work = Mutex::new(work);
    // Each chunk under way holds a ticket, so that a slow one does not let others pile up.
    let (tickets, used) = sync_channel::<()>(workers * AHEAD);
    let (results, arrived) = sync_channel::<(u64, Result<Progress, Error>)>(workers * AHEAD);
    // Memory of chunks that were read, for those to come.
    let (used_up, spares) = sync_channel::<Vec<u8>>(workers * AHEAD);
    let ending = AtomicBool::new(false);
    let mut done = true;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (results, used_up) = (results.clone(), used_up.clone());
            let work = &work;
            scope.spawn(move || worker(sources, work, (&results, &used_up)));
        }
        let ending = &ending;
        scope.spawn(move || {
            let stopped = || stop.load(Ordering::Relaxed) || ending.load(Ordering::Relaxed);
            cut(sources, (first, offset), &stopped, (&jobs, &tickets, &results, &spares));
        });
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let mut failed = None;
        for (number, progress) in arrived {
            waiting.insert(number, progress);
            while let Some(progress) = waiting.remove(&next) {
                next += 1;
                used.recv().ok();
                if failed.is_some() {
                    continue;
                }
                if let Err(error) = progress.and_then(&mut take) {
                    failed = Some(error);
                    ending.store(true, Ordering::Relaxed);
                }
            }
        }
        done = !stop.load(Ordering::Relaxed);
        failed.map_or(Ok(()), Err)
    })?;
    Ok(done)
}

/// How far the job of a number has come.
type Numbered = (u64, Result<Progress, Error>);

fn worker(
    sources: &[PlannedSource],
    work: &Mutex<Receiver<Job>>,
    (results, used_up): (&SyncSender<Numbered>, &SyncSender<Vec<u8>>),
) {
    loop {
        let job = work.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        let Ok(Job { number, source, bytes, header, next_offset }) = job else { return };
        let rows = sources[source].reader.read(&bytes, &header);
        let memory = bytes;
        let bytes = memory.len() as u64;
        // When there is enough of it, it is given back.
        used_up.try_send(memory).ok();
        let chunk = ReadChunk { source, rows, bytes, next_offset };
        if results.send((number, Ok(Progress::Chunk(Box::new(chunk))))).is_err() {
            return;
        }
    }
}

type Lines<'a> =
    (&'a SyncSender<Job>, &'a SyncSender<()>, &'a SyncSender<Numbered>, &'a Receiver<Vec<u8>>);

/// Cuts the sources into chunks.
fn cut(
    sources: &[PlannedSource],
    (first, offset): (usize, u64),
    stopped: &impl Fn() -> bool,
    (jobs, tickets, results, spares): Lines<'_>,
) {
    let number = Cell::new(0_u64);
    for (at, source) in sources.iter().enumerate().skip(first) {
        let skip = if at == first { source.skip.max(offset) } else { source.skip };
        let chunks = Chunks::open(&source.path, source.framing, skip);
        let result = chunks.and_then(|mut chunks| {
            let mut header = Vec::new();
            while let Some(bytes) = chunks.next(spares.try_recv().unwrap_or_default())? {
                let next =
                    source.reader.has_headers().then(|| super::logs::header_lines(&bytes, &header));
                let job = Job {
                    number: number.get(),
                    source: at,
                    bytes,
                    header: std::mem::replace(&mut header, next.unwrap_or_default()),
                    next_offset: chunks.offset,
                };
                if stopped() || tickets.send(()).is_err() || jobs.send(job).is_err() {
                    return Ok(None);
                }
                number.set(number.get() + 1);
            }
            Ok(Some(chunks.digest()))
        });
        let progress = match result {
            Ok(Some(digest)) => Ok(Progress::End { source: at, digest }),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let failed = progress.is_err();
        if tickets.send(()).is_err() || results.send((number.get(), progress)).is_err() || failed {
            return;
        }
        number.set(number.get() + 1);
    }
}
