//! Which processes and threads there are, and who descends from whom.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use culprit_model::{Pid, Tid};

use super::{gone, stat};
use crate::error::Result;

/// The entries of a folder of `/proc` that are numbers, sorted.
fn numbers(path: &str) -> std::io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)? {
        // An entry that vanishes while the folder is read is a process that ended.
        if let Some(number) = entry.ok().and_then(|e| e.file_name().to_str()?.parse().ok()) {
            found.push(number);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Every process of our pid namespace that we may see, by number.
///
/// # Errors
/// When `/proc` cannot be listed.
pub fn processes() -> Result<Vec<Pid>> {
    let found = numbers("/proc").map_err(|e| crate::Error::file("list", "/proc", e))?;
    Ok(found.into_iter().map(Pid).collect())
}

/// The threads of a process, by number.
///
/// # Errors
/// [`crate::Error::NoProcess`] when it has ended.
pub fn threads(pid: Pid) -> Result<Vec<Tid>> {
    let path = format!("/proc/{pid}/task");
    let found = numbers(&path).map_err(|e| gone(pid, path, e))?;
    Ok(found.into_iter().map(Tid).collect())
}

/// How many threads a process has: cheaper than listing them.
///
/// # Errors
/// [`crate::Error::NoProcess`] when it has ended.
pub fn thread_count(pid: Pid) -> Result<u64> {
    let path = format!("/proc/{pid}/task");
    let folder = std::fs::metadata(&path).map_err(|e| gone(pid, path, e))?;
    // `proc_task_getattr` (fs/proc/base.c) adds them to the links that every folder has.
    Ok(folder.nlink().saturating_sub(2))
}

/// The children that a process has now, without those that have others as parents since. None where the kernel
/// does not list them (`CONFIG_PROC_CHILDREN`); then [`tree`] finds them, by a look at every process.
#[must_use]
pub fn children(pid: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    for tid in threads(pid).unwrap_or_default() {
        let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/children"));
        let listed = listed.unwrap_or_default();
        found.extend(listed.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid));
    }
    found
}

/// A process and all its descendants, by number. Listed again until no new one appears, because a
/// process may make another while the list is made.
///
/// # Errors
/// [`crate::Error::NoProcess`] when it has ended.
pub fn tree(root: Pid) -> Result<Vec<Pid>> {
    stat(root)?;
    let mut known = vec![root];
    loop {
        let now = descendants(root, &parents()?);
        let grown = now.iter().any(|p| !known.contains(p));
        known = now;
        if !grown {
            return Ok(known);
        }
    }
}

fn parents() -> Result<BTreeMap<Pid, Pid>> {
    Ok(processes()?.into_iter().filter_map(|pid| Some((pid, stat(pid).ok()?.parent))).collect())
}

fn descendants(root: Pid, parents: &BTreeMap<Pid, Pid>) -> Vec<Pid> {
    let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for (child, parent) in parents {
        children.entry(*parent).or_default().push(*child);
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        if let Some(more) = children.remove(pid) {
            found.extend(more);
        }
        next += 1;
    }
    found.sort_unstable();
    found
}

/// Each of these processes with its threads; those that ended meanwhile are left out.
#[must_use]
pub fn with_threads(pids: &[Pid]) -> Vec<(Pid, Vec<Tid>)> {
    pids.iter().filter_map(|pid| Some((*pid, threads(*pid).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        Pid, Tid, children, descendants, processes, thread_count, threads, tree, with_threads,
    };

    #[test]
    fn descendants_are_found_over_generations() {
        let parents = [(2, 1), (3, 1), (4, 2), (5, 4), (6, 9), (9, 0)];
        let parents = parents.into_iter().map(|(c, p)| (Pid(c), Pid(p))).collect();
        assert_eq!(descendants(Pid(2), &parents), [2, 4, 5].map(Pid));
        assert_eq!(descendants(Pid(9), &parents), [6, 9].map(Pid));
    }

    #[test]
    fn threads_are_counted() {
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            begun.send(()).unwrap();
            ends.recv().ok();
        });
        begins.recv().unwrap();
        // Other tests of this process begin and end threads.
        assert!(thread_count(Pid(std::process::id())).unwrap() >= 2);
        drop(end);
        other.join().unwrap();
        assert!(thread_count(Pid(u32::MAX)).is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs a child")]
    fn a_child_is_listed_while_it_lives() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let listed = children(Pid(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
        let kernel_lists = std::path::Path::new("/proc/thread-self/children").exists();
        assert_eq!(listed.contains(&Pid(child.id())), kernel_lists);
        assert!(children(Pid(u32::MAX)).is_empty());
    }

    #[test]
    fn we_are_in_the_lists() {
        let us = Pid(std::process::id());
        assert!(processes().unwrap().contains(&us));
        assert!(threads(us).unwrap().contains(&Tid(us.0)));
        assert!(tree(us).unwrap().contains(&us));
        assert_eq!(with_threads(&[us, Pid(u32::MAX)]).len(), 1);
    }
}
