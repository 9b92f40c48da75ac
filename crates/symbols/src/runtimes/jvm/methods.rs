//! A method's name, file and lines, from the JVM's description of it.
//!
//! ```text
//! Method -> ConstMethod | bytecodes | line table |   name: a number in the constant pool
//!               |
//!               +-> ConstantPool | 0 | 1 | .. |  each entry may be a Symbol, a text
//!                       |
//!                       +-> Klass -> Symbol
//! ```

use std::sync::Arc;

use super::super::{InterpreterError, MemoryPiece, ProcessMemory, Struct};
use super::layout::{MethodLayout, SourceFile};
use super::stream::CompressedNumbers;

/// A method of Java or another language of the JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaMethod {
    /// Its class and name: `com.shop.Orders.parse`.
    pub name: Arc<str>,
    /// Its source file, without folders: `Orders.java`.
    pub file: Option<Arc<str>>,
    /// From a bytecode on, the line; in the order of bytecodes.
    lines: Box<[(u32, u32)]>,
}

impl JavaMethod {
    /// The line of a bytecode.
    #[must_use]
    pub fn line(&self, bytecode: u32) -> Option<u32> {
        let after = self.lines.partition_point(|(from, _)| *from <= bytecode);
        let (_, line) = self.lines.get(after.checked_sub(1)?)?;
        Some(*line)
    }

    /// The first line that the method has code on.
    #[must_use]
    pub fn first_line(&self) -> Option<u32> {
        self.lines.iter().map(|(_, line)| *line).min()
    }
}

/// What a `ConstMethod` says.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstMethod {
    constants: u64,
    /// Where its bytecodes are, and how many bytes.
    code: u64,
    code_size: u32,
    name: u32,
    has_lines: bool,
    /// Behind its last byte.
    end: u64,
}

/// The largest `ConstMethod`: 64 KiB of bytecodes, with line table, exceptions and variables.
const MOST_WORDS: u32 = 1 << 18;
/// The longest line table that is read: some 40,000 lines of one method.
const MOST_LINE_BYTES: u64 = 1 << 16;
/// The longest text in a class file.
const LONGEST_TEXT: usize = 65_535;
/// Names longer than this are cut: they are generated ones.
const LONGEST_NAME: usize = 1024;

/// The `ConstMethod` of a `Method`.
pub(super) fn const_method_of(
    memory: &dyn ProcessMemory,
    layout: &MethodLayout,
    method: u64,
) -> Result<u64, InterpreterError> {
    if method == 0 || !method.is_multiple_of(8) {
        return Err(InterpreterError::malformed(
            "a method",
            method,
            "it is no address of an object",
        ));
    }
    word(memory, "a method", method.wrapping_add(layout.const_method as u64))
}

impl ConstMethod {
    pub(super) fn read(
        memory: &dyn ProcessMemory,
        layout: &MethodLayout,
        address: u64,
    ) -> Result<Self, InterpreterError> {
        let mut bytes = vec![0; layout.const_method_size];
        read(memory, "a method's description", address, &mut bytes)?;
        let fields = Struct::new(&bytes);
        let malformed =
            |reason| InterpreterError::malformed("a method's description", address, reason);
        let words = fields.half(layout.words);
        if words == 0 || words > MOST_WORDS {
            return Err(malformed("its size is impossible"));
        }
        let (size, header) = (u64::from(words) * 8, layout.const_method_size as u64);
        let code_size = short(&fields, layout.code_size);
        if header + u64::from(code_size) > size {
            return Err(malformed("its bytecodes are larger than it"));
        }
        Ok(Self {
            constants: fields.word(layout.constants),
            code: address.wrapping_add(header),
            code_size,
            name: short(&fields, layout.name),
            // The flag is in the lowest byte in all releases.
            has_lines: short(&fields, layout.flags) & layout.has_lines != 0,
            end: address.wrapping_add(size),
        })
    }

    /// The number of the bytecode at an address.
    pub(super) fn bytecode(&self, address: u64) -> Option<u32> {
        let distance = u32::try_from(address.checked_sub(self.code)?).ok()?;
        (distance < self.code_size).then_some(distance)
    }

    /// Its name, its file and its lines.
    pub(super) fn method(
        &self,
        memory: &dyn ProcessMemory,
        layout: &MethodLayout,
        excess: u32,
    ) -> Result<JavaMethod, InterpreterError> {
        let mut pool = vec![0; layout.pool_size];
        read(memory, "a constant pool", self.constants, &mut pool)?;
        let pool = Struct::new(&pool);
        let length = pool.half(layout.length);
        let holder = pool.word(layout.holder);
        let source = match layout.source_file {
            SourceFile::Pool(offset) => short(&pool, offset),
            SourceFile::Class(offset) => {
                let mut bytes = [0; 2];
                let at = holder.wrapping_add(offset as u64);
                read(memory, "a class", at, &mut bytes)?;
                short(&Struct::new(&bytes), 0)
            }
        };
        let text = |number: u32| {
            if number == 0 || number >= length {
                let reason = "it has no such entry";
                return Err(InterpreterError::malformed("a constant pool", self.constants, reason));
            }
            let at = self.constants.wrapping_add(layout.pool_size as u64 + 8 * u64::from(number));
            symbol(memory, layout, word(memory, "a constant", at)?)
        };
        let class = word(memory, "a class", holder.wrapping_add(layout.class_name as u64))?;
        let class = symbol(memory, layout, class)?;
        let name = text(self.name)?;
        let file = if source == 0 { None } else { text(source).ok().map(Arc::from) };
        let name = format!("{}.{name}", class_name(&class)).into();
        Ok(JavaMethod { name, file, lines: self.lines(memory, excess)? })
    }

    fn lines(
        &self,
        memory: &dyn ProcessMemory,
        excess: u32,
    ) -> Result<Box<[(u32, u32)]>, InterpreterError> {
        if !self.has_lines {
            return Ok(Box::default());
        }
        let start = self.code.wrapping_add(u64::from(self.code_size));
        let length = self.end.saturating_sub(start).min(MOST_LINE_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        read(memory, "a line table", start, &mut bytes)?;
        Ok(decode_lines(&bytes, excess, self.code_size))
    }
}

/// Pairs of bytecode and line, each a step from the one before: one byte of five bits and three, or 0xff and
/// two numbers. A zero ends them (`CompressedLineNumberReadStream`). The order of bytecodes is the
/// compiler's; most write them in ascending order.
fn decode_lines(bytes: &[u8], excess: u32, code_size: u32) -> Box<[(u32, u32)]> {
    let mut stream = CompressedNumbers::new(bytes, excess);
    let mut lines = Vec::new();
    let (mut bytecode, mut line) = (0_i64, 0_i64);
    while let Some(byte) = stream.byte().filter(|byte| *byte != 0) {
        let (step, lines_on) = if byte == 0xff {
            let (Some(step), Some(lines_on)) = (stream.signed(), stream.signed()) else { break };
            (i64::from(step), i64::from(lines_on))
        } else {
            (i64::from(byte >> 3), i64::from(byte & 7))
        };
        (bytecode, line) = (bytecode + step, line + lines_on);
        let (Ok(at), Ok(number)) = (u32::try_from(bytecode), u32::try_from(line)) else { break };
        if at >= code_size.max(1) || number > u32::from(u16::MAX) {
            break;
        }
        lines.push((at, number));
    }
    lines.sort_by_key(|(at, _)| *at);
    lines.into()
}

/// A class as its source calls it: dots for slashes, and without the address that a hidden class bears.
fn class_name(internal: &str) -> String {
    let hidden = internal.find("+0x").or_else(|| internal.find("/0x"));
    internal.get(..hidden.unwrap_or(internal.len())).unwrap_or(internal).replace('/', ".")
}

fn symbol(
    memory: &dyn ProcessMemory,
    layout: &MethodLayout,
    address: u64,
) -> Result<String, InterpreterError> {
    // The lowest bit of a constant marks classes that are not resolved.
    if address == 0 || address & 1 != 0 {
        return Err(InterpreterError::malformed("a name", address, "it is no address of a text"));
    }
    let mut length = [0; 2];
    let at = address.wrapping_add(layout.text_length as u64);
    read(memory, "the length of a name", at, &mut length)?;
    let length = usize::from(u16::from_ne_bytes(length));
    if length == 0 || length > LONGEST_TEXT {
        return Err(InterpreterError::malformed("a name", address, "it is empty"));
    }
    let mut text = vec![0; length.min(LONGEST_NAME)];
    read(memory, "a name", address.wrapping_add(layout.text as u64), &mut text)?;
    if text.iter().any(|byte| *byte < b' ') {
        return Err(InterpreterError::malformed("a name", address, "it holds control characters"));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

pub(super) fn word(
    memory: &dyn ProcessMemory,
    what: &'static str,
    address: u64,
) -> Result<u64, InterpreterError> {
    let mut bytes = [0; 8];
    read(memory, what, address, &mut bytes)?;
    Ok(Struct::new(&bytes).word(0))
}

pub(super) fn read(
    memory: &dyn ProcessMemory,
    what: &'static str,
    address: u64,
    into: &mut [u8],
) -> Result<(), InterpreterError> {
    memory
        .read_pieces(&mut [MemoryPiece { address, into }])
        .map_err(InterpreterError::memory(what, address))
}

/// A field of two bytes.
pub(super) fn short(fields: &Struct<'_>, offset: usize) -> u32 {
    let [low, high] = [fields.byte(offset), fields.byte(offset.saturating_add(1))];
    u32::from(u16::from_ne_bytes([low, high]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_steps() {
        // Bytecode 0 is line 1000, 4 is line 1001, 20 is line 999.
        let bytes = [0xff, 0, 208, 28, 4 << 3 | 1, 0xff, 32, 3, 0, 9];
        let expected = [(0, 1000), (4, 1001), (20, 999)];
        assert_eq!(&*decode_lines(&bytes, 0, 30), expected);
        assert_eq!(&*decode_lines(&bytes, 0, 20), &expected[..2], "no bytecode is behind the end");
        let newer = [0xff, 1, 209, 29, 4 << 3 | 1, 0xff, 33, 4, 0, 9];
        assert_eq!(&*decode_lines(&newer, 1, 30), expected);
    }

    #[test]
    fn damaged_lines_end() {
        assert_eq!(&*decode_lines(&[0xff], 0, 30), []);
        assert_eq!(&*decode_lines(&[0xff, 1, 1, 8], 0, 30), [], "before the first bytecode");
        assert_eq!(&*decode_lines(&[], 0, 0), []);
    }

    #[test]
    fn a_bytecode_has_the_line_of_the_one_before_it() {
        let lines = [(0, 12), (4, 13), (20, 10)].into();
        let method = JavaMethod { name: "A.b".into(), file: None, lines };
        let found: Vec<_> = [0, 3, 4, 19, 20, 500].iter().map(|at| method.line(*at)).collect();
        assert_eq!(found, [12, 12, 13, 13, 10, 10].map(Some));
        assert_eq!(method.first_line(), Some(10));
    }

    #[test]
    fn hidden_classes_have_no_address() {
        for (internal, name) in [
            ("com/shop/Orders", "com.shop.Orders"),
            ("Orders$$Lambda$14+0x00007f1c1c001000", "Orders$$Lambda$14"),
            ("Orders$$Lambda$14/0x00007f1c1c001000", "Orders$$Lambda$14"),
            ("java/lang/invoke/LambdaForm$MH+0x0000000800c01000", "java.lang.invoke.LambdaForm$MH"),
        ] {
            assert_eq!(class_name(internal), name);
        }
    }
}
