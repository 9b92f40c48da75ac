//! `minor-fault-storm`: page faults that read nothing from disk take much of the CPU time.

use culprit_model::{Cause, Nanos};

use crate::evidence::{Chore, Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct MinorFaultStorm;

/// Share of a program's CPU time on the critical path that faults take.
const MIN_OF_CPU: f64 = 0.30;

/// Time in faults from which it is reported: a start takes less.
const MIN_TIME: Nanos = Nanos(20_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "minor-fault-storm",
    group: Group::Storage,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "The program uses new memory for the first time, or changes memory that it shares since a \
            fork. Each page costs a page fault, and these take much of its CPU time.",
    signature: "A large share of a program's CPU time on the critical path is in page faults that \
                read nothing from disk: first use of memory, a copy on write, or first access to a \
                page of a mapped file that is already cached. The finding names the function that \
                uses the memory.",
    not_reported: &[
        "faults of vectors, strings and tables that grow (`growth-realloc`)",
        "faults of the dynamic linker, and of starting and ending processes",
        "faults while the kernel is short of memory (`memory-limit-reclaim`)",
    ],
    why: "The kernel provides memory on first touch, 4 KiB at a time. Entering the kernel and \
          finding, clearing or copying a page takes 0.5 to 1.7 us. You pay again if the allocator \
          gives freed memory back to the kernel. After a fork you pay for each page that you change.",
    fix: &[
        "Keep buffers and reuse them instead of freeing them.",
        "Let the allocator keep freed memory. glibc: set `MALLOC_TRIM_THRESHOLD_=268435456` \
         and `MALLOC_MMAP_THRESHOLD_=33554432` in the environment. jemalloc: raise \
         `dirty_decay_ms`.",
        "Touch the memory at start-up (`MAP_POPULATE`), so that requests do not pay.",
        "Use huge pages for large areas: `madvise(MADV_HUGEPAGE)`.",
        "To start another program, use `posix_spawn` instead of fork. To work in parallel, use \
         threads.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `minor-fault-storm` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the program's CPU time on the critical path",
            value: MIN_OF_CPU,
            unit: "share",
            reason: "The start of an interpreter spends 7 to 14 % on faults, a compiler 4 %. At \
                     half, short scripts would be reported; at double, only extreme programs.",
            source: "CPython 3.11 and cc1, Linux 6.18, ext4",
        },
        Threshold {
            what: "time in page faults",
            value: MIN_TIME.0 as f64,
            unit: "ns",
            reason: "20 ms are 10,000 to 40,000 pages: 40 to 160 MiB. Starting an interpreter \
                     uses a tenth of that.",
            source: "first use of a page 0.5 to 1.7 us, Linux 6.18, virtual machine",
        },
    ],
};

/// True for kernel time inside a fault that belongs to no other mechanism. Where a vector or table
/// grows, the fix is to reserve its memory, not to make the first touch cheaper.
fn is_fault(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    let growing = evidence.chores.chore(doing.stack) == Some(Chore::Growth);
    doing.cause == Cause::CpuKernel
        && within(Family::PageFault)
        && !growing
        && ![Family::Link, Family::Exec, Family::Fork, Family::Exit, Family::Reclaim]
            .into_iter()
            .any(within)
}

impl Rule for MinorFaultStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.doing(|d| is_fault(evidence, d));
        if evidence.total(&segments) < MIN_TIME {
            return Vec::new();
        }
        kernel_time::by_busy_program(evidence, &segments, MIN_OF_CPU)
            .into_iter()
            .filter(|(t, _)| t.total >= MIN_TIME)
            .map(|(t, share)| told(evidence, &t.key.name, t.segments, t.total, share))
            .collect()
    }
}

fn told(
    evidence: &Evidence<'_>,
    name: &str,
    segments: Vec<SegmentId>,
    total: Nanos,
    share: f64,
) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title =
        format!("{name}: page faults take {COST} of {whole} ({PERCENT}), mostly in `{caller}`");
    let part = |family| kernel_time::in_family(evidence, &segments, family);
    let (first, copied) = (part(Family::FirstTouch), part(Family::CopyOnWrite));
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .sure(0.9)
        .time("CPU time in page faults", total)
        .fact("share of the program's CPU time on the critical path", share, "share")
        .time("of this, first touch of memory", first)
        .time("of this, copying shared pages on a write", copied)
        .facts(kernel_time::facts(evidence, &segments));
    Claim { segments, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording};

    const FAULT: &str = "k:asm_exc_page_fault;k:exc_page_fault;k:handle_mm_fault";

    fn touching(faults_ms: u64, work_ms: u64, user: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..50 {
            scene.run(
                main,
                faults_ms,
                Cause::CpuKernel,
                &format!("{user};{FAULT};k:do_anonymous_page"),
            );
            scene.run(main, work_ms, Cause::CpuUser, "main;work");
        }
        scene.done()
    }

    #[test]
    fn fresh_memory_is_told_with_the_function_that_touches_it() {
        let recording = touching(4, 4, "main;work;libc.so.6!memset");
        let found = first(&recording, "minor-fault-storm").expect("found");
        assert_eq!(found.cost.0, 200_000_000);
        assert!(
            found
                .title
                .ends_with("page faults take 200 ms of 400 ms (50 %), mostly in `program!work`"),
            "{}",
            found.title
        );
        let what = |e: &&culprit_model::Evidence| e.what.contains("first touch");
        assert_eq!(found.evidence.iter().find(what).map(|e| e.value), Some(200e6));
        assert_eq!(told(&recording), ["hot-function 200", "minor-fault-storm 200"]);
    }

    #[test]
    fn the_faults_of_many_processes_of_a_program_are_one_finding() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let mut before = main;
        for at in 0..5 {
            let start = scene.now_ms(before);
            let child = scene.program("worker", Some(main), start);
            for _ in 0..10 {
                scene.run(child, 4, Cause::CpuKernel, &format!("main;change;{FAULT};k:do_wp_page"));
            }
            let wait = "main;libc.so.6!wait4;k:do_wait";
            scene.wait(main, 40, Cause::Child, wait, crate::scene::End::By(child));
            before = child;
            assert_eq!(scene.now_ms(child), 40 * (at + 1));
        }
        let found = first(&scene.done(), "minor-fault-storm").expect("found");
        assert_eq!(found.cost.0, 200_000_000);
        assert!(found.title.starts_with("5 processes of worker: page faults"), "{}", found.title);
    }

    #[test]
    fn faults_of_a_growing_container_are_its_growth() {
        let recording = touching(4, 4, "main;collect;libc.so.6!realloc;libc.so.6!memcpy");
        assert!(first(&recording, "minor-fault-storm").is_none());
        assert_eq!(first(&recording, "growth-realloc").map(|f| f.cost.0), Some(200_000_000));
    }

    #[test]
    fn some_faults_beside_the_work_and_those_of_the_linker_are_healthy() {
        assert!(first(&touching(1, 9, "main;work"), "minor-fault-storm").is_none());
        let linking = touching(4, 4, "ld-linux-x86-64.so.2!_dl_relocate_object");
        assert!(first(&linking, "minor-fault-storm").is_none());
    }
}
