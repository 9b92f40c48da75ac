//! Where a release of HotSpot has what is read, as its own tables say.
//!
//! Releases differ in where a field is, in its type, and in which structure has it. What a release does not
//! describe is missing here, never guessed.

use super::super::{InterpreterError, ProcessMemory, Struct};
use super::tables::Tables;
use crate::Svma;

/// The first release whose compressed numbers have no zero bytes (JDK-8292758).
const WITHOUT_ZEROS: i32 = 20;

/// Everything that is read.
#[derive(Debug)]
pub(super) struct Layout {
    /// The JVM's release: 17.
    pub(super) release: i32,
    pub(super) methods: MethodLayout,
    pub(super) heaps: HeapLayout,
    pub(super) blobs: BlobLayout,
    pub(super) interpreter: InterpreterLayout,
}

impl Layout {
    /// What a byte of a compressed number is greater by.
    pub(super) fn excess(&self) -> u32 {
        u32::from(self.release >= WITHOUT_ZEROS)
    }

    pub(super) fn new(
        memory: &dyn ProcessMemory,
        bias: u64,
        tables: &Tables,
    ) -> Result<Self, InterpreterError> {
        let at = tables.address("Abstract_VM_Version._vm_major_version")?.0.wrapping_add(bias);
        let mut bytes = [0; 4];
        memory
            .read(at, &mut bytes)
            .map_err(InterpreterError::memory("the release of the JVM", at))?;
        Ok(Self {
            release: Struct::new(&bytes).int(0),
            methods: MethodLayout::new(tables)?,
            heaps: HeapLayout::new(tables)?,
            blobs: BlobLayout::new(tables)?,
            interpreter: InterpreterLayout::new(tables)?,
        })
    }
}

/// `Method`, `ConstMethod`, `ConstantPool`, `Klass`, `Symbol`.
#[derive(Debug)]
pub(super) struct MethodLayout {
    /// In `Method`.
    pub(super) const_method: usize,
    /// In `ConstMethod`; behind its end come the bytecodes.
    pub(super) constants: usize,
    pub(super) words: usize,
    pub(super) flags: usize,
    pub(super) has_lines: u32,
    pub(super) code_size: usize,
    pub(super) name: usize,
    pub(super) const_method_size: usize,
    /// In `ConstantPool`; behind its end come its entries.
    pub(super) holder: usize,
    pub(super) length: usize,
    pub(super) pool_size: usize,
    pub(super) source_file: SourceFile,
    /// In `Klass`.
    pub(super) class_name: usize,
    /// In `Symbol`.
    pub(super) text_length: usize,
    pub(super) text: usize,
}

/// Where the number of the source file's name is.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceFile {
    /// In the class, up to JDK 15.
    Class(usize),
    /// In the constant pool.
    Pool(usize),
}

impl MethodLayout {
    fn new(tables: &Tables) -> Result<Self, InterpreterError> {
        let lines =
            ["ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table"];
        let has_lines = lines.iter().find_map(|name| tables.constant(name));
        let has_lines = has_lines.and_then(|flag| u32::try_from(flag).ok());
        let pool = tables.offset("ConstantPool._source_file_name_index");
        let class = || tables.offset("InstanceKlass._source_file_name_index");
        let source_file = pool.map(SourceFile::Pool).or_else(|_| class().map(SourceFile::Class))?;
        Ok(Self {
            const_method: tables.offset("Method._constMethod")?,
            constants: tables.offset("ConstMethod._constants")?,
            words: tables.offset("ConstMethod._constMethod_size")?,
            flags: tables.first_offset(&["ConstMethod._flags", "ConstMethod._flags._flags"])?,
            has_lines: has_lines
                .ok_or(InterpreterError::Undescribed("the flag for methods with line numbers"))?,
            code_size: tables.offset("ConstMethod._code_size")?,
            name: tables.offset("ConstMethod._name_index")?,
            const_method_size: tables.size("ConstMethod")?,
            holder: tables.offset("ConstantPool._pool_holder")?,
            length: tables.offset("ConstantPool._length")?,
            pool_size: tables.size("ConstantPool")?,
            source_file,
            class_name: tables.offset("Klass._name")?,
            text_length: tables.offset("Symbol._length")?,
            text: tables.offset("Symbol._body")?,
        })
    }
}

/// `CodeCache`, `CodeHeap`, `HeapBlock`.
#[derive(Debug)]
pub(super) struct HeapLayout {
    /// A variable that points to a list of code heaps.
    pub(super) list: Svma,
    pub(super) list_length: usize,
    pub(super) list_data: usize,
    /// In `CodeHeap`.
    pub(super) memory_low: usize,
    pub(super) memory_high: usize,
    pub(super) segments_low: usize,
    pub(super) segment_bits: usize,
    pub(super) heap_size: usize,
    /// In `HeapBlock`; behind its end comes what the block holds.
    pub(super) block_used: usize,
    pub(super) block_size: usize,
}

impl HeapLayout {
    fn new(tables: &Tables) -> Result<Self, InterpreterError> {
        let memory = tables.offset("CodeHeap._memory")?;
        let low = tables.offset("VirtualSpace._low")?;
        let header = tables.offset("HeapBlock._header")?;
        Ok(Self {
            list: tables.address("CodeCache._heaps")?,
            list_length: tables
                .first_offset(&["GrowableArrayBase._len", "GenericGrowableArray._len"])?,
            list_data: tables.offset("GrowableArray<int>._data")?,
            memory_low: memory + low,
            memory_high: memory + tables.offset("VirtualSpace._high")?,
            segments_low: tables.offset("CodeHeap._segmap")? + low,
            segment_bits: tables.offset("CodeHeap._log2_segment_size")?,
            heap_size: tables.size("CodeHeap")?,
            block_used: header + tables.offset("HeapBlock::Header._used")?,
            block_size: tables.size("HeapBlock")?,
        })
    }
}

/// `CodeBlob` and `nmethod`.
#[derive(Debug)]
pub(super) struct BlobLayout {
    pub(super) name: usize,
    pub(super) size: usize,
    pub(super) frame_size: usize,
    pub(super) frame_complete: Number,
    pub(super) code: Code,
    /// Bytes of a `CodeBlob` and of an `nmethod`, which begins as one.
    pub(super) blob_size: usize,
    pub(super) nmethod_size: usize,
    pub(super) method: usize,
    pub(super) compile_id: usize,
    pub(super) debug: Option<DebugLayout>,
}

/// A number of the release's type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Short(usize),
    Int(usize),
}

/// Where a blob's instructions are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code {
    /// Two pointers.
    Pointers { begin: usize, end: usize },
    /// Two distances from the blob's start, from JDK 23 on.
    Offsets { begin: usize, end: usize },
}

/// Where an `nmethod` says which methods were inlined at which instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum DebugLayout {
    /// Everything lies in the blob: distances from its start, and a pointer. Up to JDK 22.
    Inside { metadata: usize, scopes: usize, places: usize, places_end: usize },
    /// It lies in two pieces of memory outside, from JDK 25 on: methods behind the relocations of one,
    /// distances in the other.
    Outside {
        mutable: usize,
        mutable_size: usize,
        relocation_size: usize,
        immutable: usize,
        immutable_size: usize,
        scopes: usize,
        places: usize,
    },
}

impl BlobLayout {
    fn new(tables: &Tables) -> Result<Self, InterpreterError> {
        let pointers = || {
            let begin = tables.offset("CodeBlob._code_begin")?;
            Ok(Code::Pointers { begin, end: tables.offset("CodeBlob._code_end")? })
        };
        let offsets = || {
            let begin = tables.offset("CodeBlob._code_offset")?;
            Ok(Code::Offsets { begin, end: tables.offset("CodeBlob._data_offset")? })
        };
        let code = pointers().or_else(|_: InterpreterError| offsets())?;
        let complete = tables.offset("CodeBlob._frame_complete_offset")?;
        let frame_complete = match code {
            Code::Pointers { .. } => Number::Int(complete),
            Code::Offsets { .. } => Number::Short(complete),
        };
        Ok(Self {
            name: tables.offset("CodeBlob._name")?,
            size: tables.offset("CodeBlob._size")?,
            frame_size: tables.offset("CodeBlob._frame_size")?,
            frame_complete,
            code,
            blob_size: tables.size("CodeBlob")?,
            nmethod_size: tables.size("nmethod")?,
            method: tables.first_offset(&["nmethod._method", "CompiledMethod._method"])?,
            compile_id: tables.offset("nmethod._compile_id")?,
            debug: DebugLayout::inside(tables).or_else(|_| DebugLayout::outside(tables)).ok(),
        })
    }
}

impl DebugLayout {
    fn inside(tables: &Tables) -> Result<Self, InterpreterError> {
        Ok(Self::Inside {
            metadata: tables.offset("nmethod._metadata_offset")?,
            scopes: tables.offset("CompiledMethod._scopes_data_begin")?,
            places: tables.offset("nmethod._scopes_pcs_offset")?,
            places_end: tables.offset("nmethod._dependencies_offset")?,
        })
    }

    fn outside(tables: &Tables) -> Result<Self, InterpreterError> {
        Ok(Self::Outside {
            mutable: tables.offset("CodeBlob._mutable_data")?,
            mutable_size: tables.offset("CodeBlob._mutable_data_size")?,
            relocation_size: tables.offset("CodeBlob._relocation_size")?,
            immutable: tables.offset("nmethod._immutable_data")?,
            immutable_size: tables.offset("nmethod._immutable_data_size")?,
            scopes: tables.offset("nmethod._scopes_data_offset")?,
            places: tables.offset("nmethod._scopes_pcs_offset")?,
        })
    }
}

/// `StubQueue`, which holds the interpreter.
#[derive(Debug)]
pub(super) struct InterpreterLayout {
    /// A variable that points to the queue.
    pub(super) queue: Svma,
    pub(super) buffer: usize,
    pub(super) limit: usize,
}

impl InterpreterLayout {
    fn new(tables: &Tables) -> Result<Self, InterpreterError> {
        Ok(Self {
            queue: tables.address("AbstractInterpreter._code")?,
            buffer: tables.offset("StubQueue._stub_buffer")?,
            limit: tables.offset("StubQueue._buffer_limit")?,
        })
    }
}
