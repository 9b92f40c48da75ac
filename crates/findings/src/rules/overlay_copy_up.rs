//! `overlay-copy-up`: the first change of a file in a lower overlay layer copies the whole file.

use culprit_model::{Cause, Time};

use super::fsync_storm::count_flushes;
use crate::evidence::{Doing, Evidence, Family, Segment, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct OverlayCopyUp;

/// How many times as long as the second open the first one must take, in the same arm of a probe.
pub(crate) const LEAST_RATIO: f64 = 2.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "overlay-copy-up",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The first change of a file in a lower overlay layer copies the whole file, in `open`, \
            `chmod`, `chown` or `rename`.",
    signature: "CPU time, waits and run queue time on the critical path below the overlay's own \
                copy (`ovl_copy_up*`). `culprit bench copy-up`: the first open for writing takes \
                long, the second does not. During the first open the kernel counts as many written \
                bytes as the file has.",
    not_reported: &[],
    why: "An overlay copies a file of the image to its upper layer, and syncs it, before the first \
          change of data, mode or owner. The time counts in `open` or `chmod`, not in `write`, and \
          grows with the file's size. Only the first change pays: a container that is kept has the \
          copy already.",
    fix: &[
        "Put files that change into a volume.",
        "Create files that change when the container starts, not in the image.",
        "Open files that are only read without write access: `O_RDONLY`.",
        "Change modes and owners in the build step that adds the file (`COPY --chown`, `--chmod`), \
         not with `chmod -R` at the start.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; this finding must be gone, in a new container \
            too (a copy alone: culprit bench copy-up --place docker:IMAGE --at layer --at volume)",
    thresholds: &[
        Threshold {
            what: "first open of a file against the second, in the same place, measured by a probe",
            value: LEAST_RATIO,
            unit: "ratio",
            reason: "The copied bytes are the evidence. The ratio only excludes copies too short \
                     to notice.",
            source: "64 KiB files: 1.9 to 13 ms against 0.02 ms",
        },
        Threshold {
            what: "clock samples and waits below which the finding is less sure",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "One sample proves the copy, because the kernel's function does nothing else. \
                     From ten on, its time is known to within a third.",
            source: "Linux fs/overlayfs/copy_up.c; Poisson distribution",
        },
    ],
};

impl Rule for OverlayCopyUp {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let copying = evidence.doing(|d| is_copy(evidence, d));
        let process = |s: &Segment| Some(evidence.process(evidence.of_segment(s).thread));
        tally::by(evidence, &copying, process)
            .into_iter()
            .map(|t| told(evidence, &evidence.recording.process_name(t.key), t.segments))
            .collect()
    }
}

fn is_copy(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let works = kernel_time::is_kernel_work(doing.cause) || doing.cause == Cause::Runnable;
    works && evidence.stacks.in_family(doing.stack, Family::CopyUp)
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "{name}: copying whole files of lower overlay layers before their first change takes \
         {COST} of {whole} ({PERCENT}), mostly from `{caller}`"
    );
    let looks = kernel_time::looks(evidence, &segments);
    let copies = count_flushes(evidence, &segments, Time(u64::MAX));
    let mut claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .time("time blocked, not on a CPU", kernel_time::waited(evidence, &segments))
        .facts(kernel_time::facts(evidence, &segments));
    if copies > 0 {
        claim = claim.fact("copies with a wait for their sync", copies as f64, "count");
    }
    if looks < kernel_time::MIN_LOOKS {
        claim.confidence.lower(format!("only {looks} samples and waits show the copy"), 0.7);
    }
    Claim { segments, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    /// Opens a file for writing, and flushes thirty small records to it.
    fn changed(copies: bool) -> Recording {
        let copy =
            if copies { "k:ovl_copy_up_flags;k:ovl_copy_up_file" } else { "k:ext4_file_open" };
        let open = format!("main;open_store;libc.so.6!open;k:__x64_sys_openat;k:ovl_open;{copy}");
        let mut scene = Scene::default();
        let main = scene.program("index", None, 0);
        scene.run(main, 600, Cause::CpuKernel, &format!("{open};k:do_splice_direct;k:memcpy"));
        scene.run(main, 300, Cause::Runnable, &format!("{open};k:do_splice_direct;k:schedule"));
        scene.wait(
            main,
            100,
            Cause::Fsync,
            &format!("{open};k:vfs_fsync;k:io_schedule"),
            End::Disk,
        );
        let flush = "main;append;libc.so.6!fsync;k:do_fsync;k:blkdev_issue_flush";
        for _ in 0..30 {
            scene.run(main, 1, Cause::CpuUser, "main;append");
            scene.wait(main, 50, Cause::Fsync, flush, End::Disk);
        }
        scene.done()
    }

    #[test]
    fn the_copy_is_told_apart_from_the_programs_own_flushes() {
        let recording = changed(true);
        assert_eq!(told(&recording)[..2], ["fsync-storm 1500", "overlay-copy-up 1000"]);
        let found = first(&recording, "overlay-copy-up").expect("found");
        assert!(
            found.title.ends_with("1.00 s of 2.53 s (40 %), mostly from `program!open_store`"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "open_store");
    }

    #[test]
    fn an_open_that_copies_nothing_is_not() {
        assert!(first(&changed(false), "overlay-copy-up").is_none());
    }
}
