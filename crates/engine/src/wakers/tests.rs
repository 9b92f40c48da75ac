use culprit_model::notation::parse;
use culprit_model::{Nanos, Recording, ThreadId, Time};

use super::{Ended, Lives, Relevance, Row, Scope, Segment, chain, critical_path, selected_path};

/// Draws the critical path: per tick the first letter of the charged thread's name, `?` for nobody.
fn drawn(recording: &Recording, relevance: &Relevance) -> String {
    let tick = 1_000_000;
    let mut middle = relevance.path.segments.first().map_or(0, |s| s.from.0) + tick / 2;
    let mut strip = String::new();
    for segment in &relevance.path.segments {
        while middle < segment.to.0 {
            let thread = segment.interval.map(|at| recording.intervals[at.index()].thread);
            let name = thread.map(|id| recording.thread(id).name.clone());
            strip.push(name.and_then(|name| name.chars().next()).unwrap_or('?'));
            middle += tick;
        }
    }
    strip
}

#[track_caller]
fn check(drawing: &str, expected: &str) -> (Recording, Relevance) {
    let recording = parse(drawing).expect(drawing);
    let relevance = Relevance::of(&recording);
    assert_eq!(drawn(&recording, &relevance), expected, "{drawing}");
    assert_eq!(relevance.total(), relevance.wall, "the path tiles the command's life");
    (recording, relevance)
}

#[test]
fn a_wait_is_charged_to_what_its_waker_did() {
    let (_, relevance) = check(
        "app(1)/main(1)    UUUUllllllllUU|
         app(1)/worker(2)  lllUUUssssUUUU
         wake 12 worker > main
         wake 3 main > worker
         wake 10 timer > worker
         root app(1)",
        "mmmmwwwwwwwwmm",
    );
    // main's wait delayed 8 ms, of which none is its own; the worker's sleep is.
    assert_eq!((relevance.own(1), relevance.waited(1)), (Nanos::ZERO, Nanos(8_000_000)));
    assert_eq!(relevance.own(5), Nanos(4_000_000));
    assert!(!relevance.is_idle(ThreadId(1)));
}

#[test]
fn before_a_writer_was_born_its_maker_was_waited_for() {
    // runc copies what tail writes; sh starts it when xz has ended.
    check(
        "runc(1)/main(1)   UllllllllllllU|
         runc(1)/relay(5)  .pppppppppppU|
         sh(2)/sh(2)       .UccccccUU|
         xz(3)/xz(3)       .UUUUUUU|
         tail(4)/tail(4)   .........UUU|
         wake 8 xz > sh
         wake 12 tail > relay
         wake 13 relay > main
         root runc(1)
         child sh(2) of runc(1)
         child xz(3) of sh(2)
         child tail(4) of sh(2)",
        "msxxxxxxstttrm",
    );
}

#[test]
fn chains_are_followed_over_several_threads_and_processes() {
    let (recording, relevance) = check(
        "sh(1)/a(1)     Uccccccccccccc|
         make(2)/b(2)   .UpppppppppppU|
         cc(3)/c(3)     .UUUUddddUUUUU|
         wake 13 c > b
         wake 14 b > a
         wake 8 disk > c
         root sh(1)
         child make(2) of sh(1)",
        "abcccccccccccb",
    );
    let lives = Lives::of(&recording);
    let links = chain(&recording, &lives, 1);
    let ended: Vec<Ended> = links.iter().map(|link| link.ended).collect();
    let by = |at| Ended::By { thread: ThreadId(at), stack: None };
    assert_eq!(ended, [by(1), by(2)]);
    assert!(matches!(relevance.scope, Scope::Command { thread: ThreadId(0), .. }));
}

#[test]
fn a_childs_exit_ends_its_parents_wait_where_no_waker_was_recorded() {
    check(
        "sh(1)/a(1)  UUccccccU|
         cc(2)/b(2)  .UUUssUU|
         root sh(1)
         child cc(2) of sh(1)",
        "aabbbbbba",
    );
}

#[test]
fn threads_nobody_waited_for_do_not_count() {
    let (_, relevance) = check(
        "app(1)/main(1)  UUUUssssUU|
         app(1)/idle(2)  llllllllll
         app(1)/busy(3)  UUUUUUUUUU
         root app(1)",
        "mmmmmmmmmm",
    );
    assert!(relevance.is_idle(ThreadId(1)));
    assert!(!relevance.is_idle(ThreadId(2)));
    assert_eq!(relevance.own(3), Nanos::ZERO);
}

#[test]
fn a_waker_that_had_left_the_cpu_is_not_charged_for_its_own_wait() {
    // The timer was set by `other`, which sleeps itself since 3 ms: main's wait is main's own.
    check(
        "app(1)/main(1)   UlllllllllUU|
         app(1)/other(2)  UUUssssssssssss
         wake 10 other > main
         root app(1)",
        "moommmmmmmmm",
    );
}

#[test]
fn a_wait_with_a_limit_that_is_begun_again_waits_for_who_ends_it_at_last() {
    // Main looks every 12 ms whether the worker is there yet; the worker waits for the disk meanwhile.
    let stack = "stack w blocked.lock main;[kernel]!futex_do_wait";
    check(
        &format!(
            "{stack}
             app(1)/main(1)    wwwwwwwwwwwwUwwwwwwwwwwwwUwwwwwUU|
             app(1)/worker(2)  UUUUUUddddddddddddddUUUUUUUUUUUUU
             wake 12 timer > main
             wake 25 timer > main
             wake 31 worker > main
             wake 20 disk > worker
             root app(1)"
        ),
        "wwwwwwwwwwwwmwwwwwwwwwwwwmwwwwwmm",
    );
    // Where that one waits for time itself, its timer tells no more.
    check(
        &format!(
            "{stack}
             app(1)/main(1)    wwwwwwwwwwwwUwwwwwUU|
             app(1)/worker(2)  ssssssssssUUUUUUUUUU
             wake 12 timer > main
             wake 10 timer > worker
             wake 18 worker > main
             root app(1)"
        ),
        "mmmmmmmmmmmmmwwwwwmm",
    );
    // One that works for long between its waits waits for its time.
    check(
        &format!(
            "{stack}
             app(1)/main(1)    wwwwwwwwwwwwUUUwwwwwUU|
             app(1)/worker(2)  UUUUUUUUUUUUUUUUUUUUUU
             wake 12 timer > main
             wake 20 worker > main
             root app(1)"
        ),
        "mmmmmmmmmmmmmmmwwwwwmm",
    );
}

#[test]
fn a_wait_is_begun_again_at_one_place_whatever_lies_below_and_briefly_between() {
    check(
        "stack w blocked.lock serve;wait;[kernel]!futex_do_wait
         stack v blocked.lock serve;wait;[kernel]!futex_wait_queue;[kernel]!schedule
         app(1)/main(1)    wwwwwwwwwwwwsvvvvvvvvvvvvUwwwwwUU|
         app(1)/worker(2)  UUUUUUddddddddddddddUUUUUUUUUUUUU
         wake 12 interrupt > main
         wake 13 timer > main
         wake 25 timer > main
         wake 31 worker > main
         wake 20 disk > worker
         root app(1)",
        "wwwwwwwwwwwwmwwwwwwwwwwwwmwwwwwmm",
    );
}

#[test]
fn a_thread_that_wakes_its_own_waker_ends_no_walk() {
    check(
        "app(1)/a(1)  UllllllllU|
         app(1)/b(2)  UUUlllllUU
         wake 9 b > a
         wake 8 a > b
         root app(1)",
        "abbbbbbbba",
    );
}

#[test]
fn a_service_is_idle_at_home_and_counts_away_from_it() {
    let recording = parse(
        "stack h blocked.poll loop;[kernel]!do_epoll_wait
         stack d blocked.disk loop;read;[kernel]!filemap_read
         stack q blocked.lock pool;[kernel]!futex_do_wait
         srv(1)/loop(1)  hhhhUddUhhhhhhUddUhhh
         srv(1)/pool(2)  qqqqqqqqqqqqqqqqqqqqq",
    )
    .expect("parses");
    let relevance = Relevance::of(&recording);
    assert_eq!(relevance.scope, Scope::Service);
    let own: Vec<u64> =
        (0..recording.intervals.len()).map(|at| relevance.own(at).0 / 1_000_000).collect();
    assert_eq!(own, [0, 1, 2, 1, 0, 1, 2, 1, 0, 0]);
    assert!(relevance.is_idle(ThreadId(1)) && !relevance.is_idle(ThreadId(0)));
}

#[test]
fn a_wait_that_began_before_the_recording_is_at_home_if_its_reason_is() {
    let idle = |began: &str| {
        let recording = parse(&format!(
            "stack b {began} [kernel]!wait
             stack q blocked.lock pool;[kernel]!futex_do_wait
             stack w cpu.user pool;work
             srv(1)/pool(1)  bbbbwwqqqqwwqqqq"
        ))
        .expect("parses");
        super::idle_waits(&recording, &Lives::of(&recording))
    };
    assert_eq!(idle("blocked.lock"), [true, false, true, false, true]);
    assert_eq!(idle("blocked.disk"), [false, false, true, false, true]);
}

#[test]
fn a_thread_that_sleeps_until_the_command_is_stopped_stands_by() {
    let mut recording = parse(
        "stack h blocked.poll pool;[kernel]!do_epoll_wait
         stack n blocked.sleep main;serve;nap;[kernel]!do_nanosleep
         stack s blocked.lock main;[kernel]!futex_do_wait
         srv(1)/main(1)  UsUsUnnnnnnnnnnnnnnnnnnnnnnnnnn|
         srv(1)/pool(2)  hhhhhhhUUUUUhhhhhUUUUhhhhhhhhhh|
         root srv(1)",
    )
    .expect("parses");
    let scope = |recording: &Recording| Relevance::of(recording).scope;
    recording.meta.exit_code = Some(0);
    assert!(matches!(scope(&recording), Scope::Command { .. }));
    recording.meta.exit_code = Some(143);
    assert_eq!(scope(&recording), Scope::Service, "a signal ended it");
    let idle = super::idle_waits(&recording, &Lives::of(&recording));
    let of_main: Vec<bool> = idle.into_iter().take(6).collect();
    assert_eq!(of_main, [false, true, false, true, false, true]);
}

#[test]
fn a_short_wait_that_comes_once_is_no_home() {
    let recording = parse(
        "stack s blocked.lock pool;[kernel]!futex_do_wait
         stack q blocked.poll pool;serve;[kernel]!do_epoll_wait
         stack w cpu.user pool;work
         srv(1)/pool(1)  wswqqqqqqqqqqqqqqqqqqqwwqqqqqqqqqqqq",
    )
    .expect("parses");
    let idle = super::idle_waits(&recording, &Lives::of(&recording));
    assert_eq!(idle, [false, false, false, true, false, true]);
}

#[test]
fn a_range_of_one_thread_can_be_asked_for() {
    let recording = parse("app(1)/a(1) UUssUU|").expect("parses");
    let lives = Lives::of(&recording);
    let range = (Time(1_000_000), Time(9_000_000));
    let path = critical_path(&recording, &lives, ThreadId(0), range);
    let lengths: Vec<u64> = path.segments.iter().map(|s| s.length().0 / 1_000_000).collect();
    assert_eq!(lengths, [1, 2, 2, 3]);
    assert_eq!(path.segments.last().and_then(|segment| segment.interval), None);
}

#[test]
fn a_selected_range_that_ends_inside_of_waits_follows_them_all_the_same() {
    // Main joins a worker; the range ends while that one waits for a lock that the other holds.
    let recording = parse(
        "app(1)/main(1)    UllllllllllU|
         app(1)/worker(2)  .UUUUllllUU|
         app(1)/holder(3)  ...UUUUUUUU
         wake 9 holder > worker
         wake 11 worker > main",
    )
    .expect("parses");
    let lives = Lives::of(&recording);
    let range = (Time(0), Time(7_000_000));
    let path = selected_path(&recording, &lives, ThreadId(0), range);
    let whose = |segment: &Segment| {
        let row = &recording.intervals[segment.interval.expect("a row").index()];
        (row.thread.0, segment.length().0 / 1_000_000, segment.residue)
    };
    let found: Vec<_> = path.segments.iter().map(whose).collect();
    assert_eq!(found, [(0, 1, false), (1, 4, false), (2, 2, false)]);
    // As long as nobody selected the range, what ends a wait later explains nothing of it.
    let path = critical_path(&recording, &lives, ThreadId(0), range);
    assert_eq!(path.segments.iter().map(whose).collect::<Vec<_>>(), [(0, 1, false), (0, 6, false)]);
}

#[test]
fn a_command_ends_with_the_thread_that_called_for_its_end_not_with_the_last_to_die() {
    // The helper is killed, and frees the memory of all for 60 ms.
    let (_, relevance) = check(
        "tick 10ms
         stack E blocked.other main;_exit;[kernel]!__x64_sys_exit_group;[kernel]!do_exit
         stack X cpu.kernel [kernel]!get_signal;[kernel]!do_group_exit;[kernel]!do_exit
         app(1)/main(1)    UUUUE|
         app(1)/helper(2)  lllllXXXXXX|
         root app(1)",
        &"m".repeat(50),
    );
    assert!(matches!(relevance.scope, Scope::Command { thread: ThreadId(0), .. }));
    // Where no record tells who called, a first thread that lived to the end of all work did.
    check(
        "tick 10ms
         stack X cpu.kernel [kernel]!get_signal;[kernel]!do_group_exit;[kernel]!do_exit
         app(1)/main(1)    UUUUU|
         app(1)/helper(2)  lllllXXXXXX|
         root app(1)",
        &"m".repeat(50),
    );
    // One that left its others to finish did not.
    check(
        "tick 10ms
         app(1)/main(1)    UU|
         app(1)/helper(2)  UUUUUUUUUU|
         root app(1)",
        &"h".repeat(100),
    );
}

#[test]
fn a_command_is_the_life_of_the_thread_that_asked_another_one_to_end_it() {
    // Main pauses most of the time, and asks the thread that serves requests to end the process.
    let (_, relevance) = check(
        "stack w blocked.lock serve;wait;[kernel]!futex_do_wait
         stack j blocked.lock start;join;[kernel]!futex_do_wait
         app(1)/first(1)  jjjjjjjjjjjjjjjj|
         app(1)/main(2)   .UsssssssssssUll|
         app(1)/serves(3) .wwwwwwwUwwwwwUU|
         wake 8 timer > serves
         wake 13 timer > main
         wake 14 main > serves
         wake 16 serves > main
         wake 16 serves > first
         root app(1)",
        "fmmmmmmmmmmmmmss",
    );
    assert!(matches!(relevance.scope, Scope::Command { thread: ThreadId(1), .. }));
    // One that works most of its life is none that serves: it ends the process of its own accord.
    check(
        "stack w blocked.lock serve;wait;[kernel]!futex_do_wait
         stack j blocked.lock start;join;[kernel]!futex_do_wait
         app(1)/first(1)  jjjjjjjjjjjjjjjj|
         app(1)/main(2)   .UUUUUUUUUUUUUll|
         app(1)/works(3)  .UUUUUUUUwwwwwUU|
         wake 14 main > works
         wake 16 works > main
         wake 16 works > first
         root app(1)",
        "fwwwwwwwwmmmmmww",
    );
}

#[test]
fn a_command_that_a_thread_of_it_ends_is_walked_from_its_start() {
    check(
        "stack E cpu.kernel work;[kernel]!__x64_sys_exit_group
         app(1)/main(1)    UUUUllllll|
         app(1)/worker(2)  ....UUUUUE|
         root app(1)",
        "mmmmwwwwww",
    );
}

#[test]
fn a_childs_end_is_followed_to_the_thread_that_ended_it() {
    check(
        "stack X cpu.kernel [kernel]!get_signal;[kernel]!do_group_exit;[kernel]!do_exit
         stack E cpu.kernel main;[kernel]!__x64_sys_exit_group;[kernel]!do_exit
         sh(1)/a(1)       UccccccccU|
         cc(2)/b(2)       .UUUUE|
         cc(2)/helper(3)  .lllllXXX|
         wake 9 helper > a [kernel]!do_exit;[kernel]!exit_notify
         root sh(1)
         child cc(2) of sh(1)",
        "abbbbbaaaa",
    );
}

#[test]
fn a_child_that_ended_explains_an_interrupt_of_which_no_more_is_known() {
    check(
        "sh(1)/a(1)  UUccccccU|
         cc(2)/b(2)  .UUUssUU|
         wake 8 interrupt > a
         root sh(1)
         child cc(2) of sh(1)",
        "aabbbbbba",
    );
}

/// Where a thread of Go has no task.
const PARKED: &str = "stack p blocked.lock runtime.mcall;runtime.schedule;[kernel]!futex_do_wait
         stack o blocked.poll runtime.mcall;runtime.findRunnable;[kernel]!do_epoll_wait
         stack s blocked.sleep runtime.mstart;runtime.sysmon;[kernel]!hrtimer_nanosleep
         stack G cpu.user runtime.goexit;runtime.gcBgMarkWorker
         stack T cpu.user runtime.main;main.main";

#[test]
fn a_path_goes_on_with_the_thread_that_has_the_task() {
    check(
        &format!(
            "{PARKED}
             app(1)/main(1)     TTTppppppppTT|
             app(1)/sysmon(2)   ssssssssssssss
             app(1)/worker(3)   ppppTTTTppppp
             app(1)/gc(4)       GGGGGGGGGGGppp
             wake 11 sysmon > main
             root app(1)"
        ),
        "mmmgwwwwgggmm",
    );
}

#[test]
fn while_no_task_is_worked_on_the_wait_that_ended_that_is_told_once() {
    let (recording, relevance) = check(
        &format!(
            "{PARKED}
             app(1)/main(1)    TTppppppppTT|
             app(1)/net(2)     oooooooooooo
             app(1)/poller(3)  ooooooooopppp
             app(1)/sysmon(4)  ssssssssssss
             wake 9 net > poller
             wake 10 poller > main
             root app(1)"
        ),
        "mmppppppppmm",
    );
    let waits: Vec<_> =
        relevance.path.segments.iter().filter_map(|s| s.interval.map(Row::index)).collect();
    assert!(waits.iter().all(|at| recording.intervals[*at].thread != ThreadId(3)));
}

#[test]
fn a_wait_for_a_child_that_a_limit_ended_was_for_the_child() {
    for end in ["wake 12 timer > a", "wake 12 harness > a"] {
        check(
            &format!(
                "sh(1)/a(1)       UcccccccccccUU|
                 solver(2)/s(2)   .UUUUUUUUUUUUUUUU
                 idle(3)/i(3)     UssssssssssssssssU
                 test(4)/harness(4) ssssssssssssUUUU
                 {end}
                 root sh(1)
                 child solver(2) of sh(1)
                 child idle(3) of sh(1)"
            ),
            "asssssssssssaa",
        );
    }
}

#[test]
fn a_child_whose_parent_was_told_late_was_waited_for_all_the_same() {
    check(
        "sh(1)/a(1)  UUccccccccccU|
         cc(2)/b(2)  .UUUssUU|
         wake 12 interrupt > a
         root sh(1)
         child cc(2) of sh(1)",
        "aabbbbbbaaaaa",
    );
}
