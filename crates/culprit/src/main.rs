//! The `culprit` program: arguments to a plan, the plan to effects, effects to output.
//!
//! `args` holds what can be typed, `commands` one file a subcommand, `output` the door to the terminal. What
//! anything looks like is in `culprit_report`. Only this crate prints, exits, and reads the environment.

use std::ffi::OsString;
use std::process::ExitCode;

mod args;
mod bench;
mod commands;
mod companion;
mod doctor;
mod failure;
mod files;
mod fleet;
mod image;
mod interrupt;
mod load;
mod output;
mod places;
mod pool;
mod presets;
mod prove;
mod recording_page;
#[cfg(test)]
mod replay;
mod running;
mod runtimes;
mod session;
mod settings;
#[cfg(test)]
#[path = "../../report/src/testing.rs"]
#[expect(dead_code, reason = "most of the recordings are drawn for the tests of `report`")]
mod testing;
mod why;
mod workbench;

use args::NotParsed;
use failure::{Failure, Outcome};
use output::Output;

#[global_allocator]
static ALLOCATOR: culprit_record::HugePages = culprit_record::HugePages;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Ours, run by ourselves in a place: no settings, no options.
    if arguments.get(1).is_some_and(|word| culprit_probe::inside::takes_over(word)) {
        return ExitCode::SUCCESS;
    }
    if let Some(code) = prove::become_command(&arguments) {
        return code;
    }
    let settings = match settings::Settings::read() {
        Ok(settings) => settings,
        Err(failure) => return failed(&failure, &arguments),
    };
    match args::parse(&settings, &arguments) {
        Ok(cli) => run(cli, &settings),
        Err(NotParsed::Settings(failure)) => failed(&failure, &arguments),
        Err(NotParsed::Clap(error)) => not_parsed(&error, &arguments),
    }
}

fn run(cli: args::Cli, settings: &settings::Settings) -> ExitCode {
    let mut output = Output::new(&cli.global);
    let result = commands::run(cli.command, settings, &mut output);
    match result.and_then(|outcome| output.finish().map(|()| outcome)) {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            output.failure(&failure);
            failure.code().into()
        }
    }
}

/// A failure from before the options were read.
fn failed(failure: &Failure, arguments: &[OsString]) -> ExitCode {
    Output::unread(args::wants_json(arguments)).failure(failure);
    failure.code().into()
}

/// Help and version go to stdout with 0, wrong arguments to stderr with 2.
fn not_parsed(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    // A closed pipe (`culprit --help | head -1`) is no error.
    let _ = error.print();
    if !error.use_stderr() {
        return Outcome::Done.code();
    }
    let failure = args::failure(error);
    if args::is_about_the_subcommand(error) {
        // What clap suggests stands in its own text; the list of all is the last that we add.
        let way_out = failure.way_out().unwrap_or_default();
        output::stderr(&format!("\nhint: {}\n", way_out.lines().last().unwrap_or_default()));
    }
    Output::unread(args::wants_json(arguments)).document_of(&failure);
    failure.code().into()
}
