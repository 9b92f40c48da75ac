//! Sample types: the words with which writers say what values count.

use culprit_model::{Label as _, Metric};

use crate::json::time_unit;

/// Metrics with the words of other programs that mean them; the first is what we write.
const TYPES: &[(Metric, &[&str])] = &[
    (Metric::Wall, &["wall", "wall-time", "wallclock", "real"]),
    (Metric::Cpu, &["cpu", "cpu-time"]),
    (Metric::Blocked, &["delay", "blocked", "lock-time"]),
    (Metric::Runnable, &["runnable"]),
    (Metric::Faults, &["faults", "page-faults"]),
    (Metric::Samples, &["samples", "sample", "contentions", "goroutine", "events"]),
    (Metric::Cycles, &["cycles"]),
    (Metric::Instructions, &["instructions"]),
    (Metric::CacheMisses, &["cache-misses"]),
    (Metric::Allocs, &["alloc_objects", "alloc-samples", "allocations", "allocs"]),
    (Metric::AllocBytes, &["alloc_space", "alloc-size", "alloc-bytes", "allocated"]),
    (Metric::Live, &["inuse_objects", "objects", "live"]),
    (Metric::LiveBytes, &["inuse_space", "space", "live-bytes"]),
    (Metric::IoBytes, &["io-bytes"]),
    (Metric::Amount, &["amount"]),
];

/// What a sample type means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    /// What its values count.
    pub(super) metric: Metric,
    /// What a value is multiplied by to get the metric's unit.
    pub(super) times: u64,
    /// False when only the unit told.
    pub(super) certain: bool,
}

/// The metric of a type and its unit: by its word where that is known and the unit fits, else by
/// the unit alone.
pub(super) fn meaning(word: &str, unit: &str) -> Meaning {
    let power = time_unit(unit).and_then(|power| u32::try_from(power).ok());
    let (kind, times) = match (power, unit) {
        (Some(power), _) => ("ns", 10_u64.pow(power)),
        (None, "bytes") => ("bytes", 1),
        (None, "count" | "samples" | "objects") => ("count", 1),
        (None, _) => ("", 1),
    };
    let known = TYPES.iter().find(|(_, words)| words.contains(&word)).map(|found| found.0);
    let known = known.or_else(|| Metric::from_word(word));
    match known.filter(|metric| metric.unit() == kind) {
        Some(metric) => Meaning { metric, times, certain: true },
        None => {
            let metric = match kind {
                "ns" => Metric::Wall,
                "bytes" => Metric::AllocBytes,
                "count" => Metric::Samples,
                _ => Metric::Amount,
            };
            Meaning { metric, times, certain: false }
        }
    }
}

/// The type and the unit that a metric is written as: its own word where no other program has one.
pub(super) fn written(metric: Metric) -> (&'static str, &'static str) {
    let found = TYPES.iter().find(|(of, _)| *of == metric);
    let word = found.and_then(|(_, words)| words.first());
    let unit = match metric.unit() {
        "ns" => "nanoseconds",
        unit => unit,
    };
    (word.copied().unwrap_or_else(|| metric.word()), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_reads_back_from_what_is_written() {
        for metric in Metric::ALL {
            let (word, unit) = written(*metric);
            assert_eq!(meaning(word, unit), Meaning { metric: *metric, times: 1, certain: true });
        }
    }

    #[test]
    fn units_are_turned_into_ours_and_tell_where_words_do_not() {
        let cpu = meaning("cpu", "milliseconds");
        assert_eq!((cpu.metric, cpu.times, cpu.certain), (Metric::Cpu, 1_000_000, true));
        // CPU time in counts is no time.
        assert_eq!(meaning("cpu", "count").metric, Metric::Samples);
        assert_eq!(
            meaning("exception", "count"),
            Meaning { metric: Metric::Samples, times: 1, certain: false }
        );
        assert_eq!(meaning("latency", "seconds").metric, Metric::Wall);
        assert_eq!(meaning("money", "euros").metric, Metric::Amount);
    }
}
