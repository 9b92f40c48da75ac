//! Which finding explains how much of each row of a comparison.
//!
//! A comparison charges time to causes and functions, settling gives each stretch of time to one claim.
//! Both look at the same stretches, so a row can be tied to the finding that holds most of it, with no
//! guess by names.

use std::collections::BTreeMap;

use culprit_engine::calls::STACK_LOST;
use culprit_model::{Cause, Nanos, Text};

use crate::evidence::{Doing, Evidence, SegmentId};

/// Time by cause and function, then by finding.
pub(crate) type Parts = BTreeMap<(Cause, Text), BTreeMap<&'static str, Nanos>>;

/// The parts of a recording, by the finding that holds each segment: linear in the segments held, and in
/// kinds for each finding that holds any.
pub(crate) fn of<'s>(
    evidence: &Evidence<'_>,
    holders: impl Iterator<Item = (&'static str, &'s [SegmentId])>,
) -> Parts {
    // By kinds first: segments are many, and have only some thousand kinds.
    let of_holder = |(id, held): (&'static str, &[SegmentId])| {
        let times = evidence.doings.times(&evidence.chain, held).into_iter().enumerate();
        let times = times.filter(|(_, time)| *time > Nanos::ZERO);
        times.map(move |(kind, time)| (evidence.doings.of_kind(kind), (id, time)))
    };
    let sums = holders.filter(|(_, held)| !held.is_empty()).flat_map(of_holder);
    let mut parts = Parts::new();
    for (Doing { cause, stack }, (id, time)) in sums {
        let leaf = || Some(evidence.recording.stacks.get(stack?.index())?.frame);
        // As the comparison names its rows.
        let frame = evidence.own.pointed(stack, evidence.stacks.user(stack).or_else(leaf));
        let function =
            frame.map_or_else(|| Text::from(STACK_LOST), |frame| evidence.shown_name(frame));
        *parts.entry((cause, function)).or_default().entry(id).or_default() += time;
    }
    parts
}

/// The finding that holds most of what a row costs more in one set of runs than in another, if that is
/// at least half of it: with less, something else is as much the reason.
pub(crate) fn of_row<'a>(
    (cause, function): (Cause, &Text),
    extra_ns: i64,
    baseline: impl ExactSizeIterator<Item = &'a Parts>,
    candidate: impl ExactSizeIterator<Item = &'a Parts>,
) -> Option<&'static str> {
    let key = (cause, function.clone());
    let mut sums: BTreeMap<&'static str, i128> = BTreeMap::new();
    // Sums of both sides on one scale: each as if the other had as many runs.
    let (before, after) = (baseline.len() as i128, candidate.len() as i128);
    let signed = |time: Nanos| i128::from(time.0);
    for (id, time) in baseline.filter_map(|parts| parts.get(&key)).flatten() {
        *sums.entry(id).or_default() -= signed(*time) * after;
    }
    for (id, time) in candidate.filter_map(|parts| parts.get(&key)).flatten() {
        *sums.entry(id).or_default() += signed(*time) * before;
    }
    let sign = i128::from(extra_ns.signum());
    let whole = i128::from(extra_ns) * before * after * sign;
    let (id, most) = sums
        .into_iter()
        .map(|(id, sum)| (id, sum * sign))
        .max_by_key(|(id, sum)| (*sum, std::cmp::Reverse(*id)))?;
    (most > 0 && 2 * most >= whole).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(rows: &[(&'static str, u64)]) -> Parts {
        let by_finding = rows.iter().map(|(id, time)| (*id, Nanos(*time))).collect();
        [((Cause::Sleep, Text::from("a!f")), by_finding)].into()
    }

    #[test]
    fn a_row_belongs_to_the_finding_that_holds_most_of_its_extra_time() {
        let before = [parts(&[("x", 10)])];
        let after = [parts(&[("x", 30), ("y", 90)]), parts(&[("x", 30), ("y", 70)])];
        let of = |extra| {
            let function = Text::from("a!f");
            of_row((Cause::Sleep, &function), extra, before.iter(), after.iter())
        };
        assert_eq!(of(100), Some("y"));
        assert_eq!(of(200), None, "less than half of it");
        assert_eq!(of(-100), None, "nothing became less");
        let nothing = of_row((Cause::Poll, &Text::from("a!f")), 5, before.iter(), after.iter());
        assert_eq!(nothing, None);
    }

    #[test]
    fn time_that_went_away_belongs_to_the_finding_that_held_it_before() {
        let (before, after) = ([parts(&[("x", 100)])], [Parts::new()]);
        let function = Text::from("a!f");
        let told = of_row((Cause::Sleep, &function), -100, before.iter(), after.iter());
        assert_eq!(told, Some("x"));
    }
}
