//! What a report says about one recording, computed once: text, JSON and HTML show the same
//! numbers because all three read them here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_engine::accounting::{self, Accounting, Sum};
use culprit_findings::Report;
use culprit_model::{Cause, Label as _, LossKind, LossSeverity, Nanos, Recording, ThreadId};

use crate::output::percent;
pub(crate) use crate::views::{Function, functions};

/// A thread's life may differ by this share from the sum of its intervals: the promise that thread
/// time has no gaps (DESIGN, "Gapless by construction").
const TILING_TOLERANCE: f64 = 0.001;

/// A finding below this share is no answer to where the time went; it is the threshold below which
/// a finding's severity is low.
const DOMINATES: f64 = culprit_findings::MEDIUM_SHARE;

/// One recording and what there is to say about it.
#[derive(Debug)]
pub(crate) struct Digest {
    /// The recording itself, with its intervals.
    pub recording: Recording,
    /// Its findings.
    pub report: Report,
    /// Our sums against the kernel's.
    pub accounting: Accounting,
    /// Recorded threads with their time, those that matter most first.
    pub threads: Vec<ThreadTime>,
    /// Functions by own time, the largest first.
    pub top: Vec<Function>,
}

/// One thread's time by cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    /// Which thread.
    pub id: ThreadId,
    /// `NAME (PID)` of its process.
    pub process: String,
    /// `NAME (TID)`.
    pub name: String,
    /// Its life within the recording.
    pub wall: Nanos,
    /// Time by cause, in the order of the causes; no zeros.
    pub parts: Vec<(Cause, Nanos)>,
}

/// One comparison of our sums with an oracle's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// What is compared, in words.
    pub what: &'static str,
    /// Our sum.
    pub ours: Nanos,
    /// What it should be.
    pub theirs: Nanos,
    /// Within the tolerance.
    pub fine: bool,
}

/// One kind of loss, all its rows together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LossLine {
    /// The kind's word.
    pub id: String,
    /// How bad it is.
    pub severity: LossSeverity,
    /// How many records, stacks, modules.
    pub count: u64,
    /// What exactly; the first few of several.
    pub detail: String,
    /// What helps.
    pub advice: String,
}

impl ThreadTime {
    /// The time of the causes that `holds` picks.
    pub(crate) fn sum(&self, holds: impl Fn(Cause) -> bool) -> Nanos {
        self.parts.iter().filter(|(cause, _)| holds(*cause)).map(|(_, time)| *time).sum()
    }
}

impl Check {
    fn new(what: &'static str, sum: Sum, tolerance: f64, slack: Nanos) -> Self {
        let apart = sum.difference_ns().unsigned_abs();
        let fine = apart <= slack.0 || sum.residual().abs() <= tolerance;
        Self { what, ours: sum.ours, theirs: sum.theirs, fine }
    }

    /// `+1.2 ms, +0.12 %`.
    pub(crate) fn difference(&self) -> String {
        let (less, apart) = if self.ours < self.theirs {
            ("-", self.theirs.saturating_sub(self.ours))
        } else {
            ("+", self.ours.saturating_sub(self.theirs))
        };
        if apart == Nanos::ZERO {
            return "none".to_owned();
        }
        format!("{less}{apart}, {less}{:.3} %", apart.share_of(self.theirs) * 100.0)
    }
}

impl Digest {
    /// Everything about a recording whose intervals are built.
    pub(crate) fn new(recording: Recording, report: Report, top: Vec<Function>) -> Self {
        let accounting = accounting::accounting(&recording);
        let threads = thread_times(&recording);
        Self { recording, report, accounting, threads, top }
    }

    /// `CMD in PLACE`, as titles name a recording.
    pub(crate) fn what(&self) -> String {
        let meta = &self.recording.meta;
        let command = if meta.command.is_empty() {
            "running processes".to_owned()
        } else {
            meta.command.join(" ")
        };
        format!("{command} in {}", meta.place)
    }

    /// The answer in one sentence.
    pub(crate) fn verdict(&self) -> String {
        let wall = self.report.wall;
        let culprit = self.report.findings.iter().find(|finding| finding.cost > Nanos::ZERO);
        match culprit {
            Some(finding) if finding.share >= DOMINATES => {
                format!("{wall}, {} of it because {}", percent(finding.share), finding.title)
            }
            Some(finding) => format!(
                "{wall}, and nothing dominates: {}; the costliest finding is {} of it: {}",
                self.mostly(),
                percent(finding.share),
                finding.title
            ),
            None => format!("{wall}, and nothing stands out: {}", self.mostly()),
        }
    }

    /// What all threads together did, in words.
    fn mostly(&self) -> String {
        let mut sums: BTreeMap<Cause, Nanos> = BTreeMap::new();
        for (cause, time) in self.threads.iter().flat_map(|thread| &thread.parts) {
            *sums.entry(*cause).or_default() += *time;
        }
        let parts: Vec<_> = sums.into_iter().collect();
        let whole = parts.iter().map(|(_, time)| *time).sum();
        format!("threads were in {}", crate::output::shares(&parts, whole, 3))
    }

    /// Our sums against the oracles.
    pub(crate) fn checks(&self) -> Vec<Check> {
        let sums = &self.accounting;
        let mut checks = vec![Check::new(
            "intervals tile the threads' lives",
            sums.life,
            TILING_TOLERANCE,
            Nanos::ZERO,
        )];
        if sums.checked > 0 {
            checks.push(Check::new(
                "time on a CPU, against the kernel's schedstat",
                sums.cpu,
                accounting::CPU_TOLERANCE,
                accounting::SLACK,
            ));
            checks.push(Check::new(
                "time on run queues, against schedstat",
                sums.run_queue,
                accounting::RUN_QUEUE_TOLERANCE,
                accounting::SLACK,
            ));
        }
        checks
    }

    /// The loss ledger, one line a kind, the worst first.
    pub(crate) fn losses(&self) -> Vec<LossLine> {
        let mut kinds: BTreeMap<LossKind, (u64, Vec<&str>)> = BTreeMap::new();
        for loss in &self.recording.losses {
            let (count, details) = kinds.entry(loss.kind).or_default();
            *count += loss.count;
            if !loss.detail.is_empty() {
                details.push(&loss.detail);
            }
        }
        let mut lines: Vec<LossLine> = kinds
            .into_iter()
            .map(|(kind, (count, details))| loss_line(kind, count, &details))
            .collect();
        lines.sort_by_key(|line| Reverse(line.severity));
        lines
    }
}

fn loss_line(kind: LossKind, count: u64, details: &[&str]) -> LossLine {
    /// More would fill the screen; the recording has them all.
    const SHOWN: usize = 3;
    let mut detail = details.iter().take(SHOWN).copied().collect::<Vec<_>>().join("; ");
    if details.len() > SHOWN {
        detail.push_str(&format!("; {} more", details.len() - SHOWN));
    }
    LossLine {
        id: kind.word().to_owned(),
        severity: kind.severity(),
        count,
        detail,
        advice: kind.advice().to_owned(),
    }
}

/// Every recorded thread's time: those that ever ran come first, and of these the longest-lived; a
/// machine has many that never do.
fn thread_times(recording: &Recording) -> Vec<ThreadTime> {
    let mut sums = vec![[Nanos::ZERO; Cause::ALL.len()]; recording.threads.len()];
    for row in &recording.intervals {
        sums[row.thread.index()][usize::from(row.cause.code())] += row.duration;
    }
    let mut threads: Vec<ThreadTime> = recording
        .threads
        .iter()
        .zip(sums)
        .enumerate()
        .filter(|(_, (thread, _))| thread.recorded)
        .map(|(index, (thread, sums))| {
            let id = ThreadId::from_index(index);
            let parts: Vec<_> = Cause::ALL
                .iter()
                .copied()
                .zip(sums)
                .filter(|(_, time)| *time > Nanos::ZERO)
                .collect();
            ThreadTime {
                id,
                process: recording.process_name(thread.process),
                name: recording.thread_name(id),
                wall: parts.iter().map(|(_, time)| *time).sum(),
                parts,
            }
        })
        .collect();
    threads.sort_by_key(|thread| {
        let cpu = thread.sum(Cause::is_cpu);
        (cpu == Nanos::ZERO, Reverse(thread.wall), Reverse(cpu), thread.id)
    });
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_thread_s_parts_add_up_to_its_life() {
        let digest = testing::digest();
        for thread in &digest.threads {
            let life = digest
                .recording
                .thread_end(thread.id)
                .since(digest.recording.thread(thread.id).start);
            assert_eq!(thread.wall, life, "{}", thread.name);
        }
        assert!(digest.checks().iter().all(|check| check.fine), "{:?}", digest.checks());
    }

    #[test]
    fn a_sum_beyond_its_tolerance_is_not_fine() {
        let sum = Sum { ours: Nanos(1_020_000_000), theirs: Nanos(1_000_000_000) };
        let check = Check::new("cpu", sum, 0.005, Nanos(1_000_000));
        assert!(!check.fine);
        assert_eq!(check.difference(), "+20.0 ms, +2.000 %");
    }

    #[test]
    fn losses_of_one_kind_are_one_line_and_the_worst_comes_first() {
        let mut digest = testing::digest();
        let loss = |kind, count, detail: &str| culprit_model::Loss {
            kind,
            count,
            from: None,
            to: None,
            detail: detail.into(),
        };
        digest.recording.losses = vec![
            loss(LossKind::RingsSmall, 1, ""),
            loss(LossKind::SymbolsMissing, 1, "/bin/a"),
            loss(LossKind::SwitchesLost, 7, "cpu 0"),
            loss(LossKind::SymbolsMissing, 2, "/bin/b"),
        ];
        let lines: Vec<_> =
            digest.losses().iter().map(|l| format!("{} {} {}", l.id, l.count, l.detail)).collect();
        assert_eq!(
            lines,
            ["switches-lost 7 cpu 0", "symbols-missing 3 /bin/a; /bin/b", "rings-small 1 "]
        );
    }
}
