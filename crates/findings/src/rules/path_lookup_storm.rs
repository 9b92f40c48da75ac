//! `path-lookup-storm`: looking up files by their paths takes much of the time.

use culprit_model::{Cause, Nanos};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct PathLookupStorm;

/// Time from which it is reported: a start takes less.
const MIN_TIME: Nanos = Nanos(30_000_000);

/// Share of the wall time from which the finding is listed.
const MIN_STORM: f64 = 0.03;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "path-lookup-storm",
    group: Group::Storage,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "The program looks up files by their paths again and again.",
    signature: "CPU time and waits on the critical path inside the kernel's open, stat, access and \
                readlink. The work of libuv, Node.js, CPython, Java and other libraries around \
                these calls counts too. The finding names the function that calls; the number of \
                calls and their failures are not recorded.",
    not_reported: &[
        "path lookups of an exec (the start of a program)",
        "calls that create or copy a file (`metadata-storm`, `overlay-copy-up`)",
        "an open of a FIFO that waits for the other end (`pipe-backpressure`)",
    ],
    why: "Each call walks the path folder by folder: 0.5 to 2 us if all folders are cached. \
          Folders that are not cached, layered, network and shared file systems, and security \
          modules make it slower. A search along a list of folders pays this for each folder that \
          does not have the file.",
    fix: &[
        "Look each path up once and keep the answer, including that a file is missing.",
        "List a folder once instead of asking for each name.",
        "Put the folder that has the files first in the search path.",
        "Open files relative to a folder that is open already: `openat`.",
        "Bundle many small files into one.",
        "Keep files open that are opened again and again.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `path-lookup-storm` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "clock samples and waits",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "Ten give the time to within a third. Every program opens its libraries and \
                     files at its start, which one or two samples show.",
            source: "Poisson distribution",
        },
        Threshold {
            what: "time in path lookups",
            value: MIN_TIME.0 as f64,
            unit: "ns",
            reason: "An interpreter that starts and loads its library spends 2 to 4 ms on lookups; \
                     folders that are not cached make it several times that. 30 ms are some 20,000 \
                     calls.",
            source: "open of a file that does not exist, six folders deep: 1.3 us, Linux 6.18, \
                     ext4",
        },
        Threshold {
            what: "share of the wall time from which it is listed",
            value: MIN_STORM,
            unit: "share",
            reason: "The start of an interpreter spends 2 % of its CPU time on looking up modules. \
                     At half, scripts that only start are reported; at double, a storm in one \
                     phase of a program is missed.",
            source: "start of CPython 3.11 with asyncio and sqlite3: 3 of 150 ms, Linux 6.18, ext4",
        },
    ],
};

/// True for the kernel's work from a path to a file, without the creation or copy of a file, and
/// for the work of a library or runtime around the call.
fn is_lookup(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    if doing.cause == Cause::CpuUser {
        return within(Family::PathCall);
    }
    kernel_time::is_kernel_work(doing.cause)
        && doing.cause != Cause::Fsync
        && within(Family::Path)
        && !within(Family::Exec)
        && !within(Family::CopyUp)
        && !within(Family::Metadata)
}

impl Rule for PathLookupStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let inside = evidence.doing(|d| is_lookup(evidence, d));
        if inside.is_empty() {
            return Vec::new();
        }
        let segments = kernel_time::with_entries(evidence, inside);
        kernel_time::by_program(evidence, &segments)
            .into_iter()
            .filter(|t| t.total >= MIN_TIME)
            .map(|t| told(evidence, &t.key.name, t.segments, t.total))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, total: Nanos) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let whole = evidence.chain.whole;
    let title = format!(
        "{name}: looking up files by path takes {COST} of {whole} ({PERCENT}), mostly from \
         `{caller}`"
    );
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .sure(0.9)
        .time("time in path lookups", total)
        .time("of this, blocked", kernel_time::waited(evidence, &segments))
        .facts(kernel_time::facts(evidence, &segments));
    Claim { segments, listed_from: MIN_STORM, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    const OPEN: &str =
        "main;load;find;libc.so.6!open;k:entry_SYSCALL_64_after_hwframe;k:do_syscall_64";

    fn search(rounds: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("loader", None, 0);
        let walk = format!("{OPEN};k:__x64_sys_openat;k:do_sys_openat2;k:link_path_walk");
        for _ in 0..rounds {
            scene.run(main, 4, Cause::CpuKernel, &walk);
            scene.run(main, 1, Cause::CpuKernel, OPEN);
            scene.wait(main, 2, Cause::Disk, &format!("{walk};k:ext4_find_entry"), End::Disk);
            scene.run(main, 1, Cause::CpuUser, "main;parse");
        }
        scene.done()
    }

    #[test]
    fn looking_along_a_search_path_is_told_with_its_caller_and_counted_once() {
        let found = first(&search(50), "path-lookup-storm").expect("found");
        assert_eq!(found.cost.0, 350_000_000);
        let title = "takes 350 ms of 400 ms (87 %), mostly from `program!find`";
        assert!(found.title.ends_with(title), "{}", found.title);
        assert_eq!(&*found.at[0].function, "find");
        assert!(found.evidence.iter().any(|e| e.what.contains("__x64_sys_openat")));
        assert_eq!(told(&search(50)), ["path-lookup-storm 350"]);
    }

    #[test]
    fn what_a_runtime_does_around_the_call_belongs_to_it() {
        let mut scene = Scene::default();
        let main = scene.program("node", None, 0);
        let stat = "main;resolve;node!node::fs::InternalModuleStat(v8::Arg const&);node!uv_fs_stat";
        for _ in 0..50 {
            let kernel = format!("{stat};libc.so.6!statx;k:do_syscall_64;k:vfs_statx");
            scene.run(main, 2, Cause::CpuKernel, &kernel);
            scene.run(main, 1, Cause::CpuUser, stat);
            scene.run(main, 1, Cause::CpuUser, "main;parse");
        }
        let found = first(&scene.done(), "path-lookup-storm").expect("found");
        assert_eq!(found.cost.0, 150_000_000);
    }

    #[test]
    fn a_few_opens_and_opens_that_wait_for_a_writer_are_healthy() {
        assert!(first(&search(3), "path-lookup-storm").is_none());
        let mut scene = Scene::default();
        let main = scene.program("reader", None, 0);
        let fifo = format!("{OPEN};k:do_sys_openat2;k:path_openat;k:fifo_open;k:wait_for_partner");
        for _ in 0..50 {
            scene.wait(main, 9, Cause::Pipe, &fifo, End::Unknown);
            scene.run(main, 1, Cause::CpuUser, "main;parse");
        }
        assert!(first(&scene.done(), "path-lookup-storm").is_none());
    }

    #[test]
    fn loading_a_program_is_not_a_look_up() {
        let mut scene = Scene::default();
        let main = scene.program("shell", None, 0);
        for _ in 0..50 {
            let exec = "main;libc.so.6!execve;k:do_syscall_64;k:do_execveat_common;k:path_openat";
            scene.run(main, 9, Cause::CpuKernel, exec);
        }
        assert!(first(&scene.done(), "path-lookup-storm").is_none());
    }
}
