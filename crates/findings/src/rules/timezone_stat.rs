//! `timezone-stat`: the C library checks the time zone file for every conversion of a time.

use culprit_model::{Cause, Nanos};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct TimezoneStat;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "timezone-stat",
    group: Group::Storage,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The C library checks the time zone file each time that it converts to or from local \
            time.",
    signature: "Kernel time in stat and open on the critical path, below the C library's functions \
                for local time (tzset, mktime, localtime, strftime).",
    not_reported: &[],
    why: "Without the variable TZ, glibc checks in each mktime, strftime, localtime and tzset \
          whether /etc/localtime has changed. That is a system call of about 1 us for a conversion \
          that takes 0.1 us.",
    fix: &[
        "Set TZ, for example `TZ=:/etc/localtime` or `TZ=Europe/Berlin`: glibc then checks \
         nothing.",
        "Call tzset once, then localtime_r.",
        "Use timegm with an offset that you keep, or a time zone library.",
    ],
    check: "culprit record -o fixed.culprit -- env TZ=:/etc/localtime CMD; the finding must be \
            gone",
    thresholds: &[Threshold {
        what: "clock samples and waits",
        value: kernel_time::MIN_LOOKS as f64,
        unit: "count",
        reason: "Ten give the time to within a third. A program that converts only a few times is \
                 not reported.",
        source: "mktime with TZ unset 1.6 us, with TZ set 0.07 us, glibc 2.36, Linux 6.18",
    }],
};

/// True for a system call that the check of the time zone file makes.
fn is_zone_file(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let within = |family| evidence.stacks.in_family(doing.stack, family);
    let calls = doing.cause == Cause::CpuKernel
        && ![Family::Boundary, Family::PageFault, Family::Mutex].into_iter().any(within);
    kernel_time::is_kernel_work(doing.cause)
        && within(Family::TimeZone)
        && (calls || within(Family::Path))
}

impl Rule for TimezoneStat {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let segments = evidence.doing(|d| is_zone_file(evidence, d));
        kernel_time::by_program(evidence, &segments)
            .into_iter()
            .map(|t| told(evidence, &t.key.name, t.segments, t.total))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, total: Nanos) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let title = format!(
        "time conversions, mainly in `{caller}` of {name}, spend {COST} of {} on checking the time \
         zone file",
        evidence.chain.whole
    );
    let facts = kernel_time::facts(evidence, &segments);
    Claim::new(&DOC, title, segments)
        .at(Site::Entry)
        .time("time in system calls for the time zone file", total)
        .facts(facts)
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn stamps(zone: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("logger", None, 0);
        let enter = format!("main;stamp;libc.so.6!mktime;{zone}libc.so.6!fstatat;k:do_syscall_64");
        for _ in 0..50 {
            let walk = format!("{enter};k:__do_sys_newfstatat;k:vfs_statx;k:filename_lookup");
            scene.run(main, 6, Cause::CpuKernel, &walk);
            scene.run(main, 1, Cause::CpuKernel, &enter);
            scene.run(main, 3, Cause::CpuUser, "main;stamp;libc.so.6!mktime");
            let other = "main;load;libc.so.6!open;k:do_syscall_64;k:do_sys_openat2";
            scene.run(main, 1, Cause::CpuKernel, other);
        }
        scene.done()
    }

    #[test]
    fn the_zones_file_is_told_apart_from_other_look_ups() {
        let recording = stamps("libc.so.6!tzset_internal;libc.so.6!__tzfile_read;");
        let found = first(&recording, "timezone-stat").expect("found");
        assert_eq!(found.cost.0, 350_000_000);
        assert_eq!(&*found.at[0].function, "stamp");
        let told = told(&recording);
        assert_eq!(told[0], "timezone-stat 350");
        assert!(told.contains(&"path-lookup-storm 50".to_owned()), "{told:?}");
    }

    #[test]
    fn other_look_ups_are_not_the_time_zones() {
        let mut scene = Scene::default();
        let main = scene.program("logger", None, 0);
        for _ in 0..50 {
            let walk = "main;stamp;libc.so.6!stat;k:do_syscall_64;k:vfs_statx;k:filename_lookup";
            scene.run(main, 6, Cause::CpuKernel, walk);
        }
        assert!(first(&scene.done(), "timezone-stat").is_none());
    }
}
