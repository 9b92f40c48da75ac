//! Assignments of a dialect as they are made, until all are known.
//!
//! Whether a value may be shown depends on the secrets of all others. So texts are kept here, outside
//! of the [`Assignment`]s, until [`Ledger::finish`] turns each into a value that may be shown.

use culprit_model::Text;
use rayon::prelude::*;
use roxmltree::Document;

use crate::configuration::Configuration;
use crate::folder;
use crate::position::{Lines, Position};
use crate::profile::Profile;
use crate::provenance::{
    Assignment, Certainty, Condition, Effective, Op, Outcome, Source, Variable,
};
use crate::readers::{Oddity, parse_xml};
use crate::resolve::{is_stronger, lost_to};
use crate::secret;
use crate::sources::Defined;
use crate::value::{Class, Raw, Redactor, ValueFingerprint, ValueRef};

/// Fewer values than this are not worth another thread: starting one takes as long as 100 of them.
const WORTH_SHARING: usize = 10_000;

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Ledger {
    redactor: Redactor,
    /// The sources, in the order in which they are read.
    pub(crate) sources: Vec<Source>,
    /// What is odd about lines of sources.
    pub(crate) oddities: Vec<(usize, Oddity)>,
    /// The conditions that were evaluated.
    pub(crate) conditions: Vec<Condition>,
    /// The assignments, without their values.
    pub(crate) assignments: Vec<Assignment>,
    /// The value of each assignment.
    raws: Vec<Raw>,
    /// The texts that were noted last.
    recent: Recent,
    /// Variables of the environment that set or were to set something.
    pub(crate) variables: Vec<usize>,
}

/// An assignment to be noted.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    /// Its source.
    pub(crate) source: usize,
    /// The key.
    pub(crate) key: &'a str,
    /// The name as the source writes it.
    pub(crate) written: &'a str,
    /// What it does.
    pub(crate) op: Op,
    /// The value.
    pub(crate) value: &'a str,
    /// Where it stands; none in an environment.
    pub(crate) at: Option<Position>,
    /// Its condition.
    pub(crate) condition: Option<usize>,
}

impl Ledger {
    /// The document of a source's text; none if it is refused, and the source says why then.
    pub(crate) fn parsed<'t>(
        &mut self,
        source: usize,
        text: &'t str,
        lines: &Lines<'_>,
    ) -> Option<Document<'t>> {
        match parse_xml(text, lines) {
            Ok(document) => Some(document),
            Err(error) => {
                let refused = &mut self.sources[source];
                (refused.state, refused.why) = folder::refused(&error);
                None
            }
        }
    }

    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            sources: Vec::new(),
            oddities: Vec::new(),
            conditions: Vec::new(),
            assignments: Vec::new(),
            raws: Vec::new(),
            recent: Recent::default(),
            variables: Vec::new(),
        }
    }

    /// Adds a source.
    pub(crate) fn source(&mut self, source: Source) -> usize {
        self.sources.push(source);
        self.sources.len() - 1
    }

    /// Notes an assignment that counts so far.
    pub(crate) fn assign(&mut self, entry: &Entry<'_>) -> usize {
        let at = self.assign_without_key(&[entry.key], entry);
        self.assignments[at].key = Text::from(entry.key);
        at
    }

    /// The same where the key is not known yet: `names` may say that the value is secret.
    pub(crate) fn assign_without_key(&mut self, names: &[&str], entry: &Entry<'_>) -> usize {
        let raw = Raw::new(self.recent.share(entry.value));
        self.redactor.learn_named(names, &raw);
        self.raws.push(raw);
        self.assignments.push(Assignment {
            source: entry.source,
            key: Text::default(),
            written: self.recent.share(entry.written),
            op: entry.op,
            value: ValueRef {
                length: 0,
                class: Class::Plain,
                fingerprint: ValueFingerprint::default(),
                text: None,
            },
            at: entry.at,
            end_line: entry.at.map(|at| at.line),
            condition: entry.condition,
            outcome: Outcome::Won,
            superseded_by: None,
            reason: String::new(),
        });
        self.assignments.len() - 1
    }

    /// Notes an assignment that does not count.
    pub(crate) fn lost(&mut self, entry: &Entry<'_>, outcome: Outcome, reason: String) -> usize {
        let at = self.assign(entry);
        (self.assignments[at].outcome, self.assignments[at].reason) = (outcome, reason);
        at
    }

    /// Says of an assignment that another one took its place.
    pub(crate) fn supersede(&mut self, loser: usize, winner: usize) {
        let is_equal = self.raws[loser] == self.raws[winner]
            && !matches!(self.assignments[winner].op, Op::Delete | Op::DeleteAttribute);
        let place = self.place(winner);
        let by = match self.assignments[winner].op {
            Op::Delete => format!("{place} deletes its element"),
            Op::DeleteAttribute => format!("{place} deletes it"),
            Op::Instead => format!("{place} takes the place of its element"),
            _ => is_stronger(&place),
        };
        let one = &mut self.assignments[loser];
        if !matches!(one.outcome, Outcome::Won | Outcome::ConditionIgnored) {
            return;
        }
        lost_to(one, winner, by, is_equal);
    }

    /// Where an assignment stands, in words.
    pub(crate) fn place(&self, at: usize) -> String {
        let one = &self.assignments[at];
        let source = &self.sources[one.source].name;
        match one.at {
            Some(at) => format!("{source}:{}", at.line),
            None => format!("`{}` of the {source}", one.written),
        }
    }

    /// The text of an assignment, for resolution alone.
    pub(crate) fn raw(&self, at: usize) -> &str {
        self.raws[at].expose()
    }

    /// The same, shared.
    pub(crate) fn shared(&self, at: usize) -> Text {
        self.raws[at].share()
    }

    /// The certainty of a value: nothing is certain beside a source that could not be read.
    fn certainty(&self, effective: &Effective) -> Certainty {
        let error = |at: &usize| self.assignments[*at].outcome == Outcome::Unknown;
        if effective.gap.is_some() || effective.chain.iter().any(error) {
            return Certainty::Unknown;
        }
        effective.certainty
    }

    /// The configuration: values may be shown from here on.
    pub(crate) fn finish(
        mut self,
        profile: &Profile,
        defines: Vec<Defined>,
        mut effective: Vec<Effective>,
    ) -> Configuration {
        let gap = self.sources.iter().rposition(|source| source.state.is_gap());
        for one in &mut effective {
            one.gap = gap;
            one.certainty = self.certainty(one);
        }
        effective.par_sort_by(|a, b| a.key.cmp(&b.key));
        let raws = std::mem::take(&mut self.raws);
        let give = |(assignment, raw): (&mut Assignment, &Raw)| {
            let names = [assignment.key.as_str(), assignment.written.as_str()];
            assignment.value = self.redactor.value_named(&names, raw);
            assignment.key = secret::shown_name(&assignment.key);
            assignment.written = secret::shown_name(&assignment.written);
        };
        if raws.len() < WORTH_SHARING {
            self.assignments.iter_mut().zip(&raws).for_each(give);
        } else {
            self.assignments.par_iter_mut().zip(&raws).for_each(give);
        }
        drop(raws);
        let variable = |at: &usize| Variable::of(&self.assignments[*at]);
        let variables = self.variables.iter().map(variable).collect();
        Configuration {
            defines,
            variables,
            oddities: self.oddities,
            conditions: self.conditions,
            ..Configuration::from_profile(profile, self.sources, self.assignments, effective)
        }
    }
}

/// The texts that were noted last, so that a text that comes again soon is kept once: the names of
/// attributes, and the name of an element, which is the value of one attribute and names the other.
#[derive(Debug, Default)]
struct Recent {
    texts: [Text; 8],
    next: usize,
}

impl Recent {
    fn share(&mut self, text: &str) -> Text {
        if let Some(known) = self.texts.iter().find(|known| **known == *text) {
            return known.clone();
        }
        let new = Text::from(text);
        self.texts[self.next].clone_from(&new);
        self.next = (self.next + 1) % self.texts.len();
        new
    }
}
