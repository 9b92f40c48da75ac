//! Groups: patterns that rename frames, so that many become one.
//!
//! Entries are tried in order. `PAT->NAME` renames the whole frame and goes on with the new name;
//! `PAT=>NAME` makes an entry group and stops: a caller in the same group swallows its callee, and
//! what is left shows how the group was entered. An empty NAME keeps the frame as it is and stops:
//! `mine!->;!=>OTHER` leaves one module alone and folds the rest. `PAT` alone renames to the text
//! that matched.

use regex::Captures;

use super::pattern::{Pattern, entries, find_unquoted};
use crate::error::FilterError;

/// A compiled group list.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups(Vec<Group>);

#[derive(Debug, Clone)]
struct Group {
    pattern: Pattern,
    kind: Kind,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Entry,
}

/// What grouping makes of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grouped {
    /// The name to show.
    pub(super) name: String,
    /// The entry group that it belongs to.
    pub(super) entry: Option<String>,
}

impl Groups {
    /// Compiles a list; a leading `[label]` is a preset's name and is left out.
    pub(super) fn parse(list: &str) -> Result<Self, FilterError> {
        let list = match list.trim_start().strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or(list, |(_, after)| after),
            None => list,
        };
        entries(list).into_iter().map(Group::parse).collect::<Result<_, _>>().map(Self)
    }

    /// True when there is no group.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when a pattern may be about a module's path.
    pub(super) fn want_paths(&self) -> bool {
        self.0.iter().any(|group| group.pattern.wants_paths())
    }

    /// What the groups make of a frame's name, which with its module's path is `long`; none when
    /// they leave it as it is.
    pub(super) fn apply(&self, frame: &str, long: Option<&str>) -> Option<Grouped> {
        let mut renamed: Option<String> = None;
        for group in &self.0 {
            let (name, long) = match &renamed {
                Some(name) => (name.as_str(), None),
                None => (frame, long),
            };
            let Some(found) = group.pattern.captures(name, long) else { continue };
            let new = fill(&group.name, &found);
            match (group.kind, new.is_empty()) {
                (_, true) => return None,
                (Kind::Plain, false) => renamed = Some(new),
                (Kind::Entry, false) => {
                    return Some(Grouped { name: format!("{new} <<{frame}>>"), entry: Some(new) });
                }
            }
        }
        renamed.map(|name| Grouped { name, entry: None })
    }
}

impl Group {
    fn parse(entry: &str) -> Result<Self, FilterError> {
        let split = |arrow: &str, kind| {
            find_unquoted(entry, arrow).map(|at| (kind, &entry[..at], &entry[at + arrow.len()..]))
        };
        let (kind, pattern, name) = split("=>", Kind::Entry)
            .or_else(|| split("->", Kind::Plain))
            .unwrap_or((Kind::Plain, entry, "$&"));
        let pattern = Pattern::parse(pattern)?;
        Ok(Self { pattern, kind, name: name.trim().to_owned() })
    }
}

/// A group's name with `$1` to `$9` and `$&` filled in; what was not captured is empty.
fn fill(template: &str, found: &Captures<'_>) -> String {
    let mut name = String::new();
    let mut rest = template.chars().peekable();
    while let Some(c) = rest.next() {
        let at = match (c, rest.peek()) {
            ('$', Some('&')) => Some(0),
            ('$', Some(digit)) => digit.to_digit(10).filter(|n| *n > 0).map(|n| n as usize),
            _ => None,
        };
        match at {
            Some(at) => {
                rest.next();
                name.push_str(found.get(at).map_or("", |part| part.as_str()));
            }
            None => name.push(c),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(groups: &str, frame: &str, expected: &str) {
        let groups = Groups::parse(groups).expect(groups);
        let name = groups.apply(frame, None).map_or(frame.to_owned(), |grouped| grouped.name);
        assert_eq!(name, expected);
    }

    #[test]
    fn plain_groups_rename_the_whole_frame_and_chain() {
        check("{%}!->module $1", "libc.so.6!read", "module libc.so.6");
        check("{%}!->module $1;module libc->C", "libc.so.6!read", "C");
        check("^Thread {%}", "Thread worker (12)", "Thread worker");
    }

    #[test]
    fn entry_groups_stop_and_tell_how_they_were_entered() {
        check("{%}!=>module $1;module->x", "libc.so.6!read", "module libc.so.6 <<libc.so.6!read>>");
    }

    #[test]
    fn a_pattern_with_a_slash_sees_the_path_and_the_name() {
        let path = Some("/usr/lib/libc.so.6!read");
        let of = |groups: &str| {
            let groups = Groups::parse(groups).expect(groups);
            groups.apply("libc.so.6!read", path).map(|grouped| grouped.name)
        };
        assert_eq!(
            of("{/*}!=>module $1").as_deref(),
            Some("module /usr/lib/libc.so.6 <<libc.so.6!read>>")
        );
        assert_eq!(of("^/usr/->;!->OTHER"), None);
        assert_eq!(of("^/opt/->;!->OTHER").as_deref(), Some("OTHER"));
        assert_eq!(of("{/*}!->$1;^/usr->x").as_deref(), Some("x"));
        assert_eq!(of("^libc->C").as_deref(), Some("C"));
    }

    #[test]
    fn an_empty_name_keeps_the_frame_out_of_later_groups() {
        let mine = "[Just mine] app!->;!=>OTHER";
        check(mine, "app!main", "app!main");
        check(mine, "libc!read", "OTHER <<libc!read>>");
        check(mine, "Process app (1)", "Process app (1)");
    }
}
