//! Tasks of a made-up event loop of Python 3.13.

use super::*;

const TASK_TYPE: u64 = BASE + 0x3_0000;
const KINDS: u64 = BASE + 0x3_0800;
const NAMES: u64 = BASE + 0x3_0c00;
const NOTHING: u64 = BASE + 0x3_1000;
const MODULE: u64 = BASE + 0x3_1040;
const STATE: u64 = BASE + 0x3_1100;
const WEAK_SET: u64 = BASE + 0x3_1200;
const SET: u64 = BASE + 0x3_1280;
const PLACES: u64 = BASE + 0x3_1300;
const REFERENCES: u64 = BASE + 0x3_1400;
const METHOD: u64 = BASE + 0x3_1500;
const GROUP: u64 = BASE + 0x3_1540;
const LOOP: u64 = BASE + 0x3_15c0;
const OTHER_LOOP: u64 = BASE + 0x3_15d8;
const DUMMY: u64 = BASE + 0x3_15f0;
const SELECT_FRAME: u64 = BASE + 0x3_1600;
const RUN_FRAME: u64 = BASE + 0x3_1700;
const SELECT: u64 = BASE + 0x3_1800;
const RUN: u64 = BASE + 0x3_1a00;
const EXIT: u64 = BASE + 0x3_1c00;
/// Tasks, each with its coroutines, an iterator and a future behind it.
const TASKS: u64 = BASE + 0x3_2000;
const TASK_SIZE: u64 = 0x400;

const TYPES: [&str; 10] = [
    "coroutine\0",
    "_asyncio.FutureIter\0",
    "_asyncio.Future\0",
    "weakref.ReferenceType\0",
    "WeakSet\0",
    "set\0",
    "NoneType\0",
    "method\0",
    "TaskGroup\0",
    "_asyncio.Task\0",
];

fn kind(name: &str) -> u64 {
    let index = TYPES.iter().position(|known| known.trim_end_matches('\0') == name);
    KINDS + index.expect("a known type") as u64 * 0x40
}

fn task(number: u64) -> u64 {
    TASKS + number * TASK_SIZE
}

fn outer(number: u64) -> u64 {
    task(number) + 0xd0
}

fn inner(number: u64) -> u64 {
    task(number) + 0x1a0
}

fn iterator(number: u64) -> u64 {
    task(number) + 0x380
}

/// A thread whose loop waits in `select`, called by `run_until_complete`, which has the first task.
struct Waiting {
    fake: Fake,
    python: CPython,
}

impl Waiting {
    fn new(tasks: u64) -> Self {
        let mut fake = Fake::new(false);
        fake.put_table(V3_13, 0x030d_00f0, false);
        for (number, name) in (0..).zip(TYPES) {
            fake.put(KINDS + number * 0x40 + 24, NAMES + number * 0x20);
            fake.put_bytes(NAMES + number * 0x20, name.as_bytes());
        }
        let asyncio_task = TYPES.len() as u64 - 1;
        fake.put(TASK_TYPE + 24, NAMES + asyncio_task * 0x20);
        fake.put(TASK_TYPE + 888, MODULE);
        fake.put(MODULE + 32, STATE);
        fake.put(STATE + 7 * 8, WEAK_SET);
        for (object, name) in [(WEAK_SET, "WeakSet"), (SET, "set"), (NOTHING, "NoneType")] {
            fake.put(object + 8, kind(name));
        }
        fake.put_bytes(WEAK_SET + 16, &[6, 4, 1, 1]);
        fake.put(WEAK_SET + 24, SET);
        fake.put(SET + 32, 7);
        fake.put(SET + 40, PLACES);
        let functions = [
            (SELECT, "EpollSelector.select", "/lib/selectors.py"),
            (RUN, "BaseEventLoop.run_until_complete", "/lib/asyncio/base_events.py"),
            (EXIT, "TaskGroup.__aexit__", "/lib/asyncio/taskgroups.py"),
        ];
        for ((code, name, file), at) in functions.into_iter().zip((TEXTS + 0x300..).step_by(0x100))
        {
            fake.put_code(code, at, 30);
            fake.put_text(at, 0b1_1001 << 16, 40, name.as_bytes());
            fake.put_text(at + 0x80, 0b1_1001 << 16, 40, file.as_bytes());
            fake.put(code + 112, at + 0x80);
        }
        fake.put(THREAD + 72, SELECT_FRAME);
        fake.put_frame(SELECT_FRAME, RUN_FRAME, SELECT, SELECT + 208, 0);
        fake.put_frame(RUN_FRAME, SHIM, RUN, RUN + 208, 0);
        fake.put(RUN_FRAME + 80 + 8, task(0));
        let python = fake.find().expect("an interpreter");
        let mut waiting = Self { fake, python };
        (0..tasks).for_each(|number| waiting.task(number));
        waiting
    }

    /// A task whose coroutine `root` awaits the coroutine `größe`, which awaits a future.
    fn task(&mut self, number: u64) {
        let reference = REFERENCES + number * 0x20;
        self.fake.put(PLACES + number * 16, reference);
        self.fake.put(reference + 8, kind("weakref.ReferenceType"));
        self.fake.put(reference + 16, task(number));
        self.fake.put(task(number) + 8, TASK_TYPE);
        self.fake.put(task(number) + 16, LOOP);
        self.fake.put(task(number) + 112, outer(number));
        self.coroutine(outer(number), (ROOT, 4), inner(number));
        self.coroutine(inner(number), (LEAF, 2), iterator(number));
        self.fake.put(iterator(number) + 8, kind("_asyncio.FutureIter"));
        self.fake.put(task(number) + 0x300 + 8, kind("_asyncio.Future"));
        self.awaits(number, task(number) + 0x300);
    }

    fn coroutine(&mut self, at: u64, (code, offset): (u64, u64), awaited: u64) {
        self.fake.put(at + 8, kind("coroutine"));
        self.fake.put_frame(at + 72, 0, code, code + 208 + offset, 1);
        self.fake.put_bytes(at + 67, &[0xff]);
        // Five words from the first variable on; the last is what it awaits.
        self.fake.put_bytes(at + 72 + 72, &5_i32.to_ne_bytes());
        self.fake.put(at + 72 + 80 + 32, awaited);
    }

    /// What the innermost coroutine of a task awaits.
    fn awaits(&mut self, number: u64, future: u64) {
        self.fake.put(iterator(number) + 16, future);
    }

    fn chain(&mut self) -> String {
        self.fake.tasks(&mut self.python)
    }
}

const ONE: &str = "root:11 größe:21";
const BOTH: &str = "root:11 größe:21 root:11 größe:21";

#[test]
fn a_loop_that_waits_has_a_task_among_its_variables() {
    let mut waiting = Waiting::new(1);
    assert!(waiting.python.has_readable_tasks());
    assert_eq!(waiting.chain(), ONE);
    // A callback runs, and waits in the same way.
    waiting.fake.put(SELECT + 112, TEXTS + 0x200);
    assert_eq!(waiting.chain(), "");
    let mut waiting = Waiting::new(1);
    waiting.fake.put(RUN_FRAME + 80 + 8, NOTHING);
    assert_eq!(waiting.chain(), "", "it runs for ever");
}

#[test]
fn tasks_that_are_done_or_of_other_loops_do_not_count() {
    let mut waiting = Waiting::new(4);
    // Each awaits nothing that another completes, and all are at the same place.
    assert_eq!(waiting.chain(), ONE);
    waiting.fake.put_bytes(outer(1) + 67, &[4]);
    waiting.fake.put(task(2) + 16, OTHER_LOOP);
    waiting.coroutine(outer(2), (LEAF, 0), 0);
    waiting.fake.put(REFERENCES + 3 * 0x20 + 16, NOTHING);
    assert_eq!(waiting.chain(), ONE);
    // One was taken out of the set.
    waiting.fake.put(PLACES + 3 * 16, DUMMY);
    assert_eq!(waiting.chain(), ONE);
    waiting.fake.put(PLACES + 3 * 16, REFERENCES + 3 * 0x20);
    // It may be a task that is not known as one.
    waiting.fake.put(REFERENCES + 3 * 0x20 + 16, SET);
    assert_eq!(waiting.chain(), "");
}

#[test]
fn several_tasks_that_have_nothing_in_common_show_nothing() {
    let mut waiting = Waiting::new(2);
    waiting.coroutine(outer(1), (LEAF, 2), iterator(1));
    assert_eq!(waiting.chain(), "");
}

#[test]
fn a_task_that_another_awaits_comes_behind() {
    let mut waiting = Waiting::new(2);
    waiting.awaits(0, task(1));
    assert_eq!(waiting.chain(), BOTH);
}

#[test]
fn a_group_waits_for_its_tasks_where_it_ends() {
    let mut waiting = Waiting::new(2);
    waiting.fake.put(task(1) + 24, METHOD);
    waiting.fake.put(METHOD + 8, kind("method"));
    waiting.fake.put(METHOD + 24, GROUP);
    waiting.fake.put(GROUP + 8, kind("TaskGroup"));
    waiting.fake.put_bytes(GROUP + 16, &[10, 10, 1, 1]);
    waiting.fake.put(GROUP + 24 + 8, NOTHING);
    waiting.fake.put(GROUP + 24 + 32, task(0));
    assert_eq!(waiting.chain(), ONE, "the first still awaits something else");
    waiting.coroutine(inner(0), (EXIT, 0), iterator(0));
    assert_eq!(waiting.chain(), "root:11 TaskGroup.__aexit__:30 root:11 größe:21");
    // Its attributes are in a dictionary: whose it is cannot be seen.
    waiting.fake.put_bytes(GROUP + 16, &[10, 10, 1, 0]);
    assert_eq!(waiting.chain(), "root:11");
}

#[test]
fn damaged_sets_end_in_an_answer() {
    let mut next = noise();
    for _ in 0..2000 {
        let mut waiting = Waiting::new(3);
        waiting.awaits(0, task(1));
        for _ in 0..1 + next() % 3 {
            let word = match next() % 3 {
                0 => next(),
                1 => BASE + next() % SIZE as u64,
                _ => task(next() % 3),
            };
            waiting.fake.put(TASK_TYPE + next() % 0x600 * 8, word);
        }
        waiting.chain();
        assert!(waiting.fake.read_bytes.get() < 64 << 20, "{}", waiting.fake.read_bytes.get());
    }
}
