//! From weighted stacks to paths of names: group, exclude, fold, include.
//!
//! Each name is judged once; each stack then is a walk from the root to the leaf over those
//! judgements. The order is PerfView's: grouping renames, an excluded name drops the stack, a folded
//! one gives its value to its caller, direct recursion is one node, and only names that are left
//! count for the include patterns.

use culprit_model::{Label, Metric, Recording, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::builder::Builder;
use super::names::{NameId, Names};
use super::query::Query;
use super::tree::{CallTree, Own, Unmet};
use super::weights::{Weight, weights};

/// The frame that stands for a stack that was lost.
pub const STACK_LOST: &str = "[stack lost]";

/// What the filter says about one name.
#[derive(Debug, Clone, Copy)]
struct Judged {
    name: NameId,
    /// The entry group's own name.
    entry: Option<NameId>,
    excluded: bool,
    folded: bool,
    /// The include patterns that the name fits, one bit each.
    included: u64,
}

/// The patterns' judgement on each name, made once.
struct Judge<'q> {
    query: &'q Query,
    judged: FxHashMap<NameId, Judged>,
    /// Include patterns that some kept stack fits.
    met: u64,
    /// Include patterns that the original name of some frame fits.
    seen: u64,
}

impl Judge<'_> {
    fn judge(&mut self, names: &mut Names, name: NameId) -> Judged {
        if let Some(known) = self.judged.get(&name) {
            return *known;
        }
        let original = names.text(name).clone();
        let grouped = (!self.query.groups.is_empty()).then(|| self.query.groups.apply(&original));
        let entry = grouped.as_ref().and_then(|g| g.entry.as_deref()).map(|e| names.intern(e));
        let shown = grouped.map_or(original.clone(), |g| g.name.as_str().into());
        let judged = Judged {
            name: names.intern(&shown),
            entry,
            excluded: self.query.exclude.any(&shown),
            folded: self.query.fold.any(&shown),
            included: self.fits(&shown),
        };
        self.seen |= self.fits(&original);
        self.judged.insert(name, judged);
        judged
    }

    fn fits(&self, name: &str) -> u64 {
        let bits = self.query.include.iter().zip(0..);
        bits.filter(|(pattern, _)| pattern.matches(name)).fold(0, |word, (_, bit)| word | 1 << bit)
    }

    /// Every include pattern's bit.
    fn wanted(&self) -> u64 {
        (0..self.query.include.iter().len()).fold(0, |word, bit| word | 1 << bit)
    }

    /// Writes the path that is left of `raw` (outermost first) and whether its end was folded away;
    /// none when the stack is dropped.
    fn path(&mut self, names: &mut Names, raw: &[NameId], path: &mut Vec<NameId>) -> Option<bool> {
        path.clear();
        let mut included = 0;
        let mut inside = None;
        let mut folded = false;
        for name in raw {
            let judged = self.judge(names, *name);
            if judged.excluded {
                return None;
            }
            if judged.entry.is_some() && judged.entry == inside {
                folded = false;
                continue;
            }
            if judged.folded && !path.is_empty() {
                folded = true;
                continue;
            }
            if path.last() == Some(&judged.name) {
                folded = false;
                continue;
            }
            included |= judged.included;
            inside = judged.entry;
            folded = false;
            path.push(judged.name);
        }
        self.met |= included;
        (included == self.wanted()).then_some(folded)
    }

    fn unmet(&self) -> Vec<Unmet> {
        let bits = self.query.include.iter().zip(0..);
        bits.filter(|(_, bit)| self.met & (1 << bit) == 0)
            .map(|(pattern, bit)| Unmet {
                pattern: pattern.text().to_owned(),
                hidden: self.seen & (1 << bit) != 0,
            })
            .collect()
    }
}

impl CallTree {
    /// The call tree of a recording under a filter: process, thread, frames from the outermost in,
    /// and for time metrics the cause. Linear in rows, plus the frames of distinct stacks.
    #[must_use]
    pub fn of(recording: &Recording, query: &Query) -> Self {
        Self::of_weights(recording, query, &weights(recording, query))
    }

    /// As [`CallTree::of`], from rows already added up for this query.
    #[must_use]
    pub fn of_weights(recording: &Recording, query: &Query, weights: &[Weight]) -> Self {
        let mut raw = RawNames::new(recording, query.metric());
        let mut shaper = Shaper::new(query);
        let mut names = Vec::new();
        for weight in weights {
            raw.write(weight, &mut shaper.builder.names, &mut names);
            shaper.add(&names, own(weight));
        }
        shaper.finish(query.range(recording))
    }
}

/// Takes samples as paths of names, outermost first, through a filter into a tree.
pub(super) struct Shaper<'q> {
    judge: Judge<'q>,
    pub(super) builder: Builder,
    path: Vec<NameId>,
}

impl<'q> Shaper<'q> {
    pub(super) fn new(query: &'q Query) -> Self {
        Self {
            judge: Judge { query, judged: FxHashMap::default(), met: 0, seen: 0 },
            builder: Builder::new(Names::default()),
            path: Vec::new(),
        }
    }

    /// Adds one sample, unless the filter drops it.
    pub(super) fn add(&mut self, names: &[NameId], mut own: Own) {
        if let Some(folded) = self.judge.path(&mut self.builder.names, names, &mut self.path) {
            if folded {
                (own.fold, own.fold_count) = (own.value, own.count);
            }
            self.builder.insert(&self.path, &own);
        }
    }

    /// The tree of all samples over a time range.
    pub(super) fn finish(self, range: (Time, Time)) -> CallTree {
        let query = self.judge.query;
        let tree = self.builder.finish(query.metric(), range, self.judge.unmet());
        match query.fold_pct {
            Some(pct) if pct > 0.0 => tree.fold_small(pct),
            _ => tree,
        }
    }
}

fn own(weight: &Weight) -> Own {
    Own {
        value: weight.value,
        count: weight.count,
        fold: 0,
        fold_count: 0,
        first: weight.first,
        last: weight.last,
        when: weight.when,
        causes: vec![(weight.cause, weight.value)],
    }
}

/// The names of a stack before any filter.
struct RawNames<'a> {
    recording: &'a Recording,
    metric: Metric,
    frames: Vec<Option<NameId>>,
    threads: Vec<Option<(NameId, NameId)>>,
}

impl<'a> RawNames<'a> {
    fn new(recording: &'a Recording, metric: Metric) -> Self {
        Self {
            recording,
            metric,
            frames: vec![None; recording.frames.len()],
            threads: vec![None; recording.threads.len()],
        }
    }

    /// Writes process, thread, frames and cause of a weight, outermost first; the frames alone where
    /// process and thread are among them.
    fn write(&mut self, weight: &Weight, names: &mut Names, out: &mut Vec<NameId>) {
        out.clear();
        let cause = weight.cause.filter(|_| weight.thread.is_some() && self.metric.is_time());
        out.extend(cause.map(|cause| names.intern(cause.word())));
        match weight.stack {
            None => out.push(names.intern(STACK_LOST)),
            Some(stack) => {
                for frame in self.recording.stack(stack) {
                    let known = self.frames.get(frame.index()).copied().flatten();
                    let name = known.unwrap_or_else(|| {
                        let name = names.intern(&self.recording.frame_name(frame));
                        self.frames[frame.index()] = Some(name);
                        name
                    });
                    out.push(name);
                }
            }
        }
        if let Some((process, thread)) = weight.thread.map(|id| self.thread(id, names)) {
            out.extend([thread, process]);
        }
        out.reverse();
    }

    fn thread(&mut self, id: ThreadId, names: &mut Names) -> (NameId, NameId) {
        *self.threads[id.index()].get_or_insert_with(|| {
            let process = self.recording.process_name(self.recording.thread(id).process);
            let thread = self.recording.thread_name(id);
            (names.intern(&format!("Process {process}")), names.intern(&format!("Thread {thread}")))
        })
    }
}
