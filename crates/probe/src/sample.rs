//! What one round of one arm gave.

use std::collections::BTreeMap;

use crate::histogram::Histogram;

/// What one round of one arm gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Values by the id of their metric. What could not be told is left out.
    pub values: BTreeMap<&'static str, f64>,
    /// Latencies by what was waited for (`read`, `write`, `latency`), for curves and percentiles
    /// over all rounds.
    pub latencies: BTreeMap<&'static str, Histogram>,
}

impl Sample {
    /// With this value.
    #[must_use]
    pub fn with(mut self, id: &'static str, value: f64) -> Self {
        self.values.insert(id, value);
        self
    }

    /// With this value where there is one.
    #[must_use]
    pub fn maybe(self, id: &'static str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(id, value),
            None => self,
        }
    }

    /// With these latencies.
    #[must_use]
    pub fn with_latencies(mut self, what: &'static str, histogram: Histogram) -> Self {
        self.latencies.insert(what, histogram);
        self
    }
}
