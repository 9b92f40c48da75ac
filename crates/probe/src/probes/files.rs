//! `files`: what working with many small files costs, operation by operation.
//!
//! Each round makes a folder of small files and does one kind of operation to all of them after the
//! other: create, stat, look up what is not there, list, open and read, rename; then a batch of
//! records under a lock with one fsync. CPU time is the headline: the same operations differ by a
//! few percent from round to round in CPU time and by half in wall time on a busy machine. Names are
//! looked up from the folder on, which is kept open: how long the way to it is depends on where a place
//! has it, and would otherwise be part of each operation.
//!
//! Files are removed in a second pass over all rounds, after the last file of any arm was created.
//! An ext4 without a journal does not give out an inode that was freed in the last minutes, and
//! searches past all of them instead (`recently_deleted` of `fs/ext4/ialloc.c`): removing files in
//! one arm would make creating them slower in the next.
//!
//! Writes that wait for the disk come last in a round, and stand in `durable`; what
//! many layers cost stands in `layers`.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Result;
use crate::histogram::Histogram;
use crate::inside::{Clock, Fault, Here, Laps, Meter, Task, stopped, thread_cpu_ns};
use crate::metric::{Metric, Part};
use crate::probe::Probe;
use crate::probes::durable::{self, Durable};
use crate::probes::layers::{self, Layers};
use crate::sample::Sample;
use crate::stand::{ProbeRound, Stand};
use culprit_engine::stats::median;
use culprit_model::Unit;
use culprit_place::PlaceSpec;

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Files {
    /// Files in a round's folder.
    pub count: u32,
    /// Bytes in each.
    pub bytes: u32,
    /// Records in the batch.
    pub records: u32,
}

impl Default for Files {
    fn default() -> Self {
        Self { count: 1500, bytes: 1024, records: 1000 }
    }
}

/// One kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Operation {
    Create,
    Open,
    Stat,
    Rename,
    Miss,
    Readdir,
    Batch,
    Unlink,
}

const fn cpu(id: &'static str, name: &'static str) -> Metric {
    Metric::lower(id, name, Unit::Nanos, Part::Headline)
}

const fn wall(id: &'static str, name: &'static str) -> Metric {
    Metric::lower(id, name, Unit::Nanos, Part::Shown)
}

/// Operation, CPU time of one, wall time of the middle one. The first is the headline.
const METRICS: [(Operation, Metric, Metric); 8] = [
    (Operation::Create, cpu("create_cpu_ns", "create, CPU"), wall("create_ns.p50", "create, p50")),
    (
        Operation::Open,
        cpu("open_cpu_ns", "open+read+close, CPU"),
        wall("open_ns.p50", "open+read+close, p50"),
    ),
    (Operation::Stat, cpu("stat_cpu_ns", "stat, CPU"), wall("stat_ns.p50", "stat, p50")),
    (Operation::Rename, cpu("rename_cpu_ns", "rename, CPU"), wall("rename_ns.p50", "rename, p50")),
    (
        Operation::Miss,
        cpu("miss_cpu_ns", "stat of a missing file, CPU"),
        wall("miss_ns.p50", "stat of a missing file, p50"),
    ),
    (
        Operation::Readdir,
        cpu("readdir_cpu_ns", "list, CPU per entry"),
        wall("readdir_ns.p50", "list, p50 per entry"),
    ),
    (
        Operation::Batch,
        cpu("batch_cpu_ns", "batch, CPU per record"),
        wall("batch_ns", "batch, wall per record"),
    ),
    (Operation::Unlink, cpu("unlink_cpu_ns", "unlink, CPU"), wall("unlink_ns.p50", "unlink, p50")),
];

impl Probe for Files {
    fn id(&self) -> &'static str {
        "files"
    }

    fn works_with_files(&self) -> bool {
        true
    }

    fn metrics(&self) -> Vec<Metric> {
        let cpu = METRICS.iter().map(|(_, cpu, _)| *cpu);
        let wall = METRICS.iter().map(|(_, _, wall)| *wall);
        cpu.chain(wall).chain(durable::METRICS).chain(layers::metrics()).collect()
    }

    fn workload(&self) -> Value {
        json!({
            "files": self.count,
            "file_bytes": self.bytes,
            "records": self.records,
            "synced_writes": durable::TIMES,
            "synced_bytes": durable::BYTES,
        })
    }

    fn words(&self) -> Vec<String> {
        vec![
            format!(
                "in each round, {} files of {} bytes in a new folder: create, stat, stat of a \
                 missing file, list, open+read+close, rename; CPU time of one operation, the \
                 median of groups of {GROUP}",
                self.count, self.bytes
            ),
            format!(
                "then {} records of {RECORD} bytes appended, each with updates of {INDEXES} index \
                 files, under a lock and with one fsync; CPU time of a record",
                self.records
            ),
            format!(
                "then {} appends of 4 KiB with fdatasync, and as many new files of 4 KiB with \
                 fsync: wall time; it depends on the device, so it gives no verdict on a place",
                durable::TIMES
            ),
            "on the host, if users may mount overlays: stat of new missing names on overlays with \
             1, 10, 40 and 100 empty lower layers"
                .to_owned(),
            "the files of all places are removed after the last round: on some file systems, \
             removing files slows down creating others"
                .to_owned(),
        ]
    }

    fn measure(&self, stand: &mut Stand<'_>, round: ProbeRound) -> Result<Sample> {
        let pass =
            Pass { files: self.count, bytes: self.bytes, records: self.records, round: round.seed };
        let sample = sample(&stand.ask(&pass)?);
        let sample = stand.ask(&Durable {})?.add_to(sample);
        match stand.arm().spec {
            PlaceSpec::Host { .. } => Ok(layers::add_to(sample, &stand.ask(&Layers {})?)),
            _ => Ok(sample),
        }
    }

    fn has_second_pass(&self) -> bool {
        true
    }

    fn measure_again(&self, stand: &mut Stand<'_>, round: ProbeRound) -> Result<Sample> {
        Ok(sample(&stand.ask(&Unlink { files: self.count, round: round.seed })?))
    }
}

fn sample(told: &[Told]) -> Sample {
    told.iter().fold(Sample::default(), |sample, told| {
        let found = METRICS.iter().find(|(operation, ..)| *operation == told.operation);
        match found {
            Some((_, cpu, wall)) => sample.with(cpu.id, told.cpu_ns).maybe(wall.id, told.p50_ns),
            None => sample,
        }
    })
}

/// What one operation took.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    operation: Operation,
    /// CPU time of one.
    cpu_ns: f64,
    /// Wall time of the middle one; without waits for a CPU where it takes 0.2 ms or more.
    p50_ns: Option<f64>,
}

/// Everything of a round but the removal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    files: u32,
    bytes: u32,
    records: u32,
    round: u64,
}

/// The removal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Unlink {
    files: u32,
    round: u64,
}

/// Passes of operations that change nothing.
const PASSES: usize = 3;
/// Passes over the folder, which is fast, so that the time is long enough to be told.
const LISTS: u32 = 20;

impl Task for Pass {
    const NAME: &'static str = "files";
    type Output = Vec<Told>;

    fn run(self, here: &mut Here) -> std::result::Result<Vec<Told>, Fault> {
        let dir = here.dir()?;
        spread(dir);
        let folder = folder(dir, self.round);
        fs::create_dir(&folder).map_err(|error| Fault::io("create the folder", &folder, &error))?;
        let at = open_folder(&folder)?;
        let content = vec![b'x'; self.bytes as usize];
        let (files, others) = (names('f', self.files), names('g', self.files));
        let renames: Vec<(&String, &String)> = files.iter().zip(&others).collect();
        let mut read = vec![0; content.len()];
        let told = vec![
            each(Operation::Create, &files, &folder, "create", |file| {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                File::from(openat(&at, file, flags, Mode::from_raw_mode(0o666))?)
                    .write_all(&content)
            })?,
            each(Operation::Stat, &again(&files), &folder, "inspect", |file| {
                Ok(statat(&at, *file, AtFlags::SYMLINK_NOFOLLOW).map(drop)?)
            })?,
            each(Operation::Miss, &again(&others), &folder, "check for", |file| {
                match statat(&at, *file, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => Ok(()),
                    other => Ok(other.map(drop)?),
                }
            })?,
            list(&folder, self.files)?,
            each(Operation::Open, &again(&files), &folder, "read", |file| {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                File::from(openat(&at, *file, flags, Mode::empty())?).read_exact(&mut read)
            })?,
            each(Operation::Rename, &renames, &folder, "rename", |(from, to)| {
                Ok(renameat(&at, *from, &at, *to)?)
            })?,
            batch(&folder, self.records)?,
        ];
        Ok(told)
    }
}

impl Task for Unlink {
    const NAME: &'static str = "files-unlink";
    type Output = Vec<Told>;

    fn run(self, here: &mut Here) -> std::result::Result<Vec<Told>, Fault> {
        let folder = folder(here.dir()?, self.round);
        let (at, files) = (open_folder(&folder)?, names('g', self.files));
        let removed = each(Operation::Unlink, &files, &folder, "remove", |file| {
            Ok(unlinkat(&at, file, AtFlags::empty())?)
        })?;
        Ok(vec![removed])
    }
}

/// Has the folders in this one lie apart on the disk, where the file system knows how (`chattr +T` of
/// ext4): what others removed near one of them then hits one round, and not all rounds of an arm.
fn spread(dir: &Path) {
    // A hint: whoever does not know it does without.
    let _ = File::open(dir).and_then(|dir| {
        let flags = ioctl_getflags(&dir)?;
        Ok(ioctl_setflags(&dir, flags | IFlags::TOPDIR)?)
    });
}

/// A round's folder. Rounds that warm up are not told apart and never looked at again.
fn folder(dir: &Path, round: u64) -> PathBuf {
    match round {
        0 => dir.join(format!("warm-up-{}", Clock::now())),
        round => dir.join(format!("round-{round}")),
    }
}

/// What changes nothing is done several times, so that there are more groups to choose from.
fn again(files: &[String]) -> Vec<&String> {
    (0..PASSES).flat_map(|_| files).collect()
}

fn names(letter: char, count: u32) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number:06}")).collect()
}

fn open_folder(folder: &Path) -> std::result::Result<File, Fault> {
    File::open(folder).map_err(|error| Fault::io("open the folder", folder, &error))
}

/// How many operations share one look at the CPU clock, which is a system call of its own. The
/// middle one of such groups counts: what else the kernel does on this CPU hits a few of them.
const GROUP: usize = 50;

/// Operations that took longer may have waited for a CPU behind a busy program, for most of a tick. The
/// others take so little CPU time that asking about each would show in it.
const MAY_HAVE_QUEUED_NS: u64 = 200_000;

/// Does something to each, and tells what one of them took.
fn each<T: Named>(
    operation: Operation,
    all: &[T],
    folder: &Path,
    doing: &str,
    mut act: impl FnMut(&T) -> std::io::Result<()>,
) -> std::result::Result<Told, Fault> {
    let mut walls = Histogram::with_room();
    let mut groups = Vec::with_capacity(all.len().div_ceil(GROUP));
    let mut laps = Laps::start(MAY_HAVE_QUEUED_NS);
    for group in all.chunks(GROUP).take_while(|_| !stopped()) {
        laps.begin();
        let cpu = thread_cpu_ns();
        for one in group {
            act(one).map_err(|error| Fault::io(doing, &folder.join(one.name()), &error))?;
            walls.record(laps.lap());
        }
        groups.push((thread_cpu_ns() - cpu) as f64 / group.len() as f64);
    }
    Ok(Told {
        operation,
        cpu_ns: median(&groups).unwrap_or(0.0),
        p50_ns: walls.percentile(0.5).map(|ns| ns as f64),
    })
}

/// What a message calls it.
trait Named {
    fn name(&self) -> &str;
}

impl Named for String {
    fn name(&self) -> &str {
        self
    }
}

impl Named for &String {
    fn name(&self) -> &str {
        self
    }
}

impl Named for (&String, &String) {
    fn name(&self) -> &str {
        self.0
    }
}

fn list(folder: &Path, expected: u32) -> std::result::Result<Told, Fault> {
    let failed = |error: std::io::Error| Fault::io("list", folder, &error);
    let mut walls = Histogram::with_room();
    let (mut passes, mut laps) = (Vec::new(), Laps::start(MAY_HAVE_QUEUED_NS));
    for _ in 0..LISTS {
        laps.begin();
        let cpu = thread_cpu_ns();
        let seen = fs::read_dir(folder).map_err(failed)?.count();
        walls.record(laps.lap() / u64::from(expected.max(1)));
        passes.push((thread_cpu_ns() - cpu) as f64 / f64::from(expected.max(1)));
        if seen != expected as usize {
            return Err(Fault::new(format!(
                "`{}` has {seen} entries instead of {expected}",
                folder.display()
            )));
        }
    }
    Ok(Told {
        operation: Operation::Readdir,
        cpu_ns: median(&passes).unwrap_or(0.0),
        p50_ns: walls.percentile(0.5).map(|ns| ns as f64),
    })
}

/// Bytes of a record.
const RECORD: usize = 100;
/// Index files that each record changes.
const INDEXES: usize = 4;
/// Entries of 64 bytes in an index.
const SLOTS: u64 = 4096;

/// One writer that holds a lock over many small writes, as a version control server does when it
/// takes a large change.
fn batch(folder: &Path, records: u32) -> std::result::Result<Told, Fault> {
    let path = folder.join("journal");
    let failed = |error: std::io::Error| Fault::io("write", &path, &error);
    let make = |name: String| File::create_new(folder.join(name));
    let mut journal = make("journal".to_owned()).map_err(failed)?;
    let indexes: Vec<File> = (0..INDEXES)
        .map(|number| make(format!("index-{number}")))
        .collect::<std::io::Result<_>>()
        .map_err(failed)?;
    let record = [b'r'; RECORD];
    let meter = Meter::start();
    let mut random = 1_u64;
    let mut write = || -> std::io::Result<()> {
        journal.lock()?;
        for _ in 0..records {
            journal.write_all(&record)?;
            for index in &indexes {
                // Knuth's MMIX generator; only that the slots are spread matters.
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                index.write_all_at(&record[..64], (random >> 33) % SLOTS * 64)?;
            }
        }
        journal.sync_all()?;
        journal.unlock()
    };
    write().map_err(failed)?;
    let used = meter.stop();
    let each = |ns: u64| ns as f64 / f64::from(records.max(1));
    Ok(Told {
        operation: Operation::Batch,
        cpu_ns: each(used.cpu_ns),
        p50_ns: Some(each(used.wall_ns.saturating_sub(used.run_queue_ns))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_and_its_second_pass_have_every_metric() {
        let dir = tempfile::tempdir().unwrap();
        let mut here = Here::at(&dir.path().join("ours"));
        let pass = Pass { files: 50, bytes: 100, records: 20, round: 1 };
        let mut told = pass.run(&mut here).unwrap();
        told.extend(Unlink { files: 50, round: 1 }.run(&mut here).unwrap());
        let sample = Durable {}.run(&mut here).unwrap().add_to(sample(&told));
        let probe = Files::default();
        let missing: Vec<_> = probe
            .metrics()
            .into_iter()
            // They take a second program.
            .filter(|metric| !metric.id.starts_with("layers_"))
            .filter(|metric| sample.values.get(metric.id).is_none_or(|value| *value <= 0.0))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        let left = fs::read_dir(dir.path().join("ours/round-1")).unwrap().count();
        assert_eq!(left, 1 + INDEXES, "the journal and its indexes");
    }

    #[test]
    fn rounds_that_warm_up_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let mut here = Here::at(&dir.path().join("ours"));
        for _ in 0..2 {
            Pass { files: 2, bytes: 1, records: 1, round: 0 }.run(&mut here).unwrap();
        }
    }
}
