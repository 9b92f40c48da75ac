//! The tables `rollup_agents` and `rollup_agent_hours`: what signals of robots need of the visits of each
//! user agent.
//!
//! Distinct contacts and gaps do not add up, so all visits of one user agent are looked at together: those of
//! some user agents at a time, as many as fit.

use culprit_model::{Row as _, table};

use super::is_stale;
use crate::error::Error;
use crate::import::parallel;
use crate::schema::{
    AddressKey, AgentHour, AgentRollup, ContactKey, InteractionRow, Millis, UserAgentKey, Utc,
};
use crate::store::{Draft, FilePlace, Store, StoreFile};
use crate::time::{DAY_MS, HOUR_MS};

/// Visits that are looked at together, on average: some 300 MB.
const TOGETHER: u64 = 8 << 20;
/// Files that are read at a time.
const FILES: usize = 64;
/// The key of visits without a user agent, contact or address.
const NONE: u32 = u32::MAX;
/// What the sum of squares is divided by, so that both parts of it fit into 63 bits.
const SQUARES: u128 = 1_000_000_000_000_000;
/// From this classification on, a source calls a contact a robot.
const ROBOT: i64 = 900;

table! {
    /// What the sums need of an interaction.
    VisitOfAgent in "interactions" {
        /// Whose it is.
        contact_id: ContactKey,
        /// Its start.
        start_utc: Option<Utc>,
        /// Its length.
        duration_ms: Option<Millis>,
        /// Its user agent.
        ua_id: Option<UserAgentKey>,
        /// Its address.
        address_id: Option<AddressKey>,
        /// Its page views.
        pages: u32,
        /// Its goals.
        goals: u32,
        /// Its outcomes.
        outcomes: u32,
    }
}

table! {
    /// What the sums need of a contact.
    JudgedContact in "contacts" {
        /// Its key.
        contact_id: ContactKey,
        /// Whether it is known by name.
        known: bool,
        /// What the source says of it.
        classification: Option<i64>,
        /// What overrides that.
        override_classification: Option<i64>,
    }
}

/// A visit.
#[derive(Debug, Clone, Copy)]
struct Visit {
    agent: u32,
    contact: u32,
    address: u32,
    pages: u32,
    start: Option<i64>,
    converted: bool,
    hurried: bool,
}

/// What is known of a contact, as bits.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    known: bool,
    classified: bool,
    robot: bool,
}

/// Counts anew when rows have changed.
pub(super) fn write(draft: &Draft, next: &Store) -> Result<(), Error> {
    if !is_stale::<AgentRollup>(next) {
        return Ok(());
    }
    let contacts = contacts(next)?;
    let passes = next.rows(InteractionRow::TABLE.name).div_ceil(TOGETHER).max(1);
    let (mut rows, mut hours) = (Vec::new(), Vec::new());
    for pass in 0..passes {
        let chosen = |agent: u32| u64::from(agent) % passes == pass;
        let files: Vec<&StoreFile> = next.files(VisitOfAgent::TABLE.name).collect();
        let mut visits: Vec<Visit> = Vec::new();
        for some in files.chunks(FILES) {
            let parts = parallel(some.to_vec(), |file| {
                let rows: Vec<VisitOfAgent> = next.read_file(file)?;
                Ok(rows.iter().map(visit).filter(|visit| chosen(visit.agent)).collect::<Vec<_>>())
            })?;
            parts.iter().for_each(|part| visits.extend_from_slice(part));
        }
        visits.sort_unstable_by_key(|visit| (visit.agent, visit.contact));
        let groups: Vec<&[Visit]> = visits.chunk_by(|a, b| a.agent == b.agent).collect();
        for (row, of_day) in parallel(groups, |group| Ok(sums(group, &contacts)))? {
            let hour = |(hour_of_day, interactions): (u32, &u64)| AgentHour {
                ua_id: row.ua_id,
                hour_of_day,
                interactions: *interactions,
            };
            let some = (0..).zip(&of_day).filter(|(_, count)| **count > 0);
            hours.extend(some.map(hour));
            rows.push(row);
        }
    }
    rows.sort_by_key(|row| row.ua_id);
    hours.sort_by_key(|hour| (hour.ua_id, hour.hour_of_day));
    draft.replace(&FilePlace::default(), &rows)?;
    draft.replace(&FilePlace::default(), &hours)
}

fn contacts(next: &Store) -> Result<Vec<Facts>, Error> {
    let mut all: Vec<Facts> = Vec::new();
    for file in next.files(JudgedContact::TABLE.name) {
        for row in next.read_file::<JudgedContact>(file)? {
            let at = usize::try_from(row.contact_id.0).unwrap_or(0);
            if at >= all.len() {
                all.resize(at + 1, Facts::default());
            }
            let verdict = row.override_classification.or(row.classification);
            let robot = verdict.is_some_and(|verdict| verdict >= ROBOT);
            all[at] = Facts { known: row.known, classified: verdict.is_some(), robot };
        }
    }
    Ok(all)
}

fn visit(row: &VisitOfAgent) -> Visit {
    let quick = |ms: u64| ms < 1000 * u64::from(row.pages.saturating_sub(1));
    Visit {
        agent: row.ua_id.map_or(NONE, |agent| agent.0),
        contact: u32::try_from(row.contact_id.0).unwrap_or(NONE),
        address: row.address_id.map_or(NONE, |one| u32::try_from(one.0).unwrap_or(NONE)),
        pages: row.pages,
        start: row.start_utc.map(|time| time.0),
        converted: row.goals > 0 || row.outcomes > 0,
        hurried: row.pages > 1 && row.duration_ms.is_some_and(|time| quick(time.0)),
    }
}

/// The sums of the visits of one user agent, which are ordered by contact, and how many began in each hour.
fn sums(visits: &[Visit], contacts: &[Facts]) -> (AgentRollup, [u64; 24]) {
    let agent = visits.first().map_or(NONE, |visit| visit.agent);
    let mut sum = AgentRollup {
        ua_id: (agent != NONE).then_some(UserAgentKey(agent)),
        interactions: visits.len() as u64,
        ..AgentRollup::default()
    };
    for visit in visits {
        sum.single += u64::from(visit.pages <= 1);
        sum.max_pages = sum.max_pages.max(visit.pages);
        sum.converted += u64::from(visit.converted);
        sum.hurried += u64::from(visit.hurried);
    }
    for of_one in visits.chunk_by(|a, b| a.contact == b.contact) {
        let count = of_one.len() as u64;
        let at = of_one.first().map_or(NONE, |visit| visit.contact) as usize;
        let facts = contacts.get(at).copied().unwrap_or_default();
        sum.contacts += 1;
        sum.returning_contacts += u64::from(count > 1);
        sum.busiest_contact = sum.busiest_contact.max(count);
        sum.known_contacts += u64::from(facts.known);
        sum.stored_robot += if facts.robot { count } else { 0 };
        sum.classified += if facts.classified { count } else { 0 };
    }
    let mut addresses: Vec<u32> =
        visits.iter().map(|visit| visit.address).filter(|address| *address != NONE).collect();
    addresses.sort_unstable();
    addresses.dedup();
    sum.addresses = addresses.len() as u64;
    let hours = rhythm(visits.iter().filter_map(|visit| visit.start).collect(), &mut sum);
    (sum, hours)
}

/// What depends on when the visits began. How many began in each hour of the day.
fn rhythm(mut starts: Vec<i64>, sum: &mut AgentRollup) -> [u64; 24] {
    starts.sort_unstable();
    sum.timed = starts.len() as u64;
    sum.first_utc = starts.first().copied().map(Utc);
    sum.last_utc = starts.last().copied().map(Utc);
    let mut hours = [0_u64; 24];
    for start in &starts {
        // 1970-01-01 was a Thursday: with 4 added, Sundays are 0 and Saturdays 6.
        let weekday = (start.div_euclid(DAY_MS) + 4).rem_euclid(7);
        sum.weekend += u64::from(weekday == 0 || weekday == 6);
        let hour = start.div_euclid(HOUR_MS).rem_euclid(24);
        hours[usize::try_from(hour).unwrap_or(0)] += 1;
    }
    let mut squares = 0_u128;
    for pair in starts.windows(2) {
        let gap = pair[0].abs_diff(pair[1]);
        sum.gaps += 1;
        sum.gap_ms += gap;
        squares += u128::from(gap) * u128::from(gap);
    }
    let part = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    sum.gap_squares_high = part(squares / SQUARES);
    sum.gap_squares_low = part(squares % SQUARES);
    hours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit_at(contact: u32, start: i64, pages: u32) -> Visit {
        Visit {
            agent: 3,
            contact,
            address: contact % 2,
            pages,
            start: Some(start),
            converted: false,
            hurried: pages > 2,
        }
    }

    #[test]
    fn visits_of_an_agent_are_summed() {
        // A Thursday at 0:00, 1:00 and 1:00, and a Saturday.
        let visits = [
            visit_at(1, 0, 1),
            visit_at(1, HOUR_MS, 3),
            visit_at(2, HOUR_MS, 1),
            visit_at(4, 2 * DAY_MS, 0),
        ];
        let facts = [Facts::default(), Facts { known: true, classified: true, robot: true }];
        let (sum, hours) = sums(&visits, &facts);
        let counts = [sum.interactions, sum.single, sum.hurried, sum.weekend, sum.timed];
        assert_eq!(counts, [4, 3, 1, 1, 4]);
        let people = [sum.contacts, sum.returning_contacts, sum.busiest_contact, sum.addresses];
        assert_eq!(people, [3, 1, 2, 2]);
        assert_eq!([sum.known_contacts, sum.stored_robot, sum.classified], [1, 2, 2]);
        assert_eq!((sum.max_pages, sum.gaps), (3, 3));
        assert_eq!(sum.gap_ms, 2 * DAY_MS.unsigned_abs());
        // 1 and 47 hours: 12,960,000,000,000 and 28,628,640,000,000,000 ms2.
        assert_eq!([sum.gap_squares_high, sum.gap_squares_low], [28, 641_600_000_000_000]);
        assert_eq!((hours[0], hours[1], hours.iter().sum::<u64>()), (2, 2, 4));
        assert_eq!(sum.ua_id, Some(UserAgentKey(3)));
    }
}
