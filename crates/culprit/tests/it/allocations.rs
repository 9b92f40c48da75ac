//! `record --alloc`: samples, their errors in views, and what is said where nothing can be sampled.

use serde_json::Value;

use crate::support::{
    Image, Lab, all_rights, build, engine_answers, fixtures, program, skip, stderr, stdout,
};

const KEEPS: &str = "../crates/record/tests/it/programs/keeps.c";

/// A lab for a test that needs all rights; none with the reason printed.
fn lab(test: &str) -> Option<Lab> {
    if all_rights() {
        return Some(Lab::new());
    }
    skip(test, "probes in programs take root");
    None
}

/// Records with options; stderr.
fn record(lab: &Lab, options: &[&str], command: &str) -> String {
    let mut record = lab.culprit();
    record.args(["record", "--force", "-o", "x.culprit"]).args(options).args(["--", command]);
    let output = record.output().expect("culprit runs");
    assert!(stderr(&output).contains("x.culprit"), "{}", stderr(&output));
    stderr(&output)
}

fn own(top: &Value, name: &str) -> (u64, f64) {
    let rows = top["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.map_or((0, 0.0), |row| (row["own"].as_u64().unwrap(), row["own_error"].as_f64().unwrap()))
}

#[test]
fn sampled_allocations_are_their_callers_own_with_an_error() {
    let Some(lab) = lab("sampled-own") else { return };
    let program = build(KEEPS, &[]);
    for place in ["host", "sandbox"] {
        // Of a mean of one byte each allocation is a sample, and its error is zero.
        record(&lab, &["--alloc=1", "--place", place], program.to_str().unwrap());
        let top = |metric: &str| lab.json(&["top", "x.culprit", "--metric", metric]);
        assert_eq!(own(&top("allocs"), "keeps!dropped"), (10, 0.0), "{place}");
        assert_eq!(own(&top("alloc-bytes"), "keeps!grown"), (4 * 4040, 0.0), "{place}");
        assert_eq!(own(&top("live-bytes"), "keeps!kept"), (9 * 500, 0.0), "{place}");
        assert_eq!(own(&top("live"), "keeps!dropped"), (0, 0.0), "{place}");
    }
    let text = lab.culprit().args(["top", "x.culprit", "--metric", "allocs"]).output().unwrap();
    let text = stdout(&text);
    assert!(
        text.starts_with("allocs of 1 thread, about ") && text.contains("standard error"),
        "{text}"
    );
}

/// An image with the program, its C library, and something that waits; none where it cannot be built.
fn image_with(lab: &Lab, compiler: &str) -> Option<Image> {
    let script = "set -e; root=$1; mkdir -p $root/tmp
        $2 -O2 -g -fno-omit-frame-pointer -o $root/keeps $3
        if [ $2 = cc ]; then libraries=$(ldd $root/keeps | grep -o '/[^ ]*')
        else libraries=$(ls /lib/ld-musl-*); fi
        cp --parents -L $libraries $root; cp $(command -v busybox) $root/busybox
        ! file $root/busybox | grep -q dynamically";
    let root = lab.path(compiler);
    let mut made = program("sh");
    made.args(["-ec", script, "sh"]).arg(&root).arg(compiler).arg(fixtures().join(KEEPS));
    let made = made.output().expect("a shell");
    if !made.status.success() {
        skip(&format!("sampled-container-{compiler}"), &stderr(&made));
        return None;
    }
    Some(Image::pack(lab, &format!("alloc-{compiler}"), (&root, ".")))
}

/// The allocations of the program were sampled: its own, and those that were kept.
fn is_sampled(lab: &Lab, place: &str) {
    let top = |metric: &str| lab.json(&["top", "x.culprit", "--metric", metric]);
    assert_eq!(own(&top("allocs"), "keeps!dropped"), (10, 0.0), "{place}");
    assert_eq!(own(&top("live-bytes"), "keeps!kept"), (9 * 500, 0.0), "{place}");
    let report = lab.json(&["report", "x.culprit"]);
    let losses = report["losses"].as_array().expect("losses").iter();
    let missing: Vec<_> = losses.filter(|loss| loss["id"] == "allocations-missing").collect();
    assert!(missing.is_empty(), "{place}: {missing:?}");
}

#[test]
fn allocations_in_containers_are_sampled_with_either_c_library() {
    if !all_rights() || !engine_answers() {
        return skip("sampled-container", "root and a container engine");
    }
    let lab = Lab::new();
    for compiler in ["cc", "musl-gcc"] {
        let Some(image) = image_with(&lab, compiler) else { continue };
        let place = format!("docker:{}", image.0);
        record(&lab, &["--alloc=1", "--place", &place], "/keeps");
        is_sampled(&lab, &place);
        let name = format!("culprit-test-alloc-{}", std::process::id());
        let docker = |arguments: &[&str]| {
            let output = program("docker").args(arguments).output().expect("docker");
            assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
            stdout(&output)
        };
        docker(&["run", "-d", "--net=none", "--name", &name, &image.0, "/busybox", "sleep", "600"]);
        record(&lab, &["--alloc=1", "--place", &format!("container:{name}")], "/keeps");
        let changed = docker(&["diff", &name]);
        docker(&["rm", "-f", &name]);
        is_sampled(&lab, "container:");
        assert!(!changed.contains("culprit"), "the library is removed: {changed}");
    }
}

#[test]
fn the_users_preloaded_libraries_stay_and_nothing_of_ours_does() {
    let Some(lab) = lab("sampled-environment") else { return };
    let mut record = lab.culprit();
    record.args(["record", "--alloc", "-o", "x.culprit", "--", "sh", "-c", "echo $LD_PRELOAD"]);
    let output = record.env("LD_PRELOAD", "libc.so.6").output().unwrap();
    let printed = stdout(&output);
    let library = printed.trim().strip_prefix("libc.so.6:").expect("the user's own comes first");
    assert!(library.ends_with("/libculprit-alloc.so"), "{printed}");
    assert!(!std::path::Path::new(library).exists(), "the library is removed");
}

#[test]
fn a_program_that_was_not_sampled_is_named_in_the_report() {
    let Some(lab) = lab("sampled-static-report") else { return };
    let program = build(KEEPS, &["-static"]);
    record(&lab, &["--alloc"], program.to_str().unwrap());
    let report = lab.culprit().args(["report", "x.culprit"]).output().unwrap();
    let text: String = stdout(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("it is linked statically"), "{text}");
    assert!(text.contains("--alloc=every"), "{text}");
}

#[test]
fn processes_that_run_already_are_refused_with_the_other_way() {
    let lab = Lab::new();
    let own = std::process::id().to_string();
    let output = lab.culprit().args(["record", "--alloc", "--pid", &own]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--alloc=every"), "{}", stderr(&output));
}

#[test]
fn the_cost_of_every_allocation_is_said_beforehand() {
    let Some(lab) = lab("every-warning") else { return };
    let program = build(KEEPS, &[]);
    let said = record(&lab, &["--alloc=every"], program.to_str().unwrap());
    assert!(said.contains("every allocation takes up to"), "{said}");
    let top = lab.json(&["top", "x.culprit", "--metric", "allocs"]);
    assert!(top["total"].as_u64().unwrap() >= 27 && top["total_error"].is_null(), "{top}");
}
