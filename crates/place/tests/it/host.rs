//! The host keeps the contract, and a command there outlives its recorder.

use crate::contract::{Expected, check, output, shell, start};
use culprit_place::{Command, Exit, Group, PlaceSpec, Settings, Stage, Stdio, open, procfs};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

#[test]
fn the_contract_is_kept() {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    check(&*host, &Expected { held_has_pid: true, tells_signals: true });
    host.remove().unwrap();
}

#[test]
fn the_work_folder_is_used_and_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let spec = PlaceSpec::Host { dir: Some(folder.path().to_path_buf()) };
    let host = open(&spec, &Settings::default()).unwrap();
    assert_eq!(output(&*host, &shell("pwd")).0.trim_end(), folder.path().to_str().unwrap());
    folder.close().unwrap();
    let error = host.hold(&shell("pwd"), None).map(drop).unwrap_err();
    assert!(
        matches!(error, culprit_place::Error::Start { stage: Stage::Directory, .. }),
        "{error}"
    );
}

#[test]
fn a_program_without_the_right_bits_is_told_apart_from_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script");
    std::fs::write(&file, "echo hello").unwrap();
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let begin = || host.hold(&Command::new([&file]), None).unwrap().start().map(drop).unwrap_err();
    assert!(begin().hints()[0].contains("chmod +x"));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(begin().hints()[0].contains("#!"));
}

#[test]
fn output_may_go_to_a_file_more_than_once() {
    let file = Arc::new(tempfile::tempfile().unwrap());
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    for _ in 0..2 {
        let command = Command { stdout: Stdio::File(Arc::clone(&file)), ..shell("echo line") };
        assert_eq!(start(&*host, &command).wait().unwrap(), Exit::Code(0));
    }
    assert_eq!(file_len(&file), 10);
}

fn file_len(file: &File) -> u64 {
    file.metadata().unwrap().len()
}

#[test]
fn the_process_group_is_the_callers_choice() {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let group_of = |group| {
        let command = Command { group, ..shell("cut -d' ' -f1,5 /proc/$$/stat") };
        let (text, _) = output(&*host, &command);
        let mut numbers = text.split_ascii_whitespace().map(|n| n.parse::<u32>().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    let (pid, group) = group_of(Group::Own);
    assert_eq!(pid, group);
    let (pid, group) = group_of(Group::Shared);
    assert_ne!(pid, group);
}

#[test]
fn a_held_command_never_runs_when_its_holder_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let first = host.hold(&Command::new(["touch".as_ref(), mark.as_os_str()]), None).unwrap();
    // The second child is made while the first is held, so it has copies of the first one's pipe.
    let second = host.hold(&shell("exit 4"), None).unwrap();
    let pid = first.pid().unwrap();
    drop(first);
    assert!(procfs::stat(pid).is_err());
    assert_eq!(second.start().unwrap().wait().unwrap(), Exit::Code(4));
    assert!(!mark.exists());
}

#[test]
fn commands_held_at_the_same_time_start_in_any_order() {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let piped = Command { stdout: Stdio::Pipe, ..shell("echo line") };
    let first = host.hold(&piped, None).unwrap();
    let second = host.hold(&shell("exit 4"), None).unwrap();
    // Its start and the end of its output are told by ends of pipes, of which the second that still
    // waits must have no copies.
    let mut running = first.start().unwrap();
    let mut text = String::new();
    running.take_stdout().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), running.wait().unwrap()), ("line\n", Exit::Code(0)));
    assert_eq!(second.start().unwrap().wait().unwrap(), Exit::Code(4));
}

#[test]
fn a_held_command_that_is_killed_says_so() {
    let host = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    let held = host.hold(&shell("exit 4"), None).unwrap();
    let pid = i32::try_from(held.pid().unwrap().0).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // Nobody reads the word any more, or the pipe ends as at an exec and the end tells how.
    let ended = held.start().and_then(|running| running.wait());
    assert!(!matches!(ended, Ok(Exit::Code(_))), "{ended:?}");
}
