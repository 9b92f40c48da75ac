//! `config` as text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use culprit_config::{
    Assignment, Certainty, ConfigFinding, Configuration, Effective, HIDDEN, Op, Outcome, Profile,
    SourceKind, ValueRef,
};

use crate::config::json::{Explained, ObservedDocument};
use culprit_model::clean;

use crate::layout::{Align, Layout, Table, wrap};

/// Adds what `config show` prints of a profile.
pub fn show(
    one: &Configuration,
    observed: Option<&ObservedDocument>,
    layout: &Layout,
    text: &mut String,
) {
    let paint = layout.paint();
    let heading = paint.heading(&format!("{} ({})", clean(&one.title), one.profile));
    text.push_str(&format!("{heading}\n"));
    for define in &one.defines {
        let values =
            if define.values.is_empty() { "-".to_owned() } else { define.values.join(",") };
        text.push_str(&format!(
            "{} = {}  ({})\n",
            define.name,
            clean(&values),
            clean(&define.from)
        ));
    }
    text.push_str(&format!("\nSources, the weakest first\n{}", sources(one, layout)));
    if one.other_variables > 0 {
        let count = one.other_variables;
        text.push_str(&format!(
            "{count} other variables of the environment concern other programs.\n"
        ));
    }
    text.push('\n');
    keys(one, observed).render_into(layout.width_of_values(), text);
    text.push_str(&not_in_keys(one, layout));
    text.push_str(&format!("\n{}", findings(one, layout)));
    if !one.leaves_out.is_empty() {
        text.push_str("\nNot read by this profile:\n");
        for left in &one.leaves_out {
            text.push_str(&wrap(&format!("- {left}"), layout.width(), "  "));
        }
    }
}

/// The sources of a profile as a table.
pub(super) fn sources(one: &Configuration, layout: &Layout) -> String {
    let columns = ["source", "state", "keys", "layer", "remarks"].map(|name| match name {
        "keys" => (name, Align::Right),
        name => (name, Align::Left),
    });
    let mut table = Table::new(&columns);
    let mut keys = vec![0_usize; one.sources.len()];
    one.assignments.iter().for_each(|assignment| keys[assignment.source] += 1);
    for (source, keys) in one.sources.iter().zip(keys) {
        let cells = [
            source.name.clone(),
            source.state.to_string(),
            keys.to_string(),
            source.layer.clone(),
            source.why.clone(),
        ];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    // Reasons say nothing in part.
    table.whole().render(layout.width())
}

fn keys(one: &Configuration, observed: Option<&ObservedDocument>) -> Table {
    let mut columns = vec![("key", Align::Left), ("value", Align::Left), ("from", Align::Left)];
    columns.extend(observed.map(|_| ("read", Align::Left)));
    let mut table = Table::new(&columns);
    for effective in one.effective.iter().filter(|effective| counts(one, effective)) {
        let winner = effective.winner.map(|at| &one.assignments[at]);
        let value = winner.map_or(Cow::Borrowed("-"), |winner| shown(&winner.value));
        let mut from =
            winner.map_or_else(|| without_value(one, effective), |one_of| one.place(one_of));
        from.push_str(doubt(effective.certainty));
        let read = observed.and_then(|observed| observed.read_of(one, winner?));
        table.row([&*effective.key, &value, &from, read.unwrap_or("not observed")].map(clean));
    }
    // The start of a value tells it from others; a place says nothing in part.
    table.cutting(1)
}

/// Whether a key has a value, or something asks for it: not if only files set it that do not count.
fn counts(one: &Configuration, effective: &Effective) -> bool {
    let is_unread = |at: &usize| one.assignments[*at].outcome == Outcome::Unread;
    !effective.chain.iter().all(is_unread)
}

/// What is said in place of the winner's source.
fn without_value(one: &Configuration, effective: &Effective) -> String {
    let mut chain = effective.chain.iter().map(|at| &one.assignments[*at]);
    let Some(first) = chain.find(|assignment| sets_nothing(assignment.outcome)) else {
        return "no source that counts".to_owned();
    };
    let place = one.place(first);
    match (first.outcome, first.op) {
        (Outcome::Requested, Op::Set) => format!("nothing sets it; {place} has a default"),
        (Outcome::Requested, _) | (_, Op::Inherit) => {
            format!("nothing sets it; asked for in {place}")
        }
        _ => format!("never applied; set in {place}"),
    }
}

/// What the table of keys leaves out, and the sources because of which keys are unknown.
fn not_in_keys(one: &Configuration, layout: &Layout) -> String {
    let mut text = String::new();
    match one.effective.iter().filter(|effective| !counts(one, effective)).count() {
        0 => {}
        1 => text.push_str("1 more key is only in files that are not read.\n"),
        count => {
            text.push_str(&format!("{count} more keys are only in files that are not read.\n"))
        }
    }
    let gaps: BTreeSet<usize> =
        one.effective.iter().filter_map(|effective| effective.gap).collect();
    for gap in gaps {
        text.push_str(&wrap(&clean(&unread(one, gap)), layout.width(), ""));
    }
    text
}

/// A source because of which keys are unknown.
fn unread(one: &Configuration, source: usize) -> String {
    let is_known = one.assignments.iter().any(|other| other.source == source);
    let source = &one.sources[source];
    if is_known {
        return format!("unknown: `{}` is refused: {}", source.name, source.why);
    }
    format!("unknown: `{}` may set another value, and was not read: {}", source.name, source.why)
}

const fn doubt(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Exact => "",
        Certainty::Assumed => " (order assumed)",
        Certainty::Unknown => " (unknown)",
    }
}

/// A value on one line.
pub(super) fn shown(value: &ValueRef) -> Cow<'_, str> {
    match &value.text {
        Some(text) if text.is_empty() => Cow::Borrowed("\"\""),
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(format!("{HIDDEN} ({})", value.class)),
    }
}

fn findings(one: &Configuration, layout: &Layout) -> String {
    findings_of(&one.findings, layout)
}

/// Findings, the worst first.
pub(super) fn findings_of(findings: &[ConfigFinding], layout: &Layout) -> String {
    if findings.is_empty() {
        return "No findings.\n".to_owned();
    }
    let paint = layout.paint();
    let mut text = String::new();
    for finding in findings {
        let severity = paint.severity(finding.severity, &format!("{:<6}", finding.severity));
        let places = finding.evidence.join(", ");
        text.push_str(&format!("{severity} {}  {}\n", finding.id, clean(&places)));
        let said = format!("{} {}", finding.title, finding.why);
        text.push_str(&wrap(&clean(&said), layout.width(), "       "));
        for fix in &finding.fix {
            text.push_str(&wrap(&clean(&format!("- {fix}")), layout.width(), "       "));
        }
    }
    text
}

/// What `config explain` prints of a profile.
pub fn explain(
    one: &Explained<'_>,
    observed: Option<&ObservedDocument>,
    layout: &Layout,
) -> String {
    let chains: Vec<String> =
        one.keys.iter().map(|effective| chain(one.of, effective, layout)).collect();
    let more = match observed {
        Some(observed) => was_read(one, observed),
        None => "Culprit has not checked whether a program reads the value.".to_owned(),
    };
    let more = clean(&more);
    let (choices, findings) = (choices(one, layout), concerning(one, layout));
    format!("{}{choices}\n{findings}{more}\n", chains.join("\n"))
}

/// What makes the files count that do not.
fn choices(one: &Explained<'_>, layout: &Layout) -> String {
    let choice = |(file, given): &(&str, String)| {
        wrap(&clean(&format!("To use {file}: start with {given}")), layout.width(), "  ")
    };
    one.choices().iter().map(choice).collect()
}

/// The findings that concern the keys, with a blank line behind them; nothing if there are none.
fn concerning(one: &Explained<'_>, layout: &Layout) -> String {
    let findings: Vec<ConfigFinding> = one.findings().into_iter().cloned().collect();
    if findings.is_empty() {
        String::new()
    } else {
        format!("{}\n", findings_of(&findings, layout))
    }
}

/// What a run has shown of the variables that set a key.
fn was_read(one: &Explained<'_>, observed: &ObservedDocument) -> String {
    let chains = one.keys.iter().flat_map(|effective| &effective.chain);
    let assignments = chains.filter_map(|at| one.of.assignments.get(*at));
    let rows: Vec<String> = assignments
        .filter_map(|assignment| observed.find(&assignment.written))
        .map(|found| format!("`{}`: {}, {} times.", found.name, found.grade, found.count))
        .collect();
    if rows.is_empty() {
        format!("`{}` was observed, and had no variable that sets this key.", observed.subject)
    } else {
        format!("Observed in `{}`: {}", observed.subject, rows.join(" "))
    }
}

/// The start of a long value on a terminal; all of it elsewhere.
fn cut<'v>(value: &'v str, layout: &Layout) -> Cow<'v, str> {
    /// More of a value fills a page, and explains nothing.
    const MOST: usize = 400;
    match value.char_indices().nth(MOST).filter(|_| layout.terminal) {
        Some((end, _)) => Cow::Owned(format!("{}… ({} bytes)", &value[..end], value.len())),
        None => Cow::Borrowed(value),
    }
}

/// The winner, then the others, the strongest first, each with the reason.
fn chain(one: &Configuration, effective: &Effective, layout: &Layout) -> String {
    let winner = effective.winner.map(|at| &one.assignments[at]);
    let value = winner.map_or(Cow::Borrowed("-"), |winner| shown(&winner.value));
    let key = layout.paint().strong(&clean(&effective.key));
    let doubt = doubt(effective.certainty);
    let mut text = format!("{key} = {}  [{}]{doubt}\n", clean(&cut(&value, layout)), one.profile);
    let mut table = Table::new(&[
        ("", Align::Left),
        ("from", Align::Left),
        ("value", Align::Left),
        ("why", Align::Left),
    ]);
    let others = effective.chain.iter().rev().filter(|at| Some(**at) != effective.winner);
    for at in effective.winner.iter().chain(others) {
        let assignment = &one.assignments[*at];
        let why = match assignment.outcome {
            Outcome::Won if assignment.reason.is_empty() => written(assignment, &effective.key),
            _ => assignment.reason.clone(),
        };
        // A name that is taken from elsewhere has no value of its own, and neither has a request.
        let is_taken = assignment.op == Op::Inherit && assignment.outcome.is_never_applied();
        let value = match assignment.outcome {
            Outcome::Requested => Cow::Borrowed("-"),
            _ if is_taken => Cow::Borrowed("-"),
            _ => shown(&assignment.value),
        };
        let cells = [
            format!("  {}", assignment.outcome),
            one.place(assignment),
            cut(&value, layout).into_owned(),
            why,
        ];
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    // Its headings say nothing that the cells do not, and reasons say nothing in part.
    let table = table.whole().render(layout.width());
    text.extend(table.split_inclusive('\n').skip(1));
    if let Some(gap) = effective.gap {
        text.push_str(&wrap(&clean(&unread(one, gap)), layout.width(), "  "));
    }
    text
}

fn sets_nothing(outcome: Outcome) -> bool {
    outcome.is_never_applied() || outcome == Outcome::Requested
}

/// The name in the source, where it is not the key.
fn written(assignment: &Assignment, key: &str) -> String {
    let same = key.contains(assignment.written.as_str());
    if same { String::new() } else { format!("set as {}", assignment.written) }
}

/// What `config vars` prints of a profile.
pub fn vars(one: &Configuration, observed: Option<&ObservedDocument>, layout: &Layout) -> String {
    let mut text = format!("{} ({})\n", clean(&one.title), one.profile);
    let mut columns = vec!["variable", "source", "sets", "outcome", "why"];
    columns.extend(observed.map(|_| "read"));
    let columns: Vec<(&str, Align)> = columns.into_iter().map(|name| (name, Align::Left)).collect();
    let mut table = Table::new(&columns);
    for variable in &one.variables {
        let meant = variable.nearest.as_ref().map(|key| format!("meant: {key}?"));
        let cells = [
            variable.name.clone(),
            one.sources[variable.source].name.clone(),
            variable.key.clone().unwrap_or_else(|| "-".to_owned()),
            variable.outcome.to_string(),
            meant.unwrap_or_else(|| variable.reason.clone()),
        ];
        let read = observed.map(|observed| {
            observed.find(&variable.name).map_or("not observed", |found| found.grade.as_str())
        });
        let cells = cells.into_iter().chain(read.map(str::to_owned));
        table.row(cells.map(|cell| clean(&cell).into_owned()));
    }
    if one.variables.is_empty() {
        text.push_str("No variable concerns the project.\n");
    } else {
        text.push_str(&table.whole().render(layout.width()));
    }
    let has_environment =
        one.sources.iter().any(|source| source.kind == SourceKind::ProcessEnvironment);
    if has_environment && one.other_variables > 0 {
        let count = one.other_variables;
        text.push_str(&format!(
            "{count} other variables of the environment concern other programs.\n"
        ));
    }
    text
}

/// What `config profiles` prints.
pub fn profiles(listed: &[(Profile, Option<PathBuf>)], layout: &Layout) -> String {
    let mut text = String::new();
    for (profile, file) in listed {
        let name = layout.paint().strong(&format!("{:<9}", clean(&profile.name)));
        text.push_str(&format!("{name} {}\n", clean(&profile.title)));
        let looks_for = match profile.detect.as_slice() {
            [] => "used if no other profile fits".to_owned(),
            detect => format!("looks for {}", detect.join(", ")),
        };
        text.push_str(&wrap(&clean(&looks_for), layout.width(), "          "));
        if let Some(file) = file {
            text.push_str(&format!("          from {}\n", clean(&file.display().to_string())));
        }
    }
    text
}
