//! The sources of a project: which files Compose takes, and the files of variables beside them.

use std::path::{Path, PathBuf};

use super::declared::NamedFile;
use super::include::{self, Loader};
use super::scope::{Layered, Outside, Scope};
use super::{Held, Project, image, name_of, unread};
use crate::profile::Profile;
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format};
use crate::sources::{Request, Root, environment_source, load_file};
use crate::template::expand;

/// The names of compose files, in the order in which Compose looks for them.
const FILES: &[&str] =
    &["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
/// The names of files that change them.
const OVERRIDES: &[&str] = &[
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
];

/// Reads the sources of a project.
pub(crate) fn collect(profile: &Profile, request: &Request) -> Project {
    let root = Root::from_request(request);
    let is_given = !request.compose_files.is_empty();
    let request = &with_own_variables(&root, request);
    let by_variable = !is_given && !request.compose_files.is_empty();
    let compose = compose_files(&root, request);
    let folder = compose
        .iter()
        .find(|(source, _)| source.state != SourceState::Unread)
        .and_then(|(source, _)| Path::new(&source.name).parent().map(Path::to_owned))
        .unwrap_or_default();
    let dotenv: Vec<Held> = match request.env_files.as_slice() {
        [] => dotenv_of_folders(&root, &folder, by_variable),
        named => named.iter().map(|name| dotenv_file(&root, name, true)).collect(),
    };
    let shell = request.environment.as_ref().map(|all| environment_source("shell", all));
    let of_shell = Outside::of_shell(shell.as_ref());
    let outside = match request.env_files.is_empty() {
        // Compose reads the stronger file first, and what it sets fills the other one.
        true => dotenv.iter().rev().fold(of_shell, |outside, file| outside.over([file])),
        false => of_shell.over(&dotenv),
    };
    let own = Scope { parent: None, folder: folder.clone(), dotenv: Vec::new(), outside };
    let mut loader = Loader::new(&root, own);
    let layers: Vec<Layered> = loader.all(compose, 0, &[]);
    let scopes = loader.scopes;
    let (mut compose, mut scope_of, mut copied) = (Vec::new(), Vec::new(), Vec::new());
    let (mut removed, mut idle) = (Vec::new(), Vec::new());
    for layer in layers {
        compose.push(layer.held);
        scope_of.push(layer.scope);
        copied.push(layer.copied);
        removed.push(layer.removed);
        idle.push(layer.idle);
    }
    for held in unread::files(&root, &profile.ignored, &compose) {
        compose.push(held);
        scope_of.push(0);
        copied.push(Vec::new());
        removed.push(Vec::new());
        idle.push(Vec::new());
    }
    let mut project = Project {
        compose,
        scope_of,
        copied,
        removed,
        idle,
        scopes,
        dotenv,
        shell,
        image: request.image.clone().map(|one| {
            let held = image::source(&one);
            (one, held)
        }),
        env_files: Vec::new(),
        of_services: Vec::new(),
        not_of_services: Vec::new(),
    };
    add_env_files(&mut project, &root, &folder);
    project
}

/// Reads the files of variables that services name, also those that a stronger compose file takes away.
fn add_env_files(project: &mut Project, root: &Root, folder: &Path) {
    let load = |NamedFile { path, raw, .. }: &NamedFile| {
        let format = if *raw { Format::EnvDocker } else { Format::EnvCompose };
        let path = include::joined(folder, path);
        let kind = SourceKind::ComposeEnvFile;
        with_sound_templates(load_file(root, &path, Some(format), kind, "env_file"), false)
    };
    let known = |project: &Project, source: &Source| {
        project.env_files.iter().position(|(other, _)| other.name == source.name)
    };
    for named in project.named_env_files() {
        let (mut source, contents) = load(&named);
        if source.state == SourceState::Missing && named.required {
            source.state = SourceState::MissingRequired;
            source.why = format!("{}; the service `{}` names it", source.why, named.service);
        }
        let index = known(project, &source).unwrap_or_else(|| {
            project.env_files.push((source, contents));
            project.env_files.len() - 1
        });
        project.of_services.push((named.service, index));
    }
    for (named, why) in project.removed_env_files() {
        let (mut source, mut contents) = load(&named);
        let index = known(project, &source).unwrap_or_else(|| {
            if source.state != SourceState::Missing {
                source.state = SourceState::Unread;
                source.why.clone_from(&why);
            }
            contents.oddities.clear();
            project.env_files.push((source, contents));
            project.env_files.len() - 1
        });
        project.not_of_services.push((named.service, index, why));
    }
}

/// A request with the files that Compose's own variables name: `COMPOSE_FILE` of the shell or of `.env`, and
/// `COMPOSE_ENV_FILES` of the shell.
fn with_own_variables(root: &Root, request: &Request) -> Request {
    let mut request = request.clone();
    let of_shell = |name: &str| {
        let value = request.variable(name).map(|value| value.expose().to_owned());
        value.filter(|value| !value.is_empty())
    };
    let paths = |text: &str, separator: &str| -> Vec<PathBuf> {
        let parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
        parts.map(PathBuf::from).collect()
    };
    let env_files = of_shell("COMPOSE_ENV_FILES").map(|text| paths(&text, ","));
    let env_files = env_files.filter(|_| request.env_files.is_empty());
    let named: &[PathBuf] = env_files.as_deref().unwrap_or(&request.env_files);
    let dotenv: Vec<PathBuf> = if named.is_empty() { vec![".env".into()] } else { named.to_vec() };
    let of_file = |name: &str| {
        let files = dotenv.iter().rev().map(|path| dotenv_file(root, path, false));
        let entries = files.flat_map(|(_, contents)| contents.entries.into_iter().rev());
        let mut own = entries.filter(|entry| name_of(entry) == name);
        own.next().map(|entry| entry.value.expose().to_owned()).filter(|text| !text.is_empty())
    };
    let variable = |name: &str| of_shell(name).or_else(|| of_file(name));
    let separator = variable("COMPOSE_PATH_SEPARATOR").unwrap_or_else(|| ":".to_owned());
    let compose = variable("COMPOSE_FILE").map(|text| paths(&text, &separator));
    request.compose_files = match compose {
        Some(files) if request.compose_files.is_empty() => files,
        _ => request.compose_files,
    };
    request.env_files = env_files.unwrap_or(request.env_files);
    request
}

/// The files `.env` that Compose finds by itself, the weakest first: that of the project's folder, and before it that
/// of the working folder, where COMPOSE_FILE leads from one to the other.
fn dotenv_of_folders(root: &Root, folder: &Path, by_variable: bool) -> Vec<Held> {
    let own = folder.join(".env").to_string_lossy().into_owned();
    let mut names = root.matching(&own);
    // A folder of this name is what Docker makes of a file that it was to mount and did not find.
    if names.is_empty() && root.is_folder(&own) {
        names.push(own);
    }
    if by_variable {
        names.extend(root.matching(".env"));
    }
    names.dedup();
    names.iter().map(|name| dotenv_file(root, Path::new(name), false)).collect()
}

/// Whether COMPOSE_FILE names a file that is there.
pub(crate) fn is_named_by_variable(root: &Root, request: &Request) -> bool {
    let request = with_own_variables(root, request);
    request.compose_files.iter().any(|path| !root.matching(&path.to_string_lossy()).is_empty())
}

/// A file whose templates can be replaced; else Compose refuses all of it.
pub(super) fn with_sound_templates((mut source, mut contents): Held, all: bool) -> Held {
    let is_malformed = |entry: &&Entry| {
        (all || entry.template) && expand(entry.value.expose(), &|_| None).malformed
    };
    if let Some(entry) = contents.entries.iter().find(is_malformed) {
        (source.state, source.at) = (SourceState::Unparsable, Some(entry.at));
        source.why =
            format!("line {}, column {}: a malformed `${{...}}`", entry.at.line, entry.at.column);
        contents = Contents::default();
    }
    (source, contents)
}

pub(super) fn dotenv_file(root: &Root, name: &Path, required: bool) -> Held {
    let kind = SourceKind::DotenvInterpolation;
    let held = load_file(root, name, Some(Format::EnvCompose), kind, "${...}");
    let (mut source, contents) = with_sound_templates(held, false);
    if required && source.state == SourceState::Missing {
        source.state = SourceState::MissingRequired;
    }
    (source, contents)
}

fn compose_files(root: &Root, request: &Request) -> Vec<Held> {
    let load = |name: &Path| {
        let kind = SourceKind::ComposeEnvironment;
        let held = load_file(root, name, Some(Format::YamlCompose), kind, "compose file");
        with_sound_templates(held, true)
    };
    if !request.compose_files.is_empty() {
        let required = |name: &PathBuf| {
            let (mut source, contents) = load(name);
            if source.state == SourceState::Missing {
                source.state = SourceState::MissingRequired;
            }
            (source, contents)
        };
        return request.compose_files.iter().map(required).collect();
    }
    let mut files = Vec::new();
    for names in [FILES, OVERRIDES] {
        let found: Vec<String> = names.iter().flat_map(|name| root.matching(name)).collect();
        for name in &found {
            let (mut source, contents) = load(Path::new(name));
            if *name != found[0] {
                source.state = SourceState::Unread;
                source.why = format!("Compose takes {}", found[0]);
            }
            files.push((source, contents));
        }
    }
    files
}
