//! Watchpoints of the processor on the first byte of values.
//!
//! A processor of x86 watches four addresses a thread. A watchpoint is a perf event: the kernel gives it to every
//! thread and process that the watched one makes, and takes it away when one of them executes another program. It
//! fires for the kernel's own accesses too, where we may see them: `open(getenv("FILE"))` touches the value there
//! alone. Sources: perf_event_open(2), kernel/events/hw_breakpoint.c.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use perf_event_open_sys::bindings::{self as perf, perf_event_attr};

use crate::attr::UNWIND_REGISTERS;
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
}

impl Watchpoint {
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

/// The rings of all CPUs.
#[derive(Debug)]
pub(super) struct Rings {
    cpus: Vec<(u32, OwnedFd, MappedRing)>,
    words: Vec<u64>,
    /// Records that the kernel found no room for.
    pub(super) lost: u64,
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
            let mut attr = perf_event_attr {
                type_: perf::PERF_TYPE_SOFTWARE,
                config: u64::from(perf::PERF_COUNT_SW_DUMMY),
                ..base()
            };
            let anchor = open_event(&mut attr, Scope::Thread(0), *cpu)?;
            let ring = MappedRing::map(anchor.as_fd(), RING_BYTES)?;
            rings.push((*cpu, anchor, ring));
        }
        Ok(Self { cpus: rings, words: Vec::new(), lost: 0, paused: Vec::new(), kernel: true })
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
        let (hits, paused) = (std::cell::Cell::default(), std::cell::Cell::default());
        let (mut events, mut ids) = (Vec::new(), Vec::new());
        for (cpu, anchor, _) in &self.cpus {
            let mut attr = watchpoint(address);
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
        Ok(Watchpoint { name: name.to_owned(), address, events, ids, hits, paused })
    }

    /// Takes all records that wait.
    pub(super) fn drain(&mut self) -> Vec<Access> {
        self.words.clear();
        for (_, _, ring) in &mut self.cpus {
            ring.drain_into(&mut self.words);
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
                LOST => self.lost += record.get(1).copied().unwrap_or(1),
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
    let mut attr = perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        config: u64::from(perf::PERF_COUNT_SW_DUMMY),
        ..base()
    };
    open_event(&mut attr, Scope::Anywhere(tid), 0)
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
