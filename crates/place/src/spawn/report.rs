//! What a child tells its parent before it becomes its command: fixed twelve bytes through a pipe,
//! small enough to be written in one piece (`pipe(7)`, PIPE_BUF) by a process that may not allocate.

use std::fmt;

use culprit_model::Pid;

/// How far a process got on the way to its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Streams, signals, process group.
    Prepare,
    /// Making namespaces.
    Isolate,
    /// Bringing up the loopback interface.
    Network,
    /// Going into the place's namespaces.
    Enter,
    /// Going into the working directory.
    Directory,
    /// Becoming the program.
    Execute,
}

impl Stage {
    const ALL: [Self; 6] =
        [Self::Prepare, Self::Isolate, Self::Network, Self::Enter, Self::Directory, Self::Execute];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prepare => "prepare a process for",
            Self::Isolate => "create namespaces for",
            Self::Network => "bring up the loopback interface for",
            Self::Enter => "enter the namespaces for",
            Self::Directory => "enter the working directory of",
            Self::Execute => "execute",
        })
    }
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The process has this number: told by itself, or by the go-between that made it.
    Born(Pid),
    /// The process waits for the word.
    Ready,
    /// It came to an end at this stage with this error number.
    Failed(Stage, i32),
    /// It came to an end at this step of building a sandbox with this error number.
    Refused(u32, i32),
    /// This step took its second choice, for this error number.
    ReadOnly(u32, i32),
    /// This step was left out, for this error number.
    LeftOut(u32, i32),
}

impl Report {
    pub(super) const SIZE: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let words: [u32; 3] = match self {
            Self::Born(pid) => [1, pid.0, 0],
            Self::Ready => [2, 0, 0],
            Self::Failed(stage, errno) => [3, stage as u32, errno.unsigned_abs()],
            Self::Refused(step, errno) => [4, step, errno.unsigned_abs()],
            Self::ReadOnly(step, errno) => [5, step, errno.unsigned_abs()],
            Self::LeftOut(step, errno) => [6, step, errno.unsigned_abs()],
        };
        let mut bytes = [0; Self::SIZE];
        for (out, word) in bytes.chunks_exact_mut(4).zip(words) {
            out.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// `None` for bytes that no child of ours writes.
    pub(super) fn from_bytes(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let word =
            |i: usize| u32::from_ne_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        let errno = i32::try_from(word(8)).ok()?;
        Some(match word(0) {
            1 => Self::Born(Pid(word(4))),
            2 => Self::Ready,
            3 => Self::Failed(Stage::ALL.into_iter().find(|s| *s as u32 == word(4))?, errno),
            4 => Self::Refused(word(4), errno),
            5 => Self::ReadOnly(word(4), errno),
            6 => Self::LeftOut(word(4), errno),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Report, Stage};
    use culprit_model::Pid;

    #[test]
    fn every_report_survives_the_pipe() {
        let mut all = vec![Report::Born(Pid(4_000_000)), Report::Ready];
        all.extend(Stage::ALL.map(|s| Report::Failed(s, libc::ENOENT)));
        all.extend([Report::Refused(7, 1), Report::ReadOnly(8, 2), Report::LeftOut(9, 3)]);
        for report in all {
            assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
        }
        assert_eq!(Report::from_bytes([0xff; Report::SIZE]), None);
    }
}
