use super::*;

/// Code at 0x1000..0x2000 without unwind information, a stack at 0x8000.
fn walk(frame_pointer: u64, words: &[u64]) -> (Unwound, Vec<u64>) {
    let mut space = UnwindSpace::new();
    space.add_code(Avma(0x1000), 0x1000);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stack = StackDump { base: Avma(0x8000), bytes: &bytes };
    let registers = Registers::new(Arch::X86_64, 0x1100, 0x8000, frame_pointer);
    let mut frames = Vec::new();
    let unwound = Unwinder::new().unwind(&space, registers, stack, &mut frames);
    (unwound, frames.iter().map(|frame| frame.address().0).collect())
}

fn complete(by_frame_pointer: u32) -> Unwound {
    Unwound { outcome: Outcome::Complete, by_frame_pointer, root_is_stated: false }
}

#[test]
fn frame_pointers_lead_to_the_outermost_frame() {
    // A local, then two frames; the outer one's frame pointer is zero.
    let stack = [7, 0x8018, 0x1200, 0, 0x1300];
    assert_eq!(walk(0x8008, &stack), (complete(2), vec![0x1100, 0x1200, 0x1300]));
}

#[test]
fn a_function_that_has_not_set_up_its_frame() {
    // Interrupted at its first instruction, called from code that uses the register for something else.
    let stack = [0x1200, 5, 6];
    for other_use in [1, 0] {
        let (unwound, frames) = walk(other_use, &stack);
        assert_eq!(frames, [0x1100, 0x1200]);
        assert_eq!(unwound.by_frame_pointer, 1);
    }
}

#[test]
fn frame_pointers_that_lead_nowhere() {
    let nowhere = Outcome::Truncated(Truncation::NoRow);
    for (frame_pointer, stack) in [
        (0x8000, [0x8010, 0x9999]), // not code
        (0x8001, [0, 0]),           // not aligned
        (0x7000, [0, 0]),           // below the stack pointer
    ] {
        let (unwound, frames) = walk(frame_pointer, &stack);
        assert_eq!((unwound.outcome, frames.len()), (nowhere, 1), "{frame_pointer:#x}");
    }
    let (unwound, _) = walk(0x9000, &[0, 0]);
    assert_eq!(unwound.outcome, Outcome::Truncated(Truncation::StackEnd { address: Avma(0x9000) }));
}

#[test]
fn a_chain_that_points_at_itself_ends() {
    let (unwound, frames) = walk(0x8000, &[0x8000, 0x1200]);
    assert_eq!((unwound.outcome, frames.len()), (Outcome::Truncated(Truncation::NoRow), 2));
}
