//! Where the fields of a record are that all records have: whose it is, when it was written, of which event.
//!
//! Samples begin with them, all other records end in them. Source: the comments on `PERF_RECORD_SAMPLE` and
//! `struct sample_id` in include/uapi/linux/perf_event.h.

use crate::Task;
use crate::attr::sample;
use crate::record::Header;
use crate::words::{Order, Words};

/// What the records of an event look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Bits of [`sample`]: what a sample holds.
    pub sample_type: u64,
    /// Bits of [`read`](crate::attr::read): what stands beside the value of a counter.
    pub read_format: u64,
    /// Registers of user code in a sample, a set of `PERF_REG_` bits.
    pub user_registers: u64,
    /// Registers at the interrupt in a sample, likewise.
    pub interrupt_registers: u64,
    /// Whether a branch stack begins with the index of its newest entry.
    pub branch_index: bool,
    pub(crate) in_sample: Offsets,
    pub(crate) from_end: Offsets,
    /// Bytes that a record ends in which is no sample.
    pub(crate) trailer: u8,
}

/// Where a field is, in bytes from the beginning or the end of a record's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offsets {
    time: Option<u8>,
    id: Option<u8>,
}

/// What a record ends in that is no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trailer {
    /// Whose record it is.
    pub task: Task,
    /// When it was written; 0 where it does not say.
    pub time: u64,
    /// On which CPU.
    pub cpu: Option<u32>,
}

/// Fields that all records can have.
const COMMON: u64 =
    sample::TID | sample::TIME | sample::ID | sample::STREAM_ID | sample::CPU | sample::IDENTIFIER;

impl Layout {
    /// The layout of samples with the fields of `sample_type`, without counters, registers and branches. `trailers`
    /// is whether other records end in whose they are (`sample_id_all`).
    pub const fn new(sample_type: u64, trailers: bool) -> Self {
        let identified = sample_type & sample::IDENTIFIER != 0;
        let before_time = sample::IDENTIFIER | sample::IP | sample::TID;
        let before_id = sample::IP | sample::TID | sample::TIME | sample::ADDR;
        let in_sample = Offsets {
            time: offset(sample_type, sample::TIME, before_time),
            id: if identified { Some(0) } else { offset(sample_type, sample::ID, before_id) },
        };
        let behind_id = sample::STREAM_ID | sample::CPU | sample::ID;
        let from_end = Offsets {
            time: offset(sample_type, sample::TIME, COMMON & !sample::TID),
            id: if identified { Some(8) } else { offset(sample_type, sample::ID, behind_id) },
        };
        let none = Offsets { time: None, id: None };
        Self {
            sample_type,
            read_format: 0,
            user_registers: 0,
            interrupt_registers: 0,
            branch_index: false,
            in_sample,
            from_end: if trailers { from_end } else { none },
            trailer: if trailers { bytes(sample_type & COMMON) } else { 0 },
        }
    }

    /// Whether a sample has a field.
    #[inline]
    pub const fn has(&self, field: u64) -> bool {
        self.sample_type & field != 0
    }

    /// When a record was written; none where it does not say. `body` is without the header.
    #[inline]
    pub fn time(&self, header: Header, body: &[u8], order: Order) -> Option<u64> {
        self.find(header, body, order, |offsets| offsets.time)
    }

    /// Of which event a record is, by its number; none where it does not say.
    #[inline]
    pub fn id(&self, header: Header, body: &[u8], order: Order) -> Option<u64> {
        self.find(header, body, order, |offsets| offsets.id)
    }

    #[inline]
    fn find(
        &self,
        header: Header,
        body: &[u8],
        order: Order,
        of: impl Fn(&Offsets) -> Option<u8>,
    ) -> Option<u64> {
        let at = if header.is_sample() {
            usize::from(of(&self.in_sample)?)
        } else {
            body.len().checked_sub(usize::from(of(&self.from_end)?))?
        };
        Words::new(body.get(at..)?, order).u64()
    }

    /// The end of a record that is no sample, and what stands before it. Where the body is too short for one, it has
    /// none.
    #[inline]
    pub fn split<'a>(&self, body: &'a [u8], order: Order) -> (&'a [u8], Trailer) {
        let mut trailer = Trailer::default();
        let Some(at) = body.len().checked_sub(usize::from(self.trailer)) else {
            return (body, trailer);
        };
        let (own, end) = body.split_at(at);
        if !end.is_empty() {
            self.read_trailer(Words::new(end, order), &mut trailer);
        }
        (own, trailer)
    }

    fn read_trailer(&self, mut words: Words<'_>, trailer: &mut Trailer) -> Option<()> {
        if self.has(sample::TID) {
            trailer.task = task(&mut words)?;
        }
        if self.has(sample::TIME) {
            trailer.time = words.u64()?;
        }
        for skipped in [sample::ID, sample::STREAM_ID] {
            if self.has(skipped) {
                words.u64()?;
            }
        }
        if self.has(sample::CPU) {
            trailer.cpu = Some(words.u32()?);
        }
        Some(())
    }
}

/// `{u32 pid, tid}`
#[inline]
pub(crate) fn task(words: &mut Words<'_>) -> Option<Task> {
    Some(Task { pid: words.i32()?, tid: words.i32()? })
}

/// Where a field is that has these others on one side.
const fn offset(sample_type: u64, field: u64, others: u64) -> Option<u8> {
    if sample_type & field == 0 { None } else { Some(bytes(sample_type & others)) }
}

/// How many bytes these fields take: each has eight.
#[expect(clippy::cast_possible_truncation, reason = "six fields at most")]
const fn bytes(fields: u64) -> u8 {
    fields.count_ones() as u8 * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::kind;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn header(kind: u32) -> Header {
        Header { kind, misc: 0, size: 0 }
    }

    #[test]
    fn records_end_in_who_when_and_where() {
        let fields = sample::TID | sample::TIME | sample::CPU | sample::IDENTIFIER;
        let layout = Layout::new(fields, true);
        let body = bytes(&[1, 2, 4 << 32 | 3, 50, 1, 77]);
        let (own, trailer) = layout.split(&body, Order::Little);
        assert_eq!(own.len(), 16);
        let expected = Trailer { task: Task { pid: 3, tid: 4 }, time: 50, cpu: Some(1) };
        assert_eq!(trailer, expected);
        let exit = header(kind::EXIT);
        assert_eq!(layout.time(exit, &body, Order::Little), Some(50));
        assert_eq!(layout.id(exit, &body, Order::Little), Some(77));
        assert_eq!(layout.split(&body[..8], Order::Little), (&body[..8], Trailer::default()));
        assert_eq!(layout.time(exit, &body[..8], Order::Little), None);
        let without = Layout::new(fields, false);
        assert_eq!(without.split(&body, Order::Little), (&body[..], Trailer::default()));
        assert_eq!(without.time(exit, &body, Order::Little), None);
    }

    #[test]
    fn samples_begin_with_them() {
        let body = bytes(&[9, 0x10, 4 << 32 | 3, 50, 0xadd, 77]);
        let sample = header(kind::SAMPLE);
        let identified =
            Layout::new(sample::IDENTIFIER | sample::IP | sample::TID | sample::TIME, true);
        assert_eq!(identified.time(sample, &body, Order::Little), Some(50));
        assert_eq!(identified.id(sample, &body, Order::Little), Some(9));
        let fields = sample::IP | sample::TID | sample::TIME | sample::ADDR | sample::ID;
        let numbered = Layout::new(fields, true);
        assert_eq!(numbered.time(sample, &body[8..], Order::Little), Some(50));
        assert_eq!(numbered.id(sample, &body[8..], Order::Little), Some(77));
        let alone = Layout::new(sample::TIME, true);
        assert_eq!(alone.time(sample, &body[24..], Order::Little), Some(50));
        assert_eq!(alone.id(sample, &body, Order::Little), None);
    }
}
