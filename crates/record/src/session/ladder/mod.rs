//! What the kernel lets us record, found by trying.
//!
//! A sysctl, a capability, a seccomp profile and the pid namespace all have a say, and no file
//! sums them up; so each rung is tried with a real event ([`Rights::probe`]), which is closed when
//! those of the recording are open ([`Trials`]). Why a rung is missing is then looked up ([`Limits::read`]), and the two
//! together make sentences that name the value found and the command that lifts it ([`explain`]).
//! Sources: perf_event_open(2), kernel/events/core.c `perf_event_open`, RECORDING notes 8.2.

mod words;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use culprit_kernel::tracepoint::Tracepoint;
use culprit_model::Rung;
use perf_event_open_sys::bindings as sys;

use crate::error::Error;
use crate::events::attr::{AttrOptions, EventSpec, Features, Fields, Rate, Role, Source, Watch};
use crate::events::tracefs::Tracefs;
use crate::sys::{Scope, open_event};

pub(crate) use words::{explain, refusal};

/// What may be opened. An error is the kernel's own answer.
#[derive(Debug)]
pub(crate) struct Rights {
    /// Events on a whole CPU, and so on cgroups.
    pub(crate) machine: Result<(), Errno>,
    /// Events of own threads that look into the kernel.
    pub(crate) kernel: Result<(), Errno>,
    /// Events of own threads in user code.
    pub(crate) user: Result<(), Errno>,
    /// The scheduler's wakeup tracepoints on a whole CPU.
    pub(crate) wakers: Result<WakerPoints, Errno>,
    /// What the kernel can do.
    pub(crate) features: Features,
    /// The events that were tried.
    pub(crate) trials: Trials,
}

/// Events that were opened to see whether they can be; none of them counts anything.
///
/// The last event of a tracepoint takes the kernel 20 to 50 ms to close, because it waits for all CPUs. While
/// the recording has events of the same tracepoints, these are not the last.
#[derive(Debug, Default)]
pub(crate) struct Trials(Mutex<Vec<OwnedFd>>);

impl Trials {
    /// Opens an event to see whether that is allowed.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn open(
        &self,
        spec: &EventSpec,
        features: Features,
        (scope, cpu): (Scope<'_>, u32),
    ) -> Result<(), Errno> {
        let options = AttrOptions { watermark: 1, inherit: false, features };
        let event = open_event(&mut spec.attr(options), scope, cpu)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        Ok(())
    }

    /// Closes them.
    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// An error number; kept as such because the words depend on what else is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// The scheduler's tracepoints: who made whom ready, when exactly who ran, and which program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WakerPoints {
    /// In the waker's context.
    pub(crate) waking: Tracepoint,
    /// On the run queue.
    pub(crate) wakeup: Tracepoint,
    /// A created thread, on the run queue for the first time.
    pub(crate) wakeup_new: Tracepoint,
    /// A CPU goes from one thread to another.
    pub(crate) switch: Tracepoint,
    /// A process has executed a program, of which no instruction has run yet.
    pub(crate) exec: Tracepoint,
}

impl Rights {
    /// Tries every rung on the CPU `cpu`.
    pub(crate) fn probe(cpu: u32) -> Self {
        let features = probe_features(cpu);
        let trials = Trials::default();
        let try_open =
            |spec: &EventSpec, scope: Scope<'_>| trials.open(spec, features, (scope, cpu));
        let own = Scope::Thread(0);
        let machine = try_open(&trial(Role::SwitchStack, true), Scope::Machine);
        let kernel = try_open(&trial(Role::SwitchStack, true), own);
        let user = try_open(&trial(Role::Accounting, false), own);
        let wakers = waker_points().map_err(Errno::from).and_then(|points| {
            try_open(&tracepoint_trial(&points.waking), Scope::Machine).map(|()| points)
        });
        Self { machine, kernel, user, wakers, features, trials }
    }

    /// These rights without those that only a rung above `highest` needs.
    pub(crate) fn at_most(mut self, highest: Rung) -> Self {
        let unused = || Errno(libc::ECANCELED);
        if highest > Rung::Full {
            self.wakers = Err(unused());
        }
        if highest > Rung::KernelStacks {
            self.kernel = Err(unused());
        }
        if highest > Rung::UserOnly {
            self.user = Err(unused());
            self.machine = Err(unused());
        }
        self
    }

    /// The highest rung that these rights reach.
    pub(crate) fn rung(&self) -> Rung {
        match (&self.user, &self.kernel, &self.wakers) {
            (Err(_), _, _) => Rung::Polling,
            (Ok(()), Err(_), _) => Rung::UserOnly,
            (Ok(()), Ok(()), Err(_)) => Rung::KernelStacks,
            (Ok(()), Ok(()), Ok(_)) => Rung::Full,
        }
    }
}

fn trial(role: Role, kernel: bool) -> EventSpec {
    EventSpec {
        role,
        source: Source::Software(if role == Role::Accounting {
            sys::PERF_COUNT_SW_DUMMY
        } else {
            sys::PERF_COUNT_SW_CONTEXT_SWITCHES
        }),
        rate: Rate::Every(1),
        fields: Fields { callchain: role != Role::Accounting, ..Fields::default() },
        watch: Watch::Target,
        kernel,
        kernel_chain_only: false,
        filter: None,
    }
}

fn tracepoint_trial(point: &Tracepoint) -> EventSpec {
    EventSpec {
        source: Source::Tracepoint(point.id),
        fields: Fields { raw: true, ..Fields::default() },
        watch: Watch::Machine,
        ..trial(Role::WakingThread, true)
    }
}

/// Newer abilities make an old kernel answer EINVAL; each is tried on a harmless event.
fn probe_features(cpu: u32) -> Features {
    let works = |features| {
        let options = AttrOptions { watermark: 1, inherit: false, features };
        let mut attr = trial(Role::Maps, false).attr(options);
        attr.config = u64::from(sys::PERF_COUNT_SW_DUMMY);
        open_event(&mut attr, Scope::Thread(0), cpu).is_ok()
    };
    Features { lost_count: works(Features { lost_count: true }) }
}

/// The inode of the pid namespace that everything starts in (PROC_PID_INIT_INO,
/// include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

fn waker_points() -> io::Result<WakerPoints> {
    // Tracepoints name threads by the host's numbers, everything else by those of our namespace.
    let namespace = std::fs::metadata("/proc/self/ns/pid")?;
    if std::os::unix::fs::MetadataExt::ino(&namespace) != FIRST_PID_NAMESPACE {
        return Err(io::Error::from_raw_os_error(libc::EXDEV));
    }
    let tracefs = Tracefs::open()?;
    let point = |name| tracefs.tracepoint("sched", name);
    Ok(WakerPoints {
        waking: point("sched_waking")?,
        wakeup: point("sched_wakeup")?,
        wakeup_new: point("sched_wakeup_new")?,
        switch: point("sched_switch")?,
        exec: point("sched_process_exec")?,
    })
}

/// What may stand behind a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    /// `kernel.perf_event_paranoid`; none without perf events in the kernel.
    pub(crate) paranoid: Option<i32>,
    /// `kernel.perf_event_max_sample_rate`: no event may be asked for more records a second.
    pub(crate) most_samples: Option<u32>,
    /// True when a seccomp filter is in force, as in most containers.
    pub(crate) seccomp: bool,
    /// True when our effective user is root of its namespace.
    pub(crate) root: bool,
    /// CAP_PERFMON or CAP_SYS_ADMIN is effective (in our own user namespace).
    pub(crate) perfmon: bool,
}

/// Numbers of capabilities, include/uapi/linux/capability.h.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;

impl Limits {
    /// Reads the limits in force for this process.
    pub(crate) fn read() -> Self {
        let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok();
        let most_samples = most.and_then(|text| text.trim().parse().ok());
        Self { most_samples, ..Self::parse(paranoid.as_deref(), &status) }
    }

    fn parse(paranoid: Option<&str>, status: &str) -> Self {
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.strip_prefix(':')).map(str::trim).unwrap_or_default()
        };
        let capabilities = u64::from_str_radix(value("CapEff"), 16).unwrap_or(0);
        let has = |number: u32| capabilities >> number & 1 == 1;
        Self {
            paranoid: paranoid.and_then(|text| text.trim().parse().ok()),
            most_samples: None,
            seccomp: value("Seccomp") == "2",
            root: value("Uid").split_whitespace().nth(1) == Some("0"),
            perfmon: has(CAP_PERFMON) || has(CAP_SYS_ADMIN),
        }
    }
}

/// The CPUs that are online, by number.
///
/// # Errors
/// When sysfs cannot be read.
pub(crate) fn online_cpus() -> Result<Vec<u32>, Error> {
    let path = Path::new("/sys/devices/system/cpu/online");
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(parse_cpu_list(&text))
}

/// `0-3,8,10-11`
fn parse_cpu_list(text: &str) -> Vec<u32> {
    let ranges = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(parse_cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_cpu_list("0\n"), [0]);
        assert_eq!(parse_cpu_list("\n"), Vec::<u32>::new());
    }

    #[test]
    fn limits_are_read_from_the_kernels_files() {
        let status = "Name:\tculprit\nUid:\t0\t0\t0\t0\nCapEff:\t0000004000000000\nSeccomp:\t2\n";
        let limits = Limits::parse(Some("2\n"), status);
        let expected = Limits {
            paranoid: Some(2),
            most_samples: None,
            seccomp: true,
            root: true,
            perfmon: true,
        };
        assert_eq!(limits, expected);
        let user = Limits::parse(None, "Uid:\t1000\t1000\t1000\t1000\nSeccomp:\t0\n");
        assert_eq!(user, Limits::default());
    }
}
