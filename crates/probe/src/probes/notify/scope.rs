//! Whether a watch in the place sees what the host writes into the same folder.
//!
//! inotify tells of changes that go through the inode that is watched. A volume is the host's own
//! folder, so its inodes are the same on both sides. What the host writes under an overlay, into its
//! upper folder, goes through other inodes, and a watch in the merged view hears nothing, though a read
//! there may show the change (Documentation/filesystems/overlayfs.rst, "Changes to underlying
//! filesystems").

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde::{Deserialize, Serialize};

use culprit_model::Unit;

use crate::error::Result;
use crate::inside::{Fault, Here, Task};
use crate::metric::Metric;
use crate::sample::Sample;
use crate::stand::Stand;

const FROM_INSIDE: Metric =
    Metric::fact("heard.from_place", "place writes seen by inotify in the place", Unit::Share);
const FROM_HOST: Metric =
    Metric::fact("heard.from_host", "host writes seen by inotify in the place", Unit::Share);

pub(super) const METRICS: [Metric; 2] = [FROM_INSIDE, FROM_HOST];

const FILE: &str = "watched";
/// How long an event is waited for; one that comes at all is there within a millisecond.
const PATIENCE: Duration = Duration::from_millis(200);

pub(super) fn measure(stand: &mut Stand<'_>, sample: Sample) -> Result<Sample> {
    let path = stand.dir().join(FILE);
    stand.ask(&Watch { path: path.clone() })?;
    stand.ask(&Append { path })?;
    let inside = stand.ask(&Watched {})?;
    let sample = sample.with(FROM_INSIDE.id, share(inside));
    let Some(host) = host_path(stand)? else { return Ok(sample) };
    let dir = host.parent().map(Path::to_path_buf).unwrap_or_default();
    stand.ask_host(&Append { path: host }, &dir)?;
    let outside = stand.ask(&Watched {})?;
    Ok(sample.with(FROM_HOST.id, share(outside)))
}

fn share(heard: bool) -> f64 {
    f64::from(u8::from(heard))
}

/// The file as the host finds it: in the folder that a volume binds, or under the place's overlay.
fn host_path(stand: &mut Stand<'_>) -> Result<Option<PathBuf>> {
    if let Some(dir) = stand.host_dir() {
        return Ok(Some(dir.join(FILE)));
    }
    let dir = stand.dir().to_path_buf();
    let upper = stand.ask(&Upper { dir })?;
    // The host sees the path that the mount was made with; nothing else may stand there.
    Ok(upper.map(|dir| dir.join(FILE)).filter(|path| path.exists()))
}

/// Begins to watch a file, which is made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    path: PathBuf,
}

/// A watch that lives through several requests.
struct Watching(OwnedFd);

impl Task for Watch {
    const NAME: &'static str = "notify-watch";
    type Output = ();

    fn run(self, here: &mut Here) -> std::result::Result<(), Fault> {
        here.dir()?;
        let failed = |error: std::io::Error| Fault::io("watch", &self.path, &error);
        File::create(&self.path).map_err(failed)?;
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|error| failed(error.into()))?;
        inotify::add_watch(&watch, &self.path, WatchFlags::MODIFY)
            .map_err(|error| failed(error.into()))?;
        // One at a time: a user has few instances (`fs.inotify.max_user_instances`).
        match here.kept::<Watching>() {
            Some(before) => *before = Watching(watch),
            None => here.keep(Watching(watch)),
        }
        Ok(())
    }
}

/// Whether the watch has heard of a write since it was last asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watched {}

impl Task for Watched {
    const NAME: &'static str = "notify-watched";
    type Output = bool;

    fn run(self, here: &mut Here) -> std::result::Result<bool, Fault> {
        let Some(Watching(watch)) = here.kept::<Watching>() else { return Ok(false) };
        let timeout =
            Timespec::try_from(PATIENCE).map_err(|error| Fault::new(error.to_string()))?;
        let mut fds = [PollFd::new(watch, PollFlags::IN)];
        let ready =
            poll(&mut fds, Some(&timeout)).map_err(|error| Fault::new(error.to_string()))?;
        let mut events = [0; 4096];
        // Emptied, so that the next write is told from this one.
        while rustix::io::read(&*watch, &mut events).is_ok_and(|count| count > 0) {}
        Ok(ready > 0)
    }
}

/// Appends a row to a file that is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Append {
    path: PathBuf,
}

impl Task for Append {
    const NAME: &'static str = "notify-append";
    type Output = ();

    fn run(self, _: &mut Here) -> std::result::Result<(), Fault> {
        let failed = |error: std::io::Error| Fault::io("append to", &self.path, &error);
        let mut file = OpenOptions::new().append(true).open(&self.path).map_err(failed)?;
        file.write_all(b"row\n").map_err(failed)
    }
}

/// Where the overlay of a folder keeps it, as the mount was made; none where no overlay is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Upper {
    dir: PathBuf,
}

impl Task for Upper {
    const NAME: &'static str = "notify-upper";
    type Output = Option<PathBuf>;

    fn run(self, _: &mut Here) -> std::result::Result<Option<PathBuf>, Fault> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo")
            .map_err(|error| Fault::io("read", Path::new("/proc/self/mountinfo"), &error))?;
        Ok(upper_of(&mounts, &self.dir))
    }
}

/// The innermost mount that has the folder decides (proc_pid_mountinfo(5)).
fn upper_of(mounts: &str, dir: &Path) -> Option<PathBuf> {
    let of = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let at = PathBuf::from(left.split(' ').nth(4)?);
        let rest = dir.strip_prefix(&at).ok()?.to_path_buf();
        Some((at.as_os_str().len(), rest, right.to_owned()))
    };
    let (_, rest, right) = mounts.lines().filter_map(of).max_by_key(|(length, ..)| *length)?;
    let mut words = right.split(' ');
    (words.next() == Some("overlay")).then_some(())?;
    let upper = words.nth(1)?.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
    Some(Path::new(upper).join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_hears_writes_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut here = Here::at(&dir.path().join("ours"));
        let path = dir.path().join("ours").join(FILE);
        Watch { path: path.clone() }.run(&mut here).unwrap();
        assert!(!Watched {}.run(&mut here).unwrap());
        Append { path }.run(&mut here).unwrap();
        assert!(Watched {}.run(&mut here).unwrap());
        assert!(!Watched {}.run(&mut here).unwrap());
    }

    #[test]
    fn the_innermost_mount_tells_where_an_overlay_keeps_a_folder() {
        let mounts = "\
1 0 0:1 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
2 1 8:1 /data /data rw - ext4 /dev/sda rw
3 1 0:1 /x /work rw - overlay o rw,lowerdir=/l,upperdir=/two/u,workdir=/w";
        assert_eq!(upper_of(mounts, Path::new("/a/b")), Some("/u/a/b".into()));
        assert_eq!(upper_of(mounts, Path::new("/work/b")), Some("/two/u/b".into()));
        assert_eq!(upper_of(mounts, Path::new("/data/b")), None);
    }
}
