//! Hits of probes into rows.
//!
//! A hit has the registers, the call chain by frame pointers and the top of the stack. Where a
//! function begins it has not made its frame yet, so the chain lacks its caller, which is the word on
//! top of the stack; whose callers are compiled without frame pointers is learnt from dumps, as at
//! switches (see `stacks`).
//!
//! What is not counted, because it is no event of its own:
//!
//! ```text
//! twins     a file met by two names has two probes at one place; the first one met counts
//! families  calloc < malloc: an allocator that calls itself is asked for memory once
//! ```

use culprit_model::{ActivityEdge, EdgeKind, LossKind, Metric, ThreadId, Time};

use crate::events::attr::{UNWIND_REGISTERS, stack_pointer};
use crate::events::decode::Sample;
use crate::events::handle::Handler;
use crate::events::space::SpaceId;
use crate::events::stacks::{RawStack, Variant, join, split};
use crate::probes::{
    ActivityEnd, AllocCall, Hit, Moment, PROBE_REGISTERS, Probe, ProbeId, Purpose,
};

/// What a thread last asked an allocator for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LastAllocation {
    instruction: u64,
    caller: u64,
    stack_pointer: u64,
    bytes: u64,
}

impl Handler {
    /// A probe was hit.
    pub(crate) fn probed(&mut self, sample: &Sample<'_>, id: ProbeId, (cpu, time): (u32, Time)) {
        if !self.context.hits_of_all && self.tracker.recorded(sample.task.tid).is_none() {
            return; // somebody else's
        }
        let Some(probe) = self.probes.get(id.0 as usize).cloned() else { return };
        if !matches!(probe.site.purpose, Purpose::Sampler(_)) {
            self.hits.count(probe.trap);
        }
        let thread = self.seen(sample.task, time);
        let space = self.tracker.space(thread);
        if self.is_twin(space, &probe) {
            return;
        }
        let Some(hit) = hit(sample, probe.site.moment) else { return };
        match &probe.site.purpose {
            Purpose::Activity(end) => self.activity(end, &hit, (thread, time)),
            Purpose::Sampler(event) => self.sampler_event(*event, &hit, sample, (thread, time)),
            Purpose::Allocation(call) => {
                self.slowdown.hit(cpu, time, probe.trap, self.context.toll);
                if let Some(bytes) = self.allocated(&hit, *call, (&probe, thread)) {
                    let stack = self.probed_stack(sample, probe.site.moment, thread);
                    self.rows.costs.add(Metric::Allocs, (time, thread, stack), 1);
                    self.rows.costs.add(Metric::AllocBytes, (time, thread, stack), bytes);
                }
            }
        }
    }

    /// An activity starts or stops. Calls that have ended without a return are left first.
    fn activity(&mut self, end: &ActivityEnd, hit: &Hit<'_>, (thread, time): (ThreadId, Time)) {
        let edge = ActivityEdge {
            time,
            thread,
            kind: end.kind,
            name: end.name.clone(),
            key: end.key_of(hit),
            source: end.source,
        };
        let gone = match (end.call, end.kind) {
            (true, EdgeKind::Enter) => {
                let space = self.tracker.space(thread);
                let known = |caller| self.spaces.find(space, caller).is_some();
                let tail_call = hit.caller.is_some_and(|caller| !known(caller));
                let calls = &mut self.tracker.state(thread).calls;
                calls.enter(&end.name, hit.stack_pointer, tail_call)
            }
            (true, _) => self.tracker.state(thread).calls.leave(&end.name, hit.stack_pointer),
            (false, _) => Vec::new(),
        };
        let lost = "calls without a return; their end is the next record of the thread";
        self.ledger.between(LossKind::ActivitiesUnpaired, lost, gone.len() as u64, time, time);
        for name in gone {
            let left = ActivityEdge { kind: EdgeKind::Leave, name, key: None, ..edge.clone() };
            self.rows.activity_edges.push(left);
        }
        self.rows.activity_edges.push(edge);
    }

    /// A dump of the stack at a hit: teaches the callers of all hits at the same place.
    pub(crate) fn probe_dump(&mut self, sample: &Sample<'_>, moment: Moment, time: Time) {
        let Some(thread) = self.tracker.recorded(sample.task.tid) else { return };
        let Some(stack) = self.probed_stack(sample, moment, thread) else { return };
        self.teach(stack, (sample, UNWIND_REGISTERS), thread, time);
    }

    /// Whether another probe in the same memory tells the same.
    fn is_twin(&mut self, space: SpaceId, probe: &Probe) -> bool {
        let first = probe.twin.unwrap_or(probe.id);
        if probe.twin.is_none() && !self.twins.contains(&first) {
            return false;
        }
        *self.probe_owners.entry((space, first)).or_insert(probe.id) != probe.id
    }

    /// The bytes that a hit asks for; none where an allocator calls itself.
    fn allocated(
        &mut self,
        hit: &Hit<'_>,
        call: AllocCall,
        (probe, thread): (&Probe, ThreadId),
    ) -> Option<u64> {
        let bytes = call.bytes(hit)?;
        let now = LastAllocation {
            instruction: hit.instruction,
            caller: hit.caller?,
            stack_pointer: hit.stack_pointer,
            bytes,
        };
        let space = self.tracker.space(thread);
        if self.is_within_family(space, now, probe) {
            return None;
        }
        let last = std::mem::replace(&mut self.tracker.state(thread).allocated, now);
        // A jump leaves caller and stack as they were: `realloc` of nothing goes on as `malloc`.
        let jumped = LastAllocation { instruction: now.instruction, ..last } == now
            && last.instruction != now.instruction;
        (!jumped).then_some(bytes)
    }

    /// Whether an allocator's function was called by another of the same file.
    fn is_within_family(&self, space: SpaceId, now: LastAllocation, probe: &Probe) -> bool {
        let callee = self.spaces.find(space, now.instruction);
        let caller = self.spaces.find(space, now.caller);
        let (Some(callee), Some(caller)) = (callee, caller) else { return false };
        let at = caller.in_file(now.caller);
        callee.module == caller.module && probe.family.iter().any(|range| range.contains(&at))
    }

    /// The unique stack of a hit.
    fn probed_stack(
        &mut self,
        sample: &Sample<'_>,
        moment: Moment,
        thread: ThreadId,
    ) -> Option<RawStack> {
        let stack_pointer = stack_pointer(mask(sample), sample.registers).unwrap_or(0);
        let chain = probed_chain(sample, moment)?;
        let variant = Variant { thread: thread.0, stack_pointer };
        let space = self.tracker.space(thread);
        Some(self.probed_pointer_stack(space, variant, &join(&[], &chain)))
    }
}

/// The registers of a record of a probe.
fn mask(sample: &Sample<'_>) -> u64 {
    let few = sample.registers.len() <= PROBE_REGISTERS.count_ones() as usize;
    if few { PROBE_REGISTERS } else { UNWIND_REGISTERS }
}

fn hit<'a>(sample: &'a Sample<'_>, moment: Moment) -> Option<Hit<'a>> {
    let (_, user) = split(sample.chain);
    let mask = mask(sample);
    Some(Hit {
        registers: sample.registers,
        mask,
        instruction: *user.first()?,
        caller: caller(sample, moment, mask),
        stack_pointer: stack_pointer(mask, sample.registers)?,
    })
}

/// The user frames of a record of a probe by frame pointers, with the caller that has none yet.
pub(crate) fn probed_chain(sample: &Sample<'_>, moment: Moment) -> Option<Vec<u64>> {
    let (_, user) = split(sample.chain);
    let (first, rest) = user.split_first()?;
    let mut chain = vec![*first];
    // Newer kernels add the caller themselves, where they know the function's first instruction.
    let caller = caller(sample, moment, mask(sample));
    chain.extend(caller.filter(|caller| rest.first() != Some(caller)));
    chain.extend_from_slice(rest);
    Some(chain)
}

/// Where a function that has just been called will return to: on x86-64 the word on top of the stack,
/// on ARM the link register.
fn caller(sample: &Sample<'_>, moment: Moment, mask: u64) -> Option<u64> {
    if moment == Moment::Return || sample.registers.is_empty() {
        return None;
    }
    if cfg!(target_arch = "aarch64") {
        const LINK: u64 = 1 << 30;
        return sample.registers.get((mask & (LINK - 1)).count_ones() as usize).copied();
    }
    let word = sample.stack.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*word))
}
