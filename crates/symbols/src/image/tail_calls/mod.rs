//! Functions that are missing from a stack because they ended in a jump.
//!
//! A function whose last act is a call may jump instead (`return next(x);`): then it is gone from the stack
//! before the other one runs, and its caller seems to have called what it never calls.
//!
//! ```text
//! code     main: call first      first: jmp second      second: ...
//! stack    main < second         the call before the return address leads to `first`
//! shown    main < first (guessed) < second
//! ```
//!
//! The call before the return address says which function was called. If that is another one than the one
//! that runs, functions lie between that left by jumps. They are searched among the jumps that the code
//! states. Only when a single way leads from the one to the other is it given: with several ways, or with a
//! jump to an address that is computed, nothing is known. Debug information can tell that such a jump is
//! the table of a `switch`: compilers state there that a function's tail calls are all listed. Stubs of the procedure linkage table are followed
//! by the name that their relocation has.
//!
//! x86-64 and aarch64 are decoded. On aarch64 the stubs have no names, so ways through them are not found.

mod jumps;
mod linkage;
mod search;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use object::elf;
use rustc_hash::FxHashMap;

use self::jumps::{Jump, Jumps, Target};
use self::linkage::Linkage;
use self::search::Search;
use super::instruction::MOST_CODE;
use super::{ModuleImage, SymbolFrame};
use crate::Svma;
use crate::unwind::SplitPart;

/// Jumps out of one function that are looked at. The most in a Rust program of 7,000 functions were seven;
/// a function with very many is generated or hostile.
const MOST_JUMPS: usize = 1024;

/// An address in one of a process's modules. `M` is the caller's own handle for a module.
#[derive(Debug, Clone, Copy)]
pub struct CodePlace<'a, M> {
    /// Which module.
    pub module: M,
    /// Its content.
    pub image: &'a ModuleImage,
    /// The address in it.
    pub address: Svma,
}

/// A function that left the stack by a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenFunction<M> {
    /// The module that it is in.
    pub module: M,
    /// Where it begins.
    pub start: Svma,
    /// The jump by which it left; none when several jumps lead to the same function.
    pub jump: Option<Svma>,
}

impl<M> HiddenFunction<M> {
    /// The function at its jump, with what was inlined there, innermost first as
    /// [`symbolize`](ModuleImage::symbolize) has it. Without a single jump the function alone, and no
    /// line. `image` is that of its module.
    #[must_use]
    pub fn frames(&self, image: &ModuleImage) -> Vec<SymbolFrame> {
        let function = image.symbolize(self.start).frames.pop().unwrap_or_default();
        let Some(jump) = self.jump else {
            return vec![SymbolFrame { line: None, column: None, ..function }];
        };
        let mut frames = image.symbolize(jump).frames;
        // The jump may be in a part that the compiler split off and named otherwise.
        if let Some(outermost) = frames.last_mut() {
            (outermost.function, outermost.mangled) = (function.function, function.mangled);
        }
        frames
    }
}

/// The functions that ran between a call and a function that it cannot have called itself, the outermost
/// first. Empty when the call leads to that function, and when not exactly one way is known.
///
/// `call` is a return address, `callee` any address of the function that runs below it. `linked` says
/// which function the process's dynamic linker takes for a name; none when it is not sure.
///
/// Cost: for a direct call a read of a few bytes, else the decoding of up to 256 functions, each once for
/// an image. Ask once for a pair.
pub fn hidden_by_tail_calls<'a, M: Copy + PartialEq>(
    call: CodePlace<'a, M>,
    callee: CodePlace<'a, M>,
    linked: &dyn Fn(&[u8]) -> Option<CodePlace<'a, M>>,
) -> Vec<HiddenFunction<M>> {
    let Some(target) = call.image.call_before(call.address) else { return Vec::new() };
    let Some(goal) = callee.image.named_function(callee.address) else { return Vec::new() };
    let goal = CodePlace { address: Svma(goal), ..callee };
    let search = Search::new(goal, linked);
    let Some(called) = search.function_at(call, target) else { return Vec::new() };
    // Decoding the whole caller is dear, and most calls lead where they seem to lead.
    if search.is_goal(&called) || !call.image.is_call(call.address, target) {
        return Vec::new();
    }
    search.only_way(called).unwrap_or_default()
}

impl ModuleImage {
    /// Where the functions of a name begin that other modules may call by it: several when the module has
    /// several versions. The first question reads the dynamic symbols.
    pub fn exported_functions(&self, name: &[u8]) -> Vec<Svma> {
        self.linkage().exported(name).map(Svma).collect()
    }

    /// What the code before a return address seems to call.
    fn call_before(&self, return_address: Svma) -> Option<Target> {
        let machine = self.elf.machine;
        if machine == elf::EM_X86_64.0 {
            let from = return_address.0.checked_sub(jumps::LONGEST_CALL)?;
            let bytes = self.code_bytes(from, jumps::LONGEST_CALL)?;
            return jumps::call_before_x86(&bytes, return_address.0);
        }
        if machine == elf::EM_AARCH64.0 {
            let bytes = self.code_bytes(return_address.0.checked_sub(4)?, 4)?;
            return jumps::call_before_aarch64(bytes.try_into().ok()?, return_address.0);
        }
        None
    }

    /// Whether a call with this target really ends at a return address: instructions of x86 have no fixed
    /// length, so the caller is decoded from its start.
    fn is_call(&self, return_address: Svma, target: Target) -> bool {
        if self.elf.machine == elf::EM_AARCH64.0 {
            return true;
        }
        let Some(within) = return_address.0.checked_sub(1).map(Svma) else { return false };
        let start = self.symbol(within).map(|hit| hit.range.start);
        let start = start.or_else(|| Some(self.unwind_tables().function(within.0)?.start));
        let size = start.and_then(|start| return_address.0.checked_sub(start));
        let (Some(start), Some(size)) = (start, size.filter(|size| *size < MOST_CODE)) else {
            return false;
        };
        let bytes = self.code_bytes(start, size).filter(|bytes| bytes.len() as u64 == size);
        bytes.and_then(|bytes| jumps::last_call_x86(&bytes, start)) == Some(target)
    }

    /// Where the function begins whose symbol surely owns an address.
    fn named_function(&self, address: Svma) -> Option<u64> {
        self.symbol(address).filter(|hit| hit.exact).map(|hit| hit.range.start)
    }

    /// Whether a jump goes through a cell that is no slot of the loader: what it holds is not known.
    fn is_variable(&self, target: Target) -> bool {
        matches!(target, Target::Slot(slot) if self.linkage().name_of(slot).is_none())
    }

    fn linkage(&self) -> &Linkage {
        self.jumps.linkage.get_or_init(|| match self.code_source() {
            Some(source) => Linkage::read(&self.elf, source),
            None => Linkage::default(),
        })
    }

    /// Whether debug information lists all tail calls of a function and the target of each, so that none
    /// of them is a jump to an address that is computed.
    fn lists_tail_calls(&self, start: Svma) -> bool {
        let lock = || self.jumps.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&start.0) {
            return *known;
        }
        let mut resolver = self.resolver.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = resolver.lists_tail_calls(start);
        lock().insert(start.0, listed);
        listed
    }

    /// The jumps out of a piece of code with a symbol, which begins at `start`.
    fn jumps(&self, start: u64, end: u64) -> Arc<Jumps> {
        let mut known = self.jumps.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(start).or_insert_with(|| Arc::new(self.decode(start, end))))
    }

    fn decode(&self, start: u64, end: u64) -> Jumps {
        let few = self.decode_all(start, end).filter(|jumps| jumps.out.len() <= MOST_JUMPS);
        few.unwrap_or_else(|| Jumps { unread: true, ..Jumps::default() })
    }

    fn decode_all(&self, start: u64, end: u64) -> Option<Jumps> {
        let size = end.saturating_sub(start);
        let bytes = (size < MOST_CODE).then(|| self.code_bytes(start, size)).flatten();
        let bytes = bytes.filter(|bytes| bytes.len() as u64 == size)?;
        match self.elf.machine {
            machine if machine == elf::EM_X86_64.0 => Some(jumps::jumps_x86(&bytes, start)),
            machine if machine == elf::EM_AARCH64.0 => Some(jumps::jumps_aarch64(&bytes, start)),
            _ => None,
        }
    }

    /// Where the function begins that an address without a symbol is a part of: code that the compiler
    /// moved away from the function, and that the function jumps to. The first question about a part
    /// decodes the function.
    pub(super) fn function_of_part(&self, address: Svma) -> Option<Svma> {
        let SplitPart { part, function } = self.unwind_tables().split_part(address.0)?;
        let mut known = self.jumps.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let jumps_there = known.entry(part.start).or_insert_with(|| {
            let jumps = self.decode_all(function.start, function.end).unwrap_or_default();
            let into = |jump: &Jump| matches!(jump.to, Target::Address(to) if part.contains(&to));
            jumps.out.iter().any(into)
        });
        jumps_there.then_some(Svma(function.start))
    }
}

/// What an image remembers of its own jumps.
#[derive(Debug, Default)]
pub(super) struct KnownJumps {
    /// By the start of the code.
    pieces: Mutex<FxHashMap<u64, Arc<Jumps>>>,
    /// By the start of the function, whether debug information lists its tail calls.
    listed: Mutex<FxHashMap<u64, bool>>,
    /// By the start of a part that was moved away from its function, whether that jumps to it.
    parts: Mutex<FxHashMap<u64, bool>>,
    linkage: OnceLock<Linkage>,
}

impl KnownJumps {
    pub(super) fn memory_bytes(&self) -> usize {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let jumps: usize = pieces.values().map(|jumps| jumps.out.capacity()).sum();
        let linkage = self.linkage.get().map_or(0, Linkage::memory_bytes);
        linkage + jumps * size_of::<Jump>() + pieces.capacity() * size_of::<(u64, Jumps)>()
    }
}
