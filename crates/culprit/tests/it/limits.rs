//! What a recording holds and what it ends: the command's own time, all of its processes, so many
//! bytes.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{Lab, all_rights, engine_answers, number, program, skip, stderr};

/// How many processes that have not ended have this word in their command lines.
fn living_with(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

#[test]
fn a_limit_ends_all_of_the_command_and_nobody_else() {
    let lab = Lab::new();
    let mark = format!("7{}", std::process::id());
    let (own, other) = (format!("4321.{mark}"), format!("4322.{mark}"));
    let mut neighbour = program("sleep").arg(&other).spawn().expect("sleep");
    // Children in sessions of their own, whose parents have ended, and one that ignores requests.
    let script = format!(
        "(setsid sleep {own} &); setsid sh -c 'trap \"\" TERM; sleep {own} & wait; wait' & sleep {own}"
    );
    // Long enough that all of them have begun.
    let arguments = ["record", "-o", "cut.culprit", "-d", "3", "--", "sh", "-c", &script];
    let output = lab.culprit().args(arguments).output().expect("culprit runs");
    let left = living_with(&own);
    let neighbours = living_with(&other);
    neighbour.kill().expect("it lives");
    neighbour.wait().expect("it ends");
    assert_eq!(left, 0, "{}", stderr(&output));
    assert_eq!(neighbours, 1);
    let report = lab.json(&["report", "cut.culprit"]);
    assert!(report["threads"].as_array().is_some_and(|threads| threads.len() >= 3), "{report}");
}

#[test]
fn a_containers_time_is_that_of_its_command() {
    let name = "a_containers_time_is_that_of_its_command";
    if !all_rights() || !engine_answers() {
        return skip(name, "root and a container engine");
    }
    let lab = Lab::new();
    let arguments =
        ["record", "-o", "own.culprit", "--place", "docker:@host", "--", "sleep", "0.4"];
    let output = lab.culprit().args(arguments).output().expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let opened = culprit_recording::open(lab.path("own.culprit")).expect("it opens").recording;
    let names: Vec<&str> = opened.threads.iter().map(|row| row.name.as_str()).collect();
    let recorded = opened.threads.iter().filter(|row| row.recorded);
    assert_eq!(recorded.map(|row| row.name.as_str()).collect::<Vec<_>>(), ["sleep"], "{names:?}");
    let thread = opened.threads.iter().find(|row| row.recorded).expect("just seen");
    assert_eq!(thread.start.0, 0);
    assert_eq!(thread.end.map(|end| end.0), Some(opened.meta.wall.0), "it ends with the command");
    assert_eq!(
        opened.meta.command_span.map(|(from, to)| (from.0, to.0)),
        Some((0, opened.meta.wall.0))
    );
    let functions: Vec<String> = (0..opened.frames.len())
        .map(culprit_model::FrameId::from_index)
        .map(|id| opened.frame_name(id))
        .collect();
    // The kernel has functions that truncate.
    let of_the_engine = |name: &String| name.split(['!', '/']).any(|part| part == "runc");
    assert!(!functions.iter().any(of_the_engine), "{functions:?}");
}

#[test]
fn a_containers_quota_is_seen_with_the_kernels_own_counts() {
    let name = "a_containers_quota_is_seen_with_the_kernels_own_counts";
    if !all_rights() || !engine_answers() {
        return skip(name, "root and a container engine");
    }
    let lab = Lab::new();
    // A quota so small that also a busy machine gives more than it.
    let place = "docker:@host,cpus=0.03";
    let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let arguments = ["record", "-o", "quota.culprit", "--place", place, "--", "sh", "-c", script];
    let output = lab.culprit().args(arguments).output().expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let document = lab.json(&["findings", "quota.culprit", "--all"]);
    let findings = document["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["id"] == "cpu-quota-throttling");
    let evidence = &finding.unwrap_or_else(|| panic!("{document}"))["evidence"];
    let value = |what: &str| {
        let facts = evidence.as_array().expect("facts").iter();
        facts.filter(|fact| fact["what"] == what).map(|fact: &Value| number(&fact["value"])).next()
    };
    assert!(value("quota periods that were throttled").is_some_and(|n| n > 0.0), "{evidence}");
    assert!(
        value("CPUs that the quota allows").is_some_and(|n| (n - 0.03).abs() < 1e-9),
        "{evidence}"
    );
}

#[test]
fn a_file_keeps_to_its_bound_and_to_the_newest() {
    let lab = Lab::new();
    let script = "dd if=/dev/zero bs=1 count=60000 2>&1 | dd bs=1 of=/dev/null 2>&1; echo last";
    let arguments = ["record", "-o", "bound.culprit", "--max-mib", "1", "--", "sh", "-c", script];
    let mut culprit = lab.culprit();
    let output = culprit.args(arguments).stdout(Stdio::piped()).output().expect("culprit runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let size = std::fs::metadata(lab.path("bound.culprit")).expect("it is written").len();
    assert!(size <= (1 << 20) + (128 << 10), "{size}");
    let opened = culprit_recording::open(lab.path("bound.culprit")).expect("it opens").recording;
    let last = opened.intervals.iter().map(|row| (row.start + row.duration).0).max();
    assert_eq!(last, Some(opened.meta.wall.0), "the newest part");
}
