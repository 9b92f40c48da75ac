//! The casebook: kept runs and answers are judged as new ones are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use culprit_experiment::casebook::{
    Case, CaseResult, Course, Shelf, judge_kept, judge_kept_answers,
};
use culprit_model::values::number;
use culprit_report::experiment::{case_sentence, casebook_text};
use rayon::prelude::*;

use super::pack::{self, corpus};
use super::snapshot::Snapshots;
use super::stored;
use crate::output::Output;
use crate::session::Settings;
use crate::workbench::SessionRecorder;

/// Judges a case; none where nothing of it was kept.
fn judge(case: &Case) -> Option<CaseResult> {
    let files =
        pack::read(&corpus().join("casebook").join(format!("{}{}", case.name, pack::SUFFIX)));
    if files.is_empty() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    pack::unpack(&files, folder.path());
    let recorder = SessionRecorder { settings: &Settings::default() };
    let judged = match &case.course {
        Course::Pair(pair) => judge_kept(pair, folder.path(), &recorder),
        Course::Questions(questions) => judge_kept_answers(questions, folder.path()),
    };
    Some(judged.unwrap_or_else(|error| panic!("{}: {error}", case.name)))
}

fn text(told: &CaseResult) -> String {
    let mut text = String::new();
    for check in &told.checks {
        let held = if check.held { "yes" } else { "NO" };
        let _ = writeln!(text, "{held} {}: {}", check.id, check.seen);
    }
    if let Some(sentence) = case_sentence(told) {
        let _ = writeln!(text, "{sentence}");
    }
    if let Some(share) = told.explained_share {
        let _ = writeln!(text, "explained: {}", number(share));
    }
    for finding in &told.findings {
        let (share, title) = (100.0 * finding.share, &finding.title);
        let _ = writeln!(text, "{}: {}, {share:.1} %: {title}", finding.id, finding.severity);
    }
    for (command, _) in &told.answers {
        let _ = writeln!(text, "asked: {command}");
    }
    text
}

/// The cases' pages in the documentation.
fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/casebook")
}

/// A case's page: its texts, and what its kept runs show.
fn page(case: &Case, told: &CaseResult) -> String {
    let shown = casebook_text(case, told, Output::unread(false).layout());
    format!(
        "# {name}\n\n{title}.\n\n## What was seen\n\n{story}\n\n## What Culprit shows\n\n\
         ```sh\nculprit casebook run {name}\n```\n\n```text\n{shown}\n```\n\n## The fix\n\n{fix}\n\n\
         Measured on a machine with 2 CPUs, ext4 on a virtual disk, Linux 6.18.\n",
        name = case.name,
        title = case.title,
        story = case.story.trim(),
        shown = shown.trim_end(),
        fix = case.fix.trim(),
    )
}

/// A case's row in the list of the pages.
fn row(case: &Case, told: &CaseResult) -> String {
    let gain = told.ratio.as_ref().filter(|ratio| ratio.value > 0.0);
    let gain = gain.map_or_else(String::new, |ratio| number(1.0 / ratio.value));
    let (name, title, expects) = (&case.name, &case.title, case.expects());
    format!("| [{name}]({name}.md) | {title} | `{expects}` | {gain} |\n")
}

const HEAD: &str = "\
# The cases

Each case is a published slow-down that runs here. It has a guilty and a fixed variant, and the finding
that names the cause. `culprit casebook run NAME` measures it on your machine. `culprit casebook show
NAME` prints its story; the program carries all files. [casebook/README.md](../../casebook/README.md)
says how to add a case.

| case | what is slow | finding | times as fast with the fix |
|---|---|---|---|
";

#[test]
fn every_case_shows_what_it_is_there_to_show() {
    let shelf = Shelf::Carried;
    let names = shelf.names().expect("cases");
    let cases: Vec<Case> = names.iter().map(|name| shelf.case(name).expect("a case")).collect();
    let judged: Vec<_> = cases.par_iter().map(judge).collect();
    let mut snapshots = Snapshots::default();
    for (case, told) in cases.iter().zip(&judged) {
        let name = format!("casebook/{}", case.name);
        let Some(told) = told else {
            snapshots.wrong(format!("{name} has no runs: make corpus ONLY={name}"));
            continue;
        };
        let (text, page) = (text(told), page(case, told));
        if !told.as_expected() {
            snapshots.wrong(format!("{name} does not show what it is there to show:\n{text}"));
        }
        snapshots.hold(&stored(&name), &text);
        snapshots.hold(&pages().join(format!("{}.md", case.name)), &page);
    }
    let rows = cases.iter().zip(&judged).filter_map(|(case, told)| Some(row(case, told.as_ref()?)));
    snapshots.hold(&pages().join("README.md"), &(HEAD.to_owned() + &rows.collect::<String>()));
    snapshots.finish();
}
