//! Perf map and jitdump that a real runtime wrote about the same run, held against each other.

use std::fs;
use std::path::Path;

use culprit_symbols::{Avma, JitCode, parse_jitdump, parse_perf_map};

use crate::programs::{Workshop, run};

const SCRIPT: &str = "function addTwo(a, b) { return a + b }\n\
                      let sum = 0; for (let i = 0; i < 3e6; i++) sum = addTwo(sum, i);\n\
                      console.log(process.pid)\n";

/// Runs a script under Node with both kinds of map switched on; the perf map and the jitdump file.
fn record(test: &str, folder: &Path) -> Option<(JitCode, JitCode, Vec<u8>)> {
    fs::write(folder.join("add.js"), SCRIPT).expect("a temporary file");
    // The jitdump file is written to the working folder, the map always to /tmp.
    let folder = folder.to_str().expect("UTF-8");
    let command = format!("cd '{folder}' && exec node --perf-basic-prof --perf-prof add.js");
    let pid = match run("sh", &["-c", &command]) {
        Ok(output) => output.trim().to_owned(),
        Err(reason) => {
            println!("skipped: {test}: node: {reason}");
            return None;
        }
    };
    let map = format!("/tmp/perf-{pid}.map");
    let text = fs::read(&map).expect("node wrote a map");
    fs::remove_file(&map).expect("ours to remove");
    let dump = fs::read(format!("{folder}/jit-{pid}.dump")).expect("node wrote a dump");
    let dump = parse_jitdump(&dump, "jit.dump").expect("a jitdump file");
    Some((parse_perf_map(&text), dump, text))
}

/// Addresses that both maps know, those with the same name in both, and those of the script's function.
struct Compared {
    both: u32,
    same: u32,
    of_script: u32,
}

fn compare(test: &str) -> Option<Compared> {
    let workshop = Workshop::new();
    let (map, dump, text) = record(test, &workshop.path(""))?;
    assert_eq!((map.skipped(), dump.skipped()), (0, 0));
    let (mut compared, mut same, mut added) = (0, 0, 0);
    for line in String::from_utf8_lossy(&text).lines() {
        let start = u64::from_str_radix(line.split(' ').next().expect("a word"), 16).expect("hex");
        let (Some(one), Some(other)) =
            (map.lookup(Avma(start), None), dump.lookup(Avma(start), None))
        else {
            continue;
        };
        compared += 1;
        same += u32::from(one.name == other.name);
        added += u32::from(other.name.contains("addTwo"));
    }
    println!("{} in the map, {} in the dump, {same} of {compared} equal", map.len(), dump.len());
    Some(Compared { both: compared, same, of_script: added })
}

#[test]
fn both_maps_of_a_runtime_know_its_code() {
    let Some(found) = compare("both_maps_of_a_runtime_know_its_code") else { return };
    assert!(found.both > 100 && found.same > 0 && found.of_script > 0);
}

#[test]
#[ignore = "statistical: make accuracy"]
fn both_maps_of_a_runtime_say_the_same() {
    let Some(found) = compare("both_maps_of_a_runtime_say_the_same") else { return };
    assert!(found.same * 100 >= found.both * 99, "{} of {}", found.same, found.both);
}
