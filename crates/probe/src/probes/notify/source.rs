//! Where a reader's bytes come from, and when it looks.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::statfs;

use crate::inside::{Child, Clock};

/// Where rows come from.
#[derive(Debug)]
pub(super) enum Source {
    /// A file, read when inotify says that it has changed.
    Watched { file: File, inotify: OwnedFd },
    /// A file, looked at when it had nothing new this long ago.
    Polled { file: File, interval: Duration, next: u64 },
    /// A pipe, and the program that writes to it where there is one.
    Stream { from: OwnedFd, _program: Option<Child> },
}

impl Source {
    /// With inotify.
    pub(super) fn watched(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&inotify, path, WatchFlags::MODIFY)?;
        Ok(Self::Watched { file, inotify })
    }

    /// With looks this far apart.
    pub(super) fn polled(path: &Path, interval: Duration) -> io::Result<Self> {
        Ok(Self::Polled { file: File::open(path)?, interval, next: 0 })
    }

    /// As coreutils' `tail -F` does (`tail_forever_inotify` and `fremote` of its `src/tail.c`).
    pub(super) fn as_tail(path: &Path) -> io::Result<Self> {
        if is_remote_to_tail(file_system(path)?) {
            return Self::polled(path, TAIL_LOOKS);
        }
        // "inotify cannot be used, reverting to polling".
        Self::watched(path).or_else(|_| Self::polled(path, TAIL_LOOKS))
    }

    /// Some bytes, or none when nothing came until then (ns of the monotonic clock).
    pub(super) fn read(&mut self, buffer: &mut [u8], until: u64) -> io::Result<usize> {
        match self {
            Self::Watched { file, inotify } => loop {
                let count = file.read(buffer)?;
                if count > 0 || !is_ready(inotify, until)? {
                    return Ok(count);
                }
                let mut events = [0; 4096];
                match rustix::io::read(&*inotify, &mut events) {
                    Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
                    Err(error) => return Err(error.into()),
                }
            },
            Self::Polled { file, interval, next } => loop {
                Clock::sleep_until((*next).min(until));
                if Clock::now() < *next {
                    return Ok(0);
                }
                let count = file.read(buffer)?;
                if count > 0 {
                    return Ok(count);
                }
                *next = Clock::now() + u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX / 2);
            },
            Self::Stream { from, .. } => {
                if is_ready(from, until)? {
                    Ok(rustix::io::read(&*from, buffer)?)
                } else {
                    Ok(0)
                }
            }
        }
    }
}

/// Whether it can be read before then.
fn is_ready(fd: &OwnedFd, until: u64) -> io::Result<bool> {
    let left = Duration::from_nanos(until.saturating_sub(Clock::now()));
    let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How often `tail` looks unless told otherwise (`-s`).
const TAIL_LOOKS: Duration = Duration::from_secs(1);

/// File systems that coreutils marks "remote" (`src/stat.c`, `human_fstype`), by the number that
/// `statfs` gives (`linux/magic.h`): `tail` does not trust inotify on them.
const REMOTE: [i64; 19] = [
    0x794c_7630, // overlay
    0x6175_6673, // aufs
    0x6969,      // nfs
    0x517b,      // smb
    0xff53_4d42, // cifs
    0xfe53_4d42, // smb2
    0x00c3_6400, // ceph
    0x0102_1997, // 9p
    0x6573_5546, // fuse
    0x5346_414f, // afs
    0x6b41_4653, // kafs
    0x7375_7245, // coda
    0x564c,      // ncp
    0x0bd0_0bd0, // lustre
    0x0116_1970, // gfs2
    0x7461_636f, // ocfs2
    0x4750_4653, // gpfs
    0x786f_4256, // vboxsf
    0xbacb_acbc, // vmhgfs
];

/// The number of a file's file system.
pub(super) fn file_system(path: &Path) -> io::Result<i64> {
    let magic = statfs(path)?.f_type;
    #[expect(clippy::useless_conversion, reason = "its width is the machine's")]
    Ok(i64::from(magic) & 0xffff_ffff)
}

/// Whether `tail` takes a file system for a remote one.
pub(super) fn is_remote_to_tail(file_system: i64) -> bool {
    REMOTE.contains(&file_system)
}
