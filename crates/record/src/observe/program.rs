//! The two programs that the kernel runs for an observation, and the maps that they fill.
//!
//! ```text
//! getenv uprobe ──> names: (process, function, name) -> calls     counted in the kernel
//!                └─> ring: registers and stack of the first call of each name
//! sys_exit ──────> ring: paths of calls that open or look for files, with their results
//!                └─> bytes: (process, descriptor) -> bytes read
//! ```
//!
//! Both look at a thread only if its process is in the map `observed`. The first may wait for a page of the
//! program's memory: a name that the process has never touched before is read all the same.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use crate::probes::assembler::{Assembler, Helper, Reg, When};
use crate::sys::bpf::{Map, MapKind, ProgramKind, ProgramRing, at_probe, at_tracepoint, load};

/// Bytes of a name that are kept, with a zero at the end.
pub(super) const NAME_BYTES: usize = 120;
/// Bytes of a path that are kept, with a zero at the end.
pub(super) const PATH_BYTES: u16 = 256;
/// Bytes of user stack that come with the first call of a name: enough for the callers that matter.
const STACK_BYTES: i32 = 4096;
/// Bytes that are tried where less of the stack is left.
const FEW_STACK_BYTES: i32 = 512;
/// Words of `struct pt_regs`.
const REGISTERS: i16 = 21;
/// Distinct names of all processes together; a program asks for some dozens.
const MOST_NAMES: u32 = 16_384;
/// Bytes of the ring: 1,600 first calls, or 25,000 paths.
const RING_BYTES: u32 = 8 << 20;

/// Places in `struct pt_regs` (arch/x86/include/asm/ptrace.h), in bytes.
mod register {
    pub(super) const BX: i16 = 40;
    pub(super) const AX: i16 = 80;
    pub(super) const SI: i16 = 104;
    pub(super) const DI: i16 = 112;
    pub(super) const ORIG_AX: i16 = 120;
    pub(super) const SP: i16 = 152;
}

/// How a probed function takes the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Convention {
    /// C: the first argument leads to a text that ends with a zero.
    C,
    /// Go since 1.17: the first two registers are a string.
    Go,
    /// There is no name: the function hands out the whole environment.
    Whole,
    /// A language's own interface, which asks `getenv` next, in the same thread.
    Accessor,
}

/// The maps of one observation.
#[derive(Debug)]
pub(super) struct Maps {
    /// Processes that are observed.
    pub(super) observed: Map,
    /// How often a function was asked for a name.
    pub(super) names: Map,
    /// The interface that a thread is in, until it asks `getenv`.
    accessors: Map,
    /// Bytes that were read from a descriptor.
    pub(super) bytes: Map,
    /// Records that found no room.
    pub(super) lost: Map,
    /// First calls and paths.
    pub(super) ring: ProgramRing,
}

/// A key of `names`: process, function, name.
const NAME_KEY: usize = 8 + NAME_BYTES;

impl Maps {
    /// # Errors
    /// `EPERM` without CAP_BPF.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            observed: Map::new(MapKind::Hash, 4, 4, 16_384)?,
            names: Map::new(MapKind::Hash, NAME_KEY, 8, MOST_NAMES)?,
            accessors: Map::new(MapKind::Hash, 8, 8, 16_384)?,
            bytes: Map::new(MapKind::Hash, 8, 8, 65_536)?,
            lost: Map::new(MapKind::Array, 4, 8, 1)?,
            ring: ProgramRing::new(RING_BYTES)?,
        })
    }
}

fn descriptor(fd: BorrowedFd<'_>) -> i32 {
    fd.as_raw_fd()
}

// Where things lie below the top of the program's stack of 512 bytes.
const PROCESS: i16 = -8;
const KEY: i16 = -136;
const KEY_NAME: i16 = KEY + 8;
const SCRATCH: i16 = -264;
const COUNT: i16 = -272;
const SAVED: i16 = -448;

/// Looks the thread's process up in `observed` and goes to `out` if it is not there. `R9` holds process and thread.
fn only_observed(program: &mut Assembler, maps: &Maps) {
    program.copy(Reg::R6, Reg::R1).call(Helper::PidTgid).copy(Reg::R9, Reg::R0);
    program.copy(Reg::R1, Reg::R9).shift_right(Reg::R1, 32).store(Reg::Fp, PROCESS, Reg::R1);
    program.map(Reg::R1, descriptor(maps.observed.as_fd())).stack(Reg::R2, PROCESS);
    program.call(Helper::MapLookup).jump(When::Equal, Reg::R0, 0, "out");
}

/// Adds one to the records that found no room.
fn count_lost(program: &mut Assembler, maps: &Maps) {
    program.store_value(Reg::Fp, PROCESS, 0);
    program.map(Reg::R1, descriptor(maps.lost.as_fd())).stack(Reg::R2, PROCESS);
    program.call(Helper::MapLookup).jump(When::Equal, Reg::R0, 0, "out");
    program.set(Reg::R1, 1).add_shared(Reg::R0, 0, Reg::R1);
}

/// Reserves a record in the ring; `R7` leads to it. Starts it with process, thread, time and kind.
fn reserve(program: &mut Assembler, maps: &Maps, size: i32, kind: i32) {
    program.map(Reg::R1, descriptor(maps.ring.as_fd())).set(Reg::R2, size).set(Reg::R3, 0);
    program.call(Helper::RingReserve).jump(When::Equal, Reg::R0, 0, "lost");
    program.copy(Reg::R7, Reg::R0).store(Reg::R7, 0, Reg::R9);
    program.call(Helper::Clock).store(Reg::R7, 8, Reg::R0).store_value(Reg::R7, 16, kind);
}

/// Where the parts of a record of a first call lie.
pub(super) mod first {
    pub(crate) const KIND: i32 = 1;
    pub(crate) const REGISTERS: i16 = 24;
    pub(crate) const KEY: i16 = REGISTERS + 8 * super::REGISTERS;
    pub(crate) const STACK: i16 = KEY + 128;
    pub(crate) const STACK_SIZE: i16 = STACK + 4096;
    pub(crate) const SIZE: i32 = STACK_SIZE as i32 + 8;
}

/// Counts the calls of one function by name, and records the first of each name.
fn count_names(maps: &Maps, function: i32, convention: Convention) -> Vec<u64> {
    let mut program = Assembler::default();
    only_observed(&mut program, maps);
    for word in 0..16 {
        program.store_value(Reg::Fp, KEY + 8 * word, 0);
    }
    program.load(Reg::R1, Reg::Fp, PROCESS).store_half(Reg::Fp, KEY, Reg::R1);
    program.store_half_value(Reg::Fp, KEY + 4, function);
    if convention == Convention::C {
        ask_for_accessor(&mut program, maps);
    }
    read_name(&mut program, convention);
    program.map(Reg::R1, descriptor(maps.names.as_fd())).stack(Reg::R2, KEY);
    program.call(Helper::MapLookup).jump(When::Equal, Reg::R0, 0, "new");
    program.label("known").set(Reg::R1, 1).add_shared(Reg::R0, 0, Reg::R1).go("out");
    program.label("new").store_value(Reg::Fp, COUNT, 1);
    program.map(Reg::R1, descriptor(maps.names.as_fd())).stack(Reg::R2, KEY);
    program.stack(Reg::R3, COUNT).set(Reg::R4, 1).call(Helper::MapUpdate);
    program.jump(When::Equal, Reg::R0, 0, "first");
    // Another thread was faster, or the map is full.
    program.map(Reg::R1, descriptor(maps.names.as_fd())).stack(Reg::R2, KEY);
    program.call(Helper::MapLookup).jump(When::NotEqual, Reg::R0, 0, "known").go("lost");
    program.label("first");
    record_first_call(&mut program, maps);
    program.go("out").label("lost");
    count_lost(&mut program, maps);
    program.label("out").finish(0);
    program.build()
}

/// Takes note that a thread is in a language's own interface.
fn enter_accessor(maps: &Maps, function: i32) -> Vec<u64> {
    let mut program = Assembler::default();
    only_observed(&mut program, maps);
    program.store(Reg::Fp, KEY, Reg::R9).store_value(Reg::Fp, COUNT, function);
    program.map(Reg::R1, descriptor(maps.accessors.as_fd())).stack(Reg::R2, KEY);
    program.stack(Reg::R3, COUNT).set(Reg::R4, 0).call(Helper::MapUpdate);
    program.label("out").finish(0);
    program.build()
}

/// If the thread is in an interface, the call is the interface's, and no later one is.
fn ask_for_accessor(program: &mut Assembler, maps: &Maps) {
    let accessors = descriptor(maps.accessors.as_fd());
    program.store(Reg::Fp, SCRATCH, Reg::R9).map(Reg::R1, accessors).stack(Reg::R2, SCRATCH);
    program.call(Helper::MapLookup).jump(When::Equal, Reg::R0, 0, "direct");
    program.load(Reg::R1, Reg::R0, 0).store_half(Reg::Fp, KEY + 4, Reg::R1);
    program.map(Reg::R1, accessors).stack(Reg::R2, SCRATCH).call(Helper::MapDelete);
    program.label("direct");
}

fn read_name(program: &mut Assembler, convention: Convention) {
    let size = i32::try_from(NAME_BYTES).unwrap_or(0);
    let pointer = if convention == Convention::Go { register::AX } else { register::DI };
    if convention == Convention::Whole {
        return;
    }
    program.load(Reg::R7, Reg::R6, pointer);
    // Brings the page in: what reads a text below does not wait for pages.
    program.stack(Reg::R1, SCRATCH).set(Reg::R2, size).copy(Reg::R3, Reg::R7);
    program.call(Helper::CopyFromUser);
    if convention == Convention::Go {
        program.load(Reg::R2, Reg::R6, register::BX);
        program.jump(When::Above, Reg::R2, size - 1, "long").go("length");
        program.label("long").set(Reg::R2, size - 1).label("length");
        program.stack(Reg::R1, KEY_NAME).copy(Reg::R3, Reg::R7).call(Helper::ReadUser);
    } else {
        program.stack(Reg::R1, KEY_NAME).set(Reg::R2, size).copy(Reg::R3, Reg::R7);
        program.call(Helper::ReadUserText);
    }
}

fn record_first_call(program: &mut Assembler, maps: &Maps) {
    reserve(program, maps, first::SIZE, first::KIND);
    for word in 0..REGISTERS {
        program.load(Reg::R1, Reg::R6, 8 * word);
        program.store(Reg::R7, first::REGISTERS + 8 * word, Reg::R1);
    }
    for word in 0..16 {
        program.load(Reg::R1, Reg::Fp, KEY + 8 * word);
        program.store(Reg::R7, first::KEY + 8 * word, Reg::R1);
    }
    for (size, next) in [(STACK_BYTES, "few"), (FEW_STACK_BYTES, "none")] {
        program.copy(Reg::R1, Reg::R7).add(Reg::R1, i32::from(first::STACK)).set(Reg::R2, size);
        program.load(Reg::R3, Reg::R6, register::SP).call(Helper::CopyFromUser);
        program.jump(When::NotEqual, Reg::R0, 0, next);
        program.store_value(Reg::R7, first::STACK_SIZE, size).go("submit").label(next);
    }
    program.store_value(Reg::R7, first::STACK_SIZE, 0).label("submit");
    program.copy(Reg::R1, Reg::R7).set(Reg::R2, 0).call(Helper::RingSubmit);
}

/// Where the parts of a record of a file lie.
pub(super) mod file {
    pub(crate) const KIND: i32 = 2;
    pub(crate) const CALL: i16 = 24;
    pub(crate) const RESULT: i16 = 32;
    pub(crate) const FOLDER: i16 = 40;
    pub(crate) const BYTES: i16 = 48;
    pub(crate) const PATH: i16 = 56;
    pub(crate) const SIZE: i32 = PATH as i32 + super::PATH_BYTES as i32;
}

/// System calls of x86-64 that take a path as second argument, behind a folder: openat, openat2, newfstatat,
/// faccessat, faccessat2, statx, readlinkat.
const PATH_SECOND: [i32; 7] = [257, 437, 262, 269, 439, 332, 267];
/// Those that take it as first: open, stat, lstat, access, readlink.
const PATH_FIRST: [i32; 5] = [2, 4, 6, 21, 89];
/// Those that open; the others are recorded only when they fail.
pub(super) const OPENS: [i32; 3] = [257, 437, 2];
/// Those that read: read, pread64, readv, preadv, preadv2.
const READS: [i32; 5] = [0, 17, 19, 295, 327];
/// close
pub(super) const CLOSE: i32 = 3;

/// Records what processes open, look for and read.
fn follow_files(maps: &Maps) -> Vec<u64> {
    let mut program = Assembler::default();
    only_observed(&mut program, maps);
    program.load(Reg::R3, Reg::R6, 0).load(Reg::R8, Reg::R6, 8);
    program.stack(Reg::R1, SAVED).set(Reg::R2, 8 * i32::from(REGISTERS));
    program.call(Helper::ReadKernel).jump(When::NotEqual, Reg::R0, 0, "out");
    // The key of `bytes`: process and descriptor.
    program.load(Reg::R1, Reg::Fp, PROCESS).store_half(Reg::Fp, KEY, Reg::R1);
    program.load(Reg::R1, Reg::Fp, SAVED + register::DI).store_half(Reg::Fp, KEY + 4, Reg::R1);
    program.load(Reg::R7, Reg::Fp, SAVED + register::ORIG_AX);
    for call in READS {
        program.jump(When::Equal, Reg::R7, call, "read");
    }
    program.jump(When::Equal, Reg::R7, CLOSE, "close");
    for call in OPENS {
        let label = if PATH_FIRST.contains(&call) { "first" } else { "second" };
        program.jump(When::Equal, Reg::R7, call, label);
    }
    for (calls, label) in [(&PATH_SECOND[..], "missing second"), (&PATH_FIRST[..], "missing first")]
    {
        for call in calls {
            program.jump(When::Equal, Reg::R7, *call, label);
        }
    }
    program.go("out");
    program.label("missing first").jump(When::Negative, Reg::R8, 0, "first").go("out");
    program.label("missing second").jump(When::Negative, Reg::R8, 0, "second").go("out");
    program.label("first").load(Reg::R6, Reg::Fp, SAVED + register::DI).go("path");
    program.label("second").load(Reg::R6, Reg::Fp, SAVED + register::SI).go("path");
    record_path(&mut program, maps);
    count_bytes(&mut program, maps);
    program.label("lost");
    count_lost(&mut program, maps);
    program.label("out").finish(0);
    program.build()
}

/// `R6` leads to the path, `R7` is the call, `R8` its result.
fn record_path(program: &mut Assembler, maps: &Maps) {
    let path = i32::from(PATH_BYTES);
    program.label("path").store(Reg::Fp, COUNT, Reg::R7);
    reserve(program, maps, file::SIZE, file::KIND);
    program.load(Reg::R1, Reg::Fp, COUNT).store(Reg::R7, file::CALL, Reg::R1);
    program.store(Reg::R7, file::RESULT, Reg::R8).store_value(Reg::R7, file::BYTES, 0);
    program.load(Reg::R1, Reg::Fp, SAVED + register::DI).store(Reg::R7, file::FOLDER, Reg::R1);
    program.store_value(Reg::R7, file::PATH, 0);
    program.copy(Reg::R1, Reg::R7).add(Reg::R1, i32::from(file::PATH)).set(Reg::R2, path);
    // The kernel has just read it, so that its page is there.
    program.copy(Reg::R3, Reg::R6).call(Helper::ReadUserText);
    program.copy(Reg::R1, Reg::R7).set(Reg::R2, 0).call(Helper::RingSubmit).go("out");
}

/// Adds to the bytes of a descriptor; at its end records them and forgets it.
fn count_bytes(program: &mut Assembler, maps: &Maps) {
    let bytes = descriptor(maps.bytes.as_fd());
    program.label("read").jump(When::NotPositive, Reg::R8, 0, "out");
    program.map(Reg::R1, bytes).stack(Reg::R2, KEY).call(Helper::MapLookup);
    program.jump(When::Equal, Reg::R0, 0, "fresh").add_shared(Reg::R0, 0, Reg::R8).go("out");
    program.label("fresh").store(Reg::Fp, COUNT, Reg::R8);
    program.map(Reg::R1, bytes).stack(Reg::R2, KEY).stack(Reg::R3, COUNT).set(Reg::R4, 0);
    program.call(Helper::MapUpdate).go("out");
    program.label("close").map(Reg::R1, bytes).stack(Reg::R2, KEY).call(Helper::MapLookup);
    program.jump(When::Equal, Reg::R0, 0, "out").load(Reg::R8, Reg::R0, 0);
    program.map(Reg::R1, bytes).stack(Reg::R2, KEY).call(Helper::MapDelete);
    reserve(program, maps, file::SIZE, file::KIND);
    program.store_value(Reg::R7, file::CALL, CLOSE).store_value(Reg::R7, file::RESULT, 0);
    program.store(Reg::R7, file::BYTES, Reg::R8).store_value(Reg::R7, file::PATH, 0);
    program.load(Reg::R1, Reg::Fp, SAVED + register::DI).store(Reg::R7, file::FOLDER, Reg::R1);
    program.copy(Reg::R1, Reg::R7).set(Reg::R2, 0).call(Helper::RingSubmit).go("out");
}

/// Counts names at a probe, as long as the event is open.
///
/// # Errors
/// What the kernel answers: the verifier's report, or `EPERM`.
pub(super) fn attach_names(
    maps: &Maps,
    event: BorrowedFd<'_>,
    function: i32,
    convention: Convention,
) -> io::Result<()> {
    let code = match convention {
        Convention::Accessor => enter_accessor(maps, function),
        _ => count_names(maps, function, convention),
    };
    let program = load(ProgramKind::Uprobe, &code)?;
    at_probe(event, program.as_fd())
}

/// Follows files until the descriptor is closed.
///
/// # Errors
/// What the kernel answers: the verifier's report, or `EPERM`.
pub(super) fn attach_files(maps: &Maps) -> io::Result<OwnedFd> {
    const NAME: &CStr = c"sys_exit";
    let program = load(ProgramKind::RawTracepoint, &follow_files(maps))?;
    at_tracepoint(NAME, program.as_fd())
}
