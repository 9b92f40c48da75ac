//! The time that a finding rests on, for a page.

use culprit_engine::causes::Causes;
use culprit_findings::{Grounds, SameStack, Stretch};
use culprit_model::{Label as _, Recording, ThreadId};
use serde::Serialize;

use crate::views::function_at;

/// The stretches and stacks of a finding. Causes are numbers, as in columns.
#[derive(Debug, Serialize)]
pub struct EvidenceDocument {
    /// How many stretches there are; the longest are listed.
    count: usize,
    stretches: Vec<StretchJson>,
    /// How many stacks there are; those with the most time are listed.
    stack_count: usize,
    stacks: Vec<StackJson>,
    /// The time in equal parts of the recording.
    when_ns: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct ThreadJson {
    /// `NAME (PID)`.
    process: String,
    /// `NAME (TID)`.
    thread: String,
    tid: u32,
}

#[derive(Debug, Serialize)]
struct StretchJson {
    #[serde(flatten)]
    of: ThreadJson,
    from_ns: u64,
    to_ns: u64,
    cause: u8,
    /// The innermost function outside the kernel.
    function: String,
    /// Who waited meanwhile, the nearest first: `NAME (TID)`.
    waiting: Vec<String>,
}

#[derive(Debug, Serialize)]
struct StackJson {
    #[serde(flatten)]
    of: ThreadJson,
    cause: u8,
    time_ns: u64,
    count: usize,
    /// The innermost function outside the kernel.
    function: String,
    /// Names, the leaf first.
    frames: Vec<String>,
}

impl EvidenceDocument {
    /// The document of a finding of the recording.
    ///
    /// # Panics
    /// When the grounds are of another recording.
    #[must_use]
    pub fn new(recording: &Recording, grounds: &Grounds) -> Self {
        let causes = Causes::of(recording);
        let stretches = grounds.longest.iter().map(|one| stretch(recording, &causes, one));
        let stacks = grounds.stacks.iter().map(|one| stack(recording, &causes, one));
        Self {
            count: grounds.count,
            stretches: stretches.collect(),
            stack_count: grounds.stack_count,
            stacks: stacks.collect(),
            when_ns: grounds.when.iter().map(|time| time.0).collect(),
        }
    }
}

impl ThreadJson {
    fn new(recording: &Recording, id: ThreadId) -> Self {
        let thread = recording.thread(id);
        Self {
            process: recording.process_name(thread.process),
            thread: recording.thread_name(id),
            tid: thread.tid.0,
        }
    }
}

fn stretch(recording: &Recording, causes: &Causes, one: &Stretch) -> StretchJson {
    let row = &recording.intervals[one.row];
    StretchJson {
        of: ThreadJson::new(recording, row.thread),
        from_ns: one.from.0,
        to_ns: one.to.0,
        cause: one.cause.code(),
        function: function_at(recording, causes, row.stack),
        waiting: one.waiting.iter().map(|thread| recording.thread_name(*thread)).collect(),
    }
}

fn stack(recording: &Recording, causes: &Causes, one: &SameStack) -> StackJson {
    let frames = one.stack.into_iter().flat_map(|stack| recording.stack(stack));
    StackJson {
        of: ThreadJson::new(recording, one.thread),
        cause: one.cause.code(),
        time_ns: one.time.0,
        count: one.count,
        function: function_at(recording, causes, one.stack),
        frames: frames.map(|frame| recording.frame_name(frame)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::run_filter;
    use crate::{findings_with_grounds, testing};

    #[test]
    fn evidence_has_the_words_of_views() {
        let recording = testing::recording();
        let (report, grounds) =
            findings_with_grounds(&recording, &run_filter(), true, None).unwrap();
        let at = report.findings.iter().position(|found| found.cost.0 > 0).unwrap();
        let document = EvidenceDocument::new(&recording, &grounds[at]);
        let document = serde_json::to_value(document).unwrap();
        let first = &document["stretches"][0];
        let names: Vec<_> = (0..recording.threads.len())
            .map(|at| recording.thread_name(ThreadId::from_index(at)))
            .collect();
        assert!(names.iter().any(|name| *name == first["thread"]), "{first}");
        let length = |one: &serde_json::Value| {
            one["to_ns"].as_u64().unwrap() - one["from_ns"].as_u64().unwrap()
        };
        let sum: u64 = document["stretches"].as_array().unwrap().iter().map(length).sum();
        assert_eq!(sum, report.findings[at].cost.0);
        let frames = document["stacks"][0]["frames"].as_array().unwrap();
        assert!(frames.contains(&document["stacks"][0]["function"]), "{frames:?}");
        assert_eq!(document["when_ns"].as_array().unwrap().len(), culprit_findings::WHEN);
    }
}
