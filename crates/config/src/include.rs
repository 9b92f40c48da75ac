//! Files that name further files: `include.path` of git, and `includeIf`.
//!
//! What an included file holds stands in place of the key that names it, so a source falls into parts:
//!
//! ```text
//! .gitconfig   a = 1              part 1 of .gitconfig
//!              include.path = b
//! b            a = 2              all of b
//! .gitconfig   a = 3              part 2 of .gitconfig: it wins
//! ```

use std::path::{Path, PathBuf};

use crate::profile::Includes;
use crate::provenance::{SourceKind, SourceState};
use crate::readers::{Entry, Format, Segment};
use crate::sources::{Collected, Defined, Loaded, Part, Request, Root, load_file};
use crate::wildcard::fits;

/// More files than this are not included: a file that includes itself twice is 2^depth files.
const MOST_FILES: usize = 1_000;

/// The define of the profile that is the repository.
const REPOSITORY: &str = "repository";

/// Puts included files in the places of the keys that name them.
pub(crate) fn follow(
    includes: &Includes,
    root: &Root,
    request: &Request,
    loaded: Vec<Loaded>,
    defines: Vec<Defined>,
) -> Collected {
    let read = loaded.iter().filter(|one| one.source.state == SourceState::Read);
    let remotes = read.flat_map(|one| &one.contents.entries).filter(|entry| {
        let named = |at: usize, wanted: &str| {
            matches!(entry.path.get(at), Some(Segment::Name(name)) if name == wanted)
        };
        entry.path.len() == 3 && named(0, "remote") && named(2, "url")
    });
    let repository = defines.iter().find(|one| one.name == REPOSITORY);
    let repository = repository.and_then(|one| one.values.first().cloned());
    let follower = Follower {
        includes,
        root,
        home: request.variable("HOME").map(|home| home.expose().to_owned()),
        folder: repository.as_deref().and_then(|path| root.resolved(path)),
        urls: remotes.map(|entry| entry.value.expose().to_owned()).collect(),
    };
    let mut collected = Collected { loaded: Vec::new(), parts: Vec::new(), defines };
    for one in loaded {
        follower.place(one, 0, &mut collected);
    }
    collected
}

impl Loaded {
    /// Takes what it holds away, because it exceeds a limit.
    fn refuse(&mut self, why: String) {
        (self.source.state, self.source.why) = (SourceState::TooLarge, why);
        self.contents = Default::default();
    }
}

struct Follower<'a> {
    includes: &'a Includes,
    root: &'a Root,
    home: Option<String>,
    /// The folder of the repository; none if there is none.
    folder: Option<PathBuf>,
    /// The addresses of all remote repositories.
    urls: Vec<String>,
}

impl Follower<'_> {
    /// Adds a source and what it includes.
    fn place(&self, one: Loaded, depth: usize, collected: &mut Collected) {
        let at = collected.loaded.len();
        let length = one.contents.entries.len();
        let is_read = one.source.state == SourceState::Read;
        let named: Vec<(usize, String, Option<String>)> = if is_read {
            let named = one.contents.entries.iter().enumerate();
            named
                .filter_map(|(at, entry)| self.names_file(entry).map(|(path, why)| (at, path, why)))
                .collect()
        } else {
            Vec::new()
        };
        let (name, layer, kind) = (one.source.name.clone(), one.layer, one.source.kind);
        let layer_name = one.source.layer.clone();
        collected.loaded.push(one);
        let mut start = 0;
        for (entry, path, condition) in named {
            if collected.loaded.len() > MOST_FILES {
                break;
            }
            collected.parts.push(Part { loaded: at, entries: start..entry + 1 });
            start = entry + 1;
            let Some(path) = self.path(&name, kind, &path) else { continue };
            let held =
                load_file(self.root, &path, Some(Format::Git), SourceKind::File, &layer_name);
            let mut included = Loaded::new(layer, held);
            if included.source.state == SourceState::Outside {
                included.source.why =
                    format!("lies outside the folders of the profile; {name} includes it");
            }
            let why = condition.and_then(|text| self.why_not(&text, &name));
            if let Some(why) = why {
                (included.source.state, included.source.why) = (SourceState::Unread, why);
            } else if collected.loaded.len() == MOST_FILES {
                included.refuse(format!(
                    "the {MOST_FILES}th file: files that include each other have no end"
                ));
            } else if depth + 1 > self.includes.depth {
                included.refuse(format!("included deeper than {}", self.includes.depth));
            }
            self.place(included, depth + 1, collected);
        }
        collected.parts.push(Part { loaded: at, entries: start..length });
    }

    /// The file that an entry names, and under which condition.
    fn names_file(&self, entry: &Entry) -> Option<(String, Option<String>)> {
        let names: Vec<&str> = entry.path.iter().filter_map(name).collect();
        let path = entry.value.expose().to_owned();
        if path.is_empty() {
            return None;
        }
        if names.join(".") == self.includes.key {
            return Some((path, None));
        }
        let (start, end) = self.includes.conditional.as_deref()?.split_once(".*.")?;
        match names.as_slice() {
            [first, condition, last] if *first == start && *last == end => {
                Some((path, Some((*condition).to_owned())))
            }
            _ => None,
        }
    }

    /// A path that a source names: relative to the source, or below the home folder.
    fn path(&self, source: &str, kind: SourceKind, path: &str) -> Option<PathBuf> {
        if let Some(rest) = path.strip_prefix("~/") {
            return self.home.as_ref().map(|home| Path::new(home).join(rest));
        }
        if path.starts_with('/') {
            return Some(PathBuf::from(path));
        }
        // git refuses relative paths that do not come from a file.
        let folder = Path::new(source).parent().filter(|_| kind == SourceKind::File)?;
        Some(folder.join(path))
    }

    /// Why a condition does not hold; none if it holds.
    fn why_not(&self, condition: &str, source: &str) -> Option<String> {
        let (word, pattern) = condition.split_once(':').unwrap_or((condition, ""));
        let holds = match word {
            "gitdir" => self.is_in(pattern, source, false),
            "gitdir/i" => self.is_in(pattern, source, true),
            "onbranch" => self.branch().is_some_and(|branch| fits(&with_folders(pattern), &branch)),
            "hasconfig" => {
                let url = pattern.strip_prefix("remote.*.url:");
                url.is_some_and(|url| self.urls.iter().any(|own| fits(url, own)))
            }
            // git takes a word that it does not know for false.
            _ => return Some(format!("git knows no condition `{word}`")),
        };
        let actual = match word {
            "onbranch" => format!("the branch is `{}`", self.branch().unwrap_or_default()),
            "hasconfig" => "no remote repository has such an address".to_owned(),
            _ => match &self.folder {
                Some(folder) => format!("the repository is `{}`", folder.display()),
                None => "the folder is in no repository".to_owned(),
            },
        };
        (!holds).then(|| format!("`{condition}` does not hold: {actual}"))
    }

    fn is_in(&self, pattern: &str, source: &str, any_case: bool) -> bool {
        let Some(folder) = &self.folder else { return false };
        let pattern = if let Some(rest) = pattern.strip_prefix("~/") {
            let home = self.home.as_deref().and_then(|home| self.root.resolved(home));
            let Some(home) = home else { return false };
            format!("{}/{rest}", home.display())
        } else if let Some(rest) = pattern.strip_prefix("./") {
            let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{}/{rest}", self.root.resolved(folder).unwrap_or_default().display())
        } else if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("**/{pattern}")
        };
        let (pattern, folder) = (with_folders(&pattern), folder.to_string_lossy().into_owned());
        match any_case {
            true => fits(&pattern.to_lowercase(), &folder.to_lowercase()),
            false => fits(&pattern, &folder),
        }
    }

    /// The branch that is checked out.
    fn branch(&self) -> Option<String> {
        let read = self.root.read(&self.folder.as_ref()?.join("HEAD"));
        let text = String::from_utf8(read.bytes?).ok()?;
        text.strip_prefix("ref: refs/heads/").map(|branch| branch.trim().to_owned())
    }
}

fn name(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Name(name) => Some(name),
        Segment::Index(_) => None,
    }
}

/// A pattern that ends in a slash stands for all below it.
fn with_folders(pattern: &str) -> String {
    if pattern.ends_with('/') { format!("{pattern}**") } else { pattern.to_owned() }
}
