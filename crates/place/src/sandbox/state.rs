//! A sandbox's folder on disk: what is written in it, who is its pid 1, and its removal.
//!
//! ```text
//!   SCRATCH/culprit_.../init       "PID START" of pid 1, as the host numbers it
//!                      /root       where the new root is put together
//!                      /upper-N    what was written to the N-th overlay
//!                      /work-N     the kernel's own
//! ```

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use culprit_model::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::plan::{Entry, Kind, Layout};
use crate::command::Signal;
use crate::error::{Error, Result};
use crate::owner::Owner;
use crate::procfs;
use crate::spawn::{open_pidfd, send};

/// The folder of one sandbox.
#[derive(Debug)]
pub(super) struct State {
    layout: Layout,
}

impl State {
    /// Makes the folder, for our eyes only.
    pub(super) fn make(scratch: &Path) -> Result<Self> {
        let state = scratch.join(Owner::ours()?.fresh_name());
        let made = fs::DirBuilder::new().mode(0o700).create(&state);
        made.map_err(|e| Error::file("create", &state, e))?;
        let state = Self { layout: Layout { state } };
        let root = state.layout.root();
        fs::create_dir(&root).map_err(|e| Error::file("create", root, e))?;
        Ok(state)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes the folders that overlays write to. The topmost upper folder is what shows as the
    /// overlay's root, so it gets the lower one's mode and, where we may, its owner.
    pub(super) fn prepare(&self, lowers: &[PathBuf], privileged: bool) -> Result<()> {
        for (i, lower) in lowers.iter().enumerate() {
            let (upper, work) = (self.layout.upper(i), self.layout.work(i));
            for folder in [&upper, &work] {
                fs::create_dir(folder).map_err(|e| Error::file("create", folder, e))?;
            }
            let shown = match fs::metadata(lower) {
                // Removed since the host was listed, or hidden by another mount: its overlay is left out.
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => continue,
                shown => shown.map_err(|e| Error::file("inspect", lower, e))?,
            };
            let mode = Permissions::from_mode(shown.mode() & 0o7777);
            let owned = match privileged {
                true => chown(&upper, Some(shown.uid()), Some(shown.gid())),
                false => Ok(()),
            };
            owned
                .and_then(|()| fs::set_permissions(&upper, mode))
                .map_err(|e| Error::file("change", &upper, e))?;
        }
        Ok(())
    }

    /// Writes down who pid 1 is, for whoever sweeps when we are gone.
    pub(super) fn remember(&self, first: Pid) -> Result<()> {
        let file = init_file(&self.layout.state);
        let text = format!("{first} {}", procfs::stat(first)?.start_ticks);
        fs::write(&file, text).map_err(|e| Error::file("write", file, e))
    }

    pub(super) fn remove(&self) -> Result<()> {
        remove_tree(&self.layout.state)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Removed already, or the sandbox was not even finished; else the next run sweeps.
        let _swept_later = self.remove();
    }
}

fn init_file(state: &Path) -> PathBuf {
    state.join("init")
}

/// Whether we may mount without a user namespace: CAP_SYS_ADMIN, bit 21 of `CapEff`.
pub(super) fn may_mount() -> Result<bool> {
    let field = procfs::status_field(Pid(std::process::id()), "CapEff")?.unwrap_or_default();
    let bits = u64::from_str_radix(&field, 16);
    Ok(bits.is_ok_and(|bits| bits >> 21 & 1 == 1))
}

/// The entries of a folder of the host, sorted; empty where it may not be read.
pub(super) fn list(folder: &Path) -> Vec<Entry> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entry = |e: fs::DirEntry| {
        let kind = e.file_type().ok()?;
        let kind = if kind.is_symlink() {
            Kind::Link { to: fs::read_link(e.path()).ok()? }
        } else if kind.is_dir() {
            Kind::Folder { mode: e.metadata().ok()?.mode() & 0o7777 }
        } else {
            Kind::Other
        };
        Some(Entry { name: e.file_name(), kind })
    };
    let mut found: Vec<Entry> = entries.flatten().filter_map(entry).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Removes a folder. What a program wrote may hold folders that their owner may not write to, and
/// the kernel's work folder has no rights at all; those are opened first where the plain way fails.
fn remove_tree(folder: &Path) -> Result<()> {
    let again = |_| {
        open_up(folder);
        fs::remove_dir_all(folder)
    };
    match fs::remove_dir_all(folder).or_else(again) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::file("remove", folder, e)),
        _ => Ok(()),
    }
}

fn open_up(folder: &Path) {
    // A folder that cannot be opened up shows in the removal that follows.
    let _shown_later = fs::set_permissions(folder, Permissions::from_mode(0o700));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
        open_up(&entry.path());
    }
}

/// Ends the sandboxes that runs which are no more have left, and removes their folders.
pub(crate) fn sweep(scratch: &Path) -> (usize, Vec<Error>) {
    let names = fs::read_dir(scratch).into_iter().flatten().flatten();
    let left = names.filter(|e| {
        let owner = e.file_name().to_str().and_then(Owner::of_name);
        owner.is_some_and(|o| !o.is_alive()) && is_ours(&e.path())
    });
    let (gone, failed): (Vec<_>, Vec<_>) = left
        .map(|e| end_abandoned(&e.path()).and_then(|()| remove_tree(&e.path())))
        .partition(Result::is_ok);
    (gone.len(), failed.into_iter().filter_map(Result::err).collect())
}

/// In a folder that everybody may write to, a name proves nothing: only a real folder that belongs
/// to us is followed.
fn is_ours(folder: &Path) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir() && m.uid() == ours)
}

fn end_abandoned(state: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(init_file(state)) else { return Ok(()) };
    let mut numbers = text.split(' ').map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(start))) = (numbers.next(), numbers.next()) else { return Ok(()) };
    let Ok(pid) = u32::try_from(pid).map(Pid) else { return Ok(()) };
    let Ok(pidfd) = open_pidfd(pid) else { return Ok(()) };
    // Looked at after the descriptor was taken: then it is this process that gets the signal.
    if procfs::stat(pid).is_ok_and(|s| s.start_ticks == start) {
        send(&pidfd, pid, Signal::KILL)?;
        let limit = Timespec::try_from(Duration::from_secs(10)).ok();
        let ended = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], limit.as_ref());
        ended.map_err(|e| Error::Wait { pid, source: e.into() })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{State, list, remove_tree, sweep};
    use crate::owner::Owner;
    use crate::sandbox::plan::Kind;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn folders_without_rights_are_removed_too() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a");
        fs::create_dir_all(folder.join("b/c")).unwrap();
        fs::write(folder.join("b/c/file"), "").unwrap();
        fs::set_permissions(folder.join("b/c"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(folder.join("b"), Permissions::from_mode(0o555)).unwrap();
        remove_tree(&folder).unwrap();
        assert!(!folder.exists());
        remove_tree(&folder).unwrap();
    }

    #[test]
    fn a_layer_that_is_gone_meanwhile_is_no_error() {
        let scratch = tempfile::tempdir().unwrap();
        let state = State::make(scratch.path()).unwrap();
        let lowers = [scratch.path().join("gone"), scratch.path().to_path_buf()];
        state.prepare(&lowers, false).unwrap();
        assert!(state.layout().upper(0).is_dir() && state.layout().work(1).is_dir());
    }

    #[test]
    fn only_folders_of_dead_makers_are_swept() {
        let scratch = tempfile::tempdir().unwrap();
        let ours = Owner::ours().unwrap();
        let dead = ours.to_string();
        let dead = dead.rsplit_once('_').unwrap().0;
        let kept = [ours.fresh_name(), "other".to_owned(), format!("{dead}_1_0_link")];
        for name in &kept[..2] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/etc", scratch.path().join(format!("{dead}_1_7"))).unwrap();
        fs::create_dir(scratch.path().join(format!("{dead}_1_0"))).unwrap();
        let (gone, problems) = sweep(scratch.path());
        assert_eq!((gone, problems.len()), (1, 0));
        assert!(kept[..2].iter().all(|name| scratch.path().join(name).is_dir()));
        assert!(std::path::Path::new("/etc").is_dir());
    }

    #[test]
    fn entries_are_told_apart_and_sorted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c"), "").unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        std::os::unix::fs::symlink("b", folder.path().join("a")).unwrap();
        let kinds: Vec<_> = list(folder.path()).into_iter().map(|e| e.kind).collect();
        assert!(matches!(&kinds[..], [Kind::Link { .. }, Kind::Folder { .. }, Kind::Other]));
    }
}
