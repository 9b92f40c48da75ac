//! `wait-on-thread`: a thread on the critical path waits for another thread of its process, which
//! works alone in that time.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, Nanos, Severity, Text, ThreadId};

use crate::evidence::pauses::{PauseEnd, nobody_works};
use crate::evidence::stacks::WaitKind;
use crate::evidence::{
    Chore, Doing, Evidence, Family, IntervalId, Relation, Segment, SegmentId, Work,
};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct WaitOnThread;

/// Share of a series of waits in which two or more threads of the process may work, or want to and
/// wait for a mutex. Above it the threads run in parallel, and waiting for the last one is normal.
const MAX_PARALLEL: f64 = 0.5;

/// Share of a thread's waiting from which one wait is for its only job.
const ONLY_JOB: f64 = 0.8;

/// Share of that job in one function above which this function is the reason: most of it.
const MOST: f64 = 0.5;

/// How long a waiter may work between two waits of one series, as a share of the series so far:
/// returning from one join and starting the next takes microseconds.
const MAX_BETWEEN: f64 = 0.01;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "wait-on-thread",
    group: Group::Waiting,
    specificity: Specificity::Dependency,
    yields_to: &[],
    claim: "Thread A waits for the result of thread B of the same process, and meanwhile mostly only B \
            works.",
    signature: "A on the critical path waits on a condition variable, a join, a semaphore or an event, \
                or for a message from another thread. B ended the wait. Meanwhile mostly only B \
                worked. The finding names A, its function, what B did (`meanwhile`), and B if the \
                recording shows who ended the wait.",
    not_reported: &[
        "waits for a group of threads that work in parallel for most of the wait",
        "a timed sleep: it ends by itself",
        "a wait during which no thread of the process works",
        "a launcher that waits for the thread that runs the program",
        "a wait during most of which other recorded programs work, too: listed as `info`",
        "what other findings tell of the only job that is handed over",
        "time in which B waits for a CPU: see `run-queue`",
        "a thread that no record names",
    ],
    why: "The two threads take turns, so the second thread gains nothing. The run takes as long as \
          if one thread did both, plus the context switches. Unlike in `lock-contention`, A needs \
          B's result.",
    fix: &[
        "Reduce B's work: the finding shows it under `meanwhile`.",
        "If the result is always needed, start B earlier. If it is often not needed, start B only \
         when it is.",
        "Split B's work over several threads.",
        "Let A do other work until it needs the result.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `wait-on-thread` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of a series of waits in which two or more threads of the process work, or \
                   wait only for a mutex",
            value: MAX_PARALLEL,
            unit: "share",
            reason: "Above this share A waits for parallel work, and the waits are not reported. If \
                     all waits together exceed it, the waits that are left are only `info`. Near 1, \
                     every pool of threads would be reported.",
            source: "definition",
        },
        Threshold {
            what: "share of A's waiting in one wait, from which that is for its only job",
            value: ONLY_JOB,
            unit: "share",
            reason: "With one job, nothing shows that several threads could have worked. At half, \
                     two jobs of equal length would count as one.",
            source: "definition",
        },
        Threshold {
            what: "share of a series that A may work between two waits of it",
            value: MAX_BETWEEN,
            unit: "share",
            reason: "Waits in a row are one series: threads that share work are joined one after the \
                     other. If A works longer between two waits, a new series begins.",
            source: "definition",
        },
    ],
};

impl Rule for WaitOnThread {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let mut waiting = evidence.depending_on(Relation::Thread);
        if waiting.is_empty() {
            return Vec::new();
        }
        let launched = launched(evidence);
        waiting.retain(|s| {
            let segment = evidence.chain.segment(*s);
            // A timed sleep ends by itself, whatever other threads do.
            PauseEnd::of(evidence.of_segment(segment)) != PauseEnd::Timer
                && !is_beside(evidence, segment)
                && !is_at_rest(evidence, segment)
                && !is_launched(evidence, &launched, segment)
                && !is_collection_held_up(evidence, segment)
        });
        let key = |s: &Segment| {
            let wait = wait_of(evidence, s);
            Some((wait.thread, evidence.name(evidence.stacks.focus(wait.stack))))
        };
        let by_function = tally::by(evidence, &waiting, key).into_iter();
        let only_jobs: BTreeSet<_> =
            by_function.filter(|t| is_only_job(evidence, t)).map(|t| t.key).collect();
        let mut alone = Vec::new();
        let mut works = BTreeMap::new();
        for t in
            tally::by(evidence, &waiting, |s| Some(evidence.process(wait_of(evidence, s).thread)))
        {
            let work = Work::wanted_by(
                evidence.recording,
                &evidence.lives,
                (&evidence.stacks, &evidence.locks),
                t.key,
            );
            let stretches = stretches(evidence, &t.segments);
            let serial =
                stretches.into_iter().filter(|stretch| !is_parallel(evidence, &work, stretch));
            let segments = serial.flatten().filter(|s| !is_parallel(evidence, &work, &[*s]));
            alone.extend(segments);
            works.insert(t.key, work);
        }
        alone.retain(|s| !evidence.is_for_cpu(evidence.chain.segment(*s)));
        let claim = |t: Tally<(ThreadId, Text)>| {
            let waiter = t.key.0;
            let left = works
                .get(&evidence.process(waiter))
                .is_some_and(|work| is_left_over(evidence, work, &t.segments))
                || is_parallel(evidence, &evidence.work, &t.segments);
            let only = only_jobs.contains(&t.key);
            let claim = told(evidence, t)?;
            let at_most = if left { Severity::Info } else { claim.at_most };
            let specificity = if only { Specificity::Relation } else { claim.specificity };
            Some(Claim { at_most, specificity, ..claim })
        };
        tally::by(evidence, &alone, key).into_iter().filter_map(claim).collect()
    }
}

/// The wait for another thread that a segment fills, or is.
fn wait_of<'a>(evidence: &Evidence<'a>, segment: &Segment) -> &'a Interval {
    let wait = evidence.dependent_wait(segment).unwrap_or(segment.interval);
    evidence.interval(wait)
}

/// True where one wait is nearly all of them, and one function computes for most of it: a thread hands its
/// only work to another one. Nothing shows that several could have worked, so that function goes first.
fn is_only_job(evidence: &Evidence<'_>, all: &Tally<(ThreadId, Text)>) -> bool {
    let waits = tally::by(evidence, &all.segments, |s| evidence.dependent_wait(s));
    if waits.first().is_none_or(|longest| longest.total.share_of(all.total) < ONLY_JOB) {
        return false;
    }
    let function = |doing: &Doing| {
        let runs = evidence.function(*doing).filter(|_| doing.cause.is_cpu())?;
        // A runtime's functions are its program's.
        let of_runtime = evidence.chores.is_runtime(runs);
        if of_runtime { evidence.chores.owner(doing.stack) } else { Some(runs) }
    };
    let most = tally::by_name(evidence, &all.segments, function).into_iter().next();
    most.is_some_and(|most| most.total.share_of(all.total) > MOST)
}

/// True for waits between which the threads mostly work in parallel: they share work and do not all
/// end at the same time.
fn is_left_over(evidence: &Evidence<'_>, work: &Work, segments: &[SegmentId]) -> bool {
    let each = || segments.iter().map(|id| evidence.chain.segment(*id));
    let (Some(from), Some(to)) =
        (each().map(|s| s.start).min(), each().map(|s| s.start + s.length).max())
    else {
        return false;
    };
    work.with_at_least(2, from, to).share_of(to.since(from)) > MAX_PARALLEL
}

/// True while the thread that another one waits for itself waits, and nobody works or no record says for whom:
/// something outside ends the wait, or its end was not recorded.
fn is_at_rest(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let interval = evidence.of_segment(segment);
    let waits = matches!(interval.cause, Cause::Lock | Cause::Poll);
    waits && (interval.waker.is_none() || nobody_works(evidence, segment))
}

/// True where a runtime's own thread works while another thread polls: the poll is not for that.
fn is_beside(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let worker = evidence.of_segment(segment).thread;
    evidence.managed.purpose(worker).is_some()
        && evidence.chain.links(segment).next().is_some_and(|link| link.inferred)
}

/// The threads that a runtime's launcher made to run the program itself.
fn launched(evidence: &Evidence<'_>) -> BTreeSet<ThreadId> {
    let inside = |i: &&Interval| evidence.stacks.in_family(i.stack, Family::Launched);
    evidence.recording.intervals.iter().filter(inside).map(|i| i.thread).collect()
}

/// True where a launcher waits for the thread that runs the program itself.
fn is_launched(evidence: &Evidence<'_>, launched: &BTreeSet<ThreadId>, segment: &Segment) -> bool {
    let thread = evidence.of_segment(segment).thread;
    launched.contains(&thread)
        && evidence.dependent_wait(segment).is_some_and(|w| evidence.interval(w).thread != thread)
}

/// True where a collector's thread is ready and gets no CPU: `gc-pressure` reports the collection.
fn is_collection_held_up(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let interval = evidence.of_segment(segment);
    interval.cause.is_runnable()
        && evidence.managed.purpose(interval.thread) == Some(Chore::Collect)
}

/// The segments by series of waits: threads that share their work are joined one after the other,
/// and the wait for the last one belongs to the waits before it.
fn stretches(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Vec<Vec<SegmentId>> {
    let mut stretches: Vec<(Vec<SegmentId>, Nanos)> = Vec::new();
    for &id in segments {
        let segment = evidence.chain.segment(id);
        let waiter = wait_of(evidence, segment).thread;
        match stretches.last_mut() {
            Some((stretch, waited)) if continues(evidence, stretch, *waited, segment, waiter) => {
                stretch.push(id);
                *waited += segment.length;
            }
            _ => stretches.push((vec![id], segment.length)),
        }
    }
    stretches.into_iter().map(|(stretch, _)| stretch).collect()
}

/// Whether the waiter had next to nothing to do between a stretch and the next segment.
fn continues(
    evidence: &Evidence<'_>,
    stretch: &[SegmentId],
    waited: Nanos,
    next: &Segment,
    waiter: ThreadId,
) -> bool {
    let Some(last) = stretch.last().map(|id| evidence.chain.segment(*id)) else { return false };
    let end = last.start + last.length;
    waiter == wait_of(evidence, last).thread
        && next.start >= end
        && next.start.since(end).share_of(waited) <= MAX_BETWEEN
}

/// Whether for most of the time of these segments more than one thread works.
fn is_parallel(evidence: &Evidence<'_>, work: &Work, segments: &[SegmentId]) -> bool {
    let both = segments.iter().map(|id| work.during(evidence.chain.segment(*id), 2));
    both.sum::<Nanos>().share_of(evidence.total(segments)) > MAX_PARALLEL
}

/// The claim of one thread's waits in one function; none where no record names whom it waits for.
fn told(evidence: &Evidence<'_>, t: Tally<(ThreadId, Text)>) -> Option<Claim> {
    let (waiter, function) = t.key;
    let enders = |s: &SegmentId| {
        let segment = evidence.chain.segment(*s);
        Some((ender(evidence, waiter, segment)?, segment.length))
    };
    let others: Vec<_> = t.segments.iter().filter_map(enders).collect();
    if others.is_empty() {
        return None;
    }
    let names = tally::named_by_time(evidence, others);
    let waits = evidence.waits(&t.segments);
    let exits = waits.iter().filter(|w| ends_with_exit(evidence, **w)).count();
    let whom = match exits == waits.len() {
        true => format!("{names} to end while no other thread works"),
        false => format!("{names} while no other thread works"),
    };
    let who = evidence.recording.thread_name(waiter);
    let whole = evidence.chain.whole;
    let title = format!("{who} waits {COST} of {whole} in `{function}` for {whom}");
    let inferred = inferred_share(evidence, &t.segments);
    let mut claim = Claim::new(&DOC, title, t.segments.clone())
        .at(Site::WaitThenWork)
        .sure(0.9)
        .fact("waits", waits.len() as f64, "count")
        .fact("waits for another thread's exit", exits as f64, "count")
        .facts(tally::done(evidence, &t.segments, 3));
    if inferred > 0.5 {
        claim.why =
            "The thread polls instead of waiting for the event. The time in which the other thread \
             works is counted here, the rest under `poll-sleep-loop`."
                .to_owned();
    }
    Some(claim)
}

/// The thread that a segment waits for: the one whose time fills it, else the one that ended the
/// wait; none where no record names it.
fn ender(evidence: &Evidence<'_>, waiter: ThreadId, segment: &Segment) -> Option<ThreadId> {
    let interval = evidence.of_segment(segment);
    let other = (interval.thread != waiter).then_some(interval.thread);
    other.or(interval.waker).filter(|thread| *thread != waiter)
}

/// True for a wait that ended because a thread did: the kernel clears the thread's number in memory
/// when it exits and wakes who waits there (`mm_release` in kernel/fork.c), which is how joining
/// works.
fn ends_with_exit(evidence: &Evidence<'_>, wait: IntervalId) -> bool {
    let wait = evidence.interval(wait);
    evidence.stacks.wait_kind(wait.stack) == Some(WaitKind::Join)
        || evidence.stacks.in_family(wait.waker_stack, Family::Exit)
}

fn inferred_share(evidence: &Evidence<'_>, segments: &[SegmentId]) -> f64 {
    let inferred: Nanos = segments
        .iter()
        .map(|s| evidence.chain.segment(*s))
        .filter(|s| evidence.chain.links(s).next().is_some_and(|l| l.inferred))
        .map(|s| s.length)
        .sum();
    inferred.share_of(evidence.total(segments))
}

#[cfg(test)]
mod tests;
