//! Sockets in another process's file system, through which it takes requests.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::error::{Error, Result};

/// Connects to a socket of a folder. A link is not followed: in a container it could lead to a socket of
/// the host. Waits while the owner's queue is full.
///
/// # Errors
/// [`Error::File`] when there is none, it is something else, or nobody listens.
pub fn connect_in(folder: impl AsFd, name: &str) -> Result<UnixStream> {
    let failed = |e| Error::file("connect to", Path::new(name), e);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let found = openat2(folder, name, flags, Mode::empty(), resolve).map_err(failed)?;
    let mode = fstat(&found).map_err(failed)?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::Socket {
        return Err(failed(rustix::io::Errno::NOTSOCK));
    }
    // The kernel's name of an open file stands for the file itself, whatever its name leads to now.
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    UnixStream::connect(path).map_err(|e| Error::file("connect to", Path::new(name), e))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixListener;

    use super::connect_in;

    #[test]
    fn only_a_socket_of_the_folder_itself_is_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let opened = File::open(folder.path()).unwrap();
        assert!(connect_in(&opened, "socket").is_ok());
        for name in ["link", "file", "none", "../socket"] {
            assert!(connect_in(&opened, name).is_err(), "{name}");
        }
        drop(listener);
        assert!(connect_in(&opened, "socket").is_err(), "nobody listens");
    }
}
