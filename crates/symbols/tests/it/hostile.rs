//! Damaged files: whatever is cut or changed, the answer is an error, a problem or fewer names, and never a
//! panic or a walk without end.

use std::fs;

use culprit_symbols::{
    Arch, Avma, FileOffset, ModuleImage, Registers, StackDump, Svma, UnwindSpace, Unwinder,
};

use crate::programs::Workshop;

/// Repeatable noise (xorshift64), so that a failure can be looked at.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).expect("small")).expect("small")
    }
}

/// Asks everything that can be asked of an image.
fn exercise(bytes: &[u8], addresses: &[u64]) {
    let Ok(image) = ModuleImage::from_bytes(bytes, "hostile") else { return };
    for &address in addresses {
        let found = image.symbolize(Svma(address));
        assert!(!found.frames.is_empty());
        let _ = image.svma(FileOffset(address));
    }
    let _ = (image.problems(), image.debug_file_candidates(), image.memory_bytes());
    let mut space = UnwindSpace::new();
    space.add_module(Avma(0), 1 << 30, FileOffset(0), &image);
    let mut unwinder = Unwinder::new();
    let stack: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    for &address in addresses {
        let registers = Registers::new(Arch::X86_64, address, 0x1000, 0x1010);
        let mut frames = Vec::new();
        unwinder.unwind(
            &space,
            registers,
            StackDump { base: Avma(0x1000), bytes: &stack },
            &mut frames,
        );
        assert!(!frames.is_empty());
    }
}

fn program(test: &str) -> Option<Vec<u8>> {
    let workshop = Workshop::new();
    let binary = workshop.compile(test, "inline.c", "program", &["-O2", "-g"])?;
    Some(fs::read(binary).expect("just built"))
}

const ADDRESSES: [u64; 8] = [0, 0x1060, 0x1080, 0x1100, 0x11c0, 0x1200, 0x2000, u64::MAX];

#[test]
fn a_file_cut_anywhere() {
    let Some(whole) = program("a_file_cut_anywhere") else { return };
    let cuts = (0..256).chain((256..whole.len()).step_by(97));
    for length in cuts {
        exercise(&whole[..length], &ADDRESSES);
    }
}

#[test]
fn a_file_with_changed_bytes() {
    let Some(whole) = program("a_file_with_changed_bytes") else { return };
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        // Mostly the headers, where damage does most.
        for _ in 0..1 + noise.below(8) {
            let reach = if noise.below(2) == 0 { 0x400 } else { bytes.len() };
            let at = noise.below(reach);
            bytes[at] = u8::try_from(noise.next() & 0xff).expect("a byte");
        }
        exercise(&bytes, &ADDRESSES);
    }
}

#[test]
fn section_headers_with_changed_words() {
    let Some(whole) = program("section_headers_with_changed_words") else { return };
    let word: [u8; 8] = whole[0x28..0x30].try_into().expect("e_shoff");
    let headers = usize::try_from(u64::from_le_bytes(word)).expect("small");
    let mut noise = Noise(42);
    let extremes = [0, 1, u64::MAX, u64::MAX / 2, 1 << 40, whole.len() as u64];
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        let at = headers + 8 * noise.below((whole.len() - headers) / 8);
        let value = extremes[noise.below(extremes.len())];
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        exercise(&bytes, &ADDRESSES);
    }
}

#[test]
fn what_is_no_program_is_refused() {
    for (bytes, reason) in [
        (&b""[..], "end of the file"),
        (b"#!/bin/sh\necho nothing here\n", "not an ELF file"),
        (b"\x7fELF\x09 and the rest is missing", "class"),
    ] {
        let error =
            ModuleImage::from_bytes(bytes, "script").expect_err("not a program").to_string();
        assert!(error.contains("script") && error.contains(reason), "{error}");
    }
    let folder = fs::File::open("/").expect("the root folder");
    let error = ModuleImage::open(folder, "/", None).expect_err("a folder").to_string();
    assert!(error.contains("not a regular file"), "{error}");
}
