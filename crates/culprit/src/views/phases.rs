//! Phases as text: a line a phase, then what each one does and how much of it the steady state does.

use culprit_engine::phases::{Kind, Phase, Phases};
use culprit_model::{Cause, Nanos};

use super::{Basis, range_options};
use crate::output::{Align, Output, Table, clean, percent};

/// How many causes stand in a phase's line.
const CAUSES: usize = 3;

/// Share below which a cause is not named in a phase's line.
const NAMED_FROM: f64 = 0.05;

/// The view in lines; at most `limit` places a phase unless that is 0. `counted` is the time that counts
/// within a phase, in words.
pub(crate) fn phases_text(phases: &Phases, counted: &str, limit: usize, output: &Output) -> String {
    let whole: Nanos = phases.phases.iter().map(Phase::length).sum();
    let heading = format!("elapsed time of {whole}; within a phase, shares are of {counted}");
    let mut text = Basis::line(&heading, output);
    text.push_str(&format!(
        "{}; boundaries are accurate to {}\n\n",
        match phases.phases.len() {
            1 => "one phase".to_owned(),
            n => format!("{n} phases"),
        },
        phases.window
    ));
    let mut table = Table::new(&[
        ("phase", Align::Left),
        ("from", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
        ("main causes", Align::Left),
        ("options for this time range", Align::Left),
    ]);
    for phase in &phases.phases {
        table.row([
            phase.kind.word().to_owned(),
            Nanos(phase.from.0).to_string(),
            phase.length().to_string(),
            percent(phase.length().share_of(whole)),
            causes(phase),
            range_options(phase.from, phase.to),
        ]);
    }
    text.push_str(&table.render(output.width()));
    for phase in &phases.phases {
        text.push_str(&format!(
            "\n{} from {}\n",
            output.paint().strong(phase.kind.word()),
            Nanos(phase.from.0)
        ));
        text.push_str(&places(phases, phase, limit, output));
    }
    text
}

fn causes(phase: &Phase) -> String {
    let counted = phase.counted();
    let named = phase.causes().into_iter().take(CAUSES);
    let named = named.filter(|(_, time)| time.share_of(counted) >= NAMED_FROM);
    let words: Vec<String> = named
        .map(|(cause, time): (Cause, Nanos)| format!("{cause} {}", percent(time.share_of(counted))))
        .collect();
    words.join(", ")
}

fn places(phases: &Phases, phase: &Phase, limit: usize, output: &Output) -> String {
    let counted = phase.counted();
    let shown = if limit == 0 { phase.places.len() } else { limit.min(phase.places.len()) };
    let mut table = Table::new(&[
        ("time", Align::Right),
        ("share", Align::Right),
        ("in steady state", Align::Right),
        ("cause", Align::Left),
        ("function", Align::Left),
    ]);
    for (place, time) in &phase.places[..shown] {
        let steady = match phase.kind {
            Kind::Steady => String::new(),
            _ => percent(phases.steady_share(place)),
        };
        table.row([
            time.to_string(),
            percent(time.share_of(counted)),
            steady,
            place.cause.map_or_else(String::new, |cause| cause.to_string()),
            clean(&place.function).into_owned(),
        ]);
    }
    let mut text = table.render(output.width());
    let left_out = phase.places.len() - shown;
    if left_out > 0 {
        text.push_str(&format!("{left_out} more places; `--limit 0` shows all.\n"));
    }
    text
}
