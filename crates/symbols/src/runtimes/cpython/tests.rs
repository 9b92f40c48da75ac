//! A made-up process of Python 3.14, and what happens when it lies.

mod task_set;
mod tasks;

use std::cell::Cell;

use super::debug_offsets::{Group, HEAD, V3_13, V3_14};
use super::*;
use crate::runtimes::Unreadable;

const BASE: u64 = 0x10_0000;
const SIZE: usize = 1 << 18;

// Where everything is. Fields of structs are where `offset` says.
const RUNTIME: u64 = BASE;
const INTERPRETER: u64 = BASE + 0x1000;
const SUB_INTERPRETER: u64 = BASE + 0x1800;
const THREAD: u64 = BASE + 0x2000;
const SECOND_THREAD: u64 = BASE + 0x2800;
const CODE_TYPE: u64 = BASE + 0x3000;
const TYPE_NAME: u64 = BASE + 0x3100;
const ROOT: u64 = BASE + 0x4000;
const LEAF: u64 = BASE + 0x5000;
const TEXTS: u64 = BASE + 0x6000;
const TABLE: u64 = BASE + 0x7000;
const COPIES: u64 = BASE + 0x7800;
const SHIM: u64 = BASE + 0x8000;
const ROOT_FRAME: u64 = BASE + 0x9000;
const LEAF_FRAME: u64 = BASE + 0x9060;

const TID: u32 = 77;
const SECOND_TID: u32 = 78;

struct Fake {
    bytes: Vec<u8>,
    read_bytes: Cell<usize>,
}

impl ProcessMemory for Fake {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        self.read_bytes.set(self.read_bytes.get() + into.len());
        let start = address.checked_sub(BASE).and_then(|start| usize::try_from(start).ok());
        let end = start.and_then(|start| start.checked_add(into.len()));
        let bytes = start.zip(end).and_then(|(start, end)| self.bytes.get(start..end));
        into.copy_from_slice(bytes.ok_or(Unreadable::Unmapped)?);
        Ok(())
    }
}

fn offset(group: &str, field: &str) -> u64 {
    match (group, field) {
        ("runtime", "interpreters_head") => 0x800,
        ("interpreter", "next") | ("thread", "interp") => 16,
        ("interpreter", "threads_head") => 0x300,
        ("thread", "next") | ("frame", "previous") | ("object", "ob_type") => 8,
        ("thread", "current_frame") => 72,
        ("thread", "thread_id") => 152,
        ("thread", "native_thread_id") => 160,
        ("frame", "instr_ptr") => 56,
        ("frame", "tlbc_index") => 72,
        ("frame", "owner") => 78,
        ("code", "firstlineno") => 68,
        ("code", "filename") => 112,
        ("code", "name") => 120,
        ("code", "qualname") => 128,
        ("code", "linetable") => 136,
        ("code", "co_tlbc") => 192,
        ("code", "co_code_adaptive") => 208,
        ("type", "tp_name") => 24,
        ("bytes", "ob_size") | ("unicode", "length") => 16,
        ("bytes", "ob_sval") | ("unicode", "state") => 32,
        ("unicode", "asciiobject_size") => 40,
        ("frame", "stackpointer") => 64,
        ("frame", "localsplus") => 80,
        ("tuple", "ob_size") | ("list", "ob_size") => 16,
        ("tuple", "ob_item") | ("list", "ob_item") => 24,
        ("set", "table") => 32,
        ("set", "mask") => 24,
        ("generator", "gi_iframe") => 72,
        ("generator", "gi_frame_state") => 67,
        _ => 0,
    }
}

fn size(group: &str) -> u64 {
    match group {
        // The struct of texts with a pointer behind: theirs begin at 56.
        "unicode" => 64,
        "object" => 16,
        _ => 0x1000,
    }
}

impl Fake {
    /// `root` calls `größe`; the thread waits there.
    fn new(free_threaded: bool) -> Self {
        let mut fake = Self { bytes: vec![0; SIZE], read_bytes: Cell::new(0) };
        fake.put_table(V3_14, 0x030e_00f0, free_threaded);
        fake.put(RUNTIME + offset("runtime", "interpreters_head"), INTERPRETER);
        fake.put(INTERPRETER + offset("interpreter", "threads_head"), THREAD);
        fake.put_thread(THREAD, 0, TID, LEAF_FRAME);
        fake.put(CODE_TYPE + 24, TYPE_NAME);
        fake.put_bytes(TYPE_NAME, b"code\0");
        fake.put_code(ROOT, TEXTS, 10);
        fake.put_code(LEAF, TEXTS + 0x100, 20);
        // Interned ASCII, and Latin-1.
        fake.put_text(TEXTS, 0b1_1001 << 16 | 1, 40, b"root");
        fake.put_text(TEXTS + 0x100, 0b0_1001 << 16, 56, b"gr\xf6\xdfe");
        fake.put_text(TEXTS + 0x200, 0b1_1001 << 16, 40, b"orders.py");
        // One unit of the first line, four of the next, four without a line.
        let table = [0b1110_1000, 0, 0b1110_1011, 0b10, 0b1111_1011];
        fake.put(TABLE + 16, 5);
        fake.put_bytes(TABLE + 32, &table);
        fake.put_frame(SHIM, 0, BASE + 0x3200, 0, 3);
        fake.put_frame(ROOT_FRAME, SHIM, ROOT | 1, ROOT + 208 + 4, 0);
        fake.put_frame(LEAF_FRAME, ROOT_FRAME, LEAF, LEAF + 208, 0);
        fake
    }

    fn put_bytes(&mut self, address: u64, bytes: &[u8]) {
        let at = usize::try_from(address - BASE).expect("small");
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn put(&mut self, address: u64, word: u64) {
        self.put_bytes(address, &word.to_ne_bytes());
    }

    fn put_table(&mut self, groups: &[Group], version: u64, free_threaded: bool) {
        self.put_bytes(RUNTIME, b"xdebugpy");
        self.put(RUNTIME + 8, version);
        self.put(RUNTIME + 16, u64::from(free_threaded));
        let mut at = RUNTIME + HEAD as u64 * 8;
        for (group, fields) in groups {
            let words = fields.iter().map(|field| offset(group, field));
            for word in [size(group)].into_iter().chain(words) {
                self.put(at, word);
                at += 8;
            }
        }
    }

    fn put_thread(&mut self, address: u64, next: u64, tid: u32, frame: u64) {
        self.put(address + 8, next);
        self.put(address + 16, INTERPRETER);
        self.put(address + 72, frame);
        self.put(address + 160, u64::from(tid));
        if next != 0 {
            self.put(next, address);
        }
    }

    fn put_code(&mut self, address: u64, name: u64, first_line: u64) {
        self.put(address + 8, CODE_TYPE);
        self.put(address + 16, 9);
        self.put(address + 64, first_line << 32);
        self.put(address + 112, TEXTS + 0x200);
        self.put(address + 128, name);
        self.put(address + 136, TABLE);
    }

    fn put_text(&mut self, address: u64, state: u64, start: u64, text: &[u8]) {
        self.put(address + 16, text.len() as u64);
        self.put(address + 32, state);
        self.put_bytes(address + start, text);
    }

    fn put_frame(&mut self, address: u64, previous: u64, code: u64, instruction: u64, owner: u8) {
        self.put(address, code);
        self.put(address + 8, previous);
        self.put(address + 56, instruction);
        self.put_bytes(address + 78, &[owner]);
    }

    fn find(&self) -> Result<CPython, InterpreterError> {
        CPython::find(self, RUNTIME, None)
    }

    /// The frames of a thread as text, or why there are none.
    fn stack(&self, python: &mut CPython, tid: u32) -> String {
        let mut frames = Vec::new();
        let look = match python.look_at(self, tid, &mut frames) {
            Ok(Some(look)) => look,
            Ok(None) => return "none".to_owned(),
            Err(error) => return error.to_string(),
        };
        let mut words: Vec<_> = frames.iter().map(|frame| describe(python, frame)).collect();
        words.extend(look.changed.then(|| "changed".to_owned()));
        words.extend(look.truncated.then(|| "truncated".to_owned()));
        words.extend(look.several_interpreters.then(|| "several".to_owned()));
        words.join(" ")
    }

    /// What a loop awaits as text, or why it cannot be read.
    fn tasks(&self, python: &mut CPython) -> String {
        let mut frames = Vec::new();
        if let Err(error) = python.look_at_tasks(self, TID, &mut frames) {
            assert_eq!(frames, []);
            return error.to_string();
        }
        let words: Vec<_> = frames.iter().map(|frame| describe(python, frame)).collect();
        words.join(" ")
    }
}

fn describe(python: &CPython, frame: &PyFrame) -> String {
    let PyFrame::Code { code, line } = frame else { return "|".to_owned() };
    let code = python.code(*code).expect("a known function");
    let line = line.map_or_else(|| "?".to_owned(), |line| line.to_string());
    format!("{}:{line}", code.qualname)
}

/// Numbers that look random and are the same in each run.
fn noise() -> impl FnMut() -> u64 {
    let mut noise = 88172645463325252_u64;
    move || {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise
    }
}

fn stack(fake: &Fake) -> String {
    fake.stack(&mut fake.find().expect("an interpreter"), TID)
}

#[test]
fn frames_of_3_14_have_entries_names_and_lines() {
    let fake = Fake::new(false);
    let mut python = fake.find().expect("an interpreter");
    assert_eq!(python.version(), (3, 14));
    // Twice: the second look knows the functions and where the frames are.
    for _ in 0..2 {
        assert_eq!(fake.stack(&mut python, TID), "| root:11 größe:20");
    }
    let code = python.code(CodeId(0)).expect("a function");
    assert_eq!((code.file.as_str(), code.first_line), ("orders.py", 10));
    assert_eq!(python.code(CodeId(2)), None);
    let mut all = Vec::new();
    python.look(&fake, &mut all).expect("a list of threads");
    assert_eq!(
        all.iter().map(|thread| (thread.tid, thread.frames.len())).collect::<Vec<_>>(),
        [(TID, 3)]
    );
}

#[test]
fn threads_without_a_lock_run_copies_of_the_instructions() {
    let mut fake = Fake::new(true);
    let copy = BASE + 0x20_000;
    fake.put(LEAF + 192, COPIES);
    fake.put(COPIES, 2);
    fake.put(COPIES + 16, copy);
    fake.put_frame(LEAF_FRAME, ROOT_FRAME, LEAF | 1, copy + 6, 0);
    fake.put_bytes(LEAF_FRAME + 72, &1_u32.to_ne_bytes());
    assert_eq!(stack(&fake), "| root:11 größe:21");
    // There is no third copy.
    fake.put_bytes(LEAF_FRAME + 72, &2_u32.to_ne_bytes());
    assert_eq!(stack(&fake), "| root:11 changed");
}

#[test]
fn calls_that_are_being_prepared_are_left_out() {
    let mut fake = Fake::new(false);
    // The first traceable instruction is the second.
    fake.put_bytes(LEAF + 192, &1_i32.to_ne_bytes());
    assert_eq!(stack(&fake), "| root:11");
    fake.put_bytes(LEAF_FRAME + 78, &[1]);
    assert_eq!(stack(&fake), "| root:11 größe:20", "a generator's counts");
    fake.put_bytes(LEAF_FRAME - 5, &[0xfe]);
    assert_eq!(stack(&fake), "| root:11 changed", "the generator rests");
}

/// A process that runs on after so many reads.
struct RunsOn {
    before: Fake,
    after: Fake,
    reads: Cell<usize>,
}

impl ProcessMemory for RunsOn {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let left = self.reads.get();
        self.reads.set(left.saturating_sub(1));
        if left == 0 { self.after.read(address, into) } else { self.before.read(address, into) }
    }
}

#[test]
fn of_a_thread_that_returns_meanwhile_the_outermost_frames_are_those_that_stayed() {
    let mut seen = Vec::new();
    for reads in 0..40 {
        let (before, mut after) = (Fake::new(false), Fake::new(false));
        after.put(THREAD + 72, ROOT_FRAME);
        after.put(ROOT_FRAME + 56, ROOT + 208);
        let mut python = before.find().expect("an interpreter");
        let memory = RunsOn { before, after, reads: Cell::new(reads) };
        let mut frames = Vec::new();
        let look = python.look_at(&memory, TID, &mut frames).unwrap().unwrap();
        let names: Vec<_> = frames.iter().map(|frame| describe(&python, frame)).collect();
        seen.push((look.changed, names.join(" ")));
    }
    for (changed, frames) in &seen {
        let possible: &[&str] = match changed {
            false => &["| root:10", "| root:11 größe:20"],
            true => &["", "|", "| root:10", "| root:11"],
        };
        assert!(possible.contains(&frames.as_str()), "{changed}: {frames}");
    }
    assert!(seen.contains(&(true, "| root:11".to_owned())), "{seen:?}");
    assert_eq!(seen.last(), Some(&(false, "| root:11 größe:20".to_owned())));
}

#[test]
fn instructions_of_another_function_are_a_change() {
    let mut fake = Fake::new(false);
    fake.put_frame(LEAF_FRAME, ROOT_FRAME, LEAF, ROOT + 208, 0);
    assert_eq!(stack(&fake), "| root:11 changed");
    fake.put_frame(LEAF_FRAME, ROOT_FRAME, LEAF, LEAF + 208 + 12, 0);
    assert_eq!(stack(&fake), "| root:11 größe:?", "it has no line");
}

#[test]
fn another_function_in_the_same_place_is_seen() {
    let mut fake = Fake::new(false);
    let mut python = fake.find().expect("an interpreter");
    assert_eq!(fake.stack(&mut python, TID), "| root:11 größe:20");
    fake.put_text(TEXTS + 0x300, 0b1_1001 << 16, 40, b"other");
    fake.put_code(LEAF, TEXTS + 0x300, 30);
    assert_eq!(fake.stack(&mut python, TID), "| root:11 other:30");
    // An object that says the same is the same function.
    fake.put_code(LEAF, TEXTS + 0x100, 20);
    assert_eq!(fake.stack(&mut python, TID), "| root:11 größe:20");
    assert_eq!(python.code(CodeId(3)), None);
}

#[test]
fn threads_that_begin_and_end_are_seen() {
    let mut fake = Fake::new(false);
    let mut python = fake.find().expect("an interpreter");
    assert_eq!(fake.stack(&mut python, SECOND_TID), "none");
    fake.put_thread(SECOND_THREAD, THREAD, SECOND_TID, ROOT_FRAME);
    fake.put(INTERPRETER + offset("interpreter", "threads_head"), SECOND_THREAD);
    assert_eq!(fake.stack(&mut python, SECOND_TID), "| root:11");
    assert_eq!(fake.stack(&mut python, TID), "| root:11 größe:20");
    // The first one ends. Its memory still says what it said.
    fake.put(SECOND_THREAD + 8, 0);
    assert_eq!(fake.stack(&mut python, TID), "none");
    assert_eq!(fake.stack(&mut python, SECOND_TID), "| root:11");
    // Another begins where the second was.
    fake.put_thread(SECOND_THREAD, 0, SECOND_TID + 1, ROOT_FRAME);
    assert_eq!(fake.stack(&mut python, SECOND_TID + 1), "| root:11");
    assert_eq!(fake.stack(&mut python, SECOND_TID), "none");
}

#[test]
fn a_thread_that_begins_has_its_creators_number() {
    let mut fake = Fake::new(false);
    fake.put_thread(SECOND_THREAD, THREAD, TID, 0);
    fake.put(INTERPRETER + offset("interpreter", "threads_head"), SECOND_THREAD);
    let mut python = fake.find().expect("an interpreter");
    assert_eq!(fake.stack(&mut python, TID), "| root:11 größe:20");
    assert_eq!(fake.stack(&mut python, SECOND_TID), "none");
    fake.put_thread(SECOND_THREAD, THREAD, SECOND_TID, ROOT_FRAME);
    assert_eq!(fake.stack(&mut python, SECOND_TID), "| root:11");
}

#[test]
fn a_thread_can_run_two_interpreters() {
    let mut fake = Fake::new(false);
    fake.put(RUNTIME + offset("runtime", "interpreters_head"), SUB_INTERPRETER);
    fake.put(SUB_INTERPRETER + offset("interpreter", "next"), INTERPRETER);
    fake.put(SUB_INTERPRETER + offset("interpreter", "threads_head"), SECOND_THREAD);
    fake.put_thread(SECOND_THREAD, 0, TID, ROOT_FRAME);
    fake.put(SECOND_THREAD + offset("thread", "interp"), SUB_INTERPRETER);
    assert_eq!(stack(&fake), "| root:11 größe:20 | root:11 several");
    fake.put(SECOND_THREAD + offset("thread", "current_frame"), 0);
    assert_eq!(stack(&fake), "| root:11 größe:20", "it runs nothing");
}

#[test]
fn chains_without_an_end_are_errors() {
    let mut fake = Fake::new(false);
    fake.put(SHIM + 8, LEAF_FRAME);
    assert!(stack(&fake).ends_with("go round in a circle"), "{}", stack(&fake));
    fake.put(SHIM + 8, SHIM);
    assert!(stack(&fake).ends_with("go round in a circle"), "{}", stack(&fake));
    fake.put(SHIM + 8, SHIM + 1);
    assert!(stack(&fake).ends_with("its address is odd"), "{}", stack(&fake));
    let mut fake = Fake::new(false);
    fake.put(THREAD + 8, THREAD);
    assert!(matches!(
        fake.find(),
        Err(InterpreterError::Malformed { what: "the list of threads", .. })
    ));
    let mut fake = Fake::new(false);
    fake.put(INTERPRETER + 16, INTERPRETER);
    assert!(fake.find().is_err());
}

#[test]
fn what_is_no_code_object_is_an_error() {
    for code in [0, CODE_TYPE, TEXTS, BASE + SIZE as u64, !7] {
        let mut fake = Fake::new(false);
        fake.put(LEAF_FRAME, code);
        let error = stack(&fake);
        assert!(error.contains("a code object") || error.contains("a type"), "{error}");
    }
}

#[test]
fn other_tables_and_releases_are_refused() {
    let mut fake = Fake::new(false);
    fake.put(RUNTIME + 8, 0x030f_00f0);
    assert_eq!(fake.find().err(), Some(layout::unsupported((3, 15))));
    // The words of 3.14 are in another order than those of 3.13.
    fake.put(RUNTIME + 8, 0x030d_00f0);
    assert!(fake.find().is_err());
    fake.put(RUNTIME, 0);
    assert_eq!(fake.find().err(), Some(InterpreterError::UnknownVersion(NAME)));
    let old = CPython::find(&fake, RUNTIME, Some((3, 7)));
    assert_eq!(old.err(), Some(layout::unsupported((3, 7))));
    let none = Fake { bytes: vec![0; SIZE], read_bytes: Cell::new(0) };
    let early = CPython::find(&none, RUNTIME, Some((3, 11)));
    assert_eq!(early.err(), Some(InterpreterError::NotRunning(NAME)));
}

#[test]
fn damaged_memory_ends_in_an_answer() {
    let mut next = noise();
    let structs = [
        RUNTIME,
        INTERPRETER,
        THREAD,
        CODE_TYPE,
        ROOT,
        LEAF,
        TEXTS,
        TABLE,
        SHIM,
        ROOT_FRAME,
        LEAF_FRAME,
    ];
    for _ in 0..3000 {
        let mut fake = Fake::new(next().is_multiple_of(2));
        for _ in 0..1 + next() % 3 {
            let target = structs[usize::try_from(next() % 11).expect("small")];
            let word = match next() % 4 {
                0 => next(),
                1 => BASE + next() % SIZE as u64,
                2 => structs[usize::try_from(next() % 11).expect("small")],
                _ => next() % 300,
            };
            fake.put(target + next() % 100 * 8, word);
        }
        let Ok(mut python) = fake.find() else { continue };
        let mut threads = Vec::new();
        let _ = python.look(&fake, &mut threads);
        let mut frames = Vec::new();
        let _ = python.look_at(&fake, TID, &mut frames);
        assert!(fake.read_bytes.get() < 64 << 20, "{}", fake.read_bytes.get());
    }
}
