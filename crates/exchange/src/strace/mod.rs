//! What `strace -T` prints, with the times of `-r`, `-t`, `-tt` or `-ttt`, of one thread or with
//! `-f` of many, with paths (`-y`) and stacks (`-k`) where it was asked for them.
//!
//! Each system call is a sample: its latency (wall-clock time from entry to exit, on the CPU or
//! not, including what strace adds) at the frames `Path: ...` or `Raw Syscalls`, `Syscall: ...`,
//! `Arguments: ...`, `Return Code: ...`, as users of PerfView know them. With `-k`, the caller's
//! frames stand above.

mod files;
mod followed;
mod line;
mod read;

use crate::format::Spec;

pub(crate) const SPEC: Spec = Spec {
    extensions: &["strace", "txt"],
    about: "the text of strace -T, with -r, -tt or -ttt, -f, -y and -k",
    detect,
    read: Some(read::read),
    write: None,
};

/// Lines that are looked at.
const LOOKED_AT: usize = 200;

/// Text in which system calls with their latencies are the rule: what a traced program prints
/// itself may stand between them.
fn detect(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() > 1 && !head.ends_with(b"\n") {
        lines.pop();
    }
    lines.truncate(LOOKED_AT);
    let calls = lines.iter().filter_map(|line| line::Line::parse(line));
    let timed = calls.filter(line::Line::is_timed).count();
    let noise = lines.iter().filter(|line| line::Line::parse(line).is_none());
    let noise = noise.filter(|line| !line.starts_with(" >")).count();
    timed > 0 && timed >= noise
}
