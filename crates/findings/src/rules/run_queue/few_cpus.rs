//! That processes may use only a few of the machine's CPUs, and wait for each other there while others are free.

use std::collections::BTreeMap;

use culprit_model::{Nanos, ProcessId};

use super::{DOC, mean_count};
use crate::evidence::{Evidence, SegmentId, Work};
use crate::rule::{COST, Claim, Specificity, fact};
use crate::tally::named;

/// The process that waits for a CPU while a segment passes, if it may use fewer than there are.
pub(super) fn confined(evidence: &Evidence<'_>, segment: SegmentId) -> Option<(ProcessId, u64)> {
    let link = evidence.chain.links(evidence.chain.segment(segment)).next()?;
    let process = evidence.process(evidence.interval(link.wait).thread);
    Some((process, evidence.few_cpus(process)?))
}

/// Share of the wait for which CPUs must have been free: with less, a wider mask saves little.
pub(super) const MIN_FREE: f64 = 0.5;

/// What the wait of confined processes is. None where the machine had no CPU free for most of it.
pub(super) fn of_confined(evidence: &Evidence<'_>, segments: Vec<SegmentId>) -> Option<Claim> {
    let total = evidence.total(&segments);
    // Looked at only for a wait: it adds up all intervals.
    let machine = (total > Nanos::ZERO).then(|| evidence.machine_use()).flatten()?;
    if machine.idle.share_of(total) < MIN_FREE {
        return None;
    }
    let mut waiting: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for segment in &segments {
        waiting.extend(confined(evidence, *segment));
    }
    let (whole, cpus) = (evidence.chain.whole, evidence.recording.meta.cpus);
    let allowed = waiting.values().max().copied().unwrap_or(0);
    let names = waiting.keys().map(|process| evidence.recording.process_name(*process));
    let (waits, they) = if waiting.len() == 1 { ("waits", "it") } else { ("wait", "they") };
    let title = format!(
        "{} {waits} {COST} of {whole} for {allowed} of {cpus} CPUs: {they} may use no others",
        named(names.collect())
    );
    let why = format!(
        "An affinity mask or a cpuset forbids the other CPUs, which were free for {} in all. What they do in \
         turn could run side by side.",
        machine.idle
    );
    let fix = "Let them use more CPUs: `cpuset.cpus` of the cgroup, `--cpuset-cpus` of the container, `CPUAffinity=` \
               of systemd, `taskset`, or sched_setaffinity() in the program. If the mask is meant, run no more of \
               them at once than it has CPUs.";
    let running = mean_count(evidence, &Work::on_cpus(evidence.recording), &segments);
    let claim = Claim::new(&DOC, title, segments)
        .saying(why, fix.to_owned())
        .fact("CPUs that they may use", allowed as f64, "count")
        .fact("CPUs of the machine", f64::from(cpus), "count")
        .fact("mean number of CPUs that ran recorded threads", running, "count")
        .facts(vec![fact("time in which CPUs were free".to_owned(), machine.idle.0 as f64, "ns")]);
    Some(Claim { specificity: Specificity::Mechanism, ..claim })
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Recording, Severity, counter_names};

    use crate::scene::{End, MS, Scene, first};

    /// Two packers of which one runs and the other is ready, in turn, for 2 s of two CPUs.
    fn two_packers(allowed: u64, machine_busy_ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("sh", None, 0);
        let packers = [0, 1].map(|_| scene.program("pack", Some(main), 0));
        for turn in 0..40 {
            for (at, packer) in packers.iter().enumerate() {
                let runs = turn % 2 == at;
                let (cause, stack) = match runs {
                    true => (Cause::CpuUser, "main;pack"),
                    false => (Cause::Runnable, "main;pack;k:irqentry_exit_to_user_mode"),
                };
                scene.run(*packer, 50, cause, stack);
            }
        }
        scene.wait(main, 2000, Cause::Child, "main;wait4", End::By(packers[0]));
        for packer in packers {
            scene.counter(Some(packer), counter_names::ALLOWED_CPUS, allowed);
        }
        scene.counter(None, counter_names::MACHINE_CPU_NS, machine_busy_ms * MS);
        scene.done()
    }

    #[test]
    fn processes_that_share_one_cpu_while_another_is_free_are_told() {
        let found = first(&two_packers(1, 2100), "run-queue").expect("found");
        assert!(
            found.title.starts_with("pack (101) waits 1.00 s of 2.00 s for 1 of 2 CPUs"),
            "{found:?}"
        );
        assert_eq!(found.severity, Severity::High);
        assert!(found.fix.join(" ").contains("cpuset"), "{found:?}");
    }

    #[test]
    fn a_cpu_that_was_free_for_most_of_the_wait_is_enough() {
        let told = |busy_ms| first(&two_packers(1, busy_ms), "run-queue").expect("found").title;
        assert!(told(3400).contains("may use no others"), "{}", told(3400));
        assert!(!told(3600).contains("may use no others"), "{}", told(3600));
    }

    #[test]
    fn on_a_machine_without_a_free_cpu_or_a_mask_they_are_not() {
        for recording in [two_packers(1, 3900), two_packers(2, 2100)] {
            let found = first(&recording, "run-queue");
            assert!(found.is_none_or(|f| !f.title.contains("may use no others")));
        }
    }
}
