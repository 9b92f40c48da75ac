//! Semaphores, parked threads and bare futexes that are used as locks, known by who ends whose waits.
//!
//! ```text
//! a   run | ~ wait at X ~ | has it: ends b's wait at X | ~ wait at X ~ |
//! b   run | ~~~~~~~~ wait at X ~~~~~~~~ | has it: ends c's wait at X |
//! c   run | ~~~~~~~~~~~~~~~~~ wait at X ~~~~~~~~~~~~~~~~~ | has it ...
//! ```
//!
//! Whoever waits at a place later ends the others' waits at the same place: that is a lock. The two
//! sides of a queue, or a thread and the one that joins it, wait at different places or not at all.
//! A barrier ends many waits at once, a lock one.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, Nanos, ProcessId, Recording, StackId, Text, ThreadId, Time};

use super::Family;
use super::relation::executed;
use super::stacks::{Stacks, WaitKind};

/// Share of a place's waits that must be ended by threads that wait there too. Locks are let go by
/// those who took them, so that only those who never had to wait are missing; half keeps a lock that
/// one thread takes from elsewhere.
const MIN_HANDED: f64 = 0.5;

/// Two waits that one thread ends within this time it ended at once, as for a barrier: to take a lock
/// again and let it go costs a hand-over at least, and is too short to matter where it takes no longer.
const AT_ONCE: Nanos = Nanos(20_000);

/// Share of a place's waits that may be ended at once with another one.
const MAX_AT_ONCE: f64 = 0.5;

/// Share of the waits that each waiter's usual waker must end for a lock that is handed round in turn.
const MIN_USUAL: f64 = 0.75;

/// Share of the waits whose waiter ends as many of its waker's in turn, above which nothing goes round.
const MAX_RETURNED: f64 = 0.25;

/// Waits of each waiter below which its usual waker may be one by chance.
const MIN_TURNS: usize = 3;

/// Where threads wait: the program, the function, and how deep it is, so that one interpreter's
/// function called by different code is not one place.
type Place = (ProcessId, Text, u32);

/// The places at which waits are waits for a lock.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    places: BTreeSet<(ProcessId, StackId)>,
    /// The program that each process runs.
    programs: Vec<ProcessId>,
}

/// A wait at a place that a thread of the same program ended.
struct Handed {
    by: ThreadId,
    end: Time,
    waiter: ThreadId,
}

impl Locks {
    /// Looks at every wait that may be one for a lock; n log n in them.
    pub(crate) fn of(recording: &Recording, stacks: &Stacks) -> Self {
        let mut places: BTreeMap<Place, (Vec<Handed>, BTreeSet<StackId>)> = BTreeMap::new();
        let programs = programs(recording);
        let program = |thread: ThreadId| programs[recording.thread(thread).process.index()];
        for wait in recording.intervals.iter().filter(|row| row.cause == Cause::Lock) {
            let process = program(wait.thread);
            let own = |by: &ThreadId| *by != wait.thread && program(*by) == process;
            let (Some(stack), Some(by)) = (wait.stack, wait.waker.filter(own)) else { continue };
            if !may_be_lock(stacks, wait) {
                continue;
            }
            // Where the program's own part of a stack is missing, all threads wait at one place.
            let Some(function) = stacks.own_focus(wait.stack) else { continue };
            let function = recording.frame(function).function.clone();
            let place = (process, function, stacks.user_depth(wait.stack));
            let (handed, seen) = places.entry(place).or_default();
            handed.push(Handed { by, end: wait.start + wait.duration, waiter: wait.thread });
            seen.insert(stack);
        }
        let locks = places.into_iter().filter(|(_, (handed, _))| is_lock(handed));
        let places = locks
            .flat_map(|((process, ..), (_, seen))| seen.into_iter().map(move |s| (process, s)));
        Self { places: places.collect(), programs }
    }

    /// True for a wait for a lock, and for the run queue after one, which has the wait's stack.
    pub(crate) fn is_lock(&self, recording: &Recording, stacks: &Stacks, wait: &Interval) -> bool {
        let program = || self.programs.get(recording.thread(wait.thread).process.index()).copied();
        let is_place = |stack| program().is_some_and(|p| self.places.contains(&(p, stack)));
        stacks.wait_kind(wait.stack) == Some(WaitKind::Mutex) || wait.stack.is_some_and(is_place)
    }
}

/// The program that each process runs, by the process that executed it: who was forked from it and
/// executed nothing shares its locks.
fn programs(recording: &Recording) -> Vec<ProcessId> {
    let executed = executed(recording);
    let program = |id: ProcessId| {
        let parent = |id: &ProcessId| {
            Some(*id)
                .filter(|id| !executed.contains_key(id))
                .and_then(|id| recording.process(id).parent)
        };
        // Fewer steps than there are processes, also where a damaged recording goes in a circle.
        let line = std::iter::successors(Some(id), parent).take(recording.processes.len());
        line.last().unwrap_or(id)
    };
    (0..recording.processes.len()).map(ProcessId::from_index).map(program).collect()
}

/// True for what locks are built of: what is named a mutex is one without a look at who ends it, and
/// what is named a condition is none.
fn may_be_lock(stacks: &Stacks, wait: &Interval) -> bool {
    let kind = stacks.wait_kind(wait.stack);
    matches!(kind, None | Some(WaitKind::Semaphore | WaitKind::Park))
        && !stacks.in_family(wait.stack, Family::Scheduler)
        && !stacks.in_family(wait.stack, Family::KernelLock)
}

/// Whether the waits of one place are waits for a lock.
fn is_lock(waits: &[Handed]) -> bool {
    let waiters: BTreeSet<_> = waits.iter().map(|w| w.waiter).collect();
    let handed: Vec<_> = waits.iter().filter(|w| waiters.contains(&w.by)).collect();
    let mut ends: Vec<_> = handed.iter().map(|w| (w.by, w.end)).collect();
    ends.sort_unstable();
    let at_once = ends.windows(2).filter(|w| w[0].0 == w[1].0 && w[1].1.since(w[0].1) <= AT_ONCE);
    let (at_once, all) = (at_once.count() as f64, handed.len() as f64);
    all >= MIN_HANDED * waits.len() as f64
        && at_once <= MAX_AT_ONCE * all
        && (goes_round(&handed) || !has_two_sides(&handed))
}

/// True when each thread's waits are ended by the same other one, whose waits it does not end: a fair
/// lock that the same threads take in turn. An even number of them looks like two sides.
fn goes_round(handed: &[&Handed]) -> bool {
    let mut ends: BTreeMap<(ThreadId, ThreadId), usize> = BTreeMap::new();
    for wait in handed {
        *ends.entry((wait.waiter, wait.by)).or_default() += 1;
    }
    let mut usual: BTreeMap<ThreadId, usize> = BTreeMap::new();
    let mut returned = 0;
    for (&(waiter, by), &count) in &ends {
        let most = usual.entry(waiter).or_default();
        *most = count.max(*most);
        returned += count.min(ends.get(&(by, waiter)).copied().unwrap_or(0));
    }
    let all = handed.len() as f64;
    handed.len() >= MIN_TURNS * usual.len()
        && usual.values().sum::<usize>() as f64 >= MIN_USUAL * all
        && returned as f64 <= MAX_RETURNED * all
}

/// True when the threads can be told apart into two sides that only end each other's waits, as those
/// do who write and who read a queue. Two threads alone may always be that.
fn has_two_sides(handed: &[&Handed]) -> bool {
    let mut others: BTreeMap<ThreadId, BTreeSet<ThreadId>> = BTreeMap::new();
    for wait in handed {
        others.entry(wait.by).or_default().insert(wait.waiter);
        others.entry(wait.waiter).or_default().insert(wait.by);
    }
    let mut sides: BTreeMap<ThreadId, bool> = BTreeMap::new();
    for &start in others.keys() {
        if sides.contains_key(&start) {
            continue;
        }
        sides.insert(start, false);
        let mut open = vec![start];
        while let Some(thread) = open.pop() {
            let side = sides[&thread];
            for &other in &others[&thread] {
                match sides.insert(other, !side) {
                    Some(known) if known == side => return false,
                    Some(_) => {}
                    None => open.push(other),
                }
            }
        }
    }
    true
}
