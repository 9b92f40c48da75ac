//! Becoming `culprit-data`, the companion program, or asking it.
//!
//! The database engine is ten times as large as all the rest and takes half an hour of CPU time to
//! build, so it has a program of its own: this one stays small enough to be copied anywhere.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::PathBuf;

use culprit_place::{Command, Exit, PlaceSpec, Stage, Stdio};
use serde::Deserialize;

use crate::failure::{Context as _, Failure};
use crate::places;

/// The companion's name.
const COMPANION: &str = "culprit-data";

/// Replaces this program by its companion.
///
/// # Errors
/// When there is no companion; it does not return otherwise.
pub(crate) fn become_companion(arguments: Vec<OsString>) -> Result<Infallible, Failure> {
    Err(not_started(&culprit_place::replace_with(companion(), arguments)))
}

/// What the companion prints on stdout. What it says on stderr goes where ours goes.
///
/// # Errors
/// When there is no companion, or it fails: then it prints a document that says why.
pub(crate) fn ask_companion(arguments: Vec<OsString>) -> Result<Vec<u8>, Failure> {
    let argv = std::iter::once(companion().into_os_string()).chain(arguments);
    let command = Command { stdin: Stdio::Null, stdout: Stdio::Pipe, ..Command::new(argv) };
    let failed = |error: culprit_place::Error| match &error {
        culprit_place::Error::Start { stage: Stage::Execute, source, .. } => not_started(source),
        error => places::failure(error),
    };
    let place = places::open(&PlaceSpec::HOST)?;
    let mut running = place.hold(&command, None).map_err(failed)?.start().map_err(failed)?;
    let mut printed = Vec::new();
    if let Some(mut stdout) = running.take_stdout() {
        let cannot = || format!("cannot read the output of `{COMPANION}`");
        stdout.read_to_end(&mut printed).or_refused(cannot)?;
    }
    let exit = running.wait().map_err(failed)?;
    if exit.success() { Ok(printed) } else { Err(failure(&printed, exit)) }
}

/// The document of a failed companion.
#[derive(Debug, Deserialize)]
struct CompanionFailure {
    error: CompanionError,
}

#[derive(Debug, Deserialize)]
struct CompanionError {
    message: String,
    hint: Option<String>,
    exit_code: u8,
}

/// What a failed companion said.
fn failure(printed: &[u8], exit: Exit) -> Failure {
    let Ok(CompanionFailure { error }) = serde_json::from_slice(printed) else {
        return Failure::refused(format!("`{COMPANION}` failed: {exit}"));
    };
    let CompanionError { message, hint, exit_code } = error;
    let failure = match exit_code {
        2 => Failure::bad_input(message),
        130 => Failure::interrupted(message),
        _ => Failure::refused(message),
    };
    failure.hints(hint.iter().flat_map(|hints| hints.lines()))
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
