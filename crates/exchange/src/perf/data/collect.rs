//! Records, one by one as they stand in the file: perf's own are read at once, the kernel's wait for their turn.

use std::io::Read;
use std::mem;

use culprit_kernel::record::kind as kernel_kind;
use culprit_kernel::{Attr, Header, Order, Record as KernelRecord, Rounds, Words, words};

use super::apply::Apply;
use super::features::{Described, Facts};
use super::header::Around;
use super::stream::{Record, Records, kind};
use crate::builder::Builder;
use crate::format::Refusal;

/// Most bytes of tracepoint descriptions that are kept.
const MOST_TRACING: usize = 64 << 20;

/// Whose events an update is about: it gives a name.
const UPDATE_NAME: u64 = 2;

/// Reads records.
pub(super) struct Collector<'a> {
    order: Order,
    pub(super) facts: Facts,
    pub(super) apply: Apply<'a>,
    rounds: Rounds,
    /// Whether events were named and sources chosen.
    begun: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(around: Around, builder: &'a mut Builder) -> Self {
        let order = around.order;
        let mut facts = Facts::default();
        for (feature, bytes) in &around.features {
            facts.add(*feature, bytes, order);
        }
        let mut apply = Apply::new(order, builder);
        for (attr, ids) in around.attrs {
            apply.events.add(attr, &ids);
        }
        Self { order, facts, apply, rounds: Rounds::default(), begun: false }
    }

    /// Reads all records.
    ///
    /// # Errors
    /// Why those that follow cannot be read.
    pub(super) fn read<R: Read>(&mut self, records: &mut Records<R>) -> Result<(), String> {
        while let Some(record) = records.next()? {
            if record.header.kind < kind::ATTR {
                self.wait(record.header, records.bytes(record));
            } else {
                self.perfs(record, records)?;
            }
            if self.rounds.is_full() {
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
        let Self { rounds, facts, apply, .. } = self;
        rounds.take(until, |time, record| apply.record(time, record, &facts.points));
    }

    /// Before the first sample: all that describes the events has been read.
    #[inline]
    fn begin(&mut self) {
        if !mem::replace(&mut self.begun, true) {
            self.apply.begin(&self.facts);
        }
    }

    /// A record of the kernel waits until all of its time are there.
    fn wait(&mut self, header: Header, record: &[u8]) {
        if header.is_sample() {
            self.begin();
        }
        let body = &record[Header::BYTES..];
        let layout = self.apply.events.layout(header, body, self.order);
        let time = layout.and_then(|layout| layout.time(header, body, self.order)).unwrap_or(0);
        self.rounds.push(time, record);
        if let Some(layout) = layout.filter(|_| header.kind == kernel_kind::LOST)
            && let Ok((KernelRecord::Lost(count), _)) =
                KernelRecord::read(header, body, self.order, &layout)
        {
            // Rings are read in rounds: what was lost is no older than the round before.
            self.apply.lost.push((self.rounds.whole(), time, count));
        }
    }

    /// A record of perf.
    fn perfs<R: Read>(&mut self, record: Record, records: &mut Records<R>) -> Result<(), String> {
        let body = records.body(record);
        let mut words = Words::new(body, self.order);
        match record.header.kind {
            kind::FINISHED_ROUND => {
                let until = self.rounds.end_round();
                self.turn(until);
            }
            kind::ATTR => self.attribute(body),
            kind::EVENT_UPDATE => self.update(words),
            kind::BUILD_ID => {
                let read = self.facts.add_build_id(record.header.misc, words);
                self.apply.tally.malformed += u64::from(read.is_none());
                if let Some((path, id)) = self.facts.build_ids.last().filter(|_| self.begun) {
                    self.apply.states(path, id);
                }
            }
            kind::FEATURE => {
                if let Some(number) = words.u64().and_then(|number| u32::try_from(number).ok()) {
                    self.facts.add(number, words.rest(), self.order);
                }
            }
            kind::TRACING_DATA => {
                let size = u64::from(words.u32().unwrap_or(0));
                let bytes = records.read_behind(size, MOST_TRACING)?;
                self.facts.points.read(&bytes);
            }
            kind::AUXTRACE => {
                let size = words.u64().unwrap_or(0);
                let tally = &mut self.apply.tally;
                tally.aux_bytes = tally.aux_bytes.saturating_add(size);
                records.skip(size)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The attributes of an event, as a pipe has them.
    fn attribute(&mut self, body: &[u8]) {
        let length = body.get(4..).and_then(|size| Words::new(size, self.order).u32());
        let length = length.unwrap_or(0) as usize;
        let attr = body.get(..length).and_then(|attr| Attr::read(attr, self.order));
        let Apply { events, tally, .. } = &mut self.apply;
        match attr.filter(|_| events.all.len() < 1 << 16) {
            Some(attr) => events.add(attr, &Words::new(&body[length..], self.order).all()),
            None => tally.malformed += 1,
        }
    }

    fn update(&mut self, mut words: Words<'_>) {
        if let (Some(UPDATE_NAME), Some(id)) = (words.u64(), words.u64()) {
            let name = words::text(words.rest());
            self.apply.events.rename_by_id(id, &name);
            self.facts.events.push(Described { attr: None, name, ids: vec![id] });
        }
    }
}
