//! The kernel's number of a thread from its `pthread_t`, which is all that some interpreters keep:
//! Python before 3.11, Ruby before 3.1.
//!
//! A `pthread_t` points to the C library's struct of the thread. Where that has the number is no
//! interface, but has not moved for many years. Which library it is can be seen from the first
//! words, which are pointers to the struct itself or to others of its kind.
//!
//! | library | sees itself at | number at |
//! |---|---|---|
//! | glibc, x86-64 | 0 and 16 | 0x2d0 |
//! | glibc, arm64 | nowhere | 0xd0 |
//! | musl 1.2, x86-64 | 0 | 0x30, before 1.2.1 0x38 |
//! | musl, arm64 | 0 | 0x20 |
//!
//! Sources: glibc `nptl/descr.h`, musl `src/internal/pthread_impl.h`.

use super::{ProcessMemory, Struct};

/// Numbers are below 2^22 on all kernels (`PID_MAX_LIMIT`).
const LARGEST_TID: u32 = 1 << 22;

/// The number of the thread, and where it is; `None` where there is no thread, or an unknown
/// library. The caller checks that the process has such a thread.
pub(super) fn from_pthread(memory: &dyn ProcessMemory, thread: u64) -> Option<(u64, u32)> {
    let mut head = [0; 0x40];
    if thread == 0 || !thread.is_multiple_of(8) {
        return None;
    }
    memory.read(thread, &mut head).ok()?;
    let tid_at = |offset: u64| {
        let (at, mut tid) = (thread.checked_add(offset)?, [0; 4]);
        memory.read(at, &mut tid).ok()?;
        let tid = u32::from_ne_bytes(tid);
        (1..LARGEST_TID).contains(&tid).then_some((at, tid))
    };
    candidates(cfg!(target_arch = "aarch64"), thread, &Struct::new(&head))
        .iter()
        .find_map(|offset| tid_at(*offset))
}

/// Where the number may be, likeliest first.
fn candidates(arm: bool, thread: u64, head: &Struct<'_>) -> &'static [u64] {
    match (arm, head.word(0) == thread) {
        (true, false) => &[0xd0],
        (true, true) => &[0x20],
        // musl has neighbours there, which are the thread itself while it is alone, and a third.
        (false, true) if head.word(16) == thread && head.word(24) >> 33 == 0 => &[0x2d0],
        (false, true) => &[0x30, 0x38],
        (false, false) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(arm: bool, words: [u64; 8]) -> Option<u64> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        candidates(arm, 0x7f00_0000_1000, &Struct::new(&bytes)).first().copied()
    }

    #[test]
    fn libraries_differ_in_their_first_words() {
        let (own, other) = (0x7f00_0000_1000, 0x7f00_0000_2000);
        assert_eq!(first(false, [own, other, own, 1, 0, 77, 77, 0]), Some(0x2d0));
        assert_eq!(first(false, [own, other, own, own, 0, 77, 5, 0]), Some(0x30));
        assert_eq!(first(false, [own, other, other, other, 0, 77, 5, 0]), Some(0x30));
        assert_eq!(first(true, [0; 8]), Some(0xd0));
        assert_eq!(first(true, [own, own, own, 0, 5, 0, 0, 0]), Some(0x20));
        assert_eq!(first(false, [other; 8]), None);
    }
}
