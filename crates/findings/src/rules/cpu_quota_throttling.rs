//! `cpu-quota-throttling`: the cgroup's CPU quota stops threads.

use culprit_model::{Cause, counter_names};

use crate::evidence::Evidence;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct CpuQuotaThrottling;

/// Share of enforcement periods from which throttling counts when the counters tell.
pub(crate) const MIN_THROTTLED: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "cpu-quota-throttling",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The CPU limit of the container or service (its cgroup quota) is used up, so threads that \
            could run must wait.",
    signature: "Threads on the critical path are ready, but the quota stops them. The cgroup's \
                counters say in how many periods this happened. `culprit bench quota` runs a known \
                amount of work and reads these counters before and after it.",
    not_reported: &[],
    why: "A quota of N CPUs allows N times 100 ms of CPU time in each period of 100 ms. With 1 CPU and \
          4 busy threads it is used up after 25 ms, and all wait for 75 ms. Latency therefore grows in \
          steps of a period, even when the average use is below the limit.",
    fix: &[
        "Raise or remove the quota (`--cpus`, `resources.limits.cpu`, `CPUQuota=`).",
        "Run at most as many threads as the quota has CPUs. For 2 CPUs, in Go \
         `GOMAXPROCS=2`, in Java `-XX:ActiveProcessorCount=2`, else the number of workers.",
        "Allow bursts: write microseconds of CPU time, at most the quota, to `cpu.max.burst` in the \
         cgroup's folder.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `cpu-quota-throttling` in \
            `culprit findings fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of throttled periods, if the cgroup's counters could be read",
        value: MIN_THROTTLED,
        unit: "share",
        reason: "A few throttled periods at start-up are common and short.",
        source: "kubernetes/kubernetes#67577: in that report, 186 of 200 periods were throttled",
    }],
};

impl Rule for CpuQuotaThrottling {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.doing(|d| d.cause == Cause::RunnableQuota);
        let periods = evidence.counters.growth(None, counter_names::QUOTA_PERIODS);
        let throttled = evidence.counters.growth(None, counter_names::QUOTA_THROTTLED);
        let counted = periods.zip(throttled).map(|(p, t)| (p.value, t.value));
        let counted = counted.filter(|(periods, _)| *periods > 0);
        let share = counted.map(|(p, t)| t as f64 / p as f64);
        if segments.is_empty() || share.is_some_and(|s| s < MIN_THROTTLED) {
            return Vec::new();
        }
        let gaps = evidence.doing(|d| d.cause == Cause::RunnableQuota).len();
        let of = counted
            .map_or_else(String::new, |(p, t)| format!(": {t} of {p} periods were throttled"));
        let title = format!("the CPU quota stops ready threads for {COST}{of}");
        let mut claim = Claim::new(&DOC, title, segments).fact(
            "gaps in which threads were stopped",
            gaps as f64,
            "count",
        );
        match counted {
            Some((periods, throttled)) => {
                claim = claim.fact("quota periods", periods as f64, "count").fact(
                    "quota periods that were throttled",
                    throttled as f64,
                    "count",
                );
            }
            None => claim.confidence.lower("the cgroup's counters were not read", 0.7),
        }
        let gauge = |name| evidence.counters.last(None, name).map(|v| v as f64);
        if let Some((quota, period)) =
            gauge(counter_names::QUOTA_NS).zip(gauge(counter_names::QUOTA_PERIOD_NS))
        {
            claim = claim.fact("CPUs that the quota allows", quota / period.max(1.0), "CPUs");
        }
        vec![claim]
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording, counter_names};

    fn limited(throttled: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("spin", None, 0);
        for _ in 0..50 {
            scene.run(main, 10, Cause::CpuUser, "main;spin");
            let held = "main;spin;k:asm_sysvec_apic_timer_interrupt;k:task_work_run";
            scene.run(main, 90, Cause::RunnableQuota, held);
        }
        scene.counter(None, counter_names::QUOTA_PERIODS, 54);
        scene.counter(None, counter_names::QUOTA_THROTTLED, throttled);
        scene.done()
    }

    #[test]
    fn gaps_of_the_quota_are_told_with_the_counters() {
        let found = first(&limited(50), "cpu-quota-throttling").expect("found");
        assert_eq!(found.cost.0, 4_500_000_000);
        assert!(
            found.title.contains("for 4.50 s: 50 of 54 periods were throttled"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_quota_that_hardly_throttles_is_healthy() {
        assert_eq!(told(&limited(1))[0], "hot-function 500");
    }
}
