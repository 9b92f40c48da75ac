//! The cause of a wait from one look at `/proc`, where no kernel stack could be recorded.
//!
//! Three files tell, from best to least: `wchan` (the kernel function that waits, looked up in the
//! same table as stacks), `syscall` with the kind of file behind its first argument, and the state
//! letter of `stat`. Source: proc(5).

use culprit_model::{Cause, Observation};

use super::classify::function_verdict;

/// What the call's first argument decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// The call alone gives the cause.
    Cause(Cause),
    /// The kind of file gives it; for a plain file this cause.
    File(Cause),
}

/// System calls of x86-64 that wait (arch/x86/entry/syscalls/syscall_64.tbl).
#[rustfmt::skip]
const CALLS_X86_64: &[(u32, Says)] = &[
    (0, Says::File(Cause::Disk)), (1, Says::File(Cause::Disk)),        // read, write
    (17, Says::File(Cause::Disk)), (18, Says::File(Cause::Disk)),      // pread64, pwrite64
    (19, Says::File(Cause::Disk)), (20, Says::File(Cause::Disk)),      // readv, writev
    (295, Says::File(Cause::Disk)), (296, Says::File(Cause::Disk)),    // preadv, pwritev
    (327, Says::File(Cause::Disk)), (328, Says::File(Cause::Disk)),    // preadv2, pwritev2
    (40, Says::File(Cause::Disk)), (275, Says::File(Cause::Disk)),     // sendfile, splice
    (7, Says::Cause(Cause::Poll)), (271, Says::Cause(Cause::Poll)),    // poll, ppoll
    (23, Says::Cause(Cause::Poll)), (270, Says::Cause(Cause::Poll)),   // select, pselect6
    (232, Says::Cause(Cause::Poll)), (281, Says::Cause(Cause::Poll)),  // epoll_wait, epoll_pwait
    (441, Says::Cause(Cause::Poll)), (426, Says::Cause(Cause::Poll)),  // epoll_pwait2, io_uring_enter
    (208, Says::Cause(Cause::Disk)), (333, Says::Cause(Cause::Disk)),  // io_getevents, io_pgetevents
    (35, Says::Cause(Cause::Sleep)), (230, Says::Cause(Cause::Sleep)), // nanosleep, clock_nanosleep
    (202, Says::Cause(Cause::Lock)), (449, Says::Cause(Cause::Lock)),  // futex, futex_waitv
    (73, Says::Cause(Cause::Lock)), (72, Says::Cause(Cause::Lock)),    // flock, fcntl
    (34, Says::Cause(Cause::Signal)), (130, Says::Cause(Cause::Signal)), // pause, rt_sigsuspend
    (128, Says::Cause(Cause::Signal)),                                 // rt_sigtimedwait
    (61, Says::Cause(Cause::Child)), (247, Says::Cause(Cause::Child)), // wait4, waitid
    (58, Says::Cause(Cause::Child)),                                   // vfork
    (42, Says::Cause(Cause::Net)), (43, Says::Cause(Cause::Net)),      // connect, accept
    (288, Says::Cause(Cause::Net)),                                    // accept4
    (44, Says::Cause(Cause::Net)), (45, Says::Cause(Cause::Net)),      // sendto, recvfrom
    (46, Says::Cause(Cause::Net)), (47, Says::Cause(Cause::Net)),      // sendmsg, recvmsg
    (299, Says::Cause(Cause::Net)), (307, Says::Cause(Cause::Net)),    // recvmmsg, sendmmsg
    (65, Says::Cause(Cause::Ipc)), (220, Says::Cause(Cause::Ipc)),     // semop, semtimedop
    (69, Says::Cause(Cause::Ipc)), (70, Says::Cause(Cause::Ipc)),      // msgsnd, msgrcv
    (242, Says::Cause(Cause::Ipc)), (243, Says::Cause(Cause::Ipc)),    // mq_timedsend, mq_timedreceive
    (74, Says::Cause(Cause::Fsync)), (75, Says::Cause(Cause::Fsync)),  // fsync, fdatasync
    (26, Says::Cause(Cause::Fsync)), (277, Says::Cause(Cause::Fsync)), // msync, sync_file_range
    (162, Says::Cause(Cause::Fsync)), (306, Says::Cause(Cause::Fsync)), // sync, syncfs
];

/// Kinds of files by the text of their `/proc/PID/fd/N` link.
const FILES: &[(&str, Cause)] = &[
    ("pipe:", Cause::Pipe),
    ("/dev/pts/", Cause::Pipe),
    ("/dev/tty", Cause::Pipe),
    ("socket:", Cause::Net),
    ("anon_inode:[eventfd]", Cause::Ipc),
    ("anon_inode:[timerfd]", Cause::Sleep),
    ("anon_inode:[signalfd]", Cause::Signal),
    ("anon_inode:inotify", Cause::Notify),
    ("anon_inode:[fanotify]", Cause::Notify),
    ("anon_inode:[eventpoll]", Cause::Poll),
];

/// Why the observed thread was off the CPU; none when it was ready or running. A socket whose wait
/// only its number tells is taken for a network socket.
#[must_use]
pub fn observed(observation: &Observation) -> Option<Cause> {
    match char::from_u32(observation.state) {
        Some('R') => return None,
        Some('T' | 't') => return Some(Cause::Stopped),
        _ => {}
    }
    let by_function = observation.wchan.as_ref().map(|wchan| function_verdict(wchan));
    if let Some(rule) = by_function.and_then(|verdict| verdict.rule) {
        return Some(rule.cause);
    }
    let call = observation.syscall.and_then(|number| {
        CALLS_X86_64.iter().find(|(known, _)| *known == number).map(|(_, says)| *says)
    });
    Some(match call {
        Some(Says::Cause(cause)) => cause,
        Some(Says::File(plain)) => by_file(observation).unwrap_or(plain),
        None => Cause::Other,
    })
}

fn by_file(observation: &Observation) -> Option<Cause> {
    let file = observation.file.as_ref()?;
    FILES.iter().find(|(start, _)| file.starts_with(start)).map(|(_, cause)| *cause)
}
