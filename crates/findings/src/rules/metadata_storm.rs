//! `metadata-storm`: creating, renaming and removing files takes much of the time.

use culprit_model::Nanos;

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct MetadataStorm;

/// Share of the wall time from which it is listed.
const MIN_STORM: f64 = 0.03;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "metadata-storm",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program spends much time on creating, renaming, removing and chmod of files.",
    signature: "CPU time and waits on the critical path inside the kernel's create, mkdir, rename, \
                link, unlink, rmdir, truncate, chmod and chown. The finding names the function \
                that calls. Culprit measures the time of these calls, not their number.",
    not_reported: &[
        "copies of files to an overlay's upper layer (`overlay-copy-up`)",
        "flushes of files to disk (`fsync-storm`)",
    ],
    why: "Each call changes the file's entry on disk, often its folder, and usually the journal. On a \
          local disk this takes 5 to 50 us. It takes longer in large folders, on network and overlay \
          file systems, and while the journal is full.",
    fix: &[
        "Keep many small items in one file: a database, an archive, or a log with an index.",
        "Keep temporary files on a tmpfs: `docker run --tmpfs /tmp`, or `TMPDIR=/dev/shm` (64 MB in a \
         container).",
        "Write under another name and rename only files that a reader could find half-written.",
        "Rename a folder away first, and delete it in the background.",
        "Set the mode when a file is created (`open`, umask) instead of by a later chmod.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `metadata-storm` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "CPU samples and waits",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "With ten, the error of the time is about one third. A program that creates its \
                     output and some temporary files has fewer.",
            source: "Poisson distribution",
        },
        Threshold {
            what: "share of the wall time from which it is listed",
            value: MIN_STORM,
            unit: "share",
            reason: "A compiler's temporary files take less than 0.1 % of its run. At double, a \
                     program that computes and saves each record in its own file is missed.",
            source: "creating, renaming and removing 25,000 files of 8 bytes: 57 us of CPU time for \
                     the three calls, Linux 6.18, ext4",
        },
    ],
};

/// True for the kernel's work on folders and inodes.
fn is_metadata(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    kernel_time::is_kernel_work(doing.cause)
        && within(Family::Metadata)
        && !within(Family::CopyUp)
        && !within(Family::Flush)
}

impl Rule for MetadataStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let inside = evidence.doing(|d| is_metadata(evidence, d));
        if inside.is_empty() {
            return Vec::new();
        }
        let segments = kernel_time::with_entries(evidence, inside);
        kernel_time::by_program(evidence, &segments)
            .into_iter()
            .map(|t| told(evidence, &t.key.name, t.segments, t.total))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, total: Nanos) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "{name}: creating, renaming and removing files takes {COST} of {whole} ({PERCENT}), mostly \
         from `{caller}`"
    );
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .sure(0.9)
        .time("kernel time for changes of files and folders", total)
        .time("of this, blocked", kernel_time::waited(evidence, &segments))
        .facts(kernel_time::facts(evidence, &segments));
    Claim { segments, listed_from: MIN_STORM, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn cache(entries: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("cache", None, 0);
        let open = "main;store;libc.so.6!open;k:do_syscall_64;k:do_sys_openat2;k:path_openat";
        for _ in 0..entries {
            scene.run(main, 2, Cause::CpuKernel, &format!("{open};k:ext4_create"));
            let rename = "main;store;libc.so.6!rename;k:do_syscall_64;k:__x64_sys_rename";
            scene.run(main, 3, Cause::CpuKernel, &format!("{rename};k:do_renameat2"));
            let unlink = "main;drop;libc.so.6!unlink;k:do_syscall_64;k:__x64_sys_unlink";
            scene.wait(
                main,
                4,
                Cause::Disk,
                &format!("{unlink};k:do_unlinkat;k:jbd2_journal_start"),
                End::Disk,
            );
            scene.run(main, 1, Cause::CpuKernel, &format!("{open};k:link_path_walk"));
        }
        scene.done()
    }

    #[test]
    fn a_file_for_each_entry_is_told_and_the_look_ups_are_not_counted_twice() {
        let found = first(&cache(50), "metadata-storm").expect("found");
        assert_eq!(found.cost.0, 450_000_000);
        assert!(
            found.title.ends_with("450 ms of 500 ms (90 %), mostly from `program!store`"),
            "{}",
            found.title
        );
        assert!(found.evidence.iter().any(|e| e.what.contains("called from program!drop")));
        assert_eq!(told(&cache(50)), ["metadata-storm 450", "path-lookup-storm 50"]);
    }

    #[test]
    fn some_temporary_files_are_healthy() {
        assert!(first(&cache(3), "metadata-storm").is_none());
    }
}
