//! A made-up process of PHP 8.2, and what happens when it lies.

use super::*;
use crate::runtimes::fake::Fake;

const BASE: u64 = 0x10_0000;
const GLOBALS: u64 = BASE;
const HEAD: u64 = GLOBALS + 488;
const MAIN: u64 = BASE + 0x1000;
const WORK: u64 = BASE + 0x1100;
const MAP: u64 = BASE + 0x1200;
const CLOSURE: u64 = BASE + 0x1300;
const CLASS: u64 = BASE + 0x1400;
const TEXTS: u64 = BASE + 0x2000;
const FRAMES: u64 = BASE + 0x3000;
const OPLINES: u64 = BASE + 0x4000;
const TOP: u32 = 1 << 17;

/// `{main}` calls `Orders::work`, which lets `array_map` call a closure.
fn process() -> Fake {
    let fake = Fake::new(BASE, 0x6000);
    text(&fake, TEXTS, b"/app/a.php");
    text(&fake, TEXTS + 0x100, b"work");
    text(&fake, TEXTS + 0x200, b"Orders");
    text(&fake, TEXTS + 0x300, b"array_map");
    text(&fake, TEXTS + 0x400, b"{closure}\0/app/a.php:7$0");
    fake.put(CLASS + 8, TEXTS + 0x200);
    function(&fake, MAIN, 2, [0, 0, TEXTS], (1, 30));
    function(&fake, WORK, 2, [TEXTS + 0x100, CLASS, TEXTS], (5, 9));
    function(&fake, MAP, 1, [TEXTS + 0x300, 0, 0xdead], (77, 78));
    function(&fake, CLOSURE, 2, [TEXTS + 0x400, 0, TEXTS], (7, 8));
    frame(&fake, 0, MAIN, TOP, 12);
    frame(&fake, 1, WORK, 0, 7);
    frame(&fake, 2, MAP, TOP, 0);
    frame(&fake, 3, CLOSURE, TOP, 8);
    fake.put(HEAD, at(3));
    fake
}

fn at(depth: u64) -> u64 {
    FRAMES + depth * 0x60
}

fn text(fake: &Fake, address: u64, text: &[u8]) {
    fake.put_bytes(address + 4, &0x16_u32.to_ne_bytes());
    fake.put(address + 16, text.len() as u64);
    fake.put_bytes(address + 24, text);
}

fn function(fake: &Fake, address: u64, kind: u8, [name, class, file]: [u64; 3], lines: (u32, u32)) {
    fake.put_bytes(address, &[kind]);
    fake.put(address + 8, name);
    fake.put(address + 16, class);
    fake.put(address + 152, file);
    fake.put_bytes(address + 160, &lines.0.to_ne_bytes());
    fake.put_bytes(address + 164, &lines.1.to_ne_bytes());
}

fn frame(fake: &Fake, depth: u64, function: u64, flags: u32, line: u32) {
    let instruction = OPLINES + depth * 32;
    fake.put(at(depth), instruction);
    fake.put(at(depth) + 24, function);
    fake.put_bytes(at(depth) + 40, &(flags | 8).to_ne_bytes());
    fake.put(at(depth) + 48, depth.checked_sub(1).map_or(0, at));
    fake.put_bytes(instruction + 24, &line.to_ne_bytes());
}

/// The frames as text, or why there are none.
fn stack(fake: &Fake, php: &mut Php) -> String {
    let mut frames = Vec::new();
    let look = match php.look(fake, &mut frames) {
        Ok(look) => look,
        Err(error) => return error.to_string(),
    };
    let describe = |frame: &InterpretedFrame| {
        let InterpretedFrame::Function { function, line } = frame else { return "|".to_owned() };
        let known = php.function(*function).expect("a known function");
        let file = known.file.as_deref().unwrap_or("C");
        format!("{}@{file}:{}", known.name, line.unwrap_or_default())
    };
    let mut words: Vec<_> = frames.iter().map(describe).collect();
    words.extend(look.changed.then(|| "changed".to_owned()));
    words.extend(look.truncated.then(|| "truncated".to_owned()));
    words.join(" ")
}

fn find(fake: &Fake) -> Php {
    Php::find(fake, GLOBALS, (8, 2)).expect("an interpreter")
}

const WHOLE: &str = "| {main}@/app/a.php:12 Orders::work@/app/a.php:7 array_map@C:0 \
                     | {closure}@/app/a.php:8";

#[test]
fn frames_have_entries_names_and_lines() {
    let fake = process();
    let mut php = find(&fake);
    assert_eq!(stack(&fake, &mut php), WHOLE);
    assert_eq!(stack(&fake, &mut php), WHOLE, "the second look knows the functions");
    fake.put(HEAD, 0);
    assert_eq!(stack(&fake, &mut php), "", "nothing runs between requests");
}

#[test]
fn a_stale_instruction_of_another_function_has_no_line() {
    let fake = process();
    fake.put(at(3), OPLINES);
    assert_eq!(stack(&fake, &mut find(&fake)), WHOLE.replace("a.php:8", "a.php:0"));
}

#[test]
fn another_function_at_the_same_address_is_seen() {
    let fake = process();
    let mut php = find(&fake);
    assert_eq!(stack(&fake, &mut php), WHOLE);
    text(&fake, TEXTS + 0x500, b"fresh");
    function(&fake, CLOSURE, 2, [TEXTS + 0x500, 0, TEXTS], (7, 8));
    assert_eq!(stack(&fake, &mut php), WHOLE.replace("{closure}", "fresh"));
}

#[test]
fn a_call_or_return_meanwhile_is_seen() {
    let fake = process();
    let mut php = find(&fake);
    assert_eq!(stack(&fake, &mut php), WHOLE);
    let (main, work) = ("| {main}@/app/a.php:12", "Orders::work@/app/a.php:7");
    let cases = [
        // The innermost returned.
        (HEAD, at(2), format!("{main} {work} array_map@C:0 changed")),
        (at(1), OPLINES + 64, format!("{main} Orders::work@/app/a.php:0 changed")),
        (at(2) + 24, WORK, format!("{main} {work} changed")),
        (at(3) + 48, at(1), format!("{main} {work} changed")),
    ];
    for (address, word, expected) in cases {
        let fake = process();
        // The first reads are the head, the frames' page, and four functions.
        fake.change_before(6, address, word);
        assert_eq!(stack(&fake, &mut php), expected, "{address:#x}");
    }
    // The innermost runs on within itself.
    let fake = process();
    fake.change_before(6, at(3), OPLINES);
    assert_eq!(stack(&fake, &mut php), WHOLE);
}

#[test]
fn a_program_that_calls_meanwhile_has_all_frames_but_the_new_ones() {
    let fake = process();
    fake.put(HEAD, at(1));
    let mut php = find(&fake);
    stack(&fake, &mut php);
    fake.change_before(4, HEAD, at(3));
    let expected = "| {main}@/app/a.php:12 Orders::work@/app/a.php:7 changed";
    assert_eq!(stack(&fake, &mut php), expected);
}

#[test]
fn frames_that_were_read_in_the_middle_of_a_call_are_left_out() {
    let fake = process();
    let mut php = find(&fake);
    fake.put(at(3) + 24, 8);
    fake.change_before(2, HEAD, at(2));
    let said = stack(&fake, &mut php);
    assert!(said.ends_with("array_map@C:0 changed"), "{said}");
}

#[test]
fn lies_are_refused() {
    let cases = [
        (at(0) + 48, at(2), "circle"),
        (at(0) + 48, at(0), "circle"),
        (HEAD, at(3) + 1, "odd"),
        (HEAD, 8, "cannot read a frame"),
        (WORK + 8, OPLINES, "not a string"),
        (at(2) + 24, 0x7000_0000, "cannot read functions"),
    ];
    for (address, word, reason) in cases {
        let fake = process();
        fake.put(address, word);
        let said = stack(&fake, &mut find(&fake));
        assert!(said.contains(reason), "{address:#x}: {said}");
    }
    // A name without end is cut, or leads out of the memory.
    let fake = process();
    fake.put(TEXTS + 0x100 + 16, u64::MAX);
    let most = usize::try_from(3 * MOST_CHARACTERS).unwrap();
    assert!(stack(&fake, &mut find(&fake)).len() < most);
    assert!(Php::find(&fake, GLOBALS, (8, 9)).is_err_and(|error| !error.is_transient()));
    assert!(Php::find(&fake, 8, (8, 2)).is_err_and(|error| error.is_transient()));
}

#[test]
fn noise_is_read_or_refused() {
    for seed in 0..2000 {
        let fake = process();
        let mut php = find(&fake);
        fake.scramble(seed);
        stack(&fake, &mut php);
    }
}
