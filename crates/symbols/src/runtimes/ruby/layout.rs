//! Where each release of Ruby keeps what.
//!
//! Sources: `vm_core.h`, `ractor_core.h`, `thread_pthread.h`, `iseq.h`, `method.h`,
//! `include/ruby/internal/core/rstring.h` and `rarray.h` of each release. All structs here hold
//! pointers and numbers only, so they are the same on all machines of 64 bits. Fields that stand
//! behind locks, whose size differs between C libraries, are looked for instead (`threads.rs`).

use super::super::InterpreterError;

/// `rb_execution_context_struct`: what a thread, or a fiber of it, runs.
pub(super) struct Context {
    pub(super) span: usize,
    pub(super) stack: usize,
    /// In words.
    pub(super) stack_size: usize,
    /// The innermost control frame.
    pub(super) frame: usize,
}

pub(super) const CONTEXT: Context = Context { span: 64, stack: 0, stack_size: 8, frame: 16 };

/// `rb_control_frame_struct`.
pub(super) struct ControlFrame {
    /// `pc`: the instruction behind the one that runs.
    pub(super) instruction: usize,
    pub(super) iseq: usize,
    /// `ep`: where the frame's variables end.
    pub(super) environment: usize,
}

pub(super) const FRAME: ControlFrame = ControlFrame { instruction: 0, iseq: 16, environment: 32 };

/// The words that end at `ep`: what method it is, its block, and flags.
pub(super) struct Environment {
    pub(super) span: usize,
    /// `VM_ENV_DATA_INDEX_ME_CREF`.
    pub(super) method: usize,
    /// `VM_ENV_DATA_INDEX_FLAGS`.
    pub(super) flags: usize,
}

pub(super) const ENVIRONMENT: Environment = Environment { span: 24, method: 0, flags: 16 };

/// `VM_FRAME_FLAG_FINISH`: C called the interpreter's loop for this frame.
pub(super) const FINISH: u64 = 0x20;
/// `VM_FRAME_FLAG_CFRAME`: no Ruby code runs in it.
pub(super) const C_FRAME: u64 = 0x80;
/// `VM_FRAME_MAGIC_MASK`: the bits that say what a frame stands for.
pub(super) const KIND: u64 = 0x7fff_0001;
/// `VM_FRAME_MAGIC_CFUNC`: a method written in C.
pub(super) const C_METHOD: u64 = 0x5555_0001;
/// `VM_FRAME_MAGIC_DUMMY`: the frame that a thread begins with. That of the main thread has
/// instructions, which never run.
pub(super) const DUMMY: u64 = 0x7999_0001;

/// `rb_iseq_struct.body`.
pub(super) const ISEQ_BODY: usize = 16;
/// Bytes of an `rb_iseq_struct` that are read.
pub(super) const ISEQ_SPAN: usize = 24;

/// `RBasic.flags`: `RUBY_T_MASK` and the types that occur here.
pub(super) const TYPE_MASK: u64 = 0x1f;
pub(super) const STRING: u64 = 0x05;
pub(super) const ARRAY: u64 = 0x07;
pub(super) const INTERNAL: u64 = 0x1a;
/// `FL_USHIFT`: from this bit on, flags are of the type.
pub(super) const USER_FLAGS: u32 = 12;
/// `imemo_ment` and `imemo_iseq`, in the four lowest of them.
pub(super) const METHOD_ENTRY: u64 = 6;
pub(super) const ISEQ: u64 = 7;

/// `rb_method_entry_struct` and `rb_method_definition_struct`.
pub(super) struct Method {
    pub(super) span: usize,
    pub(super) definition: usize,
    /// `rb_method_definition_struct.original_id`.
    pub(super) original_id: u64,
}

pub(super) const METHOD: Method = Method { span: 40, definition: 16, original_id: 32 };

/// `rb_thread_struct`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadLayout {
    pub(super) span: usize,
    pub(super) vm: usize,
    /// From 3.0 on.
    pub(super) ractor: Option<usize>,
    /// `ec`.
    pub(super) context: usize,
    pub(super) native: Native,
}

/// Where a thread's kernel thread is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Native {
    /// In the thread: its `pthread_t`.
    Own(usize),
    /// Behind a pointer (`nt`), which is null while a thread of Ruby has no thread of the kernel;
    /// there is its `pthread_t`.
    Shared(usize, u64),
}

/// `rb_iseq_constant_body`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLayout {
    pub(super) span: usize,
    /// Instructions, in words.
    pub(super) size: usize,
    pub(super) code: usize,
    /// `location.pathobj`.
    pub(super) path: usize,
    /// `location.label`.
    pub(super) label: usize,
    /// `insns_info`: entries, positions, number of entries, index.
    pub(super) lines: usize,
    /// Bytes of an entry.
    pub(super) entry: usize,
}

/// How one release lays out its structs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// `thread_ptr` of the execution context.
    pub(super) context_thread: usize,
    pub(super) thread: ThreadLayout,
    /// Bytes of a control frame.
    pub(super) frame: usize,
    pub(super) body: BodyLayout,
    /// Short strings have their length before their characters, as long ones have.
    pub(super) strings_have_length: bool,
}

impl Layout {
    pub(super) fn of_release(version: (u8, u8)) -> Result<Self, InterpreterError> {
        let known = matches!(version, (2, 7) | (3, 0..=4));
        if !known {
            let (runtime, known) = ("Ruby", "2.7 to 3.4");
            return Err(InterpreterError::UnsupportedVersion { runtime, version, known });
        }
        Ok(Self {
            context_thread: if version >= (3, 1) { 48 } else { 56 },
            thread: ThreadLayout::of_release(version),
            frame: match version {
                (3, 1 | 2) => 64,
                _ => 56,
            },
            body: BodyLayout::of_release(version),
            strings_have_length: version >= (3, 2),
        })
    }
}

impl ThreadLayout {
    fn of_release(version: (u8, u8)) -> Self {
        let (span, vm, ractor) = (96, 32, Some(24));
        match version {
            (2, _) => Self { span, vm: 24, ractor: None, context: 32, native: Native::Own(72) },
            (3, 0 | 1) => Self { span, vm, ractor, context: 40, native: Native::Own(80) },
            (3, 2) => Self { span, vm, ractor, context: 48, native: Native::Shared(40, 8) },
            _ => Self { span, vm, ractor, context: 48, native: Native::Shared(40, 16) },
        }
    }
}

impl BodyLayout {
    fn of_release(version: (u8, u8)) -> Self {
        let lines = if version >= (3, 2) { 112 } else { 120 };
        let entry = if version >= (3, 1) { 12 } else { 8 };
        Self { span: lines + 32, size: 4, code: 8, path: 64, label: 80, lines, entry }
    }
}
