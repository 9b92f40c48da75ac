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
mod tests {
    use super::*;
    use culprit_model::notation::parse_raw;
    use culprit_model::{Frame, FrameId, ModuleId, Sample, Stack};

    /// A stack of the recording by the names of its frames, root first; `f.py!g:3` is an interpreted
    /// function at its line 3.
    fn stack(recording: &mut Recording, names: &str) -> StackId {
        let mut parent = None;
        for name in names.split(';') {
            let (name, line) = name.split_once(':').unwrap_or((name, ""));
            let (file, function) = name.split_once('!').unzip();
            let mut frame = Frame::new(None, function.unwrap_or(name), None);
            frame.file = file.map(Text::from);
            frame.line = line.parse().ok();
            let frame = FrameId::from_index(place(&mut recording.frames, frame));
            let node = place(&mut recording.stacks, Stack { parent, frame });
            parent = Some(StackId::from_index(node));
        }
        parent.expect("a frame")
    }

    /// Where a row is; it is added where there is none like it.
    fn place<T: PartialEq>(rows: &mut Vec<T>, row: T) -> usize {
        rows.iter().position(|known| *known == row).unwrap_or_else(|| {
            rows.push(row);
            rows.len() - 1
        })
    }

    fn read(recording: &mut Recording, (time, took): (u64, u64), names: &str) {
        let stack = (!names.is_empty()).then(|| stack(recording, names));
        let (time, took) = (Time(time * 1_000_000), Nanos(took * 1_000_000));
        let thread = ThreadId(0);
        let ran_on = None;
        recording.interpreter_stacks.push(InterpreterStack { time, took, thread, stack, ran_on });
    }

    /// As `read`, of a thread that ran on meanwhile.
    fn read_outermost(recording: &mut Recording, when: (u64, u64), names: &str) {
        read(recording, when, names);
        if let Some(read) = recording.interpreter_stacks.last_mut() {
            read.ran_on = Some(true);
        }
    }

    fn names(recording: &Recording, stack: Option<StackId>) -> String {
        let frames: Vec<FrameId> = stack.into_iter().flat_map(|s| recording.stack(s)).collect();
        let names: Vec<&str> =
            frames.iter().rev().map(|frame| recording.frame(*frame).function.as_str()).collect();
        names.join(" ")
    }

    /// A thread that waits from 4 to 8 ms at `native`, and what was read of it.
    fn waiting(native: &str, reads: &[((u64, u64), &str)]) -> (Recording, String) {
        let drawing = format!("stack b blocked.sleep {native}\napp(1)/main(1) UUUUbbbbUUUU");
        let mut recording = parse_raw(&drawing).expect("a drawing");
        for (when, names) in reads {
            read(&mut recording, *when, names);
        }
        merge(&mut recording);
        let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out).expect("a wait");
        let said = names(&recording, wait.stack);
        (recording, said)
    }

    const NATIVE: &str = "_start;run;loop;call;loop;sleep";
    const READ: &str = "loop;a.py!main;a.py!work;loop;a.py!pause";
    const JOINED: &str = "_start run main work call pause sleep";

    fn lost(recording: &Recording, kind: LossKind) -> u64 {
        recording.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
    }

    #[test]
    fn what_is_read_during_a_wait_is_exact() {
        let other = "loop;a.py!main;loop;a.py!other";
        let (recording, said) =
            waiting(NATIVE, &[((2, 0), other), ((5, 1), READ), ((9, 0), other)]);
        assert_eq!(said, JOINED);
        assert!(recording.interpreter_stacks.is_empty());
        assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 0);
    }

    #[test]
    fn a_wait_that_was_too_short_takes_what_was_read_on_both_sides_and_says_so() {
        let (recording, said) = waiting(NATIVE, &[((3, 0), READ), ((9, 0), READ)]);
        assert_eq!(said, JOINED);
        assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
        // Reading went on when the thread ran again: that is no proof.
        let (recording, said) = waiting(NATIVE, &[((7, 5), READ)]);
        assert_eq!(said, JOINED);
        assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
        // It was in one of the two, or in neither.
        let other = "loop;a.py!main;loop;a.py!other";
        let (recording, said) = waiting(NATIVE, &[((3, 0), READ), ((9, 0), other)]);
        assert_eq!(said, "_start run main loop call loop sleep");
        assert_eq!(lost(&recording, LossKind::InterpreterFramesGuessed), 1);
    }

    #[test]
    fn a_wait_that_was_too_short_takes_what_another_one_at_its_place_ran() {
        let drawing = "stack s blocked.sleep _start;loop;sleep;[kernel]!nanosleep
stack f blocked.disk _start;loop;fsync;[kernel]!submit
stack g blocked.disk _start;loop;fsync;[kernel]!commit
app(1)/main(1) UssssUffffUssssUggUssssU";
        let mut recording = parse_raw(drawing).expect("a drawing");
        for (at, function) in [(2, "nap"), (7, "save"), (12, "nap"), (20, "nap")] {
            read(&mut recording, (at, 0), &format!("loop;a.py!main;a.py!{function}"));
        }
        merge(&mut recording);
        let waits = recording.switches.iter().filter(|s| s.kind == SwitchKind::Out);
        let said: Vec<String> = waits.map(|s| names(&recording, s.stack)).collect();
        assert_eq!(said[1], "_start main save fsync submit");
        assert_eq!(said[3], "_start main save fsync commit", "{said:?}");
        assert_eq!(said[4], "_start main nap sleep nanosleep");
    }

    #[test]
    fn a_sample_takes_what_was_read_between_the_same_waits_and_not_in_them() {
        let drawing = "stack u cpu.user _start;loop
stack s blocked.sleep _start;loop;sleep
app(1)/main(1) UssssuuuuuussssU";
        let mut recording = parse_raw(drawing).expect("a drawing");
        for (at, function) in [(4, "nap"), (8, "count"), (12, "nap")] {
            read(&mut recording, (at, 0), &format!("loop;a.py!main;a.py!{function}"));
        }
        merge(&mut recording);
        let within = |sample: &&Sample| (5_000_000..11_000_000).contains(&sample.time.0);
        let counts: Vec<&Sample> = recording.samples.iter().filter(within).collect();
        assert!(!counts.is_empty());
        for sample in counts {
            assert_eq!(names(&recording, sample.stack), "_start main count");
        }
    }

    /// As `waiting`, with a mark for frames called `awaits`.
    fn awaiting(reads: &[((u64, u64), &str)]) -> String {
        let drawing = format!("stack b blocked.poll {NATIVE}\napp(1)/main(1) UUUUbbbbUUUU");
        let mut recording = parse_raw(&drawing).expect("a drawing");
        for (when, names) in reads {
            read(&mut recording, *when, names);
        }
        for frame in recording.frames.iter_mut().filter(|f| f.function.as_str() == "awaits") {
            frame.module = Some(ModuleId(0));
        }
        merge(&mut recording);
        let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out).expect("a wait");
        names(&recording, wait.stack)
    }

    #[test]
    fn what_is_awaited_is_taken_where_it_is_exact() {
        const AWAITED: &str = "loop;a.py!main;a.py!work;loop;a.py!pause;awaits;a.py!answer";
        let exact = awaiting(&[((4, 0), READ), ((5, 1), AWAITED), ((7, 0), READ), ((7, 3), READ)]);
        assert_eq!(exact, "_start run main work call pause awaits answer sleep");
        assert_eq!(awaiting(&[((3, 0), AWAITED), ((9, 0), READ)]), JOINED);
    }

    #[test]
    fn what_does_not_fit_or_is_far_is_left_out_and_counted() {
        let deeper = "loop;a.py!main;loop;a.py!work;loop;a.py!pause";
        for (at, names) in [(3, deeper), (3, "loop;a.py!main"), (60, READ)] {
            let (recording, said) = waiting(NATIVE, &[((at, 0), names)]);
            assert_eq!(said, "_start run loop call loop sleep", "{names}");
            assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 1);
        }
        // A thread that runs nothing interpreted lacks nothing.
        let (recording, said) = waiting("_start;native;sleep", &[((3, 0), READ), ((9, 0), "")]);
        assert_eq!(said, "_start native sleep");
        assert!(recording.losses.is_empty());
    }

    #[test]
    fn a_thread_that_ends_runs_nothing_any_more() {
        let ends = "[kernel]!do_exit;[kernel]!exit_mm";
        for at in [3, 5] {
            assert_eq!(waiting(ends, &[((at, 1), READ)]).1, "do_exit exit_mm");
        }
        // It is asked to end by a function that runs.
        let asked = format!("_start;run;loop;call;loop;_exit;{ends}");
        let said = waiting(&asked, &[((5, 1), READ)]).1;
        assert_eq!(said, "_start run main work call pause _exit do_exit exit_mm");
    }

    #[test]
    fn a_cut_native_stack_gets_its_outer_functions_back() {
        let (_, said) = waiting("call;loop;sleep", &[((5, 1), READ)]);
        assert_eq!(said, "main work call pause sleep");
        let (_, said) = waiting("sleep", &[((5, 1), READ)]);
        assert_eq!(said, "main work pause sleep");
    }

    /// Read 1 ms before and 1 ms after `native` blocks.
    fn between(native: &str, before: &str, after: &str) -> (String, u64) {
        let (recording, said) = waiting(native, &[((3, 0), before), ((9, 0), after)]);
        (said, lost(&recording, LossKind::InterpreterFramesGuessed))
    }

    #[test]
    fn where_neither_reading_fits_the_outermost_functions_that_both_have_are_shown() {
        let before = "loop;a.py!main;a.py!work";
        let after = "loop;a.py!main;a.py!work;a.py!parse;loop;a.py!next;loop;a.py!value";
        let (said, guessed) = between(NATIVE, before, after);
        assert_eq!((said.as_str(), guessed), ("_start run main work loop call loop sleep", 1));
        // Both were in a function that the native stack does not run.
        let inner = "loop;a.py!main;a.py!work;loop;a.py!next";
        assert_eq!(between("_start;loop;sum", inner, inner).0, "_start main work sum");
        // A loop of which nothing is known stays, and all behind it.
        let (before, after) = ("loop;a.py!main;loop;a.py!f", "loop;a.py!main;loop;a.py!g");
        let said = between("_start;loop;a;loop;b;loop;c", before, after).0;
        assert_eq!(said, "_start main a loop b loop c");
        // The functions come first where the native stack lacks its outer part.
        assert_eq!(
            between("loop;b;loop;c", "loop;a.py!main", "loop;a.py!main").0,
            "main loop b loop c"
        );
    }

    #[test]
    fn a_function_that_ran_on_to_another_line_is_the_same_and_the_last() {
        let before = "loop;a.py!main:1;a.py!work:7;a.py!first:2";
        let after = "loop;a.py!main:1;a.py!work:8;a.py!first:2";
        let (said, guessed) = between(NATIVE, before, after);
        assert_eq!((said.as_str(), guessed), ("_start run main work loop call loop sleep", 1));
    }

    #[test]
    fn of_a_thread_that_ran_on_the_outermost_functions_are_shown() {
        let outermost = |native: &str, at: u64, others: &[(u64, &str)]| {
            let drawing = format!("stack b blocked.sleep {native}\napp(1)/main(1) UUUUbbbbUUUU");
            let mut recording = parse_raw(&drawing).expect("a drawing");
            read_outermost(&mut recording, (at, 0), "loop;a.py!main;a.py!work");
            others.iter().for_each(|(at, names)| read(&mut recording, (*at, 0), names));
            merge(&mut recording);
            let wait = recording.switches.iter().find(|s| s.kind == SwitchKind::Out);
            names(&recording, wait.expect("a wait").stack)
        };
        assert_eq!(outermost(NATIVE, 3, &[]), "_start run main work loop call loop sleep");
        // They are not all, also where the number of loops would fit.
        assert_eq!(outermost("_start;loop;sleep", 3, &[]), "_start main work loop sleep");
        // Nor are they exact.
        assert_eq!(outermost("_start;loop;sleep", 5, &[]), "_start main work loop sleep");
        // What was read whole and fits says more.
        assert_eq!(outermost(NATIVE, 3, &[(9, READ)]), JOINED);
        assert_eq!(outermost(NATIVE, 60, &[]), "_start run loop call loop sleep", "it is far away");
    }

    #[test]
    fn readings_that_have_no_function_in_common_say_nothing() {
        let before = "loop;a.py!first";
        for after in ["loop;a.py!second", ""] {
            let (recording, said) = waiting(NATIVE, &[((3, 0), before), ((9, 0), after)]);
            assert_eq!(said, "_start run loop call loop sleep", "{after}");
            assert_eq!(lost(&recording, LossKind::InterpreterFramesMissing), 1);
        }
    }

    #[test]
    fn a_part_of_the_loop_that_the_compiler_split_off_is_the_loop() {
        let (_, said) = waiting("_start;run;loop.cold;call;loop;sleep", &[((5, 1), READ)]);
        assert_eq!(said, JOINED);
    }

    #[test]
    fn samples_take_the_nearest() {
        let drawing = "stack u cpu.user _start;loop\napp(1)/main(1) uuuuuuuuuuuu";
        let mut recording = parse_raw(drawing).expect("a drawing");
        read(&mut recording, (1, 0), "loop;a.py!first");
        read(&mut recording, (11, 0), "loop;a.py!second");
        merge(&mut recording);
        let said: Vec<String> =
            recording.samples.iter().map(|sample| names(&recording, sample.stack)).collect();
        assert_eq!(said.first().map(String::as_str), Some("_start first"));
        assert_eq!(said.last().map(String::as_str), Some("_start second"));
        let guessed = lost(&recording, LossKind::InterpreterFramesGuessed);
        assert_eq!(guessed, recording.samples.len() as u64);
    }

    /// The stack of a sample at 10 ms, with what was read of its thread.
    fn sampled(native: &str, reads: &[((u64, u64), &str)]) -> String {
        let drawing = "stack u cpu.user _start\napp(1)/main(1) uuuuuuuuuuuuuuuuuuuuuuuu";
        let mut recording = parse_raw(drawing).expect("a drawing");
        for (when, names) in reads {
            read(&mut recording, *when, names);
        }
        let stack = stack(&mut recording, native);
        recording.samples.truncate(1);
        recording.samples[0].time = Time(10_000_000);
        recording.samples[0].stack = Some(stack);
        merge(&mut recording);
        names(&recording, recording.samples[0].stack)
    }

    #[test]
    fn what_a_loop_ran_chooses_among_what_was_read() {
        let first = ((9, 0), "loop;a.py!main;a.py!first:7");
        let second = ((15, 0), "loop;a.py!main;a.py!second:9");
        let reads = [first, second];
        assert_eq!(sampled("_start;loop;sum", &reads), "_start main first sum", "it is nearer");
        assert_eq!(sampled("_start;loop;a.py!first;sum", &reads), "_start main first sum");
        assert_eq!(sampled("_start;loop;a.py!second;sum", &reads), "_start main second sum");
        // The same function of another file is another one.
        let other = sampled("_start;loop;b.py!second;sum", &reads);
        assert_eq!(other, "_start main loop second sum");
    }

    #[test]
    fn what_a_loop_ran_is_shown_where_nothing_read_fits() {
        let reads = [
            ((9, 0), "loop;a.py!main;a.py!work;a.py!a"),
            ((11, 0), "loop;a.py!main;a.py!work;a.py!b"),
        ];
        // Between the two there may be others, so the loop stays.
        assert_eq!(sampled("_start;loop;a.py!c;sum", &reads), "_start main work loop c sum");
        assert_eq!(sampled("_start;loop;a.py!work;sum", &reads), "_start main work sum");
        let far = [((200, 0), "loop;a.py!main;a.py!work")];
        assert_eq!(sampled("_start;loop;a.py!c;sum", &far), "_start loop c sum");
        // Who calls it does not change as often as it is called.
        assert_eq!(sampled("_start;loop;a.py!work;sum", &far), "_start main work sum");
    }

    #[test]
    fn each_loop_has_what_it_ran() {
        let reads = [
            ((9, 0), "loop;a.py!main;a.py!rows;loop;a.py!next"),
            ((12, 0), "loop;a.py!main;a.py!sort;loop;a.py!key"),
        ];
        let native = "_start;loop;a.py!sort;call;loop;a.py!key;add";
        assert_eq!(sampled(native, &reads), "_start main sort call key add");
        // The outer loop is not known to run anything, and the inner one tells which reading fits.
        let native = "_start;loop;call;loop;a.py!key;add";
        assert_eq!(sampled(native, &reads), "_start main sort call key add");
        // What was read of the outer one is not true any more: of the inner one nothing is known but this.
        let native = "_start;loop;a.py!other;call;loop;a.py!key;add";
        let said = sampled(native, &[((9, 0), "loop;a.py!main;a.py!rows;loop;a.py!next")]);
        assert_eq!(said, "_start loop other call loop key add");
    }

    #[test]
    fn a_module_of_its_own_does_not_hide_a_loop() {
        let mut recording = parse_raw("app(1)/main(1) UU").expect("a drawing");
        recording.frames.push(Frame::new(Some(ModuleId(0)), "loop", Some(7)));
        read(&mut recording, (0, 0), "loop;a.py!main");
        let joiner = Joiner::of(&recording, &recording.interpreter_stacks);
        assert!(joiner.is_loop.iter().filter(|is_loop| **is_loop).count() >= 2);
    }
}
