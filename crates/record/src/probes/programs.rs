//! The files that a command will run, found before it runs: the program, what interprets it, and the C
//! libraries of its root, which nearly every program maps.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use culprit_model::Pid;
use culprit_place::procfs;

/// Where C libraries are installed. Names of glibc (Debian, Red Hat, Arch and their relatives) and of
/// musl.
pub(crate) const C_LIBRARIES: [&str; 10] = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
    "/lib/libc.so.6",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// Programs that name another to run them, which may name another: the kernel stops at five
/// (`exec_binprm`).
const MOST_INTERPRETERS: usize = 5;

/// The files that the kernel reads to execute `word` in the process `pid`: the program, and what
/// interprets it if it is a script.
pub(super) fn programs(pid: Pid, word: &str) -> Vec<(File, String)> {
    let mut found = Vec::new();
    let mut next = Some(word.to_owned());
    while let Some(word) = next.take().filter(|_| found.len() < MOST_INTERPRETERS) {
        let Some((file, path)) = program(pid, &word) else { break };
        next = interpreter(&file);
        found.push((file, path));
    }
    found
}

/// Opens a file as a process's root names it.
pub(crate) fn open_in(pid: Pid, path: &str) -> Option<File> {
    procfs::open_in_root(procfs::root_of(pid).ok()?, Path::new(path)).ok()
}

/// The program that a shell would run for `word`.
fn program(pid: Pid, word: &str) -> Option<(File, String)> {
    if word.starts_with('/') {
        return Some((open_in(pid, word)?, word.to_owned()));
    }
    if word.contains('/') {
        let path = PathBuf::from(format!("/proc/{pid}/cwd")).join(word);
        return Some((File::open(path).ok()?, word.to_owned()));
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&search).find_map(|folder| {
        let path = folder.join(word).to_string_lossy().into_owned();
        Some((open_in(pid, &path)?, path))
    })
}

/// What a script names in its first line.
fn interpreter(file: &File) -> Option<String> {
    let mut start = [0; 256];
    let length = file.read_at(&mut start, 0).ok()?;
    let line = start.get(..length)?.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).split_whitespace().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn own() -> Pid {
        Pid(std::process::id())
    }

    #[test]
    fn a_script_leads_to_its_interpreter() {
        let mut script = tempfile::NamedTempFile::new().expect("room");
        script.write_all(b"#! /bin/sh -e\nexit\n").expect("room");
        let path = script.path().to_string_lossy().into_owned();
        let found = programs(own(), &path);
        let names: Vec<_> = found.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!(names, [path.as_str(), "/bin/sh"]);
    }

    #[test]
    fn a_bare_word_is_looked_for_as_a_shell_does() {
        let found = programs(own(), "sh");
        assert!(found.first().is_some_and(|(_, path)| path.ends_with("/sh")), "{found:?}");
        assert!(programs(own(), "no-such-program").is_empty());
    }
}
