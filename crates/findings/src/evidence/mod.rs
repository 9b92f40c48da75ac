//! What all rules read, computed once from a recording.
//!
//! ```text
//! recording -> stacks (families, waits) -> locks, loops -+-> chain (what the measured time was spent on)
//!           -> lives, work -------------------------------+
//!           -> chores, counters, faults, place facts
//! ```

pub(crate) mod chain;
pub(crate) mod chores;
mod counters;
mod cpus;
mod doing;
mod facts;
mod faults;
pub(crate) mod feeds;
mod helpers;
mod idle;
mod known;
mod locks;
pub(crate) mod loops;
mod managed;
mod memory;
pub(crate) mod pacing;
pub(crate) mod pauses;
mod peers;
pub(crate) mod polling;
mod queue;
pub(crate) mod relation;
mod serving;
pub(crate) mod stacks;
pub(crate) mod talks;
pub(crate) mod visits;
mod waits;
pub(crate) mod work;

use culprit_engine::own::{OwnCode, function_name, is_generated};
use culprit_engine::wakers::Lives;
use culprit_model::{
    Cause, FrameId, Instruction, Interval, Nanos, ProcessId, Recording, Text, ThreadId, Time,
};
use rayon::prelude::*;

pub(crate) use chain::{Chain, IntervalId, Segment, SegmentId};
pub(crate) use chores::{Chore, ChoreTime, Chores};
pub(crate) use counters::Counters;
pub(crate) use culprit_engine::names::Family;
pub(crate) use doing::Doing;
use doing::Doings;
pub(crate) use facts::distrusted;
pub(crate) use faults::Faults;
use helpers::Helpers;
pub(crate) use known::{Known, KnownFrames};
use locks::Locks;
pub(crate) use loops::{Loop, Loops};
use managed::Managed;
pub(crate) use memory::{Memory, Resident};
use peers::Peers;
use polling::Polling;
use queue::CpuUsers;
pub(crate) use relation::Relation;
use serving::Serving;
pub(crate) use stacks::Stacks;
pub(crate) use waits::Wait;
pub(crate) use work::{Work, WorkOfAll};

use crate::doubt::Apart;
use crate::report::Options;

/// What all rules read.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    /// The recording.
    pub(crate) recording: &'a Recording,
    /// Whose code its frames are.
    pub(crate) own: OwnCode,
    /// What the names of its functions tell.
    pub(crate) known: KnownFrames,
    /// What its stacks tell.
    pub(crate) stacks: Stacks,
    /// What library code they are in.
    pub(crate) chores: Chores,
    /// How long the chain is in it.
    pub(crate) chore_time: ChoreTime,
    /// The runtimes' own threads.
    pub(crate) managed: Managed,
    /// Its intervals by thread.
    pub(crate) lives: Lives,
    /// Which waits are for locks.
    pub(crate) locks: Locks,
    /// Its polling loops.
    pub(crate) loops: Loops,
    /// Who offers something on a socket.
    pub(crate) serving: Serving,
    /// Who works when.
    pub(crate) work: WorkOfAll<'a>,
    /// What the measured time was spent on.
    pub(crate) chain: Chain,
    /// What its counters grew by.
    pub(crate) counters: Counters,
    /// Its faults by thread.
    pub(crate) faults: Faults,
    /// What its processes have in memory, over time.
    pub(crate) memory: Memory,
    /// How far its sums are from the kernel's own.
    pub(crate) sums_apart: Apart,
    /// `module!function` of each frame, made once because rules group by it.
    names: Vec<Text>,
    /// What texts call the function of each frame.
    shown_names: Vec<Text>,
    /// The waits of the chain's links, in their order.
    waits: Vec<Wait>,
    /// What each segment depends on.
    relations: Vec<Relation>,
    /// What is done in each segment.
    pub(crate) doings: Doings,
    /// Which loops poll for the work of others.
    pub(crate) polling: Polling,
}

/// The chain, and what it takes to make it.
struct Chained {
    stacks: Stacks,
    lives: Lives,
    locks: Locks,
    serving: Serving,
    loops: Loops,
    chain: Chain,
    doings: Doings,
}

impl Chained {
    fn of(
        recording: &Recording,
        options: &Options,
        known: &KnownFrames,
        work: &WorkOfAll<'_>,
    ) -> Self {
        let (stacks, lives) = (Stacks::of(recording, known), Lives::of(recording));
        let locks = Locks::of(recording, &stacks);
        let serving = Serving::of(recording);
        let loops = Loops::of(recording, &lives, (&stacks, &locks), &serving);
        let peers = Peers::of(recording, &lives, &stacks);
        let users = CpuUsers::of(recording);
        let helpers = Helpers::of(recording, &stacks, &serving);
        let chain = Chain::of(&chain::Source {
            recording,
            lives: &lives,
            stacks: &stacks,
            locks: &locks,
            loops: &loops,
            work,
            peers: &peers,
            range: (options.from.unwrap_or(Time::START), options.to.unwrap_or(Time(u64::MAX))),
            threads: options.threads.as_deref(),
            command_path: options.command_path.as_deref(),
            users: &users,
            helpers: &helpers,
            serving: &serving,
        });
        let doings = Doings::of(&chain, &recording.intervals);
        Self { stacks, lives, locks, serving, loops, chain, doings }
    }
}

impl<'a> Evidence<'a> {
    /// Computes everything; n log n in intervals.
    pub(crate) fn of(recording: &'a Recording, options: &Options) -> Self {
        let (work, known) = (WorkOfAll::of(recording), KnownFrames::of(recording));
        let ((own, chores, managed, sums_apart), chained) = rayon::join(
            || {
                work.find_out();
                let own = OwnCode::new(recording, &options.own);
                let chores = Chores::of(recording, &known);
                let managed = Managed::of(recording, &chores);
                (own, chores, managed, Apart::of(recording))
            },
            || Chained::of(recording, options, &known, &work),
        );
        let Chained { stacks, lives, locks, serving, loops, chain, doings } = chained;
        let chore_time = ChoreTime::of(&chain, &recording.intervals, &chores);
        let frames = (0..recording.frames.len()).map(FrameId::from_index);
        let names: Vec<Text> = frames.map(|f| Text::from(recording.frame_name(f))).collect();
        let shown_names = shown_names(recording, &names);
        let mut evidence = Self {
            recording,
            own,
            known,
            stacks,
            chores,
            chore_time,
            managed,
            lives,
            locks,
            loops,
            serving,
            work,
            chain,
            counters: Counters::of(recording),
            faults: Faults::of(recording),
            memory: Memory::of(recording),
            sums_apart,
            names,
            shown_names,
            waits: Vec::new(),
            relations: Vec::new(),
            doings,
            polling: Polling::default(),
        };
        evidence.waits =
            evidence.chain.links.iter().map(|link| Wait::of(&evidence, link)).collect();
        evidence.relations =
            evidence.chain.segments.par_iter().map(|segment| evidence.relate(segment)).collect();
        evidence.polling = Polling::of(&evidence);
        evidence
    }

    /// The interval of a handle.
    pub(crate) fn interval(&self, id: IntervalId) -> &'a Interval {
        &self.recording.intervals[id.index()]
    }

    /// The interval that a segment passes in.
    pub(crate) fn of_segment(&self, segment: &Segment) -> &'a Interval {
        self.interval(segment.interval)
    }

    /// The process of a thread.
    pub(crate) fn process(&self, thread: ThreadId) -> ProcessId {
        self.recording.thread(thread).process
    }

    /// The segments of whose cause and stack `wanted` holds: much cheaper than to ask each of them.
    pub(crate) fn doing(&self, wanted: impl FnMut(&Doing) -> bool) -> Vec<SegmentId> {
        self.doings.segments(wanted)
    }

    /// The segments for which `wanted` holds.
    pub(crate) fn segments(
        &self,
        mut wanted: impl FnMut(&Segment, &Interval) -> bool,
    ) -> Vec<SegmentId> {
        self.chain.iter().filter(|(_, s)| wanted(s, self.of_segment(s))).map(|(id, _)| id).collect()
    }

    /// What a segment's time depends on: what its own wait does where that is known, else what the
    /// innermost wait does that it fills. The run queue after a lock's wait belongs to the lock, and so
    /// does a peer's answer that is waited for with the lock in hand: without it, waits would overlap.
    fn relate(&self, segment: &Segment) -> Relation {
        let interval = self.of_segment(segment);
        let own = if interval.cause.is_blocked() || self.is_handed_over(interval) {
            Relation::of(self, interval, interval.waker, false)
        } else {
            Relation::Other
        };
        let wait = self.waits_around(segment).next().filter(|_| own == Relation::Other);
        let relation = wait.map_or(own, |wait| wait.relation);
        let held = || self.held_meanwhile(segment, own).is_some();
        if relation == Relation::Peer && held() { Relation::Lock } else { relation }
    }

    /// The wait for a lock whose holder waits for a peer in a segment; `own` is what the segment's own
    /// wait depends on.
    fn held_meanwhile(&self, segment: &Segment, own: Relation) -> Option<IntervalId> {
        let mut asks = own == Relation::Peer;
        for wait in self.waits_around(segment) {
            match wait.relation {
                Relation::Lock if asks => return Some(wait.interval),
                Relation::Peer => asks = true,
                _ => return None,
            }
        }
        None
    }

    /// True for what a thread does with a CPU for which another one of the program, that is waited for, is
    /// ready.
    pub(crate) fn fills_queue(&self, segment: &Segment) -> bool {
        let innermost = self.chain.links(segment).next();
        innermost.is_some_and(|link| self.interval(link.wait).cause.is_runnable())
    }

    /// The waits that a segment fills, innermost first, without those for a CPU.
    pub(crate) fn waits_around(&self, segment: &Segment) -> impl Iterator<Item = &Wait> {
        let waits = self.chain.link_ids(segment).map(|id| &self.waits[id.index()]);
        waits.filter(|wait| self.interval(wait.interval).cause.is_blocked())
    }

    /// True for time on the run queue right after a lock was handed over.
    fn is_handed_over(&self, interval: &Interval) -> bool {
        interval.cause == Cause::Runnable
            && self.locks.is_lock(self.recording, &self.stacks, interval)
    }

    /// True for time in which a thread that is waited for waits for a CPU itself, whoever has that.
    pub(crate) fn is_for_cpu(&self, segment: &Segment) -> bool {
        self.is_pushed_off(segment) || self.fills_queue(segment)
    }

    /// True where a thread was working and lost its CPU: the wait is then for the threads on the CPUs.
    /// The run queue right after a wakeup is a part of the wakeup.
    fn is_pushed_off(&self, segment: &Segment) -> bool {
        let interval = self.of_segment(segment);
        let before = segment.interval.0.checked_sub(1).map(|row| self.interval(IntervalId(row)));
        let worked = before.is_some_and(|i| i.thread == interval.thread && !i.cause.is_blocked());
        interval.cause == Cause::Runnable && worked
    }

    /// What a segment's time depends on.
    pub(crate) fn relation(&self, segment: SegmentId) -> Relation {
        self.relations[segment.index()]
    }

    /// The segments that depend on `relation`.
    pub(crate) fn depending_on(&self, relation: Relation) -> Vec<SegmentId> {
        let count = self.relations.iter().filter(|r| **r == relation).count();
        let all = (0u32..).map(SegmentId).zip(&self.relations);
        let mut found = Vec::with_capacity(count);
        found.extend(all.filter(|(_, r)| **r == relation).map(|(id, _)| id));
        found
    }

    /// The time of a set of segments.
    pub(crate) fn total(&self, segments: &[SegmentId]) -> Nanos {
        self.chain.total(segments)
    }

    /// Where the program of a wait listens, where it is for requests that others may make.
    pub(crate) fn for_requests(&self, wait: &Interval) -> Option<&Text> {
        self.serving.for_requests(self.recording, &self.stacks, wait)
    }

    /// Since when and where the measured command listens that nobody asks for anything.
    pub(crate) fn unasked(&self) -> Option<(Time, &Text)> {
        let last = self.chain.segments.last().filter(|_| self.chain.one_shot)?;
        self.serving.unasked(&self.work, last.start + last.length)
    }

    /// The function to look at for an interval: where the CPU was, or who waits.
    pub(crate) fn function(&self, doing: impl Into<Doing>) -> Option<FrameId> {
        let Doing { cause, stack } = doing.into();
        let leaf = stack.and_then(|s| self.recording.stacks.get(s.index())).map(|s| s.frame);
        match cause {
            Cause::CpuUser => self.stacks.code(stack).or(leaf),
            Cause::CpuKernel => self.stacks.entry(stack).or(leaf),
            _ => self.stacks.focus(stack),
        }
    }

    /// The function whose work an interval is; the one to look at where none is known.
    pub(crate) fn owner(&self, interval: &Interval) -> Option<FrameId> {
        self.chores.owner(interval.stack).or_else(|| self.function(interval))
    }

    /// What the instructions tell where a thread was on a CPU in user code.
    pub(crate) fn instruction(&self, doing: &Doing) -> Option<Instruction> {
        let stack = doing.stack.filter(|_| doing.cause == Cause::CpuUser)?;
        let leaf = self.recording.stacks.get(stack.index())?.frame;
        self.recording.frame(leaf).instruction
    }

    /// The application's function that called the library code that an interval passes in; the
    /// function to look at where it passes in none.
    pub(crate) fn caller(&self, interval: &Interval) -> Option<FrameId> {
        self.chores.caller(interval.stack).or_else(|| self.function(interval))
    }

    /// The application's function that an interval passes in or below; what was called for, else.
    pub(crate) fn asker(&self, interval: &Interval) -> Option<FrameId> {
        self.chores.application(interval.stack).or_else(|| self.caller(interval))
    }

    /// The interval in which the program asks for what a runtime's own thread does in a segment: the
    /// segment's own where it is in a function of the application, else the innermost wait around it
    /// that is.
    pub(crate) fn requester(&self, segment: &Segment) -> Segment {
        // Another process asks for its work, and not for what its runtime does by the way.
        let process = self.process(self.of_segment(segment).thread);
        let is_asked = |id: IntervalId| {
            let interval = self.interval(id);
            self.process(interval.thread) == process
                && self.chores.application(interval.stack).is_some()
        };
        let waits = self.chain.links(segment).map(|link| link.wait);
        let own = std::iter::once(segment.interval);
        let interval = own.chain(waits).find(|id| is_asked(*id)).unwrap_or(segment.interval);
        Segment { interval, ..*segment }
    }

    /// True while the JVM's bytecode interpreter runs, which runs what is not compiled yet.
    pub(crate) fn is_interpreting(&self, interval: &Interval) -> bool {
        const INTERPRETER: &str = "[jit]!Interpreter";
        let code = self.stacks.code(interval.stack).filter(|_| interval.cause == Cause::CpuUser);
        code.is_some_and(|frame| self.names[frame.index()].as_str() == INTERPRETER)
    }

    /// The program's function that entered the kernel, wrappers left out.
    pub(crate) fn focus(&self, interval: &Interval) -> Option<FrameId> {
        self.stacks.focus(interval.stack)
    }

    /// `module!function` of a frame, `?` for none.
    pub(crate) fn name(&self, frame: Option<FrameId>) -> Text {
        frame.map_or_else(|| Text::from("?"), |f| self.names[f.index()].clone())
    }

    /// What texts call the function of a frame: without a runtime's marks where the code is generated.
    pub(crate) fn shown_name(&self, frame: FrameId) -> Text {
        self.shown_names[frame.index()].clone()
    }

    /// True when a text is the name of a function, `module!function`.
    pub(crate) fn is_function(&self, text: &str) -> bool {
        self.names.iter().any(|name| name.as_str() == text)
    }

    /// The wait that makes a segment depend on something, as [`Evidence::relation`] has it: its own,
    /// also while it is on the run queue after it, else the innermost one that it fills.
    pub(crate) fn dependent_wait(&self, segment: &Segment) -> Option<IntervalId> {
        let interval = self.of_segment(segment);
        let own = if interval.cause.is_blocked() {
            Some(segment.interval)
        } else if self.is_handed_over(interval) {
            // A thread's rows follow each other, and this one stands after its wait.
            segment.interval.0.checked_sub(1).map(IntervalId)
        } else {
            None
        };
        let relation = |id: &IntervalId| {
            let wait = self.interval(*id);
            let known = wait.thread == interval.thread && wait.cause.is_blocked();
            if known { Relation::of(self, wait, wait.waker, false) } else { Relation::Other }
        };
        let own_relation = own.as_ref().map_or(Relation::Other, relation);
        match own_relation {
            Relation::Other | Relation::Peer => self
                .held_meanwhile(segment, own_relation)
                .or_else(|| own.filter(|_| own_relation == Relation::Peer))
                .or_else(|| self.waits_around(segment).next().map(|wait| wait.interval)),
            _ => own,
        }
    }

    /// The waits of a set of segments, each counted once, in order of the intervals table: own
    /// waits and the innermost ones that others fill.
    pub(crate) fn waits(&self, segments: &[SegmentId]) -> Vec<IntervalId> {
        let mut waits: Vec<_> = segments
            .iter()
            .map(|s| self.chain.segment(*s))
            .filter_map(|s| {
                let interval = self.of_segment(s);
                let own = interval.cause.is_blocked().then_some(s.interval);
                own.or_else(|| self.chain.links(s).next().map(|l| l.wait))
            })
            .collect();
        waits.sort_unstable();
        waits.dedup();
        waits
    }
}

/// What texts call the function of each frame; the same as `names` for all but generated code.
fn shown_names(recording: &Recording, names: &[Text]) -> Vec<Text> {
    let generated: Vec<bool> = recording.modules.iter().map(is_generated).collect();
    let shown = |(at, name): (usize, &Text)| {
        let frame = FrameId::from_index(at);
        let module = recording.frame(frame).module;
        match module.is_some_and(|module| generated[module.index()]) {
            true => Text::from(function_name(recording, frame)),
            false => name.clone(),
        }
    };
    names.iter().enumerate().map(shown).collect()
}
