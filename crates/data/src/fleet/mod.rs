//! `culprit-data fleet`: the sums of a folder of tables, for `culprit top`, `diff` and other views, which
//! show them as they show one recording. The engine adds up; what comes here has a row for each stack.
//!
//! It prints one document on stdout, which `crates/culprit/src/fleet/tables.rs` reads:
//!
//! ```text
//! {"recordings": [[metric, group, recordings]...],
//!  "stacks": [[metric, group, stack, cause, value, rows]...],
//!  "frames": [[stack, depth, name, file, build_id]...],
//!  "engine": {...}}
//! ```
//!
//! With `--findings` it prints other members: `judged`, `findings` and `worst`.
//!
//! One file a question; they use no function of ours, so any engine runs them.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use culprit_query::{Dataset, Parameter, Stop, documented, with_parameters};
use serde_json::{Map, Value};

use crate::engine::say_checked;
use crate::engine_args::EngineArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Talk, engine_json, value_json};
use crate::sql::limits;
use crate::table_folder::tables;

/// The questions about stacks, by their member of the document.
const STACKS: [(&str, &str); 3] = [
    ("recordings", include_str!("recordings.sql")),
    ("stacks", include_str!("stacks.sql")),
    ("frames", include_str!("frames.sql")),
];

/// Those about findings.
const FINDINGS: [(&str, &str); 3] = [
    ("judged", include_str!("judged.sql")),
    ("findings", include_str!("findings.sql")),
    ("worst", include_str!("worst.sql")),
];

/// Arguments of `fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArgs {
    /// Folder that `culprit export --to tables` wrote
    #[arg(value_name = "TABLES")]
    pub(crate) folder: PathBuf,
    /// What recordings are grouped by
    #[arg(long, value_name = "KEY", value_parser = ["host", "image", "version", "day"])]
    pub(crate) by: Option<String>,
    /// Findings instead of stacks
    #[arg(long)]
    pub(crate) findings: bool,
    /// All findings, also those that cost little
    #[arg(long)]
    pub(crate) all: bool,
    /// Who answers.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Print no summaries on stderr. Errors and warnings are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Runs it.
///
/// # Errors
/// When the folder has no such tables, or a question cannot be answered.
pub(crate) fn run(args: &FleetArgs, talk: &Talk) -> Result<(), Failure> {
    let stop = Stop::default();
    let pulled = stop.clone();
    interrupt::watch(move || pulled.pull())?;
    let engine = args.engine.engine()?;
    let found = tables(&args.folder)?
        .filter(|tables| tables.iter().any(|table| table.table.name == "fleet_samples"));
    let Some(found) = found else {
        let what = format!("`{}` has no tables of recordings", args.folder.display());
        return Err(Failure::bad_input(what)
            .hint("`culprit export FOLDER --to tables -o TABLES` makes tables of recordings"));
    };
    let dataset = Dataset::new(found, limits(None));
    let dataset = match engine {
        Some(engine) => dataset.on(engine, &args.folder, &stop)?,
        None => dataset,
    };
    let mut document = Map::new();
    let (group, finding_group) = group(args.by.as_deref());
    let parameters = [
        ("group", Parameter::Part(group)),
        ("finding_group", Parameter::Part(finding_group)),
        ("every", Parameter::Part(if args.all { "TRUE" } else { "FALSE" })),
    ];
    for (name, text) in if args.findings { FINDINGS } else { STACKS } {
        let sql = with_parameters(documented(name, text).sql, &parameters)?;
        let rows = dataset.rows(&sql, &stop)?.rows;
        let row = |row: &Vec<culprit_query::Value>| row.iter().map(value_json).collect::<Value>();
        document.insert(name.to_owned(), rows.iter().map(row).collect());
    }
    let checked = dataset.checked();
    say_checked(checked.as_ref(), talk);
    document.insert("engine".to_owned(), checked.as_ref().map_or(Value::Null, engine_json));
    let document = Value::Object(document).to_string();
    let mut out = io::stdout().lock();
    out.write_all(document.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::refused(format!("cannot write to stdout: {error}")))
}

/// The columns that name the group: of stacks and of findings.
fn group(by: Option<&str>) -> (&'static str, &'static str) {
    match by {
        Some("host") => ("s.host", "f.host"),
        Some("image") => ("s.image", "f.image"),
        Some("version") => ("s.version", "f.version"),
        Some("day") => ("s.day", "f.day"),
        _ => ("''", "''"),
    }
}
