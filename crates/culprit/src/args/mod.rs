//! What users type: the typed command line, one file a family of options.
//!
//! Types here only say what was typed. Each subcommand turns its own into a validated plan
//! (`commands/`), and nothing below that knows the argument parser. Help texts, completions and
//! man pages all come from these declarations; `examples.rs` holds the worked examples that open
//! every subcommand's help, `settings.rs` the variables and files that stand in for options.

mod activity;
mod audit;
mod casebook;
mod config;
mod config_running;
mod disk;
#[path = "../../../data/src/engine_args.rs"]
mod engine_args;
mod examples;
mod exchange;
mod filter;
mod keep;
mod measure;
mod parse;
mod places;
mod probes;
mod prove;
mod record;
mod runtimes;
mod sql;
#[path = "../../../data/src/usage.rs"]
mod usage;
mod variables;
mod view;
mod views;
mod why;

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::settings::{Settings, variables as named};

pub(crate) use activity::ActivityArg;
pub(crate) use audit::AuditArgs;
pub(crate) use casebook::{CasebookAction, CasebookArgs, RunArgs};
pub(crate) use config::{
    ConfigAction, ConfigArgs, ConfigExplainArgs, ConfigProfilesArgs, ConfigRolesArgs,
    ConfigShowArgs, ConfigSourceArgs, ConfigVarsArgs,
};
pub(crate) use config_running::{
    ConfigDiffArgs, ConfigDriftArgs, ConfigSnapshotArgs, ConfigSubjectArgs,
};
pub(crate) use disk::DiskArgs;
pub(crate) use engine_args::EngineArgs;
pub(crate) use exchange::{ExportArgs, ImportArgs, Target};
pub(crate) use filter::{FilterArgs, RecordingsArg};
pub(crate) use measure::{BenchArgs, CmdArgs, FailOnVerdict, MeasureArgs, Probe, VerifyArgs};
pub(crate) use probes::{BenchCompareArgs, NetArgs, ProbeArgs};
pub(crate) use prove::{ConfigProveArgs, RuntimeProbes};
pub(crate) use record::{Allocations, RecordArgs, Stacks};
pub(crate) use sql::SqlArgs;
pub(crate) use view::ViewPageArgs;
pub(crate) use views::{
    ActivitiesArgs, ActivitiesBy, CompletionsArgs, DiffArgs, DoctorArgs, ExplainArgs, FindingsArgs,
    FlameArgs, ManArgs, NameArgs, PathArgs, PresetsAction, PresetsArgs, ReportArgs, TopArgs,
    TreeArgs, ViewArgs,
};
pub(crate) use why::WhyArgs;

/// Of every subcommand except `record`, which exits with the code of its command. One line.
const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 --fail-on matched, 2 wrong input, 3 machine refuses, 130 Ctrl-C";

/// Shows why a program is slow, and why it is slower in a container than on the host.
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
    /// Print one JSON document on stdout, also for a failure. Everything else goes to stderr, also
    /// the output of a recorded command
    #[arg(long, global = true, env = named::JSON)]
    pub json: bool,
    /// Print no progress, hints or summaries on stderr. Errors and warnings are still printed
    #[arg(long, short, global = true, env = named::QUIET)]
    pub quiet: bool,
    /// When to use colours. `auto`: on a terminal, unless `NO_COLOR` is set
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
    /// Never.
    Never,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command in several places; show where it is slower, by how much, and why
    Why(WhyArgs),
    /// Time commands, or measure places with standard workloads, in paired rounds
    Bench(BenchArgs),
    /// Check a fix: compare the times of two command lines, and list the findings that are gone
    Verify(VerifyArgs),
    /// Record where every thread's wall-clock time goes
    Record(RecordArgs),
    /// Show where the time of a recording went, on one screen or one HTML page
    Report(ReportArgs),
    /// Show recordings in a browser: prints the address of a page on this machine
    View(ViewPageArgs),
    /// List the findings of a recording, ranked
    Findings(FindingsArgs),
    /// List functions by own and total time
    Top(TopArgs),
    /// Show the call tree from the root
    Tree(TreeArgs),
    /// Show the callers of a function, with their times
    Callers(NameArgs),
    /// Show the functions that a function calls, with their times
    Callees(NameArgs),
    /// Show a function between its callers and its callees
    Butterfly(NameArgs),
    /// Draw a flame graph as text, SVG or HTML
    Flame(FlameArgs),
    /// Show the cost of each source line of a function
    Source(NameArgs),
    /// Show what changed between two recordings, or between two sets of recordings
    Diff(DiffArgs),
    /// Show waits, the thread that ended each wait, and what that thread had waited for
    Wakers(ViewArgs),
    /// Show the latencies of requests and operations, and where that time went
    Activities(ActivitiesArgs),
    /// Show the critical path: the work and the waits that a thread's time depended on
    #[command(name = "critical-path")]
    CriticalPath(PathArgs),
    /// Split a run into its phases: what it did one after the other, with the first finding of each
    Phases(PathArgs),
    /// List, save or delete presets: named groups and folds for `--preset`
    Presets(PresetsArgs),
    /// Query the tables of one or many recordings with SQL
    Sql(SqlArgs),
    /// Import analytics data, and find what pollutes it
    Audit(AuditArgs),
    /// Convert another profiler's file to a recording
    Import(ImportArgs),
    /// Write a recording, or a filtered part of it, as another profiler's file or as a picture
    Export(ExportArgs),
    /// Explain a finding: what it means, why it costs time, what to do
    Explain(ExplainArgs),
    /// List, show or run worked cases: published slow-downs, each with its finding
    Casebook(CasebookArgs),
    /// Show where configuration comes from, and what was never applied
    Config(ConfigArgs),
    /// Check what this machine or a place allows, and what is degraded
    Doctor(DoctorArgs),
    /// Print completions for a shell on stdout
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
    let failure = Failure::bad_input(usage::message(error)).hints(usage::suggestions(error));
    if !is_about_the_subcommand(error) {
        return failure.hint("`--help` explains every option");
    }
    let (path, asked) = asked_of(error);
    let names: Vec<&str> =
        asked.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
    let whose = if path == "culprit" { String::new() } else { format!(" of `{path}`") };
    let names = names.join(", ");
    failure.hint(format!("subcommands{whose}: {names}; `{path} --help` explains them"))
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
