//! Activities as text: a line a name, the latencies of one name as a histogram, and the slowest
//! ones with the options that show what happened meanwhile.

use culprit_engine::activities::{NameRow, Passed, Survey, histogram, quantile};
use culprit_engine::calls::Patterns;
use culprit_model::{Activity, ActivityId, Cause, Filter, LossKind, Nanos, Recording, Time, clean};

use crate::Error;
use crate::filters::patterns;
use crate::layout::{Align, Layout, Table};

/// Cells of the longest bar of a histogram.
const BAR: u64 = 40;

/// Which activities are shown. What is not given keeps all.
#[derive(Debug, Default)]
pub struct ActivityChoice {
    /// Of its name.
    pub name: Patterns,
    /// Of the process that began it: `NAME (PID)`.
    pub process: Patterns,
    /// Of the thread that began it: `NAME (TID)`.
    pub thread: Patterns,
    /// The earliest start.
    pub from: Option<Time>,
    /// The latest start.
    pub to: Option<Time>,
}

impl ActivityChoice {
    /// The choice of a filter's activity, process, thread and time range; the rest is about stacks.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn of(filter: &Filter) -> Result<Self, Error> {
        Ok(Self {
            name: patterns(&filter.activity)?,
            process: patterns(&filter.process)?,
            thread: patterns(&filter.thread)?,
            from: filter.from,
            to: filter.to,
        })
    }

    /// Whether an activity of the recording is among them.
    #[must_use]
    pub fn holds(&self, recording: &Recording, activity: &Activity) -> bool {
        let fits = |patterns: &Patterns, name: &str| patterns.is_empty() || patterns.any(name);
        let process = || recording.process_name(recording.thread(activity.thread).process);
        fits(&self.name, &activity.name)
            && self.from.is_none_or(|from| activity.start >= from)
            && self.to.is_none_or(|to| activity.start <= to)
            && (self.process.is_empty() || fits(&self.process, &process()))
            && (self.thread.is_empty()
                || fits(&self.thread, &recording.thread_name(activity.thread)))
    }
}

/// Why a choice holds no activity of a recording.
#[must_use]
pub fn why_no_activities(recording: &Recording) -> String {
    let refused = recording.losses.iter().find(|loss| loss.kind == LossKind::ProbesRefused);
    match refused {
        _ if !recording.activities.is_empty() => {
            "no activity of the recording matches the filter".to_owned()
        }
        Some(loss) => format!("the recording has no activities: {}", loss.detail),
        None => "the recording has no activities; record them with `culprit record --activity \
                 NAME=serve:PORT` or `--activity NAME=FUNCTION`"
            .to_owned(),
    }
}

/// Activities of a recording, ready to be shown.
#[derive(Debug)]
pub struct ActivitiesView<'a> {
    /// Whose activities they are.
    pub recording: &'a Recording,
    /// Every activity of it, measured.
    pub survey: &'a Survey<'a>,
    /// The names to show, those that took most time first.
    pub rows: &'a [NameRow],
    /// How many names are not among them.
    pub rows_left_out: usize,
    /// The slowest of all names.
    pub slowest: &'a [ActivityId],
}

impl ActivitiesView<'_> {
    /// Whether the recording knows how the time of threads passed.
    #[must_use]
    pub fn knows_time(&self) -> bool {
        !self.recording.intervals.is_empty()
    }

    /// Whether it knows which threads worked on activities.
    #[must_use]
    pub fn knows_work(&self) -> bool {
        !self.recording.activity_work.is_empty()
    }

    /// How many of a row ended a second of the recording.
    #[must_use]
    pub fn rate(&self, row: &NameRow) -> f64 {
        let wall = self.recording.meta.wall.seconds();
        if wall > 0.0 { row.ended.len() as f64 / wall } else { 0.0 }
    }

    /// An activity's name after the names of those that it is part of, outermost first.
    #[must_use]
    pub fn path(&self, id: ActivityId) -> Vec<String> {
        const DEEPEST: usize = 100;
        let rows = &self.recording.activities;
        let above = |id: &ActivityId| rows[id.index()].parent.filter(|parent| parent < id);
        let path = std::iter::successors(Some(id), above).take(DEEPEST);
        let mut names: Vec<String> = path.map(|id| rows[id.index()].name.to_string()).collect();
        names.reverse();
        names
    }
}

/// The view in lines, with the latencies of each name where `latencies` are wanted.
#[must_use]
pub fn activities_text(view: &ActivitiesView<'_>, latencies: bool, layout: &Layout) -> String {
    let mut text = names(view).render(layout.width_of_values());
    if view.rows_left_out > 0 {
        text.push_str(&format!("{} more names; `--limit 0` shows all.\n", view.rows_left_out));
    }
    if !view.knows_work() {
        text.push_str(
            "The recording does not show which threads worked on these activities, so the times on \
             CPU, ready and blocked are unknown.\n",
        );
    }
    for row in view.rows.iter().filter(|row| latencies && !row.latencies.is_empty()) {
        text.push_str(&format!("\n{}\n", layout.paint().strong(&clean(&row.name))));
        text.push_str(&distribution(row, layout));
    }
    if !view.slowest.is_empty() {
        text.push_str(&format!("\n{}\n", layout.paint().strong("Slowest")));
        text.push_str(&slowest(view).render(layout.width_of_values()));
    }
    text
}

fn names(view: &ActivitiesView<'_>) -> Table {
    let right = ["ended", "open", "total", "p50", "p90", "p99", "max"];
    let by_process = view.rows.iter().any(|row| row.process.is_some());
    let headings = by_process.then_some("per s").into_iter().chain(right).chain(PASSED);
    let headings = headings.map(|name| (name, Align::Right));
    let left = [Some("main cause"), Some("name"), by_process.then_some("process")];
    let left = left.into_iter().flatten().map(|name| (name, Align::Left));
    let headings: Vec<_> = headings.chain(left).collect();
    let mut table = Table::new(&headings);
    for row in view.rows {
        let latency =
            |share| quantile(&row.latencies, share).map_or("-".to_owned(), |at| at.to_string());
        let rate = by_process.then(|| format!("{:.1}", view.rate(row)));
        let cells = [row.ended.len().to_string(), row.open.to_string()];
        let cells = rate.into_iter().chain(cells).chain([row.passed.latency.to_string()]);
        let cells = cells.chain([0.5, 0.9, 0.99, 1.0].map(latency)).chain(passed(view, row.passed));
        let cells = cells.chain([mostly(&row.causes), clean(&row.name).into_owned()]);
        let process = row.process.as_ref().map(|process| clean(process).into_owned());
        table.row(cells.chain(process));
    }
    table
}

/// How time passed.
const PASSED: [&str; 4] = ["on CPU", "ready", "blocked", "nobody"];

fn passed(view: &ActivitiesView<'_>, passed: Passed) -> [String; 4] {
    let told = |known: bool, time: Nanos| if known { time.to_string() } else { "-".to_owned() };
    let timed = view.knows_time() && view.knows_work();
    [
        told(timed, passed.cpu),
        told(timed, passed.runnable),
        told(timed, passed.blocked),
        told(view.knows_work(), passed.nobody),
    ]
}

/// The cause of most of the threads' time.
fn mostly(causes: &[(Cause, Nanos)]) -> String {
    causes.first().map_or("-".to_owned(), |(cause, _)| cause.to_string())
}

fn distribution(row: &NameRow, layout: &Layout) -> String {
    let buckets = histogram(&row.latencies);
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let mut text = String::new();
    for bucket in buckets {
        let cells = (bucket.count * BAR).div_ceil(most);
        let bar = "#".repeat(usize::try_from(cells).unwrap_or(0));
        let (from, to) = (bucket.from.to_string(), bucket.to.to_string());
        text.push_str(&format!("{from:>9} to {to:>9}  {:>8}  ", bucket.count));
        text.push_str(layout.paint().faint(&bar).trim_end());
        text.push('\n');
    }
    text
}

fn slowest(view: &ActivitiesView<'_>) -> Table {
    let headings = [("latency", Align::Right)].into_iter();
    let headings = headings.chain(PASSED.map(|name| (name, Align::Right)));
    let left = ["main cause", "thread", "activity"].map(|name| (name, Align::Left));
    // Cut to the width, the options could not be pasted.
    let options = [("options for this time range", Align::Right)];
    let headings: Vec<_> = headings.chain(options).chain(left).collect();
    let mut table = Table::new(&headings);
    for id in view.slowest {
        let row = &view.recording.activities[id.index()];
        let sums = view.survey.passed(*id);
        let mut name = view.path(*id).join(" > ");
        if let Some(key) = &row.key {
            name.push_str(&format!(" ({key})"));
        }
        let cells = [sums.latency.to_string()].into_iter().chain(passed(view, sums));
        let thread = view.recording.thread_name(row.thread);
        let mostly = mostly(&view.survey.causes(*id));
        table.row(cells.chain([
            range(row),
            mostly,
            clean(&thread).into_owned(),
            clean(&name).into_owned(),
        ]));
    }
    table
}

/// The options that narrow another command to the time of an activity.
#[must_use]
pub fn range(activity: &Activity) -> String {
    options(activity.start, activity.end.unwrap_or(activity.start))
}

/// A range of time as options for another command.
#[must_use]
pub fn options(from: Time, to: Time) -> String {
    format!("--from {} --to {}", exact(from), exact(to))
}

/// A time that is read back as it is.
fn exact(time: Time) -> String {
    format!("{}.{:09}s", time.0 / 1_000_000_000, time.0 % 1_000_000_000)
}
