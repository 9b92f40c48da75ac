//! Runs one test of this binary again in a process of its own: as another user, or to be killed.

use culprit_place::{Command, Place, PlaceSpec, Running, Settings, Stdio, open};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// A user who owns nothing: nobody.
const USER: &str = "65534";

/// A command that runs the tests whose names contain `test`, after the words of `before`.
///
/// The binary is executed through a descriptor: the folder that it lies in may be closed to the
/// other user.
pub(crate) fn again(before: &[&str], test: &str) -> Command {
    let binary = File::open(std::env::current_exe().unwrap()).unwrap();
    let argv = [before, &["/proc/self/fd/0", test, "--nocapture", "--test-threads=1"]].concat();
    Command {
        stdin: Stdio::File(Arc::new(binary)),
        stdout: Stdio::Pipe,
        dir: Some("/tmp".into()),
        ..Command::new(argv)
    }
}

pub(crate) fn on_host(command: &Command) -> Running {
    let host: Box<dyn Place> = open(&PlaceSpec::HOST, &Settings::default()).unwrap();
    host.hold(command, None).unwrap().start().unwrap()
}

/// Runs tests as a user without rights. Without root we are one already.
pub(crate) fn as_ordinary_user(name: &str, test: &str) {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: {name}: changing the user takes root; {test} runs as this one");
    }
    let before = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--"];
    let mut running = on_host(&again(&before, test));
    let mut text = String::new();
    running.take_stdout().unwrap().read_to_string(&mut text).unwrap();
    assert!(running.wait().unwrap().success(), "{test} as user {USER}: {text}");
    assert!(text.contains(" 1 passed"), "{test} is the name of one test: {text}");
}
