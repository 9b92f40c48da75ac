//! The file while the recorder runs: what was appended opens, whatever happened to the rest.

use culprit_model::{
    Frame, Interval, LossKind, Meta, Process, Recording, Stack, Switch, Text, Thread, Time,
};
use culprit_recording::{Error, Opened, SpoolOptions, SpoolWriter, open, parse, write};

use crate::sample;

culprit_model::table! {
    /// Scratch data of a recorder: raw addresses of a stack.
    Address in "addresses" {
        /// Which stack.
        stack: u32,
        /// Where.
        address: u64,
        /// A name, where one is known.
        name: Option<Text>,
    }
}

fn address(i: u32) -> Address {
    Address {
        stack: i,
        address: u64::from(i) << 40,
        name: i.is_multiple_of(3).then(|| Text::from("f")),
    }
}

fn unfinished_meta() -> Meta {
    Meta { complete: false, wall: culprit_model::Nanos::ZERO, ..sample::meta() }
}

/// A spool as a recorder makes it: tables that others point to, scratch data, events in parts.
fn spool(path: &std::path::Path, parts: u32) -> SpoolWriter {
    let recording = sample::recording(0);
    let mut spool = SpoolWriter::create(path, &unfinished_meta(), SpoolOptions::default()).unwrap();
    spool.replace::<Process>(&recording.processes[..1]).unwrap();
    spool.append::<Frame>(&recording.frames[..1]).unwrap();
    spool.append::<Stack>(&recording.stacks[..1]).unwrap();
    spool.replace::<Process>(&recording.processes).unwrap();
    spool.replace::<Thread>(&recording.threads).unwrap();
    spool.append::<Frame>(&recording.frames[1..]).unwrap();
    spool.append::<Stack>(&recording.stacks[1..]).unwrap();
    for part in 0..parts {
        let rows: Vec<Switch> = (part * 100..part * 100 + 100).map(sample::switch).collect();
        spool.append_events(&rows).unwrap();
        spool.append(&[address(part)]).unwrap();
    }
    spool
}

fn losses(recording: &Recording, kind: LossKind) -> u64 {
    recording.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
}

/// How much is damaged.
fn damage(recording: &Recording) -> u64 {
    losses(recording, LossKind::FileDamaged) + losses(recording, LossKind::NamesDamaged)
}

/// What every opened recording promises: no handle names a row that is not there.
#[track_caller]
pub(crate) fn check_promises(opened: &Opened) {
    let r = &opened.recording;
    let stack_ok = |s: Option<culprit_model::StackId>| s.is_none_or(|s| s.index() < r.stacks.len());
    let thread_ok = |t: culprit_model::ThreadId| t.index() < r.threads.len();
    assert!(r.threads.iter().all(|t| t.process.index() < r.processes.len()));
    assert!(r.frames.iter().all(|f| f.module.is_none_or(|m| m.index() < r.modules.len())));
    for (row, stack) in r.stacks.iter().enumerate() {
        assert!(stack.parent.is_none_or(|p| p.index() < row), "stack {row}");
        assert!(stack.frame.index() < r.frames.len(), "stack {row}");
    }
    assert!(r.switches.iter().all(|s| thread_ok(s.thread) && stack_ok(s.stack)));
    assert!(r.samples.iter().all(|s| thread_ok(s.thread) && stack_ok(s.stack)));
    assert!(r.wakeups.iter().all(|w| thread_ok(w.thread) && stack_ok(w.waker_stack)));
    let wake = |i: &Interval| i.waker.is_none_or(thread_ok) && stack_ok(i.waker_stack);
    assert!(r.intervals.iter().all(|i| thread_ok(i.thread) && stack_ok(i.stack) && wake(i)));
    assert!(r.intervals.is_sorted_by_key(|i| (i.thread, i.start)));
    for pair in r.intervals.windows(2) {
        let apart = pair[0].start + pair[0].duration <= pair[1].start;
        assert!(pair[0].thread != pair[1].thread || apart);
    }
}

#[test]
fn all_that_was_appended_opens_while_the_recorder_still_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    let mut writer = spool(&path, 3);
    let opened = open(&path).unwrap();
    let expected = sample::recording(0);
    let recording = &opened.recording;
    assert_eq!(recording.processes, expected.processes);
    assert_eq!(recording.threads, expected.threads);
    assert_eq!(recording.stacks, expected.stacks);
    assert_eq!(recording.switches, (0..300).map(sample::switch).collect::<Vec<_>>());
    assert!(!recording.meta.complete);
    assert_eq!(recording.meta.wall.0, 2990, "the last time that is known");
    assert_eq!(losses(recording, LossKind::RecorderKilled), 1);
    assert_eq!(damage(recording), 0, "{:?}", recording.losses);
    let scratch = opened.unfinished.unwrap();
    assert!(scratch.is_live());
    assert_eq!(
        scratch.tables(),
        ["addresses", "frames", "processes", "stacks", "switches", "threads"]
    );
    let addresses = scratch.read_parts::<Address>();
    assert_eq!(addresses.rows, [address(0), address(1), address(2)]);
    assert_eq!(addresses.losses, []);

    // The file that was opened keeps growing; a new look sees more.
    writer.replace_meta(&Meta { kernel: "later".into(), ..unfinished_meta() }).unwrap();
    writer.append(&[address(3)]).unwrap();
    let opened = open(&path).unwrap();
    assert_eq!(opened.recording.meta.kernel, "later");
    assert_eq!(opened.unfinished.unwrap().read_parts::<Address>().rows.len(), 4);

    // Nobody else may write it, and when the recorder is gone that can be seen.
    let second = SpoolWriter::create(&path, &unfinished_meta(), SpoolOptions::default());
    assert!(matches!(second, Err(Error::Busy { .. })), "{second:?}");
    drop(writer);
    let opened = open(&path).unwrap();
    assert!(!opened.unfinished.unwrap().is_live());
    assert_eq!(opened.recording.switches.len(), 300);
}

#[test]
fn a_spool_cut_at_any_byte_opens_up_to_its_last_whole_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    spool(&path, 3);
    let bytes = std::fs::read(&path).unwrap();
    let mut last = (0, 0);
    for cut in 0..bytes.len() {
        match parse("cut", bytes[..cut].to_vec()) {
            Ok(opened) => {
                check_promises(&opened);
                let scratch = opened.unfinished.expect("a spool stays one");
                let found =
                    (opened.recording.switches.len(), scratch.read_parts::<Address>().rows.len());
                assert!(found >= last, "cut at {cut}: {found:?} after {last:?}");
                assert_eq!(losses(&opened.recording, LossKind::RecorderKilled), 1);
                let damaged = damage(&opened.recording);
                assert_eq!(damaged, 0, "cut at {cut}: {:?}", opened.recording.losses);
                last = found;
            }
            Err(Error::NotRecording { .. } | Error::Meta { .. }) => {
                assert_eq!(last, (0, 0), "cut at {cut}");
            }
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
    assert_eq!(last, (300, 2));
}

#[test]
fn a_flipped_byte_costs_the_part_that_it_stands_in_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    spool(&path, 3);
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        let Ok(opened) = parse("flipped", bad) else { continue };
        check_promises(&opened);
        // With a damaged table of threads, the switches have nobody to belong to.
        if opened.recording.threads.len() == 2 {
            assert!(opened.recording.switches.len() >= 200, "byte {at}");
        }
    }
}

#[test]
fn a_damaged_part_of_a_table_that_others_point_to_cuts_the_table_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    spool(&path, 1);
    let mut bytes = std::fs::read(&path).unwrap();
    let name = b"parts/frames.000002.parquet";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
    bytes[at + 300] ^= 1;
    let opened = parse("damaged", bytes).unwrap();
    check_promises(&opened);
    assert_eq!(opened.recording.frames.len(), 1, "the first part is whole");
    assert_eq!(opened.recording.stacks.len(), 1, "the others name frames that are gone");
    assert!(damage(&opened.recording) >= 2);
}

#[test]
fn a_damaged_header_hides_its_part_and_all_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    spool(&path, 1);
    let good = std::fs::read(&path).unwrap();
    for (part, left) in [("parts/frames.000001.parquet", 0), ("parts/frames.000002.parquet", 1)] {
        let mut bytes = good.clone();
        let at = bytes.windows(part.len()).position(|w| w == part.as_bytes()).unwrap();
        bytes[at - 30] = 0;
        let opened = parse("damaged", bytes).unwrap();
        check_promises(&opened);
        assert_eq!(opened.recording.frames.len(), left, "{part}");
        assert!(damage(&opened.recording) > 0, "{part}");
    }
}

#[test]
fn the_size_bound_drops_the_oldest_events_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    let bound = 64 << 10;
    let options = SpoolOptions { max_event_bytes: Some(bound) };
    let mut spool = match SpoolWriter::create(&path, &unfinished_meta(), options) {
        Ok(spool) => spool,
        Err(Error::Unbounded { source, .. }) => {
            println!("skipped: size bound: a file system with PUNCH_HOLE ({source})");
            return;
        }
        Err(other) => panic!("{other}"),
    };
    spool.append::<Thread>(&sample::recording(0).threads).unwrap();
    for part in 0..200 {
        let rows: Vec<Switch> = (part * 1000..part * 1000 + 1000).map(sample::switch).collect();
        spool.append_events(&rows).unwrap();
        spool.replace::<Process>(&sample::recording(0).processes).unwrap();
        assert!(spool.event_bytes() <= bound);
    }
    let on_disk = std::os::unix::fs::MetadataExt::blocks(&path.metadata().unwrap()) * 512;
    assert!(on_disk < 4 * bound, "{on_disk} bytes on disk of {}", spool.len());
    let opened = open(&path).unwrap();
    check_promises(&opened);
    let recording = &opened.recording;
    assert_eq!(recording.threads.len(), 2, "rows that others point to stay");
    let first = recording.switches.first().unwrap().time;
    assert_eq!(recording.switches.last().unwrap().time, Time(1_999_990), "the newest stay");
    let dropped = recording.losses.iter().find(|l| l.kind == LossKind::OldestDropped).unwrap();
    assert_eq!(dropped.count + recording.switches.len() as u64, 200_000);
    assert_eq!((dropped.from, dropped.to), (Some(Time(0)), Some(Time(first.0 - 10))));
    assert_eq!(damage(recording), 0, "{:?}", recording.losses);
}

#[test]
fn the_finished_file_takes_the_place_of_the_spool() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    let mut spool = spool(&path, 1);
    write(&path, &sample::recording(10)).unwrap();
    assert_eq!(open(&path).unwrap().recording, sample::recording(10));
    // The recorder's own handle is to the old file now; it cannot hurt the new one.
    spool.append(&[address(9)]).unwrap();
    assert_eq!(open(&path).unwrap().recording, sample::recording(10));
}
