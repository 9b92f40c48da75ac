//! Whether the places of `why` have the same configuration files. What differs there may be why one is
//! slower.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use culprit_config::{PROCESS_PROFILE, Snapshot, SourceKind, ValueFingerprint};

use super::variables_of_why::{differing, on_one_side};
use culprit_report::config::kept_by;

/// The configuration files of a place, as a run in it has kept them.
#[derive(Debug)]
pub(crate) struct PlaceFiles {
    place: String,
    files: BTreeMap<String, KeptFile>,
}

/// A file with its values.
#[derive(Debug, Default, PartialEq, Eq)]
struct KeptFile {
    sha256: Option<String>,
    values: BTreeMap<String, ValueFingerprint>,
}

impl PlaceFiles {
    /// Those of a recording; none if it has not kept all files of the command's folder.
    pub(crate) fn of_recording(place: &str, path: &Path) -> Option<Self> {
        let meta = culprit_recording::peek(path).ok()?;
        let snapshot = kept_by(&meta)?.ok()?;
        // Among the variables stands the folder, if it could not be read.
        let own = snapshot.configurations.iter().find(|one| one.profile == PROCESS_PROFILE)?;
        let is_whole = own.sources.iter().all(|source| source.kind != SourceKind::File);
        is_whole.then(|| Self::new(place, &snapshot))
    }

    fn new(place: &str, snapshot: &Snapshot) -> Self {
        let mut files: BTreeMap<String, KeptFile> = BTreeMap::new();
        for one in &snapshot.configurations {
            let is_file = |kind| matches!(kind, SourceKind::File | SourceKind::Dotenv);
            for (at, source) in one.sources.iter().enumerate() {
                // What does not exist has no hash.
                if !is_file(source.kind) || source.sha256.is_none() {
                    continue;
                }
                let file = files.entry(source.name.clone()).or_default();
                file.sha256.clone_from(&source.sha256);
                let own = one.assignments.iter().filter(|assignment| assignment.source == at);
                let value = own.map(|one| (one.written.to_string(), one.value.fingerprint));
                file.values.extend(value);
            }
        }
        Self { place: place.to_owned(), files }
    }
}

/// The names of files that are not the same in all places.
pub(super) fn differing_files(places: &[PlaceFiles]) -> BTreeSet<&str> {
    differing(places, |place| &place.files, |file| &file.sha256)
}

/// What the other places have otherwise than the first, a sentence or two a place.
pub(crate) fn file_notes(places: &[PlaceFiles]) -> Vec<String> {
    let Some((first, others)) = places.split_first() else { return Vec::new() };
    others.iter().filter_map(|other| note(first, other)).collect()
}

fn note(first: &PlaceFiles, other: &PlaceFiles) -> Option<String> {
    let (here, there) = (&other.place, &first.place);
    let changed = first.files.iter().filter_map(|(name, one)| {
        let two = other.files.get(name).filter(|two| two.sha256 != one.sha256)?;
        Some(format!("`{name}`: {}", different_keys(one, two)))
    });
    let mut parts: Vec<String> = changed.collect();
    parts.extend(on_one_side((there, &first.files), (here, &other.files)));
    (!parts.is_empty()).then(|| {
        format!(
            "The configuration files of {here} and {there} differ ({}). Evidence: present_only; Culprit \
             has not checked whether the command opens them.",
            parts.join("; ")
        )
    })
}

/// How many keys of a file have another value in the other one, or are in one alone.
fn different_keys(one: &KeptFile, two: &KeptFile) -> String {
    let keys: BTreeSet<&String> = one.values.keys().chain(two.values.keys()).collect();
    let different = keys.iter().filter(|key| one.values.get(**key) != two.values.get(**key));
    match different.count() {
        0 => "no key".to_owned(),
        1 => "1 key".to_owned(),
        count => format!("{count} keys"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_config::{Redactor, Request, inspect, stock_profiles};

    fn place(name: &str, files: &[(&str, &str)]) -> PlaceFiles {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let profile = stock_profiles().unwrap().into_iter().find(|one| one.name == "dotnet");
        let request = Request { root: folder.path().to_owned(), ..Request::default() };
        let redactor = Redactor::new([1; 32]);
        let found = inspect(&profile.unwrap(), &request, redactor.clone());
        PlaceFiles::new(name, &Snapshot::new("x", &redactor, vec![found]).without_key())
    }

    #[test]
    fn files_with_other_contents_and_files_of_one_place_are_named() {
        let text = r#"{"A": 1, "B": {"C": "hunter2", "D": 1}}"#;
        let other = r#"{"A": 1, "B": {"C": "hunter3", "E": 1}}"#;
        let host = || place("host", &[("appsettings.json", text)]);
        assert!(file_notes(&[host(), host()]).is_empty());
        let more = [("appsettings.json", other), ("appsettings.Production.json", "{}")];
        let [note] = file_notes(&[host(), place("docker:x", &more)]).try_into().unwrap();
        let note: String = note;
        assert!(note.contains("`appsettings.json`: 3 keys"), "{note}");
        assert!(note.contains("only in docker:x: `appsettings.Production.json`"), "{note}");
        assert!(note.contains("present_only") && !note.contains("hunter"), "{note}");
        let blanks = place("sandbox", &[("appsettings.json", &format!("{text}\n"))]);
        assert!(file_notes(&[host(), blanks])[0].contains("`appsettings.json`: no key"));
    }
}
