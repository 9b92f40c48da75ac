//! Why an engine's runtime did not start a command, from its words.
//!
//! Engines answer with a sentence of their runtime's (runc, crun), not with a number. The few that
//! tell of the command itself, rather than of the engine, are recognised here, so that a missing
//! program is called so in every place alike.

use std::io;
use std::path::Path;

use super::client::Client;
use crate::error::Error;
use crate::spawn::Stage;
use crate::spec::{PlaceSpec, Volume};

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

/// The error for an engine's words on starting `program`, in a container made as `place` says if
/// it was made for that.
pub(super) fn error(
    client: &Client,
    program: &str,
    place: Option<&PlaceSpec>,
    words: &str,
) -> Error {
    match meaning(words) {
        Some((stage, errno)) => Error::Start {
            program: program.to_owned(),
            stage,
            source: io::Error::from_raw_os_error(errno),
            better: place.and_then(|place| {
                let here = std::env::current_dir().ok()?;
                with_missing(place, stage, Path::new(program), &here).map(Box::new)
            }),
        },
        None => Error::Engine {
            engine: client.kind,
            doing: format!("start `{program}`"),
            why: words.to_owned(),
        },
    }
}

/// The place with the folder of this machine that it lacks: its work folder, or that of a program
/// which is named by its path. `here` is the folder in which we work.
fn with_missing(place: &PlaceSpec, stage: Stage, program: &Path, here: &Path) -> Option<PlaceSpec> {
    let PlaceSpec::Engine { engine, image, options } = place else { return None };
    let mut options = options.clone();
    let folder = match stage {
        Stage::Directory => options.workdir.clone().filter(|dir| dir.is_dir())?,
        Stage::Execute if program.is_absolute() => {
            program.parent().filter(|_| program.is_file())?.to_path_buf()
        }
        Stage::Execute if program.components().count() > 1 && here.join(program).is_file() => {
            (options.workdir, options.layer) = (Some(here.to_path_buf()), false);
            here.to_path_buf()
        }
        _ => return None,
    };
    let shown = options.volumes.iter().any(|volume| volume.target == folder);
    if shown || folder == Path::new("/") {
        return None;
    }
    options.volumes.push(Volume { source: folder.clone(), target: folder, read_only: false });
    Some(PlaceSpec::Engine { engine: *engine, image: image.clone(), options })
}

fn meaning(words: &str) -> Option<(Stage, i32)> {
    let words = words.to_lowercase();
    let found = MEANINGS.iter().find(|(all, ..)| all.iter().all(|w| words.contains(w)));
    found.map(|(_, stage, errno)| (*stage, *errno))
}

#[cfg(test)]
mod tests {
    use super::{meaning, with_missing};
    use crate::spawn::Stage;
    use std::path::Path;

    #[test]
    fn what_a_container_lacks_and_we_have_is_offered() {
        let here = tempfile::tempdir().unwrap();
        let here = here.path();
        std::fs::write(here.join("prog"), "").unwrap();
        let offered = |place: &str, stage, program: &Path| {
            let place = with_missing(&place.parse().unwrap(), stage, program, here);
            place.map(|place| place.to_string())
        };
        let shown = here.display();
        let run = Stage::Execute;
        assert_eq!(
            offered("docker:@host", run, Path::new("./prog")),
            Some(format!("docker:@host,volume={shown}:{shown},workdir={shown}"))
        );
        assert_eq!(
            offered("docker:i,cpus=0.5", run, &here.join("prog")),
            Some(format!("docker:i,volume={shown}:{shown},cpus=0.5"))
        );
        assert_eq!(
            offered(&format!("docker:@host,workdir={shown}"), Stage::Directory, Path::new("ls")),
            Some(format!("docker:@host,volume={shown}:{shown},workdir={shown}"))
        );
        for (program, stage) in [("./no-such", run), ("ls", run), ("ls", Stage::Directory)] {
            assert_eq!(offered("docker:@host", stage, Path::new(program)), None, "{program}");
        }
    }

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
