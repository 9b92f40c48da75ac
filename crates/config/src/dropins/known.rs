//! Sections and settings of units, as `systemd --dump-configuration-items` lists them (version 252).
//!
//! systemd leaves out a section or a setting that it does not know, and starts the unit. A later version may know
//! more, so that a setting counts as misspelled only if it is almost a known one of its section.

use crate::provenance::Outcome;
use crate::readers::{Entry, Oddity, Segment};
use crate::sources::Loaded;
use crate::spelling::nearest_name;

/// What an [`Oddity`] says of a section.
pub(crate) const NO_SECTION: &str =
    "is no section of such a unit: systemd leaves out what is in it";
/// What it says of a setting.
pub(crate) const NO_SETTING: &str = "is no setting of its section: systemd leaves it out";

/// `[Section]` and the settings below it, one a line.
const KEYS: &str = include_str!("keys.txt");

fn settings(section: &str) -> impl Iterator<Item = &'static str> {
    let lines = KEYS.lines().skip_while(move |line| section_of(line) != Some(section)).skip(1);
    lines.take_while(|line| section_of(line).is_none())
}

fn section_of(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// The setting of any section that may be meant.
pub(crate) fn meant_setting(name: &str) -> Option<&'static str> {
    let all = || KEYS.lines().filter(|line| section_of(line).is_none());
    all().find(|known| known.eq_ignore_ascii_case(name)).or_else(|| nearest_name(name, all()))
}

/// Says of the lines of a unit's file which of them systemd does not know.
pub(super) fn judge(unit: &str, one: &mut Loaded) {
    let kind = unit.rsplit('.').next().unwrap_or_default();
    let is_of_kind = |section: &str| {
        matches!(section, "Unit" | "Install") || {
            let same = section.len() == kind.len() && section.eq_ignore_ascii_case(kind);
            same && section.starts_with(|c: char| c.is_ascii_uppercase())
                && section[1..] == kind[1..]
        }
    };
    let mut last = String::new();
    for at in 0..one.contents.entries.len() {
        let entry = &one.contents.entries[at];
        let Some((section, key)) = section_and_key(entry) else { continue };
        // Both are there for other programs.
        if section.starts_with("X-") || key.starts_with("X-") {
            continue;
        }
        let (name, what) = if !is_of_kind(section) {
            (format!("[{section}]"), NO_SECTION)
        } else if settings(section).all(|known| known != key) && is_slip(section, key) {
            (key.to_owned(), NO_SETTING)
        } else {
            continue;
        };
        // One word for all lines of a section.
        if what == NO_SETTING || name != last {
            let oddity = Oddity { at: entry.at, name: name.clone(), what };
            one.contents.oddities.push(oddity);
        }
        let why = format!("`{}` {what}", crate::secret::name(&name));
        one.verdicts.insert(at, (Outcome::Unread, why));
        last = name;
    }
}

fn is_slip(section: &str, key: &str) -> bool {
    settings(section).any(|known| known.eq_ignore_ascii_case(key))
        || nearest_name(key, settings(section)).is_some()
}

/// The section and the key of an entry of a unit.
pub(super) fn section_and_key(entry: &Entry) -> Option<(&str, &str)> {
    match entry.path.as_slice() {
        [_, Segment::Name(section), Segment::Name(key), ..] => Some((section, key)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_their_section() {
        assert!(settings("Service").any(|known| known == "EnvironmentFile"));
        assert!(settings("Unit").all(|known| known != "EnvironmentFile"));
        assert!(settings("Install").any(|known| known == "WantedBy"));
        assert_eq!(meant_setting("Enviroment"), Some("Environment"));
        assert_eq!(meant_setting("execstart"), Some("ExecStart"));
    }
}
