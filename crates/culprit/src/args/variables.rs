//! The variable of every option: `CULPRIT_...` stands in for what is not on the command line.
//!
//! Options that many subcommands share have one name for all of them (`settings::variables`, and
//! every filter); of the others the subcommand is part of the name, because `--all` and `--output`
//! mean something else in each.

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, Command};

/// Gives a variable to every option that has none, and lets flags be set by `1` as well as `true`.
pub(super) fn add(command: Command) -> Command {
    // What the others call `--to` has another name where that says as what.
    let command = command.mut_subcommand("export", |export| {
        export.mut_arg("to", |to| to.long("until").env("CULPRIT_TO"))
    });
    below(command.mut_args(flag), "")
}

/// The same for the subcommands of a command, and theirs.
fn below(command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}_{name}") };
        command.mut_subcommand(name, |sub| {
            below(sub.mut_args(|option| flag(named(option, &path))), &path)
        })
    })
}

fn named(option: Arg, subcommand: &str) -> Arg {
    let Some(long) = option.get_long().filter(|long| !matches!(*long, "help" | "version")) else {
        return option;
    };
    if option.get_env().is_some() {
        return option;
    }
    let shared = option.get_help_heading() == Some(super::filter::HEADING);
    let parts = if shared { vec![long] } else { vec![subcommand, long] };
    let variable = format!("CULPRIT_{}", parts.join("_").to_uppercase().replace('-', "_"));
    option.env(variable)
}

fn flag(option: Arg) -> Arg {
    if matches!(option.get_action(), ArgAction::SetTrue) && option.get_env().is_some() {
        return option.value_parser(BoolishValueParser::new());
    }
    option
}
