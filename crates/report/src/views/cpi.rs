//! Cycles that an instruction takes, function by function, where a recording has both counters.
//!
//! A modern core completes up to four to six instructions a cycle; a function far above one cycle
//! waits for memory or for wrongly guessed branches. Both counters are sampled, each by itself, so a
//! function with few samples of either has a rough ratio and one without any has none.

use std::collections::BTreeMap;

use culprit_model::{Filter, Metric, Recording};

use super::functions;
use crate::Error;
use crate::shown;

/// The ratio of each name that has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Cpi(BTreeMap<String, f64>);

impl Cpi {
    /// The ratios of what a filter keeps; none where the recording lacks one of the counters.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn of(recording: &Recording, filter: &Filter) -> Result<Option<Self>, Error> {
        let has = |metric| recording.costs.iter().any(|cost| cost.metric == metric);
        if !has(Metric::Cycles) || !has(Metric::Instructions) {
            return Ok(None);
        }
        let own = |metric| -> Result<BTreeMap<String, u64>, Error> {
            let tree = shown::tree(recording, &Filter { metric, ..filter.clone() })?;
            Ok(functions(&tree).into_iter().map(|row| (row.name, row.own)).collect())
        };
        let (cycles, instructions) = (own(Metric::Cycles)?, own(Metric::Instructions)?);
        let ratio = |(name, cycles): (String, u64)| {
            let instructions = *instructions.get(&name).filter(|count| **count > 0)?;
            #[expect(clippy::cast_precision_loss, reason = "a ratio of two digits")]
            let ratio = cycles as f64 / instructions as f64;
            (cycles > 0).then_some((name, ratio))
        };
        Ok(Some(Self(cycles.into_iter().filter_map(ratio).collect())))
    }

    /// Cycles an instruction of a function's own takes.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cost, Nanos};

    use super::*;
    use crate::testing;

    fn counted(recording: &mut Recording, metric: Metric, value: u64) {
        let stack = recording.intervals.iter().find_map(|row| row.stack);
        let thread = recording.intervals.first().map(|row| row.thread);
        let (time, duration) = (culprit_model::Time(1), Nanos::ZERO);
        let row = Cost {
            time,
            duration,
            thread,
            stack,
            metric,
            cause: None,
            value,
            count: 1,
            variance: None,
        };
        recording.costs.push(row);
    }

    #[test]
    fn functions_with_both_counters_have_a_ratio() {
        let mut recording = testing::recording();
        let filter = Filter::default();
        counted(&mut recording, Metric::Cycles, 300);
        assert_eq!(Cpi::of(&recording, &filter).unwrap(), None);
        counted(&mut recording, Metric::Instructions, 200);
        let cpi = Cpi::of(&recording, &filter).unwrap().unwrap();
        let stack = recording.costs[0].stack.unwrap();
        let leaf = recording.stack(stack).next().unwrap();
        assert_eq!(cpi.own(&recording.frame_name(leaf)), Some(1.5));
        assert_eq!(cpi.own("nowhere!at_all"), None);
    }
}
