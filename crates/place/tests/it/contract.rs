//! What a command may rely on in every place. Each place's own file calls [`check`].
//!
//! Only `sh` and what busybox has is used, so that the smallest image passes.

use culprit_place::{Command, Error, Exit, Place, Running, Signal, Stage, Stdio, procfs};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// What differs between places.
pub(crate) struct Expected {
    /// Whether a process exists before the start.
    pub(crate) held_has_pid: bool,
    /// Whether a signal's death is told from the status 128 + n.
    pub(crate) tells_signals: bool,
}

/// Checks everything but what is left behind, which each place looks for in its own way.
pub(crate) fn check(place: &dyn Place, expected: &Expected) {
    status_is_passed_on(place);
    streams_are_connected(place);
    environment_and_folder_are_given(place);
    the_environment_it_tells_is_its_commands(place);
    held_means_not_begun(place, expected);
    the_cgroup_holds_the_command(place);
    signals_arrive(place, expected);
    a_missing_program_is_said_to_be_missing(place);
    files_are_reached_through_the_root(place);
    files_can_be_made_where_it_says_so(place);
    facts_are_consistent(place);
}

/// A word that no other test and no other process uses.
pub(crate) fn mark(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("culprit-test-{what}-{}-{next}", std::process::id())
}

pub(crate) fn shell(script: &str) -> Command {
    Command { stdin: Stdio::Null, ..Command::new(["sh", "-c", script]) }
}

pub(crate) fn start(place: &dyn Place, command: &Command) -> Running {
    place.hold(command, None).unwrap().start().unwrap()
}

/// Everything that a command writes, and how it ends.
pub(crate) fn output(place: &dyn Place, command: &Command) -> (String, Exit) {
    let command = Command { stdout: Stdio::Pipe, ..command.clone() };
    let mut running = start(place, &command);
    let mut text = String::new();
    running.take_stdout().unwrap().read_to_string(&mut text).unwrap();
    (text, running.wait().unwrap())
}

fn files_can_be_made_where_it_says_so(place: &dyn Place) {
    let script = "for file in /tmp/culprit-test-$$ culprit-test-$$; do : > $file && rm $file || exit 1; done";
    let (_, exit) = output(place, &shell(script));
    assert_eq!(place.can_write_files().unwrap(), exit.success());
}

fn status_is_passed_on(place: &dyn Place) {
    let running = start(place, &shell("exit 7"));
    assert_eq!(running.wait().unwrap(), Exit::Code(7));
    assert_eq!(running.wait().unwrap(), Exit::Code(7), "asked again");
    assert_eq!(running.try_wait().unwrap(), Some(Exit::Code(7)));
    running.signal(Signal::TERM).unwrap();
}

fn streams_are_connected(place: &dyn Place) {
    let script = "read line; echo \"out $line\"; echo \"err $line\" >&2";
    let command =
        Command { stdin: Stdio::Pipe, stdout: Stdio::Pipe, stderr: Stdio::Pipe, ..shell(script) };
    let mut running = start(place, &command);
    running.take_stdin().unwrap().write_all(b"word\n").unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    running.take_stdout().unwrap().read_to_string(&mut out).unwrap();
    running.take_stderr().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("out word\n", "err word\n"));
    assert!(running.take_stdout().is_none(), "taken once");
    assert!(running.wait().unwrap().success());

    let mut running = start(place, &Command { stdin: Stdio::Pipe, ..shell("cat; exit 5") });
    drop(running.take_stdin());
    assert_eq!(running.wait().unwrap(), Exit::Code(5), "a dropped pipe is the end of the input");
}

fn environment_and_folder_are_given(place: &dyn Place) {
    let command = Command {
        env: vec![("CULPRIT_TEST".into(), "a b".into()), ("CULPRIT_TEST".into(), "c=d".into())],
        dir: Some("/".into()),
        ..shell("printf '%s %s' \"$CULPRIT_TEST\" \"$(pwd)\"")
    };
    assert_eq!(output(place, &command).0, "c=d /");
    let facts = place.facts().unwrap();
    assert_eq!(Path::new(output(place, &shell("pwd -P")).0.trim_end()), facts.work_dir);
}

fn the_environment_it_tells_is_its_commands(place: &dyn Place) {
    let told = place.environment().unwrap();
    let (printed, _) = output(place, &Command::new(["env"]));
    for (name, value) in told {
        let line = format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
        let of_one_line = !line.contains('\n');
        assert!(!of_one_line || printed.lines().any(|has| has == line), "{line} in {printed}");
    }
}

fn held_means_not_begun(place: &dyn Place, expected: &Expected) {
    let mark = mark("held");
    let command = Command { stdout: Stdio::Null, ..Command::new(["sh", "-c", "exit 0", &mark]) };
    let held = place.hold(&command, None).unwrap();
    assert_eq!(held.pid().is_some(), expected.held_has_pid);
    let begun = |pid| procfs::command_line(pid).is_ok_and(|line| line.contains(&mark));
    assert!(!procfs::processes().unwrap().into_iter().any(begun));
    let pid = held.pid();
    drop(held);
    if let Some(pid) = pid {
        assert!(matches!(procfs::stat(pid), Err(Error::NoProcess { .. })), "dropped, and gone");
    }
}

fn the_cgroup_holds_the_command(place: &dyn Place) {
    let cgroup = match place.make_cgroup() {
        Ok(cgroup) => cgroup,
        Err(e) if e.is_refusal() => return println!("skipped: the_cgroup_holds_the_command: {e}"),
        Err(e) => panic!("{e}"),
    };
    let command =
        Command { stdin: Stdio::Pipe, stdout: Stdio::Pipe, ..shell("echo begun; read line") };
    let held = place.hold(&command, Some(&cgroup)).unwrap();
    if let Some(pid) = held.pid() {
        assert!(cgroup.members().unwrap().contains(&pid), "before the start");
    }
    let mut running = held.start().unwrap();
    running.take_stdout().unwrap().read_exact(&mut [0; 6]).unwrap();
    assert!(cgroup.members().unwrap().contains(&running.pid().unwrap()));
    drop(running.take_stdin());
    running.wait().unwrap();
    drop(running);
    cgroup.remove().unwrap();
}

fn signals_arrive(place: &dyn Place, expected: &Expected) {
    // As pid 1 of a container a shell gets only signals that it asked for.
    let script = "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = start(place, &Command { stdout: Stdio::Pipe, ..shell(script) });
    running.take_stdout().unwrap().read_exact(&mut [0; 6]).unwrap();
    assert_eq!(running.try_wait().unwrap(), None);
    running.signal(Signal::TERM).unwrap();
    assert_eq!(running.wait().unwrap(), Exit::Code(3));

    let running = start(place, &shell("exec sleep 600"));
    running.signal(Signal::KILL).unwrap();
    let exit = running.wait().unwrap();
    assert_eq!(exit.shell_code(), 137);
    assert_eq!(exit == Exit::Signal(Signal::KILL), expected.tells_signals);
}

fn a_missing_program_is_said_to_be_missing(place: &dyn Place) {
    let start =
        |argv: &[&str]| place.hold(&Command::new(argv.iter().copied()), None).unwrap().start();
    let error = start(&["culprit-no-such-program"]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Start { stage: Stage::Execute, .. }), "{error}");
    assert!(error.to_string().contains("culprit-no-such-program"), "{error}");
    assert!(error.hints()[0].contains("PATH"), "{:?}", error.hints());
    assert!(!error.is_refusal());
    let nothing = place.hold(&Command::default(), None).map(drop);
    assert!(matches!(nothing, Err(Error::NoCommand)));
}

fn files_are_reached_through_the_root(place: &dyn Place) {
    let file = mark("file");
    let script = format!("echo text > {file}; pwd -P; read line; rm {file}");
    let command = Command {
        stdin: Stdio::Pipe,
        stdout: Stdio::Pipe,
        dir: Some("/tmp".into()),
        ..shell(&script)
    };
    let mut running = start(place, &command);
    running.take_stdout().unwrap().read_exact(&mut [0; 5]).unwrap();
    match procfs::root_of(running.pid().unwrap()) {
        Err(e) if e.is_refusal() => println!("skipped: files_are_reached_through_the_root: {e}"),
        root => {
            let mut text = String::new();
            let path = Path::new("/tmp").join(&file);
            let mut file = procfs::open_in_root(root.unwrap(), &path).unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "text\n");
        }
    }
    drop(running.take_stdin());
    assert!(running.wait().unwrap().success());
}

fn facts_are_consistent(place: &dyn Place) {
    let facts = place.facts().unwrap();
    assert_eq!(&facts.place, place.spec());
    assert!(facts.cpus > 0);
    let kind = facts.work.map(|fs| fs.magic);
    if let Some(magic) = kind {
        let (text, _) = output(place, &shell("stat -f -c %t ."));
        assert_eq!(
            u64::from_str_radix(text.trim(), 16),
            Ok(magic),
            "as stat(1) sees it from inside"
        );
    }
}
