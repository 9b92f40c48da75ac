//! What perf's events count.

use std::collections::BTreeMap;

use culprit_model::{LossKind, Metric};

use crate::builder::Builder;

/// What an event of perf counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// The metric of its periods.
    pub(super) metric: Metric,
    /// True when the event must be told apart from others of the metric.
    pub(super) named: bool,
}

impl Counts {
    /// What an event of this name counts: `cpu-clock:pppH`, `cycles:u`, `cpu_core/cycles/`,
    /// `sched:sched_switch`.
    pub(super) fn new(event: &str) -> Self {
        let (metric, named) = match base(event) {
            "cpu-clock" | "task-clock" => (Metric::Cpu, false),
            "cycles" | "cpu-cycles" | "ref-cycles" => (Metric::Cycles, false),
            "instructions" => (Metric::Instructions, false),
            "cache-misses" => (Metric::CacheMisses, false),
            "page-faults" | "faults" | "minor-faults" | "major-faults" => (Metric::Faults, false),
            _ => (Metric::Samples, true),
        };
        Self { metric, named }
    }

    /// The value of one sample: how many events or how much time it stands for. Without a period it
    /// counts as a look.
    pub(super) fn value(self, period: Option<u64>) -> (Metric, u64) {
        match period {
            Some(period) => (self.metric, period),
            None => (Metric::Samples, 1),
        }
    }
}

/// Notes where several events are one metric, so that their sums are added up.
pub(super) fn lose_shared_metrics<'a>(
    events: impl Iterator<Item = &'a str>,
    builder: &mut Builder,
) {
    let mut shared: BTreeMap<Metric, Vec<&str>> = BTreeMap::new();
    for event in events {
        let counts = Counts::new(event);
        if !counts.named {
            shared.entry(counts.metric).or_default().push(event);
        }
    }
    for (metric, events) in shared.iter().filter(|(_, events)| events.len() > 1) {
        let what = format!("{} are counted together as {metric}", events.join(", "));
        builder.lose(LossKind::MetricGuessed, events.len() as u64, &what);
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
            assert_eq!(Counts::new(event).metric, metric, "{event}");
        }
    }
}
