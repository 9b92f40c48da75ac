//! YAML (`saphyr-parser`): events to nodes, nodes to entries.
//!
//! An alias shares the node of its anchor, so a file that nests aliases costs no more memory than its
//! text; what it would expand to is counted and refused when it is too much. `<<` merges a mapping
//! into another (YAML 1.1), as compose files and Spring use it.
//!
//! What a scalar without quotes means, and whether a key may stand twice, is the program's to say: [`Rules`].

mod go;
mod scalar;
mod snake;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

pub(super) use scalar::Rules;
use scalar::Typed;

use super::{
    Clear, Cleared, Contents, Entry, KeyGroup, MAX_ENTRIES, MAX_NESTING, Oddity, Segment,
    Unreadable,
};
use crate::position::{Position, number};
use crate::provenance::Op;
use crate::value::Raw;

/// A part of a document.
#[derive(Debug)]
struct Node {
    /// Where it starts.
    at: Position,
    /// Its last line.
    end_line: u32,
    /// What it is.
    kind: Kind,
    /// How many levels are below it.
    depth: usize,
    /// What its tag does to weaker files.
    clear: Option<Clear>,
}

/// What a node is.
#[derive(Debug)]
enum Kind {
    /// A text; a plain one may be a number, a truth value or null.
    Scalar {
        /// The text.
        text: String,
        /// Whether it is written without quotes.
        plain: bool,
        /// What the program takes it for, where it is no text to the program.
        typed: Option<Typed>,
    },
    /// A list.
    Sequence(Vec<Rc<Node>>),
    /// Keys with their values. What `<<` merges into it comes first, without what is overridden.
    Mapping(Vec<Pair>),
}

impl Node {
    /// The text of a scalar.
    fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What the program takes it for, where it is no text to the program.
    fn typed(&self) -> Option<&Typed> {
        match &self.kind {
            Kind::Scalar { typed, .. } => typed.as_ref(),
            _ => None,
        }
    }

    /// Whether it is written as no value: nothing, `~` or `null`.
    fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true, .. }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The keys of a mapping with their values; none of another node.
    fn pairs(&self) -> &[Pair] {
        match &self.kind {
            Kind::Mapping(pairs) => pairs,
            _ => &[],
        }
    }
}

/// A key with its value.
type Pair = (Rc<Node>, Rc<Node>);

/// A key as a name. Spring puts what is no text into brackets: `on: 1` sets `[true]`.
fn name(key: &Node) -> String {
    match key.typed() {
        Some(typed) => format!("[{}]", typed.text),
        None => key.text().unwrap_or_default().to_owned(),
    }
}

fn is_merge(key: &Node) -> bool {
    matches!(&key.kind, Kind::Scalar { text, plain: true, .. } if text == "<<")
}

pub(super) fn read(text: &str, rules: Rules) -> Result<Contents, Unreadable> {
    let mut contents = Contents::default();
    for (document, node) in parse(text, rules)?.iter().enumerate() {
        let document = number(document);
        let mut flattened =
            Flattened { document, rules, visited: 0, replaces: false, contents: &mut contents };
        flattened.add(node, node.at, &mut Vec::new())?;
    }
    Ok(contents)
}

/// The documents of a text.
fn parse(text: &str, rules: Rules) -> Result<Vec<Rc<Node>>, Unreadable> {
    let mut builder = Builder {
        rules,
        documents: Vec::new(),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        merged: 0,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            let at =
                Position { line: number(at.line()), column: number(at.col()).saturating_add(1) };
            Unreadable::syntax(at, error.info())
        })?;
        builder.take(event, span)?;
    }
    Ok(builder.documents)
}

/// A mapping or list whose end has not come.
struct Open {
    at: Position,
    anchor: usize,
    is_mapping: bool,
    clear: Option<Clear>,
    children: Vec<Rc<Node>>,
}

struct Builder {
    rules: Rules,
    documents: Vec<Rc<Node>>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Rc<Node>>,
    /// Pairs that `<<` has copied.
    merged: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Unreadable> {
        let at = Position {
            line: number(span.start.line()),
            column: number(span.start.col()).saturating_add(1),
        };
        let end_line = number(span.end.line());
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let clear = self.clear(tag.as_deref());
                let is_text =
                    tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let plain =
                    style == ScalarStyle::Plain && !(is_text && self.rules != Rules::AsWritten);
                if plain && self.rules == Rules::Go && go::is_infinite(&text) {
                    let why = "Compose refuses a number without end: put it in quotes";
                    return Err(Unreadable::syntax(at, why));
                }
                // Its keys are texts in any case.
                let is_typed = plain && self.rules != Rules::Kubernetes;
                let typed = if is_typed { self.rules.typed(&text) } else { None };
                // A block of lines ends where the next line starts.
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let end_line =
                    if block { end_line.saturating_sub(1).max(at.line) } else { end_line };
                let kind = Kind::Scalar { text: text.into_owned(), plain, typed };
                self.node(Node { at, end_line, kind, depth: 0, clear }, anchor)
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                // An alias inside its own anchor has no end.
                let node =
                    node.ok_or_else(|| Unreadable::syntax(at, "an alias that refers to itself"))?;
                self.child(node)
            }
            Event::SequenceStart(anchor, tag) => self.open(at, anchor, (false, tag.as_deref())),
            Event::MappingStart(anchor, tag) => self.open(at, anchor, (true, tag.as_deref())),
            Event::SequenceEnd | Event::MappingEnd => self.close(end_line),
            Event::DocumentStart(_) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    /// What a tag does to weaker files: only Compose knows such tags.
    fn clear(&self, tag: Option<&Tag>) -> Option<Clear> {
        let tag = tag.filter(|tag| self.rules == Rules::Go && tag.handle == "!")?;
        match tag.suffix.as_str() {
            "reset" => Some(Clear::Reset),
            "override" => Some(Clear::Override),
            _ => None,
        }
    }

    fn open(
        &mut self,
        at: Position,
        anchor: usize,
        (is_mapping, tag): (bool, Option<&Tag>),
    ) -> Result<(), Unreadable> {
        if self.open.len() >= MAX_NESTING {
            return Err(Unreadable::too_deep());
        }
        let clear = self.clear(tag);
        self.open.push(Open { at, anchor, is_mapping, clear, children: Vec::new() });
        Ok(())
    }

    fn close(&mut self, end_line: u32) -> Result<(), Unreadable> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let depth = 1 + open.children.iter().map(|child| child.depth).max().unwrap_or(0);
        // Aliases can nest deeper than the text does.
        if depth > MAX_NESTING {
            return Err(Unreadable::too_deep());
        }
        let kind = if open.is_mapping {
            let mut children = open.children.into_iter();
            let mut pairs = Vec::new();
            while let (Some(key), Some(value)) = (children.next(), children.next()) {
                if key.text().is_none() {
                    return Err(Unreadable::syntax(key.at, "a key that is a list or a mapping"));
                }
                pairs.push((key, value));
            }
            self.check_keys(&pairs)?;
            Kind::Mapping(self.merge(pairs)?)
        } else {
            Kind::Sequence(open.children)
        };
        self.node(Node { at: open.at, end_line, kind, depth, clear: open.clear }, open.anchor)
    }

    /// Refuses what the program refuses of the keys of a mapping.
    fn check_keys(&self, pairs: &[Pair]) -> Result<(), Unreadable> {
        let Some(program) = self.rules.refuses_repeated() else { return Ok(()) };
        let is_go = self.rules == Rules::Go;
        let mut first: BTreeMap<(bool, String), Position> = BTreeMap::new();
        for (key, _) in pairs {
            if is_go && (key.typed().is_some() || key.is_null()) {
                let why = "Compose refuses a key that is no text: put it in quotes";
                return Err(Unreadable::syntax(key.at, why));
            }
            // SnakeYAML takes several `<<`.
            if is_merge(key) && !is_go {
                continue;
            }
            let own = (key.typed().is_some(), name(key));
            if let Some(before) = first.insert(own, key.at) {
                return Err(Unreadable::repeated(key.at, before, program));
            }
        }
        Ok(())
    }

    /// Replaces `<<` by the pairs that it refers to; a mapping's own keys win.
    fn merge(&mut self, own: Vec<Pair>) -> Result<Vec<Pair>, Unreadable> {
        let (merges, own): (Vec<_>, Vec<_>) = own.into_iter().partition(|(key, _)| is_merge(key));
        if merges.is_empty() {
            return Ok(own);
        }
        let mut taken: BTreeSet<String> = own.iter().map(|(key, _)| name(key)).collect();
        let mut pairs = Vec::new();
        for (_, merged) in &merges {
            // Of several mappings the first wins (https://yaml.org/type/merge.html).
            let all = match &merged.kind {
                Kind::Sequence(all) => all.as_slice(),
                _ => std::slice::from_ref(merged),
            };
            for (key, value) in all.iter().flat_map(|one| one.pairs()) {
                self.merged += 1;
                if self.merged > MAX_ENTRIES {
                    return Err(Unreadable::too_many());
                }
                if taken.insert(name(key)) {
                    pairs.push((Rc::clone(key), Rc::clone(value)));
                }
            }
        }
        pairs.extend(own);
        Ok(pairs)
    }

    fn node(&mut self, node: Node, anchor: usize) -> Result<(), Unreadable> {
        let node = Rc::new(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.child(node)
    }

    fn child(&mut self, node: Rc<Node>) -> Result<(), Unreadable> {
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.documents.push(node),
        }
        Ok(())
    }
}

struct Flattened<'a> {
    document: u32,
    rules: Rules,
    /// Nodes seen, an alias's each time.
    visited: usize,
    /// Whether they are below an `!override`: Compose looks for no tags there.
    replaces: bool,
    contents: &'a mut Contents,
}

impl Flattened<'_> {
    fn entry(&self, node: &Node, at: Position, path: &[Segment], text: &str) -> Entry {
        Entry {
            path: path.to_vec(),
            value: Raw::new(text),
            op: Op::Set,
            template: false,
            null: node.is_null(),
            retyped: None,
            at,
            end_line: node.end_line.max(at.line),
            document: self.document,
        }
    }

    fn push_empty(&mut self, node: &Node, at: Position, path: &[Segment], text: &str) {
        if !path.is_empty() {
            let entry = self.entry(node, at, path, text);
            self.contents.empties.push(Entry { null: true, ..entry });
        }
    }

    fn add(
        &mut self,
        node: &Node,
        at: Position,
        path: &mut Vec<Segment>,
    ) -> Result<(), Unreadable> {
        self.visited += 1;
        if self.visited > MAX_ENTRIES {
            return Err(Unreadable::too_many());
        }
        if path.len() > MAX_NESTING {
            return Err(Unreadable::too_deep());
        }
        let Some(how) = node.clear.filter(|_| !self.replaces && !path.is_empty()) else {
            return self.add_value(node, at, path);
        };
        let document = self.document;
        self.contents.cleared.push(Cleared { path: path.clone(), how, at, document });
        if how == Clear::Reset {
            return Ok(());
        }
        self.replaces = true;
        let added = self.add_value(node, at, path);
        self.replaces = false;
        added
    }

    /// How many values and empty groups there are.
    fn len(&self) -> usize {
        self.contents.entries.len() + self.contents.empties.len()
    }

    fn add_value(
        &mut self,
        node: &Node,
        at: Position,
        path: &mut Vec<Segment>,
    ) -> Result<(), Unreadable> {
        let before = self.len();
        let is_group = matches!(node.kind, Kind::Mapping(_) | Kind::Sequence(_));
        if is_group && matches!(self.rules, Rules::Go | Rules::Kubernetes) {
            let document = self.document;
            self.contents.groups.push(KeyGroup { path: path.clone(), at, document });
        }
        match &node.kind {
            Kind::Mapping(pairs) if pairs.is_empty() => self.push_empty(node, at, path, "{}"),
            Kind::Sequence(all) if all.is_empty() => self.push_empty(node, at, path, "[]"),
            Kind::Mapping(_) => {
                for (key, value) in node.pairs() {
                    path.push(Segment::Name(name(key)));
                    self.add(value, key.at, path)?;
                    path.pop();
                }
                if self.len() == before {
                    self.push_empty(node, at, path, "{}");
                }
            }
            Kind::Sequence(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    path.push(Segment::Index(index));
                    self.add(element, element.at, path)?;
                    path.pop();
                }
                if self.len() == before {
                    self.push_empty(node, at, path, "[]");
                }
            }
            Kind::Scalar { text, typed, plain } if !path.is_empty() => {
                let read = typed.as_ref().map_or(text, |typed| &typed.text);
                // Within what a tag replaces, Compose takes `!reset null` for the text.
                let null = node.is_null() && node.clear.is_none();
                let entry = self.entry(node, at, path, if null { "" } else { read });
                let entry = Entry { null, ..entry };
                let retyped = typed.as_ref().filter(|typed| typed.text != *text);
                let retyped = match self.rules {
                    Rules::Kubernetes if *plain => self.rules.typed(text).map(|typed| typed.what),
                    _ => retyped.map(|typed| typed.what),
                };
                self.contents.entries.push(Entry { retyped, ..entry });
            }
            Kind::Scalar { text, .. } => {
                if !text.is_empty() {
                    let what = "a text where keys are expected";
                    self.contents.oddities.push(Oddity { at: node.at, name: String::new(), what });
                }
            }
        }
        Ok(())
    }
}
