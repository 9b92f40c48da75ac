//! The findings that a filter keeps.

use std::sync::Arc;

use culprit_engine::calls::Patterns;
use culprit_engine::wakers::CommandPath;
use culprit_findings::Report;
use culprit_model::{Filter, Finding, Recording, Where};

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
    if !filter.activity.is_empty() {
        return Err(Error::FindingsOfActivity);
    }
    let subject = Subject::new(filter)?;
    let options = culprit_findings::Options {
        all,
        from: filter.from,
        to: filter.to,
        threads: threads(recording, filter)?,
        own: patterns(&filter.own)?,
        command_path,
        as_claimed: false,
    };
    let mut report = culprit_findings::find(recording, &options);
    let kept =
        |finding: &Finding| finding.at.is_empty() || finding.at.iter().any(|at| subject.holds(at));
    report.findings.retain(|finding| {
        let kept = kept(finding);
        report.explained_share -= if kept { 0.0 } else { finding.share };
        kept
    });
    report.explained_share = report.explained_share.max(0.0);
    Ok(report)
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
        let excluded = told(Filter { exclude: leaf, ..Filter::default() });
        assert!(!kept(&excluded) && excluded.explained_share < all.explained_share);
        let own = Filter { own: "@(".to_owned(), ..Filter::default() };
        assert!(of(&own).is_err());
        assert!(of(&Filter { process: "@(".into(), ..Filter::default() }).is_err());
    }
}
