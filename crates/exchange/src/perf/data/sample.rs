//! The fields of a sample, and those that other records end in.
//!
//! Source: the comments on `PERF_RECORD_SAMPLE` and `struct sample_id` in
//! include/uapi/linux/perf_event.h.

use super::attr::{Attr, read, sample};
use super::words::{List, Words};

/// One sample, as far as it is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample<'a> {
    pub(super) ip: Option<u64>,
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) time: u64,
    pub(super) cpu: u32,
    pub(super) period: Option<u64>,
    pub(super) counted: Option<Counted<'a>>,
    pub(super) chain: Option<List<'a>>,
    pub(super) raw: Option<&'a [u8]>,
    pub(super) branches: bool,
    pub(super) dump: Option<Dump<'a>>,
    pub(super) cgroup: Option<u64>,
}

/// Values of counters that stand in a sample (`{...}:S`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'a> {
    values: List<'a>,
    /// Numbers of each value: itself, whose it is, how many were lost.
    width: usize,
    has_id: bool,
    pub(super) group: bool,
}

impl<'a> Counted<'a> {
    /// Whose value, and the value: it counts from the event's start.
    pub(super) fn values(self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let Self { values, width, has_id, .. } = self;
        let mut values = values.iter();
        std::iter::from_fn(move || {
            let value = values.next()?;
            let id = if has_id { values.next()? } else { 0 };
            for _ in 1 + usize::from(has_id)..width {
                values.next();
            }
            Some((id, value))
        })
    }
}

/// Registers and a copy of the user's stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dump<'a> {
    pub(super) registers: List<'a>,
    pub(super) stack: &'a [u8],
}

impl<'a> Sample<'a> {
    /// Reads a sample; none when it is shorter than its attributes say.
    #[inline]
    pub(super) fn read(attr: &Attr, body: &'a [u8], little: bool) -> Option<Self> {
        let mut words = Words::new(body, little);
        let mut sample = Self { pid: -1, tid: -1, ..Self::default() };
        sample.read_places(attr, &mut words)?;
        if attr.has(sample::READ) {
            sample.counted = Some(counted(attr.read_format, &mut words)?);
        }
        if attr.has(sample::CALLCHAIN) {
            let count = words.u64()?;
            sample.chain = Some(words.list(count)?);
        }
        if attr.sample_type > sample::PERIOD {
            sample.read_payload(attr, &mut words)?;
        }
        Some(sample)
    }

    #[inline]
    fn read_places(&mut self, attr: &Attr, words: &mut Words<'a>) -> Option<()> {
        if attr.has(sample::IDENTIFIER) {
            words.u64()?;
        }
        if attr.has(sample::IP) {
            self.ip = Some(words.u64()?);
        }
        if attr.has(sample::TID) {
            (self.pid, self.tid) = (words.i32()?, words.i32()?);
        }
        if attr.has(sample::TIME) {
            self.time = words.u64()?;
        }
        for skipped in [sample::ADDR, sample::ID, sample::STREAM_ID] {
            if attr.has(skipped) {
                words.u64()?;
            }
        }
        if attr.has(sample::CPU) {
            self.cpu = words.u32()?;
            words.u32()?;
        }
        if attr.has(sample::PERIOD) {
            self.period = Some(words.u64()?);
        }
        Some(())
    }

    fn read_payload(&mut self, attr: &Attr, words: &mut Words<'a>) -> Option<()> {
        if attr.has(sample::RAW) {
            let size = words.u32()?;
            self.raw = Some(words.take(u64::from(size))?);
        }
        if attr.has(sample::BRANCH_STACK) {
            let count = words.u64()?;
            self.branches = count > 0;
            words.list(count.checked_mul(3)?.checked_add(u64::from(attr.branch_index))?)?;
        }
        let mut registers = None;
        if attr.has(sample::REGS_USER) && words.u64()? != 0 {
            registers = Some(words.list(u64::from(attr.regs_user.count_ones()))?);
        }
        if attr.has(sample::STACK_USER) {
            let stack = stack(words)?;
            self.dump = registers.map(|registers| Dump { registers, stack });
        }
        for skipped in
            [sample::WEIGHT | sample::WEIGHT_STRUCT, sample::DATA_SRC, sample::TRANSACTION]
        {
            if attr.has(skipped) {
                words.u64()?;
            }
        }
        if attr.has(sample::REGS_INTR) && words.u64()? != 0 {
            words.list(u64::from(attr.regs_intr.count_ones()))?;
        }
        if attr.has(sample::PHYS_ADDR) {
            words.u64()?;
        }
        if attr.has(sample::CGROUP) {
            self.cgroup = Some(words.u64()?);
        }
        Some(())
    }
}

/// The copied stack, as much of it as there was.
fn stack<'a>(words: &mut Words<'a>) -> Option<&'a [u8]> {
    let size = words.u64()?;
    if size == 0 {
        return Some(&[]);
    }
    let copied = words.take(size)?;
    let filled = usize::try_from(words.u64()?).unwrap_or(usize::MAX);
    Some(&copied[..filled.min(copied.len())])
}

fn counted<'a>(format: u64, words: &mut Words<'a>) -> Option<Counted<'a>> {
    let has = |bit| format & bit != 0;
    let times = u64::from(has(read::ENABLED)) + u64::from(has(read::RUNNING));
    let width = 1 + u64::from(has(read::ID)) + u64::from(has(read::LOST));
    let mut values = None;
    let count = if has(read::GROUP) {
        words.u64()?
    } else {
        // The times stand between the value and whose it is.
        values = Some(words.list(1)?);
        0
    };
    words.list(times)?;
    let rest = if has(read::GROUP) { count.checked_mul(width)? } else { width - 1 };
    let listed = words.list(rest)?;
    Some(Counted {
        values: values.unwrap_or(listed),
        width: if has(read::GROUP) { usize::try_from(width).ok()? } else { 1 },
        has_id: has(read::GROUP) && has(read::ID),
        group: has(read::GROUP),
    })
}

/// Whose event a sample is of, by its id. None where the file does not tell its events apart.
#[inline]
pub(super) fn id_of_sample(sample_type: u64, body: &[u8], little: bool) -> Option<u64> {
    let before = if sample_type & sample::IDENTIFIER != 0 {
        0
    } else if sample_type & sample::ID != 0 {
        let fields = sample::IP | sample::TID | sample::TIME | sample::ADDR;
        (sample_type & fields).count_ones() as usize * 8
    } else {
        return None;
    };
    Words::new(body.get(before..)?, little).u64()
}

/// What records that are no samples end in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trailer {
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) time: u64,
    pub(super) cpu: u32,
    /// How many bytes it takes.
    pub(super) length: usize,
}

impl Trailer {
    /// Reads the end of a record; zeros where there is none.
    pub(super) fn read(attr: &Attr, body: &[u8], little: bool) -> Self {
        let mut trailer = Self { pid: -1, tid: -1, ..Self::default() };
        if !attr.sample_id_all() {
            return trailer;
        }
        let fields = sample::TID
            | sample::TIME
            | sample::ID
            | sample::STREAM_ID
            | sample::CPU
            | sample::IDENTIFIER;
        let length = (attr.sample_type & fields).count_ones() as usize * 8;
        let Some(start) = body.len().checked_sub(length) else { return trailer };
        let mut words = Words::new(&body[start..], little);
        trailer.length = length;
        if attr.has(sample::TID) {
            trailer.pid = words.i32().unwrap_or(-1);
            trailer.tid = words.i32().unwrap_or(-1);
        }
        if attr.has(sample::TIME) {
            trailer.time = words.u64().unwrap_or(0);
        }
        for skipped in [sample::ID, sample::STREAM_ID] {
            if attr.has(skipped) {
                words.u64();
            }
        }
        if attr.has(sample::CPU) {
            trailer.cpu = words.u32().unwrap_or(0);
        }
        trailer
    }
}

/// Whose event a record that is no sample is of.
pub(super) fn id_of_other(sample_type: u64, body: &[u8], little: bool) -> Option<u64> {
    let from_end = if sample_type & sample::IDENTIFIER != 0 {
        8
    } else if sample_type & sample::ID != 0 {
        let behind = sample::ID | sample::STREAM_ID | sample::CPU;
        (sample_type & behind).count_ones() as usize * 8
    } else {
        return None;
    };
    Words::new(body.get(body.len().checked_sub(from_end)?..)?, little).u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_sample_has_the_fields_that_were_asked_for_and_no_more() {
        let attr = Attr {
            sample_type: sample::IP | sample::TID | sample::TIME | sample::CALLCHAIN,
            ..Attr::default()
        };
        let body = bytes(&[0x10, 8 << 32 | 7, 99, 2, 0x10, 0x20]);
        let read = Sample::read(&attr, &body, true).expect("a sample");
        assert_eq!((read.ip, read.pid, read.tid, read.time), (Some(0x10), 7, 8, 99));
        assert_eq!(read.chain.expect("a chain").iter().collect::<Vec<_>>(), [0x10, 0x20]);
        assert!(Sample::read(&attr, &body[..40], true).is_none());
        let endless = bytes(&[0x10, 0, 99, u64::MAX, 0x10]);
        assert!(Sample::read(&attr, &endless, true).is_none());
    }

    #[test]
    fn values_of_a_group_are_told_apart_by_id() {
        let attr = Attr {
            sample_type: sample::READ,
            read_format: read::GROUP | read::ID | read::LOST | read::ENABLED,
            ..Attr::default()
        };
        let body = bytes(&[2, 500, 10, 1, 0, 20, 2, 0]);
        let counted = Sample::read(&attr, &body, true).and_then(|read| read.counted);
        let counted = counted.expect("values");
        assert_eq!(counted.values().collect::<Vec<_>>(), [(1, 10), (2, 20)]);
        let alone = Attr { read_format: read::ID | read::LOST, ..attr };
        let body = bytes(&[7, 1, 0]);
        let counted = Sample::read(&alone, &body, true).and_then(|read| read.counted);
        assert_eq!(counted.expect("a value").values().collect::<Vec<_>>(), [(0, 7)]);
    }

    #[test]
    fn a_dump_is_as_long_as_was_copied() {
        let attr = Attr {
            sample_type: sample::REGS_USER | sample::STACK_USER,
            regs_user: 0b11,
            ..Attr::default()
        };
        let body = bytes(&[2, 5, 6, 16, 0xaa, 0xbb, 8]);
        let dump = Sample::read(&attr, &body, true).and_then(|read| read.dump).expect("a dump");
        assert_eq!((dump.registers.iter().count(), dump.stack.len()), (2, 8));
        let without = bytes(&[0, 0]);
        assert!(Sample::read(&attr, &without, true).is_some_and(|read| read.dump.is_none()));
    }

    #[test]
    fn records_end_in_who_and_when() {
        let flags_with_ids = {
            let mut bytes = [0; super::super::attr::LEAST];
            bytes[40..48].copy_from_slice(&(1_u64 << 18).to_le_bytes());
            let kinds = sample::TID | sample::TIME | sample::CPU | sample::IDENTIFIER;
            bytes[24..32].copy_from_slice(&kinds.to_le_bytes());
            Attr::read(&bytes, true).expect("attributes")
        };
        let body = bytes(&[1, 2, 4 << 32 | 3, 50, 1, 77]);
        let trailer = Trailer::read(&flags_with_ids, &body, true);
        assert_eq!((trailer.pid, trailer.tid, trailer.time, trailer.cpu), (3, 4, 50, 1));
        assert_eq!(trailer.length, 32);
        assert_eq!(id_of_other(flags_with_ids.sample_type, &body, true), Some(77));
        assert_eq!(Trailer::read(&flags_with_ids, &body[..8], true).length, 0);
    }
}
