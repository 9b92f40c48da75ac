//! `major-page-faults`: threads wait in page faults that read from disk.

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, Text, ThreadId, Time};

use crate::evidence::{Evidence, Family, IntervalId, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold, fact};

/// The rule.
pub(crate) struct MajorPageFaults;

/// Page faults from which the pattern, not a single page, is reported.
const MIN_FAULTS: u64 = 10;

/// How many files are listed.
const MAX_FILES: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "major-page-faults",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &["memory-limit-reread", "io-limit-throttling"],
    claim: "Threads wait while pages of mapped files, or of swap, are read from disk one after the \
            other.",
    signature: "A thread on the critical path is blocked in a page fault that reads from disk. If \
                the disk answers before the thread blocks, the kernel's work for the fault counts. \
                The address of the fault identifies the file.",
    not_reported: &[],
    why: "A fault reads one page, or a small window around it, and the thread waits for it. A page \
          takes 72 us from disk and 1 us from the page cache. Code, libraries and data that are \
          not in the page cache are read in the order of their first touch.",
    fix: &[
        "Read the file sequentially before use: `read`, `MAP_POPULATE` or \
         `madvise(MADV_WILLNEED)`.",
        "Keep the file in the page cache: make a warm-up run, or run `vmtouch -t FILE`.",
        "Make the file smaller.",
        "Use huge pages where the file system has them.",
        "Raise the memory limit if the page cache is dropped because of it.",
        "Add RAM or use less memory if the pages come from swap.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; with a warm page cache, `major-page-faults` \
            must be gone from `culprit findings fixed.culprit`",
    thresholds: &[Threshold {
        what: "page faults that read from disk",
        value: MIN_FAULTS as f64,
        unit: "count",
        reason: "Every start after an idle time reads a few pages. From here on, the share of the \
                 run time decides whether the finding is listed.",
        source: "fault on a mapped file: cold 72 to 77 us, warm 0.9 to 1.3 us, Linux 6.18",
    }],
};

/// True for a fault's wait for the disk, and for the kernel's own work and run queue around it.
fn is_read_by_fault(evidence: &Evidence<'_>, interval: &Interval) -> bool {
    match interval.cause {
        Cause::Fault => true,
        Cause::CpuKernel | Cause::Runnable => {
            evidence.stacks.in_family(interval.stack, Family::FileFault)
                && evidence.faults.any_of(interval.thread)
        }
        _ => false,
    }
}

/// How many faults that read from disk the threads had, from their first segment to their last.
fn faults(evidence: &Evidence<'_>, segments: &[SegmentId]) -> u64 {
    let mut spans: BTreeMap<ThreadId, (Time, Time)> = BTreeMap::new();
    for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
        let end = segment.start + segment.length;
        let thread = evidence.of_segment(segment).thread;
        let span = spans.entry(thread).or_insert((segment.start, end));
        *span = (span.0.min(segment.start), span.1.max(end));
    }
    let of = |(thread, (from, until)): (ThreadId, (Time, Time))| {
        evidence.faults.between(evidence.recording, thread, from, until)
    };
    spans.into_iter().flat_map(of).map(|fault| fault.count).sum()
}

impl Rule for MajorPageFaults {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.segments(|_, i| is_read_by_fault(evidence, i));
        let cause = |w: &IntervalId| evidence.interval(*w).cause;
        let waits = evidence.waits(&segments).iter().filter(|w| cause(w) == Cause::Fault).count();
        // A fault that the disk answers at once has no wait; one wait may be for several faults.
        let faults = faults(evidence, &segments).max(waits as u64);
        if faults < MIN_FAULTS {
            return Vec::new();
        }
        let blocked =
            |s: &&SegmentId| evidence.of_segment(evidence.chain.segment(**s)).cause == Cause::Fault;
        let waited: Vec<_> = segments.iter().filter(blocked).copied().collect();
        let waited = evidence.total(&waited);
        let mut files: BTreeMap<Text, Nanos> = BTreeMap::new();
        let mut known = Nanos::ZERO;
        for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
            let wait = evidence.of_segment(segment);
            let file = (wait.cause == Cause::Fault)
                .then(|| evidence.faults.file(evidence.recording, wait))
                .flatten();
            if let Some(file) = file {
                *files.entry(file).or_default() += segment.length;
                known += segment.length;
            }
        }
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let read = match &files[..] {
            [] => String::new(),
            [(file, _)] => format!(" {file}"),
            [(file, _), ..] => format!(" {file} and others"),
        };
        let whole = evidence.chain.whole;
        let title = format!(
            "{faults} page faults take {COST} of {whole} ({PERCENT}) to read{read} from disk, \
             mostly in `{}`",
            kernel_time::caller(evidence, &segments)
        );
        let mean = Nanos(waited.0 / (waits as u64).max(1));
        let mut claim = Claim::new(&DOC, title, segments)
            .share_of(whole)
            .fact("page faults that read from disk", faults as f64, "count")
            .fact("waits in page faults", waits as f64, "count")
            .time("time waiting for the disk", waited)
            .time("mean length of a wait", mean)
            .facts(files.iter().take(MAX_FILES).map(|(file, time)| {
                fact(format!("time waiting for pages of {file}"), time.0 as f64, "ns")
            }));
        if evidence.faults.count() == 0 {
            claim.confidence.lower("page faults were not recorded, so the files are unknown", 0.9);
        } else {
            claim.confidence.lower(
                "the file is unknown for some of the waits",
                0.9 + 0.1 * known.share_of(waited),
            );
        }
        vec![claim]
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, MS, Scene, first};
    use culprit_model::{Cause, Fault, FaultKind, Recording, Time};

    fn cold(faults: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("reader", None, 0);
        for at in 0..faults {
            let stack = "main;scan;k:asm_exc_page_fault;k:filemap_fault;k:folio_wait_bit_common";
            scene.wait(main, 1, Cause::Fault, stack, End::Disk);
            scene.run(main, 1, Cause::CpuUser, "main;scan");
            scene.recording.faults.push(Fault {
                time: Time((2 * at + 1) * MS + 1000),
                thread: main,
                kind: FaultKind::Major,
                address: at << 12,
                count: 1,
                file: Some(if at % 4 == 0 { "/lib/big.so" } else { "/data/table" }.into()),
                stack: None,
            });
        }
        scene.done()
    }

    #[test]
    fn waits_for_pages_are_told_by_file() {
        let found = first(&cold(100), "major-page-faults").expect("found");
        assert_eq!(found.cost.0, 100 * MS);
        let title = "100 page faults take 100 ms of 200 ms (50 %) to read /data/table and others \
                     from disk, mostly in `program!scan`";
        assert_eq!(found.title, title);
        let of =
            |what: &str| found.evidence.iter().find(|e| e.what.contains(what)).map(|e| e.value);
        assert_eq!(of("/data/table"), Some(75e6));
        assert_eq!(of("/lib/big.so"), Some(25e6));
    }

    /// A disk may answer while it is being asked: the time is then on the CPU, behind an interrupt.
    #[test]
    fn a_read_that_ends_before_anyone_waits_is_part_of_the_fault() {
        let mut scene = Scene::default();
        let main = scene.program("reader", None, 0);
        let fault = "main;step;k:asm_exc_page_fault;k:filemap_fault;k:filemap_read_folio";
        let asked = format!("{fault};k:submit_bio_noacct_nocheck;k:virtqueue_notify");
        for at in 0..100 {
            scene.run(main, 1, Cause::CpuKernel, &asked);
            let answered = "k:asm_common_interrupt;k:__irq_exit_rcu;k:handle_softirqs";
            scene.run(main, 1, Cause::CpuKernel, &format!("{asked};{answered}"));
            if at % 5 == 0 {
                scene.wait(main, 1, Cause::Fault, fault, End::Disk);
            }
            scene.run(main, 1, Cause::CpuUser, "main;step");
            scene.recording.faults.push(Fault {
                time: Time(scene.now_ms(main) * MS),
                thread: main,
                kind: FaultKind::Major,
                address: at << 12,
                count: 1,
                file: Some("/data/table".into()),
                stack: None,
            });
        }
        let found = first(&scene.done(), "major-page-faults").expect("found");
        assert_eq!(found.cost.0, 220 * MS);
        let title = "100 page faults take 220 ms of 320 ms (69 %) to read /data/table from disk";
        assert!(found.title.starts_with(title), "{}", found.title);
    }

    #[test]
    fn a_few_cold_pages_are_healthy() {
        assert!(first(&cold(5), "major-page-faults").is_none());
    }
}
