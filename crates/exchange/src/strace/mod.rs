//! What `strace -T` prints, with the times of `-r`, `-t`, `-tt` or `-ttt`, of one thread or with
//! `-f` of many, with paths (`-y`) and stacks (`-k`) where it was asked for them.
//!
//! Each system call is a sample: its latency (wall-clock time from entry to exit, on the CPU or
//! not, including what strace adds) at the frames `Path: ...` or `Raw Syscalls`, `Syscall: ...`,
//! `Arguments: ...`, `Return Code: ...`, as users of PerfView know them. With `-k`, the caller's
//! frames stand above.

mod files;
mod followed;
mod joined;
mod line;
mod read;

use crate::door::{Sign, Votes};
use crate::format::Spec;
use joined::{Joined, Kind};

pub(crate) const SPEC: Spec = Spec {
    extensions: &["strace", "txt"],
    about: "the text of strace -T, with -r, -tt or -ttt, -f, -y and -k",
    detect,
    read: Some(read::read),
    write: None,
};

/// Text in which system calls with their latencies are the rule: what a traced program prints
/// itself may stand between them.
fn detect(head: &[u8]) -> bool {
    let mut joined = Joined::default();
    let votes = Votes::count(head, |line| {
        let mut sign = None;
        joined.add(line, |line, kind| {
            sign = match kind {
                Kind::Whole if line::Line::parse(line).is_some_and(|line| line.is_timed()) => {
                    Some(Sign::Sure)
                }
                Kind::Whole => sign,
                Kind::Cut | Kind::Foreign => sign.or(Some(Sign::Foreign)),
            }
        });
        sign
    });
    votes.win()
}
