//! `uneven-instances`: of several instances of a server one does most of the work and is full, while others idle.
//!
//! ```text
//! node app.js --port 3001   ############    busy all the time: its requests queue
//! node app.js --port 3002   ##
//! node app.js --port 3003   ##
//! ```
//!
//! A finding without cost: other findings explain what the full instance does.

use std::collections::BTreeMap;

use culprit_engine::wakers::is_descendant;
use culprit_model::{
    ActivitySource, Interval, MarkKind, Nanos, ProcessId, Severity, StackId, ThreadId, Time,
};

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct UnevenInstances;

/// Share of the time that one thread of the busiest instance is on a CPU or ready.
const MIN_BUSY: f64 = 0.70;

/// How many times the work of the median of the others the busiest does.
const MIN_RATIO: f64 = 2.0;

/// Share of the time that the least busy instance works at most.
const MAX_IDLE_WORK: f64 = 0.50;

/// Share of the recording's time in which all of the instances must have lived.
const MIN_TOGETHER: f64 = 0.25;

/// Time below which a balance says nothing.
const MIN_TIME: Nanos = Nanos(500_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "uneven-instances",
    group: Group::Waiting,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "One instance of a server does most of the work and has no time left, while other \
            instances of it are idle.",
    signature: "Several recorded processes run the same program with the same arguments, apart from \
                numbers, and listen on a socket, or a parent of them does. Culprit looks at the time in \
                which all of them live. The busiest thread of one of them \
                is on a CPU or ready nearly all of that time. That instance does a multiple of the \
                work of the others. Work is time on a CPU or ready, of the process and of all its \
                descendants.",
    not_reported: &[
        "instances that are all busy, or none",
        "processes that serve nobody, such as the jobs of a build",
        "instances that live together for less than 0.5 s, or a quarter of the recording",
    ],
    why: "Requests wait for the full instance while the others could serve them. The usual reasons are a \
          balancer that goes by client address or by a hash, few long connections, different weights, \
          and one accept queue that one process empties first.",
    fix: &[
        "Balance by open requests: `least_conn` in nginx, `leastconn` in HAProxy.",
        "If one address sends most requests, do not balance by it: no `ip_hash`, no `balance source`.",
        "Let clients close their connections from time to time, or limit the requests of each.",
        "For processes that accept on one socket, give each its own: `SO_REUSEPORT`, in nginx \
         `listen ... reuseport`.",
    ],
    check: "culprit activities REC --by process; the instances must handle about as many requests each",
    thresholds: &[
        Threshold {
            what: "share of the time in which a thread of the busiest instance is on a CPU or ready",
            value: MIN_BUSY,
            unit: "share",
            reason: "Above it, requests queue: at 0.7 a request waits twice as long as it is worked \
                     on. Below, an uneven load delays hardly any request.",
            source: "the M/M/1 queue",
        },
        Threshold {
            what: "work of the busiest instance, as a multiple of the median of the others",
            value: MIN_RATIO,
            unit: "count",
            reason: "Random balancing of a few hundred requests differs by less. At half of it, equal \
                     instances would be reported.",
            source: "definition",
        },
        Threshold {
            what: "share of the time that the least busy instance works",
            value: MAX_IDLE_WORK,
            unit: "share",
            reason: "It must have time for the requests of the busiest one.",
            source: "definition",
        },
        Threshold {
            what: "share of the recording in which all instances live",
            value: MIN_TOGETHER,
            unit: "share",
            reason: "Instances that follow each other, as in a rolling update, are not balanced.",
            source: "definition",
        },
        Threshold {
            what: "time in which all instances live",
            value: MIN_TIME.0 as f64,
            unit: "ns",
            reason: "In less time, a few long requests make any balance uneven.",
            source: "definition",
        },
    ],
};

impl Rule for UnevenInstances {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let groups = groups(evidence).into_values();
        let claims = groups.filter_map(|group| {
            let together = together(evidence, &group)?;
            claim(evidence, &Worked::new(evidence, together), &group)
        });
        claims.collect()
    }
}

/// The time in which all of these processes live, up to the last work of any of them.
fn together(evidence: &Evidence<'_>, group: &[ProcessId]) -> Option<(Time, Time)> {
    let recording = evidence.recording;
    let wall = recording.meta.wall;
    let processes = || group.iter().map(|id| recording.process(*id));
    let from = processes().map(|process| process.start).max()?;
    let end = processes().map(|process| process.end.unwrap_or(Time(wall.0))).min()?;
    let inside =
        |process| group.iter().any(|id| *id == process || is_descendant(recording, process, *id));
    let ids = (0..recording.processes.len()).map(ProcessId::from_index);
    let inside: Vec<bool> = ids.map(inside).collect();
    let of_group = |interval: &&Interval| inside[recording.thread(interval.thread).process.index()];
    let work = recording.intervals.iter().filter(|i| works(i)).filter(of_group);
    let last = work.map(|i| i.start + i.duration).max()?.min(end);
    let long = last.since(from);
    (long >= MIN_TIME && long.share_of(wall) >= MIN_TOGETHER).then_some((from, last))
}

/// What each thread and process worked in some time: on a CPU or ready.
struct Worked {
    of_thread: Vec<Nanos>,
    of_process: Vec<Nanos>,
    time: Nanos,
}

impl Worked {
    fn new(evidence: &Evidence<'_>, (from, to): (Time, Time)) -> Self {
        let recording = evidence.recording;
        let mut of_thread = vec![Nanos::ZERO; recording.threads.len()];
        for interval in recording.intervals.iter().filter(|i| works(i)) {
            let end = (interval.start + interval.duration).min(to);
            of_thread[interval.thread.index()] += end.since(interval.start.max(from).min(end));
        }
        let mut of_process = vec![Nanos::ZERO; recording.processes.len()];
        for (thread, worked) in recording.threads.iter().zip(&of_thread) {
            of_process[thread.process.index()] += *worked;
        }
        // A parent's row comes before its children's.
        for at in (0..of_process.len()).rev() {
            if let Some(parent) = recording.processes[at].parent {
                let below = of_process[at];
                of_process[parent.index()] += below;
            }
        }
        Self { of_thread, of_process, time: to.since(from) }
    }
}

fn works(interval: &Interval) -> bool {
    interval.cause.is_cpu() || interval.cause.is_runnable()
}

/// The processes that serve, by program and arguments without numbers; none that is another's ancestor.
fn groups(evidence: &Evidence<'_>) -> BTreeMap<(String, String), Vec<ProcessId>> {
    let recording = evidence.recording;
    let wall = recording.meta.wall;
    let lives = |id: ProcessId| {
        let process = recording.process(id);
        let end = process.end.unwrap_or(Time(wall.0));
        end.since(process.start).share_of(wall) >= MIN_TOGETHER
    };
    let listening: Vec<ProcessId> = listening(evidence);
    let serves = |id: ProcessId| {
        listening.iter().any(|server| *server == id || is_descendant(recording, id, *server))
    };
    let mut groups: BTreeMap<(String, String), Vec<ProcessId>> = BTreeMap::new();
    for (at, process) in recording.processes.iter().enumerate() {
        let id = ProcessId::from_index(at);
        if process.recorded && lives(id) && serves(id) {
            let key = (process.name.to_string(), shape(&process.command_line));
            groups.entry(key).or_default().push(id);
        }
    }
    for group in groups.values_mut() {
        let all = group.clone();
        group.retain(|id| !all.iter().any(|other| is_descendant(recording, *other, *id)));
    }
    groups.retain(|_, group| group.len() >= 2);
    // What instances have below them belongs to them.
    let all: Vec<ProcessId> = groups.values().flatten().copied().collect();
    groups.retain(|_, group| {
        !group.iter().all(|id| all.iter().any(|other| is_descendant(recording, *id, *other)))
    });
    groups
}

/// The processes that are known to listen or to have received requests.
fn listening(evidence: &Evidence<'_>) -> Vec<ProcessId> {
    let recording = evidence.recording;
    let listens = |kind| matches!(kind, MarkKind::Listen | MarkKind::PollRequests);
    let marks = recording.marks.iter().filter(|mark| listens(mark.kind)).map(|mark| mark.process);
    let served = recording.activities.iter().filter(|a| a.source == ActivitySource::Serve);
    let served = served.map(|activity| recording.thread(activity.thread).process);
    let mut all: Vec<ProcessId> = marks.chain(served).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A command line without its numbers: ports and names of instances differ by these.
fn shape(command_line: &str) -> String {
    let mut shape = String::new();
    for character in command_line.chars() {
        match character.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(character),
        }
    }
    shape
}

fn claim(evidence: &Evidence<'_>, worked: &Worked, group: &[ProcessId]) -> Option<Claim> {
    let wall = worked.time;
    let work = |id: &ProcessId| worked.of_process[id.index()];
    let mut ranked = group.to_vec();
    ranked.sort_by_key(|id| (std::cmp::Reverse(work(id)), *id));
    let (first, others) = ranked.split_first()?;
    let last = others.last()?;
    let median = work(&others[others.len() / 2]);
    let (thread, busy) = busiest_thread(evidence, worked, *first)?;
    let uneven = work(first).0 as f64 >= MIN_RATIO * median.0 as f64;
    let full = busy.share_of(wall) >= MIN_BUSY;
    if !uneven || !full || work(last).share_of(wall) > MAX_IDLE_WORK {
        return None;
    }
    let all: Nanos = group.iter().map(work).sum();
    let name = |id: &ProcessId| evidence.recording.process_name(*id);
    let title = format!(
        "{} does {:.0} % of the work of {} instances and works for {:.0} % of the time; {} works for \
         {:.0} %",
        name(first),
        100.0 * work(first).share_of(all),
        group.len(),
        100.0 * busy.share_of(wall),
        name(last),
        100.0 * work(last).share_of(wall)
    );
    let mut claim = Claim::statement(&DOC, title, Severity::Medium).sure(0.85);
    for id in ranked.iter().take(8) {
        claim = claim.time(format!("time on a CPU or ready of {}", name(id)), work(id));
        if let Some(requests) = requests(evidence, *id) {
            claim = claim.fact(format!("requests of {}", name(id)), requests, "count");
        }
    }
    let share = format!("share of the time that {} works", evidence.recording.thread_name(thread));
    claim = claim.fact(share, busy.share_of(wall), "share");
    claim = claim.fact("instances", group.len() as f64, "count");
    Some(claim.pointing(hottest(evidence, thread).into_iter().collect()))
}

/// The thread of a process and of its descendants that works most.
fn busiest_thread(
    evidence: &Evidence<'_>,
    worked: &Worked,
    process: ProcessId,
) -> Option<(ThreadId, Nanos)> {
    let recording = evidence.recording;
    let own = recording.threads.iter().enumerate().filter(|(_, thread)| {
        thread.process == process || is_descendant(recording, thread.process, process)
    });
    let times = own.map(|(at, _)| (ThreadId::from_index(at), worked.of_thread[at]));
    times.max_by_key(|(thread, time)| (*time, std::cmp::Reverse(*thread)))
}

/// The requests that a process has served; none if none were recorded.
fn requests(evidence: &Evidence<'_>, process: ProcessId) -> Option<f64> {
    let recording = evidence.recording;
    let mut served =
        recording.activities.iter().filter(|a| a.source == ActivitySource::Serve).peekable();
    served.peek()?;
    let own = served.filter(|activity| recording.thread(activity.thread).process == process);
    Some(own.count() as f64)
}

/// Where a thread works most.
fn hottest(evidence: &Evidence<'_>, thread: ThreadId) -> Option<(ThreadId, StackId)> {
    let mut times: BTreeMap<StackId, Nanos> = BTreeMap::new();
    let own = evidence.recording.intervals.iter().filter(|i| i.thread == thread && works(i));
    for (stack, duration) in own.filter_map(|i| Some((i.stack?, i.duration))) {
        *times.entry(stack).or_default() += duration;
    }
    let most = times.into_iter().max_by_key(|(stack, time)| (*time, std::cmp::Reverse(*stack)));
    most.map(|(stack, _)| (thread, stack))
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Mark, MarkKind, Recording, Severity, Text, Time};

    use super::shape;
    use crate::scene::{End, Scene, first};

    /// Instances that work for so many of 1,000 ms each, and serve or do not.
    fn instances(busy_ms: &[u64], serves: bool) -> Recording {
        let mut scene = Scene::default();
        for (at, busy) in busy_ms.iter().enumerate() {
            let main = scene.program("app", None, 0);
            let process = scene.recording.thread(main).process;
            let command_line = format!("app --port 300{at}");
            scene.recording.processes[process.index()].command_line = command_line.into();
            for _ in 0..10 {
                scene.run(main, busy / 10, Cause::CpuUser, "main;handle");
                let idle = (1_000 - busy) / 10;
                scene.wait(main, idle, Cause::Poll, "main;loop;k:do_epoll_wait", End::Network);
            }
            if serves {
                scene.recording.marks.push(Mark {
                    time: Time(1),
                    process,
                    thread: Some(main),
                    kind: MarkKind::Listen,
                    text: Text::from("127.0.0.1:3000"),
                });
            }
        }
        scene.running()
    }

    #[test]
    fn one_full_instance_among_idle_ones_is_found() {
        let found = first(&instances(&[100, 900, 150], true), "uneven-instances").expect("found");
        assert_eq!((found.severity, found.cost.0), (Severity::Medium, 0));
        assert!(found.title.starts_with("app (101) does 78 % of the work of 3"), "{}", found.title);
        assert!(found.title.ends_with("app (100) works for 10 %"), "{}", found.title);
    }

    #[test]
    fn even_idle_and_other_processes_are_not() {
        for busy in [&[900, 850, 880][..], &[100, 300, 90], &[900, 700, 600], &[900]] {
            assert!(first(&instances(busy, true), "uneven-instances").is_none(), "{busy:?}");
        }
        assert!(first(&instances(&[900, 100], false), "uneven-instances").is_none());
    }

    #[test]
    fn instances_differ_by_numbers_only() {
        assert_eq!(shape("node app.js --port 3001"), shape("node app.js --port 40222"));
        assert_ne!(shape("node app.js"), shape("node batch.js"));
    }
}
