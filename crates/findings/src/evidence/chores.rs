//! Chores: work that libraries and language runtimes do for a program, known by their own names.
//!
//! ```text
//! main > load > strptime > __strptime_internal > strtol      parses dates, called by load
//! main > load > Regex::new > malloc > brk                    compiles an expression
//! ```
//!
//! Whatever runs below a function of a chore belongs to it: its cost is inclusive. Where chores are
//! nested, the one that says more about the purpose takes the time ([`Chore::rank`]), and between
//! equals the outermost, because it is the one that the program asked for: allocating inside a
//! regular expression's compiler is compiling, copying inside a growing vector is growing, a
//! number in a JSON text is JSON, but a date in it is a date. A system call ends a chore (what
//! `printf` writes is no formatting), except that memory comes from the kernel; so does an exception,
//! whose way up through the frames costs more than all that the library did before it threw.
//!
//! The names are data, see [`super::chore_names`].

use std::collections::BTreeMap;

use culprit_model::{FrameId, Interval, ModuleId, Nanos, Recording, StackId};

use super::chain::{Chain, SegmentId};
use super::chore_names::{
    CALLS_BACK, LIBRARY_MODULES, LIBRARY_NAMES, PLUMBING, SORTS, TABLE, THROWS, WORDS, WORKERS,
    Within,
};
use super::families::{Family, java_method, matches, of_kernel, of_user};
use super::stacks::is_kernel;
use crate::rules::hot_function::TRAPS;

/// What library code works at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chore {
    /// Dates and times from and to text or calendar fields.
    Dates,
    /// Case conversion, comparison without case, collation.
    Cases,
    /// Compiling regular expressions.
    Regex,
    /// JSON, XML, base64, object serialisation, character encodings.
    Serialize,
    /// Numbers and formatted text.
    Numbers,
    /// Enlarging containers: reallocation, rehashing.
    Growth,
    /// Looking up in hash tables and trees.
    Hash,
    /// Allocating and freeing memory.
    Allocate,
    /// Copying memory, joining strings.
    Copy,
    /// Collecting garbage.
    Collect,
    /// Making code ready to run: compiling it, loading classes, modules and assemblies.
    Generate,
}

impl Chore {
    /// How much it says about the purpose: the higher one takes nested time.
    const fn rank(self) -> u8 {
        match self {
            // Nothing that a program asks for: the runtime's own.
            Self::Collect => 6,
            Self::Generate => 5,
            // Names one avoidable habit.
            Self::Dates | Self::Cases | Self::Regex => 4,
            // Names the kind of data.
            Self::Serialize | Self::Numbers => 3,
            // Part of what tables and allocators do, and the part that a hint avoids.
            Self::Growth => 2,
            Self::Hash | Self::Allocate => 1,
            // What every other chore also does.
            Self::Copy => 0,
        }
    }
}

/// The chore that one stack is in.
#[derive(Debug, Clone, Copy)]
struct Doing {
    chore: Chore,
    /// The library's function that the chore was entered by.
    entry: FrameId,
    /// The application's function that called it; none where only library code is above.
    caller: Option<FrameId>,
}

/// What one stack tells.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    doing: Option<Doing>,
    /// The innermost frame of the application.
    application: Option<FrameId>,
    /// The function whose work it is.
    owner: Option<Owner>,
    /// In the kernel: whether a system call entered it, not a fault or an interrupt.
    in_call: Option<bool>,
    /// True below an interpreter's own code.
    interpreted: bool,
    /// True in a library's sorting, and not in what compares for it.
    sorting: bool,
    /// True in a thread of the runtime's own, not of the program's.
    worker: bool,
}

/// The function whose work a stack is.
#[derive(Debug, Clone, Copy)]
struct Owner {
    frame: FrameId,
    /// True for a function of the application: what libraries do for it is its own.
    application: bool,
}

/// What one frame tells by itself.
#[derive(Debug, Clone, Copy, Default)]
struct FrameTold {
    chore: Option<Chore>,
    /// Of a function of the application, by the words in its name.
    worded: Option<Chore>,
    module: Option<ModuleId>,
    named: bool,
    /// In a module of libraries and runtimes.
    stock: bool,
    shared: bool,
    plumbing: bool,
    /// By its name a wrapper of a system call, also where it is linked statically.
    wrapper: bool,
    sorts: bool,
    generated: bool,
    kernel: bool,
    boundary: bool,
    trap: bool,
    library: bool,
    interpreter: bool,
    worker: bool,
    calls_back: bool,
    throws: bool,
    runtime: bool,
}

/// What library code every stack of a recording is in.
#[derive(Debug)]
pub(crate) struct Chores {
    told: Vec<Told>,
    frames: Vec<FrameTold>,
}

/// The chain's time on a CPU by chore, summed once for all rules.
#[derive(Debug, Default)]
pub(crate) struct ChoreTime {
    /// All time on a CPU.
    pub(crate) cpu: Nanos,
    /// The segments in each chore, in order.
    pub(crate) segments: BTreeMap<Chore, Vec<SegmentId>>,
    /// Those that by the words in its name are a function's of the application, and in no library's
    /// chore that says as much.
    pub(crate) worded: BTreeMap<Chore, Vec<SegmentId>>,
}

impl ChoreTime {
    /// Sums a chain; linear in segments.
    pub(crate) fn of(chain: &Chain, intervals: &[Interval], chores: &Chores) -> Self {
        let mut time = Self::default();
        for (id, segment) in chain.iter() {
            let interval = &intervals[segment.interval.index()];
            if interval.cause.is_cpu() {
                time.cpu += segment.length;
                let chore = chores.chore(interval.stack);
                if let Some(chore) = chore {
                    time.segments.entry(chore).or_default().push(id);
                }
                let more = |own: &Chore| chore.is_none_or(|of| of.rank() < own.rank());
                if let Some(worded) = chores.worded(interval.stack).filter(more) {
                    time.worded.entry(worded).or_default().push(id);
                }
            }
        }
        time
    }
}

impl Chores {
    /// Decides every stack; each frame's name is looked up once.
    pub(crate) fn of(recording: &Recording) -> Self {
        let table = Table::new();
        let frames: Vec<_> = (0..recording.frames.len())
            .map(|i| frame_told(recording, &table, FrameId::from_index(i)))
            .collect();
        let mut told: Vec<Told> = Vec::with_capacity(recording.stacks.len());
        for node in &recording.stacks {
            let parent = node.parent.and_then(|p| told.get(p.index())).copied().unwrap_or_default();
            let own = frames[node.frame.index()];
            let owner = if own.kernel { parent.owner } else { owner(&frames, parent, node.frame) };
            told.push(Told { owner, ..step(parent, node.frame, own) });
        }
        Self { told, frames }
    }

    fn frame(&self, frame: FrameId) -> FrameTold {
        self.frames.get(frame.index()).copied().unwrap_or_default()
    }

    /// True for a function of the kernel.
    pub(crate) fn is_kernel(&self, frame: FrameId) -> bool {
        self.frame(frame).kernel
    }

    /// True for code that is not the application's.
    pub(crate) fn is_library(&self, frame: FrameId) -> bool {
        let told = self.frame(frame);
        told.library || told.chore.is_some() || told.kernel
    }

    /// True for a function of a managed runtime, by which it runs whatever a program consists of.
    pub(crate) fn is_runtime(&self, frame: FrameId) -> bool {
        self.frame(frame).runtime
    }

    fn doing(&self, stack: Option<StackId>) -> Option<Doing> {
        let told = self.told.get(stack?.index())?;
        // Memory and files to load come from the kernel; whatever else enters it does something of its
        // own.
        let asks = |d: &Doing| {
            matches!(d.chore, Chore::Allocate | Chore::Growth | Chore::Collect | Chore::Generate)
        };
        told.doing.filter(|d| told.in_call != Some(true) || asks(d))
    }

    /// The chore that a stack is in.
    pub(crate) fn chore(&self, stack: Option<StackId>) -> Option<Chore> {
        self.doing(stack).map(|d| d.chore)
    }

    /// The library's function that the stack's chore was entered by.
    pub(crate) fn entry(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.doing(stack).map(|d| d.entry)
    }

    /// True for a stack that an interpreter's own code is in.
    pub(crate) fn is_interpreted(&self, stack: Option<StackId>) -> bool {
        stack.and_then(|s| self.told.get(s.index())).is_some_and(|t| t.interpreted)
    }

    /// True for a stack of a runtime's own thread, which works beside the program's.
    pub(crate) fn is_worker(&self, stack: Option<StackId>) -> bool {
        stack.and_then(|s| self.told.get(s.index())).is_some_and(|t| t.worker)
    }

    /// The innermost function of the application, whether or not a stack is in a chore.
    pub(crate) fn application(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told.get(stack?.index())?.application
    }

    /// The function whose work a stack is: the innermost one of the application with what libraries do
    /// for it; without one, the library's; none where code without a name runs, or where a runtime
    /// runs what has none.
    pub(crate) fn owner(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.told.get(stack?.index())?.owner.map(|owner| owner.frame)
    }

    /// The chore that the name of the stack's owner tells by its words.
    fn worded(&self, stack: Option<StackId>) -> Option<Chore> {
        self.owner(stack).and_then(|frame| self.frame(frame).worded)
    }

    /// True for a function of the application that has a name.
    pub(crate) fn is_application(&self, frame: FrameId) -> bool {
        let told = self.frame(frame);
        told.named && !told.plumbing && !self.is_library(frame)
    }

    /// The application's function that called for the chore, else the library's.
    pub(crate) fn caller(&self, stack: Option<StackId>) -> Option<FrameId> {
        self.doing(stack).map(|d| d.caller.unwrap_or(d.entry))
    }
}

/// Whose work it is when `frame`, outside the kernel, is called from a stack that told `parent`.
fn owner(frames: &[FrameTold], parent: Told, frame: FrameId) -> Option<Owner> {
    let own = frames[frame.index()];
    let above = parent.owner;
    let of_above = |wanted: fn(&FrameTold) -> bool| {
        above.filter(|owner| owner.application && wanted(&frames[owner.frame.index()]))
    };
    if own.plumbing {
        // Generated code has a name only where the runtime gave it one; other callers do not know
        // what the runtime runs for them.
        return of_above(|caller| caller.generated);
    }
    if !own.named {
        // The inside of a library is what its caller asked for.
        let same = above.filter(|owner| frames[owner.frame.index()].module == own.module);
        let inside = if own.stock { of_above(|_| true).or(same) } else { None };
        return inside.or_else(|| same.filter(|_| own.shared));
    }
    if own.library || own.wrapper || own.chore.is_some() {
        return of_above(|_| true).or(Some(Owner { frame, application: false }));
    }
    Some(Owner { frame, application: true })
}

/// What a stack tells when `frame` is called from a stack that told `parent`.
fn step(parent: Told, frame: FrameId, own: FrameTold) -> Told {
    if own.kernel {
        // Faults and interrupts are part of what they interrupt; system calls are not.
        let in_call = parent.in_call.or(Some(!own.boundary));
        // A recorder's probe stopped the program here: nothing that the library does.
        let doing = parent.doing.filter(|_| !own.trap);
        return Told { doing, in_call, ..parent };
    }
    let calls_back = |d: &Doing| own.calls_back && d.chore == Chore::Generate;
    let parent_doing = parent.doing.filter(|d| !own.throws && !calls_back(d));
    let more = |chore: Chore| parent_doing.is_none_or(|d| chore.rank() > d.chore.rank());
    let sorting = own.sorts || parent.sorting && (own.library || own.chore.is_some());
    let moved = |c: Chore| sorting && c == Chore::Copy;
    let doing = match own.chore.filter(|c| more(*c) && !moved(*c)) {
        Some(chore) => Some(Doing { chore, entry: frame, caller: parent.application }),
        None => parent_doing,
    };
    let application =
        if own.library || own.chore.is_some() { parent.application } else { Some(frame) };
    let interpreted = parent.interpreted || own.interpreter;
    let worker = parent.worker || own.worker;
    Told { doing, application, in_call: None, interpreted, sorting, worker, ..parent }
}

fn frame_told(recording: &Recording, table: &Table, id: FrameId) -> FrameTold {
    let frame = recording.frame(id);
    let module = frame.module.map(|m| recording.module(m));
    if module.is_some_and(|m| is_kernel(&m.name, &m.path)) {
        let boundary = of_kernel(&frame.function).has(Family::Boundary);
        let trap = TRAPS.contains(&frame.function.as_str());
        return FrameTold { kernel: true, boundary, trap, ..FrameTold::default() };
    }
    let module = module.map_or("", |m| m.name.as_str());
    let families = of_user("", module);
    let chore = table.chore(&frame.function, module);
    let stock = families.has(Family::Wrapper)
        || LIBRARY_MODULES.iter().any(|m| module.starts_with(m))
        || is_python(module);
    let library = stock || table.is_library(&frame.function);
    FrameTold {
        module: frame.module,
        named: frame.function.as_str() != "?",
        stock,
        shared: module.contains(".so"),
        generated: module == "[jit]",
        wrapper: of_user(&frame.function, module).has(Family::Wrapper),
        plumbing: table.is_plumbing(&frame.function),
        sorts: table.sorts(&frame.function),
        chore,
        worded: if library { None } else { worded(plain(&frame.function)) },
        interpreter: is_python(module),
        worker: table.is_worker(&frame.function),
        runtime: is_runtime(&frame.function, module),
        calls_back: table.calls_back(&frame.function),
        throws: table.throws(&frame.function),
        library,
        ..FrameTold::default()
    }
}

/// True for CPython, its library and its extension modules.
fn is_python(module: &str) -> bool {
    module.starts_with("python") || module.starts_with("libpython") || module.contains(".cpython-")
}

/// True for the Java virtual machine.
fn is_jvm(module: &str) -> bool {
    module.starts_with("libjvm")
}

/// True for a managed runtime's code, its modules and what it generates for itself. Extension modules
/// of CPython are its own too; packages' modules are not told apart from them.
fn is_runtime(function: &str, module: &str) -> bool {
    is_python(module)
        || is_jvm(module)
        || module == "node"
        || module.starts_with("libnode.")
        || module.starts_with("libcoreclr")
        || ["Builtins_", "Builtin:", "BytecodeHandler:", "Stub:", "StubRoutines", "RegExp:"]
            .iter()
            .any(|p| function.starts_with(p))
        || matches!(function, "Interpreter" | "?")
}

/// The table, by the first character of the patterns: most frames match none, and few are asked.
struct Table {
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
    fn new() -> Self {
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
    fn chore(&self, function: &str, module: &str) -> Option<Chore> {
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

    fn is_library(&self, function: &str) -> bool {
        let name = plain(function);
        self.library.has(name) || inherent(name).is_some_and(|method| self.library.has(&method))
    }

    fn is_worker(&self, function: &str) -> bool {
        self.workers.has(plain(function))
    }

    fn is_plumbing(&self, function: &str) -> bool {
        self.plumbing.has(plain(function))
    }

    fn sorts(&self, function: &str) -> bool {
        self.sorts.has(plain(function))
    }

    fn calls_back(&self, function: &str) -> bool {
        self.calls_back.has(plain(function))
    }

    fn throws(&self, function: &str) -> bool {
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
fn worded(name: &str) -> Option<Chore> {
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
fn plain(function: &str) -> &str {
    if let Some(method) = java_method(function) {
        return method;
    }
    let name = function.split_once('@').map_or(function, |(name, _)| name);
    let added = [".part.", ".isra.", ".constprop.", ".cold", ".lto_priv.", ".llvm.", ".localalias"];
    let end = added.iter().filter_map(|a| name.find(a)).min();
    end.map_or(name, |end| &name[..end])
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
