//! R1 to R11: which signals fire for a group, and what each weighs.
//!
//! Weights are decimal logarithms of odds and add up. They are fixed and published: nothing is
//! learned. A group begins at [`PRIOR`].

use culprit_model::counted;

use super::baseline::Baseline;
use super::counts::{GroupCounts, Traffic};
use super::formulas::{
    gap_variation, hour_entropy, robot_share, share, single_page_evidence, single_page_excess,
};
use super::identity::implausible;
use super::presets::Thresholds;
use crate::lists::Votes;

/// The odds before any signal: one group in eleven is a robot's.
pub const PRIOR: f64 = -1.0;

/// Kinds of evidence that do not follow from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Lists of user agents.
    List,
    /// How many pages, and of whom. No cookie belongs here: a person who refuses cookies is a new
    /// contact with one page at each click.
    PagePattern,
    /// What a browser loads besides the page.
    BrowserWork,
    /// When.
    Rhythm,
    /// From where.
    Network,
    /// What the source itself concluded.
    StoredVerdict,
}

impl Family {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::PagePattern => "page pattern",
            Self::BrowserWork => "browser work",
            Self::Rhythm => "rhythm",
            Self::Network => "network",
            Self::StoredVerdict => "stored verdict",
        }
    }
}

/// A signal that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct Fired {
    /// `R1` to `R11`, `H1` to `H4` for signs of people.
    pub id: &'static str,
    /// Its kind of evidence; none when it cannot make a verdict certain.
    pub family: Option<Family>,
    /// What it adds to the sum.
    pub weight: f64,
    /// The numbers that it fired on.
    pub why: String,
}

/// What the page statistics say of a group.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PageEvidence {
    /// E: by distinct visitors; none without a baseline or when the group read on.
    pub by_visitors: Option<f64>,
    /// `E_visits`: by interactions.
    pub by_visits: Option<f64>,
    /// R3: the share of robots of a mixed group; none when R3 does not fire.
    pub mixed_share: Option<f64>,
}

/// Everything that the signals look at.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Its counts.
    pub counts: &'a GroupCounts,
    /// Its user agent; none for a group of several.
    pub user_agent: Option<&'a str>,
    /// What the lists say of the user agent.
    pub votes: &'a Votes,
    /// The single-page rate of people.
    pub baseline: &'a Baseline,
    /// Thresholds.
    pub thresholds: &'a Thresholds,
    /// True when its user agent, over all groups, walks through pages or asks what it may read.
    pub crawls: bool,
}

impl Group<'_> {
    /// The page statistics.
    #[must_use]
    pub fn page_evidence(&self) -> PageEvidence {
        let Some(q) = self.baseline.rate() else { return PageEvidence::default() };
        let counts = self.counts;
        if counts.max_pages <= 1 {
            return PageEvidence {
                by_visitors: single_page_evidence(counts.visitors(), q),
                by_visits: single_page_evidence(counts.interactions, q),
                mixed_share: None,
            };
        }
        let excess = single_page_excess(counts.single, counts.interactions, q).unwrap_or_default();
        let robots = robot_share(counts.single, counts.interactions, q).unwrap_or_default();
        let fires = excess >= self.thresholds.evidence && robots >= self.thresholds.mixed_share;
        PageEvidence { mixed_share: fires.then_some(robots), ..PageEvidence::default() }
    }

    /// The signals that fire, R1 first.
    #[must_use]
    pub fn signals(&self) -> Vec<Fired> {
        let all = [
            self.r1(),
            self.r2(),
            self.r3(),
            self.r4(),
            self.r5(),
            self.r6(),
            self.r7(),
            self.r8(),
            self.r9(),
            self.r10(),
            self.r11(),
        ];
        all.into_iter().flatten().chain(self.people()).collect()
    }

    fn r1(&self) -> Option<Fired> {
        let weight = match self.votes.count() {
            0 => return None,
            1 => 1.0,
            2 => 2.0,
            _ => 2.5,
        };
        fired("R1", Family::List, weight, self.votes.lists.join(", "))
    }

    fn r2(&self) -> Option<Fired> {
        let evidence = self.page_evidence();
        let (visitors, visits) = (evidence.by_visitors?, evidence.by_visits?);
        let counts = self.counts;
        let (n, m) = (counts.interactions, counts.visitors());
        let why = format!(
            "{} of {}, none with a second page: E = {visitors:.1}, by interactions {visits:.1}",
            counted(n, "interaction"),
            counted(m, "visitor")
        );
        let least = self.thresholds.evidence;
        let weight = if visitors >= least {
            2.0
        } else if visits >= least {
            // One loyal reader of one page looks the same: R5 or R6 must join.
            0.5
        } else {
            return None;
        };
        fired("R2", Family::PagePattern, weight, why)
    }

    fn r3(&self) -> Option<Fired> {
        let robots = self.page_evidence().mixed_share?;
        let why = format!(
            "{:.0} % of its interactions are more single pages than people leave",
            robots * 100.0
        );
        // The group is mixed: its share is reported, and the group itself is not called a robot.
        Some(Fired { id: "R3", family: None, weight: 0.0, why })
    }

    fn r4(&self) -> Option<Fired> {
        let counts = self.counts;
        let each = share(counts.contacts, counts.interactions);
        let limits = self.thresholds;
        let fires = counts.interactions >= limits.contacts_from && each >= limits.contacts_each;
        let why = format!("{:.1} % of its interactions have a new contact", each * 100.0);
        // A log's contact is its address with its user agent; cookies are unknown there.
        if !fires || counts.traffic.is_some() {
            return None;
        }
        fired("R4", Family::PagePattern, 0.5, why)
    }

    fn r5(&self) -> Option<Fired> {
        let (counts, limits) = (self.counts, self.thresholds);
        let gaps = counts.gaps.unwrap_or_default();
        let variation = gap_variation(gaps.count, gaps.sum, gaps.squares);
        if let Some(variation) = variation
            && gaps.count >= limits.gaps_from
            && variation < limits.gap_variation
        {
            let mean = gaps.sum / super::formulas::float(gaps.count);
            let why = format!("every {mean:.0} s, coefficient of variation {variation:.3}");
            return fired("R5", Family::Rhythm, 2.0, why);
        }
        let entropy = hour_entropy(counts.timed, counts.hours_c_ln_c?)?;
        if counts.timed < limits.hours_from || entropy <= limits.hour_entropy {
            return None;
        }
        let weekend = share(counts.weekend, counts.timed);
        let why = format!(
            "equally busy at all hours (entropy {entropy:.3}), {:.0} % on weekends",
            weekend * 100.0
        );
        fired("R5", Family::Rhythm, 1.0, why)
    }

    fn r6(&self) -> Option<Fired> {
        let (counts, limits) = (self.counts, self.thresholds);
        let Traffic { requests, assets, heads, client_errors, robots_txt, .. } = counts.traffic?;
        let asks = counts.asks_robots_txt(limits.robots_txt);
        let bare = assets == 0 && counts.interactions >= limits.assets_from;
        if !asks && !bare {
            return None;
        }
        let mut why = format!("{} in {}", counted(assets, "asset"), counted(requests, "request"));
        for (count, noun, what) in [
            (robots_txt, "interaction", " with a request for robots.txt"),
            (heads, "HEAD request", ""),
            (client_errors, "answer", " from 400 to 499"),
        ] {
            if count > 0 {
                why.push_str(&format!(", {}{what}", counted(count, noun)));
            }
        }
        fired("R6", Family::BrowserWork, if asks && bare { 2.5 } else { 1.5 }, why)
    }

    fn r7(&self) -> Option<Fired> {
        let counts = self.counts;
        if !counts.hurries() {
            return None;
        }
        let why = format!(
            "{} of {} interactions with several pages take less than 1 s a page",
            counts.hurried,
            counts.with_several_pages()
        );
        fired("R7", Family::Rhythm, 1.0, why)
    }

    fn r8(&self) -> Option<Fired> {
        let text = self.user_agent.filter(|text| !text.is_empty())?;
        let why = implausible(text, self.counts.last_ms, self.thresholds.browser_years)?;
        Some(Fired { id: "R8", family: None, weight: 0.5, why })
    }

    fn r9(&self) -> Option<Fired> {
        let network = self.counts.network?;
        let cloud = share(network.cloud, network.compared);
        let verified = share(network.verified, network.compared);
        let known = network.compared > 0;
        if known && self.votes.claims_helper() && verified == 0.0 && network.cloud > 0 {
            let why = "names a robot whose networks it does not come from".to_owned();
            return fired("R9", Family::Network, 1.5, why);
        }
        if !known || cloud < 0.9 {
            return None;
        }
        let why = format!("{:.0} % from data centres", cloud * 100.0);
        fired("R9", Family::Network, 1.0, why)
    }

    fn r10(&self) -> Option<Fired> {
        let counts = self.counts;
        if counts.busiest_contact <= self.thresholds.heavy_contact || counts.max_pages > 1 {
            return None;
        }
        let why = format!("one contact has {} interactions of one page", counts.busiest_contact);
        fired("R10", Family::PagePattern, 1.0, why)
    }

    fn r11(&self) -> Option<Fired> {
        let counts = self.counts;
        if counts.stored_robot * 2 <= counts.classified {
            return None;
        }
        let why = format!(
            "the source calls the contacts of {} of {} interactions robots",
            counts.stored_robot, counts.classified
        );
        fired("R11", Family::StoredVerdict, 1.0, why)
    }

    /// Signs of people; each weighs against a robot.
    fn people(&self) -> impl Iterator<Item = Fired> {
        let counts = self.counts;
        let several = share(
            counts.interactions - counts.single.min(counts.interactions),
            counts.interactions,
        );
        let usual = self.baseline.rate().map(|q| 1.0 - q);
        // Pages in less than a second each are not read.
        let reads = usual.is_some_and(|usual| several >= usual / 2.0) && self.r7().is_none();
        let person = |id, weight, why: String| Fired { id, family: None, weight, why };
        let loads = counts.traffic.is_some_and(|traffic| traffic.assets > traffic.pages);
        [
            reads.then(|| person("H1", -1.0, format!("{:.0} % read on", several * 100.0))),
            (counts.known_contacts > 0)
                .then(|| person("H2", -0.5, counted(counts.known_contacts, "known contact"))),
            (counts.converted > 0)
                .then(|| person("H3", -0.5, format!("{} with a goal", counts.converted))),
            loads.then(|| person("H4", -1.0, "loads what pages contain".to_owned())),
        ]
        .into_iter()
        .flatten()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "ends each signal alike")]
fn fired(id: &'static str, family: Family, weight: f64, why: String) -> Option<Fired> {
    Some(Fired { id, family: Some(family), weight, why })
}
