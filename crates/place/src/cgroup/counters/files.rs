//! The forms in which the kernel writes numbers into a cgroup's files.

use std::path::Path;

use crate::procfs;

/// What v1 shows for no limit is the largest number of whole pages; no machine has that much.
pub(super) const V1_UNLIMITED: u64 = 1 << 62;

pub(super) const fn micros(us: u64) -> u64 {
    us.saturating_mul(1_000)
}

/// A cgroup's folder in one tree, where there is one.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a>(pub(super) Option<&'a Path>);

impl Folder<'_> {
    pub(super) fn text(self, file: &str) -> Option<String> {
        procfs::text(self.0?.join(file)).ok()
    }

    pub(super) fn word(self, file: &str) -> Option<String> {
        self.text(file).map(|text| text.trim().to_owned())
    }

    /// The one number of a file; `max` and -1 are none.
    pub(super) fn number(self, file: &str) -> Option<u64> {
        self.word(file)?.parse().ok()
    }

    /// A file of lines `key number`, read once for all of its numbers.
    pub(super) fn keyed(self, file: &str) -> Keyed {
        Keyed(self.text(file).unwrap_or_default())
    }
}

/// The text of a file of lines `key number`; empty where there is none.
pub(super) struct Keyed(String);

impl Keyed {
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        let mut lines = self.0.lines();
        lines.find_map(|l| l.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
    }
}

/// `max 100000` or `50000 100000`, in microseconds: the quota and the period, in ns.
pub(super) fn quota(line: &str) -> (Option<u64>, Option<u64>) {
    let mut words = line.split_ascii_whitespace().map(|w| w.parse().ok().map(micros));
    (words.next().flatten(), words.next().flatten())
}

/// `8:0 rbytes=1 wbytes=2 ...`, one line a device: the sum of a key.
pub(super) fn sum_pairs(text: &str, key: &str) -> u64 {
    let pairs = text.split_ascii_whitespace().filter_map(|w| w.split_once('='));
    pairs.filter(|(k, _)| *k == key).filter_map(|(_, v)| v.parse::<u64>().ok()).sum()
}

/// `8:0 Read 1`, one line a device and kind: the sum of a kind.
pub(super) fn sum_columns(text: &str, kind: &str) -> u64 {
    let lines = text.lines().map(|l| l.split_ascii_whitespace().collect::<Vec<_>>());
    let of_kind = lines.filter(|words| words.get(1) == Some(&kind));
    of_kind.filter_map(|words| words.get(2)?.parse::<u64>().ok()).sum()
}

/// `8:0 rbps=1048576 wbps=max ...`, one line a device: the least of a key.
pub(super) fn least_pair(text: &str, key: &str) -> Option<u64> {
    let pairs = text.split_ascii_whitespace().filter_map(|w| w.split_once('='));
    pairs.filter(|(k, _)| *k == key).filter_map(|(_, v)| v.parse().ok()).min()
}

/// `8:0 1048576`, one line a device: the least number.
pub(super) fn least_of_devices(text: &str) -> Option<u64> {
    let numbers = text.lines().filter_map(|line| line.split_ascii_whitespace().nth(1));
    numbers.filter_map(|number| number.parse().ok()).min()
}

/// `some avg10=0.00 ... total=12` in microseconds: the total of a line, in ns.
pub(super) fn stall(text: &str, line: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.starts_with(line))?;
    line.split_ascii_whitespace().find_map(|w| w.strip_prefix("total=")?.parse().ok()).map(micros)
}
