//! Why an engine's runtime did not start a command, from its words.
//!
//! Engines answer with a sentence of their runtime's (runc, crun), not with a number. The few that
//! tell of the command itself, rather than of the engine, are recognised here, so that a missing
//! program is called so in every place alike.

use std::io;

use super::client::Client;
use crate::error::Error;
use crate::spawn::Stage;

/// Words, all of which must occur, and what they mean. More particular ones come first.
const MEANINGS: &[(&[&str], Stage, i32)] = &[
    // runc: `chdir to cwd ("/x") set in config.json failed: not a directory`
    (&["chdir to cwd", "not a directory"], Stage::Directory, libc::ENOTDIR),
    (&["chdir to cwd", "permission denied"], Stage::Directory, libc::EACCES),
    (&["chdir to cwd"], Stage::Directory, libc::ENOENT),
    // crun: `chdir to `/x`: No such file or directory`
    (&["chdir to", "no such file or directory"], Stage::Directory, libc::ENOENT),
    // runc: `exec: "x": executable file not found in $PATH`; crun: `executable file `x` not found`
    (&["executable file", "not found"], Stage::Execute, libc::ENOENT),
    // runc: `exec: "/x": stat /x: no such file or directory`
    (&["exec:", "no such file or directory"], Stage::Execute, libc::ENOENT),
    (&["exec", "exec format error"], Stage::Execute, libc::ENOEXEC),
    (&["exec", "permission denied"], Stage::Execute, libc::EACCES),
    (&["exec", "is a directory"], Stage::Execute, libc::EACCES),
];

/// The error for an engine's words on starting `program`.
pub(super) fn error(client: &Client, program: &str, words: &str) -> Error {
    match meaning(words) {
        Some((stage, errno)) => Error::Start {
            program: program.to_owned(),
            stage,
            source: io::Error::from_raw_os_error(errno),
        },
        None => Error::Engine {
            engine: client.kind,
            doing: format!("start `{program}`"),
            why: words.to_owned(),
        },
    }
}

fn meaning(words: &str) -> Option<(Stage, i32)> {
    let words = words.to_lowercase();
    let found = MEANINGS.iter().find(|(all, ..)| all.iter().all(|w| words.contains(w)));
    found.map(|(_, stage, errno)| (*stage, *errno))
}

#[cfg(test)]
mod tests {
    use super::meaning;
    use crate::spawn::Stage;

    #[test]
    fn sentences_of_runtimes_are_understood() {
        let runc = "OCI runtime create failed: container_linux.go:380: starting container process caused: ";
        for (words, stage, errno) in [
            (
                format!("{runc}exec: \"foo\": executable file not found in $PATH: unknown"),
                Stage::Execute,
                libc::ENOENT,
            ),
            (
                format!("{runc}exec: \"/foo\": stat /foo: no such file or directory: unknown"),
                Stage::Execute,
                libc::ENOENT,
            ),
            (
                format!("{runc}exec: \"/etc/passwd\": permission denied: unknown"),
                Stage::Execute,
                libc::EACCES,
            ),
            (
                format!(
                    "{runc}chdir to cwd (\"/etc/passwd\") set in config.json failed: not a directory"
                ),
                Stage::Directory,
                libc::ENOTDIR,
            ),
            (
                "unable to start container process: exec: \"/f\": stat /f: no such file or directory"
                    .into(),
                Stage::Execute,
                libc::ENOENT,
            ),
            (
                "crun: executable file `foo` not found in $PATH: No such file or directory".into(),
                Stage::Execute,
                libc::ENOENT,
            ),
        ] {
            assert_eq!(meaning(&words), Some((stage, errno)), "{words}");
        }
        assert_eq!(meaning("driver failed programming external connectivity"), None);
    }
}
