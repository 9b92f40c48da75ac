//! Arguments of `config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::config_running::{
    ConfigDiffArgs, ConfigDriftArgs, ConfigSnapshotArgs, ConfigSubjectArgs,
};
use super::parse::file;
use super::prove::ConfigProveArgs;

/// Arguments of `config`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigArgs {
    /// What to do
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What `config` does.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ConfigAction {
    /// Show the effective value of each key, where it comes from, and what is wrong
    Show(ConfigShowArgs),
    /// Explain one key: the value that won, and why every other one lost
    Explain(ConfigExplainArgs),
    /// List the variables that concern the project, and what each one sets
    Vars(ConfigVarsArgs),
    /// List the conditions on roles and environments, and what each can be
    Roles(ConfigRolesArgs),
    /// Show which variables differ between compose file, image, container and processes
    Drift(ConfigDriftArgs),
    /// Write a configuration to a file, without secrets, to compare it later
    Snapshot(ConfigSnapshotArgs),
    /// Show the keys that differ between two configurations
    Diff(ConfigDiffArgs),
    /// Run a program and show which variables it reads, with the evidence
    Prove(Box<ConfigProveArgs>),
    /// List the profiles, or check profiles of your own
    Profiles(ConfigProfilesArgs),
}

/// Where configuration is looked for.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigSourceArgs {
    /// Folder of the project. Files outside it are not read [default: the working folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// A profile by its name, or a TOML file with one [default: each profile that fits the folder]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Compose file, relative to the folder. Repeat for several: a later one overrides
    #[arg(long, value_name = "FILE")]
    pub compose: Vec<PathBuf>,
    /// File of variables for the `${...}` of compose files, instead of `.env`
    #[arg(long, value_name = "FILE")]
    pub env_file: Vec<PathBuf>,
    /// Set a name that decides which files count: `environment=Staging`, `profile=prod,eu`
    #[arg(long, value_name = "NAME=VALUE", value_parser = define)]
    pub define: Vec<(String, Vec<String>)>,
    /// Leave out the variables of this shell
    #[arg(long)]
    pub no_env: bool,
    /// Also use variables that no file of the project knows
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub subject: ConfigSubjectArgs,
    /// Arguments of the program, which set keys of Spring Boot and .NET: `-- --server.port=9090`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

/// Arguments of `config show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigShowArgs {
    #[command(flatten)]
    pub sources: ConfigSourceArgs,
    /// Exit with 1 if there is a finding of this id, or of this severity or above
    #[arg(long, value_name = "FINDING|SEVERITY")]
    pub fail_on: Option<String>,
    /// Write a page that needs no network
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub html: Option<PathBuf>,
    /// Show the plaintext of one key, on a terminal only
    #[arg(long, value_name = "KEY", conflicts_with_all = ["html", "snapshot"])]
    pub reveal: Option<String>,
    /// Also say what a program read: a result of `culprit config prove -o FILE`
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,
    /// Show Culprit's own settings: which variable or file sets each option
    #[arg(long = "self")]
    pub own: bool,
    /// A key, which `explain` takes
    #[arg(value_name = "KEY", hide = true)]
    pub key: Option<String>,
}

/// Arguments of `config explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigExplainArgs {
    /// The key, in any case. The last part is enough, and so is the name of a variable
    #[arg(value_name = "KEY")]
    pub key: String,
    #[command(flatten)]
    pub sources: ConfigSourceArgs,
    /// Show the plaintext of one key, on a terminal only
    #[arg(long, value_name = "KEY", conflicts_with = "snapshot")]
    pub reveal: Option<String>,
    /// Also say whether a program read it: a result of `culprit config prove -o FILE`
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,
}

/// Arguments of `config vars`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigVarsArgs {
    #[command(flatten)]
    pub sources: ConfigSourceArgs,
    /// Also say which ones a program read: a result of `culprit config prove -o FILE`
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,
}

/// Arguments of `config roles`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigRolesArgs {
    /// Also show the result in each combination of the declared values
    #[arg(long)]
    pub matrix: bool,
    /// Values that a rule can have: `env=QA,Production`; `role=A,B+C` for B and C at once [default: those
    /// that the profile documents, or that conditions mention]
    #[arg(long, value_name = "RULE=VALUES", value_parser = define)]
    pub declare: Vec<(String, Vec<String>)>,
    #[command(flatten)]
    pub sources: ConfigSourceArgs,
}

/// Arguments of `config profiles`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigProfilesArgs {
    /// TOML files to check as profiles
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `NAME=VALUE,VALUE`.
pub(super) fn define(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) =
        text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`; write `NAME=VALUE`"))?;
    let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
    Ok((name.trim().to_owned(), values.map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_define_is_a_name_with_values() {
        let of = |name: &str, values: &[&str]| -> Result<(String, Vec<String>), String> {
            Ok((name.to_owned(), values.iter().map(|value| (*value).to_owned()).collect()))
        };
        assert_eq!(define("environment=Staging"), of("environment", &["Staging"]));
        assert_eq!(define("profile = prod, eu"), of("profile", &["prod", "eu"]));
        assert!(define("prod").is_err());
    }
}
