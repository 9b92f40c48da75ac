//! Small recordings drawn by hand, for the tests of everything that shows them.

use culprit_model::notation::{from_columns, parse};
use culprit_model::{Cost, Guess, Metric, Nanos, Recording, Text, ThreadId, Time};

/// What is put where markup, escapes or control characters could do harm.
pub(crate) const HOSTILE: &str = "</script><img onerror=alert(1)>\u{1b}[2J";

/// Two threads of one process, 100 ms: `main` computes and waits for a lock, `worker` sleeps.
const DRAWN: &str = "
    tick 10ms
    stack u cpu.user app!main;app!compute
    stack l blocked.lock app!main;app!compute;libc.so.6!pthread_mutex_lock
    stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
    app(10)/app(10)     uuuuuullll|
    app(10)/worker(11)  ussssssssss|
    root app(10)
";

/// One thread: 3 ns of waiting and 7 ns of copying, both deep in the kernel.
const IN_KERNEL: &str = "
    tick 1ns
    stack d blocked.disk libc.so.6!read;[overlay]!ovl_read_iter;[kernel]!schedule
    stack k cpu.kernel libc.so.6!read;[overlay]!ovl_read_iter;[kernel]!copy_page
    app(10)/app(10)  dddkkkkkkk|
";

fn drawn(drawing: &str) -> Recording {
    let mut recording = parse(drawing).unwrap();
    recording.meta.command = vec!["app".to_owned(), "--fast".to_owned()];
    recording
}

/// A recording of two threads.
pub(crate) fn recording() -> Recording {
    drawn(DRAWN)
}

/// A recording of the kernel at work.
pub(crate) fn in_kernel() -> Recording {
    drawn(IN_KERNEL)
}

/// One thread whose program is run by twelve functions of a runtime, and sleeps in five others.
pub(crate) fn under_a_runtime() -> Recording {
    let above: String = (1..12).map(|nth| format!("libpython3.11.so.1.0!f{nth};")).collect();
    drawn(&format!(
        "
    tick 10ms
    stack s blocked.sleep python3.11!_start;{above}app!main;libpython3.11.so.1.0!pysleep;\
libc.so.6!clock_nanosleep;[kernel]!do_syscall_64;[kernel]!do_nanosleep;[kernel]!schedule
    app(10)/app(10)  ssssssssss|
"
    ))
}

/// [`recording`] with a function that was guessed: `compute`.
pub(crate) fn with_a_guess() -> Recording {
    let mut recording = recording();
    for frame in &mut recording.frames {
        frame.guessed = (frame.function.as_str() == "compute").then_some(Guess::TailCall);
    }
    recording
}

/// [`recording`] with sampled allocations: two blocks of one size, and one whose caller was lost.
pub(crate) fn allocated() -> Recording {
    let mut recording = recording();
    let drawing = "
        app!parse                   libculprit-alloc.so!malloc
        libculprit-alloc.so!malloc  [size]!33-64
        [size]!24
    ";
    for (stack, value) in from_columns(&mut recording, drawing).into_iter().zip([48, 50]) {
        recording.costs.push(Cost {
            thread: Some(ThreadId(0)),
            time: Time(0),
            duration: Nanos(0),
            stack: Some(stack),
            metric: Metric::AllocBytes,
            cause: None,
            value,
            count: 1,
            variance: Some(0),
        });
    }
    recording
}

/// [`recording`] with hostile names everywhere.
pub(crate) fn hostile() -> Recording {
    let mut recording = recording();
    let name = || Text::from(HOSTILE);
    recording.meta.command = vec![HOSTILE.to_owned()];
    for process in &mut recording.processes {
        (process.name, process.exe, process.command_line) = (name(), name(), name());
    }
    recording.threads.iter_mut().for_each(|thread| thread.name = name());
    recording.modules.iter_mut().for_each(|module| module.name = name());
    recording.frames.iter_mut().for_each(|frame| frame.function = name());
    recording
}
