//! What the guards of a plan look at, and their results.

use culprit_model::counted;

use super::guard::{Guard, GuardResult, SHARE_OF_ALL, SHARE_OF_DAY};

/// Counts of a selection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardFacts {
    /// Selected interactions of contacts that are known by name.
    pub known_interactions: u64,
    /// Selected contacts that are known by name.
    pub known_contacts: u64,
    /// Selected interactions with a goal or an outcome.
    pub converted: u64,
    /// Selected rows that are younger than the retention time.
    pub young: u64,
    /// The retention time in days.
    pub retention_days: u32,
    /// Selected interactions.
    pub selected: u64,
    /// All interactions.
    pub interactions: u64,
    /// The day with the largest selected share: its text, selected and all interactions.
    pub worst_day: Option<(String, u64, u64)>,
    /// Shards of the source.
    pub shards: u32,
    /// Shards without a row in the store.
    pub empty_shards: Vec<u32>,
}

impl GuardFacts {
    /// The guard on contacts that are known by name: their interactions, and they themselves.
    fn known_contact(&self) -> GuardResult {
        let (interactions, contacts) = (self.known_interactions, self.known_contacts);
        let rows = interactions + contacts;
        let mut why = format!("{} of contacts known by name", counted(rows, "selected row"));
        if rows > 0 {
            why.push_str(&format!(
                ": {} and {}",
                counted(interactions, "interaction"),
                counted(contacts, "contact")
            ));
        }
        GuardResult::new(Guard::KnownContact, rows == 0, why)
    }

    /// The results of the guards that a plan can check.
    pub(crate) fn results(&self) -> Vec<GuardResult> {
        let none = |guard, count: u64, noun: &str, what: &str| {
            GuardResult::new(guard, count == 0, format!("{} {what}", counted(count, noun)))
        };
        let within = |part: u64, all: u64, percent: u64| {
            u128::from(part) * 100 <= u128::from(all) * u128::from(percent)
        };
        let all = format!(
            "{} of {} interactions are selected; the limit is {SHARE_OF_ALL} %",
            self.selected, self.interactions
        );
        let (day_passed, day) = match &self.worst_day {
            None => (true, "no interaction is selected".to_owned()),
            Some((day, selected, all)) => (
                within(*selected, *all, SHARE_OF_DAY),
                format!(
                    "{selected} of {all} interactions of {day} are selected; the limit is \
                     {SHARE_OF_DAY} %"
                ),
            ),
        };
        let missing: Vec<String> = self.empty_shards.iter().map(ToString::to_string).collect();
        let shards = if missing.is_empty() {
            format!("shards with rows: {0} of {0}", self.shards)
        } else {
            format!("shards without rows: {} of {}", missing.join(", "), self.shards)
        };
        vec![
            self.known_contact(),
            none(
                Guard::Conversion,
                self.converted,
                "selected interaction",
                "with a goal or an outcome",
            ),
            none(
                Guard::Retention,
                self.young,
                "selected row",
                &format!("younger than {}", counted(self.retention_days.into(), "day")),
            ),
            GuardResult::new(
                Guard::ShareOfAll,
                within(self.selected, self.interactions, SHARE_OF_ALL),
                all,
            ),
            GuardResult::new(Guard::ShareOfDay, day_passed, day),
            GuardResult::new(Guard::MissingShard, missing.is_empty(), shards),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guard_fails_just_beyond_its_limit() {
        let facts = GuardFacts {
            selected: 30,
            interactions: 100,
            worst_day: Some(("2026-06-01".to_owned(), 5, 10)),
            shards: 2,
            ..GuardFacts::default()
        };
        assert!(facts.results().iter().all(|result| result.passed), "{:?}", facts.results());
        let beyond = GuardFacts {
            known_contacts: 1,
            converted: 1,
            young: 1,
            selected: 31,
            worst_day: Some(("2026-06-01".to_owned(), 6, 11)),
            empty_shards: vec![1],
            ..facts
        };
        assert!(beyond.results().iter().all(|result| !result.passed), "{:?}", beyond.results());
    }

    #[test]
    fn contacts_known_by_name_count_beside_their_interactions() {
        let facts =
            GuardFacts { known_interactions: 393, known_contacts: 245, ..GuardFacts::default() };
        let results = facts.results();
        let known = results.iter().find(|result| result.guard == Guard::KnownContact).unwrap();
        let expected =
            "638 selected rows of contacts known by name: 393 interactions and 245 contacts";
        assert_eq!(known.why, expected);
    }
}
