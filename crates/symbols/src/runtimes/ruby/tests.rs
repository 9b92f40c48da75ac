//! A made-up process of Ruby 3.3, and what happens when it lies.

use super::*;
use crate::runtimes::fake::Fake;

const BASE: u64 = 0x10_0000;
const DATA: u64 = BASE;
const VM_AT: u64 = DATA + 0x80;
const SYMBOLS: u64 = DATA + 0x100;
const VM: u64 = BASE + 0x1000;
const RACTOR: u64 = BASE + 0x2000;
const SECOND_RACTOR: u64 = BASE + 0x2300;
const MAIN: u64 = BASE + 0x3000;
const OTHER: u64 = BASE + 0x3100;
const THIRD: u64 = BASE + 0x3200;
const NATIVE: u64 = BASE + 0x3800;
const PTHREADS: u64 = BASE + 0x4000;
const CONTEXTS: u64 = BASE + 0x7000;
const STACK: u64 = BASE + 0x8000;
const STACK_BYTES: u64 = 0x1000;
const ENVIRONMENTS: u64 = BASE + 0xa000;
const ISEQS: u64 = BASE + 0xb000;
const TEXTS: u64 = BASE + 0xc000;
const METHODS: u64 = BASE + 0xd000;
const NAMES: u64 = BASE + 0xe000;
const SIZE: usize = 0x1_4000;

const THREADS_WITHIN: u64 = 0x100;
const PLACE_WITHIN: u64 = 0x1b0;
const MAIN_TID: u32 = 77;

/// `<main>` calls `each`, which is written in C and calls a block; a second thread of the same
/// ractor, and one of another, run nothing.
fn process() -> Fake {
    let fake = Fake::new(BASE, SIZE);
    fake.put(VM_AT, VM);
    fake.put(VM + 40, MAIN);
    ring(&fake, &[RACTOR + THREADS_WITHIN, MAIN, OTHER]);
    ring(&fake, &[SECOND_RACTOR + THREADS_WITHIN, THIRD]);
    ring(&fake, &[VM + 8, RACTOR + PLACE_WITHIN, SECOND_RACTOR + PLACE_WITHIN]);
    thread(&fake, 0, MAIN, RACTOR);
    thread(&fake, 1, OTHER, RACTOR);
    thread(&fake, 2, THIRD, SECOND_RACTOR);
    text(&fake, 0, b"/app/a.rb");
    text(&fake, 1, b"<main>");
    text(&fake, 2, b"block in <main>");
    text(&fake, 3, b"each");
    text(&fake, 4, b"+");
    iseq(&fake, 0, 1, &[(0, 1), (3, 2), (8, 4)]);
    iseq(&fake, 1, 2, &[(0, 3)]);
    // The innermost is the first in memory, and the outermost stands for nothing.
    frame(&fake, 3, ISEQS, DUMMY | FINISH, 0);
    frame(&fake, 2, ISEQS, 0x4444_0001 | FINISH, 8);
    frame(&fake, 1, 0, C_METHOD | C_FRAME, 0);
    frame(&fake, 0, ISEQS + 0x200, 0x2222_0001 | FINISH, 0);
    method(&fake);
    names(&fake);
    fake
}

fn ring(fake: &Fake, members: &[u64]) {
    for (at, member) in members.iter().enumerate() {
        let next = members[(at + 1) % members.len()];
        fake.put(*member, next);
        fake.put(next + 8, *member);
    }
}

fn thread(fake: &Fake, number: u64, address: u64, ractor: u64) {
    let (native, pthread) = (NATIVE + number * 0x40, PTHREADS + number * 0x400);
    let context = CONTEXTS + number * 0x100;
    fake.put(address + 24, ractor);
    fake.put(address + 32, VM);
    fake.put(address + 40, native);
    fake.put(address + 48, context);
    fake.put(native + 16, pthread);
    fake.put(pthread, pthread);
    fake.put(pthread + 16, pthread);
    let (own, arm) = (0x2d0, 0xd0);
    let tid_at = if cfg!(target_arch = "aarch64") { arm } else { own };
    fake.put_bytes(
        pthread + tid_at,
        &(MAIN_TID + u32::try_from(number).expect("few")).to_ne_bytes(),
    );
    let frames = if number == 0 { 4 } else { 0 };
    fake.put(context, STACK);
    fake.put(context + 8, STACK_BYTES / 8);
    fake.put(context + 16, STACK + STACK_BYTES - frames * 56);
    fake.put(context + 48, address);
}

fn text_at(number: u64) -> u64 {
    TEXTS + number * 0x80
}

fn text(fake: &Fake, number: u64, text: &[u8]) {
    fake.put(text_at(number), 5);
    fake.put(text_at(number) + 16, text.len() as u64);
    fake.put_bytes(text_at(number) + 24, text);
}

/// A function with a name, and where each line begins; each instruction is a word.
fn iseq(fake: &Fake, number: u64, name: u64, lines: &[(u32, u32)]) {
    let (at, size) = (ISEQS + number * 0x200, 20_u32);
    let (body, entries, positions) = (at + 0x20, at + 0x120, at + 0x160);
    fake.put(at, 0x1a | 7 << 12);
    fake.put(at + 16, body);
    fake.put_bytes(body + 4, &size.to_ne_bytes());
    fake.put(body + 8, at + 0x1a0);
    fake.put(body + 64, text_at(0));
    fake.put(body + 80, text_at(name));
    fake.put(body + 112, entries);
    fake.put(body + 120, positions);
    fake.put(body + 128, lines.len() as u64);
    for ((start, line), at) in lines.iter().zip(0..) {
        fake.put_bytes(entries + at * 12, &line.to_ne_bytes());
        fake.put_bytes(positions + at * 4, &start.to_ne_bytes());
    }
}

fn frame_at(depth: u64) -> u64 {
    STACK + STACK_BYTES - (4 - depth) * 56
}

/// A frame, counted from the innermost, before whose instruction of that number the thread is.
fn frame(fake: &Fake, depth: u64, iseq: u64, flags: u64, instruction: u64) {
    let environment = ENVIRONMENTS + depth * 0x20;
    fake.put(frame_at(depth), if iseq == 0 { 0 } else { iseq + 0x1a0 + instruction * 8 });
    fake.put(frame_at(depth) + 16, iseq);
    fake.put(frame_at(depth) + 32, environment + 16);
    fake.put(environment, METHODS);
    fake.put(environment + 16, flags);
}

/// The method `each`, whose name has the number 300.
fn method(fake: &Fake) {
    fake.put(METHODS, 0x1a | 6 << 12);
    fake.put(METHODS + 16, METHODS + 0x40);
    fake.put(METHODS + 0x40 + 32, 300 << 4 | 3);
}

fn names(fake: &Fake) {
    fake.put(SYMBOLS, 400);
    fake.put(SYMBOLS + 8, NAMES);
    fake.put(SYMBOLS + 16, NAMES + 0x100);
    fake.put(SYMBOLS + 24, NAMES);
    array(fake, NAMES + 0x100, NAMES + 0x140, 1);
    fake.put(NAMES + 0x140, NAMES + 0x180);
    array(fake, NAMES + 0x180, NAMES + 0x200, 1024);
    fake.put(NAMES + 0x200 + 300 * 16, text_at(3));
    fake.put(NAMES + 0x200 + u64::from(b'+') * 16, text_at(4));
}

fn array(fake: &Fake, address: u64, elements: u64, count: u64) {
    fake.put(address, 7);
    fake.put(address + 16, count);
    fake.put(address + 32, elements);
}

fn place(by_symbols: bool) -> RubyPlace {
    let symbol = |address| Some(address).filter(|_| by_symbols);
    RubyPlace { vm: symbol(VM_AT), symbols: symbol(SYMBOLS), data: DATA..DATA + 0x1000 }
}

fn find(fake: &Fake, by_symbols: bool) -> Ruby {
    Ruby::find(fake, &place(by_symbols), (3, 3)).expect("an interpreter")
}

/// The frames of a thread as text, or why there are none.
fn stack(fake: &Fake, ruby: &mut Ruby, tid: u32) -> String {
    let mut frames = Vec::new();
    let look = match ruby.look_at(fake, tid, &mut frames) {
        Ok(Some(look)) => look,
        Ok(None) => return "none".to_owned(),
        Err(error) => return error.to_string(),
    };
    let describe = |frame: &InterpretedFrame| {
        let InterpretedFrame::Function { function, line } = frame else { return "|".to_owned() };
        let known = ruby.function(*function).expect("a known function");
        let file = known.file.as_deref().unwrap_or("C");
        format!("{}@{file}:{}", known.name, line.unwrap_or_default())
    };
    let mut words: Vec<_> = frames.iter().map(describe).collect();
    words.extend(look.changed.then(|| "changed".to_owned()));
    words.extend(look.truncated.then(|| "truncated".to_owned()));
    words.join(" ")
}

const WHOLE: &str = "| <main>@/app/a.rb:2 each@C:0 | block in <main>@/app/a.rb:3";

#[test]
fn frames_have_entries_names_and_lines() {
    let fake = process();
    for by_symbols in [true, false] {
        let mut ruby = find(&fake, by_symbols);
        assert_eq!(stack(&fake, &mut ruby, MAIN_TID), WHOLE);
        assert_eq!(stack(&fake, &mut ruby, MAIN_TID), WHOLE, "the second look knows all");
        assert_eq!(stack(&fake, &mut ruby, MAIN_TID + 1), "", "of the same ractor");
        assert_eq!(stack(&fake, &mut ruby, MAIN_TID + 2), "", "of another ractor");
        assert_eq!(stack(&fake, &mut ruby, 5), "none");
    }
}

#[test]
fn threads_come_and_go() {
    let fake = process();
    let mut ruby = find(&fake, true);
    ring(&fake, &[RACTOR + THREADS_WITHIN, MAIN]);
    // Its number is another thread's now.
    fake.put_bytes(
        PTHREADS + 0x400 + if cfg!(target_arch = "aarch64") { 0xd0 } else { 0x2d0 },
        &[9],
    );
    assert_eq!(stack(&fake, &mut ruby, MAIN_TID + 1), "none");
    ring(&fake, &[RACTOR + THREADS_WITHIN, MAIN, OTHER]);
    assert_eq!(stack(&fake, &mut ruby, 9), "");
    // A thread of Ruby that has no thread of the kernel for now.
    fake.put(OTHER + 40, 0);
    assert_eq!(stack(&fake, &mut find(&fake, true), 9), "none");
}

#[test]
fn another_function_at_the_same_address_is_seen() {
    let fake = process();
    let mut ruby = find(&fake, true);
    assert_eq!(stack(&fake, &mut ruby, MAIN_TID), WHOLE);
    text(&fake, 5, b"fresh");
    iseq(&fake, 1, 5, &[(0, 30)]);
    let other = WHOLE.replace("block in <main>@/app/a.rb:3", "fresh@/app/a.rb:30");
    assert_eq!(stack(&fake, &mut ruby, MAIN_TID), other);
}

#[test]
fn a_call_or_return_meanwhile_is_seen() {
    let reads = {
        let (fake, mut ruby) = (process(), find(&process(), true));
        stack(&fake, &mut ruby, MAIN_TID);
        fake.change_before(usize::MAX, VM_AT, VM);
        stack(&fake, &mut ruby, MAIN_TID);
        fake.reads()
    };
    // The last reads: frames, innermost frame, context, number of the thread, and of the method
    // its entry and the number of its name.
    let again = reads - 6;
    let main = "| <main>@/app/a.rb:2";
    let cases = [
        // The innermost returned.
        (CONTEXTS + 16, frame_at(1), &*format!("{main} each@C:0 changed")),
        // It called something.
        (CONTEXTS + 16, frame_at(0) - 56, &*format!("{WHOLE} changed")),
        (MAIN + 48, CONTEXTS + 0x100, "changed"),
        (frame_at(2), ISEQS + 0x1a0 + 24, "| <main>@/app/a.rb:1 changed"),
        (frame_at(0) + 16, ISEQS, &*format!("{main} each@C:0 changed")),
        (frame_at(1) + 32, 8, &*format!("{main} changed")),
    ];
    for (address, word, expected) in cases {
        let (fake, mut ruby) = (process(), find(&process(), true));
        stack(&fake, &mut ruby, MAIN_TID);
        fake.change_before(again, address, word);
        assert_eq!(stack(&fake, &mut ruby, MAIN_TID), expected, "{address:#x}");
    }
    // The innermost runs on within itself.
    let (fake, mut ruby) = (process(), find(&process(), true));
    stack(&fake, &mut ruby, MAIN_TID);
    fake.change_before(again, frame_at(0), ISEQS + 0x200 + 0x1a0 + 8);
    assert_eq!(stack(&fake, &mut ruby, MAIN_TID), WHOLE);
}

#[test]
fn frames_that_were_read_in_the_middle_of_a_call_are_left_out() {
    // Of which nothing can be made, and which are gone a moment later.
    let (fake, mut ruby) = (process(), find(&process(), true));
    assert_eq!(stack(&fake, &mut ruby, MAIN_TID), WHOLE);
    fake.put(frame_at(0) + 16, ISEQS + 8);
    fake.change_before(3, CONTEXTS + 16, frame_at(1));
    assert_eq!(stack(&fake, &mut ruby, MAIN_TID), "| <main>@/app/a.rb:2 each@C:0 changed");
}

#[test]
fn lies_are_refused() {
    let cases = [
        (CONTEXTS + 48, OTHER, "another thread"),
        (CONTEXTS + 16, STACK - 56, "not on its stack"),
        (CONTEXTS + 16, frame_at(0) + 8, "not on its stack"),
        (CONTEXTS + 8, u64::MAX, "not on its stack"),
        (CONTEXTS + 8, STACK_BYTES / 8 + (7 << 30), "cannot read frames"),
        (frame_at(2) + 32, 0, "cannot read variables"),
        (ISEQS, 0x1a | 6 << 12, "another type"),
        (ISEQS + 16, 8, "cannot read a function"),
        (ISEQS + 0x20 + 80, ISEQS, "not a string"),
        (ISEQS + 0x20 + 128, u64::MAX, "too many"),
        (ISEQS + 0x20 + 112, 8, "cannot read a function's lines"),
    ];
    for (address, word, reason) in cases {
        let fake = process();
        let mut ruby = find(&fake, true);
        fake.put(address, word);
        let said = stack(&fake, &mut ruby, MAIN_TID);
        assert!(said.contains(reason), "{address:#x}: {said}");
    }
}

#[test]
fn an_interpreter_that_has_not_started_is_tried_again() {
    let find = |fake: &Fake, by_symbols| Ruby::find(fake, &place(by_symbols), (3, 3)).map(|_| ());
    for by_symbols in [true, false] {
        let fake = Fake::new(BASE, SIZE);
        assert_eq!(find(&fake, by_symbols), Err(InterpreterError::NotRunning("Ruby")));
        let fake = process();
        fake.put(CONTEXTS + 48, 0);
        assert_eq!(find(&fake, by_symbols), Err(InterpreterError::NotRunning("Ruby")));
        let fake = process();
        fake.put(OTHER, OTHER);
        assert!(find(&fake, by_symbols).is_err_and(|error| error.is_transient()));
    }
    let unknown = Ruby::find(&process(), &place(true), (2, 6)).map(|_| ());
    assert!(unknown.is_err_and(|error| !error.is_transient()));
}

#[test]
fn noise_is_read_or_refused() {
    for seed in 0..1000 {
        let fake = process();
        let mut ruby = find(&fake, seed % 2 == 0);
        fake.scramble(seed);
        for tid in [MAIN_TID, MAIN_TID + 1, 5] {
            stack(&fake, &mut ruby, tid);
        }
        let _ = Ruby::find(&fake, &place(seed % 2 == 0), (3, 3));
    }
}
