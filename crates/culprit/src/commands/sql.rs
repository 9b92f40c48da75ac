//! `culprit sql`: this program becomes its companion `culprit-data`, which knows SQL.
//!
//! The database engine is ten times as large as all the rest and takes half an hour of CPU time to
//! build, so it has a program of its own: this one stays small enough to be copied anywhere.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::args::SqlArgs;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// The companion's name.
const COMPANION: &str = "culprit-data";

/// Runs it.
///
/// # Errors
/// When the options contradict each other, or there is no companion.
pub(crate) fn run(args: &SqlArgs, output: &Output) -> Result<Outcome, Failure> {
    if args.csv && output.wants_json() {
        return Err(Failure::bad_input("`--csv` and `--json` cannot be used together")
            .hint("remove one of them"));
    }
    let error = culprit_place::replace_with(companion(), arguments(args, output));
    Err(not_started(&error))
}

/// The companion beside this program, else whatever `PATH` has.
fn companion() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name(COMPANION)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(COMPANION))
}

/// The companion's arguments: settings and variables have had their say here.
fn arguments(args: &SqlArgs, output: &Output) -> Vec<OsString> {
    let mut all = vec![OsString::from("sql")];
    let flags =
        [("--json", output.wants_json()), ("--csv", args.csv), ("--quiet", output.is_quiet())];
    all.extend(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| OsString::from(flag)));
    for (option, number) in [("--limit", args.limit), ("--memory", args.memory)] {
        all.extend(number.map(|number| OsString::from(format!("{option}={number}"))));
    }
    if let Some(file) = &args.file {
        all.extend([OsString::from("--file"), file.into()]);
    }
    all.push("--".into());
    all.extend(args.words.iter().cloned());
    all
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
