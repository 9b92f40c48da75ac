//! The child's side of a sandbox: namespaces, mounts, loopback, and a life as pid 1. Only system
//! calls here, for the same reason as in [`super::child`].
//!
//! Pid 1 runs no program: it reads from a pipe whose other end is ours. When we are killed the
//! pipe ends; it then waits until no command is left in the sandbox, and ends itself, with which
//! the kernel takes the namespaces and mounts away. `pid_namespaces(7)`.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::child::{at, clone_sibling, fail, last_error, leave, say, unshare};
use super::first::{Namespaces, UserMap};
use super::report::{Report, Stage};
use crate::sandbox::{Outcome, Step};

type Done = Result<(), (Stage, Errno)>;

/// The pipe ends that it talks through.
pub(super) struct Ends<'a> {
    pub(super) lifeline: BorrowedFd<'a>,
    pub(super) report: BorrowedFd<'a>,
}

/// Makes the namespaces and, in them, pid 1 as a child of our parent.
pub(super) fn make(namespaces: &Namespaces, steps: &[Step], ends: &Ends<'_>) -> ! {
    let made = isolate(namespaces).and_then(|()| at(Stage::Prepare, clone_sibling()));
    match made {
        Ok(None) => live(steps, ends),
        Ok(Some(pid)) => {
            say(ends.report, Report::Born(pid));
            leave(0)
        }
        Err(failure) => fail(ends.report, failure),
    }
}

fn isolate(namespaces: &Namespaces) -> Done {
    at(Stage::Isolate, unshare(namespaces.unshare_flags()))?;
    match &namespaces.user {
        None => Ok(()),
        Some(user) => at(Stage::Isolate, map_users(user)),
    }
}

/// `user_namespaces(7)`: without privilege outside, only our own numbers can be mapped, and groups
/// only after giving up setgroups.
fn map_users(user: &UserMap) -> rustix::io::Result<()> {
    write_to(c"/proc/self/setgroups", b"deny")?;
    write_to(c"/proc/self/uid_map", user.uid_map.as_bytes())?;
    write_to(c"/proc/self/gid_map", user.gid_map.as_bytes())
}

fn write_to(file: &CStr, text: &[u8]) -> rustix::io::Result<()> {
    let file = rustix::fs::open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text).map(drop)
}

fn live(steps: &[Step], ends: &Ends<'_>) -> ! {
    // Modes of folders in the new root are meant as planned.
    rustix::process::umask(Mode::empty());
    if let Err(report) = run(steps, ends) {
        say(ends.report, report);
        leave(127)
    }
    match at(Stage::Network, raise_loopback()).and_then(|()| at(Stage::Prepare, detach(ends))) {
        Ok(()) => say(ends.report, Report::Ready),
        Err(failure) => fail(ends.report, failure),
    }
    close_range(ends.report.as_raw_fd(), ends.report.as_raw_fd());
    stay(ends.lifeline)
}

fn run(steps: &[Step], ends: &Ends<'_>) -> Result<(), Report> {
    for (i, step) in (0..).zip(steps) {
        match step.run() {
            Ok(Outcome::Done) => {}
            Ok(Outcome::ReadOnly(why)) => {
                say(ends.report, Report::ReadOnly(i, why.raw_os_error()));
            }
            Ok(Outcome::LeftOut(why)) => say(ends.report, Report::LeftOut(i, why.raw_os_error())),
            Err(errno) => return Err(Report::Refused(i, errno.raw_os_error())),
        }
    }
    Ok(())
}

/// `netdevice(7)`: sets the flags of the interface `lo`.
fn raise_loopback() -> rustix::io::Result<()> {
    let zeroed = MaybeUninit::<libc::ifreq>::zeroed();
    // SAFETY: zeroed is a valid value of this plain structure.
    let mut request = unsafe { zeroed.assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = from.cast_signed();
    }
    let flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING);
    request.ifr_ifru.ifru_flags = flags.map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: making a socket touches no memory of ours.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(last_error());
    }
    // SAFETY: the request is the structure that this call reads.
    let result = unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request) };
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

/// Lets go of everything that was ours: the terminal, the standard streams, all descriptors but
/// the two pipes (our end of the lifeline among them). Held pipes and sockets would otherwise never end for those at the other side.
fn detach(ends: &Ends<'_>) -> rustix::io::Result<()> {
    rustix::process::setsid()?;
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let (a, b) = (ends.lifeline.as_raw_fd(), ends.report.as_raw_fd());
    let (low, high) = (a.min(b), a.max(b));
    close_range(3, low - 1);
    close_range(low + 1, high - 1);
    close_range(high + 1, RawFd::MAX);
    rustix::thread::set_name(c"culprit-sandbox")
}

/// Closes these descriptors, both ends included; none when the range is empty.
fn close_range(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: the process uses none of them afterwards.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

fn stay(lifeline: BorrowedFd<'_>) -> ! {
    // Orphans of the sandbox become our children; ignored, the kernel reaps them itself.
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    while !matches!(rustix::io::read(lifeline, &mut [0]), Ok(0)) {}
    // Twenty times a second is soon enough for nobody, and costs a few microseconds.
    let pause = rustix::thread::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    while !alone() {
        let _cut_short_is_fine = rustix::thread::nanosleep(&pause);
    }
    leave(0)
}

/// Whether pid 1 is the only process of its pid namespace: `kill(2)` of -1 spares the caller.
fn alone() -> bool {
    // SAFETY: signal 0 is sent to nobody.
    let result = unsafe { libc::kill(-1, 0) };
    result < 0 && last_error() == Errno::SRCH
}
