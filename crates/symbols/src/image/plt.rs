//! Names for the stubs of the procedure linkage table: `malloc@plt`.
//!
//! Stubs have no symbols of their own. Each one jumps through a slot of the global offset table, and a
//! relocation says which symbol the loader puts there. The jump is decoded instead of counted, because
//! the linkers order stubs differently (`.plt`, `.plt.sec` with endbr64, `.plt.got`, lld's and mold's
//! own layouts) while the jump is the same. Only x86-64 is decoded; elsewhere stubs stay unnamed.

use object::Endianness;
use object::elf::{self, Rela64, Sym64};
use object::read::elf::{Rela, Sym};
use rustc_hash::FxHashMap;

use super::elf::{Elf, Section, string_at, table};
use super::source::Source;
use super::symtab::{Binding, RawSymbol};
use crate::Error;

/// Size and alignment of a stub on x86-64, in all linkers' layouts but `.plt.got` of some (8).
const STUB: usize = 16;

/// What a stub is called behind the name of its function.
pub(super) const STUB_SUFFIX: &[u8] = b"@plt";

/// The stubs as symbols; empty for other machines and for static programs.
pub(crate) fn stubs(
    elf: &Elf,
    source: &Source,
    dynsym: &[u8],
    dynstr: &[u8],
) -> Result<Vec<RawSymbol<'static>>, Error> {
    if !is_decoded(elf) {
        return Ok(Vec::new());
    }
    let slots = slots(elf, source, dynsym, dynstr)?;
    let mut found = Vec::new();
    for section in elf
        .sections
        .iter()
        .filter(|section| section.is_executable() && section.name.starts_with(".plt"))
    {
        let code = elf.bytes(source, section)?;
        stubs_in(section, &code, &slots, &mut found);
    }
    Ok(found)
}

/// Whether the machine is the one whose stubs are decoded.
fn is_decoded(elf: &Elf) -> bool {
    elf.machine == elf::EM_X86_64.0 && elf.wide
}

/// Address of each offset table slot that the loader fills with a named function, and the name; empty for
/// other machines than x86-64.
pub(super) fn slots(
    elf: &Elf,
    source: &Source,
    dynsym: &[u8],
    dynstr: &[u8],
) -> Result<FxHashMap<u64, Box<[u8]>>, Error> {
    if !is_decoded(elf) {
        return Ok(FxHashMap::default());
    }
    let symbols = table::<Sym64<Endianness>>(dynsym);
    let mut slots = FxHashMap::default();
    for section in [".rela.plt", ".rela.dyn"] {
        let bytes = elf.bytes_of(source, section)?;
        for relocation in table::<Rela64<Endianness>>(&bytes) {
            let kind = relocation.r_type(elf.endian, false);
            if kind != elf::R_X86_64_JUMP_SLOT && kind != elf::R_X86_64_GLOB_DAT {
                continue;
            }
            let symbol = usize::try_from(relocation.r_sym(elf.endian, false))
                .ok()
                .and_then(|index| symbols.get(index));
            let name = symbol
                .map(|symbol| string_at(dynstr, symbol.st_name(elf.endian)))
                .unwrap_or_default();
            if !name.is_empty() {
                slots.insert(relocation.r_offset(elf.endian), name.into());
            }
        }
    }
    Ok(slots)
}

fn stubs_in(
    section: &Section,
    code: &[u8],
    slots: &FxHashMap<u64, Box<[u8]>>,
    found: &mut Vec<RawSymbol<'static>>,
) {
    // `.plt.got` has stubs of 8 bytes (`jmp *slot(%rip); xchg %ax,%ax`) unless endbr64 made them 16.
    let step = if section.name == ".plt.got" && code.first() == Some(&0xff) { 8 } else { STUB };
    for (index, stub) in code.chunks(step).enumerate() {
        let start = section.address.wrapping_add((index * step) as u64);
        let name = jump_slot(start, stub).and_then(|slot| slots.get(&slot));
        if let Some(name) = name {
            found.push(RawSymbol {
                name: [name, STUB_SUFFIX].concat().into(),
                start,
                size: stub.len() as u64,
                limit: section.range().end,
                binding: Binding::Local,
                superseded: false,
                chooser: false,
            });
        }
    }
}

/// The slot that a stub jumps through: `[endbr64] [bnd] jmp *disp32(%rip)`.
fn jump_slot(start: u64, stub: &[u8]) -> Option<u64> {
    let mut at = 0;
    for prefix in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf2][..]] {
        if stub.get(at..)?.starts_with(prefix) {
            at += prefix.len();
        }
    }
    let rest = stub.get(at..)?;
    let displacement: [u8; 4] = rest.strip_prefix(&[0xff, 0x25])?.get(..4)?.try_into().ok()?;
    let next = start.wrapping_add(at as u64 + 6);
    Some(next.wrapping_add_signed(i64::from(i32::from_le_bytes(displacement))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_of_all_layouts_are_read() {
        let plain = [0xff, 0x25, 0x10, 0, 0, 0, 0x68, 0, 0, 0, 0];
        assert_eq!(jump_slot(0x1000, &plain), Some(0x1016));
        let with_endbr = [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff];
        assert_eq!(jump_slot(0x1000, &with_endbr), Some(0x1000 + 10 - 16));
        let with_bnd = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 0, 0, 0];
        assert_eq!(jump_slot(0, &with_bnd), Some(12));
        assert_eq!(jump_slot(0, &[0xff, 0x35, 0, 0, 0, 0]), None);
        assert_eq!(jump_slot(0, &[]), None);
    }
}
