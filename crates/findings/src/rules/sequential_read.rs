//! `sequential-read`: the program waits for a disk that streams to it.

use culprit_model::Nanos;

use crate::disk_reads::{DiskReads, SMALL};
use crate::evidence::Evidence;
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct SequentialRead;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "sequential-read",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &["memory-limit-reclaim", "memory-limit-reread", "io-limit-throttling"],
    claim: "The program reads files that are not in the page cache in order, and waits for the disk.",
    signature: "Waits on the critical path in reads that miss the page cache, each fetching more than \
                64 KiB from storage. The finding gives the rate at which the data came.",
    not_reported: &[
        "small reads at scattered positions (`random-read`)",
        "page faults on mapped files (`major-page-faults`)",
        "files that a memory limit had dropped (`memory-limit-reread`)",
        "processes without a counter of bytes read from storage",
    ],
    why: "The kernel reads ahead, but a program that computes between its reads, or reads faster than \
          the disk, waits. A second run finds the data in the page cache and is faster.",
    fix: &[
        "Read less: store the data compressed (zstd, lz4) or by columns, or read only the part that is \
         needed.",
        "Read ahead in another thread, or announce it: `posix_fadvise(POSIX_FADV_SEQUENTIAL)`, \
         `readahead`. A larger `read_ahead_kb` of the device helps all programs.",
        "Keep the data in memory: a machine or container with more of it, or `vmtouch` before the run.",
        "Use a faster disk, if the rate shown is the disk's limit.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `sequential-read` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "CPU samples and waits in reads that miss the page cache",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "Fewer waits are the first reads of files that are then in memory.",
            source: "definition",
        },
        Threshold {
            what: "bytes fetched from storage per wait, above which reads are sequential",
            value: SMALL,
            unit: "bytes",
            reason: "The same number as for `random-read`, which says why.",
            source: "Linux mm/readahead.c, read_ahead_kb 128",
        },
    ],
};

impl Rule for SequentialRead {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        DiskReads::all(evidence).into_iter().filter_map(|reads| claim(evidence, reads)).collect()
    }
}

fn claim(evidence: &Evidence<'_>, reads: DiskReads) -> Option<Claim> {
    let each = reads.each.filter(|each| *each > SMALL)?;
    if kernel_time::looks(evidence, &reads.segments) < kernel_time::MIN_LOOKS {
        return None;
    }
    let DiskReads { process, segments, waits, bytes, .. } = reads;
    let bytes = bytes.unwrap_or_default() as f64;
    let waited = kernel_time::waited(evidence, &segments);
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "`{caller}` in {} reads {:.0} MiB from disk and waits for them {COST} of {whole} ({PERCENT})",
        evidence.recording.process_name(process),
        bytes / (1024.0 * 1024.0),
    );
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .sure(0.85)
        .fact("bytes read from storage", bytes, "bytes")
        .fact("bytes fetched from storage per wait", each, "bytes")
        .fact("waits for the disk in reads", waits as f64, "count")
        .time("mean time of one wait", Nanos(waited.0 / (waits as u64).max(1)))
        .facts(kernel_time::facts(evidence, &segments));
    Some(Claim { segments, ..claim })
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, MS, Scene, first};
    use culprit_model::{Cause, Recording, counter_names};

    fn loader(call: &str, bytes_each: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("loader", None, 0);
        let wait = format!(
            "main;load;k:do_syscall_64;k:{call};k:filemap_read;k:filemap_get_pages;k:io_schedule"
        );
        for _ in 0..100 {
            scene.wait(main, 3, Cause::Disk, &wait, End::Disk);
            scene.run(main, 1, Cause::CpuUser, "main;parse");
        }
        scene.counter(Some(main), counter_names::IO_DISK_READ_BYTES, 100 * bytes_each);
        scene.done()
    }

    #[test]
    fn a_cold_file_read_in_order_costs_its_waits() {
        let found = first(&loader("ksys_read", 1 << 20), "sequential-read").expect("found");
        assert_eq!(found.cost.0, 300 * MS);
        assert!(
            found.title.contains("`program!load` in loader (100) reads 100 MiB from disk"),
            "{}",
            found.title
        );
        assert!(first(&loader("ksys_read", 1 << 20), "random-read").is_none());
    }

    #[test]
    fn small_pieces_and_writes_are_not() {
        assert!(first(&loader("ksys_read", 4096), "sequential-read").is_none());
        for bytes in [4096, 1 << 20] {
            let writes = loader("ksys_write", bytes);
            assert!(first(&writes, "sequential-read").is_none());
            assert!(first(&writes, "random-read").is_none());
        }
    }
}
