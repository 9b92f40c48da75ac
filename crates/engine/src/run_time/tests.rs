use culprit_model::notation::parse;
use culprit_model::{Filter, Metric, Nanos, ProcessId, Recording, Text, ThreadId, Time};

use super::{RunSubject, RunTime};
use crate::calls::{CallTree, Index, NodeId, Query, select};
use crate::wakers::CommandPath;

const MS: u64 = 1_000_000;

fn filter() -> Filter {
    Filter { metric: Metric::Run, ..Filter::default() }
}

fn run(recording: &Recording, filter: &Filter) -> (RunTime, CallTree) {
    let query = Query::compile(filter).expect("compiles");
    let made = RunTime::build(recording, &query);
    let known = CommandPath::of(recording);
    let same = RunTime::build_on(recording, &query, known.as_ref());
    assert_eq!((same.subject, same.recording), (made.subject.clone(), made.recording.clone()));
    let tree = Index::of(&made.recording).tree(&query);
    (made, tree)
}

/// The stacks of a run's time with their ms: `name > name > cause 3`.
fn drawn(tree: &CallTree) -> Vec<String> {
    let name = |id: NodeId| tree.name(id).to_string();
    let line = |id: NodeId| {
        let own = tree.own(id).filter(|own| own.value > 0)?;
        let names: Vec<String> = tree.path(id).into_iter().map(name).collect();
        Some(format!("{} {}", names.join(" > "), own.value / MS))
    };
    tree.ids().filter_map(line).collect()
}

#[track_caller]
fn check(drawing: &str, filter: &Filter, expected: &[&str]) -> RunTime {
    let recording = parse(drawing).expect(drawing);
    let (made, tree) = run(&recording, filter);
    let mut drawn = drawn(&tree);
    let mut expected = expected.to_vec();
    drawn.sort_unstable();
    expected.sort_unstable();
    assert_eq!(drawn, expected, "{drawing}");
    made
}

const JOIN: &str = "
    stack m cpu.user main
    stack j blocked.lock main;join;[kernel]!futex_wait
    stack w cpu.user work
    stack s blocked.sleep work;sleep
    app(1)/main(1)    mmmmjjjjjjjjmm|
    app(1)/worker(2)  sssswwwwssssww|
    app(1)/idle(3)    llllllllllllll|
    wake 12 worker > main
    root app(1)";

#[test]
fn a_wait_leads_to_the_stack_of_the_thread_that_ended_it() {
    let made = check(
        JOIN,
        &filter(),
        &[
            "Process app (1) > Thread main (1) > app!main > cpu.user 6",
            "Process app (1) > Thread main (1) > app!main > app!join > [kernel]!futex_wait > waits for \
             Thread worker (2) > app!work > cpu.user 4",
            "Process app (1) > Thread main (1) > app!main > app!join > [kernel]!futex_wait > waits for \
             Thread worker (2) > app!work > app!sleep > blocked.sleep 4",
        ],
    );
    assert_eq!(made.subject, RunSubject::Command);
    assert_eq!(made.total((Time(2 * MS), Time(5 * MS))), Nanos(3 * MS));
}

#[test]
fn waits_in_waits_are_two_links() {
    check(
        "stack a blocked.child sh
         stack b blocked.pipe make
         stack c cpu.user cc
         sh(1)/a(1)     Uaaaaaaaaaaaaa|
         make(2)/b(2)   .Ubbbbbbbbbbb|
         cc(3)/c(3)     .ccccccccccccc|
         wake 13 c > b
         wake 14 b > a
         root sh(1)",
        &filter(),
        &[
            "Process sh (1) > Thread a (1) > [stack lost] > cpu.user 1",
            "Process sh (1) > Thread a (1) > app!sh > waits for Thread b (2) > [stack lost] > cpu.user 1",
            "Process sh (1) > Thread a (1) > app!sh > waits for Thread b (2) > app!make > waits for \
             Thread c (3) > app!cc > cpu.user 11",
            "Process sh (1) > Thread a (1) > app!sh > blocked.child 1",
        ],
    );
}

#[test]
fn time_without_a_row_is_not_recorded() {
    check(
        "stack m cpu.user main
         app(1)/main(1)  ..mmm|
         app(1)/late(2)  mmmmmmm
         root app(1)",
        &Filter { thread: "main".to_owned(), ..filter() },
        &["Process app (1) > Thread main (1) > app!main > cpu.user 3"],
    );
    let mut recording = parse(
        "app(1)/main(1)  UUUUU|
         root app(1)",
    )
    .expect("parses");
    recording.intervals[0].start = Time(2 * MS);
    recording.intervals[0].duration = Nanos(3 * MS);
    let (_, tree) = run(&recording, &filter());
    assert_eq!(tree.total(), 5 * MS);
    assert_eq!(
        drawn(&tree),
        [
            "Process app (1) > Thread main (1) > [not recorded] 2",
            "Process app (1) > Thread main (1) > [stack lost] > cpu.user 3",
        ]
    );
    let selection = select(
        &run(&recording, &filter()).0.recording,
        &Query::compile(&filter()).expect("compiles"),
    );
    assert_eq!(selection.rows.iter().map(|row| row.value).sum::<u64>(), 5 * MS);
}

#[test]
fn a_run_that_goes_on_in_another_thread_without_a_wait_says_so() {
    check(
        "stack p blocked.lock runtime.mcall;runtime.schedule;[kernel]!futex_do_wait
         stack T cpu.user runtime.main
         app(1)/main(1)    TTTppppTT|
         app(1)/worker(2)  pppTTTTpp
         wake 7 worker > main
         root app(1)",
        &filter(),
        &[
            "Process app (1) > Thread main (1) > app!runtime.main > cpu.user 5",
            "Process app (1) > Thread main (1) > continues on Thread worker (2) > app!runtime.main > \
             cpu.user 4",
        ],
    );
}

#[test]
fn ids_are_erased_from_links_too() {
    let erased = Filter { erase_ids: true, ..filter() };
    let recording = parse(JOIN).expect("parses");
    let (made, tree) = run(&recording, &erased);
    assert!(tree.find("waits for Thread worker").is_some());
    let selection = select(&made.recording, &Query::compile(&erased).expect("compiles"));
    assert!(selection.steps.iter().any(|step| step.name.as_str() == "waits for Thread worker"));
    assert!(!selection.steps.iter().any(|step| step.name.contains("(2)")));
}

#[test]
fn a_range_is_a_stretch_of_the_same_path() {
    check(
        JOIN,
        &Filter { from: Some(Time(10 * MS)), to: Some(Time(13 * MS)), ..filter() },
        &[
            "Process app (1) > Thread main (1) > app!main > cpu.user 1",
            "Process app (1) > Thread main (1) > app!main > app!join > [kernel]!futex_wait > waits for \
             Thread worker (2) > app!work > app!sleep > blocked.sleep 2",
        ],
    );
}

#[test]
fn selected_threads_have_their_own_run_time() {
    let made = check(
        JOIN,
        &Filter { thread: "worker".to_owned(), ..filter() },
        &[
            "Process app (1) > Thread worker (2) > app!work > cpu.user 6",
            "Process app (1) > Thread worker (2) > app!work > app!sleep > blocked.sleep 8",
        ],
    );
    assert_eq!(made.subject, RunSubject::Threads(vec![ThreadId(1)]));
}

#[test]
fn selected_processes_have_their_own_run_time_to_the_end_of_the_thread_that_ended_them() {
    let drawing = "
        stack c blocked.child sh
        sh(1)/a(1)  Ucccccccccc|
        cc(2)/b(2)  .UUUUU|
        cc(3)/d(3)  ......llUU|
        cc(3)/e(4)  ......UU|
        wake 8 e > d
        wake 6 b > a
        root sh(1)";
    let made = check(
        drawing,
        &Filter { process: "cc".to_owned(), ..filter() },
        &[
            "Process cc (2) > Thread b (2) > [stack lost] > cpu.user 5",
            "Process cc (3) > Thread d (3) > [stack lost] > cpu.user 2",
            "Process cc (3) > Thread d (3) > [stack lost] > waits for Thread e (4) > [stack lost] > \
             cpu.user 2",
        ],
    );
    assert_eq!(made.subject, RunSubject::Processes(vec![ProcessId(1), ProcessId(2)]));
    assert_eq!(made.total((Time(0), Time(11 * MS))), Nanos(9 * MS));
}

const SERVICE: &str = "
    stack h blocked.poll loop;[kernel]!do_epoll_wait
    stack d blocked.disk loop;read;[kernel]!filemap_read
    stack q blocked.lock pool;[kernel]!futex_do_wait
    srv(1)/loop(1)  hhhhUddUhhhhhhUddUhhh
    srv(1)/pool(2)  qqqqqqqqqqqqqqqqqqqqq";

#[test]
fn a_service_has_the_time_of_its_threads_without_idle_waits() {
    let rows = [
        "Process srv (1) > Thread loop (1) > [stack lost] > cpu.user 4",
        "Process srv (1) > Thread loop (1) > app!loop > app!read > [kernel]!filemap_read > \
         blocked.disk 4",
    ];
    let made = check(SERVICE, &filter(), &rows);
    assert_eq!(made.subject, RunSubject::Service);
    // A process that has not ended has no path either.
    let made = check(SERVICE, &Filter { process: "srv".to_owned(), ..filter() }, &rows);
    assert_eq!(made.subject, RunSubject::Service);
}

#[test]
fn a_service_with_activities_has_the_time_of_these() {
    let mut recording = parse(SERVICE).expect("parses");
    let edge = |time: u64, kind, name: &str| culprit_model::ActivityEdge {
        time: Time(time * MS),
        thread: ThreadId(0),
        kind,
        name: Text::from(name),
        key: None,
        source: culprit_model::ActivitySource::Function,
    };
    use culprit_model::EdgeKind::{Enter, Leave};
    recording.activity_edges = vec![
        edge(4, Enter, "get"),
        edge(8, Leave, "get"),
        edge(15, Enter, "put"),
        edge(18, Leave, "put"),
    ];
    crate::activities::build(&mut recording);
    let (made, tree) = run(&recording, &filter());
    assert_eq!((made.subject, tree.total()), (RunSubject::Activities(2), 7 * MS));
    let (made, tree) = run(&recording, &Filter { activity: "put".to_owned(), ..filter() });
    assert_eq!((made.subject, tree.total()), (RunSubject::Activities(1), 3 * MS));
}

#[test]
fn a_command_ends_with_its_process_and_the_last_of_its_threads_has_that_time() {
    let drawing = "
        stack m cpu.user main
        stack X cpu.kernel [kernel]!get_signal;[kernel]!do_group_exit;[kernel]!do_exit
        app(1)/main(1)    mmmm|
        app(1)/helper(2)  llllXXX|
        app(1)/other(3)   llllX|
        root app(1)";
    let rows = [
        "Process app (1) > Thread main (1) > app!main > cpu.user 4",
        "Process app (1) > Thread helper (2) > [kernel]!get_signal > [kernel]!do_group_exit > \
         [kernel]!do_exit > cpu.kernel 3",
    ];
    check(drawing, &filter(), &rows);
    check(drawing, &Filter { process: "app".to_owned(), ..filter() }, &rows);
}
