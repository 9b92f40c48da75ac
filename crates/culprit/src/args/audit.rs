//! Arguments of `audit`: declared by the companion that carries them out, checked here, and passed
//! on with what variables and settings files say. The companion reads the values.

use std::ffi::OsString;

use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};

// The declarations look for it beside themselves.
use super::engine_args;

#[path = "../../../data/src/audit_args.rs"]
mod declared;

use declared::AuditArgs as Declared;

/// Arguments of `audit`, checked.
#[derive(Debug, Clone)]
pub(crate) struct AuditArgs {
    /// The subcommand with all options that have a value.
    pub(crate) words: Vec<OsString>,
}

impl Args for AuditArgs {
    fn augment_args(command: Command) -> Command {
        Declared::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Declared::augment_args_for_update(command)
    }
}

impl FromArgMatches for AuditArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Declared::from_arg_matches(matches)?;
        let mut words = Vec::new();
        collect(&Declared::augment_args(Command::new("audit")), matches, &mut words);
        Ok(Self { words })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Appends the words that give the same values without variables and settings.
fn collect(command: &Command, matches: &ArgMatches, words: &mut Vec<OsString>) {
    let mut positional = Vec::new();
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let Some(long) = arg.get_long() else {
            positional.extend(matches.get_raw(id).into_iter().flatten().map(ToOwned::to_owned));
            continue;
        };
        if matches!(arg.get_action(), ArgAction::SetTrue) {
            words.extend(matches.get_flag(id).then(|| format!("--{long}").into()));
            continue;
        }
        for value in matches.get_raw(id).into_iter().flatten() {
            let mut word = OsString::from(format!("--{long}="));
            word.push(value);
            words.push(word);
        }
    }
    if !positional.is_empty() {
        words.push("--".into());
        words.append(&mut positional);
    }
    if let Some((name, below)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        words.push(name.into());
        collect(command, below, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_passed_on_whatever_they_came_from() {
        let command = AuditArgs::augment_args(Command::new("audit"));
        let typed = ["audit", "sample", "--formats", "bcp,accesslog", "-o", "x y", "--seed=7"];
        let matches = command.try_get_matches_from(typed).unwrap();
        let words = AuditArgs::from_arg_matches(&matches).unwrap().words;
        assert_eq!(words[0], "sample");
        for wanted in
            ["--output=x y", "--seed=7", "--days=90", "--formats=bcp", "--formats=accesslog"]
        {
            assert!(words.contains(&wanted.into()), "{wanted}: {words:?}");
        }
    }
}
