//! `mapped-not-leaked`: most of a process's resident memory is pages of mapped files.

use std::collections::BTreeMap;

use culprit_model::{ProcessId, Severity, Text};

use crate::evidence::{Evidence, Resident};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold, fact};

/// The rule.
pub(crate) struct MappedNotLeaked;

/// Resident pages of files that a user may take for a leak.
const MIN_FILE: u64 = 256 << 20;

/// Their share of all resident memory.
const MIN_SHARE: f64 = 2.0 / 3.0;

/// How many files are listed.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "mapped-not-leaked",
    group: Group::Memory,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "Most of a process's resident memory is file cache that the kernel can take back. It is not \
            a leak.",
    signature: "At least two thirds of a process's resident memory are pages of files (`RssFile` \
                in `/proc/PID/status`). The rest is private memory (`RssAnon`, plus swap) or shared \
                memory. Culprit reads this several times and uses the reading with the most file \
                pages.",
    not_reported: &[],
    why: "Usually it costs no time. A page of a mapped file counts as resident in each process that \
          touched it, but it belongs to the page cache. When memory is short, the kernel drops such pages and reads \
          them again on the next touch; it writes changed pages back first. If dropped pages are \
          soon needed again, `major-page-faults` and `memory-limit-reclaim` report it.",
    fix: &[
        "Leave the program as it is: the kernel takes this memory back when it needs it.",
        "Watch private memory (`RssAnon`, or `anon` in the cgroup's `memory.stat`), not RSS \
         or the working set that Kubernetes shows.",
        "Set memory limits to private memory plus the files in frequent use.",
        "To reduce resident memory, read with `pread`, or release unchanged pages of files with \
         `madvise(MADV_DONTNEED)`. Never use it on private memory: it discards the data.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; during a longer run, private memory in `culprit \
            findings fixed.culprit --all` must stay level",
    thresholds: &[
        Threshold {
            what: "resident pages of files",
            value: MIN_FILE as f64,
            unit: "bytes",
            reason: "The code and libraries of the largest programs take 200 MiB. At half, every \
                     browser and every language runtime is reported.",
            source: "definition",
        },
        Threshold {
            what: "share of the resident memory",
            value: MIN_SHARE,
            unit: "share",
            reason: "Then file pages are at least twice the private memory.",
            source: "definition",
        },
    ],
};

impl Rule for MappedNotLeaked {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let told = |(process, readings): (ProcessId, &[Resident])| {
            let largest = readings.iter().max_by_key(|r| (r.file, std::cmp::Reverse(r.time)))?;
            let share = largest.file as f64 / largest.total().max(1) as f64;
            (largest.file >= MIN_FILE && share >= MIN_SHARE)
                .then(|| told(evidence, process, readings, largest))
        };
        evidence.memory.iter().filter_map(told).collect()
    }
}

fn told(
    evidence: &Evidence<'_>,
    process: ProcessId,
    readings: &[Resident],
    largest: &Resident,
) -> Claim {
    let gib = |bytes: u64| format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30));
    let title = format!(
        "{}: {} of {} resident memory ({:.0} %) is pages of mapped files (cache, not a leak); {} \
         is private",
        evidence.recording.process_name(process),
        gib(largest.file),
        gib(largest.total()),
        share(largest) * 100.0,
        gib(largest.private),
    );
    let first = readings.first().unwrap_or(largest);
    let most = readings.iter().map(|r| r.private).max().unwrap_or(largest.private);
    Claim::statement(&DOC, title, Severity::Info)
        .sure(0.95)
        .fact("most resident pages of mapped files", largest.file as f64, "bytes")
        .fact("private memory at that time", largest.private as f64, "bytes")
        .fact("share of mapped files in the resident memory", share(largest), "share")
        .fact("pages of mapped files at the first reading", first.file as f64, "bytes")
        .fact("private memory at the first reading", first.private as f64, "bytes")
        .fact("most private memory", most as f64, "bytes")
        .facts(files(evidence, process))
}

fn share(resident: &Resident) -> f64 {
    resident.file as f64 / resident.total().max(1) as f64
}

/// The files whose pages were touched most often; where faults were recorded.
fn files(evidence: &Evidence<'_>, process: ProcessId) -> Vec<culprit_model::Evidence> {
    let mut files: BTreeMap<&Text, u64> = BTreeMap::new();
    for fault in &evidence.recording.faults {
        if let Some(file) = &fault.file
            && evidence.process(fault.thread) == process
        {
            *files.entry(file).or_default() += fault.count;
        }
    }
    let total: u64 = files.values().sum();
    let mut files: Vec<_> = files.into_iter().collect();
    // The sort is stable, so equal counts stay in the order of their names.
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let share = |count: u64| count as f64 / total.max(1) as f64;
    let listed = files.into_iter().take(LISTED);
    listed
        .map(|(file, count)| {
            fact(format!("share of page faults on files: {file}"), share(count), "share")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording, Severity, counter_names};

    fn having(file_mib: u64, private_mib: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("database", None, 0);
        scene.run(main, 1000, Cause::CpuUser, "main;scan");
        scene.counter(Some(main), counter_names::RSS_ANON_BYTES, private_mib << 20);
        scene.counter(Some(main), counter_names::RSS_FILE_BYTES, file_mib << 20);
        scene.recording.counters.sort_by_key(|c| c.time);
        scene.done()
    }

    #[test]
    fn pages_of_files_are_told_apart_from_private_memory() {
        let found = first(&having(2048, 512), "mapped-not-leaked").expect("found");
        assert_eq!(found.severity, Severity::Info);
        assert!(
            found.title.starts_with("database (100): 2.00 GiB of 2.50 GiB resident memory (80 %)"),
            "{}",
            found.title
        );
        assert_eq!(found.cost.0, 0);
    }

    #[test]
    fn large_private_memory_and_ordinary_libraries_are_not_explained_away() {
        assert!(first(&having(600, 1000), "mapped-not-leaked").is_none());
        assert!(first(&having(120, 10), "mapped-not-leaked").is_none());
    }
}
