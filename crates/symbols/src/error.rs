//! What can fail outright. Damage that leaves something usable is a [`Problem`](crate::Problem) instead.
//!
//! Invariant: no variant is reached by panicking code; every input of this crate (ELF, DWARF, kallsyms,
//! perf maps, jitdump) is treated as hostile.

use std::io;

use crate::BuildId;

/// Why something could not be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a read.
    #[error("cannot read `{path}` at {offset:#x}: {source}")]
    Read {
        /// The path as the caller named it.
        path: String,
        /// Byte offset of the read.
        offset: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// The file has no format that is read (ELF, .NET assemblies), or its headers contradict themselves.
    #[error("cannot parse `{path}`: {reason}")]
    Malformed {
        /// The path as the caller named it.
        path: String,
        /// What does not fit.
        reason: String,
    },
    /// A part of the file is larger than this crate reads.
    #[error("cannot read `{path}`: {what} has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// The path as the caller named it.
        path: String,
        /// Which part.
        what: String,
        /// Its stated size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is not the one that was mapped: it was replaced since.
    #[error(
        "cannot use `{path}`: expected build id {expected}, found {}",
        found.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
    )]
    BuildIdMismatch {
        /// The path as the caller named it.
        path: String,
        /// What the mapping said.
        expected: BuildId,
        /// What the file says.
        found: Option<BuildId>,
    },
    /// The kernel shows its symbol names but hides their addresses from this user.
    #[error(
        "cannot read kernel symbols: all addresses are zero (kernel.kptr_restrict is {}, \
         kernel.perf_event_paranoid is {})",
        shown(*kptr_restrict), shown(*perf_event_paranoid)
    )]
    KernelAddressesHidden {
        /// `kernel.kptr_restrict` now, where it could be read.
        kptr_restrict: Option<i64>,
        /// `kernel.perf_event_paranoid` now, where it could be read.
        perf_event_paranoid: Option<i64>,
    },
    /// This process has no vDSO (booted with `vdso=0`, or an emulator).
    #[error("cannot read the vDSO: no `[vdso]` mapping in `/proc/self/maps`")]
    NoVdso,
}

impl Error {
    /// What the user can do about it; empty when nothing is known to help.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::KernelAddressesHidden { .. } => vec![
                "run as root or with CAP_SYSLOG, or set `sysctl kernel.kptr_restrict=0` and \
                 `sysctl kernel.perf_event_paranoid=1`"
                    .to_owned(),
                "in a container, use `docker run --cap-add SYSLOG`, or change both settings on \
                 the host"
                    .to_owned(),
            ],
            Self::BuildIdMismatch { .. } => {
                vec![
                    "the file was replaced while the program ran: record again, or restore the \
                     old file"
                        .to_owned(),
                ]
            }
            _ => Vec::new(),
        }
    }
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(|| "unreadable".to_owned(), |value| value.to_string())
}
