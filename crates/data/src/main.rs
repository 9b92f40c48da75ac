//! The companion of `culprit` that knows SQL and the analytics store: `culprit sql` and `culprit audit` become
//! this program.
//!
//! It is a program of its own because DataFusion makes any binary ten times as large and takes half
//! an hour of CPU time to build; `culprit` itself stays small enough to be copied into containers.
//!
//! `args` holds what can be typed, `sql` and `audit` ask, `output` prints.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod audit;
mod audit_args;
mod engine;
mod engine_args;
mod failure;
mod fleet;
mod interrupt;
mod output;
mod sql;
mod surroundings;
mod table_folder;
mod usage;

use args::{Cli, Command};
use failure::Failure;
use output::Talk;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error, &arguments),
    };
    let (talk, json, result) = match &cli.command {
        Command::Sql(args) => {
            let talk = Talk::new(args.quiet);
            let result = sql::run(args, &talk);
            (talk, args.json, result)
        }
        Command::Audit(command) => {
            let talk = Talk::new(command.quiet);
            let result = audit::run(command, &talk);
            (talk, command.json, result)
        }
        Command::Fleet(args) => {
            let talk = Talk::new(args.quiet);
            let result = fleet::run(args, &talk);
            (talk, false, result)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Command::Fleet(_) = cli.command {
                // `culprit` reads it, and says it.
                talk.document(&failure);
            } else {
                talk.failure(&failure, json);
            }
            failure.code().into()
        }
    }
}

/// Help and version go to stdout with 0, wrong arguments to stderr with 2, and as a document to stdout where
/// one is wanted.
fn not_parsed(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    // A closed pipe (`culprit-data --help | head -1`) is no error.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let failure = Failure::bad_input(usage::message(error));
    let failure = usage::suggestions(error).fold(failure, Failure::hint);
    let failure = failure.hint("`--help` explains every option");
    if arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        Talk::new(true).document(&failure);
    }
    failure.code().into()
}
