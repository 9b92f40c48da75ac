//! What each source line of a function weighs, beside its text.

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, LineValue, Lines};
use culprit_model::{Metric, Text, clean};

use super::{share, value};
use crate::layout::Layout;
use crate::units::percent;

/// Lines of source shown around those that weigh something.
const AROUND: u32 = 2;

/// The lines of a function, each file by itself. `read` gives the text of a source file, or none where it is not at
/// hand: then only the lines that weigh something are shown, without their text.
pub fn source_text(
    name: &str,
    tree: &CallTree,
    lines: &Lines,
    read: impl Fn(&str) -> Option<String>,
    layout: &Layout,
) -> String {
    let (metric, whole) = (tree.metric(), tree.total());
    let mut files: BTreeMap<&Text, BTreeMap<u32, LineValue>> = BTreeMap::new();
    for ((file, line), value) in lines {
        files.entry(file).or_default().insert(*line, *value);
    }
    let mut text = format!("{}\n", layout.paint().strong(&clean(name)));
    for (file, lines) in files {
        let source = read(file.as_str());
        let state = match (&source, file.is_empty()) {
            (Some(_), _) => String::new(),
            (None, true) => "no line information".to_owned(),
            (None, false) => " (not on this machine)".to_owned(),
        };
        text.push_str(&format!("\n{}{state}\n", clean(file)));
        text.push_str(
            &layout.paint().faint(&format!("{:>9} {:>9} {:>6}  line", "total", "own", "share")),
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
