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
use crate::evidence::{Evidence, Family, Relation, Segment, SegmentId};
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
    // Where the path goes through waits for a lock, the rule itself reports them.
    let on_path = evidence.depending_on(Relation::Lock);
    let waiting = tally::by(evidence, &on_path, |segment| {
        let wait = evidence.interval(evidence.dependent_wait(segment)?);
        Some(function(evidence, wait.stack))
    });
    let waited: BTreeMap<Text, Nanos> =
        waiting.into_iter().map(|place| (place.key, place.total)).collect();
    let on_path: BTreeSet<SegmentId> = on_path.into_iter().collect();
    let beside = evidence.chain.iter().map(|(id, _)| id).filter(|id| !on_path.contains(id));
    let beside: Vec<SegmentId> = beside.collect();
    let places = tally::by(evidence, &beside, |segment| {
        let kept = waits.kept(evidence, segment)?;
        let program = evidence.recording.process(evidence.process(kept.holder)).name.clone();
        Some((program, function(evidence, kept.slow.stack), function(evidence, kept.waits.stack)))
    });
    // Who takes turns with a lock is on the path for one turn and beside it for the next: that is told once.
    let is_most =
        |place: &Tally<Key>| waited.get(&place.key.2).is_none_or(|on_path| place.total > *on_path);
    places.into_iter().filter(is_most).filter_map(|place| told(evidence, &waits, place)).collect()
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
                Cause::Net | Cause::Poll | Cause::Sleep | Cause::Child | Cause::Disk | Cause::Fsync
            )
        };
        [own].into_iter().chain(around).filter(slow).find_map(|slow| {
            // Others come to the lock while it is held: from the middle on, it is theirs for the larger part.
            let waits = self.at(slow.thread, segment.start + Nanos(segment.length.0 / 2))?;
            let held = !takes_lock(evidence, slow, waits.start + waits.duration);
            held.then_some(Kept { holder: slow.thread, slow, waits })
        })
    }
}

/// The threads of one process; none where they are of several.
fn of_one_process(evidence: &Evidence<'_>, threads: &[(ThreadId, Nanos)]) -> Option<String> {
    let (first, _) = threads.first()?;
    let process = evidence.process(*first);
    let same = threads.iter().all(|(thread, _)| evidence.process(*thread) == process);
    same.then(|| tally::named_by_time(evidence, threads.iter().copied()))
}

/// The threads that a title names, with the time that each stands for.
fn threads<'a>(
    evidence: &Evidence<'a>,
    waits: &Waits<'a>,
    segments: &[SegmentId],
    thread: impl Fn(&Kept<'a>) -> ThreadId,
) -> Vec<(ThreadId, Nanos)> {
    let found = segments.iter().map(|id| evidence.chain.segment(*id));
    found.filter_map(|at| Some((thread(&waits.kept(evidence, at)?), at.length))).collect()
}

/// Who has the lock: the thread, or the program where several threads or processes have it by turns.
fn holder<'a>(
    evidence: &Evidence<'a>,
    waits: &Waits<'a>,
    segments: &[SegmentId],
    program: &Text,
) -> String {
    let holders = threads(evidence, waits, segments, |kept| kept.holder);
    let one = holders.first().filter(|(first, _)| holders.iter().all(|(other, _)| other == first));
    one.map_or_else(|| program.to_string(), |(thread, _)| evidence.recording.thread_name(*thread))
}

/// Who waits for it.
fn waiters<'a>(evidence: &Evidence<'a>, waits: &Waits<'a>, segments: &[SegmentId]) -> String {
    let waiters = threads(evidence, waits, segments, |kept| kept.waits.thread);
    match of_one_process(evidence, &waiters) {
        Some(one) if waiters.iter().all(|(thread, _)| *thread == waiters[0].0) => {
            format!("{one} waits")
        }
        Some(several) => format!("{several} wait"),
        None => "others wait".to_owned(),
    }
}

/// Whether a thread waits for a lock itself between a slow wait of it and the time at which it lets others go on: it
/// may have had the lock only since then.
fn takes_lock(evidence: &Evidence<'_>, slow: &Interval, until: Time) -> bool {
    let rows = &evidence.recording.intervals[evidence.lives.rows(slow.thread)];
    let after = rows.partition_point(|row| row.start <= slow.start);
    let meanwhile = rows[after..].iter().take_while(|row| row.start < until);
    let mut locks = meanwhile.filter(|row| row.cause == Cause::Lock);
    locks.any(|row| Relation::of(evidence, row, row.waker, false) == Relation::Lock)
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
        "{} keeps a lock while it waits in `{slow}` for {COST} of {whole} ({PERCENT}); {} for the lock in \
         `{waiting}`",
        holder(evidence, waits, &segments, &program),
        waiters(evidence, waits, &segments),
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

    /// A thread that sleeps or flushes with the lock of another one, which nobody waits for but at the end.
    fn held_over(slow: (Cause, &str, End), waits_again: bool) -> Recording {
        const LOCK: &str = "clone3;ask;libc.so.6!pthread_mutex_lock;k:futex_do_wait";
        const AGAIN: &str = "clone3;work;libc.so.6!pthread_mutex_lock;k:futex_do_wait";
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let (holder, asker) =
            (scene.thread(process, "holder", 0), scene.thread(process, "asker", 0));
        let third = scene.thread(process, "third", 0);
        for _ in 0..5 {
            scene.wait(holder, 80, slow.0, slow.1, slow.2);
            match waits_again {
                true => scene.wait(holder, 10, Cause::Lock, AGAIN, End::By(third)),
                false => scene.run(holder, 10, Cause::CpuUser, "clone3;work"),
            };
            scene.run(third, 90, Cause::CpuUser, "clone3;third");
            scene.run(asker, 10, Cause::CpuUser, "clone3;ask");
            scene.wait(asker, 80, Cause::Lock, LOCK, End::By(holder));
            scene.run(holder, 10, Cause::CpuUser, "clone3;work");
            scene.run(asker, 10, Cause::CpuUser, "clone3;ask");
            scene.run(third, 10, Cause::CpuUser, "clone3;third");
        }
        let join = "main;libc.so.6!__pthread_clockjoin_ex;k:futex_do_wait";
        scene.wait(main, 500, Cause::Lock, join, End::By(holder));
        scene.done()
    }

    const NAP: &str = "clone3;work;call_backend;libc.so.6!clock_nanosleep;k:do_nanosleep";
    const SAVE: &str = "clone3;work;save_rows;libc.so.6!fdatasync;k:do_fsync";

    #[test]
    fn a_thread_that_the_run_joins_and_that_sleeps_or_flushes_with_a_lock_is_its_holder() {
        for (slow, function) in [
            ((Cause::Sleep, NAP, End::Timer), "call_backend"),
            ((Cause::Fsync, SAVE, End::Disk), "save_rows"),
        ] {
            let found = first(&held_over(slow, false), "lock-contention").expect("found");
            let begin =
                format!("holder (1001) keeps a lock while it waits in `program!{function}` for ");
            let end = "; asker (1002) waits for the lock in `program!ask`";
            let title = &found.title;
            assert!(title.starts_with(&begin) && title.ends_with(end), "{title}");
            // The asker comes to the lock 10 ms after the holder has it.
            assert!(found.cost.0 >= 350_000_000, "{}", found.cost);
        }
    }

    #[test]
    fn who_waits_for_a_lock_after_its_pause_may_not_have_had_one_before() {
        let recording = held_over((Cause::Sleep, NAP, End::Timer), true);
        let found = first(&recording, "lock-contention");
        assert!(found.is_none_or(|found| !found.title.contains("call_backend")));
    }

    #[test]
    fn a_wait_for_a_condition_is_not() {
        let condition = "main;take;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        assert!(first(&workers(condition), "lock-contention").is_none());
    }
}
