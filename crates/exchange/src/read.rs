//! The way in and the way out: find the format, read it, write it.

use std::io::{BufWriter, Write};
use std::path::Path;

use culprit_model::{Label as _, LossKind, Recording};

use crate::builder::Builder;
use crate::collapsed;
use crate::door;
use crate::error::Error;
use crate::format::Format;
use crate::input::{Input, Progress};
use crate::profile::Profile;

/// What was read.
#[derive(Debug)]
pub struct Imported {
    /// As what.
    pub format: Format,
    /// The rows. What could not be read is in its losses.
    pub recording: Recording,
}

/// The format of a file that begins with these bytes, unpacked; none when it is of none. The name
/// of the file does not count.
#[must_use]
pub fn detect(head: &[u8]) -> Option<Format> {
    found(&door::decoded(head)).map(|(format, _)| format)
}

/// The format of a file, and where in its first bytes it begins.
fn found(head: &[u8]) -> Option<(Format, usize)> {
    door::beginnings(head).find_map(|at| {
        let mut formats = Format::ALL.iter().copied();
        let format = formats.find(|format| {
            (at == 0 || format.is_document()) && (format.spec().detect)(&head[at..])
        })?;
        Some((format, at))
    })
}

/// The format of a file that can be read, unpacked where it is packed.
#[must_use]
pub fn format_of(path: &Path) -> Option<Format> {
    let mut quiet = |_, _| ();
    let input = Input::open(path, known, &mut quiet).ok()?;
    detect(input.head()).filter(|format| format.can_read())
}

/// Reads a file, as `format` or as what its bytes say. Packed files (gzip, zstd, zip) are unpacked
/// first. `progress` is told now and then how many bytes of how many are done.
///
/// # Errors
/// See [`Error`]; a file that is whole in part is none.
pub fn read(
    path: &Path,
    format: Option<Format>,
    progress: Progress<'_>,
) -> Result<Imported, Error> {
    import(Input::open(path, known, progress)?, path, format)
}

/// As [`read`], from bytes; `name` is the path for messages.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(
    name: impl AsRef<Path>,
    bytes: Vec<u8>,
    format: Option<Format>,
) -> Result<Imported, Error> {
    let path = name.as_ref();
    import(Input::memory(path, bytes, known, &mut |_, _| ())?, path, format)
}

/// Writes what a filter kept of a recording, piece by piece: what is written is never in memory as a
/// whole, except for the stacks of one thread as the Firefox Profiler's JSON.
///
/// # Errors
/// [`Error::Unsupported`] for formats that are only read, [`Error::Write`] when the output refuses.
pub fn write(profile: &Profile<'_>, format: Format, out: &mut dyn Write) -> Result<(), Error> {
    let Some(write) = format.spec().write else {
        return Err(Error::Unsupported { format, verb: "written" });
    };
    let mut out = BufWriter::new(out);
    let written = write(profile, &mut out).and_then(|()| out.flush());
    if written.is_err() {
        // Else what it still holds is written once more, to an output that refuses.
        drop(out.into_parts());
    }
    written.map_err(|source| Error::Write { format, source })
}

fn known(head: &[u8]) -> bool {
    detect(head).is_some()
}

fn import(mut input: Input<'_>, path: &Path, format: Option<Format>) -> Result<Imported, Error> {
    let (format, begin) =
        match format.map_or_else(|| found(input.head()), |f| Some((f, begin(f, input.head())))) {
            Some(found) => found,
            None => {
                let found = looks_like(input.head());
                return Err(Error::Unrecognised { path: path.to_owned(), found });
            }
        };
    let Some(read) = format.spec().read else {
        return Err(Error::Unsupported { format, verb: "read" });
    };
    let mut builder = Builder::default();
    if begin > 0 {
        let lines = input.head()[..begin].iter().filter(|byte| **byte == b'\n').count() as u64;
        builder.lose(LossKind::DetailLeftOut, lines, "lines in front of the document");
        input.skip(begin).map_err(|source| Error::io("read", path, source))?;
    }
    read(&mut input, &mut builder).map_err(|why| Error::Malformed {
        path: path.to_owned(),
        format,
        why,
    })?;
    if let Some(why) = &input.cut {
        builder.lose(LossKind::FileDamaged, 1, &format!("the packed file ends early: {why}"));
    }
    let undecoded = "places where the text is not UTF-8: a replacement character stands for them, \
                     so names that differ only there become one name";
    for (kind, count, what) in [
        (LossKind::DetailLeftOut, input.undecoded, undecoded),
        (
            LossKind::DetailLeftOut,
            input.long_lines,
            "lines that are too long: Culprit read only their start",
        ),
    ] {
        if count > 0 {
            builder.lose(kind, count, what);
        }
    }
    Ok(Imported { format, recording: builder.finish() })
}

/// Where a file begins that is read as a format whatever its bytes say.
fn begin(format: Format, head: &[u8]) -> usize {
    let mut begins = door::beginnings(head).filter(|at| format.is_document() || *at == 0);
    begins.find(|at| (format.spec().detect)(&head[*at..])).unwrap_or(0)
}

/// What a file of no known format looks like.
fn looks_like(head: &[u8]) -> &'static str {
    let text = std::str::from_utf8(head).is_ok_and(|text| !text.contains('\0'));
    match head {
        [] => "it is empty",
        [0x7f, b'E', b'L', b'F', ..] => "it is a program or a library, not a profile",
        _ if head.starts_with(b"heap profile:") => {
            "it is a heap profile of gperftools; convert it with `pprof -proto FILE`"
        }
        [b'P', b'K', 3, 4, ..] => "it is a zip that contains no profile of a known format",
        _ if collapsed::is_flat(head) => {
            "each line has a name and a number, like many texts; if they are stacks of one frame, \
             import with `--format collapsed`"
        }
        _ if text => "it is text in an unknown format",
        _ => "it has an unknown binary format",
    }
}
