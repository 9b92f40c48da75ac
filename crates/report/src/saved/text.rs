//! `bench compare` as text: what changed, and what else changed meanwhile.

use std::borrow::Cow;

use culprit_engine::stats::Verdict;
use culprit_model::{Unit, clean};

use super::{Changes, Row, Saved};
use crate::layout::{Align, Layout, Table, elide, wrap};
use crate::units::{number, unit_value};

/// All files after the first against the first.
pub fn bench_compare_text(first: &Saved, found: &[(&Saved, Changes)], layout: &Layout) -> String {
    let parts = found.iter().map(|(after, changes)| one(first, after, changes, layout));
    parts.collect::<Vec<_>>().join("\n")
}

fn one(before: &Saved, after: &Saved, changes: &Changes, layout: &Layout) -> String {
    let (paint, width) = (layout.paint(), layout.width());
    let files = format!("{} against {}", after.path.display(), before.path.display());
    let mut text = format!("{}\n", paint.heading(&clean(&files)));
    for verdict in verdicts(changes) {
        text.push_str(&paint.strong(wrap(&clean(&verdict), width, "").trim_end()));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&table(changes).render(width));
    text.push('\n');
    for fact in facts(before, after, changes) {
        text.push_str(&wrap(&clean(&fact), width, "  "));
    }
    text
}

/// Differences of judged metrics first, then how many are the same and how many unclear.
fn verdicts(changes: &Changes) -> Vec<String> {
    let judged: Vec<&Row> = changes.rows.iter().filter(|row| row.metric.judged).collect();
    let of = |verdict: Verdict| judged.iter().filter(move |row| row.verdict == verdict);
    let mut told: Vec<String> = [(Verdict::Slower, "slower"), (Verdict::Faster, "faster")]
        .into_iter()
        .flat_map(|(verdict, word)| of(verdict).map(move |row| changed(row, word)))
        .collect();
    let counts = [(Verdict::Same, "the same"), (Verdict::Unclear, "unclear")]
        .map(|(verdict, word)| (of(verdict).count(), word));
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} of {} {word}", judged.len()))
        .collect();
    if !counts.is_empty() {
        told.push(format!("Judged values: {}.", counts.join(", ")));
    }
    told
}

fn changed(row: &Row, word: &str) -> String {
    let drift = match row.against_first {
        Some((_, Verdict::Same)) => {
            ". The first place changed as much: the machine changed, not the place"
        }
        _ => "",
    };
    format!(
        "{} is {word}: {} x {} ({} to {}){drift}.",
        row.arm,
        row.metric.name,
        number(row.ratio),
        number(row.low),
        number(row.high)
    )
}

fn table(changes: &Changes) -> Table {
    let mut table = Table::new(&[
        ("place", Align::Left),
        ("metric", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("ratio", Align::Right),
        ("95 % interval", Align::Right),
        ("verdict", Align::Left),
        ("relative to first place", Align::Right),
    ]);
    for row in &changes.rows {
        let told = |number| told(&row.metric.unit, number);
        table.row([
            clean(&row.arm).into_owned(),
            clean(&row.metric.name).into_owned(),
            told(row.before),
            told(row.after),
            number(row.ratio),
            format!("{} to {}", number(row.low), number(row.high)),
            if row.metric.judged { row.verdict.to_string() } else { String::new() },
            row.against_first.map_or_else(String::new, |(ratio, _)| number(ratio)),
        ]);
    }
    table
}

fn told(unit: &str, of: f64) -> String {
    let units =
        [Unit::Nanos, Unit::Bytes, Unit::BytesPerSecond, Unit::PerSecond, Unit::Count, Unit::Share];
    let known = units.into_iter().find(|known| known.id() == unit);
    known.map_or_else(|| number(of), |unit| unit_value(unit, of))
}

fn facts(before: &Saved, after: &Saved, changes: &Changes) -> Vec<String> {
    let mut facts = vec![format!(
        "{} rounds before and {} rounds after, at different times. If the machine changed, every \
         ratio includes that change, except those relative to the first place.",
        before.rounds(),
        after.rounds()
    )];
    facts.extend(not_the_same(&changes.environment));
    facts.extend(
        changes.unmatched.iter().map(|arm| format!("Only one of the two files contains {arm}.")),
    );
    if before.rounds().min(after.rounds()) < 6 {
        facts
            .push("Fewer than 6 rounds give no reliable interval. Measure more rounds.".to_owned());
    }
    facts
}

/// A fact of the environment, before and after.
type Fact = (String, Option<String>, Option<String>);

/// Longer values differ somewhere; the JSON has them whole.
const VALUE: usize = 40;

/// What is not the same, in one sentence.
fn not_the_same(environment: &[Fact]) -> Option<String> {
    let kernel = environment.iter().any(|(name, ..)| name == "kernel");
    // Another kernel is another build of it, too.
    let told = environment.iter().filter(|(name, ..)| !(kernel && name == "kernel build"));
    let one = |(name, before, after): &Fact| {
        format!("{name} ({} to {})", shortened(before.as_deref()), shortened(after.as_deref()))
    };
    let told: Vec<String> = told.map(one).collect();
    (!told.is_empty()).then(|| format!("The environment changed: {}.", told.join("; ")))
}

fn shortened(value: Option<&str>) -> Cow<'_, str> {
    value.map_or("none".into(), |value| elide(value, VALUE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_same_is_one_sentence() {
        let fact = |name: &str, before: Option<&str>, after: Option<&str>| {
            (name.to_owned(), before.map(str::to_owned), after.map(str::to_owned))
        };
        let told = not_the_same(&[
            fact("kernel", Some("6.1"), Some("6.2")),
            fact("kernel build", Some("#1 of a Monday"), Some("#2 of a Tuesday")),
            fact("memory limit", None, Some("64 MiB")),
        ]);
        let expected =
            "The environment changed: kernel (6.1 to 6.2); memory limit (none to 64 MiB).";
        assert_eq!(told.as_deref(), Some(expected));
        assert_eq!(not_the_same(&[]), None);
        let long = not_the_same(&[fact("cpu", Some(&"x".repeat(99)), Some("y"))]).unwrap();
        assert!(long.len() < 80, "{long}");
    }
}
