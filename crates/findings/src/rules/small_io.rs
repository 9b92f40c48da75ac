//! `small-io`: many read or write calls that move few bytes each.

use culprit_model::{Evidence as Fact, ProcessId, counter_names};

use crate::evidence::stacks::with_any;
use crate::evidence::{Evidence, Family, SegmentId};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold, fact};
use crate::tally;

/// The rule.
pub(crate) struct SmallIo;

/// Bytes a call below which the call, not the copy, is the cost.
const MAX_BYTES: f64 = 512.0;

/// Calls from which their fixed cost is worth a finding.
const MIN_CALLS: u64 = 2_000;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "small-io",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    claim: "The program reads or writes a few bytes at a time, with many system calls.",
    signature: "CPU time in read and write calls on the measured thing's path, in a \
                process whose counters show many calls with few bytes each.",
    why: "A call costs 0.1 to 1 us to enter and leave the kernel, find the file and take its locks, \
          however few bytes it moves: reading 1 byte or 4 KiB of a cached file takes the same time.",
    fix: "Put a buffer around the file (BufReader, BufWriter, setvbuf, io.BufferedReader), read \
          blocks and split them in memory, collect lines and write them together, or use readv, \
          writev or io_uring.",
    check: "culprit record -o fixed.culprit -- CMD; calls and bytes a call in `culprit findings fixed.culprit`",
    thresholds: &[
        Threshold {
            what: "bytes a call",
            value: MAX_BYTES,
            unit: "bytes",
            reason: "Up to 4 KiB the bytes are free, so a buffer of 64 KiB saves nine tenths of the time \
                     of 512-byte calls. Doubling it would tell programs that handle small records.",
            source: "cached pread of 1 byte 0.49 us, 512 0.58, 4096 0.53, 65536 2.3; pwrite 0.81, 0.80, \
                     0.87, 2.3 us, Linux 6.18",
        },
        Threshold {
            what: "calls",
            value: MIN_CALLS as f64,
            unit: "count",
            reason: "2,000 calls take 1 ms or so; with fewer the share of time cannot matter but in \
                     the shortest runs.",
            source: "as above",
        },
    ],
};

const WRITE: &str = "write";

/// The C library's functions that write.
const WRITERS: [&str; 9] = [
    "write",
    "__write",
    "__libc_write",
    "__write_nocancel",
    "pwrite",
    "pwrite64",
    "__libc_pwrite64",
    "writev",
    "pwritev",
];

/// Parts of the names of the kernel's.
const KERNEL_WRITERS: [&str; 6] =
    ["sys_write", "sys_pwrite", "vfs_write", "vfs_iter_write", "do_writev", "do_pwritev"];

/// Callers that are listed.
const LISTED: usize = 3;

/// One direction: the counters of its calls and bytes.
const WAYS: [(&str, &str, &str); 2] = [
    ("read", counter_names::IO_READS, counter_names::IO_READ_BYTES),
    (WRITE, counter_names::IO_WRITES, counter_names::IO_WRITE_BYTES),
];

impl Rule for SmallIo {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let calling = evidence
            .doing(|d| d.cause.is_cpu() && evidence.stacks.in_family(d.stack, Family::ReadWrite));
        tally::by(evidence, &calling, |s| Some(evidence.process(evidence.of_segment(s).thread)))
            .into_iter()
            .filter_map(|t| told(evidence, t.key, t.segments))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, process: ProcessId, segments: Vec<SegmentId>) -> Option<Claim> {
    let small: Vec<_> = WAYS
        .into_iter()
        .filter_map(|(way, calls, bytes)| {
            let calls = evidence.counters.growth(Some(process), calls)?.value;
            let bytes = evidence.counters.growth(Some(process), bytes)?.value;
            let each = bytes as f64 / calls.max(1) as f64;
            (calls >= MIN_CALLS && each < MAX_BYTES).then_some((way, calls, each))
        })
        .collect();
    let (way, calls, each) = *small.iter().max_by_key(|(_, calls, _)| *calls)?;
    let title = format!(
        "{} makes at least {calls} {way} calls of {each:.0} bytes each",
        evidence.recording.process_name(process)
    );
    let total = evidence.total(&segments);
    let mut claim =
        Claim::new(&DOC, title, segments).time("CPU time in read and write calls", total);
    for (way, calls, each) in small {
        let callers = by_caller(evidence, &claim.segments, way, calls);
        claim = claim
            .fact(format!("{way} calls"), calls as f64, "count")
            .fact(format!("bytes a {way} call"), each, "bytes")
            .facts(callers);
    }
    Some(claim)
}

/// Who makes the calls. The kernel counts calls and bytes of a process, and samples say whose time
/// they take: counting each call by its function would cost more than the call.
fn by_caller(evidence: &Evidence<'_>, segments: &[SegmentId], way: &str, calls: u64) -> Vec<Fact> {
    let writes = with_any(evidence.recording, |frame| {
        let name = evidence.recording.frame(frame).function.as_str();
        WRITERS.contains(&name) || KERNEL_WRITERS.iter().any(|part| name.contains(part))
    });
    let of_way = |s: &SegmentId| {
        let stack = evidence.of_segment(evidence.chain.segment(*s)).stack;
        stack.is_some_and(|stack| writes[stack.index()]) == (way == WRITE)
    };
    let own: Vec<_> = segments.iter().copied().filter(of_way).collect();
    let all = evidence.total(&own);
    let callers = tally::by_name(evidence, &own, |i| evidence.focus(i)).into_iter();
    let counted = callers.take(LISTED).map(|caller| {
        let about = (calls as f64 * caller.total.share_of(all)).round();
        fact(format!("{way} calls by {}, by its share of their time", caller.key), about, "count")
    });
    counted.collect()
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
            found.title.contains("makes at least 1000000 write calls of 10 bytes each"),
            "{}",
            found.title
        );
        let by = |name: &str| {
            let told = found.evidence.iter().find(|e| e.what.contains(&format!("calls by {name}")));
            told.map(|e| e.value)
        };
        assert_eq!((by("program!put"), by("program!log")), (Some(750_000.0), Some(250_000.0)));
    }

    #[test]
    fn buffered_writing_and_a_few_calls_are_healthy() {
        assert!(first(&writer(10_000, 10_000 * 65_536), "small-io").is_none());
        assert!(first(&writer(100, 1_000), "small-io").is_none());
    }
}
