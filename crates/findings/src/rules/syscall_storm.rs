//! `syscall-storm`: a function makes many system calls that each do little work.

use std::collections::BTreeMap;

use culprit_model::{Basis, Cause, FrameId, Nanos, Text};

use crate::evidence::{Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct SyscallStorm;

/// Share of its calls' kernel time that a function spends on entering and leaving.
const MIN_ENTERING: f64 = 1.0 / 3.0;

/// Share of the path's CPU time that the calls take.
const MIN_OF_CPU: f64 = 0.10;

/// The same for calls that only ask, whatever their way costs.
const MIN_ASKING: f64 = 0.25;

/// Share of the calls' work that makes them calls which only ask.
const MOST: f64 = 0.5;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "syscall-storm",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &["poll-scan"],
    claim: "One function makes many system calls that do next to nothing each.",
    signature: "On the critical path, much of the kernel time of one library function's system \
                calls is at the kernel's entry and exit. Or calls that only query state take a \
                good part of all CPU time. The calls are not counted: that they are short is \
                inferred.",
    not_reported: &[],
    why: "Entering and leaving the kernel costs 0.1 to 0.2 us, more with a seccomp filter or with \
          mitigations of CPU flaws. If the call itself does as little as that, entry and exit are \
          the cost.",
    fix: &[
        "Keep what does not change: process and user ids, clock sources, file positions.",
        "Make one call for many items: readv, sendmmsg, io_uring.",
        "Use pread at an offset instead of lseek and read.",
        "Wait for events instead of asking for them again and again.",
        "Read the clock without the kernel: vDSO with the clock source `tsc`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; kernel time of the function in `culprit \
            callees fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the calls' kernel time spent on entering and leaving",
            value: MIN_ENTERING,
            unit: "share",
            reason: "At a third a call works for at most twice as long as it enters: 0.3 us. Cheap \
                     calls are at two thirds, stat and open at a tenth. At half, reads of cached \
                     files would be reported.",
            source: "getppid 70 %, lseek 68 %, stat 6 %, open 8 %, Linux 6.18, virtual machine",
        },
        Threshold {
            what: "share of the critical path's CPU time in these calls",
            value: MIN_OF_CPU,
            unit: "share",
            reason: "Every program makes some cheap calls. A tenth of all CPU time is more than \
                     that.",
            source: "definition",
        },
        Threshold {
            what: "share of the critical path's CPU time in calls that only query state (poll \
                   without waiting, getrusage, getpid, ...)",
            value: MIN_ASKING,
            unit: "share",
            reason: "Such a call moves no data, however long its way through the kernel is. An \
                     event loop under load spends a tenth of its time on asking what is ready; a \
                     quarter is too much.",
            source: "getrusage 0.8 us, poll of one descriptor 0.3 us, Linux 6.18, virtual machine",
        },
        Threshold {
            what: "clock samples in these calls",
            value: kernel_time::MIN_LOOKS as f64,
            unit: "count",
            reason: "With fewer, the share of entry and exit is not known.",
            source: "binomial distribution",
        },
    ],
};

/// What one library function's system calls cost.
#[derive(Default)]
struct Calls {
    /// Segments in the kernel, and at the kernel's door in the library function itself.
    kernel: Vec<SegmentId>,
    user: Vec<SegmentId>,
    entering: Nanos,
    working: Nanos,
    /// In calls that only ask.
    asking: Nanos,
    own: Nanos,
    samples: usize,
}

impl Calls {
    fn in_kernel(&self) -> Nanos {
        self.entering + self.working
    }

    fn add(&mut self, mut other: Self) {
        self.kernel.append(&mut other.kernel);
        self.user.append(&mut other.user);
        self.entering += other.entering;
        self.working += other.working;
        self.asking += other.asking;
        self.own += other.own;
        self.samples += other.samples;
    }

    /// The share of entering and leaving.
    fn share(&self) -> f64 {
        self.entering.share_of(self.in_kernel())
    }

    /// True for calls that do next to nothing, by the share of the way or by what they are for.
    fn are_cheap(&self, total: Nanos) -> bool {
        self.share() >= MIN_ENTERING
            || (self.asking.share_of(self.working) >= MOST
                && self.in_kernel().share_of(total) >= MIN_ASKING)
    }

    /// Adds the library's part where that is a wrapper's, not a computation's; returns the time.
    fn whole(&mut self) -> Nanos {
        if self.own <= self.in_kernel() {
            self.kernel.append(&mut self.user);
            return self.in_kernel() + self.own;
        }
        self.in_kernel()
    }
}

impl Rule for SyscallStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let cpu = evidence.chore_time.cpu;
        calls(evidence)
            .into_iter()
            .filter(|(_, c)| c.samples >= kernel_time::MIN_LOOKS && c.are_cheap(cpu))
            .filter_map(|(name, mut calls)| {
                let total = calls.whole();
                (total.share_of(cpu) >= MIN_OF_CPU).then(|| told(evidence, &name, calls, total))
            })
            .collect()
    }
}

/// The system calls on the chain by the innermost user function.
fn calls(evidence: &Evidence<'_>) -> BTreeMap<Text, Calls> {
    let stacks = &evidence.stacks;
    // One entry a frame, made when it is first met.
    let mut frames: Vec<Option<Box<Calls>>> = Vec::new();
    frames.resize_with(evidence.recording.frames.len(), || None);
    for (id, segment) in evidence.chain.iter() {
        let interval = evidence.of_segment(segment);
        let within = |family| stacks.in_family(interval.stack, family);
        let counts = match interval.cause {
            Cause::CpuKernel => !within(Family::Boundary),
            Cause::CpuUser => within(Family::Wrapper),
            _ => false,
        };
        let Some(function) = stacks.code(interval.stack).filter(|_| counts) else { continue };
        let calls = frames[function.index()].get_or_insert_default();
        if interval.cause == Cause::CpuUser {
            calls.own += segment.length;
            calls.user.push(id);
            continue;
        }
        calls.samples += usize::from(interval.basis == Basis::Sample);
        calls.kernel.push(id);
        if stacks.at_gate(interval.stack) {
            calls.entering += segment.length;
        } else {
            calls.working += segment.length;
            if within(Family::Ask) {
                calls.asking += segment.length;
            }
        }
    }
    // Addresses of one function are several frames where lines are known.
    let mut all: BTreeMap<Text, Calls> = BTreeMap::new();
    for (at, calls) in frames.into_iter().enumerate() {
        let Some(calls) = calls else { continue };
        all.entry(evidence.name(Some(FrameId::from_index(at)))).or_default().add(*calls);
    }
    all
}

fn told(evidence: &Evidence<'_>, name: &str, calls: Calls, total: Nanos) -> Claim {
    let share = calls.share();
    let caller = kernel_time::caller(evidence, &calls.kernel);
    let title = format!(
        "`{caller}` makes many cheap system calls through `{name}`: {COST} of {}, {:.0} % of their \
         kernel time only to enter and leave the kernel",
        evidence.chain.whole,
        share * 100.0
    );
    let claim = Claim::new(&DOC, title, Vec::new())
        .at(Site::Entry)
        .sure(0.85)
        .time("CPU time of these system calls", total)
        .fact("share of their kernel time at entry and exit", share, "share")
        .fact("clock samples in the kernel", calls.samples as f64, "count")
        .facts(kernel_time::facts(evidence, &calls.kernel));
    Claim { segments: calls.kernel, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn asking(entering_ms: u64, working_ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let enter = "main;note_owner;libc.so.6!getppid;k:entry_SYSCALL_64;k:do_syscall_64";
        for _ in 0..50 {
            scene.run(main, entering_ms, Cause::CpuKernel, enter);
            let call = format!("{enter};k:__x64_sys_getppid");
            scene.run(main, working_ms, Cause::CpuKernel, &call);
            scene.run(main, 1, Cause::CpuUser, "main;note_owner;libc.so.6!getppid");
            scene.run(main, 2, Cause::CpuUser, "main;compute");
        }
        scene.done()
    }

    #[test]
    fn cheap_calls_are_told_with_the_share_of_the_way() {
        let found = first(&asking(6, 2), "syscall-storm").expect("found");
        assert_eq!(found.cost.0, 450_000_000);
        assert!(
            found.title.starts_with(
                "`program!note_owner` makes many cheap system calls through `libc.so.6!getppid`"
            ),
            "{}",
            found.title
        );
        assert!(found.title.contains("75 %"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "note_owner");
        assert_eq!(told(&asking(6, 2))[0], "syscall-storm 450");
    }

    #[test]
    fn calls_that_work_are_not() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for (kernel, ms) in [("k:entry_SYSCALL_64", 1), ("k:__x64_sys_newstat", 7)].repeat(50) {
            scene.run(main, ms, Cause::CpuKernel, &format!("main;look;libc.so.6!stat;{kernel}"));
        }
        assert!(first(&scene.done(), "syscall-storm").is_none());
    }

    #[test]
    fn calls_that_only_ask_are_told_whatever_their_way_costs() {
        assert!(first(&asking(1, 7), "syscall-storm").is_some());
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        for _ in 0..50 {
            scene.run(main, 1, Cause::CpuKernel, "main;serve;libc.so.6!poll;k:__x64_sys_poll");
            scene.run(main, 9, Cause::CpuUser, "main;serve");
        }
        assert!(first(&scene.done(), "syscall-storm").is_none());
    }

    #[test]
    fn interrupts_are_no_calls() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..50 {
            scene.run(main, 9, Cause::CpuKernel, "main;compute;k:asm_sysvec_apic_timer_interrupt");
        }
        assert!(first(&scene.done(), "syscall-storm").is_none());
    }
}
