//! What two places differ in, and which part of the extra time that can be the reason of.
//!
//! A place's facts say what its commands find there: file systems, mount options, the way to the
//! network, filters, limits. Each acts on waits of certain kinds only; a fact that differs is named as
//! the mechanism of those, and as beside the point where no time of these kinds was lost.

use std::collections::BTreeMap;

use culprit_engine::compare::Difference;
use culprit_model::{Cause, Nanos};

use crate::rules::{
    cpu_quota_throttling, memory_limit_reclaim, metadata_storm, overlay_copy_up, path_lookup_storm,
    poll_sleep_loop, run_queue, syscall_storm,
};

/// A fact that differs between two places.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    /// Its name in the recording: `work.fs`.
    pub fact: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// Its value in the baseline; none where it has none.
    pub baseline: Option<String>,
    /// Its value in the candidate.
    pub candidate: Option<String>,
    /// Extra time a run of the kinds that it acts on: an upper bound of what it can explain.
    pub extra: Nanos,
}

/// What a fact of a place acts on.
struct Kind {
    fact: &'static str,
    what: &'static str,
    causes: &'static [Cause],
    /// Findings whose time it acts on, whatever its cause.
    findings: &'static [&'static str],
}

const FILES: &[Cause] = &[Cause::Disk, Cause::Fsync, Cause::Fault, Cause::Notify];
const OF_FILES: &[&str] = &[
    poll_sleep_loop::DOC.id,
    path_lookup_storm::DOC.id,
    metadata_storm::DOC.id,
    overlay_copy_up::DOC.id,
];

const KINDS: &[Kind] = &[
    Kind {
        fact: "work.fs",
        what: "file system of the work folder",
        causes: FILES,
        findings: OF_FILES,
    },
    Kind {
        fact: "options.work",
        what: "mount options of the work folder",
        causes: FILES,
        findings: OF_FILES,
    },
    Kind {
        fact: "root.fs",
        what: "file system of programs and libraries",
        causes: FILES,
        findings: OF_FILES,
    },
    Kind {
        fact: "options.root",
        what: "mount options of programs and libraries",
        causes: FILES,
        findings: OF_FILES,
    },
    Kind { fact: "network", what: "network", causes: &[Cause::Net], findings: &[] },
    Kind {
        fact: "seccomp",
        what: "system call filter (seccomp)",
        causes: &[Cause::CpuKernel],
        findings: &[syscall_storm::DOC.id],
    },
    Kind {
        fact: "cpu-quota",
        what: "CPU quota",
        causes: &[Cause::RunnableQuota],
        findings: &[cpu_quota_throttling::DOC.id],
    },
    Kind {
        fact: "memory-limit",
        what: "memory limit",
        causes: &[Cause::Memory, Cause::Fault],
        findings: &[memory_limit_reclaim::DOC.id],
    },
    Kind { fact: "cpus", what: "CPUs", causes: &[Cause::Runnable], findings: &[run_queue::DOC.id] },
    Kind { fact: "kernel", what: "kernel", causes: &[Cause::CpuKernel], findings: &[] },
];

/// A place's facts, name and value.
pub(crate) type Facts = [(String, String)];

/// The facts that differ, what can explain most first.
pub(crate) fn mechanisms(
    baseline: &Facts,
    candidate: &Facts,
    rows: &[Difference],
    finding: impl Fn(&Difference) -> Option<&'static str>,
) -> Vec<Mechanism> {
    // A recording that was made without a place says nothing about one.
    if baseline.is_empty() || candidate.is_empty() {
        return Vec::new();
    }
    let value = |facts: &Facts, name: &str| {
        let all: BTreeMap<&str, &str> =
            facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.get(name).map(|value| (*value).to_owned())
    };
    let differing = KINDS.iter().filter_map(|kind| {
        let (before, after) = (value(baseline, kind.fact), value(candidate, kind.fact));
        // Recordings of older versions lack some facts: nothing is known of a difference then.
        let optional = matches!(kind.fact, "cpu-quota" | "memory-limit");
        if before == after || (!optional && (before.is_none() || after.is_none())) {
            return None;
        }
        let acted_on = rows.iter().filter(|row| {
            kind.causes.contains(&row.cause)
                || finding(row).is_some_and(|id| kind.findings.contains(&id))
        });
        let extra: i64 = acted_on.map(|row| row.extra_ns.max(0)).sum();
        Some(Mechanism {
            fact: kind.fact,
            what: kind.what,
            baseline: before,
            candidate: after,
            extra: Nanos(u64::try_from(extra).unwrap_or(0)),
        })
    });
    let mut all: Vec<Mechanism> = differing.collect();
    all.sort_by_key(|mechanism| std::cmp::Reverse(mechanism.extra));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::Text;

    fn row(cause: Cause, extra_ns: i64) -> Difference {
        Difference {
            cause,
            function: Text::from("a!f"),
            process: Text::from("a"),
            stack: Vec::new(),
            baseline: Nanos::ZERO,
            candidate: Nanos::ZERO,
            extra_ns,
            share: 0.0,
            rounds_agreeing: 0,
            spread: None,
        }
    }

    fn facts(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_fact_that_differs_is_named_with_the_time_that_it_acts_on() {
        let host = facts(&[("work.fs", "ext4 0xef53"), ("seccomp", "off"), ("network", "host")]);
        let there = facts(&[
            ("work.fs", "overlay 0x794c7630"),
            ("seccomp", "filter"),
            ("network", "host"),
            ("cpu-quota", "50000000 ns in 100000000 ns"),
        ]);
        let rows = [row(Cause::Fsync, 70), row(Cause::CpuKernel, 20), row(Cause::Lock, 900)];
        let told = mechanisms(&host, &there, &rows, |_| None);
        let told: Vec<_> = told.iter().map(|m| (m.fact, m.extra.0)).collect();
        assert_eq!(told, [("work.fs", 70), ("seccomp", 20), ("cpu-quota", 0)]);
    }

    #[test]
    fn a_finding_ties_waits_of_any_cause_to_a_fact() {
        let host = facts(&[("work.fs", "ext4 0xef53")]);
        let there = facts(&[("work.fs", "overlay 0x794c7630")]);
        let rows = [row(Cause::Sleep, 500)];
        let polls = |_: &Difference| Some("poll-sleep-loop");
        assert_eq!(mechanisms(&host, &there, &rows, polls)[0].extra, Nanos(500));
        assert_eq!(mechanisms(&host, &there, &rows, |_| None)[0].extra, Nanos(0));
    }

    #[test]
    fn what_one_side_does_not_tell_is_no_difference() {
        let old = facts(&[("work.fs", "ext4 0xef53")]);
        let new = facts(&[("work.fs", "ext4 0xef53"), ("network", "host")]);
        assert!(mechanisms(&old, &new, &[], |_| None).is_empty());
        assert!(mechanisms(&[], &new, &[], |_| None).is_empty());
    }
}
