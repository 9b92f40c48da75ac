//! Probes: a record each time that a recorded thread reaches a function of a program or library.
//!
//! ```text
//! Wish     what is to be seen            every allocation; a function; a site that a program offers
//!   sites  where that is in one file     offsets in the file, what the registers mean there
//! Prober   places them                   at the start, and in each file that is mapped later
//!   record what the kernel tells         registers, call chain, the top of the user stack
//! probed   what comes of a hit           rows (`Handler::probed`)
//! ```
//!
//! The kernel's uprobes are used, by perf events on definitions in tracefs ([`definitions`]) or, where
//! that cannot be written, of the PMU `uprobe`. A probe belongs to a file, whoever runs it, so it is placed
//! before the program begins, through an open descriptor, in whatever root the file lies.
//!
//! **To probe something else**, add a variant to [`Wish`] with its [`Site`]s in a file, a variant to
//! [`Purpose`] with what a hit needs to know, and an arm to `Handler::probed` that makes rows of a
//! [`Hit`]. Where the kernel's structures, rings, times, threads, stacks, duplicates and losses are
//! concerned, all is done here.
//!
//! What it costs: each hit is a trap into the kernel, some microseconds ([`toll`] measures it), for
//! every process of the machine that runs the file, recorded or not. To take fewer records would not
//! lower it. What it misses: [`LossKind::ProbesLate`](culprit_model::LossKind::ProbesLate).
//!
//! Sources: kernel/trace/trace_uprobe.c, kernel/events/core.c (`perf_uprobe`),
//! Documentation/ABI/testing/sysfs-bus-event_source-devices-uprobe.

mod activities;
mod allocators;
pub(crate) mod assembler;
mod definitions;
mod operand;
mod pmu;
mod prober;
mod programs;
pub(crate) mod sampler;
mod slowdown;
mod toll;
pub(crate) mod unsampled;

use std::fs::File;
use std::path::Path;

use culprit_place::SharedLibrary;
use culprit_symbols::{FileOffset, FunctionPlace, find_functions};

pub(crate) use activities::ActivityEnd;
pub use activities::{ActivityEnds, ActivityProbe, Function};
pub(crate) use allocators::AllocCall;
pub(crate) use definitions::Definitions;
pub use pmu::probe_cost;
pub(crate) use pmu::{FOLDER, UprobePmu, as_admin, refusal};
pub(crate) use prober::{News, Opening, Prober, Request, Scene, Trouble, Way};
pub(crate) use programs::{C_LIBRARIES, open_in};
pub(crate) use slowdown::Slowdown;
pub(crate) use toll::{Hits, Toll, Trap};

use sampler::SamplerEvent;

/// What is to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Every allocation of memory, by any allocator whose functions have known names.
    Allocations,
    /// Allocations that a preloaded library samples.
    SampledAllocations(SharedLibrary),
    /// Starts and stops of an activity.
    Activity(ActivityProbe),
}

/// What a hit of a probe means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Memory is asked for.
    Allocation(AllocCall),
    /// The library that samples allocations tells something.
    Sampler(SamplerEvent),
    /// An activity starts or stops, or a thread's work on it.
    Activity(ActivityEnd),
}

impl Purpose {
    /// Whether it matters where from the site was reached; dumps of some hits then teach the stacks of all.
    pub(crate) fn wants_stacks(&self) -> bool {
        matches!(self, Self::Allocation(_))
    }

    /// Whether each hit has a dump of its own: there are few, and each stands for many.
    pub(crate) fn wants_dumps(&self) -> bool {
        matches!(self, Self::Sampler(SamplerEvent::Sampled))
    }
}

/// When a probe fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Moment {
    /// Before the function's first instruction: registers hold its arguments.
    Entry,
    /// When the function has returned: the first register holds what it returned. Not for programs
    /// that move their stacks (Go): the kernel puts its own return address there.
    Return,
}

/// A place in a file that is probed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// The function's code in the file.
    pub(crate) place: FunctionPlace,
    /// When it fires.
    pub(crate) moment: Moment,
    /// Where in the file a program counts who listens, so that it prepares its arguments only then;
    /// for the sites that programs offer (USDT).
    pub(crate) listeners: Option<FileOffset>,
    /// What a hit means.
    pub(crate) purpose: Purpose,
}

/// The number of a probe in its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProbeId(pub(crate) u32);

/// A probe that is in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Its number.
    pub(crate) id: ProbeId,
    /// The number of its file among those that are probed.
    pub(crate) file: u32,
    /// Where it is and what it means.
    pub(crate) site: Site,
    /// Ranges of the file that belong to functions of the same wish, sorted.
    pub(crate) family: std::sync::Arc<[std::ops::Range<u64>]>,
    /// The first probe of the same function, where the same file may have been met by two names: an
    /// overlay and what lies below it look like two files and are one, whose hits come twice.
    pub(crate) twin: Option<ProbeId>,
    /// How the kernel gets past it.
    pub(crate) trap: Trap,
}

/// The general registers that a hit has, as `PERF_REG_` bits: arguments, result, stack pointer,
/// instruction. On x86-64 rax, rcx, rdx, rsi, rdi, rsp, rip, r8, r9 (arch/x86/include/uapi/asm/
/// perf_regs.h); on ARM x0 to x7, lr, sp, pc.
#[cfg(target_arch = "x86_64")]
pub(crate) const PROBE_REGISTERS: u64 =
    1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16 | 1 << 17;
#[cfg(target_arch = "aarch64")]
pub(crate) const PROBE_REGISTERS: u64 = 0xff | 1 << 30 | 1 << 31 | 1 << 32;

/// Bits of the registers of integer arguments, in their order (System V ABI; AAPCS64).
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [u32; 6] = [5, 4, 3, 2, 16, 17];
#[cfg(target_arch = "aarch64")]
const ARGUMENTS: [u32; 6] = [0, 1, 2, 3, 4, 5];

/// Bytes of user stack in a hit: the return address, and a word more for those who look for it.
pub(crate) const STACK_TOP: u32 = 16;

/// What a record of a probe says, once its thread and stack are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit<'a> {
    /// The registers of `mask`; empty for 32-bit programs.
    pub(crate) registers: &'a [u64],
    /// Which registers were recorded, as `PERF_REG_` bits.
    pub(crate) mask: u64,
    /// Where the probe is, in the process's memory.
    pub(crate) instruction: u64,
    /// Where the function will return to; none when it was not recorded, and at a return.
    pub(crate) caller: Option<u64>,
    /// The user stack pointer.
    pub(crate) stack_pointer: u64,
}

impl Hit<'_> {
    /// An integer argument, counted from 0.
    pub(crate) fn argument(&self, number: usize) -> Option<u64> {
        self.register(*ARGUMENTS.get(number)?)
    }

    /// The register of a `PERF_REG_` bit.
    fn register(&self, bit: u32) -> Option<u64> {
        let below = self.mask & ((1 << bit) - 1);
        self.registers.get(below.count_ones() as usize).copied()
    }
}

impl Wish {
    /// Where in a file what is wished for can be seen; empty where it cannot.
    fn sites(&self, file: &File, path: &str) -> Result<Vec<Site>, culprit_symbols::Error> {
        let unread =
            |source| culprit_symbols::Error::Read { path: path.to_owned(), offset: 0, source };
        match self {
            Self::Allocations => {
                let wanted = &mut |name: &str| allocators::is_known(name);
                let file = file.try_clone().map_err(unread)?;
                Ok(allocators::sites(find_functions(file, path, wanted)?))
            }
            Self::SampledAllocations(library) if library.path == Path::new(path) => {
                let file = file.try_clone().map_err(unread)?;
                Ok(sampler::sites(find_functions(file, path, &mut |name| sampler::is_event(name))?))
            }
            Self::SampledAllocations(_) => Ok(Vec::new()),
            Self::Activity(activity) => activity.sites(file, path),
        }
    }

    /// The names of what is nowhere in all that was probed, and whose they are.
    fn unfound(&self, placed: &[Probe]) -> Vec<(String, String)> {
        let Self::Activity(activity) = self else { return Vec::new() };
        let found: Vec<&Site> = placed.iter().map(|probe| &probe.site).collect();
        let ends = activity.unfound(&found);
        ends.into_iter().map(|end| (activity.name.clone(), end)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn arguments_are_found_among_the_recorded_registers() {
        // rax rcx rdx rsi rdi rsp rip r8 r9, in the order of their bits
        let registers = [100, 3, 2, 1, 0, 7, 8, 4, 5];
        let mask = PROBE_REGISTERS;
        let hit =
            Hit { registers: &registers, mask, instruction: 0, caller: None, stack_pointer: 0 };
        let arguments: Vec<_> = (0..7).map(|number| hit.argument(number)).collect();
        let expected = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), None];
        assert_eq!(arguments, expected);
        let none = Hit { registers: &[], ..hit };
        assert_eq!(none.argument(0), None);
        // With rbx and rbp, too.
        let registers = [100, 9, 3, 2, 1, 0, 6, 7, 8, 4, 5];
        let all = Hit { registers: &registers, mask: PROBE_REGISTERS | 1 << 1 | 1 << 6, ..hit };
        let arguments: Vec<_> = (0..7).map(|number| all.argument(number)).collect();
        assert_eq!(arguments, expected);
    }
}
