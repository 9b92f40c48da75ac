//! What threads do in the chain's segments, each kind once.
//!
//! Most rules ask what a segment's cause and stack say, and a recording of millions of segments has
//! only some thousand pairs of them: each is asked about once.
//!
//! ```text
//! segments  0     1      2     3      4
//! of        0     1      0     2      1
//! kinds     [user main;work] [kernel main;read] [pipe main;read]
//! ```

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, StackId};

use super::chain::{Chain, SegmentId};

/// A cause at a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Doing {
    pub(crate) cause: Cause,
    pub(crate) stack: Option<StackId>,
}

impl From<&Interval> for Doing {
    fn from(interval: &Interval) -> Self {
        Self { cause: interval.cause, stack: interval.stack }
    }
}

/// What is done in all segments.
#[derive(Debug, Default)]
pub(crate) struct Doings {
    /// Each kind once.
    kinds: Vec<Doing>,
    /// How many segments are of each kind.
    counts: Vec<u32>,
    /// The kind of each segment, as index.
    of: Vec<u32>,
}

impl Doings {
    /// Finds the kinds; linear in segments where a stack has few causes.
    pub(crate) fn of(chain: &Chain, intervals: &[Interval]) -> Self {
        let mut doings = Self { of: Vec::with_capacity(chain.segments.len()), ..Self::default() };
        // By stack first, because looking up in a tree costs more than all the rest.
        let mut of_stack: Vec<Vec<(Cause, u32)>> = Vec::new();
        let mut without: BTreeMap<Cause, u32> = BTreeMap::new();
        for segment in &chain.segments {
            let Interval { cause, stack, .. } = intervals[segment.interval.index()];
            let next = u32::try_from(doings.kinds.len()).unwrap_or(u32::MAX);
            let kind = match stack {
                None => *without.entry(cause).or_insert(next),
                Some(stack) => {
                    if of_stack.len() <= stack.index() {
                        of_stack.resize(stack.index() + 1, Vec::new());
                    }
                    let known = &mut of_stack[stack.index()];
                    let kind = known.iter().find(|(c, _)| *c == cause).map(|(_, kind)| *kind);
                    if kind.is_none() {
                        known.push((cause, next));
                    }
                    kind.unwrap_or(next)
                }
            };
            if kind == next {
                doings.kinds.push(Doing { cause, stack });
                doings.counts.push(0);
            }
            doings.counts[kind as usize] += 1;
            doings.of.push(kind);
        }
        doings
    }

    /// What `tell` says of each kind, by [`Doings::kind`].
    pub(crate) fn each<T>(&self, tell: impl FnMut(&Doing) -> T) -> Vec<T> {
        self.kinds.iter().map(tell).collect()
    }

    /// The kind of a segment, as index of what [`Doings::each`] returns.
    pub(crate) fn kind(&self, segment: SegmentId) -> usize {
        self.of[segment.index()] as usize
    }

    /// What is done in the segments of a [`Doings::kind`].
    pub(crate) fn of_kind(&self, kind: usize) -> Doing {
        self.kinds[kind]
    }

    /// The time of some segments, by [`Doings::kind`].
    pub(crate) fn times(&self, chain: &Chain, segments: &[SegmentId]) -> Vec<Nanos> {
        let mut times = vec![Nanos::ZERO; self.kinds.len()];
        for id in segments {
            times[self.kind(*id)] += chain.segment(*id).length;
        }
        times
    }

    /// Those of some segments in which what is done is `wanted`, in their order.
    pub(crate) fn among(
        &self,
        segments: &[SegmentId],
        wanted: impl FnMut(&Doing) -> bool,
    ) -> Vec<SegmentId> {
        let wanted = self.each(wanted);
        let mut found = Vec::with_capacity(segments.len());
        found.extend(segments.iter().copied().filter(|segment| wanted[self.kind(*segment)]));
        found
    }

    /// The segments in which what is done is `wanted`, in order.
    pub(crate) fn segments(&self, wanted: impl FnMut(&Doing) -> bool) -> Vec<SegmentId> {
        let wanted = self.each(wanted);
        if !wanted.contains(&true) {
            return Vec::new();
        }
        let count = self.counts.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
        let mut found = Vec::with_capacity(count.map(|(count, _)| *count as usize).sum());
        let all = (0u32..).map(SegmentId).zip(&self.of);
        found.extend(all.filter(|(_, kind)| wanted[**kind as usize]).map(|(id, _)| id));
        found
    }
}
