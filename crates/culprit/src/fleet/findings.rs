//! The findings of a folder's recordings added up by rule and place in the code.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use culprit_model::{Filter, Finding, Nanos, Text};
use culprit_report::filters;
use culprit_report::views::{FleetFinding, FleetFindings, LeftOut};

use super::files;
use super::key::FleetKey;
use crate::failure::Failure;
use crate::load;
use crate::output::Output;

/// What makes findings of two recordings one: the rule, and the function that it names, without
/// addresses, lines and numbers of processes.
type FindingKey = (&'static str, Text, Text, Option<Text>);

/// A finding under construction.
struct Found {
    cost: Nanos,
    recordings: usize,
    worst: Finding,
    worst_file: PathBuf,
    groups: BTreeMap<String, (Nanos, usize)>,
}

impl Found {
    fn merge(&mut self, other: Self) {
        self.cost += other.cost;
        self.recordings += other.recordings;
        // The first of equals stays: the answer does not depend on how the files were divided.
        if other.worst.cost > self.worst.cost {
            (self.worst, self.worst_file) = (other.worst, other.worst_file);
        }
        for (name, (cost, recordings)) in other.groups {
            let group = self.groups.entry(name).or_default();
            group.0 += cost;
            group.1 += recordings;
        }
    }
}

/// What several recordings came to.
#[derive(Default)]
struct Part {
    whole: FleetFindings,
    found: BTreeMap<FindingKey, Found>,
}

/// The findings of a folder's recordings.
///
/// # Errors
/// When the folder has no recording that can be used, or the filter cannot be used for findings.
pub(crate) fn find(
    folder: &Path,
    by: Option<&FleetKey>,
    (filter, all): (&Filter, bool),
    output: &Output,
) -> Result<FleetFindings, Failure> {
    let files = files::listed(folder)?;
    files::warn_of_copies(&files, output);
    filters::query(filter)?;
    let parts = files::in_pieces(&files, output, |files, step| {
        let mut part = Part::default();
        for path in files {
            if let Err(why) = add_file(&mut part, path, by, (filter, all)) {
                part.whole.left_out.push(LeftOut { path: path.clone(), why });
            }
            step();
        }
        part
    });
    let mut sum = Part::default();
    for Part { whole, found } in parts {
        sum.whole.recordings += whole.recordings;
        sum.whole.left_out.extend(whole.left_out);
        sum.whole.losses.extend(whole.losses);
        sum.whole.whole += whole.whole;
        found.into_iter().for_each(|(key, found)| add(&mut sum.found, key, found));
    }
    let mut whole = sum.whole;
    files::warn(&whole.left_out, whole.recordings, output);
    if whole.recordings == 0 {
        return Err(files::nothing_left(folder, &whole.left_out));
    }
    if let Some(by) = by {
        by.warn_of_unknown(sum.found.values().flat_map(|found| found.groups.keys()), output);
    }
    whole.findings = sum.found.into_values().map(finished).collect();
    whole.findings.sort_by_key(|found| (Reverse(found.cost), Reverse(found.recordings)));
    Ok(whole)
}

fn add(all: &mut BTreeMap<FindingKey, Found>, key: FindingKey, found: Found) {
    match all.get_mut(&key) {
        Some(known) => known.merge(found),
        None => {
            all.insert(key, found);
        }
    }
}

fn finished(found: Found) -> FleetFinding {
    let Found { cost, recordings, worst, worst_file, groups } = found;
    let mut groups: Vec<_> =
        groups.into_iter().map(|(name, (cost, recordings))| (name, cost, recordings)).collect();
    groups.sort_by_key(|(_, cost, recordings)| (Reverse(*cost), Reverse(*recordings)));
    FleetFinding { cost, recordings, worst, worst_file, groups }
}

/// Adds the findings of one file.
fn add_file(
    part: &mut Part,
    path: &Path,
    by: Option<&FleetKey>,
    (filter, all): (&Filter, bool),
) -> Result<(), String> {
    let recording = files::open(path)?;
    if recording.intervals.is_empty() {
        return Err("it has no thread time, so it does not say what threads waited for".to_owned());
    }
    let report = load::findings(&recording, filter, all).map_err(|failure| failure.to_string())?;
    let group = by.map(|by| by.group(&recording));
    // Several findings of one rule and place in one recording are one recording's.
    let mut own: BTreeMap<FindingKey, Found> = BTreeMap::new();
    for finding in report.findings {
        let key = key(&finding);
        let groups = group.iter().map(|group| (group.clone(), (finding.cost, 0))).collect();
        let (cost, worst_file) = (finding.cost, path.to_owned());
        let found = Found { cost, recordings: 0, worst: finding, worst_file, groups };
        add(&mut own, key, found);
    }
    for (key, mut found) in own {
        found.recordings = 1;
        found.groups.values_mut().for_each(|group| group.1 = 1);
        add(&mut part.found, key, found);
    }
    part.whole.recordings += 1;
    part.whole.whole += report.whole;
    part.whole.losses.extend(files::losses(path, &recording));
    Ok(())
}

fn key(finding: &Finding) -> FindingKey {
    match finding.at.first() {
        Some(at) => (finding.id, at.module.clone(), at.function.clone(), at.file.clone()),
        None => (finding.id, Text::default(), Text::default(), None),
    }
}
