//! What an observation hands out: plain facts, without a judgement of what they prove.

use culprit_model::Pid;

/// Everything that was observed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// One entry for each program that a process executed, and one for each process that was forked without
    /// executing one, in the order of their starts.
    pub processes: Vec<ObservedProcess>,
    /// What could not be observed.
    pub gaps: Vec<Gap>,
}

/// Something that could not be observed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What is missing.
    pub kind: GapKind,
    /// Why, as a sentence without a full stop.
    pub why: String,
    /// What the user can do; empty if nothing.
    pub next: String,
}

culprit_model::labels! {
    /// What could not be observed.
    GapKind ("kind of a gap") {
        /// No values are watched.
        Watchpoints = "watchpoints",
        /// Accesses by the kernel for the process are not seen.
        KernelAccess = "kernel_access",
        /// Names that are asked for are not seen.
        Names = "names",
        /// Files are not seen.
        Files = "files",
        /// A process was not observed.
        Process = "process",
        /// Records were lost.
        Lost = "lost",
    }
}

/// A program in a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedProcess {
    /// The process.
    pub pid: Pid,
    /// Its parent, where that was observed.
    pub parent: Option<Pid>,
    /// The command line.
    pub command: Vec<String>,
    /// The file of the program.
    pub program: String,
    /// Whether it ran before it was observed.
    pub late: bool,
    /// Whether it was observed from its first instruction to its last.
    pub whole_life: bool,
    /// Whether it was forked from another and still runs that one's program.
    pub forked: bool,
    /// Names of its environment block, each once, in their order.
    pub present: Vec<String>,
    /// Names that the block has more than once; only the first is watched.
    pub repeated: Vec<String>,
    /// What was seen of each watched value.
    pub watched: Vec<WatchedValue>,
    /// Names that functions were asked for.
    pub lookups: Vec<Lookup>,
    /// Files that were opened or looked for, ordered by path.
    pub files: Vec<FileUse>,
    /// Whether all mapped libraries that have `getenv` were probed.
    pub names_complete: bool,
}

/// What was seen of one value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedValue {
    /// The variable.
    pub name: String,
    /// Accesses that read the value itself.
    pub reads: u64,
    /// Accesses by instructions that started before the value: comparisons of the name, searches in the block.
    pub passed_over: u64,
    /// Accesses from the same call as those of the decoy.
    pub with_decoy: u64,
    /// Whether accesses were missed: counting ended early because there were too many, or records were lost.
    pub spent: bool,
    /// Who read the value first.
    pub reader: Option<Reader>,
}

/// A name that a function was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lookup {
    /// The name; empty where the function hands out all variables.
    pub name: String,
    /// The function: `getenv`, `syscall.Getenv`.
    pub function: String,
    /// The language's interface through which the first call came: `process.env`.
    pub interface: Option<&'static str>,
    /// How often.
    pub count: u64,
    /// Who asked first.
    pub reader: Option<Reader>,
}

/// Where something was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reader {
    /// The call stack, innermost first.
    pub stack: Vec<CodeFrame>,
    /// The frame of the user's own code: the first in the program's own source, or the first outside the C library.
    pub at: usize,
}

/// A function on a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeFrame {
    /// The file that the code is in; empty for generated code.
    pub module: String,
    /// The function; empty if it has no name.
    pub function: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line; 0 if unknown.
    pub line: u32,
    /// Address of the function in its module: tells functions without names apart.
    pub address: u64,
}

/// A file that a process used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileUse {
    /// The path as the program gave it; at most 255 bytes of it.
    pub path: String,
    /// How often it was opened.
    pub opened: u64,
    /// How often it was looked for and did not exist.
    pub missing: u64,
    /// How often it was refused for another reason.
    pub refused: u64,
    /// Bytes that were read through descriptors; pages of mapped files are not counted.
    pub bytes_read: u64,
}

impl CodeFrame {
    /// Whether the function belongs to the C library, the linker, or a language's own library.
    pub(super) fn is_library(&self) -> bool {
        let system = ["libc.so", "libc-", "ld-linux", "ld-musl", "ld-2", "libstdc++", "libc.musl"];
        let own = ["/rustc/", "library/std/", "library/core/", "library/alloc/", "/usr/local/go/"];
        system.iter().any(|start| self.module.starts_with(start))
            || own.iter().any(|part| self.file.starts_with(part))
            || ["std::", "core::", "alloc::", "<std::", "<alloc::", "os.", "syscall.", "runtime."]
                .iter()
                .any(|start| self.function.starts_with(start))
    }
}

impl Reader {
    /// The reader with its own frame found.
    pub(super) fn new(stack: Vec<CodeFrame>) -> Self {
        let own = |frame: &CodeFrame| !frame.is_library() && !frame.module.is_empty();
        let with_line = stack.iter().position(|frame| own(frame) && frame.line != 0);
        let at = with_line.or_else(|| stack.iter().position(own)).unwrap_or(0);
        Self { stack, at }
    }

    /// The frame of the user's own code.
    #[must_use]
    pub fn frame(&self) -> Option<&CodeFrame> {
        self.stack.get(self.at)
    }
}
