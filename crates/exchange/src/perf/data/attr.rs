//! What was asked of the kernel: one set of attributes an event.
//!
//! Source: `struct perf_event_attr` in include/uapi/linux/perf_event.h.

use super::words::Words;

/// Least bytes of attributes: the first version of the structure.
pub(super) const LEAST: usize = 64;

/// `perf_event_attr.type`.
pub(super) const SOFTWARE: u32 = 1;
pub(super) const TRACEPOINT: u32 = 2;

/// Bits of `sample_type`.
pub(super) mod sample {
    pub(crate) const IP: u64 = 1;
    pub(crate) const TID: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ADDR: u64 = 1 << 3;
    pub(crate) const READ: u64 = 1 << 4;
    pub(crate) const CALLCHAIN: u64 = 1 << 5;
    pub(crate) const ID: u64 = 1 << 6;
    pub(crate) const CPU: u64 = 1 << 7;
    pub(crate) const PERIOD: u64 = 1 << 8;
    pub(crate) const STREAM_ID: u64 = 1 << 9;
    pub(crate) const RAW: u64 = 1 << 10;
    pub(crate) const BRANCH_STACK: u64 = 1 << 11;
    pub(crate) const REGS_USER: u64 = 1 << 12;
    pub(crate) const STACK_USER: u64 = 1 << 13;
    pub(crate) const WEIGHT: u64 = 1 << 14;
    pub(crate) const DATA_SRC: u64 = 1 << 15;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
    pub(crate) const TRANSACTION: u64 = 1 << 17;
    pub(crate) const REGS_INTR: u64 = 1 << 18;
    pub(crate) const PHYS_ADDR: u64 = 1 << 19;
    pub(crate) const CGROUP: u64 = 1 << 21;
    pub(crate) const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Bits of `read_format`.
pub(super) mod read {
    pub(crate) const ENABLED: u64 = 1;
    pub(crate) const RUNNING: u64 = 1 << 1;
    pub(crate) const ID: u64 = 1 << 2;
    pub(crate) const GROUP: u64 = 1 << 3;
    pub(crate) const LOST: u64 = 1 << 4;
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
pub(super) struct Attr {
    pub(super) kind: u32,
    pub(super) config: u64,
    /// The period, or the frequency where `flags` say so.
    pub(super) period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) branch_index: bool,
    pub(super) regs_user: u64,
    pub(super) regs_intr: u64,
    pub(super) clock: i32,
}

impl Attr {
    /// Reads attributes; what an older kernel did not have is zero. None when they are too short.
    pub(super) fn read(bytes: &[u8], little: bool) -> Option<Self> {
        if bytes.len() < LEAST {
            return None;
        }
        let long = |at: usize| Words::new(bytes.get(at..)?, little).u64();
        let int = |at: usize| Words::new(bytes.get(at..)?, little).u32();
        let flags = long(40)?;
        Some(Self {
            kind: int(0)?,
            config: long(8)?,
            period: long(16)?,
            sample_type: long(24)?,
            read_format: long(32)?,
            // Bit fields begin at the other end on machines of the other order.
            flags: if little { flags } else { flags.reverse_bits() },
            branch_index: long(72).unwrap_or(0) & BRANCH_HW_INDEX != 0,
            regs_user: long(80).unwrap_or(0),
            clock: int(92).unwrap_or(0).cast_signed(),
            regs_intr: long(96).unwrap_or(0),
        })
    }

    #[inline]
    pub(super) fn has(&self, field: u64) -> bool {
        self.sample_type & field != 0
    }

    /// The period of every sample; none where the kernel chose it.
    pub(super) fn fixed_period(&self) -> Option<u64> {
        (self.flags & FREQ == 0 && self.period > 0).then_some(self.period)
    }

    /// Records that are no samples end in who, when and where too.
    pub(super) fn sample_id_all(&self) -> bool {
        self.flags & SAMPLE_ID_ALL != 0
    }

    /// Switches are recorded (`--switch-events`).
    pub(super) fn switches(&self) -> bool {
        self.flags & CONTEXT_SWITCH != 0
    }

    /// Mappings carry the build id of the file in place of its numbers (`--buildid-mmap`).
    pub(super) fn build_ids(&self) -> bool {
        self.flags & BUILD_ID != 0
    }

    /// The clock that was chosen (`--clockid`), by its number in time.h.
    pub(super) fn clock_id(&self) -> Option<i32> {
        (self.flags & USE_CLOCKID != 0).then_some(self.clock)
    }

    /// What perf calls such an event, where the file does not say.
    pub(super) fn name(&self) -> String {
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
            SOFTWARE => SOFT.get(low),
            _ => None,
        };
        match (known, self.kind) {
            (Some(name), _) => (*name).to_owned(),
            (None, TRACEPOINT) => format!("tracepoint {}", self.config),
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
        let little = Attr::read(&bytes, true).expect("attributes");
        assert_eq!((little.name().as_str(), little.fixed_period()), ("cpu-clock", None));
        assert!(little.switches() && !little.sample_id_all());
        bytes[0..4].copy_from_slice(&1_u32.to_be_bytes());
        bytes[16..24].copy_from_slice(&100_u64.to_be_bytes());
        let flags = (FREQ | CONTEXT_SWITCH).reverse_bits();
        bytes[40..48].copy_from_slice(&flags.to_be_bytes());
        assert_eq!(Attr::read(&bytes, false), Some(little));
        assert_eq!(Attr::read(&bytes[1..], true), None);
    }
}
