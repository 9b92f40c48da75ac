//! One thing that is compared: a place, a folder in it, and the part that it plays.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use culprit_place::{ContainerOptions, PlaceSpec, Volume};

/// Where in a place the work's files lie.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// The place's work folder, or another that exists there.
    Folder(Option<PathBuf>),
    /// The container's writable layer.
    Layer(Option<PathBuf>),
    /// A folder of the host, bound into the container; by default the baseline's.
    Volume(Option<PathBuf>),
    /// Memory.
    Tmpfs(Option<PathBuf>),
}

impl Location {
    /// Its word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::Layer(_) => "layer",
            Self::Volume(_) => "volume",
            Self::Tmpfs(_) => "tmpfs",
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Folder(path) | Self::Layer(path) | Self::Volume(path) | Self::Tmpfs(path) => {
                path.as_ref().map_or(Ok(()), |path| write!(f, ":{}", path.display()))
            }
        }
    }
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, path) = text.split_once(':').map_or((text, None), |(w, p)| (w, Some(p)));
        let path = path.map(PathBuf::from);
        if let Some(path) = path.as_deref().filter(|path| !path.is_absolute()) {
            return Err(format!("`{}` is not an absolute path", path.display()));
        }
        match word {
            "folder" => Ok(Self::Folder(path)),
            "layer" => Ok(Self::Layer(path)),
            "volume" => Ok(Self::Volume(path)),
            "tmpfs" => Ok(Self::Tmpfs(path)),
            _ => Err(format!(
                "unknown location `{text}`; give layer, volume, tmpfs or folder, optionally with \
                 :/PATH"
            )),
        }
    }
}

/// What part an arm plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// What the others are compared with.
    Baseline,
    /// The baseline once more: the noise floor.
    Again,
    /// The host in a cgroup of its own, as a container is: what weight alone does.
    HostInCgroup,
    /// What is compared.
    Candidate,
}

impl Role {
    /// Whether it shows noise and is no claim.
    #[must_use]
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Again | Self::HostInCgroup)
    }

    /// Its id in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Again => "baseline-again",
            Self::HostInCgroup => "host-in-cgroup",
            Self::Candidate => "candidate",
        }
    }
}

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// What people call it.
    pub label: String,
    /// Where it runs, with everything that the arm needs mounted and published.
    pub spec: PlaceSpec,
    /// The place as the user named it.
    pub asked: PlaceSpec,
    /// The folder, as the place names it, below which the work's own folder is made.
    pub dir: PathBuf,
    /// The same folder as the host names it, where it has one: what a killed worker leaves there is
    /// removed from here.
    pub host_dir: Option<PathBuf>,
    /// What kind of storage that is: `layer`, `volume`, `tmpfs`, `folder`.
    pub location: &'static str,
    /// What part it plays.
    pub role: Role,
    /// What tells arms of one probe apart beside place and folder: `published`, `seccomp-off`.
    pub variant: Option<&'static str>,
}

impl Arm {
    /// Whether its worker runs in a cgroup of its own.
    #[must_use]
    pub fn in_own_cgroup(&self) -> bool {
        self.role == Role::HostInCgroup || !matches!(self.spec, PlaceSpec::Host { .. })
    }
}

/// Where layers and mounts of ours lie in a container.
const LAYER: &str = "/culprit";
const VOLUME: &str = "/culprit-volume";
const TMPFS: &str = "/culprit-tmpfs";

/// The arms of probes whose work lies in a folder: one for each location that each place has.
///
/// `host_dir` is the folder that the baseline works in; volumes bind it unless told otherwise.
#[must_use]
pub fn candidate_arms(place: &PlaceSpec, at: &[Location], host_dir: &Path) -> Vec<Arm> {
    let arm = |spec: PlaceSpec, dir: PathBuf, host: Option<PathBuf>, location: &'static str| Arm {
        label: location.to_owned(),
        spec,
        asked: place.clone(),
        dir,
        host_dir: host,
        location,
        role: Role::Candidate,
        variant: None,
    };
    match place {
        PlaceSpec::Host { dir } => {
            let dir = dir.clone().unwrap_or_else(|| host_dir.to_path_buf());
            vec![arm(place.clone(), dir.clone(), Some(dir), "folder")]
        }
        // The sandbox is one overlay; what it writes is gone with it.
        PlaceSpec::Sandbox { dir } => {
            let dir = dir.clone().unwrap_or_else(|| host_dir.to_path_buf());
            let locations = if at.is_empty() { vec![Location::Layer(None)] } else { at.to_vec() };
            let of = |location: Location| match location {
                Location::Tmpfs(path) => {
                    let dir = path.unwrap_or_else(|| PathBuf::from("/dev/shm"));
                    Some(arm(place.clone(), dir, None, "tmpfs"))
                }
                Location::Layer(path) | Location::Folder(path) => {
                    Some(arm(place.clone(), path.unwrap_or_else(|| dir.clone()), None, "layer"))
                }
                Location::Volume(_) => None,
            };
            locations.into_iter().filter_map(of).collect()
        }
        // It has the mounts that it has: all of its locations are folders in it.
        PlaceSpec::Container { .. } => {
            let at = if at.is_empty() { &[Location::Folder(None)][..] } else { at };
            let of = |location: &Location| {
                let (path, usual) = match location {
                    Location::Folder(path) | Location::Layer(path) => (path, "/tmp"),
                    Location::Tmpfs(path) => (path, "/dev/shm"),
                    Location::Volume(_) => return None,
                };
                let dir = path.clone().unwrap_or_else(|| PathBuf::from(usual));
                Some(arm(place.clone(), dir, None, location.word()))
            };
            at.iter().filter_map(of).collect()
        }
        PlaceSpec::Engine { options, .. } => {
            let default = [Location::Layer(None), Location::Volume(None)];
            let at = if at.is_empty() { &default[..] } else { at };
            // One container has all of them, so that its arms differ in the folder alone.
            let spec = with_mounts(place, options, at, host_dir);
            at.iter()
                .map(|location| {
                    let (dir, host) = folder_in(location, host_dir);
                    arm(spec.clone(), dir, host, location.word())
                })
                .collect()
        }
    }
}

fn folder_in(location: &Location, host_dir: &Path) -> (PathBuf, Option<PathBuf>) {
    match location {
        Location::Folder(path) | Location::Layer(path) => {
            (path.clone().unwrap_or_else(|| PathBuf::from(LAYER)), None)
        }
        Location::Volume(source) => {
            let source = source.clone().unwrap_or_else(|| host_dir.to_path_buf());
            (PathBuf::from(VOLUME), Some(source))
        }
        Location::Tmpfs(path) => (path.clone().unwrap_or_else(|| PathBuf::from(TMPFS)), None),
    }
}

fn with_mounts(
    place: &PlaceSpec,
    options: &ContainerOptions,
    at: &[Location],
    host_dir: &Path,
) -> PlaceSpec {
    let mut options = options.clone();
    for location in at {
        let (dir, host) = folder_in(location, host_dir);
        match location {
            Location::Volume(_) => {
                let source = host.unwrap_or_default();
                options.volumes.push(Volume { source, target: dir, read_only: false });
            }
            Location::Tmpfs(_) => options.tmpfs.push(dir),
            Location::Folder(_) | Location::Layer(_) => {}
        }
    }
    match place {
        PlaceSpec::Engine { engine, image, .. } => {
            PlaceSpec::Engine { engine: *engine, image: image.clone(), options }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_an_arm_for_each_location() {
        let place: PlaceSpec = "docker:@host".parse().unwrap();
        let at = ["layer", "volume", "tmpfs:/fast"].map(|text| text.parse().unwrap());
        let arms = candidate_arms(&place, &at, Path::new("/data"));
        let told: Vec<(&str, &str)> =
            arms.iter().map(|arm| (arm.location, arm.dir.to_str().unwrap())).collect();
        assert_eq!(told, [("layer", LAYER), ("volume", VOLUME), ("tmpfs", "/fast")]);
        assert_eq!(
            arms[0].spec.to_string(),
            "docker:@host,volume=/data:/culprit-volume,tmpfs=/fast"
        );
        assert!(arms.iter().all(|arm| arm.spec == arms[0].spec && arm.asked == place));
        assert_eq!(arms[1].host_dir.as_deref(), Some(Path::new("/data")));
    }

    #[test]
    fn an_existing_container_has_the_folders_that_it_has() {
        let place: PlaceSpec = "container:web".parse().unwrap();
        let told = |at: &[&str]| -> Vec<(&str, PathBuf)> {
            let at: Vec<Location> = at.iter().map(|text| text.parse().unwrap()).collect();
            let arms = candidate_arms(&place, &at, Path::new("/data"));
            arms.into_iter().map(|arm| (arm.location, arm.dir)).collect()
        };
        assert_eq!(told(&[]), [("folder", "/tmp".into())]);
        let (layer, tmpfs) = (("layer", "/var".into()), ("tmpfs", "/dev/shm".into()));
        assert_eq!(told(&["layer:/var", "tmpfs"]), [layer, tmpfs]);
        assert_eq!(told(&["volume:/data"]), []);
    }

    #[test]
    fn locations_are_each_others_inverse_with_their_text() {
        for text in ["layer", "volume:/a", "tmpfs", "folder:/x/y"] {
            assert_eq!(text.parse::<Location>().unwrap().to_string(), text);
        }
        assert!("layer:x".parse::<Location>().is_err() && "disk".parse::<Location>().is_err());
    }
}
