//! The documents that describe the engine, held against the engine.
//!
//! `make bless` writes docs/causes.md and the tables of docs/statistics.md again.

#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod simulation;
mod statistics;

use std::fmt::Write as _;
use std::path::PathBuf;

use culprit_engine::calls::{CallTree, Pattern, Query};
use culprit_engine::causes::{Context, Rule, Strength, rules};
use culprit_model::notation::from_columns;
use culprit_model::{Cause, Filter, Label, Recording};

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

const CAUSES_HEAD: &str = "<!-- Written from crates/engine by its tests; CULPRIT_BLESS=1 writes it again. -->
# Causes: why a thread was not running

The leaf of every wall-clock stack is one of these words. A thread that was pushed off its CPU is `runnable`; one that waited gets its cause from the kernel functions on its stack at that moment, by the table below. Compiler suffixes (`.constprop.0`, `.isra.0`, `.part.0`, `.cold`) are taken off names first; a `*` stands for any ending.

- **Innermost wins.** The function nearest to the leaf that *names* a wait decides.
- **Exceptions are borders.** What was called before a page fault or an interrupt did not call it: a lock of the memory map under a fault in the middle of a network receive is `blocked.memory`.
- **Hints** decide only where nothing further out names the wait: `io_schedule` is a disk, unless `vfs_fsync_range` called it.
- **Leaf** rows are for threads that did not wait at all: only the scheduler was called from there.
- **Under** needs a caller of the kind named: changing the memory map, or serving a page fault.
- A wait that no row knows is `blocked.other` and keeps its stack.
- **In a futex** wait locks, conditions, joins, idle threads of pools and some sleeps. Intervals have `blocked.lock` for all of them. Views show `blocked.sleep` where a library's function on the stack says that it is a sleep.

Where kernel stacks are not allowed, `/proc/PID/task/TID/wchan` is looked up in the same table; then the system call and the kind of file behind its first argument decide.
";

fn kind(rule: &Rule) -> String {
    let strength = match rule.strength {
        Strength::Names => "names",
        Strength::Hints => "hints",
        Strength::Leaves => "leaf",
    };
    match rule.under {
        Context::Any => strength.to_owned(),
        Context::MemoryMap => format!("{strength}, under the memory map's lock"),
        Context::PageFault => format!("{strength}, under a page fault"),
        Context::Exit => format!("{strength}, in a thread that ends"),
    }
}

fn causes_document() -> String {
    let mut text = CAUSES_HEAD.to_owned();
    for cause in Cause::ALL {
        // Functions of one row may stand in several entries: they differ in what rules of findings ask.
        let mut rows: Vec<([String; 3], Vec<String>)> = Vec::new();
        for rule in rules().filter(|rule| rule.cause == *cause) {
            let row = [rule.awaits.to_owned(), kind(rule), rule.source.to_owned()];
            let functions = rule.functions.iter().map(|f| format!("`{f}`"));
            match rows.iter_mut().find(|(known, _)| *known == row) {
                Some((_, known)) => known.extend(functions),
                None => rows.push((row, functions.collect())),
            }
        }
        if rows.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## `{cause}`\n\n| waits for | kernel functions | row | source |\n");
        text.push_str("|---|---|---|---|\n");
        for ([awaits, kind, source], functions) in rows {
            let functions = functions.join(" ");
            let _ = writeln!(text, "| {awaits} | {functions} | {kind} | {source} |");
        }
    }
    text
}

#[test]
fn the_page_of_causes_is_the_table() {
    blessed::blessed(&document("causes.md"), causes_document().as_bytes());
}

#[test]
fn every_wait_of_the_list_has_a_rule() {
    let ruled = |cause: &Cause| rules().any(|rule| rule.cause == *cause);
    let without: Vec<&Cause> = Cause::ALL.iter().filter(|cause| !ruled(cause)).collect();
    assert_eq!(without, [&Cause::CpuUser, &Cause::CpuKernel], "from samples, not from stacks");
}

/// The cells of a document's table rows with three cells, the first two in backticks.
fn rows(text: &str) -> Vec<[String; 3]> {
    let cell = |text: &str| text.trim().trim_matches('`').replace("\\|", "|");
    let row = |line: &str| {
        let line = line.strip_prefix("| `")?.strip_suffix(" |")?.replace("\\|", "\u{1}");
        let cells: Vec<String> =
            line.split('|').map(|part| cell(&part.replace('\u{1}', "|"))).collect();
        <[String; 3]>::try_from(cells).ok()
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn the_examples_of_the_page_of_filters_hold() {
    let text = std::fs::read_to_string(document("filters.md")).expect("docs/filters.md");
    let mut checked = 0;
    for [first, name, expected] in rows(&text) {
        match expected.as_str() {
            "matches" | "does not match" => {
                let pattern = Pattern::parse(&first).expect(&first);
                assert_eq!(pattern.matches(&name), expected == "matches", "{first} on {name}");
            }
            _ => assert_eq!(grouped(&first, &name), expected, "{first} on {name}"),
        }
        checked += 1;
    }
    assert!(checked >= 15, "{checked} examples");
}

/// What a group list makes of a frame, or of a thread's name.
fn grouped(group: &str, frame: &str) -> String {
    let mut recording = culprit_model::notation::parse("app(1)/worker(12) U").expect("a drawing");
    let thread = frame.starts_with("Thread ");
    if !thread {
        let mut only = Recording::default();
        std::mem::swap(&mut only, &mut recording);
        let stacks = from_columns(&mut only, frame);
        only.intervals[0].stack = stacks.first().copied();
        recording = only;
    }
    let filter = Filter { group: group.to_owned(), ..Filter::default() };
    let tree = CallTree::of(&recording, &Query::compile(&filter).expect(group));
    let depth = if thread { 2 } else { 3 };
    let node = tree.nodes().iter().find(|node| node.depth == depth).expect("a node");
    tree.names().text(node.name).to_string()
}
