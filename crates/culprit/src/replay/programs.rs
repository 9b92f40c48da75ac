//! The programs of the fixtures: what is said of each recording, and whether it is the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use culprit_model::{Cause, Nanos};
use culprit_report::json::ReportDocument;
use culprit_report::{Digest, filters};
use rayon::prelude::*;
use serde_json::Value;

use super::hit_rates::{self, First};
use super::pack::{self, Files};
use super::snapshot::Snapshots;
use super::truth::{Group, Program, programs};
use super::{raw, stored};
use crate::load;
use crate::output::percent;

/// The groups whose recordings are kept.
const KEPT: [Group; 3] = [Group::Guilty, Group::Healthy, Group::Unseen];

/// Functions that a snapshot names of each finding, and of the whole recording.
const NAMED: usize = 3;

/// The packs that hold the programs' recordings.
pub(super) fn packs(group: Group) -> Files {
    let folder = std::fs::read_dir(pack::corpus()).expect("corpus/");
    let mut files = Files::new();
    for entry in folder {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(group.folder()) && name.ends_with(pack::SUFFIX) {
            files.extend(pack::read(&path));
        }
    }
    files
}

/// Programs whose recording is judged wrong, each with the reason.
fn known_wrong() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(pack::corpus().join("known-wrong.toml"));
    toml::from_str(&text.unwrap_or_default()).expect("names and reasons")
}

/// What a recording's report says.
struct Said {
    text: String,
    /// What is wrong with it.
    wrong: Option<String>,
    first: Option<First>,
}

/// Replays a recording.
fn replay(program: &Program, bytes: &[u8]) -> Said {
    let recording = raw::build(&program.name(), bytes.to_vec());
    let digest =
        load::digest(recording, &filters::run_filter(), false).expect("no filter is wrong");
    let report =
        serde_json::to_value(ReportDocument::new(&digest, None::<()>)).expect("a document");
    let wrong = program.judge(&report);
    let judged = if wrong.is_some() { "WRONG" } else { "right" };
    let text = format!("expected: {}; {judged}\n{}", program.expected(), text(&digest, &report));
    Said { text, first: First::of(program, &digest, wrong.is_none()), wrong }
}

/// The report in a few lines, each of them whole: a difference shows what has changed.
fn text(digest: &Digest, report: &Value) -> String {
    let mut text = format!("verdict: {}\n", digest.verdict());
    let mut causes: BTreeMap<Cause, Nanos> = BTreeMap::new();
    for (cause, time) in digest.threads.iter().flat_map(|thread| &thread.parts) {
        *causes.entry(*cause).or_default() += *time;
    }
    let causes: Vec<String> =
        causes.iter().map(|(cause, time)| format!("{cause} {} us", time.0 / 1000)).collect();
    let _ = writeln!(text, "threads: {}; {}", digest.threads.len(), causes.join(", "));
    for finding in &digest.report.findings {
        let _ = writeln!(
            text,
            "{}: {}, {:.1} %, {:.2} sure: {}",
            finding.id,
            finding.severity,
            100.0 * finding.share,
            finding.confidence,
            finding.title
        );
        let at: Vec<&str> = finding.at.iter().take(NAMED).map(|at| &*at.function).collect();
        if !at.is_empty() {
            let _ = writeln!(text, "  in {}", at.join(", "));
        }
    }
    let top = digest.tops.functions.iter().take(NAMED);
    let top: Vec<String> =
        top.map(|function| format!("{} {}", function.name, percent(function.own_share))).collect();
    let _ = writeln!(text, "top: {}", top.join(", "));
    for loss in report["losses"].as_array().into_iter().flatten() {
        let _ =
            writeln!(text, "lost: {} {}", loss["count"], loss["id"].as_str().unwrap_or_default());
    }
    text
}

/// Replays a group; what is judged otherwise than it was is told by name. Returns each first finding.
fn replay_all(group: Group, snapshots: &mut Snapshots) -> Vec<First> {
    let (programs, packs, known) = (programs(group), packs(group), known_wrong());
    let names: BTreeSet<String> = programs.iter().map(Program::name).collect();
    let unknown: Vec<&String> = packs.keys().filter(|name| !names.contains(*name)).collect();
    assert!(unknown.is_empty(), "recordings of programs that are not listed: {unknown:?}");
    let missing: Vec<String> =
        names.iter().filter(|name| !packs.contains_key(*name)).cloned().collect();
    assert!(missing.is_empty(), "no recording: make corpus ONLY={}", missing.join(","));
    let said: Vec<Said> =
        programs.par_iter().map(|program| replay(program, &packs[&program.name()])).collect();
    for (program, said) in programs.iter().zip(&said) {
        let name = program.name();
        snapshots.hold(&stored(&name), &said.text);
        match (&said.wrong, known.get(&name)) {
            (Some(wrong), None) => snapshots.wrong(format!("{name} is judged wrong: {wrong}")),
            (None, Some(reason)) => snapshots.wrong(format!(
                "{name} is judged right now: take it out of corpus/known-wrong.toml ({reason})"
            )),
            _ => {}
        }
    }
    let wrong = said.iter().filter(|said| said.wrong.is_some()).count();
    println!("{}: {} of {} judged right", group.folder(), said.len() - wrong, said.len());
    said.into_iter().filter_map(|said| said.first).collect()
}

#[test]
fn programs_are_told_for_what_they_do_and_healthy_ones_for_nothing() {
    let mut snapshots = Snapshots::default();
    let firsts: Vec<First> =
        KEPT.into_iter().flat_map(|group| replay_all(group, &mut snapshots)).collect();
    hit_rates::hold(&mut snapshots, &firsts);
    snapshots.finish();
}

/// What went wrong on programs that were new to the rules: mechanisms, not programs.
/// Lost records have live tests.
const MECHANISMS: [&str; 8] = [
    "limit",
    "joined-group",
    "disk-wait",
    "service",
    "child-start",
    "run-queue",
    "own-worker",
    "collector",
];

#[test]
fn each_mechanism_that_went_wrong_has_three_programs() {
    let path = super::truth::fixtures().join("guilty/expected.toml");
    let text = std::fs::read_to_string(path).expect("the list");
    let table: toml::Table = text.parse().expect("TOML");
    let programs = table["guilty"].as_table().expect("a table").values();
    let named: Vec<&str> =
        programs.filter_map(|row| row.get("mechanism")).filter_map(toml::Value::as_str).collect();
    let unknown: Vec<_> = named.iter().filter(|name| !MECHANISMS.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for mechanism in MECHANISMS {
        let programs = named.iter().filter(|name| **name == mechanism).count();
        assert!(programs >= 3, "{mechanism}: {programs} programs");
    }
}

#[test]
fn every_known_error_and_every_stored_text_is_of_a_program() {
    let all: Vec<Program> = KEPT.into_iter().flat_map(programs).collect();
    for program in &all {
        assert!(program.path().is_file(), "{} has no source", program.name());
        let own = program.flags.is_some();
        assert!(!own || program.group == Group::Unseen, "{}: flags", program.name());
    }
    let names: BTreeSet<String> = all.iter().map(Program::name).collect();
    let known = known_wrong();
    assert!(known.values().all(|reason| reason.len() > 10), "each has its reason: {known:?}");
    let unknown: Vec<_> = known.keys().filter(|name| !names.contains(*name)).collect();
    assert!(unknown.is_empty(), "no such programs: {unknown:?}");
    for group in KEPT {
        let folder = stored("x").with_file_name(group.folder());
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let file = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let program = file.strip_suffix(".txt").unwrap_or(&file);
            let name = format!("{}/{program}", group.folder());
            assert!(names.contains(&name), "corpus/said/{name}.txt is of no program: remove it");
        }
    }
}
