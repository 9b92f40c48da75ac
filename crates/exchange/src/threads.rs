//! Threads on the way out and back: whose rows, by what name, and what is left of a stack when its
//! process and thread are said elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{LossKind, Recording, SelectedRow, Source, Step, ThreadId};

use crate::builder::{Builder, base_name};
use crate::profile::Profile;

/// A thread as formats without a place for it have it in a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    process: &'a str,
    pid: u32,
    thread: &'a str,
    tid: u32,
}

impl Named<'_> {
    pub(crate) fn add(&self, builder: &mut Builder) -> ThreadId {
        let process = builder.process(self.pid, self.process);
        builder.thread(process, self.tid, self.thread)
    }
}

/// `Process NAME (PID) Thread NAME (TID)`; empty for rows of no thread.
pub(crate) fn name(recording: &Recording, thread: Option<ThreadId>) -> String {
    thread.map_or_else(String::new, |id| {
        let process = recording.process_name(recording.thread(id).process);
        format!("Process {process} Thread {}", recording.thread_name(id))
    })
}

/// What [`name`] wrote.
pub(crate) fn parse(name: &str) -> Option<Named<'_>> {
    /// What stands between the two names.
    const BETWEEN: &str = ") Thread ";
    let rest = name.strip_prefix("Process ")?;
    // Names may hold these words themselves.
    rest.match_indices(BETWEEN).find_map(|(at, _)| {
        let (process, pid) = rest[..at].rsplit_once(" (")?;
        let (thread, tid) = rest[at + BETWEEN.len()..].strip_suffix(')')?.rsplit_once(" (")?;
        Some(Named { process, pid: pid.parse().ok()?, thread, tid: tid.parse().ok()? })
    })
}

/// The rows of each thread, in the order of time; those of no thread first.
#[derive(Debug)]
pub(crate) struct Threads<'a> {
    rows: &'a [SelectedRow],
    /// Positions among the rows, thread by thread.
    order: Vec<usize>,
}

impl<'a> Threads<'a> {
    pub(crate) fn of(profile: &Profile<'a>) -> Self {
        let rows = profile.selection.rows.as_slice();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| (rows[*at].thread, rows[*at].time));
        Self { rows, order }
    }

    /// Each thread with its rows.
    pub(crate) fn iter(
        &self,
    ) -> impl Iterator<Item = (Option<ThreadId>, impl Iterator<Item = &'a SelectedRow> + Clone)>
    {
        let rows = self.rows;
        let parts = self.order.chunk_by(|a, b| rows[*a].thread == rows[*b].thread);
        parts.map(move |part| (rows[part[0]].thread, part.iter().map(move |at| &rows[*at])))
    }
}

/// The steps of a row's stack, root first, without the process and thread that the row names.
pub(crate) fn frames<'a>(profile: &'a Profile<'_>, row: &SelectedRow) -> Vec<&'a Step> {
    let said = |step: &&Step| {
        row.thread.is_some() && matches!(step.source, Source::Process(_) | Source::Thread(_))
    };
    let stack = profile.selection.stack(row.leaf);
    let mut steps: Vec<&Step> = stack.filter(|step| !said(step)).collect();
    steps.reverse();
    steps
}

/// File and line of a step, where it is a frame that has them.
pub(crate) fn source<'a>(profile: &Profile<'a>, step: &Step) -> (Option<&'a str>, Option<u32>) {
    let Source::Frame(id) = step.source else { return (None, None) };
    let frame = profile.recording.frame(id);
    (frame.file.as_ref().map(|file| file.as_str()), frame.line)
}

/// Module's path and function of a step, where joining them again gives the step's name; else no
/// module and the whole name.
pub(crate) fn place<'a>(profile: &Profile<'a>, step: &'a Step) -> (Option<&'a str>, &'a str) {
    let whole = (None, step.name.as_str());
    let Source::Frame(id) = step.source else { return whole };
    let frame = profile.recording.frame(id);
    let Some(module) = frame.module.map(|id| profile.recording.module(id)) else { return whole };
    let named =
        step.name.strip_prefix(module.name.as_str()).and_then(|rest| rest.strip_prefix('!'));
    let again = base_name(&module.path) == module.name.as_str();
    match named {
        Some(function) if again && function == frame.function.as_str() => {
            (Some(module.path.as_str()), function)
        }
        _ => whole,
    }
}

/// A number for each word.
pub(crate) type Numbers<'a> = BTreeMap<&'a str, u32>;

/// A number for each word that stands for a process or thread: itself where it is one, else the
/// smallest that is free.
pub(crate) fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Numbers<'a> {
    let words: BTreeSet<&str> = words.collect();
    let taken: BTreeSet<u32> = words.iter().filter_map(|word| number(word)).collect();
    let mut free = (1..).filter(|number| !taken.contains(number));
    words
        .into_iter()
        .map(|word| (word, number(word).or_else(|| free.next()).unwrap_or(0)))
        .collect()
}

/// The number that a word is; `007` is another word than `7`.
pub(crate) fn number(word: &str) -> Option<u32> {
    let number: u32 = word.parse().ok()?;
    (number.to_string() == word).then_some(number)
}

/// Notes those of the numbers that stand for something that no kernel gives.
pub(crate) fn lose_numbers(numbers: &Numbers<'_>, of: &str, builder: &mut Builder) {
    let replaced = numbers.keys().filter(|word| number(word).is_none()).count() as u64;
    if replaced > 0 {
        let what = format!("{of} whose id is not a kernel number: each gets a free number");
        builder.lose(LossKind::DetailLeftOut, replaced, &what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_threads_are_read_back() {
        let mut builder = Builder::default();
        let named = Named { process: "a (b)", pid: 7, thread: "io) (2", tid: 9 };
        let thread = named.add(&mut builder);
        let text = name(builder.recording(), Some(thread));
        assert_eq!(parse(&text), Some(named));
        assert_eq!(parse("Thread 12 \"MainThread\""), None);
        assert_eq!(parse("Process x (1) Thread y"), None);
    }
}
