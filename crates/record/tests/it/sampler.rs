//! The library that samples allocations: its numbers, C libraries that it runs with, and recordings of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use culprit_model::{Cost, LossKind, Metric, Recording};
use culprit_place::SharedLibrary;
use culprit_record::{AllocationTrace, Options, SAMPLER_FILE_NAME, Target, plan, sampler_library};

use crate::support::{compiled, folder, lost, names, output, record_with, tool};

/// Writes the library for one test; its path.
fn library(test: &str, mean: u64) -> String {
    let folder = folder().join(format!("{test}.library"));
    std::fs::create_dir_all(&folder).expect("/var/tmp can be written");
    let path = folder.join(SAMPLER_FILE_NAME);
    std::fs::write(&path, sampler_library(mean)).expect("/var/tmp can be written");
    path.to_string_lossy().into_owned()
}

fn sampled_by(path: &str) -> AllocationTrace {
    AllocationTrace::Sampled(SharedLibrary::new(Path::new(path)))
}

/// Says why nothing can be sampled here; none where it can.
fn skipped(test: &str) -> bool {
    let mut options = Options::new(Target::Command, output(test));
    options.extras.allocations = Some(sampled_by("/none"));
    let refused = plan(options).err();
    if let Some(error) = &refused {
        eprintln!("skipped: {test}: {error}: {}", error.hints().join("; "));
    }
    refused.is_some()
}

/// Records with sampled allocations, in which `variables` come before the library's.
fn sampled(test: &str, argv: &[&str], mean: u64, before: &str) -> Recording {
    let library = library(test, mean);
    let preload = format!("{before}{library}");
    let variables = [("LD_PRELOAD", preload.as_str())];
    let change = |options: &mut Options| options.extras.allocations = Some(sampled_by(&library));
    record_with(("host", test), argv, &variables, change).recording
}

/// Sums and variances of a metric by the program's function that allocated.
fn by_caller(recording: &Recording, module: &str, wanted: Metric) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let rows = recording.costs.iter().filter(|row| row.metric == wanted);
    for Cost { stack, value, variance, .. } in rows {
        let stack = stack.map(|stack| names(recording, stack)).unwrap_or_default();
        // First the block's size, then the allocator's function, then its caller.
        let caller = stack.get(2).and_then(|name| name.strip_prefix(&format!("{module}!")));
        let Some(function) = caller else { continue };
        let sum = sums.entry(function.to_owned()).or_default();
        sum.0 += value;
        sum.1 += variance.expect("a sampled value has a variance");
    }
    sums
}

/// The sizes below a function, as they are shown, without repetition.
fn sizes(recording: &Recording, function: &str) -> Vec<String> {
    let rows = recording.costs.iter().filter(|row| row.metric == Metric::Allocs);
    let stacks = rows.filter_map(|row| row.stack).map(|stack| names(recording, stack));
    let below = stacks.filter(|stack| stack.iter().any(|name| name == function));
    let sizes = below.filter_map(|stack| Some(stack.first()?.strip_prefix("[size]!")?.to_owned()));
    sizes.collect::<BTreeSet<_>>().into_iter().collect()
}

fn missing(recording: &Recording) -> Vec<String> {
    let rows = recording.losses.iter().filter(|loss| loss.kind == LossKind::AllocationsMissing);
    rows.map(|loss| loss.detail.to_string()).collect()
}

#[test]
fn estimates_of_a_fixed_seed_are_within_their_errors() {
    // The program includes the library's source: another source is another program.
    let source = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("shim/allocations.c"));
    let version = source
        .expect("the source")
        .iter()
        .fold(0_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let version = format!("-DVERSION={version}u");
    let flags = ["-rdynamic", "-lm", &version];
    let program = compiled("tests/it/programs/sampler.c", "sampler", &flags);
    let ran = tool(&program, &[]);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{text}");
    let mut lines: Vec<&str> = text.lines().collect();
    let ends = lines.pop().expect("a line about frees");
    assert_eq!(lines.len(), 7, "{text}");
    for line in lines {
        let numbers: Vec<f64> =
            line.split(' ').skip(1).map(|word| word.parse().expect("a number")).collect();
        let [count, bytes, samples, of_count, of_bytes, count_variance, bytes_variance] =
            numbers[..]
        else {
            panic!("{line}");
        };
        assert!(samples > 10.0, "{line}");
        let within =
            |truth: f64, value: f64, variance: f64| (value - truth).abs() < 3.5 * variance.sqrt();
        assert!(within(count, of_count, count_variance), "{line}");
        assert!(within(bytes, of_bytes, bytes_variance), "{line}");
    }
    // Everything was freed, and each free of a sampled block was told once.
    let words: Vec<&str> = ends.split(' ').collect();
    assert_eq!(words[1], words[3].trim_end_matches(','), "{ends}");
    assert!(ends.ends_with("0 live, 0 untracked"), "{ends}");
}

#[test]
fn programs_of_both_c_libraries_run_as_without_it() {
    let glibc = compiled("tests/it/programs/preloaded.c", "preloaded", &[]);
    let library = library("preloaded", 4096);
    let preload = format!("LD_PRELOAD={library}");
    let ran = tool("env", &[&preload, &glibc]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n", "{ran:?}");
    let musl = folder().join("preloaded-musl").to_string_lossy().into_owned();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs/preloaded.c");
    let built = tool(
        "sh",
        &["-c", "musl-gcc -O1 -pthread -o \"$1\" \"$2\"", "sh", &musl, &source.to_string_lossy()],
    );
    if !built.status.success() {
        eprintln!("skipped: musl: a program cannot be built with musl-gcc");
        return;
    }
    let ran = tool("env", &[&preload, &musl]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n", "{ran:?}");
}

#[test]
fn sampled_allocations_have_their_callers_and_say_what_lives() {
    if skipped("sampled") {
        return;
    }
    // Without frame pointers: each sample has a dump of its stack.
    let program = compiled("tests/it/programs/keeps.c", "keeps", &["-fomit-frame-pointer"]);
    let recording = sampled("sampled", &[&program], 1, "");
    if lost("sampled", &recording, &[LossKind::ProbeHitsLost]) {
        return;
    }
    // With a mean of one byte every allocation is a sample that stands for itself.
    let of = |metric| by_caller(&recording, "keeps", metric);
    assert_eq!(of(Metric::Allocs).get("dropped"), Some(&(10, 0)));
    assert_eq!(of(Metric::AllocBytes).get("dropped"), Some(&(640, 0)));
    assert_eq!(of(Metric::Allocs).get("grown"), Some(&(8, 0)));
    assert_eq!(of(Metric::AllocBytes).get("grown"), Some(&(4 * 4040, 0)));
    assert_eq!(of(Metric::Allocs).get("kept"), Some(&(9, 0)));
    assert_eq!(of(Metric::Live).get("kept"), Some(&(9, 0)));
    assert_eq!(of(Metric::LiveBytes).get("kept"), Some(&(9 * 500, 0)));
    let live = of(Metric::Live);
    assert!(!live.contains_key("dropped") && !live.contains_key("grown"), "{live:?}");
    let whole = |cost: &Cost| {
        let stack = cost.stack.map(|stack| names(&recording, stack)).unwrap_or_default();
        stack.first().is_some_and(|leaf| leaf == "[size]!500 B")
            && stack.get(1).is_some_and(|name| name.ends_with(".so!malloc"))
            && stack.get(2).is_some_and(|name| name == "keeps!kept")
            && stack.get(3).is_some_and(|name| name == "keeps!main")
    };
    assert!(recording.costs.iter().any(whole), "kept is called by main");
    assert_eq!(sizes(&recording, "keeps!grown"), ["40 B", "4000 B"]);
    assert_eq!(sizes(&recording, "keeps!varied"), ["33-64 B"]);
    assert_eq!(missing(&recording), Vec::<String>::new());
    let stated = recording.losses.iter().find(|loss| loss.kind == LossKind::AllocationsSampled);
    assert!(stated.is_some_and(|loss| loss.detail.contains("standard errors")), "{stated:?}");
    let cost = recording.losses.iter().any(|loss| loss.kind == LossKind::ProbesCost);
    assert!(!cost, "samples are no probes of each event");
}

#[test]
fn a_static_program_says_that_it_was_not_sampled() {
    if skipped("sampled-static") {
        return;
    }
    let program = compiled("tests/it/programs/keeps.c", "keeps-static", &["-static"]);
    let recording = sampled("sampled-static", &[&program], 1, "");
    let rows = missing(&recording);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(
        rows[0].contains("keeps-static: not sampled, because it is linked statically"),
        "{rows:?}"
    );
}

#[test]
fn an_allocator_that_was_preloaded_before_is_named() {
    if skipped("sampled-behind") {
        return;
    }
    let flags = ["-shared", "-fPIC", "-nostartfiles"];
    let allocator = compiled("tests/it/programs/allocator.c", "liballocator.so", &flags);
    let program = compiled("tests/it/programs/keeps.c", "keeps-behind", &[]);
    let recording = sampled("sampled-behind", &[&program], 1, &format!("{allocator}:"));
    let rows = missing(&recording);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(
        rows[0].contains("their `malloc` is in") && rows[0].contains("liballocator.so"),
        "{rows:?}"
    );
    assert!(by_caller(&recording, "keeps-behind", Metric::Allocs).is_empty());
}
