//! `small-io`: many read or write calls that move few bytes each.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::{Cause, Evidence as Fact, Nanos, ProcessId, Text, counter_names};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold, fact};
use crate::tally;

/// The rule.
pub(crate) struct SmallIo;

/// Bytes a call up to which the call, not the copy, is the cost.
const MAX_BYTES: f64 = 512.0;

/// Calls from which their fixed cost is worth a finding.
const MIN_CALLS: u64 = 2_000;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "small-io",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program reads or writes a few bytes at a time, with many system calls.",
    signature: "CPU time on the critical path in read and write calls, and in a runtime's code \
                around them. The process's counters show many calls with few bytes each. Calls \
                that move messages are recognised by the kernel's functions on the stack and left \
                out.",
    not_reported: &[
        "calls on sockets: each moves a message that a peer waits for",
        "calls on descriptors of events, timers, signals and file watches",
    ],
    why: "A call costs 0.1 to 1 us to enter and leave the kernel, find the file and take its \
          locks. The number of bytes hardly matters: reading 1 byte or 4 KiB of a cached file \
          takes the same time.",
    fix: &[
        "Put a buffer around the file: BufReader, BufWriter, setvbuf, io.BufferedReader.",
        "Read whole blocks and split them in memory.",
        "Collect lines and write them together.",
        "Combine calls with readv, writev or io_uring.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `culprit findings fixed.culprit` must show \
            fewer calls with more bytes per call",
    thresholds: &[
        Threshold {
            what: "bytes per call",
            value: MAX_BYTES,
            unit: "bytes",
            reason: "Up to 4 KiB the bytes are free: a buffer of 64 KiB saves nine tenths of the \
                     time of 512-byte calls. At double, programs that handle small records would \
                     be reported.",
            source: "cached pread of 1 byte 0.49 us, 512 0.58, 4096 0.53, 65536 2.3; pwrite 0.81, \
                     0.80, 0.87, 2.3 us, Linux 6.18",
        },
        Threshold {
            what: "calls",
            value: MIN_CALLS as f64,
            unit: "count",
            reason: "2,000 calls take about 1 ms. Fewer matter only in very short runs.",
            source: "as above",
        },
        Threshold {
            what: "share of the calls' time that is spent on messages",
            value: MAX_MESSAGES,
            unit: "share",
            reason: "The counters are those of a whole process. If more than this share goes to \
                     sockets, the counters say nothing about files. At half of it, a server with \
                     a \
                     socket and a log of single lines would be missed; at double, nothing would be \
                     left out.",
            source: "definition",
        },
    ],
};

/// Share of the time of read or write calls that messages may take.
const MAX_MESSAGES: f64 = 0.5;

const WRITE: &str = "write";

/// Callers that are listed.
const LISTED: usize = 3;

/// One direction: the counters of its calls and bytes.
const WAYS: [(&str, &str, &str); 2] = [
    ("read", counter_names::IO_READS, counter_names::IO_READ_BYTES),
    (WRITE, counter_names::IO_WRITES, counter_names::IO_WRITE_BYTES),
];

impl Rule for SmallIo {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let calling = evidence.doing(|d| calls(evidence, d));
        tally::by(evidence, &calling, |s| Some(evidence.process(evidence.of_segment(s).thread)))
            .into_iter()
            .filter_map(|t| told(evidence, t.key, &t.segments))
            .collect()
    }
}

/// True on a CPU in a read or write call, or in what a runtime does around one.
fn calls(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    let around = doing.cause == Cause::CpuUser && within(Family::ReadCall);
    doing.cause.is_cpu() && within(Family::ReadWrite) || around
}

/// The calls of one direction that a buffer would spare.
struct Small {
    way: &'static str,
    calls: u64,
    each: f64,
    segments: Vec<SegmentId>,
    /// Share of the direction's time that is not theirs but messages'.
    messages: f64,
    /// Who makes them, the costliest first.
    callers: Vec<Caller>,
}

fn told(evidence: &Evidence<'_>, process: ProcessId, segments: &[SegmentId]) -> Option<Claim> {
    let small: Vec<_> =
        WAYS.into_iter().filter_map(|way| small(evidence, process, segments, way)).collect();
    let most = small.iter().max_by_key(|small| small.calls)?;
    let callers = match &most.callers[..] {
        [] => "? makes".to_owned(),
        [one] => format!("`{}` makes", one.name),
        [first, others @ ..] => format!("`{}` and {} more make", first.name, others.len()),
    };
    let title = format!(
        "{callers} at least {} {} calls of {:.0} bytes each in {}: {COST} of {}",
        most.calls,
        most.way,
        most.each,
        evidence.recording.process_name(process),
        evidence.chain.whole
    );
    let held: Vec<_> = small.iter().flat_map(|small| small.segments.iter().copied()).collect();
    let total = evidence.total(&held);
    let mut claim = Claim::new(&DOC, title, held)
        .at(Site::Requester)
        .time("CPU time in read and write calls", total);
    for small in &small {
        claim = claim
            .fact(format!("{} calls", small.way), small.calls as f64, "count")
            .fact(format!("bytes per {} call", small.way), small.each, "bytes")
            .facts(by_caller(small));
        let why =
            format!("the number of {} calls without messages is estimated by time", small.way);
        claim.confidence.lower(why, 1.0 - small.messages);
    }
    Some(claim)
}

/// The calls of one direction, where they are many and small.
fn small(
    evidence: &Evidence<'_>,
    process: ProcessId,
    segments: &[SegmentId],
    (way, calls, bytes): (&'static str, &str, &str),
) -> Option<Small> {
    let calls = evidence.counters.growth(Some(process), calls)?.value;
    let bytes = evidence.counters.growth(Some(process), bytes)?.value;
    let writes = |d: &Doing| evidence.stacks.in_family(d.stack, Family::WriteCall);
    let of_way = |d: &Doing| writes(d) == (way == WRITE);
    let of_way = evidence.doings.each(of_way);
    let mut times = evidence.doings.times(&evidence.chain, segments);
    times.iter_mut().zip(of_way).filter(|(_, own)| !own).for_each(|(time, _)| *time = Nanos::ZERO);
    let all: Nanos = times.iter().copied().sum();
    let callers = without_messages(evidence, &times);
    let kept: Nanos = callers.iter().map(|caller| caller.total).sum();
    let messages = 1.0 - kept.share_of(all);
    // The counters do not tell what the calls went to, so that their part is that of the time.
    let part = u128::from(calls) * u128::from(kept.0) / u128::from(all.0.max(1));
    let part = u64::try_from(part).unwrap_or(calls);
    let each = bytes as f64 / calls.max(1) as f64;
    if part < MIN_CALLS || each > MAX_BYTES || messages > MAX_MESSAGES {
        return None;
    }
    let mut is_kept = vec![false; times.len()];
    callers.iter().flat_map(|caller| &caller.kinds).for_each(|kind| is_kept[*kind] = true);
    let segments = segments.iter().copied().filter(|s| is_kept[evidence.doings.kind(*s)]).collect();
    Some(Small { way, calls: part, each, segments, messages, callers })
}

/// A function of the program that makes calls.
struct Caller {
    name: Text,
    /// The kinds of segments that its calls are in.
    kinds: Vec<usize>,
    total: Nanos,
}

/// The functions that make the calls whose time by kind this is, the costliest first. Functions
/// that mostly move messages are left out: each message needs its own call, so no buffer can help.
fn without_messages(evidence: &Evidence<'_>, times: &[Nanos]) -> Vec<Caller> {
    let stacks = &evidence.stacks;
    let focus = evidence.doings.each(|d| stacks.focus(d.stack));
    let mut by_name: BTreeMap<Text, Vec<usize>> = BTreeMap::new();
    for (kind, focus) in
        focus.into_iter().enumerate().filter(|(kind, _)| times[*kind] > Nanos::ZERO)
    {
        if focus.is_some() {
            by_name.entry(evidence.name(focus)).or_default().push(kind);
        }
    }
    let sum = |kinds: &[usize], wanted: &dyn Fn(Doing) -> bool| -> Nanos {
        let wanted = kinds.iter().filter(|kind| wanted(evidence.doings.of_kind(**kind)));
        wanted.map(|kind| times[*kind]).sum()
    };
    let own = |(name, kinds): (Text, Vec<usize>)| {
        let messages = sum(&kinds, &|d| stacks.in_family(d.stack, Family::Message));
        let entering = |d: Doing| !stacks.at_gate(d.stack) && stacks.entry(d.stack).is_some();
        let is_own = messages.share_of(sum(&kinds, &entering)) <= MAX_MESSAGES;
        let total = sum(&kinds, &|_| true);
        is_own.then_some(Caller { name, kinds, total })
    };
    let mut callers: Vec<Caller> = by_name.into_iter().filter_map(own).collect();
    callers.sort_by_key(|caller| Reverse(caller.total));
    callers
}

/// Who makes the calls. The kernel counts calls and bytes of a process, and samples say whose time
/// they take: counting each call by its function would cost more than the call.
fn by_caller(small: &Small) -> impl Iterator<Item = Fact> {
    let all: Nanos = small.callers.iter().map(|caller| caller.total).sum();
    small.callers.iter().take(LISTED).map(move |caller| {
        let about = (small.calls as f64 * caller.total.share_of(all)).round();
        let what =
            format!("{} calls by {}, estimated by its share of their time", small.way, caller.name);
        fact(what, about, "count")
    })
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording, counter_names};

    fn writer(calls: u64, bytes: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("writer", None, 0);
        scene.run(main, 100, Cause::CpuUser, "main;format");
        let write = "main;put;libc.so.6!write;k:__x64_sys_write;k:vfs_write";
        scene.run(main, 300, Cause::CpuKernel, write);
        scene.run(main, 50, Cause::CpuKernel, &write.replace("put", "log"));
        scene.run(main, 50, Cause::CpuUser, "main;log;libc.so.6!pwrite64");
        scene.counter(Some(main), counter_names::IO_WRITES, calls);
        scene.counter(Some(main), counter_names::IO_WRITE_BYTES, bytes);
        scene.done()
    }

    #[test]
    fn many_calls_of_few_bytes_are_told_with_both_numbers() {
        let found = first(&writer(1_000_000, 10_000_000), "small-io").expect("found");
        assert_eq!(found.cost.0, 400_000_000);
        assert!(
            found.title.starts_with(
                "`program!put` and 1 more make at least 1000000 write calls of 10 bytes each in \
                 writer"
            ),
            "{}",
            found.title
        );
        let by = |name: &str| {
            let told = found.evidence.iter().find(|e| e.what.contains(&format!("calls by {name}")));
            told.map(|e| e.value)
        };
        assert_eq!((by("program!put"), by("program!log")), (Some(750_000.0), Some(250_000.0)));
    }

    /// A server that answers on a socket and notes each answer with a small write to a file.
    fn server(answering_ms: u64, noting_ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let write = "libc.so.6!write;k:do_syscall_64;k:__x64_sys_write;k:vfs_write";
        let answer = format!("main;answer;{write};k:sock_write_iter;k:tcp_sendmsg");
        scene.run(main, answering_ms, Cause::CpuKernel, &answer);
        scene.run(main, 10, Cause::CpuKernel, "main;answer;libc.so.6!write;k:do_syscall_64");
        scene.run(main, noting_ms, Cause::CpuKernel, &format!("main;note;{write};k:ext4_write"));
        scene.counter(Some(main), counter_names::IO_WRITES, 10_000);
        scene.counter(Some(main), counter_names::IO_WRITE_BYTES, 500_000);
        scene.done()
    }

    #[test]
    fn an_answer_a_call_is_no_overhead_but_a_log_line_a_call_is() {
        assert!(first(&server(300, 0), "small-io").is_none());
        assert!(first(&server(300, 40), "small-io").is_none());
        let found = first(&server(90, 300), "small-io").expect("found");
        assert_eq!(found.cost.0, 300_000_000);
        assert!(
            found.title.contains("makes at least 7500 write calls of 50 bytes each"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "note");
    }

    #[test]
    fn what_a_runtime_does_around_each_call_is_the_calls_cost() {
        let mut scene = Scene::default();
        let main = scene.program("node", None, 0);
        let read = "JS:*readLine a.js;JS:*readSync node:fs:1;node!node::fs::Read(v8::A)";
        scene.run(main, 100, Cause::CpuUser, read);
        scene.run(main, 50, Cause::CpuKernel, &format!("{read};libc.so.6!read;k:vfs_read"));
        scene.run(main, 50, Cause::CpuUser, "JS:*readLine a.js");
        scene.counter(Some(main), counter_names::IO_READS, 100_000);
        scene.counter(Some(main), counter_names::IO_READ_BYTES, 100_000);
        let found = first(&scene.done(), "small-io").expect("found");
        assert_eq!(found.cost.0, 150_000_000);
        assert!(found.title.contains("100000 read calls of 1 bytes"), "{}", found.title);
    }

    #[test]
    fn buffered_writing_and_a_few_calls_are_healthy() {
        assert!(first(&writer(10_000, 10_000 * 65_536), "small-io").is_none());
        assert!(first(&writer(100, 1_000), "small-io").is_none());
    }
}
