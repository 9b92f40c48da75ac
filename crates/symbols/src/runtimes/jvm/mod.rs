//! HotSpot, the usual JVM: which method runs at an address, and which method an interpreter's frame is of.
//!
//! ```text
//! libjvm.so   --> find_jvm             where its tables are            once a file
//! its tables  --> JvmLayout::read      what is where in this release   once a file
//! a process   --> Jvm::find            its interpreter and code heaps  once a process
//! an address  --> Jvm::blob_at, frames_at    compiled method, inlined ones, lines
//! a frame     --> Jvm::interpreted           method, line
//! ```
//!
//! The JVM describes itself for debuggers (`gHotSpotVMStructs`), so no offset is known here in advance. What
//! a release does not describe is not read. JDK 11 to 25 were tried.
//!
//! The frames of the interpreter are found by the unwinder ([`crate::Unwinder`]): on x86-64 each has its
//! method and its bytecode at fixed places below its frame pointer (`frame_x86.hpp`).

mod code;
mod compiled;
mod layout;
mod methods;
mod program;
mod stream;
mod tables;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{InterpreterError, ProcessMemory};
use crate::Avma;

pub use code::{BlobKind, CodeBlob};
use code::{BlobNames, Blobs, Heap};
use layout::Layout;
pub use methods::JavaMethod;
use methods::{ConstMethod, const_method_of};
pub use program::{JvmProgram, find_jvm};
use tables::Tables;

/// What the language is called in errors.
const NAME: &str = "Java";

/// Methods that are kept; a large server has some 100,000.
const MOST_METHODS: usize = 400_000;

/// A JVM in a process.
#[derive(Debug)]
pub struct Jvm {
    layout: Arc<JvmLayout>,
    /// Process address minus module address of its library.
    bias: u64,
    heaps: Vec<Heap>,
    interpreter: Range<u64>,
    names: BlobNames,
    /// By address of the method and of its description: addresses are used again when classes go.
    methods: FxHashMap<(u64, u64), (ConstMethod, Arc<JavaMethod>)>,
}

/// Where a JVM's library, and every process that runs it, has what.
#[derive(Debug)]
pub struct JvmLayout(Layout);

impl JvmLayout {
    /// That of a library, as a process has it whose library is mapped with this bias: process address minus
    /// module address. It is the same for all processes. Linear in the JVM's tables: some 3000 entries.
    ///
    /// # Errors
    /// When memory cannot be read, or when the JVM does not describe what is needed.
    pub fn read(
        memory: &dyn ProcessMemory,
        bias: u64,
        program: &JvmProgram,
    ) -> Result<Self, InterpreterError> {
        let tables = Tables::read(memory, bias, program)?;
        Layout::new(memory, bias, &tables).map(Self)
    }
}

/// A method at a place in its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaFrame {
    /// The method.
    pub method: Arc<JavaMethod>,
    /// The line in its source file.
    pub line: Option<u32>,
}

impl Jvm {
    /// The JVM whose library is mapped with this bias: process address minus module address.
    ///
    /// # Errors
    /// When it has not started yet, or when its memory cannot be read.
    pub fn find(
        memory: &dyn ProcessMemory,
        bias: u64,
        layout: Arc<JvmLayout>,
    ) -> Result<Self, InterpreterError> {
        let interpreter = code::interpreter(memory, bias, &layout.0.interpreter)?;
        let heaps = code::heaps(memory, bias, &layout.0.heaps)?;
        let (names, methods) = (BlobNames::default(), FxHashMap::default());
        Ok(Self { layout, bias, heaps, interpreter, names, methods })
    }

    /// Its release: 17.
    #[must_use]
    pub fn release(&self) -> i32 {
        self.layout.0.release
    }

    /// The interpreter's instructions.
    #[must_use]
    pub fn interpreter(&self) -> Range<u64> {
        self.interpreter.clone()
    }

    /// The piece of code at an address; none where there is none.
    ///
    /// # Errors
    /// When memory cannot be read, or changes meanwhile.
    pub fn blob_at(
        &mut self,
        memory: &dyn ProcessMemory,
        address: Avma,
    ) -> Result<Option<CodeBlob>, InterpreterError> {
        if self.heap_of(address).is_none() {
            // A heap has grown.
            self.heaps = code::heaps(memory, self.bias, &self.layout.0.heaps)?;
        }
        let Some(heap) = self.heap_of(address) else { return Ok(None) };
        let blobs = Blobs { layout: &self.layout.0, interpreter: &self.interpreter };
        blobs.at(memory, heap, address.0)
    }

    fn heap_of(&self, address: Avma) -> Option<&Heap> {
        self.heaps.iter().find(|heap| heap.memory().contains(&address.0))
    }

    /// Where pieces of code begin, for [`blobs`](Self::blobs). One byte is read for 128 of the heaps.
    ///
    /// # Errors
    /// When memory cannot be read.
    pub fn blocks(&mut self, memory: &dyn ProcessMemory) -> Result<Vec<Avma>, InterpreterError> {
        self.heaps = code::heaps(memory, self.bias, &self.layout.0.heaps)?;
        let mut blocks = Vec::new();
        for heap in &self.heaps {
            blocks.extend(heap.blocks(memory)?.into_iter().map(Avma));
        }
        Ok(blocks)
    }

    /// The pieces of code at these places, as far as there still are some. Each costs some 400 bytes.
    ///
    /// # Errors
    /// When memory cannot be read.
    pub fn blobs(
        &mut self,
        memory: &dyn ProcessMemory,
        blocks: &[Avma],
    ) -> Result<Vec<CodeBlob>, InterpreterError> {
        let reader = Blobs { layout: &self.layout.0, interpreter: &self.interpreter };
        let mut blobs = Vec::new();
        for heap in &self.heaps {
            let of_heap = blocks.iter().map(|block| block.0);
            let of_heap: Vec<u64> = of_heap.filter(|block| heap.memory().contains(block)).collect();
            blobs.extend(reader.all(memory, heap, &of_heap, &mut self.names)?);
        }
        Ok(blobs)
    }

    /// The method that a compiled method is, without a line; none for other code.
    ///
    /// # Errors
    /// When memory cannot be read, or the code was thrown away meanwhile.
    pub fn owner(
        &mut self,
        memory: &dyn ProcessMemory,
        blob: &CodeBlob,
    ) -> Result<Option<JavaFrame>, InterpreterError> {
        let BlobKind::Compiled { method, .. } = blob.kind else { return Ok(None) };
        let (_, method) = self.method(memory, method)?;
        Ok(Some(JavaFrame { method, line: None }))
    }

    /// The methods at an instruction of a compiled method, what was inlined first; empty for other code.
    /// A return address lies behind its call.
    ///
    /// # Errors
    /// When memory cannot be read, or the code was thrown away meanwhile.
    pub fn frames_at(
        &mut self,
        memory: &dyn ProcessMemory,
        blob: &CodeBlob,
        address: crate::CodeAddress,
    ) -> Result<Vec<JavaFrame>, InterpreterError> {
        let BlobKind::Compiled { method, .. } = blob.kind else { return Ok(Vec::new()) };
        let is_return = matches!(address, crate::CodeAddress::ReturnAddress(_));
        let place = (address.address().0, is_return);
        let scopes = match self.layout.0.blobs.debug {
            Some(debug) => compiled::scopes(memory, debug, blob, place, self.layout.0.excess()),
            None => Ok(Vec::new()),
        };
        let frames: Result<Vec<JavaFrame>, InterpreterError> = scopes.and_then(|scopes| {
            scopes.iter().map(|scope| self.frame(memory, scope.method, scope.bytecode)).collect()
        });
        // The outermost scope is the compiled method itself: another one means that it was replaced.
        let own = self.method(memory, method)?.1;
        Ok(match frames {
            Ok(frames) if frames.last().is_some_and(|last| last.method == own) => frames,
            Err(error) if error.is_final() => return Err(error),
            _ => vec![JavaFrame { method: own, line: None }],
        })
    }

    /// The method and line of an interpreter's frame: the method's address, and that of its bytecode.
    ///
    /// # Errors
    /// When that is no method, or memory cannot be read.
    pub fn interpreted(
        &mut self,
        memory: &dyn ProcessMemory,
        method: u64,
        bytecode: u64,
    ) -> Result<JavaFrame, InterpreterError> {
        let (description, method) = self.method(memory, method)?;
        let line = description.bytecode(bytecode).and_then(|bytecode| method.line(bytecode));
        Ok(JavaFrame { method, line })
    }

    fn frame(
        &mut self,
        memory: &dyn ProcessMemory,
        method: u64,
        bytecode: Option<u32>,
    ) -> Result<JavaFrame, InterpreterError> {
        let (_, method) = self.method(memory, method)?;
        let line = match bytecode {
            Some(bytecode) => method.line(bytecode),
            None => method.first_line(),
        };
        Ok(JavaFrame { method, line })
    }

    fn method(
        &mut self,
        memory: &dyn ProcessMemory,
        method: u64,
    ) -> Result<(ConstMethod, Arc<JavaMethod>), InterpreterError> {
        let layout = &self.layout.0.methods;
        let description = const_method_of(memory, layout, method)?;
        if let Some((description, known)) = self.methods.get(&(method, description)) {
            return Ok((*description, Arc::clone(known)));
        }
        let read = ConstMethod::read(memory, layout, description)?;
        let named = Arc::new(read.method(memory, layout, self.layout.0.excess())?);
        if self.methods.len() >= MOST_METHODS {
            self.methods.clear();
        }
        self.methods.insert((method, description), (read, Arc::clone(&named)));
        Ok((read, named))
    }
}
