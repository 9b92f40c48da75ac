//! What a recording can count besides time, when it is asked to: what is wanted, what the machine has,
//! and the events for it.
//!
//! | wanted | source | each event costs the program |
//! |---|---|---|
//! | allocations | a preloaded library that samples them (`sampler`) | 1 ns, and 10 us for a sample |
//! | every allocation | probes in allocators (`probes`) | a trap, some microseconds |
//! | activities | probes in functions and at static probes (`probes`) | the same, at each end |
//! | requests | tracepoints of sockets (`sockets`) | some half a microsecond, two to four events a request |
//! | transfers | the tracepoint `raw_syscalls:sys_exit`, filtered to calls that move data | two to three microseconds; every other call of the machine 0.2 |
//! | counters | the processor's counters, sampled | nothing between samples |
//!
//! Transfers are bytes that read- and write-like calls moved, whatever is behind the descriptor:
//! what a program asked of files, pipes and sockets, and not what a disk did. Bytes at the block
//! layer would belong to whoever writes the cache back. What is mapped, and what io_uring moves, makes
//! no such call. Source: include/trace/events/syscalls.h.

use culprit_kernel::tracepoint::Field;
use culprit_model::Metric;
use culprit_place::SharedLibrary;
use perf_event_open_sys::bindings as sys;

use crate::error::Error;
use crate::events::attr::{EventSpec, Fields, Rate, Role, SWITCH_REGISTERS, Source, Watch};
use crate::events::sockets::{DoorPoint, SocketActivity, SocketPoints, refusal as socket_refusal};
use crate::events::tracefs::Tracefs;
use crate::probes::{ActivityProbe, Toll, UprobePmu, Wish, as_admin, refusal as probe_refusal};
use crate::session::ladder::{Errno, Limits, Rights};
use crate::sys::Scope;

/// What is to be counted besides time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extras {
    /// Allocations of memory: the metrics `allocs` and `alloc-bytes`, of samples also `live` and
    /// `live-bytes`.
    pub allocations: Option<AllocationTrace>,
    /// Bytes of every call that reads or writes: the metric `io-bytes`.
    pub transfers: bool,
    /// The processor's counters, sampled: the metrics `cycles`, `instructions` and `cache-misses`.
    pub counters: bool,
    /// Activities whose starts and stops are recorded, which costs the program microseconds each.
    pub activities: Vec<ActivityProbe>,
    /// Activities that are requests on sockets.
    pub requests: Vec<SocketActivity>,
}

/// How allocations are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllocationTrace {
    /// Some of them, by a library that the command preloads.
    Sampled(SharedLibrary),
    /// Each one, by probes in allocators, which costs the program microseconds each.
    Every,
}

/// One of the processor's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Hardware {
    /// Cycles that the thread had, at whatever frequency.
    Cycles,
    /// Instructions that were completed.
    Instructions,
    /// Reads and writes that the last level of cache could not serve.
    CacheMisses,
}

/// What of it there is, and how it is opened.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// How probes are opened and what a hit costs.
    pub(crate) probes: Option<(UprobePmu, Toll)>,
    /// Where calls end.
    pub(crate) calls: Option<CallPoint>,
    /// Where bytes pass on sockets.
    pub(crate) sockets: Option<SocketPoints>,
    /// Where programs listen and connect.
    pub(crate) doors: Option<DoorPoint>,
    /// The counters that the processor has.
    pub(crate) counters: Vec<Hardware>,
    /// Those that it has not, with the kernel's answer.
    pub(crate) absent: Vec<(Hardware, Errno)>,
}

/// The tracepoint at the end of system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPoint {
    /// Its number.
    pub(crate) id: u64,
    /// Where its record keeps what the call returned.
    pub(crate) returned: Field,
}

/// Calls that return how many bytes they moved.
const MOVING: [i64; 17] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_copy_file_range,
];

impl Extras {
    /// What is to be seen by probes.
    pub(crate) fn wishes(&self) -> Vec<Wish> {
        let activities = self.activities.iter().cloned().map(Wish::Activity);
        let allocations = self.allocations.as_ref().map(|trace| match trace {
            AllocationTrace::Sampled(library) => Wish::SampledAllocations(library.clone()),
            AllocationTrace::Every => Wish::Allocations,
        });
        allocations.into_iter().chain(activities).collect()
    }

    /// The library that samples allocations, where one does.
    pub(crate) fn sampler(&self) -> Option<&SharedLibrary> {
        match &self.allocations {
            Some(AllocationTrace::Sampled(library)) => Some(library),
            Some(AllocationTrace::Every) | None => None,
        }
    }

    /// What there is of what is wanted.
    ///
    /// # Errors
    /// [`Error::Refused`] where allocations, activities or transfers cannot be seen at all. A processor without
    /// counters is no error: nobody can do anything about it.
    pub(crate) fn find(
        &self,
        rights: &Rights,
        limits: Limits,
        cpus: &[u32],
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        if !self.wishes().is_empty() {
            // Probes are watched on whole CPUs.
            let tried = rights.machine.and_then(|()| UprobePmu::probe());
            let what = if self.allocations.is_some() { "allocations" } else { "activities" };
            let refused = |errno| probe_refusal(what, errno, limits);
            found.probes = Some(tried.map_err(refused)?);
        }
        let cpu = cpus.first().copied().unwrap_or(0);
        found.doors = DoorPoint::find(rights, cpu).ok();
        if self.transfers {
            let tried = rights.kernel.and_then(|()| CallPoint::find(rights, cpu));
            found.calls = Some(tried.map_err(|errno| no_calls(errno, limits))?);
        }
        if !self.requests.is_empty() {
            let tried = SocketPoints::find(&self.requests, rights, cpu);
            found.sockets = Some(tried.map_err(|errno| socket_refusal(errno, limits))?);
        }
        if self.counters {
            for counter in Hardware::ALL {
                match opens(&counter.event(1, false), rights, cpu) {
                    Ok(()) => found.counters.push(counter),
                    Err(errno) => found.absent.push((counter, errno)),
                }
            }
        }
        Ok(found)
    }
}

impl Found {
    /// Whether the ring of [`Stream::Probes`](crate::events::attr::Stream::Probes) is needed.
    pub(crate) fn may_be_many(&self) -> bool {
        self.probes.is_some() || self.calls.is_some() || self.sockets.is_some()
    }

    /// Their events, but for those of probes. `kernel` is whether they may look into it, `dump` the
    /// bytes and rate of the dumps that teach stacks.
    pub(crate) fn events(
        &self,
        kernel: bool,
        frequency: u64,
        dump: Option<(u32, u32)>,
    ) -> Vec<EventSpec> {
        let counters = self.counters.iter().map(|counter| counter.event(frequency, kernel));
        let calls = self.calls.iter().flat_map(|point| point.events(dump));
        let doors = self.doors.iter().map(DoorPoint::event);
        counters.chain(calls).chain(doors).collect()
    }

    /// Why some counters are not there; none where all that are wanted are.
    pub(crate) fn without(&self) -> Option<String> {
        let (first, errno) = self.absent.first()?;
        let names: Vec<&str> = self.absent.iter().map(|(counter, _)| counter.word()).collect();
        let why = match errno.0 {
            libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV => {
                "this machine or its hypervisor does not offer these counters".to_owned()
            }
            _ => format!("{}: {}", first.word(), std::io::Error::from_raw_os_error(errno.0)),
        };
        Some(format!("{}: {why}", names.join(", ")))
    }
}

impl Hardware {
    /// Every counter.
    pub(crate) const ALL: [Self; 3] = [Self::Cycles, Self::Instructions, Self::CacheMisses];

    /// What its samples weigh.
    pub(crate) const fn metric(self) -> Metric {
        match self {
            Self::Cycles => Metric::Cycles,
            Self::Instructions => Metric::Instructions,
            Self::CacheMisses => Metric::CacheMisses,
        }
    }

    fn word(self) -> &'static str {
        culprit_model::Label::word(self.metric())
    }

    const fn number(self) -> u32 {
        match self {
            Self::Cycles => sys::PERF_COUNT_HW_CPU_CYCLES,
            Self::Instructions => sys::PERF_COUNT_HW_INSTRUCTIONS,
            Self::CacheMisses => sys::PERF_COUNT_HW_CACHE_MISSES,
        }
    }

    /// Samples of the counter, each with how much it had counted since the last.
    fn event(self, frequency: u64, kernel: bool) -> EventSpec {
        EventSpec {
            role: Role::Hardware(self),
            source: Source::Hardware(self.number()),
            rate: Rate::PerSecond(frequency),
            fields: Fields { period: true, callchain: true, ..Fields::default() },
            watch: Watch::Target,
            kernel,
            kernel_chain_only: false,
            filter: None,
        }
    }
}

impl CallPoint {
    fn find(rights: &Rights, cpu: u32) -> Result<Self, Errno> {
        let point = Tracefs::open()?.tracepoint("raw_syscalls", "sys_exit")?;
        let returned = point.field("ret").ok_or(Errno(libc::EINVAL))?;
        let found = Self { id: point.id, returned };
        for spec in found.events(None) {
            opens(&spec, rights, cpu)?;
        }
        Ok(found)
    }

    fn events(self, dump: Option<(u32, u32)>) -> Vec<EventSpec> {
        // The registers also tell calls apart whose chains look alike, as at switches.
        let fields = Fields { callchain: true, registers: SWITCH_REGISTERS, ..Fields::default() };
        let each = EventSpec {
            role: Role::Transfer,
            source: Source::Tracepoint(self.id),
            rate: Rate::Every(1),
            fields: Fields { raw: true, ..fields },
            watch: Watch::Target,
            kernel: true,
            kernel_chain_only: false,
            filter: Some(filter()),
        };
        let dump = dump.map(|(stack_bytes, rate)| EventSpec {
            role: Role::TransferDump,
            rate: Rate::PerSecond(rate.into()),
            fields: Fields { stack_bytes, ..fields },
            ..each.clone()
        });
        std::iter::once(each).chain(dump).collect()
    }
}

/// Lets only calls through that moved something.
fn filter() -> String {
    let calls: Vec<String> = MOVING.iter().map(|number| format!("id == {number}")).collect();
    format!("ret > 0 && ({})", calls.join(" || "))
}

/// Whether an event can be opened for our own thread.
///
/// # Errors
/// The kernel's answer.
pub(crate) fn opens(spec: &EventSpec, rights: &Rights, cpu: u32) -> Result<(), Errno> {
    rights.trials.open(spec, rights.features, (Scope::Thread(0), cpu))
}

fn no_calls(errno: Errno, limits: Limits) -> Error {
    let found = std::io::Error::from_raw_os_error(errno.0);
    Error::Refused {
        target: "reads and writes".to_owned(),
        reason: format!("Culprit cannot use the tracepoint raw_syscalls:sys_exit ({found})"),
        hints: vec![as_admin(limits).to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_moved_something_are_let_through() {
        let filter = filter();
        assert!(filter.starts_with("ret > 0 && (id == "), "{filter}");
        assert_eq!(filter.matches("id == ").count(), MOVING.len());
    }

    #[test]
    fn what_the_processor_lacks_is_told_in_one_sentence() {
        assert_eq!(Found::default().without(), None);
        let absent = vec![
            (Hardware::Cycles, Errno(libc::ENOENT)),
            (Hardware::Instructions, Errno(libc::ENOENT)),
        ];
        let told = Found { absent, ..Found::default() }.without();
        assert!(told.is_some_and(|told| told.starts_with("cycles, instructions: this machine")));
    }

    #[test]
    fn dumps_of_transfers_are_rarer_than_transfers() {
        let point = CallPoint { id: 1, returned: Field { offset: 16, size: 8 } };
        let events = point.events(Some((8192, 1000)));
        let roles: Vec<_> = events.iter().map(|event| event.role).collect();
        assert_eq!(roles, [Role::Transfer, Role::TransferDump]);
        assert_eq!((events[0].rate, events[1].rate), (Rate::Every(1), Rate::PerSecond(1000)));
        assert!(events.iter().all(|event| event.filter.is_some()));
    }
}
