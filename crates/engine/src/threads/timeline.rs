//! One thread's life, stretch by stretch.

use culprit_model::{
    Basis, Cause, Interval, Observation, Recording, Sample, SampleKind, StackId, Switch,
    SwitchKind, ThreadId, Time, UNKNOWN_CPU, Wakeup, WakeupKind,
};

use super::borders::borders;
use super::build::Holes;
use super::evidence::{Cursor, Evidence};
use super::polled::looks;
use super::quota::Quota;
use super::state::{Away, Closed, Event, Left, Origin, Ran, State, step};
use crate::causes::{Causes, observed};

/// Writes one thread's intervals.
pub(super) struct Timeline<'a> {
    recording: &'a Recording,
    thread: ThreadId,
    switches: &'a [u32],
    samples: &'a [u32],
    /// Until when each sample speaks, but for the last one.
    borders: Vec<Time>,
    /// Which sample speaks now.
    speaker: usize,
    /// Walks the samples ahead, as proof that the thread ran.
    proof: Cursor<'a, Sample>,
    wakeups: Cursor<'a, Wakeup>,
    observations: Cursor<'a, Observation>,
    looks: &'a [u32],
    rows: &'a mut Vec<Interval>,
    start: Time,
    end: Time,
    /// Since when the thread ran last: a wakeup from then on may end the wait that follows.
    ran_since: Time,
}

/// What every thread's timeline shares.
struct Shared<'a> {
    causes: &'a Causes,
    quota: &'a Quota,
    holes: &'a Holes,
}

/// How a wait ended.
#[derive(Clone, Copy)]
struct Wake<'a> {
    /// When the thread was ready.
    ready: Time,
    /// The record that tells who did it.
    by: &'a Wakeup,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(
        recording: &'a Recording,
        thread: ThreadId,
        evidence: &'a Evidence,
        rows: &'a mut Vec<Interval>,
    ) -> Self {
        let samples = evidence.samples.of(thread);
        let switches = evidence.switches.of(thread);
        let start = recording.thread(thread).start;
        let looks = evidence.observations.of(thread);
        Self {
            recording,
            thread,
            switches,
            proof: Cursor::new(&recording.samples, samples, |row: &Sample| row.time),
            borders: borders(recording, samples, switches),
            speaker: 0,
            samples,
            wakeups: Cursor::new(&recording.wakeups, evidence.wakeups.of(thread), |row| row.time),
            observations: Cursor::new(&recording.observations, looks, |row| row.time),
            looks,
            rows,
            start,
            end: recording.thread_end(thread).max(start),
            ran_since: start,
        }
    }

    /// Appends the thread's rows.
    pub(super) fn write(mut self, causes: &Causes, quota: &Quota, holes: &Holes) {
        let shared = Shared { causes, quota, holes };
        if self.switches.is_empty() && !self.looks.is_empty() {
            return self.write_looks(&shared);
        }
        let created = self.start > Time::START;
        let mut state = State::Unseen { since: self.start, created, seen: None };
        let mut now = self.start;
        for at in self.switches {
            let switch = &self.recording.switches[*at as usize];
            now = switch.time.clamp(now, self.end);
            state = self.prove(state, now);
            let (next, closed) = step(state, event(switch, now));
            self.write_closed(&shared, closed);
            state = next;
        }
        state = self.prove(state, self.end);
        let (_, closed) = step(state, Event::End { time: self.end });
        self.write_closed(&shared, closed);
    }

    /// Shows the state the samples before `until`, as proof that the thread ran.
    fn prove(&mut self, state: State, until: Time) -> State {
        if matches!(state, State::Running { .. }) {
            self.proof.skip_before(until);
            return state;
        }
        let first = self.proof.peek(0).map(|sample| sample.time).filter(|time| *time < until);
        self.proof.skip_before(until);
        match first.filter(|time| *time > self.start) {
            Some(time) => step(state, Event::Seen { time }).0,
            None => state,
        }
    }

    fn write_closed(&mut self, shared: &Shared<'_>, closed: Closed) {
        if let Some(away) = closed.away {
            self.write_away(shared, away);
        }
        if let Some(ran) = closed.ran {
            self.write_ran(shared, ran);
            self.ran_since = ran.from;
        }
    }

    /// Each sample speaks for the CPU time half way to the ones before and behind it, also across waits: so
    /// each speaks for as much as it was drawn from, wherever in a stretch it fell.
    fn write_ran(&mut self, shared: &Shared<'_>, ran: Ran) {
        let mut from = ran.from;
        while from < ran.to {
            while self.borders.get(self.speaker).is_some_and(|border| *border <= from) {
                self.speaker += 1;
            }
            let border = self.borders.get(self.speaker).copied();
            let to = border.map_or(ran.to, |border| border.min(ran.to));
            let Some(sample) = self.sample(self.speaker) else {
                return self.write_unsampled(shared, Ran { from, ..ran });
            };
            let within = (ran.from..=ran.to).contains(&sample.time);
            let basis = if within { Basis::Sample } else { Basis::Nearest };
            let cpu = if within { Some(sample.cpu) } else { ran.cpu };
            let row = self.row(from, to, sampled(sample), sample.stack, basis);
            self.push(shared, Interval { cpu, ..row }, ran.guessed);
            from = to;
        }
    }

    fn sample(&self, place: usize) -> Option<&'a Sample> {
        self.samples.get(place).map(|at| &self.recording.samples[*at as usize])
    }

    /// On-CPU time of a thread that no sample saw: it left the CPU with a stack, perhaps.
    fn write_unsampled(&mut self, shared: &Shared<'_>, ran: Ran) {
        let row = match ran.left.and_then(|left| left.stack) {
            Some(stack) => {
                let kernel =
                    shared.causes.in_kernel(stack) && !shared.causes.returning_to_user(stack);
                let cause = if kernel { Cause::CpuKernel } else { Cause::CpuUser };
                self.row(ran.from, ran.to, cause, Some(stack), Basis::Switch)
            }
            None => self.row(ran.from, ran.to, Cause::CpuUser, None, Basis::None),
        };
        self.push(shared, Interval { cpu: ran.cpu, ..row }, ran.guessed);
    }

    fn write_away(&mut self, shared: &Shared<'_>, away: Away) {
        let (from, to) = (away.from, away.to);
        let left = match away.origin {
            Origin::Left(left) => Some(left),
            Origin::Created | Origin::Unseen => None,
        };
        let (cpu, stack) = (left.map(|left| left.cpu), left.and_then(|left| left.stack));
        let wait = match away.origin {
            Origin::Created => None,
            Origin::Left(left) => self.wait_cause(shared, left, from, to),
            Origin::Unseen => Some(self.observed_cause(from, to)),
        };
        let wake = self.wake(away);
        let ready = match (wait, wake) {
            (None, _) => from,
            (Some(_), None) => to,
            (Some(_), Some(wake)) => wake.ready.clamp(from, to),
        };
        if let Some((cause, basis)) = wait {
            let mut row = self.row(from, ready, cause, stack, basis);
            row.cpu = cpu;
            if let Some(Wake { by, .. }) = wake {
                (row.waker, row.waker_stack) = (by.waker, by.waker_stack);
                row.woken_by = Some(by.source);
            }
            self.push(shared, row, away.guessed);
        }
        let at_stack = wait.is_none() && stack.is_some_and(|stack| shared.causes.throttles(stack));
        let cause = shared.quota.cause(at_stack, ready, to);
        let basis = if stack.is_some() { Basis::Switch } else { Basis::None };
        let row = self.row(ready, to, cause, stack, basis);
        self.push(shared, Interval { cpu, ..row }, away.guessed);
    }

    /// Why a thread that was switched out waits; none when it is ready all along.
    fn wait_cause(
        &mut self,
        shared: &Shared<'_>,
        left: Left,
        from: Time,
        to: Time,
    ) -> Option<(Cause, Basis)> {
        if left.ready {
            return None;
        }
        let verdict = left.stack.map(|stack| shared.causes.wait(stack));
        let known = verdict.filter(|verdict| verdict.rule.is_some());
        match (known, left.letter) {
            (Some(verdict), _) if verdict.cause.is_runnable() => None,
            (Some(verdict), _) => Some((verdict.cause, Basis::Switch)),
            (None, Some('T' | 't')) => Some((Cause::Stopped, Basis::Switch)),
            (None, _) => {
                let (cause, basis) = self.observed_cause(from, to);
                let basis = if left.stack.is_some() { Basis::Switch } else { basis };
                Some((cause, basis))
            }
        }
    }

    /// The cause that a look at `/proc` in a stretch tells.
    fn observed_cause(&mut self, from: Time, to: Time) -> (Cause, Basis) {
        self.observations.skip_before(from);
        let count = self.observations.count_until(to);
        let seen = (0..count).filter_map(|at| self.observations.peek(at)).find_map(observed);
        match seen {
            Some(cause) => (cause, Basis::Polled),
            None => (Cause::Other, Basis::None),
        }
    }

    /// What ended a stretch off the CPU.
    ///
    /// A wakeup from before the stretch counts when the thread did get back and no other is known:
    /// it was woken while it was still on its way out.
    fn wake(&mut self, away: Away) -> Option<Wake<'a>> {
        let early = self.wakeups.skip_before(away.from).filter(|row| row.time >= self.ran_since);
        let count = self.wakeups.count_until(away.to);
        let within =
            |kind| (0..count).filter_map(|at| self.wakeups.peek(at)).find(|row| row.kind == kind);
        let (waking, wakeup) = (within(WakeupKind::Waking), within(WakeupKind::Wakeup));
        let early_waking = early.filter(|row| row.kind == WakeupKind::Waking);
        match (waking, wakeup, early) {
            (Some(by), Some(at), _) if at.time >= by.time => Some(Wake { ready: at.time, by }),
            (Some(by), _, _) => Some(Wake { ready: by.time, by }),
            (None, Some(at), _) => Some(Wake { ready: at.time, by: early_waking.unwrap_or(at) }),
            (None, None, Some(by)) if away.resumed => Some(Wake { ready: away.from, by }),
            (None, None, _) => None,
        }
    }

    fn write_looks(&mut self, shared: &Shared<'_>) {
        let table = &self.recording.observations;
        let rows = self.looks.iter().map(|at| &table[*at as usize]);
        for look in looks(self.start, self.end, rows) {
            let row = self.row(look.from, look.to, look.cause, None, Basis::Polled);
            self.push(shared, row, false);
        }
    }

    fn row(
        &self,
        from: Time,
        to: Time,
        cause: Cause,
        stack: Option<StackId>,
        basis: Basis,
    ) -> Interval {
        Interval {
            thread: self.thread,
            start: from,
            duration: to.since(from),
            cause,
            stack,
            basis,
            cpu: None,
            waker: None,
            waker_stack: None,
            woken_by: None,
            uncertain: false,
        }
    }

    fn push(&mut self, shared: &Shared<'_>, mut row: Interval, guessed: bool) {
        if row.duration.0 > 0 {
            row.cpu = row.cpu.filter(|cpu| *cpu != UNKNOWN_CPU);
            row.uncertain = guessed || shared.holes.touch(row.start, row.start + row.duration);
            self.rows.push(row);
        }
    }
}

fn event(switch: &Switch, time: Time) -> Event {
    let letter = switch.state.and_then(char::from_u32);
    let out = |ready| Event::Out {
        time,
        left: Left { cpu: switch.cpu, stack: switch.stack, ready, letter },
    };
    match switch.kind {
        SwitchKind::In => Event::In { time, cpu: switch.cpu },
        SwitchKind::Out => out(letter == Some('R')),
        SwitchKind::Preempted => out(true),
    }
}

fn sampled(sample: &Sample) -> Cause {
    match sample.kind {
        SampleKind::User => Cause::CpuUser,
        SampleKind::Kernel => Cause::CpuKernel,
    }
}
