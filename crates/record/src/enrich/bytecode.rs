//! Which interpreted function a loop of an interpreter runs, by what the loop's frame holds.
//!
//! ```text
//! main < run < LOOP (slot 312: 0x7f21c8) < pattern_findall < match    a sample's copied stack
//!              0x7f2190..0x7f21e4 are the instructions of `parse`     read from the process
//! main < run < LOOP < app.py!parse < pattern_findall < match          the sample's stack
//! ```
//!
//! What is read of an interpreter is read a moment before or after the sample, and the thread ran on
//! meanwhile. The copy is of the sample's own moment, and the loop's frame has the address of its next
//! instruction: in a register, or on the stack while it calls.
//!
//! Where that is depends on how the loop was compiled. Addresses of instructions stand in several places of the
//! frame, most of them left over from other functions. The next instruction's place is the one whose value
//! changes most often.
//!
//! In a chain the function is a word behind the loop's, towards the root: one that is no address.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use culprit_symbols::{FramePlace, FramePointer, Wanted};
use rustc_hash::{FxHashMap, FxHashSet};

/// Words from here on are functions: no machine has code there, and sizes are above.
const FIRST_FUNCTION: u64 = 0x7ffc_0000_0000_0000;
/// Behind the last of them.
const BEHIND_FUNCTIONS: u64 = 0x7ffd_0000_0000_0000;

/// Functions beyond this are not kept. At some 150 bytes each this is 150 MiB.
const MOST_FUNCTIONS: usize = 1_000_000;

/// Processes that are known at most, the latest: a program of some thousand functions takes some 100 KiB.
const MOST_PROCESSES: usize = 1024;

/// Changes from which on a place is taken for that of the next instruction.
const FEWEST_CHANGES: u64 = 3;

/// An interpreted function and where its instructions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bytecode {
    /// The function's name.
    pub(crate) name: Arc<str>,
    /// Its source file.
    pub(crate) file: Arc<str>,
    /// Addresses of its instructions.
    pub(crate) range: Range<u64>,
}

/// The function of native code that runs interpreted ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BytecodeLoop {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Where it is in the process, with the parts that the compiler split off.
    pub(crate) code: Vec<Range<u64>>,
}

/// Functions of all processes, and where each has its instructions.
#[derive(Debug, Default)]
pub(crate) struct Bytecodes {
    processes: FxHashMap<i32, Instructions>,
    /// Processes, the oldest first.
    order: VecDeque<i32>,
    functions: Vec<(Arc<str>, Arc<str>)>,
    numbers: FxHashMap<(Arc<str>, Arc<str>), u32>,
    /// Names of loops.
    loops: FxHashSet<Arc<str>>,
}

/// What a process has.
#[derive(Debug)]
struct Instructions {
    /// By start: the end, and the function's number. Without overlap.
    ranges: BTreeMap<u64, (u64, u32)>,
    /// From the lowest to behind the highest.
    all: Range<u64>,
    /// Its loop.
    runner: BytecodeLoop,
    /// Places in frames of loops that had such an address: of the frame that runs, and of those that call.
    places: [FxHashMap<FramePlace, Place>; 2],
}

/// A place in a loop's frame.
#[derive(Debug, Default)]
struct Place {
    /// What it had last.
    last: u64,
    /// How often it had something else than before.
    changes: u64,
}

impl Instructions {
    fn new(runner: BytecodeLoop) -> Self {
        let (ranges, places) = (BTreeMap::new(), Default::default());
        Self { ranges, all: 0..0, runner, places }
    }

    /// What was here before is gone: its memory was given to this.
    fn add(&mut self, Range { start, end }: Range<u64>, function: u32) {
        let last = |ranges: &BTreeMap<u64, (u64, u32)>| {
            let (at, (behind, _)) = ranges.range(..end).next_back()?;
            (*behind > start).then_some(*at)
        };
        while let Some(at) = last(&self.ranges) {
            self.ranges.remove(&at);
        }
        self.all = match self.all.is_empty() {
            true => start..end,
            false => self.all.start.min(start)..self.all.end.max(end),
        };
        self.ranges.insert(start, (end, function));
    }

    /// Takes in what frames had, and answers where a frame has its next instruction; none while that is not clear.
    fn place(&mut self, found: &[(FramePointer, u32)], calls: bool) -> Option<FramePlace> {
        let places = &mut self.places[usize::from(calls)];
        for (pointer, _) in found.iter().filter(|(pointer, _)| (pointer.depth > 0) == calls) {
            let place = places.entry(pointer.place).or_default();
            place.changes += u64::from(place.last != pointer.value);
            place.last = pointer.value;
        }
        let most = places.iter().max_by_key(|(name, place)| (place.changes, Reverse(**name)));
        most.filter(|(_, place)| place.changes >= FEWEST_CHANGES).map(|(name, _)| *name)
    }

    fn find(&self, address: u64) -> Option<u32> {
        let (_, (end, function)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some(*function)
    }
}

impl Bytecodes {
    /// Functions that this loop runs in a process. A process whose loop was elsewhere has executed another
    /// program since, or is another one with the same number.
    pub(crate) fn add(&mut self, pid: i32, runner: &BytecodeLoop, functions: &[Bytecode]) {
        self.loops.insert(Arc::clone(&runner.name));
        if self.processes.get(&pid).is_none_or(|known| known.runner != *runner) {
            self.order.retain(|other| *other != pid);
            self.order.push_back(pid);
            self.processes.insert(pid, Instructions::new(runner.clone()));
            if self.order.len() > MOST_PROCESSES
                && let Some(oldest) = self.order.pop_front()
            {
                self.processes.remove(&oldest);
            }
        }
        for Bytecode { name, file, range } in functions {
            let key = (Arc::clone(name), Arc::clone(file));
            let number = match self.numbers.get(&key) {
                Some(known) => *known,
                None if self.functions.len() < MOST_FUNCTIONS => {
                    let number = u32::try_from(self.functions.len()).unwrap_or(u32::MAX);
                    self.functions.push(key.clone());
                    self.numbers.insert(key, number);
                    number
                }
                None => continue,
            };
            if let Some(known) = self.processes.get_mut(&pid).filter(|_| !range.is_empty()) {
                known.add(range.clone(), number);
            }
        }
    }

    /// What to look for on stacks of a process.
    pub(crate) fn wanted(&self, pid: i32) -> Wanted<'_> {
        match self.processes.get(&pid) {
            Some(known) => Wanted { code: &known.runner.code, values: &known.all },
            None => Wanted { code: &[], values: &(0..0) },
        }
    }

    /// Puts the functions that loops run behind their words in a chain. `pointers` are what was wanted, the
    /// innermost frame first.
    pub(crate) fn mark(&mut self, pid: i32, pointers: &[FramePointer], chain: &mut Vec<u64>) {
        let Some(known) = self.processes.get_mut(&pid) else { return };
        let found = pointers.iter().filter_map(|it| Some((*it, known.find(it.value)?)));
        let found: Vec<(FramePointer, u32)> = found.collect();
        let places = [known.place(&found, false), known.place(&found, true)];
        for (pointer, function) in found.iter().rev() {
            let place = places[usize::from(pointer.depth > 0)];
            if place == Some(pointer.place) && pointer.depth < chain.len() {
                chain.insert(pointer.depth + 1, FIRST_FUNCTION | u64::from(*function));
            }
        }
    }

    /// Name and file of the function that a word of a chain stands for; none of an address.
    pub(crate) fn function(&self, word: u64) -> Option<&(Arc<str>, Arc<str>)> {
        if !is_function(word) {
            return None;
        }
        self.functions.get(usize::try_from(word - FIRST_FUNCTION).ok()?)
    }

    /// Whether a function of native code runs interpreted ones. The compiler may have split it: `loop.cold`.
    pub(crate) fn is_loop(&self, function: &str) -> bool {
        let name = function.split('.').next().unwrap_or(function);
        self.loops.contains(name)
    }
}

/// Whether a word of a chain is a function, and no address.
pub(crate) const fn is_function(word: u64) -> bool {
    word >= FIRST_FUNCTION && word < BEHIND_FUNCTIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: i32 = 3;
    /// Where the loop has its next instruction while it runs, and while it calls.
    const RUNS: FramePlace = FramePlace::Register(10);
    const CALLS: FramePlace = FramePlace::Slot(312);
    const OTHER: FramePlace = FramePlace::Slot(288);

    /// A loop, with a part that the compiler split off.
    fn runner(start: u64) -> BytecodeLoop {
        BytecodeLoop {
            name: Arc::from("loop"),
            code: vec![start..start + 8, start + 9..start + 10],
        }
    }

    /// A process whose places are known by what frames had.
    fn bytecodes(functions: &[(&str, Range<u64>)]) -> Bytecodes {
        let mut bytecodes = Bytecodes::default();
        add(&mut bytecodes, functions);
        let first = functions.first().map_or(0, |(_, range)| range.start);
        for at in 0..FEWEST_CHANGES {
            let held = [(0, RUNS, first + at), (1, CALLS, first + at), (1, OTHER, first)];
            marked(&mut bytecodes, &held);
        }
        bytecodes
    }

    fn add(bytecodes: &mut Bytecodes, functions: &[(&str, Range<u64>)]) {
        let function = |(name, range): &(&str, Range<u64>)| Bytecode {
            name: Arc::from(*name),
            file: Arc::from("app.py"),
            range: range.clone(),
        };
        let functions: Vec<Bytecode> = functions.iter().map(function).collect();
        bytecodes.add(PID, &runner(10), &functions);
    }

    /// The chain of four frames that hold these addresses, with the functions' names.
    fn marked(bytecodes: &mut Bytecodes, held: &[(usize, FramePlace, u64)]) -> Vec<String> {
        let pointer = |(depth, place, value): &(usize, FramePlace, u64)| FramePointer {
            depth: *depth,
            place: *place,
            value: *value,
        };
        let pointers: Vec<FramePointer> = held.iter().map(pointer).collect();
        let mut chain = vec![10, 11, 12, 13];
        bytecodes.mark(PID, &pointers, &mut chain);
        let name = |word: &u64| match bytecodes.function(*word) {
            Some((name, _)) => name.to_string(),
            None => word.to_string(),
        };
        chain.iter().map(name).collect()
    }

    #[test]
    fn a_loop_runs_the_function_of_its_next_instruction() {
        let mut known = bytecodes(&[("parse", 100..200), ("main", 300..400)]);
        assert_eq!(marked(&mut known, &[(0, RUNS, 120)]), ["10", "parse", "11", "12", "13"]);
        // What is left from another function stays as it is.
        let held = [(1, CALLS, 320), (1, OTHER, 100), (3, OTHER, 100), (3, CALLS, 130)];
        assert_eq!(marked(&mut known, &held), ["10", "11", "main", "12", "13", "parse"]);
        // The register is the loop's only while it runs.
        assert_eq!(marked(&mut known, &[(1, RUNS, 120)]), ["10", "11", "12", "13"]);
    }

    #[test]
    fn what_is_no_instruction_marks_nothing() {
        let mut known = bytecodes(&[("parse", 100..200)]);
        assert_eq!(marked(&mut known, &[(0, RUNS, 99), (1, CALLS, 200)]), ["10", "11", "12", "13"]);
        assert_eq!(marked(&mut Bytecodes::default(), &[(0, RUNS, 120)]), ["10", "11", "12", "13"]);
    }

    #[test]
    fn a_place_that_has_changed_too_rarely_marks_nothing() {
        let mut known = Bytecodes::default();
        add(&mut known, &[("parse", 100..200)]);
        for _ in 0..9 {
            assert_eq!(marked(&mut known, &[(0, RUNS, 120)]), ["10", "11", "12", "13"]);
        }
    }

    #[test]
    fn memory_that_is_given_to_another_function_is_that_one_s() {
        let mut known = bytecodes(&[("first", 100..200), ("second", 200..300)]);
        add(&mut known, &[("third", 150..250)]);
        let mut at = |value| marked(&mut known, &[(0, RUNS, value)]).get(1).cloned();
        assert_eq!([120, 160, 260].map(&mut at).map(Option::unwrap), ["11", "third", "11"]);
        assert_eq!(*known.wanted(PID).values, 100..300);
        assert_eq!(known.wanted(PID).code, runner(10).code);
        assert!(known.wanted(PID + 1).code.is_empty());
    }

    #[test]
    fn another_program_in_a_process_has_its_own_functions() {
        let mut known = bytecodes(&[("parse", 100..200)]);
        known.add(PID, &runner(50), &[]);
        assert_eq!(known.wanted(PID).code, runner(50).code);
        assert!(known.wanted(PID).values.is_empty());
        assert_eq!(marked(&mut known, &[(0, RUNS, 120)]), ["10", "11", "12", "13"]);
    }

    #[test]
    fn a_part_that_the_compiler_split_off_is_the_loop() {
        let known = bytecodes(&[]);
        assert!(known.is_loop("loop") && known.is_loop("loop.cold") && !known.is_loop("looping"));
    }
}
