//! Facts that decide what may be recorded.

use super::{Check, State, System};

/// Capability numbers, include/uapi/linux/capability.h.
const IPC_LOCK: u32 = 14;
pub(super) const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;
const SYSLOG: u32 = 34;
const PERFMON: u32 = 38;

/// Ring memory a CPU that makes losses unlikely, KiB: 8 MiB rings kept 130,000 switches a second
/// without a loss (RECORDING, "Costs").
const RING_KIB: i64 = 8192;

/// Gives the capabilities to the program.
const SETCAP: &str = "sudo setcap \
                      cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock,cap_dac_read_search+ep \
                      $(command -v culprit)";
/// Root without capabilities is root of a container: the engine gives them.
const RUN_WITH_ALL: &str =
    "docker run --cap-add PERFMON --cap-add SYS_PTRACE --cap-add SYSLOG --cap-add IPC_LOCK";
const RUN_WITH_ADMIN: &str = "docker run --cap-add SYS_ADMIN";

fn may_perfmon(system: &System) -> bool {
    system.capable(PERFMON) || system.capable(SYS_ADMIN)
}

/// `kernel.perf_event_paranoid`.
pub(super) fn paranoid(system: &System) -> Check {
    const ID: &str = "perf-event-paranoid";
    const LIFT: &str = "sysctl kernel.perf_event_paranoid=1";
    let Some(level) = system.number("/proc/sys/kernel/perf_event_paranoid") else {
        return Check::not(
            State::Missing,
            ID,
            "no perf events in this kernel",
            "call stacks, and times more exact than 10 ms: Culprit can only poll thread states in \
             /proc",
            "boot a kernel with CONFIG_PERF_EVENTS",
        );
    };
    match level {
        _ if may_perfmon(system) => {
            Check::fine(ID, format!("{level}, and CAP_PERFMON overrides it"))
        }
        ..=0 => Check::fine(ID, level.to_string()),
        1 => Check::not(
            State::Degraded,
            ID,
            "1",
            "wakers outside the recorded threads, recordings of the whole machine and of \
             containers",
            "sysctl kernel.perf_event_paranoid=0",
        ),
        2 => Check::not(
            State::Degraded,
            ID,
            "2",
            "kernel stacks; Culprit polls /proc for the reasons of waits",
            LIFT,
        ),
        level => Check::not(
            State::Missing,
            ID,
            level.to_string(),
            "perf events for ordinary users",
            LIFT,
        ),
    }
}

/// Capabilities that matter.
pub(super) fn capabilities(system: &System) -> Check {
    const ID: &str = "capabilities";
    let wanted = [
        ("PERFMON", PERFMON),
        ("SYS_PTRACE", SYS_PTRACE),
        ("SYSLOG", SYSLOG),
        ("IPC_LOCK", IPC_LOCK),
    ];
    let has = |number| system.capable(number) || system.capable(SYS_ADMIN) && number == PERFMON;
    let (held, missing): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|(_, number)| has(*number));
    let names =
        |list: &[(&str, u32)]| list.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if missing.is_empty() {
        return Check::fine(ID, names(&held));
    }
    let value = if held.is_empty() { "none".to_owned() } else { format!("only {}", names(&held)) };
    Check::not(
        State::Degraded,
        ID,
        value,
        "PERFMON: other processes and the kernel; SYS_PTRACE: other users' files; SYSLOG: kernel names; IPC_LOCK: large rings",
        if system.is_root() { RUN_WITH_ALL } else { SETCAP },
    )
}

/// A filter on system calls, as container engines set one.
pub(super) fn seccomp(system: &System) -> Check {
    const ID: &str = "seccomp";
    match system.status("Seccomp").as_deref() {
        Some("0") | None => Check::fine(ID, "off"),
        _ => Check::not(
            State::Degraded,
            ID,
            "a filter is active",
            "perf events: the default filter of container engines refuses perf_event_open",
            "docker run --cap-add PERFMON (newer engines) or --security-opt seccomp=unconfined",
        ),
    }
}

/// The tracepoints of the scheduler.
pub(super) fn tracefs(system: &System) -> Check {
    const ID: &str = "tracefs";
    const EVENT: &str = "events/sched/sched_waking/id";
    const UNMOUNTED: &str = "not mounted; `culprit record` mounts it by itself as root";
    const WITHOUT: &str = "which thread woke which";
    for mount in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        if system.readable(&format!("{mount}/{EVENT}")) {
            return Check::fine(ID, mount);
        }
    }
    let mounts = system.text("/proc/self/mounts").unwrap_or_default();
    let is_mounted = mounts.lines().any(|line| line.split(' ').nth(2) == Some("tracefs"));
    match (is_mounted, system.capable(SYS_ADMIN)) {
        (false, true) => Check::fine(ID, UNMOUNTED),
        (false, false) => {
            let lift =
                if system.is_root() { RUN_WITH_ADMIN } else { "run `culprit record` as root" };
            Check::not(State::Degraded, ID, UNMOUNTED, WITHOUT, lift)
        }
        (true, _) => Check::not(
            State::Degraded,
            ID,
            "mounted, but not readable",
            WITHOUT,
            if system.is_root() {
                "mount -o remount,mode=755 /sys/kernel/tracing"
            } else {
                "sudo mount -o remount,mode=755 /sys/kernel/tracing"
            },
        ),
    }
}

/// Probes in programs.
pub(super) fn uprobes(system: &System) -> Check {
    const ID: &str = "uprobes";
    const WITHOUT: &str =
        "memory allocations (`record --alloc`), calls of named functions (`record --activity`)";
    if !system.readable("/sys/bus/event_source/devices/uprobe/type") {
        let lift = "boot a kernel with CONFIG_UPROBE_EVENTS";
        return Check::not(State::Degraded, ID, "not in this kernel", WITHOUT, lift);
    }
    if system.capable(SYS_ADMIN) {
        return Check::fine(ID, "allowed");
    }
    let lift = if system.is_root() { RUN_WITH_ADMIN } else { "run `culprit record` as root" };
    Check::not(State::Degraded, ID, "CAP_SYS_ADMIN is missing", WITHOUT, lift)
}

/// The processor's counters. Not having them is the rule in virtual machines, and takes nothing away
/// that is recorded unasked.
pub(super) fn counters(system: &System) -> Check {
    const ID: &str = "hardware-counters";
    // Of x86; of x86 with two kinds of cores; of ARM (any of its models).
    let known = ["cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0"];
    let there =
        |name: &&str| system.readable(&format!("/sys/bus/event_source/devices/{name}/type"));
    match known.into_iter().find(there) {
        Some(name) => Check::fine(ID, format!("available (`{name}`)")),
        None => Check::fine(ID, "none on this machine; `record --counters` records nothing"),
    }
}

/// Whether kernel addresses get names.
pub(super) fn kernel_names(system: &System) -> Check {
    const ID: &str = "kernel-names";
    let shown = system.text("/proc/kallsyms").is_some_and(|text| {
        // Without the right every address is printed as zeros.
        text.lines().take(64).any(|line| !line.starts_with("0000000000000000"))
    });
    let restrict = system.number("/proc/sys/kernel/kptr_restrict").unwrap_or(-1);
    if shown {
        return Check::fine(ID, format!("/proc/kallsyms has addresses, kptr_restrict {restrict}"));
    }
    Check::not(
        State::Degraded,
        ID,
        format!("/proc/kallsyms has no addresses, kptr_restrict {restrict}"),
        "names of kernel functions and the reasons of waits",
        "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1",
    )
}

/// Memory that rings may lock.
pub(super) fn locked_memory(system: &System) -> Check {
    const ID: &str = "locked-memory";
    let free = system.number("/proc/sys/kernel/perf_event_mlock_kb").unwrap_or(0);
    if system.capable(IPC_LOCK) {
        return Check::fine(ID, "unlimited");
    }
    let limit = system.text("/proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
        Some(line.split_whitespace().next()?.to_owned())
    });
    let own = limit
        .as_deref()
        .and_then(|text| text.parse::<i64>().ok())
        .map_or(i64::MAX, |bytes| bytes / 1024);
    let value = format!(
        "{free} KiB per CPU; user limit in bytes: {}",
        limit.as_deref().unwrap_or("unknown")
    );
    if free.saturating_add(own) >= RING_KIB {
        return Check::fine(ID, value);
    }
    Check::not(
        State::Degraded,
        ID,
        value,
        "large rings: above about 10,000 context switches per second, records may be lost",
        "sysctl kernel.perf_event_mlock_kb=16384",
    )
}

/// The kernel's bound on sampling.
pub(super) fn sample_rate(system: &System) -> Check {
    const ID: &str = "sample-rate";
    match system.number("/proc/sys/kernel/perf_event_max_sample_rate") {
        None => Check::fine(ID, "unknown"),
        Some(rate) if rate >= 2000 => Check::fine(ID, format!("at most {rate} samples per second")),
        Some(rate) => Check::not(
            State::Degraded,
            ID,
            format!("at most {rate} samples per second"),
            "short functions in the CPU samples",
            "sysctl kernel.perf_event_max_sample_rate=100000",
        ),
    }
}

/// The kernel's own accounting, against which recordings are checked.
pub(super) fn schedstat(system: &System) -> Check {
    const ID: &str = "schedstat";
    if system.readable("/proc/self/schedstat") {
        return Check::fine(ID, "available");
    }
    Check::not(
        State::Degraded,
        ID,
        "no /proc/PID/schedstat",
        "the check of recorded CPU time against the kernel's own accounting",
        "boot a kernel with CONFIG_SCHED_INFO",
    )
}

/// The kernel's types, by which registers of waiting threads are read.
pub(super) fn btf(system: &System) -> Check {
    const ID: &str = "btf";
    let there = system.readable("/sys/kernel/btf/vmlinux");
    // Only callers of waits that began before a recording are found by it, and not all of them.
    let missing = "missing: waits that began before a recording may lack callers";
    Check::fine(ID, if there { "available" } else { missing })
}
