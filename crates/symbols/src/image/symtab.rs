//! Symbol tables turned into ranges that do not overlap, so that a lookup is one binary search and
//! never a guess.
//!
//! ```text
//! symbols   |--------- outer (size 60) ---------|      |-- next --|
//!                 |- inner (size 10) -|
//! ranges    |outer|       inner       |  outer  | gap  |   next   |
//! ```
//!
//! A symbol owns exactly the bytes that it states. Symbols of size zero (hand-written assembler) own
//! what follows up to the next symbol or the end of their section, and are marked as a guess. Bytes that
//! no symbol owns have no name: "nearest symbol below" is how profilers come to blame the wrong function.

use std::ops::Range;

use object::Endianness;
use object::elf::{self, Sym32, Sym64};
use object::read::elf::Sym;

use super::elf::{Elf, Section, string_at, table};

/// One symbol as read, before overlaps are resolved.
#[derive(Clone, Debug)]
pub(crate) struct RawSymbol<'a> {
    pub(crate) name: std::borrow::Cow<'a, [u8]>,
    pub(crate) start: u64,
    /// Size in bytes; zero when the object file does not say.
    pub(crate) size: u64,
    /// End of the section that holds the symbol: how far a guess may reach.
    pub(crate) limit: u64,
    pub(crate) binding: Binding,
    /// Whether it is kept only for programs that were linked with an older version of the library.
    pub(crate) superseded: bool,
    /// Whether it is what chooses the function when the program is linked, and not the function
    /// (`STT_GNU_IFUNC`).
    pub(crate) chooser: bool,
}

/// How visible a symbol is; of two names for one address the more visible one is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Global,
    Weak,
    Local,
}

/// Ranges of addresses, each owned by one symbol; sorted, without overlap.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    pieces: Vec<Piece>,
    names: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    symbol_start: u64,
    symbol_end: u64,
    name_at: u32,
    name_length: u32,
    exact: bool,
}

/// The symbol that owns an address.
#[derive(Clone, Debug)]
pub(crate) struct SymbolHit<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) range: Range<u64>,
    /// Whether the symbol states its size; otherwise the range is a guess.
    pub(crate) exact: bool,
}

impl SymbolTable {
    pub(crate) fn build(mut symbols: Vec<RawSymbol<'_>>) -> Self {
        symbols.retain(|symbol| !symbol.name.is_empty());
        symbols
            .sort_by(|a, b| a.start.cmp(&b.start).then_with(|| preference(a).cmp(&preference(b))));
        symbols.dedup_by_key(|symbol| symbol.start);
        let starts: Vec<u64> =
            symbols.iter().map(|symbol| symbol.start).skip(1).chain([u64::MAX]).collect();
        let mut sweep = Sweep::default();
        for (symbol, next) in symbols.iter().zip(starts) {
            let exact = symbol.size > 0;
            let end = if exact {
                symbol.start.saturating_add(symbol.size)
            } else {
                symbol.limit.min(next)
            };
            if end > symbol.start {
                sweep.open(symbol, end, exact);
            }
        }
        sweep.finish()
    }

    pub(crate) fn lookup(&self, address: u64) -> Option<SymbolHit<'_>> {
        let after = self.pieces.partition_point(|piece| piece.start <= address);
        let piece = self.pieces.get(after.checked_sub(1)?).filter(|piece| address < piece.end)?;
        let (at, length) = (piece.name_at as usize, piece.name_length as usize);
        Some(SymbolHit {
            name: self.names.get(at..at + length)?,
            range: piece.symbol_start..piece.symbol_end,
            exact: piece.exact,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>() + self.names.capacity()
    }
}

/// Order in which names for one address are preferred, best first: with a size, of the default
/// version, without leading underscores (`read` before `__read`), visible, short; the name itself settles the rest, so that the
/// answer does not depend on the order of the table.
fn preference<'s>(symbol: &'s RawSymbol<'_>) -> (bool, bool, usize, Binding, usize, &'s [u8]) {
    let name = symbol.name.as_ref();
    let mangled = name.starts_with(b"_Z") || name.starts_with(b"_R");
    let underscores =
        if mangled { 0 } else { name.iter().take_while(|&&byte| byte == b'_').count() };
    (symbol.size == 0, symbol.superseded, underscores, symbol.binding, name.len(), name)
}

/// A name without the version that linkers append in a `.symtab` (`name@@VERSION` for the default
/// one, `name@VERSION` for others), and whether that is another than the default one. Who calls a
/// function writes neither.
fn without_version(name: &[u8]) -> (&[u8], bool) {
    let Some(at) = name.iter().position(|&byte| byte == b'@').filter(|at| *at > 0) else {
        return (name, false);
    };
    let (plain, rest) = name.split_at(at);
    let default = rest.starts_with(b"@@");
    let version = &rest[if default { 2 } else { 1 }..];
    let is_version = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    if version.is_empty() || !version.iter().all(is_version) {
        return (name, false);
    }
    (plain, !default)
}

/// Walks symbols by start address and cuts outer ones where inner ones begin.
#[derive(Default)]
struct Sweep {
    table: SymbolTable,
    /// Symbols that reach beyond `at`, innermost last.
    open: Vec<Piece>,
    at: u64,
}

impl Sweep {
    fn open(&mut self, symbol: &RawSymbol<'_>, end: u64, exact: bool) {
        self.advance(symbol.start);
        let name_at = self.table.names.len();
        let name = symbol.name.as_ref();
        let (Ok(name_at), Ok(name_length)) = (u32::try_from(name_at), u32::try_from(name.len()))
        else {
            return; // 4 GiB of names: a hostile file, and the symbols so far are kept.
        };
        self.table.names.extend_from_slice(name);
        let (start, symbol_start, symbol_end) = (symbol.start, symbol.start, end);
        self.open.push(Piece { start, end, symbol_start, symbol_end, name_at, name_length, exact });
    }

    fn advance(&mut self, to: u64) {
        while let Some(&top) = self.open.last() {
            let end = top.end.min(to);
            if self.at < end {
                self.table.pieces.push(Piece { start: self.at, end, ..top });
                self.at = end;
            }
            if top.end > to {
                break;
            }
            self.open.pop();
        }
        self.at = to;
    }

    fn finish(mut self) -> SymbolTable {
        self.advance(u64::MAX);
        self.table.pieces.shrink_to_fit();
        self.table.names.shrink_to_fit();
        self.table
    }
}

/// The functions in a `.symtab` or `.dynsym`: typed ones, and untyped ones in executable sections.
pub(crate) fn functions<'a>(elf: &Elf, symbols: &[u8], strings: &'a [u8]) -> Vec<RawSymbol<'a>> {
    if elf.wide {
        functions_of::<Sym64<Endianness>>(elf, symbols, strings)
    } else {
        functions_of::<Sym32<Endianness>>(elf, symbols, strings)
    }
}

fn functions_of<'a, S>(elf: &Elf, symbols: &[u8], strings: &'a [u8]) -> Vec<RawSymbol<'a>>
where
    S: Sym<Endian = Endianness>,
{
    let arm_or_similar = elf.machine == elf::EM_AARCH64.0 || elf.machine == elf::EM_ARM.0;
    let function = |symbol: &S| {
        let kind = symbol.st_type();
        let typed = kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC;
        if !typed && kind != elf::STT_NOTYPE {
            return None;
        }
        let start: u64 = symbol.st_value(elf.endian).into();
        let section = holder(elf, symbol.st_shndx(elf.endian), start)?;
        let (name, superseded) = without_version(string_at(strings, symbol.st_name(elf.endian)));
        // `$x` and `$d` mark code and data inside functions on ARM; they name nothing.
        if !typed && (!section.is_executable() || (arm_or_similar && name.starts_with(b"$"))) {
            return None;
        }
        Some(RawSymbol {
            name: name.into(),
            start,
            size: symbol.st_size(elf.endian).into(),
            limit: section.range().end,
            binding: binding(symbol),
            superseded,
            chooser: kind == elf::STT_GNU_IFUNC,
        })
    };
    table::<S>(symbols).iter().filter_map(function).collect()
}

/// Address of the first defined variable of each name, in the order of the names.
pub(crate) fn variables(
    elf: &Elf,
    symbols: &[u8],
    strings: &[u8],
    names: &[&str],
) -> Vec<Option<u64>> {
    let mut found = vec![None; names.len()];
    // Only files of 64 bits are asked for.
    for symbol in table::<Sym64<Endianness>>(symbols) {
        let defined = symbol.st_shndx(elf.endian) != elf::SHN_UNDEF;
        if !defined || symbol.st_type() != elf::STT_OBJECT {
            continue;
        }
        let (name, _) = without_version(string_at(strings, symbol.st_name(elf.endian)));
        for (place, wanted) in found.iter_mut().zip(names) {
            if place.is_none() && name == wanted.as_bytes() {
                *place = Some(symbol.st_value(elf.endian));
            }
        }
    }
    found
}

/// Addresses of a function and of parts that the compiler split off (`name.cold`).
pub(super) fn pieces(elf: &Elf, symbols: &[u8], strings: &[u8], name: &str) -> Vec<Range<u64>> {
    let endian = elf.endian;
    // Only files of 64 bits are asked for.
    let symbols = if elf.wide { table::<Sym64<Endianness>>(symbols) } else { &[] };
    let piece = |symbol: &Sym64<Endianness>| {
        let defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
        let (found, _) = without_version(string_at(strings, symbol.st_name(endian)));
        let rest = found.strip_prefix(name.as_bytes())?;
        let is_piece = rest.is_empty() || rest.starts_with(b".");
        let start = symbol.st_value(endian);
        let range = start..start.saturating_add(symbol.st_size(endian));
        (defined && is_piece && symbol.st_type() == elf::STT_FUNC).then_some(range)
    };
    symbols.iter().filter_map(piece).filter(|range| !range.is_empty()).collect()
}

/// Name and start of each function of a `.dynsym` that other modules may call by its name, those left out
/// that choose the function when the program is linked.
pub(super) fn exports<'a>(
    elf: &Elf,
    symbols: &'a [u8],
    strings: &'a [u8],
) -> impl Iterator<Item = (&'a [u8], u64)> + 'a {
    let endian = elf.endian;
    // Only files of 64 bits are asked for.
    let symbols = if elf.wide { table::<Sym64<Endianness>>(symbols) } else { &[] };
    symbols.iter().filter_map(move |symbol| {
        let defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
        let callable = defined && symbol.st_type() == elf::STT_FUNC;
        let visible = binding(symbol) != Binding::Local;
        let name = string_at(strings, symbol.st_name(endian));
        (callable && visible && !name.is_empty()).then(|| (name, symbol.st_value(endian)))
    })
}

/// The section that a defined symbol stands in.
fn holder(elf: &Elf, index: elf::SymbolSection, start: u64) -> Option<&Section> {
    if index == elf::SHN_UNDEF || index == elf::SHN_ABS || index == elf::SHN_COMMON {
        return None;
    }
    match index.index() {
        Some(index) => elf.sections.get(usize::from(index)),
        // Behind 0xff00 sections the index is kept in another table; the address says the same.
        None => elf
            .sections
            .iter()
            .find(|section| section.is_executable() && section.range().contains(&start)),
    }
}

fn binding<S: Sym>(symbol: &S) -> Binding {
    match symbol.st_bind() {
        bind if bind == elf::STB_LOCAL => Binding::Local,
        bind if bind == elf::STB_WEAK => Binding::Weak,
        _ => Binding::Global,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str, start: u64, size: u64, binding: Binding) -> RawSymbol<'static> {
        let (name, superseded) = without_version(name.as_bytes());
        RawSymbol {
            name: name.into(),
            start,
            size,
            limit: 1000,
            binding,
            superseded,
            chooser: false,
        }
    }

    fn name(table: &SymbolTable, address: u64) -> String {
        table.lookup(address).map_or_else(
            || "-".to_owned(),
            |hit| {
                format!("{}{}", String::from_utf8_lossy(hit.name), if hit.exact { "" } else { "?" })
            },
        )
    }

    #[test]
    fn sizes_are_honoured_and_inner_symbols_win() {
        let table = SymbolTable::build(vec![
            symbol("next", 200, 10, Binding::Global),
            symbol("outer", 100, 60, Binding::Global),
            symbol("inner", 120, 10, Binding::Local),
        ]);
        let expected = [
            (99, "-"),
            (100, "outer"),
            (119, "outer"),
            (120, "inner"),
            (129, "inner"),
            (130, "outer"),
            (159, "outer"),
            (160, "-"),
            (199, "-"),
            (200, "next"),
            (209, "next"),
            (210, "-"),
            (u64::MAX, "-"),
        ];
        for (address, expected) in expected {
            assert_eq!(name(&table, address), expected, "at {address}");
        }
        assert_eq!(table.lookup(140).expect("outer again").range, 100..160);
    }

    #[test]
    fn a_symbol_without_size_reaches_to_the_next_one_and_says_so() {
        let table = SymbolTable::build(vec![
            symbol("asm", 100, 0, Binding::Global),
            symbol("after", 130, 10, Binding::Global),
            symbol("last", 500, 0, Binding::Global),
        ]);
        assert_eq!(name(&table, 129), "asm?");
        assert_eq!(name(&table, 130), "after");
        assert_eq!(name(&table, 140), "-");
        assert_eq!(name(&table, 999), "last?");
        assert_eq!(name(&table, 1000), "-");
    }

    #[test]
    fn the_public_name_is_preferred() {
        let aliases = ["__read", "read", "__libc_read"];
        let mut symbols: Vec<_> =
            aliases.iter().map(|name| symbol(name, 10, 5, Binding::Global)).collect();
        assert_eq!(name(&SymbolTable::build(symbols.clone()), 12), "read");
        symbols.reverse();
        assert_eq!(name(&SymbolTable::build(symbols), 12), "read");
    }

    #[test]
    fn versions_are_no_part_of_a_name_and_the_default_one_is_preferred() {
        let table = SymbolTable::build(vec![
            symbol("clock_nanosleep@@GLIBC_2.17", 10, 5, Binding::Global),
            symbol("old@GLIBC_2.2.5", 20, 5, Binding::Global),
            symbol("current@@GLIBC_2.34", 20, 5, Binding::Global),
            symbol("only@LIB_1.0", 30, 5, Binding::Global),
            symbol("operator@", 40, 5, Binding::Global),
            symbol("type..eq.[2]pkg@v1 {x}", 50, 5, Binding::Global),
        ]);
        let names = [12, 22, 32, 42, 52].map(|address| name(&table, address));
        let expected =
            ["clock_nanosleep", "current", "only", "operator@", "type..eq.[2]pkg@v1 {x}"];
        assert_eq!(names, expected);
    }

    #[test]
    fn overlaps_of_a_hostile_table_end() {
        let symbols = (0..1000).map(|i| symbol("x", i, u64::MAX, Binding::Global)).collect();
        let table = SymbolTable::build(symbols);
        assert_eq!(table.lookup(500).expect("covered").range.start, 500);
        assert_eq!(table.lookup(u64::MAX - 1).expect("covered").range.start, 999);
    }
}
