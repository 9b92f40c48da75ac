//! What this process had read and written, by the kernel's account.

/// Bytes that this process has had put into the page cache or sent to a disk so far
/// (`write_bytes` of `/proc/self/io`, proc_pid_io(5)), whatever call did it: also what `open` copies.
/// None where the kernel keeps no such account.
#[must_use]
pub fn bytes_written() -> Option<u64> {
    count("write_bytes:")
}

/// Bytes that this process has had read from a disk so far (`read_bytes`): what the page cache gave is
/// not among them. None as above.
#[must_use]
pub fn bytes_read() -> Option<u64> {
    count("read_bytes:")
}

fn count(what: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(what))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_counts() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let before = bytes_written().unwrap();
        std::fs::write(dir.path().join("file"), vec![1; 1 << 20]).unwrap();
        assert!(bytes_written().unwrap() >= before + (1 << 20));
    }
}
