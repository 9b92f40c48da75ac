//! `memory-limit-reclaim`: threads must free memory, or wait for it, before they get more.

use culprit_model::{Nanos, counter_names};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct MemoryLimitReclaim;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "memory-limit-reclaim",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Threads must free memory before they get more: the container's limit, or the machine's \
            memory, is reached.",
    signature: "CPU time and waits on the critical path in the kernel's direct reclaim, below an \
                allocation, a page fault or a read. The cgroup's counter of limit hits, where it \
                was read, shows whose limit it was.",
    not_reported: &["waits for files that the limit dropped (`memory-limit-reread`)"],
    why: "At the limit, each allocation must first find pages to drop or to swap. The dropped \
          pages are often the program's own code and the files that it reads next. These must then \
          be read from disk again.",
    fix: &[
        "Raise the memory limit of the container: `--memory SIZE`.",
        "Use less memory: smaller heaps and caches, fewer workers.",
        "Read files in pieces and drop each piece: `posix_fadvise(POSIX_FADV_DONTNEED)`.",
        "Set `memory.high`, so that reclaim starts earlier and in the background.",
        "Protect the memory that is needed: set `memory.low`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cgroup's count of limit hits (`max` in \
            `memory.events`, `memory.failcnt` in version 1) must stop growing",
    thresholds: &[Threshold {
        what: "clock samples and waits",
        value: kernel_time::MIN_LOOKS as f64,
        unit: "count",
        reason: "Ten give the time to within a third. Every container that reads files reaches \
                     its limit now and then, because the page cache counts.",
        source: "Linux admin-guide/cgroup-v2: memory.max",
    }],
};

fn is_reclaim(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    kernel_time::is_kernel_work(doing.cause)
        && evidence.stacks.in_family(doing.stack, Family::Reclaim)
}

impl Rule for MemoryLimitReclaim {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.doing(|d| is_reclaim(evidence, d));
        kernel_time::by_program(evidence, &segments)
            .into_iter()
            .map(|t| told(evidence, &t.key.name, t.segments, t.total))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, freeing: Nanos) -> Claim {
    let hits = evidence.counters.growth(None, counter_names::MEMORY_LIMIT_HITS).map(|g| g.value);
    let hits = hits.filter(|hits| *hits > 0);
    let limit = evidence.counters.last(None, counter_names::MEMORY_LIMIT_BYTES);
    let caller = kernel_time::caller(evidence, &segments);
    let whose = match hits {
        Some(hits) => format!("the cgroup's memory limit was hit {hits} times"),
        None => "memory is short".to_owned(),
    };
    let run = evidence.chain.whole;
    let title = format!(
        "{name}: freeing memory takes {COST} of {run} ({PERCENT}), mostly in `{caller}`; {whose}"
    );
    let facts = kernel_time::facts(evidence, &segments);
    let waited = kernel_time::waited(evidence, &segments);
    let mut claim = Claim::new(&DOC, title, segments)
        .at(Site::Entry)
        .share_of(run)
        .time("time in direct reclaim", freeing)
        .time("time blocked, not on a CPU", waited)
        .facts(facts);
    if let Some(limit) = limit {
        claim = claim.fact("memory limit of the cgroup", limit as f64, "bytes");
    }
    if hits.is_none() {
        claim.confidence.lower("no counter shows whose memory was short", 0.85);
    }
    claim
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording, counter_names};

    fn limited(leaf: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("importer", None, 0);
        let fault = "main;grow;k:asm_exc_page_fault;k:handle_mm_fault;k:do_anonymous_page";
        let reclaim = format!("{fault};k:try_charge_memcg;k:{leaf}");
        for _ in 0..50 {
            scene.run(main, 5, Cause::CpuUser, "main;grow");
            scene.run(main, 3, Cause::CpuKernel, &reclaim);
            scene.wait(main, 2, Cause::Memory, &format!("{reclaim};k:io_schedule"), End::Disk);
        }
        scene.counter(None, counter_names::MEMORY_LIMIT_HITS, 300);
        scene.done()
    }

    #[test]
    fn reclaim_at_the_limit_is_told_and_no_fault_counts_it_again() {
        let recording = limited("try_to_free_mem_cgroup_pages");
        let found = first(&recording, "memory-limit-reclaim").expect("found");
        assert_eq!(found.cost.0, 250_000_000);
        let title = "importer (100): freeing memory takes 250 ms of 500 ms (50 %), mostly in \
                     `program!grow`; the cgroup's memory limit was hit 300 times";
        assert_eq!(found.title, title);
        assert_eq!(told(&recording), ["hot-function 250", "memory-limit-reclaim 250"]);
    }

    #[test]
    fn memory_without_reclaim_is_not() {
        assert!(first(&limited("page_counter_try_charge"), "memory-limit-reclaim").is_none());
    }
}
