//! Probes as tracefs defines them: one line of `uprobe_events` each, shared by the events of all CPUs.
//!
//! The PMU `uprobe` needs no such line, but makes a probe of its own for every event, and to take a
//! probe away costs the kernel 80 ms (it waits until nobody can be in it): 14 events for an allocator
//! on 64 CPUs would be a minute. So the PMU is only used where tracefs cannot be written.
//!
//! A definition does nothing until an event is opened for it, and events end with their recorder. What
//! a killed one leaves is a line, which the next recorder takes away. Groups are named after the pid
//! namespace and the process, so that nobody takes away what is not dead, and they have a number: a process may
//! have several recorders, also at once. To a name that exists the kernel adds a second probe, and Linux 6.18
//! follows a null pointer when the events of one of the two are closed (`uprobe_apply` below
//! `uprobe_perf_close`); no recording works after that until the machine is started again. Source:
//! Documentation/trace/uprobetracer.rst; the fault was seen.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Moment, Site};
use crate::events::tracefs::Tracefs;

/// The file of definitions.
const LIST: &str = "uprobe_events";

/// Definitions of this recorder, taken away at the end.
#[derive(Debug)]
pub(crate) struct Definitions {
    tracefs: Tracefs,
    list: File,
    group: String,
    defined: usize,
}

impl Definitions {
    /// Opens the list, and takes away what dead recorders left in it.
    ///
    /// # Errors
    /// When tracefs is not there or may not be written.
    pub(crate) fn open() -> io::Result<Self> {
        let tracefs = Tracefs::open_writable()?;
        let mut list = tracefs.append(LIST)?;
        let space = std::fs::metadata("/proc/self/ns/pid")?.ino();
        for left in left_behind(&tracefs.read(LIST)?, space, &|pid| {
            std::fs::exists(format!("/proc/{pid}")).unwrap_or(true)
        }) {
            // In use after all, or taken away by somebody else.
            let _ = list.write_all(left.as_bytes());
        }
        let group = new_group(space, std::process::id());
        Ok(Self { tracefs, list, group, defined: 0 })
    }

    /// Defines a probe; the number of its tracepoint.
    ///
    /// # Errors
    /// The kernel's answer: there is no such instruction, the file cannot be probed.
    pub(super) fn define(&mut self, file: &File, site: &Site) -> io::Result<u64> {
        let kind = if site.moment == Moment::Return { 'r' } else { 'p' };
        let (group, number) = (&self.group, self.defined);
        let (descriptor, offset) = (file.as_raw_fd(), site.place.offset.0);
        let mut line = format!("{kind}:{group}/p{number} /proc/self/fd/{descriptor}:{offset:#x}");
        if let Some(counter) = site.listeners {
            write!(line, "({:#x})", counter.0).map_err(io::Error::other)?;
        }
        self.list.write_all(line.as_bytes())?;
        self.defined += 1;
        Ok(self.tracefs.tracepoint(&self.group, &format!("p{number}"))?.id)
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        for number in 0..self.defined {
            // What is still in use is taken away by the next recorder.
            let _ = self.list.write_all(format!("-:{}/p{number}", self.group).as_bytes());
        }
    }
}

/// What the names of our groups begin with.
const PREFIX: &str = "culprit_";

/// The name of a group that no other recorder has.
fn new_group(space: u64, pid: u32) -> String {
    static RECORDERS: AtomicU32 = AtomicU32::new(0);
    let number = RECORDERS.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{space}_{pid}_{number}")
}

/// The lines that take away what recorders of this pid namespace have left that live no more.
fn left_behind(list: &str, space: u64, lives: &dyn Fn(u32) -> bool) -> Vec<String> {
    let dead = |line: &str| {
        let (_, name) = line.split_once(':')?;
        let name = name.split_whitespace().next()?;
        let (group, _) = name.split_once('/')?;
        let (of, rest) = group.strip_prefix(PREFIX)?.split_once('_')?;
        let (pid, _) = rest.split_once('_')?;
        let left = of.parse() == Ok(space) && !lives(pid.parse().ok()?);
        left.then(|| format!("-:{name}"))
    };
    list.lines().filter_map(dead).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_dead_recorders_of_our_namespace_left_is_taken_away() {
        let list = "p:culprit_77_10_0/p0 /proc/self/fd/9:0x0000000000001130\n\
            r:culprit_77_11_2/p1 /proc/self/fd/9:0x0000000000001130\n\
            p:culprit_78_11_0/p0 /proc/self/fd/9:0x0000000000001130\n\
            p:probe_libc/malloc /lib/libc.so.6:0x0000000000001130\n\
            p:culprit_77_x_0/p0 /a:0x1\np:culprit_77_11/p0 /a:0x1\nnonsense\n";
        assert_eq!(left_behind(list, 77, &|pid| pid == 10), ["-:culprit_77_11_2/p1"]);
        assert!(left_behind(list, 79, &|_| false).is_empty());
    }

    #[test]
    fn two_recorders_of_a_process_have_a_group_each_which_the_next_one_takes_away() {
        let groups = [new_group(77, 11), new_group(77, 11)];
        assert_ne!(groups[0], groups[1]);
        for group in groups {
            let list = format!("p:{group}/p0 /a:0x1\n");
            assert_eq!(left_behind(&list, 77, &|_| false), [format!("-:{group}/p0")]);
        }
    }
}
