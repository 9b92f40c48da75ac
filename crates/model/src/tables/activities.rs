//! Units of work with a start and a stop: requests, operations, phases.

use crate::column::table;
use crate::ids::{ActivityId, ThreadId};
use crate::label::labels;
use crate::text::Text;
use crate::time::{Nanos, Time};

labels! {
    /// What recorded an activity.
    ActivitySource ("activity source") {
        /// Entry and return of a function that the user named, or of two.
        Function = "function",
        /// Static probes (USDT) that the program's author put in.
        Usdt = "usdt",
        /// Another profiler's file.
        Import = "import",
        /// A socket on which a request was received and answered.
        Serve = "serve",
        /// A socket on which a request was sent and its answer received.
        Call = "call",
    }
}

labels! {
    /// What an edge says.
    EdgeKind ("activity edge") {
        /// The thread begins to work on an activity; what it does until it leaves belongs to it.
        Enter = "enter",
        /// The thread leaves the innermost activity of this name that it works on.
        Leave = "leave",
        /// An activity with a key begins; other rows say which threads work on it.
        Start = "start",
        /// The activity of this name and key ends, on whichever thread of the process.
        Stop = "stop",
        /// Bytes of a request passed on the connection that is the key. The first since the last
        /// answer begin an activity.
        Ask = "ask",
        /// Bytes of an answer passed. The last before the next of a request end the activity.
        Answer = "answer",
    }
}

table! {
    /// A unit of work with a start and a stop. Ordered by start, an activity before those that are
    /// part of it.
    ///
    /// ```text
    /// main    | request a     |          | request b ...
    /// worker           | handle a      |
    /// rows    0 request  key a           1 handle  parent 0    2 request  key b
    /// ```
    Activity in "activities" {
        /// When it began.
        start: Time,
        /// When it ended; none when it was not seen to end.
        end: Option<Time>,
        /// Its kind, as the user or the file names it: what activities are added up by.
        name: Text,
        /// The value by which it is distinguished from open activities of the same name; none when
        /// it began and ended on one thread.
        key: Option<Text>,
        /// What recorded it.
        source: ActivitySource,
        /// The thread that began it.
        thread: ThreadId,
        /// The thread that ended it; none when it was not seen to end.
        end_thread: Option<ThreadId>,
        /// The activity that it is part of.
        parent: Option<ActivityId>,
    }
}

table! {
    /// A thread worked on an activity and on none that is part of it: each instant of a thread
    /// belongs to its innermost activity, or to none. Ordered by thread, then by start; the rows of
    /// one thread do not overlap.
    ActivityWork in "activity_work" {
        /// Which thread.
        thread: ThreadId,
        /// From when.
        start: Time,
        /// How long.
        duration: Nanos,
        /// On which activity.
        activity: ActivityId,
    }
}

table! {
    /// One end of an activity or of a thread's work on it. Ordered by time. Only in unfinished
    /// files: a finished recording holds the activities built from them.
    ActivityEdge in "activity_edges" {
        /// When.
        time: Time,
        /// On which thread.
        thread: ThreadId,
        /// Which end of what.
        kind: EdgeKind,
        /// The activity's kind.
        name: Text,
        /// The value that distinguishes it from others of its name; none if the thread is enough.
        key: Option<Text>,
        /// What recorded it.
        source: ActivitySource,
    }
}
