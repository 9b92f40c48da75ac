//! Settings: the one place that knows variables of the environment and settings files.
//!
//! An option's value comes from the first of: the command line, its `CULPRIT_...` variable,
//! `culprit.toml` in the working folder, `culprit.toml` in `$XDG_CONFIG_HOME/culprit/`, the
//! default in its help. A settings file holds options by their long names, those of one subcommand
//! in a table of its name:
//!
//! ```toml
//! color = "never"
//! [record]
//! frequency = 99
//! [bench.cmd]
//! warmup = 3
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use culprit_place::EngineKind;

use crate::failure::{Context as _, Failure};

/// Every variable that stands in for an option. The text and the default are the option's own.
pub(crate) mod variables {
    /// `--json`.
    pub(crate) const JSON: &str = "CULPRIT_JSON";
    /// `--quiet`.
    pub(crate) const QUIET: &str = "CULPRIT_QUIET";
    /// `--color`.
    pub(crate) const COLOR: &str = "CULPRIT_COLOR";
    /// `--metric`.
    pub(crate) const METRIC: &str = "CULPRIT_METRIC";
    /// `--group`.
    pub(crate) const GROUP: &str = "CULPRIT_GROUP";
    /// `--fold`.
    pub(crate) const FOLD: &str = "CULPRIT_FOLD";
    /// `--own` of views, findings and `why`.
    pub(crate) const OWN: &str = "CULPRIT_OWN";
    /// `--limit`.
    pub(crate) const LIMIT: &str = "CULPRIT_LIMIT";
    /// `--fail-on`.
    pub(crate) const FAIL_ON: &str = "CULPRIT_FAIL_ON";
    /// `--frequency` of `record` and `why`.
    pub(crate) const FREQUENCY: &str = "CULPRIT_FREQUENCY";
    /// `--stacks` of `record` and `why`.
    pub(crate) const STACKS: &str = "CULPRIT_STACKS";
    /// `--max-mib` of `record`.
    pub(crate) const MAX_MIB: &str = "CULPRIT_MAX_MIB";
    /// `--place` of `record`.
    pub(crate) const RECORD_PLACE: &str = "CULPRIT_RECORD_PLACE";
    /// `--place` of `why`, separated by spaces.
    pub(crate) const PLACES: &str = "CULPRIT_PLACES";
    /// `--runs` of `why`.
    pub(crate) const RUNS: &str = "CULPRIT_RUNS";
    /// `--no-runtime-help` of `record`, `why`, `bench cmd` and `verify`.
    pub(crate) const NO_RUNTIME_HELP: &str = "CULPRIT_NO_RUNTIME_HELP";
    /// `--no-config` of `record`, `why`, `bench cmd` and `verify`.
    pub(crate) const NO_CONFIG: &str = "CULPRIT_NO_CONFIG";
    /// `--output` of `why`.
    pub(crate) const WHY_OUTPUT: &str = "CULPRIT_WHY_OUTPUT";
}

/// Colour is unwanted, by the convention of no-color.org: any value that is not empty.
const NO_COLOR: &str = "NO_COLOR";

/// How places are made here: engines are asked at the sockets that their own programs use.
/// `DOCKER_HOST` and `CONTAINER_HOST` name another; only a local socket will do, for what runs elsewhere
/// cannot be measured from here.
pub(crate) fn of_places() -> culprit_place::Settings {
    let named = |name: &str| {
        let value = variable(name)?.into_string().ok()?;
        Some(vec![PathBuf::from(value.strip_prefix("unix://").unwrap_or(&value))])
    };
    let usual = culprit_place::Settings::default();
    culprit_place::Settings {
        docker_sockets: named(socket_variable(EngineKind::Docker)).unwrap_or(usual.docker_sockets),
        podman_sockets: named(socket_variable(EngineKind::Podman)).unwrap_or(usual.podman_sockets),
        ..usual
    }
}

/// The variable that names an engine's socket, as its own programs read it.
const fn socket_variable(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Docker => "DOCKER_HOST",
        EngineKind::Podman => "CONTAINER_HOST",
    }
}

/// That variable, where it is set.
pub(crate) fn engine_named_by(engine: EngineKind) -> Option<&'static str> {
    let name = socket_variable(engine);
    variable(name).map(|_| name)
}

/// What one settings file says.
#[derive(Debug, Clone)]
struct File {
    path: PathBuf,
    table: toml::Table,
}

/// What the settings files say, the weakest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    files: Vec<File>,
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// True when the environment names a display that a browser could open on.
pub(crate) fn has_display() -> bool {
    ["WAYLAND_DISPLAY", "DISPLAY"].iter().any(|name| variable(name).is_some())
}

/// True when the environment asks for no colour.
pub(crate) fn no_color() -> bool {
    variable(NO_COLOR).is_some()
}

/// True when the environment asks for JSON; for failures from before the options were read.
pub(crate) fn json() -> bool {
    let no =
        |value: OsString| matches!(value.to_str(), Some("0" | "false" | "no" | "off" | "n" | "f"));
    variable(variables::JSON).is_some_and(|value| !no(value))
}

/// The type of terminal; `dumb` ones get no colour and no progress.
pub(crate) fn dumb_terminal() -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// The width that the environment gives to output, `COLUMNS`; used where no terminal tells.
pub(crate) fn columns() -> Option<usize> {
    variable("COLUMNS")?.to_str()?.parse().ok().filter(|columns| *columns >= 40)
}

/// Whether a program is where commands are looked up: a file that may be executed, in a folder of
/// `PATH`.
pub(crate) fn has_program(name: &str) -> bool {
    use rustix::fs::{Access, access};
    let folders = variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .any(|path| path.is_file() && access(&path, Access::EXEC_OK).is_ok())
}

/// Where this user's settings are.
fn user_folder() -> Option<PathBuf> {
    variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")))
        .map(|folder| folder.join("culprit"))
}

/// Where presets are saved.
pub(crate) fn presets_file() -> Option<PathBuf> {
    Some(user_folder()?.join("presets.toml"))
}

/// Where the user's profiles of `config` are.
pub(crate) fn config_profiles_folder() -> Option<PathBuf> {
    Some(user_folder()?.join("profiles"))
}

/// The environment that a program started from here would get, without our own variables and without
/// what is no text.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| !name.starts_with("CULPRIT_")).collect()
}

/// The settings files, whether they exist or not, the weakest first.
pub(crate) fn own_files() -> Vec<PathBuf> {
    let folders = user_folder().into_iter().chain([PathBuf::new()]);
    folders.map(|folder| folder.join(FILE)).collect()
}

/// The variables that are meant for us.
pub(crate) fn own_variables() -> Vec<(String, String)> {
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut ours: Vec<_> = text.filter(|(name, _)| name.starts_with("CULPRIT_")).collect();
    ours.sort();
    ours
}

/// A TOML file; none where there is no such file.
///
/// # Errors
/// When it cannot be read or is no TOML.
pub(crate) fn read_table(path: &Path) -> Result<Option<toml::Table>, Failure> {
    let what = || format!("cannot read the settings `{}`", path.display());
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if is_no_file_of_ours(path, &error) => return Ok(None),
        Err(error) => return Err(error).or_bad_input(what),
    };
    text.parse().map(Some).or_bad_input(what)
}

/// The name of settings files.
const FILE: &str = "culprit.toml";
/// The table of presets in a settings file, which holds no options.
const PRESETS: &str = "presets";

impl Settings {
    /// Every preset of the files with its file and name, the weakest first.
    ///
    /// # Errors
    /// When the file of saved presets cannot be read.
    pub(crate) fn presets(&self) -> Result<Vec<(PathBuf, String, toml::Value)>, Failure> {
        let saved = match presets_file() {
            Some(path) => read_table(&path)?.map(|table| (path, table)),
            None => None,
        };
        let written = self.files.iter().filter_map(|file| {
            let table = file.table.get(PRESETS)?.as_table()?;
            Some((file.path.clone(), table.clone()))
        });
        let all = saved.into_iter().chain(written);
        Ok(all
            .flat_map(|(path, table)| {
                table.into_iter().map(move |(name, value)| (path.clone(), name, value))
            })
            .collect())
    }

    /// No files at all.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Reads the settings files of this user and of the working folder.
    ///
    /// # Errors
    /// When one exists and cannot be read or is no TOML.
    pub(crate) fn read() -> Result<Self, Failure> {
        let user = user_folder();
        let folders = user.into_iter().chain([PathBuf::new()]);
        Self::read_from(folders)
    }

    fn read_from(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for path in folders.into_iter().map(|folder| folder.join(FILE)) {
            let Some(table) = read_table(&path)? else { continue };
            files.push(File { path, table });
        }
        Ok(Self { files })
    }

    /// Makes the files' values the defaults of their options.
    ///
    /// # Errors
    /// When a file names an option or subcommand that does not exist.
    pub(crate) fn apply(&self, mut command: clap::Command) -> Result<clap::Command, Failure> {
        for File { path, table } in &self.files {
            for (key, value) in table.iter().filter(|(key, _)| *key != PRESETS) {
                command = match value {
                    toml::Value::Table(options) => apply_table(command, path, key, options)?,
                    value => apply_option(command, path, key, value)?,
                };
            }
        }
        Ok(command)
    }
}

/// There is no such file, or it lies in a folder that is closed to this user: `HOME` may still be
/// that of the user who became this one (`setpriv`, `su` without `-`).
fn is_no_file_of_ours(path: &Path, error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match error.kind() {
        NotFound | NotADirectory => true,
        PermissionDenied => path.symlink_metadata().is_err(),
        _ => false,
    }
}

fn apply_table(
    command: clap::Command,
    path: &Path,
    name: &str,
    options: &toml::Table,
) -> Result<clap::Command, Failure> {
    let Some(sub) = command.find_subcommand(name) else {
        return Err(unknown(path, name, "subcommand"));
    };
    let mut sub = sub.clone();
    for (key, value) in options {
        sub = match value {
            toml::Value::Table(options) => apply_table(sub, path, key, options)?,
            value => apply_option(sub, path, key, value)?,
        };
    }
    Ok(command.mut_subcommand(name, |_| sub))
}

fn apply_option(
    command: clap::Command,
    path: &Path,
    key: &str,
    value: &toml::Value,
) -> Result<clap::Command, Failure> {
    let option = command.get_arguments().find(|arg| arg.get_long() == Some(key));
    let Some(id) = option.map(|arg| arg.get_id().clone()) else {
        return Err(unknown(path, key, "option"));
    };
    let values: Vec<String> = match value {
        toml::Value::Array(values) => values.iter().map(plain).collect(),
        value => vec![plain(value)],
    };
    // A default counts as given for `conflicts_with`, so those belong on the command line only.
    Ok(command
        .mut_arg(id, |arg| arg.default_values(values.into_iter().map(clap::builder::OsStr::from))))
}

/// A value as it would be typed.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(truth) => truth.to_string(),
        // Neither a date nor a nested table is any option's value; its parser will say so.
        other => format!("{other:?}"),
    }
}

fn unknown(path: &Path, name: &str, what: &str) -> Failure {
    let path = path.display();
    Failure::bad_input(format!("cannot use the settings `{path}`: `{name}` is not a known {what}"))
        .hint("write the long names of options, without dashes")
        .hint("`culprit SUBCOMMAND --help` lists them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, parse};

    fn settings(text: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("culprit.toml"), text).unwrap();
        Settings::read_from([folder.path().to_owned()]).unwrap()
    }

    fn record(settings: &Settings, line: &[&str]) -> crate::args::RecordArgs {
        let line = ["culprit", "record"].iter().chain(line).map(OsString::from);
        match parse(settings, line) {
            Ok(Cli { command: Command::Record(record), .. }) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_gives_defaults_and_the_command_line_wins() {
        let settings = settings("[record]\nfrequency = 250\n");
        assert_eq!(record(&settings, &["--", "ls"]).frequency, Some(250));
        assert_eq!(record(&settings, &["-F", "7", "--", "ls"]).frequency, Some(7));
    }

    #[test]
    fn a_subcommand_of_a_subcommand_has_a_table_in_its_table() {
        let settings = settings("[bench.cmd]\nwarmup = 4\n");
        let line = ["culprit", "bench", "cmd", "true"].map(OsString::from);
        let Ok(Cli { command: Command::Bench(bench), .. }) = parse(&settings, line) else {
            panic!("not parsed")
        };
        let crate::args::Probe::Cmd(cmd) = bench.probe else { panic!("another probe") };
        assert_eq!(cmd.measure.warmup, 4);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_file() {
        for (text, name) in [("hue = 3", "hue"), ("[cook]\na=1", "cook"), ("[record]\nx=1", "x")] {
            let error = settings(text).apply(crate::args::command(&Settings::none()).unwrap());
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{name}`")) && error.contains("culprit.toml"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_missing_file_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Settings::read_from([folder.path().to_owned()]).unwrap().files.is_empty());
    }
}
