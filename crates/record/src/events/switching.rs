//! Switches and wakeups into rows, with the instants of the kernel's own accounts.

use culprit_kernel::switches::{Came, Half, Queued};
use culprit_kernel::tracepoint::{SwitchFields, Switched, WakeFields, Woken};
use culprit_kernel::{Order, Task};
use culprit_model::{LossKind, Nanos, SwitchKind, ThreadId, Time, WakeSource, WakeupKind};

use crate::events::attr::Role;
use crate::events::decode::Sample;
use crate::events::handle::{Handler, real};
use crate::events::space::KERNEL;
use crate::events::stacks::Variant;
use crate::events::tables::{RawSwitch, RawWakeup};
use crate::events::wakers::{WokenBy, classify};
use crate::session::ladder::WakerPoints;
use crate::symbolize::resolve::Resolver;

/// What the loss table says of switches above the limit of `pace`.
const THINNED: &str = "too many switches: only some got their own stack; the others use the stack \
                       of the thread's last or next switch in the same state";

/// And of those of a thread that had no stack to lend.
const BARE: &str = "too many switches: only some got a stack; the thread has no other stack in \
                    the same state, so the reason of the wait is unknown";

/// What the loss table says of a switch out that must have been.
const UNSEEN: &str = "the record of a thread leaving a CPU is missing";

/// A wakeup that is traced on the CPU of its waking follows it within this time.
const JUST_NOW: Nanos = Nanos(100_000);

/// Where the scheduler's tracepoints keep what they tell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointFields {
    wake: WakeFields,
    switch: SwitchFields,
}

impl PointFields {
    /// The fields by their names; none when one is not there.
    pub(crate) fn of(points: &WakerPoints) -> Option<Self> {
        let (wake, switch) = (WakeFields::of(&points.wakeup)?, SwitchFields::of(&points.switch)?);
        Some(Self { wake, switch })
    }

    fn woken(&self, raw: &[u8]) -> Option<Woken> {
        self.wake.read(raw, Order::NATIVE)
    }

    fn switched(&self, raw: &[u8]) -> Option<Switched> {
        self.switch.read(raw, Order::NATIVE)
    }
}

impl Handler {
    /// A switch of any thread was traced.
    pub(crate) fn switched(&mut self, sample: &Sample<'_>, cpu: u32, time: Time) {
        let told = self.context.points.and_then(|fields| fields.switched(sample.raw));
        let Some(switch) = told else { return self.untold(time) };
        let unclaimed = self.instants.switched(cpu, switch, time);
        self.halves(cpu, unclaimed);
        // Samples of the time between a wakeup and the switch that it asked for.
        let instant = self.instants.until_left(cpu, switch.prev, time);
        if instant < time
            && let Some(thread) = self.tracker.recorded(switch.prev)
        {
            let late = self.rows.samples.iter_mut().rev().take_while(|row| row.time > instant);
            late.filter(|row| row.thread == thread).for_each(|row| row.time = instant);
        }
    }

    /// Halves of switches whose own records never came.
    pub(crate) fn halves(&mut self, cpu: u32, halves: impl IntoIterator<Item = Option<Half>>) {
        for half in halves.into_iter().flatten() {
            match half {
                Half::Out(tid, time, state) => {
                    if let Some(thread) = self.tracker.recorded(tid) {
                        self.leave(thread, cpu, time, (Some(state), state == 'R'));
                    }
                }
                Half::Gone(tid, time) => {
                    let thread = self.tracker.recorded(tid);
                    let here = |id: &ThreadId| self.tracker.state(*id).runs == Some(cpu);
                    if let Some(thread) = thread.filter(here) {
                        self.must_have_left(thread, time);
                    }
                }
                Half::In(tid, time) => {
                    if let Some(thread) = self.tracker.recorded(tid) {
                        self.come(thread, cpu, time);
                    }
                }
            }
        }
    }

    /// A switch record onto a CPU.
    pub(crate) fn switch_in(&mut self, task: Task, cpu: u32, time: Time) {
        if !real(task) {
            return;
        }
        self.slowdown.came(cpu, time);
        let came = self.instants.came(cpu, task.tid, time);
        self.halves(cpu, came.before);
        let thread = self.seen(task, time);
        if self.context.points.is_some() {
            self.tell_end(thread, came);
        }
        self.come(thread, cpu, came.at);
    }

    /// A switch record off a CPU.
    pub(crate) fn switch_out(&mut self, task: Task, preempted: bool, cpu: u32, time: Time) {
        self.slowdown.left(cpu, time);
        // A thread that is past its exit has no number any more; its exit record has told its end.
        if !real(task) {
            return;
        }
        let (at, state) = self.instants.left(cpu, task.tid, time);
        let thread = self.seen(task, time);
        self.leave(thread, cpu, at, (state, state.map_or(preempted, |state| state == 'R')));
    }

    /// Tells what ended a wait where the wakeup or its place on a run queue was not traced.
    ///
    /// Every thread's wakings are traced; only those in interrupts of an idle CPU may be missing.
    /// So a wait without a waker was ended by such an interrupt, at the latest when that CPU's idle
    /// time ended. A thread that was woken but not seen to be put on a queue got onto that of an
    /// idle CPU, which takes it at once. One that was seen to be put on a queue waited there, also
    /// where an idle CPU took it from a busy one's. Within these bounds the kernel's account of the
    /// thread decides, when the intervals are built.
    fn tell_end(&mut self, thread: ThreadId, came: Came) {
        let lost = self.wakers_lost;
        let (time, unseen) = (came.at, self.instants.blind_until(came.at));
        let state = self.tracker.state(thread);
        let known = state.waits && state.switched > lost;
        let (kind, time) = match (state.woken, came.traced) {
            _ if state.queued.is_some() => return,
            (Some(_), true) => return,
            (Some(_), false) => (WakeupKind::Wakeup, time),
            (None, _) if came.ended_idle || unseen < state.switched => (WakeupKind::Waking, time),
            (None, _) => (WakeupKind::Waking, unseen),
        };
        if known {
            let source = WakeSource::Unseen;
            let (waker, stack) = (None, None);
            self.rows.wakeups.push(RawWakeup { time, thread, kind, source, waker, stack });
        }
    }

    fn come(&mut self, thread: ThreadId, cpu: u32, time: Time) {
        self.must_have_left(thread, time);
        let state = self.tracker.state(thread);
        let time = time.max(state.switched);
        state.runs = Some(cpu);
        state.switched = time;
        state.leaving = None;
        state.dumped = None;
        let deep_wait = state.deep_wait.take();
        state.waits = false;
        let asleep = std::mem::take(&mut state.asleep);
        self.accounts.came(thread, time);
        if let Some(wait) = deep_wait {
            self.deep_wait_ended(thread, &wait, time);
        }
        if asleep {
            self.sleeper_woke(thread, time);
        }
        let kind = SwitchKind::In;
        self.rows.switches.push(RawSwitch { time, thread, kind, cpu, stack: None, state: None });
    }

    /// Ends a stay on a CPU that was not seen to end, now that the thread comes to a CPU again or
    /// another one is found on that CPU. Either its records were lost, or the machine hides them
    /// (those of a virtual machine's own agent show none of its leavings, and the CPU may have been
    /// idle since). It was on the CPU for as long as the clock found it there.
    fn must_have_left(&mut self, thread: ThreadId, time: Time) {
        let state = self.tracker.state(thread);
        let Some(cpu) = state.runs.take() else { return };
        let since = state.switched.max(state.sampled).min(time);
        let (kind, stack, state) = (SwitchKind::Out, None, None);
        self.rows.switches.push(RawSwitch { time: since, thread, kind, cpu, stack, state });
        self.ledger.at(LossKind::StacksMissing, UNSEEN, 1, since);
    }

    fn leave(&mut self, thread: ThreadId, cpu: u32, time: Time, how: (Option<char>, bool)) {
        let (letter, ready) = how;
        let state = self.tracker.state(thread);
        let time = time.max(state.switched);
        state.switched = time;
        state.runs = None;
        state.waits = !ready;
        // The switch record is later than the switch; the thread may have been woken meanwhile.
        state.woken = state.woken.filter(|woken| *woken > time);
        state.queued = state.queued.filter(|queued| *queued > time);
        let woken = state.woken;
        // It was on a CPU, whatever /proc said a moment later.
        if std::mem::take(&mut state.asleep) {
            self.sleepers.remove(thread);
        }
        let state = self.tracker.state(thread);
        let (sampled, dumped) = (state.leaving.take(), state.dumped.take());
        let (usual, first) = state.usual(letter.unwrap_or(if ready { 'R' } else { 'S' }), sampled);
        let exact = sampled.zip(dumped).and_then(|both| self.apply_dump(thread, both, time));
        let stack = exact.or(if self.thinned { usual } else { sampled });
        self.accounts.left(thread, time, ready);
        if let Some(woken) = woken {
            self.accounts.woken(thread, woken);
        }
        let kind = if ready { SwitchKind::Preempted } else { SwitchKind::Out };
        let row = RawSwitch { time, thread, kind, cpu, stack, state: letter };
        if sampled.is_none() && self.context.switch_stacks {
            self.without_stack(&row);
        }
        if first {
            self.lend(&row);
        }
        self.rows.switches.push(row);
    }

    /// A switch for which no stack was taken.
    fn without_stack(&mut self, row: &RawSwitch) {
        let why = match (self.thinned, row.stack) {
            (true, Some(_)) => THINNED,
            (true, None) => {
                self.tracker.state(row.thread).bare += 1;
                BARE
            }
            (false, _) => "",
        };
        self.ledger.at(LossKind::StacksMissing, why, 1, row.time);
    }

    /// Gives a thread's first stack of a state to its switches of that state before, for which none
    /// was taken, as far as they have not been written out.
    fn lend(&mut self, to: &RawSwitch) {
        let bare = self.tracker.state(to.thread).bare;
        if bare == 0 {
            return;
        }
        let born = self.tracker.threads()[to.thread.index()].start;
        let rows = self.rows.switches.iter_mut().rev().take_while(|row| row.time >= born);
        let own = rows.filter(|row| {
            row.thread == to.thread && row.kind != SwitchKind::In && row.stack.is_none()
        });
        let mut lent = 0;
        for row in own.take(bare).filter(|row| (row.kind, row.state) == (to.kind, to.state)) {
            row.stack = to.stack;
            lent += 1;
        }
        self.tracker.state(to.thread).bare -= lent;
        self.ledger.moved(LossKind::StacksMissing, BARE, THINNED, lent as u64);
    }

    /// A thread is about to be woken.
    pub(crate) fn waking(
        &mut self,
        sample: &Sample<'_>,
        cpu: u32,
        time: Time,
        resolver: &Resolver,
    ) {
        let told = self.context.points.and_then(|fields| fields.woken(sample.raw));
        let Some(Woken { tid: woken, .. }) = told else { return self.untold(time) };
        self.instants.waking(cpu, woken, time);
        // Machine-wide events tell of everybody's wakeups; those of others are none of ours.
        let Some(thread) = self.tracker.recorded(woken) else { return };
        let by = match sample.role {
            Role::WakingInterrupt => self.interrupt(sample, resolver),
            _ => WokenBy::CurrentThread,
        };
        let (source, waker) = match by {
            WokenBy::Interrupt(source) => (source, None),
            WokenBy::CurrentThread if !real(sample.task) => (WakeSource::Interrupt, None),
            WokenBy::CurrentThread => {
                let waker = self.tracker.waker(sample.task, time, &mut self.spaces);
                (WakeSource::Thread, Some(waker))
            }
        };
        let stack = waker.filter(|_| !sample.chain.is_empty()).map(|waker| {
            self.pointer_stack(self.tracker.space(waker), Variant::default(), sample.chain)
        });
        let kind = WakeupKind::Waking;
        self.tracker.state(thread).woken = Some(time);
        self.accounts.woken(thread, time);
        self.rows.wakeups.push(RawWakeup { time, thread, kind, source, waker, stack });
    }

    /// A thread was put on a run queue. Mostly that follows its waking at once, and then the
    /// waking's row gets the instant.
    pub(crate) fn wakeup(&mut self, sample: &Sample<'_>, cpu: u32, time: Time) {
        let told = self.context.points.and_then(|fields| fields.woken(sample.raw));
        let Some(woken) = told else { return self.untold(time) };
        let queued = self.instants.wakeup(cpu, woken, time);
        let Some(thread) = self.tracker.recorded(woken.tid) else { return };
        self.tracker.state(thread).queued = Some(time);
        match queued {
            Queued::AtWaking => {}
            Queued::Now => {
                let recent = |row: &&mut RawWakeup| time.since(row.time) < JUST_NOW;
                let mut rows = self.rows.wakeups.iter_mut().rev().take_while(recent);
                if let Some(row) = rows.find(|row| row.thread == thread) {
                    row.time = time;
                }
            }
            Queued::Apart => {
                self.tracker.state(thread).woken = Some(time);
                self.accounts.woken(thread, time);
                let (kind, source) = (WakeupKind::Wakeup, WakeSource::Interrupt);
                let (waker, stack) = (None, None);
                self.rows.wakeups.push(RawWakeup { time, thread, kind, source, waker, stack });
            }
        }
    }

    /// A created thread was put on a run queue for the first time: its life begins there, as in
    /// the kernel's account of it.
    pub(crate) fn wakeup_new(&mut self, sample: &Sample<'_>, time: Time) {
        let told = self.context.points.and_then(|fields| fields.woken(sample.raw));
        let Some(woken) = told else { return self.untold(time) };
        let Some(thread) = self.tracker.recorded(woken.tid) else { return };
        self.tracker.begin(thread, time);
        let (source, waker) = if real(sample.task) {
            let waker = self.tracker.waker(sample.task, time, &mut self.spaces);
            (WakeSource::Thread, Some(waker))
        } else {
            (WakeSource::Interrupt, None)
        };
        let (kind, stack) = (WakeupKind::Wakeup, None);
        self.rows.wakeups.push(RawWakeup { time, thread, kind, source, waker, stack });
    }

    fn interrupt(&mut self, sample: &Sample<'_>, resolver: &Resolver) -> WokenBy {
        if sample.chain.is_empty() {
            return WokenBy::Interrupt(WakeSource::Interrupt);
        }
        let stack = self.raw.intern(KERNEL, Variant::default(), sample.chain);
        *self.interrupts.entry(stack).or_insert_with(|| {
            let names = sample.chain.iter().filter_map(|address| resolver.kernel_name(*address));
            classify(names)
        })
    }

    /// A tracepoint's record does not hold what it should.
    pub(crate) fn untold(&mut self, time: Time) {
        self.ledger.at(
            LossKind::RecordsMalformed,
            "a tracepoint record without its fields",
            1,
            time,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::handle::Context;

    const A: Task = Task { pid: 10, tid: 10 };
    const B: Task = Task { pid: 20, tid: 20 };

    /// A thread's switches: when, which way, and which CPU.
    fn switches(handler: &Handler, of: Task) -> Vec<(u64, SwitchKind, u32)> {
        let thread = handler.tracker.recorded(of.tid).unwrap();
        let own = handler.rows.switches.iter().filter(|row| row.thread == thread);
        own.map(|row| (row.time.0, row.kind, row.cpu)).collect()
    }

    #[test]
    fn a_last_stay_that_was_not_seen_to_end_ends_where_the_clock_last_found_it() {
        let mut handler = Handler::new(Context::default());
        handler.switch_in(A, 1, Time(100));
        let thread = handler.tracker.recorded(A.tid).unwrap();
        handler.tracker.state(thread).sampled = Time(130);
        // Nothing more is told of it; its CPU was idle, and then had another thread.
        handler.switch_in(B, 1, Time(900));
        let stay = [(100, SwitchKind::In, 1), (130, SwitchKind::Out, 1)];
        assert_eq!(switches(&handler, A), stay);
        // That was that: a third one finds B, and A may come again.
        handler.halves(1, [Some(Half::Gone(A.tid, Time(950)))]);
        handler.switch_in(A, 1, Time(1_000));
        assert_eq!(switches(&handler, A)[2..], [(1_000, SwitchKind::In, 1)]);
        let unseen = handler.ledger.rows();
        let counts: Vec<_> = unseen.iter().map(|row| (row.detail.as_str(), row.count)).collect();
        assert_eq!(counts, [(UNSEEN, 2)]);
    }

    #[test]
    fn an_idle_cpu_takes_at_once_what_an_untraced_interrupt_woke() {
        let mut handler = Handler::new(Context::default());
        // B came to CPU 1 out of an idle loop that traced nothing, and went again.
        handler.switch_in(B, 1, Time(500));
        handler.instants.switched(1, Switched { prev: B.tid, next: 0, state: 'S' }, Time(600));
        handler.switch_out(B, false, 1, Time(600));
        handler.switch_in(A, 0, Time(100));
        handler.switch_out(A, false, 0, Time(200));
        // A timer that nobody saw wakes A; the switch out of the idle loop is traced.
        handler.instants.switched(1, Switched { prev: 0, next: A.tid, state: 'R' }, Time(9_000));
        let thread = handler.tracker.recorded(A.tid).unwrap();
        let came = handler.instants.came(1, A.tid, Time(9_010));
        handler.tell_end(thread, came);
        let told: Vec<_> = handler.rows.wakeups.iter().map(|row| (row.time, row.source)).collect();
        assert_eq!(told, [(Time(9_000), WakeSource::Unseen)], "not when B's idle time ended");
    }

    #[test]
    fn a_stay_elsewhere_goes_on_when_another_thread_is_found_on_the_cpu_before() {
        let mut handler = Handler::new(Context::default());
        handler.switch_in(A, 1, Time(100));
        handler.switch_in(A, 2, Time(200));
        handler.switch_in(B, 1, Time(300));
        let stays = [(100, SwitchKind::In, 1), (100, SwitchKind::Out, 1), (200, SwitchKind::In, 2)];
        assert_eq!(switches(&handler, A), stays);
    }
}
