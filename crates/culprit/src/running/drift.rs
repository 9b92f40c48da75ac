//! The columns of `config drift`: from engines, processes, compose files and files that were given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use culprit_config::{
    CONFIG_HASH_LABEL, Configuration, Drift, DriftColumn, DriftRequest, Inspected, ObservedProcess,
    ProcessRole, Raw, Redactor, Request, VariableSet, created_with, drift, image_not_read,
    image_variables, inspect, read_inspected, secrets_of_arguments,
};
use culprit_model::Pid;
use culprit_place::InspectedContainer;
use culprit_place::procfs::{in_namespace_of, tree};

use super::inspection::learn;
use super::things::{image_of, observed};
use crate::args::ConfigDriftArgs;
use crate::commands::config_profile;
use crate::failure::{Context as _, Failure};
use crate::{places, settings};

/// Labels of Compose.
const SERVICE_LABEL: &str = "com.docker.compose.service";
const FOLDER_LABEL: &str = "com.docker.compose.project.working_dir";
const FILES_LABEL: &str = "com.docker.compose.project.config_files";
const ENV_FILES_LABEL: &str = "com.docker.compose.project.environment_file";

/// What is compared, before its columns are made.
struct Subject {
    title: String,
    container: Option<InspectedContainer>,
    image: Option<VariableSet>,
    processes: Vec<ObservedProcess>,
}

/// The matrices of everything that the arguments name.
///
/// # Errors
/// When nothing is named, something named is not there, or a file cannot be read.
pub(crate) fn drifts(
    args: &ConfigDriftArgs,
    mut redactor: Redactor,
) -> Result<Vec<Drift>, Failure> {
    let subjects = subjects(args)?;
    for subject in &subjects {
        let created = subject.container.as_ref().map(created_with);
        let sets = subject.image.iter().chain(created.iter());
        let of_processes = subject.processes.iter().flat_map(|one| [&one.initial, &one.now]);
        sets.chain(of_processes).for_each(|set| learn(&mut redactor, &set.variables));
    }
    let hashes = hashes(args)?;
    let mut compose = ComposeFiles { args, redactor: redactor.clone(), read: BTreeMap::new() };
    let mut found = Vec::new();
    for subject in subjects {
        found.push(matrix(subject, &hashes, &mut compose, &redactor)?);
    }
    Ok(found)
}

fn subjects(args: &ConfigDriftArgs) -> Result<Vec<Subject>, Failure> {
    let mut subjects = Vec::new();
    for name in &args.container {
        let inspected = culprit_place::inspect_container(name, &settings::of_places());
        let (engine, container) = inspected.map_err(|error| places::failure(&error))?;
        let processes = match container.init {
            Some(init) => processes(init, &in_namespace_of(init).unwrap_or_default())?,
            None => Vec::new(),
        };
        let image = Some(image_of(engine, &container));
        let title = format!("container `{}`", container.name);
        subjects.push(Subject { title, container: Some(container), image, processes });
    }
    for pid in &args.pid {
        let all = tree(Pid(*pid)).map_err(|error| places::failure(&error))?;
        let processes = processes(Pid(*pid), &all)?;
        subjects.push(Subject {
            title: format!("process {pid}"),
            container: None,
            image: None,
            processes,
        });
    }
    subjects.extend(from_files(&args.inspect)?);
    if subjects.is_empty() {
        return Err(Failure::bad_input("cannot compare: nothing that runs is named")
            .hint("give `--container NAME`, `--pid N`, or `--inspect FILE`")
            .hint("`docker inspect $(docker ps -q) > FILE` writes all running containers"));
    }
    Ok(subjects)
}

/// A process and the others of its container or tree; those that ended meanwhile are left out.
fn processes(main: Pid, all: &[Pid]) -> Result<Vec<ObservedProcess>, Failure> {
    let mut found = vec![observed(main, ProcessRole::Main)?];
    let workers = tree(main).unwrap_or_default();
    for pid in all.iter().filter(|pid| **pid != main) {
        let role = if workers.contains(pid) { ProcessRole::Worker } else { ProcessRole::Visitor };
        found.extend(observed(*pid, role).ok());
    }
    Ok(found)
}

fn from_files(paths: &[PathBuf]) -> Result<Vec<Subject>, Failure> {
    let mut all = Inspected::default();
    for path in paths {
        let what = || format!("cannot read `{}`", path.display());
        let bytes = std::fs::read(path).or_bad_input(what)?;
        let found = read_inspected(&bytes).or_bad_input(what)?;
        all.containers.extend(found.containers);
        all.images.extend(found.images);
    }
    let images: BTreeMap<&str, &culprit_place::InspectedImage> = all
        .images
        .iter()
        .flat_map(|image| {
            let names = image.names.iter().map(String::as_str);
            names.chain([image.id.as_str()]).map(move |name| (name, image))
        })
        .collect();
    let subject = |container: &InspectedContainer| {
        let by_id = images.get(container.image_id.as_str());
        let image = by_id.or_else(|| images.get(container.image.as_str()));
        let image = match image {
            Some(image) => image_variables(&container.image, image),
            None => image_not_read(&container.image, "no file that was given describes it"),
        };
        Subject {
            title: format!("container `{}`", container.name),
            container: Some(container.clone()),
            image: Some(image),
            processes: Vec::new(),
        }
    };
    Ok(all.containers.iter().map(subject).collect())
}

/// `SERVICE HASH` lines of `docker compose config --hash '*'`.
fn hashes(args: &ConfigDriftArgs) -> Result<BTreeMap<String, String>, Failure> {
    let Some(path) = &args.hashes else { return Ok(BTreeMap::new()) };
    let text = std::fs::read_to_string(path)
        .or_bad_input(|| format!("cannot read `{}`", path.display()))?;
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let found: BTreeMap<_, _> = text.lines().filter_map(pair).collect();
    if found.is_empty() {
        return Err(Failure::bad_input(format!(
            "cannot use `{}`: it has no line `SERVICE HASH`",
            path.display()
        ))
        .hint("`docker compose config --hash '*' > FILE` writes it"));
    }
    Ok(found)
}

/// Refuses a service to which no compose file gives a variable: there is nothing to compare with.
fn known_service(service: &str, configuration: &Configuration) -> Result<(), Failure> {
    let services: BTreeSet<&str> = configuration
        .effective
        .iter()
        .filter(|one| !one.key.starts_with("${"))
        .filter_map(|one| one.key.split_once('.'))
        .map(|(service, _)| service)
        .collect();
    if services.contains(service) || services.is_empty() {
        return Ok(());
    }
    let known: Vec<String> = services.iter().map(|name| format!("`{name}`")).collect();
    Err(Failure::bad_input(format!("no compose file gives a variable to a service `{service}`"))
        .hint(format!("services with variables: {}", known.join(", "))))
}

fn matrix(
    subject: Subject,
    hashes: &BTreeMap<String, String>,
    compose: &mut ComposeFiles<'_>,
    redactor: &Redactor,
) -> Result<Drift, Failure> {
    let labels = subject.container.as_ref().map(|container| container.labels.clone());
    let labels = labels.unwrap_or_default();
    let service = compose.args.service.clone().or_else(|| labels.get(SERVICE_LABEL).cloned());
    if service.is_none() && compose.is_named() {
        return Err(Failure::bad_input(format!(
            "cannot compare the {} with a compose file: it has no label of a service",
            subject.title
        ))
        .hint("name the service with `--service NAME`"));
    }
    let mut columns = Vec::new();
    let is_given = compose.args.service.is_some();
    if let Some(service) = &service
        && let Some(configuration) = compose.of(&labels)?
    {
        if is_given {
            known_service(service, configuration)?;
        }
        columns.push(DriftColumn::from_compose(service, configuration));
    }
    let created = subject.container.as_ref().map(created_with);
    for set in created.iter().chain(&subject.image) {
        columns.push(DriftColumn::from_set(set, None, redactor));
    }
    for process in &subject.processes {
        columns.extend(DriftColumn::from_process(process, redactor));
    }
    for path in &compose.args.dump {
        let what = || format!("cannot read `{}`", path.display());
        let bytes = std::fs::read(path).or_bad_input(what)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        columns.push(DriftColumn::from_dump(&name, &bytes, redactor).or_bad_input(what)?);
    }
    let hash_now = service.as_ref().and_then(|service| hashes.get(service).cloned());
    let mut found = drift(DriftRequest {
        subject: subject.title,
        service,
        columns,
        made_with_hash: labels.get(CONFIG_HASH_LABEL).cloned(),
        hash_now,
    });
    let of_arguments =
        subject.processes.iter().filter_map(|one| secrets_of_arguments(one, redactor));
    found.findings.extend(of_arguments);
    Ok(found)
}

/// Compose projects, each read once: a thousand containers may be of one.
struct ComposeFiles<'a> {
    args: &'a ConfigDriftArgs,
    redactor: Redactor,
    read: BTreeMap<(PathBuf, Vec<PathBuf>), Configuration>,
}

impl ComposeFiles<'_> {
    /// Whether the arguments name a project.
    fn is_named(&self) -> bool {
        self.args.root.is_some() || !self.args.compose.is_empty()
    }

    /// The project of a container: the one that was named, else the one that its labels name and that is
    /// on this machine.
    fn of(&mut self, labels: &BTreeMap<String, String>) -> Result<Option<&Configuration>, Failure> {
        let is_named = self.is_named();
        let of_labels = labels.get(FOLDER_LABEL).map(PathBuf::from);
        let root = match (&self.args.root, of_labels) {
            (Some(root), _) => root.clone(),
            (None, _) if is_named => PathBuf::from("."),
            (None, Some(folder)) if folder.is_dir() => folder,
            _ => return Ok(None),
        };
        let of_label = |label: &str| -> Vec<PathBuf> {
            let list = labels.get(label).filter(|_| !is_named).map(String::as_str);
            let paths = list.unwrap_or_default().split(',').filter(|path| !path.is_empty());
            paths.map(|path| relative(Path::new(path), &root)).collect()
        };
        let files = match self.args.compose.as_slice() {
            [] => of_label(FILES_LABEL),
            named => named.to_vec(),
        };
        let env_files = match self.args.env_file.as_slice() {
            [] => of_label(ENV_FILES_LABEL),
            named => named.to_vec(),
        };
        let key = (root.clone(), files.clone());
        if !self.read.contains_key(&key) {
            let profile = config_profile("compose")?;
            let environment = (!self.args.no_env).then(|| {
                let all = settings::environment().into_iter();
                all.map(|(name, value)| (name, Raw::new(value))).collect()
            });
            let request = Request {
                root,
                compose_files: files,
                env_files,
                environment,
                ..Request::default()
            };
            let found = inspect(&profile, &request, self.redactor.clone());
            self.read.insert(key.clone(), found);
        }
        Ok(self.read.get(&key))
    }
}

/// A path below a folder, where it is below it.
fn relative(path: &Path, root: &Path) -> PathBuf {
    path.strip_prefix(root).map_or_else(|_| path.to_owned(), Path::to_owned)
}
