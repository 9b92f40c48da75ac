//! The casebook: kept runs and answers are judged as new ones are.

use std::fmt::Write as _;

use super::pack::{self, corpus};
use super::snapshot::Snapshots;
use super::{on_all_cpus, stored};
use crate::casebook::{Case, Course, Shelf, Told, judge_kept, judge_kept_answers};
use crate::output::{Output, number};

/// Judges a case; none where nothing of it was kept.
fn judge(case: &Case) -> Option<Told> {
    let files =
        pack::read(&corpus().join("casebook").join(format!("{}{}", case.name, pack::SUFFIX)));
    if files.is_empty() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    pack::unpack(&files, folder.path());
    Some(match &case.course {
        Course::Pair(pair) => judge_kept(pair, folder.path(), &Output::unread(false)),
        Course::Questions(questions) => judge_kept_answers(questions, folder.path()),
    })
}

fn text(told: &Told) -> String {
    let mut text = String::new();
    for check in &told.checks {
        let held = if check.held { "yes" } else { "NO" };
        let _ = writeln!(text, "{held} {}: {}", check.id, check.told);
    }
    if let Some(sentence) = &told.sentence {
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

#[test]
fn every_case_shows_what_it_is_there_to_show() {
    let shelf = Shelf::Carried;
    let names = shelf.names().expect("cases");
    let cases: Vec<Case> = names.iter().map(|name| shelf.case(name).expect("a case")).collect();
    let judged = on_all_cpus(&cases, judge);
    let mut snapshots = Snapshots::default();
    for (case, told) in cases.iter().zip(&judged) {
        let name = format!("casebook/{}", case.name);
        let Some(told) = told else {
            snapshots.wrong(format!("{name} has no runs: make corpus ONLY={name}"));
            continue;
        };
        let text = text(told);
        if !told.as_expected() {
            snapshots.wrong(format!("{name} does not show what it is there to show:\n{text}"));
        }
        snapshots.hold(&stored(&name), &text);
    }
    snapshots.finish();
}
