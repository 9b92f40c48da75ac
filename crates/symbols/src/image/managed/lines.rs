//! Where the methods of an assembly are in its source, for code that the runtime compiles itself: it
//! reports that by name, with the types of the parameters.

use std::fs::File;
use std::path::Path;

use culprit_model::parse_generated_name;
use rustc_hash::FxHashMap;

use super::metadata::Metadata;
use super::pdb::{Pdb, PdbLink, SourcePlace};
use super::pe::{Directory, Pe};
use super::ready_to_run::{COR_HEADER, LARGEST_PART};
use crate::Error;
use crate::image::source::Source;

/// Overloads of one method that are told apart.
const MOST_OVERLOADS: usize = 64;

/// Files and lines of an assembly's methods.
#[derive(Debug, Default)]
pub struct MethodLines {
    methods: FxHashMap<Box<str>, Vec<Overload>>,
}

/// One of the methods of a name.
#[derive(Debug)]
struct Overload {
    parameters: u32,
    place: SourcePlace,
}

impl MethodLines {
    /// Reads an assembly's methods and, from its PDB, their lines. `open` opens paths as the process
    /// that runs the assembly sees them. Without a PDB there are no lines.
    ///
    /// # Errors
    /// When the file cannot be read or is no .NET assembly.
    pub fn read(
        assembly: File,
        path: &str,
        open: &mut dyn FnMut(&Path) -> Option<File>,
    ) -> Result<Self, Error> {
        let (source, _) = Source::from_file(assembly, path)?;
        Self::read_at(&source, 0, open)
    }

    /// The same for an assembly that begins at a place of the source.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(in crate::image) fn read_at(
        source: &Source,
        base: u64,
        open: &mut dyn FnMut(&Path) -> Option<File>,
    ) -> Result<Self, Error> {
        let refused = || source.malformed("not a .NET assembly");
        let pe = Pe::parse(source, base)?.ok_or_else(refused)?;
        let Some(pdb) = open_pdb(&pe, source, open) else { return Ok(Self::default()) };
        let cor = pe.directory(COR_HEADER).ok_or_else(refused)?;
        let cor = pe.read(source, "COR header", Directory { size: cor.size.min(256), ..cor })?;
        let part = Directory::at(&cor, 8).filter(|part| part.size <= LARGEST_PART);
        let bytes = pe.read(source, "metadata", part.ok_or_else(refused)?)?;
        let metadata = Metadata::parse(&bytes).ok_or_else(refused)?;
        let mut lines = Self::default();
        for row in 1..=metadata.methods() {
            // Most methods of a damaged file have no place, and need no name.
            let Some(place) = pdb.place(row) else { continue };
            let Some(name) = metadata.method(row) else { continue };
            let overloads = lines.methods.entry(name.into()).or_default();
            if overloads.len() < MOST_OVERLOADS {
                let parameters = metadata.parameters(row).unwrap_or(0);
                overloads.push(Overload { parameters, place });
            }
        }
        Ok(lines)
    }

    /// File and line where a method begins, by the name that the runtime gave its code.
    pub fn find(&self, name: &str) -> Option<(&str, u32)> {
        let function = parse_generated_name(name).function;
        let overloads = self.methods.get(&*without_arguments(&function))?;
        let parameters = parameters(name);
        let exact = overloads.iter().find(|overload| Some(overload.parameters) == parameters);
        let found = exact.or_else(|| overloads.first())?;
        Some((&found.place.file, found.place.line))
    }

    /// Whether no method has a line.
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }
}

/// The PDB of an assembly.
pub(super) fn open_pdb(
    pe: &Pe,
    source: &Source,
    open: &mut dyn FnMut(&Path) -> Option<File>,
) -> Option<Pdb> {
    let link = PdbLink::read(pe, source)?;
    link.candidates(source.path()).into_iter().find_map(|path| {
        let (source, _) = Source::from_file(open(&path)?, &path.to_string_lossy()).ok()?;
        Pdb::read(&source, &link)
    })
}

/// A method's name without the arguments of generic types: ``List`1[System.Int32].Add`` is the method
/// ``List`1.Add``.
fn without_arguments(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut depth = 0_usize;
    for letter in name.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// How many parameters stand in a name: ``void [app] A::f(class B`2<int32,string>,int32)`` has two.
fn parameters(name: &str) -> Option<u32> {
    let (_, rest) = name.split_once("::")?;
    let (_, rest) = rest.split_once('(')?;
    let (mut depth, mut commas, mut any) = (0_u32, 0, false);
    for letter in rest.chars() {
        match letter {
            ')' if depth == 0 => return Some(if any { commas + 1 } else { 0 }),
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
        any = true;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn overloads_are_told_apart_by_their_parameters() {
        let place = |line| SourcePlace { file: Arc::from("/src/a.cs"), line };
        let overload = |parameters, line| Overload { parameters, place: place(line) };
        let mut lines = MethodLines::default();
        lines.methods.insert("Shop.Orders.Parse".into(), vec![overload(1, 10), overload(2, 20)]);
        lines.methods.insert("Shop.List`1.Add".into(), vec![overload(1, 30)]);
        let line = |name| lines.find(name).map(|(_, line)| line);
        assert_eq!(line("void [shop] Shop.Orders::Parse(string)[Tier0]"), Some(10));
        let two = "void [shop] Shop.Orders::Parse(class B`2<int32,string>,int32[0...,0...])[Tier0]";
        assert_eq!(line(two), Some(20));
        assert_eq!(line("void [shop] Shop.Orders::Parse()[Tier0]"), Some(10), "the first one");
        let generic = "instance void [shop] Shop.List`1[System.Int32]::Add(!0)[Tier0]";
        assert_eq!(line(generic), Some(30));
        assert_eq!(line("void [shop] Shop.Orders::Save()[Tier0]"), None);
    }

    #[test]
    fn parameters_are_counted_outside_of_brackets() {
        for (name, count) in [
            ("void [a] A::f()", Some(0)),
            ("void [a] A::f(string[])[Tier0]", Some(1)),
            ("void [a] A::f(fnptr void (int32,int32),int32)", Some(2)),
            ("void [a] A::f(int32", None),
            ("A.f", None),
        ] {
            assert_eq!(parameters(name), count, "{name}");
        }
    }
}
