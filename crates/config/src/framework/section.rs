//! The main file: its builders as they are written, and its sections before they are filled.

use roxmltree::{Document, Node};
use rustc_hash::FxHashMap;

use super::builder::Written;
use crate::folder::{self, Text};
use crate::ledger::{Entry, Ledger};
use crate::position::Lines;
use crate::provenance::{Op, Outcome, SourceState};
use crate::sources::Root;

/// A kind of section that builders can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// The section's name.
    pub(super) name: &'static str,
    /// The attribute of `<add>` that is the key.
    pub(super) key: &'static str,
    /// The attribute that is the value.
    pub(super) value: &'static str,
    /// What stands before the key in output.
    pub(super) start: &'static str,
}

/// The sections with a handler, in the order in which they are filled.
const KINDS: [Kind; 2] = [
    Kind { name: "appSettings", key: "key", value: "value", start: "" },
    Kind {
        name: "connectionStrings",
        key: "name",
        value: "connectionString",
        start: "connectionStrings/",
    },
];

/// A key of a section.
#[derive(Debug)]
pub(super) struct Cell {
    /// The key as it is shown.
    pub(super) key: String,
    /// Its assignments, weakest first.
    pub(super) chain: Vec<usize>,
    /// The one that counts; none if the key was removed.
    pub(super) winner: Option<usize>,
    /// Whether it rests on rules that are not published.
    pub(super) assumed: bool,
}

/// A section.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) kind: Kind,
    /// Where it stands: `FILE:LINE`.
    pub(super) place: String,
    /// The names of its builders.
    pub(super) builders: Vec<String>,
    pub(super) cells: Vec<Cell>,
    /// The place in `cells` of each key, in lower case.
    by_key: FxHashMap<String, usize>,
    /// The builders that filled it, as they were understood.
    pub(super) applied: Vec<super::apply::Applied>,
}

impl Section {
    /// The key of a name, as it is shown.
    pub(super) fn shown(&self, name: &str) -> String {
        format!("{}{name}", self.kind.start)
    }

    /// The name of a cell, as the section writes it; none for an attribute beside the value.
    pub(super) fn name_of<'a>(&self, cell: &'a Cell) -> Option<&'a str> {
        let name = cell.key.strip_prefix(self.kind.start)?;
        (!name.contains("/@")).then_some(name)
    }

    /// The cell of a shown key; none if there is none.
    pub(super) fn find(&self, key: &str) -> Option<&Cell> {
        self.by_key.get(&key.to_ascii_lowercase()).map(|at| &self.cells[*at])
    }

    /// The cell of a shown key, made if there is none.
    pub(super) fn cell(&mut self, key: &str) -> &mut Cell {
        let at = *self.by_key.entry(key.to_ascii_lowercase()).or_insert_with(|| {
            self.cells.push(Cell {
                key: key.to_owned(),
                chain: Vec::new(),
                winner: None,
                assumed: false,
            });
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }

    /// Lets an assignment win its key.
    pub(super) fn win(&mut self, ledger: &mut Ledger, at: usize) {
        let key = ledger.assignments[at].key.clone();
        let is_removal = matches!(ledger.assignments[at].op, Op::Delete | Op::DeleteAttribute);
        let cell = self.cell(&key);
        cell.chain.push(at);
        let loser = cell.winner.replace(at);
        if is_removal {
            cell.winner = None;
        }
        if let Some(loser) = loser {
            ledger.supersede(loser, at);
        }
    }
}

/// Another section that names builders.
#[derive(Debug)]
pub(super) struct Other {
    source: usize,
    name: String,
    builders: Vec<String>,
    at: crate::Position,
}

/// The main file.
#[derive(Debug, Default)]
pub(super) struct Main {
    pub(super) builders: Vec<Written>,
    pub(super) sections: Vec<Section>,
    pub(super) others: Vec<Other>,
}

impl Main {
    /// Reads the file, and those that its sections name.
    pub(super) fn read(root: &Root, file: &str, ledger: &mut Ledger) -> Self {
        let Text { source, text } = folder::text_of(root, file, "main file", true);
        let source = ledger.source(source);
        let Some(text) = text else { return Self::default() };
        let lines = Lines::new(&text);
        let Some(document) = ledger.parsed(source, &text, &lines) else { return Self::default() };
        let mut main = Self { builders: Written::all(&document, &lines), ..Self::default() };
        for node in document.root_element().children().filter(Node::is_element) {
            let name = node.tag_name().name();
            let builders = names_of(node.attribute("configBuilders").unwrap_or_default());
            let at = lines.at(node.range().start);
            match KINDS.iter().find(|kind| kind.name == name) {
                Some(kind) => {
                    let place = format!("{}:{}", ledger.sources[source].name, at.line);
                    let mut section = Section {
                        kind: *kind,
                        place,
                        builders,
                        cells: Vec::new(),
                        by_key: FxHashMap::default(),
                        applied: Vec::new(),
                    };
                    section.read(root, (source, node, &lines), ledger);
                    main.sections.push(section);
                }
                None if !builders.is_empty() => {
                    main.others.push(Other { source, name: name.to_owned(), builders, at });
                }
                None => {}
            }
        }
        // The order in which they are filled; a file may have them in another one.
        main.sections.sort_by_key(|section| section.kind.name != KINDS[0].name);
        main
    }
}

/// `A,B` as names.
fn names_of(list: &str) -> Vec<String> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

impl Section {
    /// Reads the section's element, or the file that it names instead, then the file that it adds.
    fn read(
        &mut self,
        root: &Root,
        (source, node, lines): (usize, Node<'_, '_>, &Lines<'_>),
        ledger: &mut Ledger,
    ) {
        if let Some(provider) = node.attribute("configProtectionProvider") {
            let mut encrypted = ledger.sources[source].clone();
            encrypted.layer = format!("{} of the main file", self.kind.name);
            encrypted.state = SourceState::Unsupported;
            encrypted.why = format!("encrypted by `{provider}`");
            ledger.source(encrypted);
            return;
        }
        match node.attribute("configSource") {
            Some(file) => self.read_file(root, file, true, ledger),
            None => self.entries(source, node, lines, ledger),
        }
        let added = node.attribute("file").filter(|_| self.kind == KINDS[0]);
        if let Some(file) = added {
            self.read_file(root, file, false, ledger);
        }
    }

    fn read_file(&mut self, root: &Root, file: &str, required: bool, ledger: &mut Ledger) {
        let layer = format!("{} of the main file", self.kind.name);
        let Text { source, text } = folder::text_of(root, file, &layer, required);
        let source = ledger.source(source);
        if ledger.sources[source].state == SourceState::Missing {
            ledger.sources[source].why = format!(
                "no such file; `file` of `{}` is optional, so the program starts without it",
                self.kind.name
            );
        }
        let Some(text) = text else { return };
        let lines = Lines::new(&text);
        let Some(document) = ledger.parsed(source, &text, &lines) else { return };
        let node = document.root_element();
        if self.builders.is_empty() {
            self.builders = names_of(node.attribute("configBuilders").unwrap_or_default());
        }
        self.entries(source, node, &lines, ledger);
    }

    /// `<add>`, `<remove>` and `<clear>`, in their order.
    fn entries(
        &mut self,
        source: usize,
        node: Node<'_, '_>,
        lines: &Lines<'_>,
        ledger: &mut Ledger,
    ) {
        for child in node.children().filter(Node::is_element) {
            let at = Some(lines.at(child.range().start));
            let name = child.attribute(self.kind.key);
            let removal = |key: &str, ledger: &mut Ledger| {
                let (op, value) = (Op::Delete, "");
                let written = child.tag_name().name();
                ledger.assign(&Entry { source, key, written, op, value, at, condition: None })
            };
            match (child.tag_name().name(), name) {
                ("add", Some(name)) => self.add(source, child, name, lines, ledger),
                ("remove", Some(name)) => {
                    let key = self.shown(name);
                    if self.find(&key).is_some() {
                        let at = removal(&key, ledger);
                        self.win(ledger, at);
                    }
                }
                ("clear", _) => {
                    let keys: Vec<String> =
                        self.cells.iter().map(|cell| cell.key.clone()).collect();
                    for key in keys {
                        let at = removal(&key, ledger);
                        self.win(ledger, at);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(
        &mut self,
        source: usize,
        node: Node<'_, '_>,
        name: &str,
        lines: &Lines<'_>,
        ledger: &mut Ledger,
    ) {
        let key = self.shown(name);
        let kind = self.kind;
        let others = node.attributes().filter(|other| {
            other.name() == kind.value || other.name() == "providerName" && kind != KINDS[0]
        });
        for attribute in others {
            let key = match attribute.name() == kind.value {
                true => key.clone(),
                false => format!("{key}/@{}", attribute.name()),
            };
            let at = Some(lines.at(attribute.range().start));
            let value = attribute.value();
            let entry =
                Entry { source, key: &key, written: name, op: Op::Set, value, at, condition: None };
            let at = ledger.assign(&entry);
            self.win(ledger, at);
        }
    }
}

/// Notes sections whose builders have no effect.
pub(super) fn unsupported(others: &[Other], known: &[Written], ledger: &mut Ledger) {
    for other in others {
        let expands = |name: &String| {
            known.iter().any(|builder| builder.name == *name && builder.expands_any_section())
        };
        if other.builders.iter().any(expands) {
            continue;
        }
        let entry = Entry {
            source: other.source,
            key: &other.name,
            written: "configBuilders",
            op: Op::Set,
            value: &other.builders.join(","),
            at: Some(other.at),
            condition: None,
        };
        let reason = format!(
            "builders fill `appSettings` and `connectionStrings`; no handler fills `{}`",
            other.name
        );
        ledger.lost(&entry, Outcome::UnsupportedSection, reason);
    }
}

/// The element at a path below the root.
pub(super) fn child<'a, 'b>(document: &'a Document<'b>, path: &[&str]) -> Option<Node<'a, 'b>> {
    let mut node = document.root_element();
    for name in path {
        node = node.children().find(|child| child.has_tag_name(*name))?;
    }
    Some(node)
}
