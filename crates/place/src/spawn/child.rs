//! The child's side, from its birth to exec. Only system calls here: the parent may have had other
//! threads that held locks (the allocator's among them) when it forked (`signal-safety(7)`), and a
//! child in lent memory must leave no trace there.
//!
//! rustix calls are plain system calls without allocation when given `CStr` paths; libc is used
//! where rustix has no form of the call.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use culprit_model::Pid;
use rustix::fs::Access;
use rustix::io::Errno;
use rustix::process::Signal as Number;
use rustix::thread::UnshareFlags;

use super::report::{Report, Stage};
use super::{Inside, Launch};
use crate::command::{Group, Signal};

/// The pipe ends that the child talks through.
#[derive(Debug)]
pub(super) struct Ends<'a> {
    pub(super) release: BorrowedFd<'a>,
    /// The parent's end of the release pipe: closed first, else we would keep ourselves waiting
    /// after the parent's death.
    pub(super) release_out: BorrowedFd<'a>,
    pub(super) report: BorrowedFd<'a>,
}

/// What went wrong, where.
pub(super) type Step<T> = Result<T, (Stage, Errno)>;

pub(super) fn at<T>(stage: Stage, result: rustix::io::Result<T>) -> Step<T> {
    result.map_err(|errno| (stage, errno))
}

/// Forks; the child does `job`, which is not expected to come back. All signals are held back
/// meanwhile, so that none of our handlers runs in the child.
pub(super) fn fork(job: impl FnOnce()) -> rustix::io::Result<Pid> {
    let _blocked = SignalsBlocked::now();
    // SAFETY: the child only makes system calls until it execs or exits: `job` is one of this
    // folder's functions, which allocate nothing and take no lock.
    match unsafe { libc::fork() } {
        -1 => Err(last_error()),
        0 => {
            job();
            leave(127)
        }
        pid => Ok(Pid(pid.unsigned_abs())),
    }
}

/// Room for the child's calls: they are few, and none of them keeps more than some hundred bytes.
const STACK: usize = 64 << 10;
/// A thread that calls [`lend`] needs this much stack: the child's and its own.
pub(super) const LENDER_STACK: usize = 3 * STACK;

/// The child's stack, in the lender's.
#[repr(align(16))]
struct Stack([MaybeUninit<u8>; STACK]);

/// Lends this thread's memory to a child that does `job`, which is not expected to come back. The
/// thread stands still until the child executes a program or ends, so that the child has its stack,
/// its `errno` and whatever else is a thread's own for itself; signals are held back as in [`fork`].
///
/// Nothing is copied for such a child, and its exec takes no memory down. `vfork(2)`; it is what
/// `posix_spawn(3)` does.
pub(super) fn lend(job: &dyn Fn()) -> rustix::io::Result<Pid> {
    extern "C" fn enter(job: *mut c_void) -> c_int {
        // SAFETY: it is the address of `lend`'s argument, which stands still until we are gone.
        let job = unsafe { *job.cast::<&dyn Fn()>() };
        job();
        leave(127)
    }
    let _blocked = SignalsBlocked::now();
    let mut stack = Stack([const { MaybeUninit::uninit() }; STACK]);
    let (mut job, flags) = (job, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD);
    let (top, job) = (stack.0.as_mut_ptr_range().end.cast(), (&raw mut job).cast());
    // SAFETY: the child has a stack of its own, aligned and alive as long as it runs in our memory,
    // of which this thread uses nothing meanwhile; what it reads of others' nobody changes.
    match unsafe { libc::clone(enter, top, flags, job) } {
        -1 => Err(last_error()),
        pid => Ok(Pid(pid.unsigned_abs())),
    }
}

/// From the birth to the command, by way of the place's namespaces where it has any.
pub(super) fn run(launch: &Launch<'_>, ends: &Ends<'_>) -> ! {
    if let Some(inside) = launch.inside {
        go_between(inside, launch, ends)
    }
    let ours = rustix::process::getpid().as_raw_nonzero().get();
    say(ends.report, Report::Born(Pid(ours.unsigned_abs())));
    become_command(launch, ends)
}

/// Enters the namespaces and makes the process that will run the command, as a child of our
/// parent, not of ours: so the parent has its status first hand. (A pid namespace is entered only
/// by children made afterwards: `setns(2)`; runc does the same.)
fn go_between(inside: Inside<'_>, launch: &Launch<'_>, ends: &Ends<'_>) -> ! {
    let entered =
        at(Stage::Enter, rustix::thread::move_into_thread_name_spaces(inside.of, inside.which));
    let made = entered.and_then(|()| at(Stage::Prepare, clone_sibling()));
    match made {
        Ok(None) => become_command(launch, ends),
        Ok(Some(pid)) => {
            say(ends.report, Report::Born(pid));
            leave(0)
        }
        Err(failure) => fail(ends.report, failure),
    }
}

fn become_command(launch: &Launch<'_>, ends: &Ends<'_>) -> ! {
    let failure = match set_up(launch, ends) {
        Ok(()) => execute(launch, ends),
        Err(failure) => failure,
    };
    fail(ends.report, failure)
}

fn set_up(launch: &Launch<'_>, ends: &Ends<'_>) -> Step<()> {
    close(ends.release_out);
    for (target, source) in (0..).zip(launch.stdio) {
        if let Some(source) = source {
            at(Stage::Prepare, duplicate(source, target))?;
        }
    }
    if launch.group == Group::Own {
        at(Stage::Prepare, rustix::process::setpgid(None, None))?;
    }
    if let Some(dir) = &launch.program.dir {
        at(Stage::Directory, rustix::process::chdir(dir.as_c_str()))?;
    }
    default_signals();
    say(ends.report, Report::Ready);
    Ok(())
}

/// Waits for the word and becomes the program. An end of file instead of the word means that the
/// parent is gone: then the command never runs. Comes back only with a failure.
fn execute(launch: &Launch<'_>, ends: &Ends<'_>) -> (Stage, Errno) {
    let mut word = [0];
    loop {
        match rustix::io::read(ends.release, &mut word) {
            Ok(0) => leave(0),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return (Stage::Prepare, errno),
        }
    }
    if launch.inside.is_some() {
        // Now that the caller has put us into a cgroup, let it look like the root from within.
        // Refused without consequence where the namespace is not to be had.
        let _cosmetic = unshare(UnshareFlags::NEWCGROUP);
    }
    let program = &launch.program;
    // A file that may not be executed is told only when no later folder has one that may; a folder
    // that may not even be searched is as good as one without the program.
    let mut result = Errno::NOENT;
    for file in &program.candidates {
        match exec(file, launch) {
            Errno::NOENT | Errno::NOTDIR => {}
            Errno::ACCESS if rustix::fs::access(file.as_c_str(), Access::EXISTS).is_ok() => {
                result = Errno::ACCESS;
            }
            Errno::ACCESS if program.candidates.len() > 1 => {}
            other => return (Stage::Execute, other),
        }
    }
    (Stage::Execute, result)
}

fn exec(file: &CStr, launch: &Launch<'_>) -> Errno {
    let (argv, envp) = (launch.program.argv.as_ptr(), launch.program.envp.as_ptr());
    // SAFETY: both lists end with a null pointer and live as long as the borrowed program.
    unsafe { libc::execve(file.as_ptr(), argv, envp) };
    last_error()
}

/// Makes a copy of this process whose parent is our parent. `None` in the copy.
pub(super) fn clone_sibling() -> rustix::io::Result<Option<Pid>> {
    let flags = c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is a fork: both sides go on with their
    // own copy of everything. The process is single-threaded (it is itself fresh from a fork).
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match u32::try_from(pid) {
        Err(_) => Err(last_error()),
        Ok(0) => Ok(None),
        Ok(pid) => Ok(Some(Pid(pid))),
    }
}

/// Gives this process namespaces of its own.
pub(super) fn unshare(namespaces: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: what is asked for are namespaces only, which share no memory and no descriptors, and
    // the process has one thread.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }
}

/// Handlers of ours must not run in the child while it waits; what is ignored stays ignored (that
/// is how nohup works), but for SIGPIPE, which the Rust runtime ignores for itself.
fn default_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: `old` is large enough; asking changes nothing. Some numbers are glibc's own and
        // give an error, then `old` stays zeroed, which reads as the default action.
        unsafe { libc::sigaction(signal, ptr::null(), old.as_mut_ptr()) };
        // SAFETY: zeroed is a valid value of this plain structure.
        let old = unsafe { old.assume_init() };
        if signal == libc::SIGPIPE || ![libc::SIG_DFL, libc::SIG_IGN].contains(&old.sa_sigaction) {
            // SAFETY: the default action touches no memory of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    set_mask(libc::SIG_SETMASK, &no_signals());
}

fn no_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the pointer is to a set of the right size.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: sigemptyset has filled it.
    unsafe { set.assume_init() }
}

fn all_signals() -> libc::sigset_t {
    let mut set = no_signals();
    // SAFETY: the pointer is to a set of the right size.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}

fn set_mask(how: c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut old = no_signals();
    // SAFETY: both sets are whole; the call cannot fail with these arguments.
    unsafe { libc::pthread_sigmask(how, ptr::from_ref(set), &raw mut old) };
    old
}

/// Holds all signals back until it is dropped.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn now() -> Self {
        Self(set_mask(libc::SIG_SETMASK, &all_signals()))
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        set_mask(libc::SIG_SETMASK, &self.0);
    }
}

/// Makes `target` a copy of `source` that stays open over exec.
fn duplicate(source: BorrowedFd<'_>, target: RawFd) -> rustix::io::Result<()> {
    let result = if source.as_raw_fd() == target {
        // dup2 onto itself would leave the close-on-exec mark.
        // SAFETY: clearing the mark of an open descriptor.
        unsafe { libc::fcntl(target, libc::F_SETFD, 0) }
    } else {
        // SAFETY: `target` is 0, 1 or 2 of this child, which nothing else uses yet.
        unsafe { libc::dup2(source.as_raw_fd(), target) }
    };
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

fn close(fd: BorrowedFd<'_>) {
    // SAFETY: the child's copy; the parent keeps and owns its own.
    unsafe { libc::close(fd.as_raw_fd()) };
}

pub(super) fn say(pipe: BorrowedFd<'_>, report: Report) {
    while matches!(rustix::io::write(pipe, &report.to_bytes()), Err(Errno::INTR)) {}
}

pub(super) fn fail(pipe: BorrowedFd<'_>, (stage, errno): (Stage, Errno)) -> ! {
    say(pipe, Report::Failed(stage, errno.raw_os_error()));
    leave(127)
}

/// Ends this process without running anything that the parent registered for its own end.
pub(super) fn leave(status: c_int) -> ! {
    // SAFETY: `_exit` ends the process and touches nothing.
    unsafe { libc::_exit(status) }
}

pub(super) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// The number as rustix wants it; `None` when no such signal exists.
pub(super) fn signal_number(signal: Signal) -> Option<Number> {
    if !(1..=libc::SIGRTMAX()).contains(&signal.0) {
        return None;
    }
    // SAFETY: the number lies in the kernel's range. Numbers that libc keeps for itself are
    // delivered to another process, whose libc it is.
    Some(unsafe { Number::from_raw_unchecked(signal.0) })
}
