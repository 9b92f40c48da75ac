//! What can be wrong with a configuration: one file a rule, each a pure function.
//!
//! A rule warns and never refuses. It names keys and places, never values. It must not cry wolf: a
//! variable of another program and an override that does its work are no findings.

mod added_not_changed;
mod bad_env_value;
mod blank_interpolation;
mod case_mismatch;
mod culture_parse;
mod duplicate_key;
mod env_file_order;
mod near_miss_group;
mod near_miss_name;
mod never_applied;
mod never_true;
mod off_load_path;
mod optional_source_failed;
mod other_value;
mod page;
mod pages;
mod shadowed;
mod start_fails;
mod target_missing;
mod text_is_true;
mod undefined_order;
mod undefined_rule;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::configuration::{ConfigFinding, Configuration};
use crate::{drift, exposure, observation};

pub use page::ConfigRuleDoc;
pub use pages::PAGES;

/// The rules: the stable identifier, and what a finding of it says.
pub const RULES: &[(&str, &str)] = &[
    (start_fails::ID, "The program does not start with a file or a value."),
    (never_applied::ID, "A variable is set, and nothing takes its value."),
    (near_miss_name::ID, "A name sets a key that nothing else knows, and is almost a known one."),
    (duplicate_key::ID, "One source sets a key twice."),
    (shadowed::ID, "A variable of the environment beats the value of a project's file."),
    (
        env_file_order::ID,
        "Two files of variables of one service set one variable, and the later wins.",
    ),
    (bad_env_value::ID, "A file of variables has a line that its reader takes in another way."),
    (case_mismatch::ID, "Two names differ only in upper and lower case, where case matters."),
    (blank_interpolation::ID, "A `${...}` stands for a variable that is not set."),
    (undefined_rule::ID, "A condition is about a rule that nothing defines."),
    (never_true::ID, "No declared combination of rules makes a condition true."),
    (added_not_changed::ID, "A patch was to change an element, and added a second one."),
    (target_missing::ID, "A patch deletes, moves or refers to what does not exist."),
    (off_load_path::ID, "A file has the form of configuration, and no load path leads to it."),
    (
        optional_source_failed::ID,
        "An optional source does not exist, and the program starts without it.",
    ),
    (
        culture_parse::ID,
        "A value has the form of a time or date, and the invariant culture does not read it so.",
    ),
    (undefined_order::ID, "Two values of equal rank set one key, and no rule says which one wins."),
    (
        text_is_true::ID,
        "A setting takes a text that means false, and the program takes every text for true.",
    ),
    (drift::DRIFT, "A variable has another value in a later place than in an earlier one."),
    (drift::WORKER_MISSES, "The main process has a variable, and a worker does not."),
    (exposure::NEWER, "A file changed after the process that reads it had started."),
    (exposure::EXPOSED, "Others can read a secret: in an image, a file or a command line."),
    (observation::NEVER_READ, "A variable is set, and no program read it while it was watched."),
    (observation::HIDDEN_KNOB, "A program asks for a variable that nothing sets."),
];

/// Variables that may be meant to set another key: the source and the name of each, and what may be meant.
pub(crate) fn nearest_names(configuration: &Configuration) -> BTreeMap<(usize, String), String> {
    let near = near_miss_name::near_misses(configuration).into_iter();
    let pair = |one: near_miss_name::NearMiss<'_>| {
        let meant = near_miss_name::meant(configuration, &one);
        ((one.slip.source, one.slip.written.to_string()), meant.to_owned())
    };
    near.map(pair).collect()
}

/// A reason as a sentence.
fn reason(why: &str) -> String {
    let end = if why.ends_with('?') { "" } else { "." };
    format!("Reason: {why}{end}")
}

/// The findings of a configuration, the worst first, then by rule and key.
pub(crate) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let rules: [fn(&Configuration) -> Vec<ConfigFinding>; 19] = [
        start_fails::find,
        never_applied::find,
        near_miss_name::find,
        duplicate_key::find,
        shadowed::find,
        env_file_order::find,
        bad_env_value::find,
        case_mismatch::find,
        blank_interpolation::find,
        undefined_rule::find,
        never_true::find,
        added_not_changed::find,
        target_missing::find,
        off_load_path::find,
        optional_source_failed::find,
        culture_parse::find,
        undefined_order::find,
        text_is_true::find,
        other_value::find,
    ];
    let mut findings: Vec<_> = rules.iter().flat_map(|rule| rule(configuration)).collect();
    near_miss_name::merge_effects(&mut findings);
    findings.sort_by(|a, b| {
        let rank = |finding: &ConfigFinding| (Reverse(finding.severity), finding.id);
        rank(a).cmp(&rank(b)).then_with(|| (&a.key, &a.evidence).cmp(&(&b.key, &b.evidence)))
    });
    findings
}
