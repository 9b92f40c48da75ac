//! Whose run time a query asks for, and which paths that is made of.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use culprit_model::{ActivityId, ProcessId, Recording, ThreadId, Time};

use crate::calls::Query;
use crate::wakers::{Lives, Scope};

/// Whose time a run time is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunSubject {
    /// The recorded command's, from its start to its end: the path to the end of the thread that
    /// ended it, then the end of its process.
    Command,
    /// Of these processes, each by itself: from its first row to the end of the thread that ended
    /// it. The command's own is as above.
    Processes(Vec<ProcessId>),
    /// Of these threads, each by itself: from its first row to its last.
    Threads(Vec<ThreadId>),
    /// What threads did for so many activities, their waits followed to what ended them.
    Activities(usize),
    /// Of all threads but for their idle waits: nothing ended, so no path can be followed.
    Service,
}

/// A thread whose critical path is walked, from when to when.
type PathRange = (ThreadId, (Time, Time));

/// How the rows are made.
pub(super) enum Course {
    /// Of the critical paths of these threads; the ranges of one thread do not overlap.
    Paths(Vec<PathRange>),
    /// Of the intervals of these threads that are not idle: one entry a thread.
    Threads(Vec<bool>),
}

/// Whose run time, and how.
pub(super) struct RunPlan {
    pub(super) subject: RunSubject,
    pub(super) course: Course,
}

impl RunPlan {
    pub(super) fn new(recording: &Recording, lives: &Lives, query: &Query) -> Self {
        let kept = query.threads(recording);
        let scope = Scope::of_lives(recording, lives);
        if !query.keeps_all_activities() {
            return Self::activities(recording, lives, query, &kept);
        }
        if query.selects_threads() {
            return Self::threads(recording, lives, &kept);
        }
        let processes = processes(recording, lives, &kept);
        if query.selects_processes()
            && (scope != Scope::Service || all_ended(recording, &processes))
        {
            return Self::processes(recording, lives, processes, scope);
        }
        match scope {
            Scope::Command { thread, from, to } => {
                let paths = command(recording, lives, (thread, (from, to)));
                Self { subject: RunSubject::Command, course: Course::Paths(paths) }
            }
            Scope::Service if !recording.activity_work.is_empty() => {
                Self::activities(recording, lives, query, &kept)
            }
            Scope::Service => Self { subject: RunSubject::Service, course: Course::Threads(kept) },
        }
    }

    fn threads(recording: &Recording, lives: &Lives, kept: &[bool]) -> Self {
        let ids = (0..recording.threads.len()).map(ThreadId::from_index);
        let life = |id: ThreadId| Some((id, life(recording, lives, id)?));
        let paths: Vec<_> = ids.filter(|id| kept[id.index()]).filter_map(life).collect();
        let threads = paths.iter().map(|(thread, _)| *thread).collect();
        Self { subject: RunSubject::Threads(threads), course: Course::Paths(paths) }
    }

    fn processes(
        recording: &Recording,
        lives: &Lives,
        processes: Vec<(ProcessId, Time)>,
        scope: Scope,
    ) -> Self {
        let paths_of = |(process, begin): (ProcessId, Time)| match scope {
            Scope::Command { thread, from, to } if recording.meta.root_process == Some(process) => {
                command(recording, lives, (thread, (from, to)))
            }
            _ => {
                let ender = lives.ender(process);
                let end = ender.and_then(|ender| Some((ender, life(recording, lives, ender)?.1)));
                end.map(|(ender, end)| (ender, (begin, end))).into_iter().collect()
            }
        };
        let ids = processes.iter().map(|(process, _)| *process).collect();
        let paths = processes.into_iter().flat_map(paths_of).collect();
        Self { subject: RunSubject::Processes(ids), course: Course::Paths(paths) }
    }

    fn activities(recording: &Recording, lives: &Lives, query: &Query, kept: &[bool]) -> Self {
        let wanted = query.activities(recording);
        let wanted = |id: ActivityId| wanted.get(id.index()).copied().unwrap_or(false);
        let works = recording.activity_work.iter();
        let works = works.filter(|row| kept[row.thread.index()] && wanted(row.activity));
        let mut activities = BTreeSet::new();
        let mut paths = Vec::new();
        for row in works {
            let Some((begin, end)) = life(recording, lives, row.thread) else { continue };
            let range = (row.start.max(begin), (row.start + row.duration).min(end));
            if range.0 < range.1 {
                activities.insert(row.activity);
                paths.push((row.thread, range));
            }
        }
        let subject = RunSubject::Activities(activities.len());
        Self { subject, course: Course::Paths(paths) }
    }
}

/// The paths of a command, given the one to the end of the thread that ended it. From there to the
/// command's end the kernel frees its memory, in whichever thread of it is the last.
fn command(recording: &Recording, lives: &Lives, path: PathRange) -> Vec<PathRange> {
    let (ender, (_, to)) = path;
    let root = recording.meta.root_process;
    let process = root.and_then(|root| recording.processes.get(root.index()));
    let end = recording.meta.command_span.map(|(_, end)| end).or(process.and_then(|p| p.end));
    let Some(end) = end.filter(|end| *end > to) else { return vec![path] };
    let ids = (0..recording.threads.len()).map(ThreadId::from_index);
    let own = ids.filter(|id| Some(recording.thread(*id).process) == root);
    let lives_on = |id: ThreadId| Some((life(recording, lives, id)?.1, Reverse(id)));
    let last = own.filter_map(lives_on).filter(|(end, _)| *end > to).max();
    vec![path, (last.map_or(ender, |(_, Reverse(id))| id), (to, end))]
}

/// From a thread's first row to the end of its last; none of a thread without rows.
fn life(recording: &Recording, lives: &Lives, thread: ThreadId) -> Option<(Time, Time)> {
    let rows = &recording.intervals[lives.rows(thread)];
    let (first, last) = (rows.first()?, rows.last()?);
    Some((first.start, last.start + last.duration))
}

/// The processes of the threads that are kept, each with the start of its first row.
fn processes(recording: &Recording, lives: &Lives, kept: &[bool]) -> Vec<(ProcessId, Time)> {
    let mut begins: Vec<Option<Time>> = vec![None; recording.processes.len()];
    for (at, thread) in recording.threads.iter().enumerate().filter(|(at, _)| kept[*at]) {
        let begin = life(recording, lives, ThreadId::from_index(at)).map(|(begin, _)| begin);
        if let (Some(begin), Some(first)) = (begin, begins.get_mut(thread.process.index())) {
            *first = Some(first.map_or(begin, |first: Time| first.min(begin)));
        }
    }
    let begins = begins.into_iter().enumerate();
    begins.filter_map(|(at, begin)| Some((ProcessId::from_index(at), begin?))).collect()
}

fn all_ended(recording: &Recording, processes: &[(ProcessId, Time)]) -> bool {
    processes.iter().all(|(id, _)| recording.process(*id).end.is_some())
}
