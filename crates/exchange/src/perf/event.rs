//! What perf's events count.

use culprit_model::Metric;

/// What an event of perf counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// The metric of its periods.
    pub(super) metric: Metric,
    /// True when the period is the value; false when each event is one, whatever its period.
    pub(super) by_period: bool,
    /// True when the event must be told apart from others of the metric.
    pub(super) named: bool,
}

impl Counts {
    /// What an event of this name counts: `cpu-clock:pppH`, `cycles:u`, `cpu_core/cycles/`,
    /// `sched:sched_switch`.
    pub(super) fn of(event: &str) -> Self {
        let (metric, by_period, named) = match base(event) {
            "cpu-clock" | "task-clock" => (Metric::Cpu, true, false),
            "cycles" | "cpu-cycles" | "ref-cycles" => (Metric::Cycles, true, false),
            "instructions" => (Metric::Instructions, true, false),
            "cache-misses" => (Metric::CacheMisses, true, false),
            "page-faults" | "faults" | "minor-faults" | "major-faults" => {
                (Metric::Faults, true, false)
            }
            _ => (Metric::Samples, false, true),
        };
        Self { metric, by_period, named }
    }

    /// The value of one event; clocks without a period count as looks.
    pub(super) fn value(self, period: Option<u64>) -> (Metric, u64) {
        match period {
            Some(period) if self.by_period => (self.metric, period),
            None if self.by_period => (Metric::Samples, 1),
            _ => (self.metric, 1),
        }
    }
}

/// The event without its unit and its modifiers.
fn base(event: &str) -> &str {
    let inner = event.split('/').nth(1).filter(|inner| !inner.is_empty()).unwrap_or(event);
    match inner.split_once(':') {
        Some((base, modifiers)) if modifiers.chars().all(|c| "ukhGHpPSDIWeb".contains(c)) => base,
        _ => inner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_and_units_do_not_count() {
        for (event, metric) in [
            ("cpu-clock:pppH", Metric::Cpu),
            ("cycles:u", Metric::Cycles),
            ("cpu_core/cycles/u", Metric::Cycles),
            ("page-faults", Metric::Faults),
            ("sched:sched_switch", Metric::Samples),
            ("probe_libc:malloc", Metric::Samples),
        ] {
            assert_eq!(Counts::of(event).metric, metric, "{event}");
        }
    }
}
