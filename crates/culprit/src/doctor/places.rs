//! Facts that decide where commands can be run.

use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;

use super::{Check, State, System};

/// Which cgroup hierarchies there are, and whether one takes perf events.
pub(super) fn cgroups(system: &System) -> Check {
    const ID: &str = "cgroups";
    let mounts = system.text("/proc/self/mounts").unwrap_or_default();
    let of = |kind: &str| {
        mounts.lines().filter(move |line| line.split(' ').nth(2) == Some(kind)).count()
    };
    let mode = match (of("cgroup2"), of("cgroup")) {
        (0, 0) => {
            return Check::not(
                State::Degraded,
                ID,
                "none is mounted",
                "recording a command from its first instruction and whole containers; process trees work",
                "mount -t cgroup2 none /sys/fs/cgroup",
            );
        }
        (_, 0) => "v2",
        (0, _) => "v1",
        _ => "v1 and v2 (hybrid)",
    };
    if system.is_root() {
        return Check::fine(ID, mode);
    }
    Check::not(
        State::Degraded,
        ID,
        mode,
        "a cgroup of our own: commands are recorded as process trees",
        "run as root, or have systemd delegate: systemd-run --user --scope -p Delegate=yes culprit ...",
    )
}

/// What the sandbox of an ordinary user is built from.
pub(super) fn user_namespaces(system: &System) -> Check {
    const ID: &str = "user-namespaces";
    const WITHOUT: &str = "the sandbox for ordinary users";
    if system.is_root() && system.capable(21) {
        return Check::fine(ID, "not needed by root");
    }
    let off = |path: &str, refuses: i64| system.number(path) == Some(refuses);
    if off("/proc/sys/user/max_user_namespaces", 0) {
        return Check::not(
            State::Missing,
            ID,
            "none allowed",
            WITHOUT,
            "sysctl user.max_user_namespaces=15000",
        );
    }
    if off("/proc/sys/kernel/unprivileged_userns_clone", 0) {
        return Check::not(
            State::Missing,
            ID,
            "only for root",
            WITHOUT,
            "sysctl kernel.unprivileged_userns_clone=1",
        );
    }
    if off("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1) {
        return Check::not(
            State::Missing,
            ID,
            "restricted by AppArmor",
            WITHOUT,
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        );
    }
    Check::fine(ID, "allowed")
}

/// The file system that the sandbox lays over the host.
pub(super) fn overlay(system: &System) -> Check {
    const ID: &str = "overlayfs";
    let known = system.text("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.split_whitespace().last() == Some("overlay")) {
        return Check::fine(ID, "known to the kernel");
    }
    Check::not(State::Missing, ID, "not known to the kernel", "the sandbox", "modprobe overlay")
}

/// Whether Docker answers.
pub(super) fn docker(system: &System) -> Check {
    engine(
        system,
        "docker",
        "/var/run/docker.sock",
        "places of docker",
        "systemctl start docker (or `dockerd &` as root)",
    )
}

/// Whether Podman answers.
pub(super) fn podman(system: &System) -> Check {
    engine(
        system,
        "podman",
        "/run/podman/podman.sock",
        "places of podman",
        "systemctl start podman.socket",
    )
}

fn engine(
    system: &System,
    id: &'static str,
    socket: &str,
    without: &'static str,
    lift: &'static str,
) -> Check {
    let path = system.path(socket);
    let is_socket = std::fs::metadata(&path).is_ok_and(|file| file.file_type().is_socket());
    if !is_socket {
        return Check::not(State::Missing, id, format!("no socket at {socket}"), without, lift);
    }
    match UnixStream::connect(&path) {
        Ok(_) => Check::fine(id, format!("listens at {socket}")),
        Err(error) => Check::not(State::Missing, id, format!("{socket}: {error}"), without, lift),
    }
}
