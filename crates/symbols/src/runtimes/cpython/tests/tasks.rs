//! Tasks of a made-up event loop.

use super::*;

const TABLE: u64 = BASE + 0x3_0000;
const COROUTINE: u64 = BASE + 0x3_0100;
const WRAPPER: u64 = BASE + 0x3_0140;
const ITERATOR: u64 = BASE + 0x3_0180;
const FUTURE_TYPE: u64 = BASE + 0x3_01c0;
const NAMES: u64 = BASE + 0x3_0200;
const LOOP: u64 = BASE + 0x3_0300;
const OTHER_LOOP: u64 = BASE + 0x3_0340;
const SET: u64 = BASE + 0x3_0380;
const PLACES: u64 = BASE + 0x3_0400;
const DUMMY: u64 = BASE + 0x3_0500;
const GROUP: u64 = BASE + 0x3_0600;
const FUNCTION: u64 = BASE + 0x3_0a00;
const CALLBACK: u64 = BASE + 0x3_0a40;
const CLOSURE: u64 = BASE + 0x3_0ac0;
const CELL: u64 = BASE + 0x3_0b00;
const CALLBACKS: u64 = BASE + 0x3_0b40;
const PAIRS: u64 = BASE + 0x3_0b80;
/// Tasks, each with its coroutines, iterators and futures behind it.
const TASKS: u64 = BASE + 0x3_1000;
const TASK_SIZE: u64 = 0x400;

const RUNNING_LOOP: u64 = THREAD + 400;
const RUNNING_TASK: u64 = THREAD + 408;
const THREAD_TASKS: u64 = THREAD + 416;
const INTERPRETER_TASKS: u64 = INTERPRETER + 0x500;

/// Fields of a task.
const AWAITED_BY: u64 = 96;
const COROUTINE_AT: u64 = 120;
const NODE: u64 = 144;

fn task(number: u64) -> u64 {
    TASKS + number * TASK_SIZE
}

/// The first and the second coroutine of a task, an iterator, and a future.
fn part(number: u64, part: u64) -> u64 {
    task(number) + 0xd0 * part
}

fn iterator(number: u64) -> u64 {
    task(number) + 0x380
}

fn future(number: u64) -> u64 {
    task(number) + 0x300
}

/// A thread whose loop waits.
struct Waiting {
    fake: Fake,
    python: CPython,
}

impl Waiting {
    fn new() -> Self {
        let mut fake = Fake::new(false);
        let table = [200, 1, AWAITED_BY, 108, 109, COROUTINE_AT, NODE, 0x1000, 0x500, 600];
        let table = table.into_iter().chain([400, 408, 416]);
        (TABLE..).step_by(8).zip(table).for_each(|(at, word)| fake.put(at, word));
        fake.put(RUNNING_LOOP, LOOP);
        fake.put(INTERPRETER_TASKS, INTERPRETER_TASKS);
        let types = [
            (COROUTINE, "coroutine\0"),
            (WRAPPER, "coroutine_wrapper\0"),
            (ITERATOR, "_asyncio.FutureIter\0"),
            (FUTURE_TYPE, "_asyncio.Future\0"),
            (FUNCTION, "function\0"),
        ];
        for (at, (kind, name)) in (NAMES..).step_by(0x20).zip(types) {
            fake.put(kind + 24, at);
            fake.put_bytes(at, name.as_bytes());
        }
        let mut python = fake.find().expect("an interpreter");
        python.set_asyncio(&fake, TABLE).expect("a table");
        let mut waiting = Self { fake, python };
        waiting.list(THREAD_TASKS, &[]);
        waiting
    }

    fn list(&mut self, head: u64, tasks: &[u64]) {
        let nodes = tasks.iter().map(|number| task(*number) + NODE).chain([head]);
        let mut last = head;
        for node in nodes {
            self.fake.put(last, node);
            last = node;
        }
    }

    /// A task whose coroutine `root` awaits the coroutine `leaf`, at its second or third line.
    fn task(&mut self, number: u64, line: u64) {
        self.fake.put(task(number) + 16, LOOP);
        self.fake.put_bytes(task(number) + 108, &[1]);
        let (outer, inner) = (part(number, 1), part(number, 2));
        self.fake.put(task(number) + COROUTINE_AT, outer);
        self.coroutine(outer, (ROOT, 4), inner);
        self.coroutine(inner, (LEAF, (line - 20) * 2), iterator(number));
        self.fake.put(iterator(number) + 8, ITERATOR);
        self.awaits(number, future(number));
        self.fake.put(future(number) + 8, FUTURE_TYPE);
    }

    fn coroutine(&mut self, at: u64, (code, offset): (u64, u64), awaited: u64) {
        self.fake.put(at + 8, COROUTINE);
        self.fake.put_frame(at + 72, 0, code, code + 208 + offset, 1);
        self.fake.put_bytes(at + 67, &[0xff]);
        self.fake.put(at + 72 + 64, at + 0xc0);
        self.fake.put(at + 0xb8, awaited);
    }

    /// What the innermost coroutine of a task awaits.
    fn awaits(&mut self, number: u64, future: u64) {
        self.fake.put(iterator(number) + 16, future);
    }

    fn chain(&mut self) -> String {
        self.fake.tasks(&mut self.python)
    }
}

#[test]
fn a_task_has_its_coroutines() {
    let mut waiting = Waiting::new();
    assert_eq!(waiting.chain(), "", "no task");
    waiting.task(0, 21);
    waiting.list(THREAD_TASKS, &[0]);
    assert_eq!(waiting.chain(), "root:11 größe:21");
    // The outer awaits the inner through a wrapper.
    waiting.fake.put(part(0, 1) + 0xb8, BASE + 0x3_0700);
    waiting.fake.put(BASE + 0x3_0700 + 8, WRAPPER);
    waiting.fake.put(BASE + 0x3_0700 + 16, part(0, 2));
    assert_eq!(waiting.chain(), "root:11 größe:21");
    waiting.fake.put(part(0, 1) + 0xb8, BASE + 0x3_0780);
    waiting.fake.put(BASE + 0x3_0780 + 8, FUTURE_TYPE);
    assert_eq!(waiting.chain(), "root:11", "something else is awaited");
    waiting.fake.put_bytes(part(0, 1) + 67, &[0]);
    assert!(waiting.chain().ends_with("it runs"), "{}", waiting.chain());
}

#[test]
fn only_a_loop_that_runs_no_task_waits() {
    let mut waiting = Waiting::new();
    waiting.task(0, 21);
    waiting.list(THREAD_TASKS, &[0]);
    waiting.fake.put(RUNNING_TASK, task(0));
    assert_eq!(waiting.chain(), "");
    waiting.fake.put(RUNNING_TASK, 0);
    assert_eq!(waiting.chain(), "root:11 größe:21");
    waiting.fake.put(RUNNING_LOOP, 0);
    assert_eq!(waiting.chain(), "");
    waiting.fake.put(RUNNING_LOOP, OTHER_LOOP);
    assert_eq!(waiting.chain(), "", "the task is of another loop");
}

#[test]
fn a_task_that_is_awaited_comes_behind() {
    let mut waiting = Waiting::new();
    (0..2).for_each(|number| waiting.task(number, 21));
    waiting.list(THREAD_TASKS, &[1, 0]);
    waiting.fake.put(task(1) + AWAITED_BY, task(0));
    // The first awaits something else, for now: a task group's task has its maker from its start on.
    assert_eq!(waiting.chain(), "root:11 größe:21");
    waiting.awaits(0, task(1));
    assert_eq!(waiting.chain(), "root:11 größe:21 root:11 größe:21");
    // In a set, beside a place where one was taken out.
    waiting.fake.put(task(1) + AWAITED_BY, SET);
    waiting.fake.put_bytes(task(1) + 109, &[1]);
    waiting.fake.put(SET + 32, PLACES);
    waiting.fake.put(SET + 24, 7);
    waiting.fake.put(PLACES + 16, DUMMY);
    waiting.fake.put(PLACES + 48, task(0));
    waiting.fake.put(task(0) + 8, FUTURE_TYPE);
    assert_eq!(waiting.chain(), "root:11 größe:21 root:11 größe:21");
    waiting.fake.put(SET + 24, u64::MAX - 1);
    assert!(waiting.chain().ends_with("it is too large"), "{}", waiting.chain());
}

#[test]
fn a_task_whose_callback_completes_the_awaited_future_comes_behind() {
    let mut waiting = Waiting::new();
    (0..2).for_each(|number| waiting.task(number, 21));
    waiting.list(THREAD_TASKS, &[1, 0]);
    waiting.fake.put(task(1) + AWAITED_BY, task(0));
    waiting.fake.put(task(1) + 24, CALLBACK);
    waiting.fake.put(CALLBACK + 8, FUNCTION);
    waiting.fake.put(CALLBACK + 72, CLOSURE);
    waiting.fake.put(CLOSURE + 16, 1);
    waiting.fake.put(CLOSURE + 24, CELL);
    waiting.fake.put(CELL + 8, WRAPPER);
    waiting.fake.put(CELL + 16, future(0));
    let both = "root:11 größe:21 root:11 größe:21";
    assert_eq!(waiting.chain(), both);
    // Not the first callback, and through another future.
    waiting.fake.put(task(1) + 24, TABLE);
    waiting.fake.put(task(1) + 40, CALLBACKS);
    waiting.fake.put(CALLBACKS + 16, 1);
    waiting.fake.put(CALLBACKS + 24, PAIRS);
    waiting.fake.put(PAIRS, PAIRS + 8);
    waiting.fake.put(PAIRS + 8 + 24, CALLBACK);
    waiting.fake.put(TABLE + 8, FUTURE_TYPE);
    assert_eq!(waiting.chain(), both);
    waiting.fake.put(CELL + 16, future(1));
    waiting.fake.put(future(1) + 24, CALLBACK);
    assert_eq!(waiting.chain(), "root:11 größe:21", "futures in a circle");
    waiting.fake.put(CALLBACKS + 16, u64::MAX);
    assert!(waiting.chain().ends_with("too many"), "{}", waiting.chain());
}

#[test]
fn a_task_made_by_another_thread_is_found() {
    let mut waiting = Waiting::new();
    (0..2).for_each(|number| waiting.task(number, 21));
    waiting.fake.put_thread(SECOND_THREAD, THREAD, SECOND_TID, ROOT_FRAME);
    waiting.fake.put(INTERPRETER + offset("interpreter", "threads_head"), SECOND_THREAD);
    waiting.list(SECOND_THREAD + 416, &[0]);
    assert_eq!(waiting.chain(), "root:11 größe:21");
    // The other's thread has ended.
    waiting.list(INTERPRETER_TASKS, &[1]);
    waiting.fake.put(task(1) + AWAITED_BY, task(0));
    waiting.awaits(0, task(1));
    assert_eq!(waiting.chain(), "root:11 größe:21 root:11 größe:21");
}

#[test]
fn a_chain_ends_where_several_differ() {
    let mut waiting = Waiting::new();
    for (number, line) in [(0, 21), (1, 21), (2, 21), (3, 20)] {
        waiting.task(number, line);
    }
    // A future of `gather` is between the first and the others.
    waiting.awaits(0, future(0));
    for number in 1..4 {
        waiting.fake.put(task(number) + AWAITED_BY, future(0));
    }
    waiting.fake.put(future(0) + AWAITED_BY, task(0));
    waiting.fake.put(future(0) + 16, LOOP);
    waiting.list(THREAD_TASKS, &[0, 1, 2]);
    assert_eq!(waiting.chain(), "root:11 größe:21 root:11 größe:21");
    waiting.list(THREAD_TASKS, &[3, 2, 1, 0]);
    assert_eq!(waiting.chain(), "root:11 größe:21 root:11");
    // None awaits them: all are outermost.
    waiting.fake.put(future(0) + AWAITED_BY, 0);
    assert_eq!(waiting.chain(), "root:11");
    waiting.fake.put(part(3, 1) + 72 + 56, ROOT + 208);
    assert_eq!(waiting.chain(), "");
}

#[test]
fn a_group_waits_for_its_tasks_where_it_ends() {
    let mut waiting = Waiting::new();
    (0..2).for_each(|number| waiting.task(number, 21));
    waiting.list(THREAD_TASKS, &[0, 1]);
    waiting.fake.put(task(1) + AWAITED_BY, task(0));
    let (name, file) = (BASE + 0x3_0800, BASE + 0x3_0900);
    waiting.fake.put_code(GROUP, name, 30);
    waiting.fake.put_text(name, 0b1_1001 << 16, 40, b"TaskGroup._aexit");
    waiting.coroutine(part(0, 2), (GROUP, 0), iterator(0));
    assert_eq!(waiting.chain(), "root:11 TaskGroup._aexit:30", "someone else's group");
    waiting.fake.put_text(file, 0b1_1001 << 16, 40, b"/lib/asyncio/taskgroups.py");
    waiting.fake.put(GROUP + 112, file);
    let both = "root:11 TaskGroup._aexit:30 root:11 größe:21";
    assert_eq!(waiting.chain(), both);
}

#[test]
fn tasks_that_stay_the_same_are_read_at_once() {
    let mut waiting = Waiting::new();
    waiting.task(0, 21);
    waiting.list(THREAD_TASKS, &[0]);
    assert_eq!(waiting.chain(), "root:11 größe:21");
    let first = waiting.fake.read_bytes.take();
    assert_eq!(waiting.chain(), "root:11 größe:21");
    assert!(waiting.fake.read_bytes.take() < first / 2, "once, and no texts");
    // The loop ran, and waits in the same frames.
    waiting.coroutine(part(0, 2), (LEAF, 0), iterator(0));
    assert_eq!(waiting.chain(), "root:11 größe:20");
}

#[test]
fn lists_and_circles_have_an_end() {
    let mut waiting = Waiting::new();
    (0..2).for_each(|number| waiting.task(number, 21));
    waiting.list(THREAD_TASKS, &[0]);
    waiting.fake.put(task(0) + NODE, task(0) + NODE);
    assert_eq!(waiting.chain(), "", "too many");
    waiting.fake.put(task(0) + 16, OTHER_LOOP);
    assert_eq!(waiting.chain(), "", "too many of others");
    // Tasks that await each other; no task is the first.
    waiting.task(0, 21);
    waiting.list(THREAD_TASKS, &[0, 1]);
    for (one, other) in [(0, 1), (1, 0)] {
        waiting.awaits(one, task(other));
        waiting.fake.put(task(one) + AWAITED_BY, task(other));
    }
    assert_eq!(waiting.chain(), "");
    // A third awaits one of them, too.
    waiting.task(2, 21);
    waiting.list(THREAD_TASKS, &[0, 1, 2]);
    waiting.awaits(2, future(2));
    waiting.fake.put(future(2) + AWAITED_BY, task(2));
    waiting.fake.put(future(2) + 8, FUTURE_TYPE);
    waiting.fake.put(task(1) + 8, FUTURE_TYPE);
    waiting.fake.put(task(0) + AWAITED_BY, SET);
    waiting.fake.put_bytes(task(0) + 109, &[1]);
    waiting.fake.put(SET + 32, PLACES);
    waiting.fake.put(SET + 24, 7);
    waiting.fake.put(PLACES, task(1));
    waiting.fake.put(PLACES + 16, future(2));
    let three = "root:11 größe:21 root:11 größe:21 root:11 größe:21";
    assert_eq!(waiting.chain(), three);
    // A coroutine that awaits itself.
    waiting.fake.put(part(0, 1) + 0xb8, part(0, 1));
    waiting.list(THREAD_TASKS, &[0]);
    waiting.fake.put(task(0) + AWAITED_BY, 0);
    waiting.fake.put_bytes(task(0) + 109, &[0]);
    assert_eq!(waiting.chain().split(' ').count(), 256);
}

#[test]
fn a_table_of_nonsense_is_refused() {
    let mut waiting = Waiting::new();
    for (at, word) in [(0, 4096), (5, 200), (10, 600), (9, u64::MAX)] {
        let mut waiting = Waiting::new();
        waiting.fake.put(TABLE + at * 8, word);
        assert!(waiting.python.set_asyncio(&waiting.fake, TABLE).is_err(), "{at}");
    }
    assert!(waiting.python.set_asyncio(&waiting.fake, 0).is_err());
}

#[test]
fn damaged_tasks_end_in_an_answer() {
    let mut next = noise();
    for _ in 0..3000 {
        let mut waiting = Waiting::new();
        (0..3).for_each(|number| waiting.task(number, 21));
        waiting.list(THREAD_TASKS, &[0, 1, 2]);
        waiting.fake.put(task(1) + AWAITED_BY, task(0));
        waiting.fake.put(task(2) + AWAITED_BY, task(0));
        waiting.awaits(0, task(1));
        for _ in 0..1 + next() % 3 {
            let word = match next() % 3 {
                0 => next(),
                1 => BASE + next() % SIZE as u64,
                _ => task(next() % 3),
            };
            let target = match next() % 3 {
                0 => THREAD + 400 + next() % 3 * 8,
                1 => TABLE + next() % 13 * 8,
                _ => TASKS + next() % (3 * TASK_SIZE / 8) * 8,
            };
            waiting.fake.put(target, word);
        }
        let _ = waiting.python.set_asyncio(&waiting.fake, TABLE);
        waiting.chain();
        assert!(waiting.fake.read_bytes.get() < 64 << 20, "{}", waiting.fake.read_bytes.get());
    }
}
