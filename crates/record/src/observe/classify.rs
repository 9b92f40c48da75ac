//! What an access says: the value was read, the name was compared, or the whole block was copied.
//!
//! The decoy is a variable that no program knows. Whatever touches its value touches values in general, and the same
//! call says nothing about any other variable, nor does another read by a function that copied the decoy.

use std::collections::BTreeSet;

use super::code::Stack;
use super::facts::{CodeFrame, Reader, WatchedValue};

/// Functions that compare names and never look at a value.
const LOOKUPS: [&str; 9] = [
    "getenv",
    "__getenv",
    "secure_getenv",
    "__libc_secure_getenv",
    "setenv",
    "__add_to_environ",
    "unsetenv",
    "putenv",
    "clearenv",
];

/// Who made an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// An instruction of the program.
    Program,
    /// A system call.
    Call,
    /// `execve`: what it hands on, the next program has, and is observed there.
    Exec,
}

/// What one access was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It started at the value.
    Value,
    /// It started before the value, or wrote it.
    PassedOver,
    /// A function that looks for a name compared it.
    NameCompared,
    /// `execve` copied it.
    HandedOn,
}

/// One access to one value.
#[derive(Debug, Clone)]
struct Seen {
    kind: Kind,
    /// The calls that led to it, without the innermost function, which depends on the value's length.
    call: Call,
    frames: Vec<CodeFrame>,
}

/// A place in code: module, function, address.
type CodeKey = (String, String, u64);
/// The calls that led to an access.
type Call = Vec<CodeKey>;

impl Seen {
    /// The function that made the access, by its name or else by its address, with the calls that led to it.
    fn scan(&self) -> Option<(CodeKey, &Call)> {
        let CodeFrame { module, function, address, .. } = self.frames.first()?;
        let address = if function.is_empty() { *address } else { 0 };
        Some(((module.clone(), function.clone(), address), &self.call))
    }
}

/// The accesses to one value.
#[derive(Debug, Clone, Default)]
pub(super) struct Accesses {
    name: String,
    seen: Vec<Seen>,
}

/// Frames that tell one call from another.
const CALL_FRAMES: usize = 3;

impl Accesses {
    /// None yet.
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), seen: Vec::new() }
    }

    /// The variable.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Adds one access to the value at an address.
    pub(super) fn add(&mut self, stack: Stack, value_at: u64, by: By) {
        let mut frames = stack.frames;
        let kind = kind(&frames, stack.access, value_at, by);
        if by != By::Program {
            let kernel = CodeFrame { module: "[kernel]".to_owned(), ..CodeFrame::default() };
            frames.insert(0, kernel);
        }
        let skipped = usize::from(frames.len() > 1);
        let call = frames.iter().skip(skipped).take(CALL_FRAMES).map(key).collect();
        self.seen.push(Seen { kind, call, frames });
    }

    /// Calls in which the value was read.
    fn calls(&self) -> BTreeSet<&Call> {
        let reads = self.seen.iter().filter(|seen| seen.kind == Kind::Value);
        reads.map(|seen| &seen.call).collect()
    }

    /// Functions that passed over the value, with their calls. Go measures each variable with loads of 32 bytes,
    /// and one of them begins at a value now and then.
    fn scans(&self) -> BTreeSet<(CodeKey, &Call)> {
        let passes = self.seen.iter().filter(|seen| seen.kind == Kind::PassedOver);
        passes.filter_map(Seen::scan).collect()
    }

    /// Functions of the program that read the value, or called what did. A stack of a loop that copies differs from
    /// value to value: by a short cut for a length, or where the unwinder has lost a frame.
    fn functions(&self) -> BTreeSet<CodeKey> {
        let reads = self.seen.iter().filter(|seen| seen.kind == Kind::Value);
        let frames = reads.flat_map(|seen| seen.frames.iter().take(CALL_FRAMES + 1));
        frames.filter(|frame| is_own(frame)).map(key).collect()
    }

    /// How often `execve` copied the value.
    fn handed_on(&self) -> usize {
        self.seen.iter().filter(|seen| seen.kind == Kind::HandedOn).count()
    }

    /// What the accesses say, given those to the decoy.
    pub(super) fn sum(&self, decoy: Option<&Self>) -> WatchedValue {
        let copies = decoy.map(Self::calls).unwrap_or_default();
        let scans = decoy.map(Self::scans).unwrap_or_default();
        let functions = decoy.map(Self::functions).unwrap_or_default();
        // A program that is given all variables is given the decoy as often; one more is an argument.
        let of_decoy = decoy.map_or(0, Self::handed_on);
        let is_with_all = decoy.is_none() || of_decoy >= self.handed_on();
        let copied = |seen: &Seen| {
            let own = seen.frames.iter().find(|frame| is_own(frame));
            copies.contains(&seen.call)
                || seen.scan().is_some_and(|scan| scans.contains(&scan))
                || own.is_some_and(|own| functions.contains(&key(own)))
                || seen.kind == Kind::HandedOn && of_decoy > 0
        };
        let mut sum = WatchedValue { name: self.name.clone(), ..WatchedValue::default() };
        for seen in &self.seen {
            let is_handed_on = seen.kind == Kind::HandedOn;
            if is_handed_on && is_with_all || !is_handed_on && seen.kind != Kind::Value {
                sum.passed_over += 1;
            } else if copied(seen) {
                sum.with_decoy += 1;
            } else {
                sum.reads += 1;
                sum.reader.get_or_insert_with(|| Reader::new(seen.frames.clone()));
            }
        }
        sum
    }
}

fn key(frame: &CodeFrame) -> CodeKey {
    (frame.module.clone(), frame.function.clone(), frame.address)
}

/// Whether a frame is one of the program's own code.
fn is_own(frame: &CodeFrame) -> bool {
    !frame.is_library() && !frame.module.is_empty() && frame.module != "[kernel]"
}

fn kind(
    frames: &[CodeFrame],
    access: Option<culprit_symbols::MemoryAccess>,
    value_at: u64,
    by: By,
) -> Kind {
    let compares = |frame: &CodeFrame| LOOKUPS.contains(&frame.function.as_str());
    if frames.iter().take(2).any(compares) {
        return Kind::NameCompared;
    }
    match access {
        _ if by == By::Exec => Kind::HandedOn,
        _ if by == By::Call => Kind::Value,
        Some(access) if !access.reads => Kind::PassedOver,
        // A copy of the whole entry begins at the name.
        Some(access) if access.copies => Kind::Value,
        Some(access) if access.start.is_some_and(|start| start < value_at) => Kind::PassedOver,
        _ => Kind::Value,
    }
}

#[cfg(test)]
mod tests {
    use culprit_symbols::MemoryAccess;

    use super::*;

    fn stack(functions: &[&str], start: Option<u64>) -> Stack {
        let frame = |name: &&str| CodeFrame {
            module: "app".to_owned(),
            function: (*name).to_owned(),
            ..CodeFrame::default()
        };
        let copies = functions.first().is_some_and(|name| *name == "copies");
        let access =
            start.map(|start| MemoryAccess { start: Some(start), bytes: 32, reads: true, copies });
        Stack { frames: functions.iter().map(frame).collect(), access }
    }

    #[test]
    fn an_access_from_the_same_call_as_the_decoys_is_no_read() {
        let mut decoy = Accesses::new("DECOY");
        decoy.add(stack(&["memcpy", "copy_all", "main"], Some(500)), 500, By::Program);
        let mut value = Accesses::new("A");
        value.add(stack(&["memcpy_large", "copy_all", "main"], Some(100)), 100, By::Program);
        value.add(stack(&["strcmp", "configure", "main"], Some(100)), 100, By::Program);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (1, 1, 0));
        let reader = sum.reader.expect("it was read");
        assert_eq!(reader.stack.first().map(|frame| frame.function.as_str()), Some("strcmp"));
    }

    #[test]
    fn a_scan_that_passes_over_the_decoy_and_begins_at_a_value_is_no_read() {
        let mut decoy = Accesses::new("DECOY");
        decoy.add(stack(&["findnull", "goenvs", "main"], Some(490)), 500, By::Program);
        let mut value = Accesses::new("A");
        value.add(stack(&["findnull", "goenvs", "main"], Some(100)), 100, By::Program);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (0, 1, 0));
    }

    #[test]
    fn a_copy_of_a_whole_entry_touches_the_value() {
        let mut decoy = Accesses::new("DECOY");
        decoy.add(stack(&["copies", "strdup", "main"], Some(490)), 500, By::Program);
        let mut value = Accesses::new("A");
        value.add(stack(&["copies", "strdup", "main"], Some(90)), 100, By::Program);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (0, 1, 0));
        assert_eq!(decoy.sum(None).reads, 1, "all variables were copied");
    }

    #[test]
    fn comparisons_of_names_are_no_reads() {
        let mut value = Accesses::new("A");
        value.add(stack(&["strncmp", "getenv", "main"], None), 100, By::Program);
        value.add(stack(&["unnamed", "main"], Some(96)), 100, By::Program);
        value.add(stack(&["open", "main"], None), 100, By::Call);
        let sum = value.sum(None);
        assert_eq!((sum.reads, sum.passed_over), (1, 2));
    }

    #[test]
    fn another_read_by_a_function_that_copies_the_decoy_is_no_read() {
        let mut decoy = Accesses::new("DECOY");
        decoy.add(stack(&["strlen", "save", "bind", "import"], Some(500)), 500, By::Program);
        let mut value = Accesses::new("A");
        // The unwinder lost a frame, and a loop has a short cut.
        value.add(stack(&["strlen", "bind", "import", "main"], Some(100)), 100, By::Program);
        value.add(stack(&["import", "start", "main"], Some(100)), 100, By::Program);
        value.add(stack(&["strcmp", "configure", "main"], Some(100)), 100, By::Program);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (1, 2, 0));
        let reader = sum.reader.expect("one is a read");
        assert_eq!(reader.stack.get(1).map(|frame| frame.function.as_str()), Some("configure"));
    }

    #[test]
    fn what_is_handed_to_another_program_with_all_others_is_no_read() {
        let given = |values: usize, decoys: usize| {
            let mut decoy = Accesses::new("DECOY");
            let mut value = Accesses::new("A");
            let add = |to: &mut Accesses, at, count| {
                (0..count).for_each(|_| to.add(stack(&["execve", "run"], None), at, By::Exec));
            };
            add(&mut decoy, 500, decoys);
            add(&mut value, 100, values);
            let sum = value.sum(Some(&decoy));
            (sum.reads, sum.with_decoy, decoy.sum(None).reads)
        };
        assert_eq!(given(2, 2), (0, 0, 0), "the whole environment");
        assert_eq!(given(4, 2), (0, 4, 0), "it is an argument, too: nothing is said");
        assert_eq!(given(2, 0), (2, 0, 0), "this variable alone");
    }
}
