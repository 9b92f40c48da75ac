//! Numbers and record layouts of tracepoints.
//!
//! A tracepoint is opened by the number in `events/GROUP/NAME/id`, and its record is described by
//! the file `format` beside it: offsets move between kernels, so they are read, never assumed.
//! Where tracefs is not mounted, a detached mount of our own is used, which no other process sees
//! and which ends with its descriptor. Source: Documentation/trace/events.rst, fsmount(2).

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags};

/// Where tracefs is usually mounted.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// An open tracefs.
#[derive(Debug)]
pub(crate) struct Tracefs(OwnedFd);

/// A tracepoint that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// Its number.
    pub(crate) id: u64,
    fields: Vec<(String, Field)>,
}

/// Where a field lies in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Offset in bytes.
    pub(crate) offset: usize,
    /// Length in bytes.
    pub(crate) size: usize,
}

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
        let id = self.read(&format!("events/{group}/{name}/id"))?;
        let id = id.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        let format = self.read(&format!("events/{group}/{name}/format"))?;
        Ok(Tracepoint { id, fields: parse_format(&format) })
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

impl Tracepoint {
    /// The field `name`.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }
}

impl Field {
    /// The field's value in a tracepoint record, as an unsigned number of at most eight bytes.
    pub(crate) fn read(self, raw: &[u8]) -> Option<u64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut word = [0; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }
}

fn open_dir(at: impl rustix::fd::AsFd, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, path, flags, Mode::empty())?)
}

/// Fields of a `format` file: `field:pid_t pid;  offset:24;  size:4;  signed:1;`.
fn parse_format(text: &str) -> Vec<(String, Field)> {
    text.lines().filter_map(|line| parse_field(line.trim())).collect()
}

fn parse_field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let name = declaration.split_whitespace().next_back()?.split('[').next()?;
    let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
    let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
    Some((name.to_owned(), Field { offset, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_the_kernels_own_description() {
        let format = "name: sched_waking\nID: 375\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\n\
            \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"comm=%s\"\n";
        let waking = Tracepoint { id: 375, fields: parse_format(format) };
        assert_eq!(waking.field("comm"), Some(Field { offset: 8, size: 16 }));
        let mut raw = [0_u8; 32];
        raw[2] = 0x18;
        raw[24..28].copy_from_slice(&4711_u32.to_le_bytes());
        assert_eq!(waking.field("pid").and_then(|f| f.read(&raw)), Some(4711));
        assert_eq!(waking.field("common_flags").and_then(|f| f.read(&raw)), Some(0x18));
        assert_eq!(waking.field("pid").and_then(|f| f.read(&raw[..26])), None);
        assert_eq!(waking.field("prio"), None);
    }
}
