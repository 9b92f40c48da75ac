//! The JSON of `Interactions.Events`: page views, goals, outcomes and others.

use std::borrow::Cow;

use super::{Cells, Column, XdbRules};
use crate::import::batch::{Batch, RawEvent, RawFacet, RawView, RawVisit};
use crate::import::long::long_value;
use crate::import::xdb::facets::{json_state, text_sizes};
use crate::json::{LONG, Seen};
use crate::schema::{OwnerKind, ParseState, TermKind};
use crate::values::{duration, is_plausible};

/// The name that the events have among facets.
pub(crate) const EVENTS: &str = "Events";

/// The event that is being read.
#[derive(Debug, Default)]
struct Event<'a> {
    kind: Option<Cow<'a, str>>,
    definition: Option<Cow<'a, str>>,
    item: Option<Cow<'a, str>>,
    language: Option<Cow<'a, str>>,
    url: Option<Cow<'a, str>>,
    time: Option<i64>,
    duration: Option<u64>,
}

/// The class of an event: the last part of its type.
fn class(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}

/// Reads the events of a visit.
pub(super) fn events(batch: &mut Batch, rules: &XdbRules, visit: &mut RawVisit, cells: &Cells<'_>) {
    let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let (views, others, longs) =
        (number(batch.views.len()), number(batch.events.len()), number(batch.longs.len()));
    visit.views = views..views;
    visit.events = others..others;
    let Some(text) = cells.text(Column::Events) else { return };
    let facet = batch.term(TermKind::FacetKey, EVENTS);
    let tree = batch.tree(facet);
    let mut paths = std::mem::take(&mut batch.trees[tree].1);
    let (mut event, mut seq) = (Event::default(), 0);
    let walk = paths.walk(text, &mut |depth, key, node, seen| match seen {
        Seen::Begin if depth == 1 => event = Event::default(),
        Seen::End(text) if depth == 1 => {
            let event = std::mem::take(&mut event);
            finish(batch, visit, event, (seq, text.len()));
            seq += 1;
        }
        Seen::Text(text, utf16) => {
            if text.len() >= LONG {
                long_value(batch, (number(tree), node), &text, utf16);
            }
            if depth == 2 {
                take(&mut event, rules, key, text);
            }
        }
        _ => {}
    });
    batch.trees[tree].1 = paths;
    visit.views.end = number(batch.views.len());
    visit.events.end = number(batch.events.len());
    if walk.problem.is_some() && !text.is_empty() {
        visit.state = ParseState::BadEvents;
    }
    let (chars, utf16) = text_sizes(text);
    batch.facets.push(RawFacet {
        row: visit.row,
        is_events: true,
        owner_kind: OwnerKind::Interaction,
        owner: visit.guid,
        shard: visit.shard,
        key: facet,
        last_modified: visit.last_modified,
        chars,
        utf8: text.len() as u64,
        utf16,
        state: json_state(&walk, text),
        facts: crate::import::batch::FacetFacts::default(),
        longs: longs..number(batch.longs.len()),
    });
}

fn take<'a>(event: &mut Event<'a>, rules: &XdbRules, key: &str, text: Cow<'a, str>) {
    match key {
        "@odata.type" | "Type" => event.kind = Some(text),
        "DefinitionId" => event.definition = Some(text),
        "ItemId" => event.item = Some(text),
        "ItemLanguage" => event.language = Some(text),
        "Url" => event.url = Some(text),
        "Timestamp" => event.time = rules.time(text.as_bytes()).filter(|ms| is_plausible(*ms)),
        "Duration" => event.duration = duration(text.as_bytes()),
        _ => {}
    }
}

fn finish(batch: &mut Batch, visit: &mut RawVisit, event: Event<'_>, (seq, bytes): (u32, usize)) {
    let mut term = |kind, text: Option<Cow<'_, str>>| {
        let text = text.filter(|text| !text.is_empty())?;
        Some(batch.term(kind, &text))
    };
    let class = event.kind.as_deref().map(class);
    // An event without a type that has an address is a page view, too.
    if class.map_or(event.url.is_some(), |class| class == "PageViewEvent") {
        let item = term(TermKind::Item, event.item);
        let language = term(TermKind::Language, event.language);
        let path = event.url.filter(|url| !url.is_empty());
        batch.views.push(RawView {
            seq,
            time: event.time,
            path: path.map(|url| batch.paths.number(path_of(&url))),
            item,
            language,
            duration: event.duration,
            bytes: bytes as u64,
        });
        return;
    }
    visit.goals += u32::from(class == Some("Goal"));
    visit.outcomes += u32::from(class.is_some_and(|class| class.ends_with("Outcome")));
    let definition = term(TermKind::Definition, event.definition);
    let kind = term(TermKind::EventType, event.kind);
    batch.events.push(RawEvent { seq, kind, definition, time: event.time, bytes: bytes as u64 });
}

/// The path of an address: without scheme, host, query and fragment.
pub(crate) fn path_of(url: &str) -> &str {
    let path = match url.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => url,
    };
    let end = path.find(['?', '#']).unwrap_or(path.len());
    if end == 0 { "/" } else { &path[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_neither_host_nor_query() {
        for (url, path) in [
            ("/a/b?x=1#y", "/a/b"),
            ("https://h.example/a?u=http://z/", "/a"),
            ("https://h.example", "/"),
            ("https://h.example?q", "/"),
            ("?q", "/"),
            ("/r?to=https://h/a", "/r"),
        ] {
            assert_eq!(path_of(url), path, "{url}");
        }
    }
}
