//! Return addresses in compiled programs: those behind each call, and no function's start.

use std::fs::File;

use culprit_symbols::{Avma, FunctionPlace, Svma, UnwindSpace, find_functions};
use iced_x86::{Decoder, DecoderOptions};

use crate::programs::{Workshop, open};

const START: u64 = 0x10_0000;

fn functions(program: &std::path::Path) -> Vec<FunctionPlace> {
    let file = File::open(program).expect("it was built");
    find_functions(file, "program", &mut |_| true).expect("an ELF file")
}

#[test]
#[cfg(target_arch = "x86_64")]
fn functions_return_behind_calls_and_to_no_start_of_a_function() {
    let workshop = Workshop::new();
    for flags in [&["-O2"][..], &["-O1", "-fno-plt"], &["-O2", "-static-pie", "-fPIE"]] {
        let test = "functions_return_behind_calls";
        let Some(program) = workshop.compile(test, "dumper.c", "calls", flags) else { continue };
        let (image, bytes) = (open(&program), std::fs::read(&program).expect("it was built"));
        let functions = functions(&program);
        let first = functions.iter().map(|function| function.offset).min().expect("functions");
        let mut space = UnwindSpace::new();
        assert!(space.add_module(Avma(START), 1 << 24, first, &image));
        let address = |offset: u64| Avma(START + (offset - first.0));
        let mut calls = 0;
        for function in functions.iter().filter(|function| function.size > 0) {
            let (from, size) = (function.offset.0, function.size);
            let code = &bytes[usize::try_from(from).unwrap()..][..usize::try_from(size).unwrap()];
            for one in &mut Decoder::with_ip(64, code, from, DecoderOptions::NONE) {
                if one.is_call_near() || one.is_call_near_indirect() {
                    calls += 1;
                    assert!(
                        space.is_return_address(address(one.next_ip())),
                        "{one:?} {function:?}"
                    );
                }
            }
        }
        assert!(calls > 20, "{calls}");
        let main = functions.iter().find(|function| function.name == "main").expect("main");
        // Without space between functions it may follow a call that does not return.
        if flags.contains(&"-O2") {
            assert!(!space.is_return_address(address(main.offset.0)), "{flags:?}");
            assert!(space.follows_no_call(address(main.offset.0)));
        }
        assert!(!space.follows_no_call(Avma(START - 0x1000)), "no code");
    }
}

/// As crtstuff.c of gcc has some: a function that states no size ends with its unwind entry.
#[test]
#[cfg(target_arch = "x86_64")]
fn what_lies_behind_a_function_without_a_size_has_no_name() {
    let workshop = Workshop::new();
    let Some(program) = workshop.compile("behind_a_function", "unsized.s", "unsized", &[]) else {
        return;
    };
    let image = open(&program);
    let functions = functions(&program);
    let main = functions.iter().find(|function| function.name == "main").expect("main");
    assert_eq!(main.size, 0);
    let main = image.svma(main.offset).expect("it is loaded");
    let name = |offset: u64| {
        let frames = image.symbolize(Svma(main.0 + offset)).frames;
        frames.last().and_then(|frame| frame.function.as_deref().map(str::to_owned))
    };
    assert_eq!(name(2).as_deref(), Some("main"));
    assert_eq!([3, 63].map(name), [None, None]);
    assert_eq!(name(64).as_deref(), Some("after"));
}
