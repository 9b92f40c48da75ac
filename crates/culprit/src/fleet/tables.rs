//! The sum of a folder of tables, as `culprit export --to tables` writes it: the companion program adds up, on
//! this machine or on an engine, and what comes back has a row for each stack.
//!
//! ```text
//! culprit-data fleet TABLES -> stacks, frames, recordings -> Fleet -> a recording of sums
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;

use culprit_engine::fleet::{Fleet, FleetSample, SumFrame};
use culprit_model::{
    Cause, Filter, Label as _, Meta, Metric, Nanos, Recording, Root, Row as _, Rung,
};
use culprit_report::json::FindingJson;
use culprit_report::views::{FleetFacts, FleetFinding, FleetFindings, GroupTotal};
use serde::Deserialize;

use super::files;
use super::key::FleetKey;
use crate::args::EngineArgs;
use crate::companion::ask_companion;
use crate::failure::Failure;
use crate::output::Output;

/// What the companion prints; `crates/data/src/fleet/mod.rs` describes it.
#[derive(Debug, Deserialize)]
struct TableSums {
    recordings: Vec<(String, String, u64)>,
    stacks: Vec<SummedStack>,
    frames: Vec<StackFrame>,
}

/// Metric, group, stack, cause, value, rows behind it.
type SummedStack = (String, String, i64, Option<String>, u64, u64);

/// Stack, place in it, function, file, build id.
type StackFrame = (i64, u32, String, Option<String>, Option<String>);

/// True for a folder of tables of recordings.
pub(crate) fn is_tables(folder: &Path) -> bool {
    folder.join(FleetSample::TABLE.name).is_dir()
}

/// What the companion prints of findings.
#[derive(Debug, Deserialize)]
struct TableFindings {
    /// How many recordings were judged, and what their shares are of.
    judged: Vec<(u64, Option<u64>)>,
    findings: Vec<SummedFinding>,
    worst: Vec<(String, String, String, Option<String>, String, String)>,
}

/// Rule, module, function, file, group, cost, recordings.
type SummedFinding = (String, String, String, Option<String>, String, u64, u64);

/// The findings of a folder of tables, added up by rule and place in the code.
///
/// # Errors
/// As [`add_up_tables`], and when no recording of the tables was judged.
pub(crate) fn find_in_tables(
    folder: &Path,
    by: Option<&FleetKey>,
    (given, all): (&Filter, bool),
    engine: &EngineArgs,
    output: &Output,
) -> Result<FleetFindings, Failure> {
    refuse_selection(given)?;
    let usual = Filter { limit: given.limit, metric: given.metric, ..Filter::default() };
    if *given != usual {
        return Err(Failure::bad_input("cannot filter findings of a folder of tables")
            .hint("give the filter to `culprit export --to tables`"));
    }
    let mut words = arguments(folder, by, engine, output)?;
    words.insert(1, "--findings".into());
    if all {
        words.insert(1, "--all".into());
    }
    let found: TableFindings = read(&ask_companion(words)?)?;
    let (recordings, whole) = found.judged.first().copied().unwrap_or_default();
    if recordings == 0 {
        return Err(Failure::bad_input(format!(
            "cannot use the folder `{}`: its tables have no findings",
            folder.display()
        ))
        .hint("`culprit export FOLDER --to tables -o TABLES` makes tables with findings"));
    }
    let whole = FleetFindings {
        recordings: usize::try_from(recordings).unwrap_or(usize::MAX),
        whole: Nanos(whole.unwrap_or(0)),
        findings: merged(found.findings, found.worst, by.is_some()),
        ..FleetFindings::default()
    };
    Ok(whole)
}

/// Findings of one rule and place with their groups, the dearest first.
fn merged(
    sums: Vec<SummedFinding>,
    worst: Vec<(String, String, String, Option<String>, String, String)>,
    grouped: bool,
) -> Vec<FleetFinding> {
    let mut found = BTreeMap::new();
    for (rule, module, function, file, recording, document) in worst {
        // A rule that a later version has added is not known here.
        let finding = serde_json::from_str::<FindingJson>(&document).ok();
        if let Some(worst) = finding.and_then(FindingJson::finding) {
            let worst_file = recording.into();
            let (cost, recordings, groups) = (Nanos::ZERO, 0, Vec::new());
            let one = FleetFinding { cost, recordings, worst, worst_file, groups };
            found.insert((rule, module, function, file), one);
        }
    }
    for (rule, module, function, file, group, cost, recordings) in sums {
        let Some(one) = found.get_mut(&(rule, module, function, file)) else { continue };
        let recordings = usize::try_from(recordings).unwrap_or(usize::MAX);
        one.cost += Nanos(cost);
        one.recordings += recordings;
        if grouped {
            one.groups.push((group, Nanos(cost), recordings));
        }
    }
    let mut findings: Vec<FleetFinding> = found.into_values().collect();
    for one in &mut findings {
        one.groups.sort_by_key(|(_, cost, recordings)| (Reverse(*cost), Reverse(*recordings)));
    }
    findings.sort_by_key(|found| (Reverse(found.cost), Reverse(found.recordings)));
    findings
}

/// Reads a document of the companion.
fn read<T: for<'a> Deserialize<'a>>(document: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(document).map_err(|error| {
        Failure::refused(format!("cannot read what `culprit-data` printed: {error}"))
    })
}

/// The recordings of a folder of tables as one, in the metric that was asked for. Where nobody asked, in run
/// time if any recording has it, else in the first metric that one has.
///
/// # Errors
/// When the tables cannot be read, the engine cannot add up, or the tables do not know what is asked for.
pub(crate) fn add_up_tables(
    folder: &Path,
    by: Option<&FleetKey>,
    (given, engine): (&Filter, &EngineArgs),
    output: &Output,
) -> Result<(Recording, FleetFacts), Failure> {
    refuse_selection(given)?;
    let sums: TableSums = read(&ask_companion(arguments(folder, by, engine, output)?)?)?;
    let metrics = sums.stacks.iter().filter_map(|row| Metric::from_word(&row.0));
    let metric = metrics.min_by_key(|metric| (*metric != given.metric, *metric));
    let Some(metric) = metric else { return Err(files::nothing_left(folder, &[])) };
    Ok(sum(folder, by, metric, sums))
}

/// The companion's arguments.
fn arguments(
    folder: &Path,
    by: Option<&FleetKey>,
    engine: &EngineArgs,
    output: &Output,
) -> Result<Vec<OsString>, Failure> {
    let mut all = vec![OsString::from("fleet")];
    if output.is_quiet() {
        all.push("--quiet".into());
    }
    if let Some(FleetKey::Label(name)) = by {
        return Err(Failure::bad_input(format!("cannot group by {name}: tables have no labels"))
            .hint("group by `host`, `image`, `version` or `day`"));
    }
    all.extend(by.map(|by| OsString::from(format!("--by={by}"))));
    all.extend(engine.words());
    all.push("--".into());
    all.push(folder.into());
    Ok(all)
}

/// Refuses what chooses rows of a recording by its clock, processes or threads: tables have sums.
fn refuse_selection(given: &Filter) -> Result<(), Failure> {
    let asked = [
        ("--from", given.from.is_some()),
        ("--to", given.to.is_some()),
        ("--process", !given.process.is_empty()),
        ("--thread", !given.thread.is_empty()),
        ("--activity", !given.activity.is_empty()),
        ("--root", given.root != Root::Threads),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::bad_input(format!(
            "cannot use `{option}` with a folder of tables: they have the sums of whole recordings"
        ))
        .hint("`--inc 'Thread worker'` keeps stacks with this frame")
        .hint(format!("give `{option}` to `culprit export --to tables`"))),
    }
}

/// The sum as a recording of costs.
fn sum(
    folder: &Path,
    by: Option<&FleetKey>,
    metric: Metric,
    sums: TableSums,
) -> (Recording, FleetFacts) {
    let of_metric = |word: &str| Metric::from_word(word) == Some(metric);
    let mut frames: HashMap<i64, Vec<SumFrame>> = HashMap::new();
    for (stack, _, name, file, build_id) in sums.frames {
        let build_id = build_id.map(Into::into);
        let frame = SumFrame { name: name.into(), file: file.map(Into::into), build_id };
        frames.entry(stack).or_default().push(frame);
    }
    let mut fleet = Fleet::new(metric);
    let mut groups: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for (_, group, stack, cause, value, count) in sums.stacks.iter().filter(|row| of_metric(&row.0))
    {
        let root = by.map(|by| by.frame(group));
        let stack = frames.get(stack).map_or(&[][..], Vec::as_slice);
        let cause = cause.as_deref().and_then(Cause::from_word);
        fleet.add_stack(stack, root.as_deref(), cause, (*value, *count));
        groups.entry(group.clone()).or_default().1 += value;
    }
    for (_, group, recordings) in sums.recordings.iter().filter(|row| of_metric(&row.0)) {
        groups.entry(group.clone()).or_default().0 += usize::try_from(*recordings).unwrap_or(0);
    }
    let recordings = groups.values().map(|group| group.0).sum();
    let mut totals: Vec<GroupTotal> = groups
        .into_iter()
        .map(|(name, (recordings, total))| GroupTotal { name, recordings, total })
        .collect();
    totals.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
    let facts = FleetFacts {
        recordings,
        services: 0,
        by: by.map(ToString::to_string),
        groups: if by.is_some() { totals } else { Vec::new() },
        left_out: Vec::new(),
    };
    let recording = Recording {
        meta: Meta {
            command: vec![culprit_model::counted(recordings as u64, "recording")],
            place: folder.display().to_string(),
            rung: Rung::Imported,
            ..Meta::default()
        },
        ..fleet.finish()
    };
    (recording, facts)
}
