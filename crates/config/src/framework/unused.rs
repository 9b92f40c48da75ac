//! Variables that were meant for a builder, and that it does not take.

use super::Settings;
use super::apply::Applied;
use super::builder::{Enabled, Mode, starts_with};
use super::section::Section;
use crate::ledger::{Entry, Ledger};
use crate::profile::Builders;
use crate::provenance::{Op, Outcome};
use crate::resolve::bare;
use crate::sources::Request;

/// Keys that are shorter have the letters of other programs' variables, too.
const SHORTEST_BARE: usize = 8;
/// Edits between two prefixes that are taken for a slip.
const MOST_EDITS: usize = 2;

/// What is wrong with a variable.
struct Miss {
    /// The key that it is meant for, as it is shown.
    key: String,
    outcome: Outcome,
    reason: String,
    source: usize,
}

/// Notes what no builder takes.
pub(super) fn note(
    settings: &mut Settings,
    request: &Request,
    rules: &Builders,
    ledger: &mut Ledger,
) {
    for (name, value) in request.environment.as_deref().unwrap_or_default() {
        let applied = settings.sections.iter().flat_map(|section| &section.applied);
        if applied.into_iter().any(|applied| applied.taken.contains(name)) {
            continue;
        }
        let Some(miss) = miss(settings, rules, name) else {
            settings.others += 1;
            continue;
        };
        let entry = Entry {
            source: miss.source,
            key: &miss.key,
            written: name,
            op: Op::Set,
            value: value.expose(),
            at: None,
            condition: None,
        };
        let at = ledger.lost(&entry, miss.outcome, miss.reason);
        ledger.variables.push(at);
    }
}

/// Why a variable is not taken; none if it is not the program's.
fn miss(settings: &Settings, rules: &Builders, name: &str) -> Option<Miss> {
    let pairs = || {
        settings
            .sections
            .iter()
            .flat_map(|section| section.applied.iter().map(move |applied| (section, applied)))
    };
    // The longest prefix says best for whom a variable is meant.
    let mut fitting: Vec<(&Section, &Applied)> = pairs()
        .filter(|(_, applied)| {
            !applied.builder.prefix.is_empty() && applied.builder.key_of(name).is_some()
        })
        .collect();
    fitting.sort_by_key(|(_, applied)| std::cmp::Reverse(applied.builder.prefix.len()));
    if let Some((section, applied)) = fitting.first() {
        return with_prefix(section, applied, name);
    }
    pairs().find_map(|(section, applied)| {
        other_name(section, applied, name, rules.environment_ignores_case)
    })
}

/// A variable with the prefix of a builder.
fn with_prefix(section: &Section, applied: &Applied, name: &str) -> Option<Miss> {
    let builder = &applied.builder;
    let written = builder.key_of(name)?;
    let (source, place) = (applied.source, &section.place);
    if builder.enabled == Enabled::Disabled {
        let reason = format!("the builder `{}` is disabled ({})", builder.name, applied.place);
        let key = section.shown(&written);
        return Some(Miss { key, outcome: Outcome::NeverApplied, reason, source });
    }
    // A key whose name before the replacement is this variable's, or has its letters.
    let known = section.cells.iter().filter_map(|cell| section.name_of(cell));
    let near = known.filter(|key| {
        let own = builder.source_name(key);
        own.eq_ignore_ascii_case(name) || bare(&own) == bare(name)
    });
    if let Some(key) = near.min_by_key(|key| !builder.source_name(key).eq_ignore_ascii_case(name)) {
        let asked = builder.asks_for(key).unwrap_or_default();
        let mapped = match builder.char_map.iter().find(|(from, _)| key.contains(from.as_str())) {
            Some((from, to)) => format!(": it replaces `{from}` by `{to}`"),
            None => String::new(),
        };
        let reason = format!("the builder `{}` asks for `{asked}`{mapped}", builder.name);
        return Some(Miss { key: section.shown(key), outcome: Outcome::WrongCase, reason, source });
    }
    let written = unmapped(applied, &written);
    let what = match builder.mode {
        Mode::Token => format!("no `${{{written}}}`"),
        _ => format!("no key `{written}`"),
    };
    let reason = format!(
        "{place} has {what}, and the builder `{}` is {}: it asks only for what is there",
        builder.name,
        builder.mode.word()
    );
    Some(Miss { key: section.shown(&written), outcome: Outcome::NoKey, reason, source })
}

/// The key that a name comes from: what replaces a character is put back.
fn unmapped(applied: &Applied, name: &str) -> String {
    let map = applied.builder.char_map.iter().rev();
    map.filter(|(_, to)| to.len() > 1)
        .fold(name.to_owned(), |name, (from, to)| name.replace(to, from))
}

/// A variable without the prefix that has the name of a key, or a prefix that is almost the right one;
/// or one that differs in case where that matters.
fn other_name(
    section: &Section,
    applied: &Applied,
    name: &str,
    ignores_case: bool,
) -> Option<Miss> {
    let builder = &applied.builder;
    for cell in &section.cells {
        let Some(key) = section.name_of(cell) else { continue };
        let Some(asked) = builder.asks_for(key) else { continue };
        if !ignores_case && asked.eq_ignore_ascii_case(name) {
            let reason = format!("the builder `{}` asks for `{asked}`: case matters", builder.name);
            let (key, source) = (section.shown(key), applied.source);
            return Some(Miss { key, outcome: Outcome::WrongCase, reason, source });
        }
        if builder.prefix.is_empty() || !lacks_prefix(&builder.prefix, key, name) {
            continue;
        }
        let reason = format!("the builder `{}` asks for `{asked}`", builder.name);
        let (key, source) = (section.shown(key), applied.source);
        return Some(Miss { key, outcome: Outcome::WrongPrefix, reason, source });
    }
    None
}

/// Whether a name is a key without a prefix, or with one that is almost right.
fn lacks_prefix(prefix: &str, key: &str, name: &str) -> bool {
    let letters = bare(key);
    if letters.len() < SHORTEST_BARE || starts_with(name, prefix) {
        return false;
    }
    let own = bare(name);
    let Some(start) = own.strip_suffix(letters.as_str()) else { return false };
    start.is_empty() || strsim::damerau_levenshtein(start, &bare(prefix)) <= MOST_EDITS
}
