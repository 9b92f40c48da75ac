//! The memory that a JVM puts its code into: heaps of blocks, each with a blob.
//!
//! ```text
//! heap      | header blob        | header blob | free ..   |      in segments of 128 bytes
//! segments  | 0  1  2  3  4  5   | 0  1  2     | 255 ..    |      how far back the block's start is
//! ```
//!
//! A blob is a compiled method (`nmethod`), the interpreter, or one of the JVM's own routines. A compiled
//! method may be thrown away at any time, and another one takes its place.

use std::ops::Range;
use std::sync::Arc;

use super::super::{InterpreterError, MemoryPiece, ProcessMemory, Struct};
use super::layout::{BlobLayout, Code, HeapLayout, Layout, Number};
use super::methods::{read, word};
use crate::Avma;

/// HotSpot has up to four heaps.
const MOST_HEAPS: u32 = 16;
/// The largest code cache is 2 GiB (`CODE_CACHE_SIZE_LIMIT`).
const MOST_HEAP_BYTES: u64 = 1 << 31;
/// The JVM's own default is 7, and it takes 6 to 10.
const SEGMENT_BITS: Range<u32> = 4..17;
/// A segment that nothing uses (`CodeHeap::free_sentinel`).
const FREE: u8 = 0xff;
/// Steps back to a block's start; one step may be 254 segments.
const MOST_STEPS: u32 = 4096;
/// Blobs that are listed at most.
const MOST_BLOBS: usize = 400_000;
/// The longest name of a blob.
const LONGEST_NAME: usize = 128;
/// Blobs whose beginnings one call reads.
const TOGETHER: usize = 512;

/// A heap of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heap {
    /// What is in use.
    memory: Range<u64>,
    segments: u64,
    segment_bits: u32,
}

/// What a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlobKind {
    /// A method that was compiled, or the code that calls a method in C.
    Compiled {
        /// Its `Method`.
        method: u64,
        /// The JVM's number of this compilation.
        compile_id: u32,
    },
    /// The interpreter.
    Interpreter,
    /// One of the JVM's own routines.
    Routine,
}

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlob {
    /// Where it begins; the instructions begin later.
    pub start: Avma,
    /// Its instructions.
    pub code: Range<u64>,
    /// What it is.
    pub kind: BlobKind,
    /// The JVM's name for it: `nmethod`, `RuntimeStub - _new_instance_Java`.
    pub name: Arc<str>,
    /// Bytes of its frame, with the return address; 0 where it is of no fixed size.
    pub frame_bytes: u32,
    /// From this address on its frame is set up.
    pub framed_from: u64,
    /// Behind its last byte.
    pub(super) end: u64,
    /// The first bytes: the JVM's description of it.
    pub(super) header: Arc<[u8]>,
}

/// The heaps as they are now.
pub(super) fn heaps(
    memory: &dyn ProcessMemory,
    bias: u64,
    layout: &HeapLayout,
) -> Result<Vec<Heap>, InterpreterError> {
    let what = "the list of code heaps";
    let list = word(memory, what, layout.list.0.wrapping_add(bias))?;
    if list == 0 {
        return Err(InterpreterError::NotRunning(super::NAME));
    }
    let mut length = [0; 4];
    read(memory, what, list.wrapping_add(layout.list_length as u64), &mut length)?;
    let length = Struct::new(&length).half(0);
    if length == 0 {
        return Err(InterpreterError::NotRunning(super::NAME));
    }
    if length > MOST_HEAPS {
        return Err(InterpreterError::malformed(what, list, "it is too long"));
    }
    let data = word(memory, what, list.wrapping_add(layout.list_data as u64))?;
    (0..length).map(|at| heap(memory, layout, data.wrapping_add(8 * u64::from(at)))).collect()
}

fn heap(
    memory: &dyn ProcessMemory,
    layout: &HeapLayout,
    at: u64,
) -> Result<Heap, InterpreterError> {
    let what = "a code heap";
    let address = word(memory, what, at)?;
    let mut bytes = vec![0; layout.heap_size];
    read(memory, what, address, &mut bytes)?;
    let fields = Struct::new(&bytes);
    let (low, high) = (fields.word(layout.memory_low), fields.word(layout.memory_high));
    let segment_bits = fields.half(layout.segment_bits);
    let size = high.checked_sub(low);
    if size.is_none_or(|size| size > MOST_HEAP_BYTES) || !SEGMENT_BITS.contains(&segment_bits) {
        return Err(InterpreterError::malformed(what, address, "its bounds are impossible"));
    }
    Ok(Heap { memory: low..high, segments: fields.word(layout.segments_low), segment_bits })
}

/// The range of the interpreter's instructions.
pub(super) fn interpreter(
    memory: &dyn ProcessMemory,
    bias: u64,
    layout: &super::layout::InterpreterLayout,
) -> Result<Range<u64>, InterpreterError> {
    let what = "the interpreter";
    let queue = word(memory, what, layout.queue.0.wrapping_add(bias))?;
    if queue == 0 {
        return Err(InterpreterError::NotRunning(super::NAME));
    }
    let start = word(memory, what, queue.wrapping_add(layout.buffer as u64))?;
    let mut limit = [0; 4];
    read(memory, what, queue.wrapping_add(layout.limit as u64), &mut limit)?;
    let limit = u64::from(Struct::new(&limit).half(0));
    if start == 0 || limit == 0 || limit > MOST_HEAP_BYTES {
        return Err(InterpreterError::NotRunning(super::NAME));
    }
    Ok(start..start.saturating_add(limit))
}

impl Heap {
    pub(super) fn memory(&self) -> &Range<u64> {
        &self.memory
    }

    fn segment_size(&self) -> u64 {
        1 << self.segment_bits
    }

    /// Where the block begins that an address is in; none where nothing is.
    fn block(
        &self,
        memory: &dyn ProcessMemory,
        address: u64,
    ) -> Result<Option<u64>, InterpreterError> {
        let Some(distance) = address.checked_sub(self.memory.start) else { return Ok(None) };
        let mut segment = distance >> self.segment_bits;
        for _ in 0..MOST_STEPS {
            let mut step = [0];
            read(memory, "a code heap", self.segments.wrapping_add(segment), &mut step)?;
            match step {
                [0] => return Ok(Some(self.memory.start + (segment << self.segment_bits))),
                [FREE] => return Ok(None),
                [step] => {
                    let Some(before) = segment.checked_sub(u64::from(step)) else { break };
                    segment = before;
                }
            }
        }
        Err(InterpreterError::malformed("a code heap", address, "a block has no start"))
    }

    /// Where blocks begin.
    pub(super) fn blocks(&self, memory: &dyn ProcessMemory) -> Result<Vec<u64>, InterpreterError> {
        let segments = (self.memory.end - self.memory.start) >> self.segment_bits;
        let mut map = vec![0; usize::try_from(segments).unwrap_or_default()];
        read(memory, "a code heap", self.segments, &mut map)?;
        // Most of a heap is free, and its map is read fifty times a second.
        let starts = memchr::memchr_iter(0, &map).filter_map(|at| u64::try_from(at).ok());
        let starts = starts.map(|at| self.memory.start + (at << self.segment_bits));
        Ok(starts.take(MOST_BLOBS).collect())
    }
}

/// Reads blobs.
pub(super) struct Blobs<'l> {
    pub(super) layout: &'l Layout,
    pub(super) interpreter: &'l Range<u64>,
}

impl Blobs<'_> {
    /// The blob of a heap that an address is in.
    pub(super) fn at(
        &self,
        memory: &dyn ProcessMemory,
        heap: &Heap,
        address: u64,
    ) -> Result<Option<CodeBlob>, InterpreterError> {
        let Some(block) = heap.block(memory, address)? else { return Ok(None) };
        let mut bytes = vec![0; self.wanted(heap, block)];
        read(memory, "a piece of code", block, &mut bytes)?;
        let blob = self.parse(memory, heap, block, &bytes, None)?;
        Ok(blob.filter(|blob| (blob.start.0..blob.end).contains(&address)))
    }

    /// The blobs of a heap's blocks. Those that cannot be read, as the JVM changes them, are left out.
    pub(super) fn all(
        &self,
        memory: &dyn ProcessMemory,
        heap: &Heap,
        blocks: &[u64],
        names: &mut BlobNames,
    ) -> Result<Vec<CodeBlob>, InterpreterError> {
        let mut blobs = Vec::new();
        for blocks in blocks.chunks(TOGETHER) {
            let mut bytes: Vec<Vec<u8>> =
                blocks.iter().map(|block| vec![0; self.wanted(heap, *block)]).collect();
            let places = blocks.iter().zip(&mut bytes);
            let mut pieces: Vec<_> = places
                .map(|(address, into)| MemoryPiece { address: *address, into: into.as_mut_slice() })
                .collect();
            memory
                .read_pieces(&mut pieces)
                .map_err(InterpreterError::memory("the code", heap.memory.start))?;
            for (block, bytes) in blocks.iter().zip(&bytes) {
                match self.parse(memory, heap, *block, bytes, Some(names)) {
                    Ok(blob) => blobs.extend(blob),
                    Err(error) if error.is_final() => return Err(error),
                    Err(_) => {}
                }
            }
        }
        Ok(blobs)
    }

    /// How much of a block is read: its header and the blob's description.
    fn wanted(&self, heap: &Heap, block: u64) -> usize {
        let room = usize::try_from(heap.memory.end.saturating_sub(block)).unwrap_or(usize::MAX);
        (self.layout.heaps.block_size + self.layout.blobs.nmethod_size).min(room)
    }

    fn parse(
        &self,
        memory: &dyn ProcessMemory,
        heap: &Heap,
        block: u64,
        bytes: &[u8],
        names: Option<&mut BlobNames>,
    ) -> Result<Option<CodeBlob>, InterpreterError> {
        let (heaps, layout) = (&self.layout.heaps, &self.layout.blobs);
        if Struct::new(bytes).byte(heaps.block_used) == 0 {
            return Ok(None);
        }
        let start = block.wrapping_add(heaps.block_size as u64);
        let header = bytes.get(heaps.block_size..).unwrap_or_default();
        let fields = Struct::new(header);
        let malformed = |reason| InterpreterError::malformed("a piece of code", start, reason);
        let size = u64::from(fields.half(layout.size));
        let end = start.saturating_add(size);
        if size < layout.blob_size as u64
            || end > heap.memory.end.saturating_add(heap.segment_size())
        {
            return Err(malformed("its size is impossible"));
        }
        let code = layout.code_of(&fields, start);
        if code.start < start || code.end > end || code.start > code.end {
            return Err(malformed("its instructions are not in it"));
        }
        let at = fields.word(layout.name);
        let name = match names {
            Some(names) => names.get(memory, at)?,
            None => BlobNames::default().get(memory, at)?,
        };
        let complete = match layout.frame_complete {
            Number::Int(offset) => i64::from(fields.int(offset)),
            Number::Short(offset) => i64::from(super::methods::short(&fields, offset)),
        };
        // A routine that never has a frame says -1.
        let complete = u64::try_from(complete).ok().filter(|complete| *complete < size);
        let is_method = &*name == "nmethod" || &*name == "native nmethod";
        let kind = if code.contains(&self.interpreter.start) {
            BlobKind::Interpreter
        } else if is_method {
            let method = fields.word(layout.method);
            BlobKind::Compiled { method, compile_id: fields.half(layout.compile_id) }
        } else {
            BlobKind::Routine
        };
        Ok(Some(CodeBlob {
            start: Avma(start),
            framed_from: complete.map_or(code.start, |complete| code.start + complete),
            code,
            kind,
            name,
            frame_bytes: fields.half(layout.frame_size).checked_mul(8).unwrap_or_default(),
            end,
            header: if is_method { header.into() } else { Arc::default() },
        }))
    }
}

impl BlobLayout {
    fn code_of(&self, fields: &Struct<'_>, start: u64) -> Range<u64> {
        match self.code {
            Code::Pointers { begin, end } => fields.word(begin)..fields.word(end),
            Code::Offsets { begin, end } => {
                let at = |offset| start.saturating_add(u64::from(fields.half(offset)));
                at(begin)..at(end)
            }
        }
    }
}

/// The JVM's names of blobs: thousands of blobs share some hundred.
#[derive(Debug, Default)]
pub(super) struct BlobNames(rustc_hash::FxHashMap<u64, Arc<str>>);

impl BlobNames {
    fn get(&mut self, memory: &dyn ProcessMemory, at: u64) -> Result<Arc<str>, InterpreterError> {
        if let Some(known) = self.0.get(&at) {
            return Ok(Arc::clone(known));
        }
        let name: Arc<str> = text(memory, at)?.into();
        // A name is a constant or lives as long as its blob: a wrong one is no danger, many are.
        if self.0.len() < 10_000 {
            self.0.insert(at, Arc::clone(&name));
        }
        Ok(name)
    }
}

/// The text at an address, up to its zero.
fn text(memory: &dyn ProcessMemory, at: u64) -> Result<String, InterpreterError> {
    const PIECE: usize = 16;
    let mut text = Vec::new();
    while text.len() < LONGEST_NAME {
        let place = at.wrapping_add(text.len() as u64);
        // A piece that does not cross a page's end.
        let room = PIECE - usize::try_from(place % PIECE as u64).unwrap_or_default();
        let mut bytes = [0; PIECE];
        let bytes = bytes.get_mut(..room).unwrap_or_default();
        memory.read(place, bytes).map_err(InterpreterError::memory("the name of code", at))?;
        let end = bytes.iter().position(|byte| *byte == 0);
        text.extend_from_slice(bytes.get(..end.unwrap_or(room)).unwrap_or_default());
        if end.is_some() {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
