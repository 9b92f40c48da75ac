//! `memory-limit-reclaim`: threads free memory, or wait for it, before they are given more.

use culprit_model::{Nanos, counter_names};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct MemoryLimitReclaim;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "memory-limit-reclaim",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    claim: "Threads must free memory before they get more: the container's limit, or the machine's \
            memory, is reached.",
    signature: "CPU time and waits in the kernel's direct reclaim, on the measured thing's path, below \
                an allocation, a page fault or a read; the cgroup's counter of limit hits, where it was \
                read, tells whose limit it was.",
    why: "At the limit each allocation first looks for pages to drop or swap; what is dropped is often \
          the program's own code and the files that it reads next, which then come from disk again.",
    fix: "Raise the memory limit, or use less: smaller heaps and caches, fewer workers, files read in \
          pieces and dropped (posix_fadvise DONTNEED). Let reclaim begin earlier in the background \
          (memory.high), and protect what is needed (memory.low).",
    check: "culprit record -o fixed.culprit -- CMD; cgroup.memory.limit_hits must stop growing",
    thresholds: &[Threshold {
        what: "clock samples and waits",
        value: kernel_time::MIN_LOOKS as f64,
        unit: "count",
        reason: "With ten the time is known to a third; the limit is touched now and then by every \
                 container that reads files, as the page cache counts.",
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

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, total: Nanos) -> Claim {
    let hits = evidence.counters.growth(None, counter_names::MEMORY_LIMIT_HITS).map(|g| g.value);
    let hits = hits.filter(|hits| *hits > 0);
    let limit = evidence.counters.last(None, counter_names::MEMORY_LIMIT_BYTES);
    let caller = kernel_time::caller(evidence, &segments);
    let whose = match hits {
        Some(hits) => format!("the cgroup's memory limit was hit {hits} times"),
        None => "memory is short".to_owned(),
    };
    let title = format!("{name}: freeing memory takes {COST}, most in `{caller}`: {whose}");
    let facts = kernel_time::facts(evidence, &segments);
    let waited = kernel_time::waited(evidence, &segments);
    let mut claim = Claim::new(&DOC, title, segments)
        .at(Site::Entry)
        .time("time in direct reclaim", total)
        .time("of it waiting", waited)
        .facts(facts);
    if let Some(limit) = limit {
        claim = claim.fact("memory limit of the cgroup", limit as f64, "bytes");
    }
    if hits.is_none() {
        claim.confidence.lower("whose memory is short was not counted", 0.85);
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
        assert!(found.title.contains("memory limit was hit 300 times"), "{}", found.title);
        assert_eq!(told(&recording), ["hot-function 250", "memory-limit-reclaim 250"]);
    }

    #[test]
    fn memory_without_reclaim_is_not() {
        assert!(first(&limited("page_counter_try_charge"), "memory-limit-reclaim").is_none());
    }
}
