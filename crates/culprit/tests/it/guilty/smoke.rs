//! A few programs recorded live, of which only the mechanism is asked: it is there however busy the
//! machine is. How much of the time it takes, and what costs more, is for `make accuracy` to say.

use serde_json::Value;

use super::build::{Source, commands};
use super::truth::{Group, findings, programs};
use crate::support::{Lab, all_rights, number, skip};

/// Program, the cause of its time, a function that is in the stacks of that cause, and the finding.
const PROGRAMS: [(&str, &str, &str, &str); 6] = [
    ("poll_usleep.c", "blocked.sleep", "consume", "poll-sleep-loop"),
    ("condvar.c", "blocked.thread", "call", "wait-on-thread"),
    ("unix_trips.c", "blocked.ipc", "ask", "serial-round-trips"),
    ("spawn.c", "blocked.child", "main", "spawn-storm"),
    ("ask_kernel.c", "cpu.kernel", "note_owner", "syscall-storm"),
    ("hot.c", "cpu.user", "checksum", "hot-function"),
];

/// The time of a cause below a function, of all threads.
fn time_below(lab: &Lab, function: &str, cause: &str) -> f64 {
    let pattern = format!("{function};^{cause}");
    number(&lab.json(&["top", "program.culprit", "--metric", "wall", "--inc", &pattern])["total"])
}

#[test]
fn causes_and_findings_of_programs_are_there_whatever_else_runs() {
    if !all_rights() {
        return skip("guilty programs, live", "kernel stacks and wakers need root");
    }
    let lab = Lab::new();
    let listed = programs(Group::Guilty);
    for (file, cause, function, finding) in PROGRAMS {
        let program = listed.iter().find(|program| program.file == file).expect("a listed program");
        let source = Source::at(program.path(), program);
        let command = commands(&lab.path(""), &[source]).remove(0).expect("a C compiler");
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        // Of an earlier program.
        let _ = std::fs::remove_file(lab.path("program.culprit"));
        lab.record("program.culprit", &words);
        let time = time_below(&lab, function, cause);
        assert!(time > 0.0, "{file}: no {cause} below {function}");
        let report = lab.json(&["report", "program.culprit", "--all"]);
        let ids: Vec<&Value> = findings(&report).iter().map(|found| &found["id"]).collect();
        assert!(ids.iter().any(|id| *id == finding), "{file}: {finding} is not among {ids:?}");
    }
}
