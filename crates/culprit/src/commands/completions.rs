//! `culprit completions SHELL`: completions on stdout, from the same declarations as the help.

use crate::args::{CompletionsArgs, command};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::settings::Settings;

/// Runs it.
///
/// # Errors
/// When stdout cannot take it.
pub(crate) fn run(
    args: &CompletionsArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command(settings)?, "culprit", &mut text);
    output.print(&String::from_utf8_lossy(&text))?;
    Ok(Outcome::Done)
}
