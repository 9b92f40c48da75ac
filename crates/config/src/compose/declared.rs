//! What services declare in compose files: variables, and files of variables.

use std::collections::{BTreeMap, BTreeSet};

use super::scope::Outside;
use super::{Held, Project, is_name, name_of, of_service};
use crate::provenance::{Op, SourceState};
use crate::readers::{Entry, Segment};
use crate::template::mentioned;

/// A file of variables that a service names.
pub(super) struct NamedFile {
    pub(super) service: String,
    pub(super) path: String,
    pub(super) required: bool,
    pub(super) raw: bool,
}

/// A variable that a service sets in a compose file.
pub(super) struct Declared<'a> {
    pub(super) service: &'a str,
    pub(super) entry: &'a Entry,
    /// The name, with its `${...}` replaced.
    pub(super) name: String,
    /// The value as a template; none: it is taken from outside.
    pub(super) template: Option<String>,
    /// The value that it has from outside, if it is taken from there and set.
    pub(super) inherited: Option<String>,
    /// By what a stronger file takes it away; none if it stays.
    pub(super) removed: Option<&'a str>,
}

/// Files of variables, and the items of lists that name them.
#[derive(Default)]
struct NamedFiles<'a> {
    files: Vec<NamedFile>,
    /// The items of one list: file, service and place, with their index in `files`.
    items: BTreeMap<(usize, &'a str, usize), usize>,
}

impl<'a> NamedFiles<'a> {
    /// Takes an entry of a compose file in, if it names a file or says how it is read.
    fn add(&mut self, file: usize, outside: &Outside, entry: &'a Entry) {
        let Some((service, path)) = of_service(entry) else { return };
        if !is_name(path.first(), "env_file") {
            return;
        }
        let place = match path.get(1) {
            Some(Segment::Index(place)) => *place,
            _ => 0,
        };
        let index = *self.items.entry((file, service, place)).or_insert_with(|| {
            let (service, path) = (service.to_owned(), String::new());
            self.files.push(NamedFile { service, path, required: true, raw: false });
            self.files.len() - 1
        });
        let named = &mut self.files[index];
        let text = outside.expand(entry.value.expose()).text;
        match path.get(2) {
            Some(option) if is_name(Some(option), "required") => {
                // A truth value of YAML 1.1 (`loader.toBoolean`).
                let no = ["false", "no", "n", "off"];
                named.required = !no.contains(&text.to_lowercase().as_str());
            }
            Some(option) if is_name(Some(option), "format") => named.raw = text == "raw",
            _ => named.path = text,
        }
    }
}

impl Project {
    /// The files of variables that services name.
    pub(super) fn named_env_files(&self) -> Vec<NamedFile> {
        let mut files = NamedFiles::default();
        for (file, (outside, (_, contents))) in self.read_files().enumerate() {
            contents.entries.iter().for_each(|entry| files.add(file, outside, entry));
        }
        let files = files.files;
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

    /// Those that stronger files take away from services, with by what.
    pub(super) fn removed_env_files(&self) -> Vec<(NamedFile, String)> {
        let mut files = NamedFiles::default();
        let mut reasons = Vec::new();
        for (file, removed) in self.removed.iter().enumerate() {
            for one in removed {
                files.add(file, self.outside_of(file), &one.entry);
                reasons.resize(files.files.len(), one.why.clone());
            }
        }
        let named = files.files.into_iter().zip(reasons);
        named.filter(|(file, _)| !file.path.is_empty()).collect()
    }

    /// The variables that services declare in compose files, a file after the other.
    pub(super) fn declared(&self) -> Vec<(usize, Declared<'_>)> {
        let mut declared = Vec::new();
        for (file, (source, contents)) in self.compose.iter().enumerate() {
            if source.state != SourceState::Read {
                continue;
            }
            let outside = self.outside_of(file);
            let removed = self.removed[file].iter().map(|one| (&one.entry, Some(&*one.why)));
            let stays = contents.entries.iter().map(|entry| (entry, None));
            for (entry, removed) in removed.chain(stays) {
                let Some((service, path)) = of_service(entry) else { continue };
                if !is_name(path.first(), "environment") {
                    continue;
                }
                // Compose refuses a list or a mapping in the place of a value.
                if path.len() > 2 {
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
                    None => self.inherited(file, service, &name, is_list),
                };
                let one = Declared { service, entry, name, template, inherited, removed };
                declared.push((file, one));
            }
        }
        declared
    }

    /// The value of a name that a service takes from outside. compose-go gives it when it has loaded a
    /// scope, if `environment` is a list then; a mapping becomes one where two sources set it.
    fn inherited(&self, file: usize, service: &str, name: &str, is_list: bool) -> Option<String> {
        let mut within = self.scope_of[file];
        while let Some(parent) = self.scopes[within].parent {
            let is_below = |to: usize| within != to && self.is_inside(within, to);
            let earlier = self.copied[file].iter().find(|(_, to)| is_below(*to));
            let own = earlier.map_or(service, |(earlier, _)| earlier.as_str());
            if is_list || self.sets_twice(within, own) {
                return self.scopes[within].outside.get(name);
            }
            within = parent;
        }
        self.outside().get(name)
    }

    /// Whether a scope is another one, or is included by it.
    pub(super) fn is_inside(&self, mut scope: usize, outer: usize) -> bool {
        loop {
            match self.scopes[scope].parent {
                _ if scope == outer => break true,
                Some(parent) => scope = parent,
                None => break false,
            }
        }
    }

    /// The scope in which a file is merged. What a service takes by `extends` is its own from the scope on that says so.
    pub(super) fn merged_in(&self, file: usize) -> usize {
        self.copied[file].last().map_or(self.scope_of[file], |(_, to)| *to)
    }

    /// Whether two files of a scope, or of what it includes, have an `environment` of a service.
    fn sets_twice(&self, scope: usize, service: &str) -> bool {
        let sets = |(_, contents): &Held| {
            let all = contents.entries.iter().chain(&contents.empties);
            all.filter_map(of_service)
                .any(|(other, path)| other == service && is_name(path.first(), "environment"))
        };
        let mut files = (0..self.compose.len()).filter(|file| {
            self.is_inside(self.merged_in(*file), scope) && sets(&self.compose[*file])
        });
        files.nth(1).is_some()
    }

    /// Names that anything in the project refers to.
    pub(super) fn mentioned(&self, declared: &[(usize, Declared<'_>)]) -> BTreeSet<String> {
        let removed = self.removed.iter().flatten().map(|one| &one.entry);
        let compose = self.read_files().flat_map(|(_, (_, contents))| &contents.entries);
        let compose = compose.chain(removed);
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
