//! The measured time of one thread: what completes in it counts.

use crate::histogram::Histogram;
use crate::inside::{Clock, Meter, Usage, process_cpu_ns, stopped};

use super::offsets::{Request, Requests};
use super::spec::Spec;

/// When load begins, counts, counts no more, and ends; ns of the monotonic clock, the same for all
/// threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) start: u64,
    counts: u64,
    counts_no_more: u64,
    end: u64,
}

impl Times {
    /// Beginning then.
    pub(super) fn of(spec: &Spec, start: u64) -> Self {
        let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 8);
        let counts = start + ns(spec.warmup);
        let counts_no_more = counts + ns(spec.duration);
        Self { start, counts, counts_no_more, end: counts_no_more + ns(spec.cooldown) }
    }

    /// How long is measured.
    pub(super) const fn measured_ns(&self) -> u64 {
        self.counts_no_more - self.counts
    }
}

/// What one thread has seen in the measured time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) reads: Histogram,
    pub(super) writes: Histogram,
    pub(super) used: Usage,
    /// CPU time of the whole process meanwhile. Only all threads together tell what requests cost:
    /// the kernel may do them in threads of its own that it adds to the process (`io-wq`).
    pub(super) process_cpu_ns: u64,
    /// Sum over submissions of the requests that the kernel had not answered when it returned.
    pub(super) pending: u64,
    /// Submissions.
    pub(super) submissions: u64,
}

/// Where a thread stands.
#[derive(Debug)]
enum Phase {
    Before,
    Counting(Meter),
    After,
}

/// The measured time as a thread goes through it.
#[derive(Debug)]
pub(super) struct Window {
    times: Times,
    phase: Phase,
    /// When the phase is over.
    until: u64,
    pub(super) seen: Seen,
}

impl Window {
    pub(super) fn new(times: Times) -> Self {
        let seen = Seen {
            reads: Histogram::with_room(),
            writes: Histogram::with_room(),
            ..Seen::default()
        };
        Self { times, phase: Phase::Before, until: times.counts, seen }
    }

    /// A request that began then completed now.
    #[inline]
    pub(super) fn completed(&mut self, writes: bool, began: u64, now: u64) {
        if now >= self.until {
            self.pass(now);
        }
        if matches!(self.phase, Phase::Counting(_)) {
            let ns = now.saturating_sub(began);
            if writes { self.seen.writes.record(ns) } else { self.seen.reads.record(ns) }
        }
    }

    /// A submission returned, with so many requests not yet answered.
    #[inline]
    pub(super) const fn submitted(&mut self, pending: u64) {
        if matches!(self.phase, Phase::Counting(_)) {
            self.seen.pending += pending;
            self.seen.submissions += 1;
        }
    }

    /// Whether load is to end.
    #[inline]
    pub(super) fn is_over(&mut self, now: u64) -> bool {
        if now >= self.until {
            self.pass(now);
        }
        now >= self.times.end || stopped()
    }

    /// Into the next phases, as far as it is late for them.
    #[cold]
    fn pass(&mut self, now: u64) {
        if matches!(self.phase, Phase::Before) {
            self.seen.process_cpu_ns = process_cpu_ns();
            self.phase = Phase::Counting(Meter::start());
            self.until = self.times.counts_no_more;
        }
        if now >= self.until
            && let Phase::Counting(meter) = &self.phase
        {
            self.seen.used = meter.stop();
            self.seen.process_cpu_ns = process_cpu_ns() - self.seen.process_cpu_ns;
            self.phase = Phase::After;
            self.until = self.times.end;
        }
    }
}

/// When a thread may begin its next request, where it is held to a rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    start: u64,
    rate: u64,
    planned: u64,
}

impl Pace {
    pub(super) fn of(spec: &Spec, times: Times) -> Option<Self> {
        spec.rate.map(|rate| Self { start: times.start, rate: rate.max(1), planned: 0 })
    }

    /// When the next request is planned.
    pub(super) fn next(&self) -> u64 {
        let ns = u128::from(self.planned) * 1_000_000_000 / u128::from(self.rate);
        self.start + u64::try_from(ns).unwrap_or(u64::MAX / 4)
    }

    /// It was begun.
    pub(super) const fn begun(&mut self) {
        self.planned += 1;
    }
}

/// The load of one thread that waits for each of its requests, which `act` does.
///
/// # Errors
/// Those of `act`.
pub(super) fn one_at_a_time(
    spec: &Spec,
    mut requests: Requests,
    times: Times,
    mut act: impl FnMut(Request) -> std::io::Result<()>,
) -> std::io::Result<Window> {
    let (mut window, mut pace) = (Window::new(times), Pace::of(spec, times));
    let mut now = Clock::now();
    while !window.is_over(now) {
        let request = requests.next();
        // One request's end is the next one's beginning: the clock is read once for each.
        let began = wait(&mut pace, now);
        act(request)?;
        now = Clock::now();
        window.completed(request.writes, began, now);
    }
    Ok(window)
}

/// Waits for the planned time of the next request and tells it; now, where nothing is planned.
fn wait(pace: &mut Option<Pace>, now: u64) -> u64 {
    let Some(pace) = pace else { return now };
    let planned = pace.next();
    pace.begun();
    Clock::sleep_until(planned);
    planned
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_what_completes_in_the_measured_time_counts() {
        let spec = Spec {
            warmup: Duration::from_nanos(100),
            duration: Duration::from_nanos(1000),
            cooldown: Duration::from_nanos(100),
            ..Spec::default()
        };
        let times = Times::of(&spec, 10_000);
        let mut window = Window::new(times);
        for (began, now) in [(10_000, 10_050), (10_050, 10_110), (10_110, 11_099), (11_000, 11_100)]
        {
            window.completed(began == 10_110, began, now);
        }
        assert_eq!((window.seen.reads.count(), window.seen.writes.count()), (1, 1));
        assert_eq!((window.seen.reads.most(), window.seen.writes.most()), (60, 989));
        assert!(!window.is_over(11_199) && window.is_over(11_200));
        assert_eq!(times.measured_ns(), 1000);
    }

    #[test]
    fn a_plan_does_not_wait_for_what_is_late() {
        let spec = Spec { rate: Some(1000), ..Spec::default() };
        let mut pace = Pace::of(&spec, Times::of(&spec, 0));
        let planned: Vec<u64> = (0..3).map(|_| wait(&mut pace, 77)).collect();
        assert_eq!(planned, [0, 1_000_000, 2_000_000]);
        assert_eq!(wait(&mut None, 77), 77);
    }
}
