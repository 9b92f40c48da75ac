//! Functions of a file by their names: where in the file their code begins, for those who put probes
//! there.
//!
//! Unlike an image, which keeps one name an address, this sees every alias. All symbol tables of the
//! file are read: the full one, the compressed one of stripped programs, and the one of the dynamic
//! linker. Separate debug files are not.

use std::fs::File;

use super::debug_file::minidebug;
use super::elf::Elf;
use super::source::Source;
use super::{symtab, table_of};
use crate::{Error, FileOffset};

/// A function of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionPlace {
    /// Where its code begins in the file.
    pub offset: FileOffset,
    /// The linker's name, without a version.
    pub name: String,
    /// Bytes of code; 0 where the file does not say.
    pub size: u64,
}

/// The functions of a 64-bit file whose linker's names (`malloc`, `_ZN3app4workEv`) are `wanted`,
/// ordered by place, each place and name once. Functions of older versions of a library's interface
/// and those that are chosen when a program is linked (`memcpy`) are left out: their code is not
/// where the name is. Linear in symbols; nothing is kept.
///
/// # Errors
/// When the file cannot be read or is no ELF file. A damaged symbol table is as good as none.
pub fn find_functions(
    file: File,
    path: &str,
    wanted: &mut dyn FnMut(&str) -> bool,
) -> Result<Vec<FunctionPlace>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    if !elf.wide {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for kind in [object::elf::SHT_SYMTAB.0, object::elf::SHT_DYNSYM.0] {
        let (symbols, strings) = table_of(&elf, &source, kind).unwrap_or_default();
        collect((&elf, &elf), (&symbols, &strings), wanted, &mut found);
    }
    if let Ok(Some((inner, from))) = minidebug(&elf, &source) {
        let kind = object::elf::SHT_SYMTAB.0;
        let (symbols, strings) = table_of(&inner, &from, kind).unwrap_or_default();
        // Its addresses are the program's, which alone has the code.
        collect((&inner, &elf), (&symbols, &strings), wanted, &mut found);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The functions that the tables of `named` tell, where `loaded` has their code.
fn collect(
    (named, loaded): (&Elf, &Elf),
    (symbols, strings): (&[u8], &[u8]),
    wanted: &mut dyn FnMut(&str) -> bool,
    found: &mut Vec<FunctionPlace>,
) {
    for symbol in symtab::functions(named, symbols, strings) {
        let Ok(name) = std::str::from_utf8(&symbol.name) else { continue };
        if symbol.superseded || symbol.chooser || name.is_empty() || !wanted(name) {
            continue;
        }
        if let Some((offset, left)) = loaded.loaded_bytes(symbol.start) {
            let (offset, size) = (FileOffset(offset), symbol.size.min(left));
            found.push(FunctionPlace { offset, name: name.to_owned(), size });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_begins_where_its_code_is_mapped() {
        let own = std::env::current_exe().expect("this test");
        let file = File::open(&own).expect("it runs");
        let found = find_functions(file, "own", &mut |name| name == "main").expect("an ELF file");
        let [main] = found.as_slice() else { panic!("one main: {found:?}") };
        let image = File::open(&own).expect("it runs");
        let image = crate::ModuleImage::open(image, "own", None).expect("an ELF file");
        let address = image.svma(main.offset).expect("it is loaded");
        let extent = image.symbolize(address).function.expect("a symbol");
        assert_eq!((extent.start, extent.end.0 - extent.start.0), (address, main.size));
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        let file = tempfile::tempfile().expect("room");
        assert!(find_functions(file, "empty", &mut |_| true).is_err());
    }
}
