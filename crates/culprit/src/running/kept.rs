//! What a recording keeps of the configuration of what it recorded.
//!
//! ```text
//! before the command starts, or just after    its folder is opened: some microseconds
//! when it has ended                           variables and files are read, within limits
//! ```
//!
//! Nothing is read while the command runs, so that its time is its own. The open folder leads to the
//! files of a container that has ended, too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use culprit_config::{
    Configuration, Dialect, FileRead, Files, ProcessFiles, ProcessRole, Raw, Redactor, Request,
    Snapshot, Source, SourceKind, SourceState, VariableSet, created_with, detects_in,
    process_configuration, secrets_of_files, secrets_of_image,
};
use culprit_model::{KeptConfiguration, Meta, Pid};
use culprit_place::procfs::{EntryKind, work_folder};
use culprit_place::{Place, PlaceSpec};
use culprit_record::Target;

use super::inspection::{by_profiles, learn, with_files};
use super::things::{image_of, observed};
use crate::args::ConfigSourceArgs;
use crate::commands::config_profiles_for;
use crate::failure::{Failure, chain};
use crate::settings;

/// Bytes of files that are read at most. They take some 25 ns a byte: 50 ms of CPU time.
const MOST_BYTES: u64 = 2 << 20;
/// Names that are looked up at most. Each takes some 5 us.
const MOST_NAMES: u64 = 5_000;
/// Bytes of a snapshot at most: a part of what a short recording takes.
const MOST_KEPT_BYTES: usize = 256 << 10;

/// The working folder of a command, open.
#[derive(Debug)]
pub(crate) struct CommandFolder {
    path: PathBuf,
    files: ProcessFiles,
}

impl CommandFolder {
    /// The folder of a process; none if the process has ended or its files may not be read.
    pub(crate) fn open(pid: Pid) -> Option<Self> {
        let path = work_folder(pid).ok()?;
        let files = ProcessFiles::open(pid, &path).ok()?;
        Some(Self { path, files })
    }
}

/// What is kept of a command that Culprit started: the variables of its place, those that Culprit added,
/// and the files of its folder. `key` makes fingerprints comparable between recordings of one call.
pub(crate) fn of_command(
    place: &dyn Place,
    added: &[(OsString, OsString)],
    folder: Option<CommandFolder>,
    key: [u8; 32],
) -> KeptConfiguration {
    let environment = match place.environment() {
        Ok(environment) => environment,
        Err(error) => return left_out(&chain(&error)),
    };
    let (kind, name) = match place.spec() {
        PlaceSpec::Host { .. } | PlaceSpec::Sandbox { .. } => {
            (SourceKind::ProcessEnvironment, "environment".to_owned())
        }
        PlaceSpec::Engine { image, .. } => (SourceKind::ImageEnvironment, format!("image {image}")),
        PlaceSpec::Container { .. } => {
            (SourceKind::ContainerEnvironment, "created-with".to_owned())
        }
    };
    let of_place = texts(&environment);
    let added = texts(added);
    // A running container keeps its files when a command in it has ended.
    let folder = folder.or_else(|| match place.spec() {
        PlaceSpec::Container { name } => {
            let inspected = culprit_place::inspect_container(name, &settings::of_places());
            inspected.ok().and_then(|(_, container)| CommandFolder::open(container.init?))
        }
        _ => None,
    });
    let is_changed = |name: &str| added.iter().any(|(other, _)| other == name);
    let kept = of_place.iter().filter(|(name, _)| !is_changed(name)).cloned();
    let started = kept.chain(added.iter().cloned()).collect();
    let sets = [
        set(kind, name, of_place),
        set(SourceKind::InitialEnvironment, "command at start".to_owned(), started),
    ];
    keep(&format!("command in {}", place.spec()), &sets, folder, key)
}

/// What is kept of a target that ran already when its recording started; none of a cgroup or a machine,
/// which has no folder and no variables of its own.
pub(crate) fn of_target(
    target: &Target,
    place: &str,
    meta: &Meta,
    key: [u8; 32],
) -> Option<KeptConfiguration> {
    let found = match (target, place.strip_prefix("container:")) {
        (Target::Processes(pids), _) => of_process(*pids.first()?, meta),
        (Target::Cgroup(_), Some(name)) => of_container(name),
        _ => return None,
    };
    Some(match found {
        Ok((subject, sets, folder)) => keep(&subject, &sets, folder, key),
        Err(failure) => left_out(&failure.text()),
    })
}

type Inspected = (String, Vec<VariableSet>, Option<CommandFolder>);

fn of_process(pid: Pid, meta: &Meta) -> Result<Inspected, Failure> {
    let process = observed(pid, ProcessRole::Main)?;
    if process.started_unix_s > meta.start.realtime / 1_000_000_000 {
        let error = culprit_config::NotObserved::Reused { pid };
        return Err(Failure::refused(chain(&error)));
    }
    let sets = vec![process.initial, process.now];
    Ok((format!("process {pid}"), sets, CommandFolder::open(pid)))
}

fn of_container(name: &str) -> Result<Inspected, Failure> {
    let inspected = culprit_place::inspect_container(name, &settings::of_places());
    let (engine, container) = inspected.map_err(|error| crate::places::failure(&error))?;
    let mut sets = vec![image_of(engine, &container), created_with(&container)];
    let mut folder = None;
    if let Some(init) = container.init {
        let process = observed(init, ProcessRole::Main)?;
        sets.extend([process.initial, process.now]);
        folder = CommandFolder::open(init);
    }
    Ok((format!("container `{}`", container.name), sets, folder))
}

fn left_out(why: &str) -> KeptConfiguration {
    KeptConfiguration::LeftOut(why.to_owned())
}

/// Variables that are text; others cannot be shown.
fn texts(variables: &[(OsString, OsString)]) -> Vec<(String, Raw)> {
    let text = |(name, value): &(OsString, OsString)| {
        Some((name.to_str()?.to_owned(), Raw::new(value.to_string_lossy())))
    };
    variables.iter().filter_map(text).collect()
}

fn set(kind: SourceKind, name: String, variables: Vec<(String, Raw)>) -> VariableSet {
    let (state, why) = (SourceState::Read, String::new());
    VariableSet { kind, name, state, why, variables, pid: None }
}

/// The snapshot, without its key: with it, a reader of the recording could test guesses of a secret.
fn keep(
    subject: &str,
    sets: &[VariableSet],
    folder: Option<CommandFolder>,
    key: [u8; 32],
) -> KeptConfiguration {
    let mut redactor = Redactor::new(key);
    sets.iter().for_each(|set| learn(&mut redactor, &set.variables));
    let is_read = |set: &&VariableSet| set.state == SourceState::Read;
    let environment = sets.iter().rev().find(is_read).map(|set| set.variables.clone());
    let of_files = match folder {
        Some(folder) => files_of(folder, environment, &redactor),
        None => {
            Err(Box::new(not_read(Path::new("."), SourceState::Denied, "the process had ended")))
        }
    };
    // After the files: what they show to be secret is hidden among the variables, too.
    let mut own = process_configuration("Variables of the process", sets, &redactor);
    own.findings.extend(secrets_of_image(&own));
    let lines = |own: Configuration, of_files: Vec<Configuration>| {
        let found = std::iter::once(own).chain(of_files).collect();
        let text = Snapshot::new(subject, &redactor, found).without_key().to_text();
        text.map_err(|error| error.to_string())
    };
    let fits =
        |text: &Result<String, String>| text.as_ref().is_ok_and(|t| t.len() <= MOST_KEPT_BYTES);
    let too_large = |at: &str| {
        let why = format!("more than {} KiB of configuration", MOST_KEPT_BYTES >> 10);
        not_read(Path::new(at), SourceState::TooLarge, &why)
    };
    let whole = match of_files {
        Ok(of_files) => lines(own.clone(), of_files),
        Err(source) => {
            own.sources.push(*source);
            lines(own.clone(), Vec::new())
        }
    };
    let text = if fits(&whole) {
        whole
    } else {
        own.sources.push(too_large("."));
        lines(own, Vec::new())
    };
    match text {
        Ok(text) if text.len() <= MOST_KEPT_BYTES => KeptConfiguration::Snapshot(text),
        Ok(_) => left_out(&too_large("environment").why),
        Err(why) => left_out(&why),
    }
}

/// The files of a folder by each profile that fits it; else the folder as a source that was not read.
fn files_of(
    folder: CommandFolder,
    environment: Option<Vec<(String, Raw)>>,
    redactor: &Redactor,
) -> Result<Vec<Configuration>, Box<Source>> {
    let CommandFolder { path, files } = folder;
    let files = Arc::new(Bounded::new(files));
    let request = Request {
        root: path.clone(),
        environment,
        files: Some(Arc::<Bounded>::clone(&files) as Arc<dyn Files>),
        ..Request::default()
    };
    // Manifests are for a cluster, which starts nothing here, and lie anywhere below the folder.
    let fits = |profile: &culprit_config::Profile| {
        profile.dialect != Dialect::Kubernetes && detects_in(profile, &request)
    };
    let profiles = config_profiles_for(&ConfigSourceArgs::default(), &fits)
        .map_err(|failure| Box::new(not_read(&path, SourceState::Denied, &failure.text())))?;
    let mut found = with_files(by_profiles(&profiles, &request, redactor));
    if files.is_over() {
        let why = format!(
            "more than {} MiB or {MOST_NAMES} names: `culprit config snapshot` reads all",
            MOST_BYTES >> 20
        );
        return Err(Box::new(not_read(&path, SourceState::TooLarge, &why)));
    }
    for one in &mut found {
        let open = secrets_of_files(one, false, &|name| files.inner.is_open_to_all(name));
        one.findings.extend(open);
    }
    Ok(found)
}

fn not_read(folder: &Path, state: SourceState, why: &str) -> Source {
    Source {
        kind: SourceKind::File,
        name: folder.display().to_string(),
        layer: "files".to_owned(),
        state,
        why: why.to_owned(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

/// Files up to a number of bytes and names. Behind that, there are none, and [`Bounded::is_over`] says so.
#[derive(Debug)]
struct Bounded {
    inner: ProcessFiles,
    bytes: AtomicU64,
    names: AtomicU64,
}

impl Bounded {
    fn new(inner: ProcessFiles) -> Self {
        Self { inner, bytes: AtomicU64::new(0), names: AtomicU64::new(0) }
    }

    fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MOST_BYTES
            || self.names.load(Ordering::Relaxed) > MOST_NAMES
    }

    /// Whether more may be looked up, after these names.
    fn count(&self, names: usize) -> bool {
        self.names.fetch_add(names as u64, Ordering::Relaxed);
        !self.is_over()
    }
}

impl Files for Bounded {
    fn read(&self, name: &Path) -> FileRead {
        let over =
            |why| FileRead { state: SourceState::TooLarge, why, bytes: None, modified: None };
        if !self.count(1) {
            return over(String::new());
        }
        let left = MOST_BYTES.saturating_sub(self.bytes.load(Ordering::Relaxed));
        let read = self.inner.read_at_most(name, left);
        let bytes = read.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let bytes = if read.state == SourceState::TooLarge { left + 1 } else { bytes };
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        read
    }

    fn names(&self, folder: &str) -> Vec<String> {
        if !self.count(1) {
            return Vec::new();
        }
        let names = self.inner.names(folder);
        if self.count(names.len()) { names } else { Vec::new() }
    }

    fn kind(&self, path: &str) -> Option<EntryKind> {
        if self.count(1) { self.inner.kind(path) } else { None }
    }

    fn link(&self, path: &str) -> Option<PathBuf> {
        // Who asks for a link asks what kind it is, too, and that was counted.
        if self.is_over() { None } else { self.inner.link(path) }
    }
}
