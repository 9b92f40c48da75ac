//! Where the language runtimes of recorded processes write the names of the code that they generate.
//!
//! ```text
//! reader  a runtime is mapped   -> its /tmp, its own number, was it asked by our variable?
//! worker  code is generated     -> a module that is named from the file there
//! end     the file is read, and removed where it is there because of us
//! ```
//!
//! The folder is opened while the process lives, for the JVM writes when it ends, and a container's
//! files can be reached then only through what was opened before.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use culprit_model::{Pid, Runtime, WrittenWhen};
use culprit_place::procfs;
use rustc_hash::FxHashMap;

use crate::session::plan::HelpedRuntime;
use crate::symbolize::modules::base_name;

/// Where runtimes write.
const FOLDER: &str = "/tmp";

/// A file is ours to remove when it was made after the recording began. The file system's clock is
/// that of the last tick, which may be a moment before: up to 10 ms at 100 ticks a second.
const CLOCK_STEP_NS: u64 = 10_000_000;

/// The map of names.
const PERF_MAP: &str = "perf-PID.map";

/// The list of loaded assemblies, which some runtimes write beside it.
const ASSEMBLIES: &str = "perfinfo-PID.map";

/// A map that was last written so long before its process began is an earlier process's. /proc has the
/// beginning to 10 ms, and the file system's clock is one tick late.
const EARLIER_NS: u64 = 50_000_000;

/// The place of a process where names of generated code appear.
#[derive(Debug)]
pub(crate) struct NameFolder {
    /// The process, as we number it.
    pub(crate) pid: i32,
    folder: OwnedFd,
    /// Its root, where names lead to more files: those of .NET.
    root: Option<OwnedFd>,
    /// Where it worked when it began, if it writes logs there because of us.
    work_folder: Option<OwnedFd>,
    /// The process's number as it knows it, which is in the names of its files.
    own_pid: Pid,
    /// When the process began, `CLOCK_REALTIME`, ns; none where that is not known.
    began: Option<u64>,
    /// The runtime that it is and that writes because of us.
    helped: Option<&'static Runtime>,
}

impl NameFolder {
    /// That of a living process; none when it is gone or may not be looked at.
    fn look(
        pid: i32,
        runtime: Option<&'static Runtime>,
        helped: Option<&'static Runtime>,
    ) -> Option<Self> {
        let process = crate::symbolize::modules::kernel_pid(pid);
        let root = procfs::root_of(process).ok()?;
        let folder = procfs::folder_in_root(&root, Path::new(FOLDER)).ok()?;
        let numbers = procfs::namespace_pids(process).ok()?;
        let own_pid = numbers.last().copied().unwrap_or(process);
        let began = procfs::start_time(process).ok().map(crate::clock::realtime_of_boot);
        let lists = runtime.is_some_and(|runtime| runtime.files.contains(&ASSEMBLIES));
        let root = lists.then_some(root);
        let logs = helped.is_some_and(|runtime| !runtime.logs.is_empty());
        let work_folder = if logs { procfs::work_folder_of(process).ok() } else { None };
        Some(Self { pid, folder, root, work_folder, own_pid, began, helped })
    }

    /// That of a process in which nothing was asked for.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::look(pid, runtime_of(pid), None)
    }

    /// That of a running process whose runtime is asked now.
    pub(crate) fn asking(pid: i32, runtime: &'static Runtime) -> Option<Self> {
        Self::look(pid, Some(runtime), Some(runtime))
    }

    /// The map as it is now; none for that of an earlier process.
    pub(crate) fn perf_map(&self) -> Option<File> {
        self.open(PERF_MAP).filter(|file| !self.is_earlier(file))
    }

    /// The map that an earlier process of the same number has left.
    pub(crate) fn earlier_map(&self) -> Option<String> {
        let file = self.open(PERF_MAP)?;
        self.is_earlier(&file).then(|| format!("{FOLDER}/{}", self.file_name(PERF_MAP)))
    }

    /// The list of assemblies as it is now.
    pub(crate) fn assemblies(&self) -> Option<File> {
        self.open(ASSEMBLIES).filter(|file| !self.is_earlier(file))
    }

    /// A file as the process names it.
    pub(crate) fn open_path(&self, path: &Path) -> Option<File> {
        procfs::open_in_root(self.root.as_ref()?, path).ok()
    }

    /// Connects to a socket in the folder, or in another one of the process.
    pub(crate) fn connect(&self, folder: Option<&Path>, name: &str) -> Option<UnixStream> {
        let other = folder.zip(self.root.as_ref());
        let other = other.and_then(|(path, root)| procfs::folder_in_root(root, path).ok());
        procfs::connect_in(other.as_ref().unwrap_or(&self.folder), name).ok()
    }

    /// The process's number as it knows it.
    pub(crate) fn own_pid(&self) -> Pid {
        self.own_pid
    }

    fn open(&self, pattern: &str) -> Option<File> {
        procfs::open_in_root(&self.folder, Path::new(&self.file_name(pattern))).ok()
    }

    /// Whether a file was last written before the process began.
    fn is_earlier(&self, file: &File) -> bool {
        let written = file.metadata().ok().and_then(|metadata| {
            let seconds = u64::try_from(metadata.mtime()).ok()?.checked_mul(1_000_000_000)?;
            seconds.checked_add(u64::try_from(metadata.mtime_nsec()).ok()?)
        });
        let both = written.zip(self.began);
        both.is_some_and(|(written, began)| written.saturating_add(EARLIER_NS) < began)
    }

    /// The runtime that was asked to write at its end and has not.
    pub(crate) fn wrote_nothing(&self) -> Option<&'static Runtime> {
        let late = self.helped.filter(|runtime| runtime.writes == WrittenWhen::AtExit)?;
        self.perf_map().is_none().then_some(late)
    }

    /// Removes what the runtime has written because of us, unless it was there before the recording
    /// (which began at `start`, `CLOCK_REALTIME`) or its age is not known.
    pub(crate) fn remove_written(&self, start: u64) {
        let Some(runtime) = self.helped else { return };
        for name in runtime.files {
            remove_since(&self.folder, &self.file_name(name), start);
        }
        let Some(folder) = &self.work_folder else { return };
        let logs: Vec<String> = runtime.logs.iter().map(|log| self.file_name(log)).collect();
        for name in procfs::names_in(folder) {
            if logs.iter().any(|log| is_like(&name, log)) {
                remove_since(folder, &name, start);
            }
        }
    }

    fn file_name(&self, pattern: &str) -> String {
        pattern.replace("PID", &self.own_pid.to_string())
    }
}

/// Removes a file of a folder that was made after `start` (`CLOCK_REALTIME`).
fn remove_since(folder: &OwnedFd, name: &str, start: u64) {
    let born = procfs::born_in(folder, name);
    if born.is_some_and(|born| born.saturating_add(CLOCK_STEP_NS) >= start) {
        // What cannot be removed is a small file.
        let _ = procfs::remove_from(folder, name);
    }
}

/// Whether a name is that of a pattern, in which `*` stands for any text.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, last)) = pattern.split_once('*') else { return name == pattern };
    name.strip_prefix(first).is_some_and(|rest| rest.ends_with(last))
}

/// A runtime's process that had ended before its folder could be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedEarly {
    /// The process, as we number it.
    pub(crate) pid: i32,
    /// What it was.
    pub(crate) runtime: &'static Runtime,
}

/// Opens the folders of processes while they live.
#[derive(Debug, Default)]
pub(crate) struct FolderOpener {
    helped: Arc<[HelpedRuntime]>,
    /// Processes that were looked at, and whether their environment was there already: the kernel
    /// maps a program before it puts its environment in place.
    looked: FxHashMap<i32, bool>,
}

impl FolderOpener {
    /// An opener for a recording in which these runtimes were asked to write.
    pub(crate) fn new(helped: Vec<HelpedRuntime>) -> Self {
        Self { helped: helped.into(), looked: FxHashMap::default() }
    }

    /// A process mapped code: gives its folder when this may be a runtime's or generated code that was
    /// not seen before, or says that a runtime's process has ended.
    pub(crate) fn see(&mut self, pid: i32, path: &[u8]) -> Option<Result<NameFolder, EndedEarly>> {
        let path = String::from_utf8_lossy(path);
        let generated = crate::symbolize::modules::is_generated(&path);
        let runtime = Runtime::of_module(base_name(&path)).filter(|_| !generated);
        let known = self.looked.get(&pid).copied();
        if runtime.is_none() && !(generated && known != Some(true)) {
            return None;
        }
        let runtime = runtime.or_else(|| runtime_of(pid));
        let environment =
            procfs::environment(crate::symbolize::modules::kernel_pid(pid)).unwrap_or_default();
        self.looked.insert(pid, !environment.is_empty());
        let ended = || Some(Err(EndedEarly { pid, runtime: runtime? }));
        if environment.is_empty() && has_no_memory(pid) {
            return ended();
        }
        let helped = self.asked(pid, runtime, &environment);
        NameFolder::look(pid, runtime, helped).map(Ok).or_else(ended)
    }

    /// The runtime that a process was asked to write as, by our variable and by nothing of the user's:
    /// not by another variable, nor by its command line.
    fn asked(
        &self,
        pid: i32,
        runtime: Option<&'static Runtime>,
        environment: &[(std::ffi::OsString, std::ffi::OsString)],
    ) -> Option<&'static Runtime> {
        if self.helped.is_empty() {
            return None;
        }
        let runtime = runtime?;
        let helped = self.helped.iter().find(|helped| helped.runtime == runtime)?;
        let others = environment.iter().filter(|variable| **variable != helped.variable);
        let asked = environment.contains(&helped.variable)
            && !others.map(|(_, value)| value.to_string_lossy()).any(|value| asks(runtime, &value))
            && !command_line(pid).iter().any(|word| runtime.is_asked_by(word));
        asked.then_some(runtime)
    }
}

/// Whether a variable's value has one of the options that a runtime is asked by.
fn asks(runtime: &Runtime, value: &str) -> bool {
    value.split_whitespace().any(|word| runtime.is_asked_by(word))
}

/// Whether a process is ending, or has ended: it has given its memory back.
fn has_no_memory(pid: i32) -> bool {
    procfs::maps(crate::symbolize::modules::kernel_pid(pid)).is_ok_and(|maps| maps.is_empty())
}

fn command_line(pid: i32) -> Vec<String> {
    procfs::command_line(crate::symbolize::modules::kernel_pid(pid)).unwrap_or_default()
}

/// The runtime that a living process has mapped.
pub(crate) fn runtime_of(pid: i32) -> Option<&'static Runtime> {
    let maps = procfs::maps(crate::symbolize::modules::kernel_pid(pid)).ok()?;
    let code = maps.iter().filter(|map| map.execute);
    code.filter_map(|map| Runtime::of_module(base_name(&map.path))).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::RUNTIMES;

    fn ours() -> i32 {
        i32::try_from(std::process::id()).expect("a number")
    }

    fn helped_by(variable: (&str, &str)) -> Vec<HelpedRuntime> {
        let variable = (variable.0.into(), variable.1.into());
        vec![HelpedRuntime { runtime: &RUNTIMES[0], variable }]
    }

    #[test]
    fn a_process_was_asked_when_it_has_our_variable() {
        let opener = FolderOpener::new(helped_by(("NODE_OPTIONS", "ours")));
        let node = Some(&RUNTIMES[0]);
        let asked = |value: &str, of_user: &str| {
            let variable = |name: &str, value: &str| (name.into(), value.into());
            let environment = [variable("NODE_OPTIONS", value), variable("MORE", of_user)];
            opener.asked(ours(), node, &environment).map(|runtime| runtime.id)
        };
        assert_eq!(asked("ours", ""), Some("node"));
        assert_eq!(asked("--another", ""), None);
        assert_eq!(asked("ours", "--perf-basic-prof"), None);
        assert_eq!(opener.asked(ours(), Some(&RUNTIMES[1]), &[]), None);
    }

    #[test]
    fn generated_code_is_looked_at_once_a_process_and_a_runtime_always() {
        let mut opener = FolderOpener::default();
        assert!(opener.see(ours(), b"/usr/bin/cat").is_none());
        assert!(opener.see(ours(), b"//anon").is_some());
        assert!(opener.see(ours(), b"//anon").is_none());
        assert!(opener.see(ours(), b"/usr/lib/libjvm.so").is_some());
        assert!(opener.see(i32::MAX, b"//anon").is_none(), "no such process");
        let ended = opener.see(i32::MAX, b"/usr/lib/libjvm.so").and_then(Result::err);
        assert_eq!(ended, Some(EndedEarly { pid: i32::MAX, runtime: &RUNTIMES[1] }));
    }

    #[test]
    fn only_what_was_made_meanwhile_because_of_us_is_removed() {
        let folder = tempfile::tempdir().expect("room");
        let file = folder.path().join("perf-7.map");
        let names = |helped| NameFolder {
            pid: 7,
            folder: File::open(folder.path()).expect("it was made").into(),
            root: None,
            work_folder: None,
            own_pid: Pid(7),
            began: None,
            helped,
        };
        let node = Some(&RUNTIMES[0]);
        let write = || std::fs::write(&file, "1000 10 f\n").expect("room");
        let now = crate::clock::pair().realtime;
        write();
        names(None).remove_written(now);
        assert!(file.exists(), "nobody asked for it");
        names(node).remove_written(now + 3_600_000_000_000);
        assert!(file.exists(), "it was there before");
        if procfs::born_in(File::open(folder.path()).expect("it is there"), "perf-7.map").is_none()
        {
            println!("skipped: this file system does not tell when a file was made");
            return;
        }
        names(node).remove_written(now);
        assert!(!file.exists());
        std::os::unix::fs::symlink("/etc/hostname", &file).expect("room");
        names(node).remove_written(now);
        assert!(file.symlink_metadata().is_ok(), "no runtime writes a link");
    }

    #[test]
    fn logs_that_a_runtime_writes_beside_the_program_because_of_us_are_removed() {
        let (tmp, work) = (tempfile::tempdir().expect("room"), tempfile::tempdir().expect("room"));
        let open =
            |folder: &tempfile::TempDir| File::open(folder.path()).expect("it was made").into();
        let now = crate::clock::pair().realtime;
        let names =
            ["isolate-0x1f-7-v8.log", "isolate-0x2f-7-v8.log", "isolate-0x1f-77-v8.log", "app.log"];
        for name in names {
            std::fs::write(work.path().join(name), "").expect("room");
        }
        let folder = NameFolder {
            pid: 7,
            folder: open(&tmp),
            root: None,
            work_folder: Some(open(&work)),
            own_pid: Pid(7),
            began: None,
            helped: Some(&RUNTIMES[0]),
        };
        if procfs::born_in(File::open(work.path()).expect("it is there"), "app.log").is_none() {
            println!("skipped: this file system does not tell when a file was made");
            return;
        }
        folder.remove_written(now);
        let left = names.map(|name| work.path().join(name).exists());
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn a_runtime_that_writes_at_its_end_may_have_been_killed() {
        let folder = tempfile::tempdir().expect("room");
        let names = |helped| NameFolder {
            pid: 7,
            folder: File::open(folder.path()).expect("it was made").into(),
            root: None,
            work_folder: None,
            own_pid: Pid(7),
            began: None,
            helped: Some(helped),
        };
        assert_eq!(names(&RUNTIMES[1]).wrote_nothing().map(|runtime| runtime.id), Some("jvm"));
        assert_eq!(names(&RUNTIMES[0]).wrote_nothing(), None, "it writes from the start");
        std::fs::write(folder.path().join("perf-7.map"), "").expect("room");
        assert_eq!(names(&RUNTIMES[1]).wrote_nothing(), None);
    }

    #[test]
    fn the_map_of_an_earlier_process_is_not_read() {
        let folder = tempfile::tempdir().expect("room");
        std::fs::write(folder.path().join("perf-7.map"), "1000 10 f\n").expect("room");
        let now = crate::clock::pair().realtime;
        let names = |began| NameFolder {
            pid: 7,
            folder: File::open(folder.path()).expect("it was made").into(),
            root: None,
            work_folder: None,
            own_pid: Pid(7),
            began,
            helped: None,
        };
        let second = 1_000_000_000;
        for (began, used) in [(None, true), (Some(now - second), true), (Some(now + second), false)]
        {
            assert_eq!(names(began).perf_map().is_some(), used, "{began:?}");
            let earlier = (!used).then(|| "/tmp/perf-7.map".to_owned());
            assert_eq!(names(began).earlier_map(), earlier);
        }
        let ours = NameFolder::of(ours()).expect("it lives");
        assert!(ours.began.is_some_and(|began| began < now && began > now - 3600 * second));
    }
}
