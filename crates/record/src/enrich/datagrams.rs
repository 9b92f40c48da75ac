//! Datagrams that the kernel dropped because a socket of a recorded process was full.
//!
//! ```text
//! /proc/PID/net/udp     ... inode ... drops     all sockets of the process's network namespace
//! /proc/PID/fd/5        socket:[inode]          whose it is
//! ```
//!
//! Source: net/ipv4/udp.c, `udp4_format_sock`. Sockets of which nothing was dropped are never looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashMap;

/// A socket's number in the kernel.
type Inode = u64;

/// How many datagrams for a process were dropped since the first look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Whose sockets were full.
    pub(crate) pid: i32,
    /// Up to the look before.
    pub(crate) earlier: u64,
    /// Up to now.
    pub(crate) now: u64,
}

/// What was dropped, by process.
#[derive(Debug, Default)]
pub(crate) struct DatagramDrops {
    /// Whose a socket is; none for one of a process that is not recorded.
    owners: FxHashMap<Inode, Option<i32>>,
    /// What each socket had dropped when it was first looked at; none before the first look.
    before: Option<BTreeMap<Inode, u64>>,
    /// What each socket of a process has dropped since then. Sockets that were closed stay.
    since: BTreeMap<i32, BTreeMap<Inode, u64>>,
}

impl DatagramDrops {
    /// Looks at the sockets of some processes. Answers those of which more was dropped since the last look.
    pub(crate) fn look(&mut self, pids: &[i32]) -> Vec<Dropped> {
        let sockets = sockets(pids);
        let Some(before) = &self.before else {
            self.before = Some(sockets);
            return Vec::new();
        };
        let mut grown = BTreeMap::new();
        for (inode, drops) in sockets {
            let drops = drops.saturating_sub(before.get(&inode).copied().unwrap_or(0));
            let mut owner = || *self.owners.entry(inode).or_insert_with(|| owner(inode, pids));
            if drops > 0
                && let Some(pid) = owner()
            {
                let own = self.since.entry(pid).or_default();
                let earlier = own.values().sum();
                let known = own.entry(inode).or_default();
                if drops > *known {
                    *known = drops;
                    grown.entry(pid).or_insert(earlier);
                }
            }
        }
        let total = |pid: i32| self.since[&pid].values().sum();
        grown.into_iter().map(|(pid, earlier)| Dropped { pid, earlier, now: total(pid) }).collect()
    }
}

/// The sockets that dropped something, in all network namespaces of some processes.
fn sockets(pids: &[i32]) -> BTreeMap<Inode, u64> {
    let mut namespaces = BTreeSet::new();
    let mut found = BTreeMap::new();
    for pid in pids {
        let namespace = std::fs::read_link(format!("/proc/{pid}/ns/net"));
        if !namespace.is_ok_and(|namespace| namespaces.insert(namespace)) {
            continue;
        }
        for table in ["udp", "udp6"] {
            let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}"));
            found.extend(text.unwrap_or_default().lines().filter_map(socket));
        }
    }
    found
}

/// Inode and drops of a line of `/proc/net/udp`; none for the heading, and for a socket that dropped nothing.
fn socket(line: &str) -> Option<(Inode, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (inode, drops) = (words.get(9)?.parse().ok()?, words.get(12)?.parse().ok()?);
    (drops > 0).then_some((inode, drops))
}

/// The process that has a socket open.
fn owner(inode: Inode, pids: &[i32]) -> Option<i32> {
    let wanted = format!("socket:[{inode}]");
    let has = |pid: &&i32| {
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        let mut links =
            descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.any(|link| link == Path::new(&wanted))
    };
    pids.iter().find(has).copied()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_line_has_its_inode_and_drops() {
        let line = "  245: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        \
                    0 91234 2 0000000000000000 17";
        assert_eq!(socket(line), Some((91234, 17)));
        assert_eq!(socket("   sl  local_address rem_address   st tx_queue rx_queue drops"), None);
        assert_eq!(socket(&line.replace(" 17", " 0")), None);
    }

    #[test]
    fn what_does_not_fit_into_a_sockets_buffer_is_counted_for_its_process() {
        let us = i32::try_from(std::process::id()).expect("a number of a process");
        let mut drops = DatagramDrops::default();
        assert_eq!(drops.look(&[us]), []);
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = receiver.local_addr().expect("an address");
        // More than the default buffer takes, net.core.rmem_default.
        for _ in 0..2_000 {
            sender.send_to(&[0; 1024], address).expect("sent, or dropped");
        }
        let [found] = drops.look(&[us])[..] else { panic!("one process dropped something") };
        assert!((found.pid, found.earlier) == (us, 0) && found.now > 100, "{found:?} of 2000");
        assert_eq!(drops.look(&[us]), [], "nothing more was dropped");
    }
}
