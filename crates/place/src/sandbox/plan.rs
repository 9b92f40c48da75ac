//! Which mounts make the sandbox's root, decided from a picture of the host's.
//!
//! With the right to mount (root), one overlay has the host's `/` as its lower layer, and one more
//! overlay covers each file system that is mounted below it. Without it, in a user namespace, the
//! kernel refuses to use a folder as a layer that has mounts inside ("failed to clone lowerpath":
//! they are locked together), so there the new root is a tmpfs with one overlay a top-level folder,
//! and a folder with mounts inside is rebuilt from its own entries in the same way.
//!
//! ```text
//!   as root                          without
//!   /            overlay on /        /          tmpfs
//!   /home        overlay on /home    /usr       overlay on /usr
//!   /proc        new                 /bin       the same symbolic link
//!   /sys /dev    the host's          /var       folder, because /var/lib/x is a mount
//!   /dev/shm     new                 /var/log   overlay on /var/log
//! ```
//!
//! Pure: what the host looks like comes in as values, what is to be done goes out as steps.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::step::{Step, path};
use crate::error::Result;
use crate::mounts::Mount;

/// What stands in a folder of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Folder { mode: u32 },
    Link { to: PathBuf },
    Other,
}

/// What the planner is told about the host.
pub(super) struct Host<'a> {
    pub(super) mounts: &'a [Mount],
    /// The entries of a folder, sorted; empty where it may not be read.
    pub(super) list: &'a dyn Fn(&Path) -> Vec<Entry>,
    /// Whether we may mount without a user namespace.
    pub(super) privileged: bool,
    /// Where commands will work: that folder must lie on an overlay.
    pub(super) work_dir: &'a Path,
}

/// The folders of one sandbox, below its own folder on disk.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) state: PathBuf,
}

impl Layout {
    pub(super) fn root(&self) -> PathBuf {
        self.state.join("root")
    }

    /// Where what is written to the `i`-th overlay goes.
    pub(super) fn upper(&self, i: usize) -> PathBuf {
        self.state.join(format!("upper-{i}"))
    }

    /// Where the kernel prepares it.
    pub(super) fn work(&self, i: usize) -> PathBuf {
        self.state.join(format!("work-{i}"))
    }
}

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// The lower layer of the `i`-th overlay.
    pub(super) lowers: Vec<PathBuf>,
}

/// A folder with more entries than this is bound read-only rather than rebuilt entry by entry:
/// each takes a mount, and 0.1 ms.
const MOST_ENTRIES: usize = 512;

/// File systems that are no files on a disk or in memory: made anew or left out, never a layer.
const PSEUDO: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Folders of the root that are not a layer but the kernel's.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Plans the sandbox.
pub(super) fn plan(host: &Host<'_>, layout: &Layout) -> Result<Plan> {
    let mut planner = Planner { host, layout, plan: Plan::default() };
    planner.step(Step::Private);
    if host.privileged {
        planner.layers_of_root()?
    } else {
        planner.root_of_layers()?
    }
    planner.kernel_folders()?;
    planner.hide_state()?;
    planner.step(Step::Enter { root: path(&layout.root())? });
    Ok(planner.plan)
}

struct Planner<'a> {
    host: &'a Host<'a>,
    layout: &'a Layout,
    plan: Plan,
}

impl Planner<'_> {
    fn step(&mut self, step: Step) {
        self.plan.steps.push(step);
    }

    /// Where a path of the host will be until the root is entered.
    fn target(&self, of: &Path) -> PathBuf {
        self.layout.root().join(of.strip_prefix("/").unwrap_or(of))
    }

    fn overlay(&mut self, lower: &Path) -> Result<()> {
        let i = self.plan.lowers.len();
        let mut data = b"lowerdir=".to_vec();
        data.extend(escaped(lower));
        for (key, value) in [("upperdir", self.layout.upper(i)), ("workdir", self.layout.work(i))] {
            data.extend(format!(",{key}=").into_bytes());
            data.extend(escaped(&value));
        }
        if !self.host.privileged {
            // The overlay's own marks go into user.* attributes, which need no privilege.
            data.extend(b",userxattr");
        }
        let step = Step::Overlay {
            lower: path(lower)?,
            target: path(&self.target(lower))?,
            data: path(Path::new(&OsString::from_vec(data)))?,
            // Where layers lie in one another, one above the nearest is needed too, to reach it.
            needed: self.host.work_dir.starts_with(lower),
        };
        self.step(step);
        self.plan.lowers.push(lower.to_path_buf());
        Ok(())
    }

    fn layers_of_root(&mut self) -> Result<()> {
        self.overlay(Path::new("/"))?;
        for mount in self.host.mounts {
            if is_layer(mount) && !self.plan.lowers.contains(&mount.point) {
                self.overlay(&mount.point)?;
            }
        }
        Ok(())
    }

    fn root_of_layers(&mut self) -> Result<()> {
        let root = path(&self.layout.root())?;
        self.step(Step::Mount { kind: c"tmpfs".into(), target: root, data: c"mode=755".into() });
        self.entries(Path::new("/"))
    }

    fn entries(&mut self, folder: &Path) -> Result<()> {
        for entry in (self.host.list)(folder) {
            let source = folder.join(&entry.name);
            let target = path(&self.target(&source))?;
            match entry.kind {
                Kind::Link { to } => self.step(Step::Link { to: path(&to)?, path: target }),
                Kind::Other => {
                    self.step(Step::File { path: target.clone() });
                    self.step(Step::BindReadOnly { source: path(&source)?, target });
                }
                Kind::Folder { mode } => {
                    self.step(Step::Folder { path: target, mode });
                    self.folder(&source)?;
                }
            }
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path) -> Result<()> {
        if KERNEL.iter().any(|k| folder == Path::new(k)) || folder == self.layout.state {
            return Ok(());
        }
        if !self.has_mounts_inside(folder) {
            return self.overlay(folder);
        }
        match (self.host.list)(folder).len() {
            0 | MOST_ENTRIES.. => {
                let (source, target) = (path(folder)?, path(&self.target(folder))?);
                self.step(Step::BindReadOnly { source, target });
                Ok(())
            }
            _ => self.entries(folder),
        }
    }

    fn has_mounts_inside(&self, folder: &Path) -> bool {
        self.host.mounts.iter().any(|m| m.point != folder && m.point.starts_with(folder))
    }

    fn kernel_folders(&mut self) -> Result<()> {
        let [proc, sys, dev] = KERNEL.map(Path::new);
        let target = path(&self.target(proc))?;
        self.step(Step::Mount { kind: c"proc".into(), target, data: CString::default() });
        for folder in [sys, dev] {
            let (source, target) = (path(folder)?, path(&self.target(folder))?);
            self.step(Step::Bind { source, target });
        }
        if (self.host.list)(dev).iter().any(|e| e.name == "shm") {
            let target = path(&self.target(&dev.join("shm")))?;
            self.step(Step::Mount { kind: c"tmpfs".into(), target, data: c"mode=1777".into() });
        }
        Ok(())
    }

    /// Our own layers, seen through an overlay of the folder that they lie in, would be files that
    /// change underneath.
    fn hide_state(&mut self) -> Result<()> {
        let target = path(&self.target(&self.layout.state))?;
        self.step(Step::Mount { kind: c"tmpfs".into(), target, data: c"mode=700,size=4k".into() });
        Ok(())
    }
}

/// Whether a mount is covered with an overlay.
fn is_layer(mount: &Mount) -> bool {
    let is_kernels = KERNEL.iter().any(|k| mount.point.starts_with(k));
    let is_root = mount.point == Path::new("/");
    let pseudo = PSEUDO.contains(&mount.fs_type.as_str());
    !is_kernels && !is_root && !pseudo && !is_container(mount)
}

/// Whether a mount is the root of a container, as its engine keeps it: an overlay beside the folder
/// that it writes to (`overlay2/ID/merged` beside `overlay2/ID/diff`). The engine changes it
/// underneath, and it is nothing that a command on this host works in.
fn is_container(mount: &Mount) -> bool {
    let upper = mount.super_option("upperdir").map(Path::new);
    mount.fs_type == "overlay" && upper.is_some_and(|u| u.parent() == mount.point.parent())
}

/// A path in the options of an overlay, where comma, colon and backslash have a meaning
/// (`ovl_next_opt`, `ovl_unescape` in fs/overlayfs/params.c).
fn escaped(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &byte in OsStr::as_bytes(path.as_os_str()) {
        if matches!(byte, b',' | b':' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(byte);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Entry, Host, Kind, Layout, escaped, plan};
    use crate::mounts::Mount;
    use std::path::Path;

    fn mount(point: &str, fs_type: &str) -> Mount {
        Mount {
            id: 0,
            root: "/".into(),
            point: point.into(),
            options: Vec::new(),
            fs_type: fs_type.into(),
            source: String::new(),
            super_options: vec!["upperdir=/var/lib/docker/overlay2/1/diff".into()],
        }
    }

    /// The steps as lines, for a host with these folders: `name/`, `name -> to`, `name`.
    fn steps(
        privileged: bool,
        mounts: &[(&str, &str)],
        folders: &[(&str, &[&str])],
    ) -> Vec<String> {
        let mounts: Vec<_> = mounts.iter().map(|(point, kind)| mount(point, kind)).collect();
        let list = |folder: &Path| {
            let found = folders.iter().find(|(name, _)| Path::new(name) == folder);
            found.map_or(Vec::new(), |(_, names)| names.iter().map(|n| entry(n)).collect())
        };
        let host = Host { mounts: &mounts, list: &list, privileged, work_dir: Path::new("/usr") };
        let layout = Layout { state: "/s".into() };
        plan(&host, &layout).unwrap().steps.iter().map(ToString::to_string).collect()
    }

    fn entry(text: &str) -> Entry {
        if let Some((name, to)) = text.split_once(" -> ") {
            return Entry { name: name.into(), kind: Kind::Link { to: to.into() } };
        }
        match text.strip_suffix('/') {
            Some(name) => Entry { name: name.into(), kind: Kind::Folder { mode: 0o755 } },
            None => Entry { name: text.into(), kind: Kind::Other },
        }
    }

    #[test]
    fn with_rights_every_file_system_gets_an_overlay() {
        let mounts = [
            ("/", "ext4"),
            ("/proc", "proc"),
            ("/dev", "devtmpfs"),
            ("/dev/shm", "tmpfs"),
            ("/home", "xfs"),
            ("/sys/fs/cgroup", "cgroup2"),
            ("/var/lib/docker/overlay2/1/merged", "overlay"),
            ("/srv", "overlay"),
            ("/run/docker/netns/1", "nsfs"),
            ("/tmp", "tmpfs"),
        ];
        let expected = [
            "make the mounts private",
            "mount an overlay on /",
            "mount an overlay on /home",
            "mount an overlay on /srv",
            "mount an overlay on /tmp",
            "mount proc on /s/root/proc",
            "bind /sys",
            "bind /dev",
            "mount tmpfs on /s/root/dev/shm",
            "mount tmpfs on /s/root/s",
            "make /s/root the root",
        ];
        assert_eq!(steps(true, &mounts, &[("/dev", &["shm/", "null"])]), expected);
    }

    #[test]
    fn without_rights_folders_with_mounts_inside_are_rebuilt() {
        let mounts = [("/", "ext4"), ("/var/lib/x", "ext4"), ("/opt/a", "ext4"), ("/proc", "proc")];
        let root: &[&str] = &["bin -> usr/bin", "file", "opt/", "proc/", "usr/", "var/"];
        let folders = [("/", root), ("/var", &["lib/", "log/"]), ("/var/lib", &["x/", "y -> z"])];
        let expected = [
            "make the mounts private",
            "mount tmpfs on /s/root",
            "create the link /s/root/bin",
            "create the file /s/root/file",
            "bind /file read-only",
            "create the folder /s/root/opt",
            // Its entries cannot be read here.
            "bind /opt read-only",
            "create the folder /s/root/proc",
            "create the folder /s/root/usr",
            "mount an overlay on /usr",
            "create the folder /s/root/var",
            "create the folder /s/root/var/lib",
            "create the folder /s/root/var/lib/x",
            "mount an overlay on /var/lib/x",
            "create the link /s/root/var/lib/y",
            "create the folder /s/root/var/log",
            "mount an overlay on /var/log",
            "mount proc on /s/root/proc",
            "bind /sys",
            "bind /dev",
            "mount tmpfs on /s/root/s",
            "make /s/root the root",
        ];
        assert_eq!(steps(false, &mounts, &folders), expected);
    }

    #[test]
    fn letters_with_a_meaning_in_options_are_escaped() {
        assert_eq!(escaped(Path::new("/a,b:c\\d")), b"/a\\,b\\:c\\\\d");
    }
}
