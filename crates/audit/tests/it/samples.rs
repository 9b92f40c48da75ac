//! Samples are what they say they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use culprit_audit::{SampleOptions, Visitor};

use crate::support::{options, sample};

/// All files below a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second, other) =
        (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
    sample(&first, &options(300));
    sample(&second, &options(300));
    sample(&other, &SampleOptions { seed: 8, ..options(300) });
    assert!(files(&first) == files(&second));
    assert!(files(&first) != files(&other));
}

#[test]
fn the_truth_counts_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &SampleOptions { malformed: 10_000, ..options(1000) });
    let lines: BTreeMap<_, _> = files(folder.path())
        .into_iter()
        .map(|(path, bytes)| (path, bytes.iter().filter(|byte| **byte == b'\n').count() as u64))
        .collect();
    let of = |path: &str| lines[Path::new(path)];
    for (file, broken) in [("xdb-json/shard-", "ndjson"), ("bcp/shard-", "dat")] {
        let rows = |table: &str| {
            (0..2).map(|shard| of(&format!("{file}{shard}/{table}.{broken}"))).sum::<u64>()
        };
        assert_eq!(rows("Interactions"), truth.visits + truth.malformed);
        assert_eq!(rows("Contacts"), truth.contacts - truth.contacts_without_row);
        let facets: u64 = truth.facets.values().map(|facet| facet.values).sum();
        assert_eq!(rows("InteractionFacets") + rows("ContactFacets"), facets);
        assert_eq!(rows("ContactIdentifiers"), truth.contacts + truth.known_contacts);
    }
    assert_eq!(truth.malformed, 10);
    assert_eq!(of("access.log"), truth.files["access.log"].rows);
    assert_eq!(truth.visits_by_visitor.values().sum::<u64>(), truth.visits);
    let days = truth.places.values().flat_map(BTreeMap::values);
    assert_eq!(days.map(|day| day.visits + day.robot_visits).sum::<u64>(), truth.visits);
}

#[test]
fn robots_make_the_share_that_was_asked_for() {
    for (share, expected) in [(0.0, 0), (0.05, 25), (0.6, 300), (1.0, 500)] {
        let folder = tempfile::tempdir().unwrap();
        let truth = sample(folder.path(), &SampleOptions { robots: share, ..options(500) });
        let robots = truth.visits_by_visitor.iter().filter(|(visitor, _)| visitor.is_robot());
        assert_eq!(robots.map(|(_, visits)| visits).sum::<u64>(), expected, "{share}");
    }
    assert!(!Visitor::ServerSide.is_robot());
}
