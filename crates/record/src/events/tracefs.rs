//! Numbers and record layouts of tracepoints, from `events/GROUP/NAME/format`.
//!
//! Where tracefs is not mounted, a detached mount of our own is used, which no other process sees
//! and which ends with its descriptor. Source: Documentation/trace/events.rst, fsmount(2).

use std::io;
use std::os::fd::OwnedFd;

use culprit_kernel::tracepoint::Tracepoint;
use rustix::fs::{CWD, Mode, OFlags};

/// Where tracefs is usually mounted.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// An open tracefs.
#[derive(Debug)]
pub(crate) struct Tracefs(OwnedFd);

impl Tracefs {
    /// Opens tracefs where it is mounted, else mounts a detached one.
    ///
    /// # Errors
    /// The kernel's answer to the last attempt.
    pub(crate) fn open() -> io::Result<Self> {
        for path in MOUNTS {
            if let Ok(dir) = open_dir(CWD, path)
                && open_dir(&dir, "events/sched").is_ok()
            {
                return Ok(Self(dir));
            }
        }
        Self::detached()
    }

    /// As [`Tracefs::open`], to write to.
    ///
    /// # Errors
    /// The kernel's answer to the last attempt.
    pub(crate) fn open_writable() -> io::Result<Self> {
        let writable = |dir: &Self| dir.append("uprobe_events").is_ok();
        let mounted = MOUNTS.iter().filter_map(|path| open_dir(CWD, path).ok()).map(Self);
        match mounted.into_iter().find(writable) {
            Some(found) => Ok(found),
            None => Self::mounted_with(rustix::mount::MountAttrFlags::empty()),
        }
    }

    fn detached() -> io::Result<Self> {
        Self::mounted_with(rustix::mount::MountAttrFlags::MOUNT_ATTR_RDONLY)
    }

    fn mounted_with(rights: rustix::mount::MountAttrFlags) -> io::Result<Self> {
        use rustix::mount::{FsMountFlags, FsOpenFlags, fsconfig_create, fsmount, fsopen};
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        Ok(Self(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, rights)?))
    }

    /// The tracepoint `group`/`name`.
    ///
    /// # Errors
    /// When it does not exist or may not be read.
    pub(crate) fn tracepoint(&self, group: &str, name: &str) -> io::Result<Tracepoint> {
        let format = self.read(&format!("events/{group}/{name}/format"))?;
        Tracepoint::parse(&format).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// A file to append to. Nothing may ever be opened anew here: that would empty it for everybody.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn append(&self, path: &str) -> io::Result<std::fs::File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, path, flags, Mode::empty())?.into())
    }

    /// A file's text.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        let file = rustix::fs::openat(&self.0, path, OFlags::CLOEXEC, Mode::empty())?;
        io::read_to_string(std::fs::File::from(file))
    }
}

fn open_dir(at: impl rustix::fd::AsFd, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, path, flags, Mode::empty())?)
}
