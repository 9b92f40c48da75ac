//! The command of a container, held until it is observed.
//!
//! An engine starts a container's process by itself, so that nobody can stop it before its first instruction. There
//! the container runs this program first: it waits until a tracer has seized it, and then becomes the command.
//!
//! The tracer is in another pid namespace, so that `TracerPid` is 0 here, and signals to the first process of a
//! namespace are dropped. It writes one byte into the arguments, which `/proc/self/cmdline` shows.
//! Source: proc_pid_stat(5), field 48.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use culprit_place::{Pid, Place, PlaceSpec, replace_with};

use crate::failure::{Context as _, Failure};
use crate::places;

/// The hidden subcommand.
const SUBCOMMAND: &str = "__wait-for-tracer";
/// What the first byte of the subcommand becomes when the command may begin.
const RELEASED: u8 = b'>';
/// How often that is looked for, and for how long: an engine takes a second to say which process it started.
const PAUSE: Duration = Duration::from_millis(1);
const MOST_PAUSES: u32 = 60_000;
/// What shells answer where a command cannot be executed.
const NOT_EXECUTED: u8 = 126;

/// Becomes the command behind the subcommand; none if that is another one.
pub(crate) fn become_command(arguments: &[OsString]) -> Option<ExitCode> {
    let [_, subcommand, command, rest @ ..] = arguments else { return None };
    if subcommand != SUBCOMMAND {
        return None;
    }
    let released = (0..MOST_PAUSES).any(|_| {
        let released = is_released();
        if !released {
            std::thread::sleep(PAUSE);
        }
        released
    });
    if released {
        let error = replace_with(command, rest);
        let name: &OsStr = command;
        let text = format!("culprit: cannot execute `{}`: {error}\n", name.display());
        // Nobody is left to hear of a failure.
        let _ = rustix::io::write(io::stderr(), text.as_bytes());
    }
    Some(ExitCode::from(NOT_EXECUTED))
}

fn is_released() -> bool {
    let words = fs::read("/proc/self/cmdline").unwrap_or_default();
    let second = words.split(|byte| *byte == 0).nth(1);
    second.is_some_and(|word| word.first() == Some(&RELEASED))
}

/// Waits until the process of a container is this program. Answers whether it is: the engine's own helper is executed
/// in the process before.
pub(super) fn is_held(pid: Pid) -> bool {
    (0..MOST_PAUSES).any(|_| match flag_at(pid) {
        Ok(Some(_)) => true,
        Ok(None) => {
            std::thread::sleep(PAUSE);
            false
        }
        Err(_) => false,
    })
}

/// Lets a process that waits become its command.
///
/// # Errors
/// When its memory cannot be written.
pub(super) fn release(pid: Pid) -> io::Result<()> {
    let at = flag_at(pid)?.ok_or(io::ErrorKind::NotFound)?;
    let memory = OpenOptions::new().write(true).open(format!("/proc/{pid}/mem"))?;
    memory.write_all_at(&[RELEASED], at)
}

/// Where the subcommand lies in the memory of a process; none if it runs another program.
fn flag_at(pid: Pid) -> io::Result<Option<u64>> {
    let words = fs::read(format!("/proc/{pid}/cmdline"))?;
    let subcommand = [&[0][..], SUBCOMMAND.as_bytes(), &[0]].concat();
    let at = words.windows(subcommand.len()).position(|window| window == subcommand);
    let stat = fs::read(format!("/proc/{pid}/stat"))?;
    let stat = String::from_utf8_lossy(&stat);
    // The name in parentheses may hold blanks: count from behind it, at field 3.
    let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let start = fields.nth(48 - 3).and_then(|start| start.parse::<u64>().ok());
    Ok(start.zip(at).map(|(start, at)| start + at as u64 + 1))
}

/// The words that run a command in a place and hold it there, where the place itself cannot.
///
/// # Errors
/// When this program cannot be brought into the place.
pub(super) fn held_words(place: &dyn Place, words: &[String]) -> Result<Vec<String>, Failure> {
    if !is_engines(place) {
        return Ok(words.to_vec());
    }
    let program = std::env::current_exe().or_refused(|| "cannot find this program".to_owned())?;
    let there: culprit_place::Result<PathBuf> = match place.spec() {
        PlaceSpec::Container { .. } => place.put_program(&program),
        _ => place.share_library(&program).map(|shared| shared.path),
    };
    let there = there.map_err(|error| places::failure(&error))?;
    let own = [there.to_string_lossy().into_owned(), SUBCOMMAND.to_owned()];
    Ok(own.into_iter().chain(words.iter().cloned()).collect())
}

/// Whether an engine starts the commands of a place.
pub(super) fn is_engines(place: &dyn Place) -> bool {
    matches!(place.spec(), PlaceSpec::Engine { .. } | PlaceSpec::Container { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_subcommand_is_not_ours() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(become_command(&words(&["culprit", "config", "prove"])).is_none());
        assert!(become_command(&words(&["culprit", SUBCOMMAND])).is_none(), "without a command");
    }
}
