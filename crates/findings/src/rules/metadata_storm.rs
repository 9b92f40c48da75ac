//! `metadata-storm`: making, renaming and removing files takes much of the time.

use culprit_model::Nanos;

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct MetadataStorm;

/// Share of the wall time from which it is listed.
const MIN_STORM: f64 = 0.03;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "metadata-storm",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    claim: "The program makes, renames, removes or changes the attributes of many files, and that, \
            not their data, takes the time.",
    signature: "CPU time and waits inside the kernel's create, mkdir, rename, link, unlink, rmdir, \
                truncate, chmod and chown, on the measured thing's path, with the function that \
                calls. How many calls there were is not recorded.",
    why: "Each of these changes a folder and an inode, and on most file systems the journal: 5 to 50 \
          us on a local disk, more in a folder of many entries, on a layered file system (which \
          may copy the file first) or a shared one, and while the journal is full.",
    fix: "Keep many small things in one file (a database, an archive, a log with an index), write files \
          where they belong instead of renaming each, remove a whole folder at once in the background, \
          set owners and modes when files are made, and keep what need not survive on a tmpfs.",
    check: "culprit record -o fixed.culprit -- CMD; this finding's cost must shrink",
    thresholds: &[
        Threshold {
            what: "clock samples and waits",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "With ten the time is known to a third; a program that makes its output and some \
                     temporary files is not seen.",
            source: "Poisson distribution",
        },
        Threshold {
            what: "share of the wall time at which it is listed",
            value: MIN_STORM,
            unit: "share",
            reason: "A compiler's temporary files take less than 0.1 % of its run; at double a program that \
                     saves each record in a file of its own goes unsaid while it computes as well.",
            source: "create, rename and unlink of 25,000 files of 8 bytes: 57 us of CPU time a file, \
                     Linux 6.18, ext4",
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
    let title =
        format!("{name}: making, renaming and removing files takes {COST}, most from `{caller}`");
    let claim = Claim::new(&DOC, title, Vec::new())
        .at(Site::Entry)
        .sure(0.9)
        .time("time in the kernel's changes of folders and files", total)
        .time("of it waiting", kernel_time::waited(evidence, &segments))
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
        assert!(found.title.contains("most from `program!store`"), "{}", found.title);
        assert!(found.evidence.iter().any(|e| e.what.contains("called from program!drop")));
        assert_eq!(told(&cache(50)), ["metadata-storm 450", "path-lookup-storm 50"]);
    }

    #[test]
    fn some_temporary_files_are_healthy() {
        assert!(first(&cache(3), "metadata-storm").is_none());
    }
}
