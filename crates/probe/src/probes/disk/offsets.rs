//! Where the next request goes, and whether it writes.

use culprit_engine::stats::Random;

use super::spec::{Access, Spec};

/// One of so many slots; files do not have more than memory has addresses.
fn below(random: &mut Random, slots: u64) -> u64 {
    random.below(usize::try_from(slots).unwrap_or(usize::MAX)) as u64
}

/// A share as a threshold of [`Random::bits`]: below it is yes.
#[derive(Debug, Clone, Copy)]
struct Chance(u128);

impl Chance {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 2^64 that is never negative"
    )]
    fn new(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * 18_446_744_073_709_551_616.0) as u128)
    }

    /// Throws only where the answer is open, so that plain workloads pay nothing.
    fn throw(self, random: &mut Random) -> bool {
        match self.0 {
            0 => false,
            all if all > u128::from(u64::MAX) => true,
            part => u128::from(random.bits()) < part,
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) offset: u64,
    pub(super) writes: bool,
}

/// A part of the file: its first slot, how many there are, and up to which throw it is hit.
#[derive(Debug, Clone, Copy)]
struct Spot {
    until: u128,
    first: u64,
    slots: u64,
}

/// The requests of one thread, without end.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    random: Random,
    access: Access,
    at_random: Chance,
    writes: Chance,
    block: u64,
    step: u64,
    /// Bytes that are used; no request goes beyond.
    used: u64,
    slots: u64,
    spots: Vec<Spot>,
    /// Where the next request in order goes.
    next: u64,
}

impl Requests {
    /// Those of a thread in a round; the same round, thread and workload give the same ones.
    pub(super) fn new(spec: &Spec, thread: u32, round: u64) -> Self {
        let used = spec.used();
        let (block, step) = (spec.block, spec.step());
        let slots = (used - block) / step + 1;
        let at_random = match spec.access {
            Access::Sequential => 0.0,
            Access::Random => 1.0,
            Access::Mixed { random } => random,
        };
        let mut mixed = Random::new(spec.seed ^ round.rotate_left(32) ^ (u64::from(thread) << 48));
        let random = Random::new(mixed.bits());
        let begin = spec.thread_stride.wrapping_mul(u64::from(thread)) % used;
        let next = begin - begin % step;
        Self {
            random,
            access: spec.access,
            at_random: Chance::new(at_random),
            writes: Chance::new(spec.write_share),
            block,
            step,
            used,
            slots,
            spots: spots(spec, slots),
            next: if next + block > used { 0 } else { next },
        }
    }

    /// The next one.
    #[inline]
    pub(super) fn next(&mut self) -> Request {
        let offset = if self.at_random.throw(&mut self.random) {
            self.slot() * self.step
        } else {
            self.next
        };
        let on = match self.access {
            // What follows a request begins where it ends, also after one that went astray.
            Access::Mixed { .. } => offset + self.block,
            _ => offset + self.step,
        };
        self.next = if on + self.block > self.used { 0 } else { on };
        Request { offset, writes: self.writes.throw(&mut self.random) }
    }

    fn slot(&mut self) -> u64 {
        if self.spots.is_empty() {
            return below(&mut self.random, self.slots);
        }
        let throw = u128::from(self.random.bits());
        let spot = self.spots.iter().find(|spot| throw < spot.until);
        match spot.or(self.spots.last()).copied() {
            Some(spot) => spot.first + below(&mut self.random, spot.slots),
            None => 0,
        }
    }
}

/// The hot spots, one after the other from the beginning, and what is left.
fn spots(spec: &Spec, slots: u64) -> Vec<Spot> {
    if spec.hot.is_empty() {
        return Vec::new();
    }
    let (mut spots, mut requests, mut bytes) = (Vec::new(), 0.0, 0.0);
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the slots"
        )]
        let slot = (share.clamp(0.0, 1.0) * slots as f64) as u64;
        slot.min(slots - 1)
    };
    let mut add = |from: f64, to: f64, until: f64| {
        let (first, end) = (at(from), if to >= 1.0 { slots } else { at(to) });
        spots.push(Spot {
            until: Chance::new(until).0,
            first,
            slots: (end - first.min(end)).max(1),
        });
    };
    for spot in &spec.hot {
        add(bytes, bytes + spot.bytes, requests + spot.requests);
        requests += spot.requests;
        bytes += spot.bytes;
    }
    if requests < 1.0 - 1e-9 {
        // Nothing left of the file: what is left of the requests goes everywhere.
        add(if bytes < 1.0 - 1e-9 { bytes } else { 0.0 }, 1.0, 1.0);
    }
    spots
}

#[cfg(test)]
mod tests {
    use super::super::spec::HotSpot;
    use super::*;

    fn some(spec: &Spec, count: usize) -> Vec<Request> {
        let mut requests = Requests::new(spec, 1, 7);
        (0..count).map(|_| requests.next()).collect()
    }

    #[test]
    fn random_requests_are_aligned_spread_and_the_same_again() {
        let spec = Spec { block: 8192, align: Some(4096), size: 1 << 20, ..Spec::default() };
        let all = some(&spec, 20_000);
        assert!(all.iter().all(|one| one.offset % 4096 == 0 && one.offset + 8192 <= 1 << 20));
        let mut seen: Vec<u64> = all.iter().map(|one| one.offset).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 255, "every place that a block fits in");
        assert_eq!(all, some(&spec, 20_000));
        assert_ne!(all[..50], some(&Spec { seed: 2, ..spec }, 50)[..]);
    }

    #[test]
    fn requests_in_order_go_round() {
        let spec =
            Spec { access: Access::Sequential, block: 4096, size: 10_000, ..Spec::default() };
        let offsets: Vec<u64> = some(&spec, 5).iter().map(|one| one.offset).collect();
        assert_eq!(offsets, [0, 4096, 0, 4096, 0]);
        let spread = Spec { thread_stride: 8192, size: 40_000, ..spec };
        assert_eq!(some(&spread, 2)[0].offset, 8192);
    }

    #[test]
    fn shares_are_kept() {
        let spec = Spec {
            write_share: 0.6,
            access: Access::Mixed { random: 0.25 },
            hot: vec![HotSpot { requests: 0.9, bytes: 0.1 }],
            size: 100 << 20,
            ..Spec::default()
        };
        let all = some(&spec, 40_000);
        let share = |is: &dyn Fn(usize) -> bool| {
            (1..all.len()).filter(|at| is(*at)).count() as f64 / all.len() as f64
        };
        assert!((share(&|at| all[at].writes) - 0.6).abs() < 0.01);
        let after = |at: usize| all[at].offset == all[at - 1].offset + 4096;
        assert!((share(&|at| !after(at)) - 0.25).abs() < 0.01);
        let only = Spec { access: Access::Random, ..spec };
        let hot = some(&only, 40_000).iter().filter(|one| one.offset < 10 << 20).count();
        assert!((hot as f64 / 40_000.0 - 0.9).abs() < 0.01);
    }
}
