//! Processes that the measuring program starts inside the place.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::pipe::{PipeFlags, pipe_with};

use super::{Fault, Reply, Request, SUBCOMMAND, Task};

/// A process that was started here. Dropping it kills it.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    ended: bool,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Whether it exited with 0.
    pub success: bool,
    /// Page faults of it that waited for a disk.
    pub major_faults: u64,
}

/// What `exec` takes: the strings, and pointers to them that end with a null.
struct Arguments {
    program: CString,
    _strings: Vec<CString>,
    pointers: Vec<*mut libc::c_char>,
}

impl Arguments {
    fn new(program: &Path, arguments: &[&OsStr]) -> io::Result<Self> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::other);
        let program = text(program.as_os_str())?;
        let strings: Vec<CString> = std::iter::once(Ok(program.clone()))
            .chain(arguments.iter().map(|argument| text(argument)))
            .collect::<io::Result<_>>()?;
        let pointers = strings.iter().map(|text| text.as_ptr().cast_mut());
        let pointers = pointers.chain([std::ptr::null_mut()]).collect();
        Ok(Self { program, _strings: strings, pointers })
    }
}

impl Child {
    /// Starts a program, looked up in `PATH` when its name has no slash. What is not given is
    /// `/dev/null`, and so is its standard error.
    ///
    /// # Errors
    /// The kernel's, when it cannot be started.
    #[expect(unsafe_code, reason = "posix_spawn has no safe wrapper but the one that is not ours")]
    pub fn spawn(
        program: &Path,
        arguments: &[&OsStr],
        stdin: Option<&OwnedFd>,
        stdout: Option<&OwnedFd>,
    ) -> io::Result<Self> {
        let arguments = Arguments::new(program, arguments)?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let null = null.as_raw_fd();
        let stdin = stdin.map_or(null, |fd| fd.as_raw_fd());
        let stdout = stdout.map_or(null, |fd| fd.as_raw_fd());
        // SAFETY: plain memory that the next call makes a value of.
        let mut actions: libc::posix_spawn_file_actions_t = unsafe { std::mem::zeroed() };
        // SAFETY: `actions` outlives all its uses, and is destroyed below.
        unsafe { libc::posix_spawn_file_actions_init(&raw mut actions) };
        for (from, to) in [(stdin, 0), (stdout, 1), (null, 2)] {
            // SAFETY: initialised above; both are numbers.
            unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut actions, from, to) };
        }
        let mut pid = 0;
        // SAFETY: `environ` is read once, and nothing here changes the environment.
        let environment = unsafe { libc::environ };
        // SAFETY: all strings end with a zero and all lists with a null, and live over the call.
        let error = unsafe {
            libc::posix_spawnp(
                &raw mut pid,
                arguments.program.as_ptr(),
                &raw const actions,
                std::ptr::null(),
                arguments.pointers.as_ptr(),
                environment,
            )
        };
        // SAFETY: initialised above, and not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut actions) };
        if error == 0 {
            Ok(Self { pid, ended: false })
        } else {
            Err(io::Error::from_raw_os_error(error))
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(mut self) -> io::Result<Ended> {
        self.reap()
    }

    #[expect(unsafe_code, reason = "wait4 has no safe wrapper here")]
    fn reap(&mut self) -> io::Result<Ended> {
        let mut status = 0;
        // SAFETY: `rusage` is plain numbers, for which zero is a value.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: the kernel writes one status and one `rusage` there.
            let pid = unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut used) };
            if pid == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.ended = true;
        let success = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        Ok(Ended { success, major_faults: u64::try_from(used.ru_majflt).unwrap_or(0) })
    }
}

impl Drop for Child {
    #[expect(unsafe_code, reason = "kill takes a number that is certainly our child's")]
    fn drop(&mut self) {
        if !self.ended {
            // SAFETY: the child is not waited for yet, so the number is still its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            let _ = self.reap();
        }
    }
}

/// Forks, and the child ends at once; waits for it.
///
/// # Errors
/// The kernel's.
#[expect(unsafe_code, reason = "fork has no safe wrapper")]
pub fn fork_and_exit() -> io::Result<Ended> {
    // SAFETY: the child calls nothing but _exit, which is safe after a fork of several threads.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: ends the child without running anything of ours.
            unsafe { libc::_exit(0) }
        }
        pid => Child { pid, ended: false }.wait(),
    }
}

/// One more measuring program, started by this one in the same place.
#[derive(Debug)]
pub struct Peer {
    // Before the child: the end of its input lets it clean up.
    to: Option<File>,
    from: BufReader<File>,
    child: Option<Child>,
}

impl Peer {
    /// Starts it from this copy of our own program.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(program: &Path) -> io::Result<Self> {
        Self::with(|stdin, stdout| {
            Child::spawn(program, &[OsStr::new(SUBCOMMAND)], Some(stdin), Some(stdout))
        })
    }

    /// Starts it in a user namespace of its own in which no inotify instance may be made, as if
    /// this user had used all of them up; nobody else is hindered.
    ///
    /// # Errors
    /// The kernel's, where the place does not let it make such a namespace.
    pub fn start_without_inotify() -> io::Result<Self> {
        Self::with(|stdin, stdout| spawn_apart(stdin, stdout, libc::CLONE_NEWUSER, LIMIT, c"0"))
    }

    /// Starts it in a user namespace of its own in which it is root, with mounts that nobody else
    /// sees and that go away with it.
    ///
    /// # Errors
    /// The kernel's, where the place does not let it make such namespaces.
    pub fn start_with_own_mounts() -> io::Result<Self> {
        let root = format!("0 {} 1", rustix::process::geteuid().as_raw());
        let root = CString::new(root).map_err(io::Error::other)?;
        Self::with(|stdin, stdout| {
            let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
            spawn_apart(stdin, stdout, flags, USERS, &root)
        })
    }

    fn with(start: impl FnOnce(&OwnedFd, &OwnedFd) -> io::Result<Child>) -> io::Result<Self> {
        let (stdin, to) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let child = start(&stdin, &stdout)?;
        let (to, from) = (Some(File::from(to)), BufReader::new(File::from(from)));
        Ok(Self { to, from, child: Some(child) })
    }

    /// Has a task done, in this folder.
    ///
    /// # Errors
    /// The task's own, or that the program has ended.
    pub fn ask<T: Task>(&mut self, task: &T, dir: &Path) -> Result<T::Output, Fault> {
        let odd = |error: serde_json::Error| Fault::new(format!("`{}`: {error}", T::NAME));
        let input = serde_json::to_value(task).map_err(odd)?;
        let request = Request { task: T::NAME.to_owned(), dir: dir.to_path_buf(), input };
        let mut line = serde_json::to_string(&request).map_err(odd)?;
        line.push('\n');
        let gone = |_| Fault::new("the second measuring program ended before its work was done");
        let mut answer = String::new();
        self.to.as_mut().map_or(Ok(()), |to| to.write_all(line.as_bytes())).map_err(gone)?;
        self.from.read_line(&mut answer).map_err(gone)?;
        match serde_json::from_str(&answer).map_err(odd)? {
            Reply::Failed(fault) => Err(fault),
            Reply::Done { output, .. } => serde_json::from_value(output).map_err(odd),
        }
    }

    /// Lets it end, and waits for that.
    ///
    /// # Errors
    /// The kernel's.
    pub fn end(mut self) -> io::Result<Option<Ended>> {
        self.to = None;
        self.child.take().map(Child::wait).transpose()
    }
}

/// What stands for "the user has no inotify instance left" (namespaces(7), `/proc/sys/user`).
const LIMIT: &CStr = c"/proc/sys/user/max_inotify_instances";

/// Who is who in a user namespace (user_namespaces(7)). Groups are left out: nothing is made there.
const USERS: &CStr = c"/proc/self/uid_map";

/// As [`Child::spawn`] of our own program, in namespaces of its own, once `said` was written to the file
/// that makes them what they are to be. A process of several threads may not enter a new user
/// namespace, so its only thread does, between fork and exec.
#[expect(unsafe_code, reason = "fork, unshare and exec have no safe wrappers")]
fn spawn_apart(
    stdin: &OwnedFd,
    stdout: &OwnedFd,
    namespaces: libc::c_int,
    file: &CStr,
    said: &CStr,
) -> io::Result<Child> {
    let arguments = Arguments::new(Path::new("/proc/self/exe"), &[OsStr::new(SUBCOMMAND)])?;
    let (stdin, stdout) = (stdin.as_raw_fd(), stdout.as_raw_fd());
    let length = said.count_bytes();
    let arguments_of_exec = arguments.pointers.as_ptr().cast::<*const libc::c_char>();
    let (mut failed, failing) = {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        (File::from(read), write)
    };
    // SAFETY: the child makes only calls that are safe after a fork of several threads.
    let pid = unsafe { libc::fork() };
    if pid == -1 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        // SAFETY: system calls alone; every pointer was made before the fork and is still there.
        #[expect(clippy::multiple_unsafe_ops_per_block, reason = "one thing: from fork to exec")]
        unsafe {
            let entered = libc::unshare(namespaces) == 0;
            let to = if entered { libc::open(file.as_ptr(), libc::O_WRONLY) } else { -1 };
            if to >= 0 && libc::write(to, said.as_ptr().cast(), length) > 0 {
                libc::close(to);
                libc::dup2(stdin, 0);
                libc::dup2(stdout, 1);
                libc::execv(arguments.program.as_ptr(), arguments_of_exec);
            }
            let error = *libc::__errno_location();
            libc::write(failing.as_raw_fd(), (&raw const error).cast(), size_of::<i32>());
            libc::_exit(127)
        }
    }
    let child = Child { pid, ended: false };
    drop(failing);
    let mut error = [0; size_of::<i32>()];
    match io::Read::read_exact(&mut failed, &mut error) {
        Ok(()) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(error))),
        // Closed by a successful exec.
        Err(_) => Ok(child),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_started_waited_for_and_refused() {
        assert!(Child::spawn(Path::new("true"), &[], None, None).unwrap().wait().unwrap().success);
        assert!(
            !Child::spawn(Path::new("false"), &[], None, None).unwrap().wait().unwrap().success
        );
        assert!(Child::spawn(Path::new("/no/such/program"), &[], None, None).is_err());
        assert!(fork_and_exit().unwrap().success);
    }
}
