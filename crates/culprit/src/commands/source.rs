//! `culprit source F REC`: what each source line of a function weighs.

use std::collections::BTreeMap;

use culprit_engine::calls::{LineValue, Lines};
use culprit_model::{Metric, Text};
use culprit_report::json::{OfView, SCHEMA};
use culprit_report::views::{share, value};
use serde::Serialize;

use super::butterfly;
use crate::args::NameArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::{Output, clean, percent};

/// Lines of source shown around those that weigh something.
const AROUND: u32 = 2;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or no function has the name.
pub(crate) fn run(args: &NameArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let (view, focus) = butterfly::focused(args, load::whole_view, output)?;
    let tree = &view.tree;
    let name = tree.names().text(focus).clone();
    let lines = tree.lines(view.rows(), &name);
    if lines.is_empty() {
        return Err(Failure::bad_input(format!(
            "cannot show the source of `{name}`: it is not a function"
        ))
        .hint("groups rename functions: remove `--group`"));
    }
    if output.wants_json() {
        let document = Document::new(&name, tree.metric(), tree.total(), &lines);
        output.document(&OfView::new(&view, document))?;
    } else {
        let text = text(&name, tree.metric(), tree.total(), &lines, output);
        output.print(&(view.head(output.layout()) + &text))?;
    }
    Ok(Outcome::Done)
}

fn text(name: &str, metric: Metric, whole: u64, lines: &Lines, output: &Output) -> String {
    let mut files: BTreeMap<&Text, BTreeMap<u32, LineValue>> = BTreeMap::new();
    for ((file, line), value) in lines {
        files.entry(file).or_default().insert(*line, *value);
    }
    let mut text = format!("{}\n", output.paint().strong(&clean(name)));
    for (file, lines) in files {
        let source = std::fs::read_to_string(file.as_str()).ok();
        let state = match (&source, file.is_empty()) {
            (Some(_), _) => String::new(),
            (None, true) => "no line information".to_owned(),
            (None, false) => " (not on this machine)".to_owned(),
        };
        text.push_str(&format!("\n{}{state}\n", clean(file)));
        text.push_str(
            &output.paint().faint(&format!("{:>9} {:>9} {:>6}  line", "total", "own", "share")),
        );
        text.push('\n');
        text.push_str(&file_text(source.as_deref(), metric, whole, &lines));
    }
    text
}

fn file_text(
    source: Option<&str>,
    metric: Metric,
    whole: u64,
    lines: &BTreeMap<u32, LineValue>,
) -> String {
    let source: Vec<&str> = source.map(|text| text.lines().collect()).unwrap_or_default();
    let near = |line: u32| {
        let range = line.saturating_sub(AROUND)..=line.saturating_add(AROUND);
        lines.range(range).next().is_some()
    };
    let length = u32::try_from(source.len()).unwrap_or(u32::MAX);
    let mut shown: Vec<u32> = (1..=length).filter(|line| near(*line)).collect();
    shown.extend(lines.keys().filter(|line| **line == 0 || **line > length));
    shown.sort_unstable();
    shown.dedup();
    let mut text = String::new();
    let mut last = None;
    for line in shown {
        if last.is_some_and(|last| line > last + 1) && length > 0 {
            text.push_str(&format!("{:>28}\n", "..."));
        }
        last = Some(line);
        let numbers = lines.get(&line).map_or_else(String::new, |found| {
            format!(
                "{:>9} {:>9} {:>6}",
                value(metric, found.inc),
                if found.exc > 0 { value(metric, found.exc) } else { String::new() },
                percent(share(found.inc, whole))
            )
        });
        let code = line.checked_sub(1).and_then(|at| source.get(at as usize)).copied();
        let number = if line == 0 { "?".to_owned() } else { line.to_string() };
        let row = format!("{numbers:<26}  {number:>5}  {}", clean(code.unwrap_or_default()));
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    metric: String,
    unit: &'static str,
    name: String,
    total: u64,
    lines: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    file: String,
    line: u32,
    inc: u64,
    inc_share: f64,
    exc: u64,
    exc_share: f64,
    count: u64,
}

impl Document {
    fn new(name: &str, metric: Metric, whole: u64, lines: &Lines) -> Self {
        let row = |((file, line), found): (&(Text, u32), &LineValue)| Row {
            file: file.to_string(),
            line: *line,
            inc: found.inc,
            inc_share: share(found.inc, whole),
            exc: found.exc,
            exc_share: share(found.exc, whole),
            count: found.count,
        };
        Self {
            schema: SCHEMA,
            metric: metric.to_string(),
            unit: metric.unit(),
            name: name.to_owned(),
            total: whole,
            lines: lines.iter().map(row).collect(),
        }
    }
}
