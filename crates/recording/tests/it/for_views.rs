//! What views need, read by column: the same as the rows, and the same damage.

use culprit_model::{CostColumns, IntervalColumns, Recording};
use culprit_recording::{open, open_for_views, write};

use crate::sample;

#[test]
fn columns_are_those_of_the_rows_and_the_small_tables_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    // The large one is read by several threads, where there are some.
    for recording in [Recording::default(), sample::recording(50), sample::recording(200_000)] {
        write(&path, &recording).unwrap();
        let found = open_for_views(&path).unwrap();
        let (intervals, costs) = found.columns.expect("an undamaged file");
        let rows = &recording.intervals;
        let of_rows = IntervalColumns::of(rows);
        assert_eq!(
            (&intervals.thread, &intervals.start, &intervals.duration, &intervals.cause),
            (&of_rows.thread, &of_rows.start, &of_rows.duration, &of_rows.cause)
        );
        assert!((0..rows.len()).all(|at| intervals.stack.get(at) == rows[at].stack));
        let rows = &recording.costs;
        let of_rows = CostColumns::of(rows);
        assert_eq!(
            (&costs.time, &costs.duration, &costs.metric, &costs.value, &costs.count),
            (&of_rows.time, &of_rows.duration, &of_rows.metric, &of_rows.value, &of_rows.count)
        );
        let same = |at: usize| {
            (costs.thread.get(at), costs.stack.get(at), costs.cause.get(at))
                == (rows[at].thread, rows[at].stack, rows[at].cause)
        };
        assert!((0..rows.len()).all(same));
        let seen = Recording {
            switches: if intervals.is_empty() { recording.switches } else { Vec::new() },
            samples: Vec::new(),
            intervals: Vec::new(),
            wakeups: Vec::new(),
            mappings: Vec::new(),
            marks: Vec::new(),
            counters: Vec::new(),
            observations: Vec::new(),
            activity_edges: Vec::new(),
            costs: Vec::new(),
            ..recording
        };
        assert_eq!(found.opened.recording, seen);
    }
}

#[test]
fn damage_is_told_as_by_open_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    write(&path, &sample::recording(20)).unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        match (open(&path), open_for_views(&path)) {
            (Ok(whole), Ok(found)) if found.columns.is_none() => {
                assert_eq!(found.opened.recording, whole.recording, "at {at}");
            }
            (Ok(whole), Ok(found)) => {
                assert_eq!(found.opened.recording.losses, whole.recording.losses, "at {at}");
            }
            (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string(), "at {at}"),
            (one, other) => panic!("at {at}: {one:?}, {other:?}"),
        }
    }
}
