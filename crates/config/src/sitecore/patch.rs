//! A patch: how an element of it finds the element that it changes, and what it changes.
//!
//! The order of steps is that of the program's own patch helper: condition, match, place, attributes,
//! children; what could not be placed is tried once more at the end of its parent.

mod commands;
mod relevance;

use roxmltree::{Attribute, Node};

pub(super) use commands::is_command;
use commands::only_commands;

use super::admit::Context;
use super::near::counterpart;
use super::tree::{Name, Tree, Wanted};
use super::xpath::Path;
use crate::ledger::{Entry, Ledger};
use crate::position::{Lines, Position};
use crate::profile::Patches;
use crate::provenance::{Op, Outcome};
use crate::sources::Defined;

/// The namespace of patch commands; those of rules are below it.
pub(super) const PATCH: &str = "http://www.sitecore.net/xmlconfig/";
/// The namespace of attributes that change a value.
pub(super) const SET: &str = "http://www.sitecore.net/xmlconfig/set/";

/// Where a key is that an assignment belongs to.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// An element of the tree.
    pub(super) anchor: u32,
    /// The key below it.
    pub(super) relative: String,
}

impl Spot {
    pub(super) fn at(anchor: u32) -> Self {
        Self { anchor, relative: String::new() }
    }

    pub(super) fn below(&self, part: &str) -> Self {
        Self { anchor: self.anchor, relative: super::keys::join(&self.relative, part) }
    }
}

/// The files that are merged into a tree.
pub(super) struct Merger<'a> {
    pub(super) tree: Tree,
    pub(super) ledger: &'a mut Ledger,
    pub(super) rules: &'a [Defined],
    pub(super) patches: &'a Patches,
    /// Assignments that no cell of the tree has, and the key that each belongs to.
    pub(super) others: Vec<(usize, Spot)>,
}

/// The file that is merged.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) source: usize,
    pub(super) lines: &'a Lines<'a>,
}

/// An element of a patch.
pub(super) struct Patch<'a> {
    pub(super) name: Name,
    /// What the element that it changes must have.
    pub(super) wanted: Vec<Wanted<'a>>,
    /// Attributes that it sets, each with its place.
    pub(super) sets: Vec<(Name, &'a str, Position)>,
    /// The places of `wanted`.
    pub(super) places: Vec<Position>,
    pub(super) insert: Option<Insert>,
    /// Whether it has children, and all are commands.
    only_commands: bool,
    at: Position,
}

/// Where an element is to be placed.
#[derive(Debug, Clone)]
pub(super) struct Insert {
    op: Op,
    reference: String,
    at: Position,
}

/// An element that could not be placed yet.
struct Pending {
    element: u32,
    insert: Insert,
    context: Context,
}

impl Merger<'_> {
    /// Notes an assignment; its key follows at the end. `names` are all that may say that it is secret.
    pub(super) fn assign(
        &mut self,
        file: File<'_>,
        (names, written): (&[&str], &str),
        (op, value): (Op, &str),
        at: Position,
        context: Context,
    ) -> usize {
        let entry = Entry {
            source: file.source,
            key: "",
            written,
            op,
            value,
            at: Some(at),
            condition: context.condition,
        };
        let assignment = self.ledger.assign_without_key(names, &entry);
        if context.is_ignored
            && let Some(condition) = context.condition
        {
            let rule = &self.ledger.conditions[condition].inputs.0;
            let reason = format!("nothing defines the rule `{rule}`, so the condition is ignored");
            let one = &mut self.ledger.assignments[assignment];
            (one.outcome, one.reason) = (Outcome::ConditionIgnored, reason);
        }
        assignment
    }

    /// Notes an assignment to an element itself.
    pub(super) fn assign_to(
        &mut self,
        file: File<'_>,
        name: &Name,
        change: (Op, &str),
        at: Position,
        context: Context,
    ) -> usize {
        let name = name.local.as_str();
        self.assign(file, (&[name], name), change, at, context)
    }

    /// Notes an assignment that changes nothing.
    pub(super) fn lost(&mut self, assignment: usize, spot: Spot, outcome: Outcome, reason: String) {
        let one = &mut self.ledger.assignments[assignment];
        (one.outcome, one.reason) = (outcome, reason);
        self.others.push((assignment, spot));
    }

    /// Merges the children of an element of a patch. `inserted`: the target is new.
    pub(super) fn children(
        &mut self,
        file: File<'_>,
        target: u32,
        node: Node<'_, '_>,
        (mut inserted, context): (bool, Context),
    ) {
        let mut pending: Vec<Pending> = Vec::new();
        for child in node.children() {
            if child.is_text() {
                self.text(file, target, child, context);
            }
            if !child.is_element() {
                continue;
            }
            match self.admit(file, child, context) {
                Err(refusal) => self.refuse(file, &Spot::at(target), Some(target), child, &refusal),
                Ok(context) if child.tag_name().namespace() == Some(PATCH) => {
                    self.command(file, target, child, context);
                }
                Ok(context) => {
                    self.element(file, target, child, (&mut inserted, &mut pending, context));
                }
            }
        }
        while let Some(one) = pending.pop() {
            self.place_again(file, target, &one);
        }
    }

    fn text(&mut self, file: File<'_>, target: u32, node: Node<'_, '_>, context: Context) {
        let text = node.text().unwrap_or_default().trim();
        if text.is_empty() {
            return;
        }
        // The text starts behind the blanks that were cut.
        let blanks = node.text().unwrap_or_default().len()
            - node.text().unwrap_or_default().trim_start().len();
        let at = file.lines.at(node.range().start + blanks);
        let name = self.tree.element(target).name.clone();
        let is_new = self.tree.value(target, None).is_none();
        let op = if is_new { Op::Set } else { Op::ReplaceText };
        let assignment = self.assign_to(file, &name, (op, text), at, context);
        for child in self.tree.element(target).children.clone() {
            self.remove(child, assignment);
        }
        self.tree.set(target, None, assignment, self.ledger);
    }

    fn element(
        &mut self,
        file: File<'_>,
        target: u32,
        node: Node<'_, '_>,
        (inserted, pending, context): (&mut bool, &mut Vec<Pending>, Context),
    ) {
        let patch = self.read(file, node);
        let mut found = None;
        if !*inserted || patch.only_commands {
            found = self.best(target, &patch, node);
            *inserted = false;
        }
        let Some(found) = found else {
            self.create(file, target, node, (&patch, *inserted, pending, context));
            return;
        };
        if let Some(insert) = &patch.insert {
            let change = (insert.op, insert.reference.as_str());
            let assignment = self.assign_to(file, &patch.name, change, insert.at, context);
            match self.place(found, target, insert, assignment) {
                Placed::Done => self.others.push((assignment, Spot::at(found))),
                Placed::Unresolved => {
                    // It is tried again, and noted then.
                    self.ledger.assignments[assignment].outcome = Outcome::NoTarget;
                    self.others.push((assignment, Spot::at(found)));
                    pending.push(Pending { element: found, insert: insert.clone(), context });
                }
                Placed::NotFollowed => self.not_followed(assignment, found),
            }
        }
        self.set_all(file, found, &patch, context);
        self.children(file, found, node, (false, context));
    }

    fn set_all(&mut self, file: File<'_>, at: u32, patch: &Patch<'_>, context: Context) {
        for (name, value, place) in &patch.sets {
            let written = self.written(at, name);
            let names = [patch.name.local.as_str(), &written, &name.local];
            let assignment =
                self.assign(file, (&names, &written), (Op::Set, value), *place, context);
            self.tree.set(at, Some(name), assignment, self.ledger);
        }
    }

    /// What people call the attribute of an element: by what tells the element apart.
    fn written(&self, at: u32, name: &Name) -> String {
        match self.tree.identity(at) {
            Some((own, value)) if name.local != *own => value.to_owned(),
            _ => name.local.to_string(),
        }
    }

    fn create(
        &mut self,
        file: File<'_>,
        target: u32,
        node: Node<'_, '_>,
        (patch, inserted, pending, context): (&Patch<'_>, bool, &mut Vec<Pending>, Context),
    ) {
        let spot = Spot::at(target).below(&self.part(patch));
        if let Some(delete) = node.children().find(|child| is_command(*child, "delete", "d")) {
            let at = file.lines.at(delete.range().start);
            let assignment = self.assign_to(file, &patch.name, (Op::Delete, ""), at, context);
            let reason = "no element matches, so that nothing is deleted".to_owned();
            self.lost(assignment, spot, Outcome::NoTarget, reason);
            return;
        }
        let meant = if inserted {
            None
        } else {
            counterpart(&self.tree, target, patch, self.patches, node)
        };
        let element = self.tree.create(patch.name.clone(), target);
        self.tree.append(element);
        let op = patch.insert.as_ref().map_or(Op::Add, |insert| insert.op);
        let wanted = patch.wanted.iter().zip(&patch.places);
        let all: Vec<(Name, &str, Position)> = wanted
            .map(|((name, value), place)| (name.clone(), *value, *place))
            .chain(patch.sets.iter().cloned())
            .collect();
        let mut first = None;
        for (name, value, place) in all {
            let identity = patch.identity(self.patches).filter(|(own, _)| *own != &*name.local);
            let written = identity.map_or(name.local.as_str(), |(_, value)| value);
            let names = [patch.name.local.as_str(), written, &name.local];
            let assignment = self.assign(file, (&names, written), (op, value), place, context);
            self.tree.set(element, Some(&name), assignment, self.ledger);
            first = first.or(Some(assignment));
            if let Some((other, reason)) = &meant {
                let one = &mut self.ledger.assignments[assignment];
                one.outcome = Outcome::AddedInsteadOfChanged;
                one.reason = format!("{reason}, so that a second one was added");
                let spot = Spot::at(*other).below(&format!("@{}", name.local));
                self.others.push((assignment, spot));
            }
        }
        if let Some(insert) = &patch.insert {
            // What it takes the place of is superseded by its first attribute.
            let assignment = first.unwrap_or_else(|| {
                let made = self.assign_to(file, &patch.name, (op, ""), patch.at, context);
                self.others.push((made, Spot::at(element)));
                made
            });
            match self.place(element, target, insert, assignment) {
                Placed::Done => {}
                Placed::Unresolved => {
                    pending.push(Pending { element, insert: insert.clone(), context });
                }
                Placed::NotFollowed => {
                    let change = (insert.op, insert.reference.as_str());
                    let noted = self.assign_to(file, &patch.name, change, insert.at, context);
                    self.not_followed(noted, element);
                }
            }
        }
        self.children(file, element, node, (true, context));
    }

    fn not_followed(&mut self, assignment: usize, element: u32) {
        let reason = "Culprit does not follow an XPath of this form".to_owned();
        self.lost(assignment, Spot::at(element), Outcome::Unknown, reason);
    }

    /// Places an element where its patch says; at the end, where that is not found.
    fn place(&mut self, child: u32, parent: u32, insert: &Insert, assignment: usize) -> Placed {
        let Some(path) = Path::parse(&insert.reference) else { return Placed::NotFollowed };
        let found = path.first(&self.tree, parent);
        let Some(other) = found.filter(|other| self.tree.element(*other).parent == parent) else {
            self.tree.place(child, None);
            return Placed::Unresolved;
        };
        match insert.op {
            Op::Before => self.tree.place(child, Some((other, false))),
            Op::After => self.tree.place(child, Some((other, true))),
            // In its own place: it is emptied, if it has children.
            _ if other == child => {
                for below in self.tree.element(child).children.clone() {
                    self.remove(below, assignment);
                }
            }
            _ => {
                self.tree.place(child, Some((other, false)));
                self.remove(other, assignment);
            }
        }
        Placed::Done
    }

    fn place_again(&mut self, file: File<'_>, target: u32, one: &Pending) {
        let name = self.tree.element(one.element).name.clone();
        let change = (one.insert.op, one.insert.reference.as_str());
        let noted = self.assign_to(file, &name, change, one.insert.at, one.context);
        if matches!(self.place(one.element, target, &one.insert, noted), Placed::Done) {
            self.others.push((noted, Spot::at(one.element)));
            return;
        }
        let reason = format!(
            "`{}` matches no element beside it, so that it stands at the end",
            one.insert.reference
        );
        self.lost(noted, Spot::at(one.element), Outcome::NoTarget, reason);
    }

    /// Takes an element and all below it out of the tree.
    fn remove(&mut self, element: u32, assignment: usize) {
        self.tree.detach(element);
        for at in self.tree.subtree(element) {
            let one = self.tree.element_mut(at);
            one.removed_by = Some(crate::position::number(assignment));
            for cell in &mut one.cells {
                if let Some(loser) = cell.winner.take() {
                    self.ledger.supersede(loser as usize, assignment);
                }
            }
        }
    }

    /// `patch:attribute`, `patch:delete`, `patch:deleteattribute`.
    fn command(&mut self, file: File<'_>, target: u32, node: Node<'_, '_>, context: Context) {
        let at = file.lines.at(node.range().start);
        let element = self.tree.element(target).name.clone();
        match node.tag_name().name() {
            "delete" | "d" => {
                let assignment = self.assign_to(file, &element, (Op::Delete, ""), at, context);
                self.remove(target, assignment);
                self.others.push((assignment, Spot::at(target)));
            }
            "attribute" | "a" => {
                let Some((name, value)) = self.attribute_command(node) else { return };
                let is_new = self.tree.value(target, Some(&name)).is_none();
                let written = self.written(target, &name);
                let names = [element.local.as_str(), &written, &name.local];
                let op = if is_new { Op::Add } else { Op::Set };
                let assignment = self.assign(file, (&names, &written), (op, &value), at, context);
                self.tree.set(target, Some(&name), assignment, self.ledger);
            }
            "deleteattribute" | "da" => {
                let Some((name, _)) = self.attribute_command(node) else { return };
                let written = self.written(target, &name);
                let change = (Op::DeleteAttribute, "");
                let names = [element.local.as_str()];
                let assignment = self.assign(file, (&names, &written), change, at, context);
                if self.tree.value(target, Some(&name)).is_some() {
                    self.tree.set(target, Some(&name), assignment, self.ledger);
                    return;
                }
                let spot = Spot::at(target).below(&format!("@{}", name.local));
                let reason = "the element has no such attribute".to_owned();
                self.lost(assignment, spot, Outcome::NoTarget, reason);
            }
            _ => {}
        }
    }

    /// The name and the value of an attribute that a command is about.
    pub(super) fn attribute_command(&mut self, node: Node<'_, '_>) -> Option<(Name, String)> {
        let name = self.tree.name(node.attribute("ns"), node.attribute("name")?);
        let text = node.text().map(str::trim).filter(|text| !text.is_empty());
        let value = text.or_else(|| node.attribute("value")).unwrap_or_default();
        Some((name, value.to_owned()))
    }

    /// What an element of a patch asks for.
    pub(super) fn read<'a>(&mut self, file: File<'_>, node: Node<'a, '_>) -> Patch<'a> {
        let tag = node.tag_name();
        let mut patch = Patch {
            name: self.tree.name(tag.namespace(), tag.name()),
            wanted: Vec::new(),
            sets: Vec::new(),
            places: Vec::new(),
            insert: None,
            only_commands: only_commands(node),
            at: file.lines.at(node.range().start),
        };
        for attribute in node.attributes() {
            let at = file.lines.at(attribute.range().start);
            match attribute.namespace() {
                Some(SET) => {
                    let name = self.tree.name(None, attribute.name());
                    patch.sets.push((name, attribute.value(), at));
                }
                Some(PATCH) => patch.insert = insert(attribute, at).or(patch.insert),
                // The condition.
                Some(space) if space.starts_with(PATCH) => {}
                space => {
                    let name = self.tree.name(space, attribute.name());
                    if self.patches.match_by.is_empty()
                        || self.patches.match_by.iter().any(|by| by == attribute.name())
                    {
                        patch.wanted.push((name, attribute.value()));
                        patch.places.push(at);
                    } else {
                        patch.sets.push((name, attribute.value(), at));
                    }
                }
            }
        }
        patch
    }

    /// The part of a key that an element of a patch is.
    pub(super) fn part(&self, patch: &Patch<'_>) -> String {
        super::keys::part(&patch.name.local, patch.identity(self.patches))
    }
}

impl Patch<'_> {
    /// The attribute that tells it apart: name and value.
    pub(super) fn identity<'a>(&'a self, patches: &'a Patches) -> Option<(&'a str, &'a str)> {
        patches.identify.iter().find_map(|by| {
            let of_match = self.wanted.iter().map(|(name, value)| (name, *value));
            let mut all = of_match.chain(self.sets.iter().map(|(name, value, _)| (name, *value)));
            let (_, value) = all.find(|(name, _)| *name.local == **by && name.space.is_empty())?;
            Some((by.as_str(), value))
        })
    }
}

/// What became of placing an element.
enum Placed {
    Done,
    /// The reference leads to no element beside it.
    Unresolved,
    /// The reference is of a form that is not followed.
    NotFollowed,
}

fn insert(attribute: Attribute<'_, '_>, at: Position) -> Option<Insert> {
    let op = match attribute.name() {
        "before" | "b" => Op::Before,
        "after" | "a" => Op::After,
        "instead" | "i" => Op::Instead,
        _ => return None,
    };
    Some(Insert { op, reference: attribute.value().to_owned(), at })
}
