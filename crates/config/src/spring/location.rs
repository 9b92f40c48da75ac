//! Locations of `spring.config.location` and `spring.config.import`, and the files that they mean.
//!
//! ```text
//! optional:file:./config/           a folder: files of each name, for each kind of file
//! classpath:/a.yaml;file:./b.yaml   a group: files of a profile win over all others of the group
//! c.properties                      beside the file that imports it
//! d[.yaml]                          the file `d`, read as YAML
//! configtree:/etc/app/              one key for each file below the folder
//! ```

use crate::readers::Format;
use crate::sources::Root;

/// Where a built project has the files of its class path.
const CLASS_PATH: &str = "src/main/resources/";

/// Kinds of files in a folder, the weakest first.
const ENDINGS: [&str; 3] = ["yaml", "yml", "properties"];

/// A location as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// Whether nothing need be there.
    pub(super) optional: bool,
    /// The rest of it.
    pub(super) text: String,
}

impl Location {
    /// The locations of a group.
    pub(super) fn group(text: &str) -> Vec<Self> {
        text.split(';').map(Self::parse).collect()
    }

    fn parse(text: &str) -> Self {
        match text.strip_prefix("optional:") {
            Some(rest) => Self { optional: true, text: rest.to_owned() },
            None => Self { optional: false, text: text.to_owned() },
        }
    }
}

/// What a location means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A file.
    File(FileTarget),
    /// A folder of which each file is a key.
    Tree(String),
    /// Something that is not in files: why.
    Other(String),
    /// Something that Spring refuses: why.
    Refused(String),
}

/// A file that a location means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileTarget {
    /// The path below the root.
    pub(super) path: String,
    /// The folder of it as a location, for what it imports.
    pub(super) base: String,
    /// The format.
    pub(super) format: Format,
    /// The profile whose file it is.
    pub(super) profile: Option<String>,
    /// Whether it is looked for, and need not be there.
    pub(super) skippable: bool,
    /// Whether it is optional by the location.
    pub(super) optional: bool,
}

/// A folder and the start of names in it, of which other profiles may have files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stem {
    /// The path without the ending.
    pub(super) path: String,
    /// The ending, with its dot.
    pub(super) ending: String,
}

/// Finds what locations mean.
pub(super) struct Locator<'a> {
    pub(super) root: &'a Root,
    /// `spring.config.name`.
    pub(super) names: Vec<String>,
}

/// The format of a file, as Spring reads it.
pub(super) fn format_of(name: &str) -> Option<Format> {
    match Format::of_name(name) {
        Some(Format::Yaml) => Some(Format::YamlSpring),
        other => other,
    }
}

/// A location as text with its scheme, relative to what imports it.
fn absolute(text: &str, base: &str) -> String {
    let text = text.strip_prefix("resource:").unwrap_or(text);
    let is_absolute = text.starts_with('/') || scheme(text).is_some();
    if is_absolute { text.to_owned() } else { format!("{base}{text}") }
}

fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '*');
    is_scheme.then_some(scheme)
}

/// The path below the root of a location; none if it is not a file's.
fn path_of(text: &str) -> Option<String> {
    let path = match scheme(text) {
        Some("classpath" | "classpath*") => {
            let rest = text.split_once(':').map_or("", |(_, rest)| rest);
            format!("{CLASS_PATH}{}", rest.trim_start_matches('/'))
        }
        Some("file") => {
            let rest = &text["file:".len()..];
            rest.strip_prefix("//").unwrap_or(rest).to_owned()
        }
        Some(_) => return None,
        None => text.to_owned(),
    };
    Some(normal(&path))
}

/// A path without `.` and, where it does not lead out, without `..`; a slash at its end stays.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    let end = if path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    format!("{start}{}{end}", parts.join("/"))
}

impl Locator<'_> {
    /// The targets of a group of locations, the weakest first: those of a profile, or those of none.
    pub(super) fn targets(
        &self,
        group: &[Location],
        base: &str,
        profile: Option<&str>,
        stems: &mut Vec<Stem>,
    ) -> Vec<Target> {
        let of = |location: &Location| self.of_location(location, base, profile, stems);
        group.iter().flat_map(of).collect()
    }

    fn of_location(
        &self,
        location: &Location,
        base: &str,
        profile: Option<&str>,
        stems: &mut Vec<Stem>,
    ) -> Vec<Target> {
        if let Some(folder) = location.text.strip_prefix("configtree:") {
            // It has no files of profiles.
            return if profile.is_some() { Vec::new() } else { self.trees(folder) };
        }
        let text = absolute(&location.text, base);
        let Some(path) = path_of(&text) else {
            let why = format!("`{}` is not a file", location.text);
            return if profile.is_some() { Vec::new() } else { vec![Target::Other(why)] };
        };
        if text.ends_with('/') {
            return self.in_folder(location, &text, &path, profile, stems);
        }
        self.file(location, &text, &path, profile, stems).into_iter().collect()
    }

    /// The folders of a tree of keys: `*/` at its end stands for each folder in it.
    fn trees(&self, folder: &str) -> Vec<Target> {
        if !folder.ends_with('/') {
            return vec![Target::Refused(format!("Spring wants a `/` at the end of `{folder}`"))];
        }
        let folders = match folder.strip_suffix("*/") {
            Some(start) => {
                let (_, inner) = self.root.entries(normal(start).trim_end_matches('/'));
                inner.into_iter().filter(|path| !is_hidden(path)).collect()
            }
            None => vec![normal(folder).trim_end_matches('/').to_owned()],
        };
        folders.into_iter().map(Target::Tree).collect()
    }

    fn in_folder(
        &self,
        location: &Location,
        text: &str,
        path: &str,
        profile: Option<&str>,
        stems: &mut Vec<Stem>,
    ) -> Vec<Target> {
        let folders = match path.strip_suffix("*/") {
            Some(start) => {
                let (_, inner) = self.root.entries(start.trim_end_matches('/'));
                let inner = inner.into_iter().filter(|path| !is_hidden(path));
                inner.map(|path| (format!("{path}/"), format!("file:{path}/"))).collect()
            }
            None => vec![(path.to_owned(), text.to_owned())],
        };
        let mut targets = Vec::new();
        for (name, ending) in
            self.names.iter().flat_map(|name| ENDINGS.iter().map(move |ending| (name, ending)))
        {
            for (folder, base) in &folders {
                let stem = format!("{folder}{name}");
                stems.push(Stem { path: stem.clone(), ending: format!(".{ending}") });
                let end = profile.map(|profile| format!("-{profile}")).unwrap_or_default();
                let path = format!("{stem}{end}.{ending}");
                targets.push(Target::File(FileTarget {
                    format: format_of(&path).unwrap_or(Format::YamlSpring),
                    path,
                    base: base.clone(),
                    profile: profile.map(str::to_owned),
                    skippable: true,
                    optional: location.optional,
                }));
            }
        }
        targets
    }

    fn file(
        &self,
        location: &Location,
        text: &str,
        path: &str,
        profile: Option<&str>,
        stems: &mut Vec<Stem>,
    ) -> Option<Target> {
        let hint = path.strip_suffix(']').and_then(|path| path.rsplit_once("[."));
        let lower = path.to_ascii_lowercase();
        let (stem, ending, shown) = match hint {
            Some((stem, ending)) => (stem, ending, String::new()),
            None => {
                let ending = ENDINGS.iter().find(|ending| lower.ends_with(&format!(".{ending}")));
                let Some(ending) = ending else {
                    let why = format!(
                        "Spring does not know the kind of `{}`; a folder needs a `/` at its end",
                        location.text
                    );
                    return profile.is_none().then_some(Target::Refused(why));
                };
                let (stem, ending) = path.split_at(path.len() - ending.len() - 1);
                (stem, &ending[1..], ending.to_owned())
            }
        };
        let format = format_of(&format!("x.{ending}"));
        let format = format.filter(|_| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()));
        let Some(format) = format else {
            let why = format!("Culprit does not read `.{ending}`");
            return profile.is_none().then_some(Target::Other(why));
        };
        stems.push(Stem { path: stem.to_owned(), ending: shown.clone() });
        let end = profile.map(|profile| format!("-{profile}")).unwrap_or_default();
        let base = text.rfind('/').map_or("", |at| &text[..=at]);
        Some(Target::File(FileTarget {
            path: format!("{stem}{end}{shown}"),
            base: base.to_owned(),
            format,
            profile: profile.map(str::to_owned),
            skippable: location.optional || profile.is_some(),
            optional: location.optional,
        }))
    }
}

/// Whether Spring leaves a folder: links of mounted volumes have such names.
fn is_hidden(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_paths_below_the_root() {
        for (text, path) in [
            ("classpath:/", "src/main/resources/"),
            ("classpath:config/a.yml", "src/main/resources/config/a.yml"),
            ("file:./", ""),
            ("file:./config/*/", "config/*/"),
            ("file:a/../b.yml", "b.yml"),
            ("../b.yml", "../b.yml"),
            ("file:/etc/x.yml", "/etc/x.yml"),
            ("file:///etc/x.yml", "/etc/x.yml"),
        ] {
            assert_eq!(path_of(text).as_deref(), Some(path), "{text}");
        }
        assert_eq!(path_of("https://host/x.yml"), None);
        assert_eq!(absolute("x.yml", "classpath:/a/"), "classpath:/a/x.yml");
        assert_eq!(absolute("file:x.yml", "classpath:/a/"), "file:x.yml");
        let group = Location::group("optional:a/;b/");
        assert_eq!((group[0].optional, group[1].optional), (true, false));
    }
}
