//! Code of language runtimes whose functions only the living process names: HotSpot's compiled methods and
//! the frames of its interpreter.
//!
//! ```text
//! worker  a stack has code of a JVM     --request-->  reader of the process's memory
//! worker  what code is where, its frames <--code----  each time that it changes
//! worker  functions of a place          <--answer---
//! end     the frames of the place become its functions, inlined ones too
//! ```
//!
//! A word of a chain says where a thread was by its address. That is not enough for an interpreter, whose
//! frames all have the same few addresses, nor for code that took the place of other code. Such frames have
//! a *site* of their own: a word that is no address, with the site's number.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use culprit_model::Time;
use culprit_symbols::{Avma, CodeAddress, CodeMap, GeneratedCode, InterpretedFrame};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::enrich::interpreters::Notice;
use crate::events::space::SpaceId;
use crate::symbolize::resolve::chain_word;

/// Words from here on are sites: no machine has code there, and the kernel's markers are above.
const FIRST_SITE: u64 = 0x7fff_0000_0000_0000;

/// Sites and requests beyond this are not kept. At some 100 bytes each this is 100 MiB; a large server has
/// some 100,000.
const MOST_SITES: usize = 1_000_000;

/// Pieces of code that are tried where several were at an address.
const MOST_NEAR: usize = 64;

/// A place in a runtime's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ManagedPlace {
    /// An instruction, or the byte before a return address.
    Instruction {
        /// Its address.
        address: u64,
        /// Which code was there, counted from zero.
        version: u32,
    },
    /// An interpreter's frame.
    Interpreted {
        /// The address of its method.
        method: u64,
        /// And of what it runs of it.
        bytecode: u64,
    },
}

/// Asks what a place in a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeRequest {
    /// The process.
    pub(crate) pid: i32,
    /// The place in it.
    pub(crate) place: ManagedPlace,
}

/// A function that a runtime runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagedFunction {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its source file.
    pub(crate) file: Option<Arc<str>>,
    /// The line that it is at.
    pub(crate) line: Option<u32>,
}

/// The functions of a place, what was inlined first.
pub(crate) type ManagedFunctions = Arc<[ManagedFunction]>;

/// A piece of code that a runtime has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagedBlob {
    /// Its first instruction.
    pub(crate) start: u64,
    /// Behind its last one.
    pub(crate) end: u64,
    /// How many pieces of code were here before.
    pub(crate) version: u32,
    /// How its frames look, where that is known.
    pub(crate) frame: Option<GeneratedCode>,
}

/// What all of a piece of code belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagedOwner {
    /// Its first instruction.
    pub(crate) start: u64,
    /// Behind its last one.
    pub(crate) end: u64,
    /// How many pieces of code were here before.
    pub(crate) version: u32,
    /// A method, or the runtime's name for a routine.
    pub(crate) function: ManagedFunction,
}

/// What is told of a process's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ManagedNews {
    /// Code that is new.
    Blobs(Vec<ManagedBlob>),
    /// What such code belongs to.
    Owners(Vec<ManagedOwner>),
    /// Functions of places.
    Functions(Vec<(ManagedPlace, ManagedFunctions)>),
}

/// A place of an address space that a chain's word stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CodeSite {
    space: SpaceId,
    pid: i32,
    place: ManagedPlace,
}

/// What is known of code, by process.
#[derive(Debug, Default)]
pub(crate) struct ManagedCode {
    reader: Option<Sender<Notice>>,
    processes: FxHashMap<i32, ProcessCode>,
    sites: Vec<CodeSite>,
    by_site: FxHashMap<CodeSite, u32>,
    asked: FxHashSet<(i32, ManagedPlace)>,
    /// Places in processes of which nothing was told: they may have no runtime that is read.
    early: FxHashMap<i32, Vec<ManagedPlace>>,
    answers: FxHashMap<(i32, ManagedPlace), ManagedFunctions>,
    /// Of all code that was there, by process, start and version: its end, and what it belongs to. It stays
    /// when the process ends.
    blobs: BTreeMap<(i32, u64, u32), (u64, ManagedFunction)>,
}

/// The code that a process has now.
#[derive(Debug, Default)]
struct ProcessCode {
    /// When it was first told of.
    since: Time,
    /// How often new code was told of.
    told: u32,
    /// Which code is at an address now, counted from zero.
    versions: CodeMap<u32>,
    frames: CodeMap<GeneratedCode>,
}

impl ManagedCode {
    /// Nothing is known; `reader` leads to who reads processes.
    pub(crate) fn new(reader: Sender<Notice>) -> Self {
        Self { reader: Some(reader), ..Self::default() }
    }

    /// Whether anything was ever told of a process.
    pub(crate) fn was_told_of(&self, pid: i32) -> bool {
        self.blobs.range((pid, 0, 0)..).next().is_some_and(|((of, ..), _)| *of == pid)
    }

    /// How the frames of a process's code look.
    pub(crate) fn frames(&self, pid: i32) -> Option<&CodeMap<GeneratedCode>> {
        self.processes.get(&pid).map(|code| &code.frames)
    }

    /// How often new code of a process was told of.
    pub(crate) fn times_told(&self, pid: i32) -> u32 {
        self.processes.get(&pid).map_or(0, |code| code.told)
    }

    /// Whether an address is in code that was told of.
    pub(crate) fn knows(&self, pid: i32, address: Avma) -> bool {
        self.instruction(pid, address).is_some()
    }

    /// Takes in what was told of a process.
    pub(crate) fn tell(&mut self, pid: i32, news: ManagedNews, time: Time) {
        match news {
            ManagedNews::Blobs(blobs) => {
                for place in self.early.remove(&pid).unwrap_or_default() {
                    self.send(pid, place);
                }
                let new = || ProcessCode { since: time, ..ProcessCode::default() };
                let code = self.processes.entry(pid).or_insert_with(new);
                code.told = code.told.saturating_add(1);
                for blob in blobs {
                    let ManagedBlob { start, end, version, frame } = blob;
                    code.versions.insert(start..end, version);
                    match frame {
                        Some(frame) => code.frames.insert(start..end, frame),
                        None => code.frames.remove(start..end),
                    }
                }
            }
            ManagedNews::Owners(owners) => {
                for ManagedOwner { start, end, version, function } in owners {
                    if self.blobs.len() < MOST_SITES {
                        self.blobs.insert((pid, start, version), (end, function));
                    }
                }
            }
            ManagedNews::Functions(answers) => {
                let answers = answers.into_iter();
                self.answers.extend(answers.map(|(place, functions)| ((pid, place), functions)));
            }
        }
    }

    /// A process has executed another program, or has ended: its code is gone. What was told of it stays,
    /// and so does what was told of the next program before the record of that came.
    pub(crate) fn left(&mut self, pid: i32, time: Time) {
        if self.processes.get(&pid).is_some_and(|code| code.since < time) {
            self.processes.remove(&pid);
        }
    }

    /// The words of a chain for frames that were unwound, innermost first.
    pub(crate) fn chain(
        &mut self,
        (space, pid): (SpaceId, i32),
        frames: &[CodeAddress],
        interpreted: &[InterpretedFrame],
    ) -> Vec<u64> {
        let mut interpreted = interpreted.iter().peekable();
        let mut chain = Vec::with_capacity(frames.len());
        for (depth, frame) in frames.iter().enumerate() {
            let word = chain_word(depth, *frame);
            let of_interpreter = interpreted.next_if(|frame| frame.depth == depth);
            let place = match of_interpreter {
                Some(InterpretedFrame { method, bytecode, .. }) => {
                    Some(ManagedPlace::Interpreted { method: *method, bytecode: *bytecode })
                }
                None => self.instruction(pid, frame.lookup()),
            };
            chain.push(place.and_then(|place| self.word(space, pid, place)).unwrap_or(word));
        }
        chain
    }

    /// The place of an address in code that is told of.
    fn instruction(&self, pid: i32, address: Avma) -> Option<ManagedPlace> {
        let (_, version) = self.processes.get(&pid)?.versions.find(address.0)?;
        Some(ManagedPlace::Instruction { address: address.0, version: *version })
    }

    /// The word for a place; none where the address says it all.
    fn word(&mut self, space: SpaceId, pid: i32, place: ManagedPlace) -> Option<u64> {
        self.ask(pid, place);
        if matches!(place, ManagedPlace::Instruction { version: 0, .. }) {
            return None;
        }
        let site = CodeSite { space, pid, place };
        if let Some(known) = self.by_site.get(&site) {
            return Some(FIRST_SITE | u64::from(*known));
        }
        let number = u32::try_from(self.sites.len()).ok()?;
        if self.sites.len() >= MOST_SITES {
            return None;
        }
        self.sites.push(site);
        self.by_site.insert(site, number);
        Some(FIRST_SITE | u64::from(number))
    }

    /// Whether frames of a chain are known by more than their addresses.
    pub(crate) fn has_sites(chain: &[u64]) -> bool {
        chain.iter().any(|word| site_number(*word).is_some())
    }

    /// The process and place that a word of a chain stands for.
    pub(crate) fn site(&self, space: SpaceId, word: u64) -> Option<(i32, ManagedPlace)> {
        let site = self.sites.get(site_number(word)?)?;
        (site.space == space).then_some((site.pid, site.place))
    }

    /// Asks what a place is, once.
    pub(crate) fn ask(&mut self, pid: i32, place: ManagedPlace) {
        if self.asked.len() >= MOST_SITES || !self.asked.insert((pid, place)) {
            return;
        }
        if self.processes.contains_key(&pid) {
            self.send(pid, place);
        } else {
            self.early.entry(pid).or_default().push(place);
        }
    }

    fn send(&self, pid: i32, place: ManagedPlace) {
        if let Some(reader) = &self.reader {
            // Who reads processes may have ended; then the place has no name.
            let _ = reader.send(Notice::Asked(CodeRequest { pid, place }));
        }
    }

    /// What is at a place: its functions, or at least what its code belongs to.
    pub(crate) fn functions(&self, pid: i32, place: ManagedPlace) -> Option<ManagedFunctions> {
        if let Some(known) = self.answers.get(&(pid, place)) {
            return Some(Arc::clone(known));
        }
        let ManagedPlace::Instruction { address, version } = place else { return None };
        let before = self.blobs.range(..=(pid, address, u32::MAX)).rev();
        // What was here in other versions may have begun elsewhere.
        let mut near = before.take_while(|((of, ..), _)| *of == pid).take(MOST_NEAR);
        let ((.., at), (end, whole)) = near.find(|((.., at), _)| *at == version)?;
        (address < *end && *at == version).then(|| Arc::from([whole.clone()]))
    }
}

fn site_number(word: u64) -> Option<usize> {
    let number = word.checked_sub(FIRST_SITE)?;
    u32::try_from(number).ok().and_then(|number| usize::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const SPACE: SpaceId = SpaceId(1);
    const PID: i32 = 7;

    fn function(name: &str) -> ManagedFunction {
        ManagedFunction { name: name.into(), file: None, line: None }
    }

    /// Tells of a piece of code.
    fn tell(code: &mut ManagedCode, pid: i32, start: u64, version: u32, name: &str) {
        let (end, function) = (start + 0x100, function(name));
        let blob = ManagedBlob { start, end, version, frame: None };
        code.tell(pid, ManagedNews::Blobs(vec![blob]), Time(5));
        let owner = ManagedOwner { start, end, version, function };
        code.tell(pid, ManagedNews::Owners(vec![owner]), Time(5));
    }

    fn code() -> (ManagedCode, Receiver<Notice>) {
        let (reader, asked) = channel();
        let mut code = ManagedCode::new(reader);
        tell(&mut code, PID, 0x1000, 0, "A.a");
        tell(&mut code, PID, 0x2000, 0, "B.b");
        (code, asked)
    }

    /// What was asked for since.
    fn requests(asked: &Receiver<Notice>) -> Vec<(i32, ManagedPlace)> {
        let request = |notice| match notice {
            Notice::Asked(CodeRequest { pid, place }) => (pid, place),
            other => panic!("{other:?}"),
        };
        asked.try_iter().map(request).collect()
    }

    fn frames(addresses: &[u64]) -> Vec<CodeAddress> {
        let place = |(depth, address): (usize, &u64)| match depth {
            0 => CodeAddress::InstructionPointer(Avma(*address)),
            _ => CodeAddress::ReturnAddress(Avma(*address)),
        };
        addresses.iter().enumerate().map(place).collect()
    }

    #[test]
    fn code_that_was_always_there_is_known_by_its_address() {
        let (mut code, asked) = code();
        let chain = code.chain((SPACE, PID), &frames(&[0x1010, 0x2020, 0x9000]), &[]);
        assert_eq!(chain, [0x1010, 0x2020, 0x9000]);
        let place = |address| ManagedPlace::Instruction { address, version: 0 };
        assert_eq!(requests(&asked), [place(0x1010), place(0x201f)].map(|place| (PID, place)));
        code.chain((SPACE, PID), &frames(&[0x1010]), &[]);
        assert_eq!(requests(&asked), [], "it was asked before");
    }

    #[test]
    fn an_interpreters_frame_is_known_by_its_method() {
        let (mut code, asked) = code();
        let interpreted = |depth, method| InterpretedFrame { depth, method, bytecode: 5 };
        let chain = |code: &mut ManagedCode, method| {
            code.chain((SPACE, PID), &frames(&[0x1010, 0x5000]), &[interpreted(1, method)])
        };
        let first = chain(&mut code, 1);
        let second = chain(&mut code, 2);
        assert_eq!((first[0], second[0]), (0x1010, 0x1010));
        assert_ne!(first[1], second[1]);
        assert_eq!(chain(&mut code, 1), first);
        let place = ManagedPlace::Interpreted { method: 2, bytecode: 5 };
        assert_eq!(code.site(SPACE, second[1]), Some((PID, place)));
        assert_eq!(code.site(SpaceId(2), second[1]), None);
        assert!(ManagedCode::has_sites(&first) && !ManagedCode::has_sites(&first[..1]));
        assert_eq!(requests(&asked).iter().filter(|request| request.1 == place).count(), 1);
        assert_eq!(code.functions(PID, place), None);
        let functions: ManagedFunctions = Arc::new([function("C.c")]);
        code.tell(PID, ManagedNews::Functions(vec![(place, Arc::clone(&functions))]), Time(6));
        assert_eq!(code.functions(PID, place), Some(functions));
    }

    #[test]
    fn code_that_took_the_place_of_other_code_is_told_apart() {
        let (mut code, _asked) = code();
        let before = code.chain((SPACE, PID), &frames(&[0x1010]), &[]);
        tell(&mut code, PID, 0x1000, 1, "D.d");
        let after = code.chain((SPACE, PID), &frames(&[0x1010]), &[]);
        assert_ne!(before, after);
        let name = |version| {
            let place = ManagedPlace::Instruction { address: 0x1010, version };
            code.functions(PID, place).map(|functions| functions[0].name.to_string())
        };
        assert_eq!((name(0).as_deref(), name(1).as_deref()), (Some("A.a"), Some("D.d")));
        assert_eq!(name(2), None);
    }

    #[test]
    fn nothing_is_asked_of_processes_without_such_code() {
        let (mut code, asked) = code();
        let place = ManagedPlace::Instruction { address: 0x1010, version: 0 };
        code.ask(8, place);
        assert_eq!(requests(&asked), []);
        tell(&mut code, 8, 0x1000, 0, "A.a");
        assert_eq!(requests(&asked), [(8, place)]);
    }

    #[test]
    fn what_was_told_of_ended_code_stays() {
        let (mut code, _asked) = code();
        code.left(PID, Time(4));
        assert!(
            code.frames(PID).is_some(),
            "the record came after what was told of the new program"
        );
        code.left(PID, Time(6));
        assert!(code.frames(PID).is_none());
        assert_eq!(code.chain((SPACE, PID), &frames(&[0x1010]), &[]), [0x1010]);
        let named = |address| {
            let place = ManagedPlace::Instruction { address, version: 0 };
            code.functions(PID, place).map(|functions| functions[0].name.to_string())
        };
        assert_eq!(named(0x20ff).as_deref(), Some("B.b"));
        assert!(code.was_told_of(PID) && !code.was_told_of(PID - 1) && !code.was_told_of(PID + 1));
        assert_eq!((named(0x2100), named(0xfff), named(0x1100)), (None, None, None));
    }

    #[test]
    fn words_that_are_no_sites() {
        let (code, _asked) = code();
        for word in [0, 0x1000, FIRST_SITE, FIRST_SITE + 5, u64::MAX, FIRST_SITE - 1] {
            assert_eq!(code.site(SPACE, word), None, "{word:#x}");
        }
    }
}
