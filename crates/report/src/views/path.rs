//! A critical path as links: stretches of one thread at one place for one cause.
//!
//! ```text
//! at       time     share  thread       cause          function     waiting threads
//! 0 ns     4.0 ms   40 %   main (1)     cpu.user       app!parse
//! 4.0 ms   5.0 ms   50 %   worker (2)   blocked.disk   app!load     main (1)
//! 9.0 ms   1.0 ms   10 %   main (1)     cpu.user       app!print
//! ```

use std::collections::BTreeMap;

use culprit_engine::calls::STACK_LOST;
use culprit_engine::causes::{Causes, FutexWaits};
use culprit_engine::compare::NOT_RECORDED;
use culprit_engine::wakers::{CriticalPath, Segment};
use culprit_model::{Cause, Nanos, Recording, StackId, ThreadId, Time, clean};

use super::Basis;
use crate::layout::{Align, Layout, Table};
use crate::units::percent;

/// A path ready to be shown.
#[derive(Debug)]
pub struct PathView {
    /// Whose path it is.
    pub thread: String,
    /// Where it begins.
    pub from: Time,
    /// Where it ends.
    pub to: Time,
    /// In order of time, without gaps.
    pub links: Vec<PathLink>,
}

/// What one thread did or waited for while the path led through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLink {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// `NAME (PID)` of the thread's process.
    pub process: String,
    /// `NAME (TID)`.
    pub thread: String,
    /// None where nothing was recorded.
    pub cause: Option<Cause>,
    /// The innermost function outside the kernel.
    pub function: String,
    /// The threads that wait for this, the nearest first.
    pub waiting: Vec<String>,
}

impl PathLink {
    /// How long it lasts.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }

    fn same_place(&self, other: &Self) -> bool {
        (&self.thread, self.cause, &self.function, &self.waiting)
            == (&other.thread, other.cause, &other.function, &other.waiting)
    }
}

/// The innermost function outside the kernel at a stack.
#[must_use]
pub fn function_at(recording: &Recording, causes: &Causes, stack: Option<StackId>) -> String {
    let leaf = stack.map(|stack| causes.user_part(stack).unwrap_or(stack));
    let frame = leaf.and_then(|stack| recording.stack(stack).next());
    frame.map_or_else(|| STACK_LOST.to_owned(), |frame| recording.frame_name(frame))
}

impl PathView {
    /// The path to the work of a thread within a range of time; neighbours at one place are one link.
    #[must_use]
    pub fn new(
        recording: &Recording,
        causes: &Causes,
        thread: ThreadId,
        (from, to): (Time, Time),
        path: &CriticalPath,
    ) -> Self {
        let mut links: Vec<PathLink> = Vec::new();
        let mut waits = FutexWaits::new(recording);
        for segment in path.segments.iter().filter(|segment| segment.length() > Nanos::ZERO) {
            let mut link = link(recording, causes, path, segment);
            let stack = segment.interval.and_then(|at| recording.intervals[at.index()].stack);
            link.cause = link.cause.map(|cause| waits.cause(cause, stack));
            match links.last_mut() {
                Some(last) if last.same_place(&link) => last.to = link.to,
                _ => links.push(link),
            }
        }
        Self { thread: recording.thread_name(thread), from, to, links }
    }

    /// The sums of links at one place, the largest first: thread, cause, function and time.
    #[must_use]
    pub fn sums(&self) -> Vec<(&PathLink, Nanos, usize)> {
        let mut places: BTreeMap<_, (&PathLink, Nanos, usize)> = BTreeMap::new();
        for link in &self.links {
            let key = (&link.thread, link.cause, &link.function);
            let sum = places.entry(key).or_insert((link, Nanos::ZERO, 0));
            sum.1 += link.length();
            sum.2 += 1;
        }
        let mut sums: Vec<_> = places.into_values().collect();
        sums.sort_by_key(|(_, time, _)| std::cmp::Reverse(*time));
        sums
    }

    /// How long the path is: all of its range.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

fn link(
    recording: &Recording,
    causes: &Causes,
    path: &CriticalPath,
    segment: &Segment,
) -> PathLink {
    let row = segment.interval.map(|at| &recording.intervals[at.index()]);
    let waiting = path
        .around(segment)
        .map(|wait| recording.thread_name(recording.intervals[wait.interval.index()].thread));
    PathLink {
        from: segment.from,
        to: segment.to,
        process: row.map_or_else(String::new, |row| {
            recording.process_name(recording.thread(row.thread).process)
        }),
        thread: row.map_or_else(String::new, |row| recording.thread_name(row.thread)),
        cause: row.map(|row| row.cause),
        function: row.map_or_else(
            || NOT_RECORDED.to_owned(),
            |row| function_at(recording, causes, row.stack),
        ),
        waiting: waiting.collect(),
    }
}

/// The sums by place, then the links in order of time; at most `limit` of each unless that is 0. Of
/// many links the longest are shown.
#[must_use]
pub fn path_text(view: &PathView, limit: usize, layout: &Layout) -> String {
    let whole = view.length();
    let heading = format!(
        "run time of {whole}, from {} to {}: thread {}, each moment given to what it was waiting for",
        Nanos(view.from.0),
        Nanos(view.to.0),
        view.thread
    );
    let mut text = Basis::line(&heading, layout);
    text.push('\n');
    let sums = view.sums();
    let shown = if limit == 0 { sums.len() } else { limit.div_ceil(2).min(sums.len()) };
    let mut table = Table::new(&[
        ("time", Align::Right),
        ("share", Align::Right),
        ("links", Align::Right),
        ("thread", Align::Left),
        ("cause", Align::Left),
        ("function", Align::Left),
    ]);
    for (link, time, count) in &sums[..shown] {
        table.row([
            time.to_string(),
            percent(time.share_of(whole)),
            count.to_string(),
            clean(&link.thread).into_owned(),
            link.cause.map_or_else(String::new, |cause| cause.to_string()),
            clean(&link.function).into_owned(),
        ]);
    }
    text.push_str(&table.render(layout.width_of_values()));
    if shown < sums.len() {
        text.push_str(&format!("{} more places; `--limit 0` shows all.\n", sums.len() - shown));
    }
    text.push('\n');
    text.push_str(&links(view, limit, layout));
    text
}

fn links(view: &PathView, limit: usize, layout: &Layout) -> String {
    let mut longest: Vec<usize> = (0..view.links.len()).collect();
    longest.sort_by_key(|at| std::cmp::Reverse(view.links[*at].length()));
    if limit > 0 {
        longest.truncate(limit);
    }
    longest.sort_unstable();
    let mut table = Table::new(&[
        ("at", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
        ("thread", Align::Left),
        ("cause", Align::Left),
        ("function", Align::Left),
        ("waiting threads", Align::Left),
    ]);
    for at in &longest {
        let link = &view.links[*at];
        table.row([
            Nanos(link.from.0).to_string(),
            link.length().to_string(),
            percent(link.length().share_of(view.length())),
            clean(&link.thread).into_owned(),
            link.cause.map_or_else(String::new, |cause| cause.to_string()),
            clean(&link.function).into_owned(),
            clean(&link.waiting.join(" < ")).into_owned(),
        ]);
    }
    let mut text = table.render(layout.width_of_values());
    let left_out = view.links.len() - longest.len();
    if left_out > 0 {
        text.push_str(&format!("{left_out} shorter links; `--limit 0` shows all.\n"));
    }
    text
}
