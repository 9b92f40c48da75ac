//! Precompiled .NET assemblies (ReadyToRun images): PE files with machine code beside the intermediate
//! code.
//!
//! ```text
//! pe             sections: address to file offset
//! ready_to_run   functions and the methods that they are
//!   native       the arrays and tables in which that stands
//!   signature    instances of generic methods
//! bundle         assemblies that are a part of another file
//! metadata       names of types and methods
//!   tables       where their rows are
//! ```
//!
//! The runtime maps an assembly section by section, so an address is turned into one of the image as
//! with ELF segments. An image has neither symbols nor DWARF: the names are in .NET's own tables.

mod bundle;
mod bytes;
mod lines;
mod metadata;
mod native;
mod pdb;
mod pe;
mod ready_to_run;
mod signature;
mod tables;

use std::fs::File;
use std::path::Path;

use super::elf::Elf;
use super::source::Source;
use super::symtab::{Binding, RawSymbol, SymbolTable};
use crate::Error;
pub(super) use bundle::Bundle;
pub use bundle::BundledAssembly;
pub use lines::MethodLines;
use lines::open_pdb;
use pdb::{Pdb, SourcePlace};
use pe::Pe;
use ready_to_run::Function;

/// What an assembly gives: what is loaded where, and the names of its code.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) loaded: Elf,
    pub(super) table: SymbolTable,
    pub(super) methods: Methods,
}

/// The methods of an assembly's code, and where they are in its source.
#[derive(Debug)]
pub(super) struct Methods {
    pe: Pe,
    /// Where each method's code begins, and its row; ordered by address.
    starts: Vec<(u64, u32)>,
    pdb: Option<Pdb>,
}

impl Assembly {
    /// Reads a file that begins at a place of the source; `None` where it is no PE file. What is loaded is
    /// counted from the start of the source.
    ///
    /// # Errors
    /// When it is a damaged one, or one without precompiled .NET code.
    pub(super) fn read(source: &Source, base: u64) -> Result<Option<Self>, Error> {
        let Some(pe) = Pe::parse(source, base)? else { return Ok(None) };
        let functions = ready_to_run::functions(&pe, source)?
            .ok_or_else(|| source.malformed("a PE file without precompiled .NET code"))?;
        let table = SymbolTable::build(functions.iter().map(symbol).collect());
        let start = |function: &Function| Some((function.code.start, function.row?));
        let mut starts: Vec<_> = functions.iter().filter_map(start).collect();
        starts.sort_unstable();
        let loaded = pe.loaded();
        Ok(Some(Self { loaded, table, methods: Methods { pe, starts, pdb: None } }))
    }
}

impl Methods {
    /// Reads the assembly's PDB, if `open` finds it.
    pub(super) fn attach(&mut self, source: &Source, open: &mut dyn FnMut(&Path) -> Option<File>) {
        self.pdb = self.pdb.take().or_else(|| open_pdb(&self.pe, source, open));
    }

    /// File and line of the method whose code begins at an address.
    pub(super) fn place(&self, start: u64) -> Option<SourcePlace> {
        let at = self.starts.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        let (_, row) = self.starts.get(at)?;
        self.pdb.as_ref()?.place(*row)
    }

    /// Bytes that they take.
    pub(super) fn memory_bytes(&self) -> usize {
        let pdb = self.pdb.as_ref().map_or(0, Pdb::memory_bytes);
        self.starts.capacity() * size_of::<(u64, u32)>() + pdb
    }
}

fn symbol(function: &Function) -> RawSymbol<'_> {
    RawSymbol {
        name: function.name.as_bytes().into(),
        start: function.code.start,
        size: function.code.end.saturating_sub(function.code.start),
        limit: function.code.end,
        binding: Binding::Global,
        superseded: false,
        chooser: false,
    }
}

#[cfg(test)]
mod tests;
