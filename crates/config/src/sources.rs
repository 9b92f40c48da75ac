//! Finding and reading sources: the one file of the crate that looks at a file system.
//!
//! Everything stays below one root folder: a link or `..` that leads out of it is refused. What is read
//! becomes a [`Loaded`], with what became of it; nothing here fails as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use culprit_place::procfs::EntryKind;
use sha2::{Digest as _, Sha256};

use crate::files::Files;
use crate::launch::{self, Launch};
use crate::profile::{Define, Dialect, Layer, Profile, Replaces, placeholders};
use crate::provenance::{Op, Outcome, Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, MAX_BYTES, Segment, Unreadable, read};
use crate::resolve::{identity, key_of};
use crate::value::{Raw, hex};
use crate::{
    arguments, compose, condition, expand, folder, include, kubernetes, needs, switch, variable,
};

/// What to read, beyond what a profile says.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The project's folder.
    pub root: PathBuf,
    /// Compose files instead of those that are found, relative to the root.
    pub compose_files: Vec<PathBuf>,
    /// Files of variables for `${...}` in compose files, instead of `.env`.
    pub env_files: Vec<PathBuf>,
    /// Values of defines.
    pub defines: Vec<(String, Vec<String>)>,
    /// The environment that a program started from here would get; none: it is left out.
    pub environment: Option<Vec<(String, Raw)>>,
    /// The arguments that a program started from here would get.
    pub arguments: Vec<String>,
    /// Whether variables that no other source knows count as keys, too.
    pub all_variables: bool,
    /// The files, if they are not in the folder `root` of this machine.
    pub files: Option<Arc<dyn Files>>,
    /// The image of services of a compose project.
    pub image: Option<ServiceImage>,
}

/// An image that services of a compose project may have.
#[derive(Debug, Clone)]
pub struct ServiceImage {
    /// Its names, `shop:1`.
    pub names: Vec<String>,
    /// Its variables.
    pub environment: Vec<(String, Raw)>,
}

impl Request {
    /// The value of a variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&Raw> {
        let mut variables = self.environment.iter().flatten();
        variables.find(|(other, _)| other == name).map(|(_, value)| value)
    }
}

/// The value of a define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// Its values; empty: it is not set.
    pub values: Vec<String>,
    /// What sets it, in words.
    pub from: String,
}

/// A source with what it holds.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The source.
    pub source: Source,
    /// Its layer: an index of the profile's.
    pub layer: usize,
    /// What it holds; empty if it could not be read.
    pub contents: Contents,
    /// What became of single entries before they compete, by index, and why: entries that the rules of
    /// the profile treat in another way than their source. [`Outcome::Won`] with a remark for one that
    /// competes.
    pub verdicts: BTreeMap<usize, (Outcome, String)>,
    /// The keys and values that the value of an entry was made from, by index.
    pub made: BTreeMap<usize, Vec<(String, Raw)>>,
    /// The variables that entries are written as, by index, where that is not their key.
    pub written: BTreeMap<usize, String>,
    /// The variables that the source asks for, set or not, each with the key that it sets.
    pub asked: BTreeMap<String, String>,
    /// What would make a file count that a define does not choose.
    pub choice: Option<Choice>,
    /// Whether the program may read it in another way, as `why` of the source says.
    pub is_doubtful: bool,
}

/// The layer of sources that are of none.
pub(crate) const NO_LAYER: usize = usize::MAX;

/// The value of a define that chooses a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The define.
    pub define: String,
    /// The variable that sets it.
    pub variable: String,
    /// The value that chooses the file.
    pub value: String,
}

impl Choice {
    /// The value of a define that a file's name holds, and the variable that gives it: the one that sets
    /// the define now, else the first.
    pub(crate) fn new(define: &Define, now: &Defined, value: &str) -> Option<Self> {
        let is_now = |name: &&String| now.from == format!("variable {name}");
        let variable = define.variables.iter().find(is_now).or_else(|| define.variables.first())?;
        let (define, variable) = (define.name.clone(), variable.clone());
        (!value.is_empty()).then(|| Self { define, variable, value: value.to_owned() })
    }
}

impl Loaded {
    /// A source of a layer.
    pub(crate) fn new(layer: usize, (source, contents): (Source, Contents)) -> Self {
        Self {
            source,
            layer,
            contents,
            verdicts: BTreeMap::new(),
            made: BTreeMap::new(),
            written: BTreeMap::new(),
            asked: BTreeMap::new(),
            choice: None,
            is_doubtful: false,
        }
    }

    /// What the value of an entry was made from.
    pub(crate) fn made(&self, entry: usize) -> &[(String, Raw)] {
        self.made.get(&entry).map_or(&[], Vec::as_slice)
    }
}

/// All sources of a profile.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The sources, weakest first; those that are not read stand at their layer's place.
    pub loaded: Vec<Loaded>,
    /// The parts of sources in the order of their strength, the weakest first. A source that includes
    /// another has two: what stands before it, and what stands behind.
    pub parts: Vec<Part>,
    /// The defines of the profile.
    pub defines: Vec<Defined>,
}

/// Entries of a source that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The source: an index of [`Collected::loaded`].
    pub loaded: usize,
    /// Indexes of its entries.
    pub entries: Range<usize>,
}

impl Collected {
    /// Sources in order, each in one part.
    pub(crate) fn in_order(loaded: Vec<Loaded>, defines: Vec<Defined>) -> Self {
        let part = |(at, one): (usize, &Loaded)| Part {
            loaded: at,
            entries: 0..one.contents.entries.len(),
        };
        let parts = loaded.iter().enumerate().map(part).collect();
        Self { loaded, parts, defines }
    }
}

/// Folders that reading does not leave.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    /// Folders elsewhere that the profile names.
    also: Vec<PathBuf>,
    /// The files, if they are not in that folder of this machine.
    files: Option<Arc<dyn Files>>,
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// What became of it.
    pub state: SourceState,
    /// Why; empty if it was read.
    pub why: String,
    /// Its bytes; none if it could not be read.
    pub bytes: Option<Vec<u8>>,
    /// When it changed, in seconds since 1970; none if that is not known.
    pub modified: Option<u64>,
}

impl Root {
    /// The root of a request; the path as typed where it does not exist.
    pub(crate) fn new(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { path, also: Vec::new(), files: None }
    }

    /// The root of a request, wherever its files are.
    pub(crate) fn from_request(request: &Request) -> Self {
        match &request.files {
            Some(files) => Self {
                path: request.root.clone(),
                also: Vec::new(),
                files: Some(Arc::clone(files)),
            },
            None => Self::new(&request.root),
        }
    }

    /// A path below the root as one of all files, with links followed where this machine has them; none if
    /// nothing is there.
    pub(crate) fn resolved(&self, path: &str) -> Option<PathBuf> {
        let joined = self.path.join(path);
        match &self.files {
            Some(files) => files.kind(path).map(|_| joined),
            None => joined.canonicalize().ok(),
        }
    }

    /// Whether a path has something: a file, a folder, or a link even to nothing.
    pub(crate) fn is_there(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => files.kind(path).is_some() || files.link(path).is_some(),
            None => self.path.join(path).symlink_metadata().is_ok(),
        }
    }

    /// Whether a path leads to a folder.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => files.kind(path) == Some(EntryKind::Folder),
            None => self.path.join(path).is_dir(),
        }
    }

    /// What a link leads to, as it stands in the link; none if the path has no link.
    pub(crate) fn link(&self, path: &str) -> Option<PathBuf> {
        match &self.files {
            Some(files) => files.link(path),
            None => self.path.join(path).read_link().ok(),
        }
    }

    /// Whether a path has a file of no bytes that is no link.
    pub(crate) fn is_empty_file(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => {
                let bytes = || files.read(Path::new(path)).bytes;
                self.is_plain_file(path) && bytes().is_some_and(|bytes| bytes.is_empty())
            }
            None => {
                let found = self.path.join(path).symlink_metadata();
                found.is_ok_and(|found| found.is_file() && found.len() == 0)
            }
        }
    }

    /// Whether a path has a file that is no link.
    pub(crate) fn is_plain_file(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => files.link(path).is_none() && files.kind(path) == Some(EntryKind::File),
            None => self.path.join(path).symlink_metadata().is_ok_and(|found| found.is_file()),
        }
    }

    /// Also allows what is below a path of this machine that the profile names: a folder, or a file with
    /// its neighbours.
    pub(crate) fn allow(&mut self, path: &Path) {
        if self.files.is_some() {
            return;
        }
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        // A relative path is below the root.
        let folder = folder.filter(|_| path.is_absolute());
        if let Some(folder) = folder.and_then(|folder| folder.canonicalize().ok()) {
            // The root of all files would allow everything.
            self.also.extend(Some(folder).filter(|folder| folder.parent().is_some()));
        }
    }

    /// Reads a file below the root.
    pub(crate) fn read(&self, name: &Path) -> FileRead {
        if let Some(files) = &self.files {
            return files.read(name);
        }
        let failed =
            |state, why: &str| FileRead { state, why: why.to_owned(), bytes: None, modified: None };
        let path = match self.path.join(name).canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return failed(SourceState::Missing, "no such file");
            }
            Err(error) => return failed(SourceState::Denied, &error.to_string()),
        };
        let is_allowed = |folder: &PathBuf| path.starts_with(folder);
        if !is_allowed(&self.path) && !self.also.iter().any(is_allowed) {
            return failed(
                SourceState::Outside,
                "lies outside the root folder; `--root` sets another one",
            );
        }
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return failed(SourceState::Denied, &error.to_string()),
        };
        if !metadata.is_file() {
            return failed(SourceState::Denied, "is not a regular file");
        }
        let too_large =
            || failed(SourceState::TooLarge, &format!("larger than {} MiB", MAX_BYTES >> 20));
        if metadata.len() > MAX_BYTES {
            return too_large();
        }
        let since_epoch =
            metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path);
        match file.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
            Err(error) => failed(SourceState::Denied, &error.to_string()),
            // It grew after its size was asked for.
            Ok(length) if length as u64 > MAX_BYTES => too_large(),
            Ok(_) => FileRead {
                state: SourceState::Read,
                why: String::new(),
                bytes: Some(bytes),
                modified: since_epoch.map(|time| time.as_secs()),
            },
        }
    }

    /// Whether a file exists below the root, as a file.
    fn has(&self, name: &str) -> bool {
        !self.matching(name).is_empty()
    }

    /// The files that a pattern matches, by name. `*` stands for a part of a name without a dot.
    pub(crate) fn matching(&self, pattern: &str) -> Vec<String> {
        let (start, rest) = match pattern.strip_prefix('/') {
            Some(rest) => ("/", rest),
            None => ("", pattern),
        };
        let mut folders = vec![start.to_owned()];
        let parts: Vec<&str> = rest.split('/').collect();
        for (at, part) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            folders =
                folders.iter().flat_map(|folder| self.inside(folder, part, is_last)).collect();
        }
        folders
    }

    fn inside(&self, folder: &str, part: &str, is_last: bool) -> Vec<String> {
        let below = |name: &str| match folder {
            "" => name.to_owned(),
            "/" => format!("/{name}"),
            folder => format!("{folder}/{name}"),
        };
        let fits = |name: &str| {
            let path = below(name);
            if is_last {
                !self.is_folder(&path) && self.is_there(&path)
            } else {
                self.is_folder(&path)
            }
        };
        if !part.contains('*') {
            return if fits(part) { vec![below(part)] } else { Vec::new() };
        }
        let mut names: Vec<String> = self
            .names(folder)
            .into_iter()
            .filter(|name| matches(part, name) && fits(name))
            .map(|name| below(&name))
            .collect();
        names.sort();
        names
    }

    /// The files and the folders in a folder, each by name. A folder that is a link is left out: it may
    /// lead back.
    pub(crate) fn entries(&self, folder: &str) -> (Vec<String>, Vec<String>) {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for name in self.names(folder) {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let is_folder = match &self.files {
                Some(files) => files.link(&path).is_none() && self.is_folder(&path),
                // One look, which follows no link: there may be thousands of files.
                None => self.path.join(&path).symlink_metadata().is_ok_and(|found| found.is_dir()),
            };
            if is_folder { folders.push(path) } else { files.push(path) }
        }
        files.sort();
        folders.sort();
        (files, folders)
    }

    /// The names in a folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        if let Some(files) = &self.files {
            return files.names(folder);
        }
        let Ok(entries) = std::fs::read_dir(self.path.join(folder)) else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }
}

/// Whether a name fits a pattern in which `*` stands for a part without a dot.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let dot = name.find('.').unwrap_or(name.len());
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.take_while(|at| *at <= dot).any(|at| at > 0 && matches(rest, &name[at..]))
        }),
    }
}

/// Whether a folder looks as if a profile were meant for it.
#[must_use]
pub fn detects(profile: &Profile, root: &Path) -> bool {
    fits(profile, &Root::new(root))
}

/// Folders below a root, each with a profile that fits it: at most eight, those that are nearest first. Not
/// looked into: hidden folders, and those below one that fits.
#[must_use]
pub fn fitting_below(profiles: &[Profile], root: &Path) -> Vec<(String, String)> {
    /// Deeper or wider trees are no solution of a few projects.
    const MOST_FOLDERS: usize = 400;
    const MOST_FOUND: usize = 8;
    let own = Root::new(root);
    let (mut found, mut open, mut at) = (Vec::new(), vec![String::new()], 0);
    while at < open.len() && at < MOST_FOLDERS && found.len() < MOST_FOUND {
        let (_, folders) = own.entries(&open[at]);
        at += 1;
        for folder in folders {
            let name = folder.rsplit('/').next().unwrap_or_default();
            if name.starts_with('.') || name == "node_modules" {
                continue;
            }
            let below = Root::new(&root.join(&folder));
            match profiles.iter().find(|profile| fits(profile, &below)) {
                Some(profile) => found.push((folder, profile.name.clone())),
                None => open.push(folder),
            }
        }
    }
    found.truncate(MOST_FOUND);
    found
}

/// Whether the folder of a request looks as if a profile were meant for it, wherever its files are.
#[must_use]
pub fn detects_in(profile: &Profile, request: &Request) -> bool {
    let root = Root::from_request(request);
    let is_compose = profile.dialect == Dialect::Compose;
    fits(profile, &root) || is_compose && compose::is_named_by_variable(&root, request)
}

fn fits(profile: &Profile, root: &Root) -> bool {
    if profile.dialect == Dialect::Kubernetes {
        return kubernetes::has_objects(root);
    }
    let all = |patterns: &String| patterns.split('+').all(|pattern| root.has(pattern));
    let has_text = |patterns: &String| {
        let Some(text) = &profile.detect_text else { return true };
        let files = patterns.split('+').flat_map(|pattern| root.matching(pattern));
        let bytes = files.filter_map(|file| root.read(Path::new(&file)).bytes);
        bytes.into_iter().any(|bytes| String::from_utf8_lossy(&bytes).contains(text.as_str()))
    };
    let is_other = |patterns: &String| {
        let files = patterns.split('+').flat_map(|pattern| root.matching(pattern));
        let bytes = files.filter_map(|file| root.read(Path::new(&file)).bytes);
        let texts: Vec<String> =
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
        let mut others = profile.unless_text.iter();
        others.any(|other| texts.iter().any(|text| text.contains(other.as_str())))
    };
    let is_other = |patterns: &String| !profile.unless_text.is_empty() && is_other(patterns);
    // Who uses both has both.
    let mut needs = profile.layers.iter().filter_map(|layer| layer.needs.as_ref());
    let is_other = profile.detect.iter().any(is_other)
        && !needs.any(|needs| !matches!(needs::met(needs, root), needs::Met::No));
    !profile.unless.iter().any(all)
        && !is_other
        && profile.detect.iter().any(|patterns| all(patterns) && has_text(patterns))
}

/// A file as a source, with what it holds.
pub(crate) fn load_file(
    root: &Root,
    name: &Path,
    format: Option<Format>,
    kind: SourceKind,
    layer: &str,
) -> (Source, Contents) {
    let shown = shown_path(name);
    let FileRead { mut state, mut why, bytes, modified } = root.read(name);
    let mut contents = Contents::default();
    if let Some(bytes) = &bytes {
        match format.or_else(|| Format::of_name(&shown)).map(|format| read(format, bytes)) {
            Some(Ok(found)) => contents = found,
            Some(Err(error)) => {
                state = state_of(&error);
                why = error.to_string();
            }
            None => {
                (state, why) =
                    (SourceState::Unread, "its format is not known by its name".to_owned());
            }
        }
    }
    let source = Source {
        kind,
        name: shown,
        layer: layer.to_owned(),
        state,
        why,
        sha256: bytes.as_ref().map(|bytes| hash(bytes)),
        bytes: bytes.map_or(0, |bytes| bytes.len() as u64),
        modified,
    };
    (source, contents)
}

/// The hash of a source's bytes, as it is shown.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// What a source that cannot be read is.
pub(crate) fn state_of(error: &Unreadable) -> SourceState {
    match error {
        Unreadable::Syntax { .. } => SourceState::Unparsable,
        Unreadable::TooLarge(_) => SourceState::TooLarge,
    }
}

/// A path as it is shown: without `.` and with `/`.
pub(crate) fn shown_path(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().to_string_lossy().into_owned()
}

/// The environment as a source.
pub(crate) fn environment_source(layer: &str, variables: &[(String, Raw)]) -> (Source, Contents) {
    let source = Source {
        kind: SourceKind::ProcessEnvironment,
        name: "environment".to_owned(),
        layer: layer.to_owned(),
        state: SourceState::Read,
        why: String::new(),
        sha256: None,
        bytes: 0,
        modified: None,
    };
    let entries = variables
        .iter()
        .map(|(name, value)| Entry::unplaced(vec![Segment::Name(name.clone())], value.clone()));
    (source, Contents { entries: entries.collect(), ..Contents::default() })
}

/// Reads all sources of a layered profile.
#[must_use]
pub fn collect(profile: &Profile, request: &Request) -> Collected {
    let mut root = Root::from_request(request);
    let mut defines = Vec::new();
    // Paths that no file sets are known first, because files lie below them.
    for define in profile.defines.iter().filter(|define| define.path) {
        let found = defined(define, profile, request, &[]);
        let is_open = found.values.is_empty();
        let element = define.element.as_ref().filter(|_| is_open);
        let element = element.and_then(|element| folder::element(&root, element));
        let found = match element {
            Some((value, from)) => Defined { values: vec![value], from, ..found },
            None => found,
        };
        defines.push(path_defined(found, &defines, request));
    }
    let launch = launch::read(profile, request, &root);
    let request = &with_launch(request, launch.as_ref());
    let filled = profile.fills.as_ref().and_then(|fills| needs::filled(fills, &root, request));
    let request = &with_filled(request, filled.as_ref());
    defines.iter().flat_map(|path| &path.values).for_each(|path| root.allow(Path::new(path)));
    let mut collector =
        Collector { profile, root: &root, taken: BTreeSet::new(), loaded: Vec::new() };
    let of_names = profile.layers.iter().position(|layer| layer.names_variables);
    collector.loaded.extend(filled.iter().map(|filled| {
        let held = (filled.source.clone(), Contents::default());
        Loaded::new(of_names.unwrap_or_default(), held)
    }));
    // Files that no define chooses come before the others, because one of them may set a define.
    for (index, layer) in profile.layers.iter().enumerate() {
        for file in layer.files.iter().filter(|file| placeholders(file).next().is_none()) {
            root.matching(file).iter().for_each(|name| collector.file((index, layer), name, None));
        }
        let variables = request.environment.as_deref();
        let found = variables.and_then(|variables| of_variables(layer, variables));
        collector.loaded.extend(found.map(|held| Loaded::new(index, held)));
        let given = layer.arguments.then(|| arguments::of_switches(&request.arguments));
        let given = given.and_then(|pairs| arguments::source("arguments", pairs));
        collector.loaded.extend(given.map(|held| Loaded::new(index, held)));
        // Where it does not count, it is shown once, as the last of all variables.
        let is_last = profile.layers[index + 1..].iter().all(|later| later.environment.is_none());
        let launched = launch
            .as_ref()
            .filter(|launch| layer.environment.is_some() && (launch.counts() || is_last));
        let held = launched.map(|launch| (launch.source.clone(), launch.contents.clone()));
        collector.loaded.extend(held.map(|held| Loaded::new(index, held)));
    }
    for define in profile.defines.iter().filter(|define| !define.path) {
        defines.push(defined(define, profile, request, &collector.loaded));
    }
    for (index, layer) in profile.layers.iter().enumerate() {
        collector.chosen((index, layer), &defines);
    }
    // What looks as if it belonged to a layer is known when every layer has its files.
    for (index, layer) in profile.layers.iter().enumerate() {
        collector.unread((index, layer), &defines);
    }
    // Within a layer the order of reading is the order of strength.
    collector.loaded.sort_by_key(|loaded| loaded.layer);
    let mut loaded = collector.loaded;
    if profile.keys.replaces != Replaces::Nothing {
        for Loaded { contents, .. } in &mut loaded {
            contents.entries.append(&mut contents.empties);
            contents.entries.sort_by_key(|entry| (entry.document, entry.at));
        }
    }
    needs::judge(profile, &root, &mut loaded);
    let places = filled.map(|filled| filled.places()).unwrap_or_default();
    switch::apply(profile, (request, &places), &defines, &mut loaded);
    expand_values(profile, request, &mut loaded);
    defines.sort_by_key(|one| profile.defines.iter().position(|define| define.name == one.name));
    let is_shown = |one: &Defined| {
        let is_quiet = profile.define(&one.name).is_some_and(|define| define.quiet);
        !is_quiet || !one.values.is_empty()
    };
    defines.retain(is_shown);
    match &profile.includes {
        Some(includes) => include::follow(includes, &root, request, loaded, defines),
        None => Collected::in_order(loaded, defines),
    }
}

/// A request in whose environment the variables of a launch profile are.
fn with_launch(request: &Request, launch: Option<&Launch>) -> Request {
    let environment = request.environment.as_deref();
    let changed = launch.filter(|launch| launch.counts());
    let changed = changed.zip(environment).map(|(launch, variables)| launch.over(variables));
    Request { environment: changed.or_else(|| request.environment.clone()), ..request.clone() }
}

/// A request in whose environment the variables of a file are that it does not have.
fn with_filled(request: &Request, filled: Option<&needs::Filled>) -> Request {
    let mut request = request.clone();
    let more = filled.iter().flat_map(|filled| &filled.variables);
    let more: Vec<(String, Raw)> =
        more.map(|(name, value, _)| (name.clone(), value.clone())).collect();
    if !more.is_empty() {
        request.environment.get_or_insert_default().extend(more);
    }
    request
}

/// Replaces `$NAME` in the values of layers that have it, by variables and by stronger values first.
fn expand_values(profile: &Profile, request: &Request, loaded: &mut [Loaded]) {
    let expands = |one: &Loaded| {
        let layer = profile.layers.get(one.layer);
        one.source.state == SourceState::Read && layer.is_some_and(|layer| layer.expands)
    };
    let mut values: BTreeMap<String, Raw> = BTreeMap::new();
    for entry in loaded.iter().filter(|one| expands(one)).flat_map(|one| &one.contents.entries) {
        values.insert(key_of(profile, &entry.path), entry.value.clone());
    }
    let lookup = |name: &str| {
        let found = request.variable(name).or_else(|| values.get(name));
        found.map(|value| value.expose().to_owned())
    };
    for one in loaded.iter_mut().filter(|one| expands(one)) {
        for (at, entry) in one.contents.entries.iter_mut().enumerate() {
            let text = entry.value.expose();
            let made = expand::expanded(text, &lookup);
            if made == text {
                continue;
            }
            let names = text.split('$').skip(1);
            let names = names.map(|rest| expand::name_of(rest.strip_prefix('{').unwrap_or(rest)));
            let used: Vec<(String, Raw)> = names
                .filter(|name| !name.is_empty())
                .map(|name| (name.to_owned(), Raw::new(lookup(name).unwrap_or_default())))
                .collect();
            let words = |(name, _): &(String, Raw)| match lookup(name) {
                Some(_) => format!("`${{{}}}`", crate::secret::name(name)),
                None => format!("`${{{}}}` (not set)", crate::secret::name(name)),
            };
            let words: Vec<String> = used.iter().map(words).collect();
            if !words.is_empty() {
                let why = format!("made from {}", words.join(", "));
                one.verdicts.entry(at).or_insert((Outcome::Won, why));
            }
            one.made.insert(at, used);
            entry.op = Op::TokenExpand;
            entry.value = Raw::new(made);
        }
    }
}

struct Collector<'a> {
    profile: &'a Profile,
    root: &'a Root,
    taken: BTreeSet<String>,
    loaded: Vec<Loaded>,
}

impl Collector<'_> {
    /// Reads the files of a layer that defines choose.
    fn chosen(&mut self, (index, layer): (usize, &Layer), defines: &[Defined]) {
        let chosen: Vec<&String> =
            layer.files.iter().filter(|file| placeholders(file).next().is_some()).collect();
        for file in names_of(&chosen, self.profile, defines) {
            let names = self.root.matching(&file);
            names.iter().for_each(|name| self.file((index, layer), name, None));
        }
    }

    /// Reads the files that another value of a define would choose, and those that programs leave.
    fn unread(&mut self, (index, layer): (usize, &Layer), defines: &[Defined]) {
        for file in layer.files.iter().filter(|file| placeholders(file).next().is_some()) {
            let why = why_not(file, defines);
            for name in self.root.matching(&with_stars(self.profile, file, defines)) {
                let before = self.loaded.len();
                self.file((index, layer), &name, Some(&why));
                if let Some(one) = self.loaded.get_mut(before) {
                    one.choice = choice(self.profile, file, &name, defines);
                }
            }
        }
        for file in &layer.not_read {
            let why = format!("the program reads {}", layer.files.join(", "));
            let names = self.root.matching(file);
            names.iter().for_each(|name| self.file((index, layer), name, Some(&why)));
        }
    }

    /// Reads a file, unless an earlier pattern took it; with a reason it does not count.
    fn file(&mut self, (index, layer): (usize, &Layer), name: &str, unread: Option<&str>) {
        let format = layer.format.or_else(|| self.profile.formats.of(name));
        let is_opaque = layer.is_opaque(name);
        if format.is_none() && !is_opaque || !self.taken.insert(name.to_owned()) {
            return;
        }
        let is_env = format.is_some_and(Format::is_env) && layer.format.is_some();
        let kind = if is_env { SourceKind::Dotenv } else { SourceKind::File };
        let format = format.filter(|_| !is_opaque);
        let (mut source, mut contents) =
            load_file(self.root, Path::new(name), format, kind, &layer.name);
        if is_opaque && !source.state.is_gap() {
            contents = Contents::default();
            source.state = SourceState::Unparsable;
            source.why = "Culprit cannot read its format, and runs no program".to_owned();
        }
        if let Some(why) = unread {
            (source.state, source.why) = (SourceState::Unread, why.to_owned());
        }
        self.loaded.push(Loaded::new(index, (source, contents)));
    }
}

/// What a layer takes from the environment; none if it takes nothing.
fn of_variables(layer: &Layer, variables: &[(String, Raw)]) -> Option<(Source, Contents)> {
    if layer.environment.is_some() {
        return Some(environment_source(&layer.name, variables));
    }
    layer
        .document
        .as_ref()
        .and_then(|document| variable::document(&layer.name, document, variables))
        .or_else(|| {
            layer
                .counted
                .as_ref()
                .and_then(|counted| variable::counted(&layer.name, counted, variables))
        })
}

/// The value of a define, and what sets it.
fn defined(define: &Define, profile: &Profile, request: &Request, loaded: &[Loaded]) -> Defined {
    let list = |text: &str| {
        let parts: Vec<String> = match define.list {
            true => text.split(',').map(|part| part.trim().to_owned()).collect(),
            false => vec![text.trim().to_owned()],
        };
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>()
    };
    let of = |mut values: Vec<String>, from: String| {
        if let Some(end) = &define.until {
            let first = |value: &mut String| {
                if let Some(at) = value.find(end.as_str()) {
                    value.truncate(at);
                }
            };
            values.iter_mut().for_each(first);
        }
        Defined { name: define.name.clone(), values, from }
    };
    if let Some((_, values)) = request.defines.iter().find(|(name, _)| *name == define.name) {
        return of(values.clone(), "--define".to_owned());
    }
    let environment = request.environment.as_deref().unwrap_or_default();
    for variable in &define.variables {
        let set =
            environment.iter().find(|(name, value)| name == variable && !value.expose().is_empty());
        if let Some((name, value)) = set {
            return of(list(value.expose()), format!("variable {name}"));
        }
    }
    let of_file = |loaded: &Loaded| {
        let layer = profile.layers.get(loaded.layer)?;
        let key = define.key.as_ref().filter(|_| loaded.source.kind == SourceKind::File)?;
        let wanted = identity(profile, key);
        let guarded = condition::guarded_documents(profile, layer, &loaded.contents);
        let found: Vec<&Entry> = loaded
            .contents
            .entries
            .iter()
            .filter(|entry| !guarded.iter().any(|(document, _)| *document == entry.document))
            .filter(|entry| {
                // A list is one entry an element.
                let own = identity(profile, &key_of(profile, &entry.path));
                own.split('[').next() == Some(wanted.as_str())
            })
            .collect();
        let first = found.first()?;
        let values = found.iter().flat_map(|entry| list(entry.value.expose())).collect();
        Some(of(values, format!("{}:{}", loaded.source.name, first.at.line)))
    };
    let by_file = loaded.iter().rev().filter(|loaded| loaded.source.state == SourceState::Read);
    if let Some(found) = by_file.filter_map(of_file).next() {
        return found;
    }
    match &define.default {
        Some(text) => of(list(text), "default".to_owned()),
        None => of(Vec::new(), "not set".to_owned()),
    }
}

/// A path define with its placeholders and `~` replaced; a relative path is below the root.
fn path_defined(found: Defined, earlier: &[Defined], request: &Request) -> Defined {
    let home = request.variable("HOME").map(|home| home.expose().to_owned());
    let replaced = |value: &String| {
        let mut path = value.clone();
        for define in earlier {
            // A path with a part that is not known is none.
            let Some(first) = define.values.first() else { continue };
            path = path.replace(&format!("{{{}}}", define.name), first);
        }
        match (path.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => path = format!("{home}/{rest}"),
            (Some(_), None) => return None,
            (None, _) => {}
        }
        let shown = path.strip_prefix("./").unwrap_or(&path).to_owned();
        (!shown.is_empty() && !shown.contains('{')).then_some(shown)
    };
    Defined { values: found.values.iter().filter_map(replaced).collect(), ..found }
}

/// File names with their placeholders replaced: for each value of a list all files, in their order. A
/// name with a define that is not set is left out, and one that occurs twice stands at its last place.
fn names_of(files: &[&String], profile: &Profile, defines: &[Defined]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let most = defines.iter().map(|define| define.values.len()).max().unwrap_or(0);
    for at in 0..most {
        for file in files {
            let mut name = (*file).clone();
            for define in defines {
                let of_profile = profile.define(&define.name);
                let is_list = of_profile.is_some_and(|define| define.list);
                let is_path = of_profile.is_some_and(|define| define.path);
                let value = define.values.get(if is_list { at } else { 0 });
                if let Some(value) = value.filter(|value| is_path || is_name(value)) {
                    name = name.replace(&format!("{{{}}}", define.name), value);
                }
            }
            if !name.contains('{') {
                names.retain(|other| *other != name);
                names.push(name);
            }
        }
    }
    names
}

/// A value that is no path: `../../etc` must not choose a file.
fn is_name(value: &str) -> bool {
    !value.is_empty() && !value.contains(['/', '\\', '*', '{']) && value != ".."
}

/// The pattern of the files that a define with another value would choose; paths stay.
fn with_stars(profile: &Profile, file: &str, defines: &[Defined]) -> String {
    let mut name = file.to_owned();
    for placeholder in placeholders(file) {
        let path = profile
            .define(placeholder)
            .filter(|define| define.path)
            .and_then(|define| defines.iter().find(|one| one.name == define.name)?.values.first());
        let stands = path.map_or("*", String::as_str);
        name = name.replace(&format!("{{{placeholder}}}"), stands);
    }
    // Nothing outside is looked for by a part of its name.
    if name.starts_with('*') && name.contains('/') { String::new() } else { name }
}

/// What would choose a file, where the pattern has one name that is no path.
fn choice(profile: &Profile, pattern: &str, file: &str, defines: &[Defined]) -> Option<Choice> {
    let define = |name: &str| profile.define(name).filter(|define| !define.path);
    let mut open = placeholders(pattern).filter_map(define);
    let (Some(define), None) = (open.next(), open.next()) else { return None };
    let pattern = with_stars(profile, pattern, defines);
    let (start, end) = pattern.split_once('*')?;
    let value = file.strip_prefix(start)?.strip_suffix(end)?;
    let now = defines.iter().find(|one| one.name == define.name)?;
    Choice::new(define, now, value)
}

/// Why a file that a define would choose does not count.
fn why_not(file: &str, defines: &[Defined]) -> String {
    let reasons = placeholders(file).filter_map(|name| {
        let define = defines.iter().find(|define| define.name == name)?;
        Some(match define.values.as_slice() {
            [] => format!("`{name}` is not set"),
            values => format!("`{name}` is `{}` ({})", values.join(","), define.from),
        })
    });
    reasons.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_without_a_dot() {
        assert!(matches("appsettings.*.json", "appsettings.Production.json"));
        assert!(matches("config.*", "config.yaml") && !matches("config.*", "config.local.yaml"));
        assert!(
            !matches("config.*", "config.")
                && !matches("*", ".env")
                && matches(".env.*", ".env.local")
        );
    }

    #[test]
    fn what_leads_out_of_the_root_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.path().join("secret.json"), "{}").unwrap();
        std::os::unix::fs::symlink("../secret.json", root.join("link.json")).unwrap();
        std::os::unix::fs::symlink("loop.json", root.join("loop.json")).unwrap();
        let root = Root::new(&root);
        for name in ["link.json", "../secret.json"] {
            assert_eq!(root.read(Path::new(name)).state, SourceState::Outside, "{name}");
        }
        assert_eq!(root.read(Path::new("none.json")).state, SourceState::Missing);
        assert_eq!(root.read(Path::new("loop.json")).state, SourceState::Denied);
        assert_eq!(root.read(Path::new(".")).state, SourceState::Denied);
    }
}
