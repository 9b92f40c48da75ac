//! What is measured: a number with a name, a unit and a direction.

use culprit_model::Unit;

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Times, costs.
    Lower,
    /// Rates.
    Higher,
    /// Neither: a fact, never compared.
    Neither,
}

/// What part a metric plays in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The verdict is about this one. The first headline of a probe is *the* headline.
    Headline,
    /// The same work by CPU time, which bears a noisy machine: becomes the headline where most
    /// rounds were contended.
    CpuTime,
    /// Shown in the table, compared, no verdict of its own.
    Shown,
    /// Only in documents.
    Detail,
}

/// A number that every round of every arm gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its id in documents; `latency_ns.p50` is the member `p50` of the object `latency_ns`.
    pub id: &'static str,
    /// What tables call it.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// What part it plays.
    pub part: Part,
}

impl Metric {
    /// A time or cost.
    #[must_use]
    pub const fn lower(id: &'static str, name: &'static str, unit: Unit, part: Part) -> Self {
        Self { id, name, unit, better: Better::Lower, part }
    }

    /// A rate.
    #[must_use]
    pub const fn higher(id: &'static str, name: &'static str, unit: Unit, part: Part) -> Self {
        Self { id, name, unit, better: Better::Higher, part }
    }

    /// A fact that is not compared.
    #[must_use]
    pub const fn fact(id: &'static str, name: &'static str, unit: Unit) -> Self {
        Self { id, name, unit, better: Better::Neither, part: Part::Detail }
    }

    /// A fact that is not compared, and stands in the table.
    #[must_use]
    pub const fn shown_fact(id: &'static str, name: &'static str, unit: Unit) -> Self {
        Self { id, name, unit, better: Better::Neither, part: Part::Shown }
    }

    /// Whether the verdict may be about it.
    #[must_use]
    pub const fn is_judged(&self) -> bool {
        matches!(self.part, Part::Headline | Part::CpuTime) && self.is_compared()
    }

    /// Whether ratios are taken of it.
    #[must_use]
    pub const fn is_compared(&self) -> bool {
        !matches!(self.better, Better::Neither)
    }
}
