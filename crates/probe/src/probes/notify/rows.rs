//! Rows that one writes and another waits for: how many a second when each waits for the one before
//! it, and how late they come in a stream.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use super::reader::Reader;
use super::source::{Source, file_system, is_remote_to_tail};
use crate::histogram::Histogram;
use crate::inside::{Child, Clock, Fault, Here, Peer, Task};

/// Rows through one reader.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Rows {
    pub(super) reader: Reader,
    /// What the writer does between a row's arrival and the next row, ns.
    pub(super) think_ns: u64,
    /// How long it goes on, ns.
    pub(super) loop_ns: u64,
}

/// What came through.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Rows a second where each waits for the one before it.
    pub(super) rows_per_second: f64,
    /// From the writing of a row in a stream to its arrival.
    pub(super) latency: Histogram,
    /// The part of the stream that arrived.
    pub(super) delivered: f64,
}

/// How long a row is waited for: looks may be a second apart.
const PATIENCE: Duration = Duration::from_millis(2500);
/// How long a reader that has shown its first row may take to begin to wait.
const SETTLE: Duration = Duration::from_millis(30);

impl Task for Rows {
    const NAME: &'static str = "notify-rows";
    /// None where the place lacks the reader's program, or does not let it be set up.
    type Output = Option<Told>;

    fn run(self, here: &mut Here) -> Result<Option<Told>, Fault> {
        let dir = here.dir()?.to_path_buf();
        if self.reader == Reader::TailExhausted {
            let Ok(mut peer) = Peer::start_without_inotify() else { return Ok(None) };
            let told = peer.ask(&Self { reader: Reader::Tail, ..self }, &dir.join("exhausted"));
            // It has answered; how it ends says nothing.
            let _ended = peer.end();
            return told;
        }
        let path = dir.join(format!("rows-{}", Clock::now()));
        let told = self.through(&path, here);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Fault::io("remove", &path, &error))
            }
            _ => told,
        }
    }
}

impl Rows {
    fn through(&self, path: &Path, here: &Here) -> Result<Option<Told>, Fault> {
        let failed = |error: io::Error| Fault::io("follow", path, &error);
        let (mut writer, source) = match self.open(path) {
            Ok(both) => both,
            Err(error) if is_missing_program(self.reader, &error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let following = Following::start(source);
        if !following.shows(&mut writer, 0).map_err(failed)? {
            return Ok(Some(Told::default()));
        }
        std::thread::sleep(SETTLE);
        let rows_per_second = self.closed_loop(&mut writer, &following, here).map_err(failed)?;
        let (latency, delivered) = self.stream(&mut writer, &following, here).map_err(failed)?;
        Ok(Some(Told { rows_per_second, latency, delivered }))
    }

    /// Both ends.
    fn open(&self, path: &Path) -> io::Result<(File, Source)> {
        let stream = |from, program| Source::Stream { from, _program: program };
        if self.reader == Reader::Pipe {
            let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
            return Ok((to.into(), stream(from, None)));
        }
        let writer = if self.reader.is_fifo() {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // Readable, too, or opening would wait for the reader.
            OpenOptions::new().read(true).write(true).open(path)?
        } else {
            OpenOptions::new().append(true).create_new(true).open(path)?
        };
        let looks = |ms| Source::polled(path, Duration::from_millis(ms));
        let source = match self.reader {
            Reader::Tail | Reader::TailExhausted => Source::as_tail(path)?,
            Reader::Inotify => Source::watched(path)?,
            Reader::Poll1ms => looks(1)?,
            Reader::Poll10ms => looks(10)?,
            Reader::Poll50ms => looks(50)?,
            Reader::Poll1s => looks(1000)?,
            Reader::Fifo | Reader::Pipe => stream(File::open(path)?.into(), None),
            reader => {
                let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
                let program = Path::new(reader.program().unwrap_or_default());
                let child = Child::spawn(program, &reader.arguments(path), None, Some(&to))?;
                stream(from, Some(child))
            }
        };
        Ok((writer, source))
    }

    /// Thinks, writes a row, waits for it, and so on.
    fn closed_loop(
        &self,
        writer: &mut File,
        following: &Following,
        here: &Here,
    ) -> io::Result<f64> {
        let (begun, mut rows, mut last) = (Clock::now(), 0_u64, Clock::now());
        while last < begun + self.loop_ns && !here.stopped() {
            std::thread::sleep(Duration::from_nanos(self.think_ns));
            if !following.shows(writer, rows + 1)? {
                last = Clock::now();
                break;
            }
            rows += 1;
            last = Clock::now();
        }
        Ok(rows as f64 * 1e9 / last.saturating_sub(begun).max(1) as f64)
    }

    /// Writes rows at their times, whether they arrive or not.
    fn stream(
        &self,
        writer: &mut File,
        following: &Following,
        here: &Here,
    ) -> io::Result<(Histogram, f64)> {
        let stream = self.reader.stream();
        let gap_ns = u64::try_from(stream.gap.as_nanos()).unwrap_or(u64::MAX);
        let begun = Clock::now();
        // Numbers that no row of the loop has.
        let numbers = (0..u64::from(stream.rows)).map(|number| FIRST_OF_STREAM + number);
        let mut sent = 0_u64;
        for (at, number) in (1_u64..).zip(numbers) {
            if here.stopped() {
                break;
            }
            Clock::sleep_until(begun + at * gap_ns);
            write_row(writer, number)?;
            sent += 1;
        }
        let (mut latency, until) = (Histogram::default(), Clock::now() + nanos(PATIENCE));
        while latency.count() < sent {
            let Some(row) = following.next(until) else { break };
            if row.number >= FIRST_OF_STREAM {
                latency.record(row.late_ns);
            }
        }
        let delivered = latency.count() as f64 / sent.max(1) as f64;
        Ok((latency, delivered))
    }
}

const FIRST_OF_STREAM: u64 = 1 << 40;

/// Whether a reader's program is not there, which is told once and is no failure.
fn is_missing_program(reader: Reader, error: &io::Error) -> bool {
    reader.program().is_some() && error.kind() == io::ErrorKind::NotFound
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn write_row(writer: &mut File, number: u64) -> io::Result<()> {
    writer.write_all(format!("{} {number}\n", Clock::now()).as_bytes())
}

/// A row that has arrived.
#[derive(Debug, Clone, Copy)]
struct Row {
    number: u64,
    late_ns: u64,
}

/// A reader at work in its own thread.
#[derive(Debug)]
struct Following {
    rows: Receiver<Row>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How soon the thread notices that nobody wants more.
const SLICE: Duration = Duration::from_millis(20);

impl Following {
    fn start(source: Source) -> Self {
        let (send, rows) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = std::thread::spawn(move || follow(source, &send, &seen));
        Self { rows, ended, thread: Some(thread) }
    }

    /// The next row, if it comes until then.
    fn next(&self, until: u64) -> Option<Row> {
        let left = Duration::from_nanos(until.saturating_sub(Clock::now()));
        self.rows.recv_timeout(left).ok()
    }

    /// Writes a row, and whether it came out.
    fn shows(&self, writer: &mut File, number: u64) -> io::Result<bool> {
        write_row(writer, number)?;
        let until = Clock::now() + nanos(PATIENCE);
        while let Some(row) = self.next(until) {
            if row.number == number {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A reader that panicked has delivered nothing, which shows.
            let _ = thread.join();
        }
    }
}

/// Reads until told to end; what cannot be read any more is seen by rows that do not arrive.
fn follow(mut source: Source, rows: &Sender<Row>, ended: &AtomicBool) {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    while !ended.load(Ordering::Relaxed) {
        let Ok(count) = source.read(&mut buffer, Clock::now() + nanos(SLICE)) else { return };
        let now = Clock::now();
        for byte in &buffer[..count] {
            if *byte != b'\n' {
                line.push(*byte);
                continue;
            }
            if let Some(row) = parse(&line, now)
                && rows.send(row).is_err()
            {
                return;
            }
            line.clear();
        }
    }
}

fn parse(line: &[u8], now: u64) -> Option<Row> {
    let (stamp, number) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let stamp: u64 = stamp.parse().ok()?;
    Some(Row { number: number.parse().ok()?, late_ns: now.saturating_sub(stamp) })
}

/// What the place has for readers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Programs {
    /// The programs to look for.
    pub(super) names: Vec<String>,
}

/// What there is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    /// Whether each program is there.
    pub(super) programs: HashMap<String, bool>,
    /// The folder's file system, as `statfs` numbers it.
    pub(super) file_system: i64,
    /// Whether `tail` looks once a second there.
    pub(super) is_remote_to_tail: bool,
}

impl Task for Programs {
    const NAME: &'static str = "notify-programs";
    type Output = Found;

    fn run(self, here: &mut Here) -> Result<Found, Fault> {
        let dir = here.dir()?.to_path_buf();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let is_here = |name: &String| folders.iter().any(|folder| folder.join(name).exists());
        let programs = self.names.into_iter().map(|name| (name.clone(), is_here(&name))).collect();
        let file_system = file_system(&dir).map_err(|error| Fault::io("inspect", &dir, &error))?;
        Ok(Found { programs, file_system, is_remote_to_tail: is_remote_to_tail(file_system) })
    }
}
