//! The environment that a process was started with: where each value lies in its memory.
//!
//! The kernel writes the block `NAME=VALUE\0NAME=VALUE\0...` on the new stack before a program's first instruction,
//! and says where (`/proc/PID/stat`, fields 50 and 51). A later `setenv` moves values elsewhere; the block stays.

use std::os::unix::fs::FileExt as _;

use culprit_model::Pid;
use culprit_place::procfs;

/// The kernel's limit of arguments and environment together is a quarter of the stack's; 8 MiB is that of 32 MiB.
const MOST_BYTES: u64 = 8 << 20;

/// A variable of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// Address of the first byte of its value; of the zero behind it if it is empty.
    pub(super) value_at: u64,
}

/// The variables of a process, in their order.
///
/// # Errors
/// The sentence says why they cannot be read.
pub(super) fn entries(pid: Pid) -> Result<Vec<Entry>, String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_err(|error| format!("/proc/{pid}/stat: {error}"))?;
    let (start, end) = bounds(&stat).ok_or_else(|| format!("/proc/{pid}/stat has no addresses"))?;
    let length = end.saturating_sub(start).min(MOST_BYTES);
    let memory = procfs::memory(pid).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    memory.read_exact_at(&mut bytes, start).map_err(|error| format!("/proc/{pid}/mem: {error}"))?;
    Ok(split(&bytes, start))
}

/// `env_start` and `env_end`, fields 50 and 51; zeros where the kernel hides them.
fn bounds(stat: &str) -> Option<(u64, u64)> {
    // The name in parentheses may hold blanks: count from behind it, at field 3.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(50 - 3);
    let start = fields.next()?.parse().ok().filter(|start| *start != 0)?;
    Some((start, fields.next()?.parse().ok()?))
}

fn split(bytes: &[u8], start: u64) -> Vec<Entry> {
    let mut at = start;
    let mut entries = Vec::new();
    for entry in bytes.split(|byte| *byte == 0) {
        if let Some(length) = entry.iter().position(|byte| *byte == b'=') {
            let name = String::from_utf8_lossy(entry.get(..length).unwrap_or_default());
            let value_at = at + length as u64 + 1;
            entries.push(Entry { name: name.into_owned(), value_at });
        }
        at += entry.len() as u64 + 1;
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_behind_the_first_equals_sign() {
        let entries = split(b"A=1\0LONG=a=b\0EMPTY=\0odd\0Z=9\0", 100);
        let found: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.value_at)).collect();
        assert_eq!(found, [("A", 102), ("LONG", 109), ("EMPTY", 119), ("Z", 126)]);
    }

    #[test]
    fn our_own_block_is_found() {
        let entries = entries(Pid(std::process::id())).expect("our own memory");
        let path = entries.iter().find(|entry| entry.name == "PATH").expect("a path is set");
        let memory = procfs::memory(Pid(std::process::id())).expect("our own memory");
        let mut first = [0];
        memory.read_exact_at(&mut first, path.value_at).expect("it is mapped");
        let block = std::fs::read("/proc/self/environ").expect("our own variables");
        let value = block.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(b"PATH="));
        assert_eq!(first.first(), value.expect("a path is set").first());
    }
}
