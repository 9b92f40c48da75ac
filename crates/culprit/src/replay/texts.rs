//! Every rule's texts in one file, with titles that the kept recordings show: a reviewer reads it from
//! top to bottom.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use culprit_findings::{RuleDoc, catalogue};
use culprit_testkit::words::faults;

use super::pack::corpus;
use super::snapshot::Snapshots;

/// Titles that are shown of each rule.
const TITLES: usize = 3;

/// The stored texts below a folder, in the order of their names.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of stored texts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort_unstable();
    let below = |path: PathBuf| if path.is_dir() { texts(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}

/// Titles by rule. What is stored is what is said now: other tests see to it.
fn titles() -> BTreeMap<&'static str, Vec<String>> {
    let mut titles: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for path in texts(&corpus().join("said")).iter().filter(|path| **path != stored()) {
        let text = std::fs::read_to_string(path).expect("a text");
        for line in text.lines() {
            let Some((id, rest)) = line.split_once(": ") else { continue };
            let Some(doc) = catalogue().iter().find(|doc| doc.id == id) else { continue };
            let title = [" sure: ", " %: "].iter().find_map(|before| rest.split_once(before));
            titles.entry(doc.id).or_default().extend(title.map(|(_, title)| title.to_owned()));
        }
    }
    titles
}

fn stored() -> PathBuf {
    corpus().join("said/findings.txt")
}

fn page(doc: &RuleDoc, titles: &[String]) -> String {
    let mut text = format!("## {}\n{}\n", doc.id, doc.claim);
    for title in titles.iter().take(TITLES) {
        let _ = writeln!(text, "title: {title}");
    }
    let _ = writeln!(text, "recognised by: {}", doc.signature);
    for case in doc.not_reported {
        let _ = writeln!(text, "not reported: {case}");
    }
    let _ = writeln!(text, "why: {}", doc.why);
    for action in doc.fix {
        let _ = writeln!(text, "fix: {action}");
    }
    let _ = writeln!(text, "check: {}", doc.check);
    for threshold in doc.thresholds {
        let (value, unit) = (threshold.value, threshold.unit);
        let _ =
            writeln!(text, "threshold: {} ({value} {unit}): {}", threshold.what, threshold.reason);
    }
    text
}

#[test]
fn the_texts_of_all_findings_are_as_they_were_read_last() {
    let (titles, mut snapshots) = (titles(), Snapshots::default());
    for (id, titles) in &titles {
        for fault in titles.iter().flat_map(|title| faults(title)) {
            snapshots.wrong(format!("a title of `{id}`: {fault}"));
        }
    }
    let none = Vec::new();
    let pages = catalogue().iter().map(|doc| page(doc, titles.get(doc.id).unwrap_or(&none)));
    snapshots.hold(&stored(), &pages.collect::<Vec<_>>().join("\n"));
    snapshots.finish();
}
