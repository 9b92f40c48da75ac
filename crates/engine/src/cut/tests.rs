//! Recordings before and after, in the notation of `culprit_model::notation`.

use culprit_model::{Nanos, Recording, Time, notation};

use super::cut;

const MS: u64 = 1_000_000;

fn recording(text: &str) -> Recording {
    notation::parse(text).expect("the notation is right")
}

fn after(text: &str, from_ms: u64, to_ms: u64) -> Recording {
    let mut recording = recording(text);
    cut(&mut recording, Time(from_ms * MS), Time(to_ms * MS));
    recording
}

const LAUNCHED: &str = "
    stack L cpu.user launch;prepare
    stack W cpu.user main;work
    launcher(9)/launcher(9)   LLL|
    app(10)/main(10)          .LLLWWssWWKK|
    app(10)/worker(11)        .....WWWWW|
    wake 8 worker > main main;post
    counter 1 cgroup.cpu.throttled 3
    counter 2 cgroup.cpu.throttled 4
    counter 6 cgroup.cpu.throttled 6
    counter 11 cgroup.cpu.throttled 9
    root app(10)
";

#[test]
fn only_what_happened_in_the_stretch_is_left() {
    let cut = after(LAUNCHED, 4, 10);
    let names: Vec<_> = cut.processes.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["app"]);
    assert_eq!(cut.meta.root_process.map(|id| cut.process(id).name.as_str()), Some("app"));
    assert_eq!(cut.meta.wall, Nanos(6 * MS));
    for (at, thread) in cut.threads.iter().enumerate() {
        let rows = cut.intervals.iter().filter(|row| row.thread.index() == at);
        let sum: Nanos = rows.map(|row| row.duration).sum();
        let end = thread.end.unwrap_or(Time(cut.meta.wall.0));
        assert_eq!(sum, end.since(thread.start), "rows tile the life of {}", thread.name);
    }
    assert!(cut.intervals.iter().all(|row| row.start + row.duration <= Time(6 * MS)));
    let shown = notation::print(&cut, Nanos(MS));
    assert!(!shown.contains("launch"), "{shown}");
    assert!(shown.contains("work"), "{shown}");
}

#[test]
fn who_woke_whom_is_kept_under_new_numbers() {
    let cut = after(LAUNCHED, 4, 10);
    let main = cut.threads.iter().position(|row| row.name.as_str() == "main").expect("it lives");
    let woken = cut.intervals.iter().find(|row| row.thread.index() == main && row.waker.is_some());
    let waker = woken.and_then(|row| row.waker).expect("the worker woke it");
    assert_eq!(cut.thread(waker).name.as_str(), "worker");
}

#[test]
fn counters_keep_a_reading_at_each_edge() {
    let cut = after(LAUNCHED, 4, 10);
    let read: Vec<_> = cut.counters.iter().map(|row| (row.time.0 / MS, row.value)).collect();
    assert_eq!(read, [(0, 4), (2, 6), (6, 9)]);
}

#[test]
fn the_kernels_accounts_lose_what_lies_outside() {
    let mut whole = recording(LAUNCHED);
    let main = whole.threads.iter_mut().find(|row| row.name.as_str() == "main").expect("it is");
    main.sched_from = Some(Time(MS));
    main.sched_to = Some(Time(12 * MS));
    main.sched_cpu = Some(Nanos(9 * MS));
    main.sched_wait = Some(Nanos(0));
    cut(&mut whole, Time(4 * MS), Time(10 * MS));
    let main = whole.threads.iter().find(|row| row.name.as_str() == "main").expect("it is");
    assert_eq!(main.sched_cpu, Some(Nanos(4 * MS)));
    assert_eq!((main.sched_from, main.sched_to), (Some(Time::START), Some(Time(6 * MS))));
}

#[test]
fn losses_of_another_time_are_none_of_it() {
    let text = format!("{LAUNCHED}\nlost 1 2\nlost 6 7\n");
    let losses = after(&text, 4, 10).losses;
    assert_eq!(losses.len(), 1);
    assert_eq!((losses[0].from, losses[0].to), (Some(Time(2 * MS)), Some(Time(3 * MS))));
}

#[test]
fn an_empty_stretch_and_the_whole_change_nothing() {
    let whole = recording(LAUNCHED);
    for (from, to) in [(5, 5), (7, 3), (0, 1_000)] {
        assert_eq!(after(LAUNCHED, from, to), whole, "{from} to {to}");
    }
}
