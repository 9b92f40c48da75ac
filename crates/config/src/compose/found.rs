//! Assignments under construction.

use crate::provenance::{Assignment, Op, Outcome};
use crate::readers::{Entry, Oddity};
use crate::secret;
use crate::value::{Raw, Redactor};

/// Assignments under construction, with the identity of each one's key.
pub(super) struct Found {
    pub(super) redactor: Redactor,
    pub(super) assignments: Vec<Assignment>,
    pub(super) keys: Vec<String>,
    pub(super) oddities: Vec<(usize, Oddity)>,
}

impl Found {
    /// Adds a candidate; `made` are the variables that its value was made from.
    pub(super) fn add(
        &mut self,
        source: usize,
        (key, name): (String, &str),
        (entry, in_environment): (&Entry, bool),
        raw: &Raw,
        made: &[(String, Raw)],
    ) -> usize {
        let op = match entry.op {
            Op::Set if !made.is_empty() => Op::TokenExpand,
            op => op,
        };
        self.keys.push(key.clone());
        self.assignments.push(Assignment {
            source,
            key: secret::name(&key).into(),
            written: secret::name(name).into(),
            op,
            value: self.redactor.made_from(name, raw, made),
            at: (!in_environment).then_some(entry.at),
            end_line: (!in_environment).then_some(entry.end_line),
            condition: None,
            outcome: Outcome::Won,
            superseded_by: None,
            reason: String::new(),
        });
        self.assignments.len() - 1
    }

    /// A name that is taken from outside and not set there takes the variable away, also where an env
    /// file sets it.
    pub(super) fn removes(&mut self, by: usize) {
        let key = self.keys[by].clone();
        for at in (0..by).filter(|at| self.keys[*at] == key) {
            let weaker = &mut self.assignments[at];
            if weaker.outcome == Outcome::Won {
                weaker.outcome = Outcome::Shadowed;
                weaker.superseded_by = Some(by);
                "the service takes the value from outside, where it is not set"
                    .clone_into(&mut weaker.reason);
            }
        }
    }

    pub(super) fn note(&mut self, at: usize, outcome: Outcome, reason: String) {
        self.assignments[at].outcome = outcome;
        self.assignments[at].reason = reason;
    }
}

/// The key of a value for `${...}`.
pub(crate) fn outside_key(name: &str) -> String {
    format!("${{{name}}}")
}
