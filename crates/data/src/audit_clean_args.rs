//! Arguments of `audit clean`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::question_args::{RobotArgs, StoreArgs};

/// The names of the guards, which `--allow` overrides.
const GUARDS: [&str; 10] = [
    "known-contact",
    "conversion",
    "retention",
    "share-of-all",
    "share-of-day",
    "missing-shard",
    "plan-age",
    "backup",
    "other-target",
    "side-effects",
];

/// Arguments of `audit clean`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditCleanArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: CleanAction,
}

/// What `audit clean` does.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum CleanAction {
    /// Plan what is removed. Only the plan's folder is written
    Plan(Box<CleanPlanArgs>),
    /// Show a plan, and check that it is as it was made
    Show(CleanShowArgs),
    /// Compare a plan with the live database. Nothing is changed
    Verify(CleanVerifyArgs),
    /// Carry a plan out, or go on where it stopped
    Apply(CleanApplyArgs),
    /// Put everything back, or one batch
    Undo(CleanUndoArgs),
    /// Show how far a plan is, and which rows were left alone
    Status(CleanShowArgs),
}

/// The database of the level `source`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArgs {
    /// PostgreSQL database, such as `postgres://user@host/xdb`: one that has all shards, or one for each shard in their order. The password comes from `--password-file` or PGPASSWORD
    #[arg(long, value_name = "DSN")]
    pub(crate) against: Vec<String>,
    /// File with the password of the database
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
}

/// Arguments of `audit clean plan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanPlanArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) robots: RobotArgs,
    /// What leaves: `verdict=certain`, `verdict=likely` (both), `user-agent=TEXT`, `contacts=without-interactions`. Several are joined
    #[arg(long, value_name = "WHAT", required = true)]
    pub(crate) select: Vec<String>,
    /// Where it leaves from: `label` hides rows in reports, `store` rebuilds the store, `source` deletes rows in the database
    #[arg(long, value_name = "LEVEL", default_value = "label", value_parser = ["label", "store", "source"])]
    pub(crate) level: String,
    /// What the source is. For `sqlserver`, the plan is SQL text only
    #[arg(long, value_name = "KIND", default_value = "postgres", value_parser = ["postgres", "sqlserver"])]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) database: TargetArgs,
    /// Schema of the tables in the source
    #[arg(long, value_name = "NAME", default_value = "xdb_collection")]
    pub(crate) schema: String,
    /// Leave the rows that this guard protects out of the plan
    #[arg(long, value_name = "GUARD", value_parser = ["known-contact", "conversion", "retention"])]
    pub(crate) spare: Vec<String>,
    /// Days for which rows must be kept
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) retention_days: u32,
    /// Interactions or contacts that one transaction deletes at most
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub(crate) batch_rows: u32,
    /// Folder of the plan. It must not exist, or be empty
    #[arg(long, short, value_name = "PLAN")]
    pub(crate) output: PathBuf,
}

/// Arguments of `audit clean show` and `audit clean status`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanShowArgs {
    /// Folder of the plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
}

/// Arguments of `audit clean verify`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanVerifyArgs {
    /// Folder of the plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) database: TargetArgs,
    /// Override a guard by its name, as `apply` would
    #[arg(long, value_name = "GUARD", value_parser = GUARDS)]
    pub(crate) allow: Vec<String>,
}

/// What `apply` and `undo` need before they change anything.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConsentArgs {
    /// Change something. Without it, only what would be done is shown
    #[arg(long, requires = "confirm")]
    pub(crate) execute: bool,
    /// The first 8 digits of the plan's digest, as `audit clean show` prints them
    #[arg(long, value_name = "DIGEST")]
    pub(crate) confirm: Option<String>,
    /// Override a guard by its name
    #[arg(long, value_name = "GUARD", value_parser = GUARDS)]
    pub(crate) allow: Vec<String>,
    /// Stop if a lock is not free after this time, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub(crate) lock_wait: u32,
    /// Memory limit in MiB for the question that compares reports with the plan. By default, half of the machine's
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
}

/// Arguments of `audit clean apply`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanApplyArgs {
    /// Folder of the plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) database: TargetArgs,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    /// Where the backup of the database is, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(crate) backup: Option<String>,
    /// Rows to delete in a second at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rows_per_second: Option<u32>,
    /// Begin batches only in these hours (UTC), such as `01:00-05:00`
    #[arg(long, value_name = "FROM-TO")]
    pub(crate) window: Option<String>,
}

/// Arguments of `audit clean undo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanUndoArgs {
    /// Folder of the plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) database: TargetArgs,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    /// Put only this batch back
    #[arg(long, value_name = "N")]
    pub(crate) only_batch: Option<u64>,
}
