//! Arguments of `audit`: declared by the companion that carries them out, checked here, and passed
//! on with what variables and settings files say. The companion reads the values.

use std::ffi::OsString;

use clap::parser::ValueSource;
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
        // The companion has the same defaults. An option that is there may ask for others.
        if matches.value_source(id).is_none_or(|source| source == ValueSource::DefaultValue) {
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        if arg.get_num_args().is_some_and(|count| count.min_values() > 1) {
            words.push(format!("--{long}").into());
            words.extend(values.map(ToOwned::to_owned));
            continue;
        }
        for value in values {
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
        for wanted in ["--output=x y", "--seed=7", "--formats=bcp", "--formats=accesslog"] {
            assert!(words.contains(&wanted.into()), "{wanted}: {words:?}");
        }
    }

    /// What is passed on is read by the companion as it was typed here.
    #[test]
    fn every_example_is_passed_on_as_it_was_typed() {
        let command = || Declared::augment_args(Command::new("audit"));
        let mut count = 0;
        for typed in crate::args::examples::examples().flat_map(|(_, examples)| examples) {
            let Some(typed) = typed.line.strip_prefix("culprit audit ") else { continue };
            let typed = typed.split(['|', '>']).next().unwrap_or_default();
            // These two are options of all commands.
            let own = |word: &&str| !["--json", "--quiet"].contains(word);
            let typed: Vec<&str> = typed.split_whitespace().filter(own).collect();
            let parsed = |words: Vec<OsString>| {
                let all = std::iter::once(OsString::from("audit")).chain(words);
                let matches = command().try_get_matches_from(all);
                matches.map_err(|error| format!("{typed:?}: {error}")).unwrap()
            };
            let first = parsed(typed.iter().map(OsString::from).collect());
            let again = parsed(AuditArgs::from_arg_matches(&first).unwrap().words);
            let values =
                |matches: &ArgMatches| format!("{:?}", Declared::from_arg_matches(matches));
            assert_eq!(values(&first), values(&again), "{typed:?}");
            count += 1;
        }
        assert!(count > 20, "{count}");
    }
}
