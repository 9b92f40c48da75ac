//! What identical work looks like here, and whether the machine was fit to measure.
//!
//! One arm runs twice in every round. How far the two differ is the noise floor of the session: a
//! difference of that size means nothing. The gate looks at the machine itself: who else used CPUs
//! and disks, and what the hypervisor took.

use super::ratio::{Bands, Ratio, compare_paired};

/// Two identical arms compared.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseFloor {
    /// The second against the first; its verdict is for a band of nothing and says nothing.
    pub ratio: Ratio,
}

/// The noise floor of a metric, from its values in the two identical arms. None without a round in
/// which both have one.
#[must_use]
pub fn noise_floor(first: &[f64], second: &[f64]) -> Option<NoiseFloor> {
    compare_paired(first, second, Bands::one(0.0)).map(|ratio| NoiseFloor { ratio })
}

impl NoiseFloor {
    /// The band outside of which things differ here: the one asked for, but never less than twice the
    /// half width of this interval, nor than its farther end. Identical fio runs of one session have
    /// differed by x 0.83 (0.75 to 0.95); a narrower band would have called that a finding.
    #[must_use]
    pub fn band(&self, asked: f64) -> f64 {
        let (low, high) = (self.ratio.interval.low.ln(), self.ratio.interval.high.ln());
        let least = (high - low).max(low.abs()).max(high.abs());
        asked.max(least.exp_m1())
    }
}

/// What was seen of the machine over a stretch of rounds. What a counter cannot tell over so short a
/// stretch, or on this kernel, is none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Conditions {
    /// CPU time of the measured commands, ns.
    pub own_cpu_ns: u64,
    /// CPU time of everybody else on the machine, ns.
    pub foreign_cpu_ns: Option<u64>,
    /// Time that threads of anybody spent ready without a CPU, ns.
    pub run_queue_ns: Option<u64>,
    /// What the hypervisor took, as a share of all CPUs' time.
    pub steal_share: Option<f64>,
    /// Share of the time in which somebody waited for a CPU (PSI `some`).
    pub cpu_pressure: Option<f64>,
    /// The same for memory, in the seconds before the first round.
    pub memory_pressure: Option<f64>,
    /// The same for I/O, in the seconds before the first round.
    pub io_pressure: Option<f64>,
    /// The length of the stretch, ns.
    pub window_ns: u64,
}

/// What disturbed the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// Threads waited for CPUs that others used.
    RunQueue,
    /// The hypervisor gave CPUs to other machines.
    Steal,
    /// Somebody waited for a CPU that others used (pressure).
    CpuPressure,
    /// Memory was short before the first round.
    MemoryPressure,
    /// Disks were busy before the first round.
    IoPressure,
}

impl Disturbance {
    /// The id, as documents have it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::RunQueue => "run-queue",
            Self::Steal => "steal",
            Self::CpuPressure => "cpu-pressure",
            Self::MemoryPressure => "memory-pressure",
            Self::IoPressure => "io-pressure",
        }
    }

    /// The share above which it counts. A fifth of waiting beside the work moves a wall time by as
    /// much as the smallest effects that are looked for by wall time; pressure counts any one
    /// waiter, so a quarter; stolen time is lost to everything, and 2 % of it is half of the usual
    /// band.
    #[must_use]
    pub const fn limit(self) -> f64 {
        match self {
            Self::RunQueue => 0.20,
            Self::Steal => 0.02,
            Self::CpuPressure | Self::MemoryPressure | Self::IoPressure => 0.25,
        }
    }
}

/// The noise gate: what disturbed a stretch of rounds, with the share that was seen. Empty where
/// nothing did.
///
/// A command with more threads than CPUs waits for itself. So waiting counts only as far as others
/// used CPUs meanwhile: what they did not use, they cannot have held back.
#[must_use]
pub fn disturbances(seen: &Conditions) -> Vec<(Disturbance, f64)> {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let foreign = seen.foreign_cpu_ns.unwrap_or(u64::MAX);
    let waited = seen.run_queue_ns.map(|waited| waited.min(foreign));
    let held_back = share(foreign, seen.window_ns);
    let all = [
        (Disturbance::RunQueue, waited.map(|w| share(w, seen.own_cpu_ns.saturating_add(w)))),
        (Disturbance::Steal, seen.steal_share),
        (Disturbance::CpuPressure, seen.cpu_pressure.map(|pressure| pressure.min(held_back))),
        (Disturbance::MemoryPressure, seen.memory_pressure),
        (Disturbance::IoPressure, seen.io_pressure),
    ];
    all.into_iter()
        .filter_map(|(kind, share)| Some((kind, share?)))
        .filter(|(kind, share)| *share > kind.limit())
        .collect()
}

/// A command spends at least this share of its wall time on CPUs to be judged by its CPU time when
/// rounds are contended: then nearly all that CPU time leaves out is waiting for a CPU.
const CPU_BOUND: f64 = 0.8;

/// Whether CPU time says more than wall time: more than half of the rounds were contended, and the
/// command does little but compute. `cpu_share` is its CPU time over its wall time in its least disturbed
/// run.
#[must_use]
pub fn prefers_cpu_time(contended: usize, rounds: usize, cpu_share: f64) -> bool {
    2 * contended > rounds && cpu_share >= CPU_BOUND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_never_narrower_than_what_identical_arms_do() {
        let a = [1.0, 1.01, 0.99, 1.0, 1.0, 1.02, 0.98, 1.0, 1.0];
        let b = [1.0, 1.0, 1.0, 0.99, 1.01, 1.0, 1.0, 1.01, 0.99];
        let quiet = noise_floor(&a, &b).expect("rounds");
        assert!((quiet.band(0.05) - 0.05).abs() < 1e-9, "{quiet:?}");
        assert!(quiet.band(0.001) > 0.01, "{quiet:?}");
        let shifted: Vec<f64> = b.iter().map(|value| value * 0.8).collect();
        let floor = noise_floor(&a, &shifted).expect("rounds");
        assert!(floor.band(0.05) > 0.2, "a false alarm widens the band: {floor:?}");
        assert_eq!(noise_floor(&[], &[]), None);
    }

    fn kinds(seen: &Conditions) -> Vec<Disturbance> {
        disturbances(seen).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn a_quiet_machine_passes_and_each_disturbance_is_named() {
        let quiet = Conditions {
            own_cpu_ns: 900,
            foreign_cpu_ns: Some(50),
            run_queue_ns: Some(40),
            steal_share: Some(0.01),
            cpu_pressure: Some(0.04),
            memory_pressure: Some(0.0),
            io_pressure: Some(0.2),
            window_ns: 1000,
        };
        assert_eq!(kinds(&quiet), []);
        let busy = Conditions {
            foreign_cpu_ns: Some(900),
            run_queue_ns: Some(800),
            steal_share: Some(0.03),
            cpu_pressure: Some(0.6),
            memory_pressure: Some(0.3),
            io_pressure: Some(0.3),
            ..quiet
        };
        assert_eq!(
            kinds(&busy),
            [
                Disturbance::RunQueue,
                Disturbance::Steal,
                Disturbance::CpuPressure,
                Disturbance::MemoryPressure,
                Disturbance::IoPressure
            ]
        );
        assert_eq!(kinds(&Conditions::default()), []);
    }

    #[test]
    fn a_command_that_waits_for_its_own_threads_is_not_disturbed() {
        let crowd = Conditions {
            own_cpu_ns: 2_000,
            foreign_cpu_ns: Some(10),
            run_queue_ns: Some(6_000),
            cpu_pressure: Some(1.0),
            window_ns: 1_000,
            ..Conditions::default()
        };
        assert_eq!(kinds(&crowd), []);
    }

    #[test]
    fn cpu_time_leads_only_where_a_busy_command_met_a_busy_machine() {
        assert!(prefers_cpu_time(6, 9, 0.95));
        assert!(!prefers_cpu_time(4, 9, 0.95));
        assert!(!prefers_cpu_time(9, 9, 0.3));
    }
}
