//! `memory-limit-reread`: the memory limit drops files that the program then reads again.

use culprit_model::{ProcessId, counter_names};

use crate::disk_reads::waits_for_pages;
use crate::evidence::{Evidence, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct MemoryLimitReread;

/// Share of the data read from storage that the limit must have dropped before.
const MIN_AGAIN: f64 = 0.5;

/// The smallest page of a file, bytes: with larger pages, more was read again than is counted.
const PAGE: f64 = 4096.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "memory-limit-reread",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The container's memory limit drops pages of files that the program then reads from disk \
            again.",
    signature: "Waits on the critical path for pages of files, in reads and page faults, while the \
                cgroup hit its limit. The cgroup's refault counter says that most data read from \
                storage had been in memory before.",
    not_reported: &[
        "waits for files that are read for the first time (`sequential-read`, `random-read`)",
        "the work of freeing memory itself (`memory-limit-reclaim`)",
    ],
    why: "The page cache counts towards the limit. The program's own memory and the files that it uses \
          may not fit together. Then the kernel drops pages of files, also of the program's own code. It \
          reads them again each time that they are needed.",
    fix: &[
        "Raise the memory limit of the container: `--memory SIZE`.",
        "Use less memory: smaller heaps and caches, fewer workers.",
        "Read the files fewer times, or only the parts that are needed.",
        "Protect the memory that is needed: set `memory.low`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `workingset_refault_file` in the cgroup's \
            `memory.stat` must stop growing",
    thresholds: &[
        Threshold {
            what: "clock samples and waits",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "Ten give the time to within a third. Every container that reads files reaches \
                     its limit now and then, because the page cache counts.",
            source: "Linux admin-guide/cgroup-v2: memory.max",
        },
        Threshold {
            what: "share of the data read from storage that was in memory before",
            value: MIN_AGAIN,
            unit: "share",
            reason: "A file larger than the limit hits the limit even if it is read once, but \
                     nothing is read twice. From half on, most waits would not occur without the \
                     limit.",
            source: "Linux mm/workingset.c: workingset_refault_file",
        },
    ],
};

impl Rule for MemoryLimitReread {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let Some(pages) = pages_read_again(evidence) else { return Vec::new() };
        let segments = evidence.doing(|doing| waits_for_pages(evidence, doing));
        let programs = kernel_time::by_program(evidence, &segments).into_iter();
        programs.map(|t| claim(evidence, &t.key.name, t.segments, pages)).collect()
    }
}

/// How many pages the cgroup read from storage again after the limit had dropped them. `None` if it
/// has no limit, did not hit it, or read most of its data for the first time.
fn pages_read_again(evidence: &Evidence<'_>) -> Option<u64> {
    let growth = |process, name| evidence.counters.growth(process, name).map(|g| g.value);
    evidence.counters.last(None, counter_names::MEMORY_LIMIT_BYTES)?;
    growth(None, counter_names::MEMORY_LIMIT_HITS).filter(|hits| *hits > 0)?;
    let pages = growth(None, counter_names::FILE_REFAULTS).filter(|pages| *pages > 0)?;
    let processes = (0..evidence.recording.processes.len()).map(ProcessId::from_index);
    let fetched: u64 =
        processes.filter_map(|p| growth(Some(p), counter_names::IO_DISK_READ_BYTES)).sum();
    (pages as f64 * PAGE >= MIN_AGAIN * fetched as f64).then_some(pages)
}

fn claim(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, pages: u64) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "{name}: `{caller}` waits {COST} of {whole} ({PERCENT}) for files that the memory limit had \
         dropped"
    );
    let gauge = |name| evidence.counters.last(None, name).map(|value| value as f64);
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .fact("file pages read again after they were dropped", pages as f64, "count")
        .facts(kernel_time::facts(evidence, &segments));
    let claim = match gauge(counter_names::MEMORY_LIMIT_BYTES) {
        Some(limit) => claim.fact("memory limit of the cgroup", limit, "bytes"),
        None => claim,
    };
    Claim { segments, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording, counter_names};

    /// Reads a file of 100 MB over and over, of which `again` pages were dropped before.
    fn scanning(again: u64) -> Recording {
        let read = "main;scan;libc.so.6!read;k:vfs_read;k:filemap_read;k:filemap_get_pages";
        let mut scene = Scene::default();
        let main = scene.program("scan", None, 0);
        for _ in 0..50 {
            scene.run(main, 5, Cause::CpuUser, "main;scan");
            scene.run(main, 1, Cause::CpuKernel, &format!("{read};k:try_to_free_mem_cgroup_pages"));
            scene.wait(main, 4, Cause::Disk, &format!("{read};k:io_schedule"), End::Disk);
        }
        scene.counter(None, counter_names::MEMORY_LIMIT_BYTES, 64 << 20);
        scene.counter(None, counter_names::MEMORY_LIMIT_HITS, 300);
        scene.counter(None, counter_names::FILE_REFAULTS, again);
        scene.counter(Some(main), counter_names::IO_DISK_READ_BYTES, 400 << 20);
        scene.done()
    }

    #[test]
    fn waits_for_what_the_limit_dropped_are_the_limits_and_first_reads_are_not() {
        let again = scanning(76_800);
        let found = first(&again, "memory-limit-reread").expect("found");
        assert_eq!(found.cost.0, 200_000_000);
        assert!(found.title.contains("`program!scan` waits 200 ms of 500 ms"), "{}", found.title);
        assert!(first(&again, "sequential-read").is_none(), "it yields");
        let once = scanning(2_000);
        assert!(first(&once, "memory-limit-reread").is_none());
        assert!(first(&once, "sequential-read").is_some());
    }
}
