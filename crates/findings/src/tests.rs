//! The mechanism as a whole: counting once, whose time counts, determinism.

use std::sync::Arc;

use culprit_engine::wakers::CommandPath;
use culprit_model::{Cause, Loss, LossKind, Nanos, Severity, ThreadId};

use crate::scene::{End, Scene, told};
use crate::{Options, find};

const SLEEP: &str = "main;nap;libc.so.6!clock_nanosleep;k:do_nanosleep";
const CONDITION: &str = "clone3;worker;libc.so.6!pthread_cond_wait;k:futex_do_wait";
const FLUSH: &str = "main;save;libc.so.6!fsync;k:do_fsync;k:blkdev_issue_flush";

/// A program that computes, with a pool of idle threads beside it.
fn pool() -> Scene {
    let mut scene = Scene::default();
    let main = scene.program("solver", None, 0);
    scene.run(main, 1000, Cause::CpuUser, "main;solve");
    for at in 0..4 {
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, &format!("worker{at}"), 0);
        scene.wait(worker, 1000, Cause::Lock, CONDITION, End::Unknown);
    }
    let process = scene.recording.thread(main).process;
    let ticker = scene.thread(process, "ticker", 0);
    for _ in 0..10 {
        scene.wait(ticker, 100, Cause::Sleep, SLEEP, End::Timer);
    }
    scene
}

#[test]
fn idle_threads_of_a_pool_and_timers_nobody_waits_for_cost_nothing() {
    assert_eq!(told(&pool().done()), ["hot-function 1000"]);
    assert_eq!(told(&pool().running()), ["hot-function 1000"]);
}

#[test]
fn a_path_that_is_known_changes_nothing() {
    for recording in [pool().done(), pool().running()] {
        let known = CommandPath::of(&recording).map(Arc::new);
        assert_eq!(known.is_some(), recording.meta.root_process.is_some());
        let options = Options { command_path: known, ..Options::default() };
        assert_eq!(find(&recording, &options), find(&recording, &Options::default()));
    }
}

#[test]
fn damaged_names_leave_nothing_but_that() {
    let mut recording = pool().done();
    recording.losses.push(Loss {
        kind: LossKind::NamesDamaged,
        count: 1,
        from: None,
        to: None,
        detail: "".into(),
    });
    let found = find(&recording, &Options { all: true, ..Options::default() }).findings;
    let ids: Vec<&str> = found.iter().map(|finding| finding.id).collect();
    assert_eq!(ids, ["recording-lost"]);
    assert!(found[0].title.contains("names in the file are damaged"), "{}", found[0].title);
}

#[test]
fn every_moment_counts_once_and_the_most_specific_rule_takes_it() {
    let mut scene = Scene::default();
    let main = scene.program("driver", None, 0);
    let process = scene.recording.thread(main).process;
    let helper = scene.thread(process, "helper", 0);
    // The helper computes, then flushes 30 times; main joins it all the while.
    scene.run(helper, 400, Cause::CpuUser, "clone3;work");
    for _ in 0..30 {
        scene.wait(helper, 20, Cause::Fsync, FLUSH, End::Disk);
        scene.spend(helper, 400_000, Cause::CpuUser, "clone3;work", End::Unknown);
    }
    let join = "main;libc.so.6!__pthread_clockjoin_ex;k:futex_do_wait";
    scene.wait(main, scene.now_ms(helper), Cause::Lock, join, End::By(helper));
    let recording = scene.done();
    assert_eq!(told(&recording), ["fsync-storm 600", "wait-on-thread 412"]);
    let report = find(&recording, &Options::default());
    let sum: Nanos = report.findings.iter().map(|f| f.cost).sum();
    assert_eq!(sum, report.wall);
    assert!((report.explained_share - 1.0).abs() < 1e-9);
}

#[test]
fn findings_below_the_listing_share_come_only_with_all() {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    scene.run(main, 9_950, Cause::CpuUser, "main;solve");
    for _ in 0..50 {
        scene.wait(main, 1, Cause::Fsync, FLUSH, End::Disk);
        scene.spend(main, 400_000, Cause::CpuUser, "main;solve", End::Unknown);
    }
    let recording = scene.done();
    assert_eq!(told(&recording), ["hot-function 9970", "single-thread-limit 0"]);
    let all = find(&recording, &Options { all: true, ..Options::default() });
    let storm = all.findings.iter().find(|f| f.id == "fsync-storm");
    assert_eq!(storm.map(|f| f.severity), Some(Severity::Info));
}

#[test]
fn the_same_recording_gives_the_same_findings() {
    let options = Options { all: true, ..Options::default() };
    let report = find(&pool().done(), &options);
    assert_eq!(report, find(&pool().done(), &options));
    assert!(!report.findings.is_empty());
}

#[test]
fn an_empty_recording_has_no_findings() {
    let report = find(&culprit_model::Recording::default(), &Options::default());
    assert_eq!((report.findings.len(), report.explained_share), (0, 0.0));
}

#[test]
fn losses_lower_the_confidence_of_what_rests_on_them_and_say_so() {
    let mut recording = pool().done();
    let sure = find(&recording, &Options::default()).findings[0].confidence;
    recording.intervals.iter_mut().for_each(|i| i.uncertain = i.thread == ThreadId(0));
    recording.losses.push(Loss {
        kind: LossKind::SwitchesLost,
        count: 7,
        from: None,
        to: None,
        detail: "CPU 1".into(),
    });
    let report = find(&recording, &Options::default());
    let hot = &report.findings[0];
    assert!(hot.confidence < 0.6 * sure, "{} against {sure}", hot.confidence);
    assert!(hot.evidence.iter().any(|e| e.what.contains("switch records were lost")));
    assert_eq!(report.findings[1].id, "recording-lost");
    let fix = report.findings[1].fix.join(" ");
    assert!(fix.contains("larger ring"), "{fix}");
}

#[test]
fn a_selected_range_measures_only_itself() {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    scene.run(main, 500, Cause::CpuUser, "main;load").run(main, 500, Cause::CpuUser, "main;serve");
    let recording = scene.done();
    let options = Options { from: Some(culprit_model::Time(600_000_000)), ..Options::default() };
    let report = find(&recording, &options);
    assert_eq!(report.wall, Nanos(400_000_000));
    assert!(report.findings[0].title.contains("serve"), "{}", report.findings[0].title);
}

#[test]
fn the_check_names_the_recorded_command() {
    let mut recording = pool().done();
    recording.meta.command = vec!["sh".into(), "-c".into(), "it's slow".into()];
    let report = find(&recording, &Options::default());
    let check = &report.findings[0].check;
    assert!(check.contains(r"-- sh -c 'it'\''s slow';"), "{check}");
}

#[test]
fn a_services_requests_count_and_its_waiting_for_them_does_not() {
    let mut scene = Scene::default();
    let process = scene.process("server", None);
    let home = "clone3;worker;libc.so.6!epoll_wait;k:do_epoll_wait";
    let lock = "clone3;worker;handle;libc.so.6!__lll_lock_wait;k:futex_do_wait";
    let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
    for _ in 0..50 {
        scene.wait(a, 80, Cause::Poll, home, End::Network);
        scene.wait(b, 80, Cause::Poll, home, End::Network);
        scene.run(a, 20, Cause::CpuUser, "clone3;worker;handle;grow");
        scene.wait(b, 20, Cause::Lock, lock, End::By(a));
    }
    let recording = scene.running();
    // 5 s; each second b waits 200 ms for the lock that a holds: that time is a's work.
    assert_eq!(told(&recording), ["lock-contention 1000"]);
    assert!((find(&recording, &Options::default()).explained_share - 0.2).abs() < 0.01);
}

#[test]
fn shares_of_several_threads_are_of_all_that_counts_and_never_above_one() {
    let mut scene = Scene::default();
    let process = scene.process("solver", None);
    for at in 0..4 {
        let worker = scene.thread(process, &format!("worker{at}"), 0);
        scene.run(worker, 1000, Cause::CpuUser, "clone3;solve");
    }
    let report = find(&scene.running(), &Options::default());
    assert_eq!((report.wall, report.whole), (Nanos(1_000_000_000), Nanos(4_000_000_000)));
    let hot = &report.findings[0];
    assert_eq!((hot.cost, report.explained_share), (report.whole, 1.0));
    assert!((hot.share - 1.0).abs() < 1e-9, "{}", hot.share);
    assert!(hot.evidence.iter().any(|e| e.what.contains("of which this is a share")));
}

#[test]
fn selected_threads_are_measured_with_what_they_waited_for() {
    let mut scene = Scene::default();
    let main = scene.program("driver", None, 0);
    let process = scene.recording.thread(main).process;
    let helper = scene.thread(process, "helper", 0);
    let other = scene.thread(process, "other", 0);
    scene.run(helper, 500, Cause::CpuUser, "clone3;work");
    scene.wait(other, 500, Cause::Lock, CONDITION, End::By(helper));
    scene.run(main, 1000, Cause::CpuUser, "main;solve");
    let recording = scene.done();
    assert_eq!(told(&recording), ["hot-function 1000"]);
    let options = Options { threads: Some(vec![false, false, true]), ..Options::default() };
    let report = find(&recording, &options);
    assert_eq!(report.whole, Nanos(1_000_000_000));
    let ids: Vec<_> = report.findings.iter().map(|f| (f.id, f.cost.0 / 1_000_000)).collect();
    assert_eq!(ids, [("hot-function", 500)], "other's wait is helper's work");
}

#[test]
fn what_a_recording_lacks_as_a_whole_lowers_the_confidence_of_all_of_it() {
    let sure = find(&pool().done(), &Options::default()).findings[0].confidence;
    for (kind, factor) in [
        (LossKind::FileDamaged, 0.6),
        (LossKind::ThreadsNotAttached, 0.8),
        (LossKind::OldestDropped, 0.9),
        (LossKind::SamplesLost, 0.5),
    ] {
        let mut recording = pool().done();
        let (from, to) = (Some(culprit_model::Time(0)), Some(culprit_model::Time(2_000_000_000)));
        recording.losses.push(Loss { kind, count: 9, from, to, detail: "".into() });
        let found = find(&recording, &Options::default());
        let hot = found.findings.iter().find(|f| f.id == "hot-function").expect("found");
        assert!((hot.confidence / sure - factor).abs() < 0.01, "{kind}: {}", hot.confidence);
        assert!(hot.evidence.iter().any(|e| e.what.starts_with("confidence lowered")));
        assert!(hot.evidence.iter().any(|e| e.what.starts_with("coverage")));
    }
}

#[test]
fn nested_library_work_counts_once_for_what_says_most() {
    let stack = |stack: &str| {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..20 {
            scene.run(main, 10, Cause::CpuUser, stack);
        }
        told(&scene.done())
    };
    for (nested, expected) in [
        ("main;grow;libc.so.6!realloc;libc.so.6!__memcpy_avx_unaligned", "growth-realloc 200"),
        ("main;check;libc.so.6!regcomp;libc.so.6!malloc", "regex-compile-hot 200"),
        ("main;read;serde_json::de::from_str;core::num::dec2flt::dec2flt", "serialize-hot 200"),
        ("main;read;serde_json::de::from_str;chrono::format::parse::parse", "date-parse-hot 200"),
        ("main;print;libc.so.6!strftime;libc.so.6!snprintf", "date-parse-hot 200"),
        ("main;get;std::_Hashtable<x>::find();libc.so.6!strcasecmp", "case-fold-hot 200"),
        ("main;put;hashbrown::map::HashMap<K,V>::insert;libc.so.6!malloc", "hash-lookup-hot 200"),
        ("main;make;libc.so.6!malloc;k:do_syscall_64;k:ksys_brk", "alloc-churn 200"),
        ("main;make;libc.so.6!malloc;k:asm_exc_page_fault", "alloc-churn 200"),
        ("main;shift;libc.so.6!memmove;k:asm_exc_page_fault;k:do_user_addr_fault", "copy-hot 200"),
        // What is written is no formatting, and a function's own name tells nothing.
        ("main;print;libc.so.6!printf;libc.so.6!write;k:ksys_write", "hot-function 200"),
        ("main;parse_date;fold_case", "hot-function 200"),
    ] {
        assert_eq!(stack(nested), [expected], "{nested}");
    }
}
