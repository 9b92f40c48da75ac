//! `random-read`: small reads that miss the page cache, each with a wait for the disk.

use culprit_model::{Cause, Nanos, ProcessId, StackId, Time, counter_names};

use crate::evidence::stacks::with_any;
use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct RandomRead;

/// Waits from which they are a pattern.
const MIN_WAITS: usize = 50;

/// Bytes fetched by one wait from which the disk streams.
const MAX_BYTES: f64 = 64.0 * 1024.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "random-read",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    claim: "The program reads small pieces of files that are not in the page cache, and waits for \
            the disk each time.",
    signature: "Many waits on the critical path in reads that miss the page cache, each fetching \
                few bytes from storage. Random positions are inferred: for sequential reads the \
                kernel fetches 128 KiB or more ahead. Without pread or lseek calls the title says \
                `many small files` instead.",
    not_reported: &[
        "sequential reads: they fetch more than 64 KiB per wait",
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
            value: MAX_BYTES,
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

/// True for a read's wait for pages, and the kernel's own work on it.
fn is_miss(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    matches!(doing.cause, Cause::Disk | Cause::CpuKernel)
        && within(Family::ReadWrite)
        && within(Family::ReadMiss)
        && !within(Family::PageFault)
}

impl Rule for RandomRead {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.doing(|d| is_miss(evidence, d));
        tally::by(evidence, &segments, |s| Some(evidence.process(evidence.of_segment(s).thread)))
            .into_iter()
            .filter_map(|t| told(evidence, t.key, t.segments))
            .collect()
    }
}

/// How many waits for the disk a set of segments has that began up to a time.
fn count(evidence: &Evidence<'_>, segments: &[SegmentId], until: Time) -> usize {
    let waits = evidence.waits(segments);
    let waits = waits.iter().map(|w| evidence.interval(*w));
    waits.filter(|w| w.cause == Cause::Disk && w.start <= until).count()
}

/// True where reads name their places in the file: by calls that are given one, or by moving the
/// position first. Reads from the front to the end of a file do neither.
fn is_scattered(evidence: &Evidence<'_>, process: ProcessId, segments: &[SegmentId]) -> bool {
    let has = |wanted: fn(&str) -> bool| {
        with_any(evidence.recording, |frame| {
            let function = evidence.recording.frame(frame).function.as_str();
            evidence.chores.is_kernel(frame) && wanted(function)
        })
    };
    let placed = has(|name| name.contains("sys_pread") || name.contains("do_preadv"));
    let moves = has(|name| name.contains("sys_lseek"));
    let within = |all: &[bool], stack: Option<StackId>| stack.is_some_and(|s| all[s.index()]);
    let reads = segments
        .iter()
        .filter(|s| within(&placed, evidence.of_segment(evidence.chain.segment(**s)).stack));
    let reads: Vec<_> = reads.copied().collect();
    let of_process = evidence.recording.intervals.iter();
    let mut of_process = of_process.filter(|i| evidence.process(i.thread) == process);
    evidence.total(&reads).0 * 2 > evidence.total(segments).0
        || of_process.any(|i| within(&moves, i.stack))
}

fn told(evidence: &Evidence<'_>, process: ProcessId, segments: Vec<SegmentId>) -> Option<Claim> {
    let waits = count(evidence, &segments, Time(u64::MAX));
    // Counters are read now and then: only waits before the last reading belong to its bytes.
    let growth = |name| evidence.counters.growth(Some(process), name);
    let fetched = growth(counter_names::IO_DISK_READ_BYTES)?;
    let counted = count(evidence, &segments, fetched.until);
    let each = fetched.value as f64 / counted.max(1) as f64;
    if waits < MIN_WAITS || counted == 0 || each > MAX_BYTES {
        return None;
    }
    let waited = kernel_time::waited(evidence, &segments);
    let caller = kernel_time::caller(evidence, &segments);
    let scattered = is_scattered(evidence, process, &segments);
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
