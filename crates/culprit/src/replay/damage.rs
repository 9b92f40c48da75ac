//! Damaged recordings: what is lost of them must not become a finding of its own.

use std::collections::BTreeSet;

use culprit_model::{Filter, Recording};

use super::programs::packs;
use super::truth::Group;
use super::{on_all_cpus, raw};
use crate::load;

/// Of the kept recordings every so many-th is damaged.
const EVERY: usize = 9;
/// Pieces of a file; each of them is flipped, and the file is cut behind each.
const PIECES: usize = 12;
/// The finding that says that a recording is not whole.
const INCOMPLETE: &str = "recording-lost";

/// The ids of all findings of a recording.
fn ids(recording: &Recording) -> BTreeSet<&'static str> {
    let report = load::findings(recording, &Filter::default(), true).expect("no filter is wrong");
    report.findings.iter().map(|finding| finding.id).collect()
}

/// The bytes of a finished recording, cut or with a flipped byte at each of several places.
fn damaged(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    (1..PIECES).map(|piece| bytes.len() * piece / PIECES).flat_map(|at| {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 0x10;
        [(format!("cut at {at}"), bytes[..at].to_vec()), (format!("changed at {at}"), flipped)]
    })
}

/// What is wrong with what is said of the damaged forms of one recording.
fn faults(name: &str, bytes: &[u8]) -> Vec<String> {
    let whole = raw::build(name, bytes.to_vec());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.culprit");
    culprit_recording::write(&path, &whole).expect("a recording");
    let bytes = std::fs::read(&path).expect("a recording");
    let mut allowed = ids(&whole);
    allowed.insert(INCOMPLETE);
    let mut faults = Vec::new();
    for (what, bytes) in damaged(&bytes) {
        // What cannot be opened at all is said so.
        let Ok(opened) = culprit_recording::parse(name, bytes) else { continue };
        let found = ids(&opened.recording);
        faults.extend(found.difference(&allowed).map(|id| format!("{name} {what}: {id}")));
        let nameless = opened.recording.intervals.iter().any(|row| {
            let process = opened.recording.thread(row.thread).process;
            opened.recording.process(process).name.is_empty()
        });
        faults.extend(nameless.then(|| format!("{name} {what}: a process without a name")));
    }
    faults
}

#[test]
fn damage_makes_no_finding_and_takes_no_name() {
    let packs = packs(Group::Guilty);
    let some: Vec<(&String, &Vec<u8>)> = packs.iter().step_by(EVERY).collect();
    assert!(some.len() > 5, "too few recordings are kept: {}", some.len());
    let faults: Vec<String> =
        on_all_cpus(&some, |(name, bytes)| faults(name, bytes)).into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
