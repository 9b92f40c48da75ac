//! What sampled allocations say about the CPU time of an allocator.
//!
//! ```text
//! allocations a second of CPU time   |------ threshold ------>
//! estimate with its error      |--o--|      few: the claim is less sure
//!                                 |--o--|   too near: nothing is said
//!                                       |--o--|   many: the numbers are facts
//! ```
//!
//! Only recordings with `--alloc` have samples; without them nothing changes.

use std::collections::BTreeMap;

use culprit_model::{Evidence as Fact, FrameId, Metric, Text, standard_error};

use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Threshold, fact};

/// How many functions that allocate are listed.
const LISTED: usize = 3;

/// Confidence kept by a claim about allocations where there were few.
const FEW: f64 = 0.5;

/// A threshold on sampled allocations, as the page of a rule has it.
pub(crate) const fn per_second(value: f64) -> Threshold {
    Threshold {
        what: "sampled allocations per second of CPU time, in recordings with `--alloc`; with fewer, the \
               finding is less sure",
        value,
        unit: "1/s",
        reason: "An allocation and its release cost 20 ns to 1 us. With fewer than this, they cannot explain \
                 a share of CPU time as large as the other threshold. At half, one large block in each \
                 millisecond would count as churn; at double, programs with slow, contended heaps would be \
                 missed. Nothing is said where the threshold is within the standard error.",
        source: "cost of malloc and free of glibc, jemalloc and tcmalloc: 20 to 100 ns alone, up to 1 us \
                 under contention",
    }
}

/// A sum over samples.
#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    value: f64,
    variance: f64,
}

impl Estimate {
    fn add(&mut self, value: u64, variance: u64) {
        self.value += value as f64;
        self.variance += variance as f64;
    }

    fn error(self) -> f64 {
        standard_error(self.value, self.variance)
    }
}

/// Tells a claim what the samples say of it; `chore` keeps those of one kind of library code.
pub(crate) fn judge(
    evidence: &Evidence<'_>,
    chore: Option<Chore>,
    threshold: f64,
    claims: Vec<Claim>,
) -> Vec<Claim> {
    let Some((facts, distance)) = sampled(evidence, chore, threshold) else { return claims };
    let tell = |mut claim: Claim| {
        if distance > 0.0 {
            return claim.facts(facts.clone());
        }
        claim.confidence.lower("few allocations were sampled, so each must be slow", FEW);
        claim
    };
    claims.into_iter().map(tell).collect()
}

/// The facts, and by how much the estimate is above the threshold; none without samples, and where the
/// threshold is within the error.
fn sampled(
    evidence: &Evidence<'_>,
    chore: Option<Chore>,
    threshold: f64,
) -> Option<(Vec<Fact>, f64)> {
    let (mut count, mut bytes) = (Estimate::default(), Estimate::default());
    let mut callers: BTreeMap<Option<FrameId>, f64> = BTreeMap::new();
    let mut samples = 0;
    for row in &evidence.recording.costs {
        let Some(variance) = row.variance else { continue };
        samples += row.count;
        if chore.is_some_and(|wanted| evidence.chores.chore(row.stack) != Some(wanted)) {
            continue;
        }
        match row.metric {
            Metric::Allocs => {
                count.add(row.value, variance);
                let caller = evidence.chores.caller(row.stack);
                *callers.entry(caller).or_default() += row.value as f64;
            }
            Metric::AllocBytes => bytes.add(row.value, variance),
            _ => {}
        }
    }
    let seconds = evidence.chore_time.cpu.0 as f64 / 1e9;
    let distance = count.value - threshold * seconds;
    if samples == 0 || distance.abs() <= count.error() {
        return None;
    }
    let mut facts = vec![
        fact("allocations, estimated from samples", count.value, "count"),
        fact("standard error of that number", count.error(), "count"),
        fact("memory that they asked for, estimated", bytes.value, "bytes"),
        fact("standard error of that amount", bytes.error(), "bytes"),
    ];
    let mut callers: Vec<(Text, f64)> =
        callers.into_iter().map(|(frame, value)| (evidence.name(frame), value)).collect();
    callers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let listed = callers.into_iter().take(LISTED);
    facts
        .extend(listed.map(|(name, value)| fact(format!("allocations by {name}"), value, "count")));
    Some((facts, distance))
}

#[cfg(test)]
mod tests {
    use culprit_model::{
        Cost, Frame, Module, ModuleId, Nanos, Recording, Stack, StackId, ThreadId, Time,
    };

    use super::*;
    use crate::scene::{beside, first};

    const STACK: &str = "main;request;libc.so.6!malloc;libc.so.6!_int_malloc";

    /// 200 ms of 400 ms of CPU time in an allocator, with so many sampled allocations in each tick.
    fn recording(value: u64, variance: u64) -> Recording {
        let mut recording = beside(STACK, 10, 10);
        let ends_in_malloc = |stack: &StackId| {
            recording.frame_name(recording.stacks[stack.index()].frame).ends_with("!malloc")
        };
        let stacks = (0..recording.stacks.len()).map(StackId::from_index);
        let parent = stacks.into_iter().find(ends_in_malloc);
        let stack = Some(size_below(&mut recording, parent));
        for (metric, size) in [(Metric::Allocs, 1), (Metric::AllocBytes, 64)] {
            recording.costs.push(Cost {
                thread: Some(ThreadId(0)),
                time: Time(0),
                duration: Nanos(0),
                stack,
                metric,
                cause: None,
                value: value * size,
                count: 9,
                variance: Some(variance * size * size),
            });
        }
        recording
    }

    /// The innermost frame of a sampled allocation is the block's size.
    fn size_below(recording: &mut Recording, parent: Option<StackId>) -> StackId {
        let module = ModuleId::from_index(recording.modules.len());
        let (name, path): (Text, Text) = ("[size]".into(), "[size]".into());
        let (build_id, symbols, lines) = (None, true, false);
        recording.modules.push(Module { name, path, build_id, symbols, lines });
        let frame = FrameId::from_index(recording.frames.len());
        recording.frames.push(Frame::new(Some(module), "64 B", None));
        recording.stacks.push(Stack { parent, frame });
        StackId::from_index(recording.stacks.len() - 1)
    }

    fn told(recording: &Recording) -> (f64, Vec<(String, f64)>) {
        let found = first(recording, "alloc-churn").expect("found by its CPU time");
        let facts = found.evidence.iter().filter(|fact| fact.unit.as_str() != "ns");
        let facts = facts.map(|fact| (fact.what.to_string(), fact.value)).collect();
        (found.confidence, facts)
    }

    #[test]
    fn many_sampled_allocations_are_facts_with_their_error() {
        let (without, _) = told(&beside(STACK, 10, 10));
        let (confidence, facts) = told(&recording(1_000_000, 100_000_000));
        assert!((confidence - without).abs() < 1e-9, "as sure as before");
        let has = |what: &str, value: f64| {
            facts.iter().any(|(known, number)| known == what && (number - value).abs() < 1e-6)
        };
        assert!(has("allocations, estimated from samples", 1e6), "{facts:?}");
        // 10,000 of the samples, and the weight of one more: 100.
        assert!(has("standard error of that number", 1e4_f64.hypot(100.0)), "{facts:?}");
        assert!(has("memory that they asked for, estimated", 64e6), "{facts:?}");
        assert!(
            facts
                .iter()
                .any(|(what, _)| what.starts_with("allocations by ") && what.ends_with("request"))
        );
    }

    #[test]
    fn few_sampled_allocations_make_the_claim_less_sure() {
        let (without, _) = told(&beside(STACK, 10, 10));
        let (confidence, facts) = told(&recording(100, 100));
        assert!(confidence < 0.6 * without, "{confidence} {without}");
        assert!(!facts.iter().any(|(what, _)| what.contains("estimated")), "{facts:?}");
    }

    #[test]
    fn nothing_is_said_where_the_threshold_is_within_the_error() {
        let without = told(&beside(STACK, 10, 10));
        let near = told(&recording(10_000, 100_000_000));
        assert_eq!(near, without);
    }
}
