//! Reads that miss the page cache, by process: how much each wait for the disk fetched.
//!
//! For sequential reads the kernel fetches 128 KiB or more ahead, so the size of what one wait fetched
//! tells them from reads at scattered positions.

use culprit_model::{Cause, Interval, Nanos, ProcessId, Time, counter_names};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::tally;

/// Bytes fetched by one wait up to which reads are small; above, the disk streams.
pub(crate) const SMALL: f64 = 64.0 * 1024.0;

/// What one process reads from storage.
#[derive(Debug)]
pub(crate) struct DiskReads {
    /// Whose.
    pub(crate) process: ProcessId,
    /// Waits for pages, and the kernel's work on them.
    pub(crate) segments: Vec<SegmentId>,
    /// Time of these.
    pub(crate) total: Nanos,
    /// Waits for the disk.
    pub(crate) waits: usize,
    /// Bytes read from storage, where the counter was read.
    pub(crate) bytes: Option<u64>,
    /// Bytes that one wait fetched, where the counter was read and counted a wait.
    pub(crate) each: Option<f64>,
}

impl DiskReads {
    /// Those of every process that reads from storage.
    pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Self> {
        let segments = evidence.doing(|doing| is_miss(evidence, doing));
        let of_process = tally::by(evidence, &segments, |s| {
            Some(evidence.process(evidence.of_segment(s).thread))
        });
        of_process.into_iter().map(|t| Self::new(evidence, t.key, t.segments, t.total)).collect()
    }

    fn new(
        evidence: &Evidence<'_>,
        process: ProcessId,
        segments: Vec<SegmentId>,
        total: Nanos,
    ) -> Self {
        let waits = count(evidence, &segments, Time(u64::MAX));
        // Counters are read now and then: only waits before the last reading belong to its bytes.
        let growth = evidence.counters.growth(Some(process), counter_names::IO_DISK_READ_BYTES);
        let counted = growth.map(|growth| (growth, count(evidence, &segments, growth.until)));
        let counted = counted.filter(|(_, waits)| *waits > 0);
        let each = counted.map(|(growth, waits)| growth.value as f64 / waits as f64);
        Self { process, segments, total, waits, bytes: growth.map(|g| g.value), each }
    }

    /// True where reads name their places in the file: by calls that are given one, or by moving the
    /// position first. Reads from the front to the end of a file do neither.
    pub(crate) fn are_scattered(&self, evidence: &Evidence<'_>) -> bool {
        let within = |i: &Interval, family| evidence.stacks.in_family(i.stack, family);
        let reads = self.segments.iter().copied();
        let reads: Vec<_> = reads
            .filter(|s| within(evidence.of_segment(evidence.chain.segment(*s)), Family::PlacedRead))
            .collect();
        let of_process = evidence.recording.intervals.iter();
        let mut of_process = of_process.filter(|i| evidence.process(i.thread) == self.process);
        evidence.total(&reads).0 * 2 > self.total.0 || of_process.any(|i| within(i, Family::Seek))
    }
}

/// True for a read's wait for pages, and the kernel's own work on it. What a write waits for is no read,
/// although both pass through the same functions of direct I/O.
fn is_miss(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    matches!(doing.cause, Cause::Disk | Cause::CpuKernel)
        && within(Family::ReadMiss)
        && !within(Family::PageFault)
        && !within(Family::WriteCall)
}

/// True for a wait for a file's pages, in a read or a page fault.
pub(crate) fn waits_for_pages(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    doing.cause == Cause::Disk && (within(Family::ReadMiss) || within(Family::FileFault))
}

/// How many waits for the disk a set of segments has that began up to a time.
fn count(evidence: &Evidence<'_>, segments: &[SegmentId], until: Time) -> usize {
    let waits = evidence.waits(segments);
    let waits = waits.iter().map(|w| evidence.interval(*w));
    waits.filter(|w| w.cause == Cause::Disk && w.start <= until).count()
}
