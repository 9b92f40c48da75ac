//! Whether probes of every allocation leave the program any time to run.
//!
//! ```text
//! CPU 0   program ######        program #########   0.97 s of its last second were hits: tracing stops
//!                        others                     does not count
//! CPU 1   program #  # #  #  #  #  #  #             0.40 s
//! ```
//!
//! The time that counts is the CPU time of the recorded threads. Of elapsed time they may have little, where
//! other programs want the same CPU. Threads cannot spend more than their CPU time on hits, so the share of
//! it tells how many times slower they run.

use culprit_model::{Nanos, Time};
use rustc_hash::FxHashMap;

use super::{Hits, Toll, Trap};

/// A program may be made this many times slower by the tracing of every allocation. Its own work is then a
/// tenth of its CPU time. The cost of a hit is known to less than a tenth, so a limit of 20 might never be
/// reached; a limit of 5 would stop programs that allocate once a microsecond.
const MOST_TIMES: u64 = 10;

/// For how much CPU time hits are summed up before they are judged, ns: start-up is over in less.
const WINDOW: u64 = 1_000_000_000;

/// Sums of hits.
#[derive(Debug, Default)]
pub(crate) struct Slowdown {
    /// By CPU; none where no probe was hit.
    windows: FxHashMap<u32, Window>,
    /// Why tracing has to stop.
    verdict: Option<String>,
}

/// What recorded threads did on a CPU since it was last judged.
#[derive(Debug, Default)]
struct Window {
    /// How long they had the CPU, without the thread that has it now.
    ran: Nanos,
    /// Since when a thread has it; none while none does.
    since: Option<Time>,
    hits: Hits,
}

impl Slowdown {
    /// A recorded thread came onto a CPU.
    pub(crate) fn came(&mut self, cpu: u32, time: Time) {
        if let Some(window) = self.windows.get_mut(&cpu) {
            window.since = Some(time);
        }
    }

    /// A recorded thread left a CPU.
    pub(crate) fn left(&mut self, cpu: u32, time: Time) {
        if let Some(window) = self.windows.get_mut(&cpu) {
            window.ran = window.ran_until(time);
            window.since = None;
        }
    }

    /// A probe was hit on a CPU.
    pub(crate) fn hit(&mut self, cpu: u32, time: Time, trap: Trap, toll: Option<Toll>) {
        let Some(toll) = toll.filter(|_| self.verdict.is_none()) else { return };
        let window = self.windows.entry(cpu).or_default();
        window.since.get_or_insert(time);
        window.hits.count(trap);
        let ran = window.ran_until(time);
        if ran.0 < WINDOW {
            return;
        }
        let cost = toll.of(window.hits);
        if cost.0.saturating_mul(MOST_TIMES) >= ran.0.saturating_mul(MOST_TIMES - 1) {
            self.verdict = Some(verdict(cost, ran, window.hits.sum()));
        }
        *window = Window { since: Some(time), ..Window::default() };
    }

    /// Why tracing has to stop; given once.
    pub(crate) fn take_verdict(&mut self) -> Option<String> {
        let verdict = self.verdict.as_mut()?;
        (!verdict.is_empty()).then(|| std::mem::take(verdict))
    }
}

impl Window {
    fn ran_until(&self, time: Time) -> Nanos {
        let runs = self.since.map_or(Nanos(0), |since| time.since(since));
        Nanos(self.ran.0.saturating_add(runs.0))
    }
}

fn verdict(cost: Nanos, ran: Nanos, hits: u64) -> String {
    format!(
        "tracing every allocation stopped: {hits} allocations took {cost} of {ran} of CPU time, so the program \
         ran more than {MOST_TIMES} times slower; later allocations are missing"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits each 10 us, with these bursts on the CPU and pauses between them, ns, for three seconds.
    fn verdict_of(cost: u64, (burst, pause): (u64, u64)) -> Option<String> {
        let toll = Toll::each(Nanos(cost));
        let mut slowdown = Slowdown::default();
        let mut time = 1_000_000_000;
        while time < 4_000_000_000 {
            slowdown.came(1, Time(time));
            for hit in 0..burst / 10_000 {
                slowdown.hit(1, Time(time + hit * 10_000), Trap::Light, Some(toll));
            }
            slowdown.left(1, Time(time + burst));
            time += burst + pause;
        }
        let verdict = slowdown.take_verdict();
        assert_eq!(slowdown.take_verdict(), None, "told once");
        verdict
    }

    #[test]
    fn tracing_stops_where_probes_take_nearly_all_of_the_programs_cpu_time() {
        let verdict = verdict_of(9_300, (3_000_000_000, 0)).expect("it stops");
        assert!(
            verdict.starts_with("tracing every allocation stopped: 100001 allocations"),
            "{verdict}"
        );
    }

    #[test]
    fn time_that_others_have_the_cpu_does_not_count() {
        assert!(verdict_of(9_300, (4_000_000, 4_000_000)).is_some());
    }

    #[test]
    fn a_program_that_is_slowed_less_is_traced_to_its_end() {
        assert_eq!(verdict_of(8_700, (3_000_000_000, 0)), None);
        assert_eq!(verdict_of(8_700, (4_000_000, 4_000_000)), None);
    }

    #[test]
    fn without_a_known_cost_nothing_is_judged() {
        let mut slowdown = Slowdown::default();
        for hit in 0..300_000_u64 {
            slowdown.hit(0, Time(hit * 10_000), Trap::Light, None);
        }
        assert_eq!(slowdown.take_verdict(), None);
    }
}
