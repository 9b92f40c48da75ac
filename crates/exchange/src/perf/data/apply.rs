//! Records in the order of time: who ran, what was mapped, and the stacks of samples.

use std::collections::{BTreeMap, BTreeSet};

use culprit_kernel::attr::sample;
use culprit_kernel::record::Mode;
use culprit_kernel::words::text;
use culprit_kernel::{Header, Order, Record, Sample, Task, Trailer, Words};
use culprit_model::{FrameId, LossKind, StackId, ThreadId, Time, UNKNOWN_CPU};
use culprit_symbols::Arch;
use rustc_hash::FxHashMap;

use super::chains::{self, ChainId, Chains, front};
use super::code::{Code, Whose};
use super::events::{Event, Events, Role};
use super::features::Facts;
use super::switches::{Source, Switching};
use super::tasks::Tasks;
use super::tracing::Points;
use crate::builder::Builder;

/// What was met and is not read, or not whole.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) malformed: u64,
    pub(super) lost: u64,
    pub(super) lost_samples: u64,
    pub(super) throttled: u64,
    pub(super) aux_bytes: u64,
    pub(super) branches: u64,
    pub(super) guests: u64,
    pub(super) deferred: u64,
    pub(super) beyond: u64,
    pub(super) samples: u64,
    pub(super) switches: u64,
    pub(super) unknown_ids: u64,
}

/// The outer part of a stack.
#[derive(Debug, Clone, Copy, Default)]
struct Callers {
    stack: Option<StackId>,
    /// Where its innermost frame calls, if that is a process's code.
    call: Option<u64>,
}

/// Rows under making.
pub(super) struct Apply<'a> {
    pub(super) order: Order,
    pub(super) builder: &'a mut Builder,
    pub(super) events: Events,
    pub(super) tally: Tally,
    /// Whether any event asked for the build ids of mapped files.
    build_ids: bool,
    pub(super) chains: Chains,
    pub(super) switching: Switching,
    pub(super) tasks: Tasks,
    pub(super) code: Code,
    /// Where the thread that was asked for last is: its row and its mappings.
    here: Option<(Task, (ThreadId, u32))>,
    callers: FxHashMap<(u32, u32), Callers>,
    stacks: FxHashMap<(u32, u32, u64), Option<StackId>>,
    pub(super) arch: Option<Arch>,
    /// The frame of each event that is one.
    leaves: Vec<FrameId>,
    pub(super) key: Vec<u64>,
    /// The last value of each counter of a group.
    pub(super) counted: FxHashMap<u64, u64>,
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
    pub(super) fn new(order: Order, builder: &'a mut Builder) -> Self {
        Self {
            order,
            builder,
            events: Events::default(),
            tally: Tally::default(),
            build_ids: false,
            chains: Chains::default(),
            switching: Switching::default(),
            tasks: Tasks::default(),
            code: Code::default(),
            here: None,
            callers: FxHashMap::default(),
            stacks: FxHashMap::default(),
            arch: None,
            leaves: Vec::new(),
            key: Vec::new(),
            counted: FxHashMap::default(),
            weights: Vec::new(),
            lost: Vec::new(),
            unwound: (0, 0),
            cgroups: FxHashMap::default(),
            namespaces: BTreeMap::new(),
            own_namespace: None,
        }
    }

    /// Before the first record: what is known of the events and the files.
    pub(super) fn begin(&mut self, facts: &Facts) {
        self.events.describe(facts);
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
        self.leaves = self.events.all.iter().map(leaf).collect();
        self.build_ids = self.events.all.iter().any(|event| event.attr.build_ids());
        let told = |event: &Event| event.role == Role::Switch && event.attr.layout.has(sample::CPU);
        self.switching.source = if self.events.all.iter().any(|event| event.attr.switches()) {
            Source::Records
        } else if facts.points.switch.is_some() && self.events.all.iter().any(told) {
            Source::Tracepoint
        } else {
            Source::None
        };
    }

    /// Notes the build id of a file.
    pub(super) fn states(&mut self, path: &str, build_id: &[u8]) {
        self.code.states(path, build_id);
    }

    /// Applies one record of the kernel.
    pub(super) fn record(&mut self, time: u64, record: &[u8], points: &Points) {
        let mut words = Words::new(record, self.order);
        let Some(header) = Header::read(&mut words) else { return };
        let length = u64::from(header.size).saturating_sub(Header::BYTES as u64);
        let Some(body) = words.take(length) else { return };
        let number = self.events.of(header, body, self.order);
        let Some(layout) = self.events.all.get(number as usize).map(|event| event.attr.layout)
        else {
            self.tally.malformed += u64::from(header.is_sample());
            return;
        };
        if header.is_sample() {
            match Sample::read(&layout, body, self.order) {
                Ok(sample) => self.sample(time, (header.mode(), number), &sample, points),
                Err(_) => self.tally.malformed += 1,
            }
            return;
        }
        self.here = None;
        // perf's own records belong to no event, so build ids are those that any event asked for.
        let header = if self.build_ids { header } else { header.without_build_id() };
        match Record::read(header, body, self.order, &layout) {
            Ok((Record::Map(_), _))
                if matches!(header.mode(), Mode::GuestKernel | Mode::GuestUser) => {}
            Ok((record, end)) => self.other(time, record, end),
            Err(_) => self.tally.malformed += 1,
        }
    }

    /// A record that is no sample.
    fn other(&mut self, time: u64, record: Record<'_>, end: Trailer) {
        let recording = self.builder.recording();
        match record {
            Record::SwitchIn => self.switch(time, end, (false, false)),
            Record::SwitchOut { preempted } => self.switch(time, end, (true, preempted)),
            Record::Map(map) if map.executable => {
                let place = (map.address, map.length, map.offset);
                let path = text(map.path);
                self.code.map(map.task.pid, place, (&path, map.build_id), self.builder);
            }
            Record::Comm { task, exec, name } => {
                if exec {
                    self.code.exec(task.pid);
                }
                self.tasks.name(task, &text(name), recording);
            }
            Record::Fork { child, parent } => {
                self.code.fork(parent.pid, child.pid);
                self.tasks.fork(child, parent, Time(time), recording);
            }
            Record::Exit(task) => self.tasks.exit(task, Time(time), recording),
            Record::Namespace { pid, inode } => {
                self.own_namespace.get_or_insert(inode);
                self.namespaces.entry(inode).or_default().insert(pid);
            }
            Record::Cgroup { id, path } => {
                self.cgroups.insert(id, text(path));
            }
            Record::Symbol { address, length, name, gone } => {
                self.code.generated(address, length, text(name), gone);
            }
            Record::Lost(count) => self.tally.lost = self.tally.lost.saturating_add(count),
            Record::LostSamples(count) => {
                self.tally.lost_samples = self.tally.lost_samples.saturating_add(count);
            }
            Record::Throttle => self.tally.throttled += 1,
            Record::DeferredChain => self.tally.deferred += 1,
            Record::Map(_) | Record::Other => {}
        }
    }

    fn switch(&mut self, time: u64, end: Trailer, how: (bool, bool)) {
        self.tally.switches += 1;
        let recording = self.builder.recording();
        let thread = self.tasks.thread(end.task, recording);
        let cpu = end.cpu.unwrap_or(UNKNOWN_CPU);
        self.switching.record(time, (thread, cpu), how, recording);
    }

    /// A thread's row and the number of its process's mappings.
    #[inline]
    pub(super) fn place(&mut self, task: Task) -> (ThreadId, u32) {
        if let Some((last, place)) = self.here
            && last == task
        {
            return place;
        }
        let thread = self.tasks.thread(task, self.builder.recording());
        let place = (thread, self.code.number(task.pid));
        self.here = Some((task, place));
        place
    }

    /// A stack with the event at its leaf.
    pub(super) fn named(&mut self, stack: Option<StackId>, event: u32) -> Option<StackId> {
        let leaf = self.leaves.get(event as usize).copied();
        leaf.map(|leaf| self.builder.push(stack, leaf))
    }

    /// The stack of a chain with its leaf, in a process with these mappings.
    #[inline]
    pub(super) fn stack(
        &mut self,
        (pid, space): (i32, u32),
        chain: ChainId,
        leaf: u64,
    ) -> Option<StackId> {
        let key = (chain.0, space, leaf);
        if let Some(known) = self.stacks.get(&key) {
            return *known;
        }
        let callers = self.callers(pid, chain, space);
        let context = self.chains.get(chain)[front::CONTEXT];
        let stack = self.push(callers, whose(context, pid), leaf).stack;
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

fn whose(context: u64, pid: i32) -> Whose {
    match context {
        chains::KERNEL => Whose::Kernel,
        chains::HYPERVISOR => Whose::Other("[hypervisor]"),
        chains::GUEST | chains::GUEST_KERNEL => Whose::Other("[guest.kernel]"),
        chains::GUEST_USER => Whose::Other("[guest]"),
        _ => Whose::User(pid),
    }
}
