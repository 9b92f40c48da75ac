//! The mounts that a process sees, from `/proc/PID/mountinfo` (`proc_pid_mountinfo(5)`).
//!
//! Used to find the cgroup hierarchies, to plan the sandbox and to say what file system a folder
//! lies on. Lines are kept in the kernel's order: a later mount on the same point covers an
//! earlier one.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use culprit_model::Pid;

use crate::error::{Error, Result};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of this mount, as `statx` gives it for a file.
    pub id: u64,
    /// Which folder of the file system is mounted; `/` for all of it.
    pub root: PathBuf,
    /// Where, in the view of the process that was asked.
    pub point: PathBuf,
    /// Options of this mount: `rw`, `nosuid`, ...
    pub options: Vec<String>,
    /// Type of the file system: `ext4`, `overlay`, ...
    pub fs_type: String,
    /// What is mounted: a device, or any word.
    pub source: String,
    /// Options of the file system itself, for overlay its layers.
    pub super_options: Vec<String>,
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|b| *b == b' ');
        let id = text(fields.next()?).parse().ok()?;
        let root = unescape(fields.nth(2)?);
        let point = unescape(fields.next()?);
        let options = words(fields.next()?);
        // Optional fields (propagation) end with a lone dash.
        fields.find(|f| *f == b"-")?;
        let fs_type = text(fields.next()?);
        let source = text(fields.next()?);
        let super_options = words(fields.next().unwrap_or_default());
        Some(Self {
            id,
            root: root.into(),
            point: point.into(),
            options,
            fs_type,
            source,
            super_options,
        })
    }

    /// The value of a file system option such as `upperdir`.
    #[must_use]
    pub fn super_option(&self, key: &str) -> Option<&str> {
        self.super_options.iter().find_map(|o| o.strip_prefix(key)?.strip_prefix('='))
    }
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal =
            tail.get(..3).filter(|_| first == b'\\').and_then(|d| std::str::from_utf8(d).ok());
        match octal.and_then(|d| u8::from_str_radix(d, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

fn text(field: &[u8]) -> String {
    unescape(field).to_string_lossy().into_owned()
}

fn words(field: &[u8]) -> Vec<String> {
    text(field).split(',').map(str::to_owned).collect()
}

/// The mounts that `pid` sees; `None` asks for our own.
///
/// # Errors
/// [`Error::File`] when the process is gone or not ours to ask.
pub fn mounts(pid: Option<Pid>) -> Result<Vec<Mount>> {
    let who = pid.map_or_else(|| "self".to_owned(), |p| p.to_string());
    let path = format!("/proc/{who}/mountinfo");
    let bytes = std::fs::read(&path).map_err(|e| Error::file("read", path, e))?;
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8]) -> Vec<Mount> {
    bytes.split(|b| *b == b'\n').filter_map(Mount::parse).collect()
}

/// The mount that `path` (absolute, without symbolic links) lies on.
#[must_use]
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    // Of two on the same point the later one is on top, and max_by_key keeps the last.
    mounts
        .iter()
        .filter(|m| path.starts_with(&m.point))
        .max_by_key(|m| m.point.components().count())
}

#[cfg(test)]
mod tests {
    use super::{mount_of, parse};
    use std::path::Path;

    const LINES: &[u8] = b"27 0 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
23 27 0:22 / /sys rw - sysfs sysfs rw
40 27 0:40 / /mnt/a\\040b rw master:2 propagate_from:1 - overlay overlay rw,lowerdir=/l\\134x,upperdir=/u
41 27 0:41 /sub /sys rw,ro - tmpfs none rw
broken line
";

    #[test]
    fn fields_are_found_after_any_number_of_optional_ones() {
        let mounts = parse(LINES);
        assert_eq!(mounts.len(), 4);
        assert_eq!((mounts[0].id, mounts[0].fs_type.as_str()), (27, "ext4"));
        assert_eq!(mounts[2].point, Path::new("/mnt/a b"));
        assert_eq!(mounts[2].super_option("upperdir"), Some("/u"));
        assert_eq!(mounts[2].super_option("lowerdir"), Some("/l\\x"));
        assert_eq!(mounts[2].super_option("upper"), None);
    }

    #[test]
    fn the_deepest_and_topmost_mount_wins() {
        let mounts = parse(LINES);
        let on = |path: &str| mount_of(&mounts, Path::new(path)).map(|m| m.source.as_str());
        assert_eq!(on("/sys/kernel"), Some("none"));
        assert_eq!(on("/mnt/a b/c"), Some("overlay"));
        assert_eq!(on("/mnt/a"), Some("/dev/vda"));
    }
}
