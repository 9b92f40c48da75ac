//! The events of a file: what each counts, and whose a record is.

use culprit_kernel::attr::kind::{SOFTWARE, TRACEPOINT};
use culprit_kernel::{Attr, Header, Layout, Order};
use rustc_hash::FxHashMap;

use super::features::Facts;
use crate::perf::event::Counts;

/// What an event is good for beside being counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The clock: where a thread is while it runs.
    Clock,
    /// `sched:sched_switch`, each of them.
    Switch,
    /// `sched:sched_waking`, `sched:sched_wakeup`, each of them.
    Wake {
        /// The tracepoint's number.
        point: u64,
        /// In the waker's context.
        waking: bool,
    },
    /// Nothing else.
    Count,
}

/// One event that was recorded.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) attr: Attr,
    pub(super) name: String,
    pub(super) counts: Counts,
    pub(super) role: Role,
    /// The period of samples that do not state it.
    pub(super) period: Option<u64>,
    pub(super) seen: u64,
}

impl Event {
    fn new(attr: Attr, name: String) -> Self {
        let counts = Counts::new(&name);
        let each = attr.fixed_period() == Some(1);
        let role = match (name.split(':').take(2).collect::<Vec<_>>().as_slice(), attr.kind) {
            (_, SOFTWARE) if attr.config <= 1 => Role::Clock,
            (["sched", "sched_switch"], TRACEPOINT) if each => Role::Switch,
            (["sched", point @ ("sched_waking" | "sched_wakeup")], TRACEPOINT) if each => {
                Role::Wake { point: attr.config, waking: *point == "sched_waking" }
            }
            _ => Role::Count,
        };
        Self { period: attr.fixed_period(), attr, name, counts, role, seen: 0 }
    }

    /// A switch of which some are missing by intent.
    pub(super) fn is_sampled_switch(&self) -> bool {
        self.role != Role::Switch && self.name.starts_with("sched:sched_switch")
    }
}

/// All events of a file.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) all: Vec<Event>,
    ids: FxHashMap<u64, u32>,
    /// The last one looked up.
    last: (u64, u32),
}

impl Events {
    /// Adds an event with its ids.
    pub(super) fn add(&mut self, attr: Attr, ids: &[u64]) {
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.ids.extend(ids.iter().map(|id| (*id, number)));
        let name = attr.name();
        self.all.push(Event::new(attr, name));
    }

    /// Gives events the names that the file has for them. Those of a description go by id, else by
    /// their place in it.
    pub(super) fn describe(&mut self, facts: &Facts) {
        for (at, described) in facts.events.iter().enumerate() {
            let number = described.ids.first().and_then(|id| self.ids.get(id)).copied();
            let number = number.unwrap_or(u32::try_from(at).unwrap_or(u32::MAX));
            if self.all.get(number as usize).is_none()
                && let Some(attr) = described.attr.clone()
                && at == self.all.len()
            {
                self.add(attr, &described.ids);
            }
            self.ids.extend(described.ids.iter().map(|id| (*id, number)));
            self.rename(number, &described.name);
        }
        for event in &mut self.all {
            let unnamed = event.attr.kind == TRACEPOINT && event.name == event.attr.name();
            if let Some(name) = facts.points.names.get(&event.attr.config).filter(|_| unnamed) {
                *event = Event::new(event.attr.clone(), name.clone());
            }
        }
    }

    /// Names the event of an id.
    pub(super) fn rename_by_id(&mut self, id: u64, name: &str) {
        if let Some(number) = self.ids.get(&id).copied() {
            self.rename(number, name);
        }
    }

    fn rename(&mut self, number: u32, name: &str) {
        if let Some(event) = self.all.get_mut(number as usize).filter(|_| !name.is_empty()) {
            let seen = event.seen;
            *event = Event::new(event.attr.clone(), name.to_owned());
            event.seen = seen;
        }
    }

    /// Whether samples say of which event they are, where there are several.
    pub(super) fn told_apart(&self) -> bool {
        self.all.len() < 2 || !self.ids.is_empty()
    }

    /// The number of the event of a record.
    #[inline]
    pub(super) fn of(&mut self, header: Header, body: &[u8], order: Order) -> u32 {
        if self.all.len() < 2 {
            return 0;
        }
        // The fields that tell events apart are at the same place in all of them.
        let id = self.all.first().and_then(|first| first.attr.layout.id(header, body, order));
        self.by_id(id)
    }

    /// What the records of a record's event look like; none where the file has no events.
    #[inline]
    pub(super) fn layout(&mut self, header: Header, body: &[u8], order: Order) -> Option<Layout> {
        let number = self.of(header, body, order);
        self.all.get(number as usize).map(|event| event.attr.layout)
    }

    /// The number of the event of an id; what perf made itself has none, and is as the first.
    #[inline]
    fn by_id(&mut self, id: Option<u64>) -> u32 {
        let Some(id) = id.filter(|id| *id != 0) else { return 0 };
        if self.last.0 == id {
            return self.last.1;
        }
        let number = self.ids.get(&id).copied().unwrap_or(0);
        self.last = (id, number);
        number
    }

    /// The number of the event of an id that a value of a counter states.
    pub(super) fn known_id(&self, id: u64) -> Option<u32> {
        self.ids.get(&id).copied()
    }
}
