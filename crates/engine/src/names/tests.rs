use std::collections::{BTreeMap, BTreeSet};

use culprit_model::Label;

use super::*;

fn parsed() -> Vec<(&'static str, File)> {
    let parse = |(name, text): &(&'static str, &'static str)| {
        (*name, File::parse(text).unwrap_or_else(|error| panic!("{name}.toml: {error}")))
    };
    FILES.iter().map(parse).collect()
}

#[test]
fn every_file_of_the_folder_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/names");
    let names = std::fs::read_dir(folder).expect("the folder").filter_map(|entry| {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        name.strip_suffix(".toml").map(str::to_owned)
    });
    let read: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names.collect::<BTreeSet<_>>(), read);
    for (name, file) in parsed() {
        assert!(!file.functions.is_empty(), "{name}");
    }
}

#[test]
fn a_name_stands_once_with_all_that_it_means() {
    let mut known: BTreeMap<(bool, &str, String), &str> = BTreeMap::new();
    for (name, file) in parsed() {
        let lists =
            [("function", file.functions), ("module", file.modules), ("thread", file.threads)];
        for (kind, entries) in lists {
            for entry in entries {
                // A word may be one runtime's and another one's too, each in its modules only.
                let place = format!("{kind} in {:?}", entry.within);
                for of in entry.names {
                    let other =
                        known.insert((name.starts_with("kernel-"), of, place.clone()), name);
                    assert_eq!(other, None, "{kind} `{of}` stands in {name} too");
                }
            }
        }
    }
}

#[test]
fn every_family_has_names_and_is_known_by_one_word() {
    let entries = parsed()
        .into_iter()
        .flat_map(|(_, file)| file.functions.into_iter().chain(file.modules).chain(file.threads));
    let used = entries.fold(Families::NONE, |all, entry| all.with(entry.families));
    let unused: Vec<_> = Family::ALL.iter().filter(|family| !used.has(**family)).collect();
    assert!(unused.is_empty(), "no name: {unused:?}");
    assert!(Family::ALL.len() <= 128, "a set has 128 bits");
}

#[test]
fn what_is_wrong_in_a_file_is_said() {
    for (text, expected) in [
        ("source = 'x'\n[[functions]]\nnames = ['f']\nfamilies = ['flash']", "no family: `flash`"),
        ("source = 'x'\n[[functions]]\nnames = ['f']", "`f` has neither"),
        ("source = 'x'\n[[functions]]\nnames = ['f']\ncause = 'blocked.luck'", "no cause"),
        ("source = 'x'\n[[functions]]\nname = ['f']", "unknown key: `name`"),
        ("[[functions]]\nnames = ['f']\nfamilies = ['flush']", "without `source`"),
    ] {
        let error = File::parse(text).expect_err(text);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn compilers_suffixes_do_not_hide_a_function() {
    assert!(kernel("do_fsync.isra.0").families.has(Family::Flush));
    assert!(kernel("rwsem_down_read_slowpath.constprop.0.cold").families.has(Family::KernelLock));
}

/// What a function belongs to in a module of a name.
fn of(function: &str, of_module: &str) -> Families {
    library(function, module(of_module))
}

#[test]
fn the_same_wait_is_known_in_every_c_library_and_when_linked_statically() {
    for (function, module, family) in [
        ("__lll_lock_wait", "libc.so.6", Family::Mutex),
        ("__lll_lock_wait", "server", Family::Mutex),
        ("___pthread_mutex_lock", "libc.so.6", Family::Mutex),
        ("pthread_cond_wait@@GLIBC_2.3.2", "libpthread-2.31.so", Family::Condition),
        ("__pthread_clockjoin_ex", "libc.so.6", Family::Join),
        ("std::sys::sync::mutex::futex::Mutex::lock_contended", "server", Family::Mutex),
        (
            "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout",
            "server",
            Family::Condition,
        ),
        ("take_gil", "python3.11", Family::Mutex),
        ("ObjectMonitor::enter(JavaThread*)", "libjvm.so", Family::Mutex),
        ("void java.util.concurrent.locks.ReentrantLock.lock()", "[jit]", Family::Mutex),
        ("runtime.notesleep", "server", Family::Condition),
    ] {
        let found = of(function, module);
        assert!(found.has(family), "{function} in {module}");
        assert!(found.has(Family::Wrapper), "{function}: the caller is the interesting one");
    }
    for (function, module) in [
        ("serve", "server"),
        ("main.serve", "server"),
        ("void Main.serve(java.util.concurrent.locks.ReentrantLock)", "[jit]"),
        ("JS:*serve /app/index.js:3:10", "[jit]"),
    ] {
        assert!(!of(function, module).has(Family::Wrapper), "{function}");
    }
    for (function, links) in [("read", false), ("memcpy", false), ("do_relocs", true)] {
        let found = of(function, "ld-musl-x86_64.so.1");
        assert!(found.has(Family::Wrapper), "{function}");
        assert_eq!(found.has(Family::Link), links, "{function}");
    }
    assert!(of("os.(*File).Write", "server").has(Family::Wrapper));
    assert!(of("anything", "libc.so.6").has(Family::Wrapper));
}

#[test]
fn each_languages_names_are_known() {
    for (function, module, chore) in [
        ("__strptime_internal", "libc.so.6", Family::Dates),
        ("chrono::naive::datetime::NaiveDateTime::parse_from_str", "app", Family::Dates),
        ("time.Parse", "app", Family::Dates),
        ("datetime_strptime", "_datetime.cpython-311-x86_64-linux-gnu.so", Family::Dates),
        ("__strcasecmp_l_avx2", "libc.so.6", Family::Cases),
        ("alloc::str::<impl str>::to_lowercase", "app", Family::Cases),
        ("strings.ToLower", "app", Family::Cases),
        ("unicode_lower", "python3.11", Family::Cases),
        ("regcomp", "libc.so.6", Family::Regex),
        ("std::__detail::_Compiler<std::regex_traits<char> >::_M_term()", "app", Family::Regex),
        ("regex::regex::string::Regex::new", "app", Family::Regex),
        ("regexp.MustCompile", "app", Family::Regex),
        ("<app::Row as serde::ser::Serialize>::serialize", "app", Family::Serialize),
        ("encoding/json.(*decodeState).object", "app", Family::Serialize),
        ("scan_once_unicode", "_json.cpython-312-x86_64-linux-gnu.so", Family::Serialize),
        ("__printf_fp_l", "libc.so.6", Family::Numbers),
        ("core::num::dec2flt::dec2flt", "app", Family::Numbers),
        ("__isoc23_strtol", "libc.so.6", Family::Numbers),
        ("realloc", "libc.so.6", Family::Growth),
        (
            "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
            "app",
            Family::Growth,
        ),
        ("alloc::raw_vec::RawVec<T,A>::grow_one", "app", Family::Growth),
        ("hashbrown::raw::RawTable<T,A>::reserve_rehash", "app", Family::Growth),
        ("<alloc::raw_vec::RawVec<fn() -> u8>>::grow_one", "app", Family::Growth),
        ("<hashbrown::raw::RawTableInner>::find_inner", "app", Family::Hash),
        ("<regex::regex::string::Regex>::new", "app", Family::Regex),
        ("<str>::to_lowercase", "app", Family::Cases),
        ("<f64 as core::str::traits::FromStr>::from_str", "app", Family::Numbers),
        ("__rustc::__rust_dealloc", "app", Family::Allocate),
        ("runtime.growslice", "app", Family::Growth),
        ("hashbrown::map::HashMap<K,V,S,A>::get", "app", Family::Hash),
        ("runtime.mapaccess1_faststr", "app", Family::Hash),
        ("_int_free.part.0", "libc.so.6", Family::Allocate),
        ("operator new(unsigned long)", "libstdc++.so.6", Family::Allocate),
        ("runtime.mallocgcTiny", "app", Family::Allocate),
        ("__memmove_avx_unaligned_erms", "libc.so.6", Family::Copy),
        ("memcpy@@GLIBC_2.14", "libc.so.6", Family::Copy),
        (
            "java.time.LocalDateTime java.time.LocalDateTime.parse(java.lang.CharSequence, \
             java.time.format.DateTimeFormatter)",
            "[jit]",
            Family::Dates,
        ),
        (
            "java.util.regex.Pattern java.util.regex.Pattern.compile(java.lang.String)",
            "[jit]",
            Family::Regex,
        ),
        ("java.lang.Object java.util.HashMap.get(java.lang.Object)", "[jit]", Family::Hash),
        ("java.util.HashMap.get", "app", Family::Hash),
        ("OptoRuntime::new_array_C(Klass*, int, JavaThread*)", "libjvm.so", Family::Allocate),
        ("Builtins_StringPrototypeLocaleCompare", "node", Family::Cases),
        (
            "v8::internal::RegExpImpl::IrregexpPrepare(v8::internal::Isolate*)",
            "node",
            Family::Regex,
        ),
        ("v8::internal::JsonParser<unsigned char>::ParseJsonValue()", "node", Family::Serialize),
        ("runtime.mallocgcSmallScanNoHeaderSC5", "app", Family::Allocate),
        ("runtime.convTstring", "app", Family::Allocate),
        ("internal/runtime/maps.(*Map).growToTable", "app", Family::Growth),
        ("VM_G1CollectForAllocation::doit()", "libjvm.so", Family::Collect),
        ("PSScavenge::invoke()", "libjvm.so", Family::Collect),
        ("runtime.gcAssistAlloc.func2", "app", Family::Collect),
        ("gc_collect_main", "python3.12", Family::Collect),
        ("v8::internal::ScavengerCollector::CollectGarbage()", "node", Family::Collect),
        ("v8::internal::Scavenger::Process(v8::JobDelegate*)", "node", Family::Collect),
        ("ClassFileParser::parse_methods(ClassFileStream*)", "libjvm.so", Family::Generate),
        ("v8::internal::Compiler::Compile(int)", "node", Family::Generate),
        ("_PyPegen_run_parser", "python3.11", Family::Generate),
    ] {
        assert!(of(function, module).has(chore), "{function} in {module}");
    }
}

#[test]
fn what_a_runtime_runs_for_an_application_is_no_code_of_its() {
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
        assert_eq!(of(function, "").has(Family::Library), is, "{function}");
    }
}

#[test]
fn an_applications_own_names_are_none() {
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
        assert!(of(function, "app").and(families::WORK).is_empty(), "{function}");
    }
}
