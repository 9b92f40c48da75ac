//! Assignments of a dialect as they are made, until all are known.
//!
//! Whether a value may be shown depends on the secrets of all others. So texts are kept here, outside
//! of the [`Assignment`]s, until [`Ledger::finish`] turns each into a value that may be shown.

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
use crate::value::{Class, Raw, Redactor, ValueRef};

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
        let raw = Raw::new(entry.value);
        self.redactor.learn(entry.key, &raw);
        self.raws.push(raw);
        self.assignments.push(Assignment {
            source: entry.source,
            key: entry.key.to_owned(),
            written: entry.written.to_owned(),
            op: entry.op,
            value: ValueRef {
                length: 0,
                class: Class::Plain,
                fingerprint: String::new(),
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

    /// The certainty of a value whose winner is in a source: nothing is certain beside a source that
    /// could not be read.
    fn certainty(&self, effective: &Effective, has_gap: bool) -> Certainty {
        let error = |at: &usize| self.assignments[*at].outcome == Outcome::Unknown;
        if has_gap || effective.chain.iter().any(error) {
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
        let has_gap = self.sources.iter().any(|source| source.state.is_gap());
        for one in &mut effective {
            one.certainty = self.certainty(one, has_gap);
        }
        effective.sort_by(|a, b| a.key.cmp(&b.key));
        for (assignment, raw) in self.assignments.iter_mut().zip(std::mem::take(&mut self.raws)) {
            let named = format!("{} {}", assignment.key, assignment.written);
            assignment.value = self.redactor.value(&named, &raw);
            assignment.key = secret::name(&assignment.key);
            assignment.written = secret::name(&assignment.written);
        }
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
