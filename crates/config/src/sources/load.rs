//! A file or the environment as a source, with what it holds.

use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{FileRead, Root};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment, Unreadable, read};
use crate::value::{Raw, hex};

/// A file as a source, with what it holds.
pub(crate) fn load_file(
    root: &Root,
    name: &Path,
    format: Option<Format>,
    kind: SourceKind,
    layer: &str,
) -> (Source, Contents) {
    let shown = shown_path(name);
    let FileRead { mut state, mut why, bytes, modified } = root.read(name);
    let mut at = None;
    let mut contents = Contents::default();
    if let Some(bytes) = &bytes {
        match format.or_else(|| Format::of_name(&shown)).map(|format| read(format, bytes)) {
            Some(Ok(found)) => contents = found,
            Some(Err(error)) => {
                (state, at) = (state_of(&error), error.at());
                why = error.to_string();
            }
            None => {
                (state, why) =
                    (SourceState::Unread, "its format is not known by its name".to_owned());
            }
        }
    }
    let source = Source {
        kind,
        name: shown,
        layer: layer.to_owned(),
        state,
        why,
        at,
        sha256: bytes.as_ref().map(|bytes| hash(bytes)),
        bytes: bytes.map_or(0, |bytes| bytes.len() as u64),
        modified,
    };
    (source, contents)
}

/// The hash of a source's bytes, as it is shown.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// What a source that cannot be read is.
pub(crate) fn state_of(error: &Unreadable) -> SourceState {
    match error {
        Unreadable::Syntax { .. } => SourceState::Unparsable,
        Unreadable::TooLarge(_) => SourceState::TooLarge,
    }
}

/// A path as it is shown: without `.` and with `/`.
pub(crate) fn shown_path(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().to_string_lossy().into_owned()
}

/// The environment as a source.
pub(crate) fn environment_source(layer: &str, variables: &[(String, Raw)]) -> (Source, Contents) {
    let source = Source {
        kind: SourceKind::ProcessEnvironment,
        name: "environment".to_owned(),
        layer: layer.to_owned(),
        state: SourceState::Read,
        why: String::new(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    };
    let entries = variables
        .iter()
        .map(|(name, value)| Entry::unplaced(vec![Segment::Name(name.clone())], value.clone()));
    (source, Contents { entries: entries.collect(), ..Contents::default() })
}
