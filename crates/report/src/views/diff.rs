//! What changed, as tables: every number stands under the side that it is of.

use std::path::PathBuf;

use culprit_engine::calls::{Change, Diff, Overweight};
use culprit_model::{Label as _, Metric, clean};

use super::Basis;
use crate::layout::{Align, Layout, Table};
use crate::units::{number, percent, signed_duration};

culprit_model::labels! {
    /// What a difference is grouped by.
    DiffGroup("group of a difference") {
        /// Causes: why time passed.
        Cause = "cause",
        /// Functions of the program's own code, with what runs below them.
        Function = "function",
        /// Modules by their own time.
        Module = "module",
        /// Threads by name.
        Thread = "thread",
        /// Processes by name.
        Process = "process",
        /// Processes by command line; those with the same one are numbered as they start.
        Instance = "instance",
    }
}

impl DiffGroup {
    /// What it is, for a list of choices.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Cause => "Causes: why time passed",
            Self::Function => "Functions of the program's own code, with what runs below them",
            Self::Module => "Modules by their own time",
            Self::Thread => "Threads by name",
            Self::Process => "Processes by name",
            Self::Instance => {
                "Instances: processes by command line; those with the same one are numbered as they start"
            }
        }
    }
}

/// A comparison ready to be shown.
#[derive(Debug)]
pub struct DiffView {
    /// Both sides in one tree.
    pub diff: Diff,
    /// The tables, in the order in which they are shown.
    pub sections: Vec<Section>,
    /// What values are divided by: `run`, or the unit of the work, in the plural.
    pub unit_of_work: String,
    /// What the values are shares of.
    pub heading: String,
    /// What was compared.
    pub sides: Sides,
}

/// The recordings of both sides.
#[derive(Debug)]
pub struct Sides {
    /// Files before the change.
    pub before: Vec<PathBuf>,
    /// Files after it.
    pub after: Vec<PathBuf>,
    /// How many units of work each side has.
    pub units: (f64, f64),
}

/// What changed by one thing.
#[derive(Debug)]
pub struct Section {
    /// What its rows are.
    pub by: DiffGroup,
    /// A row a name, the largest change first.
    pub rows: Vec<Change>,
}

impl DiffView {
    /// Both wholes, a unit.
    #[must_use]
    pub fn totals(&self) -> (f64, f64) {
        let root = self.diff.nodes().first();
        root.map_or((0.0, 0.0), |root| {
            (self.diff.before(root.before.total), self.diff.after(root.after.total))
        })
    }
}

/// A value of a metric, a unit of work.
#[must_use]
pub fn scaled(metric: Metric, value: f64) -> String {
    if metric.is_time() { signed_duration(value) } else { number(value) }
}

/// The same with its sign.
#[must_use]
pub fn change(metric: Metric, value: f64) -> String {
    let text = scaled(metric, value);
    if value > 0.0 { format!("+{text}") } else { text }
}

/// The tables, each with at most `limit` rows unless that is 0.
#[must_use]
pub fn diff_text(view: &DiffView, limit: usize, layout: &Layout) -> String {
    let mut text = head(view, layout);
    for section in &view.sections {
        text.push_str(&table(view, section, limit, layout));
    }
    text.push_str(&overweights(view, limit, layout));
    text
}

fn head(view: &DiffView, layout: &Layout) -> String {
    let metric = view.diff.metric();
    let (before, after) = view.totals();
    let files = |files: &[PathBuf]| {
        let first = files.first().map(|file| file.display().to_string()).unwrap_or_default();
        match files.len() {
            1 => clean(&first).into_owned(),
            n => format!("{n} runs, {} ...", clean(&first)),
        }
    };
    let growth = if before > 0.0 {
        let share = percent((after - before).abs() / before);
        format!(", {}{share}", if after < before { "-" } else { "+" })
    } else {
        String::new()
    };
    let paint = layout.paint();
    format!(
        "{}before  {:>10}  {}\nafter   {:>10}  {}\nchange  {:>10}{growth}\n",
        Basis::line(&view.heading, layout),
        scaled(metric, before),
        files(&view.sides.before),
        scaled(metric, after),
        files(&view.sides.after),
        paint.strong(&change(metric, after - before)),
    )
}

fn table(view: &DiffView, section: &Section, limit: usize, layout: &Layout) -> String {
    let metric = view.diff.metric();
    let rows: Vec<&Change> = section.rows.iter().filter(|row| differs(row)).collect();
    let shown = if limit == 0 { rows.len() } else { limit.min(rows.len()) };
    let mut text = format!("\n{}\n", layout.paint().heading(&format!("By {}", section.by.word())));
    if rows.is_empty() {
        text.push_str("no difference\n");
        return text;
    }
    let mut table = Table::new(&[
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
        ("interval", Align::Left),
        ("", Align::Left),
        (section.by.word(), Align::Left),
    ]);
    for row in &rows[..shown] {
        let between = row.interval.map_or_else(String::new, |found| {
            format!("{} to {}", change(metric, found.low), change(metric, found.high))
        });
        table.row([
            scaled(metric, row.before),
            scaled(metric, row.after),
            change(metric, row.delta()),
            between,
            one_sided(row).map_or_else(String::new, |side| format!("only {side}")),
            clean(&row.name).into_owned(),
        ]);
    }
    text.push_str(&table.render(layout.width_of_values()));
    if shown < rows.len() {
        text.push_str(&format!("{} more; `--limit 0` shows all.\n", rows.len() - shown));
    }
    text
}

/// Differences of less than one of the metric's smallest unit are none.
fn differs(row: &Change) -> bool {
    row.delta().abs() >= 1.0
}

/// The side that alone has a thing.
#[must_use]
pub fn one_sided(row: &Change) -> Option<&'static str> {
    match (row.before > 0.0, row.after > 0.0) {
        (true, false) => Some("before"),
        (false, true) => Some("after"),
        _ => None,
    }
}

fn overweights(view: &DiffView, limit: usize, layout: &Layout) -> String {
    let metric = view.diff.metric();
    let rows: Vec<Overweight> = view.diff.overweight();
    let shown = if limit == 0 { rows.len() } else { limit.min(rows.len()) };
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("before", Align::Right),
        ("after", Align::Right),
        ("overweight", Align::Right),
        ("share of change", Align::Right),
        ("frame", Align::Left),
    ]);
    for row in &rows[..shown] {
        table.row([
            scaled(metric, row.before),
            scaled(metric, row.after),
            format!("{} %", number(row.overweight * 100.0)),
            format!("{} %", number(row.responsibility * 100.0)),
            clean(&row.name).into_owned(),
        ]);
    }
    let title =
        "Overweight: growth of a frame and its callees; at 100 % it grows as the whole does";
    let mut text = format!("\n{}\n", layout.paint().heading(title));
    text.push_str(&table.render(layout.width_of_values()));
    if shown < rows.len() {
        text.push_str(&format!("{} more; `--limit 0` shows all.\n", rows.len() - shown));
    }
    text
}
