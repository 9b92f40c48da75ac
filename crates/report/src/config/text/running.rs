//! `config drift` and `config diff` as text.

use culprit_config::{
    Drift, DriftColumn, HashState, KeyChange, PlacedValue, Snapshot, SnapshotDifference,
    SourceState,
};

use super::show::{findings_of, shown};
use culprit_model::clean;

use crate::layout::{Align, Layout, Table, wrap};

/// More subjects than this are listed in one table, without their matrices.
const MOST_MATRICES: usize = 5;

/// What `config drift` prints; `all` also lists variables that are the same everywhere.
pub fn drift(found: &[Drift], all: bool, layout: &Layout) -> String {
    if found.len() > MOST_MATRICES {
        return overview(found, layout);
    }
    let matrices: Vec<String> = found.iter().map(|one| matrix(one, all, layout)).collect();
    matrices.join("\n")
}

/// One line a subject, then the findings of all.
fn overview(found: &[Drift], layout: &Layout) -> String {
    let mut table = Table::new(&[
        ("subject", Align::Left),
        ("service", Align::Left),
        ("hash", Align::Left),
        ("variables", Align::Right),
        ("not same", Align::Right),
        ("findings", Align::Right),
    ]);
    for one in found {
        let differing = one.rows.iter().filter(|row| !row.is_same()).count();
        let cells = [
            one.subject.clone(),
            one.service.clone().unwrap_or_else(|| "-".to_owned()),
            one.hash.to_string(),
            one.rows.len().to_string(),
            differing.to_string(),
            one.findings.len().to_string(),
        ];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    let mut text = table.render(layout.width());
    for one in found.iter().filter(|one| !one.findings.is_empty()) {
        let heading = layout.paint().heading(&clean(&one.subject));
        text.push_str(&format!("\n{heading}\n{}", findings_of(&one.findings, layout)));
    }
    text
}

fn matrix(one: &Drift, all: bool, layout: &Layout) -> String {
    let mut text = format!("{}\n", layout.paint().heading(&clean(&one.subject)));
    text.push_str(&first_test(one));
    text.push_str(&format!("\nColumns\n{}", columns(one, layout)));
    let repeated = one.repeated();
    let shown_columns: Vec<usize> =
        (0..one.columns.len()).filter(|at| repeated[*at].is_none()).collect();
    let rows: Vec<_> = one.rows.iter().filter(|row| all || !row.is_same()).collect();
    let names: Vec<String> = shown_columns.iter().map(|at| drift_letter(*at)).collect();
    let mut headings = vec![("variable", Align::Left)];
    headings.extend(names.iter().map(|name| (name.as_str(), Align::Left)));
    headings.push(("value", Align::Left));
    let mut table = Table::new(&headings);
    for row in &rows {
        let mut cells = vec![row.name.clone()];
        cells.extend(shown_columns.iter().map(|at| row.cells[*at].state.to_string()));
        let reference = one.reference.and_then(|at| row.cells[at].value.as_ref());
        cells.push(reference.map_or_else(|| "-".to_owned(), |value| shown(value).into_owned()));
        table.row(cells.into_iter().map(|cell| clean(&cell).into_owned()));
    }
    if rows.is_empty() {
        text.push_str(&format!("\nAll {} variables are the same.\n", one.rows.len()));
    } else {
        text.push_str(&format!("\n{}", table.render(layout.width())));
        let same = one.rows.len() - rows.len();
        match same {
            0 => {}
            1 => text.push_str("1 more variable is the same everywhere.\n"),
            more => text.push_str(&format!("{more} more variables are the same everywhere.\n")),
        }
    }
    text.push_str(&format!("\n{}", findings_of(&one.findings, layout)));
    text
}

fn first_test(one: &Drift) -> String {
    match one.hash {
        HashState::Same => "The container was made from what the compose file says now.\n",
        HashState::Differs => "The container was not made from what the compose file says now.\n",
        HashState::Unknown => "",
    }
    .to_owned()
}

/// `A`, `B`, ... `Z`, `AA`: short headings, which the list of columns explains.
pub(crate) fn drift_letter(at: usize) -> String {
    let digit = char::from(b'A' + u8::try_from(at % 26).unwrap_or(0));
    match at / 26 {
        0 => digit.to_string(),
        more => format!("{}{digit}", drift_letter(more - 1)),
    }
}

fn columns(one: &Drift, layout: &Layout) -> String {
    let repeated = one.repeated();
    let mut table =
        Table::new(&[("", Align::Left), ("place", Align::Left), ("remarks", Align::Left)]);
    for (at, column) in one.columns.iter().enumerate() {
        let remark = drift_column_remark(column, one.reference == Some(at), repeated[at]);
        let cells = [drift_letter(at), column.name.clone(), remark];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    // Reasons say nothing in part.
    table.whole().render(layout.width())
}

/// What is to be said of a place: whether it was read, what it is compared as, or which one it equals.
pub(crate) fn drift_column_remark(
    column: &DriftColumn,
    is_reference: bool,
    same_as: Option<usize>,
) -> String {
    match (column.state, same_as) {
        (SourceState::Read, Some(at)) => format!("as {}", drift_letter(at)),
        (SourceState::Read, None) if is_reference => "what the others are compared with".to_owned(),
        (SourceState::Read, None) => String::new(),
        (state, _) => format!("{state}: {}", column.why),
    }
}

/// How many characters of two values are left out: those that both start with, without the last few.
fn same_start(one: &str, other: &str) -> usize {
    /// So many characters before the first difference stay, to find the place.
    const STAYS: usize = 8;
    /// Fewer are not worth the mark.
    const LEAST: usize = 16;
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    if same < STAYS + LEAST { 0 } else { same - STAYS }
}

fn behind(value: &str, start: usize) -> String {
    match start {
        0 => value.to_owned(),
        start => format!("…{}", value.chars().skip(start).collect::<String>()),
    }
}

/// What `config diff` prints.
pub fn diff(
    (before, after): (&Snapshot, &Snapshot),
    found: &SnapshotDifference,
    layout: &Layout,
) -> String {
    let mut text =
        format!("before: {}\nafter:  {}\n\n", clean(&before.subject), clean(&after.subject));
    let mut table = Table::new(&[
        ("change", Align::Left),
        ("profile", Align::Left),
        ("key", Align::Left),
        ("before", Align::Left),
        ("after", Align::Left),
    ]);
    let side = |value: &Option<PlacedValue>, start: usize| {
        value.as_ref().map_or_else(
            || "-".to_owned(),
            |one| format!("{} ({})", behind(&shown(&one.value), start), one.place),
        )
    };
    for one in &found.keys {
        // A terminal has no room for what both start with.
        let start = match (&one.before, &one.after) {
            (Some(before), Some(after)) if layout.terminal => {
                same_start(&shown(&before.value), &shown(&after.value))
            }
            _ => 0,
        };
        let cells = [
            one.change.to_string(),
            one.profile.clone(),
            one.key.clone(),
            side(&one.before, start),
            side(&one.after, start),
        ];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    if !found.keys.is_empty() {
        text.push_str(&table.render(layout.width_of_values()));
    }
    for (profile, second) in &found.alone {
        let side = if *second { "after" } else { "before" };
        text.push_str(&format!("Only `{side}` has the profile {}.\n", clean(profile)));
    }
    if found.keys.iter().any(|one| one.change == KeyChange::Unknown) {
        let hint = "unknown: the values are secret and have the same length. They can be compared if \
                    the second snapshot is made with `--like` the first.";
        text.push_str(&wrap(hint, layout.width(), ""));
    }
    match found.same {
        1 => text.push_str("1 key is the same.\n"),
        same => text.push_str(&format!("{same} keys are the same.\n")),
    }
    text
}
