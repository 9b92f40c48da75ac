//! What code a process has where: the maps that unwinding needs, changed as the process maps and unmaps.
//!
//! Tables are shared with all other processes, so a clone for `fork` copies a short list.

use std::ops::Range;
use std::sync::Arc;

use super::tables::UnwindTables;
use crate::image::CallSites;
use crate::{Avma, CodeMap, FileOffset, ModuleImage, Svma};

/// The executable mappings of one process.
#[derive(Clone, Debug, Default)]
pub struct UnwindSpace {
    code: CodeMap<UnwindCode>,
}

/// How to walk the stack of a piece of code.
#[derive(Clone, Debug)]
pub(super) struct UnwindCode {
    /// Process address minus module address, modulo 2^64.
    pub(super) bias: u64,
    /// `None` for generated code, which is walked by frame pointers.
    pub(super) tables: Option<Arc<UnwindTables>>,
    /// The calls of its file, where that can be read.
    calls: Option<Arc<CallSites>>,
}

impl UnwindSpace {
    /// A process without code.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an executable mapping of a file: `length` bytes at `start`, from `offset` of the file. Whatever
    /// was there is gone. `false` when the file loads no code from that offset; the range then counts as
    /// code without unwind information.
    pub fn add_module(
        &mut self,
        start: Avma,
        length: u64,
        offset: FileOffset,
        image: &ModuleImage,
    ) -> bool {
        let Some(svma) = image.mapping_svma(offset) else {
            self.add_code(start, length);
            return false;
        };
        let bias = start.0.wrapping_sub(svma.0);
        let tables = Some(Arc::clone(image.unwind_tables()));
        let calls = image.calls().map(Arc::clone);
        self.code.insert(range(start, length), UnwindCode { bias, tables, calls });
        true
    }

    /// Adds executable memory without unwind information: code made by a JIT compiler, or a file that could
    /// not be read. It is walked by frame pointers.
    pub fn add_code(&mut self, start: Avma, length: u64) {
        self.code.insert(range(start, length), UnwindCode { bias: 0, tables: None, calls: None });
    }

    /// Removes whatever lies in a range (`munmap`, or a mapping over it that is not executable).
    pub fn remove(&mut self, start: Avma, length: u64) {
        self.code.remove(range(start, length));
    }

    /// Removes everything (`execve`).
    pub fn clear(&mut self) {
        self.code.clear();
    }

    /// Number of distinct ranges.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether no code is known.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Whether an address can be a return address: it lies in known code and, where the code's file can be read,
    /// directly behind a call.
    pub fn is_return_address(&self, address: Avma) -> bool {
        self.judge(address) == Some(true)
    }

    /// Whether an address lies in known code and is surely no return address.
    pub fn follows_no_call(&self, address: Avma) -> bool {
        self.judge(address) == Some(false)
    }

    /// Whether a function may return to an address; none outside of known code.
    fn judge(&self, address: Avma) -> Option<bool> {
        let code = self.find(address.0.checked_sub(1)?)?;
        let at = Svma(address.0.wrapping_sub(code.bias));
        Some(code.calls.as_ref().is_none_or(|calls| calls.may_return_to(at)))
    }

    pub(super) fn find(&self, address: u64) -> Option<&UnwindCode> {
        self.code.find(address).map(|(_, code)| code)
    }
}

fn range(start: Avma, length: u64) -> Range<u64> {
    start.0..start.0.saturating_add(length)
}
