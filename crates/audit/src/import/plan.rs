//! From what the user typed to what is read: files, their formats, how rows are told apart.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use twox_hash::XxHash64;

use super::ImportOptions;
use super::batch::Batch;
use super::detect::detect;
use super::duplicates::{FileCopy, take_copies};
use super::events::{
    Hits, MatomoTable, MatomoTables, TableHeader, read_ga4, read_matomo, read_snowplow,
    table_header,
};
use super::logs::{
    JsonNames, LogField, Requests, W3cRules, read_combined, read_elb, read_json_log, read_w3c,
};
use super::source::{Framing, head};
use super::xdb::{Column, DumpTable, Header, Separation, XdbRules, read_json, read_separated};
use super::zone::LocalTimes;
use crate::error::Error;
use crate::store::{MANIFEST, Manifest, ReadFile, expect_place};
use crate::visits::Zone;

culprit_model::labels! {
    /// What sources are.
    SourceFormat ("format of sources") {
        /// xDB rows as JSON lines or arrays.
        XdbJson = "xdb-json",
        /// xDB tables as CSV.
        XdbCsv = "xdb-csv",
        /// xDB tables in PostgreSQL, copied out as CSV.
        XdbPostgres = "xdb-postgres",
        /// xDB tables in SQL Server, copied out as CSV.
        XdbSqlServer = "xdb-sqlserver",
        /// xDB tables as `bcp -c` writes them.
        Bcp = "bcp",
        /// Access logs in the combined or common format.
        AccessLog = "accesslog",
        /// Logs of IIS in the W3C extended format.
        Iis = "iis",
        /// Standard logs of CloudFront.
        CloudFront = "cloudfront",
        /// Logs of Amazon's application and classic load balancers.
        Elb = "elb",
        /// Logs with one JSON object a line: nginx, Caddy, Traefik and others.
        JsonLog = "json-log",
        /// Canonical events of Snowplow.
        SnowplowTsv = "snowplow-tsv",
        /// BigQuery's export of Google Analytics 4.
        Ga4Json = "ga4-json",
        /// Matomo's tables of visits and actions.
        Matomo = "matomo",
        /// Whatever the sources turn out to be.
        Auto = "auto",
    }
}

impl SourceFormat {
    /// The format that goes by this word: also by `alb` and `w3c`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        use culprit_model::Label as _;
        match word {
            "alb" => Some(Self::Elb),
            "w3c" => Some(Self::Iis),
            word => Self::from_word(word),
        }
    }

    /// True when rows become visits only with rows of other chunks: then an import that was
    /// interrupted begins again.
    #[must_use]
    pub fn is_joined(self) -> bool {
        !matches!(self, Self::XdbJson | Self::XdbCsv | Self::Bcp) && !self.is_database()
    }

    /// True for a log of requests: it says nothing of goals.
    pub(crate) fn is_log(self) -> bool {
        self.family() == A_LOG
    }

    /// What measured the visits: formats of one family tell the same visits.
    pub(super) fn family(self) -> &'static str {
        match self {
            Self::XdbJson | Self::XdbCsv | Self::XdbPostgres | Self::XdbSqlServer | Self::Bcp => {
                "xDB"
            }
            Self::AccessLog | Self::Iis | Self::CloudFront | Self::Elb | Self::JsonLog => A_LOG,
            Self::SnowplowTsv => "Snowplow",
            Self::Ga4Json => "Google Analytics",
            Self::Matomo => "Matomo",
            Self::Auto => "",
        }
    }

    /// True when tables of databases are copied out before they are read.
    pub(super) fn is_database(self) -> bool {
        matches!(self, Self::XdbPostgres | Self::XdbSqlServer)
    }

    /// True when rows may have keys that say which shard they are of.
    pub(super) fn has_shards(self) -> bool {
        !self.is_joined()
    }

    /// True when times of the format may name no offset.
    pub(super) fn has_local_times(self) -> bool {
        !self.is_joined() || matches!(self, Self::AccessLog | Self::JsonLog)
    }

    /// True when fields may have other names than the known ones.
    pub(super) fn has_named_fields(self) -> bool {
        matches!(self, Self::Iis | Self::CloudFront | Self::JsonLog)
    }
}

/// How the rows of a source are read.
#[derive(Debug, Clone)]
pub(crate) enum RowReader {
    Json(XdbRules),
    Separated(XdbRules, Header, Separation),
    Combined(LocalTimes),
    W3c(W3cRules),
    Elb,
    JsonLog(JsonNames, LocalTimes),
    Snowplow,
    Ga4,
    Matomo(MatomoTable, TableHeader),
}

/// What a chunk holds.
#[derive(Debug)]
pub(crate) enum ReadRows {
    /// Rows of tables.
    Batch(Box<Batch>),
    /// Requests, which become visits with those of other chunks.
    Requests(Box<Requests>),
    /// Events, which become visits with those of other chunks.
    Hits(Box<Hits>),
    /// Rows of tables that are joined.
    Matomo(Box<MatomoTables>),
}

/// A file that is to be read.
#[derive(Debug, Clone)]
pub(crate) struct PlannedSource {
    pub(crate) path: PathBuf,
    pub(crate) framing: Framing,
    pub(crate) reader: RowReader,
    /// Bytes at the beginning that hold no rows.
    pub(crate) skip: u64,
    /// The file when the import began.
    pub(crate) file: ReadFile,
    /// Hash of its first bytes, decompressed.
    pub(crate) head: u64,
    /// Time of the first request of a log; none for others.
    pub(crate) first_ms: Option<i64>,
}

impl RowReader {
    /// Reads a chunk. `header` has the lines before it that say what its lines have.
    pub(crate) fn read(&self, chunk: &[u8], header: &[u8]) -> ReadRows {
        let requests = |requests| ReadRows::Requests(Box::new(requests));
        match self {
            Self::Json(rules) => ReadRows::Batch(Box::new(read_json(chunk, rules))),
            Self::Separated(rules, header, separation) => {
                ReadRows::Batch(Box::new(read_separated(chunk, rules, header, *separation)))
            }
            Self::Combined(times) => requests(read_combined(chunk, times)),
            Self::W3c(rules) => requests(read_w3c(chunk, header, rules)),
            Self::Elb => requests(read_elb(chunk)),
            Self::JsonLog(names, times) => requests(read_json_log(chunk, names, times)),
            Self::Snowplow => ReadRows::Hits(Box::new(read_snowplow(chunk))),
            Self::Ga4 => ReadRows::Hits(Box::new(read_ga4(chunk))),
            Self::Matomo(table, header) => {
                ReadRows::Matomo(Box::new(read_matomo(chunk, *table, header)))
            }
        }
    }

    /// True when lines between the rows say what the rows have.
    pub(crate) fn has_headers(&self) -> bool {
        matches!(self, Self::W3c(_))
    }
}

/// What is to be read.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What the sources are; never `auto`.
    pub(crate) format: SourceFormat,
    /// Shards of the store.
    pub(crate) shards: u32,
    pub(crate) sources: Vec<PlannedSource>,
    /// Files that are not read: another one has the same content.
    pub(crate) copies: Vec<FileCopy>,
}

/// The files of the sources in the order in which they are read: folders are searched, their files
/// sorted by path.
///
/// # Errors
/// When a file cannot be read or is not of the format.
pub(crate) fn plan(options: &ImportOptions) -> Result<Plan, Error> {
    expect_place(&options.store)?;
    let mut files = Vec::new();
    for source in &options.sources {
        collect(source, &mut files)?;
    }
    if files.is_empty() {
        return Err(Error::Options("the sources have no files".to_owned()));
    }
    let format = match options.format {
        SourceFormat::Auto => detected(&files)?,
        format => format,
    };
    check(options, format)?;
    let shards = options.shards_of(format)?;
    let reading = Reading {
        format,
        shards,
        times: LocalTimes::new(options.zone.unwrap_or(UTC)),
        names: &options.fields,
    };
    let mut sources =
        files.iter().map(|path| reading.planned(path)).collect::<Result<Vec<_>, _>>()?;
    // Logs in the order of their times, so that visits go on from one file to the next.
    sources.sort_by_key(|source| source.first_ms);
    // Rows of tables have keys: a second one of a key counts once anyway.
    let copies = if format.is_joined() { take_copies(&mut sources)? } else { Vec::new() };
    Ok(Plan { format, shards, sources, copies })
}

impl ImportOptions {
    /// Shards of the store: those that it was made with, or for a new one those that were asked for.
    ///
    /// # Errors
    /// When both are known and differ, or the store's list cannot be read.
    pub(super) fn shards_of(&self, format: SourceFormat) -> Result<u32, Error> {
        let stored = Manifest::read(&self.store.join(MANIFEST))?.map(|stored| stored.shards);
        match (stored, self.shards) {
            (Some(known), Some(asked)) if known != asked => Err(Error::Shards { known, asked }),
            (Some(known), _) => Ok(known),
            (None, Some(asked)) => Ok(asked),
            (None, None) if format.has_shards() => Ok(USUAL_SHARDS),
            (None, None) => Ok(1),
        }
    }
}

/// The family of logs of requests.
const A_LOG: &str = "a log";
const UTC: Zone = Zone::Fixed(0);
/// Shards of an xDB when nobody says how many: its installer makes two.
const USUAL_SHARDS: u32 = 2;

/// How a source of this name and with these bytes is read, and where its first row is.
///
/// # Errors
/// When it is not of the format.
pub(super) fn reader_of(
    format: SourceFormat,
    (path, bytes): (&Path, &[u8]),
) -> Result<(RowReader, usize), Error> {
    let reading = Reading { format, shards: USUAL_SHARDS, times: LocalTimes::new(UTC), names: &[] };
    let (_, reader, skip) = reading.reader(path, bytes)?;
    Ok((reader, usize::try_from(skip).unwrap_or(usize::MAX)))
}

/// The format that all files have.
fn detected(files: &[PathBuf]) -> Result<SourceFormat, Error> {
    let mut known: Option<(SourceFormat, &PathBuf)> = None;
    for path in files {
        let Some(format) = detect(&head(path)?, UTC) else {
            let why = "its first bytes do not show what it is; name the format with `--from`";
            return Err(Error::Source { path: path.clone(), why: why.to_owned() });
        };
        match known {
            Some((first, of)) if first != format => {
                return Err(Error::Options(format!(
                    "`{}` is {first} and `{}` is {format}: import them one after the other",
                    of.display(),
                    path.display()
                )));
            }
            _ => known = Some((format, path)),
        }
    }
    known.map(|(format, _)| format).ok_or(Error::Options("the sources have no files".to_owned()))
}

/// Whether the options fit the format.
fn check(options: &ImportOptions, format: SourceFormat) -> Result<(), Error> {
    if options.zone.is_some() && !format.has_local_times() {
        return Err(Error::Options(format!(
            "`--tz` has no effect: times of `{format}` are in UTC"
        )));
    }
    if options.shards.is_some() && !format.has_shards() {
        return Err(Error::Options(format!(
            "`--shards` has no effect: rows of `{format}` have no shard keys"
        )));
    }
    if !options.fields.is_empty() && !format.has_named_fields() {
        return Err(Error::Options(format!(
            "`--field` has no effect: fields of `{format}` have fixed places"
        )));
    }
    Ok(())
}

/// True unless a source is gone, or is a folder without files. One that cannot be read has some.
pub(super) fn has_files(path: &Path) -> bool {
    let mut files = Vec::new();
    path.exists() && (collect(path, &mut files).is_err() || !files.is_empty())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error| Error::io("read", path, error);
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut below = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    below.sort();
    below.iter().try_for_each(|path| collect(path, files))
}

/// How all sources are read.
struct Reading<'a> {
    format: SourceFormat,
    shards: u32,
    times: LocalTimes,
    names: &'a [(LogField, String)],
}

impl Reading<'_> {
    fn planned(&self, path: &Path) -> Result<PlannedSource, Error> {
        let file = std::fs::metadata(path).map_err(|error| Error::io("read", path, error))?;
        let modified = file.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let modified_ns = modified.and_then(|since| u64::try_from(since.as_nanos()).ok());
        let file = ReadFile { bytes: file.len(), modified_ns: modified_ns.unwrap_or(0) };
        let head = head(path)?;
        let (framing, reader, skip) = self.reader(path, &head)?;
        let first_ms = match reader.read(&head, b"") {
            ReadRows::Requests(requests) => requests.first_ms(),
            ReadRows::Hits(hits) => hits.first_ms(),
            ReadRows::Batch(_) | ReadRows::Matomo(_) => None,
        };
        let head = XxHash64::oneshot(0, &head);
        Ok(PlannedSource { path: path.to_owned(), framing, reader, skip, file, head, first_ms })
    }

    /// How a source is read that begins with these bytes: how its rows are told apart, what reads
    /// them, and how many bytes are before the first.
    fn reader(&self, path: &Path, head: &[u8]) -> Result<(Framing, RowReader, u64), Error> {
        let wrong = |why: &str| Error::Source { path: path.to_owned(), why: why.to_owned() };
        match self.format {
            SourceFormat::XdbJson
            | SourceFormat::XdbCsv
            | SourceFormat::XdbPostgres
            | SourceFormat::XdbSqlServer
            | SourceFormat::Bcp => self.xdb(path, head).map_err(wrong),
            SourceFormat::Matomo => matomo(head).map_err(wrong),
            format => Ok((Framing::Lines, self.lines(format), 0)),
        }
    }

    fn lines(&self, format: SourceFormat) -> RowReader {
        let names = || self.names.to_vec();
        match format {
            SourceFormat::Iis => RowReader::W3c(W3cRules { percent: false, names: names() }),
            SourceFormat::CloudFront => RowReader::W3c(W3cRules { percent: true, names: names() }),
            SourceFormat::Elb => RowReader::Elb,
            SourceFormat::JsonLog => {
                RowReader::JsonLog(JsonNames::new(self.names), self.times.clone())
            }
            SourceFormat::SnowplowTsv => RowReader::Snowplow,
            SourceFormat::Ga4Json => RowReader::Ga4,
            _ => RowReader::Combined(self.times.clone()),
        }
    }

    fn xdb(&self, path: &Path, head: &[u8]) -> Result<(Framing, RowReader, u64), &'static str> {
        let rules = XdbRules { shards: self.shards, times: self.times.clone() };
        match self.format {
            SourceFormat::XdbJson => {
                let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
                let framing = match first {
                    Some(b'[') => Framing::JsonArray,
                    Some(b'{') | None => Framing::Lines,
                    Some(_) => return Err("it begins with neither `{` nor `[`"),
                };
                Ok((framing, RowReader::Json(rules), 0))
            }
            SourceFormat::XdbCsv | SourceFormat::XdbPostgres | SourceFormat::XdbSqlServer => {
                let end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
                let header = header(&head[..end]);
                if header.iter().all(Option::is_none) && !head.is_empty() {
                    return Err("its first line names no column of an xDB table");
                }
                let reader = RowReader::Separated(rules, header, Separation::Csv);
                Ok((Framing::QuotedLines, reader, end as u64))
            }
            _ => {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
                let Some(table) = DumpTable::of_file(stem) else {
                    return Err(
                        "its name begins with the name of no xDB table; `bcp` files have no \
                                header, so name it after its table, such as `Interactions.dat`",
                    );
                };
                let header = table.columns().iter().map(|column| Some(*column)).collect();
                Ok((Framing::Lines, RowReader::Separated(rules, header, Separation::Bcp), 0))
            }
        }
    }
}

fn matomo(head: &[u8]) -> Result<(Framing, RowReader, u64), &'static str> {
    let (header, end) = table_header(head);
    let framing = if header.tabs { Framing::Lines } else { Framing::QuotedLines };
    let Some(table) = MatomoTable::of_header(&header) else {
        return Err("its first line has the columns of none of `log_visit`, \
                    `log_link_visit_action` and `log_action`");
    };
    Ok((framing, RowReader::Matomo(table, header), end as u64))
}

fn header(line: &[u8]) -> Header {
    let cells = line.trim_ascii().split(|byte| *byte == b',');
    cells
        .map(|cell| {
            let name = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
            Column::named(name.unwrap_or(cell).trim_ascii())
        })
        .collect()
}
