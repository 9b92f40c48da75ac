//! The verdicts on all groups of a store.

use std::collections::{BTreeMap, BTreeSet};

use super::baseline::Baseline;
use super::counts::GroupCounts;
use super::formulas::{chance_hits, float};
use super::gather::{Gathered, GroupBy, GroupKey, gather};
use super::networks::Networks;
use super::presets::{Preset, Thresholds};
use super::signals::Group;
use super::verdict::{Band, Verdict, judge};
use crate::lists::{ListSet, Votes};
use crate::opened::{AuditError, AuditStore, Cells};

/// What to judge by.
#[derive(Debug)]
pub struct RobotOptions<'a> {
    /// What makes a group.
    pub by: GroupBy,
    /// How strict.
    pub preset: Preset,
    /// Lists of robots and of what is allowed.
    pub lists: &'a ListSet,
    /// Networks; R9 is not used without them.
    pub networks: Option<&'a Networks>,
}

/// A group and the verdict on it.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotGroup {
    /// The keys that it was grouped by.
    pub(crate) key: (Option<i64>, Option<i64>),
    /// Its user agent; none for a group of several, or when the source has none.
    pub user_agent: Option<String>,
    /// Its counts.
    pub counts: GroupCounts,
    /// What the lists say of its user agent.
    pub votes: Votes,
    /// The verdict.
    pub verdict: Verdict,
}

/// Sums of the groups of one band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BandSum {
    /// Groups.
    pub groups: u64,
    /// Their interactions.
    pub interactions: u64,
}

/// The verdicts on a store.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotReport {
    /// What makes a group.
    pub by: GroupBy,
    /// How strict.
    pub preset: Preset,
    /// The thresholds in use.
    pub thresholds: Thresholds,
    /// Name and version of each list.
    pub lists: Vec<(String, String)>,
    /// The single-page rate of people.
    pub baseline: Baseline,
    /// The groups, the one with the most interactions first.
    pub groups: Vec<RobotGroup>,
    /// All interactions.
    pub interactions: u64,
    /// Sums by band, in the order of [`Band::ALL`].
    pub bands: Vec<(Band, BandSum)>,
    /// Interactions in mixed groups that R3 ascribes to robots.
    pub mixed_interactions: f64,
    /// Groups that pass the threshold of R2 by chance alone.
    pub chance_hits: f64,
}

impl RobotReport {
    /// Interactions of robots: those of groups that are robots by the preset, and robots' shares of
    /// mixed groups.
    #[must_use]
    pub fn robot_interactions(&self) -> f64 {
        let robots = self.bands.iter().filter(|(band, _)| band.is_robot(self.preset));
        float(robots.map(|(_, sum)| sum.interactions).sum()) + self.mixed_interactions
    }

    /// Keys of the user agents that are robots by the preset; for verdicts by user agent.
    #[must_use]
    pub fn robot_agents(&self) -> Vec<i64> {
        let robots = self.groups.iter().filter(|group| group.verdict.band.is_robot(self.preset));
        let mut keys: Vec<i64> = robots.filter_map(|group| group.key.0).collect();
        keys.sort_unstable();
        keys
    }

    /// Interactions without a user agent: no list finds a robot in them. None for groups whose keys are
    /// no user agents.
    #[must_use]
    pub fn without_user_agent(&self) -> Option<u64> {
        if !matches!(self.by, GroupBy::UserAgent | GroupBy::UserAgentAndNetwork) {
            return None;
        }
        let groups = self.groups.iter().filter(|group| group.key.0.is_none());
        Some(groups.map(|group| group.counts.interactions).sum())
    }

    /// Their share of all interactions, 0 to 1.
    #[must_use]
    pub fn robot_share(&self) -> f64 {
        if self.interactions == 0 {
            0.0
        } else {
            self.robot_interactions() / float(self.interactions)
        }
    }
}

/// Judges all groups of a store.
///
/// # Errors
/// When a question cannot be answered within the limits.
pub fn robots(store: &AuditStore, options: &RobotOptions<'_>) -> Result<RobotReport, AuditError> {
    let user_agents = user_agents(store)?;
    let networks = options.networks.map(|networks| (networks, &user_agents));
    let gathered = gather(store, options.by, networks)?;
    let thresholds = options.preset.thresholds();
    let votes = votes(&gathered, &user_agents, options.lists);
    let none = Votes::default();
    let of = |group: &Gathered| group.user_agent.and_then(|key| votes.get(&key)).unwrap_or(&none);
    let trusted = |group: &Gathered| {
        let votes = of(group);
        votes.count() == 0 && votes.allowed_by.is_none()
    };
    let crawlers = crawlers(store, options.by, &gathered, &thresholds)?;
    let all = gathered.values().map(|group| (&group.counts, trusted(group)));
    let baseline = Baseline::new(all, thresholds.baseline_from);
    let judged = gathered.iter().map(|(key, group)| {
        let user_agent = group.user_agent.and_then(|key| user_agents.get(&key));
        let verdict = judge(
            &Group {
                counts: &group.counts,
                user_agent: user_agent.map(String::as_str),
                votes: of(group),
                baseline: &baseline,
                thresholds: &thresholds,
                crawls: group.user_agent.is_some_and(|key| crawlers.contains(&key)),
            },
            options.preset,
        );
        RobotGroup {
            key: *key,
            user_agent: user_agent.cloned(),
            counts: group.counts.clone(),
            votes: of(group).clone(),
            verdict,
        }
    });
    let groups: Vec<RobotGroup> = judged.collect();
    Ok(summed(options, thresholds, baseline, groups))
}

/// Keys of the user agents that walk through pages or ask what they may read. It is asked of all interactions of a
/// user agent, because a single contact or address of a crawler may have too few to show it.
fn crawlers(
    store: &AuditStore,
    by: GroupBy,
    gathered: &BTreeMap<GroupKey, Gathered>,
    thresholds: &Thresholds,
) -> Result<BTreeSet<i64>, AuditError> {
    let crawls = |group: &Gathered| group.counts.crawls(thresholds.robots_txt);
    let among = |groups: &BTreeMap<GroupKey, Gathered>| {
        groups.values().filter(|group| crawls(group)).filter_map(|group| group.user_agent).collect()
    };
    if by == GroupBy::UserAgent {
        Ok(among(gathered))
    } else {
        Ok(among(&gather(store, GroupBy::UserAgent, None)?))
    }
}

fn summed(
    options: &RobotOptions<'_>,
    thresholds: Thresholds,
    baseline: Baseline,
    mut groups: Vec<RobotGroup>,
) -> RobotReport {
    let sum = |band: Band| {
        groups.iter().filter(|group| group.verdict.band == band).fold(
            BandSum::default(),
            |sum, group| BandSum {
                groups: sum.groups + 1,
                interactions: sum.interactions + group.counts.interactions,
            },
        )
    };
    let bands = Band::ALL.iter().map(|band| (*band, sum(*band))).collect();
    let mixed = groups.iter().filter(|group| !group.verdict.band.is_robot(options.preset));
    let mixed = mixed.filter(|group| group.verdict.band != Band::Exempt).filter_map(|group| {
        Some(group.verdict.pages.mixed_share? * float(group.counts.interactions))
    });
    let mixed_interactions = if options.preset == Preset::Classic { 0.0 } else { mixed.sum() };
    let interactions = groups.iter().map(|group| group.counts.interactions).sum();
    // Robots are what was asked for.
    let is_robot = |group: &RobotGroup| group.verdict.band.is_robot(options.preset);
    groups.sort_by(|a, b| {
        let first = |group| (is_robot(group), group.counts.interactions);
        first(b).cmp(&first(a)).then_with(|| (&a.user_agent, a.key).cmp(&(&b.user_agent, b.key)))
    });
    let lists = options.lists.lists().iter();
    RobotReport {
        by: options.by,
        preset: options.preset,
        thresholds,
        lists: lists.map(|list| (list.name.clone(), list.version.clone())).collect(),
        baseline,
        chance_hits: chance_hits(groups.len() as u64, thresholds.evidence),
        groups,
        interactions,
        bands,
        mixed_interactions,
    }
}

/// The texts of all user agents by key.
fn user_agents(store: &AuditStore) -> Result<BTreeMap<i64, String>, AuditError> {
    let rows = store.ask("user_agents", &[])?.rows;
    let pair = |row: &Vec<culprit_query::Value>| {
        let cells = Cells(row);
        Some((cells.int(0)?, cells.text(1)?.to_owned()))
    };
    Ok(rows.iter().filter_map(pair).collect())
}

/// What the lists say of each user agent, once for each.
fn votes(
    groups: &BTreeMap<GroupKey, Gathered>,
    user_agents: &BTreeMap<i64, String>,
    lists: &ListSet,
) -> BTreeMap<i64, Votes> {
    let mut votes = BTreeMap::new();
    for key in groups.values().filter_map(|group| group.user_agent) {
        if let Some(text) = user_agents.get(&key) {
            votes.entry(key).or_insert_with(|| lists.votes(text));
        }
    }
    votes
}
