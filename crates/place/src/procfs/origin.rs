//! When a process began, and which processes share its pid namespace.

use std::path::PathBuf;
use std::time::Duration;

use culprit_model::Pid;

use super::{gone, processes, start_time, text};
use crate::error::{Error, Result};

/// When a process started, as time since 1970, to about a second: the kernel keeps the time of its boot in
/// whole seconds (`btime` in `/proc/stat`).
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn started_since_epoch(pid: Pid) -> Result<Duration> {
    let path = "/proc/stat";
    let stat = text(path).map_err(|error| Error::file("read", path, error))?;
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
    let boot = boot.ok_or(Error::Kernel { path: path.to_owned(), why: "a line `btime`" })?;
    Ok(Duration::from_secs(boot) + start_time(pid)?)
}

/// The file that a process executes, as its root names it.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] where we may not look.
pub fn executable(pid: Pid) -> Result<PathBuf> {
    link(pid, "exe")
}

/// The working folder of a process, as its root names it.
///
/// # Errors
/// As [`executable`].
pub fn work_folder(pid: Pid) -> Result<PathBuf> {
    link(pid, "cwd")
}

fn link(pid: Pid, name: &str) -> Result<PathBuf> {
    let path = format!("/proc/{pid}/{name}");
    std::fs::read_link(&path).map_err(|error| gone(pid, path, error))
}

/// The processes that live in the same pid namespace as a process, by number: all of a container, also
/// those that were started in it from outside.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] where we may not look.
pub fn in_namespace_of(pid: Pid) -> Result<Vec<Pid>> {
    let own = link(pid, "ns/pid")?;
    let same = |other: &Pid| link(*other, "ns/pid").is_ok_and(|namespace| namespace == own);
    Ok(processes()?.into_iter().filter(same).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_origin_is_known() {
        let us = Pid(std::process::id());
        // Since 2020.
        assert!(started_since_epoch(us).unwrap() > Duration::from_secs(1_577_836_800));
        assert_eq!(executable(us).unwrap(), std::env::current_exe().unwrap());
        assert_eq!(work_folder(us).unwrap(), std::env::current_dir().unwrap());
        assert!(in_namespace_of(us).unwrap().contains(&us));
        assert!(matches!(executable(Pid(u32::MAX)), Err(Error::NoProcess { .. })));
    }
}
