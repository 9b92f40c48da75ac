//! The ladder as an ordinary user meets it, at each value of `kernel.perf_event_paranoid`.
//!
//! Runs the test program again as uid 65534. The sysctl is changed while the child records, and put back
//! at once.

use culprit_model::{Rung, SwitchKind};

use crate::support::{compiled, folder, record, tool};

const SYSCTL: &str = "/proc/sys/kernel/perf_event_paranoid";
const MARK: &str = "--skip=as-user=";

/// What runs as the ordinary user.
#[test]
fn records_as_an_ordinary_user() {
    let Some(level) = std::env::args().find_map(|word| word.strip_prefix(MARK).map(str::to_owned))
    else {
        return;
    };
    let program = std::env::args()
        .find_map(|word| word.strip_prefix("--skip=program=").map(str::to_owned))
        .expect("the program");
    let recording = record(&format!("user-{level}"), &[&program], |_| {}).recording;
    println!("rung {}", recording.meta.rung);
    println!("degraded {}", recording.meta.degraded.join("; "));
    println!("switches {}", recording.switches.len());
    let outs = recording.switches.iter().filter(|row| row.kind == SwitchKind::Out);
    println!("stacks {}", outs.filter(|row| row.stack.is_some()).count());
    let waiting = recording.observations.iter().filter(|row| row.wchan.is_some()).count();
    println!("waiting {waiting}");
    println!("samples {}", recording.samples.len());
}

struct Said(String);

impl Said {
    fn word(&self, key: &str) -> &str {
        let line = self.0.lines().find_map(|line| line.trim_start().strip_prefix(key));
        line.expect("the child prints every line").trim()
    }

    fn number(&self, key: &str) -> usize {
        self.word(key).parse().expect("a number")
    }
}

/// Records as an ordinary user at `level`; none when we may not try.
fn as_user_at(level: i32) -> Option<Said> {
    let _alone = culprit_testkit::alone();
    let before = std::fs::read_to_string(SYSCTL).ok()?;
    if !rustix::process::geteuid().is_root() || std::fs::write(SYSCTL, level.to_string()).is_err() {
        eprintln!("skipped: rights: changing {SYSCTL} takes root");
        return None;
    }
    let own = std::env::current_exe().expect("this test");
    // The build's folder may lie where an ordinary user may not go.
    let copy = folder().join(format!("as-user-{level}"));
    std::fs::copy(&own, &copy).expect("room");
    let program = folder().join("deepers-user").to_string_lossy().into_owned();
    tool("cp", &[&compiled("tests/it/programs/deepers.c", "deepers-user", &[]), &program]);
    tool("chmod", &["-R", "a+rx", &folder().to_string_lossy()]);
    let output = tool(
        "setpriv",
        &[
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--no-new-privs",
            &copy.to_string_lossy(),
            "rights::records_as_an_ordinary_user",
            "--exact",
            "--nocapture",
            &format!("{MARK}{level}"),
            &format!("--skip=program={program}"),
        ],
    );
    std::fs::write(SYSCTL, before).expect("it was writable just now");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    Some(Said(text))
}

#[test]
fn at_two_times_are_exact_and_reasons_are_polled() {
    let Some(said) = as_user_at(2) else { return };
    assert_eq!(said.word("rung "), Rung::UserOnly.to_string());
    assert!(said.word("degraded ").contains("sysctl kernel.perf_event_paranoid=1"));
    // Of the hundred sleeps, one whose time is up before it has left the CPU is no switch.
    assert!(said.number("switches ") >= 100, "a hundred sleeps are two hundred switches");
    assert_eq!(said.number("stacks "), 0);
    assert!(said.number("waiting ") > 0, "waits were seen in /proc");
    assert!(said.number("samples ") > 0, "it computes for 200 ms of CPU time");
}

#[test]
fn at_one_own_commands_have_their_stacks() {
    let Some(said) = as_user_at(1) else { return };
    assert_eq!(said.word("rung "), Rung::KernelStacks.to_string());
    assert!(said.word("degraded ").contains("no wakers"));
    assert!(said.number("stacks ") >= 50, "{} stacks of a hundred", said.number("stacks "));
}

#[test]
fn without_any_events_states_are_polled_and_births_are_seen() {
    let program = compiled("tests/it/programs/deepers.c", "deepers-polled", &[]);
    // The pause is many polls long.
    let script = format!("{program}; {program}; sleep 1");
    let recording = record("polled", &["sh", "-c", &script], |options| {
        options.highest = Rung::Polling;
    });
    let recording = recording.recording;
    assert_eq!(recording.meta.rung, Rung::Polling);
    assert!(recording.switches.is_empty() && recording.samples.is_empty());
    let names: Vec<_> = recording.processes.iter().map(|row| row.name.as_str()).collect();
    assert!(names.iter().filter(|name| **name == "deepers-polled").count() >= 2, "{names:?}");
    let waits = recording.observations.iter().filter(|row| row.state == u32::from('S')).count();
    assert!(waits > 0, "{:?}", recording.observations);
}
