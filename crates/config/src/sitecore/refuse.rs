//! What an element of a patch would have changed, had its condition been true.
//!
//! Its assignments are noted with the keys that they are meant for, so that `explain` shows why they lost.

use roxmltree::Node;

use super::admit::{Context, Refusal};
use super::patch::{File, Merger, PATCH, Spot};
use crate::provenance::Op;

impl Merger<'_> {
    pub(super) fn refuse(
        &mut self,
        file: File<'_>,
        spot: &Spot,
        target: Option<u32>,
        node: Node<'_, '_>,
        refusal: &Refusal,
    ) {
        if node.tag_name().namespace() == Some(PATCH) {
            self.refuse_command(file, spot, node, refusal);
            return;
        }
        let patch = self.read(file, node);
        let found = target.and_then(|target| self.best(target, &patch, node));
        let own = match found {
            Some(at) => Spot::at(at),
            None => spot.below(&self.part(&patch)),
        };
        let context = Context { condition: refusal.condition, is_ignored: false };
        let wanted = patch.wanted.iter().zip(&patch.places);
        let added = wanted.map(|((name, value), place)| (name.clone(), *value, *place, Op::Add));
        let added: Vec<_> = if found.is_none() { added.collect() } else { Vec::new() };
        let sets = patch.sets.iter().map(|(name, value, at)| (name.clone(), *value, *at, Op::Set));
        for (name, value, at, op) in added.into_iter().chain(sets) {
            let identity = patch.identity(self.patches).filter(|(own, _)| *own != &*name.local);
            let written = identity.map_or(name.local.as_str(), |(_, value)| value);
            let names = [patch.name.local.as_str(), written, &name.local];
            let noted = self.assign(file, (&names, written), (op, value), at, context);
            let spot = own.below(&format!("@{}", name.local));
            self.lost(noted, spot, refusal.outcome, refusal.reason.clone());
        }
        for child in node.children() {
            if child.is_element() {
                self.refuse(file, &own, found, child, refusal);
            } else if let Some(text) =
                child.text().map(str::trim).filter(|text| child.is_text() && !text.is_empty())
            {
                let at = file.lines.at(child.range().start);
                let change = (Op::ReplaceText, text);
                let noted = self.assign_to(file, &patch.name, change, at, context);
                self.lost(noted, own.clone(), refusal.outcome, refusal.reason.clone());
            }
        }
    }

    fn refuse_command(
        &mut self,
        file: File<'_>,
        spot: &Spot,
        node: Node<'_, '_>,
        refusal: &Refusal,
    ) {
        let at = file.lines.at(node.range().start);
        let context = Context { condition: refusal.condition, is_ignored: false };
        let (op, name, value) = match node.tag_name().name() {
            "delete" | "d" => (Op::Delete, None, String::new()),
            "attribute" | "a" => match self.attribute_command(node) {
                Some((name, value)) => (Op::Set, Some(name), value),
                None => return,
            },
            "deleteattribute" | "da" => match self.attribute_command(node) {
                Some((name, _)) => (Op::DeleteAttribute, Some(name), String::new()),
                None => return,
            },
            _ => return,
        };
        let (spot, written) = match &name {
            Some(name) => (spot.below(&format!("@{}", name.local)), name.local.to_string()),
            None => (spot.clone(), node.tag_name().name().to_owned()),
        };
        let names = [spot.relative.as_str(), &written];
        let noted = self.assign(file, (&names, &written), (op, &value), at, context);
        self.lost(noted, spot, refusal.outcome, refusal.reason.clone());
    }
}
