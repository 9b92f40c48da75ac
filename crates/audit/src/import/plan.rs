//! From what the user typed to what is read: files, their formats, how rows are told apart.

use std::path::{Path, PathBuf};

use super::source::{Framing, head};
use super::xdb::{Column, DumpTable, Header, Separation, XdbRules, read_json, read_separated};
use super::{
    ImportOptions,
    batch::Batch,
    logs::{Requests, read_combined},
};
use crate::error::Error;

culprit_model::labels! {
    /// What sources are.
    SourceFormat ("format of sources") {
        /// xDB rows as JSON lines or arrays.
        XdbJson = "xdb-json",
        /// xDB tables as CSV.
        XdbCsv = "xdb-csv",
        /// xDB tables in PostgreSQL, copied out as CSV.
        XdbPostgres = "xdb-postgres",
        /// xDB tables as `bcp -c` writes them.
        Bcp = "bcp",
        /// Access logs in the combined or common format.
        AccessLog = "accesslog",
    }
}

/// How the rows of a source are read.
#[derive(Debug, Clone)]
pub(crate) enum RowReader {
    Json(XdbRules),
    Separated(XdbRules, Header, Separation),
    Combined,
}

/// What a chunk holds.
#[derive(Debug)]
pub(crate) enum ReadRows {
    /// Rows of tables.
    Batch(Batch),
    /// Requests, which become visits with those of other chunks.
    Requests(Requests),
}

/// A file that is to be read.
#[derive(Debug, Clone)]
pub(crate) struct PlannedSource {
    pub(crate) path: PathBuf,
    pub(crate) framing: Framing,
    pub(crate) reader: RowReader,
    /// Bytes at the beginning that hold no rows.
    pub(crate) skip: u64,
    /// Bytes of the file.
    pub(crate) size: u64,
    /// Time of the first request of a log; none for others.
    pub(crate) first_ms: Option<i64>,
}

impl RowReader {
    /// Reads a chunk.
    pub(crate) fn read(&self, chunk: &[u8]) -> ReadRows {
        match self {
            Self::Json(rules) => ReadRows::Batch(read_json(chunk, rules)),
            Self::Separated(rules, header, separation) => {
                ReadRows::Batch(read_separated(chunk, rules, header, *separation))
            }
            Self::Combined => ReadRows::Requests(read_combined(chunk)),
        }
    }
}

/// The files of the sources in the order in which they are read: folders are searched, their files
/// sorted by path.
///
/// # Errors
/// When a file cannot be read or is not of the format.
pub(crate) fn plan(options: &ImportOptions) -> Result<Vec<PlannedSource>, Error> {
    let mut files = Vec::new();
    for source in &options.sources {
        collect(source, &mut files)?;
    }
    if files.is_empty() {
        return Err(Error::Options("the sources have no files".to_owned()));
    }
    let mut planned =
        files.iter().map(|path| planned(path, options)).collect::<Result<Vec<_>, _>>()?;
    // Logs in the order of their times, so that visits go on from one file to the next.
    planned.sort_by_key(|source| source.first_ms);
    Ok(planned)
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

fn planned(path: &Path, options: &ImportOptions) -> Result<PlannedSource, Error> {
    let size = std::fs::metadata(path).map_err(|error| Error::io("read", path, error))?.len();
    let head = head(path)?;
    let rules = XdbRules { shards: options.shards, offset_ms: 0 };
    let wrong = |why: &str| Error::Source { path: path.to_owned(), why: why.to_owned() };
    let mut first_ms = None;
    let (framing, reader, skip) = match options.format {
        SourceFormat::XdbJson => {
            let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
            let framing = match first {
                Some(b'[') => Framing::JsonArray,
                Some(b'{') | None => Framing::Lines,
                Some(_) => return Err(wrong("it begins with neither `{` nor `[`")),
            };
            (framing, RowReader::Json(rules), 0)
        }
        SourceFormat::XdbCsv | SourceFormat::XdbPostgres => {
            let end = memchr::memchr(b'\n', &head).map_or(head.len(), |at| at + 1);
            let header = header(&head[..end]);
            if header.iter().all(Option::is_none) && !head.is_empty() {
                return Err(wrong("its first line names no column of an xDB table"));
            }
            let reader = RowReader::Separated(rules, header, Separation::Csv);
            (Framing::QuotedLines, reader, end as u64)
        }
        SourceFormat::Bcp => {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
            let Some(table) = DumpTable::of_file(stem) else {
                return Err(wrong(
                    "its name begins with the name of no xDB table; `bcp` files have no header, so \
                     name it after its table, such as `Interactions.dat`",
                ));
            };
            let header = table.columns().iter().map(|column| Some(*column)).collect();
            (Framing::Lines, RowReader::Separated(rules, header, Separation::Bcp), 0)
        }
        SourceFormat::AccessLog => {
            first_ms = read_combined(&head).first_ms();
            (Framing::Lines, RowReader::Combined, 0)
        }
    };
    Ok(PlannedSource { path: path.to_owned(), framing, reader, skip, size, first_ms })
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
