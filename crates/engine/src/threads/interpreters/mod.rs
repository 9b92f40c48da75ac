//! Interpreted functions in native stacks: they take the place of the interpreter's own loop.
//!
//! ```text
//! native     main < run < LOOP < call < LOOP < sleep < [kernel]
//! read       LOOP < app.py!main < app.py!work < LOOP < app.py!pause
//! together   main < run < app.py!main < app.py!work < call < app.py!pause < sleep < [kernel]
//! ```
//!
//! What an event loop awaits comes behind a mark: a frame that has a module, and no file.
//!
//! A thread that is off the CPU does not change its frames: what was read while it was there is exact.
//! A sample on the CPU takes what was read nearest in time, if it fits: a native stack that reaches its
//! thread's start has as many loops as were read. What was read between the same two waits comes first.
//!
//! A sample may have what its loops ran at its own moment, as their registers told: a function behind the
//! loop. Then what was read nearest in time fits only if it says the same.
//!
//! A wait during which nothing was read takes what was read in the nearest wait at the same place of the
//! code (`proven`). Without one it takes what was read in all waits in the same native function, if that was
//! the same and is not long ago: an interpreter that learns calls it from several places. Else it takes what
//! was read before and after it, if both are the same.
//!
//! Where no reading fits, the outermost functions that the one before and the one after have ran at that
//! moment, too. The loop that runs the innermost of these stays: what else it runs is not known.
//!
//! ```text
//! native      main < run < LOOP < call < LOOP < sum < [sample]
//! before      LOOP < main < work
//! after       LOOP < main < work < parse < LOOP < next < LOOP < value
//! together    main < run < main < work < LOOP < call < LOOP < sum
//! ```
//!
//! Of a thread that ran on while it was read, only the outermost functions are known. They serve where
//! nothing better does.
//!
//! How many took functions that were not read at their own time, and how many found none, are losses.
//! What is awaited is taken only where it is exact.

mod joiner;
mod proven;

use culprit_model::{
    InterpreterStack, Loss, LossKind, Nanos, Recording, StackId, SwitchKind, Text, ThreadId, Time,
};

use super::evidence::ByThread;
use joiner::Joiner;
use proven::Proven;

/// What was read longer ago, or later, than this says nothing about a moment.
const NEAR: Nanos = Nanos(20_000_000);

/// What was read before and after a moment, and was the same, says something about it up to this.
const NEAR_BOTH: Nanos = Nanos(100_000_000);

/// Readings that are tried for a sample of which is known what its loops run. They may be far away: who calls
/// a function changes less often than which one runs.
const MOST_TRIED: usize = 512;

/// Puts interpreted functions into the stacks of switches and samples, and takes what was read out of
/// the recording. Linear in switches, samples and what was read, times a logarithm for each; each pair
/// of a native and an interpreted stack is put together once.
pub(super) fn merge(recording: &mut Recording) {
    let mut reads = std::mem::take(&mut recording.interpreter_stacks);
    if reads.is_empty() {
        return;
    }
    reads.sort_by_key(|read| read.time);
    let by_thread = ByThread::new(recording.threads.len(), &reads, |read| read.thread);
    let switches =
        ByThread::new(recording.threads.len(), &recording.switches, |switch| switch.thread);
    let samples = ByThread::new(recording.threads.len(), &recording.samples, |row| row.thread);
    let mut joiner = Joiner::of(recording, &reads);
    let mut tally = Tally::default();
    let mut proven = Proven::default();
    let all = || (0..recording.threads.len()).map(ThreadId::from_index);
    let reads_of = |thread: ThreadId| -> Vec<InterpreterStack> {
        by_thread.of(thread).iter().map(|at| reads[*at as usize].clone()).collect()
    };
    let threads: Vec<(ThreadId, Vec<InterpreterStack>)> =
        all().map(|thread| (thread, reads_of(thread))).filter(|(_, r)| !r.is_empty()).collect();
    let mut unproven = Vec::with_capacity(threads.len());
    for (thread, reads) in &threads {
        let mut life = Life { recording, reads, joiner: &mut joiner, tally: &mut tally };
        unproven.push(life.read_switches(*thread, switches.of(*thread), &mut proven));
    }
    let proven = proven.in_order();
    for ((thread, reads), unproven) in threads.iter().zip(&unproven) {
        let mut life = Life { recording, reads, joiner: &mut joiner, tally: &mut tally };
        let waits = life.spans_of_waits(switches.of(*thread));
        life.other_switches(*thread, unproven, (&waits, &proven));
        life.samples(samples.of(*thread), &waits);
    }
    recording.losses.extend(tally.losses());
}

/// How many stacks got their functions without proof, and how many none.
#[derive(Debug, Default)]
struct Tally {
    guessed: u64,
    missing: u64,
}

impl Tally {
    /// Counts a stack whose functions were not read at its own time.
    fn count(&mut self, joined: Option<StackId>) {
        match joined {
            Some(_) => self.guessed += 1,
            None => self.missing += 1,
        }
    }

    fn losses(&self) -> impl Iterator<Item = Loss> {
        let loss =
            |kind, count| Loss { kind, count, from: None, to: None, detail: Text::default() };
        let rows = [
            loss(LossKind::InterpreterFramesGuessed, self.guessed),
            loss(LossKind::InterpreterFramesMissing, self.missing),
        ];
        rows.into_iter().filter(|row| row.count > 0)
    }
}

/// From when to when a thread waited.
type Span = (Time, Time);

/// One thread's stacks, and what was read of it.
struct Life<'a> {
    recording: &'a mut Recording,
    /// In order of time.
    reads: &'a [InterpreterStack],
    joiner: &'a mut Joiner,
    tally: &'a mut Tally,
}

impl<'a> Life<'a> {
    /// Stacks of switches out: the thread stays as it is until it is switched in. Answers the switches
    /// during which nothing was read that fits.
    fn read_switches(
        &mut self,
        thread: ThreadId,
        switches: &[u32],
        proven: &mut Proven,
    ) -> Vec<u32> {
        let end = Time(self.recording.meta.wall.0.max(1));
        let process = self.recording.thread(thread).process;
        let mut unproven = Vec::new();
        for (place, at) in switches.iter().enumerate() {
            let switch = &self.recording.switches[*at as usize];
            let Some(native) = switch.stack.filter(|_| switch.kind != SwitchKind::In) else {
                continue;
            };
            if !self.joiner.interprets(self.recording, native) {
                continue;
            }
            let from = switch.time;
            let next = switches.get(place + 1).map(|at| self.recording.switches[*at as usize].time);
            let to = next.unwrap_or(end).max(from);
            let waits = switch.kind == SwitchKind::Out;
            let read = self.during(from, to);
            let joined =
                read.and_then(|read| Some((read, self.joiner.join(self.recording, native, read)?)));
            let Some((read, stack)) = joined else {
                unproven.push(*at);
                continue;
            };
            if waits && let Some(called) = self.joiner.called(self.recording, read) {
                let place = self.joiner.user_part(self.recording, native);
                let call = self.joiner.native_call(self.recording, place);
                proven.add((process, thread), (place, call), (from, called));
            }
            self.recording.switches[*at as usize].stack = Some(stack);
        }
        unproven
    }

    /// Stacks of switches out during which nothing was read that fits. Another wait at the same place of
    /// the code tells most about a wait; a thread that lost its CPU is where it ran.
    fn other_switches(
        &mut self,
        thread: ThreadId,
        switches: &[u32],
        (waits, proven): (&[Span], &Proven),
    ) {
        let process = self.recording.thread(thread).process;
        for at in switches {
            let switch = &self.recording.switches[*at as usize];
            let (Some(native), time, kind) = (switch.stack, switch.time, switch.kind) else {
                continue;
            };
            let joined = if kind == SwitchKind::Preempted {
                self.running(native, time, waits)
            } else {
                let place = self.joiner.user_part(self.recording, native);
                let call = self.joiner.native_call(self.recording, place);
                let alike = proven.nearest((process, thread), place, time);
                let alike = alike.or_else(|| proven.only(process, call, time));
                let alike = alike.and_then(|read| self.joiner.join(self.recording, native, read));
                alike.or_else(|| self.around(native, time))
            };
            self.tally.count(joined);
            self.recording.switches[*at as usize].stack = Some(joined.unwrap_or(native));
        }
    }

    /// Stacks of samples: the thread runs.
    fn samples(&mut self, samples: &[u32], waits: &[Span]) {
        for at in samples {
            let sample = &self.recording.samples[*at as usize];
            let (Some(native), time) = (sample.stack, sample.time) else { continue };
            if !self.joiner.interprets(self.recording, native) {
                continue;
            }
            let joined = self.running(native, time, waits);
            self.tally.count(joined);
            self.recording.samples[*at as usize].stack = Some(joined.unwrap_or(native));
        }
    }

    /// The stack of a thread that runs. What was read during a wait tells of the wait, so what was read
    /// between the same two waits comes first.
    fn running(&mut self, native: StackId, time: Time, waits: &[Span]) -> Option<StackId> {
        let near = self.near(native, time, self.between(waits, time));
        near.or_else(|| self.near(native, time, self.reads))
    }

    /// From when to when the thread waited, in order. One that only lost its CPU did not leave its functions.
    fn spans_of_waits(&self, switches: &[u32]) -> Vec<Span> {
        let rows = switches.iter().map(|at| &self.recording.switches[*at as usize]);
        let behind = rows.clone().skip(1);
        let pairs = rows.zip(behind).filter(|(out, _)| out.kind == SwitchKind::Out);
        pairs.map(|(out, next)| (out.time, next.time)).collect()
    }

    /// What was read between the last wait before a moment and the next one behind it.
    fn between(&self, waits: &[Span], time: Time) -> &'a [InterpreterStack] {
        let next = waits.partition_point(|(from, _)| *from < time);
        let ended = next.checked_sub(1).map_or(Time(0), |before| waits[before].1);
        let begin = self.reads.partition_point(|read| read.time < ended);
        let end = waits.get(next).map_or(self.reads.len(), |(from, _)| {
            self.reads.partition_point(|read| read.time + read.took <= *from)
        });
        self.reads.get(begin..end).unwrap_or_default()
    }

    /// What was read from beginning to end while the thread was off the CPU. What it awaits is in some
    /// readings only: not in the first, and in none behind its wake-up.
    fn during(&mut self, from: Time, to: Time) -> Option<StackId> {
        let end = self.reads.partition_point(|read| read.time <= to);
        let reads = self.reads.get(..end).unwrap_or_default().iter().rev();
        let reads = reads.take_while(|read| read.time >= from);
        let whole = reads.filter(|read| read.time + read.took <= to && read.ran_on != Some(true));
        let mut whole = whole.map(|read| read.stack);
        let last = whole.next()?;
        let Self { recording, joiner, .. } = self;
        let mut awaits = |stack: StackId| joiner.called(recording, stack) != Some(stack);
        let awaited = [last].into_iter().chain(whole).flatten().find(|stack| awaits(*stack));
        awaited.or(last)
    }

    /// The native stack of a wait with what was read before and after it, where that was the same, or was
    /// read on one side only. Else with the outermost functions that both have: what was read in other waits
    /// says nothing about the innermost.
    fn around(&mut self, native: StackId, time: Time) -> Option<StackId> {
        let (near, both) = self.nearest(time, self.reads);
        let mut whole = near.iter().filter(|read| !read.ran_on).map(|read| read.stack);
        let first = whole.next().flatten();
        let only = first.filter(|first| whole.all(|other| other == Some(*first)));
        let fitting = only.and_then(|read| self.joiner.join(self.recording, native, read));
        fitting.or_else(|| self.common(native, &near, both))
    }

    /// The native stack with what was read nearest in time and fits. Of a thread that ran on while it was
    /// read, only the outermost functions are known, unless the other reading goes on from them.
    fn near(&mut self, native: StackId, time: Time, reads: &[InterpreterStack]) -> Option<StackId> {
        if self.joiner.is_marked(self.recording, native)
            && let Some(fitting) = self.nearest_fitting(native, time, reads)
        {
            return Some(fitting);
        }
        let (near, both) = self.nearest(time, reads);
        let ran_on = near.first().filter(|read| read.ran_on && read.distance <= NEAR);
        let outermost = ran_on.and_then(|read| read.stack);
        let Self { recording, joiner, .. } = self;
        let whole = near.iter().filter(|read| !read.ran_on).filter_map(|read| read.stack);
        let mut fitting = whole.filter_map(|read| {
            let goes_on = outermost.is_none_or(|part| joiner.begins(recording, read, part));
            goes_on.then(|| joiner.join(recording, native, read))?
        });
        let fitting = fitting.next();
        let part = || joiner.join_common(recording, native, (outermost?, outermost?));
        fitting.or_else(part).or_else(|| self.common(native, &near, both))
    }

    /// The native stack with what was read nearest in time of all that fits. Where it is known what the loops
    /// run, that may be further away.
    fn nearest_fitting(
        &mut self,
        native: StackId,
        time: Time,
        reads: &[InterpreterStack],
    ) -> Option<StackId> {
        let after = reads.partition_point(|read| read.time < time);
        let (before, behind) = reads.split_at(after);
        let (mut before, mut behind) = (before.iter().rev().peekable(), behind.iter().peekable());
        let distance = |read: &InterpreterStack| time.since(read.time) + read.time.since(time);
        for _ in 0..MOST_TRIED {
            let next = match (before.peek(), behind.peek()) {
                (Some(one), Some(other)) if distance(one) <= distance(other) => before.next()?,
                (Some(_), None) => before.next()?,
                _ => behind.next()?,
            };
            if next.ran_on == Some(true) {
                continue;
            }
            let Self { recording, joiner, .. } = self;
            let read = next.stack.and_then(|stack| joiner.called(recording, stack));
            if let Some(joined) = read.and_then(|read| joiner.join(recording, native, read)) {
                return Some(joined);
            }
        }
        None
    }

    /// The native stack with the outermost functions of what was read: of both, or of a thread that ran on.
    fn common(&mut self, native: StackId, near: &[Near], both: Option<Both>) -> Option<StackId> {
        let Self { recording, joiner, .. } = self;
        let of_both = both.and_then(|(near, far)| Some((near?, far?)));
        let ran_on = near.iter().filter(|read| read.ran_on && read.distance <= NEAR);
        let of_one = ran_on.filter_map(|read| Some((read.stack?, read.stack?)));
        let mut pairs = of_both.into_iter().chain(of_one);
        pairs.find_map(|pair| joiner.join_common(recording, native, pair))
    }

    /// What was read before and after a moment, the nearest first, and both where there are two.
    fn nearest(&mut self, time: Time, reads: &[InterpreterStack]) -> (Vec<Near>, Option<Both>) {
        let after = reads.partition_point(|read| read.time < time);
        let before = after.checked_sub(1).and_then(|at| reads.get(at));
        let near = [before, reads.get(after)].into_iter().flatten().map(|read| Near {
            distance: time.since(read.time) + read.time.since(time),
            stack: read.stack.and_then(|stack| self.joiner.called(self.recording, stack)),
            ran_on: read.ran_on == Some(true),
        });
        let mut near: Vec<Near> = near.filter(|read| read.distance <= NEAR_BOTH).collect();
        near.sort_by_key(|read| read.distance);
        let both = match near.as_slice() {
            [near, far] => Some((near.stack, far.stack)),
            _ => None,
        };
        let limit = if both.is_some_and(|(a, b)| a == b) { NEAR_BOTH } else { NEAR };
        near.retain(|read| read.distance <= limit);
        (near, both)
    }
}

/// What was read near a moment.
#[derive(Debug, Clone, Copy)]
struct Near {
    distance: Nanos,
    /// Without what it awaits.
    stack: Option<StackId>,
    ran_on: bool,
}

/// What was read on both sides of a moment.
type Both = (Option<StackId>, Option<StackId>);

#[cfg(test)]
mod tests;
