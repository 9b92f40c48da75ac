//! Every allocation of a program that makes known ones.

use std::collections::BTreeMap;

use culprit_model::{Cost, LossKind, Metric, Recording};
use culprit_record::{AllocationTrace, Options, Target, plan};

use crate::support::{compiled, lost, names, output, record_in};

/// Says why nothing can be probed here; none where it can.
fn skipped(test: &str) -> bool {
    let mut options = Options::new(Target::Command, output(test));
    options.extras.allocations = Some(AllocationTrace::Every);
    let refused = plan(options).err();
    if let Some(error) = &refused {
        eprintln!("skipped: {test}: {error}: {}", error.hints().join("; "));
    }
    refused.is_some()
}

/// Records with allocations.
fn allocations(place: &str, test: &str, argv: &[&str]) -> Recording {
    record_in(place, test, argv, |options| {
        options.extras.allocations = Some(AllocationTrace::Every)
    })
    .recording
}

/// Number and bytes of what each function of the program asked for itself.
fn by_function(recording: &Recording, module: &str) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for Cost { stack, metric, value, .. } in &recording.costs {
        let stack = stack.map(|stack| names(recording, stack)).unwrap_or_default();
        // First the allocator's function, then its caller.
        let caller = stack.get(1).and_then(|name| name.strip_prefix(&format!("{module}!")));
        let Some(function) = caller else { continue };
        let sum = sums.entry(function.to_owned()).or_default();
        match metric {
            Metric::Allocs => sum.0 += value,
            Metric::AllocBytes => sum.1 += value,
            _ => {}
        }
    }
    sums
}

fn is_exact(recording: &Recording, module: &str, plain: u64) {
    if lost(&format!("allocations of {module}"), recording, &[LossKind::ProbeHitsLost]) {
        return;
    }
    let sums = by_function(recording, module);
    let of = |name: &str| sums.get(name).copied().unwrap_or_default();
    assert_eq!(of("plain"), (plain, plain * 64), "{sums:?}");
    assert_eq!(of("zeroed"), (200, 200 * 150), "{sums:?}");
    assert_eq!(of("grown"), (200, 100 * 4040), "{sums:?}");
    assert_eq!(of("aligned"), (150, 150 * 256), "{sums:?}");
    assert_eq!(of("helper"), (300, 300 * 128), "{sums:?}");
}

#[test]
fn allocations_are_counted_exactly_by_the_functions_that_make_them() {
    if skipped("allocations") {
        return;
    }
    let program = compiled("tests/it/programs/allocs.c", "allocs", &["-fno-omit-frame-pointer"]);
    let recording = allocations("host", "allocations", &[&program, "10"]);
    is_exact(&recording, "allocs", 10_000);
    let cost = recording.losses.iter().find(|loss| loss.kind == LossKind::ProbesCost);
    let cost = cost.expect("what the probes cost is told");
    // Each of the 150 aligned ones and of the first hundred grown ones is two hits.
    let all_hits = !lost("hits", &recording, &[LossKind::ProbeHitsLost]);
    assert!(!all_hits || cost.count >= 10_000 + 200 + 200 + 150 + 300, "{cost:?}");
    assert!(cost.detail.contains("probes added about"), "{cost:?}");
    assert!(recording.costs.is_sorted_by_key(|row| (row.thread, row.time)));
}

#[test]
fn a_static_program_allocates_by_its_own_functions() {
    if skipped("allocations-static") {
        return;
    }
    let flags = ["-static", "-fno-omit-frame-pointer"];
    let program = compiled("tests/it/programs/allocs.c", "allocs-static", &flags);
    let recording = allocations("host", "allocations-static", &[&program]);
    is_exact(&recording, "allocs-static", 1000);
}

#[test]
fn callers_without_frame_pointers_are_known_too() {
    if skipped("allocations-bare") {
        return;
    }
    let flags = ["-fomit-frame-pointer"];
    let program = compiled("tests/it/programs/allocs.c", "allocs-bare", &flags);
    let recording = allocations("host", "allocations-bare", &[&program]);
    is_exact(&recording, "allocs-bare", 1000);
    // The first hit of each probe has a dump, and nobody else calls `realloc` here.
    let whole = |cost: &Cost| {
        let stack = cost.stack.map(|stack| names(&recording, stack)).unwrap_or_default();
        let has = |function: &str| stack.iter().any(|name| name == function);
        has("allocs-bare!main") && has("allocs-bare!grown")
    };
    assert!(recording.costs.iter().any(whole), "grown is called by main");
}

#[test]
fn allocations_in_a_sandbox_are_seen_from_the_first_one_on() {
    if skipped("allocations-sandbox") {
        return;
    }
    let flags = ["-fno-omit-frame-pointer"];
    let program = compiled("tests/it/programs/allocs.c", "allocs-inside", &flags);
    let recording = allocations("sandbox", "allocations-sandbox", &[&program]);
    is_exact(&recording, "allocs-inside", 1000);
}
