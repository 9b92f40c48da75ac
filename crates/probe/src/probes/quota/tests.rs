use super::tasks::work;
use super::*;
use crate::inside::{Here, Task as _};

#[test]
fn a_chunk_takes_at_least_its_cpu_time() {
    assert!(work(2_000_000) >= 2_000_000);
}

#[test]
fn counters_count_only_where_there_is_a_quota() {
    let mut before = Counters::default();
    before.cpu.periods = Some(10);
    before.cpu.throttled_periods = Some(4);
    let mut after = before;
    after.cpu.periods = Some(30);
    after.cpu.throttled_periods = Some(19);
    let none = counted(Sample::default(), &before, &after);
    assert!(!none.values.contains_key(THROTTLED.id));
    (after.cpu.quota_ns, after.cpu.period_ns) = (Some(50_000_000), Some(100_000_000));
    let some = counted(Sample::default(), &before, &after);
    assert_eq!(some.values.get(THROTTLED.id), Some(&0.75));
    assert_eq!(some.values.get(ALLOWED.id), Some(&0.5));
    let together = counted_together(Sample::default(), &before, &after);
    assert_eq!(together.values.get(TOGETHER_THROTTLED.id), Some(&0.75));
    assert!(!together.values.contains_key(THROTTLED.id), "each stretch has its own");
}

#[test]
fn at_least_two_threads_have_their_chunks() {
    let told = Threads { most: 3, chunks: 1 }.run(&mut Here::default()).unwrap();
    assert!((2..=3).contains(&told.threads), "{told:?}");
    assert_eq!(told.chunks.count(), u64::from(told.threads));
    assert!(told.chunks.quantile(0.5).unwrap() > 29_000_000);
}

/// CPU time of two threads on each side of a contest for one CPU.
fn contest(here: &mut Here) -> (Contest, u64, u64) {
    // Also on a busy machine all threads have begun by then.
    let from = Clock::now() + 6 * CONTEST_BEGINS_NS;
    let contest = Contest { threads: 2, cpu: one_cpu().unwrap(), from, to: from + CONTEST_NS };
    Rivals(contest).run(here).unwrap();
    let mine = contest.run(here).unwrap().unwrap();
    let theirs = Rivalled {}.run(here).unwrap().unwrap();
    (contest, mine.cpu_ns, theirs.cpu_ns)
}

#[test]
#[ignore = "statistical: make accuracy"]
fn as_many_threads_on_each_side_of_a_contest_get_as_much() {
    let (_, mine, theirs) = contest(&mut Here::default());
    let share = mine as f64 / (mine + theirs) as f64;
    assert!((0.3..0.7).contains(&share), "{mine} {theirs}");
}

#[test]
fn both_sides_of_a_contest_get_something_of_one_cpu() {
    let mut here = Here::default();
    let (contest, mine, theirs) = contest(&mut here);
    assert!(mine > 0 && theirs > 0, "{mine} {theirs}");
    // All of them had one CPU, and what they had before and after does not count.
    assert!(mine + theirs < CONTEST_NS * 5 / 4, "{mine} {theirs}");
    let elsewhere = Contest { from: 1, to: 2, ..contest };
    assert!(elsewhere.run(&mut here).unwrap().is_none(), "the clock of another machine");
}

#[test]
fn threads_exceed_the_quota() {
    let quota = |nanos| Quota { cpus: NanoCpus(nanos), ..Quota::default() };
    assert_eq!(quota(500_000_000).most_threads(), MOST_THREADS);
    assert_eq!(quota(11_500_000_000).most_threads(), 13);
}
