//! `directory-scan`: reading the entries of directories takes much of the time.

use crate::evidence::{Evidence, Family};
use crate::kernel_calls::{KernelCalls, MIN_LOOKS};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct DirectoryScan;

/// Share of the wall time from which it is listed.
const MIN_SCAN: f64 = 0.03;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "directory-scan",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program spends much time on reading the entries of directories.",
    signature: "CPU time and waits on the critical path inside the kernel's `getdents` and the file \
                systems' functions that read directories. The finding names the function that calls.",
    not_reported: &["the lookup of each entry after it was read (`path-lookup-storm`)"],
    why: "Each scan reads every entry, whatever the program looks for, and costs about 0.3 us for an \
          entry that is in memory. Entries that are not are read from disk block by block, one wait \
          each. A directory that was once large stays slow on ext4: its blocks are kept.",
    fix: &[
        "Scan once and keep the list, or watch the directory for changes (inotify).",
        "Open or stat the wanted path directly, if its name is known.",
        "Split large directories by a prefix of the name. Delete and make again a directory that was \
         once much larger.",
        "Use the type that the scan returns (`d_type`, `os.scandir`) instead of a stat of each entry.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `directory-scan` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        MIN_LOOKS,
        Threshold {
            what: "share of the wall time from which it is listed",
            value: MIN_SCAN,
            unit: "share",
            reason: "Programs list some directories at their start in less. At double, a service that \
                     scans its spool directory between jobs is missed.",
            source: "the same as for `metadata-storm`",
        },
    ],
};

const CALLS: KernelCalls = KernelCalls {
    doc: &DOC,
    families: &[Family::ReadDirectory],
    does: "reads directories",
    waits: true,
    of_cpu: 0.0,
    listed_from: MIN_SCAN,
};

impl Rule for DirectoryScan {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        CALLS.find(evidence)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    fn scanner(scans: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("spool", None, 0);
        let read = "main;next_job;libc.so.6!getdents64;k:do_syscall_64;k:__x64_sys_getdents64;\
                    k:iterate_dir;k:ext4_readdir";
        for _ in 0..scans {
            scene.run(main, 3, Cause::CpuKernel, read);
            scene.wait(main, 2, Cause::Disk, &format!("{read};k:io_schedule"), End::Disk);
            scene.run(main, 5, Cause::CpuUser, "main;run_job");
        }
        scene.done()
    }

    #[test]
    fn a_scan_before_each_job_is_found_with_its_waits() {
        let found = first(&scanner(50), "directory-scan").expect("found");
        assert_eq!(found.cost.0, 250_000_000);
        assert!(
            found
                .title
                .ends_with("`program!next_job` reads directories for 250 ms of 500 ms (50 %)"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_few_listings_are_healthy() {
        assert!(first(&scanner(3), "directory-scan").is_none());
    }
}
