//! A tree of XML that files patch: layers, patches, and conditions on roles and environments.
//!
//! ```text
//! web.config      appSettings   ->  rules: role = contentdelivery, env = qa
//! Sitecore.config <sitecore>    ->  tree
//! layers          *.config      ->  patches of the tree, each element under its conditions
//! ```
//!
//! Rules: the product's documentation, the Configuration-Roles module (RoleXmlPatchHelper.cs), and the
//! published patch helper of support packages.

mod admit;
mod base;
mod expression;
mod in_order;
mod keys;
mod layers;
mod near;
mod patch;
mod refuse;
mod rules;
mod tree;
mod xpath;

use culprit_model::Text;

use crate::configuration::Configuration;
use crate::framework;
use crate::ledger::Ledger;
use crate::profile::{Patches, Profile};
use crate::provenance::{Effective, Source};
use crate::sources::{Request, Root};
use crate::value::Redactor;

use admit::Context;
use in_order::Found;
use patch::{File, Merger};
use tree::Tree;

pub(crate) use admit::DIALECT;
pub(crate) use expression::Expression;

/// What a profile of the dialect says about a folder.
pub(crate) fn inspect(profile: &Profile, request: &Request, redactor: Redactor) -> Configuration {
    let root = Root::from_request(request);
    let mut ledger = Ledger::new(redactor);
    let settings = framework::read(profile, request, &root, &mut ledger);
    let mut effective = settings.effective(&ledger);
    let Some(patches) = &profile.patches else {
        return ledger.finish(profile, Vec::new(), effective);
    };
    let rules = rules::rules(patches, &settings, request, &ledger);
    let mut merger = Merger {
        tree: Tree::new(&patches.section, &patches.identify),
        ledger: &mut ledger,
        rules: &rules,
        patches,
        others: Vec::new(),
    };
    merger.base(&root, profile);
    let files = layers::files(patches, &root, merger.ledger);
    in_order::merge(&mut merger, &root, &files);
    effective.extend(merger.finish());
    let mut configuration = ledger.finish(profile, rules, effective);
    configuration.never_true = crate::roles::never_true(&configuration, profile);
    configuration.other_variables = settings.others;
    configuration
}

impl Merger<'_> {
    /// Merges a file of a layer, as it was read.
    fn file(&mut self, source: Source, found: Option<Found<'_, '_>>) {
        let index = self.ledger.source(source);
        let Some((lines, document)) = found else { return };
        let node = document.root_element();
        let section = node.first_element_child().filter(|child| {
            node.has_tag_name("configuration") && child.has_tag_name(self.patches.section.as_str())
        });
        let file = File { source: index, lines };
        match section {
            Some(section) => self.section(file, section),
            None => {
                "its first element is not the patched section"
                    .clone_into(&mut self.ledger.sources[index].why);
            }
        }
    }

    /// Merges the section of a file into the tree's root.
    fn section(&mut self, file: File<'_>, node: roxmltree::Node<'_, '_>) {
        match self.admit(file, node, Context::default()) {
            Ok(context) => {
                let patch = self.read(file, node);
                let wanted = patch.wanted.iter().map(|(name, value)| (name.clone(), *value));
                let sets = patch.sets.iter().map(|(name, value, _)| (name.clone(), *value));
                let at = file.lines.at(node.range().start);
                for (name, value) in wanted.chain(sets).collect::<Vec<_>>() {
                    let change = (crate::provenance::Op::Set, value);
                    let noted = self.assign_to(file, &name, change, at, context);
                    self.tree.set(0, Some(&name), noted, self.ledger);
                }
                self.children(file, 0, node, (false, context));
            }
            Err(refusal) => {
                let spot = patch::Spot::at(0);
                for child in node.children().filter(roxmltree::Node::is_element) {
                    self.refuse(file, &spot, Some(0), child, &refusal);
                }
            }
        }
    }

    /// The keys of the tree.
    fn finish(self) -> Vec<Effective> {
        let paths = keys::paths(&self.tree);
        let needed = self.others.iter().filter(|(_, spot)| !spot.relative.is_empty());
        let needed = needed.map(|(_, spot)| spot.anchor).collect();
        let mut effective = keys::effective(&self.tree, &paths, &needed, self.ledger);
        let mut others = Vec::with_capacity(self.others.len());
        for (at, spot) in &self.others {
            let key = Text::from(keys::join(&paths[spot.anchor as usize], &spot.relative));
            let is_of_cell = self.ledger.assignments[*at].outcome
                == crate::provenance::Outcome::AddedInsteadOfChanged;
            // What was added has a key of its own, and belongs to the one that was meant, too.
            if !is_of_cell {
                self.ledger.assignments[*at].key.clone_from(&key);
            }
            others.push((key, *at));
        }
        keys::add_others(&mut effective, others, self.ledger);
        effective
    }
}

/// The rules that a profile declares, and how the values of each are known.
pub(crate) fn declared(patches: &Patches) -> impl Iterator<Item = (&str, &[String])> {
    patches.rules.iter().map(|rule| (rule.name.as_str(), rule.values.as_slice()))
}
