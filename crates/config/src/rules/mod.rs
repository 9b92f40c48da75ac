//! What can be wrong with a configuration: one file a rule, each a pure function.
//!
//! A rule warns and never refuses. It names keys and places, never values. It must not cry wolf: a
//! variable of another program and an override that does its work are no findings.

mod bad_env_value;
mod blank_interpolation;
mod case_mismatch;
mod duplicate_key;
mod near_miss_name;
mod never_applied;
mod shadowed;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::configuration::{ConfigFinding, Configuration};
use crate::observation;

/// The rules: the stable identifier, and what a finding of it says.
pub const RULES: &[(&str, &str)] = &[
    (never_applied::ID, "A variable is set, and nothing takes its value."),
    (near_miss_name::ID, "A name sets a key that nothing else knows, and is almost a known one."),
    (duplicate_key::ID, "One source sets a key twice."),
    (shadowed::ID, "A variable of the environment beats the value of a project's file."),
    (bad_env_value::ID, "A file of variables has a line that its reader takes in another way."),
    (case_mismatch::ID, "Two names differ only in upper and lower case, where case matters."),
    (blank_interpolation::ID, "A `${...}` stands for a variable that is not set."),
    (observation::NEVER_READ, "A variable is set, and no program read it while it was watched."),
    (observation::HIDDEN_KNOB, "A program asks for a variable that nothing sets."),
];

/// Variables that may be meant to set another key: the key that each sets, and the one that may be meant.
pub(crate) fn nearest_keys(configuration: &Configuration) -> BTreeMap<String, String> {
    let near = near_miss_name::near_misses(configuration).into_iter();
    near.map(|(one, known)| (one.key.clone(), known.key.clone())).collect()
}

/// The findings of a configuration, the worst first, then by rule and key.
pub(crate) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let rules: [fn(&Configuration) -> Vec<ConfigFinding>; 7] = [
        never_applied::find,
        near_miss_name::find,
        duplicate_key::find,
        shadowed::find,
        bad_env_value::find,
        case_mismatch::find,
        blank_interpolation::find,
    ];
    let mut findings: Vec<_> = rules.iter().flat_map(|rule| rule(configuration)).collect();
    findings.sort_by(|a, b| {
        let rank = |finding: &ConfigFinding| (Reverse(finding.severity), finding.id);
        rank(a).cmp(&rank(b)).then_with(|| (&a.key, &a.evidence).cmp(&(&b.key, &b.evidence)))
    });
    findings
}
