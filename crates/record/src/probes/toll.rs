//! What a hit of a probe costs the program, measured on this machine when it is asked for.
//!
//! The trap is most of it, and differs from machine to machine by ten times (a virtual machine pays
//! more), so no constant will do. A probe like those of a recording is placed on a function of our
//! own, which is called some hundred times with it and without it. The function begins with an
//! instruction that the kernel has to step over, as `malloc` of glibc does, which takes a second
//! trap. No ring is behind the probe: what is not measured is the copying of a record, a tenth of it.

use std::ffi::CString;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use culprit_model::{Nanos, Pid};
use culprit_place::procfs;
use culprit_symbols::FileOffset;

use super::prober::hit_spec;
use super::{Moment, ProbeId, UprobePmu};
use crate::attr::{AttrOptions, Features, ProbePoint, Source};
use crate::clock::monotonic_ns;
use crate::sys::{Scope, enable, open_event};

/// CPU time that a hit adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Toll(pub(crate) Nanos);

/// Rounds, of which the quickest counts, and calls in each: the whole takes some 3 ms.
const ROUNDS: u64 = 8;
const CALLS: u64 = 100;

impl Toll {
    /// What so many hits cost.
    pub(crate) fn of(self, hits: u64) -> Nanos {
        Nanos(self.0.0.saturating_mul(hits))
    }
}

/// Tries a probe on our own program and measures it.
///
/// # Errors
/// The kernel's answer.
pub(crate) fn measure(pmu: UprobePmu) -> io::Result<Toll> {
    let here = stepped as *const () as u64;
    let maps = procfs::maps(Pid(std::process::id())).map_err(io::Error::other)?;
    let map = maps.iter().find(|map| map.range.contains(&here)).ok_or(io::ErrorKind::NotFound)?;
    let offset = FileOffset(here - map.range.start + map.offset);
    let path: Arc<_> = CString::new("/proc/self/exe")?.into();
    let point = ProbePoint { pmu, path, offset, moment: Moment::Entry, listeners: None };
    let spec = hit_spec(ProbeId(0), Source::Probe(point));
    let options = AttrOptions { watermark: 0, inherit: false, features: Features::default() };
    let without = quickest();
    let event = open_event(&mut spec.attr(options), Scope::Anywhere(0), 0)?;
    enable(event.as_fd())?;
    Ok(Toll(Nanos(quickest().saturating_sub(without) / CALLS)))
}

fn quickest() -> u64 {
    let function = std::hint::black_box(stepped as fn(u64) -> u64);
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

/// Begins with arithmetic, which the kernel cannot do for a program but has to let it step over.
#[inline(never)]
fn stepped(value: u64) -> u64 {
    value.wrapping_mul(3)
}
