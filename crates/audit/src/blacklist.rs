//! A site's own list of robots against what is stored: entries that miss, and entries that hit
//! people (L1).
//!
//! Sitecore compares whole user agents, letter by letter. An entry that differs in case, in blanks
//! or in an entity of XML excludes nobody. One that works leaves nothing in the store, so an entry
//! that nothing stored is like is no error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use similar::TextDiff;

use crate::fold::fold;
use crate::lists::{exact_lines, unescaped};
use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::{Band, RobotReport};

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlacklistEntry {
    /// Its line, from 1.
    pub line: usize,
    /// The user agent that it names, as a program reads it.
    pub text: String,
    /// Interactions with exactly this user agent: they came in before the entry, or in spite of it.
    pub exact: u64,
    /// Stored user agents that it misses.
    pub leaks: Vec<Leak>,
    /// Stored user agents that it hits, or would hit without the leak, and that behave as people.
    pub people: Vec<String>,
    /// Line of an earlier entry with the same text.
    pub doubles: Option<usize>,
    /// Stored user agents that only begin with it: it misses them, because entries are whole user
    /// agents.
    pub begins: u64,
    /// True when all stored user agents that are like it are other entries of the list.
    pub has_twin: bool,
}

/// A stored user agent that an entry means and misses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// As it is stored.
    pub stored: String,
    /// Its interactions.
    pub interactions: u64,
    /// What differs: `case`, `blanks`, `entity`, joined by `+`.
    pub differs: String,
}

/// The list against the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlacklistReport {
    /// The entries in the order of the list.
    pub entries: Vec<BlacklistEntry>,
    /// Interactions of all leaks.
    pub leaked_interactions: u64,
    /// All interactions with a user agent.
    pub interactions: u64,
    /// A patch for the list in unified form; empty when nothing is to change.
    pub patch: String,
}

impl BlacklistEntry {
    /// True when no stored visit is like it: it works, or is not needed.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        self.exact == 0 && self.leaks.is_empty() && !self.has_twin
    }

    /// True when it excludes nothing: an earlier entry is the same, or what is stored of its robot is
    /// spelled in another way.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.doubles.is_some() || (self.exact == 0 && !self.is_unseen())
    }
}

/// Compares a list with a store. `name` is the list's file in the patch; `robots` has verdicts by
/// user agent.
///
/// # Errors
/// When a question cannot be answered within the limits.
pub fn blacklist(
    store: &AuditStore,
    name: &str,
    list: &str,
    robots: &RobotReport,
) -> Result<BlacklistReport, AuditError> {
    let mut stored: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    let mut interactions = 0;
    for row in store.ask("agent_visits", &[])?.rows {
        let cells = Cells(&row);
        let text = cells.text(1).unwrap_or_default();
        interactions += cells.count(2);
        stored.entry(meant(text)).or_default().push((text.to_owned(), cells.count(2)));
    }
    stored.values_mut().for_each(|texts| texts.sort());
    let people: BTreeSet<&str> = robots
        .groups
        .iter()
        .filter(|group| group.verdict.band == Band::HumanLike)
        .filter_map(|group| group.user_agent.as_deref())
        .collect();
    let lines = exact_lines(list);
    let exact: BTreeSet<String> = lines.iter().map(|(_, text)| text.clone()).collect();
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let entries: Vec<BlacklistEntry> = lines
        .into_iter()
        .map(|(line, text)| {
            let key = meant(&text);
            let found = stored.get(&key).map_or(&[][..], Vec::as_slice);
            let others =
                stored.range(key.clone()..).take_while(|(other, _)| other.starts_with(&key));
            let begins = others.filter(|(other, _)| **other != key).map(|(_, texts)| texts.len());
            let begins = begins.sum::<usize>() as u64;
            let doubles =
                Some(*first.entry(text.clone()).or_insert(line)).filter(|one| *one != line);
            BlacklistEntry { doubles, begins, ..entry(line, text, found, (&exact, &people)) }
        })
        .collect();
    // Two entries may miss the same user agent.
    let missed: BTreeMap<&str, u64> = entries
        .iter()
        .flat_map(|entry| &entry.leaks)
        .map(|leak| (leak.stored.as_str(), leak.interactions))
        .collect();
    Ok(BlacklistReport {
        leaked_interactions: missed.values().sum(),
        interactions,
        patch: patch(name, list, &entries),
        entries,
    })
}

/// What two user agents have in common when one means the other.
fn meant(text: &str) -> String {
    fold(&blanks(&unescaped(text)))
}

/// The text with single blanks.
fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn entry(
    line: usize,
    text: String,
    found: &[(String, u64)],
    (listed, people): (&BTreeSet<String>, &BTreeSet<&str>),
) -> BlacklistEntry {
    let exact = found.iter().filter(|(stored, _)| *stored == text).map(|(_, n)| n).sum();
    let leak = |(stored, interactions): &(String, u64)| Leak {
        stored: stored.clone(),
        interactions: *interactions,
        differs: differs(&text, stored),
    };
    // Another entry may have exactly what this one misses.
    let missed = found.iter().filter(|(stored, _)| !listed.contains(stored));
    let leaks: Vec<Leak> = missed.map(leak).collect();
    let has_twin = exact == 0 && leaks.is_empty() && !found.is_empty();
    let behaves = |(stored, _): &&(String, u64)| people.contains(stored.as_str());
    let people = found.iter().filter(behaves).map(|(stored, _)| stored.clone()).collect();
    BlacklistEntry { line, text, exact, leaks, people, doubles: None, begins: 0, has_twin }
}

fn differs(entry: &str, stored: &str) -> String {
    let mut differs = Vec::new();
    let plain = |text: &str| blanks(&unescaped(text));
    if plain(entry) != plain(stored) {
        differs.push("case");
    }
    if blanks(&unescaped(entry)) != unescaped(entry)
        || blanks(&unescaped(stored)) != unescaped(stored)
    {
        differs.push("blanks");
    }
    if unescaped(entry) != *entry || unescaped(stored) != *stored {
        differs.push("entity");
    }
    differs.join("+")
}

/// The list without entries that hit people or stand twice, and with what it misses. An entry that
/// works leaves nothing in the store: all others stay.
fn patch(name: &str, list: &str, entries: &[BlacklistEntry]) -> String {
    let is_xml = list.contains("<excludedUserAgents>");
    let mut changed = String::with_capacity(list.len());
    let mut added = BTreeSet::new();
    for (number, line) in (1..).zip(list.split_inclusive('\n')) {
        let Some(entry) = entries.iter().find(|entry| entry.line == number) else {
            changed.push_str(line);
            continue;
        };
        if !entry.people.is_empty() || entry.doubles.is_some() {
            continue;
        }
        changed.push_str(line);
        if !entry.leaks.is_empty() && !line.ends_with('\n') {
            changed.push('\n');
        }
        let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
        for leak in &entry.leaks {
            if added.insert(leak.stored.as_str()) {
                let text = if is_xml { escaped(&leak.stored) } else { leak.stored.clone() };
                // Writing to a string cannot fail.
                let _ = writeln!(changed, "{}{text}", indent.trim_matches(['\n', '\r']));
            }
        }
    }
    if changed == list {
        return String::new();
    }
    let diff = TextDiff::from_lines(list, &changed);
    diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
