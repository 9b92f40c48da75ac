//! The instants at which the kernel accounts a switch.
//!
//! The kernel charges time to threads by a clock of the run queue that it reads once, early in
//! `__schedule` (kernel/sched/core.c, `update_rq_clock`): the thread that leaves and the one that
//! comes share that instant. Perf's switch records are written later, on both sides of the switch
//! itself and of what recorders do there. So the tracepoint `sched_switch`, which lies between, is
//! the switch's instant, and the switch records say only where it belongs:
//!
//! ```text
//! kernel    clock | sched_switch | stack, switch out | other thread: switch in
//! rows              out, in  <------------------------------------
//! ```
//!
//! Where a wakeup has asked the CPU to reschedule, the kernel does not read its clock again for the
//! switch that follows (`wakeup_preempt`, `rq_clock_skip_update`): the preempted thread's time ends
//! with the wakeup. A wakeup of a thread on another CPU sends that CPU an interrupt before it is
//! traced, which takes ten microseconds in a virtual machine: there the waking is the instant.
//!
//! The same holds for a wakeup that ends a CPU's idle time: between its clock and the switch the
//! idle loop restarts its tick, and between the switch and the record the recorder's own events
//! start. Together that was 7 to 80 microseconds on the virtual machines where it was looked at.
//!
//! An idle CPU may trace nothing; then the switch record has to do, less what such records were late
//! by at the least where they were traced (`Lags`), and a thread that was woken meanwhile was so
//! at the latest when that CPU stopped to idle.

use std::collections::{BTreeMap, VecDeque};

use culprit_model::Time;

use crate::tracepoint::{Switched, Woken};

/// A preemption that follows a wakeup's request within this time was asked for by it. Seen: 0.4 to
/// 10 us, 20 us with an interrupt to another CPU. A request may also end without a switch (the
/// scheduler chooses the same thread), and then the next switch is about as far as a tick.
const PROMPT_NS: u64 = 100_000;

/// How many of the last lags tell the next one: the machine's load changes them within seconds.
const LAGS: usize = 32;

/// `TRACE_FLAG_NEED_RESCHED` (include/linux/trace_events.h).
const NEED_RESCHED: u32 = 4;

/// One half of a switch that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// This thread left, in this state.
    Out(i32, Time, char),
    /// This thread came.
    In(i32, Time),
    /// This thread had come, and had left by now: another one is found there.
    Gone(i32, Time),
}

/// What must have happened on a CPU before what a record tells, although no record said so: the
/// halves of its last traced switch, then who must have left since.
pub type Before = [Option<Half>; 3];

/// What a switch record onto a CPU tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Came {
    /// When.
    pub at: Time,
    /// Whether the switch was traced.
    pub traced: bool,
    /// Whether a traced switch out of the idle loop brought it.
    pub ended_idle: bool,
    /// What must have happened on that CPU before.
    pub before: Before,
}

/// When a traced wakeup put its thread on a run queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    /// When it was about to be woken, as has been told.
    AtWaking,
    /// Now, right after its waking on the same CPU.
    Now,
    /// Now; its waking was traced on another CPU, or not at all.
    Apart,
}

/// Finds the instants of each CPU's switches.
#[derive(Debug, Default)]
pub struct Instants {
    cpus: BTreeMap<u32, Cpu>,
    /// From the wakeup that ends an idle time to the traced switch, of all threads.
    to_switch: Lags,
    /// From the traced switch out of the idle loop to its record, of recorded threads.
    to_record: Lags,
}

/// The last [`LAGS`] of some lag, ns.
#[derive(Debug, Clone, Default)]
struct Lags {
    recent: VecDeque<u64>,
}

impl Lags {
    fn learn(&mut self, ns: u64) {
        if self.recent.len() == LAGS {
            self.recent.pop_front();
        }
        self.recent.push_back(ns);
    }

    /// The least, ns; 0 while there is none. A switch that is not traced is held up by none of the
    /// tracing: where both were measured, it took 11 us and the traced ones 17 to 32.
    fn least(&self) -> u64 {
        self.recent.iter().copied().min().unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// The last waking that was traced on this CPU.
    waking: Option<(i32, Time)>,
    /// What may have asked this CPU to reschedule since its last switch.
    request: Option<Request>,
    /// The leaving and the coming half of the last traced switch, until their records are there.
    out: Option<(i32, Time, char)>,
    come: Option<(i32, Time)>,
    /// When that switch was traced, if it was one out of the idle loop.
    out_of_idle: Option<Time>,
    /// The last switch's instant: time does not go back.
    floor: Time,
    /// Who runs.
    runs: Option<i32>,
    /// When the last idle time ended of which nothing was traced.
    blind: Option<Time>,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    at: Time,
    /// The only thread that the request can have been for; none for whichever comes.
    of: Option<i32>,
}

impl Instants {
    /// A thread is about to be woken by what runs on `cpu`.
    pub fn waking(&mut self, cpu: u32, tid: i32, time: Time) {
        self.cpu(cpu).waking = Some((tid, time));
    }

    /// A thread was put on a run queue by what runs on `cpu`.
    pub fn wakeup(&mut self, cpu: u32, woken: Woken, time: Time) -> Queued {
        let waking = self.cpu(cpu).waking.take_if(|(tid, _)| *tid == woken.tid);
        if woken.cpu == cpu {
            let asked = woken.flags & NEED_RESCHED != 0;
            self.cpu(cpu).request = asked.then_some(Request { at: time, of: None });
            return if waking.is_some() { Queued::Now } else { Queued::Apart };
        }
        let at = waking.map_or(time, |(_, at)| at);
        self.cpu(woken.cpu).request = Some(Request { at, of: Some(woken.tid) });
        if waking.is_some() { Queued::AtWaking } else { Queued::Apart }
    }

    /// A switch was traced. Gives what must have happened on that CPU before.
    pub fn switched(&mut self, cpu: u32, switch: Switched, time: Time) -> Before {
        let cpu = self.cpu(cpu);
        let before = cpu.before(switch.prev, time);
        let prompt = |request: &Request| {
            let fits = request.of.is_none_or(|tid| tid == switch.next);
            switch.state == 'R' && fits && time.since(request.at).0 < PROMPT_NS
        };
        let request = cpu.request.take().filter(prompt);
        let instant = request.map_or(time, |request| request.at).max(cpu.floor);
        cpu.floor = instant;
        cpu.out = Some((switch.prev, instant, switch.state));
        cpu.come = Some((switch.next, instant));
        cpu.out_of_idle = (switch.prev == 0).then_some(time);
        cpu.runs = Some(switch.next);
        if switch.prev == 0 && request.is_some() {
            self.to_switch.learn(time.since(instant).0);
        }
        before
    }

    /// A switch record says that a thread left `cpu`: the instant, and the state where it was
    /// traced.
    pub fn left(&mut self, cpu: u32, tid: i32, time: Time) -> (Time, Option<char>) {
        let cpu = self.cpu(cpu);
        let traced = cpu.out.take_if(|(prev, ..)| *prev == tid);
        cpu.runs = cpu.runs.filter(|runs| *runs != tid);
        match traced {
            Some((_, instant, state)) => (instant, Some(state)),
            None => {
                cpu.floor = cpu.floor.max(time);
                (time, None)
            }
        }
    }

    /// A switch record says that a thread came to `cpu`.
    pub fn came(&mut self, cpu: u32, tid: i32, time: Time) -> Came {
        let cpu = self.cpus.entry(cpu).or_default();
        let traced = cpu.come.take_if(|(next, _)| *next == tid);
        if let Some((_, instant)) = traced {
            cpu.runs = Some(tid);
            let ended_idle = cpu.out_of_idle.take();
            if let Some(switched) = ended_idle {
                self.to_record.learn(time.since(switched).0);
            }
            let (traced, ended_idle) = (true, ended_idle.is_some());
            return Came { at: instant, traced, ended_idle, before: Before::default() };
        }
        let lag = self.to_switch.least() + self.to_record.least();
        let time = Time(time.0.saturating_sub(lag)).max(cpu.floor);
        // The switch from the idle loop was not traced, nor what ended that loop.
        cpu.request = None;
        cpu.blind = Some(time);
        cpu.floor = cpu.floor.max(time);
        let before = cpu.before(tid, time);
        cpu.runs = Some(tid);
        Came { at: time, traced: false, ended_idle: false, before }
    }

    /// The time of something that `tid` did on `cpu`: not after it left.
    pub fn until_left(&self, cpu: u32, tid: i32, time: Time) -> Time {
        let out = self.cpus.get(&cpu).and_then(|cpu| cpu.out);
        out.filter(|(prev, ..)| *prev == tid).map_or(time, |(_, instant, _)| time.min(instant))
    }

    /// When at the latest something was woken whose wakeup was not traced.
    pub fn blind_until(&self, now: Time) -> Time {
        let blind = || self.cpus.values().filter(|cpu| cpu.blind.is_some());
        if blind().any(|cpu| cpu.runs == Some(0)) {
            return now;
        }
        blind().filter_map(|cpu| cpu.blind).max().map_or(now, |last| last.min(now))
    }

    /// The halves whose records never came, at the end.
    pub fn rest(&mut self) -> Vec<(u32, Half)> {
        let all = self.cpus.iter_mut().map(|(at, cpu)| (*at, cpu.take_halves()));
        all.flat_map(|(at, halves)| halves.into_iter().flatten().map(move |half| (at, half)))
            .collect()
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }
}

impl Cpu {
    /// The halves of the last traced switch whose records never came.
    fn take_halves(&mut self) -> [Option<Half>; 2] {
        let out = self.out.take().map(|(tid, time, state)| Half::Out(tid, time, state));
        let come = self.come.take().map(|(tid, time)| Half::In(tid, time));
        [out, come]
    }

    /// What must have happened, now that `tid` is found here.
    fn before(&mut self, tid: i32, time: Time) -> Before {
        let [out, come] = self.take_halves();
        let other = self.runs.filter(|runs| *runs > 0 && *runs != tid);
        [out, come, other.map(|other| Half::Gone(other, time))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: i32 = 10;
    const B: i32 = 11;
    const US: u64 = 1_000;

    fn switch(prev: i32, next: i32, state: char) -> Switched {
        Switched { prev, next, state }
    }

    #[test]
    fn both_threads_switch_at_one_instant() {
        let mut instants = Instants::default();
        assert_eq!(instants.switched(0, switch(A, B, 'S'), Time(100)), [None; 3]);
        assert_eq!(instants.until_left(0, A, Time(120)), Time(100));
        assert_eq!(instants.left(0, A, Time(3_000)), (Time(100), Some('S')));
        let (at, before) = (Time(100), [None; 3]);
        let came = Came { at, traced: true, ended_idle: false, before };
        assert_eq!(instants.came(0, B, Time(3_500)), came);
    }

    #[test]
    fn a_preemption_is_accounted_at_the_wakeup_that_asked_for_it() {
        let mut instants = Instants::default();
        instants.waking(0, B, Time(9 * US));
        let woken = Woken { tid: B, cpu: 0, flags: 0x2d };
        assert_eq!(instants.wakeup(0, woken, Time(10 * US)), Queued::Now);
        instants.switched(0, switch(A, B, 'R'), Time(17 * US));
        assert_eq!(instants.left(0, A, Time(20 * US)), (Time(10 * US), Some('R')));
        assert_eq!(instants.came(0, B, Time(21 * US)).at, Time(10 * US));
    }

    #[test]
    fn a_thread_that_waits_leaves_when_it_does_although_a_wakeup_has_asked() {
        let mut instants = Instants::default();
        instants.wakeup(0, Woken { tid: B, cpu: 0, flags: 4 }, Time(10 * US));
        instants.switched(0, switch(A, B, 'D'), Time(12 * US));
        assert_eq!(instants.left(0, A, Time(13 * US)).0, Time(12 * US));
    }

    #[test]
    fn a_request_that_led_to_no_switch_is_forgotten() {
        let mut instants = Instants::default();
        instants.wakeup(0, Woken { tid: B, cpu: 0, flags: 4 }, Time(10 * US));
        // The tick of 3 ms later.
        instants.switched(0, switch(A, B, 'R'), Time(3_010 * US));
        assert_eq!(instants.left(0, A, Time(3_012 * US)).0, Time(3_010 * US));
        // And one after which another wakeup found no request.
        instants.wakeup(0, Woken { tid: A, cpu: 0, flags: 4 }, Time(3_020 * US));
        instants.wakeup(0, Woken { tid: A, cpu: 0, flags: 1 }, Time(3_030 * US));
        instants.switched(0, switch(B, A, 'R'), Time(3_040 * US));
        assert_eq!(instants.left(0, B, Time(3_042 * US)).0, Time(3_040 * US));
    }

    #[test]
    fn a_wakeup_for_another_cpu_counts_from_its_waking() {
        let mut instants = Instants::default();
        instants.waking(1, B, Time(100 * US));
        // Traced after the interrupt was sent; the waking's own row tells when B was ready.
        let woken = Woken { tid: B, cpu: 0, flags: 1 };
        assert_eq!(instants.wakeup(1, woken, Time(111 * US)), Queued::AtWaking);
        instants.switched(0, switch(A, B, 'R'), Time(116 * US));
        assert_eq!(instants.came(0, B, Time(117 * US)).at, Time(100 * US));
        // It was not for whoever comes.
        instants.waking(1, B, Time(200 * US));
        instants.wakeup(1, woken, Time(211 * US));
        instants.switched(0, switch(A, 12, 'R'), Time(216 * US));
        assert_eq!(instants.came(0, 12, Time(217 * US)).at, Time(216 * US));
    }

    #[test]
    fn a_wakeup_that_was_queued_for_another_cpu_is_told_there() {
        let mut instants = Instants::default();
        instants.waking(1, B, Time(100));
        assert_eq!(
            instants.wakeup(0, Woken { tid: B, cpu: 0, flags: 9 }, Time(120)),
            Queued::Apart
        );
    }

    #[test]
    fn without_a_trace_the_records_tell() {
        let mut instants = Instants::default();
        let came = |at| {
            let (at, before) = (Time(at), [None; 3]);
            Came { at, traced: false, ended_idle: false, before }
        };
        assert_eq!(instants.came(0, A, Time(50)), came(50));
        assert_eq!(instants.left(0, A, Time(90)), (Time(90), None));
        assert_eq!(instants.came(0, B, Time(95)), came(95));
    }

    #[test]
    fn an_untraced_arrival_is_as_late_as_traced_ones_are_at_the_least() {
        let mut instants = Instants::default();
        // Nothing is known yet.
        assert_eq!(instants.came(1, A, Time(50 * US)).at, Time(50 * US));
        for n in 1..=LAGS as u64 {
            let at = n * 1_000 * US;
            // Any thread's wakeup tells how long the idle loop takes to end: 20 us; one in four is
            // held up.
            let held_up = if n % 4 == 0 { 60 * US } else { 0 };
            instants.wakeup(0, Woken { tid: B, cpu: 0, flags: NEED_RESCHED }, Time(at));
            let switched = Time(at + 20 * US + held_up);
            instants.switched(0, switch(0, B, 'R'), switched);
            // And a recorded one's record how long that takes: 5 us.
            assert_eq!(instants.came(0, B, Time(switched.0 + 5 * US)).at, Time(at));
            instants.switched(0, switch(B, 0, 'S'), Time(at + 200 * US));
        }
        let late = instants.came(1, A, Time(40_000 * US));
        assert_eq!((late.at, late.traced), (Time(39_975 * US), false));
    }

    #[test]
    fn the_least_of_the_last_lags_tells() {
        let mut lags = Lags::default();
        assert_eq!(lags.least(), 0);
        [120, 7, 12].iter().for_each(|ns| lags.learn(*ns));
        assert_eq!(lags.least(), 7);
        (0..LAGS).for_each(|_| lags.learn(10));
        assert_eq!((lags.least(), lags.recent.len()), (10, LAGS));
    }

    #[test]
    fn a_thread_on_whose_cpu_another_one_is_found_has_left() {
        let mut instants = Instants::default();
        instants.came(0, A, Time(50));
        let before = [None, None, Some(Half::Gone(A, Time(70)))];
        let came = Came { at: Time(70), traced: false, ended_idle: false, before };
        assert_eq!(instants.came(0, B, Time(70)), came);
        // And one on whose CPU a switch of others is traced; that is told once.
        let gone = Some(Half::Gone(B, Time(90)));
        assert_eq!(instants.switched(0, switch(0, A, 'R'), Time(90)), [None, None, gone]);
        assert_eq!(instants.came(0, A, Time(91)).before, [None; 3]);
        // But not one that the switch names, nor one that comes again: that is its thread's to say.
        assert_eq!(instants.switched(0, switch(A, B, 'S'), Time(95))[2], None);
        instants.left(0, A, Time(96));
        instants.came(0, B, Time(97));
        assert_eq!(instants.came(0, B, Time(99)).before, [None; 3]);
    }

    #[test]
    fn who_came_without_a_record_and_is_not_found_again_has_left() {
        let mut instants = Instants::default();
        instants.switched(0, switch(A, B, 'S'), Time(100));
        let before = [
            Some(Half::Out(A, Time(100), 'S')),
            Some(Half::In(B, Time(100))),
            Some(Half::Gone(B, Time(200))),
        ];
        assert_eq!(instants.switched(0, switch(0, A, 'R'), Time(200)), before);
    }

    #[test]
    fn halves_without_records_are_given_once() {
        let mut instants = Instants::default();
        instants.switched(0, switch(A, B, 'S'), Time(100));
        assert_eq!(instants.came(0, B, Time(105)).at, Time(100));
        let out = Half::Out(A, Time(100), 'S');
        assert_eq!(instants.switched(0, switch(B, 0, 'S'), Time(200)), [Some(out), None, None]);
        let out = Half::Out(B, Time(200), 'S');
        assert_eq!(instants.rest(), [(0, out), (0, Half::In(0, Time(200)))]);
        assert_eq!(instants.rest(), []);
    }

    #[test]
    fn what_nobody_traced_happened_while_a_cpu_was_idle() {
        let mut instants = Instants::default();
        assert_eq!(instants.blind_until(Time(5)), Time(5));
        // Out of the idle loop, which traced nothing.
        instants.came(1, A, Time(10));
        instants.switched(1, switch(A, B, 'S'), Time(500));
        assert_eq!(instants.blind_until(Time(500)), Time(10));
        instants.switched(1, switch(B, 0, 'S'), Time(600));
        assert_eq!(instants.blind_until(Time(700)), Time(700));
    }

    #[test]
    fn time_does_not_go_back_on_a_cpu() {
        let mut instants = Instants::default();
        instants.wakeup(0, Woken { tid: B, cpu: 0, flags: 4 }, Time(10));
        instants.came(0, A, Time(20));
        instants.wakeup(1, Woken { tid: B, cpu: 0, flags: 0 }, Time(15));
        instants.switched(0, switch(A, B, 'R'), Time(30));
        assert_eq!(instants.left(0, A, Time(31)).0, Time(20));
    }
}
