//! V8's CPU profiles: a tree of nodes, and which node ran at each look at the clock.
//!
//! A sample lasts until the next one, the last until the profile's end. Deltas between samples may
//! be negative: looks of several threads are put into one list.

use culprit_model::{LossKind, Metric, StackId, ThreadId};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::builder::{Amount, Builder};
use crate::json::{Loose, Number, Str};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node<'a> {
    id: Number,
    #[serde(borrow)]
    call_frame: CallFrame<'a>,
    #[serde(default)]
    hit_count: Number,
    /// In profiles of one piece.
    #[serde(default)]
    children: Vec<Number>,
    /// In profiles that are written in pieces.
    #[serde(default)]
    parent: Number,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<'a> {
    #[serde(borrow)]
    function_name: Str<'a>,
    #[serde(borrow, default)]
    url: Loose<Str<'a>>,
    #[serde(default)]
    line_number: Number,
}

/// A node's place in the tree, and its stack once that is known.
struct Known {
    parent: Option<i128>,
    /// None for the node that stands for the profile itself.
    frame: Option<culprit_model::FrameId>,
    stack: Option<Option<StackId>>,
    hits: u64,
}

/// A profile that is being put together. Times are ns.
#[derive(Default)]
pub(super) struct Profile {
    nodes: FxHashMap<i128, Known>,
    order: Vec<i128>,
    samples: Vec<(i128, i128)>,
    now: i128,
    end: Option<i128>,
    bad: u64,
}

impl Profile {
    /// The profile's start, in microseconds.
    pub(super) fn starts_at(&mut self, time: Number) {
        self.now = time.scaled(3).unwrap_or(self.now);
    }

    /// The profile's end, in microseconds.
    pub(super) fn ends_at(&mut self, time: Number) {
        self.end = time.scaled(3).or(self.end);
    }

    pub(super) fn nodes(&mut self, nodes: &[Loose<Node<'_>>], builder: &mut Builder) {
        for node in nodes {
            let node = node.get().and_then(|node| Some((node, node.id.scaled(0)?)));
            let Some((node, id)) = node else {
                self.bad += 1;
                continue;
            };
            let parent = node.parent.scaled(0);
            let hits = node.hit_count.scaled(0).and_then(|hits| u64::try_from(hits).ok());
            let root = parent.is_none() && node.call_frame.function_name.0 == "(root)";
            let frame = (!root).then(|| node.call_frame.frame(builder));
            let known = Known { parent, frame, stack: None, hits: hits.unwrap_or(0) };
            match self.nodes.insert(id, known) {
                None => self.order.push(id),
                // Of two nodes of one number the last counts.
                Some(_) => self.bad += 1,
            }
        }
        for node in nodes.iter().filter_map(Loose::get) {
            for child in node.children.iter().filter_map(|child| child.scaled(0)) {
                if let Some(child) = self.nodes.get_mut(&child) {
                    child.parent = node.id.scaled(0);
                }
            }
        }
    }

    /// Which node ran, and how long after the look before, in microseconds.
    pub(super) fn samples(&mut self, ids: &[Number], deltas: &[Number]) {
        self.bad += ids.len().abs_diff(deltas.len()) as u64;
        for (id, delta) in ids.iter().zip(deltas) {
            let (Some(id), Some(delta)) = (id.scaled(0), delta.scaled(3)) else {
                self.bad += 1;
                continue;
            };
            self.now = self.now.saturating_add(delta);
            self.samples.push((self.now, id));
        }
    }

    /// The stack of a node, outermost frame first.
    fn stack(&mut self, id: i128, builder: &mut Builder) -> Option<StackId> {
        let mut path = Vec::new();
        let mut stack = None;
        let mut next = Some(id);
        while let Some(id) = next {
            match self.nodes.get(&id) {
                Some(Known { stack: Some(known), .. }) => {
                    stack = *known;
                    break;
                }
                // More steps than nodes are a circle.
                Some(node) if path.len() < self.nodes.len() => {
                    next = node.parent;
                    path.push(id);
                }
                _ => {
                    self.bad += 1;
                    break;
                }
            }
        }
        for id in path.into_iter().rev() {
            let Some(node) = self.nodes.get_mut(&id) else { continue };
            if let Some(frame) = node.frame {
                stack = Some(builder.push(stack, frame));
            }
            node.stack = Some(stack);
        }
        stack
    }

    /// Adds the samples: as wall-clock time, or as counts where that time is told already. Hits
    /// stand in for samples where the profile has none.
    pub(super) fn finish(mut self, builder: &mut Builder, thread: Option<ThreadId>, timed: bool) {
        let mut samples = std::mem::take(&mut self.samples);
        samples.sort_by_key(|(time, _)| *time);
        let ends = samples.iter().skip(1).map(|(time, _)| *time).collect::<Vec<_>>();
        let last = samples.last().map_or(0, |(time, _)| self.end.unwrap_or(*time).max(*time));
        for ((time, id), end) in samples.iter().zip(ends.into_iter().chain([last])) {
            let stack = self.stack(*id, builder);
            let length = u64::try_from(end.saturating_sub(*time)).unwrap_or(0);
            let Ok(time) = u64::try_from(*time) else {
                self.bad += 1;
                continue;
            };
            let amount = if timed {
                Amount { duration: length, ..Amount::at(stack, Metric::Wall, length) }
            } else {
                Amount::at(stack, Metric::Samples, 1)
            };
            builder.add(Amount { time, thread, ..amount });
        }
        if samples.is_empty() {
            for id in std::mem::take(&mut self.order) {
                let hits = self.nodes.get(&id).map_or(0, |node| node.hits);
                if hits > 0 {
                    let stack = self.stack(id, builder);
                    let amount = Amount::at(stack, Metric::Samples, hits);
                    builder.add(Amount { count: hits, thread, ..amount });
                }
            }
        }
        if self.bad > 0 {
            let detail = "malformed nodes or samples of a CPU profile";
            builder.lose(LossKind::RecordsMalformed, self.bad, detail);
        }
    }
}

impl CallFrame<'_> {
    fn frame(&self, builder: &mut Builder) -> culprit_model::FrameId {
        let name = match &*self.function_name.0 {
            "" => "(anonymous)",
            name => name,
        };
        // Lines count from 0 here.
        let line = self.line_number.small().and_then(|line| line.checked_add(1));
        let url = self.url.text();
        let module = (!url.is_empty()).then(|| builder.module(url));
        builder.function(module, name, url, line)
    }
}
