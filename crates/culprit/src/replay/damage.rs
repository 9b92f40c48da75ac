//! Damaged recordings: what is lost of them must not become a finding of its own.

use culprit_model::{Filter, LossKind, Recording};
use rayon::prelude::*;

use super::programs::packs;
use super::raw;
use super::truth::Group;
use crate::load;

/// Of the kept recordings every so many-th is damaged.
const EVERY: usize = 9;
/// Tables without which the others mean nothing.
const NAMES: [&str; 5] = ["processes", "threads", "modules", "frames", "stacks"];
/// A file is cut behind each of so many pieces.
const PIECES: usize = 12;

/// The ids of all findings of a recording.
fn ids(recording: &Recording) -> Vec<&'static str> {
    let report = load::findings(recording, &Filter::default(), true).expect("no filter is wrong");
    report.findings.iter().map(|finding| finding.id).collect()
}

/// The recording with a changed byte in a table.
fn changed(bytes: &[u8], table: &str) -> Recording {
    let name = format!("{table}.parquet");
    let found = bytes.windows(name.len()).position(|window| window == name.as_bytes());
    let mut changed = bytes.to_vec();
    changed[found.expect("the table is in the file") + name.len() + 8] ^= 0x10;
    culprit_recording::parse(table, changed).expect("the rest is whole").recording
}

/// What is wrong with what is said of the damaged forms of one recording.
fn faults(name: &str, bytes: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.culprit");
    culprit_recording::write(&path, &raw::build(name, bytes.to_vec())).expect("a recording");
    let bytes = std::fs::read(&path).expect("a recording");
    let mut faults = Vec::new();
    for table in NAMES {
        let recording = changed(&bytes, table);
        let told = recording.losses.iter().any(|loss| loss.kind == LossKind::NamesDamaged);
        let found = ids(&recording);
        if !told || found != ["recording-lost"] {
            faults.push(format!("{name}, damage to {table}: told {told}, found {found:?}"));
        }
    }
    let cuts = (1..PIECES).map(|piece| bytes.len() * piece / PIECES);
    let opened = cuts.filter_map(|at| culprit_recording::parse(name, bytes[..at].to_vec()).ok());
    let recordings: Vec<Recording> = opened.map(|opened| opened.recording).collect();
    let nameless = recordings.iter().any(|recording| {
        recording
            .intervals
            .iter()
            .any(|row| recording.process(recording.thread(row.thread).process).name.is_empty())
    });
    faults.extend(nameless.then(|| format!("{name}, cut: a process without a name")));
    faults.extend(recordings.is_empty().then(|| format!("{name}, cut: nothing can be opened")));
    faults
}

#[test]
fn damaged_names_make_no_finding_and_a_cut_takes_no_name() {
    let packs = packs(Group::Guilty);
    let some: Vec<(&String, &Vec<u8>)> = packs.iter().step_by(EVERY).collect();
    assert!(some.len() > 5, "too few recordings are kept: {}", some.len());
    let faults: Vec<String> =
        some.par_iter().flat_map_iter(|(name, bytes)| faults(name, bytes)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
