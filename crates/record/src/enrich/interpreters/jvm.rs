//! One process's JVM: what code it has, and which methods the recorded stacks are in.
//!
//! ```text
//! when a stack has it   method and bytecode of an interpreter's frame -> method, line
//! when a stack has it   address of a piece of code -> inlined methods, line
//! every 20 ms or more   code heaps -> pieces of code that are new, and how their frames look
//! when there is time    piece of code -> its method
//! ```
//!
//! That is also the order: what an interpreter's frame was of is lost when the process ends.
//!
//! A place is looked at while it still is what it was in the stack: code that took the place of other code
//! has another version, and what was listed of the code before has to do then.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use culprit_model::Runtime;
use culprit_place::procfs::Mapping;
use culprit_symbols::runtimes::jvm::{
    BlobKind, CodeBlob, JavaFrame, Jvm, JvmLayout, JvmProgram, find_jvm,
};
use culprit_symbols::runtimes::{InterpreterError, ProcessMemory as _, Unreadable};
use culprit_symbols::{Avma, CodeAddress, CodeMap, GeneratedCode};
use rustc_hash::FxHashMap;

use super::memory::Memory;
use super::programs::Programs;
use super::{Interpreter, MILLISECOND, Trouble};
use crate::clock::monotonic_ns;
use crate::enrich::managed::{
    ManagedBlob, ManagedFunction, ManagedFunctions, ManagedNews, ManagedOwner, ManagedPlace,
};
use crate::enrich::poller::{Polled, Reading};
use crate::symbolize::modules::base_name;

/// Between two lists of the code.
const LIST: u64 = 20 * MILLISECOND;
/// Between two lists of all code: in between, only where code was not before.
const LIST_ALL: u64 = 1000 * MILLISECOND;
/// A pause between lists is so many times as long as finding out where code is took.
const SHARE: u64 = 50;
/// Pieces of code that one step reads, in some 20 us.
const STEP: usize = 64;
/// Pieces of code that are remembered; the largest code cache has some 100,000.
const MOST_BLOBS: usize = 200_000;
/// Places that are asked for and were not looked at yet.
const MOST_ASKED: usize = 100_000;

/// The runtime, as the model names it.
const RUNTIME: &str = "jvm";

/// The JVMs' libraries, and where each has what, by device and number: a process is tried again and again
/// until its JVM has started, which has to cost next to nothing.
#[derive(Debug, Default)]
pub(super) struct JavaPrograms {
    programs: Programs<JvmProgram>,
    layouts: FxHashMap<((u32, u32), u64), Arc<JvmLayout>>,
}

/// A JVM that is read.
#[derive(Debug)]
struct Java {
    memory: Memory,
    jvm: Jvm,
    /// What is where now, by the start of its instructions.
    blobs: BTreeMap<u64, Known>,
    /// How many pieces of code were at an address before.
    versions: CodeMap<u32>,
    /// Where code was at the last look, in order.
    known_blocks: Vec<Avma>,
    /// What is still to be listed, the last first.
    blocks: Vec<Avma>,
    /// When new code is looked for, and when all is listed again.
    due: u64,
    all_due: u64,
    /// Places that are asked for: frames of the interpreter, and addresses.
    interpreted: VecDeque<ManagedPlace>,
    compiled: VecDeque<ManagedPlace>,
    /// Pieces of code of which only the start was told.
    unowned: VecDeque<u64>,
    /// Why nothing was found out so far; none once something was.
    silent: Option<String>,
}

/// A piece of code as it was listed last.
#[derive(Debug)]
struct Known {
    blob: CodeBlob,
    version: u32,
}

/// What was found out in a round.
#[derive(Debug, Default)]
struct Found {
    blobs: Vec<ManagedBlob>,
    owners: Vec<ManagedOwner>,
    functions: Vec<(ManagedPlace, ManagedFunctions)>,
}

/// Whether a file is a JVM's library, by its name.
pub(crate) fn is_jvm(path: &str) -> bool {
    Runtime::of_module(base_name(path)).is_some_and(|runtime| runtime.id == RUNTIME)
}

/// The JVM of a process; none where it has none.
///
/// # Errors
/// Why the JVM cannot be read, or not yet.
pub(super) fn find(
    pid: i32,
    maps: &[Mapping],
    known: &mut JavaPrograms,
) -> Result<Option<Box<dyn Interpreter>>, Trouble> {
    let Some(map) = maps.iter().find(|map| map.execute && is_jvm(&map.path)) else {
        return Ok(None);
    };
    let parse = |file, path: &str| find_jvm(file, path).ok().flatten();
    let Some(found) = known.programs.of(pid, map, parse) else {
        let why = |what| format!("{}: {what}", map.path);
        return Err(match known.programs.is_known(map) {
            true => Trouble::Never(why("this JVM does not describe its structures")),
            false => Trouble::Later(why("the file cannot be opened")),
        });
    };
    let memory = Memory::open(pid)?;
    let trouble = |error: InterpreterError| Trouble::of(&error, &map.path);
    let bias = found.address(map, 0);
    let layout = match known.layouts.entry((map.device, map.inode)) {
        Entry::Occupied(known) => Arc::clone(known.get()),
        Entry::Vacant(place) => {
            let layout = JvmLayout::read(&memory, bias, &found.program).map_err(trouble)?;
            Arc::clone(place.insert(Arc::new(layout)))
        }
    };
    let jvm = Jvm::find(&memory, bias, layout).map_err(trouble)?;
    Ok(Some(Box::new(Java {
        memory,
        jvm,
        blobs: BTreeMap::new(),
        versions: CodeMap::default(),
        known_blocks: Vec::new(),
        blocks: Vec::new(),
        due: 0,
        all_due: 0,
        interpreted: VecDeque::new(),
        compiled: VecDeque::new(),
        unowned: VecDeque::new(),
        silent: Some(format!("{}: its code was not listed", map.path)),
    })))
}

impl Interpreter for Java {
    fn read(&mut self, until: u64, readings: &mut Vec<Reading>) -> Result<(), Unreadable> {
        let now = monotonic_ns();
        // Another program in the process may have memory at the same addresses.
        self.memory.read(self.jvm.interpreter().start, &mut [0; 8])?;
        let mut found = Found::default();
        // Each gets something done in every round.
        let middle = now + until.saturating_sub(now) / 2;
        let result = self
            .look(middle, &mut found)
            .and_then(|()| self.list(until, &mut found))
            .and_then(|()| self.name(until, &mut found));
        let pid = self.memory.pid;
        let reading = |news| Reading { at: now, what: Polled::Managed { pid, news } };
        if let (Some(silent), Err(error)) = (&mut self.silent, &result) {
            *silent = error.to_string();
        }
        if !found.blobs.is_empty() {
            self.silent = None;
            readings.push(reading(ManagedNews::Blobs(found.blobs)));
        }
        if !found.owners.is_empty() {
            readings.push(reading(ManagedNews::Owners(found.owners)));
        }
        if !found.functions.is_empty() {
            readings.push(reading(ManagedNews::Functions(found.functions)));
        }
        match result {
            Err(InterpreterError::Memory { reason, .. }) if reason != Unreadable::Unmapped => {
                Err(reason)
            }
            _ => Ok(()),
        }
    }

    fn due(&self) -> u64 {
        if self.is_asked() || !self.blocks.is_empty() || !self.unowned.is_empty() {
            return 0;
        }
        self.due.min(self.all_due)
    }

    fn is_asked(&self) -> bool {
        !self.interpreted.is_empty() || !self.compiled.is_empty()
    }

    fn why_silent(&self) -> Option<String> {
        self.silent.clone()
    }

    fn ask(&mut self, place: ManagedPlace) {
        let queue = match place {
            ManagedPlace::Interpreted { .. } => &mut self.interpreted,
            ManagedPlace::Instruction { .. } => &mut self.compiled,
        };
        if queue.len() < MOST_ASKED {
            queue.push_back(place);
        }
    }
}

impl Java {
    /// Looks at the places that are asked for, as far as there is time.
    fn look(&mut self, until: u64, found: &mut Found) -> Result<(), InterpreterError> {
        while let Some(place) = self.interpreted.pop_front().or_else(|| self.compiled.pop_front()) {
            let frames = match place {
                ManagedPlace::Interpreted { method, bytecode } => {
                    self.jvm.interpreted(&self.memory, method, bytecode).map(|frame| vec![frame])
                }
                ManagedPlace::Instruction { address, version } => {
                    self.compiled(Avma(address), version, found)
                }
            };
            match frames {
                Err(error) if error.is_final() => return Err(error),
                Ok(frames) if !frames.is_empty() => {
                    let functions = frames.iter().map(function_of).collect();
                    found.functions.push((place, functions));
                }
                // What makes no sense is no method, or was thrown away.
                _ => {}
            }
            if monotonic_ns() >= until {
                break;
            }
        }
        Ok(())
    }

    fn compiled(
        &mut self,
        address: Avma,
        version: u32,
        found: &mut Found,
    ) -> Result<Vec<JavaFrame>, InterpreterError> {
        let Some(blob) = self.jvm.blob_at(&self.memory, address)? else { return Ok(Vec::new()) };
        let start = blob.code.start;
        if !self.is_known(&blob) {
            found.blobs.extend(self.add(blob.clone()));
        }
        if self.blobs.get(&start).is_none_or(|known| known.version != version) {
            return Ok(Vec::new());
        }
        self.jvm.frames_at(&self.memory, &blob, CodeAddress::InstructionPointer(address))
    }

    /// Lists the code, as far as that is due and there is time: what is new first.
    fn list(&mut self, until: u64, found: &mut Found) -> Result<(), InterpreterError> {
        let began = monotonic_ns();
        if began >= self.due {
            self.find_new(found)?;
            let now = monotonic_ns();
            self.due = now + LIST.max(now.saturating_sub(began).saturating_mul(SHARE));
        }
        if self.blocks.is_empty() && began >= self.all_due {
            self.blocks.clone_from(&self.known_blocks);
            self.all_due = began + LIST_ALL;
        }
        while !self.blocks.is_empty() {
            let step = self.blocks.split_off(self.blocks.len().saturating_sub(STEP));
            for blob in self.jvm.blobs(&self.memory, &step)? {
                if !self.is_known(&blob) {
                    found.blobs.extend(self.add(blob));
                }
            }
            if monotonic_ns() >= until {
                break;
            }
        }
        Ok(())
    }

    /// Puts on the list where code is that was not there before.
    fn find_new(&mut self, found: &mut Found) -> Result<(), InterpreterError> {
        let mut now = self.jvm.blocks(&self.memory)?;
        now.sort_unstable();
        let before = std::mem::take(&mut self.known_blocks);
        if before.is_empty() {
            // Every stack has the interpreter.
            let interpreter = Avma(self.jvm.interpreter().start);
            let blob = self.jvm.blob_at(&self.memory, interpreter)?;
            found.blobs.extend(blob.and_then(|blob| self.add(blob)));
            self.all_due = monotonic_ns() + LIST_ALL;
        }
        let new = now.iter().filter(|block| before.binary_search(block).is_err());
        self.blocks.extend(new);
        self.known_blocks = now;
        Ok(())
    }

    /// Finds out which methods pieces of code are, as far as there is time.
    fn name(&mut self, until: u64, found: &mut Found) -> Result<(), InterpreterError> {
        while let Some(start) = self.unowned.pop_front() {
            let Some(Known { blob, version }) = self.blobs.get(&start) else { continue };
            let function = match blob.kind {
                BlobKind::Compiled { .. } => match self.jvm.owner(&self.memory, blob) {
                    Err(error) if error.is_final() => return Err(error),
                    owner => owner.ok().flatten().as_ref().map(function_of),
                },
                _ => Some(ManagedFunction { name: Arc::clone(&blob.name), file: None, line: None }),
            };
            let (end, version) = (blob.code.end, *version);
            let owner = function.map(|function| ManagedOwner { start, end, version, function });
            found.owners.extend(owner);
            if monotonic_ns() >= until {
                break;
            }
        }
        Ok(())
    }

    /// Whether a piece of code is still the one that it was.
    fn is_known(&self, blob: &CodeBlob) -> bool {
        let known = self.blobs.get(&blob.code.start).map(|known| &known.blob);
        known.is_some_and(|known| known.code == blob.code && known.kind == blob.kind)
    }

    /// Takes in a piece of code that is new.
    fn add(&mut self, blob: CodeBlob) -> Option<ManagedBlob> {
        let Range { start, end } = blob.code;
        if start >= end || self.blobs.len() >= MOST_BLOBS {
            return None;
        }
        let range = start..end;
        let version = if self.versions.overlaps(&range) { self.next_version(&range) } else { 0 };
        for over in self.overlapping(&range) {
            self.blobs.remove(&over);
        }
        self.versions.insert(range, version);
        let frame = frame_of(&blob);
        self.blobs.insert(start, Known { blob, version });
        self.unowned.push_back(start);
        Some(ManagedBlob { start, end, version, frame })
    }

    fn next_version(&self, range: &Range<u64>) -> u32 {
        let all = self.versions.iter();
        let over = all.filter(|(known, _)| known.start < range.end && range.start < known.end);
        over.map(|(_, version)| version.saturating_add(1)).max().unwrap_or_default()
    }

    fn overlapping(&self, range: &Range<u64>) -> Vec<u64> {
        let before = self.blobs.range(..range.end).rev();
        let over = before.take_while(|(_, known)| known.blob.code.end > range.start);
        over.map(|(start, _)| *start).collect()
    }
}

fn frame_of(blob: &CodeBlob) -> Option<GeneratedCode> {
    match blob.kind {
        BlobKind::Interpreter => Some(GeneratedCode::JavaInterpreter),
        _ if blob.frame_bytes >= 16 => {
            Some(GeneratedCode::Framed { bytes: blob.frame_bytes, from: Avma(blob.framed_from) })
        }
        _ => None,
    }
}

fn function_of(frame: &JavaFrame) -> ManagedFunction {
    ManagedFunction {
        name: Arc::clone(&frame.method.name),
        file: frame.method.file.clone(),
        line: frame.line,
    }
}
