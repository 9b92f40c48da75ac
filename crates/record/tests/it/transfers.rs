//! Bytes that a program reads and writes, and the processor's counters.

use culprit_model::{LossKind, Metric, Recording, Rung};
use culprit_record::{Options, Target, plan};

use crate::support::{compiled, lost, names, output, record, scratch, stands_on};

/// Bytes below a function of the program.
fn below(recording: &Recording, function: &str) -> u64 {
    let rows = recording.costs.iter().filter(|row| row.metric == Metric::IoBytes);
    let below = rows.filter(|row| {
        let stack = row.stack.map(|stack| names(recording, stack)).unwrap_or_default();
        stack.iter().any(|name| name == function)
    });
    below.map(|row| row.value).sum()
}

#[test]
fn bytes_are_counted_exactly_below_the_functions_that_move_them() {
    let mut options = Options::new(Target::Command, output("transfers"));
    options.extras.transfers = true;
    if let Err(error) = plan(options) {
        eprintln!("skipped: transfers: {error}: {}", error.hints().join("; "));
        return;
    }
    let program = compiled("tests/it/programs/moves.c", "moves", &["-fno-omit-frame-pointer"]);
    let file = format!("{}/moved", scratch("transfers"));
    let change = |options: &mut Options| options.extras.transfers = true;
    let recording = record("transfers", &[&program, &file], change).recording;
    if lost("transfers", &recording, &[LossKind::ProbeHitsLost]) {
        return;
    }
    assert_eq!(below(&recording, "moves!all"), 200_000 + 400);
    let parts = ["moves!save", "moves!load", "moves!pass", "moves!fail"];
    assert_eq!(parts.map(|part| below(&recording, part)), [100_000, 100_000, 400, 0]);
}

#[test]
fn counters_are_there_or_said_to_be_missing() {
    let change = |options: &mut Options| options.extras.counters = true;
    let program = compiled("tests/it/programs/deepers.c", "deepers-counted", &[]);
    let recording = record("counters", &[&program], change).recording;
    if !stands_on("counters", &recording, Rung::UserOnly) {
        return;
    }
    let counted = |metric| recording.costs.iter().filter(|row| row.metric == metric).count() > 0;
    let missing = recording.losses.iter().find(|loss| loss.kind == LossKind::CountersMissing);
    match missing {
        Some(loss) => {
            assert!(loss.detail.contains("cycles") || counted(Metric::Cycles), "{loss:?}")
        }
        None => assert!(counted(Metric::Cycles) && counted(Metric::Instructions)),
    }
}
