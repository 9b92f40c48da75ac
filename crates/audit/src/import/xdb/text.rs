//! The JSON in a cell: read once, for its sums by path and for what other tables need of it.

use std::ops::Range;

use crate::import::batch::{Batch, FacetFacts, RawFacet};
use crate::import::long::long_value;
use crate::json::{LONG, Problem, Role, Scanner, Seen, Walk};
use crate::schema::{JsonState, OwnerKind, TermKind};

/// Where a JSON text is.
#[derive(Debug)]
pub(super) enum JsonText<'s, 'a> {
    /// A cell is it.
    Cell(&'a [u8]),
    /// It is the next value of a row that is being read.
    Next(&'s mut Scanner<'a>),
}

/// What a JSON text is.
#[derive(Debug)]
pub(crate) struct ReadText {
    /// The name of the facet, as a term of the batch.
    key: u32,
    chars: u64,
    utf8: u64,
    utf16: u64,
    state: JsonState,
    longs: Range<u32>,
    /// True when it cannot be read to its end.
    pub(super) is_broken: bool,
}

/// Reads the text of the facet of this name. `roles` says what its paths are for; `take` gets the values
/// that are for something.
pub(super) fn read_text<'a>(
    batch: &mut Batch,
    (name, roles): (&str, fn(u32, &str) -> Role),
    text: JsonText<'_, 'a>,
    mut take: impl FnMut(&mut Batch, Role, Seen<'a>),
) -> ReadText {
    let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let key = batch.term(TermKind::FacetKey, name);
    let (tree, first) = (batch.tree(key, roles), number(batch.longs.len()));
    let mut paths = std::mem::take(&mut batch.trees[tree].1);
    let mut take = |role, node, seen: Seen<'a>| {
        if let Seen::Text(text, utf16) = &seen
            && text.len() >= LONG
            && let Ok(text) = std::str::from_utf8(text)
        {
            long_value(batch, (number(tree), node), text, *utf16);
        }
        take(batch, role, seen);
    };
    let (walk, text) = match text {
        JsonText::Cell(text) => (paths.walk(text, &mut take), text),
        JsonText::Next(scanner) => {
            scanner.peek();
            let from = scanner.at();
            (paths.walk_next(scanner, &mut take), scanner.slice(from, scanner.at()))
        }
    };
    batch.trees[tree].1 = paths;
    let (chars, utf16) = walk.sizes(text);
    ReadText {
        key,
        chars: chars as u64,
        utf8: text.len() as u64,
        utf16: utf16 as u64,
        state: json_state(&walk, text),
        longs: first..number(batch.longs.len()),
        is_broken: walk.problem.is_some() && !text.is_empty(),
    }
}

/// What a text is, after a walk over it.
fn json_state(walk: &Walk, text: &[u8]) -> JsonState {
    match walk.problem {
        Some(_) if text.trim_ascii().is_empty() => JsonState::Empty,
        Some(Problem::Truncated) => JsonState::Truncated,
        Some(Problem::Malformed(_)) => JsonState::Malformed,
        Some(Problem::TooDeep) => JsonState::TooDeep,
        None if walk.lone_surrogate => JsonState::LoneSurrogate,
        None if walk.duplicate_key => JsonState::DuplicateKey,
        None => JsonState::Valid,
    }
}

/// Whose text it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub(super) row: u64,
    pub(super) kind: OwnerKind,
    pub(super) guid: [u64; 2],
    pub(super) shard: u32,
    pub(super) last_modified: Option<i64>,
}

impl ReadText {
    /// The facet that has this text. `is_events` is true for the events of an interaction.
    pub(super) fn facet(self, owner: Owner, is_events: bool, facts: FacetFacts) -> RawFacet {
        RawFacet {
            row: owner.row,
            is_events,
            owner_kind: owner.kind,
            owner: owner.guid,
            shard: owner.shard,
            key: self.key,
            last_modified: owner.last_modified,
            chars: self.chars,
            utf8: self.utf8,
            utf16: self.utf16,
            state: self.state,
            facts,
            longs: self.longs,
        }
    }
}
