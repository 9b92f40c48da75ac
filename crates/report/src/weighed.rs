//! What a recording without thread time weighs, as most files of other profilers: samples, bytes or
//! counts at stacks. It says where they are; that a thread waited, and for what, is not in it.

use std::cmp::Reverse;

use culprit_engine::calls::CallTree;
use culprit_model::{Metric, Recording};

use crate::views::{Function, Kind, share, value};

/// Paths that are named.
const MOST_PATHS: usize = 3;

/// The weights of a recording without thread time.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// What the stacks weigh.
    pub metric: Metric,
    /// The sum of all weights, in the metric's unit.
    pub total: u64,
    /// Samples behind the sum.
    pub samples: u64,
    /// The paths with the largest weight at their end, the heaviest first.
    pub paths: Vec<Path>,
}

/// One path of calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Frames from the outermost one in, without process and thread.
    pub frames: Vec<String>,
    /// Weight at its end as a share of the sum.
    pub share: f64,
}

impl Weighed {
    /// What a tree of the recording's main metric weighs; none where there is thread time.
    #[must_use]
    pub fn new(recording: &Recording, tree: &CallTree) -> Option<Self> {
        if !recording.intervals.is_empty() || tree.total() == 0 {
            return None;
        }
        let samples = tree.nodes().first().map_or(0, |root| root.count);
        Some(Self { metric: tree.metric(), total: tree.total(), samples, paths: paths(tree) })
    }

    /// The heaviest functions and path in one sentence.
    #[must_use]
    pub fn sentence(&self, top: &[Function]) -> String {
        let (total, metric) = (value(self.metric, self.total), self.metric);
        let whole = match metric {
            Metric::Samples => format!("{total} samples"),
            _ => format!("{total} of `{metric}` in {} samples", self.samples),
        };
        let mut named = top.iter().filter(|function| function.kind == Kind::Function);
        let Some(first) = named.next() else { return whole };
        let share = |share: f64| crate::units::percent(share);
        let mut sentence = format!(
            "{whole}: `{}` has {} by itself and {} with what it calls",
            first.name,
            share(first.own_share),
            share(first.total_share)
        );
        if let Some(second) = named.next().filter(|second| second.own > 0) {
            sentence.push_str(&format!("; `{}` has {}", second.name, share(second.own_share)));
        }
        sentence
    }
}

/// What such a recording cannot say, and the way out.
pub const LIMITS: &str = "The file has no thread time, so it does not say what threads \
    waited for. `culprit record -- CMD` records that.";

fn paths(tree: &CallTree) -> Vec<Path> {
    let own = |id| tree.own(id).map_or(0, |own| own.value);
    let mut ends: Vec<_> = tree.ids().map(|id| (Reverse(own(id)), id)).collect();
    ends.retain(|(own, _)| own.0 > 0);
    ends.sort_unstable();
    let path = |(Reverse(own), id): (Reverse<u64>, _)| {
        let names = tree.path(id).into_iter().map(|node| tree.name(node).to_string());
        let frames = names.filter(|name| Kind::of(name) == Kind::Function).collect();
        Path { frames, share: share(own, tree.total()) }
    };
    ends.into_iter().take(MOST_PATHS).map(path).collect()
}
