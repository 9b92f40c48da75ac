//! Python: a hook that reports what `os.environ` is asked for.
//!
//! CPython copies all variables when it starts, so that the bytes say nothing. The hook is a module
//! `sitecustomize` in an archive that lies in our memory, as does the file that it reports to: both are reached by
//! `/proc/PID/fd/N`, and both are gone when we end, however we end.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;

use culprit_config::CodePlace;
use flate2::Crc;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize;

/// The variable that leads to the hook.
pub(super) const VARIABLE: &str = "PYTHONPATH";

/// The hook's text, with marks for its own path and the path to report to.
const HOOK: &str = include_str!("sitecustomize.py");

/// The hook, and where it reports.
#[derive(Debug)]
pub(super) struct PythonHook {
    archive: File,
    log: File,
}

/// How a name was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Use {
    /// The hook was loaded.
    Hello,
    /// The value was asked for.
    Get,
    /// Only whether it is set.
    In,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Report {
    /// The process.
    pub(super) pid: u32,
    /// What was done.
    #[serde(rename = "use")]
    pub(super) used: Use,
    /// The variable.
    #[serde(default)]
    pub(super) name: String,
    /// How often, so far.
    #[serde(default)]
    pub(super) count: u64,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    function: String,
}

impl Report {
    /// The line of Python that asked.
    pub(super) fn place(&self) -> CodePlace {
        let (function, file) = (self.function.clone(), self.file.clone());
        CodePlace { function, file, line: self.line }
    }
}

fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

impl PythonHook {
    /// Makes the hook.
    ///
    /// # Errors
    /// When the kernel gives no file in memory.
    pub(super) fn new() -> io::Result<Self> {
        let memory = |name: &str| memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
        let (mut archive, log) = (memory("hook")?, memory("log")?);
        let hook = HOOK.replace("@HERE@", &path_of(&archive)).replace("@LOG@", &path_of(&log));
        archive.write_all(&stored("sitecustomize.py", hook.as_bytes()))?;
        Ok(Self { archive, log })
    }

    /// The value of [`VARIABLE`], given the one that the command would have.
    pub(super) fn value(&self, before: Option<&str>) -> String {
        let own = path_of(&self.archive);
        before.filter(|before| !before.is_empty()).map_or(own.clone(), |b| format!("{own}:{b}"))
    }

    /// What was reported. A line that is not whole is left out.
    pub(super) fn reports(&mut self) -> io::Result<Vec<Report>> {
        let mut text = String::new();
        self.log.rewind()?;
        self.log.read_to_string(&mut text)?;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

/// A zip archive with one file, not compressed (APPNOTE.TXT, 4.3).
fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(content);
    let size = u32::try_from(content.len()).unwrap_or(0);
    let length = u16::try_from(name.len()).unwrap_or(0);
    let mut common = Vec::new();
    // Version, flags, method, and 1980-01-01 as time and date.
    for field in [20_u16, 0, 0, 0, 33] {
        common.extend(field.to_le_bytes());
    }
    for field in [crc.sum(), size, size] {
        common.extend(field.to_le_bytes());
    }
    common.extend(length.to_le_bytes());
    common.extend([0; 2]);
    let mut zip = [&b"PK\x03\x04"[..], common.as_slice(), name.as_bytes(), content].concat();
    let directory = u32::try_from(zip.len()).unwrap_or(0);
    let entry = [&b"PK\x01\x02\x14\x00"[..], common.as_slice(), &[0; 14], name.as_bytes()].concat();
    zip.extend(&entry);
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(u32::try_from(entry.len()).unwrap_or(0).to_le_bytes());
    zip.extend(directory.to_le_bytes());
    zip.extend([0; 2]);
    zip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_lines() {
        let mut hook = PythonHook::new().expect("memory");
        let line =
            r#"{"pid":7,"use":"get","name":"A","count":2,"file":"a.py","line":3,"function":"f"}"#;
        write!(hook.log, "{line}\nbroken\n{{\"pid\":8,\"use\":\"hello\"}}\n").expect("memory");
        let reports = hook.reports().expect("memory");
        let found: Vec<_> = reports.iter().map(|one| (one.pid, one.used, one.count)).collect();
        assert_eq!(found, [(7, Use::Get, 2), (8, Use::Hello, 0)]);
        assert_eq!(reports.first().map(|one| one.place().line), Some(3));
    }

    #[test]
    fn a_path_that_is_set_stays() {
        let hook = PythonHook::new().expect("memory");
        let own = hook.value(None);
        assert_eq!(hook.value(Some("/a:/b")), format!("{own}:/a:/b"));
        assert_eq!(hook.value(Some("")), own);
    }
}
