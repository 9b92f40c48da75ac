//! What `why` says in sentences: the terminal, the JSON and the page have the same.

use culprit_engine::stats::Verdict;
use culprit_experiment::Comparison;
use culprit_experiment::why::{DifferentEnd, PlaceRuns, WhyResults};
use culprit_model::Nanos;

use crate::html::most_expensive;
use crate::text::{ComparedSides, compared};
use crate::units::{bytes, number, percent};

/// The answer in one or two sentences, and how much of the plan it rests on when that is not
/// all of it.
#[must_use]
pub fn verdict(results: &WhyResults) -> String {
    let mut sentences: Vec<String> =
        results.different_ends.iter().map(DifferentEnd::describe).collect();
    match (results.baseline(), results.main()) {
        (Some(baseline), Some(against)) => {
            sentences.push(compared_with(results, baseline, against))
        }
        _ if sentences.is_empty() => sentences.push("Culprit compared no places.".to_owned()),
        _ => {}
    }
    let compared = sentences.join(" ");
    match results.rounds {
        (finished, planned) if results.interrupted => {
            format!("{compared} Interrupted after {finished} of {planned} rounds.")
        }
        _ => compared,
    }
}

/// The other places against the baseline, a sentence each.
pub(super) fn others(results: &WhyResults) -> Vec<String> {
    let main = results.main().map(|main| main.label.as_str());
    let others = results.against.iter().filter(|against| Some(against.label.as_str()) != main);
    let told =
        |against| results.baseline().map(|baseline| compared_with(results, baseline, against));
    others.filter_map(told).collect()
}

fn compared_with(results: &WhyResults, baseline: &PlaceRuns, against: &Comparison) -> String {
    let (Some(ratio), Some(before)) = (against.ratio(), baseline.median()) else {
        return "No round finished in both places.".to_owned();
    };
    let (here, there) = (against.label.as_str(), baseline.place.as_str());
    let after = results.places.iter().find(|runs| runs.place == here).and_then(PlaceRuns::median);
    let told = (wall_text(results, after.unwrap_or_default()), wall_text(results, before));
    if let Some(run) = results.paid_once(against) {
        let (shortest, longest) = run.later;
        return format!(
            "The first run in {here} takes {}, later runs take {} to {}, and a run in {there} \
             takes {}. Only the first run has the extra cost.",
            wall_text(results, run.first),
            wall_text(results, shortest),
            wall_text(results, longest),
            told.1
        );
    }
    compared(&ComparedSides { here, there, told, option: "--runs", cpu_time: false }, ratio)
}

/// What the extra time is spent on, in one sentence, where there is extra time and a reason.
#[must_use]
pub fn because(results: &WhyResults) -> Option<String> {
    let main = results.main()?;
    if main.verdict() != Verdict::Slower && results.paid_once(main).is_none() {
        return None;
    }
    let findings = results.findings();
    let finding = &findings[most_expensive(findings)?];
    Some(format!(
        "{} ({}, {} of the run, {} sure)",
        finding.title,
        finding.id,
        percent(finding.share),
        percent(finding.confidence)
    ))
}

/// A wall time in words: as a rate where the work of a run is known.
#[must_use]
pub fn wall_text(results: &WhyResults, wall: Nanos) -> String {
    match &results.work {
        Some(work) => format!("{} {}/s", number(work.rate(wall)), work.unit),
        None => wall.to_string(),
    }
}

/// How much of the extra time findings tell of, in words.
pub(super) fn explained_share(share: Option<f64>) -> String {
    match share {
        Some(share) => format!("findings explain {} of it", percent(share)),
        None => "too little for shares".to_owned(),
    }
}

/// A fact of a place in words: `0.50 CPU` of `50000000 ns in 100000000 ns`, `64 MiB` of bytes.
#[must_use]
pub fn fact_value(fact: &str, value: Option<&str>) -> String {
    let read = |text: &str, unit: &str| -> Option<f64> { text.strip_suffix(unit)?.parse().ok() };
    let cpus = |value: &str| {
        let (time, period) = value.split_once(" in ")?;
        let cpus = read(time, " ns")? / read(period, " ns").filter(|period| *period > 0.0)?;
        Some(format!("{} {}", number(cpus), if cpus > 1.0 { "CPUs" } else { "CPU" }))
    };
    let told = match (fact, value) {
        ("cpu-quota" | "memory-limit", None) => Some("no limit".to_owned()),
        ("cpu-quota", Some(value)) => cpus(value),
        ("memory-limit", Some(value)) => read(value, " bytes").map(bytes),
        _ => None,
    };
    told.unwrap_or_else(|| value.unwrap_or("none").to_owned())
}

#[cfg(test)]
mod tests {
    use super::fact_value;

    #[test]
    fn limits_of_places_have_the_units_that_users_give() {
        let quota = |value| fact_value("cpu-quota", Some(value));
        assert_eq!(quota("50000000 ns in 100000000 ns"), "0.50 CPU");
        assert_eq!(quota("100000000 ns in 100000000 ns"), "1 CPU");
        assert_eq!(quota("200000000 ns in 100000000 ns"), "2 CPUs");
        assert_eq!(quota("half"), "half");
        assert_eq!(fact_value("memory-limit", Some("67108864 bytes")), "64 MiB");
        assert_eq!(fact_value("memory-limit", None), "no limit");
        assert_eq!(fact_value("seccomp", None), "none");
    }
}
