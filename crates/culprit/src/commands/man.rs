//! `culprit man DIR`: the manual pages, from the same declarations as the help.

use crate::args::{ManArgs, command};
use crate::failure::{Context as _, Failure, Outcome};
use crate::output::Output;
use crate::settings::Settings;

/// Runs it.
///
/// # Errors
/// When the folder cannot be written.
pub(crate) fn run(
    args: &ManArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let folder = &args.folder;
    let what = || format!("cannot write the manual pages into `{}`", folder.display());
    std::fs::create_dir_all(folder).or_refused(what)?;
    clap_mangen::generate_to(command(settings)?, folder).or_refused(what)?;
    output.say(&format!("wrote the manual pages into {}", folder.display()));
    Ok(Outcome::Done)
}
