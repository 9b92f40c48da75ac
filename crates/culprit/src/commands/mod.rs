//! One file a subcommand: its arguments become a plan, the plan is carried out, the result printed.

mod activities;
mod audit;
mod bench;
mod bench_compare;
mod butterfly;
mod callees;
mod callers;
mod casebook;
mod checkup;
mod completions;
mod config;
mod config_drift;
mod config_profiles;
mod config_prove;
mod config_snapshot;
mod critical_path;
mod diff;
mod disk;
mod doctor;
mod explain;
mod export;
mod exports;
mod fail_on;
mod findings;
mod flame;
mod import;
mod man;
mod phases;
mod presets;
mod probe;
mod record;
mod report;
mod source;
mod sql;
mod top;
mod tree;
mod verify;
mod view;
mod wakers;
mod why;

pub(crate) use config_profiles::{config_profile, config_profiles_for};
#[cfg(test)]
pub(crate) use why::page as why_page;

use crate::args::Command;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::settings::Settings;

/// Runs a subcommand.
///
/// # Errors
/// When it could not do what was asked.
pub(crate) fn run(
    command: Command,
    settings: &Settings,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    match command {
        Command::Why(args) => why::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        Command::Record(args) => record::run(&args, output),
        Command::Report(args) => report::run(&args, output),
        Command::Findings(args) => findings::run(&args, output),
        Command::View(args) => view::run(&args, output),
        Command::Top(args) => top::run(&args, output),
        Command::Tree(args) => tree::run(&args, output),
        Command::Callers(args) => callers::run(&args, output),
        Command::Callees(args) => callees::run(&args, output),
        Command::Butterfly(args) => butterfly::run(&args, output),
        Command::Flame(args) => flame::run(&args, output),
        Command::Source(args) => source::run(&args, output),
        Command::Diff(args) => diff::run(&args, output),
        Command::Wakers(args) => wakers::run(&args, output),
        Command::Activities(args) => activities::run(&args, output),
        Command::CriticalPath(args) => critical_path::run(&args, output),
        Command::Phases(args) => phases::run(&args, output),
        Command::Presets(args) => presets::run(&args, output),
        Command::Sql(args) => sql::run(&args, output),
        Command::Audit(args) => audit::run(&args, output),
        Command::Import(args) => import::run(&args, output),
        Command::Export(args) => export::run(&args, output),
        Command::Explain(args) => explain::run(&args, output),
        Command::Casebook(args) => casebook::run(&args, output),
        Command::Config(args) => config::run(&args, output),
        Command::Doctor(args) => doctor::run(&args, output),
        Command::Completions(args) => completions::run(&args, settings, output),
        Command::Man(args) => man::run(&args, settings, output),
    }
}
