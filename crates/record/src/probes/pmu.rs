//! The kernel's PMU for probes: its number, the meaning of its bits, and whether we may use it.

use std::io;
use std::path::Path;

use culprit_model::Nanos;

use super::toll;
use crate::error::Error;
use crate::session::ladder::{Errno, Limits};

/// Where the kernel describes it.
pub(crate) const FOLDER: &str = "/sys/bus/event_source/devices/uprobe";

/// The PMU `uprobe`, as far as events need to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UprobePmu {
    /// Its number, for `perf_event_attr.type`.
    pub(crate) number: u32,
    /// The bit of `config` that asks for returns.
    pub(crate) return_bit: u32,
    /// The lowest bit of `config` that holds the offset of a counter of listeners.
    pub(crate) listeners_bit: u32,
}

impl UprobePmu {
    /// Reads the description, and tries a probe in our own program.
    ///
    /// # Errors
    /// The kernel's answer: `ENOENT` without the PMU, `EACCES` without CAP_SYS_ADMIN.
    pub(crate) fn probe() -> Result<(Self, toll::Toll), Errno> {
        let pmu = Self::read(Path::new(FOLDER))?;
        let toll = toll::measure(pmu)?;
        Ok((pmu, toll))
    }

    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let text = |name: &str| std::fs::read_to_string(folder.join(name));
        let number = text("type")?.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        let bit = |name: &str| text(name).ok().and_then(|text| lowest_bit(&text));
        Ok(Self {
            number,
            return_bit: bit("format/retprobe").unwrap_or(0),
            listeners_bit: bit("format/ref_ctr_offset").unwrap_or(32),
        })
    }
}

/// `config:0`, `config:32-63`
fn lowest_bit(text: &str) -> Option<u32> {
    let bits = text.trim().strip_prefix("config:")?;
    bits.split(['-', ',']).next()?.parse().ok().filter(|bit| *bit < 64)
}

/// CPU time that a hit of a probe adds to a program on this machine, at most; none where programs cannot be
/// probed.
#[must_use]
pub fn probe_cost() -> Option<Nanos> {
    UprobePmu::probe().ok().map(|(_, toll)| toll.largest())
}

/// How this process gets CAP_SYS_ADMIN.
pub(crate) fn as_admin(limits: Limits) -> &'static str {
    if limits.root {
        "give this process CAP_SYS_ADMIN, for a container with `docker run --cap-add SYS_ADMIN`"
    } else {
        "run `culprit` as root"
    }
}

/// The error for a recording that asks for probes where they are not allowed.
pub(crate) fn refusal(what: &str, errno: Errno, limits: Limits) -> Error {
    let found = io::Error::from_raw_os_error(errno.0);
    let (reason, hints) = match errno.0 {
        libc::ENOENT => (
            format!("this kernel has no uprobes ({FOLDER} does not exist)"),
            vec!["use a kernel with CONFIG_UPROBE_EVENTS".to_owned()],
        ),
        _ if limits.seccomp => (
            format!("the kernel or a seccomp profile refuses probes in programs ({found})"),
            vec![
                "start the container with `docker run --cap-add SYS_ADMIN`".to_owned(),
                "record from the host with `culprit record --container NAME`".to_owned(),
            ],
        ),
        _ => (
            format!(
                "probes in programs need CAP_SYS_ADMIN, at every perf_event_paranoid ({found})"
            ),
            vec![as_admin(limits).to_owned()],
        ),
    };
    Error::Refused { target: what.to_owned(), reason, hints }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_read_from_the_kernels_files() {
        let folder = tempfile::tempdir().expect("room");
        assert!(UprobePmu::read(folder.path()).is_err());
        std::fs::create_dir(folder.path().join("format")).expect("room");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("room");
        };
        write("type", "8\n");
        write("format/retprobe", "config:1\n");
        write("format/ref_ctr_offset", "config:32-63\n");
        let pmu = UprobePmu::read(folder.path()).expect("it is there");
        assert_eq!(pmu, UprobePmu { number: 8, return_bit: 1, listeners_bit: 32 });
        assert_eq!(lowest_bit("config1:0-63"), None);
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        let without = refusal("allocations", Errno(libc::ENOENT), Limits::default());
        assert!(without.to_string().contains("no uprobes"), "{without}");
        let denied = refusal("allocations", Errno(libc::EACCES), Limits::default());
        assert!(denied.to_string().contains("CAP_SYS_ADMIN"), "{denied}");
        assert_eq!(denied.hints(), ["run `culprit` as root"]);
        let root = Limits { root: true, ..Limits::default() };
        let denied = refusal("allocations", Errno(libc::EACCES), root);
        assert_eq!(denied.hints(), [as_admin(root)]);
        assert!(!as_admin(root).contains("as root"));
    }
}
