//! Requests on connections: which bytes belong to which, and whose work was for them.
//!
//! ```text
//! connection  ask  ask     answer  answer          ask      answer
//! request     |<------------------------>|         |<--------->|
//! thread      |<- works ->|              |<- not for it ->|
//! ```
//!
//! A request begins with the first *ask* after an answer and ends with the last *answer* before the
//! next ask, so each answer moves its end. Whether a thread that asked works on the request is known
//! when it answers: what it did until then was for it. What it did after its last answer, or without
//! any, was not, and belongs to what it works on besides.

use std::collections::hash_map::Entry;

use culprit_model::{Activity, ActivityId, ActivitySource, ActivityWork, Text, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::pair::SEARCHED;

/// An activity's name and the connection.
pub(super) type Connection = (Text, Text);

/// The requests of all connections.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The last one of each connection; none where an answer came first.
    last: FxHashMap<Connection, Option<Request>>,
    /// When each thread last took part in the answer to each request.
    answered: FxHashMap<(ActivityId, ThreadId), Time>,
    doubtful: Vec<Doubtful>,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    id: ActivityId,
    answered: bool,
}

/// Work that is for a request if its thread takes part in the answer later.
#[derive(Debug)]
struct Doubtful {
    row: ActivityWork,
    /// What else the thread worked on, innermost first, until the first that is no request.
    around: Vec<ActivityId>,
}

/// What an answer says of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// This is the first part of the answer to it.
    First(ActivityId),
    /// There were others.
    Again(ActivityId),
    /// Its request was not seen, and none before on this connection.
    Stray,
    /// As the answers before it.
    StillStray,
}

impl Requests {
    /// The request of a connection that was not answered so far.
    pub(super) fn unanswered(&self, connection: &Connection) -> Option<ActivityId> {
        let last = self.last.get(connection).copied().flatten();
        last.filter(|request| !request.answered).map(|request| request.id)
    }

    /// A request has begun.
    pub(super) fn begin(&mut self, connection: Connection, id: ActivityId) {
        self.last.insert(connection, Some(Request { id, answered: false }));
    }

    /// A thread takes part in an answer.
    pub(super) fn answer(
        &mut self,
        connection: Connection,
        thread: ThreadId,
        time: Time,
    ) -> Answered {
        let request = match self.last.entry(connection) {
            Entry::Vacant(entry) => {
                entry.insert(None);
                return Answered::Stray;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        let Some(request) = request else { return Answered::StillStray };
        self.answered.insert((request.id, thread), time);
        if std::mem::replace(&mut request.answered, true) {
            Answered::Again(request.id)
        } else {
            Answered::First(request.id)
        }
    }

    /// A thread may have worked on a request.
    pub(super) fn note(&mut self, row: ActivityWork, around: Vec<ActivityId>) {
        self.doubtful.push(Doubtful { row, around });
    }

    /// The work that proved to be for something.
    pub(super) fn settle(self, activities: &[Activity]) -> Vec<ActivityWork> {
        let Self { answered, doubtful, .. } = self;
        let settle = |Doubtful { row, around }| {
            let end = row.start + row.duration;
            let is_for = |id: &ActivityId| {
                !is_request(&activities[id.index()])
                    || answered.get(&(*id, row.thread)).is_some_and(|last| *last >= end)
            };
            let activity = std::iter::once(row.activity).chain(around).find(is_for)?;
            Some(ActivityWork { activity, ..row })
        };
        doubtful.into_iter().filter_map(settle).collect()
    }
}

/// Whether an activity is a request on a connection.
fn is_request(activity: &Activity) -> bool {
    matches!(activity.source, ActivitySource::Serve | ActivitySource::Call)
}

/// Takes parts out of what they cannot be part of, now that all ends are known: what began after a
/// request was answered is no part of it, and a request is no part of a function that returned
/// before. They are part of what is around that.
pub(super) fn settle_parents(activities: &mut [Activity]) {
    for at in 0..activities.len() {
        let part = &activities[at];
        let mut parent = part.parent;
        for _ in 0..SEARCHED {
            let Some(whole) = parent.map(|id| &activities[id.index()]) else { break };
            if !is_apart(part, whole) {
                break;
            }
            parent = whole.parent;
        }
        activities[at].parent = parent;
    }
}

fn is_apart(part: &Activity, whole: &Activity) -> bool {
    let Some(end) = whole.end else { return false };
    if is_request(whole) {
        part.start >= end
    } else {
        is_request(part) && part.end.is_none_or(|last| last > end)
    }
}
