//! One module (program, library, vDSO) as a source of names, unwind rows and lines.
//!
//! ```text
//! open  --> headers, build id, symbol tables, unwind sections   read at once, kept
//!       --> debug sections                                       read at the first question, kept
//!       --> code of one function                                 read at each question
//!       --> jumps out of one function                            read at the first question, kept
//! ```
//!
//! Opening takes an open file and never a path to follow: who opens decides through which root, so that
//! a container's library is never mistaken for the host's of the same name. An image holds all that it
//! answers with, or the open descriptor: the file may be deleted and the container gone. Nothing here is per process; share one image for a file ([`ImageCache`]).
//!
//! [`ImageCache`]: crate::ImageCache

mod access;
mod cache;
mod calls;
mod debug_file;
mod dispatch;
mod elf;
mod functions;
mod instruction;
mod lines;
mod managed;
mod plt;
mod source;
mod symbolize;
mod symtab;
mod tail_calls;
mod usdt;

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use access::MemoryAccess;
pub use cache::ImageCache;
pub(crate) use calls::CallSites;
pub(crate) use dispatch::loop_name;
pub use elf::BuildId;
pub(crate) use elf::Elf;
pub use functions::{FunctionPlace, find_functions};
pub use instruction::Instruction;
use managed::{Assembly, Bundle, Methods};
pub use managed::{BundledAssembly, MethodLines};
pub use source::FileIdentity;
pub(crate) use source::Source;
pub use symbolize::{FunctionRange, NameSource, SymbolFrame, SymbolStack};
pub use tail_calls::{CodePlace, HiddenFunction, hidden_by_tail_calls};
pub use usdt::{StaticProbe, find_static_probes};

use crate::unwind::UnwindTables;
use crate::{Avma, Error, FileOffset, Svma};
use symbolize::Resolver;
use symtab::SymbolTable;

/// What identifies a module's content, in order of trust.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ImageKey {
    /// The linker's build id.
    BuildId(BuildId),
    /// The file, where it has no build id.
    File(FileIdentity),
    /// A buffer without build id: its length in bytes and CRC-32.
    Bytes {
        /// Length in bytes.
        length: u64,
        /// CRC-32 (IEEE) of the content.
        crc: u32,
    },
    /// A part of another module's file.
    Part {
        /// The other module.
        of: Box<Self>,
        /// Where in its file the part begins.
        offset: FileOffset,
    },
}

/// A part of a module that could not be used, though the rest can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {reason}")]
pub struct Problem {
    /// Which part: `symbols`, `plt`, `minidebug`, `unwind`, `lines`, `debug-file`.
    pub part: &'static str,
    /// Why, in words.
    pub reason: String,
}

/// A parsed module. Cheap to share behind an [`Arc`]; all questions take `&self` and may come from
/// several threads.
#[derive(Debug)]
pub struct ModuleImage {
    path: String,
    key: ImageKey,
    build_id: Option<BuildId>,
    elf: Arc<Elf>,
    /// What code is read from; none where too many files are open.
    code: Option<Arc<instruction::Code>>,
    /// To what functions return; none where there is no code to read.
    calls: Option<Arc<CallSites>>,
    /// Symbol tables, the most complete first.
    tables: Vec<SymbolTable>,
    /// Debug link of the main file: name and CRC-32 of the debug file.
    debug_link: Option<(String, u32)>,
    unwind: Arc<UnwindTables>,
    resolver: Mutex<Resolver>,
    /// How functions leave each other by jumps, as far as it was asked for.
    jumps: tail_calls::KnownJumps,
    problems: Vec<Problem>,
    /// Of a .NET assembly.
    methods: Option<Methods>,
    /// Of a .NET program in one file, as soon as a mapping asks for it.
    bundle: OnceLock<Bundle>,
}

/// The module address of the first byte of an executable mapping of a file, from the file's program headers
/// alone: for callers who need nothing else of it.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn mapping_svma(file: File, path: &str, offset: FileOffset) -> Result<Option<Svma>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    Ok(Elf::parse(&source)?.mapping_svma(offset))
}

impl ModuleImage {
    /// Reads a module from a file that is already open.
    ///
    /// `path` is only for messages and for [`debug_file_candidates`](Self::debug_file_candidates). `expected` is the build id
    /// that the mapping record carries, if it does. Cost: one read of the headers, symbol tables and
    /// unwind sections (libc: 0.6 MiB; a 100 MiB program: some 20 MiB).
    ///
    /// # Errors
    /// When the file cannot be read, is neither a regular ELF file nor a precompiled .NET assembly, or has
    /// another build id than expected.
    pub fn open(file: File, path: &str, expected: Option<&BuildId>) -> Result<Self, Error> {
        let (source, identity) = Source::from_file(file, path)?;
        Self::parse(source, ImageKey::File(identity), expected)
    }

    /// Reads a module from memory: the vDSO, or a section taken from elsewhere.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: &[u8], path: &str) -> Result<Self, Error> {
        let key = ImageKey::Bytes { length: bytes.len() as u64, crc: crc32fast::hash(bytes) };
        Self::parse(Source::from_bytes(bytes.into(), path), key, None)
    }

    fn parse(
        source: Source,
        fallback: ImageKey,
        expected: Option<&BuildId>,
    ) -> Result<Self, Error> {
        if let Some(assembly) = Assembly::read(&source, 0)? {
            return Ok(Self::from_assembly(assembly, Arc::new(source), fallback));
        }
        let (elf, source) = (Arc::new(Elf::parse(&source)?), Arc::new(source));
        let build_id = elf.build_id(&source);
        if let Some(expected) = expected
            && build_id.as_ref().is_some_and(|found| !found.matches(expected))
        {
            let (path, expected) = (source.path().to_owned(), expected.clone());
            return Err(Error::BuildIdMismatch { path, expected, found: build_id });
        }
        let mut problems = Vec::new();
        let mut tables = symbol_tables(&elf, &source, &mut problems);
        let unwind = UnwindTables::read(&elf, &source).unwrap_or_else(|error| {
            problems.push(Problem { part: "unwind", reason: error.to_string() });
            UnwindTables::none()
        });
        // Asked last: a symbol of the linker names it better.
        let dispatch = dispatch::symbols(&elf, &source, &unwind).unwrap_or_default();
        tables.extend(Some(dispatch).filter(|table| !table.is_empty()));
        let debug_link = debug_file::debug_link(&elf, &source);
        let resolver = Mutex::new(Resolver::new(&elf, &source));
        let (code, calls) = code_and_calls(&elf, Arc::clone(&source));
        Ok(Self {
            path: source.path().to_owned(),
            key: build_id.clone().map_or(fallback, ImageKey::BuildId),
            build_id,
            tables,
            debug_link,
            unwind: Arc::new(unwind),
            resolver,
            jumps: tail_calls::KnownJumps::default(),
            elf,
            code,
            calls,
            problems,
            methods: None,
            bundle: OnceLock::new(),
        })
    }

    /// A precompiled .NET assembly: names and code, and stacks by frame pointers.
    fn from_assembly(assembly: Assembly, source: Arc<Source>, key: ImageKey) -> Self {
        let elf = Arc::new(assembly.loaded);
        let (path, resolver) = (source.path().to_owned(), Resolver::new(&elf, &source));
        let (code, calls) = code_and_calls(&elf, source);
        Self {
            path,
            key,
            build_id: None,
            tables: vec![assembly.table],
            debug_link: None,
            unwind: Arc::new(UnwindTables::none()),
            resolver: Mutex::new(resolver),
            jumps: tail_calls::KnownJumps::default(),
            elf,
            code,
            calls,
            problems: Vec::new(),
            methods: Some(assembly.methods),
            bundle: OnceLock::new(),
        }
    }

    /// The .NET assembly whose code an executable mapping is of, where this is a program with its assemblies
    /// in its own file and nothing of the program itself is loaded from there.
    pub fn bundled(&self, mapping: FileOffset) -> Option<&BundledAssembly> {
        if self.is_managed() || self.mapping_svma(mapping).is_some() {
            return None;
        }
        self.bundle()?.find(self.code_source()?, mapping)
    }

    /// Files and lines of the methods of such an assembly, by its name without the ending. `open` opens paths
    /// as the process that runs the program sees them.
    pub fn bundled_lines(
        &self,
        assembly: &str,
        open: &mut dyn FnMut(&Path) -> Option<File>,
    ) -> Option<MethodLines> {
        let place = self.bundle()?.named(assembly)?.offset;
        MethodLines::read_at(self.code_source()?, place.0, open).ok()
    }

    fn bundle(&self) -> Option<&Bundle> {
        let source = self.code_source()?;
        Some(self.bundle.get_or_init(|| Bundle::read(&self.elf, source)))
    }

    /// Reads an assembly out of this program's file. Offsets of mappings are those in this file.
    ///
    /// # Errors
    /// When it cannot be read, or is no precompiled .NET assembly.
    pub fn open_bundled(&self, assembly: &BundledAssembly) -> Result<Self, Error> {
        let refused = || Error::Malformed {
            path: self.path.clone(),
            reason: format!("{} in it is no .NET assembly", assembly.name),
        };
        let source = self.code.as_ref().ok_or_else(refused)?.source();
        let found = Assembly::read(source, assembly.offset.0)?.ok_or_else(refused)?;
        let key = ImageKey::Part { of: Box::new(self.key.clone()), offset: assembly.offset };
        Ok(Self::from_assembly(found, Arc::clone(source), key))
    }

    /// Looks for separate debug files and takes symbols and lines from the first that belongs to this
    /// module. `open` is asked for paths as the *target* sees them and decides through which root to open
    /// them; `None` means that there is no such file. Does nothing when the module has its own.
    ///
    /// For a .NET assembly it is the PDB that the assembly names.
    ///
    /// Call it once after opening, before the image is shared.
    pub fn attach_debug_files(&mut self, open: &mut dyn FnMut(&Path) -> Option<File>) {
        let Some(methods) = &mut self.methods else {
            debug_file::attach(self, open);
            return;
        };
        if let Some(code) = &self.code {
            methods.attach(code.source(), open);
        }
    }

    /// The paths that [`attach_debug_files`](Self::attach_debug_files) asks for, best first.
    pub fn debug_file_candidates(&self) -> Vec<PathBuf> {
        debug_file::candidates(self)
    }

    /// The name that the caller gave.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The identity of the content.
    pub fn key(&self) -> &ImageKey {
        &self.key
    }

    /// The build id, if the linker wrote one.
    pub fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// Where a byte of the file is loaded, in the module's own addresses; `None` when no program header
    /// loads it.
    pub fn svma(&self, offset: FileOffset) -> Option<Svma> {
        self.elf.svma(offset)
    }

    /// The module address of the first byte of an executable mapping, from the mapping's file offset.
    ///
    /// Unlike [`svma`](Self::svma) this accepts a mapping that begins before its segment, which is the
    /// rule: the kernel rounds down to whole pages.
    pub fn mapping_svma(&self, offset: FileOffset) -> Option<Svma> {
        self.elf.mapping_svma(offset)
    }

    /// The module address of an address in a process, given the mapping that it falls into.
    pub fn svma_in_mapping(
        &self,
        address: Avma,
        mapping_start: Avma,
        mapping_offset: FileOffset,
    ) -> Option<Svma> {
        let within = address.0.checked_sub(mapping_start.0)?;
        let base = self.mapping_svma(mapping_offset)?;
        Some(Svma(base.0.wrapping_add(within)))
    }

    /// Parts that could not be read, in the order of discovery.
    pub fn problems(&self) -> Vec<Problem> {
        let resolver = self.resolver.lock().unwrap_or_else(PoisonError::into_inner);
        self.problems.iter().chain(resolver.problems()).cloned().collect()
    }

    /// Whether any symbol table was found; without one, names can only come from debug information.
    pub fn has_symbols(&self) -> bool {
        self.tables.iter().any(|table| !table.is_empty())
    }

    /// Whether the module is a .NET assembly, whose code its runtime also compiles while it runs.
    pub fn is_managed(&self) -> bool {
        self.methods.is_some()
    }

    /// Whether the file has unwind information; without it stacks are followed by frame pointers.
    pub fn has_unwind_information(&self) -> bool {
        !self.unwind.is_empty()
    }

    pub(crate) fn unwind_tables(&self) -> &Arc<UnwindTables> {
        &self.unwind
    }

    pub(crate) fn calls(&self) -> Option<&Arc<CallSites>> {
        self.calls.as_ref()
    }

    /// Bytes that the image holds (tables, unwind sections, debug sections and names, as far as read).
    pub fn memory_bytes(&self) -> usize {
        let resolver = self.resolver.lock().unwrap_or_else(PoisonError::into_inner);
        let tables: usize = self.tables.iter().map(SymbolTable::memory_bytes).sum();
        let methods = self.methods.as_ref().map_or(0, Methods::memory_bytes);
        let native = tables + self.unwind.memory_bytes() + resolver.memory_bytes();
        let calls = self.calls.as_ref().map_or(0, |calls| calls.memory_bytes());
        native + self.jumps.memory_bytes() + methods + calls
    }

    /// Reads the debug sections now; otherwise the first question does so.
    pub fn load_lines(&self) {
        self.resolver.lock().unwrap_or_else(PoisonError::into_inner).load();
    }
}

/// A file's code, as long as it may stay open, and the calls in it.
fn code_and_calls(
    elf: &Arc<Elf>,
    source: Arc<Source>,
) -> (Option<Arc<instruction::Code>>, Option<Arc<CallSites>>) {
    let code = instruction::Code::keep(source).map(Arc::new);
    let calls = code.clone().map(|code| Arc::new(CallSites::new(Arc::clone(elf), code)));
    (code, calls)
}

/// All symbol tables of one file, the most complete first. What cannot be read becomes a problem.
fn symbol_tables(elf: &Elf, source: &Source, problems: &mut Vec<Problem>) -> Vec<SymbolTable> {
    let mut note = |part, result: Result<SymbolTable, Error>| match result {
        Ok(table) if !table.is_empty() => Some(table),
        Ok(_) => None,
        Err(error) => {
            problems.push(Problem { part, reason: error.to_string() });
            None
        }
    };
    let tables = [
        note("symbols", static_table(elf, source)),
        note("minidebug", debug_file::minidebug_table(elf, source)),
        note("symbols", dynamic_table(elf, source)),
        note("plt", plt_table(elf, source)),
    ];
    tables.into_iter().flatten().collect()
}

fn static_table(elf: &Elf, source: &Source) -> Result<SymbolTable, Error> {
    let (symbols, strings) = table_of(elf, source, object::elf::SHT_SYMTAB.0)?;
    Ok(SymbolTable::build(symtab::functions(elf, &symbols, &strings)))
}

fn dynamic_table(elf: &Elf, source: &Source) -> Result<SymbolTable, Error> {
    let (symbols, strings) = table_of(elf, source, object::elf::SHT_DYNSYM.0)?;
    Ok(SymbolTable::build(symtab::functions(elf, &symbols, &strings)))
}

fn plt_table(elf: &Elf, source: &Source) -> Result<SymbolTable, Error> {
    let (symbols, strings) = table_of(elf, source, object::elf::SHT_DYNSYM.0)?;
    Ok(SymbolTable::build(plt::stubs(elf, source, &symbols, &strings)?))
}

/// Address of the first variable of each name in the tables of the linker and of the dynamic linker, in the order of
/// the names. Damaged tables are as good as none.
pub(crate) fn find_data(elf: &Elf, source: &Source, names: &[&str]) -> Vec<Option<u64>> {
    let mut found = vec![None; names.len()];
    for kind in [object::elf::SHT_DYNSYM.0, object::elf::SHT_SYMTAB.0] {
        let (symbols, strings) = table_of(elf, source, kind).unwrap_or_default();
        let here = symtab::variables(elf, &symbols, &strings, names);
        for (place, symbol) in found.iter_mut().zip(here) {
            *place = place.or(symbol);
        }
    }
    found
}

/// Addresses of a function and of parts that the compiler split off, by the tables of the linker and of the dynamic
/// linker. Damaged tables are as good as none.
pub(crate) fn find_pieces(elf: &Elf, source: &Source, name: &str) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for kind in [object::elf::SHT_DYNSYM.0, object::elf::SHT_SYMTAB.0] {
        let (symbols, strings) = table_of(elf, source, kind).unwrap_or_default();
        let pieces = symtab::pieces(elf, &symbols, &strings, name);
        found.extend(pieces);
    }
    found.sort_by_key(|range| (range.start, range.end));
    found.dedup();
    found
}

/// As [`find_data`], for what the dynamic linker knows only: that is quick, and in every file.
fn find_exported(elf: &Elf, source: &Source, names: &[&str]) -> Vec<Option<u64>> {
    let (symbols, strings) = table_of(elf, source, object::elf::SHT_DYNSYM.0).unwrap_or_default();
    symtab::variables(elf, &symbols, &strings, names)
}

/// The name of the function that has an address, by the linker's symbols.
fn find_function(elf: &Elf, source: &Source, address: u64) -> Option<String> {
    let tables = [static_table(elf, source), dynamic_table(elf, source)];
    let hit = |table: &SymbolTable| {
        let hit = table.lookup(address).filter(|hit| hit.exact)?;
        Some(String::from_utf8_lossy(hit.name).into_owned())
    };
    tables.iter().flatten().find_map(hit)
}

/// Symbols and their strings of the first section of a kind.
fn table_of(elf: &Elf, source: &Source, kind: u32) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let Some(section) =
        elf.sections.iter().find(|section| section.kind == kind && section.has_bytes())
    else {
        return Ok((Vec::new(), Vec::new()));
    };
    let strings = usize::try_from(section.link).ok().and_then(|index| elf.sections.get(index));
    let strings =
        strings.ok_or_else(|| source.malformed(format!("{} has no strings", section.name)))?;
    Ok((elf.bytes(source, section)?, elf.bytes(source, strings)?))
}
