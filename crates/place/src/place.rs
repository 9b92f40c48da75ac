//! What every place can do, whatever it is made of.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::cgroup::Cgroup;
use crate::command::Command;
use crate::engine::{Container, Existing};
use crate::error::{Error, Result};
use crate::facts::PlaceFacts;
use crate::held::Held;
use crate::host::Host;
use crate::sandbox::Sandbox;
use crate::spec::PlaceSpec;

/// A library that commands of a place can load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLibrary {
    /// The file that they load, as this machine names it.
    pub file: PathBuf,
    /// The same as they name it.
    pub path: PathBuf,
}

impl SharedLibrary {
    /// A file of this machine that has the same name there.
    #[must_use]
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), path: file.to_owned() }
    }
}

/// Where programs make temporary files.
pub(crate) const TMP: &str = "/tmp";

/// Somewhere commands run.
///
/// ```no_run
/// use culprit_place::{Command, PlaceSpec, Settings, open};
///
/// # fn main() -> Result<(), culprit_place::Error> {
/// let place = open(&PlaceSpec::HOST, &Settings::default())?;
/// let cgroup = place.make_cgroup()?;
/// let held = place.hold(&Command::new(["sleep", "1"]), Some(&cgroup))?;
/// // Events are armed here; then:
/// let exit = held.start()?.wait()?;
/// assert!(exit.success());
/// place.remove()?;
/// # Ok(())
/// # }
/// ```
pub trait Place: fmt::Debug + Send + Sync {
    /// Its name.
    fn spec(&self) -> &PlaceSpec;

    /// What is to be known about it before a command runs there.
    ///
    /// # Errors
    /// When the kernel or the engine does not answer.
    fn facts(&self) -> Result<PlaceFacts>;

    /// The environment in which a command of the place begins when [`Command::env`] adds nothing: ours
    /// on the host, that of the image or the container in an engine's.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        Ok(Vec::new())
    }

    /// Whether commands of the place can make files in `/tmp` and in their working folder; false if that
    /// cannot be known.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn can_write_files(&self) -> Result<bool> {
        Ok(true)
    }

    /// A cgroup in which commands of this place can be recorded from their first instruction: a
    /// new one, or for an existing container its own.
    ///
    /// # Errors
    /// [`crate::Error::NoPerfCgroup`] or [`crate::Error::Cgroup`] where that takes more rights.
    fn make_cgroup(&self) -> Result<Cgroup>;

    /// Makes the process of a command, in the cgroup, and stops short of the command itself.
    ///
    /// # Errors
    /// When the place cannot take the command as it is.
    fn hold(&self, command: &Command, cgroup: Option<&Cgroup>) -> Result<Held>;

    /// Copies a program of this machine to where commands of the place can run it, into a folder of
    /// its own, and returns its path there. That folder belongs to the user of the commands: a program
    /// that removes its own file and folder as it begins leaves nothing, however we end.
    ///
    /// # Errors
    /// [`Error::Put`] when the place has no room for it; [`Error::Unsupported`] in a place that does
    /// not need it, because it has this machine's files or is made with what it is to have.
    fn put_program(&self, program: &Path) -> Result<PathBuf> {
        let _not_copied = program;
        let what = "accept a program after its start";
        Err(Error::Unsupported { place: self.spec().to_string(), what })
    }

    /// Makes a library of this machine readable for the commands of the place that are held after this. It must
    /// exist as long as the place.
    ///
    /// # Errors
    /// When the place has no room for it, or its path is not text.
    fn share_library(&self, file: &Path) -> Result<SharedLibrary> {
        Ok(SharedLibrary::new(file))
    }

    /// The folders of this machine in which the files of the place's image lie; empty for a place without
    /// an image, and where its engine does not tell them or they lie on another machine.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn image_folders(&self) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// Removes everything that was made for the place. Dropping it does the same without telling.
    ///
    /// # Errors
    /// When something could not be removed.
    fn remove(self: Box<Self>) -> Result<()>;
}

/// What the caller decides about places as a whole.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The sockets on which Docker may answer, in the order to try.
    pub docker_sockets: Vec<PathBuf>,
    /// The sockets on which Podman may answer, in the order to try.
    pub podman_sockets: Vec<PathBuf>,
    /// A folder on a disk for what sandboxes write.
    pub scratch: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        let runtime = format!("/run/user/{}", rustix::process::getuid().as_raw());
        Self {
            docker_sockets: vec![
                "/var/run/docker.sock".into(),
                format!("{runtime}/docker.sock").into(),
            ],
            podman_sockets: vec![
                "/run/podman/podman.sock".into(),
                format!("{runtime}/podman/podman.sock").into(),
            ],
            // Kept over a reboot, as a container engine's layers are, and so on a disk, where
            // `/tmp` may be memory.
            scratch: "/var/tmp".into(),
        }
    }
}

/// Makes the place ready for commands.
///
/// # Errors
/// When it cannot be had here: no right, no engine, no image, no such container.
pub fn open(spec: &PlaceSpec, settings: &Settings) -> Result<Box<dyn Place>> {
    match spec {
        PlaceSpec::Host { dir } => Ok(Box::new(Host::new(dir.clone()))),
        PlaceSpec::Sandbox { dir } => Ok(Box::new(Sandbox::new(dir.clone(), settings)?)),
        PlaceSpec::Engine { engine, image, options } => {
            Ok(Box::new(Container::new(*engine, image, options, settings)?))
        }
        PlaceSpec::Container { name } => Ok(Box::new(Existing::new(name, settings)?)),
    }
}
