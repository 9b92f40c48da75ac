//! One record at a time, in order of time, into rows.
//!
//! ```text
//! samples      stack(t1)            stack(t3)
//! accounting        out(t2)   in           out(t4)
//! rows              out+stack in           out+stack
//! ```
//!
//! The stack of a switch is sampled by the leaving thread just before its switch record is
//! written, so it waits in the thread's state for it. A stack without its switch (that record was
//! lost) is dropped by the next switch in; a switch without its stack (that one was lost) has none.

use culprit_kernel::switches::Instants;
use culprit_kernel::tracepoint::Field;
use culprit_kernel::{Map, Record, Task};
use culprit_model::{FaultKind, LossKind, SampleKind, Text, ThreadId, Time};
use culprit_symbols::{
    Arch, Avma, CodeAddress, CodeMap, FileOffset, Outcome, Registers, StackDump, Truncation,
    Unwinder,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::enrich::arguments;
use crate::enrich::asleep::Sleepers;
use crate::enrich::bytecode::Bytecodes;
use crate::enrich::managed::ManagedCode;
use crate::events::accounts::Accounts;
use crate::events::attr::{Role, SWITCH_REGISTERS, UNWIND_REGISTERS, stack_pointer};
use crate::events::decode::{Body, Sample};
use crate::events::fault_files::FaultFiles;
use crate::events::ledger::Ledger;
use crate::events::outermost::Outermost;
use crate::events::sampled::SampledBlocks;
use crate::events::sockets::{Connections, DoorFields, Doors, SocketActivity, SocketFields, Way};
use crate::events::space::{MappedCode, SpaceId, Spaces};
use crate::events::stacks::{RawStack, RawStacks, Reach, UnwoundFrames, Variant, join, split};
use crate::events::switching::PointFields;
use crate::events::tables::{RawFault, RawSample, Rows};
use crate::events::tracker::Tracker;
use crate::events::waiting::{Dumped, StackRead};
use crate::events::wakers::WokenBy;
use crate::probes::{Hits, Moment, Probe, ProbeId, Slowdown, Toll};
use crate::symbolize::modules::Modules;
use crate::symbolize::resolve::{Resolver, chain_word};

/// What the handler has to know about the recording.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    /// `CLOCK_MONOTONIC` at the recording's start, ns.
    pub(crate) start: u64,
    /// Where tracepoints keep what they tell; none where they may not be used.
    pub(crate) points: Option<PointFields>,
    /// Whether every switch out should have a stack.
    pub(crate) switch_stacks: bool,
    /// Whether probes watch nobody but the recorded; else their hits are of anybody.
    pub(crate) hits_of_all: bool,
    /// Where the record of a call keeps what it returned.
    pub(crate) returned: Option<Field>,
    /// Where records of sockets keep what they tell.
    pub(crate) sockets: Option<SocketFields>,
    /// Where records of listening and connecting keep what they tell.
    pub(crate) doors: Option<DoorFields>,
    /// The activities on sockets.
    pub(crate) requests: Vec<SocketActivity>,
    /// What a hit of a probe costs; none without probes.
    pub(crate) toll: Option<Toll>,
}

/// Turns records into rows.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) context: Context,
    pub(crate) tracker: Tracker,
    pub(crate) spaces: Spaces,
    pub(crate) modules: Modules,
    /// Code that runtimes have made.
    pub(crate) managed: ManagedCode,
    /// Functions that interpreters run.
    pub(crate) bytecodes: Bytecodes,
    pub(crate) raw: RawStacks,
    pub(crate) rows: Rows,
    pub(crate) ledger: Ledger,
    pub(crate) accounts: Accounts,
    pub(crate) instants: Instants,
    /// Some switches are left without a stack on purpose now.
    pub(crate) thinned: bool,
    /// Probes by number.
    pub(crate) probes: Vec<Probe>,
    /// Probes that have a twin.
    pub(crate) twins: FxHashSet<ProbeId>,
    /// Of twins, the one that counts in each space.
    pub(crate) probe_owners: FxHashMap<(SpaceId, ProbeId), ProbeId>,
    /// Hits of probes so far, counted or not.
    pub(crate) hits: Hits,
    /// And were hit without a record of it.
    pub(crate) hits_lost: u64,
    /// What sampled allocations have become.
    pub(crate) sampled: SampledBlocks,
    /// How much of the program's CPU time goes to probes of every allocation.
    pub(crate) slowdown: Slowdown,
    pub(crate) connections: Connections,
    /// Processes that listen or connect.
    pub(crate) doors: Doors,
    unwinder: Unwinder,
    pub(crate) unwound: Vec<CodeAddress>,
    /// Threads whose wait began with a stack that was deeper than its copy, since they were last looked at, with
    /// their processes and where their stacks began.
    pub(crate) deep_waits: Vec<(ThreadId, i32, u64)>,
    /// Their stacks, as they were when the last batches ended.
    pub(crate) stack_reads: Vec<(ThreadId, StackRead)>,
    /// Threads that were asleep when the recording began and have no row of it yet.
    pub(crate) sleepers: Sleepers,
    pub(crate) interrupts: FxHashMap<RawStack, WokenBy>,
    /// When a record that may have told a wakeup was last found to be lost.
    pub(crate) wakers_lost: Time,
    fault_files: FaultFiles,
}

impl Handler {
    /// A handler that has seen nothing.
    pub(crate) fn new(context: Context) -> Self {
        Self {
            connections: Connections::new(context.requests.clone()),
            context,
            tracker: Tracker::default(),
            spaces: Spaces::default(),
            modules: Modules::default(),
            managed: ManagedCode::default(),
            bytecodes: Bytecodes::default(),
            raw: RawStacks::default(),
            rows: Rows::default(),
            ledger: Ledger::default(),
            accounts: Accounts::default(),
            instants: Instants::default(),
            wakers_lost: Time::START,
            thinned: false,
            probes: Vec::new(),
            twins: FxHashSet::default(),
            probe_owners: FxHashMap::default(),
            hits: Hits::default(),
            hits_lost: 0,
            sampled: SampledBlocks::default(),
            slowdown: Slowdown::default(),
            doors: Doors::default(),
            unwinder: Unwinder::new(),
            unwound: Vec::new(),
            deep_waits: Vec::new(),
            stack_reads: Vec::new(),
            sleepers: Sleepers::default(),
            interrupts: FxHashMap::default(),
            fault_files: FaultFiles::default(),
        }
    }

    /// Nanoseconds of the monotonic clock as a time of the recording.
    pub(crate) fn time(&self, monotonic: u64) -> Time {
        Time(monotonic.saturating_sub(self.context.start))
    }

    /// Handles what was recorded on a CPU at a time of the monotonic clock; `resolver` names the kernel
    /// functions of interrupts.
    pub(crate) fn handle(&mut self, body: &Body<'_>, (cpu, at): (u32, u64), resolver: &Resolver) {
        let time = self.time(at);
        match body {
            Body::Sample(sample) => self.sample(sample, cpu, time, resolver),
            Body::Record(record, task) => self.record(*record, *task, cpu, time),
        }
    }

    fn record(&mut self, record: Record<'_>, task: Task, cpu: u32, time: Time) {
        match record {
            Record::SwitchIn => self.switch_in(task, cpu, time),
            Record::SwitchOut { preempted } => self.switch_out(task, preempted, cpu, time),
            Record::Fork { child, parent } if real(child) && real(parent) => {
                self.tracker.fork(child, parent, time, &mut self.spaces);
                if child.pid != parent.pid {
                    self.fault_files.fork(parent.pid, child.pid);
                }
            }
            Record::Exit(task) if real(task) => {
                self.tracker.exit(task, time, &mut self.spaces);
                if self.tracker.process_of(task.pid).is_none() {
                    self.settle_process(task.pid);
                    self.managed.left(task.pid, time);
                    self.fault_files.clear(task.pid);
                }
            }
            Record::Comm { task, exec, name } if real(task) => {
                if exec {
                    self.settle_process(task.pid);
                }
                self.tracker.comm(task, exec, name, time, &mut self.spaces);
                if exec {
                    self.managed.left(task.pid, time);
                    self.fault_files.clear(task.pid);
                }
            }
            Record::Map(map) if !map.executable => self.fault_files.map(&map),
            Record::Map(map) if real(map.task) => self.map(&map, time),
            _ => {} // what was lost is counted by the worker, which knows the stream
        }
    }

    /// A mapping that existed when its process was first seen.
    pub(crate) fn known_map(&mut self, map: &Map<'_>, time: Time) {
        self.map(map, time);
    }

    /// The row of a recorded thread.
    pub(crate) fn seen(&mut self, task: Task, time: Time) -> ThreadId {
        self.tracker.thread(task, time, &mut self.spaces)
    }

    fn sample(&mut self, sample: &Sample<'_>, cpu: u32, time: Time, resolver: &Resolver) {
        match sample.role {
            Role::Switch => self.switched(sample, cpu, time),
            Role::WakingThread | Role::WakingInterrupt => {
                self.waking(sample, cpu, time, resolver);
            }
            Role::Wakeup => self.wakeup(sample, cpu, time),
            Role::WakeupNew => self.wakeup_new(sample, time),
            _ if !real(sample.task) => {}
            Role::SwitchStack => self.leaving(sample, time),
            Role::SwitchDump => {
                let thread = self.seen(sample.task, time);
                let registers = registers(sample, SWITCH_REGISTERS);
                let unwound = self.dumped_frames((sample, SWITCH_REGISTERS), thread, time);
                let task = sample.task;
                let dumped = registers.zip(unwound);
                let dumped = dumped.map(|(registers, unwound)| Dumped { task, registers, unwound });
                self.tracker.state(thread).dumped = dumped;
            }
            Role::Clock => self.clock(sample, cpu, time),
            Role::MajorFault => self.fault(sample, FaultKind::Major, time),
            Role::MinorFault => self.fault(sample, FaultKind::Minor, time),
            Role::Executed => self.executed(sample, time),
            Role::Probe(id) => self.probed(sample, id, (cpu, time)),
            Role::ProbeDump => self.probe_dump(sample, Moment::Entry, time),
            Role::ReturnDump => self.probe_dump(sample, Moment::Return, time),
            Role::Transfer => self.transferred(sample, time),
            Role::TransferDump => self.transfer_dump(sample, time),
            Role::Hardware(counter) => self.counted(sample, counter, time),
            Role::SocketSent => self.passed(sample, Way::Sent, time),
            Role::SocketReceived => self.passed(sample, Way::Received, time),
            Role::SocketAddressed => self.addressed(sample, time),
            Role::SocketState => self.socket_state(sample, time),
            Role::Door => self.door(sample, time),
            Role::Maps | Role::DataMaps | Role::Accounting | Role::Anchor => {}
        }
    }

    /// A sample of a thread that is about to leave its CPU.
    fn leaving(&mut self, sample: &Sample<'_>, time: Time) {
        let thread = self.seen(sample.task, time);
        let variant = match stack_pointer(SWITCH_REGISTERS, sample.registers) {
            None => Variant::default(),
            Some(stack_pointer) => Variant { thread: thread.0, stack_pointer },
        };
        let space = self.tracker.space(thread);
        let stack = self.pointer_stack(space, variant, sample.chain);
        self.tracker.state(thread).leaving = Some(stack);
    }

    fn clock(&mut self, sample: &Sample<'_>, cpu: u32, time: Time) {
        let thread = self.seen(sample.task, time);
        let stack = self.full_stack(sample, thread, time);
        let time = self.instants.until_left(cpu, sample.task.tid, time);
        self.tracker.state(thread).sampled = time;
        let kind = if sample.in_user { SampleKind::User } else { SampleKind::Kernel };
        self.rows.samples.push(RawSample { time, thread, kind, cpu, stack });
    }

    /// The stack of a sample: user frames from its dump and, where that ends early, from frame pointers.
    fn full_stack(
        &mut self,
        sample: &Sample<'_>,
        thread: ThreadId,
        time: Time,
    ) -> Option<RawStack> {
        let space = self.tracker.space(thread);
        let (kernel, user) = split(sample.chain);
        if !sample.registers.is_empty() && !sample.stack.is_empty() {
            let dumped = self.dumped_frames((sample, UNWIND_REGISTERS), thread, time);
            let user = dumped.and_then(|dumped| self.dumped_and_found(thread, dumped, user));
            if let Some(mut user) = user {
                let pointers = self.unwinder.pointers();
                self.bytecodes.mark(sample.task.pid, pointers, &mut user.chain);
                let chain = join(kernel, &user.chain);
                return Some(self.raw.intern(space, Variant::default(), &chain));
            }
        }
        let empty = sample.chain.is_empty();
        (!empty).then(|| self.pointer_stack(space, Variant::default(), sample.chain))
    }

    /// The user frames of the sample's dump; none where it has no registers.
    pub(crate) fn dumped_frames(
        &mut self,
        (sample, mask): (&Sample<'_>, u64),
        thread: ThreadId,
        time: Time,
    ) -> Option<UnwoundFrames> {
        let registers = registers(sample, mask)?;
        let base = stack_pointer(mask, sample.registers)?;
        let dump = StackDump { base: Avma(base), bytes: sample.stack };
        let outcome = self.unwind((sample.task.pid, thread), registers, dump);
        if let Outcome::Truncated(reason) = outcome {
            self.ledger.at(LossKind::StacksTruncated, &why_cut(reason), 1, time);
        }
        let reach = match outcome {
            Outcome::Complete => Reach::Root,
            Outcome::Truncated(Truncation::StackEnd { .. }) => Reach::CopyEnd,
            Outcome::Truncated(_) => Reach::Lost,
        };
        Some(UnwoundFrames { chain: self.user_chain(sample.task.pid, thread), reach })
    }

    /// Unwinds a copied stack into `unwound`.
    pub(crate) fn unwind(
        &mut self,
        (pid, thread): (i32, ThreadId),
        registers: Registers,
        dump: StackDump<'_>,
    ) -> Outcome {
        self.unwound.clear();
        let space = self.spaces.unwind(self.tracker.space(thread));
        let wanted = self.bytecodes.wanted(pid);
        let none = CodeMap::default();
        let code = (space, self.managed.frames(pid).unwrap_or(&none));
        let sink = &mut self.unwound;
        let unwound = self.unwinder.unwind_looking(code, registers, dump, sink, wanted);
        let guessed = unwound.by_frame_pointer > 0 || !self.unwinder.interpreted().is_empty();
        if unwound.root_is_stated && !guessed {
            self.learn_outermost(thread);
        }
        unwound.outcome
    }

    fn learn_outermost(&mut self, thread: ThreadId) {
        let space = self.tracker.space(thread);
        // This runs for most samples: no more frames than are looked at.
        let inner = self.unwound.len().saturating_sub(Outermost::LOOKED_AT);
        let frames = self.unwound.iter().enumerate().skip(inner);
        let chain: Vec<u64> = frames.map(|(depth, frame)| chain_word(depth, *frame)).collect();
        self.tracker.state(thread).outermost.learn(space, &chain);
    }

    /// The words of a chain for what was unwound last.
    pub(crate) fn user_chain(&mut self, pid: i32, thread: ThreadId) -> Vec<u64> {
        let space = self.tracker.space(thread);
        self.managed.chain((space, pid), &self.unwound, self.unwinder.interpreted())
    }

    fn fault(&mut self, sample: &Sample<'_>, kind: FaultKind, time: Time) {
        let thread = self.seen(sample.task, time);
        let space = self.tracker.space(thread);
        let stack = (!sample.chain.is_empty())
            .then(|| self.pointer_stack(space, Variant::default(), sample.chain));
        let file = match kind {
            FaultKind::Major => self.file_at(sample.task.pid, space, sample.address),
            FaultKind::Minor => None,
        };
        let (address, count) = (sample.address, sample.period.max(1));
        self.rows.faults.push(RawFault { time, thread, kind, address, count, file, stack });
    }

    /// The file behind an address: code or data.
    fn file_at(&self, pid: i32, space: SpaceId, address: u64) -> Option<Text> {
        let data = self.fault_files.find(pid, address);
        data.or_else(|| {
            let map = self.spaces.find(space, address)?;
            Some(self.modules.rows()[map.module.index()].path.clone())
        })
    }

    /// A program was executed: what it was told stands on its stack, also when it has ended before
    /// anybody could ask /proc.
    fn executed(&mut self, sample: &Sample<'_>, time: Time) {
        let base = stack_pointer(UNWIND_REGISTERS, sample.registers);
        let Some(told) = base.and_then(|base| arguments::of_stack(base, sample.stack)) else {
            return;
        };
        let thread = self.seen(sample.task, time);
        self.tracker.told(thread, told);
    }

    /// A mapping of data that existed when its process was first seen.
    pub(crate) fn known_data(&mut self, map: &Map<'_>) {
        self.fault_files.map(map);
    }

    fn map(&mut self, map: &Map<'_>, time: Time) {
        let path = String::from_utf8_lossy(map.path);
        let place = (&*path, FileOffset(map.offset));
        let module = self.modules.mapped(map.task.pid, map.file, place, &mut self.ledger);
        let code = MappedCode {
            start: map.address,
            end: map.address.saturating_add(map.length),
            offset: map.offset,
            module,
        };
        self.tracker.map(map.task, (code, &path), time, &mut self.spaces, &self.modules);
    }
}

/// What a sample has of the registers that were asked for.
fn registers(sample: &Sample<'_>, mask: u64) -> Option<Registers> {
    Registers::from_perf(Arch::NATIVE?, mask, sample.registers)
}

/// Whether a record names a thread: not the idle loop, not one that is past its exit.
pub(crate) fn real(task: Task) -> bool {
    task.tid > 0
}

/// The reason without its addresses, so that there are few.
pub(crate) fn why_cut(reason: Truncation) -> String {
    match reason {
        Truncation::StackEnd { .. } => "the stack is deeper than the copied part".to_owned(),
        other => other.to_string(),
    }
}
