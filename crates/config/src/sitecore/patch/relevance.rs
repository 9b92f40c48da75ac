//! Which of several elements a patch means.

use roxmltree::Node;

use super::{Merger, PATCH, Patch, Wanted};

/// Steps of looking for the best match of one element; a patch can make it exponential.
const MOST_STEPS: u32 = 10_000;
/// How deep children are compared, as in the original.
const MATCH_DEPTH: u32 = 30;

impl Merger<'_> {
    /// The element that a patch changes; none if there is none.
    pub(in super::super) fn best(
        &mut self,
        target: u32,
        patch: &Patch<'_>,
        node: Node<'_, '_>,
    ) -> Option<u32> {
        let found = self.tree.matching(target, &patch.name, &patch.wanted);
        match found.as_slice() {
            [] => None,
            [one] => Some(*one),
            [first, ..] if !self.patches.relevance => Some(*first),
            many => {
                let mut steps = MOST_STEPS;
                let mut best = (f32::MIN, many[0]);
                for one in many {
                    let relevance = self.relevance(*one, node, 1, &mut steps);
                    if relevance > best.0 {
                        best = (relevance, *one);
                    }
                }
                Some(if steps == 0 { many[0] } else { best.1 })
            }
        }
    }

    /// How many children of a patch an element has, less those that it has not.
    fn relevance(&mut self, at: u32, node: Node<'_, '_>, level: u32, steps: &mut u32) -> f32 {
        let mut sum = 0.0;
        if level > MATCH_DEPTH || self.tree.element(at).children.is_empty() {
            return sum;
        }
        for child in node.children().filter(Node::is_element) {
            if *steps == 0 {
                break;
            }
            *steps -= 1;
            let wanted: Vec<Wanted<'_>> = child
                .attributes()
                .filter(|one| one.namespace().is_none_or(|space| !space.starts_with(PATCH)))
                .map(|one| (self.tree.name(one.namespace(), one.name()), one.value()))
                .collect();
            let name = self.tree.name(child.tag_name().namespace(), child.tag_name().name());
            match self.tree.matching(at, &name, &wanted).first() {
                None => sum -= 1.0,
                Some(other) => sum += 1.0 + self.relevance(*other, child, level + 1, steps) / 10.0,
            }
        }
        sum
    }
}
