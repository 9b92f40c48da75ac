//! Waits with a time limit that are begun again: for whom the thread waited all the time.
//!
//! A thread that waits for a lock or a condition with a time limit, again and again at one place, until
//! another thread ends it, has waited for that thread all the time. A limit that passes is no more than a
//! look whether that one is there yet.
//!
//! ```text
//! waits   lllllllTlllllllTxlllll#     l waits at one place, T its limit passed, x does a little else
//! works   UUUUUUUUUUUUUUUUUUUUUUU     # ends the wait
//! path    wwwwwwwmwwwwwwwmmwwwwwm
//! ```

use culprit_model::{Cause, Interval, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::chain::Ended;
use super::lives::end;
use super::sites::{WaitSite, WaitSites};

/// Between two waits of a loop that looks whether another thread is there yet lies at most this part of the
/// wait. A thread that does more works at intervals, and waits for its time.
const MOST_BETWEEN: u64 = 10;

/// Whom a thread waited for at which place, in the waits that a walk back in time has passed.
#[derive(Debug, Default)]
pub(super) struct Patience {
    awaited: FxHashMap<WaitSite, Awaited>,
}

/// A wait that another thread ended, seen from the time before it.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    /// Who ended it.
    by: ThreadId,
    /// When it began.
    since: Time,
}

impl Patience {
    /// Whom the thread waited for in `row` too, whose wait for a lock the time limit ended: the thread that
    /// ended the same wait, when it waited again. Other waits with a limit are for whoever comes: a server
    /// that listens was not kept waiting by the client that came at last.
    pub(super) fn still_awaited(
        &self,
        sites: &mut WaitSites<'_>,
        row: &Interval,
        ended: Ended,
    ) -> Option<ThreadId> {
        // No other interrupt than a timer's ends the wait for a lock.
        let is_limit = row.cause == Cause::Lock && matches!(ended, Ended::ByInterrupt(_));
        if !is_limit || self.awaited.is_empty() {
            return None;
        }
        let awaited = self.awaited.get(&sites.site(row.stack?)?)?;
        let between = awaited.since.since(end(row));
        (between.0 <= row.duration.0 / MOST_BETWEEN).then_some(awaited.by)
    }

    /// Takes in a row that the walk has passed, and the thread that was waited for in it.
    pub(super) fn pass(
        &mut self,
        sites: &mut WaitSites<'_>,
        row: &Interval,
        awaited: Option<ThreadId>,
    ) {
        let by = awaited.filter(|_| row.cause == Cause::Lock);
        if let (Some(by), Some(stack)) = (by, row.stack)
            && let Some(site) = sites.site(stack)
        {
            self.awaited.insert(site, Awaited { by, since: row.start });
        }
    }
}
