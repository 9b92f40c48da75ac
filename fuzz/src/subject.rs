//! What is attacked: a reader of a foreign format, of the kernel's rings, of a format of configuration, of a
//! dialect, of sources of the analytics store, or of lists of robots.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use culprit_audit::SourceFormat;
use culprit_audit::lists::parse_list;
use culprit_config::{Profile, Raw, Redactor, Request, inspect, stock_profiles};
use culprit_exchange::{Format, read_bytes};
use culprit_kernel::attr::{read, sample};
use culprit_kernel::{Layout, Order, Record, Sample, order};
use culprit_model::Label as _;

/// A reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Of a recording's format.
    Exchange(Format),
    /// Of the kernel's records in a ring.
    Ring,
    /// Of a format of configuration.
    Config(culprit_config::Format),
    /// Of a file that a profile gives a meaning.
    Dialect(&'static str, &'static str),
    /// Of a source of the analytics store.
    Audit(SourceFormat),
    /// Of a list of robots, by its file's name.
    RobotList(&'static str),
}

/// Names of files by which lists of robots are read.
const LISTS: [&str; 2] = ["ExcludeRobots.config", "robots.txt"];

/// Files of dialects: the profile, and the file that is damaged.
const DIALECTS: [(&str, &str); 4] = [
    ("aspnet-framework", "web.config"),
    ("sitecore-10", "App_Config/Include/x.config"),
    ("compose", "compose.yaml"),
    ("kubernetes", "manifest.yaml"),
];

impl Subject {
    /// All readers.
    pub(crate) fn all() -> Vec<Self> {
        let exchange = Format::ALL.iter().copied().filter(|format| format.can_read());
        let config = culprit_config::Format::ALL.iter().copied();
        exchange
            .map(Self::Exchange)
            .chain([Self::Ring])
            .chain(config.map(Self::Config))
            .chain(DIALECTS.map(|(profile, file)| Self::Dialect(profile, file)))
            .chain(
                SourceFormat::ALL
                    .iter()
                    .copied()
                    // A database is copied out as CSV, which has a reader of its own here.
                    .filter(|format| {
                        !matches!(
                            format,
                            SourceFormat::Auto
                                | SourceFormat::XdbPostgres
                                | SourceFormat::XdbSqlServer
                        )
                    })
                    .map(Self::Audit),
            )
            .chain(LISTS.map(Self::RobotList))
            .collect()
    }

    /// What it is called on the command line and in `crashes/`.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Exchange(format) => format.word().to_owned(),
            Self::Ring => "kernel-ring".to_owned(),
            Self::Config(format) => format!("config-{}", format.word()),
            Self::Dialect(profile, _) => format!("dialect-{profile}"),
            Self::Audit(format) => format!("audit-{}", format.word()),
            Self::RobotList(name) => format!("list-{}", name.to_ascii_lowercase()),
        }
    }

    /// The folder of whole files.
    pub(crate) fn seeds(&self) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        match self {
            Self::Exchange(_) => root.join("../crates/exchange/tests/fixtures").join(self.word()),
            Self::Ring
            | Self::Config(_)
            | Self::Dialect(..)
            | Self::Audit(_)
            | Self::RobotList(_) => root.join("seeds").join(self.word()),
        }
    }

    /// Whether reading these bytes ends without a panic, in rows that are in order.
    pub(crate) fn survives(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Exchange(format) => imports(*format, bytes),
            Self::Ring => catch_unwind(|| decodes(bytes)).unwrap_or(false),
            Self::Config(format) => reads(*format, bytes),
            Self::Dialect(profile, file) => inspects(profile, file, bytes).unwrap_or(false),
            Self::Audit(format) => counts(*format, bytes),
            Self::RobotList(name) => {
                catch_unwind(|| parse_list(name, &String::from_utf8_lossy(bytes))).is_ok()
            }
        }
    }
}

fn imports(format: Format, bytes: &[u8]) -> bool {
    let read = catch_unwind(AssertUnwindSafe(|| read_bytes("fuzz", bytes.to_vec(), Some(format))));
    let Ok(read) = read else { return false };
    let Ok(imported) = read else { return true };
    let recording = imported.recording;
    recording.costs.is_sorted_by_key(|cost| (cost.thread, cost.time))
        && recording.costs.iter().all(|cost| {
            cost.stack.is_none_or(|stack| stack.index() < recording.stacks.len())
                && cost.thread.is_none_or(|thread| thread.index() < recording.threads.len())
        })
        && recording.activity_edges.is_sorted_by_key(|edge| edge.time)
        && recording.activity_edges.iter().all(|edge| edge.thread.index() < recording.threads.len())
        && recording.stacks.iter().enumerate().all(|(at, stack)| {
            stack.parent.is_none_or(|parent| parent.index() < at)
                && stack.frame.index() < recording.frames.len()
        })
}

/// The records of a ring lie one behind the other, and what is read of each lies in it.
fn decodes(bytes: &[u8]) -> bool {
    let (words, _) = bytes.as_chunks();
    let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let common = sample::TID | sample::TIME;
    let wide = common | sample::IDENTIFIER | sample::ADDR | sample::PERIOD | sample::CALLCHAIN;
    let dumped = common | sample::CALLCHAIN | sample::REGS_USER | sample::STACK_USER;
    let mut registers = Layout::new(dumped | sample::RAW, true);
    registers.user_registers = 0xff_ffff;
    let mut counted = Layout::new(u64::MAX, true);
    counted.read_format = read::GROUP | read::ID | read::LOST;
    [Layout::new(common, true), Layout::new(wide, true), registers, counted].iter().all(|layout| {
        let mut end = 0;
        order::places(&words, *layout).flatten().all(|place| {
            let follows = place.start == end;
            end = place.start + place.length;
            let record = place.of(&words).and_then(order::split);
            follows && record.is_some_and(|(header, body)| fits(header, body, layout))
        })
    })
}

/// Whether what is read of a record is no longer than the record.
fn fits(header: culprit_kernel::Header, body: &[u8], layout: &Layout) -> bool {
    if !header.is_sample() {
        return match Record::read(header, body, Order::NATIVE, layout) {
            Ok((Record::Map(map), _)) => map.path.len() <= body.len(),
            Ok((Record::Comm { name, .. }, _)) => name.len() <= body.len(),
            _ => true,
        };
    }
    let Ok(sample) = Sample::read(layout, body, Order::NATIVE) else { return true };
    let lists = [sample.chain, sample.registers].into_iter().flatten();
    let listed: usize = lists.map(|list| list.iter().len() * 8).sum();
    let counted = sample.counted.map_or(0, |counted| counted.values().count() * 8);
    let copied = [sample.raw, sample.stack].into_iter().flatten().map(<[u8]>::len);
    listed + counted + copied.sum::<usize>() <= body.len()
}

fn reads(format: culprit_config::Format, bytes: &[u8]) -> bool {
    let read = catch_unwind(AssertUnwindSafe(|| culprit_config::read(format, bytes)));
    let Ok(read) = read else { return false };
    let Ok(contents) = read else { return true };
    contents.entries.iter().all(|one| !one.path.is_empty() && one.at.line <= one.end_line)
}

/// A project of whole files in which one is damaged; an error is one of this machine.
fn inspects(profile: &str, file: &str, bytes: &[u8]) -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, bytes: &[u8]| -> io::Result<()> {
        let path = folder.path().join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, bytes)
    };
    write("web.config", include_bytes!("../seeds/dialect-aspnet-framework/web.config"))?;
    write(
        "App_Config/Sitecore.config",
        b"<sitecore><settings><setting name='a' value='1'/></settings></sitecore>",
    )?;
    write(file, bytes)?;
    let profiles = stock_profiles().map_err(io::Error::other)?;
    let Some(profile) = profiles.into_iter().find(|one| one.name == profile) else {
        return Ok(false);
    };
    Ok(catch_unwind(AssertUnwindSafe(|| is_in_order(&profile, folder.path()))).unwrap_or(false))
}

fn is_in_order(profile: &Profile, root: &Path) -> bool {
    let request = Request {
        root: root.to_owned(),
        environment: Some(vec![("P_a".to_owned(), Raw::new("1"))]),
        ..Request::default()
    };
    let configuration = inspect(profile, &request, Redactor::new([7; 32]));
    let assignments = configuration.assignments.len();
    configuration.effective.iter().all(|one| {
        one.winner.is_none_or(|at| at < assignments) && one.chain.iter().all(|at| *at < assignments)
    })
}

/// Every row of a source is read, rejected or left out: an interaction has at least one.
fn counts(format: SourceFormat, bytes: &[u8]) -> bool {
    let read = catch_unwind(|| culprit_audit::read_source(format, "Interactions.dat", bytes));
    let Ok(read) = read else { return false };
    read.map_or(true, |found| found.interactions + found.rejected <= found.rows)
}
