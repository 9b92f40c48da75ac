//! Precompiled .NET assemblies (ReadyToRun images): PE files with machine code beside the intermediate
//! code.
//!
//! ```text
//! pe             sections: address to file offset
//! ready_to_run   functions and the methods that they are
//!   native       the arrays and tables in which that stands
//!   signature    instances of generic methods
//! metadata       names of types and methods
//!   tables       where their rows are
//! ```
//!
//! The runtime maps an assembly section by section, so an address is turned into one of the image as
//! with ELF segments. An image has neither symbols nor DWARF: the names are in .NET's own tables.

mod bytes;
mod metadata;
mod native;
mod pe;
mod ready_to_run;
mod signature;
mod tables;

use super::elf::Elf;
use super::source::Source;
use super::symtab::{Binding, RawSymbol, SymbolTable};
use crate::Error;
use pe::Pe;
use ready_to_run::Function;

/// What an assembly gives: what is loaded where, and the names of its code.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) loaded: Elf,
    pub(super) table: SymbolTable,
}

impl Assembly {
    /// Reads a file; `None` where it is no PE file.
    ///
    /// # Errors
    /// When it is a damaged one, or one without precompiled .NET code.
    pub(super) fn read(source: &Source) -> Result<Option<Self>, Error> {
        let Some(pe) = Pe::parse(source)? else { return Ok(None) };
        let functions = ready_to_run::functions(&pe, source)?
            .ok_or_else(|| source.malformed("a PE file without precompiled .NET code"))?;
        let table = SymbolTable::build(functions.iter().map(symbol).collect());
        Ok(Some(Self { loaded: pe.loaded(), table }))
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
