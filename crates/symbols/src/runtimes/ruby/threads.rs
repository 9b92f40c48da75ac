//! The threads of a Ruby program, and where each has its frames.
//!
//! ```text
//! vm ... main thread -> ring of the threads of its ractor, with the ring's head inside the ractor
//! vm.ractor.set      -> ring of ractors, each with a ring of threads      from 3.0 on
//! ```
//!
//! Both rings' places inside of a ractor stand behind locks, whose size differs between C libraries
//! and machines. So they are found by the main thread: the only member of its ring that lies inside
//! of its ractor is the head.

use super::super::{MemoryPiece, ProcessMemory, Struct, tid};
use super::layout::{CONTEXT, Layout, Native};
use super::{InterpreterError, word};

/// Words of `rb_vm_struct` that are looked through for the main thread. It stands at the 6th from
/// 3.0 on, at the 25th in 2.7 with glibc.
const VM_WORDS: usize = 64;
/// Bytes within which a ring's head is taken to be inside of its owner. A ractor has some 700.
const OWNER_SPAN: u64 = 0x1000;
/// Threads and ractors of a process that are looked at. A longer ring is taken as one that was read
/// while it changed.
const MOST_THREADS: usize = 1 << 14;
/// `rb_vm_struct.ractor.set`.
const RACTORS: u64 = 8;
/// Words of data of a program that are tried as the pointer to its `rb_vm_struct`. Ruby's library
/// has some ten thousand.
const MOST_WORDS: usize = 1 << 17;
const WHAT: &str = "a thread";

/// A thread of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RubyThread {
    /// The kernel's number of the thread, as the process itself sees it.
    pub(super) tid: u32,
    /// Where the C library has that number.
    pub(super) tid_at: u64,
    /// Its `rb_thread_struct`.
    pub(super) address: u64,
}

/// The threads of a process, and how to see that there are others now.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pub(super) vm: u64,
    /// Ordered by number.
    list: Vec<RubyThread>,
    /// Words of the rings' heads and their values: a new thread becomes a ring's last.
    marks: Vec<(u64, u64)>,
}

/// The fields of an `rb_thread_struct`.
struct Fields {
    next: u64,
    vm: u64,
    ractor: u64,
    context: u64,
    native: u64,
}

impl Fields {
    fn read(
        memory: &dyn ProcessMemory,
        layout: &Layout,
        address: u64,
    ) -> Result<Self, InterpreterError> {
        let mut bytes = vec![0; layout.thread.span];
        memory.read(address, &mut bytes).map_err(InterpreterError::memory(WHAT, address))?;
        let fields = Struct::new(&bytes);
        let (Native::Own(native) | Native::Shared(native, _)) = layout.thread.native;
        Ok(Self {
            next: fields.word(0),
            vm: fields.word(layout.thread.vm),
            ractor: layout.thread.ractor.map_or(0, |at| fields.word(at)),
            context: fields.word(layout.thread.context),
            native: fields.word(native),
        })
    }
}

/// Whether a word can be the address of a struct.
fn is_pointer(word: u64) -> bool {
    word.is_multiple_of(8) && (0x1_0000..1 << 47).contains(&word)
}

/// Finds the program's `rb_vm_struct` where no symbol says it: the address of the only word of its
/// library's data that leads to a struct which has a main thread that leads back.
///
/// # Errors
/// When there is none: the interpreter has not started yet.
pub(super) fn find_vm(
    memory: &dyn ProcessMemory,
    layout: &Layout,
    data: std::ops::Range<u64>,
) -> Result<u64, InterpreterError> {
    let size = usize::try_from(data.end.saturating_sub(data.start)).unwrap_or_default();
    let mut bytes = vec![0; size.min(MOST_WORDS * 8)];
    memory.read(data.start, &mut bytes).map_err(InterpreterError::memory("data", data.start))?;
    let words = bytes.chunks_exact(8).map(|bytes| Struct::new(bytes).word(0));
    let mut tried = rustc_hash::FxHashSet::default();
    for (address, vm) in (data.start..).step_by(8).zip(words) {
        if is_pointer(vm)
            && !data.contains(&vm)
            && tried.insert(vm)
            && main_thread(memory, layout, vm).is_some()
        {
            return Ok(address);
        }
    }
    Err(InterpreterError::NotRunning("Ruby"))
}

/// The main thread of what may be an `rb_vm_struct`.
fn main_thread(memory: &dyn ProcessMemory, layout: &Layout, vm: u64) -> Option<u64> {
    let mut bytes = [0; VM_WORDS * 8];
    memory.read(vm, &mut bytes).ok()?;
    let words = bytes.chunks_exact(8).map(|bytes| Struct::new(bytes).word(0));
    words.filter(|word| is_pointer(*word) && *word != vm).find(|thread| {
        let Ok(fields) = Fields::read(memory, layout, *thread) else { return false };
        let context = fields.context.wrapping_add(layout.context_thread as u64);
        fields.vm == vm
            && is_pointer(fields.context)
            && word(memory, WHAT, context).is_ok_and(|owner| owner == *thread)
    })
}

impl Threads {
    /// Reads all rings.
    pub(super) fn scan(
        memory: &dyn ProcessMemory,
        layout: &Layout,
        vm_at: u64,
    ) -> Result<Self, InterpreterError> {
        let vm = word(memory, "the address of the interpreter", vm_at)?;
        let main = Some(vm).filter(|vm| *vm != 0);
        let main = main.and_then(|vm| main_thread(memory, layout, vm));
        let main = main.ok_or(InterpreterError::NotRunning("Ruby"))?;
        let mut threads = Self { vm, list: Vec::new(), marks: vec![(vm_at, vm)] };
        let head = threads.ring(memory, layout, main)?;
        let ractor = Fields::read(memory, layout, main)?.ractor;
        if let Some(within) = head.checked_sub(ractor).filter(|within| *within < OWNER_SPAN)
            && layout.thread.ractor.is_some()
        {
            threads.other_ractors(memory, layout, (ractor, within))?;
        }
        threads.list.sort_by_key(|thread| (thread.tid, thread.address));
        Ok(threads)
    }

    /// Takes all threads of a ring, which may be given by any of its members. Answers its head.
    fn ring(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        member: u64,
    ) -> Result<u64, InterpreterError> {
        let (mut address, mut head) = (member, None);
        for _ in 0..MOST_THREADS {
            let fields = Fields::read(memory, layout, address)?;
            if fields.vm == self.vm {
                self.add(memory, layout, address, &fields);
            } else if head.replace(address).is_some() {
                return Err(InterpreterError::malformed(WHAT, address, "it is none of the ring"));
            }
            address = fields.next;
            if address == member {
                let head = head.unwrap_or_default();
                self.mark(memory, head)?;
                return Ok(head);
            }
        }
        Err(InterpreterError::malformed("the list of threads", member, "it does not end"))
    }

    /// Keeps a ring's head as words that show a change.
    fn mark(&mut self, memory: &dyn ProcessMemory, head: u64) -> Result<(), InterpreterError> {
        for at in [head, head.wrapping_add(8)] {
            self.marks.push((at, word(memory, "the list of threads", at)?));
        }
        Ok(())
    }

    fn add(&mut self, memory: &dyn ProcessMemory, layout: &Layout, address: u64, fields: &Fields) {
        let native = match layout.thread.native {
            Native::Own(_) => Some(fields.native),
            // A thread that waits for a kernel thread has none.
            Native::Shared(_, _) if fields.native == 0 => None,
            Native::Shared(_, at) => word(memory, WHAT, fields.native.wrapping_add(at)).ok(),
        };
        let number = native.and_then(|native| tid::from_pthread(memory, native));
        let thread = |(tid_at, tid)| RubyThread { tid, tid_at, address };
        self.list.extend(number.map(thread));
    }

    /// Takes the threads of the ractors beside the main one, whose ring of threads begins `within`.
    fn other_ractors(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        (main, within): (u64, u64),
    ) -> Result<(), InterpreterError> {
        const WHAT: &str = "the list of ractors";
        let head = self.vm.wrapping_add(RACTORS);
        self.mark(memory, head)?;
        let (mut members, mut address) = (Vec::new(), word(memory, WHAT, head)?);
        while address != head && members.len() < MOST_THREADS {
            members.push(address);
            address = word(memory, WHAT, address)?;
        }
        // Other ractors may lie right behind the main one: its own place is the nearest.
        let behind = members.iter().filter_map(|member| member.checked_sub(main));
        let Some(place) = behind.min().filter(|place| *place < OWNER_SPAN) else { return Ok(()) };
        for ractor in members.iter().map(|member| member.wrapping_sub(place)) {
            if ractor != main && self.list.len() < MOST_THREADS {
                self.ring(memory, layout, ractor.wrapping_add(within))?;
            }
        }
        Ok(())
    }

    /// The threads of Ruby that the kernel's thread has. It is one, except where ractors share it.
    pub(super) fn of(&self, tid: u32) -> &[RubyThread] {
        let start = self.list.partition_point(|thread| thread.tid < tid);
        let end = self.list.partition_point(|thread| thread.tid <= tid);
        self.list.get(start..end).unwrap_or_default()
    }

    /// Whether no thread began since the scan. Costs one read.
    pub(super) fn is_current(&self, memory: &dyn ProcessMemory) -> bool {
        let mut words = vec![[0; 8]; self.marks.len()];
        let mut tids = vec![[0; 4]; self.list.len()];
        let marks = self.marks.iter().zip(&mut words);
        let marks = marks.map(|((address, _), into)| MemoryPiece { address: *address, into });
        let threads = self.list.iter().zip(&mut tids);
        let threads = threads.map(|(thread, into)| MemoryPiece { address: thread.tid_at, into });
        let mut pieces: Vec<_> = marks.chain(threads).collect();
        let read = memory.read_pieces(&mut pieces).is_ok();
        let mut marks = self.marks.iter().zip(&words);
        let mut threads = self.list.iter().zip(&tids);
        read && marks.all(|((_, value), word)| u64::from_ne_bytes(*word) == *value)
            && threads.all(|(thread, tid)| u32::from_ne_bytes(*tid) == thread.tid)
    }
}

/// Bytes of an execution context that are read.
pub(super) const CONTEXT_SPAN: usize = CONTEXT.span;
