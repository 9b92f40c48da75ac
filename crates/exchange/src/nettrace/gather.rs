//! One walk over the trace: what is needed for rows, with stacks still as addresses.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::activities::Activities;
use super::blocks::{Block, Kind, Trace};
use super::bytes::{Cursor, Wrong};
use super::code::Code;
use super::events::{Event, Events};
use super::labels::{Labels, lists};
use super::meaning::{Meaning, meaning};
use super::payload;
use super::types::{Type, types};

/// A sample or a wait.
#[derive(Debug, Clone)]
pub(super) struct Sample<'a> {
    /// [`Meaning::LockStop`] and [`Meaning::WaitStop`] for waits.
    pub(super) what: Meaning,
    pub(super) process: u32,
    pub(super) thread: u32,
    /// When, or from when, ns since 1970.
    pub(super) time: u64,
    /// Addresses, leaf first.
    pub(super) stack: &'a [u8],
    /// Bytes, ns of a wait, weight of a sample; 1 for managed code.
    pub(super) value: u64,
    /// The type of what was allocated, the event's name.
    pub(super) name: String,
}

/// A thread by its position.
#[derive(Debug, Clone, Default)]
struct Thread {
    process: u32,
    number: u32,
}

/// A wait that goes on.
#[derive(Debug, Clone, Copy)]
struct Open<'a> {
    ends_with: Meaning,
    time: u64,
    stack: &'a [u8],
}

/// What a trace holds.
#[derive(Debug)]
pub(super) struct Gathered<'a> {
    pub(super) trace: Trace,
    types: FxHashMap<u32, (Type, Option<Meaning>)>,
    stacks: FxHashMap<u32, &'a [u8]>,
    labels: FxHashMap<u32, Labels>,
    threads: FxHashMap<u64, Thread>,
    sequences: FxHashMap<u64, u32>,
    open: FxHashMap<(u32, u32), Open<'a>>,
    pub(super) samples: Vec<Sample<'a>>,
    pub(super) activities: Activities,
    pub(super) code: Code,
    /// Names of processes and threads.
    pub(super) processes: BTreeMap<u32, String>,
    pub(super) names: BTreeMap<(u32, u32), String>,
    pub(super) command: String,
    /// Events that are not used, by provider and name.
    pub(super) unused: BTreeMap<String, u64>,
    /// Events that the recorder dropped.
    pub(super) lost: u64,
    pub(super) bad: u64,
    pub(super) end: u64,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(trace: Trace) -> Self {
        Self {
            trace,
            types: FxHashMap::default(),
            stacks: FxHashMap::default(),
            labels: FxHashMap::default(),
            threads: FxHashMap::default(),
            sequences: FxHashMap::default(),
            open: FxHashMap::default(),
            samples: Vec::new(),
            activities: Activities::default(),
            code: Code::default(),
            processes: BTreeMap::new(),
            names: BTreeMap::new(),
            command: String::new(),
            unused: BTreeMap::new(),
            lost: 0,
            bad: 0,
            end: 0,
        }
    }

    pub(super) fn block(&mut self, block: Block<'a>) {
        let read = match block.kind {
            Kind::Events => self.events(block.body),
            Kind::Metadata => self.types(block.body),
            Kind::Stacks => self.stacks(block.body),
            Kind::SequencePoint => self.sequence_point(block.body),
            Kind::Threads => self.threads(block.body),
            Kind::Labels => lists(block.body, &mut self.labels),
            Kind::Trace | Kind::Other => Ok(()),
        };
        self.bad += u64::from(read.is_err());
    }

    fn types(&mut self, body: &[u8]) -> Result<(), Wrong> {
        let (types, whole) = types(body, self.trace.version);
        for (number, of) in types {
            let meaning = meaning(&of);
            self.activities.described(number, &of);
            self.types.insert(number, (of, meaning));
        }
        if whole { Ok(()) } else { Err(Wrong) }
    }

    /// The first number, how many, and each with its size.
    fn stacks(&mut self, body: &'a [u8]) -> Result<(), Wrong> {
        let mut cursor = Cursor::new(body);
        let (first, count) = (cursor.u32()?, cursor.u32()?);
        for at in 0..count {
            self.stacks.insert(first.wrapping_add(at), cursor.sized()?);
        }
        Ok(())
    }

    fn threads(&mut self, body: &[u8]) -> Result<(), Wrong> {
        let mut cursor = Cursor::new(body);
        while !cursor.is_done() {
            let size = usize::from(cursor.u16()?);
            self.thread(cursor.take(size)?)?;
        }
        Ok(())
    }

    fn thread(&mut self, row: &[u8]) -> Result<(), Wrong> {
        let mut cursor = Cursor::new(row);
        let at = cursor.varuint()?;
        let (mut thread, mut name) = (Thread::default(), String::new());
        while !cursor.is_done() {
            match cursor.u8()? {
                1 => name = cursor.text()?,
                2 => thread.process = cursor.varuint32()?,
                3 => thread.number = low(cursor.varuint()?),
                4 => drop((cursor.text()?, cursor.text()?)),
                _ => break,
            }
        }
        if !name.is_empty() {
            self.names.insert((thread.process, thread.number), name);
        }
        self.threads.insert(at, thread);
        Ok(())
    }

    /// From here on stacks and labels are numbered anew; what each thread has counted until here is told.
    fn sequence_point(&mut self, body: &[u8]) -> Result<(), Wrong> {
        self.stacks.clear();
        self.labels.clear();
        let mut cursor = Cursor::new(body);
        cursor.u64()?;
        let new = self.trace.version >= 6;
        let flags = if new { cursor.u32()? } else { 0 };
        for _ in 0..cursor.u32()? {
            let (thread, sequence) = match new {
                true => (cursor.varuint()?, cursor.varuint32()?),
                false => (cursor.u64()?, cursor.u32()?),
            };
            self.counted(thread, sequence, 0);
        }
        if flags & 1 == 1 {
            self.sequences.clear();
        }
        Ok(())
    }

    /// A thread has counted so many events, of which the last `here` are at hand. A smaller number
    /// is a new thread's.
    fn counted(&mut self, thread: u64, sequence: u32, here: u32) {
        let last = self.sequences.entry(thread).or_default();
        let missing = sequence.wrapping_sub(*last).wrapping_sub(here);
        if missing.cast_signed() >= 0 {
            self.lost += u64::from(missing);
        }
        if missing.cast_signed() >= 0 || here > 0 {
            *last = sequence;
        }
    }

    fn events(&mut self, body: &'a [u8]) -> Result<(), Wrong> {
        let mut events = Events::new(body, self.trace.version)?;
        for event in events.by_ref() {
            self.counted(event.capture, event.sequence, 1);
            let read = self.event(&event);
            self.bad += u64::from(read.is_err());
        }
        if events.whole { Ok(()) } else { Err(Wrong) }
    }

    fn event(&mut self, event: &Event<'a>) -> Result<(), Wrong> {
        let (of, meaning) = self.types.get(&event.kind).ok_or(Wrong)?;
        let time = self.trace.time(event.time).ok_or(Wrong)?;
        self.end = self.end.max(time);
        let thread = self.who(event.thread);
        let Some(meaning) = *meaning else {
            let Labels { activity, opcode } = self.labels(event);
            let at = (thread.process, thread.number, time);
            if !self.activities.take(event, (of, opcode, activity), at)? {
                *self.unused.entry(of.title()).or_default() += 1;
            }
            return Ok(());
        };
        match meaning {
            Meaning::Look
            | Meaning::Cpu
            | Meaning::Switch
            | Meaning::Counted
            | Meaning::Allocation => self.sample(event, meaning, (&thread, time)),
            Meaning::LockStart => self.start(Meaning::LockStop, &thread, time, event.stack),
            Meaning::WaitStart => self.start(Meaning::WaitStop, &thread, time, event.stack),
            Meaning::LockStop | Meaning::WaitStop => self.stop(meaning, &thread, time),
            Meaning::Nothing => Ok(()),
            _ => self.fact(event, meaning, thread.process),
        }
    }

    /// What an event belongs to.
    fn labels(&self, event: &Event<'_>) -> Labels {
        let known = self.labels.get(&event.labels).copied();
        known.unwrap_or(Labels { activity: event.activity, opcode: None })
    }

    /// Whose an event is.
    fn who(&self, thread: u64) -> Thread {
        match self.trace.version {
            6.. => self.threads.get(&thread).cloned().unwrap_or_default(),
            _ => Thread { process: self.trace.process, number: low(thread) },
        }
    }

    fn stack(&self, number: u32) -> &'a [u8] {
        self.stacks.get(&number).copied().unwrap_or_default()
    }

    fn sample(
        &mut self,
        event: &Event<'a>,
        what: Meaning,
        (thread, time): (&Thread, u64),
    ) -> Result<(), Wrong> {
        let mut name = String::new();
        let mut time = time;
        let value = match what {
            Meaning::Look => u64::from(payload::is_managed(event.payload)?),
            Meaning::Allocation => {
                let (bytes, of) = payload::allocation(event.payload, self.trace.pointer)?;
                name = of;
                bytes
            }
            Meaning::Switch => {
                let out = self.trace.span(payload::value(event.payload)?).ok_or(Wrong)?;
                time = time.checked_sub(out).ok_or(Wrong)?;
                out
            }
            Meaning::Cpu => payload::value(event.payload)?,
            _ => {
                name = self.types.get(&event.kind).map(|of| of.0.name.clone()).unwrap_or_default();
                1
            }
        };
        let stack = self.stack(event.stack);
        let Thread { process, number: thread } = *thread;
        self.samples.push(Sample { what, process, thread, time, stack, value, name });
        Ok(())
    }

    /// A wait begins; one within another is a part of it.
    fn start(
        &mut self,
        ends_with: Meaning,
        thread: &Thread,
        time: u64,
        stack: u32,
    ) -> Result<(), Wrong> {
        let stack = self.stack(stack);
        let key = (thread.process, thread.number);
        match self.open.get(&key) {
            Some(outer) if outer.ends_with != ends_with => Ok(()),
            before => {
                // The end of the one before is missing.
                let missing = before.is_some();
                self.open.insert(key, Open { ends_with, time, stack });
                if missing { Err(Wrong) } else { Ok(()) }
            }
        }
    }

    fn stop(&mut self, what: Meaning, thread: &Thread, time: u64) -> Result<(), Wrong> {
        let Thread { process, number: thread } = *thread;
        let key = (process, thread);
        let Some(open) = self.open.get(&key).copied().filter(|open| open.ends_with == what) else {
            return Ok(());
        };
        self.open.remove(&key);
        let value = time.checked_sub(open.time).ok_or(Wrong)?;
        let (time, stack, name) = (open.time, open.stack, String::new());
        self.samples.push(Sample { what, process, thread, time, stack, value, name });
        Ok(())
    }

    /// What names processes, threads and addresses.
    fn fact(&mut self, event: &Event<'a>, what: Meaning, process: u32) -> Result<(), Wrong> {
        match what {
            Meaning::Method => {
                let method = payload::method(event.payload)?;
                let range = (method.start, method.size);
                self.code.method(process, range, &method.name, method.module);
            }
            Meaning::Module => {
                let (id, path) = payload::module(event.payload)?;
                self.code.module(process, id, &path);
            }
            Meaning::Command => self.command = payload::command(event.payload)?,
            Meaning::Process => {
                self.processes.insert(process, payload::process(event.payload)?);
            }
            Meaning::Mapping => {
                let fields = self.types.get(&event.kind).map(|of| of.0.fields.as_slice());
                let mapping = payload::mapping(event.payload, fields.unwrap_or_default())?;
                let range = (mapping.start, mapping.end);
                let process = mapping.process.unwrap_or(process);
                self.code.mapping(process, mapping.id, range, &mapping.path);
            }
            Meaning::Symbol => {
                let (mapping, range, name) = payload::symbol(event.payload)?;
                self.code.symbol(mapping, range, &name);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A thread's number; macOS has larger ones, which differ in their lower half.
fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
}
