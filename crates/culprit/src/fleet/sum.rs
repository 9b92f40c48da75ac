//! The stacks of a folder's recordings added up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use culprit_engine::calls::select;
use culprit_engine::fleet::Fleet;
use culprit_engine::run_time::{RunSubject, RunTime};
use culprit_model::{Filter, Loss, Meta, Metric, Nanos, Recording, Root, Rung, counted};
use culprit_report::views::{FleetFacts, GroupTotal, LeftOut};
use culprit_report::{filters, shown};

use super::files;
use super::key::FleetKey;
use crate::failure::Failure;
use crate::load;
use crate::output::Output;

/// Recordings of one metric under construction.
struct Sum {
    fleet: Fleet,
    recordings: usize,
    services: usize,
    groups: BTreeMap<String, (usize, u64)>,
    losses: Vec<Loss>,
    wall: Nanos,
    files: Vec<PathBuf>,
}

impl Sum {
    fn new(metric: Metric) -> Self {
        Self {
            fleet: Fleet::new(metric),
            recordings: 0,
            services: 0,
            groups: BTreeMap::new(),
            losses: Vec::new(),
            wall: Nanos::ZERO,
            files: Vec::new(),
        }
    }

    fn merge(&mut self, mut other: Self) {
        self.fleet.merge(&other.fleet);
        self.recordings += other.recordings;
        self.services += other.services;
        self.losses.append(&mut other.losses);
        self.wall += other.wall;
        self.files.append(&mut other.files);
        for (name, (recordings, total)) in other.groups {
            let group = self.groups.entry(name).or_default();
            group.0 += recordings;
            group.1 = group.1.saturating_add(total);
        }
    }
}

/// What several recordings came to: a sum for each metric, because sums of different metrics mean
/// nothing.
#[derive(Default)]
struct Part {
    sums: BTreeMap<Metric, Sum>,
    left_out: Vec<LeftOut>,
}

/// The part of a filter that chooses rows of a recording: what refers to its clock, or to numbers of
/// its processes and threads, which the sum does not have.
pub(super) fn selection(given: &Filter) -> Filter {
    Filter {
        metric: given.metric,
        from: given.from,
        to: given.to,
        process: given.process.clone(),
        thread: given.thread.clone(),
        activity: given.activity.clone(),
        root: given.root,
        erase_ids: true,
        ..Filter::default()
    }
}

/// The rest of a filter: what is left to do on the sum.
pub(crate) fn without_selection(given: Filter) -> Filter {
    Filter {
        from: None,
        to: None,
        process: String::new(),
        thread: String::new(),
        activity: String::new(),
        root: Root::Threads,
        ..given
    }
}

/// The recordings of a folder as one, in the metric that was asked for. Where nobody asked, in run
/// time if any recording has it, else in the first metric that one has.
///
/// # Errors
/// When the folder has no recording that can be used, or a pattern is wrong.
pub(crate) fn add_up(
    folder: &Path,
    by: Option<&FleetKey>,
    given: &Filter,
    output: &Output,
) -> Result<(Recording, FleetFacts), Failure> {
    let files = files::listed(folder)?;
    files::warn_of_copies(&files, output);
    let filter = selection(given);
    filters::query(&filter)?;
    let parts = files::in_pieces(&files, output, |files, step| {
        let mut part = Part::default();
        for path in files {
            if let Err(why) = add_file(&mut part, path, by, &filter) {
                part.left_out.push(LeftOut { path: path.clone(), why });
            }
            step();
        }
        part
    });
    let mut whole = Part::default();
    for mut part in parts {
        whole.left_out.append(&mut part.left_out);
        for (metric, sum) in part.sums {
            whole.sums.entry(metric).or_insert_with(|| Sum::new(metric)).merge(sum);
        }
    }
    chosen(folder, by, given.metric, whole, output)
}

/// The sum to show; the recordings of the others are left out.
fn chosen(
    folder: &Path,
    by: Option<&FleetKey>,
    asked: Metric,
    mut whole: Part,
    output: &Output,
) -> Result<(Recording, FleetFacts), Failure> {
    let metric = match whole.sums.contains_key(&asked) {
        true => Some(asked),
        false => whole.sums.keys().next().copied(),
    };
    let Some((metric, sum)) = metric.and_then(|metric| whole.sums.remove_entry(&metric)) else {
        return Err(files::nothing_left(folder, &whole.left_out));
    };
    let mut left_out = whole.left_out;
    for (other, sum) in whole.sums {
        let why = format!("its metric is `{other}`, not `{metric}`");
        left_out.extend(sum.files.into_iter().map(|path| LeftOut { path, why: why.clone() }));
    }
    left_out.sort_by(|a, b| a.path.cmp(&b.path));
    files::warn(&left_out, sum.recordings, output);
    if let Some(by) = by {
        by.warn_of_unknown(sum.groups.keys(), output);
    }
    let mut groups: Vec<GroupTotal> = sum
        .groups
        .into_iter()
        .map(|(name, (recordings, total))| GroupTotal { name, recordings, total })
        .collect();
    groups.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
    let facts = FleetFacts {
        recordings: sum.recordings,
        services: if metric == Metric::Run { sum.services } else { 0 },
        by: by.map(ToString::to_string),
        groups,
        left_out,
    };
    let recording = Recording {
        meta: Meta {
            command: vec![counted(sum.recordings as u64, "recording")],
            place: folder.display().to_string(),
            wall: sum.wall,
            rung: Rung::Imported,
            ..Meta::default()
        },
        losses: sum.losses,
        ..sum.fleet.finish()
    };
    Ok((recording, facts))
}

/// Adds the rows of one file.
fn add_file(
    part: &mut Part,
    path: &Path,
    by: Option<&FleetKey>,
    filter: &Filter,
) -> Result<(), String> {
    let recording = files::open(path)?;
    let filter = load::fitted(&recording, filter).map_err(|failure| failure.to_string())?;
    let query = filters::query(&filter).map_err(|failure| failure.to_string())?;
    let run = shown::run_time(&recording, &filter).map_err(|failure| failure.to_string())?;
    let rows_of = run.as_ref().map_or(&recording, |run| &run.recording);
    let selection = select(rows_of, &query);
    // Zero is an answer only where the recorder would have seen more.
    if selection.rows.is_empty() && recording.intervals.is_empty() {
        return Err(format!("it has no values of the metric `{}`", filter.metric));
    }
    let sum = part.sums.entry(filter.metric).or_insert_with(|| Sum::new(filter.metric));
    let group = by.map(|by| (by, by.group(&recording)));
    let frame = group.as_ref().map(|(by, group)| by.frame(group));
    sum.fleet.add(rows_of, &selection, frame.as_deref());
    if let Some((_, group)) = group {
        let total = selection.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.value));
        let group = sum.groups.entry(group).or_default();
        group.0 += 1;
        group.1 = group.1.saturating_add(total);
    }
    sum.recordings += 1;
    sum.services += usize::from(run.as_ref().is_some_and(is_service));
    sum.wall += recording.meta.wall;
    sum.losses.extend(files::losses(path, &recording));
    sum.files.push(path.to_owned());
    Ok(())
}

fn is_service(run: &RunTime) -> bool {
    run.subject == RunSubject::Service
}
