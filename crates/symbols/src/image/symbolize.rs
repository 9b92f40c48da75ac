//! Answering "what code is at this address": symbol table and debug information together.
//!
//! The symbol table knows every linked function and its true extent; DWARF knows what was inlined and
//! the lines. A C function is therefore named by its symbol (`read`, not libc's internal
//! `__GI___libc_read`) and everything inlined by DWARF. DWARF also names the outermost function where it
//! has a mangled name (linkers give one address several of those), and where a symbol only adds a
//! compiler's clone suffix (`work.cold`, `work.constprop.0`), so that one source function is one row.
//! A stripped file has no `work.cold`: such a part is named after the function that jumps to it.

use std::sync::{Arc, PoisonError};

use rustc_hash::FxHashMap;

use super::elf::Elf;
use super::lines::{DebugSections, LineFrame, Lines};
use super::source::Source;
use super::symtab::SymbolHit;
use super::{ModuleImage, Problem};
use crate::{Svma, demangle};

/// Where the name of the outermost frame comes from, and so how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameSource {
    /// A symbol that states its size.
    Symbol,
    /// A symbol without size: the address lies between it and the next one. A guess.
    UnsizedSymbol,
    /// Debug information, alone or preferred to the symbol.
    Debug,
    /// No name; [`SymbolStack::function`] may still tell functions apart.
    None,
}

/// The extent of a function in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionRange {
    /// First byte.
    pub start: Svma,
    /// Behind the last byte.
    pub end: Svma,
}

/// One function at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SymbolFrame {
    /// Readable name; `None` when nothing names the code (shown as `module!?`).
    pub function: Option<Arc<str>>,
    /// The linker's name, equal to `function` for C.
    pub mangled: Option<Arc<str>>,
    /// Source file as the compiler saw it, made absolute with its working directory where recorded.
    pub file: Option<Arc<str>>,
    /// Line in `file`, from 1. For an outer frame: the line of the inlined call.
    pub line: Option<u32>,
    /// Column in `line`, from 1.
    pub column: Option<u32>,
}

/// Everything known about one address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolStack {
    /// At least one frame: inlined functions innermost first, then the function that really is there.
    pub frames: Vec<SymbolFrame>,
    /// Extent of the outermost function, from its symbol or, without one, from its unwind row: equal for
    /// all addresses of one unnamed function. Of a part that lies elsewhere than its function, that of
    /// the part.
    pub function: Option<FunctionRange>,
    /// Where the outermost frame's name comes from.
    pub source: NameSource,
}

impl ModuleImage {
    /// Names the code at an address of the module. For a return address pass the address of the call
    /// ([`CodeAddress::lookup`](crate::CodeAddress::lookup)).
    ///
    /// Never fails: without any information the answer is one frame without a name. The first call for a
    /// compilation unit parses it; later ones cost about a microsecond.
    pub fn symbolize(&self, address: Svma) -> SymbolStack {
        let own = self.symbol(address);
        let range = |hit: &SymbolHit<'_>| FunctionRange {
            start: Svma(hit.range.start),
            end: Svma(hit.range.end),
        };
        let function = own.as_ref().map(range).or_else(|| self.unnamed_function(address));
        let hit = own.or_else(|| self.symbol_of_part(address));
        let mut resolver = self.resolver.lock().unwrap_or_else(PoisonError::into_inner);
        let mut frames = resolver.frames(address);
        let debug_name = frames.last().and_then(|outer| outer.mangled.clone());
        let source = choose(hit.as_ref(), debug_name.as_deref());
        if frames.is_empty() {
            frames.push(SymbolFrame::default());
        }
        if let (Some(hit), Some(outer)) = (&hit, frames.last_mut())
            && matches!(source, NameSource::Symbol | NameSource::UnsizedSymbol)
        {
            let name = resolver.names.function(hit.name);
            outer.function = Some(name.readable);
            outer.mangled = Some(name.mangled);
            let place = self.methods.as_ref().and_then(|methods| methods.place(hit.range.start));
            if let Some(place) = place {
                (outer.file, outer.line) = (Some(place.file), Some(place.line));
            }
        }
        SymbolStack { frames, function, source }
    }

    /// The symbol at an address: the first table that is sure, else the first that guesses, unless
    /// unwind entries say that the guessed function ends before, or that another one begins after it.
    pub(super) fn symbol(&self, address: Svma) -> Option<SymbolHit<'_>> {
        let hits = || self.tables.iter().filter_map(|table| table.lookup(address.0));
        hits().find(|hit| hit.exact).or_else(|| {
            let entry = self.unwind_tables().function_at_or_before(address.0);
            let is_in = |hit: &SymbolHit<'_>| match &entry {
                Some(entry) if entry.start == hit.range.start => address.0 < entry.end,
                Some(entry) => entry.start < hit.range.start,
                None => true,
            };
            hits().find(is_in)
        })
    }

    /// The symbol of the function that an address is a part of, where the part has none of its own.
    fn symbol_of_part(&self, address: Svma) -> Option<SymbolHit<'_>> {
        let start = self.function_of_part(address)?;
        self.symbol(start).filter(|hit| hit.exact && hit.range.start == start.0)
    }

    fn unnamed_function(&self, address: Svma) -> Option<FunctionRange> {
        let extent = self.unwind_tables().function(address.0)?;
        Some(FunctionRange { start: Svma(extent.start), end: Svma(extent.end) })
    }
}

/// Which of the two names of an outermost function to show.
fn choose(symbol: Option<&SymbolHit<'_>>, debug: Option<&str>) -> NameSource {
    let prefer_debug = |symbol: &SymbolHit<'_>, debug: &str| {
        !symbol.exact || is_mangled(debug) || is_clone(symbol.name, debug)
    };
    match (symbol, debug) {
        (None, None) => NameSource::None,
        (None, Some(_)) => NameSource::Debug,
        (Some(symbol), Some(debug)) if prefer_debug(symbol, debug) => NameSource::Debug,
        (Some(symbol), _) if symbol.exact => NameSource::Symbol,
        (Some(_), _) => NameSource::UnsizedSymbol,
    }
}

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

/// Whether a symbol is the function or a part that the compiler split off: `work` and `work.cold`.
fn is_clone(symbol: &[u8], function: &str) -> bool {
    let rest = symbol.strip_prefix(function.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
}

/// The part of an image that changes with questions: debug information once read, names once made.
#[derive(Debug)]
pub(super) struct Resolver {
    lines: LineState,
    names: Names,
    problem: Option<Problem>,
}

#[derive(Debug)]
enum LineState {
    /// Not asked yet; holds what to read, from which file, and the supplementary file.
    Pending {
        elf: Arc<Elf>,
        source: Arc<Source>,
        supplementary: Option<(Elf, Source)>,
    },
    Ready(Box<Lines>),
    Absent,
}

impl Resolver {
    pub(super) fn new(elf: &Arc<Elf>, source: &Arc<Source>) -> Self {
        let lines = if has_lines(elf) {
            let (elf, source) = (Arc::clone(elf), Arc::clone(source));
            LineState::Pending { elf, source, supplementary: None }
        } else {
            LineState::Absent
        };
        Self { lines, names: Names::default(), problem: None }
    }

    /// Takes lines from a separate debug file, if it has any.
    pub(super) fn set_debug_file(
        &mut self,
        elf: Elf,
        source: Source,
        supplementary: Option<(Elf, Source)>,
    ) {
        if has_lines(&elf) {
            let (elf, source) = (Arc::new(elf), Arc::new(source));
            self.lines = LineState::Pending { elf, source, supplementary };
        }
    }

    pub(super) fn has_lines(&self) -> bool {
        !matches!(self.lines, LineState::Absent)
    }

    pub(super) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problem.iter()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let lines = match &self.lines {
            LineState::Ready(lines) => lines.sections().memory_bytes(),
            LineState::Pending { .. } | LineState::Absent => 0,
        };
        lines + self.names.bytes
    }

    /// Reads the debug sections if that was not done.
    pub(super) fn load(&mut self) {
        let LineState::Pending { elf, source, supplementary } = &self.lines else { return };
        self.lines = match read_lines(elf, source, supplementary.as_ref()) {
            Ok(Some(lines)) => LineState::Ready(Box::new(lines)),
            Ok(None) => LineState::Absent,
            Err(reason) => {
                self.problem = Some(Problem { part: "lines", reason });
                LineState::Absent
            }
        };
    }

    /// Whether debug information lists all tail calls of the function that begins at an address, with the
    /// function that each leads to.
    pub(super) fn lists_tail_calls(&mut self, start: Svma) -> bool {
        self.load();
        let LineState::Ready(lines) = &self.lines else { return false };
        lines.lists_tail_calls(start.0).unwrap_or(false)
    }

    fn frames(&mut self, address: Svma) -> Vec<SymbolFrame> {
        self.load();
        let Self { lines, names, problem } = self;
        let LineState::Ready(lines) = lines else { return Vec::new() };
        let mut frames = Vec::new();
        let result = lines.frames(address.0, |frame| frames.push(names.frame(&frame)));
        if let Err(error) = result
            && problem.is_none()
        {
            *problem = Some(Problem { part: "lines", reason: format!("at {address}: {error}") });
        }
        frames
    }
}

fn has_lines(elf: &Elf) -> bool {
    elf.section(".debug_info").is_some_and(super::elf::Section::has_bytes)
}

fn read_lines(
    elf: &Elf,
    source: &Source,
    supplementary: Option<&(Elf, Source)>,
) -> Result<Option<Lines>, String> {
    let Some(mut sections) = DebugSections::read(elf, source).map_err(|error| error.to_string())?
    else {
        return Ok(None);
    };
    if let Some((elf, source)) = supplementary
        && let Some(shared) = DebugSections::read(elf, source).map_err(|error| error.to_string())?
    {
        sections.set_supplementary(shared);
    }
    Lines::parse(sections).map(Some).map_err(|error| error.to_string())
}

/// Names made so far, one allocation each however many addresses share them.
#[derive(Debug, Default)]
struct Names {
    functions: FxHashMap<Box<[u8]>, FunctionName>,
    files: FxHashMap<Box<str>, Arc<str>>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct FunctionName {
    mangled: Arc<str>,
    readable: Arc<str>,
}

impl Names {
    fn function(&mut self, linker_name: &[u8]) -> FunctionName {
        if let Some(known) = self.functions.get(linker_name) {
            return known.clone();
        }
        let mangled: Arc<str> = String::from_utf8_lossy(linker_name).into();
        let readable = demangle(&mangled);
        let readable = if *readable == *mangled { Arc::clone(&mangled) } else { readable.into() };
        self.bytes += linker_name.len() + mangled.len() + readable.len();
        let name = FunctionName { mangled, readable };
        self.functions.insert(linker_name.into(), name.clone());
        name
    }

    fn file(&mut self, path: &str) -> Arc<str> {
        if let Some(known) = self.files.get(path) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = path.into();
        self.bytes += 2 * path.len();
        self.files.insert(path.into(), Arc::clone(&shared));
        shared
    }

    fn frame(&mut self, frame: &LineFrame<'_>) -> SymbolFrame {
        let name = frame.name.map(|name| self.function(name));
        SymbolFrame {
            function: name.as_ref().map(|name| Arc::clone(&name.readable)),
            mangled: name.map(|name| name.mangled),
            file: frame.file.map(|file| self.file(file)),
            line: frame.line.filter(|&line| line != 0),
            column: frame.column.filter(|&column| column != 0),
        }
    }
}
