//! Which start belongs to which stop.
//!
//! *Enter* and *leave* nest on their thread: a leave ends the innermost of its name, and what is
//! still open inside of that ends with it. *Start* and *stop* find each other by process, name and
//! key, on any threads; of several that are open alike, the youngest ends. *Ask* and *answer* are
//! bytes of requests on connections, see [`requests`](super::requests).
//!
//! A thread works on one received request at a time, the last that it received, and on one sent
//! request inside of that.
//!
//! What an activity is part of: where it has a key, the youngest started activity of that key in the
//! process, if the thread does not work on a part of that already; else what the thread works on. A
//! key that ends with `/` is a path: without an activity of the key itself, one of the longest path
//! that it begins with counts.
//! Entering what has the name and key of a started activity is no new activity: the thread works on
//! that one.

use std::collections::BTreeSet;

use culprit_model::{
    Activity, ActivityEdge, ActivityId, ActivitySource, ActivityWork, EdgeKind, ProcessId,
    Recording, Text, ThreadId, Time,
};
use rustc_hash::FxHashMap;

use super::requests::{Answered, Connection, Requests, settle_parents};

/// How many open activities of a thread are searched for the one that a leave belongs to, and how
/// far up is looked whether one is part of another. A thread that is deeper in functions that the
/// user named is rare; a damaged file of leaves that fit nowhere must not take for ever.
pub(super) const SEARCHED: usize = 1_000;

/// How many steps of a path are taken back: the ids that are paths have at most 24.
const STEPS: usize = 24;

/// What came of the edges.
#[derive(Debug, Default)]
pub(super) struct Paired {
    pub(super) activities: Vec<Activity>,
    /// Ordered by thread, then by start.
    pub(super) work: Vec<ActivityWork>,
    /// Stops and leaves whose activity is not open.
    pub(super) without_start: u64,
    /// Entered, but left only with the activity around them.
    pub(super) ended_by_others: u64,
    /// Connections that were first seen with an answer.
    pub(super) without_request: u64,
}

/// Edges so far, in the order of time.
#[derive(Debug)]
pub(super) struct Pairing {
    paired: Paired,
    /// What each thread works on.
    threads: Vec<Working>,
    /// The process and the end of each thread.
    lives: Vec<(ProcessId, Time)>,
    /// Started and not stopped.
    started: FxHashMap<(ProcessId, Text, Text), BTreeSet<ActivityId>>,
    /// The same, by process and key alone.
    by_key: FxHashMap<(ProcessId, Text), BTreeSet<ActivityId>>,
    requests: Requests,
}

/// What a thread works on.
#[derive(Debug, Default)]
struct Working {
    /// Outermost first.
    open: Vec<Open>,
    /// Since when it works on the last of these.
    since: Time,
}

#[derive(Debug)]
struct Open {
    name: Text,
    activity: ActivityId,
    hold: Hold,
}

/// How a thread came to work on an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// It began by entering, and ends by leaving.
    Own,
    /// It was started elsewhere: leaving does not end it.
    Joined,
    /// The thread received a request.
    Served,
    /// The thread sent a request.
    Called,
}

impl Hold {
    fn is_request(self) -> bool {
        matches!(self, Self::Served | Self::Called)
    }
}

impl Working {
    /// The part of what is open that is searched.
    fn searched(&self) -> usize {
        self.open.len().saturating_sub(SEARCHED)
    }

    fn works_on(&self, activity: ActivityId) -> bool {
        self.open[self.searched()..].iter().any(|open| open.activity == activity)
    }

    /// What is around the innermost, innermost first, until the first that is no request.
    fn around(&self) -> Vec<ActivityId> {
        let mut around = Vec::new();
        for open in self.open[self.searched()..].iter().rev().skip(1) {
            around.push(open.activity);
            if !open.hold.is_request() {
                break;
            }
        }
        around
    }
}

impl Pairing {
    /// No edge so far.
    pub(super) fn new(recording: &Recording) -> Self {
        let ids = (0..recording.threads.len()).map(ThreadId::from_index);
        let lives = ids.map(|id| (recording.thread(id).process, recording.thread_end(id)));
        Self {
            paired: Paired::default(),
            threads: recording.threads.iter().map(|_| Working::default()).collect(),
            lives: lives.collect(),
            started: FxHashMap::default(),
            by_key: FxHashMap::default(),
            requests: Requests::default(),
        }
    }

    /// Takes the next edge.
    pub(super) fn take(&mut self, edge: &ActivityEdge) {
        match edge.kind {
            EdgeKind::Enter => self.enter(edge),
            EdgeKind::Leave => self.leave(edge),
            EdgeKind::Start => {
                let id = self.begin(edge);
                let (process, name, key) = self.started_key(edge);
                self.by_key.entry((process, key.clone())).or_default().insert(id);
                self.started.entry((process, name, key)).or_default().insert(id);
            }
            EdgeKind::Stop => self.stop(edge),
            EdgeKind::Ask => self.ask(edge),
            EdgeKind::Answer => self.answer(edge),
        }
    }

    /// Ends what the threads still work on; the activities stay open.
    pub(super) fn finish(mut self) -> Paired {
        for at in 0..self.threads.len() {
            let thread = ThreadId::from_index(at);
            let end = self.lives[at].1;
            self.note_work(thread, end);
        }
        let Self { mut paired, requests, .. } = self;
        paired.work.extend(requests.settle(&paired.activities));
        paired.work.sort_by_key(|row| (row.thread, row.start));
        settle_parents(&mut paired.activities);
        paired
    }

    fn enter(&mut self, edge: &ActivityEdge) {
        self.note_work(edge.thread, edge.time);
        let started = self.started.get(&self.started_key(edge)).and_then(BTreeSet::last).copied();
        let joined = started.filter(|_| edge.key.is_some());
        let activity = joined.unwrap_or_else(|| self.begin(edge));
        let hold = if joined.is_some() { Hold::Joined } else { Hold::Own };
        let open = Open { name: edge.name.clone(), activity, hold };
        self.threads[edge.thread.index()].open.push(open);
    }

    fn leave(&mut self, edge: &ActivityEdge) {
        let working = &self.threads[edge.thread.index()];
        let searched = working.searched();
        let is_it = |open: &Open| open.name == edge.name && !open.hold.is_request();
        let Some(at) = working.open[searched..].iter().rposition(is_it) else {
            self.paired.without_start += 1;
            return;
        };
        self.note_work(edge.thread, edge.time);
        let open = &mut self.threads[edge.thread.index()].open;
        let left = open.split_off(searched + at);
        // A request goes on when the function that received it returns.
        let (requests, left): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|open| open.hold.is_request());
        open.extend(requests);
        self.paired.ended_by_others += left.len() as u64 - 1;
        for open in left.into_iter().filter(|open| open.hold == Hold::Own) {
            self.end(open.activity, edge);
        }
    }

    fn stop(&mut self, edge: &ActivityEdge) {
        let (process, name, key) = self.started_key(edge);
        let alike = self.started.get_mut(&(process, name, key.clone()));
        let Some(id) = alike.and_then(BTreeSet::pop_last) else {
            self.paired.without_start += 1;
            return;
        };
        if let Some(open) = self.by_key.get_mut(&(process, key)) {
            open.remove(&id);
        }
        self.end(id, edge);
    }

    /// Bytes of a request: the thread works on it from now on, and no more on what it received
    /// before, or, where it sent them, on what it sent before.
    fn ask(&mut self, edge: &ActivityEdge) {
        self.note_work(edge.thread, edge.time);
        let hold = match edge.source {
            ActivitySource::Serve => Hold::Served,
            _ => Hold::Called,
        };
        let connection = connection(edge);
        let unanswered = self.requests.unanswered(&connection);
        self.leave_requests(edge, hold, unanswered);
        let activity = unanswered.unwrap_or_else(|| self.begin(edge));
        self.requests.begin(connection, activity);
        let working = &mut self.threads[edge.thread.index()];
        if !working.works_on(activity) {
            working.open.push(Open { name: edge.name.clone(), activity, hold });
        }
    }

    /// Leaves the requests that another takes the place of; those of other names on the same
    /// connection stay, because they are the same bytes.
    fn leave_requests(&mut self, edge: &ActivityEdge, hold: Hold, keep: Option<ActivityId>) {
        let activities = &self.paired.activities;
        let over = |open: &Open| {
            open.hold.is_request()
                && (hold == Hold::Served || open.hold == Hold::Called)
                && Some(open.activity) != keep
                && (open.name == edge.name || activities[open.activity.index()].key != edge.key)
        };
        let working = &mut self.threads[edge.thread.index()];
        let searched = working.searched();
        while let Some(at) = working.open[searched.min(working.open.len())..].iter().position(over)
        {
            working.open.remove(searched + at);
        }
    }

    /// Bytes of an answer: the request ends here unless more follow.
    fn answer(&mut self, edge: &ActivityEdge) {
        self.note_work(edge.thread, edge.time);
        match self.requests.answer(connection(edge), edge.thread, edge.time) {
            Answered::First(id) => {
                self.end(id, edge);
                self.adopt(id, edge.thread);
            }
            Answered::Again(id) => self.end(id, edge),
            Answered::Stray => self.paired.without_request += 1,
            Answered::StillStray => {}
        }
    }

    /// The call in which a thread answers what it does not work on was made for that.
    fn adopt(&mut self, request: ActivityId, thread: ThreadId) {
        let working = &self.threads[thread.index()];
        if working.works_on(request) {
            return;
        }
        let mut open = working.open[working.searched()..].iter();
        let call = open.find(|open| open.hold == Hold::Own && open.activity > request);
        let Some(call) = call.map(|open| open.activity) else { return };
        if !self.is_part(call, request) {
            self.paired.activities[call.index()].parent = Some(request);
        }
    }

    /// A new activity that begins with an edge.
    fn begin(&mut self, edge: &ActivityEdge) -> ActivityId {
        let id = ActivityId::from_index(self.paired.activities.len());
        let parent = self.parent(edge);
        self.paired.activities.push(Activity {
            start: edge.time,
            end: None,
            name: edge.name.clone(),
            key: edge.key.clone(),
            source: edge.source,
            thread: edge.thread,
            end_thread: None,
            parent,
        });
        id
    }

    fn parent(&self, edge: &ActivityEdge) -> Option<ActivityId> {
        let inner = self.threads[edge.thread.index()].open.last().map(|open| open.activity);
        let process = self.lives[edge.thread.index()].0;
        let of_key = edge.key.as_ref().and_then(|key| self.of_key(process, key));
        match of_key {
            Some(of_key) if !inner.is_some_and(|inner| self.is_part(inner, of_key)) => Some(of_key),
            _ => inner,
        }
    }

    /// The youngest started activity of a key, or of the longest path that it begins with.
    fn of_key(&self, process: ProcessId, key: &Text) -> Option<ActivityId> {
        let youngest = |key: Text| self.by_key.get(&(process, key)).and_then(BTreeSet::last);
        let above = key.strip_suffix('/').into_iter().flat_map(|path| {
            path.rmatch_indices('/').take(STEPS).map(|(at, _)| Text::from(&path[..=at]))
        });
        std::iter::once(key.clone()).chain(above).find_map(youngest).copied()
    }

    /// Whether an activity is another or a part of it.
    fn is_part(&self, part: ActivityId, whole: ActivityId) -> bool {
        let mut next = Some(part);
        for _ in 0..SEARCHED {
            match next {
                // A part is younger than its whole.
                Some(id) if id > whole => next = self.paired.activities[id.index()].parent,
                other => return other == Some(whole),
            }
        }
        false
    }

    fn end(&mut self, id: ActivityId, edge: &ActivityEdge) {
        let activity = &mut self.paired.activities[id.index()];
        (activity.end, activity.end_thread) = (Some(edge.time), Some(edge.thread));
    }

    /// Notes what a thread worked on since it was noted last.
    fn note_work(&mut self, thread: ThreadId, until: Time) {
        let working = &mut self.threads[thread.index()];
        let start = working.since;
        working.since = until.max(start);
        let Some(open) = working.open.last().filter(|_| until > start) else { return };
        let row =
            ActivityWork { thread, start, duration: until.since(start), activity: open.activity };
        if open.hold.is_request() {
            self.requests.note(row, working.around());
        } else {
            self.paired.work.push(row);
        }
    }

    /// What tells started activities apart.
    fn started_key(&self, edge: &ActivityEdge) -> (ProcessId, Text, Text) {
        let process = self.lives[edge.thread.index()].0;
        (process, edge.name.clone(), edge.key.clone().unwrap_or_default())
    }
}

/// What tells requests under way apart: the name and the connection, in whatever process.
fn connection(edge: &ActivityEdge) -> Connection {
    (edge.name.clone(), edge.key.clone().unwrap_or_default())
}
