//! Idle waits of a service's threads: waiting for work that nobody was waiting for.
//!
//! A thread of a service goes round a loop and waits at its head for the next request, job or
//! tick: its home. Waits further in, inside the handling of a request, are nearer to the leaf. So
//! the home is the wait with the fewest user frames above the thread's start, among the kinds of
//! wait that can be idle. Mutexes, disks, faults and children are never a home. A stack that lacks callers
//! does not say how many there are: it is a home only where no other is known.
//!
//! Two more waits are idle wherever they stand. One in the scheduler of a runtime that runs many tasks
//! on few threads: who has no task keeps none waiting. And one that only the end of the recording
//! ended, when a service was told to stop: nobody waited for that.

use std::collections::BTreeMap;

use culprit_engine::wakers::{Callers, Lives, callers};
use culprit_model::{Cause, Interval, Nanos, Recording, Text, ThreadId, Time};

use super::Family;
use super::stacks::{Stacks, WaitKind};

/// The share of a thread's waits from which one that comes only once may be its home. A spare worker's
/// only wait makes up all of them, a hand-over at the start of a thread next to nothing; at double,
/// services that are recorded for a few requests lose homes.
const MIN_HOME: f64 = 0.05;

/// Where a thread waits: whether nothing but the kernel's functions is known, the callers, the cause, and the
/// function that waits.
type Place = (bool, Callers, Cause, Option<Text>);

/// The homes of a recording's threads.
#[derive(Debug)]
pub(crate) struct Idle<'s> {
    stacks: &'s Stacks,
    /// One entry a thread.
    homes: Vec<Option<Place>>,
    functions: Vec<Option<Text>>,
    /// One entry a stack.
    callers: Vec<Callers>,
    /// When the recorded command was told to stop, if it was.
    told_to_stop: Option<Time>,
}

impl<'s> Idle<'s> {
    /// Finds every thread's home; linear in intervals.
    pub(crate) fn of(recording: &Recording, lives: &Lives, stacks: &'s Stacks) -> Self {
        let functions = (0..recording.stacks.len())
            .map(|s| {
                let frame = stacks.focus(Some(culprit_model::StackId::from_index(s)))?;
                Some(recording.frame(frame).function.clone())
            })
            .collect();
        let told_to_stop = told_to_stop(recording);
        let callers = callers(recording);
        let mut idle = Self { stacks, homes: Vec::new(), functions, callers, told_to_stop };
        idle.homes = (0..recording.threads.len())
            .map(|t| idle.home(&recording.intervals[lives.rows(ThreadId::from_index(t))]))
            .collect();
        idle
    }

    /// The shallowest idle-capable wait of a thread; of equally shallow ones the longest in sum. A short
    /// wait that comes only once is no home: threads are handed over so when they start. Nor is one that
    /// began before the recording, of which only the kernel's functions are known, where there are others.
    fn home(&self, rows: &[Interval]) -> Option<Place> {
        let mut waits: BTreeMap<Place, (u32, Nanos)> = BTreeMap::new();
        for interval in rows.iter().filter(|i| self.can_be_idle(i)) {
            let (times, sum) = waits.entry(self.place(interval)).or_default();
            (*times, *sum) = (*times + 1, *sum + interval.duration);
        }
        let all: Nanos = waits.values().map(|(_, sum)| *sum).sum();
        waits.retain(|_, (times, sum)| *times > 1 || sum.share_of(all) >= MIN_HOME);
        let ((of_kernel, fewest, ..), _) = waits.first_key_value()?;
        let fewest = (*of_kernel, *fewest);
        let level = waits
            .iter()
            .take_while(|((of_kernel, callers, ..), _)| (*of_kernel, *callers) == fewest);
        level.max_by_key(|(_, (_, total))| *total).map(|(place, _)| place.clone())
    }

    fn place(&self, interval: &Interval) -> Place {
        let stack = interval.stack;
        let of_kernel = self.stacks.user_depth(stack) == 0;
        let callers = stack.map_or(Callers::UNKNOWN, |stack| self.callers[stack.index()]);
        let function = stack.and_then(|stack| self.functions.get(stack.index()).cloned().flatten());
        (of_kernel, callers, interval.cause, function)
    }

    fn can_be_idle(&self, interval: &Interval) -> bool {
        match interval.cause {
            Cause::Lock => self.stacks.wait_kind(interval.stack) != Some(WaitKind::Mutex),
            Cause::Net
            | Cause::Sleep
            | Cause::Poll
            | Cause::Pipe
            | Cause::Ipc
            | Cause::Notify
            | Cause::Signal
            | Cause::Child
            | Cause::Other => true,
            _ => false,
        }
    }

    /// True when the thread waited at home. Stopped threads are idle too: nobody but a person or a
    /// debugger waits for them.
    pub(crate) fn is_idle(&self, interval: &Interval) -> bool {
        if interval.cause == Cause::Stopped
            || self.stacks.in_family(interval.stack, Family::Scheduler)
            || self.lasted_until_the_stop(interval)
        {
            return true;
        }
        let home = self.homes[interval.thread.index()].as_ref();
        let Some(home) = home.filter(|_| self.can_be_idle(interval)) else { return false };
        let place = self.place(interval);
        let (of_kernel, callers, cause, _) = &place;
        // Of some stacks nothing is known, or only the functions in which every wait for another thread
        // ends. The reason has to do.
        let has_no_function = || self.stacks.own_focus(interval.stack).is_none();
        let is_unknown =
            *of_kernel || callers.are_missing && *cause == Cause::Lock && has_no_function();
        // Where the stack was lost, so was the reason.
        let fits = *cause == home.2 || interval.stack.is_none() && *cause == Cause::Other;
        place == *home || is_unknown && !home.0 && fits
    }

    /// True for a wait that went on until the recorded command was told to stop.
    fn lasted_until_the_stop(&self, interval: &Interval) -> bool {
        let (from, to) = (interval.start, interval.start + interval.duration);
        self.told_to_stop.is_some_and(|at| from < at && to >= at) && self.can_be_idle(interval)
    }
}

/// When the recorded command was told to stop: the last time that somebody outside of the recording
/// woke a thread of it, as a signal does; none for a recording of what ran before and after it.
fn told_to_stop(recording: &Recording) -> Option<Time> {
    recording.meta.root_process?;
    let told = |i: &&Interval| i.waker.is_some_and(|waker| !recording.thread(waker).recorded);
    let ends = recording.intervals.iter().filter(told).map(|i| i.start + i.duration);
    Some(ends.max().unwrap_or(Time(recording.meta.wall.0)))
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, told};
    use culprit_model::{Cause, ProcessId};

    #[test]
    fn what_only_the_end_of_the_recording_ended_was_awaited_by_nobody() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let recorder = scene.program("recorder", None, 0);
        let process = scene.recording.thread(main).process;
        let listener = scene.thread(process, "listener", 0);
        let start = "main;start;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let join = "main;start;wait;libc.so.6!__pthread_clockjoin_ex;k:futex_do_wait";
        let listen = "clone3;serve;libc.so.6!recv;k:sk_wait_data";
        scene.wait(main, 100, Cause::Lock, start, End::By(listener));
        scene.run(main, 10, Cause::CpuUser, "main;start");
        scene.wait(main, 3000, Cause::Lock, join, End::By(recorder));
        scene.run(listener, 100, Cause::CpuUser, "clone3;serve");
        scene.wait(listener, 3020, Cause::Net, listen, End::By(main));
        scene.recording.threads[recorder.index()].recorded = false;
        let mut recording = scene.running();
        recording.meta.root_process = Some(ProcessId(0));
        recording.meta.exit_code = Some(143);
        // Somebody waited for the listener to start.
        assert_eq!(told(&recording), ["hot-function 100"]);
    }

    #[test]
    fn a_wait_from_before_the_recording_is_no_other_place_than_the_next_ones() {
        let mut scene = Scene::default();
        let worker = scene.program("server", None, 0);
        scene.wait(worker, 500, Cause::Lock, "k:futex_do_wait", End::Unknown);
        for _ in 0..10 {
            scene.run(worker, 1, Cause::CpuUser, "clone3;serve;answer");
            let take = "clone3;serve;take;libc.so.6!pthread_cond_wait;k:futex_do_wait";
            scene.wait(worker, 100, Cause::Lock, take, End::Unknown);
        }
        // Nothing of it costs anything.
        assert_eq!(told(&scene.running()), ["idle-await 0"]);
    }

    #[test]
    fn a_stack_that_lacks_callers_is_not_the_one_with_the_fewest() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "worker", 0);
        for _ in 0..10 {
            let take = "clone3;serve;take;libc.so.6!pthread_cond_wait;k:futex_do_wait";
            scene.wait(worker, 100, Cause::Lock, take, End::Unknown);
            let cut = "libc.so.6!pthread_cond_wait;k:futex_do_wait";
            scene.wait(worker, 10, Cause::Lock, cut, End::Unknown);
            scene.run(worker, 1, Cause::CpuUser, "clone3;serve;answer");
        }
        scene.run(main, 1_110, Cause::CpuUser, "main;serve");
        let found = told(&scene.running());
        assert!(found.iter().all(|f| f.starts_with("hot-function")), "{found:?}");
    }

    #[test]
    fn the_hand_over_at_a_threads_start_is_not_its_home() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let ticker = scene.thread(process, "ticker", 0);
        let wait = "libc.so.6!pthread_cond_wait;k:futex_do_wait";
        scene.run(main, 1, Cause::CpuUser, "main;start");
        scene.wait(ticker, 1, Cause::Lock, &format!("clone3;start;{wait}"), End::By(main));
        for _ in 0..16 {
            scene.wait(
                ticker,
                249,
                Cause::Lock,
                &format!("clone3;start;tick;rest;{wait}"),
                End::Timer,
            );
            scene.run(ticker, 1, Cause::CpuUser, "clone3;start;tick");
        }
        scene.run(main, 4000, Cause::CpuUser, "main;serve");
        let found = told(&scene.running());
        assert!(found.iter().all(|f| f.starts_with("hot-function")), "{found:?}");
    }

    #[test]
    fn threads_without_a_task_are_idle_however_they_wait() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let spare = scene.thread(process, "server", 0);
        let stack = "runtime.mcall;runtime.park_m;runtime.schedule;runtime.findRunnable;";
        for _ in 0..10 {
            scene.wait(
                main,
                99,
                Cause::Poll,
                &format!("{stack}runtime.netpoll;k:do_epoll_wait"),
                End::Network,
            );
            scene.run(main, 1, Cause::CpuUser, "runtime.goexit;main.answer");
            let parks = format!("{stack}runtime.stopm;runtime.notesleep;k:futex_do_wait");
            scene.wait(spare, 50, Cause::Lock, &parks, End::By(main));
            scene.wait(spare, 50, Cause::Lock, &format!("runtime.mstart;{parks}"), End::By(main));
        }
        let found = told(&scene.running());
        assert!(found.iter().all(|f| f.starts_with("hot-function")), "{found:?}");
    }
}
