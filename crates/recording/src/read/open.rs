//! From a file to a recording.

use std::path::Path;

use culprit_model::{
    ActivityEdge, CostColumns, Counter, InterpreterStack, IntervalColumns, Loss, LossKind, Mapping,
    Mark, Meta, Nanos, Observation, Recording, Row as _, Sample, Switch, Text, Time, Wakeup,
};

use crate::disk::{SCHEMA, parse_head, parse_meta};
use crate::error::{Error, Kind};
use crate::read::archive::Archive;
use crate::read::check::repair_intervals;
use crate::read::kind::recognise;
use crate::read::loader::{Loader, Wanted};
use crate::spool::Spool;
use crate::zip::Source;

/// Bytes that are looked at to say what a foreign file is.
const HEAD_BYTES: u64 = 4096;

/// An opened recording. What could not be read of it stands in `recording.losses`.
#[derive(Debug)]
pub struct Opened {
    /// Everything that could be vouched for. Of an unfinished file these are the rows that its
    /// recorder had appended to a recording's own tables.
    pub recording: Recording,
    /// Present when the recorder has not finished the file: it still runs, or was killed. Holds
    /// the recorder's scratch tables, from which the rest of the recording can be built.
    pub unfinished: Option<Spool>,
}

/// Opens a recording, finished or not, whole or damaged.
///
/// Every handle in it names a row, stacks have their parents before them, tables are in their
/// stated order. What broke that, or could not be read, was left out and is in `losses`.
///
/// Cost: about 0.1 us a row of `intervals`; memory of twice the rows at most.
///
/// # Errors
/// [`Error::NotRecording`] for other files, [`Error::Newer`] for later formats, [`Error::Meta`]
/// when `meta.json` is damaged, [`Error::Io`] when the file cannot be read.
pub fn open(path: impl AsRef<Path>) -> Result<Opened, Error> {
    let path = path.as_ref();
    read(path, source_of(path)?)
}

/// As [`open`], but reads only the tables of these names, and those that their promises rest on:
/// the tables that they point into, processes and losses. The others stay empty.
///
/// Cost: that of the tables that are read; memory of twice their rows at most.
///
/// # Errors
/// As [`open`].
pub fn open_tables(path: impl AsRef<Path>, names: &[&str]) -> Result<Opened, Error> {
    let path = path.as_ref();
    let (archive, meta) = archive_of(path, source_of(path)?)?;
    Ok(assemble(archive, meta, Wanted::only(names)))
}

/// A recording opened for views alone.
#[derive(Debug)]
pub struct OpenedForViews {
    /// As [`open`] gives it where `columns` is none; else without the tables that views do not look
    /// at: `switches` (unless there are no intervals), `samples`, `wakeups`, `mappings`, `marks`,
    /// `counters`, `observations` and `activity_edges`, and without those of `columns`.
    pub opened: Opened,
    /// The long tables of a finished and undamaged file.
    pub columns: Option<(IntervalColumns, CostColumns)>,
}

/// As [`open`], with nothing but what views look at unpacked, and the long tables by column: a third
/// of the time and half of the memory. Damage anywhere in the file is found all the same; a file
/// that has any, or that its recorder has not finished, is opened whole.
///
/// # Errors
/// As [`open`].
pub fn open_for_views(path: impl AsRef<Path>) -> Result<OpenedForViews, Error> {
    let path = path.as_ref();
    let (archive, meta) = archive_of(path, source_of(path)?)?;
    if archive.finished
        && let Some((mut recording, columns)) = columns_of(&archive)
    {
        give_meta(&mut recording, meta);
        let opened = Opened { recording, unfinished: None };
        return Ok(OpenedForViews { opened, columns: Some(columns) });
    }
    Ok(OpenedForViews { opened: assemble(archive, meta, Wanted::All), columns: None })
}

/// What views look at; none when there is any damage.
fn columns_of(archive: &Archive) -> Option<(Recording, (IntervalColumns, CostColumns))> {
    let mut loader = Loader::new(archive, Vec::new());
    let mut recording = Recording {
        processes: loader.load(),
        threads: loader.load(),
        modules: loader.load(),
        frames: loader.load(),
        stacks: loader.load(),
        ..Recording::default()
    };
    let intervals = loader.load_columns(&IntervalColumns::TABLE);
    let intervals = IntervalColumns::from_columns(intervals).ok()?;
    if intervals.is_empty() {
        recording.switches = loader.load();
    } else {
        loader.check(&Switch::TABLE);
    }
    recording.faults = loader.load();
    let costs = CostColumns::from_columns(loader.load_columns(&CostColumns::TABLE)).ok()?;
    recording.activities = loader.load();
    recording.activity_work = loader.load();
    recording.losses = loader.load();
    for table in [
        Sample::TABLE,
        Wakeup::TABLE,
        Mapping::TABLE,
        Mark::TABLE,
        Counter::TABLE,
        Observation::TABLE,
        InterpreterStack::TABLE,
        ActivityEdge::TABLE,
    ] {
        loader.check(&table);
    }
    let whole = loader.losses.is_empty() && intervals.in_order();
    whole.then_some((recording, (intervals, costs)))
}

/// What a recording says about itself, without reading its tables: tells at little cost whether a
/// file is a recording.
///
/// # Errors
/// As [`open`].
pub fn peek(path: impl AsRef<Path>) -> Result<Meta, Error> {
    let path = path.as_ref();
    archive_of(path, source_of(path)?).map(|(_, meta)| meta)
}

/// As [`open`], from bytes; `name` is the path for messages.
///
/// # Errors
/// As [`open`].
pub fn parse(name: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Opened, Error> {
    read(name.as_ref(), Source::Memory(bytes.into()))
}

fn source_of(path: &Path) -> Result<Source, Error> {
    let failed = |source| Error::io("open", path, source);
    let kind = std::fs::metadata(path).map_err(failed)?.file_type();
    if !kind.is_file() {
        let found = if kind.is_dir() { Kind::Folder } else { Kind::Special };
        return Err(Error::NotRecording { path: path.to_owned(), found });
    }
    Source::open(path).map_err(failed)
}

fn read(path: &Path, source: Source) -> Result<Opened, Error> {
    let (archive, meta) = archive_of(path, source)?;
    Ok(assemble(archive, meta, Wanted::All))
}

/// The entries of a recording and what it says about itself.
fn archive_of(path: &Path, source: Source) -> Result<(Archive, Meta), Error> {
    let failed = |source| Error::io("read", path, source);
    let head = source.read_some(0, HEAD_BYTES).map_err(failed)?;
    let not = |found| Error::NotRecording { path: path.to_owned(), found };
    if !head.starts_with(b"PK") {
        return Err(not(recognise(&head)));
    }
    let archive = Archive::find(source).map_err(failed)?;
    let meta = read_meta(path, &archive)?.ok_or_else(|| not(recognise(&head)))?;
    if archive.is_compressed() {
        return Err(not(Kind::CompressedZip));
    }
    Ok((archive, meta))
}

/// The newest whole `meta.json`; none when there is no entry of that name.
fn read_meta(path: &Path, archive: &Archive) -> Result<Option<Meta>, Error> {
    let failed = |why| Error::Meta { path: path.to_owned(), why };
    let mut first_problem = None;
    for entry in archive.metas() {
        if !entry.stored {
            return Err(Error::NotRecording { path: path.to_owned(), found: Kind::CompressedZip });
        }
        let bytes = match archive.read(entry) {
            Ok(bytes) => bytes,
            Err(why) => {
                first_problem.get_or_insert(why);
                continue;
            }
        };
        let head = parse_head(&bytes).map_err(|e| failed(e.to_string()))?;
        if head.schema > SCHEMA {
            return Err(Error::Newer {
                path: path.to_owned(),
                schema: head.schema,
                tool: head.tool,
                known: SCHEMA,
            });
        }
        // Formats of one number: an upgrader of each earlier one would have its turn here.
        return match head.schema {
            SCHEMA => parse_meta(&bytes).map(Some).map_err(|e| failed(e.to_string())),
            other => Err(failed(format!("format {other} is unknown"))),
        };
    }
    match first_problem {
        Some(why) => Err(failed(why)),
        None if archive.cut => Err(failed("the file ends too early".to_owned())),
        None => Ok(None),
    }
}

fn assemble(archive: Archive, meta: Meta, wanted: Wanted) -> Opened {
    let mut loader = Loader::of(&archive, wanted);
    let mut recording = load_tables(&mut loader);
    let repairs = repair_intervals(&mut recording.intervals);
    loader.note("intervals", &repairs);
    let Loader { counts, losses: damage, .. } = loader;
    let absent: Vec<_> = counts.iter().filter(|count| !count.present).map(|c| c.table).collect();
    give_meta(&mut recording, meta);
    recording.losses.extend(damage);
    recording.losses.extend(state_losses(&archive, &absent));
    let unfinished = archive.unfinished();
    if unfinished {
        let last = last_time(&archive);
        recording.meta.wall = recording.meta.wall.max(Nanos(last.0));
    }
    Opened { recording, unfinished: unfinished.then(|| Spool::new(archive, counts)) }
}

fn give_meta(recording: &mut Recording, meta: Meta) {
    recording.meta = meta;
    recording.meta.root_process =
        recording.meta.root_process.filter(|id| id.index() < recording.processes.len());
}

/// Every table; those that others point into come first.
fn load_tables(loader: &mut Loader<'_>) -> Recording {
    Recording {
        processes: loader.load(),
        threads: loader.load(),
        modules: loader.load(),
        frames: loader.load(),
        stacks: loader.load(),
        switches: loader.load(),
        samples: loader.load(),
        intervals: loader.load(),
        wakeups: loader.load(),
        faults: loader.load(),
        mappings: loader.load(),
        marks: loader.load(),
        counters: loader.load(),
        observations: loader.load(),
        interpreter_stacks: loader.load(),
        costs: loader.load(),
        activities: loader.load(),
        activity_work: loader.load(),
        activity_edges: loader.load(),
        losses: loader.load(),
        meta: Meta::default(),
    }
}

/// The latest time that any part tells of.
fn last_time(archive: &Archive) -> Time {
    Time(archive.notes().map(|note| note.span.1).max().unwrap_or(0))
}

/// What the state of the file itself says about what is missing.
fn state_losses(archive: &Archive, absent: &[&str]) -> Vec<Loss> {
    let loss = |kind, detail: String| Loss {
        kind,
        count: 1,
        from: None,
        to: None,
        detail: Text::from(detail),
    };
    let mut losses = Vec::new();
    if archive.garbage > 0 {
        let detail = format!("{} bytes are not part of the format", archive.garbage);
        losses.push(loss(LossKind::FileDamaged, detail));
    }
    if archive.finished {
        return losses;
    }
    if !archive.unfinished() {
        let mut detail = "the end of the file is missing".to_owned();
        if !absent.is_empty() {
            detail.push_str(&format!(", with the tables {}", absent.join(", ")));
        }
        losses.push(loss(LossKind::FileDamaged, detail));
        return losses;
    }
    let from = Some(last_time(archive));
    let (kind, detail) = match archive.stopped() {
        Some(why) => (LossKind::DiskFull, why),
        None if archive.is_live() => {
            (LossKind::RecorderKilled, "the recorder is still running".to_owned())
        }
        None => {
            let detail = "the recorder ended before it finished the file";
            (LossKind::RecorderKilled, detail.to_owned())
        }
    };
    losses.push(Loss { from, ..loss(kind, detail) });
    losses.extend(dropped(archive));
    losses
}

/// What was released to stay within the size.
fn dropped(archive: &Archive) -> Option<Loss> {
    let note = archive
        .notes()
        .filter(|note| note.released && note.rows > 0)
        .reduce(crate::zip::Note::and)?;
    let timed = note.span.0 <= note.span.1;
    Some(Loss {
        kind: LossKind::OldestDropped,
        count: note.rows,
        from: timed.then_some(Time(note.span.0)),
        to: timed.then_some(Time(note.span.1)),
        detail: Text::from("the oldest event rows"),
    })
}
