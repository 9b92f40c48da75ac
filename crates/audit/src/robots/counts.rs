//! What is counted of a group of interactions.

use super::formulas::share;

/// A group of interactions: one user agent, one contact, one address.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupCounts {
    /// Interactions.
    pub interactions: u64,
    /// Interactions with at most one page.
    pub single: u64,
    /// Pages of the longest interaction.
    pub max_pages: u64,
    /// Distinct contacts.
    pub contacts: u64,
    /// Contacts with more than one interaction in the group.
    pub returning_contacts: u64,
    /// Interactions of the busiest contact.
    pub busiest_contact: u64,
    /// Contacts of whom the source knows who they are.
    pub known_contacts: u64,
    /// Interactions of contacts that the source itself calls a robot (classification 900 and more).
    pub stored_robot: u64,
    /// Interactions of contacts that have a stored classification.
    pub classified: u64,
    /// Distinct addresses; 0 when the source has none.
    pub addresses: u64,
    /// Interactions with a goal or an outcome.
    pub converted: u64,
    /// Interactions with several pages and less than a second for each.
    pub hurried: u64,
    /// Interactions on Saturdays and Sundays (UTC).
    pub weekend: u64,
    /// Interactions with a start.
    pub timed: u64,
    /// Start of the first one in milliseconds since 1970.
    pub first_ms: Option<i64>,
    /// Start of the last one.
    pub last_ms: Option<i64>,
    /// Gaps between starts.
    pub gaps: Option<Gaps>,
    /// The sum of `c ln c` over the hours of the day, `c` the interactions in each.
    pub hours_c_ln_c: Option<f64>,
    /// What access logs know.
    pub traffic: Option<Traffic>,
    /// Where the addresses are, when a file of networks was given.
    pub network: Option<Network>,
}

/// Gaps between the starts of consecutive interactions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Gaps {
    /// How many.
    pub count: u64,
    /// Their sum in seconds.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

/// Requests of an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Requests.
    pub requests: u64,
    /// Requests for images, styles, scripts, fonts, media.
    pub assets: u64,
    /// Page views.
    pub pages: u64,
    /// Requests with the method HEAD.
    pub heads: u64,
    /// Answers with a status from 400 to 499.
    pub client_errors: u64,
    /// Interactions that fetched `/robots.txt`.
    pub robots_txt: u64,
}

/// Interactions by what a file of networks says of their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Network {
    /// From a data centre.
    pub cloud: u64,
    /// From a network of the robot that the user agent names.
    pub verified: u64,
    /// With an address that was compared.
    pub compared: u64,
}

impl GroupCounts {
    /// Independent visitors: distinct contacts, or distinct addresses where these are fewer. A
    /// robot without cookies is a new contact each time, and still one address.
    #[must_use]
    pub fn visitors(&self) -> u64 {
        match (self.contacts, self.addresses) {
            (contacts, 0) => contacts,
            (0, addresses) => addresses,
            (contacts, addresses) => contacts.min(addresses),
        }
    }

    /// True when most interactions with several pages take less than a second a page.
    #[must_use]
    pub fn hurries(&self) -> bool {
        /// Interactions that make a habit; fewer may be reloads.
        const LEAST: u64 = 5;
        self.hurried >= LEAST && self.hurried * 2 > self.with_several_pages()
    }

    /// Interactions with more than one page.
    #[must_use]
    pub fn with_several_pages(&self) -> u64 {
        self.interactions.saturating_sub(self.single)
    }

    /// True when more than this share of its interactions fetch `/robots.txt`.
    #[must_use]
    pub fn asks_robots_txt(&self, least: f64) -> bool {
        let asked = self.traffic.map_or(0, |traffic| traffic.robots_txt);
        share(asked, self.interactions) > least
    }

    /// True when it behaves like a program that fetches pages one after the other: it hurries, or more than
    /// this share of its interactions fetch `/robots.txt`.
    #[must_use]
    pub fn crawls(&self, robots_txt: f64) -> bool {
        self.hurries() || self.asks_robots_txt(robots_txt)
    }

    /// Days from the first to the last interaction.
    #[must_use]
    pub fn days(&self) -> u64 {
        const DAY_MS: u64 = 86_400_000;
        match (self.first_ms, self.last_ms) {
            (Some(first), Some(last)) => last.abs_diff(first) / DAY_MS,
            _ => 0,
        }
    }
}
