//! Which interpreted function a loop of an interpreter runs, by what its registers hold.
//!
//! ```text
//! main < run < LOOP (r14 = 0x7f21c8) < pattern_findall < match      a sample's dump
//!              0x7f2190..0x7f21e4 are the instructions of `parse`   read from the process
//! main < run < LOOP < app.py!parse < pattern_findall < match        the sample's stack
//! ```
//!
//! What is read of an interpreter is read a moment before or after the sample, and the thread ran on
//! meanwhile. The dump is of the sample's own moment: the loop has the address of its next instruction in a
//! register that the functions below it hand back as they found it.
//!
//! Which register that is depends on how the loop was compiled: it is the one that has such addresses most often.
//!
//! The functions below the loop mostly leave that register as it is, so the outermost frame that has an
//! address is the loop. In a chain the function is a word behind the loop's, towards the root: one that is no
//! address.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use culprit_symbols::FramePointer;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::space::SpaceId;

/// Words from here on are functions: no machine has code there, and sizes are above.
const FIRST_FUNCTION: u64 = 0x7ffc_0000_0000_0000;
/// Behind the last of them.
const BEHIND_FUNCTIONS: u64 = 0x7ffd_0000_0000_0000;

/// Functions beyond this are not kept. At some 150 bytes each this is 150 MiB.
const MOST_FUNCTIONS: usize = 1_000_000;

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

/// Functions of all processes, and where each has its instructions.
#[derive(Debug, Default)]
pub(crate) struct Bytecodes {
    spaces: FxHashMap<SpaceId, Instructions>,
    functions: Vec<(Arc<str>, Arc<str>)>,
    numbers: FxHashMap<(Arc<str>, Arc<str>), u32>,
    /// Functions of native code that run interpreted ones.
    loops: FxHashSet<Arc<str>>,
}

/// DWARF numbers of general registers are below this, on all machines.
const REGISTERS: usize = 32;

/// What an address space has.
#[derive(Debug, Default)]
struct Instructions {
    /// By start: the end, and the function's number. Without overlap.
    ranges: BTreeMap<u64, (u64, u32)>,
    /// From the lowest to behind the highest.
    all: Range<u64>,
    /// How often each register, by DWARF number, had such an address.
    hits: [u64; REGISTERS],
}

impl Instructions {
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

    /// The register that has the next instruction: which one it is the compiler of the loop has chosen. Others
    /// have such an address by chance, or that of a function whose memory was given to something else.
    fn register(&mut self, found: &[(FramePointer, u32)]) -> Option<u8> {
        for (pointer, _) in found {
            if let Some(hits) = self.hits.get_mut(usize::from(pointer.register)) {
                *hits += 1;
            }
        }
        let most = (0..self.hits.len()).rev().max_by_key(|register| self.hits[*register])?;
        let mut registers = found.iter().map(|(pointer, _)| pointer.register);
        registers.find(|register| usize::from(*register) == most)
    }

    fn find(&self, address: u64) -> Option<u32> {
        let (_, (end, function)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some(*function)
    }
}

impl Bytecodes {
    /// Functions that the loops of this name run in an address space.
    pub(crate) fn add(&mut self, space: SpaceId, loop_name: &Arc<str>, functions: &[Bytecode]) {
        self.loops.insert(Arc::clone(loop_name));
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
            if !range.is_empty() {
                self.spaces.entry(space).or_default().add(range.clone(), number);
            }
        }
    }

    /// Where instructions are in an address space, from the first to behind the last; empty where none are.
    pub(crate) fn all(&self, space: SpaceId) -> Range<u64> {
        self.spaces.get(&space).map_or(0..0, |known| known.all.clone())
    }

    /// Forgets an address space that is no more. Words of its functions keep their meaning.
    pub(crate) fn forget(&mut self, space: SpaceId) {
        self.spaces.remove(&space);
    }

    /// Puts the functions that frames run behind their words in a chain. `pointers` are addresses in the
    /// frames' registers, the innermost frame first.
    pub(crate) fn mark(&mut self, space: SpaceId, pointers: &[FramePointer], chain: &mut Vec<u64>) {
        let Some(known) = self.spaces.get_mut(&space) else { return };
        let found = pointers.iter().filter_map(|it| Some((*it, known.find(it.value)?)));
        let found: Vec<(FramePointer, u32)> = found.collect();
        let Some(next) = known.register(&found) else { return };
        let mut found = found.iter().filter(|(pointer, _)| pointer.register == next).peekable();
        let mut frames = Vec::new();
        while let Some((pointer, function)) = found.next() {
            let held = |(above, _): &&(FramePointer, u32)| {
                (above.depth, above.value) == (pointer.depth + 1, pointer.value)
            };
            if found.peek().is_none_or(|above| !held(above)) {
                frames.push((pointer.depth, *function));
            }
        }
        for (depth, function) in frames.into_iter().rev() {
            if depth < chain.len() {
                chain.insert(depth + 1, FIRST_FUNCTION | u64::from(function));
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

    const SPACE: SpaceId = SpaceId(3);
    const NEXT: u8 = 14;

    fn bytecodes(functions: &[(&str, Range<u64>)]) -> Bytecodes {
        let mut bytecodes = Bytecodes::default();
        add(&mut bytecodes, functions);
        bytecodes
    }

    fn add(bytecodes: &mut Bytecodes, functions: &[(&str, Range<u64>)]) {
        let function = |(name, range): &(&str, Range<u64>)| Bytecode {
            name: Arc::from(*name),
            file: Arc::from("app.py"),
            range: range.clone(),
        };
        let functions: Vec<Bytecode> = functions.iter().map(function).collect();
        bytecodes.add(SPACE, &Arc::from("loop"), &functions);
    }

    /// The chain of four frames, whose registers hold these addresses, with the functions' names.
    fn marked(bytecodes: &mut Bytecodes, held: &[(usize, u8, u64)]) -> Vec<String> {
        let pointers = held.iter().map(|(depth, register, value)| FramePointer {
            depth: *depth,
            register: *register,
            value: *value,
        });
        let mut chain = vec![10, 11, 12, 13];
        bytecodes.mark(SPACE, &pointers.collect::<Vec<_>>(), &mut chain);
        let name = |word: &u64| match bytecodes.function(*word) {
            Some((name, _)) => name.to_string(),
            None => word.to_string(),
        };
        chain.iter().map(name).collect()
    }

    #[test]
    fn the_outermost_frame_that_has_an_address_runs_the_function() {
        let mut known = bytecodes(&[("parse", 100..200), ("main", 300..400)]);
        // `match` and `findall` leave the loop's register as it is.
        let held = [(0, NEXT, 120), (1, NEXT, 120), (2, NEXT, 120)];
        assert_eq!(marked(&mut known, &held), ["10", "11", "12", "parse", "13"]);
        // The loop within a loop saved the register of the outer one, which is the outermost frame.
        let held = [(0, NEXT, 120), (1, NEXT, 120), (2, NEXT, 320), (3, NEXT, 320)];
        assert_eq!(marked(&mut known, &held), ["10", "11", "parse", "12", "13", "main"]);
        // A function that calls itself is at two instructions.
        let held = [(0, NEXT, 120), (1, NEXT, 140)];
        assert_eq!(marked(&mut known, &held), ["10", "parse", "11", "parse", "12", "13"]);
    }

    #[test]
    fn what_is_no_instruction_marks_nothing() {
        let mut known = bytecodes(&[("parse", 100..200)]);
        assert_eq!(marked(&mut known, &[(0, NEXT, 99), (1, NEXT, 200)]), ["10", "11", "12", "13"]);
        assert_eq!(marked(&mut Bytecodes::default(), &[(0, NEXT, 120)]), ["10", "11", "12", "13"]);
    }

    #[test]
    fn the_register_that_has_instructions_most_often_counts() {
        let mut known = bytecodes(&[("parse", 100..200), ("main", 300..400)]);
        // Another one has the start of the function that runs, and by chance something else.
        for other in [100, 320] {
            let held = [(1, NEXT, 120), (1, 3, other), (2, NEXT, 320)];
            assert_eq!(marked(&mut known, &held), ["10", "11", "parse", "12", "main", "13"]);
        }
        assert_eq!(marked(&mut known, &[(1, 3, 320)]), ["10", "11", "12", "13"]);
    }

    #[test]
    fn memory_that_is_given_to_another_function_is_that_one_s() {
        let mut known = bytecodes(&[("first", 100..200), ("second", 200..300)]);
        add(&mut known, &[("third", 150..250)]);
        let mut at = |value| marked(&mut known, &[(0, NEXT, value)]).get(1).cloned();
        assert_eq!([120, 160, 260].map(&mut at).map(Option::unwrap), ["11", "third", "11"]);
        assert_eq!(known.all(SPACE), 100..300);
        known.forget(SPACE);
        assert!(known.all(SPACE).is_empty());
    }

    #[test]
    fn a_part_that_the_compiler_split_off_is_the_loop() {
        let known = bytecodes(&[]);
        assert!(known.is_loop("loop") && known.is_loop("loop.cold") && !known.is_loop("looping"));
    }
}
