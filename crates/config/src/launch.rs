//! Variables that a development tool sets when it starts the program from a file of launch profiles:
//! `Properties/launchSettings.json` of `dotnet run`, and the scripts of `package.json`.
//!
//! They are stronger than the variables of the shell, and exist only with that tool. So they count only
//! if a launch profile is named by `--define`; else the file is shown as not read.

use std::path::Path;

use crate::profile::{LaunchProfiles, Profile};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment, read as read_bytes};
use crate::sources::{Request, Root, load_file};
use crate::value::Raw;

/// What the file says.
pub(crate) struct Launch {
    /// The file.
    pub(crate) source: Source,
    /// The variables of the chosen launch profile, or those of all.
    pub(crate) contents: Contents,
}

impl Launch {
    /// Whether its variables count.
    pub(crate) fn counts(&self) -> bool {
        self.source.state == SourceState::Read
    }

    /// The variables of the shell with those of the file in their place.
    pub(crate) fn over(&self, variables: &[(String, Raw)]) -> Vec<(String, Raw)> {
        let own: Vec<(String, Raw)> = self.contents.entries.iter().filter_map(variable).collect();
        let others =
            variables.iter().filter(|(name, _)| own.iter().all(|(other, _)| other != name));
        others.cloned().chain(own.iter().cloned()).collect()
    }
}

fn variable(entry: &Entry) -> Option<(String, Raw)> {
    match entry.path.as_slice() {
        [Segment::Name(name)] => Some((name.clone(), entry.value.clone())),
        _ => None,
    }
}

/// Reads the file of launch profiles; none if the profile knows none, or it does not exist.
pub(crate) fn read(profile: &Profile, request: &Request, root: &Root) -> Option<Launch> {
    let rules = profile.launch.as_ref()?;
    if root.matching(&rules.file).is_empty() {
        return None;
    }
    let layer = "launch profile";
    let (mut source, mut contents) =
        load_file(root, Path::new(&rules.file), rules.format, SourceKind::File, layer);
    let chosen = request.defines.iter().find(|(name, _)| *name == rules.define);
    let chosen = chosen.and_then(|(_, values)| values.first());
    let entries = std::mem::take(&mut contents.entries).into_iter();
    contents.entries = entries.flat_map(|entry| of_profile(rules, chosen, entry)).collect();
    if rules.variables.is_none() && chosen.is_none() && contents.entries.is_empty() {
        return None;
    }
    match chosen {
        Some(name) if contents.entries.is_empty() && source.state == SourceState::Read => {
            source.why = format!("no launch profile `{name}` has variables");
        }
        Some(_) => {}
        None => {
            source.state = SourceState::Unread;
            source.why = format!("{}; `--define {}=NAME` counts them", rules.why, rules.define);
        }
    }
    Some(Launch { source, contents })
}

/// The define, the name of a launch profile that it gives and that does not exist, and those that do; none if it
/// exists, or none is given.
#[must_use]
pub fn unknown_launch(
    profile: &Profile,
    request: &Request,
) -> Option<(String, String, Vec<String>)> {
    let rules = profile.launch.as_ref()?;
    let (_, values) = request.defines.iter().find(|(name, _)| *name == rules.define)?;
    let given = values.first()?;
    let root = Root::from_request(request);
    let bytes = root.read(Path::new(&rules.file)).bytes?;
    let format = rules.format.or_else(|| Format::of_name(&rules.file))?;
    let mut names: Vec<String> = Vec::new();
    for entry in read_bytes(format, &bytes).ok()?.entries {
        match entry.path.as_slice() {
            [Segment::Name(group), Segment::Name(name), ..]
                if *group == rules.group && !names.contains(name) =>
            {
                names.push(name.clone());
            }
            _ => {}
        }
    }
    let is_unknown = !names.is_empty() && !names.contains(given);
    is_unknown.then(|| (rules.define.clone(), given.clone(), names))
}

/// The variables that an entry of the file sets in the chosen launch profile, or in any.
fn of_profile(rules: &LaunchProfiles, chosen: Option<&String>, entry: Entry) -> Vec<Entry> {
    let is_chosen = |group: &String, name: &String| {
        *group == rules.group && chosen.is_none_or(|chosen| chosen == name)
    };
    match (entry.path.as_slice(), &rules.variables) {
        (
            [Segment::Name(group), Segment::Name(name), Segment::Name(inner), Segment::Name(own)],
            Some(variables),
        ) if is_chosen(group, name) && inner == variables => {
            let path = vec![Segment::Name(own.clone())];
            vec![Entry { path, ..entry }]
        }
        ([Segment::Name(group), Segment::Name(name)], None) if is_chosen(group, name) => {
            let set = set_by_command(entry.value.expose()).into_iter();
            let variable = |(name, value): (String, String)| Entry {
                path: vec![Segment::Name(name)],
                value: Raw::new(value),
                ..entry.clone()
            };
            set.map(variable).collect()
        }
        _ => Vec::new(),
    }
}

/// The variables that commands of a shell set before the name of a program: `A=1 cross-env B=2 node x.js`.
fn set_by_command(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for command in text.split("&&").flat_map(|part| part.split(';')) {
        let words = command.split_whitespace();
        let words = words.filter(|word| !matches!(*word, "cross-env" | "env"));
        let set = words.map_while(|word| word.split_once('='));
        let is_name = |name: &str| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty()
        };
        let set = set.take_while(|(name, _)| is_name(name));
        found.extend(
            set.map(|(name, value)| (name.to_owned(), value.trim_matches(['"', '\'']).to_owned())),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_before_the_name_of_a_program_are_found() {
        for (command, expected) in [
            ("PORT=3000 node x.js --a=b", "PORT=3000"),
            ("tsc && cross-env NODE_ENV=test LEVEL='debug' jest", "NODE_ENV=test LEVEL=debug"),
            ("node --env-file=.env x.js", ""),
        ] {
            let found = set_by_command(command);
            let found: Vec<String> =
                found.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!(found.join(" "), expected, "{command}");
        }
    }
}
