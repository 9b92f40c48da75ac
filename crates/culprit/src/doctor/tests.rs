//! Machines that do not exist, examined.

use super::*;

fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let system = System::at(folder.path());
    (folder, system)
}

fn check(files: &[(&str, &str)], id: &str) -> Check {
    let (_folder, system) = machine(files);
    examine(&system).into_iter().find(|check| check.id == id).unwrap()
}

const USER: (&str, &str) =
    ("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
const ROOT: (&str, &str) =
    ("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
const IN_DOCKER: (&str, &str) =
    ("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n");

#[test]
fn paranoia_degrades_by_its_level_and_names_the_command() {
    let at = |level: &'static str| {
        check(&[USER, ("proc/sys/kernel/perf_event_paranoid", level)], "perf-event-paranoid")
    };
    assert_eq!(at("0\n").state, State::Fine);
    assert_eq!(at("1\n").lift, "sysctl kernel.perf_event_paranoid=0");
    assert_eq!(at("2\n").state, State::Degraded);
    assert_eq!(at("2\n").lift, "sysctl kernel.perf_event_paranoid=1");
    assert_eq!(at("4\n").state, State::Missing);
    let root =
        check(&[ROOT, ("proc/sys/kernel/perf_event_paranoid", "4\n")], "perf-event-paranoid");
    assert_eq!(root.state, State::Fine);
}

#[test]
fn a_container_s_filter_is_seen() {
    assert_eq!(check(&[IN_DOCKER], "seccomp").state, State::Degraded);
    assert_eq!(check(&[ROOT], "seccomp").state, State::Fine);
    assert!(check(&[IN_DOCKER], "capabilities").value.contains("none"));
}

#[test]
fn hidden_kernel_addresses_are_seen() {
    let hidden = "0000000000000000 T _stext\n0000000000000000 T schedule\n";
    assert_eq!(check(&[USER, ("proc/kallsyms", hidden)], "kernel-names").state, State::Degraded);
    let shown = "ffffffff81000000 T _stext\n";
    assert_eq!(check(&[ROOT, ("proc/kallsyms", shown)], "kernel-names").state, State::Fine);
}

#[test]
fn everything_that_is_not_fine_says_what_is_lost_and_how_to_lift_it() {
    for user in [USER, ROOT, IN_DOCKER] {
        let (_folder, system) = machine(&[user]);
        for check in examine(&system) {
            let quiet = check.without.is_empty() && check.lift.is_empty();
            assert_eq!(check.state == State::Fine, quiet, "{check:?}");
            assert!(!check.value.is_empty(), "{check:?}");
        }
    }
}

#[test]
fn probes_take_the_kernels_pmu_and_a_capability() {
    let pmu = ("sys/bus/event_source/devices/uprobe/type", "8\n");
    assert_eq!(check(&[ROOT, pmu], "uprobes").state, State::Fine);
    assert_eq!(check(&[USER, pmu], "uprobes").lift, "run `culprit record` as root");
    assert_eq!(check(&[IN_DOCKER, pmu], "uprobes").lift, "docker run --cap-add SYS_ADMIN");
    assert!(check(&[ROOT], "uprobes").lift.contains("CONFIG_UPROBE_EVENTS"));
}

#[test]
fn tracefs_is_mounted_by_the_recorder_where_it_may() {
    const UNMOUNTED: &str = "not mounted; `culprit record` mounts it by itself as root";
    let root = check(&[ROOT], "tracefs");
    assert_eq!((root.state, &*root.value), (State::Fine, UNMOUNTED));
    let user = check(&[USER], "tracefs");
    assert_eq!((user.state, &*user.value), (State::Degraded, UNMOUNTED));
    assert_eq!(user.lift, "run `culprit record` as root");
    assert_eq!(check(&[IN_DOCKER], "tracefs").lift, "docker run --cap-add SYS_ADMIN");
    let mounted = ("proc/self/mounts", "tracefs /sys/kernel/tracing tracefs rw,nosuid 0 0\n");
    let hidden = check(&[USER, mounted], "tracefs");
    assert_eq!(hidden.value, "mounted, but not readable");
    assert!(hidden.lift.starts_with("sudo mount -o remount"), "{hidden:?}");
    let event = ("sys/kernel/tracing/events/sched/sched_waking/id", "375\n");
    assert_eq!(check(&[USER, mounted, event], "tracefs").value, "/sys/kernel/tracing");
}

#[test]
fn root_is_never_told_to_become_root() {
    for user in [ROOT, IN_DOCKER] {
        let (_folder, system) = machine(&[user]);
        for check in examine(&system) {
            assert!(!check.lift.contains("as root") || check.id == "docker", "{check:?}");
            assert!(!check.lift.contains("sudo"), "{check:?}");
        }
    }
}

#[test]
fn an_engine_that_refuses_the_user_is_not_to_be_started() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, system) = machine(&[USER, ("var/run/x", "")]);
    let docker = || examine(&system).into_iter().find(|check| check.id == "docker").unwrap();
    assert!(docker().lift.contains("systemctl start docker"), "{:?}", docker());
    let socket = folder.path().join("var/run/docker.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(docker().state, State::Fine);
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o0)).unwrap();
    // Root may connect to it all the same.
    if std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(docker().lift.contains("-aG docker") && docker().lift.contains("sudo"));
    }
}

#[test]
fn a_machine_without_counters_says_so_and_is_fine() {
    let without = check(&[ROOT], "hardware-counters");
    assert!(without.state == State::Fine && without.value.contains("none"), "{without:?}");
    let with = check(&[ROOT, ("sys/bus/event_source/devices/cpu_core/type", "4\n")], without.id);
    assert!(with.value.contains("cpu_core"), "{with:?}");
}

#[test]
fn memory_that_yama_protects_keeps_its_names() {
    let scope = |user, level: &'static str| {
        check(&[user, ("proc/sys/kernel/yama/ptrace_scope", level)], "runtimes-memory")
    };
    assert_eq!(check(&[USER], "runtimes-memory").state, State::Fine, "there is no Yama");
    assert_eq!(scope(USER, "0\n").state, State::Fine);
    assert!(scope(USER, "1\n").without.contains("does not start itself"));
    assert!(!scope(USER, "2\n").without.contains("start"));
    assert_eq!(scope(ROOT, "2\n").state, State::Fine);
    assert!(scope(ROOT, "3\n").without.contains("even for root"));
}
