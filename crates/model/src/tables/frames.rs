//! Places in code.

use crate::column::table;
use crate::ids::ModuleId;
use crate::label::labels;
use crate::text::Text;

labels! {
    /// What a thread that was interrupted at an address was doing with memory that others use.
    Instruction ("instruction") {
        /// An atomic read and write of one memory cell: at the instruction, or right behind it,
        /// where an interrupt that it delayed finds the thread.
        Atomic = "atomic",
        /// The same with an address that stands in the code, so that every thread there uses the
        /// same cell.
        AtomicFixed = "atomic-fixed",
        /// In a short loop that changes nothing it depends on: only what another one writes, or
        /// the passing of time, ends it.
        Spin = "spin",
        /// In a short loop with the pause instruction of spin loops.
        Pause = "pause",
    }
}

labels! {
    /// Why a frame stands in a stack that was not found on the thread's stack.
    Guess ("guess") {
        /// It ended in a jump to the function that it would have called (a tail call), and is the
        /// only one known that leads from the call above it to the function below it.
        TailCall = "tail-call",
    }
}

table! {
    /// A place in code, at one inline level: an address whose function inlined two others gives
    /// three frames. Ordered by first use.
    Frame in "frames" {
        /// Where the code is from; none when the address belongs to nothing known.
        module: Option<ModuleId>,
        /// Demangled name without hash suffix; `?` without a symbol.
        function: Text,
        /// Address in the module, as its own symbol table counts (not moved by relocation): of the
        /// instruction itself for a leaf, of the call for a caller. None for interpreted frames.
        address: Option<u64>,
        /// Source file, if line information knows it.
        file: Option<Text>,
        /// Line in it: of the instruction, or of the call.
        line: Option<u32>,
        /// True when this function was inlined into the next frame towards the root.
        inlined: bool,
        /// What a thread that was interrupted at the address did, by the instructions around it;
        /// none for callers, for other instructions, and where the code could not be read.
        instruction: Option<Instruction>,
        /// Why the frame is here though it was not found on the thread's stack; none for frames that
        /// were. Its address is that of the jump by which it left, none when several lead on.
        guessed: Option<Guess>,
    }
}

impl Frame {
    /// The function of a frame behind which stands what an event loop awaits. Its module is the loop's kind
    /// in brackets, `[asyncio]`, and it has no file.
    pub const AWAITS: &str = "awaits";

    /// Whether what follows is not called by what stands before: an event loop awaits it.
    #[must_use]
    pub fn is_await_mark(&self) -> bool {
        self.file.is_none() && self.module.is_some() && self.function.as_str() == Self::AWAITS
    }

    /// A place in code of which no source line is known.
    #[must_use]
    pub fn new(module: Option<ModuleId>, function: impl Into<Text>, address: Option<u64>) -> Self {
        Self {
            module,
            function: function.into(),
            address,
            file: None,
            line: None,
            inlined: false,
            instruction: None,
            guessed: None,
        }
    }
}
