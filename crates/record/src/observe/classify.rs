//! What an access says: the value was read, the name was compared, or the whole block was copied.
//!
//! The decoy is a variable that no program knows. Whatever touches its value touches values in general, and the same
//! call says nothing about any other variable.

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

/// What one access was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It started at the value.
    Value,
    /// It started before the value, or wrote it.
    PassedOver,
    /// A function that looks for a name compared it.
    NameCompared,
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
    pub(super) fn add(&mut self, stack: Stack, value_at: u64, in_kernel: bool) {
        let mut frames = stack.frames;
        let kind = kind(&frames, stack.access, value_at, in_kernel);
        if in_kernel {
            let kernel = CodeFrame { module: "[kernel]".to_owned(), ..CodeFrame::default() };
            frames.insert(0, kernel);
        }
        let key = |frame: &CodeFrame| (frame.module.clone(), frame.function.clone(), frame.address);
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

    /// What the accesses say, given those to the decoy.
    pub(super) fn sum(&self, decoy: Option<&Self>) -> WatchedValue {
        let copies = decoy.map(Self::calls).unwrap_or_default();
        let scans = decoy.map(Self::scans).unwrap_or_default();
        let copied = |seen: &Seen| {
            copies.contains(&seen.call) || seen.scan().is_some_and(|scan| scans.contains(&scan))
        };
        let mut sum = WatchedValue { name: self.name.clone(), ..WatchedValue::default() };
        for seen in &self.seen {
            if seen.kind != Kind::Value {
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

fn kind(
    frames: &[CodeFrame],
    access: Option<culprit_symbols::MemoryAccess>,
    value_at: u64,
    in_kernel: bool,
) -> Kind {
    let compares = |frame: &CodeFrame| LOOKUPS.contains(&frame.function.as_str());
    if frames.iter().take(2).any(compares) {
        return Kind::NameCompared;
    }
    match access {
        _ if in_kernel => Kind::Value,
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
        decoy.add(stack(&["memcpy", "copy_all", "main"], Some(500)), 500, false);
        let mut value = Accesses::new("A");
        value.add(stack(&["memcpy_large", "copy_all", "main"], Some(100)), 100, false);
        value.add(stack(&["strcmp", "configure", "main"], Some(100)), 100, false);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (1, 1, 0));
        let reader = sum.reader.expect("it was read");
        assert_eq!(reader.stack.first().map(|frame| frame.function.as_str()), Some("strcmp"));
    }

    #[test]
    fn a_scan_that_passes_over_the_decoy_and_begins_at_a_value_is_no_read() {
        let mut decoy = Accesses::new("DECOY");
        decoy.add(stack(&["findnull", "goenvs", "main"], Some(490)), 500, false);
        let mut value = Accesses::new("A");
        value.add(stack(&["findnull", "goenvs", "main"], Some(100)), 100, false);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (0, 1, 0));
    }

    #[test]
    fn a_copy_of_a_whole_entry_touches_the_value() {
        let mut decoy = Accesses::new("DECOY");
        decoy.add(stack(&["copies", "strdup", "main"], Some(490)), 500, false);
        let mut value = Accesses::new("A");
        value.add(stack(&["copies", "strdup", "main"], Some(90)), 100, false);
        let sum = value.sum(Some(&decoy));
        assert_eq!((sum.reads, sum.with_decoy, sum.passed_over), (0, 1, 0));
        assert_eq!(decoy.sum(None).reads, 1, "all variables were copied");
    }

    #[test]
    fn comparisons_of_names_are_no_reads() {
        let mut value = Accesses::new("A");
        value.add(stack(&["strncmp", "getenv", "main"], None), 100, false);
        value.add(stack(&["unnamed", "main"], Some(96)), 100, false);
        value.add(stack(&["open", "main"], None), 100, true);
        let sum = value.sum(None);
        assert_eq!((sum.reads, sum.passed_over), (1, 2));
    }
}
