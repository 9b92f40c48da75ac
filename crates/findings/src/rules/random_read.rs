//! `random-read`: small reads that miss the page cache, each with a wait for the disk.

use culprit_model::Nanos;

use crate::disk_reads::{DiskReads, SMALL};
use crate::evidence::Evidence;
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct RandomRead;

/// Waits from which they are a pattern.
const MIN_WAITS: usize = 50;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "random-read",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &["memory-limit-reclaim", "memory-limit-reread", "io-limit-throttling"],
    claim: "The program reads small pieces of files that are not in the page cache, and waits for \
            the disk each time.",
    signature: "Many waits on the critical path in reads that miss the page cache, each fetching \
                few bytes from storage. Random positions are inferred: for sequential reads the \
                kernel fetches 128 KiB or more ahead. Without pread or lseek calls the title says \
                `many small files` instead.",
    not_reported: &[
        "sequential reads, which fetch more than 64 KiB per wait (`sequential-read`)",
        "waits in writes",
        "page faults on mapped files: see `major-page-faults`",
        "processes without a counter of bytes read from storage",
    ],
    why: "Each wait costs the disk's latency: 0.05 to 0.2 ms on flash, 5 to 10 ms on a hard disk. \
          It fetches only a few kilobytes. Only one request is in flight, although the disk can \
          serve many at once.",
    fix: &[
        "Read the file in order, or sort the positions before reading.",
        "Announce the next reads to the kernel: `posix_fadvise(POSIX_FADV_WILLNEED)`, `readahead`.",
        "Keep many requests in flight: several threads, or io_uring.",
        "Store data that is read together close together: clustered layout, larger pages.",
        "Make the data fit into memory.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; blocked.disk in `culprit findings \
            fixed.culprit` must be smaller than before, or the bytes per wait must grow",
    thresholds: &[
        Threshold {
            what: "waits for the disk in reads",
            value: MIN_WAITS as f64,
            unit: "count",
            reason: "A cold start reads some dozens of files, with one or two waits each.",
            source: "definition",
        },
        Threshold {
            what: "bytes fetched from storage per wait",
            value: SMALL,
            unit: "bytes",
            reason: "Read-ahead grows from 16 to 128 KiB within four sequential reads. A \
                     sequential stream therefore fetches more than 64 KiB per wait. At half, \
                     records of 32 KiB would be missed; at double, the first reads of files would \
                     be reported.",
            source: "Linux mm/readahead.c, read_ahead_kb 128",
        },
    ],
};

/// What is different where small files are read whole.
const WHY_FILES: &str = "The program reads each file from its start, but the files are too small \
                         for read-ahead. A second run finds them in the page cache.";
const FIX_FILES: &str = "Read many small files with several threads, or pack them into one archive \
                         or database.";

impl Rule for RandomRead {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        DiskReads::all(evidence).into_iter().filter_map(|reads| told(evidence, reads)).collect()
    }
}

fn told(evidence: &Evidence<'_>, reads: DiskReads) -> Option<Claim> {
    let each = reads.each.filter(|each| *each <= SMALL && reads.waits >= MIN_WAITS)?;
    let scattered = reads.are_scattered(evidence);
    let DiskReads { process, segments, waits, .. } = reads;
    let waited = kernel_time::waited(evidence, &segments);
    let caller = kernel_time::caller(evidence, &segments);
    let what = if scattered { "small disk reads" } else { "disk reads of many small files" };
    let title = format!(
        "{} spends {COST} of {} on {what}, mainly in `{caller}`: {waits} waits, {:.0} KiB each",
        evidence.recording.process_name(process),
        evidence.chain.whole,
        each / 1024.0
    );
    let (why, fix) = if scattered { ("", "") } else { (WHY_FILES, FIX_FILES) };
    let mean = Nanos(waited.0 / waits as u64);
    let claim = Claim::new(&DOC, title, Vec::new())
        .at(Site::Entry)
        .saying(why.to_owned(), fix.to_owned())
        .sure(0.85)
        .fact("waits for the disk in reads", waits as f64, "count")
        .fact("bytes fetched from storage per wait", each, "bytes")
        .time("mean time of one wait", mean)
        .facts(kernel_time::facts(evidence, &segments));
    Some(Claim { segments, ..claim })
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, MS, Scene, first, told};
    use culprit_model::{Cause, Recording, counter_names};

    fn reader(bytes_each: u64, counted: bool) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("reader", None, 0);
        let read = "main;fetch;libc.so.6!pread;k:do_syscall_64;k:__x64_sys_pread64;k:vfs_read";
        let wait = format!("{read};k:filemap_read;k:filemap_get_pages;k:io_schedule");
        for _ in 0..200 {
            scene.wait(main, 2, Cause::Disk, &wait, End::Disk);
            scene.run(main, 1, Cause::CpuUser, "main;fetch");
        }
        if counted {
            scene.counter(Some(main), counter_names::IO_DISK_READ_BYTES, 200 * bytes_each);
        }
        scene.done()
    }

    #[test]
    fn small_pieces_are_told_with_their_size() {
        let found = first(&reader(4096, true), "random-read").expect("found");
        assert_eq!(found.cost.0, 400 * MS);
        assert!(
            found.title.contains("400 ms of 600 ms on small disk reads, mainly in `program!fetch`"),
            "{}",
            found.title
        );
        assert!(found.title.ends_with(": 200 waits, 4 KiB each"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "fetch");
        assert_eq!(told(&reader(4096, true))[0], "random-read 400");
    }

    #[test]
    fn small_files_that_are_read_from_the_front_are_said_to_be_that() {
        let mut recording = reader(8192, true);
        for frame in &mut recording.frames {
            frame.function = frame.function.replace("pread64", "read").into();
        }
        let found = first(&recording, "random-read").expect("found");
        assert!(found.title.contains("ms on disk reads of many small files"), "{}", found.title);
        assert!(found.title.ends_with(": 200 waits, 8 KiB each"), "{}", found.title);
        assert!(found.fix[0].starts_with("Read many small files"), "{:?}", found.fix);
        assert!(!first(&reader(8192, true), "random-read").expect("found").title.contains("files"));
    }

    #[test]
    fn streams_and_what_nobody_counted_are_not() {
        assert!(first(&reader(128 << 10, true), "random-read").is_none());
        assert!(first(&reader(4096, false), "random-read").is_none());
    }
}
