//! `commit-batch-too-small`: a commit takes as long for a small batch as for a large one.

use std::collections::BTreeMap;

use culprit_model::{Nanos, ProcessId, Text, Time, counter_names};

use super::fsync_storm;
use crate::evidence::{Evidence, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold, fact};

/// The rule.
pub(crate) struct CommitBatchTooSmall;

/// Stretches between two readings of the counters, with batches of their own, that make a curve.
const MIN_POINTS: usize = 4;

/// Commits in a stretch from which their mean says something.
const MIN_COMMITS: usize = 3;

/// Writes before each flush from which it ends a batch.
const MIN_WRITES: f64 = 3.0;

/// How many times as large the largest batch must be as the smallest.
const MIN_GROWTH: f64 = 2.0;

/// Growth of a commit's time by that of its batch (slope of the logarithms) up to which it is flat.
const MAX_SLOPE: f64 = 0.25;

/// How many points of the curve a finding shows.
const SHOWN: usize = 4;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "commit-batch-too-small",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program commits batches that are too small: a larger batch would take as long to \
            commit.",
    signature: "On the critical path the program repeats several writes and then one flush to \
                stable storage. Between readings of its counters the bytes per batch differ, but \
                the time per flush does not.",
    not_reported: &[],
    why: "A commit waits until the device says that the batch is on stable storage. Up to some \
          hundred KiB this takes as long as for one byte. So the number of commits decides the \
          cost.",
    fix: &[
        "Commit less often: raise the limit of documents, bytes or time that ends a batch.",
        "Raise the limit until the wait for a commit is short compared with the work for its \
         batch; the evidence has the measured curve.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the number of flushes in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "points of the curve: times between two counter readings, with at least 3 \
                   commits each",
            value: MIN_POINTS as f64,
            unit: "count",
            reason: "Three points can be flat by chance. At double, runs under 2 s would never be \
                     reported.",
            source: "counters are read five times a second",
        },
        Threshold {
            what: "writes before each flush (mean)",
            value: MIN_WRITES,
            unit: "count",
            reason: "One or two writes are a record and its index; `fsync-storm` reports their \
                     flushes.",
            source: "definition",
        },
        Threshold {
            what: "size of the largest batch divided by that of the smallest",
            value: MIN_GROWTH,
            unit: "ratio",
            reason: "Batches of one size do not show how long other sizes take.",
            source: "definition",
        },
        Threshold {
            what: "growth of a commit's time with the size of its batch (slope of the logarithms)",
            value: MAX_SLOPE,
            unit: "share",
            reason: "At 0.25 a batch ten times as large takes 1.8 times as long: most of the time \
                     is still the commit's own.",
            source: "definition",
        },
    ],
};

impl Rule for CommitBatchTooSmall {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let storms = fsync_storm::flushing(evidence);
        storms.into_iter().filter_map(|t| told(evidence, t.key, t.segments, t.total)).collect()
    }
}

/// What passed between two readings of a process's counters.
#[derive(Debug, Clone, Copy)]
struct Point {
    commits: usize,
    /// Written by each commit.
    bytes: f64,
    writes: f64,
    /// Time of each.
    each: Nanos,
}

fn told(
    evidence: &Evidence<'_>,
    process: ProcessId,
    segments: Vec<SegmentId>,
    total: Nanos,
) -> Option<Claim> {
    let points = points(evidence, process, &segments);
    let commits: usize = points.iter().map(|p| p.commits).sum();
    let mean = |of: fn(&Point) -> f64| {
        points.iter().map(|p| of(p) * p.commits as f64).sum::<f64>() / commits.max(1) as f64
    };
    let (smallest, largest) = (points.first()?, points.last()?);
    let is_curve = points.len() >= MIN_POINTS
        && commits >= fsync_storm::MIN_FLUSHES
        && mean(|p| p.writes) >= MIN_WRITES
        && largest.bytes >= smallest.bytes * MIN_GROWTH
        && mean(|p| p.bytes) <= fsync_storm::MAX_BYTES;
    if !is_curve || slope(&points)? > MAX_SLOPE {
        return None;
    }
    let name = evidence.recording.process_name(process);
    let title = format!(
        "{name} spends {COST} on {commits} commits: a batch of {:.0} bytes takes {}, one of {:.0} \
         bytes {}",
        smallest.bytes, smallest.each, largest.bytes, largest.each
    );
    let curve = (0..SHOWN).map(|at| points[at * (points.len() - 1) / (SHOWN - 1)]);
    let claim = Claim::new(&DOC, title, segments)
        .sure(0.85)
        .fact("commits", commits as f64, "count")
        .fact("writes before each commit (mean)", mean(|p| p.writes), "count")
        .time("time in commits", total)
        .facts(curve.map(|p| {
            fact(format!("time of a commit of {:.0} bytes", p.bytes), p.each.0 as f64, "ns")
        }));
    Some(claim)
}

/// The points of a process, the smallest batches first.
fn points(evidence: &Evidence<'_>, process: ProcessId, segments: &[SegmentId]) -> Vec<Point> {
    let mut readings: BTreeMap<Time, [Option<u64>; 2]> = BTreeMap::new();
    let names = [counter_names::IO_WRITE_BYTES, counter_names::IO_WRITES].map(Text::from);
    for counter in evidence.recording.counters.iter().filter(|c| c.process == Some(process)) {
        if let Some(at) = names.iter().position(|name| *name == counter.name) {
            readings.entry(counter.time).or_default()[at] = Some(counter.value);
        }
    }
    let readings: Vec<(Time, u64, u64)> =
        readings.into_iter().filter_map(|(t, [b, w])| Some((t, b?, w?))).collect();
    let start = |id: &SegmentId| evidence.of_segment(evidence.chain.segment(*id)).start;
    let mut segments: Vec<(Time, SegmentId)> = segments.iter().map(|s| (start(s), *s)).collect();
    segments.sort_unstable();
    let before = |time: Time| segments.partition_point(|(start, _)| *start < time);
    let point = |pair: &[(Time, u64, u64)]| {
        let ((from, bytes, writes), (until, more_bytes, more_writes)) = (pair[0], pair[1]);
        let within = segments[before(from)..before(until)].iter();
        let within: Vec<SegmentId> = within.map(|(_, id)| *id).collect();
        let commits = fsync_storm::count_flushes(evidence, &within, Time(u64::MAX));
        (commits >= MIN_COMMITS).then(|| Point {
            commits,
            bytes: more_bytes.saturating_sub(bytes) as f64 / commits as f64,
            writes: more_writes.saturating_sub(writes) as f64 / commits as f64,
            each: Nanos(evidence.total(&within).0 / commits as u64),
        })
    };
    let points = readings.windows(2).filter_map(point);
    let mut points: Vec<Point> = points.filter(|p| p.bytes > 0.0).collect();
    points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    points
}

/// Slope of the logarithm of a commit's time over that of its batch, by least squares with each point
/// as often as it has commits; none where batches do not differ.
fn slope(points: &[Point]) -> Option<f64> {
    let weight: f64 = points.iter().map(|p| p.commits as f64).sum();
    let mean = |of: fn(&Point) -> f64| {
        points.iter().map(|p| of(p) * p.commits as f64).sum::<f64>() / weight
    };
    let (x, y) = (mean(|p| p.bytes.ln()), mean(|p| (p.each.0.max(1) as f64).ln()));
    let (mut both, mut square) = (0.0, 0.0);
    for p in points {
        let dx = p.bytes.ln() - x;
        both += p.commits as f64 * dx * ((p.each.0.max(1) as f64).ln() - y);
        square += p.commits as f64 * dx * dx;
    }
    (square > 0.0).then(|| both / square)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Counter, Nanos, Recording, Text, Time, counter_names};

    const DEVICE: &str = "main;commit;libc.so.6!fdatasync;k:do_fsync;k:blkdev_issue_flush";

    /// Ten commits of each size (KiB), each of which takes so long (ms).
    fn commits(sizes: &[(u64, u64)], writes: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("indexer", None, 0);
        let process = scene.recording.thread(main).process;
        let (mut bytes, mut calls) = (0, 0);
        let mut readings = vec![(0, 0, 0)];
        for (kib, ms) in sizes {
            for _ in 0..10 {
                scene.run(main, 1, Cause::CpuUser, "main;index");
                scene.wait(main, *ms, Cause::Fsync, DEVICE, End::Disk);
                bytes += kib * 1024;
                calls += writes;
            }
            readings.push((scene.now_ms(main) * 1_000_000, bytes, calls));
        }
        for (time, bytes, calls) in readings {
            for (name, value) in
                [(counter_names::IO_WRITE_BYTES, bytes), (counter_names::IO_WRITES, calls)]
            {
                let (time, name) = (Time(time), Text::from(name));
                scene.recording.counters.push(Counter {
                    time,
                    process: Some(process),
                    name,
                    value,
                });
            }
        }
        scene.done()
    }

    const FLAT: [(u64, u64); 5] = [(4, 5), (8, 5), (16, 5), (32, 6), (64, 6)];

    #[test]
    fn commits_whose_time_does_not_grow_with_their_batch_are_told_with_the_curve() {
        let found = first(&commits(&FLAT, 8), "commit-batch-too-small").expect("found");
        assert_eq!(found.cost, Nanos(270_000_000));
        assert!(found.title.contains("a batch of 4096 bytes takes 5.00 ms"), "{}", found.title);
        let curve = found.evidence.iter().filter(|e| e.what.contains("commit of")).count();
        assert_eq!(curve, 4);
    }

    #[test]
    fn batches_of_one_size_single_writes_and_times_that_grow_are_not() {
        let told = |sizes: &[(u64, u64)], writes| {
            first(&commits(sizes, writes), "commit-batch-too-small").is_some()
        };
        assert!(!told(&[(8, 5); 5], 8));
        assert!(!told(&FLAT, 1));
        assert!(!told(&[(4, 1), (8, 2), (16, 4), (32, 8), (64, 16)], 8));
    }
}
