//! What a stretch of work used: wall time, CPU time, waits for a CPU, switches, faults.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The monotonic clock, ns.
#[derive(Debug, Clone, Copy)]
pub struct Clock;

impl Clock {
    /// Now.
    #[inline]
    #[must_use]
    pub fn now() -> u64 {
        nanos(ClockId::Monotonic)
    }

    /// Sleeps until then, or not at all when it is past.
    pub fn sleep_until(then: u64) {
        let left = then.saturating_sub(Self::now());
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// CPU time of this process so far, ns.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    nanos(ClockId::ProcessCPUTime)
}

/// CPU time of this thread so far, ns.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanos(ClockId::ThreadCPUTime)
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is ever negative.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What a stretch of this thread's work used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Ready and without a CPU (`/proc/thread-self/schedstat`); 0 where the kernel does not tell.
    pub run_queue_ns: u64,
    /// Times it gave up the CPU to wait.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
}

impl Usage {
    /// The sum of what several threads used; the wall time is the longest.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            wall_ns: self.wall_ns.max(other.wall_ns),
            cpu_ns: self.cpu_ns + other.cpu_ns,
            run_queue_ns: self.run_queue_ns + other.run_queue_ns,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }
}

/// Measures this thread from its making on.
#[derive(Debug)]
pub struct Meter {
    begun: Usage,
}

impl Meter {
    /// Begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { begun: so_far() }
    }

    /// What this thread has used since.
    #[must_use]
    pub fn stop(&self) -> Usage {
        let (from, to) = (self.begun, so_far());
        Usage {
            wall_ns: to.wall_ns.saturating_sub(from.wall_ns),
            cpu_ns: to.cpu_ns.saturating_sub(from.cpu_ns),
            run_queue_ns: to.run_queue_ns.saturating_sub(from.run_queue_ns),
            voluntary_switches: to.voluntary_switches - from.voluntary_switches,
            involuntary_switches: to.involuntary_switches - from.involuntary_switches,
            minor_faults: to.minor_faults - from.minor_faults,
            major_faults: to.major_faults - from.major_faults,
        }
    }
}

/// Times operations that follow each other, without the time in which this thread was ready and other
/// threads had the CPUs. Behind a busy program that is up to a tick of the kernel (4 ms) for each wait:
/// many times what a disk takes, and no property of the place.
#[derive(Debug)]
pub struct Laps {
    /// When the operation began.
    begun: u64,
    /// What the kernel says of this thread; none where it does not tell.
    schedstat: Option<File>,
    /// Time in the run queue when that was last read, ns.
    queued: u64,
    asked_from: u64,
}

impl Laps {
    /// The first operation begins now. The kernel is asked about operations of `asked_from` ns and more,
    /// because asking takes a microsecond; shorter ones keep their waits.
    #[must_use]
    pub fn start(asked_from: u64) -> Self {
        let schedstat = File::open(SCHEDSTAT).ok();
        let mut laps = Self { begun: 0, schedstat, queued: 0, asked_from };
        laps.begin();
        laps
    }

    /// The next operation begins now; what came before it counts nowhere.
    pub fn begin(&mut self) {
        self.queued = self.run_queue().unwrap_or(self.queued);
        self.begun = Clock::now();
    }

    /// What the operation took that ends now, ns; the next one begins.
    pub fn lap(&mut self) -> u64 {
        let now = Clock::now();
        let took = now - self.begun;
        self.begun = now;
        if took < self.asked_from {
            return took;
        }
        let before = self.queued;
        // The question is no operation's time.
        self.begin();
        took.saturating_sub(self.queued.saturating_sub(before))
    }

    fn run_queue(&self) -> Option<u64> {
        run_queue_of(self.schedstat.as_ref()?)
    }
}

fn so_far() -> Usage {
    let used = thread_usage();
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    Usage {
        run_queue_ns: File::open(SCHEDSTAT).ok().as_ref().and_then(run_queue_of).unwrap_or(0),
        voluntary_switches: count(used.ru_nvcsw),
        involuntary_switches: count(used.ru_nivcsw),
        minor_faults: count(used.ru_minflt),
        major_faults: count(used.ru_majflt),
        cpu_ns: nanos(ClockId::ThreadCPUTime),
        // Last, so that what stands above is in neither stretch.
        wall_ns: Clock::now(),
    }
}

#[expect(unsafe_code, reason = "getrusage has no safe wrapper here")]
fn thread_usage() -> libc::rusage {
    // SAFETY: `rusage` is plain numbers, for which zero is a value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage` there.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut used) };
    used
}

/// CPU time, time in the run queue and turns on a CPU of the thread that opens it.
const SCHEDSTAT: &str = "/proc/thread-self/schedstat";

/// Time in the run queue so far, ns.
fn run_queue_of(schedstat: &File) -> Option<u64> {
    let mut bytes = [0; 96];
    let length = schedstat.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Ends the thread that keeps a CPU busy, also when the test fails.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Another thread keeps the CPU of this one busy: what a sleep takes beyond its time is then a
    /// wait for that CPU.
    #[test]
    fn laps_leave_out_waits_for_a_cpu() {
        let cpu = crate::inside::this_cpu();
        let (spins, over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _ends = Over(&over);
            scope.spawn(|| {
                let there = crate::inside::stay_on(cpu);
                spins.store(true, Ordering::Relaxed);
                while there && !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            culprit_testkit::wait_until("the other thread spins", || spins.load(Ordering::Relaxed));
            assert!(crate::inside::stay_on(cpu));
            let (meter, mut laps, mut told, mut took) = (Meter::start(), Laps::start(0), 0, 0);
            let (first, known) = (laps.begun, laps.queued);
            for _ in 0..50 {
                let begun = Clock::now();
                std::thread::sleep(Duration::from_millis(1));
                took += Clock::now() - begun;
                told += laps.lap();
            }
            let queued = meter.stop().run_queue_ns;
            if queued == 0 {
                let missing = "what the kernel says of the run queue (schedstat)";
                return culprit_testkit::skip("laps_leave_out_waits_for_a_cpu", missing);
            }
            assert!(told + queued >= took, "nothing else is left out: {told} {queued} {took}");
            // Waits between two operations are in both, and so is asking for them.
            let (all, waited) = (Clock::now() - first, laps.queued - known);
            assert!(told + waited <= all, "waits for the CPU are left out: {told} {waited} {all}");
        });
    }

    #[test]
    fn short_operations_are_told_as_they_are() {
        let mut laps = Laps::start(u64::MAX);
        let begun = Clock::now();
        std::thread::sleep(Duration::from_millis(1));
        let told = laps.lap();
        assert!(told >= 1_000_000 && told <= Clock::now() - begun + 1_000_000, "{told}");
    }

    #[test]
    fn a_meter_sees_work_and_sleep_apart() {
        let meter = Meter::start();
        std::thread::sleep(Duration::from_millis(20));
        let begun = nanos(ClockId::ThreadCPUTime);
        let mut sum = 0_u64;
        while nanos(ClockId::ThreadCPUTime) < begun + 5_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        let used = meter.stop();
        assert!(used.cpu_ns >= 5_000_000 && used.wall_ns >= used.cpu_ns + 20_000_000, "{used:?}");
        assert!(used.voluntary_switches >= 1);
        let twice = used.and(used);
        assert_eq!((twice.cpu_ns, twice.wall_ns), (2 * used.cpu_ns, used.wall_ns));
    }
}
