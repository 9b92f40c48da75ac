//! Arguments of the questions about a store.

use std::path::PathBuf;

use clap::Args;

use super::super::engine_args::EngineArgs;

/// A store and what its questions may take.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    /// Folder of the store that `culprit audit import` made
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    /// Memory limit in MiB. Larger sorts and groups go to temporary files. By default, half of the machine's
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// Count also the rows that `culprit audit clean` labelled
    #[arg(long)]
    pub(crate) with_labelled: bool,
    /// Who answers.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// How robots are recognised.
#[derive(Debug, Clone, Args)]
pub(crate) struct RobotArgs {
    /// How strict: `classic` is one rule (more than 500 visits, none with a second page), `strict` excludes only what is certain
    #[arg(long, value_name = "PRESET", default_value = "balanced", value_parser = ["classic", "balanced", "strict"])]
    pub(crate) preset: String,
    /// A list of robots: patterns, or a configuration with `excludedUserAgents`. It joins the built-in lists
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Vec<PathBuf>,
    /// A list of user agents that are no robots, such as your own monitors
    #[arg(long, value_name = "FILE")]
    pub(crate) allow: Vec<PathBuf>,
    /// Networks, one a line: `203.0.113.0/24 cloud`, `192.0.2.0/24 verifies Googlebot`
    #[arg(long, value_name = "FILE")]
    pub(crate) networks: Option<PathBuf>,
}

/// Arguments of `audit robots`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditRobotsArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) robots: RobotArgs,
    /// What makes a group: user agent, user agent and network, contact, or address
    #[arg(long, value_name = "KEY", default_value = "ua", value_parser = ["ua", "ua-net", "contact", "ip"])]
    pub(crate) by: String,
    /// Explain the verdicts on user agents that contain this text: each signal with its weight and reason
    #[arg(long, value_name = "UA")]
    pub(crate) explain: Option<String>,
    /// Groups to print, those with the most visits first; 0 prints all. By default, 20, and 5 with `--explain`
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// Arguments of `audit visits`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditVisitsArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) how: RobotArgs,
    /// Place: `postal=49000,country=UA`, `city=Kyiv`, `org=NAME`, `cidr=203.0.113.0/24`, `within=48.46,35.05,20` (km)
    #[arg(long, value_name = "PLACE")]
    pub(crate) place: String,
    /// Time zone of the days (IANA), or a fixed shift such as +02:00
    #[arg(long, value_name = "ZONE", default_value = "UTC", allow_hyphen_values = true)]
    pub(crate) tz: String,
    /// What a row is a row of
    #[arg(long, value_name = "UNIT", default_value = "day", value_parser = ["day", "week", "hour"])]
    pub(crate) by: String,
    /// Print only rows with at least this many visits, counted over all shards
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) min_sessions: u64,
    /// Count visits from the place, or all visits of contacts that ever came from there
    #[arg(long, value_name = "WHAT", default_value = "interaction", value_parser = ["interaction", "contact"])]
    pub(crate) attribute: String,
    /// Leave robots out, count only them, or print a row for each
    #[arg(long, value_name = "WHAT", default_value = "exclude", value_parser = ["exclude", "only", "split"])]
    pub(crate) robots: String,
    /// Where shards are missing, estimate the visits of all of them, with an interval
    #[arg(long)]
    pub(crate) extrapolate: bool,
    /// Print how many visits each condition leaves, from all visits to the rows
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Arguments of `audit orphans`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditOrphansArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Arguments of `audit blacklist`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditBlacklistArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The site's list: a configuration with `excludedUserAgents`, or one user agent a line
    #[arg(long, value_name = "FILE")]
    pub(crate) list: PathBuf,
    /// Print only the patch that repairs the list
    #[arg(long)]
    pub(crate) patch: bool,
}

/// Arguments of `audit bloat`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditBloatArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) robots: RobotArgs,
    /// Paths and largest values to print
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: u32,
    /// Count bytes of UTF-8, of UTF-16 as `nvarchar` stores text, or both. Quantiles are always of UTF-8
    #[arg(long, value_name = "UNIT", default_value = "utf8", value_parser = ["utf8", "utf16", "both"])]
    pub(crate) unit: String,
    /// Price of a GB a month in euros. Prints what the bytes cost, and what could be removed
    #[arg(long, value_name = "EUR")]
    pub(crate) price: Option<f64>,
    /// Copies on other servers, which cost as much
    #[arg(long, value_name = "N", default_value_t = 0, requires = "price")]
    pub(crate) replicas: u32,
    /// Copies in backups, which cost as much
    #[arg(long, value_name = "N", default_value_t = 0, requires = "price")]
    pub(crate) backups: u32,
    /// Size of the facets in GiB for which the date is computed
    #[arg(long, value_name = "GIB")]
    pub(crate) budget: Option<f64>,
}

/// Arguments of `audit cap`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditCapArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Path of the values, such as `InteractionsCache.Referrers[]`
    #[arg(long, value_name = "PATH")]
    pub(crate) path: String,
    /// Limit in bytes of UTF-8, 64 or more
    #[arg(long, value_name = "BYTES", default_value_t = 512)]
    pub(crate) limit: u64,
    /// Print the limit as constraints for PostgreSQL and SQL Server, and as a rule for the program that writes
    #[arg(long)]
    pub(crate) guards: bool,
    /// Schema of the tables, for the constraints
    #[arg(long, value_name = "NAME", default_value = "xdb_collection", requires = "guards")]
    pub(crate) schema: String,
}

/// Arguments of `audit impact`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditImpactArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) robots: RobotArgs,
}

/// Arguments of `audit diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditDiffArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Folder of the store that is compared with the first
    #[arg(value_name = "OTHER")]
    pub(crate) other: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) robots: RobotArgs,
    /// Two days or ranges of days (UTC), such as `2026-06-01..2026-06-07 2026-06-08..2026-06-14`. With two stores, the first is of STORE and the second of OTHER
    #[arg(long, value_names = ["DAYS", "DAYS"], num_args = 2)]
    pub(crate) between: Vec<String>,
    /// User agents and places to print, those that changed most first. 0 prints all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
}

/// Arguments of `audit report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditReportArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) robots: RobotArgs,
    /// File of the page. It loads nothing from elsewhere
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Path whose limits are drawn. By default, that of the largest value
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
}
