//! `lock-across-requests`: a server's lock belongs to a client that does something else meanwhile.
//!
//! A transaction that has changed a row keeps its lock until it ends. What its client does between two
//! statements, everybody pays for who wants that row:
//!
//! ```text
//! client a   update|        renders a document         |commit
//! server a         |~~~~~ waits for a's next request ~~~|      has the lock
//! server b   |~~~~~~~~~~~~~~ waits for the lock ~~~~~~~~~~~|
//! client b   |~~~~~~~~~~~~~~ waits for its answer ~~~~~~~~~~~|
//! ```
//!
//! A pool of connections is such a server, too: while client a has the pooled connection and does something else,
//! the pool waits for a's next request, and client b for the pool.

use culprit_model::{Cause, Interval, Nanos, ProcessId, StackId, ThreadId};

use crate::evidence::stacks::WaitKind;
use crate::evidence::{Evidence, Relation, Segment, Wait};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity};
use crate::tally::{self, Tally};

use super::lock_contention::own_function;

/// The rule.
pub(crate) struct LockAcrossRequests;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "lock-across-requests",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A client keeps a lock or a pooled connection of a server while it does something else. Other clients \
            wait for it.",
    signature: "A client waits for an answer. The server's thread that works for it waits until another \
                thread or process of the server wakes it, as for a row's lock. That one waits for the next \
                request of its own client meanwhile. The cost is that time, whatever the client does in it. A \
                server that also connects to others, as a pool does, needs no second thread: a client waits for \
                it, and it waits for another client, while those that it connects to do nothing.",
    not_reported: &["a server's thread that waits for work while no client waits for an answer"],
    why: "A transaction keeps its locks until it ends, and a session its pooled connection. Time between its statements counts, too: \
          computing, other services, a person who thinks. Everybody who needs the same waits for all of it.",
    fix: &[
        "Do the slow work before the transaction begins or after it has ended.",
        "Change the contended row last, right before the commit.",
        "Avoid the shared row: a sequence or `AUTO_INCREMENT` for numbers, one row for each worker for \
         counters.",
        "With a pool: return the connection before slow work, let it pool by transaction (`pool_mode = transaction` of \
         PgBouncer), or make it larger (`default_pool_size`).",
        "Limit idle transactions: `idle_in_transaction_session_timeout` (PostgreSQL), \
         `idle_transaction_timeout` (MariaDB).",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `lock-across-requests` in `culprit findings \
            fixed.culprit` must be gone",
    thresholds: &[],
};

/// What a client keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    Lock,
    Connection,
}

/// What is kept, the server's thread that it is kept at, and the client that keeps it.
type Key = (Kept, ThreadId, ThreadId);

impl Rule for LockAcrossRequests {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let all: Vec<_> = evidence.chain.iter().map(|(id, _)| id).collect();
        let key = |s: &Segment| {
            let lock = holder(evidence, s).map(|thread| (Kept::Lock, thread));
            let (kept, thread) = lock.or_else(|| Some((Kept::Connection, pool(evidence, s)?)))?;
            Some((kept, thread, client(evidence, s, thread).0))
        };
        tally::by(evidence, &all, key).into_iter().map(|t| told(evidence, t)).collect()
    }
}

/// The server's thread that waits for its client's next request in a segment, while another thread of the
/// server waits for it, and a client for that one.
fn holder(evidence: &Evidence<'_>, segment: &Segment) -> Option<ThreadId> {
    let own = evidence.of_segment(segment);
    let mut idle = evidence.for_requests(own).map(|_| own.thread);
    let mut waits_for_it = None;
    for wait in evidence.waits_around(segment) {
        // Who waits for the holder may be waited for by the next one in the queue.
        let for_lock = [idle, waits_for_it].contains(&Some(wait.by)) && !wait.for_requests;
        if for_lock && is_for_lock(evidence, evidence.interval(wait.interval)) {
            waits_for_it = Some(wait.waiter);
        } else if wait.relation == Relation::Peer && waits_for_it == Some(wait.by) {
            return idle;
        }
        idle = if wait.for_requests { Some(wait.waiter) } else { idle };
    }
    None
}

/// The client that a server's thread waits for in a segment, and what it is in meanwhile: its own work, or its
/// wait for somebody else.
fn client(
    evidence: &Evidence<'_>,
    segment: &Segment,
    server: ThreadId,
) -> (ThreadId, Option<StackId>) {
    let own = evidence.of_segment(segment);
    let mut waits: Vec<Wait> = Vec::new();
    for wait in evidence.waits_around(segment) {
        if wait.waiter == server {
            let inside = waits.iter().find(|inner| inner.waiter == wait.by);
            let stack = inside.map_or(own.stack, |wait| evidence.interval(wait.interval).stack);
            return (wait.by, stack);
        }
        waits.push(*wait);
    }
    (own.thread, own.stack)
}

/// True for a wait for a lock, be it in the kernel's words or in the server's own: some poll for it.
fn is_for_lock(evidence: &Evidence<'_>, wait: &Interval) -> bool {
    wait.cause == Cause::Lock || evidence.stacks.wait_kind(wait.stack) == Some(WaitKind::Mutex)
}

/// The thread of a pool of connections that waits for one of its clients in a segment, while another client waits
/// for the pool.
fn pool(evidence: &Evidence<'_>, segment: &Segment) -> Option<ThreadId> {
    let mut inner: Option<&Wait> = None;
    for wait in evidence.waits_around(segment) {
        let asks = |thread, pool| {
            let (client, server) = (evidence.process(thread), evidence.process(pool));
            client != server && evidence.serving.is_client_of(client, server)
        };
        let waits_for_other = |inner: &&Wait| {
            let pool = inner.waiter;
            wait.by == pool
                && wait.waiter != inner.by
                && asks(wait.waiter, pool)
                && asks(inner.by, pool)
        };
        if let Some(inner) = inner.filter(waits_for_other)
            && servers_rest(evidence, evidence.process(inner.waiter), segment)
        {
            return Some(inner.waiter);
        }
        inner = Some(wait);
    }
    None
}

/// True where a process listens, asks servers that are recorded, and these do nothing for most of a segment:
/// whoever waits for the process then waits for no answer of theirs.
fn servers_rest(evidence: &Evidence<'_>, process: ProcessId, segment: &Segment) -> bool {
    if !evidence.serving.listens_and_asks(process) {
        return false;
    }
    let recording = evidence.recording;
    let asked =
        |thread: &ThreadId| evidence.serving.is_client_of(process, evidence.process(*thread));
    let all = (0..recording.threads.len()).map(ThreadId::from_index);
    let mut asked = all.filter(asked).peekable();
    let end = segment.start + segment.length;
    let works = |thread: ThreadId| -> Nanos {
        let rows = &recording.intervals[evidence.lives.rows(thread)];
        let first = rows.partition_point(|row| row.start + row.duration <= segment.start);
        let within = rows[first..].iter().take_while(|row| row.start < end);
        let busy = within.filter(|row| evidence.for_requests(row).is_none());
        busy.map(|row| (row.start + row.duration).min(end).since(row.start.max(segment.start)))
            .sum()
    };
    // What they do for others in between is no reason to wait.
    asked.peek().is_some() && asked.map(works).sum::<Nanos>().0 <= segment.length.0 / 2
}

fn told(evidence: &Evidence<'_>, t: Tally<Key>) -> Claim {
    let (kept, holder, keeper) = t.key;
    let kept = match kept {
        Kept::Lock => "lock",
        Kept::Connection => "pooled connection",
    };
    let recording = evidence.recording;
    let server = recording.process_name(evidence.process(holder));
    let whole = evidence.chain.whole;
    let waits = evidence.waits(&t.segments).len() as f64;
    let title = if keeper == holder {
        format!(
            "a client that no record names keeps a {kept} of {server} between its requests: others wait \
             {COST} of {whole} ({PERCENT}) for it"
        )
    } else {
        let function = tally::by(evidence, &t.segments, |s| {
            Some(evidence.name(own_function(evidence, client(evidence, s, holder).1)))
        });
        let function = function.into_iter().next().map_or_else(|| "?".into(), |f| f.key);
        let client = recording.thread_name(keeper);
        format!(
            "{client} keeps a {kept} of {server} while it is in `{function}`: others wait {COST} of {whole} \
             ({PERCENT}) for it"
        )
    };
    Claim::new(&DOC, title, t.segments).share_of(whole).at(Site::Entry).sure(0.85).fact(
        "stretches between requests in which others waited",
        waits,
        "count",
    )
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Mark, MarkKind, Recording, Time};

    const ASK: &str = "main;ask;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";
    const SERVE: &str =
        "clone3;serve;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";
    const LOCK: &str = "clone3;serve;update;libc.so.6!pthread_cond_timedwait;k:futex_do_wait";
    const RENDER: &str = "main;render;libc.so.6!clock_nanosleep;k:do_nanosleep";

    /// Two clients of a server with a thread for each; the second one waits 100 ms, for a lock or for work.
    fn two_clients(lock: Option<(Cause, &str)>) -> Recording {
        let mut scene = Scene::default();
        let second = scene.program("second", None, 0);
        let server = scene.program("server", Some(second), 0);
        let process = scene.recording.thread(server).process;
        let first = scene.program("first", Some(second), 0);
        let serves_second = scene.thread(process, "serves-second", 0);
        for _ in 0..10 {
            scene.wait(first, 90, Cause::Sleep, RENDER, End::Timer);
            scene.run(first, 10, Cause::CpuUser, "main;commit");
            scene.wait(server, 95, Cause::Net, SERVE, End::By(first));
            scene.run(server, 5, Cause::CpuUser, "clone3;serve;commit");
            if let Some((cause, stack)) = lock {
                scene.wait(serves_second, 98, cause, stack, End::By(server));
            } else {
                scene.run(serves_second, 98, Cause::CpuUser, "clone3;serve;scan");
            }
            scene.run(serves_second, 2, Cause::CpuUser, "clone3;serve;update");
            scene.wait(second, 100, Cause::Net, ASK, End::By(serves_second));
            scene.run(second, 1, Cause::CpuUser, "main;ask");
            for thread in [server, first, serves_second] {
                scene.run(thread, 1, Cause::CpuUser, "clone3;rest");
            }
        }
        let mut recording = scene.done();
        recording.marks.push(Mark {
            time: Time::START,
            process,
            thread: None,
            kind: MarkKind::Listen,
            text: "*:5432".into(),
        });
        recording
    }

    #[test]
    fn what_a_client_does_between_its_requests_is_paid_by_who_waits_for_its_lock() {
        const ROW: &str = "clone3;serve;update;XactLockTableWait;LockAcquire;ProcSleep;WaitLatch;\
                           WaitEventSetWait;libc.so.6!epoll_wait;k:do_epoll_wait";
        for lock in [(Cause::Lock, LOCK), (Cause::Poll, ROW)] {
            let found = first(&two_clients(Some(lock)), "lock-across-requests").expect("found");
            assert!(
                found.title.contains("first (102) keeps a lock of server (101)"),
                "{}",
                found.title
            );
            assert!(found.share > 0.8, "{}", found.share);
        }
    }

    /// Two clients of a pool with one thread and one connection: the second one waits while the first one renders.
    /// `port` is where the first one has connected to.
    fn two_clients_of_a_pool(port: &str, database_works: bool) -> Recording {
        const POLL: &str = "main;event_loop;libc.so.6!epoll_wait;k:__x64_sys_epoll_wait;k:ep_poll";
        let mut scene = Scene::default();
        let second = scene.program("second", None, 0);
        let pool = scene.program("pool", Some(second), 0);
        let first = scene.program("first", Some(second), 0);
        let database = scene.program("database", Some(second), 0);
        for _ in 0..10 {
            if database_works {
                scene.run(database, 101, Cause::CpuUser, "main;scan");
            } else {
                scene.wait(database, 101, Cause::Net, SERVE, End::By(pool));
            }
            scene.wait(first, 90, Cause::Sleep, RENDER, End::Timer);
            scene.run(first, 10, Cause::CpuUser, "main;release");
            scene.wait(pool, 98, Cause::Poll, POLL, End::By(first));
            scene.run(pool, 2, Cause::CpuUser, "main;event_loop;answer");
            scene.wait(second, 100, Cause::Net, ASK, End::By(pool));
            scene.run(second, 1, Cause::CpuUser, "main;ask");
            for thread in [pool, first] {
                scene.run(thread, 1, Cause::CpuUser, "main;rest");
            }
        }
        let mut recording = scene.done();
        let mut mark = |thread, kind, text: &str| {
            recording.marks.push(Mark {
                time: Time::START,
                process: recording.threads[culprit_model::ThreadId::index(thread)].process,
                thread: Some(thread),
                kind,
                text: text.into(),
            });
        };
        mark(pool, MarkKind::Listen, "127.0.0.1:6432");
        mark(pool, MarkKind::Connect, "127.0.0.1:5432");
        mark(database, MarkKind::Listen, "127.0.0.1:5432");
        mark(second, MarkKind::Connect, "127.0.0.1:6432");
        mark(
            first,
            if port == "6432" { MarkKind::Connect } else { MarkKind::Listen },
            &format!("127.0.0.1:{port}"),
        );
        recording
    }

    #[test]
    fn what_a_client_of_a_pool_does_with_its_connection_is_paid_by_who_waits_for_one() {
        let found =
            first(&two_clients_of_a_pool("6432", false), "lock-across-requests").expect("found");
        assert!(
            found.title.contains("first (102) keeps a pooled connection of pool (101)"),
            "{}",
            found.title
        );
        assert!(found.share > 0.8, "{}", found.share);
    }

    #[test]
    fn a_server_that_a_proxy_asks_keeps_no_connection_of_its() {
        assert!(first(&two_clients_of_a_pool("5433", false), "lock-across-requests").is_none());
    }

    #[test]
    fn a_proxy_whose_server_works_meanwhile_waits_for_that_one() {
        assert!(first(&two_clients_of_a_pool("6432", true), "lock-across-requests").is_none());
    }

    #[test]
    fn a_server_that_works_for_the_one_who_waits_has_no_lock_in_the_way() {
        assert!(first(&two_clients(None), "lock-across-requests").is_none());
    }
}
