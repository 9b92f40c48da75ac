use crate::scene::{End, Scene, first, told};
use culprit_model::{Cause, Recording, ThreadId};

const JOIN: &str = "main;start_up;libc.so.6!__pthread_clockjoin_ex;k:futex_do_wait";

/// Two rounds in which the main thread joins threads that work.
fn joined(workers: usize) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    let process = scene.recording.thread(main).process;
    let workers: Vec<ThreadId> =
        (0..workers).map(|at| scene.thread(process, &format!("loader{at}"), 0)).collect();
    for _ in 0..2 {
        for worker in &workers {
            scene.run(*worker, 400, Cause::CpuUser, "clone3;load_devices;parse");
            let idle = "clone3;libc.so.6!pthread_cond_wait;k:futex_do_wait";
            scene.wait(*worker, 100, Cause::Lock, idle, End::By(main));
        }
        scene.run(main, 50, Cause::CpuUser, "main;prepare");
        scene.wait(main, 350, Cause::Lock, JOIN, End::By(ThreadId(1)));
        scene.run(main, 100, Cause::CpuUser, "main;finish");
    }
    scene.done()
}

#[test]
fn what_the_only_job_of_another_thread_computes_is_the_reason() {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    let process = scene.recording.thread(main).process;
    let worker = scene.thread(process, "solver", 0);
    scene.run(worker, 800, Cause::CpuUser, "clone3;solve");
    scene.wait(main, 800, Cause::Lock, JOIN, End::By(worker));
    scene.run(main, 10, Cause::CpuUser, "main;finish");
    assert_eq!(told(&scene.done()), ["hot-function 800"]);
}

#[test]
fn a_wait_in_which_another_program_works_too_is_information() {
    let mut scene = Scene::default();
    let main = scene.program("load", None, 0);
    let process = scene.recording.thread(main).process;
    let client = scene.thread(process, "client", 0);
    let server = scene.program("server", Some(main), 0);
    for step in 0..10 {
        scene.run(client, 100, Cause::CpuUser, &format!("clone3;ask{step}"));
        scene.run(server, 100, Cause::CpuUser, &format!("main;answer{step}"));
    }
    scene.wait(main, 1000, Cause::Lock, JOIN, End::By(client));
    let found = first(&scene.done(), "wait-on-thread").expect("found");
    assert_eq!(found.severity, culprit_model::Severity::Info);
}

#[test]
fn waiting_for_the_only_thread_that_works_names_it_and_what_it_did() {
    let found = first(&joined(1), "wait-on-thread").expect("found");
    assert_eq!(found.cost.0, 700_000_000);
    assert!(
        found.title.contains(
            "waits 700 ms of 1.00 s in `program!start_up` for loader0 (1001) to end while no \
                 other"
        ),
        "{}",
        found.title
    );
    assert!(found.evidence.iter().any(|e| e.what.contains("loader0 in program!parse")));
}

#[test]
fn what_the_other_thread_waits_for_a_cpu_is_the_run_queues() {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    let process = scene.recording.thread(main).process;
    let worker = scene.thread(process, "loader", 0);
    for _ in 0..10 {
        scene.run(worker, 20, Cause::CpuUser, "clone3;load");
        let held = "clone3;load;k:irqentry_exit_to_user_mode;k:schedule";
        scene.run(worker, 60, Cause::Runnable, held);
        scene.wait(worker, 10, Cause::Disk, "clone3;load;k:io_schedule", End::Disk);
        scene.run(worker, 10, Cause::Runnable, "clone3;load;k:io_schedule");
    }
    for _ in 0..2 {
        scene.wait(main, 500, Cause::Lock, JOIN, End::By(worker));
    }
    let recording = scene.done();
    assert_eq!(told(&recording)[..2], ["run-queue 600", "wait-on-thread 400"]);
}

#[test]
fn a_wait_that_an_exit_ends_is_a_join_whatever_the_library_calls_it() {
    let lock = "main;libc.so.6!__lll_lock_wait;k:futex_do_wait";
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    let process = scene.recording.thread(main).process;
    let worker = scene.thread(process, "loader", 0);
    let exit = "clone3;k:do_exit;k:mm_release;k:futex_wake";
    scene.run(worker, 699, Cause::CpuUser, "clone3;load");
    scene.run(worker, 1, Cause::CpuKernel, exit);
    scene.wait(main, 700, Cause::Lock, lock, End::By(worker));
    let mut recording = scene.done();
    assert!(first(&recording, "lock-contention").is_some());
    let stack = recording.intervals.iter().find(|i| i.cause == Cause::CpuKernel);
    let stack = stack.and_then(|i| i.stack);
    recording.intervals[0].waker_stack = stack;
    assert!(first(&recording, "lock-contention").is_none());
    assert_eq!(told(&recording), ["hot-function 699"]);
}

/// Two threads, of which the second works `alone` after the first has ended; the main thread
/// joins one after the other and works `between` meanwhile.
fn joined_in_turn(between: u64, alone: u64) -> Recording {
    let mut scene = Scene::default();
    let main = scene.program("program", None, 0);
    let process = scene.recording.thread(main).process;
    let first = scene.thread(process, "solver0", 0);
    let last = scene.thread(process, "solver1", 0);
    let solve = "clone3;solve";
    scene.run(first, 600, Cause::CpuUser, solve);
    scene.run(last, 600 + between + alone, Cause::CpuUser, solve);
    scene.wait(main, 600, Cause::Lock, JOIN, End::By(first));
    scene.run(main, between, Cause::CpuUser, "main;gather");
    scene.wait(main, alone, Cause::Lock, JOIN, End::By(last));
    scene.run(main, 100, Cause::CpuUser, "main;finish");
    scene.done()
}

#[test]
fn the_last_of_threads_that_share_work_may_end_later_than_the_others() {
    assert!(first(&joined_in_turn(1, 200), "wait-on-thread").is_none());
}

#[test]
fn a_thread_that_works_alone_for_most_of_a_stretch_is_told_with_that_part() {
    let found = first(&joined_in_turn(1, 900), "wait-on-thread").expect("found");
    assert_eq!(found.cost.0, 900_000_000);
}

#[test]
fn own_work_between_two_waits_makes_them_two() {
    let found = first(&joined_in_turn(100, 200), "wait-on-thread").expect("found");
    assert_eq!(found.cost.0, 200_000_000);
}

#[test]
fn a_thread_without_a_task_waits_for_no_other() {
    let idle = "runtime.mcall;runtime.park_m;runtime.schedule;runtime.findRunnable;\
                    runtime.stopm;runtime.notesleep;runtime.futex;k:futex_do_wait";
    let mut scene = Scene::default();
    let main = scene.program("server", None, 0);
    let process = scene.recording.thread(main).process;
    let other = scene.thread(process, "server", 0);
    scene.run(other, 800, Cause::CpuUser, "runtime.main;main.main;main.answer");
    scene.wait(main, 800, Cause::Lock, idle, End::By(other));
    scene.run(main, 100, Cause::CpuUser, "runtime.main;main.main;main.answer");
    let recording = scene.done();
    assert!(first(&recording, "wait-on-thread").is_none());
    assert_eq!(told(&recording)[0], "hot-function 900");
}

#[test]
fn a_launcher_that_waits_for_the_program_itself_is_not_told() {
    let mut scene = Scene::default();
    let main = scene.program("java", None, 0);
    let process = scene.recording.thread(main).process;
    let program = scene.thread(process, "java", 0);
    let stack = "clone3;libjli.so!ThreadJavaMain;libjli.so!JavaMain;[jit]!void Main.solve(int)";
    scene.run(program, 800, Cause::CpuUser, stack);
    scene.wait(main, 800, Cause::Lock, JOIN, End::By(program));
    scene.run(main, 10, Cause::CpuUser, "main;JLI_Launch");
    let recording = scene.done();
    assert!(first(&recording, "wait-on-thread").is_none());
    assert_eq!(told(&recording)[0], "hot-function 800");
}

#[test]
fn joining_parallel_work_is_not_told_but_the_work_is() {
    let recording = joined(2);
    assert!(first(&recording, "wait-on-thread").is_none());
    assert_eq!(told(&recording)[0], "hot-function 700");
}

/// A client whose second thread polls for what a container's process does, and nothing says who ended the poll.
#[test]
fn a_wait_for_a_thread_that_itself_waits_for_something_unknown_is_not_told() {
    let mut scene = Scene::default();
    let main = scene.program("client", None, 0);
    let process = scene.recording.thread(main).process;
    let reads = scene.thread(process, "client", 0);
    let other = scene.program("job", Some(main), 0);
    scene.run(other, 790, Cause::CpuUser, "main;compute");
    let poll = "main;client!?;libc.so.6!epoll_wait;k:do_epoll_wait;k:ep_poll";
    scene.wait(reads, 800, Cause::Poll, poll, End::Interrupt);
    scene.run(reads, 1, Cause::CpuUser, "main;client!?");
    scene.wait(main, 801, Cause::Lock, JOIN, End::By(reads));
    let recording = scene.done();
    assert!(first(&recording, "wait-on-thread").is_none(), "{:?}", told(&recording));
}
