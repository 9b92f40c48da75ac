//! The loop of an interpreter in a file without its symbol.
//!
//! An interpreter with direct threading jumps from each instruction to the next through a table of
//! addresses, one for each kind of instruction. All lie within one function: that is the loop. The
//! table is constant data, which the dynamic linker moves by relocations:
//!
//! ```text
//! .data.rel.ro   ... | table: 200 addresses in one function | ...
//! ```
//!
//! Debian's Ruby needs it: the loop is a static function, and the library has exported symbols only.

use std::ops::Range;

use object::Endianness;
use object::elf::{self, Rela64};
use object::read::elf::Rela;
use rustc_hash::FxHashMap;

use super::elf::{Elf, table};
use super::source::Source;
use super::symtab::{Binding, RawSymbol, SymbolTable};
use super::{find_exported, find_function};
use crate::Error;
use crate::unwind::UnwindTables;

/// Kinds of instructions that an interpreter has at least. Ruby has 202 to 206; the matcher of its
/// regular expressions, which is threaded in the same way, has 98.
const FEWEST_INSTRUCTIONS: usize = 150;
/// Ruby's loop, where no symbol names it.
const NAME: &str = "vm_exec_core";
/// A variable that every file with a Ruby interpreter exports.
const MARK: &str = "ruby_api_version";

/// The name of the loop, as [`ModuleImage`](super::ModuleImage) names it; none where it is not found.
pub(crate) fn loop_name(elf: &Elf, source: &Source) -> Option<String> {
    let unwind = UnwindTables::read(elf, source).ok()?;
    let function = function(elf, source, &unwind).ok().flatten()?;
    Some(find_function(elf, source, function.start).unwrap_or_else(|| NAME.to_owned()))
}

/// The loop as a symbol; empty for files without one.
pub(super) fn symbols(
    elf: &Elf,
    source: &Source,
    unwind: &UnwindTables,
) -> Result<SymbolTable, Error> {
    if !elf.wide || find_exported(elf, source, &[MARK]) == [None] {
        return Ok(SymbolTable::default());
    }
    let function = function(elf, source, unwind)?;
    let symbol = |function: Range<u64>| RawSymbol {
        name: NAME.as_bytes().into(),
        start: function.start,
        size: function.end.saturating_sub(function.start),
        limit: function.end,
        binding: Binding::Local,
        superseded: false,
        chooser: false,
    };
    Ok(SymbolTable::build(function.map(symbol).into_iter().collect()))
}

/// The function that the longest table of addresses leads to.
fn function(
    elf: &Elf,
    source: &Source,
    unwind: &UnwindTables,
) -> Result<Option<Range<u64>>, Error> {
    let moved = moved(elf, source)?;
    let mut longest = (FEWEST_INSTRUCTIONS, None);
    for name in [".data.rel.ro", ".data.rel.ro.local", ".rodata"] {
        let Some(section) = elf.section(name) else { continue };
        let bytes = elf.bytes(source, section)?;
        let words = bytes.chunks_exact(8).map(|bytes| word(elf.endian, bytes));
        let places = (section.address..).step_by(8);
        let addresses = places.zip(words).map(|(at, word)| moved.get(&at).copied().unwrap_or(word));
        let (found, within) = longest_run(addresses, |address| unwind.function(address));
        if found > longest.0 {
            longest = (found, within);
        }
    }
    Ok(longest.1)
}

/// The longest run of addresses in one function: how many, and the function.
fn longest_run(
    addresses: impl Iterator<Item = u64>,
    function: impl Fn(u64) -> Option<Range<u64>>,
) -> (usize, Option<Range<u64>>) {
    let (mut longest, mut within) = (0, None);
    let (mut length, mut current): (usize, Option<Range<u64>>) = (0, None);
    for address in addresses {
        if !current.as_ref().is_some_and(|current| current.contains(&address)) {
            (length, current) = (0, Some(address).filter(|at| *at != 0).and_then(&function));
        }
        length += usize::from(current.is_some());
        if length > longest {
            (longest, within) = (length, current.clone());
        }
    }
    (longest, within)
}

/// What the dynamic linker writes where, by relocations that only move an address. Without them the
/// file has the addresses themselves.
fn moved(elf: &Elf, source: &Source) -> Result<FxHashMap<u64, u64>, Error> {
    let relative = match elf.machine {
        machine if machine == elf::EM_X86_64.0 => elf::R_X86_64_RELATIVE,
        _ => elf::R_AARCH64_RELATIVE,
    };
    let bytes = elf.bytes_of(source, ".rela.dyn")?;
    let relocations = table::<Rela64<Endianness>>(&bytes).iter();
    let moves = relocations.filter(|entry| entry.r_type(elf.endian, false) == relative);
    let place = |entry: &Rela64<Endianness>| {
        (entry.r_offset(elf.endian), entry.r_addend(elf.endian).cast_unsigned())
    };
    Ok(moves.map(place).collect())
}

fn word(endian: Endianness, bytes: &[u8]) -> u64 {
    let bytes = bytes.try_into().unwrap_or_default();
    match endian {
        Endianness::Little => u64::from_le_bytes(bytes),
        Endianness::Big => u64::from_be_bytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_in_one_function_wins() {
        let function =
            |address: u64| (address >= 100).then(|| address / 100 * 100..address / 100 * 100 + 100);
        let run = |addresses: &[u64]| longest_run(addresses.iter().copied(), function);
        assert_eq!(run(&[100, 110, 0, 250, 260, 299, 300, 50, 301]), (3, Some(200..300)));
        assert_eq!(run(&[100, 0, 110, 0, 120]), (1, Some(100..200)));
        assert_eq!(run(&[0, 1, 99]), (0, None));
    }

    #[test]
    fn files_without_the_mark_have_no_such_symbol() {
        let own = std::env::current_exe().and_then(std::fs::File::open).expect("it runs");
        let (source, _) = Source::from_file(own, "own").expect("a file");
        let elf = Elf::parse(&source).expect("an ELF file");
        let unwind = UnwindTables::read(&elf, &source).expect("unwind tables");
        assert!(symbols(&elf, &source, &unwind).expect("tables").is_empty());
    }
}
