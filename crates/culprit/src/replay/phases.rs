//! The phases of every kept recording of a program: a line each, in `corpus/shown/phases.txt`.

use std::fmt::Write as _;

use culprit_engine::phases::{Phase, Phases};
use culprit_model::Nanos;
use rayon::prelude::*;

use super::programs::packs;
use super::snapshot::Snapshots;
use super::truth::Group;
use super::{pack, raw};
use crate::output::percent;

/// More phases than this are no summary.
const MOST: usize = 6;

/// The phases of a recording in words; they must follow each other without gaps and fill its run.
fn text(name: &str, bytes: &[u8]) -> String {
    let recording = raw::build(name, bytes.to_vec());
    let phases = Phases::of(&recording).phases;
    assert!((1..=MOST).contains(&phases.len()), "{name}: {} phases", phases.len());
    for pair in phases.windows(2) {
        assert_eq!(pair[0].to, pair[1].from, "{name}: {phases:?}");
    }
    let whole: Nanos = phases.iter().map(Phase::length).sum();
    let (first, last) = (&phases[0], &phases[phases.len() - 1]);
    assert_eq!(whole, last.to.since(first.from), "{name}: {phases:?}");
    let mut text = format!("{name}: {whole}\n");
    for phase in &phases {
        let share = percent(phase.length().share_of(whole));
        let _ = writeln!(text, "  {} {share}: {}", phase.kind.word(), phase.does);
    }
    text
}

#[test]
fn kept_recordings_have_the_phases_that_they_had() {
    let packed: Vec<(String, Vec<u8>)> = Group::ALL.into_iter().flat_map(packs).collect();
    let texts: Vec<String> = packed.par_iter().map(|(name, bytes)| text(name, bytes)).collect();
    let mut snapshots = Snapshots::default();
    snapshots.hold(&pack::corpus().join("shown").join("phases.txt"), &texts.concat());
    snapshots.finish();
}
