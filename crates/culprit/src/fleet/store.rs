//! A folder's recordings as tables in Parquet files, for SQL and for clusters:
//!
//! ```text
//! STORE/fleet_samples/day=2026-11-29/host=web-1/samples.parquet    what stacks weigh
//! STORE/fleet_frames/frames.parquet                                what stacks are
//! STORE/fleet_findings/day=.../host=.../findings.parquet           findings of each recording
//! STORE/fleet_recordings/recordings.parquet                        the recordings
//! ```
//!
//! The store is written below another name and renamed, so a reader never sees half of it.

use std::collections::BTreeMap;
#[cfg(test)]
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use culprit_engine::calls::select;
use culprit_engine::fleet::{
    FleetFindingRow, FleetFrame, FleetRecording, FleetSample, origin, stack_hashes,
};
use culprit_model::{Filter, Recording, Row, SelectedRow, Selection, Source, Step, Text};
use culprit_report::json::finding_document;
use culprit_report::views::{Kind, LeftOut, is_kernel};
use culprit_report::{filters, shown};

use super::files;
use super::key::FleetKey;
use super::sum::selection;
use crate::failure::{Context as _, Failure};
use crate::load;
use crate::output::Output;

/// What a store came to.
#[derive(Debug, Default)]
pub(crate) struct StoreCounts {
    /// Recordings in it.
    pub(crate) recordings: usize,
    /// Rows of `fleet_samples`.
    pub(crate) samples: usize,
    /// Distinct stacks.
    pub(crate) stacks: usize,
    /// Files that are not in it.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Rows of several recordings.
#[derive(Default)]
struct Part {
    recordings: usize,
    samples: BTreeMap<(Text, Text), Vec<FleetSample>>,
    frames: BTreeMap<u64, Vec<FleetFrame>>,
    described: Vec<FleetRecording>,
    findings: BTreeMap<(Text, Text), Vec<FleetFindingRow>>,
    left_out: Vec<LeftOut>,
}

/// Writes the store of a folder's recordings.
///
/// # Errors
/// When no recording can be used, or the store exists or cannot be written.
pub(crate) fn write_store(
    folder: &Path,
    given: &Filter,
    store: &Path,
    output: &Output,
) -> Result<StoreCounts, Failure> {
    if store.exists() {
        return Err(Failure::bad_input(format!("cannot write `{}`: it exists", store.display()))
            .hint("a store is written whole: remove it, or give another name"));
    }
    let recordings = files::listed(folder)?;
    files::warn_of_copies(&recordings, output);
    let filter = selection(given);
    filters::query(&filter)?;
    let parts = files::in_pieces(&recordings, output, |files, step| {
        let mut part = Part::default();
        for path in files {
            match add_file(&mut part, path, (&filter, given)) {
                Ok(()) => part.recordings += 1,
                Err(why) => part.left_out.push(LeftOut { path: path.clone(), why }),
            }
            step();
        }
        part
    });
    let mut whole = Part::default();
    for part in parts {
        whole.recordings += part.recordings;
        whole.left_out.extend(part.left_out);
        whole.frames.extend(part.frames);
        whole.described.extend(part.described);
        for (place, mut findings) in part.findings {
            whole.findings.entry(place).or_default().append(&mut findings);
        }
        for (place, mut samples) in part.samples {
            whole.samples.entry(place).or_default().append(&mut samples);
        }
    }
    files::warn(&whole.left_out, whole.recordings, output);
    if whole.recordings == 0 {
        return Err(files::nothing_left(folder, &whole.left_out));
    }
    write_tables(&whole, store)?;
    Ok(StoreCounts {
        recordings: whole.recordings,
        samples: whole.samples.values().map(Vec::len).sum(),
        stacks: whole.frames.len(),
        left_out: whole.left_out,
    })
}

/// Writes the tables below another name and renames them.
fn write_tables(whole: &Part, store: &Path) -> Result<(), Failure> {
    let mut name = store.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let place =
        |(day, host): &(Text, Text)| format!("day={}/host={}", file_name(day), file_name(host));
    for (key, samples) in &whole.samples {
        write(&new.join("fleet_samples").join(place(key)).join("samples.parquet"), samples)?;
    }
    for (key, findings) in &whole.findings {
        write(&new.join("fleet_findings").join(place(key)).join("findings.parquet"), findings)?;
    }
    let frames: Vec<FleetFrame> = whole.frames.values().flatten().cloned().collect();
    write(&new.join("fleet_frames/frames.parquet"), &frames)?;
    write(&new.join("fleet_recordings/recordings.parquet"), &whole.described)?;
    std::fs::rename(&new, store).or_bad_input(|| format!("cannot write `{}`", store.display()))
}

fn write<R: Row>(path: &Path, rows: &[R]) -> Result<(), Failure> {
    let cannot = || format!("cannot write `{}`", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).or_bad_input(cannot)?;
    }
    let bytes = culprit_recording::rows_to_parquet(rows).or_bad_input(cannot)?;
    std::fs::write(path, bytes).or_bad_input(cannot)
}

/// A value as a part of a path: what has a meaning in paths becomes `_`.
fn file_name(value: &str) -> String {
    value.chars().map(|c| if c.is_alphanumeric() || "-._".contains(c) { c } else { '_' }).collect()
}

/// Adds the rows of one file.
fn add_file(
    part: &mut Part,
    path: &Path,
    (filter, given): (&Filter, &Filter),
) -> Result<(), String> {
    let recording = files::open(path)?;
    let filter = load::fitted(&recording, filter).map_err(|failure| failure.to_string())?;
    let query = filters::query(&filter).map_err(|failure| failure.to_string())?;
    let run = shown::run_time(&recording, &filter).map_err(|failure| failure.to_string())?;
    let rows_of = run.as_ref().map_or(&recording, |run| &run.recording);
    let selection = select(rows_of, &query);
    let hashes = stack_hashes(rows_of, &selection);
    let mut sums: BTreeMap<Option<usize>, (u64, u64)> = BTreeMap::new();
    for SelectedRow { leaf, value, count, .. } in &selection.rows {
        let sum = sums.entry(leaf.map(|leaf| leaf.index())).or_default();
        *sum = (sum.0.saturating_add(*value), sum.1.saturating_add(*count));
    }
    let described = describe(&recording, path, given);
    let FleetRecording { recording: name, host, image, version, day, .. } = described.clone();
    let of = FleetSample {
        recording: name,
        host,
        image,
        version,
        day,
        metric: query.metric(),
        stack: 0,
        cause: None,
        value: 0,
        count: 0,
    };
    add_findings(part, &recording, &described, given);
    part.described.push(described);
    let samples = part.samples.entry((of.day.clone(), of.host.clone())).or_default();
    for (leaf, (value, count)) in sums {
        let stack = leaf.map_or(0, |leaf| hashes[leaf]);
        let steps = path_to(&selection, leaf);
        let cause = match steps.last().map(|step| step.source) {
            Some(Source::Cause(cause)) => Some(cause),
            _ => None,
        };
        samples.push(FleetSample { stack, cause, value, count, ..of.clone() });
        part.frames.entry(stack).or_insert_with(|| {
            let own = own(&steps);
            let frame = |(at, step): (usize, &&Step)| {
                let (file, build_id) = origin(rows_of, step.source);
                FleetFrame {
                    stack,
                    depth: u32::try_from(at).unwrap_or(u32::MAX),
                    name: step.name.clone(),
                    file: file.cloned(),
                    build_id: build_id.cloned(),
                    own: Some(at) == own,
                }
            };
            steps.iter().enumerate().map(frame).collect()
        });
    }
    Ok(())
}

/// The row of a recording.
fn describe(recording: &Recording, path: &Path, given: &Filter) -> FleetRecording {
    let group = |key: FleetKey| Text::from(key.group(recording));
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let judged = load::findings(recording, given, false).ok();
    FleetRecording {
        recording: name.as_ref().into(),
        host: group(FleetKey::Host),
        image: group(FleetKey::Image),
        version: group(FleetKey::Version),
        day: group(FleetKey::Day),
        judged: judged.filter(|_| !recording.intervals.is_empty()).map(|report| report.whole),
    }
}

/// Adds both lists of a recording's findings, if it can be judged.
fn add_findings(part: &mut Part, recording: &Recording, of: &FleetRecording, given: &Filter) {
    if of.judged.is_none() {
        return;
    }
    let rows = part.findings.entry((of.day.clone(), of.host.clone())).or_default();
    for every in [false, true] {
        let Ok(report) = load::findings(recording, given, every) else { continue };
        rows.extend(report.findings.iter().map(|finding| {
            let at = finding.at.first();
            FleetFindingRow {
                recording: of.recording.clone(),
                host: of.host.clone(),
                image: of.image.clone(),
                version: of.version.clone(),
                day: of.day.clone(),
                every,
                rule: finding.id.into(),
                module: at.map(|at| at.module.clone()).unwrap_or_default(),
                function: at.map(|at| at.function.clone()).unwrap_or_default(),
                file: at.and_then(|at| at.file.clone()),
                cost: finding.cost,
                document: finding_document(finding).into(),
            }
        }));
    }
}

/// The steps of a stack, outermost first.
fn path_to(selection: &Selection, leaf: Option<usize>) -> Vec<&Step> {
    let leaf = leaf.map(culprit_model::StepId::from_index);
    let mut steps: Vec<&Step> = selection.stack(leaf).collect();
    steps.reverse();
    steps
}

/// The position of the function whose own time a stack's time is, as `top` counts it: on a CPU the last
/// one, off it the last one outside of the kernel.
fn own(steps: &[&Step]) -> Option<usize> {
    let (last, above) = steps.split_last()?;
    let Source::Cause(cause) = last.source else { return Some(steps.len() - 1) };
    let fallback = above.len().checked_sub(1);
    if cause.is_cpu() {
        return fallback;
    }
    let caller = above.iter().rposition(|step| !is_kernel(&step.name));
    caller.filter(|at| Kind::of(&above[*at].name) == Kind::Function).or(fallback)
}

/// The distinct values of a column, for tests.
#[cfg(test)]
pub(super) fn distinct<R: Row + Clone, T: Ord>(
    store: &Path,
    of: impl Fn(&R) -> T,
) -> (usize, BTreeSet<T>) {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut found = Vec::new();
    walk(&store.join(R::TABLE.name), &mut found);
    let rows: Vec<R> = found
        .iter()
        .flat_map(|path| {
            culprit_recording::rows_from_parquet::<R>(&std::fs::read(path).unwrap()).unwrap()
        })
        .collect();
    (rows.len(), rows.iter().map(of).collect())
}
