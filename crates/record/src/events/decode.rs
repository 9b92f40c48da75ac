//! Records from the words of a ring.
//!
//! A record is a header word (type, flags, size) and whole 8-byte words after it, so a chunk of a
//! ring is a slice of `u64` and a call chain is a slice of it: nothing is copied here. What does
//! not fit its own size is [`Malformed`], never a panic: the bytes may come from a damaged file.
//! The layout of samples follows [`Fields`]. Source: perf_event_open(2), "MMAP layout"; only
//! little-endian targets, as stated in lib.rs.

use perf_event_open_sys::bindings as sys;

use crate::events::attr::{Fields, REGISTERS_64, Role, Stream};

/// A record whose content contradicts its size, or of a size that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Process and thread number; both -1 for a thread that is past its exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task {
    /// Number of the process (thread group).
    pub(crate) pid: i32,
    /// Number of the thread.
    pub(crate) tid: i32,
}

/// The number of an event and what its samples look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventShape {
    /// The kernel's number for the event.
    pub(crate) id: u64,
    /// What it is for.
    pub(crate) role: Role,
    /// What its samples hold.
    pub(crate) fields: Fields,
}

/// The events of one recording, found by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventShapes {
    sorted: Vec<EventShape>,
    /// The only sampled event of each stream whose records carry no number.
    stacks: Option<EventShape>,
    switches: Option<EventShape>,
}

impl EventShapes {
    /// A directory of `shapes`.
    pub(crate) fn new(mut shapes: Vec<EventShape>) -> Self {
        shapes.sort_by_key(|shape| shape.id);
        let of_role = |role| shapes.iter().find(|shape| shape.role == role).copied();
        let (stacks, switches) = (of_role(Role::SwitchStack), of_role(Role::Switch));
        Self { sorted: shapes, stacks, switches }
    }

    /// More events.
    pub(crate) fn add(&mut self, shapes: Vec<EventShape>) {
        self.sorted.extend(shapes);
        self.sorted.sort_by_key(|shape| shape.id);
    }

    /// The shape of event `id`.
    pub(crate) fn find(&self, id: u64) -> Option<&EventShape> {
        let at = self.sorted.binary_search_by_key(&id, |shape| shape.id).ok()?;
        self.sorted.get(at)
    }
}

/// A sample; what its event does not have is empty or zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    /// What its event is for.
    pub(crate) role: Role,
    /// Who ran.
    pub(crate) task: Task,
    /// True when user code ran, false in the kernel.
    pub(crate) in_user: bool,
    /// The address that was touched.
    pub(crate) address: u64,
    /// How many events it stands for.
    pub(crate) period: u64,
    /// Addresses, innermost first, with `PERF_CONTEXT_` markers between kernel and user.
    pub(crate) chain: &'a [u64],
    /// The tracepoint's own record.
    pub(crate) raw: &'a [u8],
    /// User registers in ascending order of their bits; empty for a kernel thread.
    pub(crate) registers: &'a [u64],
    /// Bytes from the user stack pointer upwards.
    pub(crate) stack: &'a [u8],
}

/// What tells mapped files apart. The same file has other numbers in another container's overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MappedFile {
    /// Major number in the lower half, minor number in the upper half.
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Tells files apart that had the same inode one after the other; zero where the file system has none.
    pub(crate) generation: u64,
}

/// A new mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Map<'a> {
    /// Who mapped.
    pub(crate) task: Task,
    /// First address.
    pub(crate) address: u64,
    /// Length in bytes.
    pub(crate) length: u64,
    /// Offset of the first byte in the file, in bytes.
    pub(crate) offset: u64,
    /// The file; none for what is no file, and for mappings that are older than the recording.
    pub(crate) file: Option<MappedFile>,
    /// Path as seen from the process's root, or `[vdso]`, `//anon`, ...
    pub(crate) path: &'a [u8],
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// A sample of one of our events.
    Sample(Sample<'a>),
    /// A thread got onto a CPU.
    SwitchIn(Task),
    /// A thread left a CPU; `preempted` when it could have gone on.
    SwitchOut {
        /// Who left.
        task: Task,
        /// It was still able to run.
        preempted: bool,
    },
    /// A thread or process was created.
    Fork {
        /// The new one.
        child: Task,
        /// The one that made it.
        parent: Task,
    },
    /// A thread ended.
    Exit(Task),
    /// A thread has a new name.
    Comm {
        /// Whose name.
        task: Task,
        /// Because its process executed a program.
        exec: bool,
        /// The name, without its NUL.
        name: &'a [u8],
    },
    /// A new executable mapping.
    Map(Map<'a>),
    /// A new mapping of data.
    DataMap(Map<'a>),
    /// The ring was full: so many records are missing before this one.
    Lost(u64),
    /// Sampling was throttled.
    Throttle,
    /// Something that we did not ask for, or do not need.
    Other,
}

/// A record and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// `CLOCK_MONOTONIC`, ns.
    pub(crate) time: u64,
    /// What it says.
    pub(crate) body: Body<'a>,
}

/// Where a record lies in its chunk, and its time: all that sorting needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// `CLOCK_MONOTONIC`, ns.
    pub(crate) time: u64,
    /// First word.
    pub(crate) start: usize,
    /// Number of words.
    pub(crate) words: usize,
}

/// The record that starts at `start`, without looking into it; none at the end of the chunk.
///
/// # Errors
/// When its size cannot be: nothing after it in this chunk can be trusted.
pub(crate) fn head_at(
    chunk: &[u64],
    start: usize,
    stream: Stream,
) -> Option<Result<Head, Malformed>> {
    let header = *chunk.get(start)?;
    let words = (header >> 48) as usize / 8;
    let Some(record) = chunk.get(start..start + words).filter(|record| record.len() > 1) else {
        return Some(Err(Malformed));
    };
    Some(record_time(record, stream).map(|time| Head { time, start, words }).ok_or(Malformed))
}

/// Samples hold their time behind the thread; all others end with it (and the event's number).
fn record_time(record: &[u64], stream: Stream) -> Option<u64> {
    let identified = usize::from(stream.identified());
    if kind(record[0]) == sys::PERF_RECORD_SAMPLE {
        // header, [identifier], ip is never asked for, pid/tid, time
        return record.get(2 + identified).copied();
    }
    record.len().checked_sub(1 + identified).and_then(|at| record.get(at)).copied()
}

/// Whether a record with this header tells of a switch of a recorded thread.
pub(crate) fn is_switch(header: u64) -> bool {
    matches!(kind(header), sys::PERF_RECORD_SWITCH | sys::PERF_RECORD_SWITCH_CPU_WIDE)
}

/// Decodes the record that `head` found in `chunk`.
///
/// # Errors
/// When its content contradicts its size, or its event is not ours.
pub(crate) fn decode<'a>(
    chunk: &'a [u64],
    head: Head,
    stream: Stream,
    shapes: &EventShapes,
) -> Result<Record<'a>, Malformed> {
    let record = chunk.get(head.start..head.start + head.words).ok_or(Malformed)?;
    let misc = flags(record[0]);
    let flag = |bit: u32| misc & bit != 0;
    // Without the header and without the trailing thread, time and event number.
    let trailer = 2 + usize::from(stream.identified());
    let body = record.get(1..record.len().saturating_sub(trailer)).unwrap_or(&[]);
    let owner = || record.get(record.len().saturating_sub(trailer)).copied().map(task);
    let body = match kind(record[0]) {
        sys::PERF_RECORD_SAMPLE => {
            let mut words = &record[1..];
            let shape = match stream {
                Stream::Stacks => shapes.stacks.as_ref(),
                Stream::Accounting => shapes.switches.as_ref(),
                _ => shapes.find(word(&mut words)?),
            };
            Body::Sample(sample(words, misc, shape.ok_or(Malformed)?)?)
        }
        sys::PERF_RECORD_SWITCH | sys::PERF_RECORD_SWITCH_CPU_WIDE => {
            let task = owner().ok_or(Malformed)?;
            if flag(sys::PERF_RECORD_MISC_SWITCH_OUT) {
                Body::SwitchOut { task, preempted: flag(sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) }
            } else {
                Body::SwitchIn(task)
            }
        }
        sys::PERF_RECORD_FORK => {
            let (child, parent) = child_and_parent(body)?;
            Body::Fork { child, parent }
        }
        sys::PERF_RECORD_EXIT => Body::Exit(child_and_parent(body)?.0),
        sys::PERF_RECORD_COMM => Body::Comm {
            task: task(*body.first().ok_or(Malformed)?),
            exec: flag(sys::PERF_RECORD_MISC_COMM_EXEC),
            name: until_nul(bytemuck::cast_slice(&body[1..])),
        },
        sys::PERF_RECORD_MMAP2 => Body::Map(map(body)?),
        sys::PERF_RECORD_MMAP => Body::DataMap(data_map(body)?),
        sys::PERF_RECORD_LOST => Body::Lost(*body.get(1).ok_or(Malformed)?),
        sys::PERF_RECORD_THROTTLE => Body::Throttle,
        _ => Body::Other,
    };
    Ok(Record { time: head.time, body })
}

fn sample<'a>(
    mut words: &'a [u64],
    misc: u32,
    shape: &EventShape,
) -> Result<Sample<'a>, Malformed> {
    let words = &mut words;
    let fields = shape.fields;
    let task = task(word(words)?);
    let _time = word(words)?;
    let address = if fields.address { word(words)? } else { 0 };
    let period = if fields.period { word(words)? } else { 1 };
    let chain = if fields.callchain { counted(words)? } else { &[] };
    let raw = if fields.raw { raw_part(words)? } else { &[] };
    let registers = if fields.registers == 0 { &[] } else { registers(words, fields.registers)? };
    let stack = if fields.stack_bytes == 0 { &[] } else { stack_part(words)? };
    let in_user = misc & sys::PERF_RECORD_MISC_CPUMODE_MASK == sys::PERF_RECORD_MISC_USER;
    let role = shape.role;
    Ok(Sample { role, task, in_user, address, period, chain, raw, registers, stack })
}

/// `{u64 count; u64 values[count]}`
fn counted<'a>(words: &mut &'a [u64]) -> Result<&'a [u64], Malformed> {
    let count = usize::try_from(word(words)?).map_err(|_| Malformed)?;
    take(words, count)
}

/// `{u32 size; char data[size]}`, padded to whole words.
fn raw_part<'a>(words: &mut &'a [u64]) -> Result<&'a [u8], Malformed> {
    let size = low_half(*words.first().ok_or(Malformed)?) as usize;
    let part = take(words, (size + 4).div_ceil(8))?;
    bytemuck::cast_slice(part).get(4..4 + size).ok_or(Malformed)
}

/// `{u64 abi; u64 registers[bits in mask]}`; no registers for a kernel thread (abi 0).
fn registers<'a>(words: &mut &'a [u64], mask: u64) -> Result<&'a [u64], Malformed> {
    match word(words)? {
        REGISTERS_64 => take(words, mask.count_ones() as usize),
        // A 32-bit process: the same number of values, which our unwinder cannot use.
        abi if abi != 0 => take(words, mask.count_ones() as usize).map(|_| [].as_slice()),
        _ => Ok(&[]),
    }
}

/// `{u64 size; char data[size]; u64 used}`; `used` is absent when `size` is zero.
fn stack_part<'a>(words: &mut &'a [u64]) -> Result<&'a [u8], Malformed> {
    let size = usize::try_from(word(words)?).map_err(|_| Malformed)?;
    if size == 0 {
        return Ok(&[]);
    }
    let data = take(words, size / 8)?;
    let used = usize::try_from(word(words)?).map_err(|_| Malformed)?;
    bytemuck::cast_slice(data).get(..used.min(size)).ok_or(Malformed)
}

/// `{u32 pid, tid; u64 address, length, offset; u32 major, minor; u64 inode, generation; u32 protection, flags;
/// char path[]}`. The flag of a build id in place of the file (`PERF_RECORD_MISC_MMAP_BUILD_ID`) is not looked
/// at: we never ask for one, and the kernel leaves the flag of another listener set (`attr.rs`).
fn map(body: &[u64]) -> Result<Map<'_>, Malformed> {
    let [who, address, length, offset, device, inode, generation, _protection, path @ ..] = body
    else {
        return Err(Malformed);
    };
    let file = MappedFile { device: *device, inode: *inode, generation: *generation };
    Ok(Map {
        task: task(*who),
        address: *address,
        length: *length,
        offset: *offset,
        file: (file.inode != 0).then_some(file),
        path: until_nul(bytemuck::cast_slice(path)),
    })
}

/// `{u32 pid, tid; u64 address, length, offset; char path[]}`
fn data_map(body: &[u64]) -> Result<Map<'_>, Malformed> {
    let [who, address, length, offset, path @ ..] = body else { return Err(Malformed) };
    Ok(Map {
        task: task(*who),
        address: *address,
        length: *length,
        offset: *offset,
        file: None,
        path: until_nul(bytemuck::cast_slice(path)),
    })
}

/// `{u32 pid, ppid; u32 tid, ptid; u64 time}`
fn child_and_parent(body: &[u64]) -> Result<(Task, Task), Malformed> {
    let [pids, tids, ..] = body else { return Err(Malformed) };
    let child = Task { pid: low(*pids), tid: low(*tids) };
    Ok((child, Task { pid: high(*pids), tid: high(*tids) }))
}

fn word(words: &mut &[u64]) -> Result<u64, Malformed> {
    let (first, rest) = words.split_first().ok_or(Malformed)?;
    *words = rest;
    Ok(*first)
}

fn take<'a>(words: &mut &'a [u64], count: usize) -> Result<&'a [u64], Malformed> {
    let (part, rest) = words.split_at_checked(count).ok_or(Malformed)?;
    *words = rest;
    Ok(part)
}

/// The lower half of a header: the record's type.
fn kind(header: u64) -> u32 {
    low_half(header)
}

/// The sixteen bits above the type.
fn flags(header: u64) -> u32 {
    low_half(header >> 32) & 0xffff
}

fn task(word: u64) -> Task {
    Task { pid: low(word), tid: high(word) }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
const fn low_half(word: u64) -> u32 {
    word as u32
}

/// Numbers of threads are signed: -1 is a thread that is past its exit.
fn low(word: u64) -> i32 {
    low_half(word).cast_signed()
}

fn high(word: u64) -> i32 {
    low(word >> 32)
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}
