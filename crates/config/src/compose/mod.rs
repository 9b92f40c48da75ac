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

mod clear;
mod declared;
mod extends;
mod found;
mod image;
mod include;
mod load;
mod oddities;
mod refused;
mod requests;
mod scope;
mod service_profiles;
mod unread;
mod values;

use std::collections::BTreeMap;

use self::clear::{Idle, Removed};
use self::found::Found;
pub(crate) use self::found::outside_key;
use self::oddities::{lost_parts, template_oddities};
use self::scope::{Copied, Outside, Scope};
use self::values::{
    declared_values, env_file_values, idle_tags, learn, learn_declared, outside_values,
};
use crate::configuration::Configuration;
use crate::profile::Profile;
use crate::provenance::{Assignment, Op, Outcome, Source, SourceState, Variable};
use crate::readers::{Contents, Entry, Segment};
use crate::resolve::{by_order, effective};
use crate::sources::ServiceImage;
use crate::value::Redactor;

pub(crate) use self::load::{collect, is_named_by_variable};

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
    /// Of those that are parts of included files, the earlier names of their service.
    copied: Vec<Copied>,
    /// What stronger files take away from each of them.
    removed: Vec<Vec<Removed>>,
    /// Variables that each of them takes away from nothing.
    idle: Vec<Vec<Idle>>,
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
    /// Those that a stronger compose file takes away from it, with by what.
    not_of_services: Vec<(String, usize, String)>,
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
    unread::learn(&mut found.redactor, &project);
    outside_values(&mut found, &project, &mentioned, (dotenv_start, shell_index));
    env_file_values(&mut found, &project, &declared, env_start);
    declared_values(&mut found, &project, &declared, compose_start);
    idle_tags(&mut found, &project, compose_start);
    requests::add(&mut found, &project, &declared, compose_start);
    template_oddities(&mut found, &project, compose_start);
    for (at, (_, contents)) in project.dotenv.iter().enumerate() {
        lost_parts(project.outside(), contents, dotenv_start + at, &mut found);
    }
    for (at, (source, contents)) in project.env_files.iter().enumerate() {
        if source.state != SourceState::Unread {
            lost_parts(project.outside(), contents, env_start + at, &mut found);
        }
    }
    service_profiles::apply(&project, &mut found);
    unread::values(&mut found, &project, compose_start);
    let refused = refused::files(&project);
    let choices = unread::choices(&project, compose_start);

    let Project { compose, dotenv, shell, env_files, scopes, image, of_services, .. } = project;
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
    let mut sources: Vec<Source> = held.into_iter().map(|(source, _)| source).collect();
    for (file, (at, why)) in refused {
        let source = &mut sources[compose_start + file];
        (source.state, source.at) = (SourceState::Unparsable, Some(at));
        source.why = format!("line {}: {why}", at.line);
    }
    let mut assignments = found.assignments;
    let env_files = services_of_env_files(of_services, env_start);
    let may_set = |gap, winner, key: &str| may_set(&env_files, gap, winner, key);
    let effective = effective(profile.assumed, &sources, &mut assignments, found.keys, &may_set);
    Configuration {
        variables: variables(&assignments),
        oddities,
        other_variables: others,
        choices,
        asked: mentioned.into_iter().map(|name| (name.clone(), outside_key(&name))).collect(),
        ..Configuration::from_profile(profile, sources, assignments, effective)
    }
}

/// The files of variables, by their indexes of all sources, each with the services that name it.
type EnvFiles = BTreeMap<usize, Vec<String>>;

fn services_of_env_files(of_services: Vec<(String, usize)>, start: usize) -> EnvFiles {
    let mut services = EnvFiles::new();
    for (service, file) in of_services {
        services.entry(start + file).or_default().push(service);
    }
    services
}

/// Whether a source that was not read may set a key. A file of variables belongs to the services that name it. A
/// value for `${...}`, or a service that is extended, may be in any other file.
fn may_set(env_files: &EnvFiles, gap: usize, winner: Option<usize>, key: &str) -> bool {
    let is_own = |service: &String| {
        key.strip_prefix(service.as_str()).is_some_and(|rest| rest.starts_with('.'))
    };
    let Some(services) = env_files.get(&gap) else { return true };
    by_order(gap, winner, key) && services.iter().any(is_own)
}

/// One row a value, in the order of sources.
fn variables(assignments: &[Assignment]) -> Vec<Variable> {
    let sets = |one: &&Assignment| one.outcome != Outcome::Requested && one.op != Op::Delete;
    let variable = |one: &Assignment| {
        let mut variable = Variable::of(one);
        variable.key = variable.key.filter(|_| one.outcome != Outcome::NeverApplied);
        variable
    };
    assignments.iter().filter(sets).map(variable).collect()
}
