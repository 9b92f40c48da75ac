//! The companion of `culprit` that knows SQL: `culprit sql` becomes this program.
//!
//! It is a program of its own because DataFusion makes any binary ten times as large and takes half
//! an hour of CPU time to build; `culprit` itself stays small enough to be copied into containers.
//!
//! `args` holds what can be typed, `sql` asks, `output` prints.

use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod failure;
mod interrupt;
mod output;
mod sql;

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
    let Command::Sql(args) = cli.command;
    let talk = Talk::new(args.quiet);
    match sql::run(&args, &talk) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            talk.failure(&failure, args.json);
            failure.code().into()
        }
    }
}
