//! The functions of a precompiled .NET image: where their code is, and which methods they are.
//!
//! ```text
//! RuntimeFunctions        0: f   1: f's handler   2: g   3: h   4: h's cold part
//! MethodDefEntryPoints    row of f -> 0, row of g -> 2
//! InstanceEntryPoints     signature of h -> 3
//! HotColdMap              4 -> 3
//! ```
//!
//! A function without a method belongs to the one before it: it is a handler or a filter (a funclet).
//! That is how the runtime finds the method of an address, too. Source: .NET's
//! `docs/design/coreclr/botr/readytorun-format.md` and `src/coreclr/inc/readytorun.h`.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf;

use super::bytes::{size, u32_at};
use super::metadata::Metadata;
use super::native::{Array, Table, unsigned};
use super::pe::{Directory, Pe};
use super::signature;
use crate::Error;
use crate::image::source::Source;

/// `RTR` and a zero.
const SIGNATURE: u32 = 0x0052_5452;

/// The part of an image that says what .NET needs to know.
pub(super) const COR_HEADER: usize = 14;

/// Sections of the header that are read.
const RUNTIME_FUNCTIONS: u32 = 102;
const METHOD_ENTRY_POINTS: u32 = 103;
const INSTANCE_ENTRY_POINTS: u32 = 109;
const COMPONENT_ASSEMBLIES: u32 = 115;
const HOT_COLD_MAP: u32 = 120;

/// An image has some twenty sections.
const MOST_SECTIONS: u32 = 256;

/// The largest part that is read: that of .NET's base library has 4 MiB, that of a large program some
/// ten times as much.
pub(super) const LARGEST_PART: u32 = 256 << 20;

/// Bytes of names that one image may have. .NET's base library has 3 MiB of them; a damaged one could
/// give each function a name of 1 KiB.
const MOST_NAMES: usize = 256 << 20;

/// A method's code, in addresses relative to the image's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) code: Range<u64>,
    pub(super) name: String,
    /// Its row, for methods that are no instance of a generic one.
    pub(super) row: Option<u32>,
}

/// What an image says about itself.
#[derive(Debug)]
struct Header {
    metadata: Directory,
    sections: BTreeMap<u32, Directory>,
}

/// The functions of an image; `None` where it holds no precompiled code.
pub(super) fn functions(pe: &Pe, source: &Source) -> Result<Option<Vec<Function>>, Error> {
    let Some(header) = header(pe, source)? else { return Ok(None) };
    if header.sections.contains_key(&COMPONENT_ASSEMBLIES) {
        // The names are in the assemblies, which are files of their own.
        return Err(
            source.malformed("the code of several assemblies in one file (composite image)")
        );
    }
    let read = |what, part: Option<Directory>| match part {
        Some(part) if part.size > LARGEST_PART => Err(Error::TooLarge {
            path: source.path().to_owned(),
            what: String::from(what),
            size: part.size.into(),
            limit: LARGEST_PART.into(),
        }),
        Some(part) => pe.read(source, what, part),
        None => Ok(Vec::new()),
    };
    let section = |what, number| read(what, header.sections.get(&number).copied());
    let places = section("runtime functions", RUNTIME_FUNCTIONS)?;
    let methods = section("method entry points", METHOD_ENTRY_POINTS)?;
    let instances = section("instance entry points", INSTANCE_ENTRY_POINTS)?;
    let cold = section("hot and cold parts", HOT_COLD_MAP)?;
    let metadata = read("metadata", Some(header.metadata))?;
    let metadata =
        Metadata::parse(&metadata).ok_or_else(|| source.malformed("damaged .NET metadata"))?;
    let places = places_of(&places, pe.machine);
    let mut names = Names { names: vec![None; places.len()], left: MOST_NAMES };
    names.methods(&methods, &metadata);
    names.instances(&instances, &metadata);
    names.cold_parts(&cold);
    Ok(Some(with_funclets(&places, names.names)))
}

fn header(pe: &Pe, source: &Source) -> Result<Option<Header>, Error> {
    let Some(cor) = pe.directory(COR_HEADER) else { return Ok(None) };
    let cor = pe.read(source, "COR header", Directory { size: cor.size.min(256), ..cor })?;
    let (Some(metadata), Some(native)) = (Directory::at(&cor, 8), Directory::at(&cor, 64)) else {
        return Ok(None);
    };
    let fixed = pe.read(source, "ReadyToRun header", Directory { size: 16, ..native })?;
    if u32_at(&fixed, 0) != Some(SIGNATURE) {
        return Ok(None);
    }
    let count = u32_at(&fixed, 12).unwrap_or(0).min(MOST_SECTIONS);
    let whole = Directory { size: 16 + 12 * count, ..native };
    let bytes = pe.read(source, "ReadyToRun header", whole)?;
    let section = |raw: &[u8]| Some((u32_at(raw, 0)?, Directory::at(raw, 4)?));
    let (raw, _) = bytes.get(16..).unwrap_or_default().as_chunks::<12>();
    let sections = raw.iter().filter_map(|raw| section(raw)).collect();
    Ok(Some(Header { metadata, sections }))
}

/// Where the code of each function is. Images for x86-64 say where it ends; elsewhere it ends where
/// the next one begins.
fn places_of(bytes: &[u8], machine: u16) -> Vec<Range<u64>> {
    let with_end = machine == elf::EM_X86_64.0;
    let entry = if with_end { 12 } else { 8 };
    let count = bytes.len() / entry;
    let number = |index: usize, at| u32_at(bytes, index * entry + at).map(u64::from);
    let place = |index| {
        let start = number(index, 0)?;
        let end = if with_end { number(index, 4)? } else { number(index + 1, 0).unwrap_or(start) };
        Some(start..end)
    };
    let mut places: Vec<_> = (0..count).filter_map(place).collect();
    // The table ends with an entry behind all addresses.
    if places.last().is_some_and(|last| last.start >= u32::MAX.into()) {
        places.pop();
    }
    places
}

/// The name of a function, and the row of its method.
type Named = (String, Option<u32>);

/// Names of functions, by their index.
struct Names {
    names: Vec<Option<Named>>,
    /// Bytes that names may still take.
    left: usize,
}

impl Names {
    /// The methods that are no instance of a generic one.
    fn methods(&mut self, bytes: &[u8], metadata: &Metadata<'_>) {
        let Some(array) = Array::parse(bytes) else { return };
        for index in 0..array.count().min(metadata.methods()) {
            let function = array.get(index).and_then(|at| function_at(bytes, at));
            if let Some(function) = function {
                self.give(function, || Some((metadata.method(index + 1)?, Some(index + 1))));
            }
        }
    }

    /// The instances of generic methods and of methods of generic types.
    fn instances(&mut self, bytes: &[u8], metadata: &Metadata<'_>) {
        let Some(table) = Table::parse(bytes) else { return };
        for entry in table.entries() {
            let mut reader = signature::Reader::new(bytes, entry, metadata);
            // The function's number stands behind the signature.
            let Some(name) = reader.method() else { continue };
            if let Some(function) = function_at(bytes, reader.position()) {
                self.give(function, || Some((name, None)).filter(|(name, _)| !name.is_empty()));
            }
        }
    }

    /// The parts that were split off as rarely executed.
    fn cold_parts(&mut self, bytes: &[u8]) {
        let (pairs, _) = bytes.as_chunks::<8>();
        for pair in pairs {
            let (Some(cold), Some(hot)) = (u32_at(pair, 0), u32_at(pair, 4)) else { continue };
            let name = self.names.get(size(hot)).cloned().flatten();
            self.give(size(cold), || name);
        }
    }

    fn give(&mut self, function: usize, name: impl FnOnce() -> Option<Named>) {
        let Some(place) = self.names.get_mut(function).filter(|place| place.is_none()) else {
            return;
        };
        let Some(named) = name() else { return };
        if let Some(left) = self.left.checked_sub(named.0.len()) {
            (self.left, *place) = (left, Some(named));
        }
    }
}

/// The number of the function at an entry: one bit says whether fix-ups follow.
fn function_at(bytes: &[u8], at: usize) -> Option<usize> {
    let (number, _) = unsigned(bytes, at)?;
    Some(size(if number & 1 == 0 { number >> 1 } else { number >> 2 }))
}

/// Every method with its funclets, which stand behind it.
fn with_funclets(places: &[Range<u64>], names: Vec<Option<Named>>) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    for (place, name) in places.iter().zip(names) {
        match (name, functions.last_mut()) {
            (Some((name, row)), _) => functions.push(Function { code: place.clone(), name, row }),
            (None, Some(last)) if place.start >= last.code.end => last.code.end = place.end,
            (None, _) => {}
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_funclet_belongs_to_the_method_before_it() {
        let places = [0..8, 10..20, 20..25, 30..40];
        let name = |text: &str| Some((text.to_owned(), None));
        let functions = with_funclets(&places, vec![None, name("A.f"), None, name("A.g")]);
        let told: Vec<_> = functions.iter().map(|f| (f.name.as_str(), f.code.clone())).collect();
        assert_eq!(told, [("A.f", 10..25), ("A.g", 30..40)]);
    }

    fn named(name: &str) -> Option<Named> {
        Some((name.to_owned(), Some(7)))
    }

    #[test]
    fn a_cold_part_has_the_name_of_its_method() {
        let mut names = Names { names: vec![named("A.f"), None, None], left: 100 };
        names.cold_parts(&[2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(names.names, [named("A.f"), None, named("A.f")]);
    }

    #[test]
    fn names_take_no_more_than_they_may() {
        let mut names = Names { names: vec![None, None], left: 4 };
        names.give(0, || named("abc"));
        names.give(1, || named("de"));
        assert_eq!(names.names, [named("abc"), None]);
    }

    #[test]
    fn where_functions_end_depends_on_the_machine() {
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let x86 = words(&[0x10, 0x18, 1, 0x20, 0x28, 2, u32::MAX, u32::MAX, 0]);
        assert_eq!(places_of(&x86, elf::EM_X86_64.0), [0x10..0x18, 0x20..0x28]);
        let arm = words(&[0x10, 1, 0x20, 2, u32::MAX, 0]);
        assert_eq!(places_of(&arm, elf::EM_AARCH64.0)[0], 0x10..0x20);
    }
}
