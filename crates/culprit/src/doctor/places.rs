//! Facts that decide where commands can be run.

use std::io::ErrorKind;
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
                "not mounted",
                "recordings of containers, and of commands from their first instruction; Culprit \
                 can still record process trees",
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
        "a separate cgroup for a recorded command; Culprit records its process tree instead",
        "run as root, or let systemd delegate a cgroup: systemd-run --user --scope -p \
         Delegate=yes culprit ...",
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
            "disabled",
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
        return Check::fine(ID, "available");
    }
    Check::not(State::Missing, ID, "the kernel has no overlayfs", "the sandbox", "modprobe overlay")
}

/// Whether Docker answers.
pub(super) fn docker(system: &System) -> Check {
    engine(
        system,
        "docker",
        "/var/run/docker.sock",
        "places of docker",
        "systemctl start docker (or `dockerd &` as root)",
        "sudo usermod -aG docker $USER, then log in again; or use sudo",
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
        "use sudo",
    )
}

/// `start` starts an engine that does not run; `access` opens one that refuses this user.
fn engine(
    system: &System,
    id: &'static str,
    socket: &str,
    without: &'static str,
    start: &'static str,
    access: &'static str,
) -> Check {
    let path = system.path(socket);
    let answer = match std::fs::metadata(&path) {
        Ok(file) if file.file_type().is_socket() => UnixStream::connect(&path).map(|_| ()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        _ => {
            let value = format!("no socket at {socket}");
            return Check::not(State::Missing, id, value, without, start);
        }
    };
    match answer {
        Ok(()) => Check::fine(id, format!("answers at {socket}")),
        Err(error) => {
            let denied = error.kind() == ErrorKind::PermissionDenied;
            let lift = if denied { access } else { start };
            Check::not(State::Missing, id, format!("{socket}: {error}"), without, lift)
        }
    }
}
