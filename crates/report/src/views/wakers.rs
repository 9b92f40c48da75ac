//! Who ended the waits: a line a place and waker, below it the chain of the longest such wait.

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, RowKind};
use culprit_engine::causes::{Causes, FutexWaits};
use culprit_engine::wakers::{Ended, Lives, chain, ended};
use culprit_model::{Cause, Filter, FrameId, Metric, Nanos, Recording, StackId, ThreadId, clean};

use super::{Basis, function_at, share, value};
use crate::Error;
use crate::layout::Layout;
use crate::units::percent;

/// Waits of one thread at one place that were ended alike.
#[derive(Debug)]
pub struct WakerRow {
    /// What they add up to, in the unit of the tree's metric.
    pub value: u64,
    /// How many waits.
    pub count: u64,
    /// `NAME (TID)` of the thread that waited.
    pub thread: String,
    /// What it waited for.
    pub cause: Cause,
    /// The innermost function outside the kernel.
    pub function: String,
    /// Root first.
    pub stack: Vec<String>,
    /// In words.
    pub woken_by: String,
    /// `thread`, `exit`, the kind of interrupt, `not` or `unknown`.
    pub kind: String,
    /// Where the waker was, root first; empty where wakeups have no stacks.
    pub waker_stack: Vec<String>,
    /// The longest of the waits.
    pub longest: Nanos,
    /// Its chain: the wait itself, what its waker waited for meanwhile, and so on.
    pub chain: Vec<WakerLink>,
}

/// One wait of a chain.
#[derive(Debug)]
pub struct WakerLink {
    /// `NAME (TID)` of the thread that waited.
    pub thread: String,
    /// What it waited for.
    pub cause: Cause,
    /// The innermost function outside the kernel.
    pub function: String,
    /// How long it waited.
    pub duration: Nanos,
    /// Who ended the wait, in words.
    pub woken_by: String,
}

/// The rows in lines.
#[must_use]
pub fn wakers_text(tree: &CallTree, rows: &[WakerRow], left_out: usize, layout: &Layout) -> String {
    let metric = tree.metric();
    let paint = layout.paint();
    let mut text = Basis::line(&Basis::default().heading(tree), layout);
    for row in rows {
        text.push_str(&format!(
            "\n{:>9} {:>6}  {} x  {} {} {}\n",
            value(metric, row.value),
            percent(share(row.value, tree.total())),
            row.count,
            clean(&row.thread),
            paint.cause(row.cause, &row.cause.to_string()),
            clean(&row.function),
        ));
        text.push_str(&format!("{:>18}ended by {}\n", "", clean(&row.woken_by)));
        for link in row.chain.iter().skip(1) {
            text.push_str(&format!(
                "{:>18}{} waited {} of the longest wait ({}): {} {}, ended by {}\n",
                "",
                clean(&link.thread),
                link.duration,
                row.longest,
                paint.cause(link.cause, &link.cause.to_string()),
                clean(&link.function),
                clean(&link.woken_by)
            ));
        }
    }
    if left_out > 0 {
        text.push_str(&format!("\n{left_out} more; `--limit 0` shows all.\n"));
    }
    text
}

/// The filter in a metric of waits: of all of them, or of those of one cause.
///
/// # Errors
/// When it asks for a metric that measures something else.
pub fn waits_of(filter: Filter) -> Result<Filter, Error> {
    match filter.metric {
        Metric::Run | Metric::Wall | Metric::Blocked => {
            Ok(Filter { metric: Metric::Blocked, ..filter })
        }
        Metric::Waits => Ok(filter),
        one if one.cause().is_some_and(Cause::is_blocked) => Ok(filter),
        other => Err(Error::NotWaits(other)),
    }
}

/// The waits that a tree keeps, by place and waker, the costliest first: at most `limit` rows unless that is 0, and
/// how many are left out. The tree is of the recording's own rows.
#[must_use]
pub fn waker_rows(recording: &Recording, tree: &CallTree, limit: usize) -> (Vec<WakerRow>, usize) {
    let context = WakerContext::of(recording);
    let groups = context.groups(tree);
    let kept = if limit == 0 { groups.len() } else { limit.min(groups.len()) };
    let rows = groups[..kept].iter().map(|group| context.row(group)).collect();
    (rows, groups.len() - kept)
}

/// Waits of one thread at one place that ended alike.
struct WaitGroup {
    thread: ThreadId,
    cause: Cause,
    stack: Option<StackId>,
    ended: Ended,
    value: u64,
    count: u64,
    /// Row of the longest one.
    longest: usize,
}

/// What a row is made of beside its group.
struct WakerContext<'r> {
    recording: &'r Recording,
    lives: Lives,
    causes: Causes,
}

impl<'r> WakerContext<'r> {
    fn of(recording: &'r Recording) -> Self {
        Self { recording, lives: Lives::of(recording), causes: Causes::of(recording) }
    }

    /// The waits that a view keeps, by where they were and how they ended; the costliest first.
    fn groups(&self, tree: &CallTree) -> Vec<WaitGroup> {
        let recording = self.recording;
        let mut places: BTreeMap<(ThreadId, Option<StackId>, Cause, String), WaitGroup> =
            BTreeMap::new();
        tree.each_row(|kind, at, value| {
            let interval = recording.intervals.get(at).filter(|_| kind == RowKind::Interval);
            let Some(row) = interval else { return };
            let ended = ended(recording, &self.lives, row);
            let key = (row.thread, row.stack, row.cause, format!("{ended:?}"));
            let group = places.entry(key).or_insert(WaitGroup {
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
        let mut groups: Vec<WaitGroup> = places.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.value));
        groups
    }

    fn row(&self, group: &WaitGroup) -> WakerRow {
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
    use crate::shown::tree;
    use crate::testing;

    /// A wait has one waker, and stands in one group: also in a part of the time, where waits are cut.
    #[test]
    fn groups_add_up_to_the_whole() {
        let recording = testing::recording();
        let part = Filter { from: Some(culprit_model::Time(15_000_000)), ..Filter::default() };
        for filter in [Filter::default(), part] {
            for metric in [Metric::Blocked, Metric::Waits] {
                let filter = waits_of(Filter { metric, ..filter.clone() }).unwrap();
                let kept = tree(&recording, &filter).unwrap();
                let groups = WakerContext::of(&recording).groups(&kept);
                let sum: u64 = groups.iter().map(|group| group.value).sum();
                assert!(sum > 0 && sum == kept.total(), "{metric}: {sum} of {}", kept.total());
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
        let filter = waits_of(Filter { thread: "main".to_owned(), ..Filter::default() }).unwrap();
        let kept = tree(&recording, &filter).unwrap();
        let context = WakerContext::of(&recording);
        let row = context.row(&context.groups(&kept)[0]);
        let chain: Vec<_> = row.chain.iter().map(|l| (l.thread.as_str(), l.duration)).collect();
        let (held, all) = (Nanos(40_000_000), row.longest);
        assert_eq!((chain, all), (vec![("main (10)", held), ("worker (11)", held)], held));
    }
}
