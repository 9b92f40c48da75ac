//! `lock-contention` beside the path: who has a lock waits for something slow, and others wait for the lock.
//!
//! A proxy or an event loop serves many at once, so the path goes from its client to whoever answers next,
//! and not through those that wait for the lock:
//!
//! ```text
//! client    |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| all answers
//! worker a  |flock| asks a partner ~~~~~|unlock             on the path
//! worker b    |~~~~~~ waits in flock ~~~|flock| asks ~~~    beside it until a is done
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, Nanos, StackId, Text, ThreadId, Time};

use super::lock_contention::{self, DOC};
use crate::evidence::{Evidence, Family, Relation, Segment};
use crate::rule::{COST, Claim, PERCENT, Site};
use crate::tally::{self, Tally};

/// The shortest wait for a lock that counts: shorter ones are handed over.
const MIN_WAIT: Nanos = Nanos(1_000_000);

/// What a lock of a file adds.
const OF_FILE: (&str, &str) = (
    "It is the lock of a file, which libraries often keep for a whole request or job.",
    "PHP sessions: call `session_write_close()` before slow work, or `session_start(['read_and_close' => true])` \
     where nothing is written.",
);

/// The program with the lock, the function that it waits in, and the one that others wait for the lock in.
type Key = (Text, Text, Text);

/// Time in which a thread on the path waits for something slow, and another one for its lock.
struct Kept<'a> {
    holder: ThreadId,
    slow: &'a Interval,
    waits: &'a Interval,
}

/// The functions that wait with a lock in hand.
pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Claim> {
    let waits = Waits::of(evidence);
    if waits.0.is_empty() {
        return Vec::new();
    }
    // Where the path goes through waits for the lock, the rule itself reports them.
    let on_path = lock_contention::waits(evidence, &evidence.depending_on(Relation::Lock));
    let on_path = on_path.into_iter().map(|wait| evidence.interval(wait).stack);
    let on_path: BTreeSet<Text> = on_path.map(|stack| function(evidence, stack)).collect();
    let all: Vec<_> = evidence.chain.iter().map(|(id, _)| id).collect();
    let places = tally::by(evidence, &all, |segment| {
        let kept = waits.kept(evidence, segment)?;
        let program = evidence.recording.process(evidence.process(kept.holder)).name.clone();
        Some((program, function(evidence, kept.slow.stack), function(evidence, kept.waits.stack)))
    });
    let beside = places.into_iter().filter(|place| !on_path.contains(&place.key.2));
    beside.filter_map(|place| told(evidence, &waits, place)).collect()
}

/// Long waits for locks, by the thread that has the lock, in the order of their starts: each with the latest end
/// up to it.
struct Waits<'a>(BTreeMap<ThreadId, Vec<(&'a Interval, Time)>>);

impl<'a> Waits<'a> {
    /// Linear in intervals, and n log n in these waits.
    fn of(evidence: &Evidence<'a>) -> Self {
        let mut waits: BTreeMap<ThreadId, Vec<(&Interval, Time)>> = BTreeMap::new();
        let rows = evidence.recording.intervals.iter();
        for row in rows.filter(|row| row.cause == Cause::Lock && row.duration >= MIN_WAIT) {
            let holder = row.waker.filter(|by| *by != row.thread);
            let is_lock = || Relation::of(evidence, row, row.waker, false) == Relation::Lock;
            if let Some(holder) = holder.filter(|_| is_lock()) {
                waits.entry(holder).or_default().push((row, row.start + row.duration));
            }
        }
        for of_holder in waits.values_mut() {
            of_holder.sort_by_key(|(row, _)| row.start);
            let mut latest = Time::START;
            for (_, end) in of_holder {
                latest = latest.max(*end);
                *end = latest;
            }
        }
        Self(waits)
    }

    /// A wait for a lock of this thread's at some time.
    fn at(&self, holder: ThreadId, time: Time) -> Option<&'a Interval> {
        let waits = self.0.get(&holder)?;
        let begun = &waits[..waits.partition_point(|(row, _)| row.start <= time)];
        let may_last = begun.iter().rev().take_while(|(_, latest)| time < *latest);
        may_last.map(|(row, _)| *row).find(|row| time < row.start + row.duration)
    }

    /// The innermost slow wait of a segment in which another thread waits for a lock of the waiter's.
    fn kept(&self, evidence: &Evidence<'a>, segment: &Segment) -> Option<Kept<'a>> {
        let own = evidence.of_segment(segment);
        let around = evidence.waits_around(segment).map(|wait| evidence.interval(wait.interval));
        let slow = |row: &&Interval| {
            matches!(
                row.cause,
                Cause::Net | Cause::Poll | Cause::Sleep | Cause::Child | Cause::Disk
            )
        };
        [own].into_iter().chain(around).filter(slow).find_map(|slow| {
            let waits = self.at(slow.thread, segment.start)?;
            Some(Kept { holder: slow.thread, slow, waits })
        })
    }
}

fn function(evidence: &Evidence<'_>, stack: Option<StackId>) -> Text {
    evidence.name(lock_contention::own_function(evidence, stack))
}

fn told(evidence: &Evidence<'_>, waits: &Waits<'_>, place: Tally<Key>) -> Option<Claim> {
    let Tally { key: (program, slow, waiting), segments, .. } = place;
    let longest = segments.iter().max_by_key(|id| evidence.chain.segment(**id).length)?;
    let kept = waits.kept(evidence, evidence.chain.segment(*longest))?;
    let whole = evidence.chain.whole;
    let title = format!(
        "{program} keeps a lock while it waits in `{slow}` for {COST} of {whole} ({PERCENT}); others wait for the \
         lock in `{waiting}`"
    );
    let of_file = evidence.stacks.in_family(kept.waits.stack, Family::FileLock);
    let (why, fix) = if of_file { OF_FILE } else { ("", "") };
    let places = [(kept.holder, kept.slow.stack), (kept.waits.thread, kept.waits.stack)];
    let places = places.into_iter().filter_map(|(thread, stack)| Some((thread, stack?)));
    let claim = Claim::new(&DOC, title, segments.clone())
        .share_of(whole)
        .at(Site::WaitThenWork)
        .pointing(places.collect())
        .saying(why.to_owned(), fix.to_owned())
        .sure(0.85)
        .time("longest wait for the lock", kept.waits.duration)
        .facts(tally::done(evidence, &segments, 3));
    Some(claim)
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Recording};

    use crate::scene::{End, Scene, first};

    /// A proxy that waits for whichever worker answers next; the workers ask a partner, with a lock or not.
    fn workers(lock: &str) -> Recording {
        let mut scene = Scene::default();
        let proxy = scene.program("proxy", None, 0);
        let one = scene.program("worker", Some(proxy), 0);
        let other = scene.program("worker", Some(proxy), 0);
        for _ in 0..5 {
            for (has, waits) in [(one, other), (other, one)] {
                let ask = "main;widget;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data";
                scene.wait(has, 99, Cause::Net, ask, End::Network);
                scene.run(has, 1, Cause::CpuUser, "main;answer");
                scene.wait(waits, 100, Cause::Lock, lock, End::By(has));
                scene.wait(
                    proxy,
                    100,
                    Cause::Poll,
                    "main;serve;libc.so.6!epoll_wait;k:ep_poll",
                    End::By(has),
                );
            }
        }
        scene.done()
    }

    #[test]
    fn a_lock_that_is_kept_over_a_slow_call_is_reported_with_the_call() {
        let lock = "main;session_start;libc.so.6!flock;k:__do_sys_flock;k:locks_lock_inode_wait";
        let found = first(&workers(lock), "lock-contention").expect("found");
        assert!(
            found.title.contains("worker keeps a lock while it waits in `program!widget`"),
            "{}",
            found.title
        );
        assert!(found.title.contains("in `program!session_start`"), "{}", found.title);
        assert!(
            found.fix.iter().any(|action| action.contains("session_write_close")),
            "{:?}",
            found.fix
        );
        assert!(found.cost.0 >= 800_000_000, "{}", found.cost);
    }

    #[test]
    fn a_wait_for_a_condition_is_not() {
        let condition = "main;take;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        assert!(first(&workers(condition), "lock-contention").is_none());
    }
}
