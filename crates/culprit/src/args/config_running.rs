//! Arguments of `config` about things that run: which one, `drift`, `snapshot` and `diff`.

use std::path::PathBuf;

use clap::Args;

use super::config::ConfigSourceArgs;
use super::parse::file;

/// What is inspected instead of a folder.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Instead of a folder")]
pub(crate) struct ConfigSubjectArgs {
    /// A running process: its variables, and the files of its working folder
    #[arg(long, value_name = "PID", conflicts_with_all = ["container", "image", "snapshot"])]
    pub pid: Option<u32>,
    /// A container by name or id: its image, how it was created, its process, its files
    #[arg(long, value_name = "NAME", conflicts_with_all = ["image", "snapshot"])]
    pub container: Option<String>,
    /// An image of an engine, or a file of `docker save`: its variables and files. With `--compose`: the
    /// image of services
    #[arg(long, value_name = "IMAGE|FILE", conflicts_with = "snapshot")]
    pub image: Option<String>,
    /// A file of `culprit config snapshot`, or a recording
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
    /// Output of `kubectl get deploy,cm,secret -o json`: a file, or `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "container", "image", "snapshot"])]
    pub manifests: Option<PathBuf>,
    /// The cluster of this context of `kubectl`, which Culprit runs
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "container", "image", "snapshot", "manifests"])]
    pub kube_context: Option<String>,
    /// Namespace of the cluster [default: all]
    #[arg(long, value_name = "NAME", requires = "kube_context")]
    pub namespace: Option<String>,
}

/// Arguments of `config drift`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigDriftArgs {
    /// A container by name or id. Repeat for several
    #[arg(long, value_name = "NAME")]
    pub container: Vec<String>,
    /// A process, with those that it started. Repeat for several
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// A file of `docker inspect`, of containers and images. Repeat for several
    #[arg(long, value_name = "FILE")]
    pub inspect: Vec<PathBuf>,
    /// Folder of the compose project [default: the one that the container's labels name]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Compose file, relative to the folder. Repeat for several: a later one overrides
    #[arg(long, value_name = "FILE")]
    pub compose: Vec<PathBuf>,
    /// File of variables for the `${...}` of compose files, instead of `.env`
    #[arg(long, value_name = "FILE")]
    pub env_file: Vec<PathBuf>,
    /// Compose service [default: the one that the container's labels name]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Output of `docker compose config --hash '*'`, for the first test
    #[arg(long, value_name = "FILE")]
    pub hashes: Option<PathBuf>,
    /// What the application says of its configuration: JSON, properties, or lines `NAME=VALUE`
    #[arg(long, value_name = "FILE")]
    pub dump: Vec<PathBuf>,
    /// Leave out the variables of this shell
    #[arg(long)]
    pub no_env: bool,
    /// Also list variables that are the same everywhere
    #[arg(long)]
    pub all: bool,
    /// Write a page that needs no network
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub html: Option<PathBuf>,
    /// Exit with 1 if there is a finding of this id, or of this severity or above
    #[arg(long, value_name = "FINDING|SEVERITY")]
    pub fail_on: Option<String>,
}

/// Arguments of `config snapshot`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigSnapshotArgs {
    /// File to write
    #[arg(long, short, value_name = "FILE", value_parser = file)]
    pub output: PathBuf,
    /// Use the key of this snapshot, so that secrets of both can be compared
    #[arg(long, value_name = "FILE")]
    pub like: Option<PathBuf>,
    /// Leave out the key: nobody can test whether a secret is a certain text
    #[arg(long)]
    pub no_key: bool,
    #[command(flatten)]
    pub sources: ConfigSourceArgs,
}

/// Arguments of `config diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigDiffArgs {
    /// A snapshot, a folder, `container:NAME`, `pid:N` or `image:NAME`
    #[arg(value_name = "BEFORE")]
    pub before: String,
    /// The same, for the second side
    #[arg(value_name = "AFTER")]
    pub after: String,
    /// A profile by its name, or a TOML file with one [default: each profile that fits]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Set a name that decides which files count: `environment=Staging`
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::config::define)]
    pub define: Vec<(String, Vec<String>)>,
    /// Leave out the variables of this shell, for folders
    #[arg(long)]
    pub no_env: bool,
    /// Write a page that needs no network
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub html: Option<PathBuf>,
    /// Exit with 1 if a key is not the same on both sides
    #[arg(long)]
    pub fail_on_difference: bool,
}
