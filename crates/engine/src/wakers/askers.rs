//! Who wanted a process to end, where no record of the call for it tells.
//!
//! The thread that calls `exit_group` kills all others, and so ends the last wait of each (`zap_other_threads`
//! in kernel/signal.c). In some runtimes that is a thread which serves the requests of the others: in the
//! JVM, `System.exit` asks the VM thread to. What the program did is then the life of the thread that asked.
//!
//! ```text
//! main    UUUUUUUUUUUUUUll|       asks, and is killed
//! serves  lllllllllllllll#E|      waits at one place nearly all the time, until it is asked
//! other   lllllllllllllllll|      is killed
//! ```

use std::collections::BTreeMap;

use culprit_model::{Interval, Nanos, Recording, ThreadId, Time};

use super::ends::LEFT_BEHIND;
use super::lives::end;
use super::process_of;
use super::sites::{WaitSite, WaitSites};

/// Who killed the threads of each process when it ended: who ended the last waits of most of the threads
/// that lived to its end. One entry a process; none where fewer than two were killed, as one may also
/// have been woken. Linear in threads, given where each one's rows begin.
pub(super) fn killers(recording: &Recording, begins: &[usize]) -> Vec<Option<ThreadId>> {
    let rows = |at: usize| &recording.intervals[begins[at]..begins[at + 1]];
    let ended = |at: usize| rows(at).last().map(end);
    let threads = recording.threads.iter().map(|thread| thread.process.index()).enumerate();
    let mut over = vec![Time::START; recording.processes.len()];
    for (at, process) in threads.clone() {
        if let (Some(over), Some(ended)) = (over.get_mut(process), ended(at)) {
            *over = ended.max(*over);
        }
    }
    let mut wakers: Vec<Vec<ThreadId>> = vec![Vec::new(); over.len()];
    for (at, process) in threads {
        let late = |time: Time| over.get(process).is_some_and(|o| o.since(time) <= LEFT_BEHIND);
        let last = ended(at).filter(|ended| late(*ended)).map(|_| rows(at).iter().rev());
        let wait = last.and_then(|mut rows| rows.find(|row| row.waker.is_some()));
        if let Some(by) = wait.filter(|wait| late(end(wait))).and_then(|wait| wait.waker)
            && process_of(recording, by).is_some_and(|own| own.index() == process)
        {
            wakers[process].push(by);
        }
    }
    wakers.into_iter().map(most).collect()
}

/// The thread that stands at least twice in a list, and in more than half of its places.
fn most(mut wakers: Vec<ThreadId>) -> Option<ThreadId> {
    wakers.sort_unstable();
    let same = wakers.chunk_by(|a, b| a == b).max_by_key(|same| same.len())?;
    (same.len() >= 2 && same.len() > wakers.len() / 2).then(|| same[0])
}

/// The thread that asked another one of its process, which serves requests, for what it did at last: who
/// ended its last wait at the place where it spent more than half of its life and no other thread of the
/// process waits. None of a thread that serves nobody, or whose asker did not live as long.
pub(super) fn asker(
    recording: &Recording,
    begins: &[usize],
    sites: &mut WaitSites<'_>,
    serving: ThreadId,
) -> Option<ThreadId> {
    let rows = |at: usize| &recording.intervals[begins[at]..begins[at + 1]];
    let own = rows(serving.index());
    let life = end(own.last()?).since(own.first()?.start);
    let mut sums: BTreeMap<WaitSite, Nanos> = BTreeMap::new();
    for row in own.iter().filter(|row| row.cause.is_blocked()) {
        if let Some(site) = site(sites, row) {
            *sums.entry(site).or_default() += row.duration;
        }
    }
    let (home, sum) = sums.into_iter().max_by_key(|(_, sum)| *sum)?;
    let mut waits_there = |row: &Interval| row.cause.is_blocked() && site(sites, row) == Some(home);
    let request = own.iter().rfind(|row| waits_there(row))?;
    let process = process_of(recording, serving);
    let asker =
        request.waker.filter(|by| *by != serving && process_of(recording, *by) == process)?;
    let lived_on = end(own.last()?).since(recording.thread_end(asker)) <= LEFT_BEHIND;
    if !lived_on || sum.0 <= life.0 / 2 {
        return None;
    }
    let others = recording.threads.iter().enumerate();
    let mut others =
        others.filter(|(at, thread)| Some(thread.process) == process && *at != serving.index());
    let shared = others.any(|(at, _)| rows(at).iter().any(&mut waits_there));
    (!shared).then_some(asker)
}

/// Where a row waits.
fn site(sites: &mut WaitSites<'_>, row: &Interval) -> Option<WaitSite> {
    sites.site(row.stack?)
}
