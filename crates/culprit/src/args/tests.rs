//! What help promises: examples that parse, text and value names for every option.

use super::*;

fn all() -> clap::Command {
    command(&Settings::none()).unwrap()
}

/// Every subcommand with its path of names, those of subcommands too.
fn subcommands() -> Vec<(String, clap::Command)> {
    fn below(command: &clap::Command, path: &str, found: &mut Vec<(String, clap::Command)>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name()).trim().to_owned();
            below(sub, &path, found);
            found.push((path, sub.clone()));
        }
    }
    let mut found = Vec::new();
    below(&all(), "", &mut found);
    found
}

fn words(line: &str) -> Vec<OsString> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match c {
            '\'' | '"' if quote.is_none_or(|open| open == c) => {
                quote = quote.xor(Some(c));
            }
            ' ' if quote.is_none() => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.into_iter().map(Into::into).collect()
}

#[test]
fn the_declarations_are_consistent() {
    all().debug_assert();
}

#[test]
fn every_subcommand_opens_with_examples_that_parse() {
    for (path, sub) in subcommands() {
        let (_, examples) = examples::examples()
            .find(|(name, _)| *name == path)
            .unwrap_or_else(|| panic!("{path} has no examples"));
        assert!(!examples.is_empty());
        for examples::Example { line, meaning } in examples {
            assert!(!meaning.is_empty() && meaning.len() < 60, "{line}: {meaning}");
            let typed = line.split(" > ").next().unwrap();
            match parse(&Settings::none(), words(typed)) {
                Err(NotParsed::Clap(error)) if !error.use_stderr() => {}
                Err(error) => panic!("{line}: {error:?}"),
                Ok(_) => {}
            }
        }
        let mut sub = sub.clone();
        let help = sub.render_long_help().to_string();
        let at = |needle: &str| help.find(needle).unwrap_or(usize::MAX);
        assert!(at("Examples:") < at("Usage:"), "{help}");
    }
}

#[test]
fn every_option_has_text_and_a_value_name() {
    for (path, sub) in subcommands() {
        for arg in
            sub.get_arguments().filter(|a| !matches!(a.get_id().as_str(), "help" | "version"))
        {
            let what = format!("{path} {}", arg.get_id());
            assert!(arg.get_help().is_some(), "{what} has no help");
            if arg.get_action().takes_values() {
                let names = arg.get_value_names().unwrap_or_default();
                let upper = names.iter().all(|n| n.chars().any(|c| c.is_ascii_uppercase()));
                assert!(!names.is_empty() && upper, "{what} has no value name of its own");
            }
        }
    }
}

#[test]
fn a_command_after_the_dashes_keeps_its_own_options() {
    let line = "culprit record -o x.culprit -- ls --json -q --color=never";
    let Ok(Cli { command: Command::Record(record), global }) =
        parse(&Settings::none(), words(line))
    else {
        panic!("not parsed")
    };
    assert_eq!(record.command, ["ls", "--json", "-q", "--color=never"]);
    assert!(!global.json && !global.quiet);
}

#[test]
fn record_wants_something_to_record() {
    for line in [
        "culprit record",
        "culprit record --pid 1 --place host -- ls",
        "culprit record --pid 1 --all",
    ] {
        assert!(matches!(parse(&Settings::none(), words(line)), Err(NotParsed::Clap(_))), "{line}");
    }
}
