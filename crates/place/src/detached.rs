//! A program of the user's desktop that outlives what it was started for.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

/// Starts a program without streams and in a group of its own, and does not wait for it. A name without a slash
/// is looked up in `PATH`.
///
/// # Errors
/// When it cannot be started.
pub fn start_detached(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this crate is the door to processes")]
    let mut command = std::process::Command::new(program);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Init takes it over when this program ends; until then it may be a zombie, which costs nothing.
    command.spawn().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_started_or_the_reason_is_given() {
        start_detached("true", [""]).unwrap();
        let missing = start_detached("/nowhere/xdg-open", [""]).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
