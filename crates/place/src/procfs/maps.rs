//! `/proc/PID/maps`: what lies where in a process's memory.

use std::ops::Range;

use culprit_model::Pid;

use super::read;
use crate::error::Result;

/// One mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses in the process.
    pub range: Range<u64>,
    /// Whether it may be read.
    pub read: bool,
    /// Whether it may be written.
    pub write: bool,
    /// Whether it may be executed.
    pub execute: bool,
    /// Whether writes are seen by others who map the same file.
    pub shared: bool,
    /// Where in the file it begins, bytes.
    pub offset: u64,
    /// Device of the file, major and minor; zeros for memory.
    pub device: (u32, u32),
    /// Inode of the file; 0 for memory.
    pub inode: u64,
    /// The file as the process's root names it, or a word in brackets (`[heap]`, `[vdso]`), or
    /// nothing. The kernel adds ` (deleted)` to a file that has no name any more.
    pub path: String,
}

impl Mapping {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let flags = fields.next()?.as_bytes();
        let offset = hex(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let inode = fields.next()?.parse().ok()?;
        let path = fields.next().unwrap_or_default().trim_start();
        let is = |i: usize, letter: u8| flags.get(i) == Some(&letter);
        Some(Self {
            range: hex(from)?..hex(to)?,
            read: is(0, b'r'),
            write: is(1, b'w'),
            execute: is(2, b'x'),
            shared: is(3, b's'),
            offset,
            device: (u32::try_from(hex(major)?).ok()?, u32::try_from(hex(minor)?).ok()?),
            inode,
            // The kernel writes a newline in a name as \012 (seq_path) and nothing else.
            path: path.replace("\\012", "\n"),
        })
    }
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// A process's mappings, ordered by address. Empty for kernel threads and the dead.
///
/// # Errors
/// [`crate::Error::NoProcess`] when it has ended; [`crate::Error::File`] when it is another
/// user's and we may not look.
pub fn maps(pid: Pid) -> Result<Vec<Mapping>> {
    let bytes = read(pid, "maps")?;
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(Mapping::parse).collect())
}

#[cfg(test)]
mod tests {
    use super::{Mapping, maps};
    use culprit_model::Pid;

    #[test]
    fn every_field_is_read() {
        let line = "7f00-7fff r-xp 00001000 fe:0a 77    /usr/lib/a b.so (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!(mapping.range, 0x7f00..0x7fff);
        assert_eq!(
            (mapping.read, mapping.write, mapping.execute, mapping.shared),
            (true, false, true, false)
        );
        assert_eq!((mapping.offset, mapping.device, mapping.inode), (0x1000, (0xfe, 0x0a), 77));
        assert_eq!(mapping.path, "/usr/lib/a b.so (deleted)");
        assert_eq!(Mapping::parse("00-10 rw-s 0 00:00 0").unwrap().path, "");
        assert_eq!(Mapping::parse("nonsense"), None);
    }

    #[test]
    fn our_own_code_is_mapped() {
        let here = our_own_code_is_mapped as *const () as u64;
        let maps = maps(Pid(std::process::id())).unwrap();
        assert!(maps.iter().any(|m| m.execute && m.range.contains(&here)));
    }
}
