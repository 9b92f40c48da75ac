//! Finished files that are cut, damaged or hostile: they open or err, and never lie.

use culprit_model::{LossKind, Recording};
use culprit_recording::{Error, Opened, parse, write};

use crate::sample;
use crate::spool::check_promises;

/// Bits to flip, by turns: the lowest, one in the middle, the highest, all.
const MASKS: [u8; 4] = [0x01, 0x10, 0x80, 0xff];

fn finished(n: u32) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    write(&path, &sample::recording(n)).unwrap();
    std::fs::read(path).unwrap()
}

fn damaged(opened: &Opened) -> bool {
    let kinds = [LossKind::FileDamaged, LossKind::NamesDamaged];
    opened.recording.losses.iter().any(|loss| kinds.contains(&loss.kind))
}

#[test]
fn a_finished_file_cut_at_any_byte_opens_with_its_whole_tables_or_errs() {
    let bytes = finished(50);
    let whole = sample::recording(50);
    for cut in 0..bytes.len() {
        match parse("cut", bytes[..cut].to_vec()) {
            Ok(opened) => {
                check_promises(&opened);
                assert!(opened.unfinished.is_none(), "cut at {cut}");
                // Between the last table and the directory nothing is missing but the directory.
                assert!(damaged(&opened), "cut at {cut}");
                let intervals = &opened.recording.intervals;
                assert!(intervals.is_empty() || *intervals == whole.intervals, "cut at {cut}");
            }
            Err(Error::NotRecording { .. } | Error::Meta { .. }) => {}
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
}

#[test]
fn a_large_file_cut_at_any_page_keeps_the_tables_before_the_cut() {
    let bytes = finished(200_000);
    let mut whole_intervals = 0;
    for cut in (0..bytes.len()).step_by(64 << 10) {
        let Ok(opened) = parse("cut", bytes[..cut].to_vec()) else { continue };
        check_promises(&opened);
        whole_intervals += u32::from(opened.recording.intervals.len() == 400_000);
    }
    assert!(whole_intervals > 0, "{} bytes", bytes.len());
}

#[test]
fn a_flipped_byte_is_reported_or_harmless() {
    let good = finished(20);
    let whole = sample::recording(20);
    for at in 0..good.len() {
        let mask = MASKS[at % MASKS.len()];
        let mut bad = good.clone();
        bad[at] ^= mask;
        let Ok(opened) = parse("flipped", bad) else { continue };
        check_promises(&opened);
        assert!(damaged(&opened) || opened.recording == whole, "byte {at} ^ {mask:#x}");
    }
}

/// The bytes of an entry of a finished file without its checksum: where an attacker writes.
fn entry(bytes: &[u8], name: &str) -> std::ops::Range<usize> {
    let header = bytes.windows(name.len()).position(|w| w == name.as_bytes()).unwrap() - 30;
    let field = |at: usize, n: usize| {
        bytes[header + at..header + at + n].iter().rev().fold(0, |v, b| v << 8 | usize::from(*b))
    };
    let start = header + 30 + field(26, 2) + field(28, 2);
    start..start + field(18, 4)
}

/// Writes an entry's checksum anew, so that only the reader's own checks are left.
fn seal(bytes: &mut [u8], name: &str) {
    let data = entry(bytes, name);
    let header = data.start - 30 - name.len();
    let crc = crc32fast::hash(&bytes[data]);
    bytes[header + 14..header + 18].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn hostile_tables_with_right_checksums_keep_every_promise_or_are_left_out() {
    let good = finished(20);
    for table in ["processes", "threads", "frames", "stacks", "intervals", "losses"] {
        let name = format!("{table}.parquet");
        for at in entry(&good, &name) {
            let mut bad = good.clone();
            bad[at] ^= MASKS[at % MASKS.len()];
            seal(&mut bad, &name);
            check_promises(&parse("hostile", bad).unwrap());
        }
    }
}

#[test]
fn hostile_meta_errs_or_opens() {
    let good = finished(1);
    for at in entry(&good, "meta.json") {
        let mut bad = good.clone();
        bad[at] = b'9';
        seal(&mut bad, "meta.json");
        match parse("hostile", bad) {
            Ok(opened) => check_promises(&opened),
            Err(Error::Meta { .. } | Error::Newer { .. }) => {}
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
}

#[test]
fn handles_out_of_range_rows_out_of_order_and_overlaps_are_put_right_and_reported() {
    use culprit_model::{ProcessId, StackId, ThreadId, Time};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    let good = sample::recording(30);
    type Spoil = fn(&mut Recording);
    let wrongs: [(&str, Spoil); 7] = [
        ("an interval's thread", |r| r.intervals[7].thread = ThreadId(9)),
        ("an interval's stack", |r| r.intervals[7].stack = Some(StackId(3))),
        ("a stack that is its own parent", |r| r.stacks[1].parent = Some(StackId(1))),
        ("a thread's process", |r| r.threads[1].process = ProcessId(2)),
        ("the root process", |r| r.meta.root_process = Some(ProcessId(2))),
        ("switches out of order", |r| r.switches.reverse()),
        ("an interval inside another", |r| r.intervals[1].start = Time(0)),
    ];
    for (what, spoil) in wrongs {
        let mut bad = good.clone();
        spoil(&mut bad);
        write(&path, &bad).unwrap();
        let opened = culprit_recording::open(&path).unwrap();
        check_promises(&opened);
        let reported = damaged(&opened) || opened.recording.meta.root_process.is_none();
        assert!(reported, "{what}");
        if what == "switches out of order" {
            assert_eq!(opened.recording.switches, good.switches);
        }
        if what == "a thread's process" {
            assert_eq!(opened.recording.threads, good.threads[..1]);
            assert!(opened.recording.intervals.iter().all(|i| i.thread == ThreadId(0)));
        }
    }
}
