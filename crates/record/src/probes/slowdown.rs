//! Whether probes of every allocation leave the program any time to run.
//!
//! ```text
//! CPU 0   hits, each of 3 us   0.97 s of the last second   31 times slower: tracing stops
//! CPU 1   hits                 0.40 s of the last second
//! ```
//!
//! A CPU cannot spend more than a second of a second on hits, so their share tells how many times slower
//! the programs on it run, whatever else they do.

use culprit_model::{Nanos, Time};
use rustc_hash::FxHashMap;

use super::{Hits, Toll, Trap};

/// A program may be made this many times slower by the tracing of every allocation.
const MOST_TIMES: u64 = 20;

/// For how long hits are summed up before they are judged, ns: start-up is over in less.
const WINDOW: u64 = 1_000_000_000;

/// Sums of hits.
#[derive(Debug, Default)]
pub(crate) struct Slowdown {
    /// By CPU, since when.
    windows: FxHashMap<u32, (Time, Hits)>,
    /// Why tracing has to stop.
    verdict: Option<String>,
}

impl Slowdown {
    /// A probe was hit on a CPU.
    pub(crate) fn hit(&mut self, cpu: u32, time: Time, trap: Trap, toll: Option<Toll>) {
        let Some(toll) = toll.filter(|_| self.verdict.is_none()) else { return };
        let (from, hits) = self.windows.entry(cpu).or_insert((time, Hits::default()));
        hits.count(trap);
        let length = time.since(*from);
        if length.0 < WINDOW {
            return;
        }
        let cost = toll.of(*hits);
        if cost.0.saturating_mul(MOST_TIMES) >= length.0.saturating_mul(MOST_TIMES - 1) {
            self.verdict = Some(verdict(cost, length, hits.sum()));
        }
        (*from, *hits) = (time, Hits::default());
    }

    /// Why tracing has to stop; given once.
    pub(crate) fn take_verdict(&mut self) -> Option<String> {
        let verdict = self.verdict.as_mut()?;
        (!verdict.is_empty()).then(|| std::mem::take(verdict))
    }
}

fn verdict(cost: Nanos, length: Nanos, hits: u64) -> String {
    format!(
        "tracing every allocation stopped: {hits} allocations in {length} on one CPU took {cost} of it, so \
         the program ran more than {MOST_TIMES} times slower; later allocations are missing"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_stops_where_probes_take_nearly_all_of_a_cpu() {
        let toll = Toll::each(Nanos(9_600));
        let mut slowdown = Slowdown::default();
        // CPU 1 spends 96 % on probes from 1 s on, CPU 0 half as much.
        for hit in 0..300_000_u64 {
            slowdown.hit(1, Time(1_000_000_000 + hit * 10_000), Trap::Light, Some(toll));
            slowdown.hit(0, Time(1_000_000_000 + hit * 20_000), Trap::Light, Some(toll));
        }
        let verdict = slowdown.take_verdict().expect("it stops");
        assert!(
            verdict.starts_with("tracing every allocation stopped: 100001 allocations"),
            "{verdict}"
        );
        assert_eq!(slowdown.take_verdict(), None, "told once");
    }

    #[test]
    fn a_program_that_is_slowed_less_is_traced_to_its_end() {
        let toll = Toll::each(Nanos(9_000));
        let mut slowdown = Slowdown::default();
        for hit in 0..300_000_u64 {
            slowdown.hit(0, Time(hit * 10_000), Trap::Light, Some(toll));
            slowdown.hit(0, Time(hit * 10_000), Trap::Light, None);
        }
        assert_eq!(slowdown.take_verdict(), None);
    }
}
