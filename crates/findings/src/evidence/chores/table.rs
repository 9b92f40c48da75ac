//! Which chore a function's name stands for, and what else is known of it by name.

use super::Chore;
use super::names::{
    CALLS_BACK, LIBRARY_NAMES, PLUMBING, SORTS, TABLE, THROWS, WORDS, WORKERS, Within,
};
use culprit_model::java_method;

use crate::evidence::families::matches;

/// The table, by the first character of the patterns: most frames match none, and few are asked.
pub(super) struct Table {
    /// By first byte; the last one holds patterns that begin with any text.
    rows: Vec<Vec<(Chore, Within, &'static str)>>,
    library: Names,
    workers: Names,
    calls_back: Names,
    throws: Names,
    plumbing: Names,
    sorts: Names,
}

/// Patterns by first byte, as in [`Table::rows`].
struct Names(Vec<Vec<&'static str>>);

impl Names {
    fn new(names: &'static str) -> Self {
        let mut rows = vec![Vec::new(); ANY + 1];
        for name in names.split('|') {
            rows[slot(name)].push(name);
        }
        Self(rows)
    }

    fn has(&self, name: &str) -> bool {
        self.0[slot(name)].iter().chain(&self.0[ANY]).any(|pattern| matches(pattern, name))
    }
}

/// The place in [`Table`] of patterns that begin with any text.
const ANY: usize = 256;

impl Table {
    pub(super) fn new() -> Self {
        let mut rows = vec![Vec::new(); ANY + 1];
        for row in TABLE {
            for name in row.names.split('|') {
                rows[slot(name)].push((row.chore, row.within, name));
            }
        }
        Self {
            rows,
            library: Names::new(LIBRARY_NAMES),
            workers: Names::new(WORKERS),
            calls_back: Names::new(CALLS_BACK),
            throws: Names::new(THROWS),
            plumbing: Names::new(PLUMBING),
            sorts: Names::new(SORTS),
        }
    }

    /// The chore of a user function; the one that says most where several claim it.
    pub(super) fn chore(&self, function: &str, module: &str) -> Option<Chore> {
        let name = plain(function);
        let method = inherent(name);
        let names = [Some(name), method.as_deref()];
        let chores = names.into_iter().flatten().filter_map(|name| self.named(name, module));
        chores.max_by_key(|chore| chore.rank())
    }

    fn named(&self, name: &str, module: &str) -> Option<Chore> {
        let holds = |within: Within| match within {
            Within::Any => true,
            Within::Python => is_python(module),
            Within::Jvm => is_jvm(module),
        };
        let rows = self.rows[slot(name)].iter().chain(&self.rows[ANY]);
        rows.filter(|(_, within, pattern)| holds(*within) && matches(pattern, name))
            .map(|(chore, ..)| *chore)
            .max_by_key(|chore| chore.rank())
    }

    pub(super) fn is_library(&self, function: &str) -> bool {
        let name = plain(function);
        self.library.has(name) || inherent(name).is_some_and(|method| self.library.has(&method))
    }

    pub(super) fn is_worker(&self, function: &str) -> bool {
        self.workers.has(plain(function))
    }

    pub(super) fn is_plumbing(&self, function: &str) -> bool {
        self.plumbing.has(plain(function))
    }

    pub(super) fn sorts(&self, function: &str) -> bool {
        self.sorts.has(plain(function))
    }

    pub(super) fn calls_back(&self, function: &str) -> bool {
        self.calls_back.has(plain(function))
    }

    pub(super) fn throws(&self, function: &str) -> bool {
        self.throws.has(plain(function))
    }
}

/// A Rust method as `path::Type::method` where the name says `<path::Type>::method`, as newer
/// compilers do; none for other names, also for those of traits (`<Type as Trait>::method`).
fn inherent(name: &str) -> Option<String> {
    let inner = name.strip_prefix('<')?;
    let mut depth = 1_u32;
    let end = inner.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !inner[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let (of, rest) = (&inner[..end], inner[end..].strip_prefix(">::")?);
    (!of.contains(" as ")).then(|| format!("{of}::{rest}"))
}

/// The chore that a name tells by its words.
pub(super) fn worded(name: &str) -> Option<Chore> {
    let words = words(name);
    let has = |list: &str| list.split('|').any(|word| words.iter().any(|own| own == word));
    let told = WORDS.iter().find(|w| has(w.both) || has(w.things) && has(w.deeds));
    told.map(|w| w.chore)
}

/// The words of a function's name, in small letters, without its arguments, types and place:
/// `app::JsonWriter<char>::put_all(int)` has app, json, writer, put, all.
fn words(name: &str) -> Vec<String> {
    let name = name.strip_prefix("py::").or_else(|| name.strip_prefix("JS:")).unwrap_or(name);
    let end = name.find(['(', '<', ' ']).filter(|at| *at > 0).unwrap_or(name.len());
    let name = name[..end].split(":/").next().unwrap_or_default();
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let hump = c.is_uppercase() && before.is_lowercase();
        if hump || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// Where a pattern or a name belongs by its first byte.
fn slot(text: &str) -> usize {
    match text.as_bytes().first() {
        None | Some(b'*') => ANY,
        Some(byte) => usize::from(*byte),
    }
}

/// A name without what compilers and linkers add to it: `.part.0`, `.cold`, `@@GLIBC_2.2.5`, Java's
/// types.
pub(super) fn plain(function: &str) -> &str {
    if let Some(method) = java_method(function) {
        return method;
    }
    let name = function.split_once('@').map_or(function, |(name, _)| name);
    let added = [".part.", ".isra.", ".constprop.", ".cold", ".lto_priv.", ".llvm.", ".localalias"];
    let end = added.iter().filter_map(|a| name.find(a)).min();
    end.map_or(name, |end| &name[..end])
}

/// True for CPython, its library and its extension modules.
pub(super) fn is_python(module: &str) -> bool {
    module.starts_with("python") || module.starts_with("libpython") || module.contains(".cpython-")
}

/// True for the Java virtual machine.
pub(super) fn is_jvm(module: &str) -> bool {
    module.starts_with("libjvm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_languages_names_are_known() {
        let table = Table::new();
        for (function, module, chore) in [
            ("__strptime_internal", "libc.so.6", Chore::Dates),
            ("chrono::naive::datetime::NaiveDateTime::parse_from_str", "app", Chore::Dates),
            ("time.Parse", "app", Chore::Dates),
            ("datetime_strptime", "_datetime.cpython-311-x86_64-linux-gnu.so", Chore::Dates),
            ("__strcasecmp_l_avx2", "libc.so.6", Chore::Cases),
            ("alloc::str::<impl str>::to_lowercase", "app", Chore::Cases),
            ("strings.ToLower", "app", Chore::Cases),
            ("unicode_lower", "python3.11", Chore::Cases),
            ("regcomp", "libc.so.6", Chore::Regex),
            ("std::__detail::_Compiler<std::regex_traits<char> >::_M_term()", "app", Chore::Regex),
            ("regex::regex::string::Regex::new", "app", Chore::Regex),
            ("regexp.MustCompile", "app", Chore::Regex),
            ("<app::Row as serde::ser::Serialize>::serialize", "app", Chore::Serialize),
            ("encoding/json.(*decodeState).object", "app", Chore::Serialize),
            ("scan_once_unicode", "_json.cpython-312-x86_64-linux-gnu.so", Chore::Serialize),
            ("__printf_fp_l", "libc.so.6", Chore::Numbers),
            ("core::num::dec2flt::dec2flt", "app", Chore::Numbers),
            ("__isoc23_strtol", "libc.so.6", Chore::Numbers),
            ("realloc", "libc.so.6", Chore::Growth),
            (
                "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
                "app",
                Chore::Growth,
            ),
            ("alloc::raw_vec::RawVec<T,A>::grow_one", "app", Chore::Growth),
            ("hashbrown::raw::RawTable<T,A>::reserve_rehash", "app", Chore::Growth),
            ("<alloc::raw_vec::RawVec<fn() -> u8>>::grow_one", "app", Chore::Growth),
            ("<hashbrown::raw::RawTableInner>::find_inner", "app", Chore::Hash),
            ("<regex::regex::string::Regex>::new", "app", Chore::Regex),
            ("<str>::to_lowercase", "app", Chore::Cases),
            ("<f64 as core::str::traits::FromStr>::from_str", "app", Chore::Numbers),
            ("__rustc::__rust_dealloc", "app", Chore::Allocate),
            ("runtime.growslice", "app", Chore::Growth),
            ("hashbrown::map::HashMap<K,V,S,A>::get", "app", Chore::Hash),
            ("runtime.mapaccess1_faststr", "app", Chore::Hash),
            ("_int_free.part.0", "libc.so.6", Chore::Allocate),
            ("operator new(unsigned long)", "libstdc++.so.6", Chore::Allocate),
            ("runtime.mallocgcTiny", "app", Chore::Allocate),
            ("__memmove_avx_unaligned_erms", "libc.so.6", Chore::Copy),
            ("memcpy@@GLIBC_2.14", "libc.so.6", Chore::Copy),
            (
                "java.time.LocalDateTime java.time.LocalDateTime.parse(java.lang.CharSequence, \
                 java.time.format.DateTimeFormatter)",
                "[jit]",
                Chore::Dates,
            ),
            (
                "java.util.regex.Pattern java.util.regex.Pattern.compile(java.lang.String)",
                "[jit]",
                Chore::Regex,
            ),
            ("java.lang.Object java.util.HashMap.get(java.lang.Object)", "[jit]", Chore::Hash),
            ("java.util.HashMap.get", "app", Chore::Hash),
            ("OptoRuntime::new_array_C(Klass*, int, JavaThread*)", "libjvm.so", Chore::Allocate),
            ("Builtins_StringPrototypeLocaleCompare", "node", Chore::Cases),
            (
                "v8::internal::RegExpImpl::IrregexpPrepare(v8::internal::Isolate*)",
                "node",
                Chore::Regex,
            ),
            ("v8::internal::JsonParser<unsigned char>::ParseJsonValue()", "node", Chore::Serialize),
            ("runtime.mallocgcSmallScanNoHeaderSC5", "app", Chore::Allocate),
            ("runtime.convTstring", "app", Chore::Allocate),
            ("internal/runtime/maps.(*Map).growToTable", "app", Chore::Growth),
            ("VM_G1CollectForAllocation::doit()", "libjvm.so", Chore::Collect),
            ("PSScavenge::invoke()", "libjvm.so", Chore::Collect),
            ("runtime.gcAssistAlloc.func2", "app", Chore::Collect),
            ("gc_collect_main", "python3.12", Chore::Collect),
            ("v8::internal::ScavengerCollector::CollectGarbage()", "node", Chore::Collect),
            ("v8::internal::Scavenger::Process(v8::JobDelegate*)", "node", Chore::Collect),
            ("ClassFileParser::parse_methods(ClassFileStream*)", "libjvm.so", Chore::Generate),
            ("v8::internal::Compiler::Compile(int)", "node", Chore::Generate),
            ("_PyPegen_run_parser", "python3.11", Chore::Generate),
        ] {
            assert_eq!(table.chore(function, module), Some(chore), "{function} in {module}");
        }
    }

    #[test]
    fn words_in_names_tell_what_programs_write_themselves() {
        for (function, chore) in [
            ("json_escape(std::string&, std::string const&)", Some(Chore::Serialize)),
            ("Order::to_json() const", Some(Chore::Serialize)),
            ("base64_encode", Some(Chore::Serialize)),
            ("main.writeXml", Some(Chore::Serialize)),
            ("JS:*parseCsv /app/table.js:3:10", Some(Chore::Serialize)),
            ("py::parse_date:/app/json/dump.py", Some(Chore::Dates)),
            ("handle_json_request", None),
            ("update", None),
            ("validate", None),
            ("read_all", None),
        ] {
            assert_eq!(worded(plain(function)), chore, "{function}");
        }
    }

    #[test]
    fn what_a_runtime_runs_for_an_application_is_no_code_of_its() {
        let table = Table::new();
        for (function, is) in [
            ("java.lang.String java.util.Objects.toString(java.lang.Object)", true),
            ("int java.util.ArrayList.size()", true),
            ("java.lang.String Main.name(int)", false),
            ("void org.example.java.Server.run()", false),
            ("Interpreter", true),
            ("JS:*writeSync node:fs:880:19", true),
            ("JS:*writeSync /app/node/fs.js:880:19", false),
            ("runtime.mallocgc", true),
            ("main.handle", false),
        ] {
            assert_eq!(table.is_library(function), is, "{function}");
        }
    }

    #[test]
    fn an_applications_own_names_are_none() {
        let table = Table::new();
        for function in [
            "parse_date_header_cache",
            "app::date::parse",
            "fold_case",
            "regex_table",
            "compile",
            "to_json",
            "json::Writer::put",
            "hash_block",
            "my_malloc_stats",
            "free_list_length",
            "copy_on_write",
            "main.malloc",
            "formatter",
            "<app::Date>::parse_from_str",
            "<app::Date as core::str::traits::FromStr>::from_str",
            "unicode_lower",
            "collect",
            "Compile::run",
            "Verifier::verify",
            "dict_get",
            "<u8>::is_ascii_uppercase",
            "long Main.read(java.time.format.DateTimeFormatter)",
            "java.lang.String Main.toLowerCase(java.lang.String)",
            "JS:*parse /app/json.js:3:10",
            "?",
        ] {
            assert_eq!(table.chore(function, "app"), None, "{function}");
        }
    }
}
