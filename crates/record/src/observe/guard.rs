//! A variable of ours that would fail a program that cannot reach what it names.
//!
//! A JVM does not start without the agent that `JAVA_TOOL_OPTIONS` names. A process of another user, namespace or
//! root cannot open a file of ours. Each program is stopped before its first instruction, so the text can be
//! replaced by blanks there, in the program's own copy of the environment.

use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use culprit_model::Pid;

use super::block::Entry;

/// A text of ours in a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The variable.
    pub variable: String,
    /// How its value begins.
    pub text: String,
    /// The file that the text names.
    pub file: PathBuf,
}

/// `CAP_SYS_PTRACE` lets a process follow `/proc/PID/fd` of any other.
const MAY_TRACE: u64 = 1 << 19;

impl Guarded {
    /// Blanks the text in a stopped program that cannot open the file. Where its memory cannot be written, it fails
    /// by itself.
    pub(super) fn protect(&self, pid: Pid, entries: &[Entry]) {
        let Some(entry) = entries.iter().find(|entry| entry.name == self.variable) else { return };
        if reaches(pid, &self.file) {
            return;
        }
        let mut options = std::fs::OpenOptions::new();
        let Ok(memory) = options.read(true).write(true).open(format!("/proc/{pid}/mem")) else {
            return;
        };
        let mut begins = vec![0; self.text.len()];
        if memory.read_exact_at(&mut begins, entry.value_at).is_ok()
            && begins == self.text.as_bytes()
        {
            begins.fill(b' ');
            // See above.
            let _ = memory.write_all_at(&begins, entry.value_at);
        }
    }
}

/// Whether a process can open a file of ours: its root shows the same file, and it may look at our descriptors
/// (`__ptrace_may_access`).
fn reaches(pid: Pid, file: &Path) -> bool {
    let seen = Path::new("/proc").join(pid.to_string()).join("root");
    let seen = seen.join(file.strip_prefix("/").unwrap_or(file));
    let same = |one: &std::fs::Metadata, other: &std::fs::Metadata| {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    };
    let is_same = match (seen.metadata(), file.metadata()) {
        (Ok(seen), Ok(ours)) => same(&seen, &ours),
        _ => false,
    };
    let namespace = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/user")).ok();
    let of_us = || Some((Rights::of("self")?, namespace("self")?));
    let of_it = || Some((Rights::of(&pid.to_string())?, namespace(&pid.to_string())?));
    let (Some((ours, our_space)), Some((its, its_space))) = (of_us(), of_it()) else {
        return false;
    };
    is_same && our_space == its_space && its.covers(&ours)
}

/// What decides whether one process may look into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rights {
    user: u32,
    group: u32,
    permitted: u64,
    effective: u64,
}

impl Rights {
    fn of(process: &str) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        // Real, effective, saved, of files.
        let last = |name: &str| field(name)?.split_whitespace().nth(3)?.parse().ok();
        let set = |name: &str| u64::from_str_radix(field(name)?.trim(), 16).ok();
        Some(Self {
            user: last("Uid:")?,
            group: last("Gid:")?,
            permitted: set("CapPrm:")?,
            effective: set("CapEff:")?,
        })
    }

    fn covers(&self, other: &Self) -> bool {
        let same = (self.user, self.group) == (other.user, other.group);
        self.effective & MAY_TRACE != 0 || (same && other.permitted & !self.permitted == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_or_fewer_rights_do_not_reach_us() {
        let status = |user: u32, rights: &str| {
            let text = format!(
                "Name:\tx\nUid:\t0\t0\t0\t{user}\nGid:\t0\t0\t0\t0\nCapPrm:\t{rights}\nCapEff:\t{rights}\n"
            );
            Rights::parse(&text).expect("it is whole")
        };
        let root = status(0, "000001ffffffffff");
        assert!(root.covers(&root) && root.covers(&status(7, "0")));
        assert!(!status(7, "0").covers(&root));
        assert!(!status(0, "0000000000000001").covers(&root), "root without its rights");
        assert!(status(7, "0").covers(&status(7, "0")));
        assert!(!status(8, "0").covers(&status(7, "0")));
    }

    #[test]
    fn we_reach_our_own_files() {
        assert!(reaches(Pid(std::process::id()), Path::new("/proc/self/exe")));
        assert!(!reaches(Pid(std::process::id()), Path::new("/no/such/file")));
    }
}
