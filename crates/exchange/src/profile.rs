//! What is written: the rows that a filter kept, in one metric.

use culprit_model::{Metric, Recording, Selection, StepId};
use rustc_hash::FxHashMap;

/// What a filter kept of a recording, in one metric.
#[derive(Debug)]
pub struct Profile<'a> {
    /// Where it is from: its frames, modules, threads, and what it says about itself.
    pub recording: &'a Recording,
    /// What values count.
    pub metric: Metric,
    /// The rows and their stacks.
    pub selection: &'a Selection,
}

impl Profile<'_> {
    /// The rows added up by stack, in order of first use.
    #[must_use]
    pub fn sums(&self) -> Vec<(Option<StepId>, u64)> {
        let mut sums: Vec<(Option<StepId>, u64)> = Vec::new();
        let mut known = FxHashMap::default();
        for row in &self.selection.rows {
            let at = *known.entry(row.leaf).or_insert_with(|| {
                sums.push((row.leaf, 0));
                sums.len() - 1
            });
            sums[at].1 = sums[at].1.saturating_add(row.value);
        }
        sums
    }
}
