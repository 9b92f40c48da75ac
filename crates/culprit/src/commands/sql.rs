//! `culprit sql`: this program becomes its companion `culprit-data`, which knows SQL.

use std::ffi::OsString;

use crate::args::SqlArgs;
use crate::companion::become_companion;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Runs it.
///
/// # Errors
/// When the options contradict each other, or there is no companion.
pub(crate) fn run(args: &SqlArgs, output: &Output) -> Result<Outcome, Failure> {
    if args.csv && output.wants_json() {
        return Err(Failure::bad_input("`--csv` and `--json` cannot be used together")
            .hint("remove one of them"));
    }
    match become_companion(arguments(args, output))? {}
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
    all.extend(args.engine.words());
    if let Some(file) = &args.file {
        all.extend([OsString::from("--file"), file.into()]);
    }
    all.push("--".into());
    all.extend(args.words.iter().cloned());
    all
}
