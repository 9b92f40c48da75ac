//! Frames of code that a runtime generated and describes: HotSpot's interpreter and compiled methods.
//!
//! ```text
//! interpreter   .. | bytecode | locals | .. | method | last sp | sender's sp | fp of caller | return address |
//!                     fp-64                   fp-24              fp-8          fp             fp+8
//! compiled      sp | locals and spilled registers ..                         | fp of caller | return address |
//!                  <------------------------------ bytes --------------------------------------------------->
//! ```
//!
//! Both are those of x86-64 (`frame_x86.hpp`); other machines have other places. A compiled method uses the
//! frame pointer as it likes, but for `-XX:+PreserveFramePointer`; its size says where its caller is.

use super::registers::{Arch, Registers};
use super::space::UnwindSpace;
use super::unwinder::StackDump;
use crate::Avma;

/// How code that a runtime generated lays out its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratedCode {
    /// HotSpot's interpreter: method and bytecode stand below the frame pointer.
    JavaInterpreter,
    /// A frame of a fixed size, as HotSpot's compiled methods have it.
    Framed {
        /// Its bytes, with the return address and the caller's frame pointer below that.
        bytes: u32,
        /// From this instruction on it is set up.
        from: Avma,
    },
}

/// A frame of an interpreter, as the stack has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpretedFrame {
    /// Which frame of the walk it is; 0 is the innermost.
    pub depth: usize,
    /// What stands where the interpreter keeps its method: HotSpot's `Method`.
    pub method: u64,
    /// Where it is in the method's bytecodes, as an address; 0 for a method in C.
    pub bytecode: u64,
}

/// What a step found besides the caller.
pub(super) struct GeneratedStep {
    pub(super) interpreted: Option<InterpretedFrame>,
}

/// Bytes of a method's bytecodes at most (the class file format).
const MOST_BYTECODES: u64 = 65_536;
/// A sender's stack pointer this far above its callee's frame is none: arguments lie between.
const MOST_ARGUMENTS: u64 = 64 * 1024;
/// r13 by DWARF number: the interpreter's bytecode pointer.
const BYTECODE_REGISTER: u8 = 13;

/// Goes to the caller of generated code; none where the frame is not as described.
pub(super) fn step(
    space: &UnwindSpace,
    code: GeneratedCode,
    interrupted: bool,
    registers: &mut Registers,
    stack: &StackDump<'_>,
) -> Option<GeneratedStep> {
    if registers.arch() != Arch::X86_64 {
        return None;
    }
    match code {
        GeneratedCode::JavaInterpreter => interpreter(space, interrupted, registers, stack),
        GeneratedCode::Framed { bytes, from } => {
            framed(space, (bytes, from), interrupted, registers, stack)
        }
    }
}

fn interpreter(
    space: &UnwindSpace,
    interrupted: bool,
    registers: &mut Registers,
    stack: &StackDump<'_>,
) -> Option<GeneratedStep> {
    let frame = registers.frame_pointer()?;
    let top = registers.stack_pointer()?;
    // Method and bytecode are part of the frame, so the stack pointer is below them.
    if !frame.is_multiple_of(8) || frame.checked_sub(64).is_none_or(|lowest| lowest < top) {
        return None;
    }
    let word = |address: u64| stack.read(address).ok();
    let return_address = word(frame.checked_add(8)?)?;
    if !space.is_return_address(Avma(return_address)) {
        return None;
    }
    let caller = frame.checked_add(16)?;
    let sender = word(frame - 8)?;
    let near = sender.is_multiple_of(8)
        && sender.checked_sub(caller).is_some_and(|arguments| arguments <= MOST_ARGUMENTS);
    let saved = word(frame - 64)?;
    let current = registers.get(BYTECODE_REGISTER).filter(|_| interrupted && saved != 0);
    let bytecode = current.filter(|current| current.abs_diff(saved) < MOST_BYTECODES);
    let interpreted = InterpretedFrame {
        depth: 0,
        method: word(frame - 24)?,
        bytecode: bytecode.unwrap_or(saved),
    };
    let stack_pointer = if near { sender } else { caller };
    *registers = Registers::new(Arch::X86_64, return_address, stack_pointer, word(frame)?);
    Some(GeneratedStep { interpreted: Some(interpreted) })
}

fn framed(
    space: &UnwindSpace,
    (bytes, from): (u32, Avma),
    interrupted: bool,
    registers: &mut Registers,
    stack: &StackDump<'_>,
) -> Option<GeneratedStep> {
    let top = registers.stack_pointer()?;
    let whole = Some(u64::from(bytes)).filter(|bytes| *bytes >= 16);
    // Where the return address may be above the stack pointer, and whether the caller's frame pointer is
    // below it: nothing was pushed yet, the frame pointer was, all of the frame is there.
    let (bare, pushed) = (Some((0, false)), Some((8, true)));
    let full = whole.map(|bytes| (bytes - 8, true));
    let places = match (interrupted, registers.instruction_pointer() < from) {
        (false, _) => [full, None, None],
        (true, true) => [bare, pushed, full],
        // Near its end a function has taken its frame down.
        (true, false) => [full, bare, pushed],
    };
    let found = places.into_iter().flatten().find_map(|(above, has_pointer)| {
        let place = top.checked_add(above)?;
        let return_address = stack.read(place).ok()?;
        if !space.is_return_address(Avma(return_address)) {
            return None;
        }
        let frame = if has_pointer {
            stack.read(place.checked_sub(8)?).ok()?
        } else {
            registers.frame_pointer()?
        };
        Some((return_address, place.checked_add(8)?, frame))
    });
    let (return_address, above, frame) = found?;
    *registers = Registers::new(Arch::X86_64, return_address, above, frame);
    Some(GeneratedStep { interpreted: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CodeMap, Outcome, Unwinder};

    const STACK: u64 = 0x8000;

    /// Native code at 0x1000, the interpreter at 0x2000, a compiled method of 32 bytes at 0x3000.
    fn space() -> (UnwindSpace, CodeMap<GeneratedCode>) {
        let (mut space, mut generated) = (UnwindSpace::new(), CodeMap::default());
        space.add_code(Avma(0x1000), 0x3000);
        generated.insert(0x2000..0x3000, GeneratedCode::JavaInterpreter);
        let framed = GeneratedCode::Framed { bytes: 32, from: Avma(0x3010) };
        generated.insert(0x3000..0x4000, framed);
        (space, generated)
    }

    type Interpreted = (usize, u64, u64);

    fn walk(registers: Registers, words: &[u64]) -> (Vec<u64>, Vec<Interpreted>, Outcome) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let stack = StackDump { base: Avma(STACK), bytes: &bytes };
        let (mut unwinder, mut frames) = (Unwinder::new(), Vec::new());
        let (space, generated) = space();
        let code = (&space, &generated);
        let unwound = unwinder.unwind_generated(code, registers, stack, &mut frames);
        let interpreted = unwinder.interpreted().iter();
        let interpreted = interpreted.map(|frame| (frame.depth, frame.method, frame.bytecode));
        let addresses = frames.iter().map(|frame| frame.address().0).collect();
        (addresses, interpreted.collect(), unwound.outcome)
    }

    fn at(instruction: u64, frame: u64) -> Registers {
        Registers::new(Arch::X86_64, instruction, STACK, frame)
    }

    /// An interpreter's frame, whose frame pointer is that of the word before the last but one.
    fn interpreted(method: u64, bytecode: u64, sender: u64, caller: u64, back: u64) -> [u64; 10] {
        [bytecode, 1, 2, 3, 4, method, 0, sender, caller, back]
    }

    #[test]
    fn an_interpreters_frame_has_its_method() {
        // Interpreted, called by a compiled method that uses the frame pointer otherwise, called by native
        // code. The compiled frame begins 16 bytes above the interpreter's: an argument lies between.
        let mut stack = interpreted(0x9900, 0x7010, STACK + 96, 5, 0x3100).to_vec();
        stack.extend([11, 12]);
        stack.extend([21, 22, 0x8090, 0x1200]);
        stack.extend([31, 32, 0, 0x1300]);
        let mut registers = at(0x2100, STACK + 64);
        let (frames, found, outcome) = walk(registers, &stack);
        assert_eq!(frames, [0x2100, 0x3100, 0x1200, 0x1300]);
        assert_eq!((found, outcome), (vec![(0, 0x9900, 0x7010)], Outcome::Complete));
        // The register is newer than what was saved; a register that holds something else is not.
        registers.set(13, 0x7015);
        assert_eq!(walk(registers, &stack).1, [(0, 0x9900, 0x7015)]);
        registers.set(13, STACK);
        registers.set(13, 0x70_0000);
        assert_eq!(walk(registers, &stack).1, [(0, 0x9900, 0x7010)]);
    }

    #[test]
    fn interpreted_frames_call_each_other() {
        let mut stack = interpreted(0x9900, 0x7010, 0, STACK + 80 + 64, 0x2200).to_vec();
        stack.extend(interpreted(0x9a00, 0x7110, 0, 0, 0x1200));
        let (frames, found, outcome) = walk(at(0x2100, STACK + 64), &stack);
        assert_eq!(frames, [0x2100, 0x2200, 0x1200]);
        assert_eq!(found, [(0, 0x9900, 0x7010), (1, 0x9a00, 0x7110)]);
        assert_eq!(outcome, Outcome::Complete);
    }

    #[test]
    fn a_compiled_method_that_sets_up_its_frame_or_takes_it_down() {
        // (instruction, stack): nothing pushed, frame pointer pushed, set up, taken down but for that.
        let beyond = [0x1300; 4];
        for (instruction, words) in [
            (0x3004, vec![0x1200, 7, 7, 7]),
            (0x3008, vec![6, 0x1200, 7, 7]),
            (0x3020, vec![1, 2, 6, 0x1200]),
            (0x3f00, vec![6, 0x1200, 7, 7]),
            (0x3f01, vec![0x1200, 7, 7, 7]),
        ] {
            let mut stack = words.clone();
            stack.extend(if instruction == 0x3020 { &beyond[..] } else { &[7; 4] });
            let (frames, _, _) = walk(at(instruction, 6), &stack);
            assert_eq!(frames.get(..2), Some(&[instruction, 0x1200][..]), "{instruction:#x}");
        }
    }

    #[test]
    fn frames_that_are_not_as_described() {
        // A frame pointer below the stack pointer, not aligned, and one whose return address is no code.
        for frame in [STACK - 8, STACK + 65, STACK + 64, u64::MAX - 7, 0] {
            let stack = interpreted(0x9900, 0x7010, 0, 0, 0x5000);
            let (frames, found, _) = walk(at(0x2100, frame), &stack);
            assert_eq!((frames.len(), found), (1, vec![]), "{frame:#x}");
        }
        let (frames, _, _) = walk(at(0x3020, 3), &[1, 2, 3, 0x5000]);
        assert_eq!(frames.len(), 1);
    }
}
