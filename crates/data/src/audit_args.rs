//! Arguments of `audit`, for both programs: `culprit` has them in its help and checks them, then
//! passes them on to `culprit-data`. This file is a module of both.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[path = "audit_clean_args.rs"]
pub(crate) mod clean_args;
#[path = "audit_question_args.rs"]
pub(crate) mod question_args;

pub(crate) use clean_args::AuditCleanArgs;
pub(crate) use question_args::{
    AuditBlacklistArgs, AuditBloatArgs, AuditCapArgs, AuditDiffArgs, AuditImpactArgs,
    AuditOrphansArgs, AuditReportArgs, AuditRobotsArgs, AuditVisitsArgs,
};

/// Arguments of `audit`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: AuditAction,
}

/// What `audit` does.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AuditAction {
    /// Import exports of an analytics database, or add what is new in them
    Import(AuditImportArgs),
    /// Read new and changed files of a store's sources
    Refresh(AuditRefreshArgs),
    /// Write a made-up export and access log, with the true answers in truth.json
    Sample(AuditSampleArgs),
    /// Count how often the site is visited from a place
    Visits(AuditVisitsArgs),
    /// Find visits of robots, with the reasons
    Robots(AuditRobotsArgs),
    /// Compare a site's list of robots with the stored user agents
    Blacklist(AuditBlacklistArgs),
    /// Find contacts without visits, and other rows whose other half is missing
    Orphans(AuditOrphansArgs),
    /// Find what is large among the stored values
    Bloat(AuditBloatArgs),
    /// Compute what a limit on the length of a value would cut
    Cap(AuditCapArgs),
    /// Compare reports with and without robots
    Impact(AuditImpactArgs),
    /// Find what changed between two stores, or between days of one
    Diff(AuditDiffArgs),
    /// Write one HTML page with pictures: visits, places, robots, sizes, limits
    Report(AuditReportArgs),
    /// Remove what pollutes reports: by labels, in the store, or in the source, with an undo
    Clean(AuditCleanArgs),
}

/// Arguments of `audit import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditImportArgs {
    /// Format of the sources. `auto` takes what the first bytes of each file show. `xdb-sqlserver` was tested with a stand-in, not with a real server
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = [
            "auto", "xdb-json", "xdb-csv", "xdb-postgres", "xdb-sqlserver", "bcp", "accesslog", "iis", "w3c",
            "cloudfront", "elb", "alb", "json-log", "snowplow-tsv", "ga4-json", "matomo",
        ]
    )]
    pub(crate) from: String,
    /// Files and folders, plain or compressed with gzip or zstd. For `xdb-postgres` and `xdb-sqlserver`, databases such as `postgres://user@host/xdb` and `sqlserver://user@host/xdb`: one that has all shards, or one for each shard in their order
    #[arg(value_name = "SRC", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// Folder of the store. It is made if it does not exist
    #[arg(long, short, value_name = "STORE")]
    pub(crate) output: PathBuf,
    /// Shards of the source, also those that are not imported: the one-byte shard keys are divided among them evenly. By default, those of the store, and 2 for a new one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) shards: Option<u32>,
    /// Store hashes with this key instead of addresses. The store must always get the same key
    #[arg(long, value_name = "KEY")]
    pub(crate) hash_ip: Option<String>,
    /// Time zone of times that name no offset, such as Europe/Kyiv. UTC if not given
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) tz: Option<String>,
    /// Name of a field of the log: time, date, address, agent, method, path, request, status or
    /// sent, then `=` and the name. May be given several times
    #[arg(long, value_name = "MEANING=NAME")]
    pub(crate) field: Vec<String>,
    /// Database in the MaxMind format that has the places of addresses. May be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) geoip: Vec<PathBuf>,
    /// Share of the rows of a source that may be unreadable. If more are, nothing is imported
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) tolerance: f64,
    /// Import nothing if a single row is unreadable, and exit with 2
    #[arg(long)]
    pub(crate) strict: bool,
    /// Schema of the tables in a database
    #[arg(long, value_name = "NAME", default_value = "xdb_collection")]
    pub(crate) schema: String,
    /// File with the password of a database. Without it, PGPASSWORD or SQLCMDPASSWORD has the password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Of a database, read only the rows that changed since the last import, or up to 48 hours before it
    #[arg(long)]
    pub(crate) changed_only: bool,
}

/// Arguments of `audit refresh`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditRefreshArgs {
    /// Folder of the store that `culprit audit import` made
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    /// Key of the store's hashes, if it was made with one
    #[arg(long, value_name = "KEY")]
    pub(crate) hash_ip: Option<String>,
    /// Hours that a row may arrive after its change. The next export must begin this long before the newest change
    #[arg(long, value_name = "HOURS", default_value_t = 48, value_parser = clap::value_parser!(u32).range(0..=87600))]
    pub(crate) late: u32,
    /// Share of the rows of a source that may be unreadable. If more are, nothing is imported
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) tolerance: f64,
    /// Also import all sources into an empty store, and compare. Exit with 1 if the two differ
    #[arg(long)]
    pub(crate) verify: bool,
}

/// Arguments of `audit sample`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditSampleArgs {
    /// Folder to write to. It is made if it does not exist
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Write also to a folder that is not empty. Files of an earlier sample are replaced
    #[arg(long)]
    pub(crate) force: bool,
    /// Visits to make up
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) interactions: u64,
    /// Share of the visits that robots make, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub(crate) robots: f64,
    /// Seed of the random numbers. The same options and seed give the same files
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Days that the visits are spread over. The last day is 2026-06-30
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) days: u32,
    /// Formats to write, separated by commas
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        default_value = "xdb-json,accesslog",
        value_parser = [
            "xdb-json", "xdb-csv", "bcp", "accesslog", "iis", "cloudfront", "elb", "json-log",
            "snowplow-tsv", "ga4-json",
        ]
    )]
    pub(crate) formats: Vec<String>,
    /// Broken lines to add per million visits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) malformed: u32,
}
