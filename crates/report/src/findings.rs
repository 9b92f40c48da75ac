//! The findings that a filter keeps.

use std::sync::Arc;

use culprit_engine::calls::Patterns;
use culprit_engine::wakers::CommandPath;
use culprit_findings::{Grounds, Report};
use culprit_model::{Filter, Recording, Where};

use crate::Error;
use crate::filters::{patterns, query};

/// The findings of the time range, processes and threads that a filter selects: their time is
/// measured, and whoever they waited for is looked for everywhere. Of these, those with frames that
/// it keeps; what a finding costs is settled before. The command's path may be known.
///
/// # Errors
/// When a pattern is wrong, no thread matches, or the filter is by activity.
pub fn findings(
    recording: &Recording,
    filter: &Filter,
    all: bool,
    command_path: Option<Arc<CommandPath>>,
) -> Result<Report, Error> {
    let subject = Subject::new(filter)?;
    let options = options(recording, filter, all, command_path)?;
    let report = culprit_findings::find(recording, &options);
    let nothing = vec![(); report.findings.len()];
    Ok(subject.of(report, nothing).0)
}

/// As [`findings`], with the time that each finding rests on, in the order of the findings.
///
/// # Errors
/// As for [`findings`].
pub fn findings_with_grounds(
    recording: &Recording,
    filter: &Filter,
    all: bool,
    command_path: Option<Arc<CommandPath>>,
) -> Result<(Report, Vec<Grounds>), Error> {
    let subject = Subject::new(filter)?;
    let options = options(recording, filter, all, command_path)?;
    let (report, grounds) = culprit_findings::find_with_grounds(recording, &options);
    Ok(subject.of(report, grounds))
}

/// What a filter asks of the rules.
fn options(
    recording: &Recording,
    filter: &Filter,
    all: bool,
    command_path: Option<Arc<CommandPath>>,
) -> Result<culprit_findings::Options, Error> {
    if !filter.activity.is_empty() {
        return Err(Error::FindingsOfActivity);
    }
    Ok(culprit_findings::Options {
        all,
        from: filter.from,
        to: filter.to,
        threads: threads(recording, filter)?,
        own: patterns(&filter.own)?,
        command_path,
        as_claimed: false,
    })
}

/// Which threads a filter selects, an entry a thread of the recording; none where it selects all.
fn threads(recording: &Recording, filter: &Filter) -> Result<Option<Vec<bool>>, Error> {
    let selects = !filter.process.is_empty() || !filter.thread.is_empty();
    let threads =
        selects.then(|| query(filter).map(|query| query.threads(recording))).transpose()?;
    if threads.as_ref().is_some_and(|kept| !kept.contains(&true)) {
        let given = [("process", &filter.process), ("thread", &filter.thread)];
        let given = given.iter().filter(|(_, pattern)| !pattern.is_empty());
        let given: Vec<String> =
            given.map(|(option, pattern)| format!("`--{option} {pattern}`")).collect();
        return Err(Error::NoThread(given.join(" with ")));
    }
    Ok(threads)
}

/// The frames that findings must have, or must not, to be listed.
struct Subject {
    include: Patterns,
    exclude: Patterns,
}

impl Subject {
    fn new(filter: &Filter) -> Result<Self, Error> {
        Ok(Self { include: patterns(&filter.include)?, exclude: patterns(&filter.exclude)? })
    }

    /// The report with the findings that have these frames, and what stands beside each of them.
    fn of<G>(&self, mut report: Report, beside: Vec<G>) -> (Report, Vec<G>) {
        let mut kept = Vec::with_capacity(report.findings.len());
        for (finding, beside) in std::mem::take(&mut report.findings).into_iter().zip(beside) {
            if finding.at.is_empty() || finding.at.iter().any(|at| self.holds(at)) {
                kept.push((finding, beside));
            } else {
                report.explained_share -= finding.share;
            }
        }
        report.explained_share = report.explained_share.max(0.0);
        let (findings, beside) = kept.into_iter().unzip();
        report.findings = findings;
        (report, beside)
    }

    fn holds(&self, at: &Where) -> bool {
        self.include.iter().all(|pattern| at.stack.iter().any(|name| pattern.matches(name)))
            && !at.stack.iter().any(|name| self.exclude.any(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn findings_are_those_of_the_threads_and_frames_that_the_filter_keeps() {
        let recording = testing::recording();
        let of = |filter: &Filter| findings(&recording, filter, true, None);
        let told = |filter: Filter| of(&filter).unwrap();
        let all = told(Filter::default());
        let costly = all.findings.iter().find(|finding| !finding.at.is_empty()).unwrap();
        let thread = costly.at[0].thread.to_string();
        let name = thread.split(' ').next().unwrap();
        let kept = |report: &Report| report.findings.iter().any(|f| f.title == costly.title);
        assert!(kept(&told(Filter { thread: name.to_owned(), ..Filter::default() })));
        let nobody = Filter { thread: "nobody".to_owned(), ..Filter::default() };
        assert!(of(&nobody).unwrap_err().to_string().contains("nobody"));
        let leaf = costly.at[0].stack.last().unwrap().to_string();
        let excluded = told(Filter { exclude: leaf.clone(), ..Filter::default() });
        assert!(!kept(&excluded) && excluded.explained_share < all.explained_share);
        let with_grounds = |filter: &Filter| findings_with_grounds(&recording, filter, true, None);
        let excluding = Filter { exclude: leaf.clone(), ..Filter::default() };
        let (same, grounds) = with_grounds(&excluding).unwrap();
        assert_eq!((&same, grounds.len()), (&excluded, excluded.findings.len()));
        for (finding, grounds) in same.findings.iter().zip(&grounds) {
            let time: culprit_model::Nanos = grounds.when.iter().copied().sum();
            assert_eq!(time, finding.cost, "{}: what stands beside it is its own", finding.id);
        }
        let own = Filter { own: "@(".to_owned(), ..Filter::default() };
        assert!(of(&own).is_err());
        assert!(of(&Filter { process: "@(".into(), ..Filter::default() }).is_err());
    }
}
