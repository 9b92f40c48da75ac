//! Whether an address can be a return address: directly before it stands a call.
//!
//! A chain of frame pointers goes astray where a function uses the register for something else: what it then reads as
//! a return address is any word of memory. Often that is a pointer to a function, which is code but follows no call:
//!
//! ```text
//! __libc_start_call_main   ... call rax | mov edi, eax      a return address
//! .init_array              frame_dummy  | endbr64 ...       the address of a function: nothing returns to it
//! ```
//!
//! Three kinds of return addresses that follow no call are known:
//!
//! - A signal handler returns to the code that ends it. The kernel put its address on the stack.
//! - A runtime puts an address behind a no-op at the start of a function, so that one byte before it is in the
//!   function (`goexit` of Go).
//! - A call that is patched in at run time has the place of a no-op (`-mnop-mcount`, XRay).
//!
//! Only the file's bytes are looked at, once for each address.

use std::sync::{Arc, Mutex, PoisonError};

use object::elf;
use rustc_hash::FxHashMap;

use super::Elf;
use super::instruction::Code;
use crate::Svma;

/// Bytes of the longest call of x86: `ff /2` with a base, an index and a distance of four bytes.
const LONGEST_CALL: u64 = 7;

/// Bytes behind an address that tell the code which ends a signal handler.
const SIGNAL_RETURN: u64 = 9;

/// Functions begin at multiples of this, if no-ops stand before them.
const FUNCTION_ALIGNMENT: u64 = 16;

/// Answers that are kept. A large program has some ten thousand return addresses on its stacks; this is 1 MiB.
const MOST_KNOWN: usize = 1 << 16;

/// The calls of a file's code, as far as they were asked for.
#[derive(Debug)]
pub(crate) struct CallSites {
    elf: Arc<Elf>,
    code: Arc<Code>,
    known: Mutex<FxHashMap<u64, bool>>,
}

impl CallSites {
    pub(super) fn new(elf: Arc<Elf>, code: Arc<Code>) -> Self {
        Self { elf, code, known: Mutex::default() }
    }

    /// Whether a function may return to an address. True where the file has no code for it that can be read.
    pub(crate) fn may_return_to(&self, address: Svma) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&address.0) {
            return *known;
        }
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let found = self.read(address.0).unwrap_or(true);
        known.insert(address.0, found);
        found
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.capacity() * size_of::<(u64, bool)>()
    }

    fn read(&self, address: u64) -> Option<bool> {
        // The call is in the same segment as the address behind it, also if nothing follows it.
        let (last, left) = self.elf.loaded_bytes(address.checked_sub(1)?)?;
        let start = self.elf.segment_start(address - 1)?;
        let before = (address - start).min(LONGEST_CALL);
        let behind = (left - 1).min(SIGNAL_RETURN);
        let bytes = self.code.source().read("code", last + 1 - before, before + behind).ok()?;
        let (before, behind) = bytes.split_at_checked(usize::try_from(before).ok()?)?;
        let machine = self.elf.machine;
        if machine == elf::EM_X86_64.0 || machine == elf::EM_386.0 {
            return Some(returns_x86(before, behind, address));
        }
        (machine == elf::EM_AARCH64.0).then(|| returns_aarch64(before, behind, address))
    }
}

/// Whether a function may return to `address` on x86: `before` ends and `behind` begins there.
fn returns_x86(before: &[u8], behind: &[u8], address: u64) -> bool {
    // mov rax, 15 or mov eax, 15, then syscall: rt_sigreturn, as libgcc and gdb know it. The third is that of
    // i386: mov eax, 173; int 0x80; the fourth its predecessor: pop eax; mov eax, 119; int 0x80.
    const SIGNAL_RETURNS: [&[u8]; 4] = [
        &[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05],
        &[0xb8, 15, 0, 0, 0, 0x0f, 0x05],
        &[0xb8, 173, 0, 0, 0, 0xcd, 0x80],
        &[0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80],
    ];
    const NO_OPS: [&[u8]; 2] = [&[0x90], &[0x0f, 0x1f, 0x44, 0, 0]];
    is_behind_call_x86(before)
        || SIGNAL_RETURNS.iter().any(|code| behind.starts_with(code))
        || (!starts_function(address) && NO_OPS.iter().any(|code| before.ends_with(code)))
}

/// Whether code ends with a call (Intel SDM, volume 2, CALL): `e8` and a distance, or `ff /2` in its forms. Other
/// instructions may end with the same bytes; what is refuted is certain.
fn is_behind_call_x86(before: &[u8]) -> bool {
    let from_end = |length: usize| before.get(before.len().checked_sub(length)?..);
    if from_end(5).is_some_and(|call| call[0] == 0xe8) {
        return true;
    }
    (2..=7).any(|length| {
        from_end(length)
            .is_some_and(|call| call[0] == 0xff && indirect_call_length(&call[1..]) == Some(length))
    })
}

/// Bytes of an indirect call whose opcode `ff` these bytes follow (Intel SDM, volume 2, table 2-2).
fn indirect_call_length(operand: &[u8]) -> Option<usize> {
    const CALL: u8 = 2;
    let form = *operand.first()?;
    let (kind, register, base) = (form >> 6, (form >> 3) & 7, form & 7);
    if register != CALL {
        return None;
    }
    let has_index = kind != 3 && base == 4;
    let distance = match kind {
        0 if base == 5 => 4,
        // An index byte whose base says that there is none.
        0 if has_index && operand.get(1)? & 7 == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(2 + usize::from(has_index) + distance)
}

/// As [`returns_x86`], for aarch64.
fn returns_aarch64(before: &[u8], behind: &[u8], address: u64) -> bool {
    const NO_OP: u32 = 0xd503_201f;
    // mov x8, #139; svc #0: rt_sigreturn.
    const SIGNAL_RETURN: [u32; 2] = [0xd280_1168, 0xd400_0001];
    let Some(last) = before.last_chunk::<4>().map(|word| u32::from_le_bytes(*word)) else {
        return false;
    };
    let next = || behind.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    is_call_aarch64(last)
        || next().take(2).eq(SIGNAL_RETURN)
        || (last == NO_OP && !starts_function(address))
}

/// `bl`, `blr`, and the forms of `blr` that check a signed pointer (Arm Architecture Reference Manual, C4.1).
fn is_call_aarch64(word: u32) -> bool {
    let direct = word >> 26 == 0b10_0101;
    let by_register = word & 0xffff_fc1f == 0xd63f_0000;
    let checked = word & 0xfeff_f800 == 0xd63f_0800;
    direct || by_register || checked
}

/// Whether no-ops before an address may only fill the space up to a function.
fn starts_function(address: u64) -> bool {
    address.is_multiple_of(FUNCTION_ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, FlowControl};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_form_of_a_call_is_known() {
        let calls: [&[u8]; 12] = [
            &[0xe8, 1, 2, 3, 4],                      // call +0x4030201
            &[0x67, 0xe8, 1, 2, 3, 4],                // addr32 call
            &[0xff, 0xd0],                            // call rax
            &[0x41, 0xff, 0xd4],                      // call r12
            &[0x3e, 0xff, 0xd0],                      // notrack call rax
            &[0xff, 0x10],                            // call [rax]
            &[0xff, 0x14, 0xc8],                      // call [rax+rcx*8]
            &[0xff, 0x50, 0x18],                      // call [rax+0x18]
            &[0xff, 0x54, 0x24, 0x08],                // call [rsp+8]
            &[0xff, 0x15, 0x10, 0, 0, 0],             // call [rip+0x10]
            &[0xff, 0x90, 0x10, 1, 0, 0],             // call [rax+0x110]
            &[0x41, 0xff, 0x94, 0xc4, 0x10, 1, 0, 0], // call [r12+rax*8+0x110]
        ];
        for call in calls {
            let code = [&[0x55, 0x55, 0x55, 0x55, 0x55][..], call].concat();
            assert!(is_behind_call_x86(&code), "{call:02x?}");
            assert!(is_behind_call_x86(&code[code.len().saturating_sub(7)..]), "{call:02x?}");
        }
    }

    #[test]
    fn what_is_no_call_is_none() {
        let others: [&[u8]; 8] = [
            &[0xc3],                      // ret
            &[0xff, 0xe0],                // jmp rax
            &[0xff, 0x25, 0x10, 0, 0, 0], // jmp [rip+0x10]
            &[0xff, 0x30],                // push [rax]
            &[0xff, 0xc0],                // inc eax
            &[0xe9, 1, 2, 3, 4],          // jmp +0x4030201
            &[0x0f, 0x05],                // syscall
            &[0xff, 0x50],                // call [rax+...] that is cut short
        ];
        for other in others {
            let code = [&[0x55, 0x55, 0x55, 0x55, 0x55][..], other].concat();
            assert!(!is_behind_call_x86(&code), "{other:02x?}");
        }
        assert!(!is_behind_call_x86(&[]) && !is_behind_call_x86(&[0xd0]));
    }

    proptest! {
        /// Whatever the processor takes for a near call is known as one, whatever stands before it.
        #[test]
        fn calls_are_those_of_a_disassembler(
            before in prop::collection::vec(any::<u8>(), 0..8),
            opcode in prop::sample::select(vec![0xe8_u8, 0xff]),
            operand in prop::collection::vec(any::<u8>(), 6),
        ) {
            let bytes = [&[opcode][..], &operand].concat();
            let one = Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE).decode();
            let near = one.is_call_near() || one.is_call_near_indirect();
            if near {
                let code = [&before[..], &bytes[..one.len()]].concat();
                prop_assert!(is_behind_call_x86(&code), "{code:02x?}");
            }
            let flow = [FlowControl::Call, FlowControl::IndirectCall].contains(&one.flow_control());
            if opcode == 0xff && !one.is_invalid() {
                let length = indirect_call_length(&operand);
                prop_assert_eq!(length, (flow && near).then_some(one.len()));
            }
        }
    }

    #[test]
    fn return_addresses_that_a_kernel_or_a_runtime_made() {
        let padding = [0x66, 0x0f, 0x1f, 0x44, 0, 0];
        let restore = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
        assert!(returns_x86(&padding, &restore, 0x1000));
        // A function, at a multiple of 16 behind no-ops: nothing returns to its start.
        let function = [0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0, 0, 0, 0];
        assert!(!returns_x86(&padding, &function, 0x1000));
        assert!(!returns_x86(&[0xc3, 0x90], &function, 0x1000));
        // `goexit` of Go begins with a no-op, and is returned to behind it; a call that is patched in.
        assert!(returns_x86(&[0xcc, 0xcc, 0x90], &[0xe8, 0, 0, 0, 0], 0x1001));
        assert!(returns_x86(&[0x0f, 0x1f, 0x44, 0, 0], &function, 0x1005));
    }

    #[test]
    fn words_of_aarch64() {
        let returns = |last: u32, next: [u32; 2], address| {
            let next: Vec<u8> = next.iter().flat_map(|word| word.to_le_bytes()).collect();
            returns_aarch64(&last.to_le_bytes(), &next, address)
        };
        let other = [0xd65f_03c0, 0xd503_201f];
        // bl .-8; blr x1; blraa x1, x2; blraaz x1
        for call in [0x97ff_fffe, 0xd63f_0020, 0xd73f_0822, 0xd63f_083f] {
            assert!(returns(call, other, 0x1000), "{call:#x}");
        }
        // b .+4; br x16; ret; nop before a function
        for word in [0x1400_0001, 0xd61f_0200, 0xd65f_03c0, 0xd503_201f] {
            assert!(!returns(word, other, 0x1000), "{word:#x}");
        }
        assert!(returns(0xd503_201f, other, 0x1004), "a no-op in a function");
        assert!(returns(0xd503_201f, [0xd280_1168, 0xd400_0001], 0x1000), "the end of a signal");
        assert!(!returns_aarch64(&[0, 0], &[], 0x1002));
    }
}
