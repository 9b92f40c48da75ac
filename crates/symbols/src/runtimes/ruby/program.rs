//! The interpreter in a program or library file: where its state is, which release it is, and what
//! its loop is called.

use std::fs::File;
use std::ops::Range;

use crate::image::{Elf, Source, find_data, loop_name};
use crate::{Error, Svma};

/// The loop where its function cannot be found: what calls it.
const CALLER: &str = "rb_vm_exec";

/// A program or library that has a Ruby interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubyProgram {
    /// Address of `ruby_current_vm_ptr` in the module; none without such a symbol.
    pub vm: Option<Svma>,
    /// Address of `ruby_global_symbols`; none without such a symbol.
    pub symbols: Option<Svma>,
    /// The module's variables.
    pub data: Range<Svma>,
    /// Major and minor number of the release.
    pub version: Option<(u8, u8)>,
    /// The function that runs Ruby's code, as [`ModuleImage`](crate::ModuleImage) names it: on the
    /// native stack once a call from C to Ruby.
    pub loop_name: String,
}

/// The Ruby interpreter in a file; `None` where there is none, as in a program that has it in a
/// library (`libruby.so.3.1`).
/// Linear in the file's symbols; nothing is kept.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn find_ruby(file: File, path: &str) -> Result<Option<RubyProgram>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    if !elf.wide {
        return Ok(None);
    }
    let names = ["ruby_api_version", "ruby_current_vm_ptr", "ruby_global_symbols"];
    let found = find_data(&elf, &source, &names);
    let [Some(version), vm, symbols] = *found.as_slice() else { return Ok(None) };
    let sections = [".data", ".bss"].into_iter().filter_map(|name| elf.section(name));
    let (mut start, mut end) = (u64::MAX, 0);
    for range in sections.map(|section| section.range()) {
        (start, end) = (range.start.min(start), range.end.max(end));
    }
    Ok(Some(RubyProgram {
        vm: vm.map(Svma),
        symbols: symbols.map(Svma),
        data: Svma(start.min(end))..Svma(end),
        version: stated_version(&elf, &source, version),
        loop_name: loop_name(&elf, &source).unwrap_or_else(|| CALLER.to_owned()),
    }))
}

/// `ruby_api_version`: three numbers, of which the last is always 0.
fn stated_version(elf: &Elf, source: &Source, address: u64) -> Option<(u8, u8)> {
    let (offset, _) = elf.loaded_bytes(address)?;
    let bytes = source.read("ruby_api_version", offset, 8).ok()?;
    match (elf.endian, bytes.as_slice()) {
        (object::Endianness::Little, [major, 0, 0, 0, minor, 0, 0, 0])
        | (object::Endianness::Big, [0, 0, 0, major, 0, 0, 0, minor]) => Some((*major, *minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_have_no_interpreter() {
        let own = std::env::current_exe().and_then(File::open).expect("it runs");
        assert_eq!(find_ruby(own, "own").expect("an ELF file"), None);
        assert!(find_ruby(tempfile::tempfile().expect("room"), "empty").is_err());
    }
}
