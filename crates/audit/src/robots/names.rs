//! What groups are called: the contact, address or network that their keys stand for.

use std::collections::BTreeMap;

use culprit_query::Parameter;

use super::gather::GroupBy;
use super::report::{RobotGroup, RobotReport};
use crate::opened::{AuditError, AuditStore, Cells};

/// Keys in one question at most: a list of a million is slower to parse than to answer.
const KEYS: usize = 5000;

type Names = BTreeMap<i64, String>;

impl RobotReport {
    /// The names of some of its groups, in their order: the GUID of a contact; an address, or the
    /// hash that the store has instead; the network of a user agent. None for groups by user agent,
    /// and where the source has none.
    ///
    /// # Errors
    /// When the names cannot be read.
    pub fn names(
        &self,
        store: &AuditStore,
        groups: &[&RobotGroup],
    ) -> Result<Vec<Option<String>>, AuditError> {
        let key = |group: &RobotGroup| match self.by {
            GroupBy::UserAgentAndNetwork => group.key.1,
            _ => group.key.0,
        };
        let keys: Vec<i64> = groups.iter().filter_map(|group| key(group)).collect();
        let names = match self.by {
            GroupBy::UserAgent => Names::new(),
            GroupBy::UserAgentAndNetwork => networks(store)?,
            GroupBy::Contact => asked(store, "contact_names", &keys, contact)?,
            GroupBy::Address => asked(store, "address_names", &keys, address)?,
        };
        Ok(groups.iter().map(|group| names.get(&key(group)?).cloned()).collect())
    }
}

fn asked(
    store: &AuditStore,
    question: &str,
    keys: &[i64],
    name: fn(Cells<'_>) -> Option<String>,
) -> Result<Names, AuditError> {
    let mut names = Names::new();
    for keys in keys.chunks(KEYS) {
        let rows = store.ask(question, &[("keys", Parameter::Ints(keys.to_vec()))])?.rows;
        names.extend(rows.iter().filter_map(|row| {
            let cells = Cells(row);
            Some((cells.int(0)?, name(cells)?))
        }));
    }
    Ok(names)
}

fn contact(cells: Cells<'_>) -> Option<String> {
    let (high, low) = (cells.hash(1)?, cells.hash(2)?);
    let [a, b, c] = [high >> 32, high >> 16 & 0xffff, high & 0xffff];
    Some(format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff))
}

fn address(cells: Cells<'_>) -> Option<String> {
    let hash = || Some(format!("hash {:016x}", cells.hash(2)?));
    cells.text(1).map(str::to_owned).or_else(hash)
}

fn networks(store: &AuditStore) -> Result<Names, AuditError> {
    let rows = store.ask("network_names", &[])?.rows;
    let named = rows.iter().filter_map(|row| {
        let cells = Cells(row);
        let hash = || Some(format!("hash {:016x}", cells.hash(0)?));
        Some((cells.int(0)?, cells.text(1).map(str::to_owned).or_else(hash)?))
    });
    Ok(named.collect())
}
