//! Run time: the elapsed time of a run, each moment given to the one thing that the run was waiting
//! for.
//!
//! ```text
//! time    0         5         10
//! main    UUUUllllllllllllUU    Thread main (1); main;                                cpu.user
//! worker  ....UUUUssssssssUU    Thread main (1); main; join; waits for Thread worker (2);
//!                                                                   work;             cpu.user
//!                                                                   work; sleep;      blocked.sleep
//! ```
//!
//! The critical path becomes rows like those of thread time: each stretch of it is one interval of
//! the thread whose path it is, and its stack leads through the waits to what was waited for. So
//! every view, filter and export works on them as on the intervals of a recording.

mod rows;
mod subject;

use culprit_model::{Frame, Nanos, Recording, Time};

pub use subject::RunSubject;

use self::rows::RunRows;
use self::subject::{Course, RunPlan};
use crate::calls::Query;
use crate::wakers::{CommandPath, Lives, idle_waits};

/// What a wait's frame is followed by: the thread that ended it, `Thread NAME (TID)`.
pub const WAITS_FOR: &str = "waits for Thread ";
/// What stands before the stack of another thread that works on without a wait: tasks move between
/// the threads of some runtimes, and a thread may be younger than its run.
pub const CONTINUES_ON: &str = "continues on Thread ";
/// The frame of time of a run in which no thread of it was recorded.
pub const NOT_RECORDED: &str = "[not recorded]";

/// True for a frame that leads from one thread's stack to another's.
#[must_use]
pub fn is_link(frame: &Frame) -> bool {
    frame.module.is_none() && is_link_name(&frame.function)
}

/// True for the name of a frame that leads from one thread's stack to another's.
#[must_use]
pub fn is_link_name(name: &str) -> bool {
    name.starts_with(WAITS_FOR) || name.starts_with(CONTINUES_ON)
}

/// The rows of a run's time.
#[derive(Debug, Clone)]
pub struct RunTime {
    /// Whose time it is.
    pub subject: RunSubject,
    /// Processes, threads, code and activities of the recording. Its intervals are the rows of the
    /// run's time; time in which nothing was recorded is costs of the metric
    /// [`Run`](culprit_model::Metric::Run).
    pub recording: Recording,
}

impl RunTime {
    /// The run time of what a query selects of a recording whose intervals are built. The query's
    /// time range and frames are left to the views. Linear in the rows that the paths pass, times
    /// the logarithm of a thread's rows for each wait.
    #[must_use]
    pub fn build(recording: &Recording, query: &Query) -> Self {
        Self::build_on(recording, query, None)
    }

    /// As [`RunTime::build`], where the command's path may be known.
    #[must_use]
    pub fn build_on(recording: &Recording, query: &Query, known: Option<&CommandPath>) -> Self {
        let lives = Lives::of(recording);
        let RunPlan { subject, course } = RunPlan::new(recording, &lives, query);
        let mut rows = RunRows::new(recording);
        match course {
            Course::Paths(paths) => {
                for at in paths {
                    rows.add_path(at.0, &CommandPath::path(known, recording, &lives, at));
                }
            }
            Course::Threads(kept) => {
                let idle = idle_waits(recording, &lives);
                let intervals = recording.intervals.iter().zip(idle);
                let busy = intervals.filter(|(row, idle)| !idle && kept[row.thread.index()]);
                busy.for_each(|(row, _)| rows.add_own(row));
            }
        }
        Self { subject, recording: rows.finish() }
    }

    /// The sum of all rows within a time range.
    #[must_use]
    pub fn total(&self, (from, to): (Time, Time)) -> Nanos {
        let within = |start: Time, length: Nanos| (start + length).min(to).since(start.max(from));
        let intervals = self.recording.intervals.iter();
        let costs = self.recording.costs.iter();
        intervals.map(|row| within(row.start, row.duration)).sum::<Nanos>()
            + costs.map(|row| within(row.time, row.duration)).sum::<Nanos>()
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
