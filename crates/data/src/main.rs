//! The companion of `culprit` that knows SQL and the analytics store: `culprit sql` and `culprit audit` become
//! this program.
//!
//! It is a program of its own because DataFusion makes any binary ten times as large and takes half
//! an hour of CPU time to build; `culprit` itself stays small enough to be copied into containers.
//!
//! `args` holds what can be typed, `sql` and `audit` ask, `output` prints.

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

use args::{Cli, Command};
use output::Talk;

/// What clap ends with when arguments are wrong.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe (`culprit-data --help | head -1`) is no error.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
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
