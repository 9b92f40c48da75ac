//! What the numbers of a view are shares of, in one line.

use culprit_engine::calls::CallTree;
use culprit_engine::run_time::{RunSubject, RunTime};
use culprit_model::{Label as _, Metric, Nanos, Time};

use super::{relative, value};
use crate::output::{Output, clean, percent};

/// What a view is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Basis {
    /// Of run time: the whole of it, and whose it is.
    run: Option<(Nanos, String)>,
    /// Of an amount that was estimated from samples: the standard error of the whole.
    error: Option<f64>,
}

impl Basis {
    /// That of a run time within a time range.
    pub(crate) fn of_run(run: &RunTime, range: (Time, Time)) -> Self {
        Self { run: Some((run.total(range), whose(run))), error: None }
    }

    /// That of an amount that was estimated, with the standard error of the whole.
    pub(crate) fn with_error(self, error: f64) -> Self {
        Self { error: Some(error), ..self }
    }

    /// What the numbers of a tree are shares of.
    pub(crate) fn heading(&self, tree: &CallTree) -> String {
        self.heading_of(tree.metric(), tree.total(), tree.threads())
    }

    /// The same of an amount of so many threads; 0 where threads are not known.
    pub(crate) fn heading_of(&self, metric: Metric, sum: u64, threads: usize) -> String {
        let total = match self.error {
            Some(error) => format!(
                "about {} (standard error {})",
                value(metric, sum),
                percent(relative(error, sum))
            ),
            None => value(metric, sum),
        };
        match &self.run {
            Some((whole, whose)) if whole.0 == sum => format!("run time of {whole}: {whose}"),
            Some((whole, whose)) => format!("{total} of the run time of {whole}: {whose}"),
            None => match threads {
                0 => format!("{}, {total}", name(metric)),
                1 => format!("{} of 1 thread, {total}", name(metric)),
                threads => format!("{} of {threads} threads, {total}", name(metric)),
            },
        }
    }

    /// The same without an amount, for a comparison of several trees per unit of work.
    pub(crate) fn heading_per(&self, metric: Metric, unit_of_work: &str) -> String {
        match &self.run {
            Some((_, whose)) => format!("run time per {unit_of_work}: {whose}"),
            None => format!("{} per {unit_of_work}", name(metric)),
        }
    }

    /// The heading as the first line of a view.
    pub(crate) fn line(heading: &str, output: &Output) -> String {
        format!("{}\n", output.paint().faint(&clean(heading)))
    }
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
            "all threads without their idle waits, because no command ended".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::{Filter, Recording};

    use super::*;
    use crate::{load, testing};

    fn heading(recording: &Recording, filter: &Filter) -> String {
        let shown = load::shown_of(recording, filter).unwrap();
        shown.basis.heading(&shown.tree)
    }

    #[test]
    fn a_heading_says_what_the_numbers_are_shares_of() {
        let recording = testing::recording();
        let run = load::run_filter();
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
        let heading = heading(&recording, &load::run_filter());
        assert!(heading.ends_with("because no command ended"), "{heading}");
    }
}
