//! How code leaves a function: the call before a return address, and the jumps out of a function.
//!
//! ```text
//! A:  ...                          B:  ...
//!     call B    <- call_before         je   C      <- jumps: to C
//! R:  ...                              jmp  *%rax  <- jumps: anywhere
//! ```

use iced_x86::{Decoder, DecoderOptions, FlowControl};

/// Where a jump or a call leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An address of the same module.
    Address(u64),
    /// The function whose address the loader writes into this slot.
    Slot(u64),
}

/// A jump, and where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jump {
    /// Address of the instruction.
    pub(super) from: u64,
    /// Where it leads.
    pub(super) to: Target,
}

/// The jumps in a piece of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Jumps {
    /// Those that leave it, by address.
    pub(super) out: Vec<Jump>,
    /// Whether it also jumps to addresses that it computes or loads.
    pub(super) computed: bool,
    /// Whether some of it could not be read, so that jumps may be missing.
    pub(super) unread: bool,
}

/// The jumps in code of x86-64 that begins at `start`.
pub(super) fn jumps_x86(bytes: &[u8], start: u64) -> Jumps {
    let end = start.saturating_add(bytes.len() as u64);
    let mut jumps = Jumps::default();
    for instruction in &mut Decoder::with_ip(64, bytes, start, DecoderOptions::NONE) {
        let to = match instruction.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                (!(start..end).contains(&target)).then_some(Target::Address(target))
            }
            FlowControl::IndirectBranch => {
                let slot = slot(&instruction);
                jumps.computed |= slot.is_none();
                slot
            }
            _ => {
                // What is no instruction is data, and the rest may be out of step.
                jumps.unread |= instruction.is_invalid();
                None
            }
        };
        jumps.out.extend(to.map(|to| Jump { from: instruction.ip(), to }));
    }
    jumps
}

/// The slot at a fixed distance through which an instruction jumps or calls.
fn slot(instruction: &iced_x86::Instruction) -> Option<Target> {
    instruction
        .is_ip_rel_memory_operand()
        .then(|| Target::Slot(instruction.ip_rel_memory_address()))
}

/// Bytes of a call of x86-64 whose target stands in the code: `ff 15` and a distance.
pub(super) const LONGEST_CALL: u64 = 6;

/// What bytes that end at a return address seem to call: the last bytes of another instruction may look
/// like a call, see [`last_call_x86`].
pub(super) fn call_before_x86(bytes: &[u8], return_address: u64) -> Option<Target> {
    let (opcode, distance) = bytes.split_last_chunk::<4>()?;
    let to = return_address.wrapping_add_signed(i64::from(i32::from_le_bytes(*distance)));
    match opcode {
        [.., 0xe8] => Some(Target::Address(to)),
        [.., 0xff, 0x15] => Some(Target::Slot(to)),
        _ => None,
    }
}

/// What the last instruction of code calls that begins with a function and ends at a return address.
pub(super) fn last_call_x86(bytes: &[u8], start: u64) -> Option<Target> {
    let end = start.saturating_add(bytes.len() as u64);
    let mut code = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let last = code.iter().last().filter(|last| last.next_ip() == end)?;
    match last.flow_control() {
        FlowControl::Call => Some(Target::Address(last.near_branch_target())),
        FlowControl::IndirectCall => slot(&last),
        _ => None,
    }
}

/// The jumps in code of aarch64 that begins at `start` (Arm Architecture Reference Manual, section C4.1,
/// branches).
pub(super) fn jumps_aarch64(bytes: &[u8], start: u64) -> Jumps {
    let end = start.saturating_add(bytes.len() as u64);
    let mut jumps = Jumps::default();
    for (index, word) in (0_u64..).zip(bytes.as_chunks::<4>().0) {
        let (word, from) = (u32::from_le_bytes(*word), start.wrapping_add(index * 4));
        let distance = match word {
            // b
            _ if word >> 26 == 0b00_0101 => signed(word, 0, 26),
            // b.cond and bc.cond; cbz and cbnz
            _ if word >> 24 == 0b0101_0100 || word & 0x7e00_0000 == 0x3400_0000 => {
                signed(word, 5, 19)
            }
            // tbz and tbnz
            _ if word & 0x7e00_0000 == 0x3600_0000 => signed(word, 5, 14),
            // br, and its forms that check a signed pointer
            _ if word & 0xfeff_f000 == 0xd61f_0000 => {
                jumps.computed = true;
                continue;
            }
            _ => continue,
        };
        let to = from.wrapping_add_signed(distance.saturating_mul(4));
        if !(start..end).contains(&to) {
            jumps.out.push(Jump { from, to: Target::Address(to) });
        }
    }
    jumps
}

/// What the word before a return address calls, if it is a `bl`.
pub(super) fn call_before_aarch64(word: [u8; 4], return_address: u64) -> Option<Target> {
    let word = u32::from_le_bytes(word);
    let from = return_address.wrapping_sub(4);
    (word >> 26 == 0b10_0101)
        .then(|| Target::Address(from.wrapping_add_signed(signed(word, 0, 26).saturating_mul(4))))
}

/// The signed number of `width` bits that begins at bit `low`.
fn signed(word: u32, low: u32, width: u32) -> i64 {
    let top = word << (32 - low - width);
    i64::from(top.cast_signed() >> (32 - width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(from: u64, to: u64) -> Jump {
        Jump { from, to: Target::Address(to) }
    }

    #[test]
    fn only_jumps_that_leave_the_code_count() {
        // L: test edi, edi; je L; jne +0x20; jmp +0x100
        let code = [0x85, 0xff, 0x74, 0xfc, 0x75, 0x20, 0xe9, 0, 1, 0, 0];
        let jumps = jumps_x86(&code, 0x1000);
        assert_eq!(jumps.out, [out(0x1004, 0x1026), out(0x1006, 0x110b)]);
        assert!(!jumps.computed && !jumps.unread);
        // call +0; ret: calls do not leave
        assert_eq!(jumps_x86(&[0xe8, 0, 0, 0, 0, 0xc3], 0x1000), Jumps::default());
    }

    #[test]
    fn a_slot_is_a_target_and_a_register_leads_anywhere() {
        // jmp [rip+0x10]
        let through = jumps_x86(&[0xff, 0x25, 0x10, 0, 0, 0], 0x1000);
        let to = Target::Slot(0x1016);
        assert_eq!(through, Jumps { out: vec![Jump { from: 0x1000, to }], ..Jumps::default() });
        // jmp rax; jmp [rax]; jmp [rax*8+0x100]
        for code in [&[0xff, 0xe0][..], &[0xff, 0x20], &[0xff, 0x24, 0xc5, 0, 1, 0, 0]] {
            assert!(jumps_x86(code, 0x1000).computed, "{code:x?}");
        }
        // A byte that is no instruction, and a jump that is cut short.
        assert!(jumps_x86(&[0x06], 0x1000).unread && jumps_x86(&[0xe9, 0], 0x1000).unread);
    }

    #[test]
    fn the_call_before_a_return_address_is_read_backwards() {
        let call = |bytes: &[u8]| call_before_x86(bytes, 0x2000);
        assert_eq!(call(&[0x90, 0xe8, 0x10, 0, 0, 0]), Some(Target::Address(0x2010)));
        assert_eq!(call(&[0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff]), Some(Target::Address(0x1ff0)));
        assert_eq!(call(&[0xff, 0x15, 0x10, 0, 0, 0]), Some(Target::Slot(0x2010)));
        // call rax; call [rax+0x10]; too few bytes
        assert_eq!(call(&[0x90, 0x90, 0x90, 0x90, 0xff, 0xd0]), None);
        assert_eq!(call(&[0xff, 0x90, 0x10, 0, 0, 0]), None);
        assert_eq!(call(&[0xe8]), None);
    }

    #[test]
    fn bytes_that_look_like_a_call_are_none_when_they_end_another_instruction() {
        let last = |bytes: &[u8]| last_call_x86(bytes, 0x1000);
        assert_eq!(last(&[0x90, 0xe8, 0x10, 0, 0, 0]), Some(Target::Address(0x1016)));
        assert_eq!(last(&[0xff, 0x15, 0x10, 0, 0, 0]), Some(Target::Slot(0x1016)));
        // addr32 call, as linkers shorten a call through a slot
        assert_eq!(last(&[0x67, 0xe8, 0x10, 0, 0, 0]), Some(Target::Address(0x1016)));
        // call [rax+rbp*8+0x10]
        let indirect = [0xff, 0x94, 0xe8, 0x10, 0, 0, 0];
        assert_eq!(call_before_x86(&indirect[1..], 0x1007), Some(Target::Address(0x1017)));
        assert_eq!(last(&indirect), None);
        // mov rax, 0x10e8000000
        assert_eq!(last(&[0x48, 0xb8, 0, 0, 0, 0xe8, 0x10, 0, 0, 0]), None);
        // A call that is cut short.
        assert_eq!(last(&[0xe8, 0x10, 0]), None);
        assert_eq!(last(&[]), None);
    }

    #[test]
    fn branches_of_aarch64_are_known_by_their_words() {
        let jumps = |words: &[u32]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            jumps_aarch64(&bytes, 0x1000)
        };
        // cbz x0, .+0x40; b.eq .; tbnz w1, #3, .-0x20; b .-4; ret
        let code = [0xb400_0200, 0x5400_0000, 0x371f_ff01, 0x17ff_ffff, 0xd65f_03c0];
        let found = jumps(&code);
        assert_eq!(found.out, [out(0x1000, 0x1040), out(0x1008, 0xfe8)]);
        assert!(!found.computed);
        // b .+0x1000; bl .+8; blr x1
        assert_eq!(jumps(&[0x1400_0400, 0x9400_0002, 0xd63f_0020]).out, [out(0x1000, 0x2000)]);
        // br x16; braa x16, x17
        assert!(jumps(&[0xd61f_0200]).computed && jumps(&[0xd71f_0a11]).computed);
        // bl .-8
        let call = call_before_aarch64(0x97ff_fffe_u32.to_le_bytes(), 0x1004);
        assert_eq!(call, Some(Target::Address(0xff8)));
        assert_eq!(call_before_aarch64(0xd63f_0020_u32.to_le_bytes(), 0x1004), None);
    }
}
