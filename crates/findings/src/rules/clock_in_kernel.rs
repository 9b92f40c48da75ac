//! `clock-in-kernel`: reading a clock enters the kernel, again and again.

use culprit_model::{Cause, FrameId, Nanos};

use crate::evidence::{Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct ClockInKernel;

/// Share of a program's CPU time on the path from which it is reported.
const MIN_OF_CPU: f64 = 0.05;

/// Share of the time in the kernel's clock reads from which they are of one kind.
const MOSTLY: f64 = 0.5;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "clock-in-kernel",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program reads a clock very often, and each reading enters the kernel.",
    signature: "Kernel time on the critical path in clock_gettime, gettimeofday or time. The vDSO \
                answers readings of the usual clocks in user code. Kernel time therefore means a \
                CPU-time clock, a clock source that user code cannot read, or a direct system \
                call.",
    not_reported: &[],
    why: "A reading takes 20 to 30 ns in the vDSO; through the kernel it takes 0.3 us, for \
          CPU-time clocks 0.5 us (Linux 6.18, virtual machine). A clock source behind an I/O port \
          or a device register (acpi_pm, hpet) adds that access. A CPU-time clock of a process \
          adds up all of its threads.",
    fix: &[
        "Read the clock once per batch or request, not once per item.",
        "Use CLOCK_MONOTONIC instead of CPU-time clocks (CLOCK_PROCESS_CPUTIME_ID, \
         CLOCK_THREAD_CPUTIME_ID, clock()).",
        "Call the C library's clock_gettime instead of the system call.",
        "Check /sys/devices/system/clocksource/clocksource0/current_clocksource: every reading \
         enters the kernel unless the file names tsc, kvm-clock, hyperv_clocksource_tsc_page or \
         arch_sys_counter.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; kernel time of the function in `culprit \
            callees FUNCTION fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the program's CPU time on the critical path spent reading clocks",
            value: MIN_OF_CPU,
            unit: "share",
            reason: "Timers and logs read clocks some thousand times a second, which takes under \
                     0.1 %. At a twentieth, the program reads a clock for every item of work.",
            source: "definition",
        },
        Threshold {
            what: "clock samples and waits in these calls",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "With fewer, the time in these calls is not known well enough.",
            source: "Poisson distribution",
        },
    ],
};

impl Rule for ClockInKernel {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let reading = evidence.doing(|d| {
            d.cause == Cause::CpuKernel && evidence.stacks.in_family(d.stack, Family::ClockRead)
        });
        if reading.is_empty() {
            return Vec::new();
        }
        let segments = kernel_time::with_entries(evidence, reading);
        kernel_time::by_busy_program(evidence, &segments, MIN_OF_CPU)
            .into_iter()
            .map(|(t, share)| told(evidence, &t.key.name, t.segments, t.total, share))
            .collect()
    }
}

fn told(
    evidence: &Evidence<'_>,
    name: &str,
    segments: Vec<SegmentId>,
    total: Nanos,
    share: f64,
) -> Claim {
    let stack = |s: &SegmentId| evidence.of_segment(evidence.chain.segment(*s)).stack;
    let part = |family| kernel_time::in_family(evidence, &segments, family);
    let (seen, cpu_time) = (part(Family::ClockRead), part(Family::CpuClock));
    let by_vdso = |s: &SegmentId| {
        evidence.stacks.in_family(stack(s), Family::ClockRead)
            && evidence.stacks.code(stack(s)).is_some_and(|f| is_vdso(evidence, f))
    };
    let by_vdso: Vec<_> = segments.iter().copied().filter(by_vdso).collect();
    let vdso = evidence.total(&by_vdso);
    let (clock, why) = if cpu_time.share_of(seen) >= MOSTLY {
        let why =
            "The program reads the CPU time of a thread or process, which only the kernel knows.";
        ("a CPU-time clock", why)
    } else if vdso.share_of(seen) >= MOSTLY {
        let why = "The vDSO had to call the kernel: user code cannot read this machine's clock \
                   source.";
        ("a clock source that user code cannot read", why)
    } else {
        ("a clock", "The program calls the kernel directly, not through the vDSO.")
    };
    let caller = kernel_time::caller(evidence, &segments);
    let title = format!("{name} spends {COST} reading {clock} through the kernel, in `{caller}`");
    let claim = Claim::new(&DOC, title, Vec::new())
        .at(Site::Entry)
        .sure(0.9)
        .saying(why.to_owned(), String::new())
        .time("time in these calls", total)
        .fact("share of the program's CPU time on the critical path", share, "share")
        .fact("share of the kernel time in CPU-time clocks", cpu_time.share_of(seen), "share")
        .fact("share of the kernel time entered through the vDSO", vdso.share_of(seen), "share")
        .facts(kernel_time::facts(evidence, &segments));
    Claim { segments, ..claim }
}

fn is_vdso(evidence: &Evidence<'_>, frame: FrameId) -> bool {
    let recording = evidence.recording;
    let module = recording.frame(frame).module;
    module.is_some_and(|module| recording.module(module).name.as_str() == "[vdso]")
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    const KERNEL: &str = "k:do_syscall_64;k:__x64_sys_clock_gettime";

    fn reading(user: &str, inside: &str, ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("tracer", None, 0);
        for _ in 0..40 {
            scene.run(main, ms, Cause::CpuKernel, &format!("{user};{KERNEL}{inside}"));
            scene.run(main, 6, Cause::CpuUser, "main;work");
        }
        scene.done()
    }

    #[test]
    fn the_kinds_of_clocks_are_told_apart() {
        let why = |user: &str, inside: &str| {
            let found = first(&reading(user, inside, 4), "clock-in-kernel").expect("found");
            assert_eq!(found.cost.0, 160_000_000);
            assert!(found.title.ends_with("in `program!stamp`"), "{}", found.title);
            found.why
        };
        let libc = "main;stamp;libc.so.6!clock_gettime";
        let vdso = "main;stamp;libc.so.6!clock_gettime;[vdso]!__vdso_clock_gettime";
        assert!(why(vdso, ";k:posix_cpu_clock_get").starts_with("The program reads the CPU time"));
        assert!(why(vdso, ";k:ktime_get_ts64;k:acpi_pm_read").starts_with("The vDSO had to call"));
        assert!(
            why(libc, ";k:ktime_get_ts64").starts_with("The program calls the kernel directly")
        );
    }

    #[test]
    fn clocks_read_now_and_then_and_in_user_code_are_healthy() {
        let libc = "main;stamp;libc.so.6!clock_gettime";
        assert!(first(&reading(libc, "", 0), "clock-in-kernel").is_none());
        let mut scene = Scene::default();
        let main = scene.program("tracer", None, 0);
        for _ in 0..40 {
            let vdso = "main;stamp;[vdso]!__vdso_clock_gettime";
            scene.run(main, 4, Cause::CpuUser, vdso);
        }
        assert!(first(&scene.done(), "clock-in-kernel").is_none());
    }
}
