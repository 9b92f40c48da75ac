//! What was asked of the kernel: one set of attributes an event.
//!
//! Source: `struct perf_event_attr` in include/uapi/linux/perf_event.h.

use crate::layout::Layout;
use crate::words::{Order, Words};

/// Least bytes of attributes: the first version of the structure.
pub const LEAST: usize = 64;

/// Values of [`Attr::kind`] (`perf_event_attr.type`).
pub mod kind {
    /// What the kernel itself counts.
    pub const SOFTWARE: u32 = 1;
    /// A tracepoint; `config` is its number.
    pub const TRACEPOINT: u32 = 2;
}

/// Bits of `sample_type`: what a sample holds.
#[expect(missing_docs, reason = "the kernel's names, as perf_event_open(2) explains them")]
pub mod sample {
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const TRANSACTION: u64 = 1 << 17;
    pub const REGS_INTR: u64 = 1 << 18;
    pub const PHYS_ADDR: u64 = 1 << 19;
    pub const CGROUP: u64 = 1 << 21;
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Bits of `read_format`: what stands beside the value of a counter.
#[expect(missing_docs, reason = "the kernel's names, as perf_event_open(2) explains them")]
pub mod read {
    pub const ENABLED: u64 = 1;
    pub const RUNNING: u64 = 1 << 1;
    pub const ID: u64 = 1 << 2;
    pub const GROUP: u64 = 1 << 3;
    pub const LOST: u64 = 1 << 4;
}

/// Bits of the flags.
const FREQ: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
const BUILD_ID: u64 = 1 << 34;

/// A branch stack begins with the index of the newest entry.
const BRANCH_HW_INDEX: u64 = 1 << 17;

/// The attributes of an event, as far as they matter to a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attr {
    /// What kind of event: see [`kind`].
    pub kind: u32,
    /// Which of its kind.
    pub config: u64,
    /// What its records look like.
    pub layout: Layout,
    /// The period, or the frequency where `flags` say so.
    period: u64,
    flags: u64,
    clock: i32,
}

impl Attr {
    /// Reads attributes; what an older kernel did not have is zero. None when they are too short.
    pub fn read(bytes: &[u8], order: Order) -> Option<Self> {
        if bytes.len() < LEAST {
            return None;
        }
        let long = |at: usize| Words::new(bytes.get(at..)?, order).u64();
        let int = |at: usize| Words::new(bytes.get(at..)?, order).u32();
        let flags = long(40)?;
        // Bit fields begin at the other end on machines of the other order.
        let flags = if order == Order::Little { flags } else { flags.reverse_bits() };
        let layout = Layout {
            read_format: long(32)?,
            branch_index: long(72).unwrap_or(0) & BRANCH_HW_INDEX != 0,
            user_registers: long(80).unwrap_or(0),
            interrupt_registers: long(96).unwrap_or(0),
            ..Layout::new(long(24)?, flags & SAMPLE_ID_ALL != 0)
        };
        let (kind, config, period) = (int(0)?, long(8)?, long(16)?);
        let clock = int(92).unwrap_or(0).cast_signed();
        Some(Self { kind, config, layout, period, flags, clock })
    }

    /// The period of every sample; none where the kernel chose it.
    pub fn fixed_period(&self) -> Option<u64> {
        (self.flags & FREQ == 0 && self.period > 0).then_some(self.period)
    }

    /// Whether switches are recorded (`perf record --switch-events`).
    pub fn switches(&self) -> bool {
        self.flags & CONTEXT_SWITCH != 0
    }

    /// Whether mappings carry the build id of the file in place of its numbers (`perf record --buildid-mmap`).
    pub fn build_ids(&self) -> bool {
        self.flags & BUILD_ID != 0
    }

    /// The clock that was chosen (`perf record --clockid`), by its number in time.h.
    pub fn clock_id(&self) -> Option<i32> {
        (self.flags & USE_CLOCKID != 0).then_some(self.clock)
    }

    /// What perf calls such an event, where nothing says it.
    pub fn name(&self) -> String {
        const HARDWARE: [&str; 10] = [
            "cycles",
            "instructions",
            "cache-references",
            "cache-misses",
            "branches",
            "branch-misses",
            "bus-cycles",
            "stalled-cycles-frontend",
            "stalled-cycles-backend",
            "ref-cycles",
        ];
        const SOFT: [&str; 12] = [
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "cpu-migrations",
            "minor-faults",
            "major-faults",
            "alignment-faults",
            "emulation-faults",
            "dummy",
            "bpf-output",
            "cgroup-switches",
        ];
        // The upper half names the core's kind on machines with several.
        let low = usize::try_from(self.config & 0xffff_ffff).unwrap_or(usize::MAX);
        let known = match self.kind {
            0 => HARDWARE.get(low),
            kind::SOFTWARE => SOFT.get(low),
            _ => None,
        };
        match (known, self.kind) {
            (Some(name), _) => (*name).to_owned(),
            (None, kind::TRACEPOINT) => format!("tracepoint {}", self.config),
            (None, kind) => format!("event {kind}/{:#x}", self.config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_from_either_order_of_bytes() {
        let mut bytes = [0; LEAST];
        bytes[0] = 1;
        bytes[16] = 100;
        bytes[40..48].copy_from_slice(&(FREQ | CONTEXT_SWITCH).to_le_bytes());
        let little = Attr::read(&bytes, Order::Little).expect("attributes");
        assert_eq!((little.name().as_str(), little.fixed_period()), ("cpu-clock", None));
        assert!(little.switches() && !little.build_ids());
        bytes[0..4].copy_from_slice(&1_u32.to_be_bytes());
        bytes[16..24].copy_from_slice(&100_u64.to_be_bytes());
        let flags = (FREQ | CONTEXT_SWITCH).reverse_bits();
        bytes[40..48].copy_from_slice(&flags.to_be_bytes());
        assert_eq!(Attr::read(&bytes, Order::Big), Some(little));
        assert_eq!(Attr::read(&bytes[1..], Order::Little), None);
    }
}
