//! Spring Boot 2.4 and later: which files count, in which order, and what stands for `${...}`.
//!
//! ```text
//! strongest   arguments, system properties and SPRING_APPLICATION_JSON, variables
//!             spring.config.import of the environment, then additional locations, then locations:
//!               of each location the files of the profiles, then the others
//!                 a document is weaker than what it imports
//! ```
//!
//! The rules are those of the package `org.springframework.boot.context.config`. Files are read in two
//! rounds: the first one finds the profiles, the second one reads the files of the profiles.

mod active;
mod environment;
mod location;
mod placeholder;
mod read;
mod tree;
mod values;

use std::path::Path;

use self::environment::{Environment, split};
use self::read::Reader;
use crate::profile::Profile;
use crate::provenance::{SourceKind, SourceState};
use crate::sources::{
    Collected, Loaded, NO_LAYER, Part, Request, Root, environment_source, load_file,
};
use crate::{arguments, asks, variable};

/// The layer of files, by its place in the profile.
const FILES: usize = 0;
/// The layer of variables.
const VARIABLES: usize = 1;
/// The layer of `SPRING_APPLICATION_JSON`.
const JSON: usize = 2;
/// The layer of the code that asks for keys.
const CODE: usize = 3;

/// What an [`crate::Oddity`] says about a placeholder without a value.
pub(crate) const NO_VALUE: &str = "has no value, and no default";

/// Reads the sources of a project.
pub(crate) fn collect(profile: &Profile, request: &Request) -> Collected {
    let root = Root::from_request(request);
    let strong = strong_sources(profile, request);
    let mut environment = Environment::default();
    for one in strong.iter().rev() {
        environment.add(profile, &one.source.name, &one.contents);
    }
    environment.variables(request.environment.as_deref().unwrap_or_default());
    let mut reader = Reader::new(profile, &root, &environment);
    let defined = reader.run(request);
    let (files, parts_of_files) = reader.ordered(&defined);
    let (mut loaded, mut parts) = (Vec::new(), Vec::new());
    let code = profile.layers.get(CODE).and_then(|layer| Some((layer, layer.asks.as_ref()?)));
    let code = code.map(|(layer, asks)| asks::sources(asks, (CODE, layer), &root));
    code.into_iter().flatten().for_each(|one| add(&mut loaded, &mut parts, one));
    let start = loaded.len();
    loaded.extend(files);
    let moved = |part: Part| Part { loaded: start + part.loaded, ..part };
    parts.extend(parts_of_files.into_iter().map(moved));
    for one in not_searched(profile, &environment, &root, &loaded) {
        add(&mut loaded, &mut parts, one);
    }
    if let Some(variables) = &request.environment {
        let layer = profile.layers.get(VARIABLES).map_or("", |layer| layer.name.as_str());
        add(&mut loaded, &mut parts, Loaded::new(VARIABLES, environment_source(layer, variables)));
    }
    for one in strong.clone() {
        add(&mut loaded, &mut parts, one);
    }
    values::expand(profile, &environment, &parts, &mut loaded, &defined.values);
    Collected { loaded, parts, defines: vec![defined] }
}

/// The files of the usual folders and names, where something else is searched for.
fn not_searched(
    profile: &Profile,
    environment: &Environment<'_>,
    root: &Root,
    loaded: &[Loaded],
) -> Vec<Loaded> {
    let keys = ["spring.config.location", "spring.config.name"];
    let set = keys.into_iter().find_map(|key| Some((key, environment.get(profile, key)?.1)));
    let Some((key, from)) = set else { return Vec::new() };
    let files = profile.detect.iter().flat_map(|pattern| root.matching(pattern));
    let is_new = |file: &String| loaded.iter().all(|one| one.source.name != *file);
    let unread = |file: String| {
        let (mut source, contents) =
            load_file(root, Path::new(&file), None, SourceKind::File, "not searched");
        source.state = SourceState::Unread;
        source.why = format!("`{key}` ({from}) takes the place of the usual search");
        Loaded::new(NO_LAYER, (source, contents))
    };
    files.filter(is_new).map(unread).collect()
}

fn add(loaded: &mut Vec<Loaded>, parts: &mut Vec<Part>, one: Loaded) {
    parts.push(Part { loaded: loaded.len(), entries: 0..one.contents.entries.len() });
    loaded.push(one);
}

/// The sources that are stronger than variables, the weakest first.
fn strong_sources(profile: &Profile, request: &Request) -> Vec<Loaded> {
    let mut sources = Vec::new();
    let of_start = |start: &str| {
        let options = request.arguments.iter().filter_map(|one| one.strip_prefix(start));
        let options = options.filter(|one| !one.is_empty());
        let pair = |one: &str| {
            let (key, value) = one.split_once('=').unwrap_or((one, ""));
            (key.to_owned(), value.to_owned())
        };
        options.map(pair).collect::<Vec<_>>()
    };
    let given =
        |name: &str, pairs| arguments::source(name, pairs).map(|held| Loaded::new(NO_LAYER, held));
    let variables = request.environment.as_deref().unwrap_or_default();
    let of_jvm = |name: &&str| {
        let held = variable::properties("system properties (-D)", name, variables)?;
        Some(Loaded::new(NO_LAYER, held))
    };
    sources.extend(["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"].iter().filter_map(of_jvm));
    sources.extend(given("system properties (-D)", of_start("-D")));
    sources.extend(["_JAVA_OPTIONS"].iter().filter_map(of_jvm));
    if let Some(layer) = profile.layers.get(JSON)
        && let Some(document) = &layer.document
        && let Some(held) = variable::document(&layer.name, document, variables)
    {
        sources.push(Loaded::new(JSON, held));
    }
    let mut options = of_start("--");
    let defined = request.defines.iter().filter(|(name, _)| name.contains('.'));
    options.extend(defined.map(|(name, values)| (name.clone(), values.join(","))));
    sources.extend(given("arguments", options));
    sources
}
