//! What compose files that are not read would set: `compose.prod.yml` without `-f`.

use super::found::Found;
use super::values::made_from;
use super::{Held, Project, is_name, of_service};
use crate::profile::Ignored;
use crate::provenance::{Outcome, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Format, Segment};
use crate::sources::{Choice, Root, load_file};
use crate::value::{Raw, Redactor};

/// The variable by which Compose takes other files.
const VARIABLE: &str = "COMPOSE_FILE";

/// The compose files below a root that Compose would read if they were named.
pub(super) fn files(root: &Root, ignored: &[Ignored], known: &[Held]) -> Vec<Held> {
    let mut found: Vec<Held> = Vec::new();
    for (pattern, why) in ignored.iter().flat_map(|one| {
        let why = one.why.as_str();
        one.files.iter().map(move |pattern| (pattern, why))
    }) {
        for name in root.matching(pattern) {
            if known.iter().chain(&found).any(|(source, _)| source.name == name) {
                continue;
            }
            let kind = SourceKind::ComposeEnvironment;
            let format = Some(Format::YamlCompose);
            let (mut source, contents) =
                load_file(root, name.as_ref(), format, kind, "compose file");
            let contents = match source.state {
                SourceState::Read => contents,
                _ => Contents::default(),
            };
            (source.state, source.at) = (SourceState::Unread, None);
            why.clone_into(&mut source.why);
            found.push((source, contents));
        }
    }
    found
}

fn is_unread((source, _): &Held) -> bool {
    source.state == SourceState::Unread
}

/// A variable of a service, with its template.
struct UnreadVariable<'a> {
    file: usize,
    service: &'a str,
    name: &'a str,
    template: &'a str,
    entry: &'a Entry,
}

/// The variables of services that such files declare.
fn variables(project: &Project) -> Vec<UnreadVariable<'_>> {
    let mut found = Vec::new();
    let files = project.compose.iter().enumerate().filter(|(_, held)| is_unread(held));
    for (file, entry) in
        files.flat_map(|(file, (_, contents))| contents.entries.iter().map(move |one| (file, one)))
    {
        let Some((service, [group, place])) = of_service(entry) else { continue };
        if !is_name(Some(group), "environment") {
            continue;
        }
        let text = entry.value.expose();
        let (name, template) = match place {
            Segment::Name(name) => (name.as_str(), text),
            Segment::Index(_) => text.split_once('=').unwrap_or((text, "")),
        };
        found.push(UnreadVariable { file, service, name, template, entry });
    }
    found
}

/// Shows the redactor their secrets.
pub(super) fn learn(redactor: &mut Redactor, project: &Project) {
    for one in variables(project) {
        let text = project.outside_of(one.file).expand(one.template).text;
        redactor.learn(one.name, &Raw::new(text));
    }
}

/// Adds what they would set.
pub(super) fn values(found: &mut Found, project: &Project, start: usize) {
    for UnreadVariable { file, service, name, template, entry } in variables(project) {
        let outside = project.outside_of(file);
        let made = made_from(&Raw::new(template), true, outside);
        let raw = Raw::new(outside.expand(template).text);
        let key = (format!("{service}.{name}"), name);
        let at = found.add(start + file, key, (entry, false), &raw, &made);
        found.note(at, Outcome::Unread, project.compose[file].0.why.clone());
    }
}

/// What makes Compose read them: the files that it reads now, then the file.
pub(super) fn choices(project: &Project, start: usize) -> Vec<(usize, Choice)> {
    let own = project.compose.iter().zip(&project.scope_of).filter(|((source, _), scope)| {
        **scope == 0 && source.state == SourceState::Read && source.layer == "compose file"
    });
    let mut own: Vec<&str> = own.map(|((source, _), _)| source.name.as_str()).collect();
    // A file of several documents stands once for each.
    own.dedup();
    let unread = project.compose.iter().enumerate().filter(|(_, held)| is_unread(held));
    let choice = |(file, (source, _)): (usize, &Held)| {
        let files = own.iter().copied().chain([source.name.as_str()]);
        let value = files.collect::<Vec<_>>().join(":");
        let choice = Choice { define: VARIABLE.to_owned(), variable: VARIABLE.to_owned(), value };
        (start + file, choice)
    };
    unread.map(choice).collect()
}
