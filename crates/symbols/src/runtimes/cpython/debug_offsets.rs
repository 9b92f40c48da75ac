//! `_Py_DebugOffsets`: the table with which `_PyRuntime` begins from Python 3.13 on.
//!
//! Eight letters, then words of 8 bytes. Their order belongs to the release (`Include/internal/
//! pycore_runtime.h` in 3.13, `pycore_debug_offsets.h` in 3.14). Each group begins with the size of
//! its struct; every offset has to lie within, which a table of another order does not survive.

use super::super::{ProcessMemory, Struct};
use super::InterpreterError;
use super::layout::{
    Attributes, AwaitLayout, CodeLayout, FrameLayout, FrameStyle, Instructions, InterpreterLayout,
    Layout, LineStyle, ObjectLayout, StackTop, TaskPlace, TextLayout, ThreadLayout, V3_12_AWAITS,
};

/// The letters at the start.
const COOKIE: &[u8; 8] = b"xdebugpy";
const WHAT: &str = "the table of offsets in `_PyRuntime`";
/// No struct of the interpreter is larger (`PyInterpreterState` has some 400 KiB); and bytes from
/// the start of any other to a field that is read here.
const LARGEST_STRUCT: u64 = 64 << 20;
const LARGEST_SPAN: usize = 4096;

/// A group of words: the struct, and its fields behind its size.
pub(super) type Group = (&'static str, &'static [&'static str]);

pub(super) const V3_13: &[Group] = &[
    ("runtime", &["finalizing", "interpreters_head"]),
    (
        "interpreter",
        &[
            "id",
            "next",
            "threads_head",
            "gc",
            "imports_modules",
            "sysdict",
            "builtins",
            "ceval_gil",
            "gil",
            "gil_enabled",
            "gil_locked",
            "gil_holder",
        ],
    ),
    ("thread", THREAD),
    ("frame", &["previous", "executable", "instr_ptr", "localsplus", "owner"]),
    (
        "code",
        &[
            "filename",
            "name",
            "qualname",
            "linetable",
            "firstlineno",
            "argcount",
            "localsplusnames",
            "localspluskinds",
            "co_code_adaptive",
        ],
    ),
    ("object", &["ob_type"]),
    ("type", &["tp_name", "tp_repr", "tp_flags"]),
    ("tuple", &["ob_item", "ob_size"]),
    ("list", &["ob_item", "ob_size"]),
    ("dict", &["ma_keys", "ma_values"]),
    ("float", &["ob_fval"]),
    ("long", &["lv_tag", "ob_digit"]),
    ("bytes", &["ob_size", "ob_sval"]),
    ("unicode", &["state", "length", "asciiobject_size"]),
];

pub(super) const V3_14: &[Group] = &[
    ("runtime", &["finalizing", "interpreters_head"]),
    (
        "interpreter",
        &[
            "id",
            "next",
            "threads_head",
            "threads_main",
            "gc",
            "imports_modules",
            "sysdict",
            "builtins",
            "ceval_gil",
            "gil",
            "gil_enabled",
            "gil_locked",
            "gil_holder",
            "code_object_generation",
            "tlbc_generation",
        ],
    ),
    ("thread", THREAD),
    (
        "frame",
        &[
            "previous",
            "executable",
            "instr_ptr",
            "localsplus",
            "owner",
            "stackpointer",
            "tlbc_index",
        ],
    ),
    (
        "code",
        &[
            "filename",
            "name",
            "qualname",
            "linetable",
            "firstlineno",
            "argcount",
            "localsplusnames",
            "localspluskinds",
            "co_code_adaptive",
            "co_tlbc",
        ],
    ),
    ("object", &["ob_type"]),
    ("type", &["tp_name", "tp_repr", "tp_flags"]),
    ("tuple", &["ob_item", "ob_size"]),
    ("list", &["ob_item", "ob_size"]),
    ("set", &["used", "table", "mask"]),
    ("dict", &["ma_keys", "ma_values"]),
    ("float", &["ob_fval"]),
    ("long", &["lv_tag", "ob_digit"]),
    ("bytes", &["ob_size", "ob_sval"]),
    ("unicode", &["state", "length", "asciiobject_size"]),
    ("gc", &["collecting"]),
    ("generator", &["gi_name", "gi_iframe", "gi_frame_state"]),
];

const THREAD: &[&str] = &[
    "prev",
    "next",
    "interp",
    "current_frame",
    "thread_id",
    "native_thread_id",
    "datastack_chunk",
    "status",
];

/// Words before the first group: letters, version, whether there is no GIL.
pub(super) const HEAD: usize = 3;

/// The layout that the process states; `None` where `_PyRuntime` does not begin with a table.
pub(super) fn read(
    memory: &dyn ProcessMemory,
    runtime: u64,
) -> Result<Option<Layout>, InterpreterError> {
    let mut head = [0; HEAD * 8];
    memory.read(runtime, &mut head).map_err(InterpreterError::memory("`_PyRuntime`", runtime))?;
    if !head.starts_with(COOKIE) {
        return Ok(None);
    }
    let fields = Struct::new(&head);
    // PY_VERSION_HEX: 0x030D00F0 is 3.13.0.
    let [_, _, minor, major] = fields.half(8).to_le_bytes();
    let groups = match (major, minor) {
        (3, 13) => V3_13,
        (3, 14) => V3_14,
        _ => return Err(super::layout::unsupported((major, minor))),
    };
    let words = HEAD + groups.iter().map(|(_, fields)| 1 + fields.len()).sum::<usize>();
    let mut bytes = vec![0; words * 8];
    memory.read(runtime, &mut bytes).map_err(InterpreterError::memory(WHAT, runtime))?;
    let table = Table { groups, words: Struct::new(&bytes), free_threaded: fields.word(16) != 0 };
    let layout = table.check().and_then(|()| table.layout((major, minor)));
    layout.map(Some).map_err(|reason| InterpreterError::malformed(WHAT, runtime, reason))
}

struct Table<'b> {
    groups: &'static [Group],
    words: Struct<'b>,
    free_threaded: bool,
}

impl Table<'_> {
    /// A struct's size (`field` is `None`) or the offset of one of its fields.
    fn word(&self, group: &str, field: Option<&str>) -> Option<u64> {
        let mut at = HEAD;
        for (name, fields) in self.groups {
            if *name == group {
                let within = match field {
                    None => 0,
                    Some(field) => 1 + fields.iter().position(|name| *name == field)?,
                };
                return Some(self.words.word((at + within) * 8));
            }
            at += 1 + fields.len();
        }
        None
    }

    fn check(&self) -> Result<(), &'static str> {
        for (group, fields) in self.groups {
            let size = self.word(group, None).unwrap_or_default();
            let largest = fields.iter().filter_map(|field| self.word(group, Some(field))).max();
            // The size of the smallest text is one of the offsets, so the last may be as large.
            if size == 0 || size > LARGEST_STRUCT || largest.is_none_or(|largest| largest > size) {
                return Err("an offset is larger than its struct");
            }
        }
        Ok(())
    }

    fn offset(&self, group: &str, field: &str) -> Result<usize, &'static str> {
        let offset = self.word(group, Some(field)).and_then(|offset| usize::try_from(offset).ok());
        offset.ok_or("a field is missing")
    }

    /// As [`offset`](Self::offset), of a struct that is read as one piece.
    fn near(&self, group: &str, field: &str) -> Result<usize, &'static str> {
        let offset = self.offset(group, field)?;
        if offset < LARGEST_SPAN { Ok(offset) } else { Err("an offset is too large") }
    }

    /// As [`near`](Self::near), of a field that only interpreters with copies of instructions have.
    fn if_copies(
        &self,
        version: (u8, u8),
        group: &str,
        field: &str,
    ) -> Result<Option<usize>, &'static str> {
        let has_copies = self.free_threaded && version >= (3, 14);
        has_copies.then(|| self.near(group, field)).transpose()
    }

    fn layout(&self, version: (u8, u8)) -> Result<Layout, &'static str> {
        Ok(Layout {
            version,
            runtime_interpreters: self.offset("runtime", "interpreters_head")?,
            interpreter: InterpreterLayout {
                next: self.offset("interpreter", "next")?,
                threads: self.offset("interpreter", "threads_head")?,
            },
            thread: ThreadLayout {
                prev: self.near("thread", "prev")?,
                next: self.near("thread", "next")?,
                interpreter: self.near("thread", "interp")?,
                frame: self.near("thread", "current_frame")?,
                c_frame: None,
                thread_id: self.near("thread", "thread_id")?,
                native_id: Some(self.near("thread", "native_thread_id")?),
            },
            frame: FrameLayout {
                style: FrameStyle::Shims {
                    owner: self.near("frame", "owner")?,
                    generator_state: self.generator_state(version)?,
                },
                previous: self.near("frame", "previous")?,
                code: self.near("frame", "executable")?,
                instruction: self.near("frame", "instr_ptr")?,
                copy: self.if_copies(version, "frame", "tlbc_index")?,
            },
            code: self.code(version)?,
            object: ObjectLayout {
                kind: self.near("object", "ob_type")?,
                size: self.near("bytes", "ob_size")?,
                bytes: self.near("bytes", "ob_sval")?,
                type_name: self.near("type", "tp_name")?,
            },
            text: self.text()?,
            awaits: self.awaits(version)?,
        })
    }

    /// None for 3.13 without a GIL: nothing states where it has the set of tasks.
    fn awaits(&self, version: (u8, u8)) -> Result<Option<AwaitLayout>, &'static str> {
        let size = self.word("object", None).and_then(|size| usize::try_from(size).ok());
        let object_size =
            size.filter(|size| *size < LARGEST_SPAN).ok_or("an object is too large")?;
        let containers = AwaitLayout {
            object_size,
            list_size: self.near("list", "ob_size")?,
            list_items: self.near("list", "ob_item")?,
            tuple_size: self.near("tuple", "ob_size")?,
            tuple_items: self.near("tuple", "ob_item")?,
            // 3.13 does not state the others, and has them where 3.12 has them.
            state_tells: true,
            tasks: TaskPlace::Set(Attributes::Inline),
            ..V3_12_AWAITS
        };
        if version == (3, 13) {
            let variables = self.near("frame", "localsplus")?;
            let count = variables.checked_sub(8).ok_or("an offset is too small")?;
            let stack = StackTop::Count { count, variables };
            return Ok((!self.free_threaded).then_some(AwaitLayout { stack, ..containers }));
        }
        Ok(Some(AwaitLayout {
            frame: self.near("generator", "gi_iframe")?,
            state: self.near("generator", "gi_frame_state")?,
            stack: StackTop::Pointer(self.near("frame", "stackpointer")?),
            tasks: TaskPlace::Lists,
            set_table: self.near("set", "table")?,
            set_mask: self.near("set", "mask")?,
            ..containers
        }))
    }

    /// How many bytes before its frame a generator has its state. 3.13 does not state it.
    fn generator_state(&self, version: (u8, u8)) -> Result<usize, &'static str> {
        if version == (3, 13) {
            return Ok(5);
        }
        let frame = self.near("generator", "gi_iframe")?;
        let before = frame.checked_sub(self.near("generator", "gi_frame_state")?);
        before.ok_or("a generator's state is behind its frame")
    }

    fn code(&self, version: (u8, u8)) -> Result<CodeLayout, &'static str> {
        let start = self.near("code", "co_code_adaptive")?;
        let copies = self.if_copies(version, "code", "co_tlbc")?;
        // Before the instructions: `_co_firsttraceable`, `co_extra`, and `co_tlbc` where there are
        // copies.
        let between = if copies.is_some() { 24 } else { 16 };
        let first_traceable = start.checked_sub(between).ok_or("an offset is too small")?;
        Ok(CodeLayout {
            lines: LineStyle::Locations,
            first_line: self.near("code", "firstlineno")?,
            file: self.near("code", "filename")?,
            name: self.near("code", "name")?,
            qualname: Some(self.near("code", "qualname")?),
            line_table: self.near("code", "linetable")?,
            instructions: Some(Instructions { start, first_traceable, copies }),
        })
    }

    fn text(&self) -> Result<TextLayout, &'static str> {
        // A text of one's own class ends with a pointer, which the plain ones do not have.
        let largest = self.word("unicode", None).and_then(|size| usize::try_from(size).ok());
        let compact = largest.and_then(|size| size.checked_sub(8)).filter(|at| *at < LARGEST_SPAN);
        Ok(TextLayout {
            length: self.near("unicode", "length")?,
            state: self.near("unicode", "state")?,
            ascii: self.near("unicode", "asciiobject_size")?,
            compact: compact.ok_or("a text is too small")?,
        })
    }
}
