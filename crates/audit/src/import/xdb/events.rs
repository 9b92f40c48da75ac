//! The JSON of `Interactions.Events`: page views, goals, outcomes and others.

use std::borrow::Cow;
use std::ops::Range;

use super::XdbRules;
use super::text::{JsonText, ReadText, read_text};
use crate::import::batch::{Batch, RawEvent, RawView};
use crate::json::{NO_ROLE, Role, Seen};
use crate::schema::TermKind;
use crate::values::{duration, is_plausible};

/// The name that the events have among facets.
pub(crate) const EVENTS: &str = "Events";

/// What the paths of events are for.
mod role {
    use crate::json::Role;

    pub(super) const EVENT: Role = 1;
    pub(super) const KIND: Role = 2;
    pub(super) const DEFINITION: Role = 3;
    pub(super) const ITEM: Role = 4;
    pub(super) const LANGUAGE: Role = 5;
    pub(super) const URL: Role = 6;
    pub(super) const TIME: Role = 7;
    pub(super) const DURATION: Role = 8;
}

pub(super) fn role_in_events(depth: u32, key: &str) -> Role {
    match (depth, key) {
        (1, _) => role::EVENT,
        (2, "@odata.type" | "Type") => role::KIND,
        (2, "DefinitionId") => role::DEFINITION,
        (2, "ItemId") => role::ITEM,
        (2, "ItemLanguage") => role::LANGUAGE,
        (2, "Url") => role::URL,
        (2, "Timestamp") => role::TIME,
        (2, "Duration") => role::DURATION,
        _ => NO_ROLE,
    }
}

/// The event that is being read.
#[derive(Debug, Default)]
struct Event<'a> {
    kind: Option<Cow<'a, [u8]>>,
    definition: Option<Cow<'a, [u8]>>,
    item: Option<Cow<'a, [u8]>>,
    language: Option<Cow<'a, [u8]>>,
    url: Option<Cow<'a, [u8]>>,
    time: Option<i64>,
    duration: Option<u64>,
}

/// The events of a visit.
#[derive(Debug, Default)]
pub(crate) struct ReadEvents {
    /// What their text is; none for a visit without.
    pub(crate) text: Option<ReadText>,
    pub(crate) views: Range<u32>,
    pub(crate) events: Range<u32>,
    pub(crate) goals: u32,
    pub(crate) outcomes: u32,
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl ReadEvents {
    /// No events.
    pub(super) fn none(batch: &Batch) -> Self {
        let (views, events) = (number(batch.views.len()), number(batch.events.len()));
        Self { views: views..views, events: events..events, ..Self::default() }
    }
}

/// Reads the events of a visit.
pub(super) fn read_events(
    batch: &mut Batch,
    rules: &XdbRules,
    text: JsonText<'_, '_>,
) -> ReadEvents {
    let mut read = ReadEvents::none(batch);
    let (mut event, mut seq) = (Event::default(), 0);
    let text =
        read_text(batch, (EVENTS, role_in_events), text, |batch, role, seen| match (role, seen) {
            (role::EVENT, Seen::Begin) => event = Event::default(),
            (role::EVENT, Seen::End(text)) => {
                finish(batch, &mut read, std::mem::take(&mut event), (seq, text.len()));
                seq += 1;
            }
            (role, Seen::Text(text, _)) => take(&mut event, rules, role, text),
            _ => {}
        });
    read.views.end = number(batch.views.len());
    read.events.end = number(batch.events.len());
    read.text = Some(text);
    read
}

#[inline]
fn take<'a>(event: &mut Event<'a>, rules: &XdbRules, role: Role, text: Cow<'a, [u8]>) {
    match role {
        role::KIND => event.kind = Some(text),
        role::DEFINITION => event.definition = Some(text),
        role::ITEM => event.item = Some(text),
        role::LANGUAGE => event.language = Some(text),
        role::URL => event.url = Some(text),
        role::TIME => event.time = rules.time(&text).filter(|ms| is_plausible(*ms)),
        role::DURATION => event.duration = duration(&text),
        _ => {}
    }
}

/// The class of an event: the last part of its type.
fn class(kind: &[u8]) -> &[u8] {
    kind.rsplit(|byte| *byte == b'.').next().unwrap_or(kind)
}

fn finish(batch: &mut Batch, read: &mut ReadEvents, event: Event<'_>, (seq, bytes): (u32, usize)) {
    let mut term = |kind, text: Option<Cow<'_, [u8]>>| {
        let text = text.filter(|text| !text.is_empty())?;
        Some(batch.term_of(kind, &text))
    };
    let class = event.kind.as_deref().map(class);
    // An event without a type that has an address is a page view, too.
    if class.map_or(event.url.is_some(), |class| class == b"PageViewEvent") {
        let item = term(TermKind::Item, event.item);
        let language = term(TermKind::Language, event.language);
        let path = event.url.filter(|url| !url.is_empty());
        batch.views.push(RawView {
            seq,
            time: event.time,
            path: path.and_then(|url| {
                let url = std::str::from_utf8(&url).ok()?;
                Some(batch.paths.number(path_of(url)))
            }),
            item,
            language,
            duration: event.duration,
            bytes: bytes as u64,
        });
        return;
    }
    read.goals += u32::from(class == Some(b"Goal"));
    read.outcomes += u32::from(class.is_some_and(|class| class.ends_with(b"Outcome")));
    let definition = term(TermKind::Definition, event.definition);
    let kind = term(TermKind::EventType, event.kind);
    batch.events.push(RawEvent { seq, kind, definition, time: event.time, bytes: bytes as u64 });
}

/// The path of an address: without scheme, host, query and fragment.
pub(crate) fn path_of(url: &str) -> &str {
    // What begins with a slash has no scheme.
    let scheme = if url.starts_with('/') { None } else { url.split_once("://") };
    let path = match scheme {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            rest.find('/').map_or("/", |at| &rest[at..])
        }
        _ => url,
    };
    let end = memchr::memchr2(b'?', b'#', path.as_bytes()).unwrap_or(path.len());
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
