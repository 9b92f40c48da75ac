//! Recordings without build ids, as `perf record -z` and `-B` write them: the kernel's names are there on
//! the machine that recorded.

#![expect(clippy::disallowed_methods, reason = "perf itself is what this is held against")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use culprit_exchange::read;
use culprit_model::{LossKind, Recording};

/// A command that spends its time in the kernel.
const COMMAND: [&str; 5] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=30000"];

fn record(folder: &Path, options: &[&str]) -> Result<(), String> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-g", "-e", "cpu-clock", "-F", "999", "-o", "perf.data"]);
    perf.args(options).arg("--").args(COMMAND).current_dir(folder);
    let ran = perf.output().map_err(|error| format!("perf does not run: {error}"))?;
    let said = || String::from_utf8_lossy(&ran.stderr).trim().to_owned();
    if ran.status.success() { Ok(()) } else { Err(format!("perf cannot record: {}", said())) }
}

/// The kernel's functions that perf names, and how many addresses of the kernel it cannot name.
fn named_by_perf(folder: &Path) -> (BTreeSet<String>, usize) {
    let mut perf = Command::new("perf");
    perf.args(["script", "-i", "perf.data", "-F", "ip,sym,dso"]).current_dir(folder);
    let text = perf.output().expect("perf script").stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let kernel = text.lines().filter(|line| line.contains("([kernel.kallsyms])"));
    let names = kernel.filter_map(|line| line.split_whitespace().nth(1)).map(str::to_owned);
    let (unnamed, names): (Vec<String>, Vec<String>) = names.partition(|name| name == "[unknown]");
    (names.into_iter().collect(), unnamed.len())
}

/// The kernel's functions of a recording.
fn named_here(recording: &Recording) -> BTreeSet<String> {
    let stacks = recording.costs.iter().filter_map(|cost| cost.stack);
    let frames = stacks.flat_map(|stack| recording.stack(stack));
    let names = frames.map(|frame| recording.frame_name(frame));
    names.filter_map(|name| name.strip_prefix("[kernel]!").map(str::to_owned)).collect()
}

#[test]
fn the_kernels_names_are_there_on_the_machine_that_recorded() {
    let test = "the_kernels_names_are_there_on_the_machine_that_recorded";
    let folder = tempfile::tempdir().expect("a folder");
    let kallsyms = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    if !kallsyms
        .lines()
        .any(|line| line.ends_with(" _text") && !line.starts_with("0000000000000000"))
    {
        println!("skipped: {test}: /proc/kallsyms hides addresses from this user");
        return;
    }
    for options in [&["-z"][..], &["-B"], &["-z", "-B"], &[]] {
        match record(folder.path(), options) {
            Ok(()) => {}
            // A perf without zstd.
            Err(why) => {
                println!("skipped: {test}: {options:?}: {why}");
                continue;
            }
        }
        let path = folder.path().join("perf.data");
        let recording = read(&path, None, &mut |_, _| ()).expect("a perf.data").recording;
        let missing = |kind| recording.losses.iter().any(|loss| loss.kind == kind);
        assert!(!missing(LossKind::KernelSymbolsMissing), "{options:?}: {:?}", recording.losses);
        let (theirs, unnamed) = named_by_perf(folder.path());
        let ours = named_here(&recording);
        assert!(!ours.is_empty(), "{options:?}: a command that is in the kernel");
        assert!(unnamed > 0 || !ours.contains("?"), "{options:?}: {ours:?}");
        // Several names may stand at one address, and each tool takes one of them.
        let common = theirs.intersection(&ours).count();
        assert!(common * 10 >= theirs.len() * 9, "{options:?}: {theirs:?} here {ours:?}");
    }
}
