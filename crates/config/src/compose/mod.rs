//! Docker Compose: the variables of each service, and what fills the `${...}` of its files.
//!
//! ```text
//! strongest   environment:            of the service, `${...}` replaced; then of what it extends
//!             env_file:               of the service, the last file first; then of what it extends
//!             the image               if it is given
//!
//! `${NAME}`   shell, then .env        sets nothing in a container by itself
//! ```
//!
//! The rules are those of compose-go 2 (`types.Project.WithServicesEnvironmentResolved`).

mod extends;
mod image;
mod include;
mod scope;
mod service_profiles;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::configuration::Configuration;
use crate::profile::Profile;
use crate::provenance::{
    Assignment, Certainty, Op, Outcome, Source, SourceKind, SourceState, Variable,
};
use crate::readers::{
    Contents, Entry, Format, KEEPS_QUOTES, NOT_SET_IN_PART, Oddity, Segment, is_quoted,
};
use crate::resolve::effective;
use crate::secret;
use crate::sources::{Request, Root, ServiceImage, environment_source, load_file};
use crate::template::{expand, mentioned};
use crate::value::{Raw, Redactor};
use include::Loader;
use scope::{Layered, Outside, Scope};

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

/// What an [`Oddity`] says about a variable that is not set.
pub(crate) const BLANK: &str = "is not set";
/// What an [`Oddity`] says about a variable that a file demands.
pub(crate) const REFUSED: &str = "is required and not set";

/// A source with what it holds.
type Held = (Source, Contents);

/// All sources of a project.
pub(crate) struct Project {
    compose: Vec<Held>,
    /// The scope of each of the compose files.
    scope_of: Vec<usize>,
    /// The files that are loaded together; the project's own come first.
    scopes: Vec<Scope>,
    dotenv: Vec<Held>,
    shell: Option<Held>,
    /// The image that services may have, and its variables.
    image: Option<(ServiceImage, Held)>,
    /// By path, in the order in which services name them.
    env_files: Vec<Held>,
    /// Which of the files each service names: service and index of `env_files`.
    of_services: Vec<(String, usize)>,
}

/// Reads the sources of a project.
pub(crate) fn collect(request: &Request) -> Project {
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
    let compose: Vec<Layered> =
        compose.into_iter().flat_map(|file| loader.expanded(file, 0, &[])).collect();
    let scopes = loader.scopes;
    let (compose, scope_of) = compose.into_iter().map(|one| (one.held, one.scope)).unzip();
    let mut project = Project {
        compose,
        scope_of,
        scopes,
        dotenv,
        shell,
        image: request.image.clone().map(|one| {
            let held = image::source(&one);
            (one, held)
        }),
        env_files: Vec::new(),
        of_services: Vec::new(),
    };
    let named = project.named_env_files();
    for NamedFile { service, path, required, raw } in named {
        let format = if raw { Format::EnvDocker } else { Format::EnvCompose };
        let path = include::joined(&folder, &path);
        let kind = SourceKind::ComposeEnvFile;
        let held = load_file(&root, &path, Some(format), kind, "env_file");
        let (mut source, contents) = with_sound_templates(held, false);
        if source.state == SourceState::Missing && required {
            source.state = SourceState::MissingRequired;
        }
        let known = project.env_files.iter().position(|(other, _)| other.name == source.name);
        let index = known.unwrap_or(project.env_files.len());
        if known.is_none() {
            project.env_files.push((source, contents));
        }
        project.of_services.push((service, index));
    }
    project
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
    let mut names = root.matching(&folder.join(".env").to_string_lossy());
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
fn with_sound_templates((mut source, mut contents): Held, all: bool) -> Held {
    let is_malformed = |entry: &&Entry| {
        (all || entry.template) && expand(entry.value.expose(), &|_| None).malformed
    };
    if let Some(entry) = contents.entries.iter().find(is_malformed) {
        source.state = SourceState::Unparsable;
        source.why =
            format!("line {}, column {}: a malformed `${{...}}`", entry.at.line, entry.at.column);
        contents = Contents::default();
    }
    (source, contents)
}

fn dotenv_file(root: &Root, name: &Path, required: bool) -> Held {
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

/// A file of variables that a service names.
struct NamedFile {
    service: String,
    path: String,
    required: bool,
    raw: bool,
}

/// A variable that a service sets in a compose file.
struct Declared<'a> {
    service: &'a str,
    entry: &'a Entry,
    /// The name, with its `${...}` replaced.
    name: String,
    /// The value as a template; none: it is taken from outside.
    template: Option<String>,
    /// The value that it has from outside, if it is taken from there and set.
    inherited: Option<String>,
}

fn name_of(entry: &Entry) -> &str {
    match entry.path.first() {
        Some(Segment::Name(name)) => name,
        _ => "",
    }
}

fn is_name(segment: Option<&Segment>, wanted: &str) -> bool {
    matches!(segment, Some(Segment::Name(name)) if name == wanted)
}

/// The service that an entry belongs to, and its path below it.
fn of_service(entry: &Entry) -> Option<(&str, &[Segment])> {
    match entry.path.as_slice() {
        [first, Segment::Name(service), rest @ ..] if is_name(Some(first), "services") => {
            Some((service, rest))
        }
        _ => None,
    }
}

impl Project {
    fn read_files(&self) -> impl Iterator<Item = (&Outside, &Held)> {
        let files =
            self.scope_of.iter().map(|scope| &self.scopes[*scope].outside).zip(&self.compose);
        files.filter(|(_, (source, _))| source.state == SourceState::Read)
    }

    /// The values for `${...}` of the project's own files.
    fn outside(&self) -> &Outside {
        &self.scopes[0].outside
    }

    /// Those of a compose file.
    fn outside_of(&self, file: usize) -> &Outside {
        &self.scopes[self.scope_of[file]].outside
    }

    fn named_env_files(&self) -> Vec<NamedFile> {
        let mut files: Vec<NamedFile> = Vec::new();
        // The items of one list: file, service and place, with their index in `files`.
        let mut items: BTreeMap<(usize, &str, usize), usize> = BTreeMap::new();
        for (file, (outside, (_, contents))) in self.read_files().enumerate() {
            for entry in &contents.entries {
                let Some((service, path)) = of_service(entry) else { continue };
                if !is_name(path.first(), "env_file") {
                    continue;
                }
                let place = match path.get(1) {
                    Some(Segment::Index(place)) => *place,
                    _ => 0,
                };
                let index = *items.entry((file, service, place)).or_insert_with(|| {
                    let service = service.to_owned();
                    files.push(NamedFile {
                        service,
                        path: String::new(),
                        required: true,
                        raw: false,
                    });
                    files.len() - 1
                });
                let text = outside.expand(entry.value.expose()).text;
                match path.get(2) {
                    Some(option) if is_name(Some(option), "required") => {
                        // A truth value of YAML 1.1 (`loader.toBoolean`).
                        let no = ["false", "no", "n", "off"];
                        files[index].required = !no.contains(&text.to_lowercase().as_str());
                    }
                    Some(option) if is_name(Some(option), "format") => {
                        files[index].raw = text == "raw"
                    }
                    _ => files[index].path = text,
                }
            }
        }
        // A file that is named again keeps its first place, and takes the options of the last.
        let mut unique: Vec<NamedFile> = Vec::new();
        for file in files.into_iter().filter(|file| !file.path.is_empty()) {
            let is_same =
                |one: &&mut NamedFile| (&one.service, &one.path) == (&file.service, &file.path);
            match unique.iter_mut().find(is_same) {
                Some(known) => *known = file,
                None => unique.push(file),
            }
        }
        unique
    }

    /// The variables that services declare in compose files, a file after the other.
    fn declared(&self) -> Vec<(usize, Declared<'_>)> {
        let mut declared = Vec::new();
        for (file, (source, contents)) in self.compose.iter().enumerate() {
            if source.state != SourceState::Read {
                continue;
            }
            let outside = self.outside_of(file);
            for entry in &contents.entries {
                let Some((service, path)) = of_service(entry) else { continue };
                if !is_name(path.first(), "environment") {
                    continue;
                }
                let text = entry.value.expose();
                let (name, template) = match path.get(1) {
                    Some(Segment::Name(name)) => {
                        (name.clone(), (!entry.null).then(|| text.to_owned()))
                    }
                    _ => match text.split_once('=') {
                        Some((name, value)) => (outside.expand(name).text, Some(value.to_owned())),
                        None => (outside.expand(text).text, None),
                    },
                };
                let is_list = matches!(path.get(1), Some(Segment::Index(_)));
                let inherited = match &template {
                    Some(_) => None,
                    None => self.inherited(self.scope_of[file], service, &name, is_list),
                };
                declared.push((file, Declared { service, entry, name, template, inherited }));
            }
        }
        declared
    }

    /// The value of a name that a service takes from outside. compose-go gives it when it has loaded a
    /// scope, if `environment` is a list then; a mapping becomes one where two sources set it.
    fn inherited(&self, scope: usize, service: &str, name: &str, is_list: bool) -> Option<String> {
        let mut within = scope;
        while let Some(parent) = self.scopes[within].parent {
            if is_list || self.sets_twice(within, service) {
                return self.scopes[within].outside.get(name);
            }
            within = parent;
        }
        self.outside().get(name)
    }

    /// Whether two files of a scope, or of what it includes, have an `environment` of a service.
    fn sets_twice(&self, scope: usize, service: &str) -> bool {
        let is_inside = |mut at: usize| loop {
            match self.scopes[at].parent {
                _ if at == scope => break true,
                Some(parent) => at = parent,
                None => break false,
            }
        };
        let sets = |(_, contents): &Held| {
            contents
                .entries
                .iter()
                .filter_map(of_service)
                .any(|(other, path)| other == service && is_name(path.first(), "environment"))
        };
        let files = self.scope_of.iter().zip(&self.compose);
        files.filter(|(of, held)| is_inside(**of) && sets(held)).nth(1).is_some()
    }

    /// Names that anything in the project refers to.
    fn mentioned(&self, declared: &[(usize, Declared<'_>)]) -> BTreeSet<String> {
        let compose = self.read_files().flat_map(|(_, (_, contents))| &contents.entries);
        let included = self.scopes.iter().flat_map(|scope| &scope.dotenv);
        let files = self.env_files.iter().chain(&self.dotenv).chain(included);
        let templates =
            files.flat_map(|(_, contents)| &contents.entries).filter(|entry| entry.template);
        let names = compose.chain(templates).flat_map(|entry| mentioned(entry.value.expose()));
        let inherited = declared.iter().filter(|(_, one)| one.template.is_none());
        let env_files = self.env_files.iter().flat_map(|(_, contents)| &contents.entries);
        let of_files = env_files.filter(|entry| entry.op == Op::Inherit).map(name_of);
        names
            .chain(inherited.map(|(_, one)| one.name.as_str()))
            .chain(of_files)
            .map(str::to_owned)
            .collect()
    }
}

/// Assignments under construction, with the identity of each one's key.
struct Found {
    redactor: Redactor,
    assignments: Vec<Assignment>,
    keys: Vec<String>,
    oddities: Vec<(usize, Oddity)>,
}

impl Found {
    /// Adds a candidate; `made` are the variables that its value was made from.
    fn add(
        &mut self,
        source: usize,
        (key, name): (String, &str),
        (entry, in_environment): (&Entry, bool),
        raw: &Raw,
        made: &[(String, Raw)],
    ) -> usize {
        let op = match entry.op {
            Op::Set if !made.is_empty() => Op::TokenExpand,
            op => op,
        };
        self.keys.push(key.clone());
        self.assignments.push(Assignment {
            source,
            key: secret::name(&key).into(),
            written: secret::name(name).into(),
            op,
            value: self.redactor.made_from(name, raw, made),
            at: (!in_environment).then_some(entry.at),
            end_line: (!in_environment).then_some(entry.end_line),
            condition: None,
            outcome: Outcome::Won,
            superseded_by: None,
            reason: String::new(),
        });
        self.assignments.len() - 1
    }

    /// A name that is taken from outside and not set there takes the variable away, also where an env
    /// file sets it.
    fn removes(&mut self, by: usize) {
        let key = self.keys[by].clone();
        for at in (0..by).filter(|at| self.keys[*at] == key) {
            let weaker = &mut self.assignments[at];
            if weaker.outcome == Outcome::Won {
                weaker.outcome = Outcome::Shadowed;
                weaker.superseded_by = Some(by);
                "the service takes the value from outside, where it is not set"
                    .clone_into(&mut weaker.reason);
            }
        }
    }

    fn note(&mut self, at: usize, outcome: Outcome, reason: String) {
        self.assignments[at].outcome = outcome;
        self.assignments[at].reason = reason;
    }
}

/// The key of a value for `${...}`.
fn outside_key(name: &str) -> String {
    format!("${{{name}}}")
}

/// Assignments and effective values of a project.
pub(crate) fn resolve(
    profile: &Profile,
    mut project: Project,
    redactor: Redactor,
) -> Configuration {
    // Sources, weakest first: files and shell for `${...}`, the image, env files, compose files.
    let dotenv_start: usize = project.scopes.iter().map(|scope| scope.dotenv.len()).sum();
    let shell_index = dotenv_start + project.dotenv.len();
    let image_index = shell_index + usize::from(project.shell.is_some());
    let env_start = image_index + usize::from(project.image.is_some());
    let compose_start = env_start + project.env_files.len();
    let mut found =
        Found { redactor, assignments: Vec::new(), keys: Vec::new(), oddities: Vec::new() };
    learn(&mut found.redactor, &project);
    image::values(&mut found, &mut project, image_index);
    let declared = project.declared();
    let mentioned = project.mentioned(&declared);
    learn_declared(&mut found.redactor, &project, &declared);
    outside_values(&mut found, &project, &mentioned, (dotenv_start, shell_index));
    env_file_values(&mut found, &project, &declared, env_start);
    declared_values(&mut found, &project, &declared, compose_start);
    template_oddities(&mut found, &project, compose_start);
    for (at, (_, contents)) in project.dotenv.iter().enumerate() {
        lost_parts(project.outside(), contents, dotenv_start + at, &mut found);
    }
    for (at, (_, contents)) in project.env_files.iter().enumerate() {
        lost_parts(project.outside(), contents, env_start + at, &mut found);
    }
    service_profiles::apply(&project, &mut found);

    let Project { compose, dotenv, shell, env_files, scopes, image, .. } = project;
    let others = shell.as_ref().map_or(0, |(_, contents)| {
        contents.entries.iter().filter(|entry| !mentioned.contains(name_of(entry))).count()
    });
    let included = scopes.into_iter().flat_map(|scope| scope.dotenv);
    let image = image.map(|(_, held)| held);
    let own = dotenv.into_iter().chain(shell).chain(image).chain(env_files).chain(compose);
    let held: Vec<Held> = included.chain(own).collect();
    let mut oddities = found.oddities;
    for (index, (_, contents)) in held.iter().enumerate() {
        oddities.extend(contents.oddities.iter().map(|oddity| (index, oddity.with_shown_name())));
    }
    let sources: Vec<Source> = held.into_iter().map(|(source, _)| source).collect();
    let mut assignments = found.assignments;
    let mut effective = effective(profile.assumed, &sources, &mut assignments, found.keys);
    if sources.iter().any(|source| source.state.is_gap()) {
        // Compose starts nothing then; a value for `${...}` may be in the file that cannot be read.
        effective.iter_mut().for_each(|effective| effective.certainty = Certainty::Unknown);
    }
    let variables = assignments.iter().filter(|one| *one.key == *outside_key(&one.written));
    let variable = |one: &Assignment| {
        let mut variable = Variable::of(one);
        variable.key = variable.key.filter(|_| one.outcome != Outcome::NeverApplied);
        variable
    };
    let variables = variables.map(variable).collect();
    Configuration {
        variables,
        oddities,
        other_variables: others,
        asked: mentioned.into_iter().map(|name| (name.clone(), outside_key(&name))).collect(),
        ..Configuration::from_profile(profile, sources, assignments, effective)
    }
}

/// Shows the redactor every secret before anything is shown.
fn learn(redactor: &mut Redactor, project: &Project) {
    let included = project.scopes.iter().flat_map(|scope| &scope.dotenv);
    let files = project.dotenv.iter().chain(&project.env_files).chain(&project.shell);
    let files = files.chain(included).chain(project.image.as_ref().map(|(_, held)| held));
    for entry in files.flat_map(|(_, contents)| &contents.entries) {
        redactor.learn(name_of(entry), &entry.value);
    }
}

/// Shows it the secrets that services declare.
fn learn_declared(redactor: &mut Redactor, project: &Project, declared: &[(usize, Declared<'_>)]) {
    for (file, one) in declared {
        let outside = project.outside_of(*file);
        let text = one.template.as_ref().map(|template| outside.expand(template).text);
        redactor.learn(&one.name, &Raw::new(text.unwrap_or_default()));
    }
}

/// The values for `${...}`: of the files, then of the shell, which is stronger.
fn outside_values(
    found: &mut Found,
    project: &Project,
    mentioned: &BTreeSet<String>,
    (dotenv_start, shell_index): (usize, usize),
) {
    let is_env_file = |name: &str| project.env_files.iter().any(|(source, _)| source.name == name);
    let outside = project.outside();
    for (index, (source, contents)) in project.dotenv.iter().enumerate() {
        for entry in &contents.entries {
            let name = name_of(entry);
            let raw = if entry.op == Op::Inherit {
                Raw::new(outside.get(name).unwrap_or_default())
            } else if entry.template {
                Raw::new(outside.expand(entry.value.expose()).text)
            } else {
                entry.value.clone()
            };
            let made = made_from(&entry.value, entry.template, outside);
            let at = found.add(
                dotenv_start + index,
                (outside_key(name), name),
                (entry, false),
                &raw,
                &made,
            );
            // Compose itself reads these from the file.
            let is_for_compose = name.starts_with("COMPOSE_") || name.starts_with("DOCKER_");
            if !mentioned.contains(name) && !is_for_compose && !is_env_file(&source.name) {
                let reason = format!(
                    "`{}` only fills `${{...}}` in the compose file, and no `{}` is there",
                    source.name,
                    outside_key(&secret::name(name))
                );
                found.note(at, Outcome::NeverApplied, reason);
            }
        }
    }
    let in_files = |name: &str| {
        project
            .dotenv
            .iter()
            .any(|(_, contents)| contents.entries.iter().any(|one| name_of(one) == name))
    };
    for entry in project.shell.iter().flat_map(|(_, contents)| &contents.entries) {
        let name = name_of(entry);
        if mentioned.contains(name) || in_files(name) {
            found.add(shell_index, (outside_key(name), name), (entry, true), &entry.value, &[]);
        }
    }
}

/// The variables that a template uses, with their texts.
fn made_from(template: &Raw, is_template: bool, outside: &Outside) -> Vec<(String, Raw)> {
    if !is_template {
        return Vec::new();
    }
    let uses = outside.expand(template.expose()).uses.into_iter();
    uses.map(|one| {
        let text = outside.get(&one.name).unwrap_or_default();
        (one.name, Raw::new(text))
    })
    .collect()
}

fn made_words(made: &[(String, Raw)], outside: &Outside) -> String {
    let word = |(name, _): &(String, Raw)| match outside.get(name) {
        Some(_) => format!("`${{{name}}}`"),
        None => format!("`${{{name}}}` (not set)"),
    };
    if made.is_empty() {
        return String::new();
    }
    format!("made from {}", made.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// The variables of services from `env_file`, a later file over an earlier one.
fn env_file_values(
    found: &mut Found,
    project: &Project,
    declared: &[(usize, Declared<'_>)],
    start: usize,
) {
    let outside = project.outside();
    let mut services: Vec<&str> =
        project.of_services.iter().map(|(name, _)| name.as_str()).collect();
    services.dedup();
    services.sort_unstable();
    services.dedup();
    for service in services {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let mut own: BTreeMap<&str, String> = BTreeMap::new();
        for (file, one) in declared.iter().filter(|(_, one)| one.service == service) {
            let text = match &one.template {
                Some(template) => Some(project.outside_of(*file).expand(template).text),
                None => one.inherited.clone(),
            };
            match text {
                Some(text) => own.insert(&one.name, text),
                // A later name without a value, which has none outside either, takes the earlier one away.
                None => own.remove(one.name.as_str()),
            };
        }
        let files = project.of_services.iter().filter(|(name, _)| name == service);
        for index in files.map(|(_, index)| *index) {
            for entry in &project.env_files[index].1.entries {
                let name = name_of(entry);
                let lookup = |name: &str| {
                    let own = || own.get(name).cloned();
                    outside.get(name).or_else(own).or_else(|| values.get(name).cloned())
                };
                let text = match entry.op {
                    Op::Inherit => lookup(name),
                    _ if entry.template => Some(expand(entry.value.expose(), &lookup).text),
                    _ => Some(entry.value.expose().to_owned()),
                };
                let made: Vec<(String, Raw)> = if entry.template {
                    let names = mentioned(entry.value.expose()).into_iter();
                    names
                        .map(|name| (name.to_owned(), Raw::new(lookup(name).unwrap_or_default())))
                        .collect()
                } else {
                    Vec::new()
                };
                let key = format!("{service}.{name}");
                let raw = Raw::new(text.clone().unwrap_or_default());
                let at = found.add(start + index, (key, name), (entry, false), &raw, &made);
                match text {
                    Some(text) => {
                        found.assignments[at].reason = made_words(&made, outside);
                        values.insert(name.to_owned(), text);
                    }
                    None => found.note(at, Outcome::NeverApplied, not_set(name)),
                }
            }
        }
    }
}

fn not_set(name: &str) -> String {
    let name = secret::name(name);
    format!("the value is taken from outside, and neither the shell nor `.env` sets `{name}`")
}

/// The variables of services from `environment`, a later compose file over an earlier one.
fn declared_values(
    found: &mut Found,
    project: &Project,
    declared: &[(usize, Declared<'_>)],
    start: usize,
) {
    for (file, one) in declared {
        let outside = project.outside_of(*file);
        let key = format!("{}.{}", one.service, one.name);
        let (source, name) = (start + file, one.name.as_str());
        let Some(template) = &one.template else {
            let entry = Entry { op: Op::Inherit, ..one.entry.clone() };
            let raw = Raw::new(one.inherited.clone().unwrap_or_default());
            let at = found.add(source, (key, name), (&entry, false), &raw, &[]);
            if one.inherited.is_none() {
                found.note(at, Outcome::NeverApplied, not_set(name));
                found.removes(at);
            } else {
                found.assignments[at].reason = format!("the value of {}", outside_key(name));
            }
            continue;
        };
        let made = made_from(&Raw::new(template.as_str()), true, outside);
        let raw = Raw::new(outside.expand(template).text);
        let at = found.add(source, (key, name), (one.entry, false), &raw, &made);
        let words = Some(made_words(&made, outside)).filter(|words| !words.is_empty());
        found.assignments[at].reason = words.or_else(|| one.entry.remark()).unwrap_or_default();
    }
}

/// Variables that templates use and nothing sets, anywhere in the compose files.
fn template_oddities(found: &mut Found, project: &Project, start: usize) {
    for (file, (source, contents)) in project.compose.iter().enumerate() {
        if source.state != SourceState::Read {
            continue;
        }
        let outside = project.outside_of(file);
        for entry in &contents.entries {
            for one in outside.expand(entry.value.expose()).uses {
                let what = match (one.blank, one.refused) {
                    (_, true) => REFUSED,
                    (true, _) => BLANK,
                    _ => continue,
                };
                found.oddities.push((start + file, Oddity { at: entry.at, name: one.name, what }));
            }
            if let Some(name) = quoted_in_list(entry) {
                let odd = Oddity { at: entry.at, name: name.to_owned(), what: KEEPS_QUOTES };
                found.oddities.push((start + file, odd));
            }
        }
    }
}

/// The variable of `- NAME='value'` below `environment`.
fn quoted_in_list(entry: &Entry) -> Option<&str> {
    let [.., environment, Segment::Index(_)] = entry.path.as_slice() else { return None };
    let (name, value) = entry.value.expose().split_once('=')?;
    (is_name(Some(environment), "environment") && is_quoted(value)).then_some(name)
}

/// Values of files of variables of which a part is a variable that nothing sets.
fn lost_parts(outside: &Outside, contents: &Contents, source: usize, found: &mut Found) {
    let is_set = |name: &str| {
        outside.get(name).is_some() || contents.entries.iter().any(|one| name_of(one) == name)
    };
    for entry in contents.entries.iter().filter(|entry| entry.template) {
        let text = entry.value.expose();
        // `$NAME` alone, or in braces, is meant; within a word it rarely is.
        let is_lost = |(at, _): (usize, &str)| {
            let name = crate::expand::name_of(&text[at + 1..]);
            let is_escape = text[..at].ends_with('$') || text[..at].ends_with('\\');
            let is_part = text[..at].ends_with(char::is_alphanumeric);
            !name.is_empty() && is_part && !is_escape && !is_set(name)
        };
        if text.match_indices('$').any(is_lost) {
            let name = name_of(entry).to_owned();
            found.oddities.push((source, Oddity { at: entry.at, name, what: NOT_SET_IN_PART }));
        }
    }
}
