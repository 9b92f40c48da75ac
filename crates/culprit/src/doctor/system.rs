//! The files that facts are read from.

use std::path::{Path, PathBuf};

/// A machine as its `/proc` and `/sys` tell it.
#[derive(Debug, Clone)]
pub(crate) struct System {
    root: PathBuf,
}

impl System {
    /// The running machine.
    pub(crate) fn this() -> Self {
        Self::at(Path::new("/"))
    }

    /// A machine whose files lie below `root`.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// A file's text without surrounding blanks; none when it cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// A file's number.
    pub(crate) fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// True when there is such a file and it can be opened.
    pub(crate) fn readable(&self, path: &str) -> bool {
        std::fs::File::open(self.path(path)).is_ok()
    }

    /// A field of `/proc/self/status`.
    pub(crate) fn status(&self, field: &str) -> Option<String> {
        let text = self.text("proc/self/status")?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        Some(line.trim().to_owned())
    }

    /// Whether an effective capability is held, by its number in `linux/capability.h`.
    pub(crate) fn capable(&self, number: u32) -> bool {
        let effective = self.status("CapEff").and_then(|hex| u64::from_str_radix(&hex, 16).ok());
        effective.is_some_and(|set| set >> number & 1 == 1)
    }

    /// True when the effective user is root of its namespace.
    pub(crate) fn is_root(&self) -> bool {
        self.status("Uid")
            .and_then(|ids| ids.split_whitespace().nth(1).map(|id| id == "0"))
            .unwrap_or(false)
    }

    /// The path of a file on the machine.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}
