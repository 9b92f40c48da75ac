//! `io-limit-throttling`: the cgroup's limit of block I/O holds reads or writes back.

use culprit_model::{Cause, Nanos, counter_names};

use crate::disk_reads::waits_for_pages;
use crate::evidence::{Doing, Evidence, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct IoLimitThrottling;

/// How far the rate may be from the limit, as a share of it.
const NEAR: f64 = 0.3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "io-limit-throttling",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &["memory-limit-reread"],
    claim: "The container's limit of block I/O is used up, so reads or writes wait although the disk could \
            go on.",
    signature: "Waits on the critical path for the disk, in a cgroup that limits bytes or requests a second. \
                What its counters say was moved, divided by the time of these waits, is the limit, within 30 %. \
                Or the limit is used up from the first of these waits to the last.",
    not_reported: &[
        "a disk that is slower than the limit",
        "writes that only the kernel's own threads send to the disk",
    ],
    why: "The kernel holds requests back once the cgroup has moved as much as it may in a second. A program \
          that waits for them cannot tell this from a slow disk.",
    fix: &[
        "Raise or remove the limit: `--device-read-bps`, `--device-write-iops` and their like, \
         `IOReadBandwidthMax=`, `io.max`.",
        "Read and write less: compress, keep what is used again in memory.",
        "If requests a second are limited, make each larger.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `io-limit-throttling` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "difference of the rate from the limit",
            value: NEAR,
            unit: "share",
            reason: "The kernel counts in slices of 100 ms, and what is saved up in one is used in the \
                     next. At half, bursts hide a limit; at double, disks of half its speed count.",
            source: "Linux block/blk-throttle.c: DFL_THROTL_SLICE",
        },
        Threshold {
            what: "clock samples and waits",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "Fewer waits are those of a start, which a limit does not hold back.",
            source: "definition",
        },
    ],
};

/// A limit of the cgroup, and what it counts.
struct Limit {
    what: &'static str,
    unit: &'static str,
    counted: &'static str,
    limit: &'static str,
    reads: bool,
}

const LIMITS: [Limit; 4] = [
    Limit {
        what: "bytes a second that may be read",
        unit: "bytes",
        counted: counter_names::CGROUP_READ_BYTES,
        limit: counter_names::READ_LIMIT_BYTES,
        reads: true,
    },
    Limit {
        what: "requests a second that may read",
        unit: "1/s",
        counted: counter_names::CGROUP_READS,
        limit: counter_names::READS_LIMIT,
        reads: true,
    },
    Limit {
        what: "bytes a second that may be written",
        unit: "bytes",
        counted: counter_names::CGROUP_WRITE_BYTES,
        limit: counter_names::WRITE_LIMIT_BYTES,
        reads: false,
    },
    Limit {
        what: "requests a second that may write",
        unit: "1/s",
        counted: counter_names::CGROUP_WRITES,
        limit: counter_names::WRITES_LIMIT,
        reads: false,
    },
];

impl Rule for IoLimitThrottling {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        LIMITS.iter().filter_map(|limit| claim(evidence, limit)).collect()
    }
}

/// True for a wait for the disk to read, or to write.
fn waits_for(evidence: &Evidence<'_>, doing: &Doing, reads: bool) -> bool {
    match doing.cause {
        Cause::Disk => waits_for_pages(evidence, doing) == reads,
        Cause::Fsync => !reads,
        _ => false,
    }
}

/// From the start of the first of some waits to the end of the last.
fn span(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Nanos {
    let waits = || segments.iter().map(|s| evidence.chain.segment(*s));
    let from = waits().map(|s| s.start).min().unwrap_or_default();
    let end = waits().map(|s| s.start + s.length).max().unwrap_or_default();
    end.since(from)
}

fn claim(evidence: &Evidence<'_>, limit: &Limit) -> Option<Claim> {
    let allowed = evidence.counters.last(None, limit.limit).filter(|allowed| *allowed > 0)? as f64;
    let moved = evidence.counters.growth(None, limit.counted)?.value as f64;
    let segments = evidence.doing(|doing| waits_for(evidence, doing, limit.reads));
    if kernel_time::looks(evidence, &segments) < kernel_time::MIN_LOOKS {
        return None;
    }
    let share = |time: Nanos| moved / (time.0 as f64 / 1e9).max(1e-9) / allowed;
    let waiting = share(evidence.total(&segments));
    let is_limit = (1.0 - NEAR..=1.0 + NEAR).contains(&waiting);
    if !is_limit && share(span(evidence, &segments)) < 1.0 - NEAR {
        return None;
    }
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "`{caller}` waits {COST} of {whole} ({PERCENT}) for the disk, as the limit of the cgroup allows: {}",
        match limit.unit {
            "bytes" => format!("{:.1} MiB/s", allowed / f64::from(1 << 20)),
            _ => format!("{allowed:.0} requests/s"),
        }
    );
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .sure(0.9)
        .fact(limit.what, allowed, limit.unit)
        .fact("moved by the cgroup", moved, if limit.unit == "bytes" { "bytes" } else { "count" })
        .fact("rate during the waits, of the limit", waiting, "share")
        .facts(kernel_time::facts(evidence, &segments));
    Some(Claim { segments, ..claim })
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Recording, counter_names};

    use crate::scene::{End, Scene, first};

    const READ: &str =
        "main;scan;libc.so.6!read;k:vfs_read;k:filemap_read;k:filemap_get_pages;k:io_schedule";
    const FLUSH: &str = "main;save;libc.so.6!fsync;k:do_fsync;k:folio_wait_writeback";

    /// Moves 1 MiB in each of 50 waits of 90 ms, and works for 10 ms after each.
    fn moving(stack: &str, cause: Cause, counted: &str, limit: (&str, u64)) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("scan", None, 0);
        for _ in 0..50 {
            scene.wait(main, 90, cause, stack, End::Disk);
            scene.run(main, 10, Cause::CpuUser, "main;scan");
        }
        scene.counter(None, counted, 50 << 20);
        scene.counter(None, limit.0, limit.1);
        scene.counter(Some(main), counter_names::IO_DISK_READ_BYTES, 50 << 20);
        scene.done()
    }

    #[test]
    fn reads_and_flushes_at_the_limit_are_the_limits() {
        let limit = (counter_names::READ_LIMIT_BYTES, 10 << 20);
        let reads = moving(READ, Cause::Disk, counter_names::CGROUP_READ_BYTES, limit);
        let found = first(&reads, "io-limit-throttling").expect("found");
        assert_eq!(found.cost.0, 4_500_000_000);
        assert!(
            found.title.contains("the limit of the cgroup allows: 10.0 MiB/s"),
            "{}",
            found.title
        );
        assert!(first(&reads, "sequential-read").is_none(), "it yields");
        let limit = (counter_names::WRITE_LIMIT_BYTES, 10 << 20);
        let writes = moving(FLUSH, Cause::Fsync, counter_names::CGROUP_WRITE_BYTES, limit);
        assert!(first(&writes, "io-limit-throttling").is_some());
    }

    #[test]
    fn a_disk_that_is_slower_than_the_limit_is_the_reason_itself() {
        let limit = (counter_names::READ_LIMIT_BYTES, 100 << 20);
        let reads = moving(READ, Cause::Disk, counter_names::CGROUP_READ_BYTES, limit);
        assert!(first(&reads, "io-limit-throttling").is_none());
        assert!(first(&reads, "sequential-read").is_some());
    }
}
