//! A recorder that is killed leaves a file that opens up to its last flush.

use culprit_model::{LossKind, Rung};

use crate::support::{output, phases};

/// What the test runs again as its own child: a recorder that nobody stops.
#[test]
fn records_until_killed() {
    let Some(output) =
        std::env::args().find_map(|word| word.strip_prefix("--skip=record-to=").map(str::to_owned))
    else {
        return;
    };
    let folder = scratch_of(&output);
    std::fs::create_dir_all(&folder).expect("it can be written");
    loop {
        let options =
            |options: &mut culprit_record::Options| options.output = output.clone().into();
        crate::support::record(
            "child",
            &["sh", "-c", &format!("for i in 1 2 3; do {} {folder}; done", phases())],
            options,
        );
    }
}

#[test]
fn a_killed_recorder_leaves_what_it_had_flushed() {
    let file = output("killed");
    let own = std::env::current_exe().expect("this test");
    #[expect(clippy::disallowed_methods, reason = "the test kills a recorder of its own")]
    let mut child = std::process::Command::new(own)
        .args(["killed::records_until_killed", "--exact", "--nocapture"])
        .arg(format!("--skip=record-to={}", file.display()))
        .spawn()
        .expect("it runs");
    // It flushes once a second.
    culprit_testkit::wait_until("a flush with more than the start", || {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        let flushed = culprit_recording::open(&file).map(|opened| opened.recording);
        flushed.is_ok_and(|recording| {
            recording.switches.len() > 100 || recording.meta.rung > Rung::UserOnly
        })
    });
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    end_what_it_left(&file.to_string_lossy());
    let opened = culprit_recording::open(&file).expect("what was flushed opens");
    let recording = opened.recording;
    assert!(!recording.meta.complete);
    assert!(recording.losses.iter().any(|loss| loss.kind == LossKind::RecorderKilled));
    if recording.meta.rung > Rung::UserOnly {
        eprintln!("skipped: killed: {}", recording.meta.degraded.join("; "));
        return;
    }
    assert!(recording.switches.len() > 100, "{} switches", recording.switches.len());
    let named = recording.frames.iter().filter(|frame| frame.function.as_str() != "?").count();
    assert!(named > 10 || recording.meta.rung > Rung::KernelStacks, "{named} frames with names");
}

/// Where the killed recorder's command writes: known to both, so that the command can be found.
fn scratch_of(output: &str) -> String {
    format!("{output}.d")
}

/// The command of a killed recorder runs on in its cgroup: it is ours to end, and the cgroup is
/// swept as the next run does.
fn end_what_it_left(output: &str) {
    let folder = scratch_of(output);
    let processes = culprit_place::procfs::processes().expect("/proc");
    for pid in processes {
        let line = culprit_place::procfs::command_line(pid).unwrap_or_default();
        if line.iter().any(|word| word.contains(&folder)) {
            crate::support::tool("kill", &["-9", &pid.to_string()]);
        }
    }
    let settings = culprit_place::Settings {
        scratch: folder.into(),
        docker_sockets: Vec::new(),
        podman_sockets: Vec::new(),
    };
    let swept = culprit_place::sweep(&settings);
    assert!(swept.problems.is_empty(), "{:?}", swept.problems);
}
