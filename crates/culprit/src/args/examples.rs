//! The worked examples that open each subcommand's help. They stand in `examples.txt`.

use std::fmt::Write as _;

/// Of each subcommand its name in brackets, then for each example what it is for and its command line.
const WRITTEN: &str = include_str!("examples.txt");

/// A command line and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Example {
    /// The command line.
    pub(super) line: &'static str,
    /// What it is for.
    pub(super) meaning: &'static str,
}

/// Every subcommand's examples. A test fails when a subcommand has none, or one that does not
/// parse.
pub(super) fn examples() -> impl Iterator<Item = (&'static str, Vec<Example>)> {
    WRITTEN.split("\n\n").map(|section| {
        let mut lines = section.lines();
        let name = lines.next().unwrap_or_default().trim_matches(['[', ']']);
        let mut examples = Vec::new();
        while let (Some(meaning), Some(line)) = (lines.next(), lines.next()) {
            examples.push(Example { line, meaning: meaning.trim_start_matches("# ") });
        }
        (name, examples)
    })
}

/// The text of a subcommand's examples.
fn text(examples: &[Example]) -> String {
    let mut text = String::from("Examples:\n");
    for Example { line, meaning } in examples {
        let _ = writeln!(text, "  # {meaning}\n  {line}");
    }
    text
}

/// Adds to every subcommand its examples, between what it does and its options. What variables are
/// set to is nobody's business who reads a pasted help.
pub(super) fn add(command: clap::Command) -> clap::Command {
    const TEMPLATE: &str =
        "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";
    examples().fold(command, |command, (path, examples)| {
        at(command, path, &|sub| {
            sub.before_help(text(&examples))
                .help_template(TEMPLATE)
                .mut_args(|option| option.hide_env_values(true))
        })
    })
}

/// Changes the subcommand at a path of names: `bench cmd` is the subcommand `cmd` of `bench`.
fn at(
    command: clap::Command,
    path: &str,
    change: &dyn Fn(clap::Command) -> clap::Command,
) -> clap::Command {
    let (name, rest) = path.split_once(' ').unwrap_or((path, ""));
    let name = name.to_owned();
    command.mut_subcommand(
        name,
        |sub| if rest.is_empty() { change(sub) } else { at(sub, rest, change) },
    )
}
