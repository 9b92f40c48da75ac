//! Phases as text: a line a phase, then what each one does and how much of it the steady state does.

use std::sync::Arc;

use culprit_engine::phases::{Kind, Phase, Phases};
use culprit_engine::wakers::CommandPath;
use culprit_model::{Finding, Nanos, Recording, ThreadId, clean};

use super::{Basis, range_options};
use crate::layout::{Align, Layout, Table};
use crate::units::percent;

/// The phases of a run with what is said about them.
#[derive(Debug, Clone, Copy)]
pub struct PhasesView<'a> {
    /// The phases.
    pub phases: &'a Phases,
    /// The first finding of each.
    pub findings: &'a [Option<Finding>],
    /// The time that counts within a phase, in words.
    pub counted: &'a str,
}

/// The view in lines; at most `limit` places a phase unless that is 0.
#[must_use]
pub fn phases_text(view: &PhasesView<'_>, limit: usize, layout: &Layout) -> String {
    let phases = view.phases;
    let whole: Nanos = phases.phases.iter().map(Phase::length).sum();
    let heading =
        format!("elapsed time of {whole}; within a phase, shares are of {}", view.counted);
    let mut text = Basis::line(&heading, layout);
    text.push_str(&format!(
        "{}; boundaries are accurate to {}\n\n",
        match phases.phases.len() {
            1 => "one phase".to_owned(),
            n => format!("{n} phases"),
        },
        phases.window
    ));
    text.push_str(&summary(view, whole).render(layout.width_of_values()));
    for (phase, finding) in phases.phases.iter().zip(view.findings) {
        text.push_str(&format!(
            "\n{} from {}: {}\n",
            layout.paint().strong(phase.kind.word()),
            Nanos(phase.from.0),
            clean(&phase.does)
        ));
        text.push_str(&format!("first finding: {}\n", described(finding.as_ref())));
        text.push_str(&format!("its time range: {}\n", range_options(phase.from, phase.to)));
        text.push_str(&places(phases, phase, limit, layout));
    }
    text
}

/// A line a phase.
fn summary(view: &PhasesView<'_>, whole: Nanos) -> Table {
    let mut table = Table::new(&[
        ("phase", Align::Left),
        ("from", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
        ("what it does", Align::Left),
        ("first finding", Align::Left),
    ]);
    for (phase, finding) in view.phases.phases.iter().zip(view.findings) {
        table.row([
            phase.kind.word().to_owned(),
            Nanos(phase.from.0).to_string(),
            phase.length().to_string(),
            percent(phase.length().share_of(whole)),
            clean(&phase.does).into_owned(),
            finding.as_ref().map_or("-", |finding| finding.id).to_owned(),
        ]);
    }
    table
}

/// A finding in a line.
fn described(finding: Option<&Finding>) -> String {
    finding.map_or_else(
        || "none".to_owned(),
        |finding| {
            let (cost, share) = (finding.cost, percent(finding.share));
            format!("{} ({cost}, {share}): {}", finding.id, clean(&finding.title))
        },
    )
}

fn places(phases: &Phases, phase: &Phase, limit: usize, layout: &Layout) -> String {
    let counted = phase.counted();
    let shown = if limit == 0 { phase.places.len() } else { limit.min(phase.places.len()) };
    let mut columns = vec![("time", Align::Right), ("share", Align::Right)];
    // Without a steady state, or in it, there is nothing to compare with.
    let has_steady = phases.phases.iter().any(|phase| phase.kind == Kind::Steady);
    let compares = has_steady && phase.kind != Kind::Steady;
    columns.extend(compares.then_some(("in steady state", Align::Right)));
    columns.extend([("cause", Align::Left), ("function", Align::Left)]);
    let mut table = Table::new(&columns);
    for (place, time) in &phase.places[..shown] {
        let mut row = vec![time.to_string(), percent(time.share_of(counted))];
        row.extend(compares.then(|| percent(phases.steady_share(place))));
        row.push(place.cause.map_or_else(String::new, |cause| cause.to_string()));
        row.push(clean(&place.function).into_owned());
        table.row(row);
    }
    let mut text = table.render(layout.width_of_values());
    let left_out = phase.places.len() - shown;
    if left_out > 0 {
        text.push_str(&format!("{left_out} more places; `--limit 0` shows all.\n"));
    }
    text
}

/// For each phase the finding that costs the most of its time; none if no finding has a cost there.
#[must_use]
pub fn first_findings(
    recording: &Recording,
    phases: &[Phase],
    thread: Option<ThreadId>,
) -> Vec<Option<Finding>> {
    let threads = thread.map(|thread| {
        (0..recording.threads.len()).map(|at| at == thread.index()).collect::<Vec<bool>>()
    });
    let path = CommandPath::of(recording).filter(|_| thread.is_none()).map(Arc::new);
    let first = |phase: &Phase| {
        let options = culprit_findings::Options {
            from: Some(phase.from),
            to: Some(phase.to),
            threads: threads.clone(),
            command_path: path.clone(),
            ..culprit_findings::Options::default()
        };
        let found = culprit_findings::find(recording, &options).findings;
        found.into_iter().find(|finding| finding.cost > Nanos::ZERO)
    };
    phases.iter().map(first).collect()
}
