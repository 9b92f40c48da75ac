//! Kernel symbols from `/proc/kallsyms`, with the module that each belongs to.
//!
//! kallsyms lists starts without sizes, so a symbol reaches to the next one; modules end where
//! `/proc/modules` says. Names are kept in one buffer (about 6 MiB for 200,000 symbols); a recording
//! stores only the ones that were met. Source: kernel/kallsyms.c, `s_show`.

use std::fs;
use std::io;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::{Avma, Error};

/// Longest reach of the last symbol of a module or of the kernel, where nothing says how long it is.
/// Kernel functions over 64 KiB do not exist; half would cut none either, double would name padding.
const LAST_SYMBOL_REACH: u64 = 64 * 1024;

/// The kernel's functions by address.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// Sorted by start.
    entries: Vec<Entry>,
    names: String,
    /// Module names; an entry's module is an index plus one, zero is the kernel proper.
    modules: Vec<Module>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    name_at: u32,
    name_length: u16,
    module: u16,
    rank: u8,
}

#[derive(Debug)]
struct Module {
    name: String,
    /// Where the module's memory is; `None` when `/proc/modules` does not list it (`bpf`, built-in ones).
    range: Option<Range<u64>>,
}

/// One kernel function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelSymbol<'a> {
    /// The kernel's name, suffixes (`.constprop.0`, `.isra.0`) included.
    pub name: &'a str,
    /// Its module (`ext4`, `bpf` for generated code); `None` for the kernel proper.
    pub module: Option<&'a str>,
    /// Where the function starts.
    pub start: Avma,
}

impl KernelSymbols {
    /// Reads the running kernel's symbols.
    ///
    /// # Errors
    /// [`Error::KernelAddressesHidden`] when this user may not see addresses, with the settings that
    /// decide it; [`Error::Read`] when there is no `/proc/kallsyms`.
    pub fn load() -> Result<Self, Error> {
        let read = |path: &str| {
            let failed = |source| Error::Read { path: path.to_owned(), offset: 0, source };
            fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(failed)
        };
        let kallsyms = read("/proc/kallsyms")?;
        // Kernels without loadable modules have no such file.
        let modules = match read("/proc/modules") {
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                String::new()
            }
            other => other?,
        };
        let symbols = Self::parse(&kallsyms, &modules);
        if symbols.is_empty() {
            return Err(Error::KernelAddressesHidden {
                kptr_restrict: setting("/proc/sys/kernel/kptr_restrict"),
                perf_event_paranoid: setting("/proc/sys/kernel/perf_event_paranoid"),
            });
        }
        Ok(symbols)
    }

    /// Reads the text of `kallsyms` and of `modules`. Lines that do not fit and symbols whose address is
    /// hidden (zero) are left out, so a restricted text gives an empty table.
    pub fn parse(kallsyms: &str, modules: &str) -> Self {
        let mut table = Self::default();
        let ranges: FxHashMap<&str, Range<u64>> =
            modules.lines().filter_map(module_range).collect();
        let mut module_ids = FxHashMap::default();
        for line in kallsyms.lines() {
            table.add(line, &ranges, &mut module_ids);
        }
        table
            .entries
            .sort_by_key(|entry| (entry.start, entry.rank, entry.name_length, entry.name_at));
        table.entries.dedup_by_key(|entry| entry.start);
        table
    }

    fn add<'t>(
        &mut self,
        line: &'t str,
        ranges: &FxHashMap<&str, Range<u64>>,
        module_ids: &mut FxHashMap<&'t str, u16>,
    ) {
        let Some((start, kind, name, module)) = split_line(line) else { return };
        let module = module.and_then(|name| {
            let next = u16::try_from(self.modules.len() + 1).ok()?;
            Some(*module_ids.entry(name).or_insert_with(|| {
                self.modules
                    .push(Module { name: name.to_owned(), range: ranges.get(name).cloned() });
                next
            }))
        });
        let (Ok(name_at), Ok(name_length)) =
            (u32::try_from(self.names.len()), u16::try_from(name.len()))
        else {
            return;
        };
        self.names.push_str(name);
        // Upper case is global. `__pfx_` and `__cfi_` mark padding in front of functions.
        let rank = u8::from(name.starts_with("__pfx_") || name.starts_with("__cfi_")) * 2
            + u8::from(!kind.is_uppercase());
        self.entries.push(Entry { start, name_at, name_length, module: module.unwrap_or(0), rank });
    }

    /// The function at an address; `None` outside of the kernel's and its modules' code.
    pub fn lookup(&self, address: Avma) -> Option<KernelSymbol<'_>> {
        let after = self.entries.partition_point(|entry| entry.start <= address.0);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        let module =
            usize::from(entry.module).checked_sub(1).and_then(|index| self.modules.get(index));
        let next = self.entries.get(after);
        // The next symbol ends this one only inside the same module; across a gap the reach is bounded.
        let end = match (module.and_then(|module| module.range.as_ref()), next) {
            (_, Some(next)) if next.module == entry.module => next.start,
            (Some(range), _) => range.end,
            (None, _) => entry.start.saturating_add(LAST_SYMBOL_REACH),
        };
        if address.0 >= end {
            return None;
        }
        let at = entry.name_at as usize;
        Some(KernelSymbol {
            name: self.names.get(at..at + usize::from(entry.name_length))?,
            module: module.map(|module| module.name.as_str()),
            start: Avma(entry.start),
        })
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no function with a visible address was found.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.names.capacity()
    }
}

/// `ffffffff81000000 T _text` or `ffffffffc0000000 t ext4_read [ext4]`; code with a visible address only.
fn split_line(line: &str) -> Option<(u64, char, &str, Option<&str>)> {
    let mut words = line.split_ascii_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok().filter(|&start| start != 0)?;
    let kind = words.next()?.chars().next().filter(|kind| matches!(kind, 't' | 'T' | 'w' | 'W'))?;
    let name = words.next()?;
    let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Some((start, kind, name, module))
}

/// `ext4 1007616 1 - Live 0xffffffffc0400000`: name, size, users, dependencies, state, address.
fn module_range(line: &str) -> Option<(&str, Range<u64>)> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?;
    let size: u64 = words.next()?.parse().ok()?;
    let start = words.nth(3)?.strip_prefix("0x")?;
    let start = u64::from_str_radix(start, 16).ok().filter(|&start| start != 0)?;
    Some((name, start..start.checked_add(size)?))
}

fn setting(path: &str) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KALLSYMS: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000100 T startup_64
ffffffff81000200 t __pfx_do_one
ffffffff81000210 t do_one
ffffffff81000210 T do_one_alias
ffffffff81000300 D some_data
ffffffffc0400000 t ext4_read\t[ext4]
ffffffffc0400100 t ext4_write\t[ext4]
ffffffffc0500000 t bpf_prog_1234_filter\t[bpf]
not a line
";
    const MODULES: &str =
        "ext4 4096 1 - Live 0xffffffffc0400000\njbd2 100 1 ext4, Live 0x0000000000000000\n";

    fn name(symbols: &KernelSymbols, address: u64) -> Option<(&str, Option<&str>)> {
        symbols.lookup(Avma(address)).map(|symbol| (symbol.name, symbol.module))
    }

    #[test]
    fn addresses_fall_into_functions_and_modules() {
        let symbols = KernelSymbols::parse(KALLSYMS, MODULES);
        assert_eq!(name(&symbols, 0xffff_ffff_8100_0000), Some(("_text", None)));
        assert_eq!(name(&symbols, 0xffff_ffff_8100_01ff), Some(("startup_64", None)));
        assert_eq!(name(&symbols, 0xffff_ffff_8100_0220), Some(("do_one_alias", None)));
        assert_eq!(name(&symbols, 0xffff_ffff_c040_0050), Some(("ext4_read", Some("ext4"))));
        assert_eq!(name(&symbols, 0xffff_ffff_c040_0fff), Some(("ext4_write", Some("ext4"))));
        assert_eq!(name(&symbols, 0xffff_ffff_c040_1000), None, "behind the module");
        assert_eq!(
            name(&symbols, 0xffff_ffff_c050_0010),
            Some(("bpf_prog_1234_filter", Some("bpf")))
        );
        assert_eq!(name(&symbols, 0xffff_ffff_80ff_ffff), None, "before the kernel");
        assert_eq!(name(&symbols, 0xffff_ffff_8200_0000), None, "far behind the last function");
    }

    #[test]
    fn hidden_addresses_leave_nothing() {
        let hidden = "0000000000000000 T _text\n0000000000000000 T startup_64\n";
        assert!(KernelSymbols::parse(hidden, "").is_empty());
        let error =
            Error::KernelAddressesHidden { kptr_restrict: Some(1), perf_event_paranoid: None };
        assert!(error.to_string().contains("kptr_restrict is 1"));
        assert!(error.hints().iter().any(|hint| hint.contains("kptr_restrict=0")));
    }

    #[test]
    fn the_running_kernel_is_read_or_says_why_not() {
        match KernelSymbols::load() {
            Ok(symbols) => {
                let schedule = symbols.entries.iter().find(|entry| {
                    let at = entry.name_at as usize;
                    &symbols.names[at..at + usize::from(entry.name_length)] == "schedule"
                });
                let start = schedule.expect("every kernel has `schedule`").start;
                assert_eq!(name(&symbols, start + 1), Some(("schedule", None)));
            }
            Err(error) => assert!(!error.hints().is_empty(), "{error}"),
        }
    }
}
