//! Addresses to names: ELF symbols, DWARF lines and inlined frames, kernel, vDSO, JIT maps, demangling.
//!
//! The crate takes open files and bytes and never finds processes or follows paths by itself: the caller
//! opens files through the target's root and fills its own rows from the answers. Every input is treated
//! as hostile. Start at [`ModuleImage`] for a program or library and at [`KernelSymbols`] for the kernel.
//!
//! ```
//! use culprit_symbols::{FileOffset, ModuleImage};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let path = std::env::current_exe()?;
//! let image = ModuleImage::open(std::fs::File::open(&path)?, &path.to_string_lossy(), None)?;
//! // An address of the process is turned into a file offset with the mapping that it falls into.
//! if let Some(address) = image.svma(FileOffset(0x1000)) {
//!     let here = image.symbolize(address);
//!     assert!(!here.frames.is_empty());
//! }
//! # Ok(())
//! # }
//! ```

mod address;
mod code_map;
mod demangle;
mod error;
mod image;
mod jit;
mod kernel;
pub mod runtimes;
mod unwind;
mod vdso;

pub use address::{Avma, CodeAddress, FileOffset, Svma};
pub use code_map::CodeMap;
pub use demangle::demangle;
pub use error::Error;
pub use image::{
    BuildId, BundledAssembly, CodePlace, FileIdentity, FunctionPlace, FunctionRange,
    HiddenFunction, ImageCache, ImageKey, Instruction, MemoryAccess, MethodLines, ModuleImage,
    NameSource, Problem, StaticProbe, SymbolFrame, SymbolStack, find_functions, find_static_probes,
    hidden_by_tail_calls, mapping_svma,
};
pub use jit::{JitCode, JitSymbol, parse_jitdump, parse_perf_map};
pub use kernel::{KernelSymbol, KernelSymbols};
pub use unwind::{
    Arch, FramePlace, FramePointer, GeneratedCode, InterpretedFrame, Outcome, Registers, StackDump,
    Truncation, UnwindSpace, Unwinder, Unwound, Wanted,
};
pub use vdso::{VDSO_NAME, vdso_image};
