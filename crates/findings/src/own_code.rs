//! Findings and comparisons point at the program's own code, whatever runs it.

use culprit_engine::calls::Patterns;
use culprit_model::{Cause, Finding, Recording, Text};

use crate::scene::{End, Scene};
use crate::{Options, RunSummary, find, find_difference};

/// A program of this name that computes for a moment and waits for a timer, most of its time.
fn sleeper(program: &str, stack: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program(program, None, 0);
    scene.run(main, 50, Cause::CpuUser, "libc.so.6!start");
    scene.wait(main, 700, Cause::Sleep, stack, End::Timer);
    scene.done()
}

/// A program of this name that computes.
fn worker(program: &str, stack: &str) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program(program, None, 0);
    for _ in 0..200 {
        scene.run(main, 2, Cause::CpuUser, stack);
    }
    scene.done()
}

/// The recording with the place of a function in its source.
fn at(mut recording: Recording, function: &str, file: &str, line: u32) -> Recording {
    for frame in recording.frames.iter_mut().filter(|frame| frame.function.as_str() == function) {
        (frame.file, frame.line) = (Some(file.into()), Some(line));
    }
    recording
}

fn first(recording: &Recording, own: &str) -> Finding {
    let own = Patterns::parse(own).expect(own);
    let report = find(recording, &Options { own, ..Options::default() });
    report.findings.into_iter().next().expect("a finding")
}

/// The costliest finding names `label` in its title and points at `function`, `file` and `line`.
#[track_caller]
fn check(recording: &Recording, label: &str, place: (&str, Option<&str>, Option<u32>)) {
    let finding = first(recording, "");
    assert!(finding.title.contains(&format!("`{label}`")), "{}", finding.title);
    let at = &finding.at[0];
    assert_eq!((at.function.as_str(), at.file.as_deref(), at.line), place, "{finding:?}");
}

const PYTHON: &str = "python3.11!_start;/app/app.py!main;/app/app.py!load_config;\
    libpython3.11.so.1.0!_PyEval_EvalFrameDefault;libpython3.11.so.1.0!pysleep;\
    libc.so.6!clock_nanosleep;k:do_nanosleep";

#[test]
fn a_wait_of_python_is_its_callers() {
    let recording = at(sleeper("python3.11", PYTHON), "load_config", "/app/app.py", 31);
    check(&recording, "load_config app.py:31", ("load_config", Some("/app/app.py"), Some(31)));
    let stack = &first(&recording, "").at[0].stack;
    let last = stack.iter().rev().take(3).map(Text::as_str).collect::<Vec<_>>();
    assert_eq!(last, ["blocked.sleep", "[kernel]!do_nanosleep", "libc.so.6!clock_nanosleep"]);
}

#[test]
fn work_of_python_is_the_functions_that_the_interpreter_runs() {
    let stack = "python3.11!_start;/app/app.py!main;/app/app.py!Orders.parse;\
        libpython3.11.so.1.0!_PyEval_EvalFrameDefault;libpython3.11.so.1.0!long_add";
    let recording = at(worker("python3.11", stack), "Orders.parse", "/app/app.py", 12);
    check(&recording, "Orders.parse app.py:12", ("Orders.parse", Some("/app/app.py"), Some(12)));
}

#[test]
fn a_function_of_a_script_is_none_of_the_c_library_of_the_same_name() {
    let stack = "python3.11!_start;/app/app.py!main;/app/app.py!read;\
        libpython3.11.so.1.0!_PyEval_EvalFrameDefault";
    let recording = worker("python3.11", stack);
    check(&recording, "/app/app.py!read", ("read", None, None));
}

#[test]
fn a_wait_of_java_is_its_callers() {
    let stack = "libc.so.6!start_thread;libjvm.so!JavaThread::run();[jit]!Interpreter;\
        [jit]!shop.Orders.load;[jit]!void java.lang.Thread.sleep(long);libjvm.so!JVM_Sleep;\
        libc.so.6!pthread_cond_timedwait;k:futex_wait";
    let recording = sleeper("java", stack);
    check(&recording, "shop.Orders.load", ("shop.Orders.load", None, None));
    let recording = at(recording, "shop.Orders.load", "Orders.java", 12);
    let place = ("shop.Orders.load", Some("Orders.java"), Some(12));
    check(&recording, "shop.Orders.load Orders.java:12", place);
}

#[test]
fn a_wait_of_node_is_its_callers() {
    let stack = "node!node::Start(int, char**);[jit]!JS:~processTimers node:internal/timers:1:2;\
        [jit]!JS:*poll /app/n.cjs:2:18;[jit]!JS:~wait /app/node_modules/w/i.js:4:1;\
        node!v8::base::ConditionVariable::WaitFor(v8::base::Mutex*, v8::base::TimeDelta const&);\
        libc.so.6!pthread_cond_timedwait;k:futex_wait";
    check(&sleeper("node", stack), "poll n.cjs:2", ("poll", Some("/app/n.cjs"), Some(2)));
}

#[test]
fn a_wait_of_go_is_its_callers() {
    let stack = "server!runtime.goexit;server!main.main;server!main.retry;server!time.Sleep;\
        server!runtime.timeSleep;server!runtime.futexsleep;server!runtime.futex;k:futex_wait";
    let recording = at(sleeper("server", stack), "main.retry", "/src/server/main.go", 40);
    let place = ("main.retry", Some("/src/server/main.go"), Some(40));
    check(&recording, "main.retry main.go:40", place);
}

#[test]
fn a_native_wait_in_a_library_is_its_callers() {
    let stack = "program!_start;program!main;program!connect_with_backoff;\
        /usr/lib/libdb.so.5!db_retry;libc.so.6!usleep;libc.so.6!clock_nanosleep;k:do_nanosleep";
    let recording = sleeper("program", stack);
    let label = "program!connect_with_backoff";
    check(&recording, label, ("connect_with_backoff", None, None));
}

#[test]
fn a_stack_without_own_code_points_where_it_did() {
    let stack = "libjvm.so!thread_native_entry(Thread*);libjvm.so!WatcherThread::run();\
        libc.so.6!pthread_cond_timedwait;k:futex_wait";
    let label = "libc.so.6!pthread_cond_timedwait";
    check(&sleeper("java", stack), label, ("pthread_cond_timedwait", None, None));
}

#[test]
fn patterns_say_what_is_own() {
    let recording = sleeper("python3.11", PYTHON);
    let of = |own: &str| first(&recording, own).at[0].function.to_string();
    assert_eq!(of(""), "load_config");
    assert_eq!(of("!main"), "main");
    assert_eq!(of("/libpython*!pysleep|libpython*!pysleep"), "pysleep");
}

#[test]
fn titles_name_what_patterns_say_is_own() {
    let stack = "program!_start;program!main;program!load;program!parse_row";
    let hot = worker("program", stack);
    let malloc = worker("program", &format!("{stack};libc.so.6!malloc"));
    for recording in [hot, malloc] {
        let title = |own: &str| first(&recording, own).title;
        assert!(title("").contains("`program!parse_row`"), "{}", title(""));
        assert!(title("!load").contains("`program!load`"), "{}", title("!load"));
    }
}

#[test]
fn patterns_change_no_verdict() {
    for recording in [sleeper("python3.11", PYTHON), worker("python3.11", PYTHON)] {
        let told = |own: &str| {
            let own = Patterns::parse(own).expect(own);
            let report = find(&recording, &Options { own, ..Options::default() });
            report.findings.iter().map(|f| (f.id, f.cost)).collect::<Vec<_>>()
        };
        assert_eq!(told(""), told("pysleep"));
    }
}

#[test]
fn a_comparison_names_own_functions() {
    let run = |stack: &str| RunSummary::of(&sleeper("python3.11", stack));
    let fast: Vec<_> = (0..5).map(|_| RunSummary::of(&worker("python3.11", PYTHON))).collect();
    let slow: Vec<_> = (0..5).map(|_| run(PYTHON)).collect();
    let found = find_difference(&fast, &slow, &Options::default()).expect("runs");
    let slept = found.comparison.rows.iter().find(|row| row.cause == Cause::Sleep);
    assert_eq!(slept.map(|row| row.function.as_str()), Some("/app/app.py!load_config"));
    let place = found.findings.iter().find_map(|finding| finding.at.first());
    assert_eq!(place.map(|at| at.function.as_str()), Some("load_config"));
}
