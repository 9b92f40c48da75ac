//! Ctrl-C while a result is being told: it ends the program, whatever was watched for before.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Lab, wait_until};

#[test]
fn ctrl_c_after_the_recording_is_not_swallowed() {
    let lab = Lab::new();
    // A stdout that takes nothing: who prints to it waits for ever.
    let (reader, mut writer) = std::io::pipe().unwrap();
    let stdout = Stdio::from(writer.try_clone().unwrap());
    let filler = std::thread::spawn(move || writer.write_all(&[0; 1 << 20]));
    let mut child = lab
        .culprit()
        .args(["record", "-o", "x.culprit", "--json", "--quiet", "--", "true"])
        .stdout(stdout)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let finished =
        || culprit_recording::open(lab.path("x.culprit")).is_ok_and(|o| o.unfinished.is_none());
    wait_until("a finished recording", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        finished()
    });
    let pid = rustix::process::Pid::from_child(&child);
    // Two signals at most are for the recording; it may take its time to notice the first.
    let mut left = 600;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(left > 0, "it cannot be interrupted");
        left -= 1;
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(!status.success());
    drop(reader);
    // The pipe is broken now, which is what ends the filler.
    let _ = filler.join();
    assert!(finished(), "the recording was lost");
}
