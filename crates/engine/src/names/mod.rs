//! What the names of functions tell: the one place that knows the functions of kernels, libraries and
//! runtimes.
//!
//! The names are data, one file for each area of the kernel and each runtime, in the crate's folder
//! `names`. Its README explains them. The files are read once, at first use.
//!
//! ```
//! use culprit_engine::names::{Families, Family, kernel, library};
//!
//! assert!(kernel("do_fsync.isra.0").families.has(Family::Flush));
//! assert!(library("___pthread_mutex_lock", Families::NONE).has(Family::Mutex));
//! ```

mod compiled;
mod families;
mod file;
mod pattern;
mod pattern_set;

use std::sync::LazyLock;

use culprit_model::java_method;

pub use compiled::{is_compiled_at_run_time, known_as};
pub use families::{Families, Family};
pub use pattern::source_name;
pub use pattern_set::{PatternId, PatternSet};

use crate::causes::Rule;
use file::{Entry, File};

macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../../names/", $name, ".toml"))),)+]
    };
}

/// Every file of names.
const FILES: &[(&str, &str)] = files![
    "kernel-block" "kernel-entry" "kernel-files" "kernel-ipc" "kernel-locks" "kernel-memory"
    "kernel-network" "kernel-process" "kernel-sched" "kernel-time" "allocators" "c-libraries" "cpp"
    "cpython" "dotnet" "go" "jvm" "libc" "mysql" "node" "php" "postgres" "ruby" "rust"
];

static KERNEL: LazyLock<Table> =
    LazyLock::new(|| Table::new(read(true).flat_map(|(_, file)| file.functions).collect()));
static LIBRARIES: LazyLock<Libraries> = LazyLock::new(Libraries::read);

/// The files of the kernel, or all others. A test reads each.
fn read(kernel: bool) -> impl Iterator<Item = (&'static str, File)> {
    let wanted = FILES.iter().filter(move |(name, _)| name.starts_with("kernel-") == kernel);
    wanted.filter_map(|(name, text)| Some((*name, File::parse(text).ok()?)))
}

/// Entries, and what finds them.
#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
    patterns: PatternSet,
}

impl Table {
    fn new(entries: Vec<Entry>) -> Self {
        let ids = (0..PatternId::MAX).zip(&entries);
        let names = ids.flat_map(|(id, entry)| entry.names.iter().map(move |name| (*name, id)));
        let patterns = PatternSet::new(names);
        Self { entries, patterns }
    }

    /// What a name belongs to, in a module of some families.
    fn families(&self, name: &str, module: Families) -> Families {
        let mut found = Families::NONE;
        self.patterns.each(name, |id| {
            let entry = &self.entries[usize::from(id)];
            if entry.within.is_empty() || !entry.within.and(module).is_empty() {
                found = found.with(entry.families);
            }
        });
        found
    }
}

/// A language, by the file that has its packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C++.
    Cpp,
    /// .NET, whatever the language.
    Dotnet,
    /// Go.
    Go,
    /// Java and what else the JVM runs.
    Jvm,
    /// Rust.
    Rust,
}

impl Language {
    const fn file(self) -> &'static str {
        match self {
            Self::Cpp => "cpp",
            Self::Dotnet => "dotnet",
            Self::Go => "go",
            Self::Jvm => "jvm",
            Self::Rust => "rust",
        }
    }
}

#[derive(Debug)]
struct Libraries {
    /// By the name of the file.
    packages: Vec<(&'static str, Vec<&'static str>)>,
    modules: Table,
    threads: Table,
    functions: Table,
}

impl Libraries {
    fn read() -> Self {
        let (mut modules, mut threads, mut functions) = (Vec::new(), Vec::new(), Vec::new());
        let mut packages = Vec::new();
        for (name, file) in read(false) {
            packages.push((name, file.packages));
            modules.extend(file.modules);
            threads.extend(file.threads);
            functions.extend(file.functions);
        }
        let [modules, threads, functions] = [modules, threads, functions].map(Table::new);
        Self { packages, modules, threads, functions }
    }
}

/// What is known of a function of the kernel.
#[derive(Debug, Clone, Default)]
pub struct KernelFunction {
    /// What it belongs to.
    pub families: Families,
    /// What it says about the wait of a thread that left the CPU in it, the most certain first.
    pub rules: Vec<&'static Rule>,
}

/// What is known of a function of the kernel, whatever compilers append to its name.
#[must_use]
pub fn kernel(function: &str) -> KernelFunction {
    let mut found = KernelFunction::default();
    KERNEL.patterns.each(source_name(function), |id| {
        let entry = &KERNEL.entries[usize::from(id)];
        found.families = found.families.with(entry.families);
        found.rules.extend(&entry.rules);
    });
    found
}

/// Every rule about waits in the kernel, in the order of the files.
pub(crate) fn kernel_rules() -> impl Iterator<Item = &'static Rule> {
    KERNEL.entries.iter().flat_map(|entry| &entry.rules)
}

/// What a function outside the kernel belongs to, in a module of some families (see [`module`]).
#[must_use]
pub fn library(function: &str, module: Families) -> Families {
    let name = plain(function);
    let found = LIBRARIES.functions.families(name, module);
    let found = match inherent(name) {
        Some(method) => found.with(LIBRARIES.functions.families(&method, module)),
        None => found,
    };
    // The linker's stub is code of the caller: it does not wait, and does not enter the kernel.
    let found = if function.ends_with("@plt") { found.and(OF_STUBS) } else { found };
    found.with(module)
}

/// What a stub belongs to as the function does that it calls: kinds of work, and whose code it is.
const OF_STUBS: Families = families::WORK
    .with(Families::of(Family::Library))
    .with(Families::of(Family::Plumbing))
    .with(Families::of(Family::RuntimeWorker))
    .with(Families::of(Family::CallsBack))
    .with(Families::of(Family::Sorts));

/// What the names of a language's own packages begin with, and those of widely used ones by others.
#[must_use]
pub fn packages(language: Language) -> &'static [&'static str] {
    let mut all = LIBRARIES.packages.iter();
    let found = all.find(|(name, _)| *name == language.file());
    found.map_or(&[][..], |(_, packages)| packages)
}

/// What a module belongs to, and with it all its functions.
#[must_use]
pub fn module(name: &str) -> Families {
    LIBRARIES.modules.families(name, Families::NONE)
}

/// What a thread is for by its name, in a process that runs code of modules of some families.
#[must_use]
pub fn thread(name: &str, modules: Families) -> Families {
    LIBRARIES.threads.families(name, modules)
}

/// A name without what compilers and linkers add to it: `.part.0`, `.cold`, `@@GLIBC_2.2.5`, Java's
/// types.
#[must_use]
pub fn plain(function: &str) -> &str {
    if let Some(method) = java_method(function) {
        return method;
    }
    let name = function.split_once('@').map_or(function, |(name, _)| name);
    let added = [".part.", ".isra.", ".constprop.", ".cold", ".lto_priv.", ".llvm.", ".localalias"];
    let end = added.iter().filter_map(|a| name.find(a)).min();
    end.map_or(name, |end| &name[..end])
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

#[cfg(test)]
mod tests;
