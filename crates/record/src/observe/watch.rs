//! Watchpoints of the processor on the first byte of values.
//!
//! A processor of x86 watches four addresses a thread. A watchpoint is a perf event: the kernel gives it to every
//! thread and process that the watched one makes, and takes it away when one of them executes another program. It
//! fires for the kernel's own accesses too, where we may see them: `open(getenv("FILE"))` touches the value there
//! alone. Sources: perf_event_open(2), kernel/events/hw_breakpoint.c.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use perf_event_open_sys::bindings::{self as perf, perf_event_attr};

use crate::events::attr::UNWIND_REGISTERS;
use crate::rings::perf::read_lost;
use crate::sys::{MappedRing, Scope, disable, enable, event_id, open_event, redirect};

/// Addresses that the processor can watch at a time.
pub const MOST_WATCHED: usize = 4;
/// Records of one variable after which its watchpoint is taken away: more say nothing new, and each costs the
/// program some microseconds.
const MOST_HITS: u64 = 2_000;
/// Bytes of a ring, without its control page: what anybody may lock (`perf_event_mlock_kb`).
const RING_BYTES: usize = 512 << 10;
/// Bytes of user stack in a record.
const STACK_BYTES: u32 = 4096;
/// No record has more bytes: the user's stack, 127 addresses of the kernel's chain (`perf_event_max_stack`) with its
/// markers, and the registers. A ring with less room may have lost the next record.
const MOST_RECORD_BYTES: usize = 6 << 10;
/// `PERF_RECORD_LOST`, `PERF_RECORD_THROTTLE` and `PERF_RECORD_SAMPLE`.
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const SAMPLE: u32 = 9;
/// Bits of `perf_event_header.misc` that say where the processor was (`PERF_RECORD_MISC_CPUMODE_MASK`).
const MODE: u32 = 7;
const KERNEL_MODE: u32 = 1;

/// A value that is watched in one program.
#[derive(Debug)]
pub(super) struct Watchpoint {
    /// The variable.
    pub(super) name: String,
    /// The address of the first byte of its value.
    pub(super) address: u64,
    /// One event a CPU.
    events: Vec<OwnedFd>,
    /// The events' numbers in records.
    ids: Vec<u64>,
    hits: std::cell::Cell<u64>,
    paused: std::cell::Cell<bool>,
    /// Lost records that were counted before.
    counted: std::cell::Cell<u64>,
}

impl Watchpoint {
    /// Records that found no room since the last call, by the kernel's own count; none where it does not count.
    ///
    /// The count of an event includes the accesses of all that inherited it, because their records are its records.
    pub(super) fn newly_lost(&self) -> Option<u64> {
        let counts = self.events.iter().map(|event| read_lost(event).ok());
        let all = counts.sum::<Option<u64>>()?;
        Some(all - self.counted.replace(all))
    }

    /// Whether a record is of this watchpoint; takes the watchpoint away after too many.
    pub(super) fn owns(&self, id: u64) -> bool {
        let owns = self.ids.contains(&id);
        if owns {
            self.hits.set(self.hits.get() + 1);
            if self.hits.get() == MOST_HITS {
                for event in &self.events {
                    // One that cannot be stopped costs time, and says nothing wrong.
                    let _ = disable(event.as_fd());
                }
            }
        }
        owns
    }

    /// Takes note that the kernel stopped it for a moment, if it is this one that was stopped.
    pub(super) fn pause(&self, id: u64) {
        if self.ids.contains(&id) {
            self.paused.set(true);
        }
    }

    /// Whether it missed accesses: it was taken away before the program ended, or the kernel stopped it for a moment.
    pub(super) fn is_spent(&self) -> bool {
        self.paused.get() || self.hits.get() >= MOST_HITS
    }
}

/// A record of an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Access {
    /// Which event.
    pub(super) id: u64,
    /// Whose.
    pub(super) pid: i32,
    /// When, ns of the monotonic clock.
    pub(super) time: u64,
    /// Whether the kernel touched the value.
    pub(super) in_kernel: bool,
    /// The kernel's call chain, innermost first, with markers; empty for an access in user mode.
    pub(super) chain: Vec<u64>,
    /// The user's registers, in the order of the kernel's numbers.
    pub(super) registers: Vec<u64>,
    /// The top of the user's stack.
    pub(super) stack: Vec<u8>,
}

/// The ring of a CPU.
#[derive(Debug)]
struct Ring {
    cpu: u32,
    anchor: OwnedFd,
    memory: MappedRing,
    /// Whether the last records left no room for one more.
    is_full: bool,
}

/// The rings of all CPUs.
#[derive(Debug)]
pub(super) struct Rings {
    cpus: Vec<Ring>,
    words: Vec<u64>,
    /// Whether the kernel counts the lost records of each event (`PERF_FORMAT_LOST`, Linux 6.0).
    counts_lost: bool,
    /// Lost records that the kernel has told by a record. It writes that one when there is room again, so that what is
    /// lost at the end is missing here.
    told: u64,
    /// Lost records by the counts of events.
    counted: u64,
    /// Events that the kernel stopped until the next tick, because they fired too often.
    pub(super) paused: Vec<u64>,
    /// Whether accesses of the kernel may be seen.
    pub(super) kernel: bool,
}

impl Rings {
    /// Maps one ring a CPU.
    ///
    /// # Errors
    /// What the kernel answers: no right to measure, no memory to lock.
    pub(super) fn new(cpus: &[u32]) -> io::Result<Self> {
        let mut rings = Vec::new();
        for cpu in cpus {
            let anchor = open_event(&mut nothing(), Scope::Thread(0), *cpu)?;
            let memory = MappedRing::map(anchor.as_fd(), RING_BYTES)?;
            rings.push(Ring { cpu: *cpu, anchor, memory, is_full: false });
        }
        let mut counting =
            perf_event_attr { read_format: u64::from(perf::PERF_FORMAT_LOST), ..nothing() };
        let counts_lost = open_event(&mut counting, Scope::Anywhere(0), 0).is_ok();
        let (words, paused) = (Vec::new(), Vec::new());
        Ok(Self { cpus: rings, words, counts_lost, told: 0, counted: 0, paused, kernel: true })
    }

    /// Takes note of what the events of watchpoints have lost, before these are closed.
    pub(super) fn count_lost<'a>(&mut self, points: impl Iterator<Item = &'a Watchpoint>) {
        if self.counts_lost {
            self.counted += points.filter_map(Watchpoint::newly_lost).sum::<u64>();
        }
    }

    /// Records that the kernel found no room for, when all events were counted and all rings drained. At least so
    /// many: where the kernel does not count, each full ring counts for one.
    pub(super) fn lost(&self) -> u64 {
        let full = self.cpus.iter().filter(|ring| ring.is_full && !self.counts_lost).count();
        self.counted.max(self.told + full as u64)
    }

    /// Watches one value from now on, in a stopped thread and in all that it makes.
    ///
    /// # Errors
    /// `ENOSPC` when all four are in use, `EACCES` without the right.
    pub(super) fn watch(&mut self, tid: i32, name: &str, address: u64) -> io::Result<Watchpoint> {
        match self.open(tid, name, address) {
            Err(error) if self.kernel && error.raw_os_error() == Some(libc::EACCES) => {
                self.kernel = false;
                self.open(tid, name, address)
            }
            opened => opened,
        }
    }

    fn open(&self, tid: i32, name: &str, address: u64) -> io::Result<Watchpoint> {
        let (mut events, mut ids) = (Vec::new(), Vec::new());
        for Ring { cpu, anchor, .. } in &self.cpus {
            let mut attr = watchpoint(address);
            if self.counts_lost {
                attr.read_format = u64::from(perf::PERF_FORMAT_LOST);
            }
            attr.set_exclude_kernel(u64::from(!self.kernel));
            attr.set_exclude_callchain_kernel(u64::from(!self.kernel));
            let event = open_event(&mut attr, Scope::Thread(tid), *cpu)?;
            redirect(event.as_fd(), anchor.as_fd())?;
            ids.push(event_id(event.as_fd())?);
            events.push(event);
        }
        for event in &events {
            enable(event.as_fd())?;
        }
        let (hits, paused, counted) = Default::default();
        Ok(Watchpoint { name: name.to_owned(), address, events, ids, hits, paused, counted })
    }

    /// Takes all records that wait.
    pub(super) fn drain(&mut self) -> Vec<Access> {
        self.words.clear();
        for ring in &mut self.cpus {
            let bytes = 8 * ring.memory.drain_into(&mut self.words);
            if bytes > 0 {
                ring.is_full = bytes + MOST_RECORD_BYTES > RING_BYTES;
            }
        }
        let mut accesses = Vec::new();
        let mut rest = self.words.as_slice();
        while let Some(header) = rest.first() {
            let kind = lower(*header);
            let misc = lower(header >> 32) & 0xffff;
            let length = usize::try_from(header >> 48).unwrap_or(0) / 8;
            let Some(record) = rest.get(1..length.max(1)) else { break };
            match kind {
                SAMPLE => accesses.extend(parse(record, misc & MODE == KERNEL_MODE)),
                LOST => self.told += record.get(1).copied().unwrap_or(1),
                // Behind the time.
                THROTTLE => self.paused.extend(record.get(1)),
                _ => {}
            }
            rest = rest.get(length.max(1)..).unwrap_or_default();
        }
        accesses.sort_by_key(|access| access.time);
        accesses
    }
}

/// An event of a thread that measures nothing, and that nobody inherits.
///
/// The kernel gives a child the events of its parent. Where all were given, it swaps the events of both when one
/// runs after the other, instead of exchanging them (`perf_event_context_sched_out`). The child then drops its parent's
/// watchpoints when it executes a program, and its own still occupy the registers for which it wants others: the kernel
/// refuses these. With one event that is not given on, nothing is swapped.
///
/// # Errors
/// Where the thread is gone, or may not be measured.
pub(super) fn keep_apart(tid: i32) -> io::Result<OwnedFd> {
    open_event(&mut nothing(), Scope::Anywhere(tid), 0)
}

/// An event that never fires.
fn nothing() -> perf_event_attr {
    perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        config: u64::from(perf::PERF_COUNT_SW_DUMMY),
        ..base()
    }
}

fn lower(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0)
}

fn base() -> perf_event_attr {
    let mut attr = perf_event_attr {
        size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(u32::MAX),
        ..perf_event_attr::default()
    };
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr
}

fn watchpoint(address: u64) -> perf_event_attr {
    let mut attr = base();
    attr.type_ = perf::PERF_TYPE_BREAKPOINT;
    // The processor cannot watch reads alone.
    attr.bp_type = perf::HW_BREAKPOINT_RW;
    attr.bp_addr = address;
    attr.bp_len = u64::from(perf::HW_BREAKPOINT_LEN_1);
    attr.sample_period = 1;
    let fields = [
        perf::PERF_SAMPLE_IDENTIFIER,
        perf::PERF_SAMPLE_TID,
        perf::PERF_SAMPLE_TIME,
        perf::PERF_SAMPLE_CALLCHAIN,
        perf::PERF_SAMPLE_REGS_USER,
        perf::PERF_SAMPLE_STACK_USER,
    ];
    attr.sample_type = fields.iter().map(|bit| u64::from(*bit)).sum();
    attr.sample_regs_user = UNWIND_REGISTERS;
    attr.sample_stack_user = STACK_BYTES;
    // The user's part comes from registers and stack.
    attr.set_exclude_callchain_user(1);
    attr.set_inherit(1);
    attr.set_remove_on_exec(1);
    attr
}

/// `id, pid and tid, time, length of the chain, chain, abi, registers, size of the stack, stack, size that was copied`
fn parse(record: &[u64], in_kernel: bool) -> Option<Access> {
    let [id, threads, time, length, rest @ ..] = record else { return None };
    let (chain, rest) = rest.split_at_checked(usize::try_from(*length).ok()?)?;
    let (abi, rest) = rest.split_first()?;
    let count = if *abi == 0 { 0 } else { UNWIND_REGISTERS.count_ones() as usize };
    let (registers, rest) = rest.split_at_checked(count)?;
    let (size, rest) = rest.split_first()?;
    let words = usize::try_from(*size).ok()? / 8;
    let (stack, rest) = rest.split_at_checked(words)?;
    let copied = rest.first().and_then(|size| usize::try_from(*size).ok()).unwrap_or(0);
    let mut bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(copied);
    Some(Access {
        id: *id,
        pid: i32::try_from(threads & u64::from(u32::MAX)).ok()?,
        time: *time,
        in_kernel,
        chain: chain.to_vec(),
        registers: registers.to_vec(),
        stack: bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_in_the_kernels_order() {
        let count = UNWIND_REGISTERS.count_ones() as usize;
        let mut words = vec![7, 11 | 12 << 32, 99, 2, 71, 72, 2];
        words.extend((0..count as u64).map(|register| register * 10));
        words.extend([16, 0x0807_0605_0403_0201, 0, 8]);
        let access = parse(&words, true).expect("it is whole");
        assert_eq!((access.id, access.pid, access.time), (7, 11, 99));
        assert_eq!((access.chain.as_slice(), access.registers.get(2)), (&[71, 72][..], Some(&20)));
        assert_eq!(access.stack, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parse(&words[..10], false), None);
    }
}
