//! Records in the order of time: who ran, what was mapped, and where each sample was.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{
    Cause, FrameId, LossKind, Metric, Sample as ClockSample, SampleKind, StackId, ThreadId, Time,
};
use culprit_symbols::{Arch, CodeAddress, Registers};
use rustc_hash::FxHashMap;

use super::chains::{self, ChainId, Chains, front};
use super::code::{Code, Whose};
use super::events::{Event, Events, Role};
use super::features::Facts;
use super::other::Other;
use super::queue::{Due, Extra, Raw};
use super::switches::{Source, Switching, Told};
use super::tasks::Tasks;
use crate::builder::{Amount, Builder};

/// The outer part of a stack.
#[derive(Debug, Clone, Copy, Default)]
struct Callers {
    stack: Option<StackId>,
    /// Where its innermost frame calls, if that is a process's code.
    call: Option<u64>,
}

/// Rows under making.
pub(super) struct Apply<'a> {
    pub(super) builder: &'a mut Builder,
    pub(super) chains: Chains,
    pub(super) switching: Switching,
    tasks: Tasks,
    code: Code,
    /// Where the thread that was asked for last is: its row and its mappings.
    here: Option<((i32, i32), (ThreadId, u32))>,
    callers: FxHashMap<(u32, u32), Callers>,
    stacks: FxHashMap<(u32, u32, u64), Option<StackId>>,
    arch: Option<Arch>,
    masks: Vec<u64>,
    /// The frame of each event that is one.
    leaves: Vec<FrameId>,
    key: Vec<u64>,
    /// The periods of clock samples, in their order.
    pub(super) weights: Vec<(u64, bool)>,
    pub(super) lost: Vec<(u64, u64, u64)>,
    pub(super) unwound: (u64, u64),
    cgroups: FxHashMap<u64, String>,
    /// The processes of each pid namespace, and the namespace that was seen first: the recorder's.
    pub(super) namespaces: BTreeMap<u64, BTreeSet<i32>>,
    pub(super) own_namespace: Option<u64>,
}

impl<'a> Apply<'a> {
    pub(super) fn new(builder: &'a mut Builder) -> Self {
        Self {
            builder,
            chains: Chains::default(),
            switching: Switching::default(),
            tasks: Tasks::default(),
            code: Code::default(),
            here: None,
            callers: FxHashMap::default(),
            stacks: FxHashMap::default(),
            arch: None,
            masks: Vec::new(),
            leaves: Vec::new(),
            key: Vec::new(),
            weights: Vec::new(),
            lost: Vec::new(),
            unwound: (0, 0),
            cgroups: FxHashMap::default(),
            namespaces: BTreeMap::new(),
            own_namespace: None,
        }
    }

    /// Before the first record: what is known of the events and the files.
    pub(super) fn begin(&mut self, events: &Events, facts: &Facts) {
        for (path, id) in &facts.build_ids {
            self.states(path, id);
        }
        self.code.recorded_on(&facts.host, &facts.kernel);
        self.arch = match facts.arch.as_str() {
            "x86_64" => Some(Arch::X86_64),
            "aarch64" => Some(Arch::Aarch64),
            "" => Arch::NATIVE,
            _ => None,
        };
        let leaf = |event: &Event| self.builder.named(&format!("[event]!{}", event.name));
        self.leaves = events.all.iter().map(leaf).collect();
        self.masks = events.all.iter().map(|event| event.attr.regs_user).collect();
        let told =
            |event: &&Event| event.role == Role::Switch && event.attr.has(super::attr::sample::CPU);
        self.switching.source = if events.all.iter().any(|event| event.attr.switches()) {
            Source::Records
        } else if facts.points.switch.is_some() && events.all.iter().find(told).is_some() {
            Source::Tracepoint
        } else {
            Source::None
        };
    }

    /// Notes the build id of a file.
    pub(super) fn states(&mut self, path: &str, build_id: &[u8]) {
        self.code.states(path, build_id);
    }

    /// Applies one record.
    pub(super) fn due(&mut self, time: u64, due: Due, events: &Events) {
        match due {
            Due::Sample(raw, extra) => self.sample(time, raw, extra, events),
            Due::Other(other) => {
                self.here = None;
                self.other(time, other);
            }
        }
    }

    fn other(&mut self, time: u64, other: Other) {
        match other {
            Other::Map(map) => {
                let place = (map.start, map.length, map.offset);
                let file = (map.path.as_str(), map.build_id.as_deref());
                self.code.map(map.pid, place, file, self.builder);
            }
            Other::Comm { pid, tid, name, exec } => {
                if exec {
                    self.code.exec(pid);
                }
                self.tasks.name(pid, tid, &name, self.builder.recording());
            }
            Other::Fork { task, parent } => {
                self.code.fork(parent.0, task.0);
                self.tasks.fork(task, parent, Time(time), self.builder.recording());
            }
            Other::Exit { pid, tid } => {
                self.tasks.exit(pid, tid, Time(time), self.builder.recording());
            }
            Other::Switch { pid, tid, cpu, out, preempted } => {
                let recording = self.builder.recording();
                let thread = self.tasks.thread(pid, tid, recording);
                self.switching.record(time, (thread, cpu), (out, preempted), recording);
            }
            Other::Namespaces { pid, inode } => {
                self.own_namespace.get_or_insert(inode);
                self.namespaces.entry(inode).or_default().insert(pid);
            }
            Other::Cgroup { id, path } => {
                self.cgroups.insert(id, path);
            }
            Other::Symbol { address, length, name, gone } => {
                self.code.generated(address, length, name, gone);
            }
        }
    }

    /// A thread's row and the number of its process's mappings.
    #[inline]
    fn place(&mut self, pid: i32, tid: i32) -> (ThreadId, u32) {
        if let Some((task, place)) = self.here
            && task == (pid, tid)
        {
            return place;
        }
        let thread = self.tasks.thread(pid, tid, self.builder.recording());
        let place = (thread, self.code.number(pid));
        self.here = Some(((pid, tid), place));
        place
    }

    fn sample(&mut self, time: u64, mut raw: Raw, extra: Option<Extra>, events: &Events) {
        let Some(event) = events.all.get(raw.event as usize) else { return };
        let (thread, space) = self.place(raw.pid, raw.tid);
        if let Some(Extra::Dump { chain, registers, stack }) = &extra {
            self.unwind(&mut raw, chain, registers, stack);
        }
        let stack = self.stack(&raw, space);
        match extra {
            Some(Extra::Switch { prev, state, next }) if self.switching.source != Source::None => {
                let thread = self.switching.learn(prev, raw.tid, thread);
                let next = (next, self.numbered(next));
                let told = Told { cpu: raw.cpu, prev: (prev, thread), state, next, stack };
                self.switching.tell(time, told, self.builder.recording());
            }
            Some(Extra::Wake { tid, flags, waking }) if self.switching.source != Source::None => {
                if let Some(woken) = self.numbered(tid) {
                    let recording = self.builder.recording();
                    Switching::wake(time, woken, (thread, stack), (flags, waking), recording);
                }
            }
            Some(Extra::Values(values)) => {
                for (number, value) in values {
                    if let Some(event) = events.all.get(number as usize) {
                        let raw = Raw { value, event: number, weighed: true, ..raw };
                        self.add(time, thread, stack, &raw, event);
                    }
                }
            }
            _ => self.add(time, thread, stack, &raw, event),
        }
    }

    /// The thread that a tracepoint means by a number.
    fn numbered(&self, number: i32) -> Option<ThreadId> {
        self.switching.by_number(number).unwrap_or_else(|| self.tasks.by_tid(number))
    }

    /// One amount, or one look of the clock where thread time says what it weighs.
    #[inline]
    fn add(
        &mut self,
        time: u64,
        thread: ThreadId,
        stack: Option<StackId>,
        raw: &Raw,
        event: &Event,
    ) {
        if event.role == Role::Clock && self.switching.source != Source::None {
            let kind = if raw.kernel { SampleKind::Kernel } else { SampleKind::User };
            let (time, cpu) = (Time(time), raw.cpu);
            self.builder.recording().samples.push(ClockSample { time, thread, kind, cpu, stack });
            self.weights.push((raw.value, raw.weighed));
            return;
        }
        let stack = if event.counts.named { self.named(stack, raw.event) } else { stack };
        let (metric, value) = event.counts.value(raw.weighed.then_some(raw.value));
        let amount = Amount { time, thread: Some(thread), ..Amount::at(stack, metric, value) };
        self.builder.add(Amount { cause: cause(metric, raw.kernel), ..amount });
    }

    /// A stack with the event at its leaf.
    pub(super) fn named(&mut self, stack: Option<StackId>, event: u32) -> Option<StackId> {
        let leaf = self.leaves.get(event as usize).copied();
        leaf.map(|leaf| self.builder.push(stack, leaf))
    }

    /// The user's frames from a copy of its stack, behind those of the kernel.
    fn unwind(&mut self, raw: &mut Raw, chain: &[u64], registers: &[u64], stack: &[u8]) {
        let mask = self.masks.get(raw.event as usize).copied().unwrap_or(0);
        let registers = self.arch.and_then(|arch| Registers::from_perf(arch, mask, registers));
        let mut frames = Vec::new();
        let whole = registers.is_some_and(|registers| {
            self.code.unwind(raw.pid, registers, stack, &mut frames, self.builder)
        });
        self.unwound.0 += 1;
        self.unwound.1 += u64::from(!whole);
        self.key.clear();
        let (before, context) = (chain.len().min(front::LENGTH), chain[front::CONTEXT]);
        self.key.extend_from_slice(&chain[..before]);
        if context == chains::USER {
            // The kernel noted no more than where the thread was.
            raw.leaf = frames.first().map_or(raw.leaf, |frame| frame.lookup().0);
            self.key.extend(entries(frames.get(1..).unwrap_or_default()));
        } else {
            let kernel = chain[before..].iter().take_while(|entry| **entry != chains::USER);
            self.key.extend(kernel);
            self.key.push(chains::USER);
            self.key.extend(entries(&frames));
        }
        raw.chain = self.chains.intern(&self.key);
    }

    #[inline]
    fn stack(&mut self, raw: &Raw, space: u32) -> Option<StackId> {
        let key = (raw.chain.0, space, raw.leaf);
        if let Some(known) = self.stacks.get(&key) {
            return *known;
        }
        let callers = self.callers(raw.pid, raw.chain, space);
        let context = self.chains.get(raw.chain)[front::CONTEXT];
        let stack = self.push(callers, whose(context, raw.pid), raw.leaf).stack;
        self.stacks.insert(key, stack);
        stack
    }

    /// The stack that a chain without its leaf is.
    fn callers(&mut self, pid: i32, chain: ChainId, space: u32) -> Callers {
        if let Some(known) = self.callers.get(&(chain.0, space)) {
            return *known;
        }
        let words = self.chains.get(chain);
        let mut callers = Callers::default();
        if let Some(path) = words[front::CGROUP].checked_sub(1).and_then(|id| self.cgroups.get(&id))
        {
            let frame = self.builder.named(&format!("[cgroup]!{path}"));
            callers.stack = Some(self.builder.push(None, frame));
        }
        let mut places = Vec::new();
        let (mut of, mut interrupted) = (whose(words[front::CONTEXT], pid), false);
        for entry in &words[front::LENGTH..] {
            if *entry >= chains::MARKERS {
                (of, interrupted) = (whose(*entry, pid), true);
                continue;
            }
            // A return address is that of the instruction behind the call.
            places.push((of, if interrupted { *entry } else { entry.saturating_sub(1) }));
            interrupted = false;
        }
        for (of, lookup) in places.into_iter().rev() {
            callers = self.push(callers, of, lookup);
        }
        self.callers.insert((chain.0, space), callers);
        callers
    }

    fn push(&mut self, callers: Callers, of: Whose, lookup: u64) -> Callers {
        let frames = self.code.frames(of, lookup, self.builder);
        let hidden = match (of, callers.call) {
            (Whose::User(pid), Some(call)) => self.code.hidden(pid, (call, lookup), self.builder),
            _ => None,
        };
        let hidden = hidden.unwrap_or_default();
        let stack = hidden
            .iter()
            .chain(&frames)
            .fold(callers.stack, |stack, frame| Some(self.builder.push(stack, *frame)));
        Callers { stack, call: matches!(of, Whose::User(_)).then_some(lookup) }
    }

    /// Notes what unwinding could not do.
    pub(super) fn lose_stacks(&mut self) {
        let (all, cut) = self.unwound;
        if cut > 0 {
            let what = format!(
                "copied user stacks that end early, of {all} (--call-graph dwarf): the stack is \
                 deeper than the copy, or a file of its code is missing on this machine"
            );
            self.builder.lose(LossKind::StacksTruncated, cut, &what);
        }
    }
}

/// Frames as they stand in a chain: behind a marker an address is that of the instruction itself.
fn entries(frames: &[CodeAddress]) -> impl Iterator<Item = u64> + '_ {
    frames
        .iter()
        .enumerate()
        .flat_map(|(at, frame)| match frame {
            CodeAddress::InstructionPointer(address) if at > 0 => {
                [Some(chains::USER), Some(address.0)]
            }
            CodeAddress::InstructionPointer(address) => [None, Some(address.0)],
            CodeAddress::ReturnAddress(address) => [None, Some(address.0)],
        })
        .flatten()
}

fn whose(context: u64, pid: i32) -> Whose {
    match context {
        chains::KERNEL => Whose::Kernel,
        chains::HYPERVISOR => Whose::Other("[hypervisor]"),
        chains::GUEST | chains::GUEST_KERNEL => Whose::Other("[guest.kernel]"),
        chains::GUEST_USER => Whose::Other("[guest]"),
        _ => Whose::User(pid),
    }
}

/// The cause of time on a CPU.
pub(super) fn cause(metric: Metric, kernel: bool) -> Option<Cause> {
    let cause = if kernel { Cause::CpuKernel } else { Cause::CpuUser };
    (metric == Metric::Cpu).then_some(cause)
}
