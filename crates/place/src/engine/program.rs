//! A program of ours, or a library, in a container that somebody else made.
//!
//! The engine takes it as a tar archive, in a folder with a name of ours that belongs to the
//! container's user, so that the program can remove itself as soon as it runs:
//!
//! ```text
//!   /tmp   where that is the container's own folder
//!   /      where it is missing, a link or a mount, through which engines do not write
//!   /dev   where the root is read-only: memory, by way of `/proc/PID/root`, which takes root
//! ```
//!
//! What has not removed itself goes with the place; what a killed run has left is found by its
//! name. Both go through the container's root, for no engine has a call that removes a file.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bollard::query_parameters::{
    ContainerArchiveInfoOptionsBuilder, UploadToContainerOptionsBuilder,
};
use culprit_model::Pid;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, unlinkat};
use rustix::io::Errno;

use super::client::{Client, is_missing, runtime};
use super::existing::RunningContainer;
use super::host_image::{BLOCK, Kind, header};
use crate::error::{Error, Result};
use crate::owner::Owner;
use crate::place::TMP;
use crate::procfs::root_of;

/// Where our folders may lie, beside [`TMP`].
const ROOT: &str = "/";
const DEV: &str = "/dev";
/// What a program is called in its folder.
pub(super) const PROGRAM: &str = "culprit";
/// What a library is called in its folder: by this name stacks know it.
pub const LIBRARY: &str = "libculprit-alloc.so";
/// Of the folder and of the file in it.
const MODE: u32 = 0o755;
/// The bit of a folder in the modes that engines tell, which are those of Go (`fs.ModeDir`).
pub(super) const IS_FOLDER: u32 = 1 << 31;

/// Puts a file into a folder of this name, and returns its path in the container; it is called `file` there.
pub(super) fn put(
    client: &Client,
    container: &RunningContainer,
    program: &Path,
    (name, file): (&str, &str),
) -> Result<PathBuf> {
    let archive = archive(program, (name, file)).map_err(|e| Error::file("read", program, e))?;
    let folder = if has_own_tmp(client, &container.id)? { TMP } else { ROOT };
    // The container's user owns it, and may remove it.
    let options = UploadToContainerOptionsBuilder::new().path(folder).copy_uidgid("true").build();
    let taken = client.call("copy a program into a container", |docker| {
        let body = bollard::body_full(archive.into());
        docker.upload_to_container(&container.id, Some(options), body)
    });
    let folder = match taken {
        Ok(()) => folder,
        Err(why) => {
            let memory = write_to_dev(container.init, program, (name, file)).map(|()| DEV);
            memory.map_err(|_| Error::Put {
                container: container.name.clone(),
                image: container.image.clone(),
                engine: container.engine,
                why: why.to_string(),
            })?
        }
    };
    Ok(Path::new(folder).join(name).join(file))
}

fn archive(program: &Path, (name, file): (&str, &str)) -> io::Result<Vec<u8>> {
    let bytes = fs::read(program)?;
    let file = Path::new(name).join(file);
    let mut tar = header(Path::new(name), MODE, Kind::Folder).to_vec();
    tar.extend(header(&file, MODE, Kind::File(bytes.len() as u64)));
    tar.extend(bytes);
    // Two empty blocks end an archive.
    tar.resize(tar.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    Ok(tar)
}

/// Whether `/tmp` is a folder in what the engine writes to: below a mount that only the container
/// sees, a file would be seen by nobody.
fn has_own_tmp(client: &Client, id: &str) -> Result<bool> {
    let found = client.call("inspect a container", |d| d.inspect_container(id, None))?;
    let mounts = found.mounts.unwrap_or_default();
    let tmpfs = found.host_config.and_then(|config| config.tmpfs).unwrap_or_default();
    let points = mounts.iter().filter_map(|mount| mount.destination.as_ref());
    if points.chain(tmpfs.keys()).any(|point| Path::new(point) == Path::new(TMP)) {
        return Ok(false);
    }
    Ok(mode(client, id, TMP)?.is_some_and(|mode| mode & IS_FOLDER != 0))
}

/// The mode of a file in a container, as the engine tells it; none where there is no such file.
pub(super) fn mode(client: &Client, id: &str, path: &str) -> Result<Option<u32>> {
    let options = ContainerArchiveInfoOptionsBuilder::new().path(path).build();
    match runtime()?.block_on(client.docker().get_container_archive_info(id, Some(options))) {
        Ok(found) => Ok(Some(found.file_mode)),
        Err(reply) if is_missing(&reply) => Ok(None),
        Err(reply) => Err(client.error("read files of a container", &reply)),
    }
}

fn write_to_dev(init: Pid, program: &Path, (name, file): (&str, &str)) -> Result<()> {
    let error = |e: io::Error| Error::file("write", Path::new(DEV).join(name), e);
    let dev = folder_in(&root_of(init)?, Path::new(DEV)).map_err(|e| error(e.into()))?;
    let write = || -> io::Result<()> {
        mkdirat(&dev, name, Mode::from_raw_mode(MODE))?;
        let folder = folder_in(&dev, Path::new(name))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, file, flags, Mode::from_raw_mode(MODE))?);
        io::copy(&mut File::open(program)?, &mut file)?;
        // Whatever our umask is.
        file.set_permissions(Permissions::from_mode(MODE))?;
        File::from(folder).set_permissions(Permissions::from_mode(MODE))
    };
    write().map_err(error)
}

/// A folder below another, reached without any link: the container's programs could have made one
/// that leads elsewhere.
fn folder_in(above: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    openat2(above, path, flags, Mode::empty(), resolve)
}

/// Removes the folder of this name, if it is still there.
pub(super) fn remove(client: &Client, container: &RunningContainer, name: &str) -> Result<()> {
    if let Ok(root) = root_of(container.init) {
        let removed = [TMP, ROOT, DEV].map(Path::new).into_iter().try_for_each(|above| {
            match folder_in(&root, above) {
                Ok(above) => remove_from(&above, name).map(drop),
                Err(_) => Ok(()),
            }
        });
        return removed.map_err(|e| Error::file("remove", name, e));
    }
    // It has ended, or we may not look into it; then the engine tells what is there.
    for above in [TMP, ROOT] {
        let path = Path::new(above).join(name);
        if mode(client, &container.id, &path.to_string_lossy())?.is_some() {
            return Err(Error::Left { container: container.name.clone(), path });
        }
    }
    Ok(())
}

/// Removes from the container with this first process what dead runs have put there. Returns how
/// many folders; what cannot be looked at has none.
pub(super) fn sweep(init: Pid) -> usize {
    let Ok(root) = root_of(init) else { return 0 };
    let above = [TMP, ROOT, DEV].into_iter();
    let above = above.filter_map(|path| folder_in(&root, Path::new(path)).ok());
    above.map(|above| sweep_folder(&above)).sum()
}

fn sweep_folder(above: &OwnedFd) -> usize {
    let Ok(entries) = Dir::read_from(above) else { return 0 };
    let names =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned));
    let dead = |name: &String| Owner::of_name(name).is_some_and(|owner| !owner.is_alive());
    names.filter(dead).filter(|name| remove_from(above, name) == Ok(true)).count()
}

/// Removes our folder and the file in it, and nothing else: folders in which a probe works have
/// names of the same kind. False when it is not there.
fn remove_from(above: &OwnedFd, name: &str) -> rustix::io::Result<bool> {
    let folder = match folder_in(above, Path::new(name)) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
        Err(error) => return Err(error),
    };
    for file in [PROGRAM, LIBRARY] {
        match unlinkat(&folder, file, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    match unlinkat(above, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_folder_and_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, [7; BLOCK + 1]).unwrap();
        let tar = archive(&program, ("culprit_1", PROGRAM)).unwrap();
        assert_eq!(tar.len(), (2 + 2 + 2) * BLOCK);
        assert!(tar.starts_with(b"culprit_1\0") && tar[100..].starts_with(b"0000755"));
        assert!(tar[BLOCK..].starts_with(b"culprit_1/culprit\0"));
        assert_eq!((tar[2 * BLOCK], tar[3 * BLOCK], tar[3 * BLOCK + 1]), (7, 7, 0));
    }

    #[test]
    fn only_the_program_and_an_empty_folder_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let above = OwnedFd::from(File::open(folder.path()).unwrap());
        let make = |name: &str, file: &str| {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(file), "").unwrap();
        };
        let alive = Owner::ours().unwrap().fresh_name();
        let dead = alive.rsplitn(3, '_').last().unwrap().to_owned();
        let [dead, work, shared] = [0, 1, 2].map(|number| format!("{dead}_1_{number}"));
        make(&alive, PROGRAM);
        make(&dead, PROGRAM);
        make(&shared, LIBRARY);
        make(&work, "file");
        let elsewhere = folder.path().join(format!("{dead}1"));
        std::os::unix::fs::symlink(&alive, &elsewhere).unwrap();
        assert_eq!(sweep_folder(&above), 2);
        assert!(folder.path().join(&alive).join(PROGRAM).exists(), "its maker lives");
        assert!(folder.path().join(&work).join("file").exists(), "nothing of ours");
        assert!(!folder.path().join(&dead).exists() && elsewhere.is_symlink());
        assert!(!folder.path().join(&shared).exists());
        assert_eq!(remove_from(&above, &dead), Ok(false));
    }
}
