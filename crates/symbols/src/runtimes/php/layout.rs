//! Where PHP keeps what: the same in all releases but for the file's name.
//!
//! Sources: `Zend/zend_globals.h`, `zend_compile.h`, `zend_types.h` of each release. Offsets of 7.4,
//! 8.2 and 8.4 are those that a C compiler gives; those of 8.0, 8.1 and 8.3 are counted.

use super::super::{InterpreterError, Struct};
use super::Identity;

/// `zend_execute_data`: a frame.
pub(super) struct ExecuteData {
    pub(super) span: usize,
    /// `opline`, the instruction.
    pub(super) instruction: usize,
    /// `func`.
    pub(super) function: usize,
    /// `This.u1.type_info`, whose upper bits say how the function was called.
    pub(super) call_flags: usize,
    /// `ZEND_CALL_TOP`: C called it.
    pub(super) top: u32,
    /// `prev_execute_data`, the caller.
    pub(super) previous: usize,
}

pub(super) const EXECUTE_DATA: ExecuteData = ExecuteData {
    span: 56,
    instruction: 0,
    function: 24,
    call_flags: 40,
    top: 1 << 17,
    previous: 48,
};

/// `zend_function.common`.
pub(super) struct Function {
    name: usize,
    class: usize,
    /// `zend_class_entry.name`.
    pub(super) class_name: u64,
}

pub(super) const FUNCTION: Function = Function { name: 8, class: 16, class_name: 8 };

/// `ZEND_USER_FUNCTION`; `ZEND_EVAL_CODE` is above it, `ZEND_INTERNAL_FUNCTION` below.
pub(super) const FIRST_USER_TYPE: u8 = 2;

/// `zend_string`.
pub(super) struct ZendString {
    /// `gc.u.type_info`.
    pub(super) kind: usize,
    pub(super) kind_mask: u32,
    /// `IS_STRING`.
    pub(super) is_string: u32,
    pub(super) length: usize,
    pub(super) characters: usize,
}

pub(super) const STRING: ZendString =
    ZendString { kind: 4, kind_mask: 0xf, is_string: 6, length: 16, characters: 24 };

/// What differs between releases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// `zend_executor_globals.current_execute_data`.
    pub(super) current_frame: u64,
    /// `zend_op_array.filename`; first and last line stand behind it.
    file: usize,
    /// `zend_op.lineno`.
    pub(super) instruction_line: u64,
}

impl Layout {
    pub(super) fn of_release(version: (u8, u8)) -> Result<Self, InterpreterError> {
        let file = match version {
            (7, 4) => 136,
            (8, 0 | 1 | 3) => 144,
            (8, 2) => 152,
            (8, 4) => 168,
            _ => {
                let (runtime, known) = ("PHP", "7.4 to 8.4");
                return Err(InterpreterError::UnsupportedVersion { runtime, version, known });
            }
        };
        Ok(Self { current_frame: 488, file, instruction_line: 24 })
    }

    /// Bytes of a function that are read.
    pub(super) fn function_span(&self) -> usize {
        self.file + 16
    }

    pub(super) fn identity(&self, fields: &Struct<'_>) -> Identity {
        let kind = fields.byte(0);
        let user = kind >= FIRST_USER_TYPE;
        // Functions of PHP itself have something else there.
        let half = |at| if user { fields.half(at) } else { 0 };
        Identity {
            kind,
            name: fields.word(FUNCTION.name),
            class: fields.word(FUNCTION.class),
            file: if user { fields.word(self.file) } else { 0 },
            lines: (half(self.file + 8), half(self.file + 12)),
        }
    }
}
