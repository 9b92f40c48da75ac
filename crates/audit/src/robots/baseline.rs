//! The single-page rate of people, from groups that can be trusted.

use culprit_model::counted;

use super::counts::GroupCounts;
use super::formulas::share;

/// The single-page rate of trusted groups.
#[derive(Debug, Clone, PartialEq)]
pub enum Baseline {
    /// It is known.
    Rate {
        /// Share of interactions with at most one page.
        q: f64,
        /// Interactions that it is from.
        interactions: u64,
        /// Groups that they are in.
        groups: u64,
    },
    /// It cannot be known; R2 and R3 are not used.
    Undefined {
        /// Why.
        why: String,
    },
}

impl Baseline {
    /// The rate, if it is known.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Rate { q, .. } => Some(*q),
            Self::Undefined { .. } => None,
        }
    }

    /// From all groups. `trusted` says whether a group may count besides: no list names it.
    ///
    /// A group is trusted when one of its interactions has more than one page; of an access log,
    /// when it also loaded an asset.
    pub fn new<'a>(groups: impl IntoIterator<Item = (&'a GroupCounts, bool)>, least: u64) -> Self {
        let (mut single, mut interactions, mut count) = (0, 0, 0);
        for (group, trusted) in groups {
            let loads = group.traffic.is_none_or(|traffic| traffic.assets > 0);
            if trusted && loads && group.max_pages > 1 {
                single += group.single;
                interactions += group.interactions;
                count += 1;
            }
        }
        let q = share(single, interactions);
        let why = if interactions == 0 {
            "no group has an interaction with more than one page".to_owned()
        } else if interactions < least {
            format!(
                "trusted groups have only {}; it takes {least}",
                counted(interactions, "interaction")
            )
        } else if single == 0 {
            "no trusted interaction stays on one page".to_owned()
        } else {
            return Self::Rate { q, interactions, groups: count };
        };
        Self::Undefined { why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::Traffic;

    fn group(interactions: u64, single: u64, max_pages: u64) -> GroupCounts {
        GroupCounts { interactions, single, max_pages, ..GroupCounts::default() }
    }

    #[test]
    fn only_groups_that_read_on_are_trusted() {
        let (people, fleet, listed) =
            (group(1000, 700, 9), group(5000, 5000, 1), group(100, 10, 40));
        let all = [(&people, true), (&fleet, true), (&listed, false)];
        let found = Baseline::new(all, 100);
        assert_eq!(found, Baseline::Rate { q: 0.7, interactions: 1000, groups: 1 });
    }

    #[test]
    fn a_log_s_group_must_load_assets() {
        let traffic = Some(Traffic { requests: 10, ..Traffic::default() });
        let crawler = GroupCounts { traffic, ..group(1000, 100, 50) };
        assert_eq!(Baseline::new([(&crawler, true)], 100).rate(), None);
    }

    #[test]
    fn without_trusted_groups_the_rate_is_refused_with_the_reason() {
        for (group, reason) in [
            (group(5000, 5000, 1), "no group"),
            (group(99, 50, 3), "trusted groups have only 99"),
            (group(500, 0, 3), "no trusted interaction"),
        ] {
            let Baseline::Undefined { why } = Baseline::new([(&group, true)], 100) else {
                panic!("{reason}: a rate");
            };
            assert!(why.starts_with(reason), "{why}");
        }
    }
}
