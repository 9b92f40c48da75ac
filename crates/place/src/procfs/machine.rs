//! What the whole machine did so far: CPU time, waiting for CPUs, pressure.
//!
//! Counters that only grow: two looks tell what happened between them. Each file may be missing
//! (`/proc/schedstat` takes CONFIG_SCHEDSTATS, `/proc/pressure` CONFIG_PSI), so every number is
//! optional. Sources: `proc(5)`, `Documentation/scheduler/sched-stats.rst`,
//! `Documentation/accounting/psi.rst`.

/// One look at the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Machine {
    /// CPU time of all processes and interrupts on all CPUs, ns, in steps of a clock tick (10 ms).
    pub busy_ns: Option<u64>,
    /// All time of all CPUs, idle and stolen time included, ns, in the same steps.
    pub total_ns: Option<u64>,
    /// Time in which the hypervisor let a CPU wait that had work, ns, in the same steps.
    pub stolen_ns: Option<u64>,
    /// CPU time of all threads, ns, exact.
    pub ran_ns: Option<u64>,
    /// Time that threads were ready without a CPU, ns, exact; summed over threads.
    pub waited_ns: Option<u64>,
    /// Time in which some thread waited for a CPU, ns; brought up to date every 2 s.
    pub cpu_pressure_ns: Option<u64>,
    /// Share of the last ten seconds in which some thread waited for memory, 0 to 1.
    pub memory_pressure: Option<f64>,
    /// The same for I/O.
    pub io_pressure: Option<f64>,
}

/// Looks at the machine.
#[must_use]
pub fn machine() -> Machine {
    let text = |path: &str| super::text(path).unwrap_or_default();
    let cpus = Ticks::parse(&text("/proc/stat"));
    let some = |file: &str, key: &str| pressure(&text(file), key);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of microseconds since the start of the machine"
    )]
    let nanos = |micros: f64| (micros as u64).saturating_mul(1_000);
    Machine {
        busy_ns: cpus.map(|cpus| cpus.busy),
        total_ns: cpus.map(|cpus| cpus.total),
        stolen_ns: cpus.map(|cpus| cpus.stolen),
        cpu_pressure_ns: some("/proc/pressure/cpu", "total").map(nanos),
        memory_pressure: some("/proc/pressure/memory", "avg10").map(|percent| percent / 100.0),
        io_pressure: some("/proc/pressure/io", "avg10").map(|percent| percent / 100.0),
        ..queues(&Machine::default())
    }
}

/// Looks at the run queues alone, which tell at once and cost a tenth of the rest; all else is as it was
/// `before`.
#[must_use]
pub fn queues(before: &Machine) -> Machine {
    let queues = Queues::parse(&super::text("/proc/schedstat").unwrap_or_default());
    Machine {
        ran_ns: queues.map(|queues| queues.ran),
        waited_ns: queues.map(|queues| queues.waited),
        ..*before
    }
}

/// The line `cpu` of `/proc/stat`, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    total: u64,
    stolen: u64,
}

impl Ticks {
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let numbers: Vec<u64> =
            line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests are part of user.
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *numbers.get(..8)? else {
            return None;
        };
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let busy = user + nice + system + irq + softirq;
        Some(Self {
            busy: busy * tick,
            total: (busy + idle + iowait + steal) * tick,
            stolen: steal * tick,
        })
    }
}

/// The lines `cpuN` of `/proc/schedstat`: the seventh and the eighth number are times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Queues {
    ran: u64,
    waited: u64,
}

impl Queues {
    fn parse(text: &str) -> Option<Self> {
        let mut sum = None;
        for line in text.lines().filter(|line| line.starts_with("cpu")) {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (ran, waited) = (words.get(7)?.parse::<u64>(), words.get(8)?.parse::<u64>());
            let queues = sum.get_or_insert(Self { ran: 0, waited: 0 });
            queues.ran += ran.ok()?;
            queues.waited += waited.ok()?;
        }
        sum
    }
}

/// `some avg10=0.27 avg60=2.16 avg300=2.43 total=16121038`: the value of a key.
fn pressure(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{Queues, Ticks, machine, pressure};

    #[test]
    fn times_of_cpus_come_from_one_line() {
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let text = "cpu  10 1 20 100 5 2 3 4 9 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        let ticks = Ticks::parse(text).unwrap();
        assert_eq!((ticks.busy, ticks.total, ticks.stolen), (36 * tick, 145 * tick, 4 * tick));
        assert_eq!(Ticks::parse("cpu 1 2\n"), None);
    }

    #[test]
    fn waiting_is_summed_over_cpus() {
        let text = "version 17\ntimestamp 4\ncpu0 0 0 0 0 0 0 70 30 9\ndomain0 3 1 2\ncpu1 0 0 0 0 0 0 1 2 3\n";
        assert_eq!(Queues::parse(text), Some(Queues { ran: 71, waited: 32 }));
        assert_eq!(Queues::parse(""), None);
    }

    #[test]
    fn pressure_is_that_of_some() {
        let text =
            "some avg10=0.27 avg60=2.16 total=16121038\nfull avg10=9.00 avg60=0.00 total=1\n";
        assert_eq!(pressure(text, "total"), Some(16_121_038.0));
        assert_eq!(pressure(text, "avg10"), Some(0.27));
        assert_eq!(pressure("", "avg10"), None);
    }

    #[test]
    fn the_machine_has_been_busy() {
        let now = machine();
        assert!(now.busy_ns.is_some_and(|busy| busy > 0) && now.busy_ns < now.total_ns);
    }
}
