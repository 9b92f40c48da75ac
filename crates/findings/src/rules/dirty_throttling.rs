//! `dirty-throttling`: the kernel delays writers until dirty pages are on the disk.

use culprit_model::{Nanos, ProcessId, counter_names};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct DirtyThrottling;

/// Waits from which writers are held back for good.
const MIN_WAITS: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "dirty-throttling",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &["io-limit-throttling"],
    claim: "The kernel delays writes because more dirty pages wait for the disk than it, or the \
            container's memory limit, allows.",
    signature: "Threads on the critical path are blocked in the kernel's balance_dirty_pages.",
    not_reported: &[],
    why: "A buffered write is as fast as memory until the dirty pages (written, but not yet on the \
          disk) reach their limit: 20 % of the memory, or of the container's limit. From then on \
          each writer sleeps up to 200 ms at a time. So it goes no faster than the disk.",
    fix: &[
        "Write less: compress, or make fewer copies.",
        "Start the writing to disk earlier and keep it steady (sync_file_range, \
         vm.dirty_background_bytes).",
        "Use direct I/O for large files.",
        "Raise the container's memory limit.",
        "Move the files to a faster disk.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; time in `culprit callers balance_dirty_pages \
            fixed.culprit --metric blocked` must be smaller than before",
    thresholds: &[Threshold {
        what: "waits",
        value: MIN_WAITS as f64,
        unit: "count",
        reason: "One or two waits at the end of a burst are normal, and one wait may take 200 ms. \
                 The time itself decides whether the finding is listed.",
        source: "Linux mm/page-writeback.c: MAX_PAUSE",
    }],
};

fn is_held_back(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    kernel_time::is_kernel_work(doing.cause)
        && evidence.stacks.in_family(doing.stack, Family::DirtyLimit)
}

impl Rule for DirtyThrottling {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.doing(|d| is_held_back(evidence, d));
        tally::by(evidence, &segments, |s| Some(evidence.process(evidence.of_segment(s).thread)))
            .into_iter()
            .filter_map(|t| told(evidence, t.key, t.segments))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, process: ProcessId, segments: Vec<SegmentId>) -> Option<Claim> {
    let waited = kernel_time::waited(evidence, &segments);
    let waits = evidence.waits(&segments).len();
    if waits < MIN_WAITS || waited == Nanos::ZERO {
        return None;
    }
    let caller = kernel_time::caller(evidence, &segments);
    let name = evidence.recording.process_name(process);
    let title =
        format!("{name} waits {COST} because it writes faster than the disk, most in `{caller}`");
    let claim = Claim::new(&DOC, title, segments)
        .at(Site::Entry)
        .fact("waits", waits as f64, "count")
        .time("time of one wait (mean)", Nanos(waited.0 / waits as u64));
    let written = evidence.counters.growth(Some(process), counter_names::IO_WRITE_BYTES);
    Some(match written {
        Some(written) => claim.fact("bytes that the process wrote", written.value as f64, "bytes"),
        None => claim,
    })
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn writer(waits: u64, leaf: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("backup", None, 0);
        let write = format!("main;save;libc.so.6!write;k:do_syscall_64;k:ksys_write;k:{leaf}");
        for _ in 0..waits {
            scene.run(main, 10, Cause::CpuUser, "main;save");
            scene.wait(main, 100, Cause::Disk, &write, End::Timer);
        }
        scene.done()
    }

    #[test]
    fn a_writer_at_the_limit_is_told_with_its_function() {
        let recording = writer(20, "balance_dirty_pages_ratelimited_flags");
        let found = first(&recording, "dirty-throttling").expect("found");
        assert_eq!((found.cost.0, &*found.at[0].function), (2_000_000_000, "save"));
        assert_eq!(told(&recording)[0], "dirty-throttling 2000");
    }

    #[test]
    fn one_wait_and_other_waits_of_writes_are_not() {
        assert!(first(&writer(1, "balance_dirty_pages"), "dirty-throttling").is_none());
        assert!(first(&writer(20, "folio_wait_writeback"), "dirty-throttling").is_none());
    }
}
