//! What users type: the typed command line, one file a family of options.
//!
//! Types here only say what was typed. Each subcommand turns its own into a validated plan
//! (`commands/`), and nothing below that knows the argument parser. Help texts, completions and
//! man pages all come from these declarations; `examples.rs` holds the worked examples that open
//! every subcommand's help, `settings.rs` the variables and files that stand in for options.

mod activity;
mod casebook;
mod disk;
mod examples;
mod exchange;
mod filter;
mod measure;
mod parse;
mod places;
mod probes;
mod record;
mod sql;
mod variables;
mod views;
mod why;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::settings::{Settings, variables as named};

pub(crate) use activity::ActivityArg;
pub(crate) use casebook::{CasebookAction, CasebookArgs, RunArgs};
pub(crate) use disk::DiskArgs;
pub(crate) use exchange::{ExportArgs, ImportArgs, Target};
pub(crate) use filter::{FilterArgs, RecordingArg};
pub(crate) use measure::{BenchArgs, CmdArgs, FailOnVerdict, MeasureArgs, Probe, VerifyArgs};
pub(crate) use parse::Work;
pub(crate) use probes::{BenchCompareArgs, NetArgs, ProbeArgs};
pub(crate) use record::{RecordArgs, Stacks};
pub(crate) use sql::SqlArgs;
pub(crate) use views::{
    ActivitiesArgs, By, CompletionsArgs, DiffArgs, DoctorArgs, ExplainArgs, FindingsArgs,
    FlameArgs, ManArgs, NameArgs, PathArgs, PresetsAction, PresetsArgs, ReportArgs, TopArgs,
    ViewArgs,
};
pub(crate) use why::WhyArgs;

/// Of every subcommand, but for `record`, which ends as its command does. One line.
const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 found (--fail-on), 2 wrong input, 3 machine refuses, 130 Ctrl-C";

/// Says why a program is slow, or slower in the container than outside it.
#[derive(Debug, Parser)]
#[command(name = "culprit", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Options of every subcommand.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every subcommand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct GlobalArgs {
    /// Print one JSON document on stdout, a failure too; all else goes to stderr, also what a
    /// recorded command prints
    #[arg(long, global = true, env = named::JSON)]
    pub json: bool,
    /// No progress, hints or summaries on stderr; errors stay
    #[arg(long, short, global = true, env = named::QUIET)]
    pub quiet: bool,
    /// When to use colour; `auto` means on a terminal and without `NO_COLOR`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", env = named::COLOR)]
    pub color: ColorChoice,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Also into pipes and files.
    Always,
    /// Not at all.
    Never,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command in several places, say how much slower it is where, and why
    Why(WhyArgs),
    /// Measure commands and places by standard work, in paired rounds
    Bench(BenchArgs),
    /// Is the fix real: time two command lines against each other, and say which findings went away
    Verify(VerifyArgs),
    /// Record where every thread's wall-clock time goes
    Record(RecordArgs),
    /// One screen, or one HTML page, that says where the time of a recording went
    Report(ReportArgs),
    /// The ranked findings of a recording
    Findings(FindingsArgs),
    /// Functions by their own and total time
    Top(TopArgs),
    /// The call tree from the root
    Tree(ViewArgs),
    /// Who calls a function, and for how much time
    Callers(NameArgs),
    /// What a function calls, and for how much time
    Callees(NameArgs),
    /// A function's callers, itself and its callees in one view
    Butterfly(NameArgs),
    /// A flame graph: text, SVG or HTML
    Flame(FlameArgs),
    /// What each source line of a function weighs
    Source(NameArgs),
    /// What changed between two recordings, or two sets of them
    Diff(DiffArgs),
    /// Who ended the waits, where they were, and what they had waited for
    Wakers(ViewArgs),
    /// How long requests and operations took, and how that time passed
    Activities(ActivitiesArgs),
    /// What a thread's time was really spent on, followed through wakers
    #[command(name = "critical-path")]
    CriticalPath(PathArgs),
    /// Start-up, steady state and end of a run, by where what it does changes
    Phases(PathArgs),
    /// Named groups and folds for `--preset`: list, save, delete
    Presets(PresetsArgs),
    /// Questions in SQL over the tables of one or many recordings
    Sql(SqlArgs),
    /// A recording from another profiler's file
    Import(ImportArgs),
    /// What a filter keeps of a recording, as another profiler's file or as a picture
    Export(ExportArgs),
    /// A finding's page: what it means, why it costs time, what to do
    Explain(ExplainArgs),
    /// The worked cases: published slow-downs that run here, each with the finding that tells it
    Casebook(CasebookArgs),
    /// What this machine or place allows, and what is degraded without it
    Doctor(DoctorArgs),
    /// Completions for a shell, on stdout
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(ManArgs),
}

/// What parsing ended in, when it did not end in a command.
#[derive(Debug)]
pub(crate) enum NotParsed {
    /// Help or version was asked for, or the arguments are wrong: clap has the text.
    Clap(clap::Error),
    /// A settings file is wrong.
    Settings(Failure),
}

/// The whole command line as clap sees it, with examples and the settings files' values as
/// defaults.
///
/// # Errors
/// When a settings file names an option that does not exist.
pub(crate) fn command(settings: &Settings) -> Result<clap::Command, Failure> {
    let command = Cli::command().mut_args(|option| option.hide_env_values(true));
    settings.apply(variables::add(examples::add(command)))
}

/// Parses the arguments of this process.
///
/// # Errors
/// See [`NotParsed`].
pub(crate) fn parse(
    settings: &Settings,
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Cli, NotParsed> {
    let command = command(settings).map_err(NotParsed::Settings)?;
    let matches = command.try_get_matches_from(arguments).map_err(NotParsed::Clap)?;
    Cli::from_arg_matches(&matches).map_err(NotParsed::Clap)
}

/// Whether arguments that could not be read ask for JSON: what follows `--` belongs to a command.
pub(crate) fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json")
        || crate::settings::json()
}

/// True when the first word, or its absence, is what is wrong: then the subcommands are listed.
pub(crate) fn is_about_the_subcommand(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::InvalidSubcommand
}

/// Wrong arguments as a failure: clap's message, and as a hint what it suggests.
pub(crate) fn failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or_default();
    let message: Vec<&str> = message.split_whitespace().collect();
    let message = message.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let suggested = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(format!("do you mean `{text}`?")),
        Some(ContextValue::Strings(all)) if !all.is_empty() => {
            Some(format!("do you mean `{}`?", all.join("`, `")))
        }
        _ => None,
    };
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let failure = Failure::bad_input(message).hints(kinds.into_iter().filter_map(suggested));
    if !is_about_the_subcommand(error) {
        return failure.hint("`--help` explains every option");
    }
    let (path, asked) = asked_of(error);
    let names: Vec<&str> =
        asked.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
    let whose = if path == "culprit" { String::new() } else { format!(" of `{path}`") };
    let names = names.join(", ");
    failure.hint(format!("subcommands{whose} are {names}; `{path} --help` says more"))
}

/// The command whose subcommand is wrong, with all the words that lead to it: as the usage has it that clap
/// shows.
fn asked_of(error: &clap::Error) -> (String, clap::Command) {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let (mut path, mut asked) = ("culprit".to_owned(), Cli::command());
    for word in usage.split_whitespace() {
        if let Some(next) = asked.find_subcommand(word).cloned() {
            path = format!("{path} {word}");
            asked = next;
        }
    }
    (path, asked)
}

#[cfg(test)]
mod tests;
