//! From a store to the counts of its groups.

use std::collections::BTreeMap;

use culprit_query::Parameter;

use super::counts::{Gaps, GroupCounts, Network, Traffic};
use super::networks::Networks;
use crate::opened::{AuditError, AuditStore, Cells};

/// What makes a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupBy {
    /// Its user agent.
    #[default]
    UserAgent,
    /// Its user agent and the network of its address (/24, /48).
    UserAgentAndNetwork,
    /// Its contact.
    Contact,
    /// Its address.
    Address,
}

/// The key of a group: what its parts are keys of depends on [`GroupBy`].
pub(crate) type GroupKey = (Option<i64>, Option<i64>);

/// A group as it was counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gathered {
    /// Its counts.
    pub(crate) counts: GroupCounts,
    /// Its user agent, when all its interactions have the same.
    pub(crate) user_agent: Option<i64>,
}

impl GroupBy {
    /// Its name, as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserAgent => "ua",
            Self::UserAgentAndNetwork => "ua-net",
            Self::Contact => "contact",
            Self::Address => "ip",
        }
    }

    fn parameters(self) -> [(&'static str, Parameter); 4] {
        let (first, second, group_by, joined) = match self {
            Self::UserAgent => ("i.ua_id", "0", "i.ua_id", ""),
            Self::UserAgentAndNetwork => (
                "i.ua_id",
                "n.network_hash",
                "i.ua_id, n.network_hash",
                "LEFT JOIN addresses n ON n.address_id = i.address_id",
            ),
            Self::Contact => ("i.contact_id", "0", "i.contact_id", ""),
            Self::Address => ("i.address_id", "0", "i.address_id", ""),
        };
        [
            ("first_key", Parameter::Part(first)),
            ("second_key", Parameter::Part(second)),
            ("group_by", Parameter::Part(group_by)),
            ("joined", Parameter::Part(joined)),
        ]
    }
}

/// Counts the groups of a store, ordered by key.
///
/// # Errors
/// When a question cannot be answered.
pub(crate) fn gather(
    store: &AuditStore,
    by: GroupBy,
    networks: Option<(&Networks, &BTreeMap<i64, String>)>,
) -> Result<BTreeMap<GroupKey, Gathered>, AuditError> {
    let mut groups = BTreeMap::new();
    if by == GroupBy::UserAgent && store.has_sums("rollup_agents") {
        for row in store.ask("rolled_agents", &[])?.rows {
            let (key, group) = rolled(Cells(&row));
            groups.insert(key, group);
        }
    } else {
        counted(store, by, &mut groups)?;
    }
    if store.has("traffic") {
        each(store, "robot_traffic", by, &mut groups, traffic)?;
    }
    if let Some((networks, user_agents)) = networks {
        each(store, "robot_networks", by, &mut groups, |cells, group| {
            let agent = group.user_agent.and_then(|key| user_agents.get(&key));
            let network = group.counts.network.get_or_insert_default();
            compare(network, networks, agent.map(String::as_str), cells);
        })?;
    }
    Ok(groups)
}

/// Counts the groups from the rows.
fn counted(
    store: &AuditStore,
    by: GroupBy,
    groups: &mut BTreeMap<GroupKey, Gathered>,
) -> Result<(), AuditError> {
    each(store, "robot_groups", by, groups, interactions)?;
    each(store, "robot_contacts", by, groups, contacts)?;
    each(store, "robot_addresses", by, groups, |cells, group| {
        group.counts.addresses = cells.count(2);
    })?;
    each(store, "robot_gaps", by, groups, |cells, group| {
        let (count, sum, squares) = (cells.count(2), cells.float(3), cells.float(4));
        group.counts.gaps = Some(Gaps { count, sum, squares });
    })?;
    each(store, "robot_hours", by, groups, |cells, group| {
        group.counts.hours_c_ln_c = Some(cells.float(2));
    })?;
    Ok(())
}

fn each(
    store: &AuditStore,
    question: &str,
    by: GroupBy,
    groups: &mut BTreeMap<GroupKey, Gathered>,
    take: impl Fn(Cells<'_>, &mut Gathered),
) -> Result<(), AuditError> {
    for row in store.ask(question, &by.parameters())?.rows {
        let cells = Cells(&row);
        take(cells, groups.entry((cells.int(0), cells.int(1))).or_default());
    }
    Ok(())
}

/// A user agent as the store has summed it.
fn rolled(cells: Cells<'_>) -> (GroupKey, Gathered) {
    let agent = cells.int(0);
    let counts = GroupCounts {
        interactions: cells.count(1),
        single: cells.count(2),
        max_pages: cells.count(3),
        converted: cells.count(4),
        hurried: cells.count(5),
        weekend: cells.count(6),
        timed: cells.count(7),
        first_ms: cells.int(8),
        last_ms: cells.int(9),
        contacts: cells.count(10),
        returning_contacts: cells.count(11),
        busiest_contact: cells.count(12),
        known_contacts: cells.count(13),
        stored_robot: cells.count(14),
        classified: cells.count(15),
        addresses: cells.count(16),
        gaps: (cells.count(17) > 0).then(|| Gaps {
            count: cells.count(17),
            sum: cells.float(18),
            squares: cells.float(19),
        }),
        hours_c_ln_c: (cells.count(7) > 0).then(|| cells.float(20)),
        ..GroupCounts::default()
    };
    ((agent, Some(0)), Gathered { counts, user_agent: agent })
}

fn interactions(cells: Cells<'_>, group: &mut Gathered) {
    let counts = &mut group.counts;
    counts.interactions = cells.count(2);
    counts.single = cells.count(3);
    counts.max_pages = cells.count(4);
    counts.converted = cells.count(5);
    counts.hurried = cells.count(6);
    counts.weekend = cells.count(7);
    counts.timed = cells.count(8);
    counts.first_ms = cells.int(9);
    counts.last_ms = cells.int(10);
    group.user_agent = cells.int(11).filter(|least| cells.int(12) == Some(*least));
}

fn contacts(cells: Cells<'_>, group: &mut Gathered) {
    let counts = &mut group.counts;
    counts.contacts = cells.count(2);
    counts.returning_contacts = cells.count(3);
    counts.busiest_contact = cells.count(4);
    counts.known_contacts = cells.count(5);
    counts.stored_robot = cells.count(6);
    counts.classified = cells.count(7);
}

fn traffic(cells: Cells<'_>, group: &mut Gathered) {
    group.counts.traffic = Some(Traffic {
        requests: cells.count(2),
        assets: cells.count(3),
        pages: cells.count(4),
        heads: cells.count(5),
        client_errors: cells.count(6),
        robots_txt: cells.count(7),
    });
}

fn compare(found: &mut Network, networks: &Networks, agent: Option<&str>, cells: Cells<'_>) {
    let Some(address) = cells.text(2).and_then(|text| text.parse().ok()) else { return };
    let interactions = cells.count(3);
    found.compared += interactions;
    if networks.is_cloud(address) {
        found.cloud += interactions;
    }
    if agent.is_some_and(|agent| networks.verifies(address, agent)) {
        found.verified += interactions;
    }
}
