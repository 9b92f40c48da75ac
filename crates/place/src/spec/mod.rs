//! The names of places: `host:/dir`, `sandbox`, `docker:IMAGE,option=value`, `container:NAME`.
//!
//! A name is text that the user types and that a recording keeps, so parsing and printing are each
//! other's inverse: what was parsed prints in one canonical form, and that form parses to the same
//! value. An engine's options stand in [`options`].

mod lower;
mod options;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use lower::LowerFile;
pub use options::{
    ContainerOptions, Filter, LogDriver, Memory, NanoCpus, Network, Protocol, Publish, Volume,
};

/// Which container engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Docker.
    Docker,
    /// Podman, through its Docker-compatible interface.
    Podman,
}

impl EngineKind {
    /// How its service is started.
    pub(crate) const fn start_hint(self) -> &'static str {
        match self {
            Self::Docker => "start it with `systemctl start docker` (or `dockerd &` as root)",
            Self::Podman => {
                "start it with `systemctl start podman.socket` (or `systemctl --user start \
                 podman.socket`)"
            }
        }
    }

    /// How a user who may not use its socket gets the right.
    pub(crate) const fn access_hint(self) -> &'static str {
        match self {
            Self::Docker => {
                "use sudo, or add yourself to the group `docker` (`sudo usermod -aG docker \
                 $USER`) and log in again"
            }
            Self::Podman => {
                "use sudo, or start your own service: `systemctl --user start podman.socket`"
            }
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        })
    }
}

/// What a new container is made from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Image {
    /// An image that the engine has, by name or id.
    Named(String),
    /// `@host`: an empty image with the host's own programs mounted into it.
    Host,
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Named(name) => name,
            Self::Host => HOST_IMAGE,
        })
    }
}

const HOST_IMAGE: &str = "@host";

/// Where a command is to run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PlaceSpec {
    /// This machine itself, in `dir` or the current folder.
    Host {
        /// Absolute path of the work folder.
        dir: Option<PathBuf>,
    },
    /// Namespaces of its own over an overlay file system on the host's root.
    Sandbox {
        /// Absolute path of the work folder, as the host names it.
        dir: Option<PathBuf>,
    },
    /// A new container.
    Engine {
        /// Which engine makes it.
        engine: EngineKind,
        /// What it is made from.
        image: Image,
        /// How it is made.
        options: ContainerOptions,
    },
    /// A container that already runs, of either engine.
    Container {
        /// Its name or id.
        name: String,
    },
}

impl PlaceSpec {
    /// The host, in the current folder.
    pub const HOST: Self = Self::Host { dir: None };
    /// The sandbox, in the current folder.
    pub const SANDBOX: Self = Self::Sandbox { dir: None };
}

impl fmt::Display for PlaceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_dir = |f: &mut fmt::Formatter<'_>, word: &str, dir: &Option<PathBuf>| match dir {
            None => f.write_str(word),
            Some(dir) => write!(f, "{word}:{}", dir.display()),
        };
        match self {
            Self::Host { dir } => with_dir(f, "host", dir),
            Self::Sandbox { dir } => with_dir(f, "sandbox", dir),
            Self::Engine { engine, image, options } => write!(f, "{engine}:{image}{options}"),
            Self::Container { name } => write!(f, "container:{name}"),
        }
    }
}

impl FromStr for PlaceSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let error = |problem| SpecError { text: text.to_owned(), problem };
        let (kind, rest) = match text.split_once(':') {
            None => (text, None),
            Some((kind, rest)) => (kind, Some(rest)),
        };
        match kind {
            "host" => Ok(Self::Host { dir: folder(rest).map_err(error)? }),
            "sandbox" => Ok(Self::Sandbox { dir: folder(rest).map_err(error)? }),
            "docker" => container(EngineKind::Docker, rest).map_err(error),
            "podman" => container(EngineKind::Podman, rest).map_err(error),
            "container" => match rest {
                None | Some("") => Err(error(SpecProblem::NoContainer)),
                Some(name) => Ok(Self::Container { name: name.to_owned() }),
            },
            _ => Err(error(SpecProblem::UnknownPlace(kind.to_owned()))),
        }
    }
}

fn folder(rest: Option<&str>) -> Result<Option<PathBuf>, SpecProblem> {
    rest.map(absolute).transpose()
}

/// An absolute path. Relative ones are refused because a place's name must mean the same from
/// every folder that it is read in.
pub(super) fn absolute(text: &str) -> Result<PathBuf, SpecProblem> {
    if Path::new(text).is_absolute() {
        Ok(PathBuf::from(text))
    } else {
        Err(SpecProblem::NotAbsolute(text.to_owned()))
    }
}

fn container(engine: EngineKind, rest: Option<&str>) -> Result<PlaceSpec, SpecProblem> {
    let mut parts = rest.unwrap_or_default().split(',');
    let image = match parts.next().unwrap_or_default() {
        "" => return Err(SpecProblem::NoImage(engine)),
        HOST_IMAGE => Image::Host,
        name if name.starts_with('@') => return Err(SpecProblem::UnknownImage(name.to_owned())),
        name => Image::Named(name.to_owned()),
    };
    Ok(PlaceSpec::Engine { engine, image, options: ContainerOptions::parse(parts)? })
}

/// A text that names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a place: {problem}")]
pub struct SpecError {
    text: String,
    problem: SpecProblem,
}

impl SpecError {
    /// What would have been right.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match &self.problem {
            SpecProblem::UnknownPlace(_) => {
                "the places are host, host:/dir, sandbox, sandbox:/dir, docker:IMAGE, \
                 docker:@host, podman:IMAGE, container:NAME"
                    .into()
            }
            SpecProblem::NotAbsolute(path) => {
                format!("give the absolute path, such as `\"$PWD\"/{path}`")
            }
            SpecProblem::NoContainer => "`docker ps` lists the running containers".into(),
            SpecProblem::NoImage(engine) => {
                format!("`{engine} images` lists the local images; `{engine}:@host` needs no image")
            }
            SpecProblem::UnknownImage(_) => {
                format!("`{HOST_IMAGE}` is the only image name that starts with `@`")
            }
            SpecProblem::UnknownOption(_) => options::KNOWN.into(),
            SpecProblem::Value { form, .. } => format!("the form is {form}"),
            SpecProblem::Twice(_) | SpecProblem::LayerAndWorkdir => return None,
        })
    }
}

/// What exactly is wrong with a place's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpecProblem {
    #[error("unknown kind of place `{0}`")]
    UnknownPlace(String),
    #[error("`{0}` is not an absolute path")]
    NotAbsolute(String),
    #[error("the container's name is missing")]
    NoContainer,
    #[error("{0} needs an image")]
    NoImage(EngineKind),
    #[error("`{0}` is not an image")]
    UnknownImage(String),
    #[error("unknown option `{0}`")]
    UnknownOption(String),
    #[error("`{option}` cannot be `{value}`")]
    Value { option: &'static str, value: String, form: &'static str },
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    #[error("`layer` and `workdir` cannot be used together")]
    LayerAndWorkdir,
}
