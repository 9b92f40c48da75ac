//! Records, one by one as they stand in the file: what is needed of them goes into the queue.

use std::io::Read;
use std::mem;

use culprit_model::UNKNOWN_CPU;
use rustc_hash::FxHashMap;

use super::apply::Apply;
use super::attr::{self, Attr};
use super::chains::{self, ChainId, front};
use super::events::{Events, Role};
use super::features::{Described, Facts};
use super::header::Around;
use super::other::{Other, kind as kernel_kind, misc};
use super::queue::{Extra, Queue, Raw};
use super::sample::{Dump, Sample, Trailer};
use super::stream::{Record, Records, kind};
use super::words::{List, Words};
use crate::builder::Builder;
use crate::format::Refusal;

/// Most bytes of tracepoint descriptions that are kept.
const MOST_TRACING: usize = 64 << 20;

/// Rows that are kept at most, some 60 bytes each.
const MOST_SAMPLES: u64 = 1 << 26;

/// Whose events an update is about: it gives a name.
const UPDATE_NAME: u64 = 2;

/// What was met and is not read, or not whole.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) malformed: u64,
    pub(super) lost: u64,
    pub(super) lost_samples: u64,
    pub(super) throttled: u64,
    pub(super) aux_bytes: u64,
    pub(super) branches: u64,
    pub(super) guests: u64,
    pub(super) deferred: u64,
    pub(super) beyond: u64,
    pub(super) samples: u64,
    pub(super) dumps: u64,
    pub(super) switches: u64,
    pub(super) unknown_ids: u64,
}

/// Reads records.
pub(super) struct Collector<'a> {
    little: bool,
    pub(super) events: Events,
    pub(super) facts: Facts,
    pub(super) tally: Tally,
    pub(super) apply: Apply<'a>,
    queue: Queue,
    key: Vec<u64>,
    /// The last value of each counter of a group.
    counted: FxHashMap<u64, u64>,
    /// Whether events were named and sources chosen.
    begun: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(around: Around, builder: &'a mut Builder) -> Self {
        let little = around.little;
        let mut facts = Facts::default();
        for (feature, bytes) in &around.features {
            facts.add(*feature, bytes, little);
        }
        let mut events = Events::default();
        for (attr, ids) in around.attrs {
            events.add(attr, &ids);
        }
        Self {
            little,
            events,
            facts,
            tally: Tally::default(),
            apply: Apply::new(builder),
            queue: Queue::default(),
            key: Vec::new(),
            counted: FxHashMap::default(),
            begun: false,
        }
    }

    /// Reads all records.
    ///
    /// # Errors
    /// Why those that follow cannot be read.
    pub(super) fn read<R: Read>(&mut self, records: &mut Records<R>) -> Result<(), String> {
        while let Some(record) = records.next()? {
            if record.kind == kernel_kind::SAMPLE {
                self.sample(record.misc, records.body(record));
            } else {
                self.other(record, records)?;
            }
            if self.queue.is_full() {
                self.turn(u64::MAX);
            }
        }
        Ok(())
    }

    /// Everything was read.
    pub(super) fn finish(mut self) -> Result<(), Refusal> {
        self.begin();
        self.turn(u64::MAX);
        super::finish::finish(self)
    }

    /// Applies what is due.
    fn turn(&mut self, until: u64) {
        self.begin();
        let Self { queue, events, apply, .. } = self;
        queue.take(until, |time, due| apply.due(time, due, events));
    }

    /// Before the first sample: all that describes the events has been read.
    #[inline]
    fn begin(&mut self) {
        if !mem::replace(&mut self.begun, true) {
            self.events.describe(&self.facts);
            self.apply.begin(&self.events, &self.facts);
        }
    }

    fn other<R: Read>(&mut self, record: Record, records: &mut Records<R>) -> Result<(), String> {
        let body = records.body(record);
        let mut words = Words::new(body, self.little);
        match record.kind {
            kind::FINISHED_ROUND => {
                let until = self.queue.end_round();
                self.turn(until);
            }
            kind::ATTR => self.attribute(body),
            kind::EVENT_UPDATE => self.update(words),
            kind::BUILD_ID => {
                let read = self.facts.add_build_id(record.misc, words);
                self.tally.malformed += u64::from(read.is_none());
                if let Some((path, id)) = self.facts.build_ids.last().filter(|_| self.begun) {
                    self.apply.states(path, id);
                }
            }
            kind::FEATURE => {
                if let Some(number) = words.u64().and_then(|number| u32::try_from(number).ok()) {
                    self.facts.add(number, words.rest(), self.little);
                }
            }
            kind::TRACING_DATA => {
                let size = u64::from(words.u32().unwrap_or(0));
                let bytes = records.read_behind(size, MOST_TRACING)?;
                self.facts.points.read(&bytes);
            }
            kind::AUXTRACE => {
                let size = words.u64().unwrap_or(0);
                self.tally.aux_bytes = self.tally.aux_bytes.saturating_add(size);
                records.skip(size)?;
            }
            _ => self.kernels(record, body),
        }
        Ok(())
    }

    /// The attributes of an event, as a pipe has them.
    fn attribute(&mut self, body: &[u8]) {
        let length = body.get(4..).and_then(|size| Words::new(size, self.little).u32());
        let length = length.unwrap_or(0) as usize;
        let attr = body.get(..length).and_then(|attr| Attr::read(attr, self.little));
        match attr.filter(|_| self.events.all.len() < 1 << 16) {
            Some(attr) => {
                let ids = Words::new(&body[length..], self.little).all();
                self.events.add(attr, &ids);
            }
            None => self.tally.malformed += 1,
        }
    }

    fn update(&mut self, mut words: Words<'_>) {
        if let (Some(UPDATE_NAME), Some(id)) = (words.u64(), words.u64()) {
            let name = words.name();
            self.events.rename_by_id(id, &name);
            self.facts.events.push(Described { attr: None, name, ids: vec![id] });
        }
    }

    /// A record's flags. Where no event asked for build ids, the flag for one in a mapping is that of another
    /// listener: the kernel leaves it set (`perf_event_mmap_output`). perf's own records belong to no event, so all
    /// are asked.
    fn flags(&self, record: Record) -> u16 {
        let asked = || self.events.all.iter().any(|event| event.attr.build_ids());
        let foreign = record.kind == kernel_kind::MMAP2 && !asked();
        if foreign { record.misc & !misc::MMAP_BUILD_ID } else { record.misc }
    }

    /// A record of the kernel that is no sample.
    fn kernels(&mut self, record: Record, body: &[u8]) {
        let event = self.events.of_other(body, self.little) as usize;
        let Some(attr) = self.events.all.get(event).map(|event| &event.attr) else { return };
        let end = Trailer::read(attr, body, self.little);
        let own = &body[..body.len() - end.length];
        let mut words = Words::new(own, self.little);
        match record.kind {
            kernel_kind::LOST => {
                let count = words.u64().zip(words.u64()).map_or(0, |(_, count)| count);
                self.tally.lost = self.tally.lost.saturating_add(count);
                // Rings are read in rounds: what was lost is no older than the round before.
                self.apply.lost.push((self.queue.whole(), end.time, count));
            }
            kernel_kind::LOST_SAMPLES if record.misc & misc::LOST_TO_BPF == 0 => {
                let count = words.u64().unwrap_or(0);
                self.tally.lost_samples = self.tally.lost_samples.saturating_add(count);
            }
            kernel_kind::THROTTLE => self.tally.throttled += 1,
            kernel_kind::CALLCHAIN_DEFERRED => self.tally.deferred += 1,
            kernel_kind::SWITCH | kernel_kind::SWITCH_CPU_WIDE => {
                self.tally.switches += 1;
                let cpu = if attr.has(attr::sample::CPU) { end.cpu } else { UNKNOWN_CPU };
                let switch = Other::switch(record.misc, (end.pid, end.tid), cpu);
                self.queue.push_other(end.time, switch);
            }
            kernel_kind::MMAP | kernel_kind::MMAP2
                if (misc::GUEST_KERNEL..=misc::GUEST_USER)
                    .contains(&(record.misc & misc::CPU_MODE)) => {}
            other => match Other::read(other, self.flags(record), own, self.little) {
                Some(Some(other)) => self.queue.push_other(end.time, other),
                Some(None) => {}
                None => self.tally.malformed += u64::from(is_read(other)),
            },
        }
    }

    fn sample(&mut self, flags: u16, body: &[u8]) {
        self.begin();
        let number = self.events.of_sample(body, self.little);
        let Some(event) = self.events.all.get_mut(number as usize) else {
            self.tally.malformed += 1;
            return;
        };
        let Some(sample) = Sample::read(&event.attr, body, self.little) else {
            self.tally.malformed += 1;
            return;
        };
        self.tally.samples += 1;
        if self.tally.samples > MOST_SAMPLES {
            self.tally.beyond += 1;
            return;
        }
        event.seen += 1;
        let period = sample.period.or(event.period);
        let (role, has_cpu) = (event.role, event.attr.has(attr::sample::CPU));
        let context = context(flags);
        self.tally.branches += u64::from(sample.branches);
        let leaf = self.fill_key(context, &sample);
        if context == chains::GUEST_KERNEL || context == chains::GUEST_USER {
            self.tally.guests += 1;
        }
        let extra = self.extra(number, role, &sample);
        let chain = match &extra {
            Some(Extra::Dump { .. }) => ChainId(0),
            _ => self.apply.chains.intern(&self.key),
        };
        let raw = Raw {
            leaf,
            value: period.unwrap_or(1),
            chain,
            pid: sample.pid,
            tid: sample.tid,
            cpu: if has_cpu { sample.cpu } else { UNKNOWN_CPU },
            event: number,
            extra: 0,
            kernel: is_kernel(context),
            weighed: period.is_some(),
        };
        self.queue.push(sample.time, raw, extra);
    }

    /// What a stack is known by, and its leaf: see [`front`].
    fn fill_key(&mut self, mut context: u64, sample: &Sample<'_>) -> u64 {
        let key = &mut self.key;
        key.clear();
        key.extend([sample.cgroup.map_or(0, |id| id.wrapping_add(1)), 0]);
        let mut chain = sample.chain.into_iter().flat_map(List::iter).take(chains::DEEPEST);
        let mut leaf = None;
        for entry in chain.by_ref() {
            if entry < chains::MARKERS {
                leaf = Some(entry);
                break;
            }
            context = entry;
        }
        key[front::CONTEXT] = context;
        key.extend(chain);
        leaf.or(sample.ip).unwrap_or(0)
    }

    /// What the sample has beside its chain.
    fn extra(&mut self, event: u32, role: Role, sample: &Sample<'_>) -> Option<Extra> {
        if let Some(counted) = sample.counted {
            return self.values(event, counted);
        }
        if let Some(Dump { registers, stack }) = sample.dump {
            self.tally.dumps += 1;
            let registers = registers.iter().collect();
            return Some(Extra::Dump { chain: self.key.clone(), registers, stack: stack.to_vec() });
        }
        let raw = sample.raw?;
        let number = |field: super::tracing::Field| field.read(raw, self.little);
        let pid = |field| number(field).map(|pid| (pid & 0xffff_ffff) as u32).map(u32::cast_signed);
        match role {
            Role::Switch => {
                let point = self.facts.points.switch?;
                let (prev, next) = pid(point.prev).zip(pid(point.next))?;
                Some(Extra::Switch { prev, state: number(point.state)?, next })
            }
            Role::Wake { point, waking } => {
                let point = self.facts.points.wake.get(&point)?;
                Some(Extra::Wake { tid: pid(point.pid)?, flags: number(point.flags)?, waking })
            }
            Role::Clock | Role::Count => None,
        }
    }

    /// What the counters of a group have counted since the sample before.
    fn values(&mut self, event: u32, counted: super::sample::Counted<'_>) -> Option<Extra> {
        let mut values = Vec::new();
        for (id, value) in counted.values() {
            let known = if counted.group { self.events.known_id(id) } else { Some(event) };
            let Some(number) = known else {
                self.tally.unknown_ids += 1;
                continue;
            };
            let key = if counted.group { id } else { u64::from(event) };
            let before = self.counted.insert(key, value).unwrap_or(0);
            values.push((number, value.saturating_sub(before)));
        }
        counted.group.then_some(Extra::Values(values))
    }
}

/// Whose a sample is that has no chain.
fn context(flags: u16) -> u64 {
    match flags & misc::CPU_MODE {
        misc::KERNEL => chains::KERNEL,
        misc::HYPERVISOR => chains::HYPERVISOR,
        misc::GUEST_KERNEL => chains::GUEST_KERNEL,
        misc::GUEST_USER => chains::GUEST_USER,
        _ => chains::USER,
    }
}

fn is_kernel(context: u64) -> bool {
    matches!(context, chains::KERNEL | chains::HYPERVISOR | chains::GUEST | chains::GUEST_KERNEL)
}

/// Whether a record's fields are looked at.
fn is_read(kind: u32) -> bool {
    use kernel_kind as k;
    let read = [k::MMAP, k::MMAP2, k::COMM, k::FORK, k::EXIT, k::NAMESPACES, k::KSYMBOL, k::CGROUP];
    read.contains(&kind)
}
