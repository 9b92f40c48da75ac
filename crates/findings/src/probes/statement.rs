//! What a probe says about a whole place: `slower-in-place`, `no-difference` or `unclear`.

use culprit_engine::stats::Verdict;
use culprit_model::{Evidence as Fact, Finding, Severity};

use super::finding;
use super::measured::{Measured, MeasuredRatio};
use crate::rule::{RuleDoc, fact};
use crate::rules::{no_difference, slower_in_place, unclear};
use crate::settle::severity_of;

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let arms = measured.arms.iter().enumerate().skip(1).filter(|(_, arm)| !arm.is_control);
    arms.filter_map(|(at, _)| told(measured, at)).collect()
}

/// One worse metric makes a place slower; it is the same only if all are.
fn told(measured: &Measured<'_>, arm: usize) -> Option<Finding> {
    let of = |verdict: Verdict| {
        let rows = measured.ratios.iter().filter(move |row| row.arm == arm);
        rows.filter(|row| row.verdict == verdict).collect::<Vec<_>>()
    };
    let (slower, same, unclear) = (of(Verdict::Slower), of(Verdict::Same), of(Verdict::Unclear));
    if !slower.is_empty() {
        let worst = slower.iter().map(|row| times_worse(measured, row)).fold(1.0, f64::max);
        let severity = severity_of(1.0 - 1.0 / worst);
        return Some(statement(
            measured,
            arm,
            &slower_in_place::DOC,
            "is slower than",
            &slower,
            severity,
        ));
    }
    if !unclear.is_empty() {
        let words = "may or may not differ from";
        return Some(statement(measured, arm, &unclear::DOC, words, &unclear, Severity::Info));
    }
    let all_same = of(Verdict::Faster).is_empty() && !same.is_empty();
    all_same.then(|| {
        let words = "performs the same (within the band) as";
        statement(measured, arm, &no_difference::DOC, words, &same, Severity::Info)
    })
}

fn times_worse(measured: &Measured<'_>, row: &MeasuredRatio) -> f64 {
    let turned = measured.metrics[row.metric].higher_is_better;
    if turned { 1.0 / row.value } else { row.value }
}

fn statement(
    measured: &Measured<'_>,
    arm: usize,
    doc: &RuleDoc,
    words: &str,
    rows: &[&MeasuredRatio],
    severity: Severity,
) -> Finding {
    let one = |row: &&MeasuredRatio| {
        let name = measured.metrics[row.metric].name;
        let (low, high) = (row.interval.low, row.interval.high);
        format!("{name} x {:.2} ({low:.2} to {high:.2})", row.value)
    };
    let told: Vec<String> = rows.iter().map(one).collect();
    let (this, first) = (measured.arms[arm].label, measured.arms[0].label);
    let title = format!("{this} {words} {first}: {}", told.join("; "));
    let sure = rows.iter().map(|row| row.interval.coverage).fold(1.0, f64::min);
    let facts = rows.iter().flat_map(|row| facts(measured, row)).collect();
    finding(doc, title, severity, sure, facts)
}

fn facts(measured: &Measured<'_>, row: &MeasuredRatio) -> [Fact; 4] {
    let name = measured.metrics[row.metric].name;
    [
        fact(format!("{name}, ratio (median of the rounds)"), row.value, "ratio"),
        fact(format!("{name}, lower bound of this ratio"), row.interval.low, "ratio"),
        fact(format!("{name}, upper bound of this ratio"), row.interval.high, "ratio"),
        fact(format!("{name}, rounds"), row.rounds as f64, "count"),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn ids(values: &[(&'static str, f64)]) -> Vec<&'static str> {
        let arms = [Arm::host(&[("a_ns", 100.0), ("b_ns", 50.0)]), Arm::engine(values)];
        measured("files", &arms, |measured| {
            find(measured).into_iter().map(|finding| finding.id).collect()
        })
    }

    #[test]
    fn one_worse_metric_makes_a_place_slower_and_all_must_be_the_same() {
        assert_eq!(ids(&[("a_ns", 100.0), ("b_ns", 75.0)]), ["slower-in-place"]);
        assert_eq!(ids(&[("a_ns", 101.0), ("b_ns", 50.0)]), ["no-difference"]);
        assert_eq!(ids(&[("a_ns", 80.0), ("b_ns", 50.0)]), Vec::<&str>::new());
    }
}
