//! What is odd about values: variables that nothing sets, and quotes that stay.

use super::clear::Removed;
use super::found::Found;
use super::scope::Outside;
use super::{BLANK, Project, REFUSED, is_name, name_of};
use crate::provenance::SourceState;
use crate::readers::{
    Contents, Entry, KEEPS_QUOTES, NOT_SET_IN_PART, Oddity, STARTS_WITH_BLANK, Segment, is_quoted,
};

/// Variables that templates use and nothing sets, anywhere in the compose files.
pub(super) fn template_oddities(found: &mut Found, project: &Project, start: usize) {
    for (file, (source, contents)) in project.compose.iter().enumerate() {
        if source.state != SourceState::Read {
            continue;
        }
        let outside = project.outside_of(file);
        // Compose replaces `${...}` of a file before a later one takes its values away.
        for Removed { entry, .. } in &project.removed[file] {
            for one in
                outside.expand(entry.value.expose()).uses.into_iter().filter(|one| one.refused)
            {
                let odd = Oddity { at: entry.at, name: one.name, what: REFUSED };
                found.oddities.push((start + file, odd));
            }
        }
        for entry in &contents.entries {
            for one in outside.expand(entry.value.expose()).uses {
                let what = match (one.blank, one.refused) {
                    (_, true) => REFUSED,
                    (true, _) => BLANK,
                    _ => continue,
                };
                found.oddities.push((start + file, Oddity { at: entry.at, name: one.name, what }));
            }
            if let Some((name, what)) = odd_in_list(entry) {
                let odd = Oddity { at: entry.at, name: name.to_owned(), what };
                found.oddities.push((start + file, odd));
            }
        }
    }
}

/// The variable of `- NAME='value'` or `- NAME= value` below `environment`.
fn odd_in_list(entry: &Entry) -> Option<(&str, &'static str)> {
    let [.., environment, Segment::Index(_)] = entry.path.as_slice() else { return None };
    let (name, value) = entry.value.expose().split_once('=')?;
    let starts_with_blank = value.starts_with([' ', '\t']) && !value.trim().is_empty();
    let what = match (is_quoted(value), starts_with_blank) {
        (true, _) => KEEPS_QUOTES,
        (false, true) => STARTS_WITH_BLANK,
        _ => return None,
    };
    is_name(Some(environment), "environment").then_some((name, what))
}

/// Values of files of variables of which a part is a variable that nothing sets.
pub(super) fn lost_parts(outside: &Outside, contents: &Contents, source: usize, found: &mut Found) {
    let is_set = |name: &str| {
        outside.get(name).is_some() || contents.entries.iter().any(|one| name_of(one) == name)
    };
    for entry in contents.entries.iter().filter(|entry| entry.template) {
        let text = entry.value.expose();
        // `$NAME` alone, or in braces, is meant; within a word it rarely is.
        let is_lost = |(at, _): (usize, &str)| {
            let name = crate::expand::name_of(&text[at + 1..]);
            let is_escape = text[..at].ends_with('$') || text[..at].ends_with('\\');
            let is_part = text[..at].ends_with(char::is_alphanumeric);
            !name.is_empty() && is_part && !is_escape && !is_set(name)
        };
        if text.match_indices('$').any(is_lost) {
            let name = name_of(entry).to_owned();
            found.oddities.push((source, Oddity { at: entry.at, name, what: NOT_SET_IN_PART }));
        }
    }
}
