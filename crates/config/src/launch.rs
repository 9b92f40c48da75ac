//! Variables that a development tool sets when it starts the program from a file of launch profiles:
//! `Properties/launchSettings.json` of `dotnet run`.
//!
//! They are stronger than the variables of the shell, and exist only with that tool. So they count only
//! if a launch profile is named by `--define`; else the file is shown as not read.

use std::path::Path;

use crate::profile::{LaunchProfiles, Profile};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment};
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
    contents.entries = entries.filter_map(|entry| of_profile(rules, chosen, entry)).collect();
    match chosen {
        Some(name) if contents.entries.is_empty() && source.state == SourceState::Read => {
            source.why = format!("no launch profile `{name}` has variables");
        }
        Some(_) => {}
        None if source.state == SourceState::Read => {
            source.state = SourceState::Unread;
            source.why = format!("{}; `--define {}=NAME` counts them", rules.why, rules.define);
        }
        None => {}
    }
    Some(Launch { source, contents })
}

/// A variable of a launch profile as an entry of its own.
fn of_profile(rules: &LaunchProfiles, chosen: Option<&String>, entry: Entry) -> Option<Entry> {
    match entry.path.as_slice() {
        [
            Segment::Name(group),
            Segment::Name(name),
            Segment::Name(variables),
            Segment::Name(own),
        ] if *group == rules.group
            && *variables == rules.variables
            && chosen.is_none_or(|chosen| chosen == name) =>
        {
            let path = vec![Segment::Name(own.clone())];
            Some(Entry { path, ..entry })
        }
        _ => None,
    }
}
