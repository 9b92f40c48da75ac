//! `fsync-storm`: a flush to stable storage after each small write.

use std::collections::BTreeMap;

use culprit_model::{Cause, Nanos, ProcessId, StackId, Time, counter_names};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct FsyncStorm;

/// Flushes from which they are a storm.
pub(super) const MIN_FLUSHES: usize = 20;

/// Bytes written by a flush from which the data, not the flush, takes the time.
pub(super) const MAX_BYTES: f64 = 256.0 * 1024.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "fsync-storm",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &["io-limit-throttling"],
    claim: "The program forces data to the disk after each small write.",
    signature: "Many waits, or much kernel time, in fsync, fdatasync, msync, sync, or in writes to a \
                file opened with O_SYNC, on the critical path. The program writes few bytes between \
                two flushes. The finding names the function that flushes.",
    not_reported: &[
        "the flush when a container's file system copies a file before its first change \
         (`overlay-copy-up`)",
    ],
    why: "Each flush waits until the device says that everything is on the disk. This takes 0.2 to \
          5 ms on common disks, and 10 ms or more on hard disks and some virtual disks. A flush of \
          one byte takes about as long as one of 100 KB.",
    fix: &[
        "Flush once for many writes: one transaction around a batch, or one flush for the requests \
         that wait for it (group commit).",
        "Call fdatasync once per batch instead of O_SYNC or fsync per record. A crash before it \
         loses the batch.",
        "If you can afford to lose the last seconds of data in a crash, remove the flush.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `fsync-storm` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "flushes",
            value: MIN_FLUSHES as f64,
            unit: "count",
            reason: "A program that saves a few files flushes each of them once. One that flushes for \
                     each record has many flushes.",
            source: "definition",
        },
        Threshold {
            what: "bytes written per flush",
            value: MAX_BYTES,
            unit: "bytes",
            reason: "From 256 KiB on, writing the data at 500 MB/s takes longer than the flush: \
                     0.5 ms.",
            source: "append and fdatasync of small records: median 0.5 ms, Linux 6.18, ext4",
        },
    ],
};

impl Rule for FsyncStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let storms = flushing(evidence);
        storms.into_iter().filter_map(|t| told(evidence, t.key, t.segments, t.total)).collect()
    }
}

/// The time in flushes, by process.
pub(super) fn flushing(evidence: &Evidence<'_>) -> Vec<Tally<ProcessId>> {
    let flushing = evidence.doing(|d| is_flush(evidence, d));
    tally::by(evidence, &flushing, |s| Some(evidence.process(evidence.of_segment(s).thread)))
}

/// True for a flush's wait, and for the kernel's own work and run queue inside one; but not for the
/// flush that an overlay makes of its own accord when it copies a file up.
fn is_flush(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    let flushes = match doing.cause {
        Cause::Fsync => true,
        Cause::CpuKernel | Cause::Runnable | Cause::Disk => within(Family::Flush),
        _ => false,
    };
    flushes && !within(Family::CopyUp)
}

fn told(
    evidence: &Evidence<'_>,
    process: ProcessId,
    segments: Vec<SegmentId>,
    total: Nanos,
) -> Option<Claim> {
    let flushes = count_flushes(evidence, &segments, Time(u64::MAX));
    let written = evidence.counters.growth(Some(process), counter_names::IO_WRITE_BYTES);
    // Counters are read now and then: only flushes before the last reading belong to its bytes.
    let bytes = written.and_then(|written| {
        let counted = count_flushes(evidence, &segments, written.until);
        (counted >= MIN_FLUSHES).then(|| written.value as f64 / counted as f64)
    });
    if flushes < MIN_FLUSHES || bytes.is_some_and(|b| b > MAX_BYTES) {
        return None;
    }
    let each = Nanos(total.0 / flushes as u64);
    let size = bytes.map_or_else(String::new, |b| format!(", {b:.0} bytes per flush"));
    let title = format!(
        "{} spends {COST} on {flushes} flushes to stable storage: {each} each{size}",
        evidence.recording.process_name(process)
    );
    let mut claim = Claim::new(&DOC, title, segments)
        .fact("flushes", flushes as f64, "count")
        .time("time of one flush (mean)", each);
    match bytes {
        Some(bytes) => claim = claim.fact("bytes written per flush", bytes, "bytes"),
        None => claim.confidence.lower("the recording does not count the bytes written", 0.85),
    }
    Some(claim)
}

/// How many flushes up to a time a set of segments belongs to: a flush waits for the device or the journal once,
/// after it waited for its data. Where no such wait is seen, the stack that was waited in most
/// often is taken for the one that each flush goes through.
pub(super) fn count_flushes(evidence: &Evidence<'_>, segments: &[SegmentId], until: Time) -> usize {
    let mut counts: BTreeMap<(bool, Option<StackId>), usize> = BTreeMap::new();
    let waits = evidence.waits(segments);
    let flushes = waits
        .iter()
        .map(|w| evidence.interval(*w))
        .filter(|i| i.cause == Cause::Fsync && i.start <= until);
    for wait in flushes {
        let commit = evidence.stacks.in_family(wait.stack, Family::Commit);
        *counts.entry((commit, wait.stack.filter(|_| !commit))).or_default() += 1;
    }
    let commits = counts.get(&(true, None)).copied();
    commits.or_else(|| counts.into_values().max()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, MS, Scene, first};
    use culprit_model::{Cause, Recording, counter_names};

    const DATA: &str = "main;append;libc.so.6!fdatasync;k:do_fsync;k:file_write_and_wait_range";
    const DEVICE: &str = "main;append;libc.so.6!fdatasync;k:do_fsync;k:blkdev_issue_flush";

    fn records(count: u64, bytes_each: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("logger", None, 0);
        for _ in 0..count {
            scene.run(main, 1, Cause::CpuUser, "main;append");
            scene.wait(main, 1, Cause::Fsync, DATA, End::Disk);
            scene.spend(main, 20_000, Cause::CpuKernel, DEVICE, End::Unknown);
            scene.wait(main, 2, Cause::Fsync, DEVICE, End::Disk);
        }
        scene.counter(Some(main), counter_names::IO_WRITE_BYTES, count * bytes_each);
        scene.done()
    }

    #[test]
    fn a_flush_a_record_is_told_with_its_bytes() {
        let found = first(&records(50, 100), "fsync-storm").expect("found");
        assert_eq!(found.cost.0, 50 * (3 * MS + 20_000));
        assert!(
            found.title.contains("50 flushes to stable storage: 3.02 ms each, 100 bytes"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "append");
    }

    #[test]
    fn a_few_flushes_or_large_ones_are_not() {
        assert!(first(&records(5, 100), "fsync-storm").is_none());
        assert!(first(&records(50, 4 << 20), "fsync-storm").is_none());
    }
}
