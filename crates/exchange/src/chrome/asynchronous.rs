//! Asynchronous events: what begins on one thread and ends on the same or on another, told apart by
//! category and id. They are no stacks; they become activities.
//!
//! Nestable ones (`b`, `e`) end the innermost that is open under their id, the older kind (`S`,
//! `F`) the one of their name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use culprit_model::{EdgeKind, Text, ThreadId};

use super::trace::Event;
use crate::builder::{Builder, Edge};
use crate::json;

/// The beginnings and ends that were read.
#[derive(Debug, Default)]
pub(super) struct Asynchronous<'a> {
    ends: Vec<End<'a>>,
}

/// One of them.
#[derive(Debug)]
struct End<'a> {
    time: u64,
    /// Process and thread, as the file writes them.
    thread: (&'a str, &'a str),
    begins: bool,
    name: Cow<'a, str>,
    key: String,
}

impl<'a> Asynchronous<'a> {
    /// Takes an event; false when it makes no sense.
    pub(super) fn add(&mut self, thread: (&'a str, &'a str), event: &Event<'a>) -> bool {
        let time = event.ts.scaled(3).and_then(|time| u64::try_from(time).ok());
        let scoped = event.id2.get().and_then(|id| id.local.or(id.global));
        let (Some(time), Some(id)) = (time, scoped.or(event.id)) else { return false };
        let (id, category) = (json::word(Some(id)), event.cat.text());
        let key = if category.is_empty() { id.to_owned() } else { format!("{category} {id}") };
        let name = event.name.0.as_ref().map_or(Cow::Borrowed(""), |name| name.0.clone());
        let begins = matches!(&*event.ph.0, "b" | "S");
        self.ends.push(End { time, thread, begins, name, key });
        true
    }

    /// The threads that they are on.
    pub(super) fn threads(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.ends.iter().map(|end| end.thread)
    }

    /// Hands them on. An end without a name, or of a name that is not open, ends the innermost.
    pub(super) fn build(
        mut self,
        thread: impl Fn((&'a str, &'a str)) -> Option<ThreadId>,
        builder: &mut Builder,
    ) {
        self.ends.sort_by_key(|end| end.time);
        let mut open: BTreeMap<(&str, String), Vec<Cow<'a, str>>> = BTreeMap::new();
        for End { time, thread: (process, tid), begins, name, key } in self.ends {
            let Some(thread) = thread((process, tid)) else { continue };
            let names = open.entry((process, key.clone())).or_default();
            let (kind, name) = if begins {
                names.push(name.clone());
                (EdgeKind::Start, name)
            } else {
                let at = names.iter().rposition(|known| *known == name);
                let at = at.or(names.len().checked_sub(1));
                (EdgeKind::Stop, at.map_or(name, |at| names.remove(at)))
            };
            let name = if name.is_empty() { "?" } else { &name };
            builder.edge(Edge { time, thread, kind, name, key: Some(Text::from(key)) });
        }
    }
}
