//! What `/proc` tells about processes and threads, as typed values.
//!
//! One function a file of `/proc`, one struct an answer; `proc(5)` names the fields. A process may
//! end between two calls, so every answer may be [`Error::NoProcess`]; lists leave out what ended
//! while they were made.

mod beneath;
mod cpus;
mod machine;
mod maps;
mod memory;
mod origin;
mod root;
mod socket;
mod stat;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use culprit_model::{Pid, Tid};

use crate::error::{Error, Result};

pub use beneath::{
    EntryKind, entry_beneath, is_open_to_all, link_beneath, names_beneath, open_beneath,
};
pub use cpus::allowed_cpus;
pub use machine::{Machine, machine, queues};
pub use maps::{Mapping, maps};
pub use memory::memory;
pub use origin::{executable, in_namespace_of, started_since_epoch, work_folder};
pub use root::{
    born_in, folder_in_root, names_in, open_in_root, remove_from, root_of, work_folder_of,
};
pub(crate) use root::{can_write, is_open};
pub use socket::connect_in;
pub use stat::{SchedStat, Stat, State, ThreadState, schedstat, start_time, stat, thread_stat};
pub use tree::{children, processes, thread_count, threads, tree, with_threads};

/// Reads a file that the kernel writes while it is read. It has no size to ask for, and each call costs
/// about as much as the text: the first one is given room for all that most of them have.
pub(crate) fn whole(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes, mut filled) = (File::open(path)?, vec![0; 4096], 0);
    loop {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The same as text.
pub(crate) fn text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(whole(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a file of `/proc/PID`.
pub(crate) fn read(pid: Pid, file: &str) -> Result<Vec<u8>> {
    let path = format!("/proc/{pid}/{file}");
    whole(&path).map_err(|e| gone(pid, path, e))
}

/// A process that ended shows as a missing file, or as ESRCH from one that was open.
pub(crate) fn gone(pid: Pid, path: String, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) {
        Error::NoProcess { pid }
    } else {
        Error::file("read", path, error)
    }
}

fn thread_file(pid: Pid, tid: Tid, file: &str) -> Result<Vec<u8>> {
    read(pid, &format!("task/{tid}/{file}"))
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned()
}

/// A thread's name, at most 15 bytes.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn comm(pid: Pid, tid: Tid) -> Result<String> {
    thread_file(pid, tid, "comm").map(|b| trimmed(&b))
}

/// A process's arguments; empty for kernel threads and the dead.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn command_line(pid: Pid) -> Result<Vec<String>> {
    let bytes = read(pid, "cmdline")?;
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    Ok(bytes.split(|b| *b == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect())
}

/// The environment with which a process's program was executed; empty for kernel threads, the dead, and
/// while a program is being loaded (`/proc/PID/environ`). What the program changed later is not in it.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] where we may not look.
pub fn environment(pid: Pid) -> Result<Vec<(OsString, OsString)>> {
    let bytes = read(pid, "environ")?;
    let lines = bytes.split(|b| *b == 0).filter(|line| !line.is_empty());
    let split = |line: &[u8]| {
        let at = line.iter().position(|b| *b == b'=')?;
        let text = |part: &[u8]| OsString::from_vec(part.to_vec());
        Some((text(&line[..at]), text(&line[at + 1..])))
    };
    Ok(lines.filter_map(split).collect())
}

/// The kernel function in which a thread waits; `None` while it runs or where it is not shown
/// (`/proc/PID/task/TID/wchan`).
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn wait_channel(pid: Pid, tid: Tid) -> Result<Option<String>> {
    let name = trimmed(&thread_file(pid, tid, "wchan")?);
    Ok(Some(name).filter(|n| !n.is_empty() && n != "0"))
}

/// The number of the system call that a thread is blocked in; `None` while it runs or is blocked
/// outside a system call (`/proc/PID/task/TID/syscall`).
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] where tracing it is not allowed.
pub fn current_syscall(pid: Pid, tid: Tid) -> Result<Option<u32>> {
    let text = trimmed(&thread_file(pid, tid, "syscall")?);
    Ok(text.split(' ').next().and_then(|n| n.parse().ok()))
}

/// Stack pointer and instruction pointer in user space of a thread that is blocked; `None` while it runs
/// (`/proc/PID/task/TID/syscall`).
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] where tracing it is not allowed.
pub fn blocked_at(pid: Pid, tid: Tid) -> Result<Option<(u64, u64)>> {
    let text = trimmed(&thread_file(pid, tid, "syscall")?);
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut last = text.rsplit(' ').map(hex);
    let (instruction, stack) = (last.next().flatten(), last.next().flatten());
    Ok(stack.zip(instruction))
}

/// The text of `/proc/PID/status`.
pub(crate) fn status(pid: Pid) -> Result<String> {
    Ok(trimmed(&read(pid, "status")?))
}

/// The value of a line `key:\tvalue` of `/proc/PID/status`.
pub(crate) fn status_field(pid: Pid, key: &str) -> Result<Option<String>> {
    Ok(status(pid)?
        .lines()
        .find_map(|l| l.strip_prefix(key)?.strip_prefix(':').map(|v| v.trim().to_owned())))
}

/// A process's number in each pid namespace that it lives in, ours first, its own last.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended.
pub fn namespace_pids(pid: Pid) -> Result<Vec<Pid>> {
    let field = status_field(pid, "NSpid")?.unwrap_or_default();
    Ok(field.split_ascii_whitespace().filter_map(|n| n.parse().ok()).map(Pid).collect())
}

#[cfg(test)]
mod tests {
    use super::{
        Pid, Tid, blocked_at, comm, command_line, current_syscall, environment, namespace_pids,
        stat, wait_channel,
    };
    use crate::error::Error;

    fn us() -> Pid {
        Pid(std::process::id())
    }

    #[test]
    fn we_see_ourselves() {
        assert!(command_line(us()).unwrap()[0].contains("culprit_place"));
        assert_eq!(namespace_pids(us()).unwrap()[0], us());
        let name = comm(us(), Tid(us().0)).unwrap();
        assert_eq!(name, stat(us()).unwrap().comm);
        let path = environment(us()).unwrap().into_iter().find(|(name, _)| name == "PATH");
        assert_eq!(path.map(|(_, value)| value), std::env::var_os("PATH"));
        assert!(wait_channel(us(), Tid(us().0)).is_ok());
        assert!(current_syscall(us(), Tid(us().0)).is_ok());
        assert!(blocked_at(us(), Tid(us().0)).is_ok());
    }

    #[test]
    fn a_process_that_is_not_there_is_called_so() {
        let nobody = Pid(u32::MAX);
        assert!(matches!(stat(nobody), Err(Error::NoProcess { pid }) if pid == nobody));
        assert!(matches!(command_line(nobody), Err(Error::NoProcess { .. })));
    }
}
