//! What all lists together say of a user agent.

use std::collections::BTreeSet;

use super::PatternList;

/// Categories of server-side programs: what they send are events, not visits.
const LIBRARY: &str = "http-library";
/// Categories of robots that a site wants.
const HELPERS: [&str; 4] = ["search-engine", "social-preview", "monitoring", "feed-reader"];

/// The lists of one run.
#[derive(Debug)]
pub struct ListSet {
    lists: Vec<PatternList>,
    allowed: Vec<PatternList>,
}

/// What the lists say of a user agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Votes {
    /// The lists that have it, by name, in the order of the run.
    pub lists: Vec<String>,
    /// Categories that they give it.
    pub tags: BTreeSet<String>,
    /// The allow list's entry that exempts it.
    pub allowed_by: Option<String>,
}

impl Votes {
    /// How many lists have it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lists.len()
    }

    /// True for a program that sends requests of other programs, such as `curl`.
    #[must_use]
    pub fn is_library(&self) -> bool {
        self.tags.contains(LIBRARY)
    }

    /// True for a kind of robot that sites want; whether it is the one it claims to be is another
    /// question.
    #[must_use]
    pub fn claims_helper(&self) -> bool {
        HELPERS.iter().any(|tag| self.tags.contains(*tag))
    }
}

impl ListSet {
    /// Robots by `lists`; whatever `allowed` has is exempt.
    #[must_use]
    pub fn new(lists: Vec<PatternList>, allowed: Vec<PatternList>) -> Self {
        Self { lists, allowed }
    }

    /// The lists of robots.
    #[must_use]
    pub fn lists(&self) -> &[PatternList] {
        &self.lists
    }

    /// What the lists say.
    #[must_use]
    pub fn votes(&self, user_agent: &str) -> Votes {
        let mut votes = Votes::default();
        for list in self.lists.iter().filter(|list| list.is_match(user_agent)) {
            votes.lists.push(list.name.clone());
            let entries = list.find(user_agent).map(|found| found.entries).unwrap_or_default();
            votes.tags.extend(entries.into_iter().flat_map(|entry| entry.tags.iter().cloned()));
        }
        let allowed = self.allowed.iter().find_map(|list| list.find(user_agent));
        votes.allowed_by =
            allowed.and_then(|found| found.entries.first().map(|entry| entry.text.clone()));
        votes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lists::{parse_list, stock_lists};

    fn all() -> ListSet {
        ListSet::new(stock_lists(), vec![parse_list("own", "^Our-Monitor/\n").0])
    }

    #[test]
    fn case_does_not_change_a_vote() {
        let set = all();
        for text in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/120.0.0.0 Safari/537.36",
            "Yandex",
            "YandexSearchBrowser",
            "curl/8.1",
            "python-requests/2.31",
            "Our-Monitor/3",
            "Mozilla/5.0 (Linux; Android 9; CUBOT) ",
            "",
            "  ",
            "ÜberBot/1 İ ß",
        ] {
            let votes = set.votes(text);
            assert_eq!(votes, set.votes(&text.to_lowercase()), "{text}");
            assert_eq!(votes, set.votes(&text.to_uppercase()), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn case_does_not_change_the_vote_of_any_text(text in "[ -~ßİς]{0,80}") {
            thread_local!(static ALL: ListSet = all());
            ALL.with(|set| {
                let votes = set.votes(&text);
                prop_assert_eq!(&votes, &set.votes(&text.to_lowercase()));
                prop_assert_eq!(&votes, &set.votes(&text.to_uppercase()));
                Ok(())
            })?;
        }
    }

    #[test]
    fn categories_and_exemptions_are_kept() {
        let set = all();
        let google = set.votes("Mozilla/5.0 (compatible; Googlebot/2.1)");
        assert!(google.count() == 3 && google.claims_helper(), "{google:?}");
        assert!(set.votes("curl/8.1.2").is_library());
        assert_eq!(set.votes("our-monitor/3").allowed_by.as_deref(), Some("^Our-Monitor/"));
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0";
        assert_eq!(set.votes(firefox), Votes::default());
    }
}
