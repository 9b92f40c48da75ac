//! The tree before any patch: the section of the main file, and what it includes.

use std::path::Path;

use roxmltree::{Document, Node};

use super::admit::Context;
use super::patch::{File, Merger};
use crate::folder::{self, Text, text_of};
use crate::position::Lines;
use crate::profile::Profile;
use crate::provenance::{Op, SourceState};
use crate::readers::parse_xml;
use crate::sources::Root;

/// The element that includes another file.
const INCLUDE: &str = "sc.include";
/// Files that include each other deeper than this are taken for endless.
const MOST_INCLUDES: usize = 32;

/// Where the file is that the main file does not name.
const USUAL: &str = "App_Config/Sitecore.config";

impl Merger<'_> {
    /// Reads the tree.
    pub(super) fn base(&mut self, root: &Root, profile: &Profile) {
        let files = profile.builders.iter().flat_map(|builders| &builders.files);
        let main = files.into_iter().find_map(|file| folder::find(root, file));
        let text = main.as_ref().and_then(|file| text_of(root, file, "", true).text);
        let (mut named, mut is_inline) = (None, false);
        if let Some(text) = &text {
            let lines = Lines::new(text);
            let document = parse_xml(text, &lines).ok();
            if let Some(section) = document.as_ref().and_then(|document| self.section_of(document))
            {
                named = section.attribute("configSource").map(str::to_owned);
                is_inline = named.is_none();
                if is_inline {
                    // The main file is the first source.
                    let file = File { source: 0, lines: &lines };
                    self.copy(root, file, 0, section, &mut Vec::new());
                }
            }
        }
        let usual = || folder::find(root, USUAL);
        if let Some(file) = named.or_else(usual).filter(|_| !is_inline) {
            self.include(root, &file, 0, &mut Vec::new());
        }
    }

    fn section_of<'a, 'b>(&self, document: &'a Document<'b>) -> Option<Node<'a, 'b>> {
        let section = self.patches.section.as_str();
        document.root_element().children().find(|child| child.has_tag_name(section))
    }

    /// Adds what is below the root element of a file to an element of the tree.
    fn include(&mut self, root: &Root, path: &str, target: u32, above: &mut Vec<String>) {
        let Text { mut source, text } = text_of(root, path, "base", true);
        let name = source.name.to_lowercase();
        let is_cycle = above.contains(&name);
        if is_cycle || above.len() >= MOST_INCLUDES {
            above.push(name);
            source.state = SourceState::Unparsable;
            source.why = match is_cycle {
                true => format!("includes itself: {}", above.join(" > ")),
                false => format!("included deeper than {MOST_INCLUDES} files"),
            };
            above.pop();
            self.ledger.source(source);
            return;
        }
        let index = self.ledger.source(source);
        let Some(text) = text else { return };
        let lines = Lines::new(&text);
        let Some(document) = self.ledger.parsed(index, &text, &lines) else { return };
        above.push(name);
        let file = File { source: index, lines: &lines };
        self.copy(root, file, target, document.root_element(), above);
        above.pop();
    }

    /// Copies the attributes and children of an element.
    fn copy(
        &mut self,
        root: &Root,
        file: File<'_>,
        target: u32,
        node: Node<'_, '_>,
        above: &mut Vec<String>,
    ) {
        let patch = self.read(file, node);
        let element = patch.name.local.as_str();
        let attributes = node.attributes().filter(|one| {
            one.namespace().is_none_or(|space| !space.starts_with(super::patch::PATCH))
        });
        for attribute in attributes {
            let identity = patch.identity(self.patches).filter(|(own, _)| *own != attribute.name());
            let written = identity.map_or(attribute.name(), |(_, value)| value);
            let names = [element, written, attribute.name()];
            let at = file.lines.at(attribute.range().start);
            let change = (Op::Set, attribute.value());
            let noted = self.assign(file, (&names, written), change, at, Context::default());
            let name = self.tree.name(attribute.namespace(), attribute.name());
            self.tree.set(target, Some(&name), noted, self.ledger);
        }
        for child in node.children() {
            if child.is_text() {
                self.base_text(file, target, child);
            } else if child.has_tag_name(INCLUDE) {
                let path = child.attribute("file").unwrap_or_default().to_owned();
                if !Path::new(&path).as_os_str().is_empty() {
                    self.include(root, &path, target, above);
                }
            } else if child.is_element() {
                match self.admit(file, child, Context::default()) {
                    Ok(_) => {
                        let tag = child.tag_name();
                        let name = self.tree.name(tag.namespace(), tag.name());
                        let new = self.tree.create(name, target);
                        self.tree.append(new);
                        self.copy(root, file, new, child, above);
                    }
                    Err(refusal) => {
                        let spot = super::patch::Spot::at(target);
                        self.refuse(file, &spot, None, child, &refusal);
                    }
                }
            }
        }
    }

    fn base_text(&mut self, file: File<'_>, target: u32, node: Node<'_, '_>) {
        let text = node.text().unwrap_or_default().trim();
        if text.is_empty() {
            return;
        }
        let name = self.tree.element(target).name.clone();
        let at = file.lines.at(node.range().start);
        let noted = self.assign_to(file, &name, (Op::Set, text), at, Context::default());
        self.tree.set(target, None, noted, self.ledger);
    }
}
