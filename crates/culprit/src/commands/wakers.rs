//! `culprit wakers REC`: who ended the waits, where they were, and what they had waited for.

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, RowKind};
use culprit_engine::causes::{Causes, FutexWaits};
use culprit_engine::wakers::{Ended, Lives, chain, ended};
use culprit_model::{Cause, Filter, FrameId, Metric, Nanos, Recording, StackId, ThreadId};
use culprit_report::json::{OfRecording, WakersDocument};
use culprit_report::views::{WakerLink, WakerRow, function_at, wakers_text};

use crate::args::ViewArgs;
use crate::failure::{Failure, Outcome};
use crate::load;
use crate::output::Output;

/// Rows unless the user says otherwise.
const ROWS: usize = 15;

/// Runs it.
///
/// # Errors
/// When the recording or the filter cannot be read, or the metric weighs no waits.
pub(crate) fn run(args: &ViewArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let given = args.filter.filter()?;
    let filter = waits(given.clone())?;
    let recording = load::recording(&args.recording.recording, output)?;
    let tree = load::tree(&recording, &filter)?;
    load::explain_if_empty(&tree, &filter, &given, output)?;
    let json = output.wants_json();
    let limit = filter.limit.unwrap_or(if json { 0 } else { ROWS });
    let looks = Looks::at(&recording);
    let groups = looks.groups(&tree);
    let all = groups.len();
    let kept = if limit == 0 { all } else { limit };
    let rows: Vec<WakerRow> = groups.iter().take(kept).map(|group| looks.row(group)).collect();
    if json {
        let document = WakersDocument::new(&tree, &rows, all - rows.len());
        output.document(&OfRecording::new(&recording, document))?;
    } else {
        let text = wakers_text(&tree, &rows, all - rows.len(), output.layout());
        output.print(&text)?;
    }
    Ok(Outcome::Done)
}

/// Waits are what is shown: all of them, or those of one cause.
fn waits(filter: Filter) -> Result<Filter, Failure> {
    match filter.metric {
        Metric::Run | Metric::Wall | Metric::Blocked => {
            Ok(Filter { metric: Metric::Blocked, ..filter })
        }
        Metric::Waits => Ok(filter),
        one if one.cause().is_some_and(Cause::is_blocked) => Ok(filter),
        other => Err(Failure::bad_input(format!(
            "cannot show what ended waits: the metric `{other}` does not measure waits"
        ))
        .hint("use `--metric blocked`, or one cause such as `--metric blocked.lock`")),
    }
}

/// Waits of one thread at one place that ended alike.
struct Group {
    thread: ThreadId,
    cause: Cause,
    stack: Option<StackId>,
    ended: Ended,
    value: u64,
    count: u64,
    /// Row of the longest one.
    longest: usize,
}

/// What is looked at to write a group out.
struct Looks<'r> {
    recording: &'r Recording,
    lives: Lives,
    causes: Causes,
}

impl<'r> Looks<'r> {
    fn at(recording: &'r Recording) -> Self {
        Self { recording, lives: Lives::of(recording), causes: Causes::of(recording) }
    }

    /// The waits that a view keeps, by where they were and how they ended; the costliest first.
    fn groups(&self, tree: &CallTree) -> Vec<Group> {
        let recording = self.recording;
        let mut places: BTreeMap<(ThreadId, Option<StackId>, Cause, String), Group> =
            BTreeMap::new();
        tree.each_row(|kind, at, value| {
            let interval = recording.intervals.get(at).filter(|_| kind == RowKind::Interval);
            let Some(row) = interval else { return };
            let ended = ended(recording, &self.lives, row);
            let key = (row.thread, row.stack, row.cause, format!("{ended:?}"));
            let group = places.entry(key).or_insert(Group {
                thread: row.thread,
                cause: row.cause,
                stack: row.stack,
                ended,
                value: 0,
                count: 0,
                longest: at,
            });
            group.value += value;
            group.count += 1;
            if row.duration > recording.intervals[group.longest].duration {
                group.longest = at;
            }
        });
        let mut groups: Vec<Group> = places.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.value));
        groups
    }

    fn row(&self, group: &Group) -> WakerRow {
        let mut waits = FutexWaits::new(self.recording);
        let cause = waits.cause(group.cause, group.stack);
        let links = chain(self.recording, &self.lives, group.longest);
        let links = links.iter().map(|link| {
            let row = &self.recording.intervals[link.wait];
            WakerLink {
                thread: self.recording.thread_name(row.thread),
                cause: waits.cause(row.cause, row.stack),
                function: self.function(row.stack),
                duration: link.held,
                woken_by: self.waker(link.ended),
            }
        });
        let waker_stack = match group.ended {
            Ended::By { stack, .. } => stack,
            _ => None,
        };
        WakerRow {
            value: group.value,
            count: group.count,
            thread: self.recording.thread_name(group.thread),
            cause,
            function: self.function(group.stack),
            stack: self.frames(group.stack),
            woken_by: self.waker(group.ended),
            kind: kind(group.ended),
            waker_stack: self.frames(waker_stack),
            longest: Nanos(self.recording.intervals[group.longest].duration.0),
            chain: links.collect(),
        }
    }

    fn function(&self, stack: Option<StackId>) -> String {
        function_at(self.recording, &self.causes, stack)
    }

    /// Who ended a wait, in words.
    fn waker(&self, ended: Ended) -> String {
        match ended {
            Ended::By { thread, stack: None } => self.recording.thread_name(thread),
            Ended::By { thread, stack } => {
                format!("{} at {}", self.recording.thread_name(thread), self.function(stack))
            }
            Ended::ByExit { thread } => {
                format!("the exit of {}", self.recording.thread_name(thread))
            }
            Ended::ByInterrupt(source) => format!("{source} interrupt"),
            Ended::Not => "nothing: it lasted to the end of the recording".to_owned(),
            Ended::Unknown => "unknown".to_owned(),
        }
    }

    /// The frames of a stack, root first.
    fn frames(&self, stack: Option<StackId>) -> Vec<String> {
        let name = |frame: FrameId| self.recording.frame_name(frame);
        let mut names: Vec<String> =
            stack.into_iter().flat_map(|stack| self.recording.stack(stack)).map(name).collect();
        names.reverse();
        names
    }
}

/// What ended a wait, as one word.
fn kind(ended: Ended) -> String {
    match ended {
        Ended::By { .. } => "thread".to_owned(),
        Ended::ByExit { .. } => "exit".to_owned(),
        Ended::ByInterrupt(source) => source.to_string(),
        Ended::Not => "not".to_owned(),
        Ended::Unknown => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::notation::parse;

    use super::*;
    use crate::testing;

    /// A wait has one waker, and stands in one group: also in a part of the time, where waits are cut.
    #[test]
    fn groups_add_up_to_the_whole() {
        let recording = testing::recording();
        let part = Filter { from: Some(culprit_model::Time(15_000_000)), ..Filter::default() };
        for filter in [Filter::default(), part] {
            for metric in [Metric::Blocked, Metric::Waits] {
                let filter = waits(Filter { metric, ..filter.clone() }).unwrap();
                let tree = load::tree(&recording, &filter).unwrap();
                let groups = Looks::at(&recording).groups(&tree);
                let sum: u64 = groups.iter().map(|group| group.value).sum();
                assert!(sum > 0 && sum == tree.total(), "{metric}: {sum} of {}", tree.total());
            }
        }
    }

    /// `worker` sleeps all along and then ends the last 40 ms of it, in which `main` waited.
    #[test]
    fn a_waker_s_wait_counts_as_far_as_it_held_the_wait_up() {
        let recording = parse(
            "
            tick 10ms
            stack u cpu.user app!main
            stack l blocked.lock app!main;libc.so.6!pthread_mutex_lock
            stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
            app(10)/main(10)    uuuuuullllu|
            app(10)/worker(11)  usssssssssu|
            wake 10 worker > main app!main
            ",
        )
        .unwrap();
        let filter = waits(Filter { thread: "main".to_owned(), ..Filter::default() }).unwrap();
        let tree = load::tree(&recording, &filter).unwrap();
        let looks = Looks::at(&recording);
        let row = looks.row(&looks.groups(&tree)[0]);
        let chain: Vec<_> = row.chain.iter().map(|l| (l.thread.as_str(), l.duration)).collect();
        let (held, all) = (Nanos(40_000_000), row.longest);
        assert_eq!((chain, all), (vec![("main (10)", held), ("worker (11)", held)], held));
    }
}
