//! Where the fields of the interpreter's structs are, for each release.
//!
//! Python 3.8 to 3.12: a table, from `offsetof` over the headers of these releases
//! (`Include/internal` and `Include/cpython`), the same on all 64-bit machines as nothing before
//! these fields has a size of its own there. From 3.13 on the process says it itself: see
//! [`debug_offsets`](super::debug_offsets). Builds with `--with-pydebug` or `Py_TRACE_REFS` have
//! another layout; they fail the checks of [`CPython::find`](super::CPython::find).

use super::super::Struct;
use super::frames::TAG;
use super::{InterpreterError, NAME};

/// The error of a release that has none of these layouts.
pub(super) fn unsupported(version: (u8, u8)) -> InterpreterError {
    InterpreterError::UnsupportedVersion { runtime: NAME, version, known: "3.8 to 3.14" }
}

/// Offsets in bytes, each from the start of the struct that it is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Major and minor number of the release.
    pub(super) version: (u8, u8),
    /// `_PyRuntimeState.interpreters.head`.
    pub(super) runtime_interpreters: usize,
    pub(super) interpreter: InterpreterLayout,
    pub(super) thread: ThreadLayout,
    pub(super) frame: FrameLayout,
    pub(super) code: CodeLayout,
    pub(super) object: ObjectLayout,
    pub(super) text: TextLayout,
    /// What leads from a coroutine to what it awaits, from 3.12 on.
    pub(super) awaits: Option<AwaitLayout>,
}

/// `PyInterpreterState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InterpreterLayout {
    pub(super) next: usize,
    /// `tstate_head`, from 3.11 on `threads.head`.
    pub(super) threads: usize,
}

/// `PyThreadState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadLayout {
    pub(super) prev: usize,
    pub(super) next: usize,
    pub(super) interpreter: usize,
    /// `frame`, `cframe` or `current_frame`.
    pub(super) frame: usize,
    /// In 3.11 and 3.12 `frame` points to a `_PyCFrame`; where that has its `current_frame`.
    pub(super) c_frame: Option<usize>,
    /// The `pthread_t`.
    pub(super) thread_id: usize,
    /// The kernel's number, from 3.11 on.
    pub(super) native_id: Option<usize>,
}

/// `PyFrameObject` up to 3.10, then `_PyInterpreterFrame`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameLayout {
    pub(super) style: FrameStyle,
    /// `f_back` or `previous`.
    pub(super) previous: usize,
    /// `f_code` or `f_executable`.
    pub(super) code: usize,
    /// `f_lasti`, `prev_instr` or `instr_ptr`.
    pub(super) instruction: usize,
    /// `tlbc_index`: from 3.14 on, without a GIL, threads have copies of the instructions.
    pub(super) copy: Option<usize>,
}

/// How frames and calls of `_PyEval_EvalFrameDefault` belong together.
///
/// A generator's frame is inside of the generator: `generator_state` is how many bytes before the frame
/// the generator has its `gi_frame_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameStyle {
    /// 3.8 to 3.10: each frame has a call of its own.
    Objects {
        /// `f_lasti` counts units of so many bytes.
        unit: u32,
        /// `f_executing` or `f_state`, a byte.
        state: usize,
        /// Its values while the frame runs.
        running: &'static [u8],
    },
    /// 3.11: the outermost frame of each call has a mark.
    Marked { is_entry: usize, owner: usize, generator_state: usize },
    /// From 3.12 on: each call begins with a frame that stands for no function.
    Shims { owner: usize, generator_state: usize },
}

/// `PyCodeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeLayout {
    pub(super) lines: LineStyle,
    pub(super) first_line: usize,
    pub(super) file: usize,
    pub(super) name: usize,
    /// From 3.11 on.
    pub(super) qualname: Option<usize>,
    /// `co_lnotab` or `co_linetable`.
    pub(super) line_table: usize,
    /// Where the instructions are, from 3.11 on.
    pub(super) instructions: Option<Instructions>,
}

/// Instructions inside of a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instructions {
    /// `co_code_adaptive`.
    pub(super) start: usize,
    /// `_co_firsttraceable`: the number of instructions that prepare the call.
    pub(super) first_traceable: usize,
    /// `co_tlbc`, where there are copies.
    pub(super) copies: Option<usize>,
}

/// How lines are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineStyle {
    /// 3.8 and 3.9.
    Lnotab,
    /// 3.10 (PEP 626).
    LineTable,
    /// From 3.11 on (PEP 657).
    Locations,
}

/// `PyObject`, `PyVarObject`, `PyBytesObject` and `PyTypeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectLayout {
    pub(super) kind: usize,
    pub(super) size: usize,
    pub(super) bytes: usize,
    pub(super) type_name: usize,
}

/// `PyGenObject`, which coroutines and asynchronous generators are as well, and containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AwaitLayout {
    /// The size of `PyObject`: where iterators of futures and wrappers of coroutines have their only
    /// pointer, and futures their event loop.
    pub(super) object_size: usize,
    /// `gi_iframe` and `gi_frame_state`.
    pub(super) frame: usize,
    pub(super) state: usize,
    /// On top of the stack of a frame is what its coroutine awaits.
    pub(super) stack: StackTop,
    /// Whether the state tells a coroutine that awaits from a generator that has yielded. In 3.12 the
    /// next instruction does.
    pub(super) state_tells: bool,
    /// Where the tasks are.
    pub(super) tasks: TaskPlace,
    pub(super) set_table: usize,
    pub(super) set_mask: usize,
    /// `ob_item` of a list is a pointer, of a tuple the first item.
    pub(super) list_size: usize,
    pub(super) list_items: usize,
    pub(super) tuple_size: usize,
    pub(super) tuple_items: usize,
}

/// How a frame says where its stack ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StackTop {
    /// 3.14: `stackpointer`.
    Pointer(usize),
    /// 3.12 and 3.13: `stacktop`, the number of words from `localsplus` on.
    Count { count: usize, variables: usize },
}

impl StackTop {
    /// Bytes of a frame up to the end of what says so.
    pub(super) fn end(self) -> usize {
        match self {
            Self::Pointer(at) => at + WORD,
            Self::Count { variables, .. } => variables,
        }
    }

    /// Address of the topmost word of a frame's stack; `fields` are the frame's.
    pub(super) fn top(self, frame: u64, fields: &Struct<'_>) -> Option<u64> {
        let end = match self {
            // Two bits of the pointer are flags.
            Self::Pointer(at) => fields.word(at) & !TAG,
            Self::Count { count, variables } => {
                let count = u64::try_from(fields.int(count)).ok().filter(|count| *count > 0)?;
                frame.wrapping_add(variables as u64 + count * WORD as u64)
            }
        };
        Some(end.wrapping_sub(WORD as u64))
    }
}

/// Where an interpreter has the tasks of `asyncio`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskPlace {
    /// 3.14: in lists, which the table of the module `_asyncio` leads to.
    Lists,
    /// 3.12 and 3.13: in a `WeakSet`, which the module's state has.
    Set(Attributes),
}

/// Where an object of a class in Python has its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    /// 3.12: a pointer before the object leads there.
    Apart,
    /// 3.13: behind the object.
    Inline,
}

/// `PyASCIIObject` and `PyCompactUnicodeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextLayout {
    pub(super) length: usize,
    pub(super) state: usize,
    /// Where the characters of a plain ASCII text begin.
    pub(super) ascii: usize,
    /// Where those of any other text begin.
    pub(super) compact: usize,
}

impl Layout {
    /// The layout of a release that does not state it itself.
    pub(super) fn of_release(version: (u8, u8)) -> Result<Self, InterpreterError> {
        match version {
            (3, 8) => Ok(V3_8),
            (3, 9) => Ok(V3_9),
            (3, 10) => Ok(V3_10),
            (3, 11) => Ok(V3_11),
            (3, 12) => Ok(V3_12),
            _ => Err(unsupported(version)),
        }
    }
}

impl ThreadLayout {
    /// Bytes from the start of the struct to the end of the last of the fields.
    pub(super) fn span(&self) -> usize {
        let fields = [self.prev, self.next, self.interpreter, self.frame, self.thread_id];
        end_of(&fields).max(self.native_id.map_or(0, |at| at + WORD))
    }
}

impl FrameLayout {
    /// Where the first of the fields is.
    pub(super) fn start(&self) -> usize {
        self.previous.min(self.code).min(self.instruction)
    }

    /// Bytes from the start of the struct to the end of the last of the fields.
    pub(super) fn span(&self) -> usize {
        let marks = match self.style {
            FrameStyle::Objects { state, .. } => state + 1,
            FrameStyle::Marked { is_entry, owner, .. } => is_entry.max(owner) + 1,
            FrameStyle::Shims { owner, .. } => owner + 1,
        };
        let fields = [self.previous, self.code, self.instruction, self.copy.unwrap_or_default()];
        end_of(&fields).max(marks)
    }
}

impl CodeLayout {
    /// Bytes from the start of the struct to the end of the last of the fields.
    pub(super) fn span(&self) -> usize {
        // The fields before the instructions are among them.
        let instructions = self.instructions.map_or(0, |at| at.start);
        let qualname = self.qualname.map_or(0, |at| at + WORD);
        end_of(&[self.first_line, self.file, self.name, self.line_table])
            .max(instructions)
            .max(qualname)
    }
}

/// Bytes of a pointer; smaller fields are read as if they were as large.
const WORD: usize = 8;

fn end_of(fields: &[usize]) -> usize {
    fields.iter().max().map_or(0, |last| last + WORD)
}

const V3_8: Layout = Layout {
    version: (3, 8),
    runtime_interpreters: 32,
    interpreter: InterpreterLayout { next: 0, threads: 8 },
    thread: ThreadLayout {
        prev: 0,
        next: 8,
        interpreter: 16,
        frame: 24,
        c_frame: None,
        thread_id: 176,
        native_id: None,
    },
    frame: FrameLayout {
        style: FrameStyle::Objects { unit: 1, state: 116, running: &[1] },
        previous: 24,
        code: 32,
        instruction: 104,
        copy: None,
    },
    code: CodeLayout {
        lines: LineStyle::Lnotab,
        first_line: 40,
        file: 104,
        name: 112,
        qualname: None,
        line_table: 120,
        instructions: None,
    },
    object: ObjectLayout { kind: 8, size: 16, bytes: 32, type_name: 24 },
    text: TextLayout { length: 16, state: 32, ascii: 48, compact: 72 },
    awaits: None,
};

const V3_9: Layout = Layout { version: (3, 9), ..V3_8 };

const V3_10: Layout = Layout {
    version: (3, 10),
    frame: FrameLayout {
        // FRAME_EXECUTING and FRAME_UNWINDING.
        style: FrameStyle::Objects { unit: 2, state: 108, running: &[0, 2] },
        instruction: 96,
        ..V3_8.frame
    },
    code: CodeLayout { lines: LineStyle::LineTable, ..V3_8.code },
    ..V3_8
};

const V3_11: Layout = Layout {
    version: (3, 11),
    runtime_interpreters: 40,
    interpreter: InterpreterLayout { next: 0, threads: 16 },
    thread: ThreadLayout {
        prev: 0,
        next: 8,
        interpreter: 16,
        frame: 56,
        c_frame: Some(8),
        thread_id: 152,
        native_id: Some(160),
    },
    frame: FrameLayout {
        style: FrameStyle::Marked { is_entry: 68, owner: 69, generator_state: 5 },
        previous: 48,
        code: 32,
        instruction: 56,
        copy: None,
    },
    code: CodeLayout {
        lines: LineStyle::Locations,
        first_line: 72,
        file: 112,
        name: 120,
        qualname: Some(128),
        line_table: 136,
        instructions: Some(Instructions { start: 184, first_traceable: 168, copies: None }),
    },
    ..V3_8
};

const V3_12: Layout = Layout {
    version: (3, 12),
    interpreter: InterpreterLayout { next: 0, threads: 72 },
    thread: ThreadLayout { c_frame: Some(0), thread_id: 136, native_id: Some(144), ..V3_11.thread },
    frame: FrameLayout {
        style: FrameStyle::Shims { owner: 70, generator_state: 5 },
        previous: 8,
        code: 0,
        instruction: 56,
        copy: None,
    },
    code: CodeLayout {
        first_line: 68,
        instructions: Some(Instructions { start: 192, first_traceable: 176, copies: None }),
        ..V3_11.code
    },
    // `wstr` and its length are gone.
    text: TextLayout { ascii: 40, compact: 56, ..V3_8.text },
    awaits: Some(V3_12_AWAITS),
    ..V3_11
};

pub(super) const V3_12_AWAITS: AwaitLayout = AwaitLayout {
    object_size: 16,
    frame: 72,
    state: 67,
    stack: StackTop::Count { count: 64, variables: 72 },
    state_tells: false,
    tasks: TaskPlace::Set(Attributes::Apart),
    set_table: 40,
    set_mask: 32,
    list_size: 16,
    list_items: 24,
    tuple_size: 16,
    tuple_items: 24,
};
