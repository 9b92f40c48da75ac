//! One event of a visit, whatever wrote it.

use crate::import::batch::{Batch, Words};

/// What an event is; texts are numbers of the chunk's dictionaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitKind {
    /// A page was seen: its path and language.
    View(Option<u32>, Option<u32>),
    /// Anything else, by its type.
    Event(u32),
    /// A goal was reached.
    Goal(u32),
    /// Something was bought.
    Outcome(u32),
    /// Nothing but that the visit was there at this time.
    Mark,
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) row: u64,
    pub(crate) ms: i64,
    pub(crate) bytes: u32,
    /// A number of [`Hits::sessions`].
    pub(crate) session: u32,
    /// A number of [`Hits::contacts`].
    pub(crate) contact: u32,
    pub(crate) agent: Option<u32>,
    pub(crate) address: Option<u32>,
    pub(crate) place: Option<u32>,
    pub(crate) campaign: Option<u32>,
    pub(crate) device: Option<u32>,
    pub(crate) kind: HitKind,
    /// Time on the page in milliseconds.
    pub(crate) duration: Option<u32>,
    /// Orders events of one moment, where the source knows their order.
    pub(crate) order: u64,
    /// Hash of what tells the event from others: two of one visit with the same are one event.
    pub(crate) identity: u64,
    /// Hash of its text: it orders other events of one moment, in whatever order they were read.
    pub(crate) digest: u64,
}

/// Hash of a text.
pub(crate) fn digest(text: &[u8]) -> u64 {
    twox_hash::XxHash64::oneshot(0, text)
}

/// The events of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) hits: Vec<Hit>,
    /// What events of one visit have in common. One that begins with [`BY_GAP`] names a visitor
    /// whose visits end by themselves.
    pub(crate) sessions: Words,
    pub(crate) contacts: Words,
    /// Rows, those that could not be read, and all other dictionaries.
    pub(crate) lines: Batch,
}

/// The first letter of a session that names a visitor only: its visits end after 30 minutes without
/// an event.
pub(crate) const BY_GAP: char = '~';

impl Hits {
    /// When the first event was; none without one.
    pub(crate) fn first_ms(&self) -> Option<i64> {
        self.hits.first().map(|hit| hit.ms)
    }
}
