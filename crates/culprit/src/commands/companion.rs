//! Becoming `culprit-data`, the companion program.
//!
//! The database engine is ten times as large as all the rest and takes half an hour of CPU time to
//! build, so it has a program of its own: this one stays small enough to be copied anywhere.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::failure::Failure;

/// The companion's name.
const COMPANION: &str = "culprit-data";

/// Replaces this program by its companion.
///
/// # Errors
/// When there is no companion; it does not return otherwise.
pub(super) fn become_companion(arguments: Vec<OsString>) -> Result<Infallible, Failure> {
    Err(not_started(&culprit_place::replace_with(companion(), arguments)))
}

/// The companion beside this program, else whatever `PATH` has.
fn companion() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name(COMPANION)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(COMPANION))
}

fn not_started(error: &io::Error) -> Failure {
    let failure = Failure::refused(format!(
        "cannot run `{COMPANION}`, the program that answers SQL: {error}"
    ));
    if error.kind() != io::ErrorKind::NotFound {
        return failure;
    }
    failure.hint(format!("`make build` builds `{COMPANION}` next to `culprit`")).hint(format!(
        "put `{COMPANION}` into the folder of `culprit` or into a folder on the PATH"
    ))
}
