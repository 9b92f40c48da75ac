//! Trees from trees: folding what is small, turning upside down, one name's callers and callees,
//! and merging. Each takes the samples of a tree along new paths; no value is lost.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::builder::{Builder, in_preorder};
use super::by_name::by_name;
use super::names::{NameId, Names};
use super::node::{End, Node, NodeId};
use super::tree::CallTree;

impl CallTree {
    /// Folds nodes under `pct` percent of the total into their callers, with all below: those that
    /// are below it here and whose name is below it over the whole tree, so that the small call
    /// sites of a function that is costly in sum stay. Totals by name are taken once, before.
    pub(super) fn fold_small(mut self, pct: f64) -> Self {
        let mut named = vec![0_u64; self.names.len()];
        for row in by_name(&self) {
            named[row.id.index()] = row.inc;
        }
        let limit = pct * (self.total() as f64) / 100.0;
        let small = |value: u64| (value as f64) < limit;
        // What stays keeps its total, and so its place among its siblings: preorder holds.
        let mut heirs: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        let mut kept: Vec<bool> = Vec::with_capacity(self.nodes.len());
        let mut nodes: Vec<Node> = Vec::new();
        for node in &self.nodes {
            let above = node.parent.is_none_or(|above| kept[above.index()]);
            let tiny = small(node.total) && small(named[node.name.index()]);
            let stays = node.parent.is_none() || (above && !tiny);
            kept.push(stays);
            let heir = node.parent.map(|above| heirs[above.index()]);
            if stays {
                heirs.push(NodeId::at(nodes.len()));
                nodes.push(Node { parent: heir, size: 1, ..*node });
            } else {
                heirs.push(heir.unwrap_or(NodeId::ROOT));
            }
        }
        for at in (1..nodes.len()).rev() {
            let size = nodes[at].size;
            if let Some(above) = nodes[at].parent {
                nodes[above.index()].size += size;
            }
        }
        for end in &mut self.ends {
            end.folded |= !kept[end.node.index()];
            end.node = heirs[end.node.index()];
        }
        in_preorder(&mut self.ends, nodes.len());
        let guessed = self.guessed.iter().filter(|id| kept[id.index()]).map(|id| heirs[id.index()]);
        let guessed = guessed.collect();
        Self { nodes, guessed, ..self }
    }

    /// The tree from the leaves up: the root's children are the names at which samples end, below
    /// each its callers. Twice gives the first tree again.
    #[must_use]
    pub fn inverted(&self) -> Self {
        self.turned(|end| Some(end.node))
    }

    /// Who calls a name: it stands below the root, its callers below it. Where a stack holds it
    /// more than once, the occurrence nearest the leaf counts.
    #[must_use]
    pub fn callers(&self, focus: NameId) -> Self {
        let inside = self.inside(focus);
        self.turned(|end| inside[end.node.index()])
    }

    /// What a name calls: it stands below the root, its callees below it. Where a stack holds it
    /// more than once, the occurrence nearest the leaf counts.
    #[must_use]
    pub fn callees(&self, focus: NameId) -> Self {
        // What is below an occurrence and leads to nothing but further ones is no callee of it.
        let mut live = vec![false; self.nodes.len()];
        self.ends.iter().for_each(|end| live[end.node.index()] = true);
        for at in (1..live.len()).rev() {
            let node = &self.nodes[at];
            if let (true, Some(above)) = (live[at] && node.name != focus, node.parent) {
                live[above.index()] = true;
            }
        }
        let mut builder = self.builder();
        let mut place: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len());
        for (at, (node, live)) in self.nodes.iter().zip(live).enumerate() {
            let above = node.parent.and_then(|above| place[above.index()]);
            let own = match above {
                _ if !live => None,
                _ if node.name == focus => Some(builder.child(0, focus)),
                above => above.map(|above| builder.child(above, node.name)),
            };
            if let Some(own) = own {
                builder.found(own, self.is_guessed(NodeId::at(at)));
            }
            place.push(own);
        }
        let moved = |end: &End| {
            let node = NodeId::at(place[end.node.index()]? as usize);
            Some(End { node, ..*end })
        };
        let ends = self.ends.iter().filter_map(moved).collect();
        builder.finish(Arc::clone(&self.names), ends, self.parts.to_vec(), self.unmet.clone())
    }

    /// For each node the innermost node of a name at or above it.
    fn inside(&self, focus: NameId) -> Vec<Option<NodeId>> {
        let mut inside: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let above = node.parent.and_then(|above| inside[above.index()]);
            inside.push(if node.name == focus { Some(NodeId::at(at)) } else { above });
        }
        inside
    }

    /// The tree of samples whose stacks are read upwards from a node, if there is one.
    fn turned(&self, from: impl Fn(&End) -> Option<NodeId>) -> Self {
        let mut builder = self.builder();
        // Ends are in preorder, so those of one node follow each other but for what is between.
        let mut known: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut ends = Vec::new();
        for end in &self.ends {
            let Some(from) = from(end) else { continue };
            let node = *known.entry(from).or_insert_with(|| {
                let up = std::iter::successors(Some(from), |at| self.nodes[at.index()].parent);
                let up = up.filter(|at| self.nodes[at.index()].parent.is_some());
                up.fold(0, |below, at| {
                    let node = builder.child(below, self.nodes[at.index()].name);
                    builder.found(node, self.is_guessed(at));
                    node
                })
            });
            ends.push(End { node: NodeId::at(node as usize), ..*end });
        }
        builder.finish(Arc::clone(&self.names), ends, self.parts.to_vec(), self.unmet.clone())
    }

    /// An empty tree for the same names.
    fn builder(&self) -> Builder {
        let root = self.nodes.first().map(|root| root.name).unwrap_or_default();
        let mut builder = Builder::under(root);
        builder.tells_guesses(!self.guessed.is_empty());
        builder
    }

    /// Both trees' samples in one, over the time range that holds both. In which order trees are
    /// merged does not matter.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let mut builder = Builder::new(Names::default());
        builder.tells_guesses(!self.guessed.is_empty() || !other.guessed.is_empty());
        let mut ends = Vec::with_capacity(self.ends.len() + other.ends.len());
        let mut first_leaf = 0;
        for tree in [self, other] {
            let places = tree.planted(&mut builder);
            ends.extend(tree.ends.iter().map(|end| End {
                leaf: end.leaf + first_leaf,
                node: NodeId::at(places[end.node.index()] as usize),
                folded: end.folded,
            }));
            let leaves: usize = tree.parts.iter().map(|part| part.keep.len()).sum();
            first_leaf += u32::try_from(leaves).unwrap_or(u32::MAX);
        }
        let parts = self.parts.iter().chain(other.parts.iter()).cloned().collect();
        let names = std::mem::take(&mut builder.names).into();
        builder.finish(names, ends, parts, Vec::new())
    }

    /// Gives every node a place in another tree; one entry a node.
    pub(super) fn planted(&self, builder: &mut Builder) -> Vec<u32> {
        let mut places: Vec<u32> = Vec::with_capacity(self.nodes.len());
        let mut names: Vec<Option<NameId>> = vec![None; self.names.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let place = node.parent.map_or(0, |above| {
                let name = names[node.name.index()]
                    .get_or_insert_with(|| builder.names.intern(self.names.text(node.name)));
                builder.child(places[above.index()], *name)
            });
            builder.found(place, self.is_guessed(NodeId::at(at)));
            places.push(place);
        }
        places
    }
}

/// One name next to the one in focus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Its name.
    pub name: NameId,
    /// The value that passes between the two.
    pub value: u64,
    /// Rows that pass between the two; of one that passes the focus several times, a part.
    pub count: f64,
}

/// One name, who calls it and what it calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Butterfly {
    /// The name's inclusive value: the sum over its callers.
    pub total: u64,
    /// What ended at the name itself; with the callees it sums to the total.
    pub own: u64,
    /// Its callers, by falling value.
    pub callers: Vec<Neighbour>,
    /// Its callees, by falling value.
    pub callees: Vec<Neighbour>,
}

impl CallTree {
    /// The neighbours of a name. A sample whose stack holds the name several times gives each
    /// occurrence an equal part of itself, so callers, callees and own value balance.
    #[must_use]
    pub fn butterfly(&self, focus: NameId) -> Butterfly {
        let mut found = Butterfly::default();
        let inside = self.inside(focus);
        // For each node the child of its innermost occurrence that it is or is below.
        let mut callee: Vec<Option<NameId>> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let occurs = inside[at].is_some_and(|focus| focus.index() == at);
            callee.push(match node.parent {
                _ if occurs || inside[at].is_none() => None,
                Some(above) if inside[at] == Some(above) => Some(node.name),
                Some(above) => callee[above.index()],
                None => None,
            });
        }
        let mut callers = vec![(0, 0.0); self.names.len()];
        let mut callees = vec![(0, 0.0); self.names.len()];
        for end in &self.ends {
            let Some(innermost) = inside[end.node.index()] else { continue };
            let outer = |at: &NodeId| self.nodes[at.index()].parent.and_then(|a| inside[a.index()]);
            let parts = std::iter::successors(Some(innermost), outer).count() as u64;
            let sum = self.sum(end);
            // From the leaf out: the callee of an occurrence is known where the inner one ends.
            let mut below = callee[end.node.index()];
            for (nth, at) in (0..parts).rev().zip(std::iter::successors(Some(innermost), outer)) {
                let share = (part_of(sum.value, nth, parts), sum.count as f64 / parts as f64);
                found.total += share.0;
                let caller = self.nodes[at.index()].parent;
                if let Some(caller) = caller {
                    add(&mut callers[self.nodes[caller.index()].name.index()], share);
                }
                match below {
                    Some(callee) => add(&mut callees[callee.index()], share),
                    None => found.own += share.0,
                }
                let direct = caller.is_some_and(|caller| inside[caller.index()] == Some(caller));
                below = if direct { Some(focus) } else { caller.and_then(|c| callee[c.index()]) };
            }
        }
        found.callers = self.neighbours(&callers);
        found.callees = self.neighbours(&callees);
        found
    }

    /// The names through which something passes, by falling value, then by name.
    fn neighbours(&self, sums: &[(u64, f64)]) -> Vec<Neighbour> {
        let passed = self.names.ids().zip(sums).filter(|(_, sum)| sum.0 > 0 || sum.1 > 0.0);
        let mut side: Vec<Neighbour> = passed
            .map(|(name, (value, count))| Neighbour { name, value: *value, count: *count })
            .collect();
        side.sort_by(|a, b| {
            (b.value.cmp(&a.value))
                .then_with(|| self.names.text(a.name).cmp(self.names.text(b.name)))
        });
        side
    }
}

fn add(sum: &mut (u64, f64), (value, count): (u64, f64)) {
    sum.0 += value;
    sum.1 += count;
}

/// The `nth` of so many equal parts of a whole; they sum to it.
fn part_of(whole: u64, nth: u64, parts: u64) -> u64 {
    let until = |nth: u64| u128::from(whole) * u128::from(nth) / u128::from(parts.max(1));
    u64::try_from(until(nth + 1) - until(nth)).unwrap_or(whole)
}
