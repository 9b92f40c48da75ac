//! Files of Windows programs below a root: paths with `\`, and names in any case.
//!
//! A copy of such a program's folder on Linux has the names as they were typed, so that `Web.config` is
//! the file that `web.config` means.

use std::path::Path;

use crate::profile::Element;
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Entry, Format, Segment, Unreadable, decode_xml, read};
use crate::sources::{FileRead, Root, hash, state_of};

/// The text of a file, with its source.
pub(crate) struct Text {
    /// The source.
    pub(crate) source: Source,
    /// The text; none if it could not be read.
    pub(crate) text: Option<String>,
}

/// A path of a Windows program as one below the root: `~\a\b` and `/a/b` as `a/b`.
pub(crate) fn below_root(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let path = path.trim_start_matches('~').trim_matches('/');
    path.to_owned()
}

/// The file or folder below the root that a path means; none if there is none.
pub(crate) fn find(root: &Root, path: &str) -> Option<String> {
    let mut found = String::new();
    for part in below_root(path).split('/').filter(|part| !part.is_empty()) {
        let below = |name: &str| match found.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        found = if root.is_there(&below(part)) {
            below(part)
        } else {
            below(&root.names(&found).into_iter().find(|name| fits(part, name))?)
        };
    }
    (!found.is_empty()).then_some(found)
}

/// Whether a name is meant, in any case; `*` at the start stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.to_lowercase().ends_with(&end.to_lowercase()),
        None => pattern.eq_ignore_ascii_case(name),
    }
}

/// The files below a folder: those of each folder by name, then those of its folders.
///
/// Deeper folders than this are not entered: a link can lead back to where it is.
pub(crate) fn files_below(root: &Root, folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    add_files(root, folder, &mut files, 0);
    files
}

/// Folders of configuration are not deeper; a folder that is linked into itself would be endless.
const MAX_DEPTH: usize = 32;

fn add_files(root: &Root, folder: &str, files: &mut Vec<String>, depth: usize) {
    let (mut here, mut folders) = root.entries(folder);
    // As a file system of Windows lists them.
    here.sort_by_cached_key(|path| path.to_lowercase());
    folders.sort_by_cached_key(|path| path.to_lowercase());
    files.append(&mut here);
    if depth < MAX_DEPTH {
        for inner in folders {
            add_files(root, &inner, files, depth + 1);
        }
    }
}

/// Reads a file of XML. `required`: the program does not start without it.
pub(crate) fn text_of(root: &Root, path: &str, layer: &str, required: bool) -> Text {
    let name = find(root, path).unwrap_or_else(|| below_root(path));
    let FileRead { mut state, mut why, bytes, modified } = root.read(Path::new(&name));
    if state == SourceState::Missing && required {
        state = SourceState::MissingRequired;
    }
    let text = bytes.as_ref().and_then(|bytes| match decode_xml(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            (state, why) = refused(&error);
            None
        }
    });
    let source = Source {
        kind: SourceKind::File,
        name,
        layer: layer.to_owned(),
        state,
        why,
        at: None,
        sha256: bytes.as_ref().map(|bytes| hash(bytes)),
        bytes: bytes.map_or(0, |bytes| bytes.len() as u64),
        modified,
    };
    Text { source, text }
}

/// The text of an element of files in XML, and where it stands; none if no file has it.
pub(crate) fn element(root: &Root, element: &Element) -> Option<(String, String)> {
    let files = element.files.iter().flat_map(|pattern| root.matching(pattern));
    files.into_iter().find_map(|file| {
        let bytes = root.read(Path::new(&file)).bytes?;
        let contents = read(Format::Xml, &bytes).ok()?;
        let is_it = |entry: &&Entry| {
            matches!(entry.path.last(), Some(Segment::Name(name)) if *name == element.name)
        };
        let entry = contents.entries.iter().find(is_it)?;
        Some((entry.value.expose().to_owned(), format!("{file}:{}", entry.at.line)))
    })
}

/// What a source that cannot be read is, and why.
pub(crate) fn refused(error: &Unreadable) -> (SourceState, String) {
    (state_of(error), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::files::{ImageFile, ImageFiles};
    use crate::sources::Request;

    #[test]
    fn names_of_an_image_are_found_in_it() {
        let file = || ImageFile::Bytes(b"<a/>".to_vec());
        let paths = ["app/App_Config/A.config", "app/App_Config/Sub/0.config", "other/x.config"];
        let files = paths.map(|path| (path.to_owned(), file())).into();
        let request = Request {
            root: "/app".into(),
            files: Some(Arc::new(ImageFiles::new(files, "/app"))),
            ..Request::default()
        };
        let root = Root::from_request(&request);
        assert_eq!(find(&root, "app_config/a.CONFIG").as_deref(), Some("App_Config/A.config"));
        assert_eq!(
            files_below(&root, "App_Config"),
            ["App_Config/A.config", "App_Config/Sub/0.config"]
        );
        assert_eq!(find(&root, "etc/passwd"), None);
    }

    #[test]
    fn names_are_found_in_any_case_and_with_either_slash() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("App_Config/Sub")).unwrap();
        for name in ["b.config", "A.config", "Sub/0.config"] {
            std::fs::write(folder.path().join("App_Config").join(name), "<a/>").unwrap();
        }
        let root = Root::new(folder.path());
        assert_eq!(find(&root, "~\\app_config\\a.CONFIG").as_deref(), Some("App_Config/A.config"));
        assert_eq!(find(&root, "/App_Config/none.config"), None);
        assert_eq!(
            files_below(&root, "App_Config"),
            ["App_Config/A.config", "App_Config/b.config", "App_Config/Sub/0.config"]
        );
        assert_eq!(text_of(&root, "../x", "", true).source.state, SourceState::MissingRequired);
    }
}
