//! XML (`roxmltree`, which refuses document types and with them entities).
//!
//! A key is the path of elements below the root, with `@name` for an attribute. Elements of one name
//! side by side are a list.

use std::collections::BTreeMap;

use roxmltree::{Document, Error, Node};

use super::{Contents, Entry, MAX_ENTRIES, MAX_NESTING, Segment, Unreadable};
use crate::position::{Lines, Position};
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str) -> Result<Contents, Unreadable> {
    let lines = Lines::new(text);
    let document = parse(text, &lines)?;
    let mut reader = Reader { lines: &lines, path: Vec::new(), contents: Contents::default() };
    reader.element(document.root_element())?;
    reader.contents.entries.sort_by_key(|entry| entry.at);
    Ok(reader.contents)
}

/// The elements of a text that has no document type and is not nested too deep.
pub(crate) fn parse<'a>(text: &'a str, lines: &Lines<'_>) -> Result<Document<'a>, Unreadable> {
    let document = Document::parse(text).map_err(|error| unreadable(&error, text, lines))?;
    let mut depth = 0_usize;
    let mut node = document.root_element();
    // Down, then to the next one, then up: without a recursion that the text could make deep.
    loop {
        if let Some(child) = node.first_element_child() {
            (node, depth) = (child, depth + 1);
            if depth > MAX_NESTING {
                return Err(Unreadable::too_deep());
            }
            continue;
        }
        loop {
            if depth == 0 {
                return Ok(document);
            }
            if let Some(next) = node.next_sibling_element() {
                node = next;
                break;
            }
            let Some(parent) = node.parent_element() else { return Ok(document) };
            (node, depth) = (parent, depth - 1);
        }
    }
}

fn unreadable(error: &Error, text: &str, lines: &Lines<'_>) -> Unreadable {
    match error {
        Error::DtdDetected => Unreadable::syntax(
            lines.at(text.find("<!DOCTYPE").unwrap_or(0)),
            "a document type, whose entities are not followed",
        ),
        error => {
            let at = error.pos();
            let at = Position { line: at.row, column: at.col };
            // The message ends with the position, and may name what it found.
            let message = error.to_string();
            let message = message.rsplit_once(" at ").map_or(message.as_str(), |(what, _)| what);
            Unreadable::syntax(at, message)
        }
    }
}

struct Reader<'a> {
    lines: &'a Lines<'a>,
    path: Vec<Segment>,
    contents: Contents,
}

impl Reader<'_> {
    fn element(&mut self, node: Node<'_, '_>) -> Result<(), Unreadable> {
        if self.path.len() > 2 * MAX_NESTING {
            return Err(Unreadable::too_deep());
        }
        for attribute in node.attributes() {
            self.path.push(Segment::Name(format!("@{}", attribute.name())));
            self.entry(attribute.value(), attribute.range().start, attribute.range().end)?;
            self.path.pop();
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for child in node.children().filter(Node::is_element) {
            *counts.entry(child.tag_name().name()).or_default() += 1;
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            let index = seen.entry(name).or_default();
            self.path.push(Segment::Name(name.to_owned()));
            let is_list = counts.get(name).is_some_and(|count| *count > 1);
            if is_list {
                self.path.push(Segment::Index(*index));
            }
            *index += 1;
            self.element(child)?;
            self.path.truncate(self.path.len() - 1 - usize::from(is_list));
        }
        let text: String =
            node.children().filter(Node::is_text).filter_map(|text| text.text()).collect();
        let text = text.trim();
        if !text.is_empty() && !self.path.is_empty() {
            self.entry(text, node.range().start, node.range().end)?;
        }
        Ok(())
    }

    fn entry(&mut self, value: &str, start: usize, end: usize) -> Result<(), Unreadable> {
        if self.contents.entries.len() >= MAX_ENTRIES {
            return Err(Unreadable::too_many());
        }
        self.contents.entries.push(Entry {
            path: self.path.clone(),
            value: Raw::new(value),
            op: Op::Set,
            template: false,
            null: false,
            retyped: None,
            at: self.lines.at(start),
            end_line: self.lines.line(end),
            document: 0,
        });
        Ok(())
    }
}
