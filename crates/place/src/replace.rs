//! This process becomes another program.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;

/// Ends this program by running another one in its process: with its streams, its folder and its
/// environment. A name without a slash is looked up in `PATH`. Returns only why it failed.
pub fn replace_with(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> io::Error {
    #[expect(clippy::disallowed_methods, reason = "this crate is the door to processes")]
    let mut command = std::process::Command::new(program);
    command.args(arguments).exec()
}
