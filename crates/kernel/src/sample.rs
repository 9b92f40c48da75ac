//! The fields of a sample.
//!
//! Source: the comments on `PERF_RECORD_SAMPLE` in include/uapi/linux/perf_event.h.

use crate::attr::{read, sample};
use crate::layout::{Layout, task};
use crate::words::{List, Order, Words};
use crate::{Malformed, Task};

/// `PERF_SAMPLE_REGS_ABI_64`: registers of 64-bit code.
const REGISTERS_64: u64 = 2;

/// One sample. What its event was not asked for is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample<'a> {
    /// The address where it was taken.
    pub ip: Option<u64>,
    /// Who ran.
    pub task: Task,
    /// When it was taken; 0 where it does not say.
    pub time: u64,
    /// The address that was touched.
    pub address: Option<u64>,
    /// On which CPU.
    pub cpu: Option<u32>,
    /// How many events it stands for.
    pub period: Option<u64>,
    /// What counters had counted.
    pub counted: Option<Counted<'a>>,
    /// Addresses, innermost first, with markers between kernel and user.
    pub chain: Option<List<'a>>,
    /// The tracepoint's own record.
    pub raw: Option<&'a [u8]>,
    /// Whether the processor's last branches are in it, which are not read.
    pub branches: bool,
    /// Registers of user code in ascending order of their bits. None for a kernel thread, and for 32-bit code.
    pub registers: Option<List<'a>>,
    /// Bytes from the user's stack pointer upwards.
    pub stack: Option<&'a [u8]>,
    /// The cgroup of who ran.
    pub cgroup: Option<u64>,
}

/// Values of counters that stand in a sample (`perf record -e '{...}:S'`).
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    values: List<'a>,
    /// Numbers of each value: itself, whose it is, how many were lost.
    width: usize,
    has_id: bool,
    /// Whether they are those of several events.
    pub group: bool,
}

impl<'a> Counted<'a> {
    /// Whose value by the event's number, and the value: it counts from the event's start.
    pub fn values(self) -> impl Iterator<Item = (u64, u64)> + 'a {
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

impl<'a> Sample<'a> {
    /// Reads a sample. `body` is without the header.
    ///
    /// # Errors
    /// When it is shorter than its layout says.
    #[inline]
    pub fn read(layout: &Layout, body: &'a [u8], order: Order) -> Result<Self, Malformed> {
        Self::read_all(layout, Words::new(body, order)).ok_or(Malformed)
    }

    #[inline]
    fn read_all(layout: &Layout, mut words: Words<'a>) -> Option<Self> {
        let mut sample = Self::default();
        sample.read_places(layout, &mut words)?;
        if layout.has(sample::READ) {
            sample.counted = Some(counted(layout.read_format, &mut words)?);
        }
        if layout.has(sample::CALLCHAIN) {
            let count = words.u64()?;
            sample.chain = Some(words.list(count)?);
        }
        if layout.sample_type > sample::PERIOD {
            sample.read_payload(layout, &mut words)?;
        }
        Some(sample)
    }

    #[inline]
    fn read_places(&mut self, layout: &Layout, words: &mut Words<'a>) -> Option<()> {
        if layout.has(sample::IDENTIFIER) {
            words.u64()?;
        }
        if layout.has(sample::IP) {
            self.ip = Some(words.u64()?);
        }
        if layout.has(sample::TID) {
            self.task = task(words)?;
        }
        if layout.has(sample::TIME) {
            self.time = words.u64()?;
        }
        if layout.has(sample::ADDR) {
            self.address = Some(words.u64()?);
        }
        for skipped in [sample::ID, sample::STREAM_ID] {
            if layout.has(skipped) {
                words.u64()?;
            }
        }
        if layout.has(sample::CPU) {
            self.cpu = Some(words.u32()?);
            words.u32()?;
        }
        if layout.has(sample::PERIOD) {
            self.period = Some(words.u64()?);
        }
        Some(())
    }

    #[inline]
    fn read_payload(&mut self, layout: &Layout, words: &mut Words<'a>) -> Option<()> {
        if layout.has(sample::RAW) {
            let size = words.u32()?;
            self.raw = Some(words.take(u64::from(size))?);
        }
        if layout.has(sample::BRANCH_STACK) {
            let count = words.u64()?;
            self.branches = count > 0;
            let words_each = count.checked_mul(3)?;
            words.list(words_each.checked_add(u64::from(layout.branch_index))?)?;
        }
        if layout.has(sample::REGS_USER) {
            self.registers = registers(layout.user_registers, words)?;
        }
        if layout.has(sample::STACK_USER) {
            self.stack = Some(stack(words)?);
        }
        self.read_rest(layout, words)
    }

    /// What stands behind all that is read of most samples.
    fn read_rest(&mut self, layout: &Layout, words: &mut Words<'a>) -> Option<()> {
        for skipped in
            [sample::WEIGHT | sample::WEIGHT_STRUCT, sample::DATA_SRC, sample::TRANSACTION]
        {
            if layout.has(skipped) {
                words.u64()?;
            }
        }
        if layout.has(sample::REGS_INTR) {
            registers(layout.interrupt_registers, words)?;
        }
        if layout.has(sample::PHYS_ADDR) {
            words.u64()?;
        }
        if layout.has(sample::CGROUP) {
            self.cgroup = Some(words.u64()?);
        }
        Some(())
    }
}

/// `{u64 abi; u64 registers[bits in mask]}`; no registers for a kernel thread (abi 0). Those of 32-bit code are
/// passed over: they are numbered differently.
#[inline]
fn registers<'a>(mask: u64, words: &mut Words<'a>) -> Option<Option<List<'a>>> {
    let abi = words.u64()?;
    if abi == 0 {
        return Some(None);
    }
    let list = words.list(u64::from(mask.count_ones()))?;
    Some((abi == REGISTERS_64).then_some(list))
}

/// `{u64 size; char data[size]; u64 used}`; `used` is absent when `size` is zero.
#[inline]
fn stack<'a>(words: &mut Words<'a>) -> Option<&'a [u8]> {
    let size = words.u64()?;
    if size == 0 {
        return Some(&[]);
    }
    let copied = words.take(size)?;
    let filled = usize::try_from(words.u64()?).unwrap_or(usize::MAX);
    Some(&copied[..filled.min(copied.len())])
}

/// `{u64 value; u64 times[]; u64 id; u64 lost}`, or of a group
/// `{u64 count; u64 times[]; {u64 value, id, lost} values[count]}`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn read<'a>(layout: &Layout, body: &'a [u8]) -> Result<Sample<'a>, Malformed> {
        Sample::read(layout, body, Order::Little)
    }

    #[test]
    fn a_sample_has_the_fields_that_were_asked_for_and_no_more() {
        let fields = sample::IP | sample::TID | sample::TIME | sample::CALLCHAIN;
        let layout = Layout::new(fields, true);
        let body = bytes(&[0x10, 8 << 32 | 7, 99, 2, 0x10, 0x20]);
        let sample = read(&layout, &body).expect("a sample");
        assert_eq!((sample.ip, sample.time, sample.period), (Some(0x10), 99, None));
        assert_eq!(sample.task, Task { pid: 7, tid: 8 });
        let chain = sample.chain.expect("a chain");
        assert_eq!(chain.iter().collect::<Vec<_>>(), [0x10, 0x20]);
        assert!(read(&layout, &body[..40]).is_err());
        let endless = bytes(&[0x10, 0, 99, u64::MAX, 0x10]);
        assert!(read(&layout, &endless).is_err());
    }

    #[test]
    fn values_of_a_group_are_told_apart_by_id() {
        let read_format = read::GROUP | read::ID | read::LOST | read::ENABLED;
        let group = Layout { read_format, ..Layout::new(sample::READ, true) };
        let values = |layout: &Layout, words: &[u64]| {
            let body = bytes(words);
            let counted = read(layout, &body).ok().and_then(|sample| sample.counted);
            counted.expect("values").values().collect::<Vec<_>>()
        };
        assert_eq!(values(&group, &[2, 500, 10, 1, 0, 20, 2, 0]), [(1, 10), (2, 20)]);
        let alone = Layout { read_format: read::ID | read::LOST, ..group };
        assert_eq!(values(&alone, &[7, 1, 0]), [(0, 7)]);
    }

    #[test]
    fn a_copied_stack_is_as_long_as_was_copied() {
        let fields = sample::REGS_USER | sample::STACK_USER;
        let layout = Layout { user_registers: 0b11, ..Layout::new(fields, true) };
        let counts = |words: &[u64]| {
            let body = bytes(words);
            let sample = read(&layout, &body).expect("a sample");
            (sample.registers.map(|list| list.iter().count()), sample.stack.map(<[u8]>::len))
        };
        assert_eq!(counts(&[2, 5, 6, 16, 0xaa, 0xbb, 8]), (Some(2), Some(8)));
        assert_eq!(counts(&[0, 0]), (None, Some(0)));
        // Those of 32-bit code are others.
        assert_eq!(counts(&[1, 5, 6, 16, 0xaa, 0xbb, 8]), (None, Some(8)));
    }
}
