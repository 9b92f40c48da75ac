//! What a report says about one recording, computed once: text, JSON and HTML show the same
//! numbers because all three read them here.

use std::collections::BTreeMap;
use std::sync::Arc;

use culprit_engine::accounting::{self, Accounting, Allowance, Sum};
use culprit_engine::calls::{CallTree, NodeId, Query, select};
use culprit_engine::losses::{self, LossLine};
use culprit_engine::run_time::RunTime;
use culprit_engine::wakers::{CommandPath, Relevance};
use culprit_findings::Report;
use culprit_model::{Cause, Filter, Metric, Nanos, Recording, Selection};

use crate::Error;
use crate::filters::{fitted, query};
use crate::findings::findings;
use crate::layout::shares;
use crate::shown::Shown;
use crate::thread_time::{ThreadTime, thread_times};
use crate::units::percent;
use crate::views::{Basis, Function, functions};
use crate::weighed::Weighed;

/// A thread's life may differ by this share from the sum of its intervals: the promise that thread
/// time has no gaps (DESIGN, "Gapless by construction").
const TILING_TOLERANCE: f64 = 0.001;

/// A finding below this share is no answer to where the time went; it is the threshold below which
/// a finding's severity is low.
const DOMINATES: f64 = culprit_findings::MEDIUM_SHARE;

/// One recording and what there is to say about it.
#[derive(Debug)]
pub struct Digest {
    /// The recording itself, with its intervals.
    pub recording: Recording,
    /// Its findings.
    pub report: Report,
    /// Our sums against the kernel's.
    pub accounting: Accounting,
    /// Recorded threads that the filter keeps with their time in its range, those that matter most
    /// first.
    pub threads: Vec<ThreadTime>,
    /// Everything that was lost, one line a kind, the worst first.
    pub losses: Vec<LossLine>,
    /// What the filter keeps, in its metric.
    pub tops: Tops,
    /// The filter.
    query: Query,
}

/// What a view of a recording says.
#[derive(Debug)]
pub struct Tops {
    /// Functions by own time, the largest first.
    pub functions: Vec<Function>,
    /// What a recording without thread time weighs.
    pub weighed: Option<Weighed>,
    /// What the functions' times are shares of.
    pub heading: String,
    /// Run time by cause, and all of it; none where another metric was asked for.
    pub run: Option<(Vec<(Cause, Nanos)>, Nanos)>,
    /// The rows of the run time; none where the rows are those of the recording.
    pub run_time: Option<RunTime>,
}

/// One comparison of our sums with an oracle's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is compared, in words.
    pub what: &'static str,
    /// Our sum.
    pub ours: Nanos,
    /// What it should be.
    pub theirs: Nanos,
    /// Within the tolerance, or too small a difference to matter.
    pub fine: bool,
    /// Why it is, when the difference is beyond the tolerance.
    pub excuse: Option<Excuse>,
}

/// Why a difference beyond the tolerance is none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excuse {
    /// It is too small an amount.
    Slight,
    /// One of the two has nothing of what the hypervisor took, which may be as much as this.
    Stolen(Nanos),
}

impl Tops {
    /// The functions of what a filter without presets keeps; the command's path may be known.
    ///
    /// # Errors
    /// When a pattern is wrong.
    pub fn new(
        recording: &Recording,
        filter: &Filter,
        path: Option<&CommandPath>,
    ) -> Result<Self, Error> {
        let Shown { tree, basis, run } = Shown::new(recording, filter, path)?;
        Ok(Self { run_time: run, ..Self::of_tree(recording, &tree, &basis) })
    }

    /// What a tree of the recording says whose rows are known to the caller.
    #[must_use]
    pub fn of_tree(recording: &Recording, tree: &CallTree, basis: &Basis) -> Self {
        let causes = tree.causes(NodeId::ROOT).into_iter();
        let run = (tree.metric() == Metric::Run).then(|| {
            (causes.map(|(cause, time)| (cause, Nanos(time))).collect(), Nanos(tree.total()))
        });
        Self {
            functions: functions(tree),
            weighed: Weighed::new(recording, tree),
            heading: basis.heading(tree),
            run,
            run_time: None,
        }
    }

    /// What the run was mostly waiting for, in one sentence: all there is to say before its findings.
    #[must_use]
    pub fn course(&self) -> Option<String> {
        if let Some(weighed) = &self.weighed {
            return Some(weighed.sentence(&self.functions));
        }
        let (parts, whole) = self.run.as_ref().filter(|(parts, _)| !parts.is_empty())?;
        Some(format!("the run was in {}", shares(parts, *whole, 3)))
    }
}

/// The path of a recording's command, where what a query keeps follows it: its findings and its run time both
/// read it.
#[must_use]
pub fn command_path(recording: &Recording, query: &Query) -> Option<Arc<CommandPath>> {
    let follow = query.metric() == Metric::Run && query.keeps_all_threads();
    follow.then(|| CommandPath::of(recording)).flatten().map(Arc::new)
}

impl Check {
    fn new(what: &'static str, sum: Sum, allowed: &Allowance) -> Self {
        let apart = sum.difference_ns().unsigned_abs();
        let fine = sum.off(allowed).is_none();
        let excuse = match () {
            () if !fine || sum.residual().abs() <= allowed.tolerance => None,
            () if apart <= allowed.slack.0 => Some(Excuse::Slight),
            () => Some(Excuse::Stolen(allowed.more.max(allowed.less))),
        };
        Self { what, ours: sum.ours, theirs: sum.theirs, fine, excuse }
    }

    /// `+1.2 ms, +0.12 %`.
    #[must_use]
    pub fn difference(&self) -> String {
        let (less, apart) = if self.ours < self.theirs {
            ("-", self.theirs.saturating_sub(self.ours))
        } else {
            ("+", self.ours.saturating_sub(self.theirs))
        };
        if apart == Nanos::ZERO {
            return "none".to_owned();
        }
        match self.excuse {
            Some(Excuse::Slight) => format!("{less}{apart}, within the tolerance"),
            Some(Excuse::Stolen(most)) => {
                format!("{less}{apart}: the hypervisor took up to {most}")
            }
            None => format!("{less}{apart}, {less}{:.3} %", apart.share_of(self.theirs) * 100.0),
        }
    }
}

impl Digest {
    /// Everything about what a query keeps of a recording whose intervals are built.
    #[must_use]
    pub fn new(recording: Recording, query: &Query, report: Report, tops: Tops) -> Self {
        let threads = thread_times(&recording, query, &Relevance::of(&recording));
        Self::with_threads(recording, query, report, tops, threads)
    }

    /// As [`Digest::new`], where the time of the query's threads is known.
    #[must_use]
    pub fn with_threads(
        recording: Recording,
        query: &Query,
        report: Report,
        tops: Tops,
        threads: Vec<ThreadTime>,
    ) -> Self {
        let accounting = accounting::accounting(&recording);
        let losses = losses::lines(&recording.losses);
        Self { recording, report, accounting, threads, losses, tops, query: query.clone() }
    }

    /// The metric of the functions' times.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.query.metric()
    }

    /// The rows that the functions' times are made of.
    #[must_use]
    pub fn selection(&self) -> Selection {
        let run = self.tops.run_time.as_ref();
        select(run.map_or(&self.recording, |run| &run.recording), &self.query)
    }

    /// `CMD in PLACE`, as titles name a recording.
    #[must_use]
    pub fn what(&self) -> String {
        let meta = &self.recording.meta;
        let command = if meta.command.is_empty() {
            "running processes".to_owned()
        } else {
            meta.command.join(" ")
        };
        format!("{command} in {}", meta.place)
    }

    /// The answer in one sentence. Of a recording with holes it says first that it is one.
    #[must_use]
    pub fn verdict(&self) -> String {
        let holes: Vec<&str> = losses::holes(&self.losses).map(|line| line.id.as_str()).collect();
        let sentence = self.sentence();
        if holes.is_empty() {
            return sentence;
        }
        format!("incomplete recording ({}); the rest shows: {sentence}", holes.join(", "))
    }

    fn sentence(&self) -> String {
        if let Some(weighed) = &self.tops.weighed {
            return weighed.sentence(&self.tops.functions);
        }
        if self.threads.is_empty() {
            return "no thread time was recorded, so there is nothing to report".to_owned();
        }
        let wall = self.report.wall;
        let whole = match self.report.whole {
            whole if whole > wall => format!("{whole} of relevant thread time"),
            _ => "it".to_owned(),
        };
        let culprit = self.report.findings.iter().find(|finding| finding.cost > Nanos::ZERO);
        match culprit {
            Some(finding) if finding.confidence < culprit_findings::POSSIBLE => format!(
                "{wall}, no certain cause: {}; possible cause ({} sure): {}",
                self.mostly(),
                percent(finding.confidence),
                finding.title
            ),
            Some(finding) if finding.share >= DOMINATES => format!(
                "{wall}, {} of {whole}: {} ({} sure)",
                percent(finding.share),
                finding.title,
                percent(finding.confidence)
            ),
            Some(finding) => format!(
                "{wall}, no dominant cause: {}; largest finding, {} of {whole}: {} ({} sure)",
                self.mostly(),
                percent(finding.share),
                finding.title,
                percent(finding.confidence)
            ),
            None => format!("{wall}, no cause found: {}", self.mostly()),
        }
    }

    /// The threads that are not idle; all where there are no others.
    #[must_use]
    pub fn busy(&self) -> Vec<&ThreadTime> {
        let busy: Vec<&ThreadTime> = self.threads.iter().filter(|thread| !thread.idle).collect();
        if busy.is_empty() { self.threads.iter().collect() } else { busy }
    }

    /// How the run's time passed, or what all threads together did, in words.
    fn mostly(&self) -> String {
        if let Some(course) = self.tops.course() {
            return course;
        }
        let mut sums: BTreeMap<Cause, Nanos> = BTreeMap::new();
        for (cause, time) in self.threads.iter().flat_map(|thread| &thread.parts) {
            *sums.entry(*cause).or_default() += *time;
        }
        let parts: Vec<_> = sums.into_iter().collect();
        let whole = parts.iter().map(|(_, time)| *time).sum();
        format!("threads were in {}", shares(&parts, whole, 3))
    }

    /// Our sums against the oracles.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        Check::all(&self.recording, &self.accounting)
    }
}

impl Check {
    /// A recording's sums against the oracles.
    #[must_use]
    pub fn all(recording: &Recording, sums: &Accounting) -> Vec<Self> {
        let mut checks = Vec::new();
        // There is nothing of ours to compare.
        if recording.intervals.is_empty() {
            return checks;
        }
        if sums.life != Sum::default() {
            let what = "sum of all intervals against the threads' lifetimes";
            let allowed = Allowance { tolerance: TILING_TOLERANCE, ..Allowance::default() };
            checks.push(Check::new(what, sums.life, &allowed));
        }
        if sums.checked > 0 {
            checks.push(Check::new(
                "CPU time against the kernel's schedstat",
                sums.cpu,
                &sums.cpu_allowance(),
            ));
            checks.push(Check::new(
                "run queue time against the kernel's schedstat",
                sums.run_queue,
                &sums.run_queue_allowance(),
            ));
        }
        checks
    }
}

/// The findings of a recording and the tops of its functions, under a filter without presets.
///
/// # Errors
/// When a pattern is wrong, no thread matches, or the filter is by activity.
pub fn answers(
    recording: &Recording,
    filter: &Filter,
    all: bool,
) -> Result<(Query, Report, Tops), Error> {
    let query = query(&fitted(recording, recording.main_metric(), filter))?;
    // Both follow it, unless they are about something else than the command.
    let path = command_path(recording, &query);
    // The rest of the two has nothing in common, and findings take most of the time.
    let (report, tops) = rayon::join(
        || findings(recording, filter, all, path.clone()),
        || Tops::new(recording, filter, path.as_deref()),
    );
    Ok((query, report?, tops?))
}

/// The report of a recording, for tests.
#[cfg(test)]
pub(crate) fn digest_of(recording: Recording, filter: &Filter) -> Digest {
    let (query, report, tops) = answers(&recording, filter, false).unwrap();
    Digest::new(recording, &query, report, tops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::run_filter;
    use crate::testing;

    #[test]
    fn a_thread_s_parts_add_up_to_its_life() {
        let digest = digest_of(testing::recording(), &run_filter());
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
        let sum = |ours, theirs| Sum { ours: Nanos(ours), theirs: Nanos(theirs) };
        let mut allowed =
            Allowance { tolerance: 0.005, slack: Nanos(1_000_000), ..Allowance::default() };
        let check = Check::new("cpu", sum(1_020_000_000, 1_000_000_000), &allowed);
        assert!(!check.fine);
        assert_eq!(check.difference(), "+20.0 ms, +2.000 %");
        let check = Check::new("cpu", sum(1_000, 900_000), &allowed);
        assert!(check.fine);
        assert_eq!(check.difference(), "-899 us, within the tolerance");
        allowed.more = Nanos(30_000_000);
        let check = Check::new("cpu", sum(1_020_000_000, 1_000_000_000), &allowed);
        assert!(check.fine);
        assert_eq!(check.difference(), "+20.0 ms: the hypervisor took up to 30.0 ms");
    }

    #[test]
    fn threads_and_their_time_are_those_of_the_filter() {
        let filter = Filter {
            thread: "worker".to_owned(),
            from: Some(culprit_model::Time(50_000_000)),
            ..Default::default()
        };
        let digest = digest_of(testing::recording(), &filter);
        let told: Vec<_> = digest.threads.iter().map(|t| (t.name.as_str(), t.wall)).collect();
        assert_eq!(told, [("worker (11)", Nanos(60_000_000))]);
    }

    #[test]
    fn a_verdict_on_a_damaged_recording_says_so_first() {
        let mut recording = testing::recording();
        recording.losses.push(culprit_model::Loss {
            kind: culprit_model::LossKind::FileDamaged,
            count: 1,
            from: None,
            to: None,
            detail: "the end is missing".into(),
        });
        let filter = Filter::default();
        let digest = digest_of(recording.clone(), &filter);
        let verdict = digest.verdict();
        assert!(verdict.starts_with("incomplete recording (file-damaged)"), "{verdict}");
        recording.intervals.clear();
        let digest = digest_of(recording, &filter);
        assert!(digest.verdict().ends_with("there is nothing to report"), "{}", digest.verdict());
    }
}
