//! The sides of a comparison: a snapshot, a folder, or something that runs.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

use culprit_config::{MOST_SNAPSHOT_BYTES, NotASnapshot, Snapshot};

use crate::args::{ConfigDiffArgs, ConfigSourceArgs, ConfigSubjectArgs};
use crate::failure::{Context as _, Failure};
use culprit_report::config::kept_by;

/// One side.
#[derive(Debug, Clone)]
pub(crate) enum Side {
    /// A file of `config snapshot`.
    Snapshot(PathBuf),
    /// Everything else, as the options of the other commands name it.
    Live(Box<ConfigSourceArgs>),
}

impl Side {
    /// The side that a word names.
    ///
    /// # Errors
    /// When it names none.
    pub(crate) fn parse(word: &str, args: &ConfigDiffArgs) -> Result<Self, Failure> {
        let live = |root: Option<PathBuf>, subject: ConfigSubjectArgs| {
            Self::Live(Box::new(ConfigSourceArgs {
                root,
                profile: args.profile.clone(),
                define: args.define.clone(),
                no_env: args.no_env,
                subject,
                ..ConfigSourceArgs::default()
            }))
        };
        let subject = ConfigSubjectArgs::default();
        Ok(match word.split_once(':') {
            Some(("container", name)) => {
                live(None, ConfigSubjectArgs { container: Some(name.to_owned()), ..subject })
            }
            Some(("image", name)) => {
                live(None, ConfigSubjectArgs { image: Some(name.to_owned()), ..subject })
            }
            Some(("pid", number)) => {
                let pid = number.parse().map_err(|_| {
                    Failure::bad_input(format!(
                        "cannot compare `{word}`: not the number of a process"
                    ))
                })?;
                live(None, ConfigSubjectArgs { pid: Some(pid), ..subject })
            }
            _ if Path::new(word).is_dir() => live(Some(PathBuf::from(word)), subject),
            _ if Path::new(word).is_file() => Self::Snapshot(PathBuf::from(word)),
            _ => {
                return Err(Failure::bad_input(format!(
                    "cannot compare `{word}`: no such file or folder"
                ))
                .hint("give a snapshot, a folder, `container:NAME`, `image:NAME` or `pid:N`"));
            }
        })
    }
}

/// Reads a snapshot, or the one that a recording has kept: all of it, or only the keys that a name may mean.
///
/// # Errors
/// When the file cannot be read or is no snapshot.
pub(crate) fn read_snapshot(path: &Path, name: Option<&str>) -> Result<Snapshot, Failure> {
    let what = || format!("cannot read the snapshot `{}`", path.display());
    let mut file = File::open(path).or_bad_input(what)?;
    let bytes = file.metadata().or_bad_input(what)?.len();
    if bytes > MOST_SNAPSHOT_BYTES {
        return Err(Failure::bad_input(format!(
            "{}: larger than {} MiB",
            what(),
            MOST_SNAPSHOT_BYTES >> 20
        )));
    }
    if is_recording(&mut file).or_bad_input(what)? {
        return of_recording(path);
    }
    let read = match name {
        Some(name) => Snapshot::read_keys(&file, name),
        None => {
            let mut text = String::new();
            file.read_to_string(&mut text).or_bad_input(what)?;
            Snapshot::read(&text)
        }
    };
    read.map_err(|error| {
        let failure = Failure::bad_input(format!("{}: {error}", what()));
        match error {
            NotASnapshot::Version(_) => failure.hint("use the version of Culprit that wrote it"),
            _ => failure.hint("`culprit config snapshot -o FILE` writes one"),
        }
    })
}

/// Whether a file begins as a recording does: as a zip archive.
fn is_recording(file: &mut File) -> std::io::Result<bool> {
    let mut start = [0; 2];
    let read = file.read(&mut start)?;
    file.rewind()?;
    Ok(read == start.len() && start == *b"PK")
}

/// The snapshot that a recording has kept.
fn of_recording(path: &Path) -> Result<Snapshot, Failure> {
    let what = || format!("cannot read the configuration of `{}`", path.display());
    let meta = culprit_recording::peek(path).or_bad_input(what)?;
    match kept_by(&meta) {
        Some(Ok(snapshot)) => Ok(snapshot),
        Some(Err(why)) => Err(Failure::bad_input(format!("{}: {why}", what()))),
        None => Err(Failure::bad_input(format!("{}: the recording has none", what()))
            .hint("`culprit config snapshot -o FILE` writes a configuration without a recording")),
    }
}
