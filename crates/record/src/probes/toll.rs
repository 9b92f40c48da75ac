//! What a hit of a probe costs the program, measured on this machine when it is asked for.
//!
//! The trap is most of it, and differs from machine to machine by ten times (a virtual machine pays
//! more), so no constant will do. Nor is one number enough: most instructions the kernel has to let
//! the program step over, which takes a second trap, but a few it carries out itself (0.9 us against
//! 9.6 in a virtual machine of Linux 6.18). So probes like those of a recording are placed on two
//! instructions of a function of our own, which is called some hundred times with them and without. A
//! ring takes the records, because writing one is a tenth of the cost.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use culprit_model::{Nanos, Pid};
use culprit_place::procfs;
use culprit_symbols::FileOffset;

use super::prober::hit_spec;
use super::{Moment, ProbeId, UprobePmu};
use crate::clock::monotonic_ns;
use crate::events::attr::{AttrOptions, Features, ProbePoint, Source};
use crate::sys::{MappedRing, Scope, enable, open_event};

/// CPU time that a hit adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Toll {
    /// Where the kernel carries the instruction out.
    light: Nanos,
    /// Where the program steps over it.
    stepped: Nanos,
}

/// How many hits there were of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hits {
    light: u64,
    stepped: u64,
}

impl Hits {
    /// One more.
    pub(crate) fn count(&mut self, trap: Trap) {
        match trap {
            Trap::Light => self.light += 1,
            Trap::Stepped => self.stepped += 1,
        }
    }

    /// With hits of which nothing else is known: as many of each kind as of those that are known.
    pub(crate) fn with_lost(self, lost: u64) -> Self {
        let known = u128::from(self.light + self.stepped).max(1);
        let light = u128::from(lost) * u128::from(self.light) / known;
        let light = u64::try_from(light).unwrap_or(lost);
        Self { light: self.light + light, stepped: self.stepped + (lost - light) }
    }

    /// How many.
    pub(crate) fn sum(self) -> u64 {
        self.light + self.stepped
    }
}

/// How the kernel gets a program past a probed instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trap {
    /// It does what the instruction does; or the probe is on a function's return, which is none.
    Light,
    /// It has the program step over a copy.
    Stepped,
}

impl Trap {
    /// Of a probe on the instruction that these bytes begin with. Source: `branch_setup_xol_ops` and
    /// `push_setup_xol_ops` in arch/x86/kernel/uprobes.c.
    pub(crate) fn of(code: [u8; 4]) -> Self {
        let is_light = match code {
            _ if cfg!(not(target_arch = "x86_64")) => false,
            // push; nop; near jumps and calls
            [0x50..=0x57 | 0x90 | 0xe8 | 0xe9 | 0xeb | 0x70..=0x7f, ..]
            | [0x41, 0x50..=0x57, ..]
            | [0x0f, 0x1f | 0x80..=0x8f, ..]
            | [0x66, 0x90, ..]
            | [0x66, 0x0f, 0x1f, _] => true,
            _ => false,
        };
        if is_light { Self::Light } else { Self::Stepped }
    }
}

/// Rounds, of which the quickest counts, and calls in each: the whole takes some 3 ms.
const ROUNDS: u64 = 8;
const CALLS: u64 = 100;

/// Room for a record of 300 bytes for each call: a ring that is full takes no more.
const RING: usize = 512 << 10;

impl Toll {
    /// Hits that all cost the same.
    #[cfg(test)]
    pub(crate) fn each(cost: Nanos) -> Self {
        Self { light: cost, stepped: cost }
    }

    /// What the dearer kind of hit costs.
    pub(crate) fn largest(self) -> Nanos {
        self.light.max(self.stepped)
    }

    /// What hits cost.
    pub(crate) fn of(self, hits: Hits) -> Nanos {
        let light = self.light.0.saturating_mul(hits.light);
        Nanos(light.saturating_add(self.stepped.0.saturating_mul(hits.stepped)))
    }
}

/// Tries probes on our own program and measures them.
///
/// # Errors
/// The kernel's answer.
pub(crate) fn measure(pmu: UprobePmu) -> io::Result<Toll> {
    let here = probed as *const () as u64;
    let maps = procfs::maps(Pid(std::process::id())).map_err(io::Error::other)?;
    let map = maps.iter().find(|map| map.range.contains(&here)).ok_or(io::ErrorKind::NotFound)?;
    let path = CString::new("/proc/self/exe")?;
    let offset = here - map.range.start + map.offset;
    let mut code = [0; 4];
    File::open("/proc/self/exe")?.read_exact_at(&mut code, offset)?;
    let first = with_probe(pmu, &path, offset)?;
    match (Trap::of(code), code) {
        // `push %rbp` is one byte; what follows makes the frame and is stepped over.
        (Trap::Light, [0x55, ..]) => {
            Ok(Toll { light: first, stepped: with_probe(pmu, &path, offset + 1)? })
        }
        _ => Ok(Toll { light: first, stepped: first }),
    }
}

/// What a probe at an offset of our program adds to a call.
fn with_probe(pmu: UprobePmu, path: &CStr, offset: u64) -> io::Result<Nanos> {
    let (path, offset) = (Arc::from(path), FileOffset(offset));
    let point = ProbePoint { pmu, path, offset, moment: Moment::Entry, listeners: None };
    let spec = hit_spec(ProbeId(0), Source::Probe(point));
    let options = AttrOptions { watermark: 0, inherit: false, features: Features::default() };
    let without = quickest();
    let event = open_event(&mut spec.attr(options), Scope::Anywhere(0), 0)?;
    // Without room for a ring a hit costs a tenth more than this says.
    let _ring = MappedRing::map(event.as_fd(), RING);
    enable(event.as_fd())?;
    Ok(Nanos(quickest().saturating_sub(without) / CALLS))
}

fn quickest() -> u64 {
    let function = std::hint::black_box(probed as fn(u64) -> u64);
    let round = |_| {
        let start = monotonic_ns();
        let mut value = start;
        for _ in 0..CALLS {
            value = function(value);
        }
        std::hint::black_box(value);
        monotonic_ns() - start
    };
    (0..ROUNDS).map(round).min().unwrap_or(0)
}

/// What the probes are on. With frame pointers, as this program is built, it begins with a `push`.
#[inline(never)]
fn probed(value: u64) -> u64 {
    value.wrapping_mul(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_kernel_carries_out_what_it_can() {
        let light = [
            [0x55, 0x48, 0x89, 0xe5], // push %rbp
            [0x41, 0x57, 0x41, 0x56], // push %r15
            [0x0f, 0x1f, 0x44, 0x00], // nopl
            [0xe9, 0x00, 0x10, 0x00], // jmp
        ];
        assert!(light.into_iter().all(|code| Trap::of(code) == Trap::Light));
        let stepped = [
            [0xf3, 0x0f, 0x1e, 0xfa], // endbr64
            [0xc3, 0x66, 0x66, 0x2e], // ret
            [0x48, 0x83, 0xec, 0x18], // sub $0x18,%rsp
            [0x41, 0x89, 0xfc, 0x55], // mov %edi,%r12d
        ];
        assert!(stepped.into_iter().all(|code| Trap::of(code) == Trap::Stepped));
    }

    #[test]
    fn hits_that_were_lost_are_like_the_others() {
        let mut hits = Hits::default();
        (0..3).for_each(|_| hits.count(Trap::Light));
        hits.count(Trap::Stepped);
        let toll = Toll { light: Nanos(10), stepped: Nanos(100) };
        assert_eq!(toll.of(hits), Nanos(130));
        assert_eq!(toll.of(hits.with_lost(4)), Nanos(260));
        assert_eq!(Hits::default().with_lost(2).sum(), 2);
    }
}
