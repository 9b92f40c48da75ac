//! What is true of a sample: what questions about it must answer.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ContactState;
use super::robots::Visitor;
use super::visit::{Visit, offset_ms};
use crate::time::{DAY_MS, put_date};

/// Sums of one place and one day of its own time zone.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PlaceDay {
    /// Visits of people and servers.
    pub visits: u64,
    /// Their page views.
    pub pages: u64,
    /// Visits of robots.
    pub robot_visits: u64,
    /// Their page views.
    pub robot_pages: u64,
}

/// Rows and bytes of a file.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FileTruth {
    /// Rows, broken ones not among them.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Values of one facet.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FacetTruth {
    /// Facets.
    pub values: u64,
    /// Bytes of their text in UTF-8.
    pub bytes: u64,
    /// Bytes of the largest.
    pub max_bytes: u64,
}

/// One program that is no person.
#[derive(Debug, Clone, Serialize)]
pub struct RobotTruth {
    /// What it is.
    pub visitor: Visitor,
    /// Its visits.
    pub visits: u64,
}

/// Everything that is known of a sample; `truth.json`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Truth {
    /// The seed that it was made from.
    pub seed: u64,
    /// All visits.
    pub visits: u64,
    /// Visits by who made them.
    pub visits_by_visitor: BTreeMap<Visitor, u64>,
    /// Page views.
    pub pages: u64,
    /// Visits of people with one page.
    pub single_page_people: u64,
    /// Goals.
    pub goals: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Contacts, with and without interactions, with and without a row.
    pub contacts: u64,
    /// Contacts without interactions.
    pub contacts_without_interactions: u64,
    /// Contacts with a known identifier.
    pub known_contacts: u64,
    /// Contacts that have interactions, but no row of their own.
    pub contacts_without_row: u64,
    /// Interactions of these contacts.
    pub interactions_without_contact: u64,
    /// Facets of these contacts.
    pub facets_without_contact: u64,
    /// Contacts whose stored number of interactions is wrong.
    pub contacts_with_wrong_total: u64,
    /// Bytes of the longest referrer.
    pub longest_referrer_bytes: u64,
    /// Lines that are broken, in each kind of file.
    pub malformed: u64,
    /// Robots and servers by user agent.
    pub robots: BTreeMap<String, RobotTruth>,
    /// Entries of the blacklist that miss their robot by case alone.
    pub leaked: Vec<String>,
    /// By facet, when an xDB is exported.
    pub facets: BTreeMap<String, FacetTruth>,
    /// By file.
    pub files: BTreeMap<String, FileTruth>,
    /// By `COUNTRY POSTAL`, then by day of the place's own time zone.
    pub places: BTreeMap<String, BTreeMap<String, PlaceDay>>,
}

impl Truth {
    /// Counts a visit.
    pub(crate) fn visit(&mut self, visit: &Visit) {
        let pages = visit.views.len() as u64;
        self.visits += 1;
        self.pages += pages;
        self.goals += u64::from(visit.goal);
        self.outcomes += u64::from(visit.outcome);
        *self.visits_by_visitor.entry(visit.visitor).or_default() += 1;
        self.single_page_people += u64::from(visit.visitor == Visitor::Human && pages == 1);
        self.longest_referrer_bytes = self.longest_referrer_bytes.max(visit.referrer.len() as u64);
        if visit.visitor != Visitor::Human {
            let agent = visit.person.user_agent.clone();
            let robot = self.robots.entry(agent);
            robot.or_insert(RobotTruth { visitor: visit.visitor, visits: 0 }).visits += 1;
        }
        let city = visit.person.city;
        let local = visit.start + offset_ms(&city.zone, visit.start);
        let mut day = Vec::new();
        put_date(&mut day, local.div_euclid(DAY_MS) * DAY_MS);
        let place = format!("{} {}", city.country, visit.person.postal);
        let day = String::from_utf8(day).unwrap_or_default();
        let sums = self.places.entry(place).or_default().entry(day).or_default();
        if visit.visitor.is_robot() {
            sums.robot_visits += 1;
            sums.robot_pages += pages;
        } else {
            sums.visits += 1;
            sums.pages += pages;
        }
    }

    /// Counts a contact.
    pub(crate) fn contact(&mut self, state: &ContactState, known: bool, missing: bool) {
        self.contacts += 1;
        if missing {
            self.contacts_without_row += 1;
            self.interactions_without_contact += u64::from(state.interactions);
        }
        self.contacts_without_interactions += u64::from(state.interactions == 0);
        self.known_contacts += u64::from(known);
    }

    /// Counts a facet.
    pub(crate) fn facet(&mut self, name: &str, bytes: usize) {
        let facet = self.facets.entry(name.to_owned()).or_default();
        facet.values += 1;
        facet.bytes += bytes as u64;
        facet.max_bytes = facet.max_bytes.max(bytes as u64);
    }

    /// Notes a file.
    pub(crate) fn file(&mut self, name: &str, rows: u64, bytes: u64) {
        self.files.insert(name.to_owned(), FileTruth { rows, bytes });
    }
}
