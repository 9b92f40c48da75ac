//! What the numbers of a view are shares of, in one line.

use std::collections::BTreeSet;

use culprit_engine::calls::CallTree;
use culprit_engine::run_time::{RunSubject, RunTime, is_link};
use culprit_model::{Cause, Interval, Label as _, Metric, Nanos, Recording, Time, clean};

use super::{FleetFacts, relative, value};
use crate::layout::Layout;
use crate::units::percent;

/// What a view is about.
#[derive(Debug, Clone, Default)]
pub struct Basis {
    /// Of run time.
    run: Option<RunBasis>,
    /// Of an amount that was estimated from samples: the standard error of the whole.
    error: Option<f64>,
    /// Of a sum, how many recordings, and how many of them have the busy time of all threads for run
    /// time.
    fleet: Option<(usize, usize)>,
}

/// What a run time is.
#[derive(Debug, Clone)]
struct RunBasis {
    whole: Nanos,
    /// How many threads' busy time it is, which add up to more than the run takes; none for the elapsed
    /// time of something that ended.
    busy_threads: Option<usize>,
    whose: String,
}

impl RunBasis {
    /// What it is called, with its length.
    fn whole(&self) -> String {
        match self.busy_threads {
            None => format!("run time of {}", self.whole),
            Some(_) => format!("{}, {}", self.name(), self.whole),
        }
    }

    fn name(&self) -> String {
        match self.busy_threads {
            None => "run time".to_owned(),
            Some(1) => "busy time of 1 thread".to_owned(),
            Some(threads) => format!("busy time of {threads} threads"),
        }
    }
}

impl Basis {
    /// That of a run time within a time range.
    #[must_use]
    pub fn of_run(run: &RunTime, range: (Time, Time)) -> Self {
        let busy_threads = (run.subject == RunSubject::Service).then(|| threads_in(run, range));
        let run = RunBasis { whole: run.total(range), busy_threads, whose: whose(run) };
        Self { run: Some(run), ..Self::default() }
    }

    /// That of a sum of recordings.
    #[must_use]
    pub fn of_fleet(facts: &FleetFacts) -> Self {
        Self { fleet: Some((facts.recordings, facts.services)), ..Self::default() }
    }

    /// That of an amount that was estimated, with the standard error of the whole.
    #[must_use]
    pub fn with_error(self, error: f64) -> Self {
        Self { error: Some(error), ..self }
    }

    /// What the numbers of a tree are shares of.
    #[must_use]
    pub fn heading(&self, tree: &CallTree) -> String {
        self.heading_of(tree.metric(), tree.total(), tree.threads())
    }

    /// The same of an amount of so many threads; 0 where threads are not known.
    #[must_use]
    pub fn heading_of(&self, metric: Metric, sum: u64, threads: usize) -> String {
        let total = match self.error {
            Some(error) => format!(
                "about {} (standard error {})",
                value(metric, sum),
                percent(relative(error, sum))
            ),
            None => value(metric, sum),
        };
        if let Some((recordings, services)) = self.fleet {
            let noun = if recordings == 1 { "recording" } else { "recordings" };
            let busy = match services {
                0 => String::new(),
                services => format!(" ({services} of them: busy time of all threads)"),
            };
            return format!("{} of {recordings} {noun}{busy}, {total}", name(metric));
        }
        match &self.run {
            Some(run) if run.whole.0 == sum => format!("{}: {}", run.whole(), run.whose),
            Some(run) => format!("{total} of the {}: {}", run.whole(), run.whose),
            None => match threads {
                0 => format!("{}, {total}", name(metric)),
                1 => format!("{} of 1 thread, {total}", name(metric)),
                threads => format!("{} of {threads} threads, {total}", name(metric)),
            },
        }
    }

    /// The same without an amount, for a comparison of several trees per unit of work.
    #[must_use]
    pub fn heading_per(&self, metric: Metric, unit_of_work: &str) -> String {
        match &self.run {
            Some(run) => format!("{} per {unit_of_work}: {}", run.name(), run.whose),
            None => format!("{} per {unit_of_work}", name(metric)),
        }
    }

    /// The heading as the first line of a view.
    #[must_use]
    pub fn line(heading: &str, layout: &Layout) -> String {
        format!("{}\n", layout.paint().faint(&clean(heading)))
    }
}

/// Share of a run from which it is said that its thread only sleeps: most of what a view shows is the sleep then.
const MOSTLY: f64 = 0.5;

/// Share of such sleep in which other threads must use a CPU: a runtime's own threads use less.
const MIN_WORKED: f64 = 0.01;

/// Where the run time of a command is mostly its own thread's sleep, as a server's first thread sleeps while others
/// serve: that others work meanwhile, and where to see it. Nobody waits for them, so run time does not show it.
#[must_use]
pub fn sleeping_line(run: &RunTime, recording: &Recording) -> Option<String> {
    if run.subject != RunSubject::Command {
        return None;
    }
    let is_own = |row: &&Interval| {
        let mut frames = row.stack.into_iter().flat_map(|stack| run.recording.stack(stack));
        row.cause == Cause::Sleep && !frames.any(|frame| is_link(run.recording.frame(frame)))
    };
    let rows: Vec<&Interval> = run.recording.intervals.iter().filter(is_own).collect();
    let slept: Nanos = rows.iter().map(|row| row.duration).sum();
    let whole: Nanos = run.recording.intervals.iter().map(|row| row.duration).sum();
    let sleeper = rows.iter().max_by_key(|row| row.duration)?.thread;
    if slept.share_of(whole) < MOSTLY {
        return None;
    }
    let mut spans: Vec<(Time, Time)> =
        rows.iter().map(|row| (row.start, row.start + row.duration)).collect();
    spans.sort_unstable();
    let within = |row: &Interval| {
        let end = row.start + row.duration;
        let first = spans.partition_point(|(_, to)| *to <= row.start);
        let touched = spans[first..].iter().take_while(|(from, _)| *from < end);
        touched.map(|(from, to)| (*to).min(end).since((*from).max(row.start))).sum::<Nanos>()
    };
    let others =
        recording.intervals.iter().filter(|row| row.cause.is_cpu() && row.thread != sleeper);
    let worked: Nanos = others.map(within).sum();
    (worked.share_of(slept) >= MIN_WORKED).then(|| {
        format!(
            "{} only sleeps for {slept} of it, while other threads use a CPU for {worked}: `--metric wall` and \
             `--metric cpu` show these.\n",
            clean(&recording.thread_name(sleeper))
        )
    })
}

/// How many threads a run time has time of within a range.
fn threads_in(run: &RunTime, (from, to): (Time, Time)) -> usize {
    let rows = run.recording.intervals.iter();
    let within = rows.filter(|row| row.start < to && row.start + row.duration > from);
    within.map(|row| row.thread).collect::<BTreeSet<_>>().len()
}

/// What a metric measures, in words.
fn name(metric: Metric) -> String {
    match metric {
        Metric::Cpu => "CPU time".to_owned(),
        Metric::Faults => "page faults".to_owned(),
        Metric::Runnable => "time ready without a CPU".to_owned(),
        one if one.cause().is_some() => format!("`{one}` time"),
        one if one.is_time() => format!("{one} time"),
        one => one.word().to_owned(),
    }
}

/// Whose run time it is, and how each moment is given away.
fn whose(run: &RunTime) -> String {
    let recording = &run.recording;
    match &run.subject {
        RunSubject::Command => "each moment given to what the run was waiting for".to_owned(),
        RunSubject::Processes(ids) => match &ids[..] {
            [id] => format!(
                "process {}, each moment given to what it was waiting for",
                recording.process_name(*id)
            ),
            ids => format!("{} processes, each with its own run time", ids.len()),
        },
        RunSubject::Threads(ids) => match &ids[..] {
            [id] => format!(
                "thread {}, each moment given to what it was waiting for",
                recording.thread_name(*id)
            ),
            ids => format!("{} threads, each with its own run time", ids.len()),
        },
        RunSubject::Activities(count) => {
            let noun = if *count == 1 { "activity" } else { "activities" };
            format!("what threads did for {count} {noun}, waits given to what ended them")
        }
        RunSubject::Service => {
            "all of their time but idle waits, because no command ended by itself".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Filter, Recording};

    use super::*;
    use crate::filters::run_filter;
    use crate::shown::run_time;
    use crate::{Shown, testing};

    fn heading(recording: &Recording, filter: &Filter) -> String {
        let shown = Shown::new(recording, filter, None).unwrap();
        shown.basis.heading(&shown.tree)
    }

    #[test]
    fn a_heading_says_what_the_numbers_are_shares_of() {
        let recording = testing::recording();
        let run = run_filter();
        assert_eq!(
            heading(&recording, &run),
            "run time of 110 ms: each moment given to what the run was waiting for"
        );
        assert_eq!(
            heading(&recording, &Filter { include: "mutex".to_owned(), ..run.clone() }),
            "40.0 ms of the run time of 110 ms: each moment given to what the run was waiting for"
        );
        assert_eq!(
            heading(&recording, &Filter { thread: "worker".to_owned(), ..run.clone() }),
            "run time of 110 ms: thread worker (11), each moment given to what it was waiting for"
        );
        assert_eq!(
            heading(&recording, &Filter { thread: "(1".to_owned(), ..run.clone() }),
            "run time of 210 ms: 2 threads, each with its own run time"
        );
        assert_eq!(
            heading(&recording, &Filter { process: "app".to_owned(), ..run }),
            "run time of 110 ms: process app (10), each moment given to what it was waiting for"
        );
        let of = |metric| heading(&recording, &Filter { metric, ..Filter::default() });
        assert_eq!(of(Metric::Wall), "wall time of 2 threads, 210 ms");
        assert_eq!(of(Metric::Cpu), "CPU time of 2 threads, 70.0 ms");
        assert_eq!(of(Metric::Sleep), "`blocked.sleep` time of 1 thread, 100 ms");
        assert_eq!(of(Metric::Waits), "waits of 2 threads, 2");
    }

    #[test]
    fn an_estimate_has_its_error() {
        let basis = Basis::default().with_error(25.0);
        assert_eq!(
            basis.heading_of(Metric::Allocs, 1000, 1),
            "allocs of 1 thread, about 1000 (standard error 2.5 %)"
        );
    }

    #[test]
    fn a_recording_without_an_end_has_the_time_of_its_threads() {
        let mut recording = testing::recording();
        recording.meta.root_process = None;
        let of = |filter: &Filter| heading(&recording, filter);
        let run = run_filter();
        let why = "all of their time but idle waits, because no command ended by itself";
        assert_eq!(of(&run), format!("busy time of 2 threads, 110 ms: {why}"));
        let part = of(&Filter { include: "Thread worker".to_owned(), ..run });
        assert_eq!(part, format!("10.0 ms of the busy time of 2 threads, 110 ms: {why}"));
    }

    #[test]
    fn a_first_thread_that_only_sleeps_beside_working_ones_is_said_to() {
        let line = |drawing: &str| {
            let recording = culprit_model::notation::parse(drawing).unwrap();
            let filter = run_filter();
            let run = run_time(&recording, &filter).unwrap().unwrap();
            sleeping_line(&run, &recording)
        };
        let drawn = |work: &str| {
            format!(
                "
    tick 10ms
    stack u cpu.user app!main
    stack s blocked.sleep app!main;libc.so.6!clock_nanosleep
    stack w cpu.user app!serve
    stack i blocked.poll app!serve;libc.so.6!epoll_wait
    app(10)/app(10)     usssssssssu|
    app(10)/worker(11)  {work}i
    root app(10)
"
            )
        };
        let said = line(&drawn("wiiwwiiwii")).expect("said");
        assert!(said.starts_with("app (10) only sleeps for 90.0 ms of it, while other"), "{said}");
        assert!(line(&drawn("iiiiiiiiii")).is_none(), "nobody works");
    }
}
