//! Files that folders of a search path replace, extend and mask: units of systemd, and its other files.
//!
//! ```text
//! etc/systemd/system/a.service               the strongest folder's file is the unit
//! etc/systemd/system/a.service.d/10-x.conf   extends it, in the order of file names
//! usr/lib/systemd/system/a.service           OVERRIDDEN, or MASKED by an empty file
//! ```
//!
//! Of units, what `Environment=` and `EnvironmentFile=` set are keys of their own: `a.service/NAME`.
//!
//! The words for what a file does to a weaker one of its name are those of `systemd-delta`: OVERRIDDEN,
//! EXTENDED, MASKED, REDIRECTED, EQUIVALENT.

mod known;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::profile::{DropIns, Profile};
use crate::provenance::{Outcome, SourceKind, SourceState};
use crate::readers::{Format, Segment};
use crate::sources::{Collected, Loaded, Request, Root, load_file};
use crate::spelling::nearest_name;

pub(crate) use self::known::{NO_SECTION, NO_SETTING, meant_setting};
pub(crate) use self::variables::{NO_ASSIGNMENT, of_units, refuse};

/// Reads the sources of a root of files.
pub(crate) fn collect(profile: &Profile, request: &Request) -> Collected {
    let Some(rules) = &profile.drop_ins else {
        return Collected::in_order(Vec::new(), Vec::new());
    };
    let root = Root::from_request(request);
    let reader = Reader { rules, root: &root };
    let mut loaded = Vec::new();
    let units = reader.units();
    let has_file =
        |unit: &str| rules.unit_path.iter().any(|folder| reader.exists(&in_folder(folder, unit)));
    let with_file: Vec<&str> =
        units.iter().map(String::as_str).filter(|unit| has_file(unit)).collect();
    for unit in &units {
        let first = loaded.len();
        reader.add(unit, &rules.unit_path, &reader.unit_folders(unit), &mut loaded);
        if !with_file.contains(&unit.as_str()) {
            without_unit(unit, &with_file, &mut loaded[first..]);
        }
        loaded[first..].iter_mut().for_each(|one| known::judge(unit, one));
        reader.number_lists(&mut loaded[first..]);
        variables::add(unit, &root, &mut loaded, first);
    }
    for name in reader.files() {
        let folders: Vec<String> =
            rules.file_path.iter().map(|folder| format!("{folder}/{name}.d")).collect();
        let first = loaded.len();
        reader.add(&name, &rules.file_path, &folders, &mut loaded);
        reader.number_lists(&mut loaded[first..]);
    }
    Collected::in_order(loaded, Vec::new())
}

struct Reader<'a> {
    rules: &'a DropIns,
    root: &'a Root,
}

/// What a file is, before its text is read.
enum FileKind {
    /// A file of its own.
    Plain,
    /// It is empty or a link to `/dev/null`.
    Mask,
    /// A link to this file below the root.
    Link(String),
}

impl Reader<'_> {
    /// The names of all units that have a file or a folder of drop-ins.
    fn units(&self) -> BTreeSet<String> {
        let names = self.rules.unit_path.iter().flat_map(|folder| self.names(folder));
        let plain = names.map(|name| name.strip_suffix(".d").map_or(name.clone(), str::to_owned));
        let is_unit = |name: &String| {
            name.rsplit_once('.').is_some_and(|(start, end)| {
                let of_all = start.is_empty() || start.ends_with('-');
                !of_all && self.rules.unit_types.iter().any(|known| known == end)
            })
        };
        plain.filter(is_unit).collect()
    }

    /// The names of other files, below the search path.
    fn files(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (folder, pattern) in self
            .rules
            .file_path
            .iter()
            .flat_map(|folder| self.rules.files.iter().map(move |pattern| (folder, pattern)))
        {
            let prefix = format!("{folder}/");
            let files = self.root.matching(&format!("{folder}/{pattern}")).into_iter();
            let extended = self.root.matching(&format!("{folder}/{pattern}.d/*.conf")).into_iter();
            let extended = extended
                .filter_map(|name| name.rsplit_once(".d/").map(|(start, _)| start.to_owned()));
            let names = files.chain(extended);
            found.extend(names.filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned)));
        }
        found
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names = self.root.names(folder);
        names.sort();
        names
    }

    /// Folders of drop-ins of a unit, the strongest first: its own, those of its template and of the
    /// starts of its name, and those of its type.
    fn unit_folders(&self, unit: &str) -> Vec<String> {
        let (name, end) = unit.rsplit_once('.').unwrap_or((unit, ""));
        let mut names = vec![name.to_owned()];
        if let Some((template, instance)) = name.split_once('@')
            && !instance.is_empty()
        {
            names.push(format!("{template}@"));
        }
        let dashes = name.match_indices('-').map(|(at, _)| &name[..=at]);
        let starts: Vec<String> =
            dashes.filter(|start| *start != name).map(str::to_owned).collect();
        names.extend(starts.into_iter().rev());
        let of_names = self.rules.unit_path.iter().flat_map(|folder| {
            names.iter().map(move |name| in_folder(folder, &format!("{name}.{end}.d")))
        });
        let of_type =
            self.rules.unit_path.iter().map(|folder| in_folder(folder, &format!("{end}.d")));
        of_names.chain(of_type).collect()
    }

    /// Adds the file of a name and what extends it, the weakest first.
    fn add(&self, name: &str, path: &[String], folders: &[String], loaded: &mut Vec<Loaded>) {
        let files = path.iter().map(|folder| in_folder(folder, name));
        let files: Vec<String> = files.filter(|file| self.exists(file)).collect();
        self.add_versions(name, &files, String::new(), loaded);
        let mut extending: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for folder in folders {
            for file in self.names(folder) {
                let path = format!("{folder}/{file}");
                if file.ends_with(".conf") {
                    extending.entry(file).or_default().push(path);
                } else if self.exists(&path) && !file.starts_with('.') {
                    let mut one = self.load(name, &path);
                    let why = "systemd reads the files of this folder that end in `.conf`";
                    (one.source.state, one.source.why) = (SourceState::OffLoadPath, why.to_owned());
                    // A note is no configuration.
                    if !one.contents.entries.is_empty() {
                        loaded.push(one);
                    }
                }
            }
        }
        let extended = files.first().map(|top| format!("EXTENDED {top}")).unwrap_or_default();
        for versions in extending.values() {
            self.add_versions(name, versions, extended.clone(), loaded);
        }
    }

    fn exists(&self, file: &str) -> bool {
        self.root.is_there(file) && !self.root.is_folder(file)
    }

    /// Adds files that stand for each other, given the strongest first: only that one counts.
    fn add_versions(&self, unit: &str, files: &[String], why: String, loaded: &mut Vec<Loaded>) {
        let Some((top, weaker)) = files.split_first() else { return };
        let kind = self.kind(top);
        for file in weaker.iter().rev() {
            let word = match &kind {
                FileKind::Mask => "MASKED",
                // A link that leads back to itself, or to nothing, is equivalent to nothing.
                FileKind::Link(target) if *target == self.target(file) && self.is_file(target) => {
                    "EQUIVALENT"
                }
                FileKind::Link(_) => "REDIRECTED",
                FileKind::Plain => "OVERRIDDEN",
            };
            let mut one = self.load(unit, file);
            (one.source.state, one.source.why) = (SourceState::Unread, format!("{word} by {top}"));
            loaded.push(one);
        }
        let mut one = self.load(unit, top);
        if matches!(kind, FileKind::Mask) {
            (one.source.state, one.source.why) = (
                SourceState::Read,
                format!("{why} is empty: it masks weaker files").trim().to_owned(),
            );
        } else if one.source.state == SourceState::Read {
            one.source.why = why;
        }
        loaded.push(one);
    }

    fn kind(&self, file: &str) -> FileKind {
        let mut at = file.to_owned();
        // A chain of links that is longer is a loop.
        for _ in 0..16 {
            let Some(target) = self.root.link(&at) else { break };
            if target == Path::new("/dev/null") {
                return FileKind::Mask;
            }
            at = below_root(&at, &target);
        }
        match at == file {
            _ if self.root.is_empty_file(&at) => FileKind::Mask,
            true => FileKind::Plain,
            false => FileKind::Link(at),
        }
    }

    /// Whether a path has a file that is no link.
    fn is_file(&self, file: &str) -> bool {
        self.root.is_plain_file(file)
    }

    /// The file whose text a file has: itself, or what it links to below the root.
    fn target(&self, file: &str) -> String {
        match self.kind(file) {
            FileKind::Link(target) => target,
            FileKind::Plain | FileKind::Mask => file.to_owned(),
        }
    }

    /// A file of a unit, with the text of what it links to.
    fn load(&self, unit: &str, file: &str) -> Loaded {
        let target = self.target(file);
        let (mut source, mut contents) =
            load_file(self.root, Path::new(&target), Some(Format::Unit), SourceKind::File, unit);
        file.clone_into(&mut source.name);
        for entry in &mut contents.entries {
            entry.path.insert(0, Segment::Name(unit.to_owned()));
        }
        Loaded::new(0, (source, contents))
    }

    fn is_list(&self, key: &str) -> bool {
        self.rules.lists.iter().any(|known| match known.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => known == key,
        })
    }

    /// Gives each value of a list its place; an empty assignment empties the list.
    fn number_lists(&self, loaded: &mut [Loaded]) {
        let mut lists: BTreeMap<Vec<String>, List> = BTreeMap::new();
        for source in 0..loaded.len() {
            if loaded[source].source.state != SourceState::Read {
                continue;
            }
            for at in 0..loaded[source].contents.entries.len() {
                // Lines that systemd does not know take no part.
                if loaded[source].verdicts.contains_key(&at) {
                    continue;
                }
                let entry = &loaded[source].contents.entries[at];
                let names: Vec<String> = entry.path.iter().filter_map(name).collect();
                if !names.last().is_some_and(|key| self.is_list(key)) {
                    continue;
                }
                let list = lists.entry(names).or_default();
                if entry.value.expose().is_empty() {
                    let by = format!(
                        "line {} of {} empties the list",
                        entry.at.line, loaded[source].source.name
                    );
                    for (source, at) in list.reset((source, at)) {
                        loaded[source].verdicts.insert(at, (Outcome::Shadowed, by.clone()));
                    }
                    continue;
                }
                if let Some((source, at)) = list.emptied.take() {
                    let why = "later lines add to the list".to_owned();
                    loaded[source].verdicts.insert(at, (Outcome::Shadowed, why));
                }
                let place = list.values.len();
                list.values.push((source, at));
                loaded[source].contents.entries[at].path.push(Segment::Index(place));
            }
        }
    }
}

/// The values of a list so far: a source and an entry in it.
#[derive(Default)]
struct List {
    values: Vec<(usize, usize)>,
    emptied: Option<(usize, usize)>,
}

impl List {
    fn reset(&mut self, by: (usize, usize)) -> Vec<(usize, usize)> {
        let lost = self.values.drain(..).chain(self.emptied.take()).collect();
        self.emptied = Some(by);
        lost
    }
}

/// The path of a name in a folder; the root has no name.
fn in_folder(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Says of drop-ins whose unit has no file that another unit may be meant. The unit itself may be elsewhere on the
/// machine.
fn without_unit(unit: &str, with_file: &[&str], loaded: &mut [Loaded]) {
    let Some((name, end)) = unit.rsplit_once('.') else { return };
    let others = with_file.iter().filter_map(|other| other.rsplit_once('.'));
    let others = others.filter(|(_, other)| *other == end).map(|(name, _)| name);
    let Some(near) = nearest_name(name, others) else { return };
    for one in loaded.iter_mut().filter(|one| one.source.state == SourceState::Read) {
        one.source.state = SourceState::OffLoadPath;
        one.source.why = format!("no file of `{unit}` is here; `{near}.{end}.d` may be meant");
    }
}

fn name(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Name(name) => Some(name.clone()),
        Segment::Index(_) => None,
    }
}

/// The target of a link, as a path below the root: an absolute target starts there.
fn below_root(link: &str, target: &Path) -> String {
    let folder = Path::new(link).parent().unwrap_or(Path::new(""));
    let mut path = if target.is_absolute() { PathBuf::new() } else { folder.to_owned() };
    for part in target.components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_below_the_root() {
        let target = |link, target| below_root(link, Path::new(target));
        assert_eq!(target("etc/a/x.service", "/usr/lib/x.service"), "usr/lib/x.service");
        assert_eq!(target("etc/a/x.service", "../b/./y.service"), "etc/b/y.service");
        assert_eq!(target("x", "../../../y"), "y");
    }
}
