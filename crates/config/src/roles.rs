//! Conditions under every declared combination of rules: never true, always true, undefined.
//!
//! A condition is about one rule, such as `role` or `env`. Whether it can be true at all is decided over
//! every set of its words that the rule can have, because a rule can have several values at once. The
//! columns of the matrix are the declared values, one combination each.

use std::collections::BTreeSet;

use culprit_model::labels;

use crate::configuration::Configuration;
use crate::profile::Profile;
use crate::provenance::{Condition, ConditionResult};
use crate::{condition, sitecore};

labels! {
    /// What becomes of a condition over all declared combinations.
    Verdict ("verdict of a condition") {
        /// No combination makes it true.
        NeverTrue = "never_true",
        /// Every combination makes it true.
        AlwaysTrue = "always_true",
        /// It depends on the combination.
        Varies = "varies",
        /// Nothing defines its rule, so that it is ignored.
        Undefined = "undefined",
        /// The program refuses it.
        Malformed = "malformed",
    }
}

/// Values of every rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    /// Each rule with its values.
    pub values: Vec<(String, Vec<String>)>,
}

/// A condition with what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleCondition {
    /// Where it stands: `SOURCE:LINE`, or the first source that it guards.
    pub place: String,
    /// The rule that it is about.
    pub rule: String,
    /// Its text, as written.
    pub text: String,
    /// How it is understood, with all parentheses; empty if that adds nothing.
    pub meaning: String,
    /// What it is now.
    pub now: ConditionResult,
    /// What it is over all sets of its words.
    pub verdict: Verdict,
    /// What it is in each combination, in their order.
    pub results: Vec<ConditionResult>,
}

/// The conditions of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleMatrix {
    /// The profile's name.
    pub profile: String,
    /// What the rules are now.
    pub now: Vec<(String, Vec<String>, String)>,
    /// The columns.
    pub combinations: Vec<Combination>,
    /// The rows, in the order of the sources.
    pub conditions: Vec<RoleCondition>,
}

/// More columns help nobody.
const MOST_COMBINATIONS: usize = 256;
/// Sets of more words than this are not tried: there would be too many.
const MOST_WORDS: usize = 12;

/// Evaluates the conditions of a configuration. `declare`: values of rules instead of those that the
/// profile declares; `A+B` is a value that means both.
///
/// # Errors
/// When the values have too many combinations; the text says how many.
pub fn roles(
    configuration: &Configuration,
    profile: &Profile,
    declare: &[(String, Vec<String>)],
) -> Result<RoleMatrix, String> {
    let rules: BTreeSet<&str> =
        configuration.conditions.iter().map(|one| one.inputs.0.as_str()).collect();
    let declared: Vec<(String, Vec<String>)> = rules
        .iter()
        .map(|rule| ((*rule).to_owned(), columns_of(configuration, profile, declare, rule)))
        .collect();
    let count = declared.iter().map(|(_, values)| values.len().max(1)).product::<usize>();
    if count > MOST_COMBINATIONS {
        return Err(format!("the declared values have {count} combinations"));
    }
    let combinations = combinations(&declared);
    let now = configuration.defines.iter();
    let conditions = configuration.conditions.iter().enumerate().map(|(at, one)| {
        let results = combinations.iter().map(|columns| result(one, columns)).collect();
        RoleCondition {
            place: place(configuration, at),
            rule: one.inputs.0.clone(),
            text: one.text.clone(),
            meaning: meaning(one),
            now: one.result,
            verdict: verdict(one, &allowed(profile, declare, one)),
            results,
        }
    });
    Ok(RoleMatrix {
        profile: configuration.profile.clone(),
        now: now.map(|one| (one.name.clone(), one.values.clone(), one.from.clone())).collect(),
        conditions: conditions.collect(),
        combinations,
    })
}

/// The conditions that no declared combination makes true: indexes of the configuration's.
pub(crate) fn never_true(configuration: &Configuration, profile: &Profile) -> Vec<usize> {
    let conditions = configuration.conditions.iter().enumerate();
    conditions
        .filter(|(_, one)| verdict(one, &allowed(profile, &[], one)) == Verdict::NeverTrue)
        .map(|(at, _)| at)
        .collect()
}

/// Values that a rule can have, in lower case; none: any.
fn allowed(
    profile: &Profile,
    declare: &[(String, Vec<String>)],
    one: &Condition,
) -> Option<Vec<String>> {
    let rule = &one.inputs.0;
    let of = |values: &[String]| -> Vec<String> {
        let values = values.iter().flat_map(|value| value.split('+'));
        // What is defined now is a value, too.
        values.map(str::to_lowercase).chain(one.inputs.1.iter().cloned()).collect()
    };
    if let Some((_, values)) = declare.iter().find(|(name, _)| name == rule) {
        return Some(of(values));
    }
    let mut declared = profile.patches.iter().flat_map(sitecore::declared);
    let (_, values) = declared.find(|(name, _)| name == rule)?;
    (!values.is_empty()).then(|| of(values))
}

/// The words of a condition, in lower case where case does not matter.
fn words(one: &Condition) -> Vec<String> {
    if one.dialect == sitecore::DIALECT {
        return sitecore::Expression::parse(&one.text).map(|one| one.words()).unwrap_or_default();
    }
    let words = one.text.split([',', '&', '|', '!', '(', ')']).map(str::trim);
    let words: BTreeSet<&str> = words.filter(|word| !word.is_empty()).collect();
    words.into_iter().map(str::to_owned).collect()
}

fn evaluate(one: &Condition, values: &[String]) -> ConditionResult {
    if one.dialect != sitecore::DIALECT {
        return condition::evaluate(&one.text, values);
    }
    match sitecore::Expression::parse(&one.text) {
        Some(expression) if expression.holds(values) => ConditionResult::True,
        Some(_) => ConditionResult::False,
        None => ConditionResult::Error,
    }
}

fn verdict(one: &Condition, allowed: &Option<Vec<String>>) -> Verdict {
    match one.result {
        ConditionResult::Ignored => return Verdict::Undefined,
        ConditionResult::Error => return Verdict::Malformed,
        _ => {}
    }
    let mut words = words(one);
    if let Some(allowed) = allowed {
        // `delivery-2` is a value of its own where `delivery` is one.
        let base = |word: &str| word.rsplit_once('-').map(|(base, _)| base.to_owned());
        words.retain(|word| {
            allowed.contains(word) || base(word).is_some_and(|base| allowed.contains(&base))
        });
    }
    if words.len() > MOST_WORDS {
        return Verdict::Varies;
    }
    let set = |bits: usize| -> Vec<String> {
        let chosen = words.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, word)| word.clone()).collect()
    };
    let results = (0..1_usize << words.len()).map(|bits| evaluate(one, &set(bits)));
    let holds: BTreeSet<bool> = results.map(|result| result == ConditionResult::True).collect();
    match (holds.contains(&true), holds.contains(&false)) {
        (true, false) => Verdict::AlwaysTrue,
        (true, true) => Verdict::Varies,
        (false, _) => Verdict::NeverTrue,
    }
}

/// The values of a rule that get a column each.
fn columns_of(
    configuration: &Configuration,
    profile: &Profile,
    declare: &[(String, Vec<String>)],
    rule: &str,
) -> Vec<String> {
    if let Some((_, values)) = declare.iter().find(|(name, _)| name == rule) {
        return values.clone();
    }
    let mut declared = profile.patches.iter().flat_map(sitecore::declared);
    if let Some((_, values)) = declared.find(|(name, values)| *name == rule && !values.is_empty()) {
        return values.to_vec();
    }
    let own = configuration.conditions.iter().filter(|one| one.inputs.0 == rule);
    let mentioned: BTreeSet<String> = own.flat_map(words).collect();
    mentioned.into_iter().collect()
}

/// Every choice of one value a rule.
fn combinations(declared: &[(String, Vec<String>)]) -> Vec<Combination> {
    let mut all = vec![Combination { values: Vec::new() }];
    for (rule, values) in declared.iter().filter(|(_, values)| !values.is_empty()) {
        let with = |one: &Combination, value: &String| {
            let mut values = one.values.clone();
            values.push((rule.clone(), value.split('+').map(str::to_owned).collect()));
            Combination { values }
        };
        all = all.iter().flat_map(|one| values.iter().map(|value| with(one, value))).collect();
    }
    all
}

fn result(one: &Condition, columns: &Combination) -> ConditionResult {
    if matches!(one.result, ConditionResult::Ignored | ConditionResult::Error) {
        return one.result;
    }
    let own = columns.values.iter().find(|(rule, _)| *rule == one.inputs.0);
    let lower = one.dialect == sitecore::DIALECT;
    let values = own.map(|(_, values)| values.as_slice()).unwrap_or_default();
    let values: Vec<String> = values
        .iter()
        .map(|value| if lower { value.to_lowercase() } else { value.clone() })
        .collect();
    evaluate(one, &values)
}

/// How a text is understood, where its words and operators leave a doubt.
fn meaning(one: &Condition) -> String {
    if one.dialect != sitecore::DIALECT {
        return String::new();
    }
    let meaning = sitecore::Expression::parse(&one.text).map(|one| one.describe());
    meaning.filter(|text| text.contains('(')).unwrap_or_default()
}

fn place(configuration: &Configuration, condition: usize) -> String {
    match configuration.conditions[condition].at {
        Some((source, at)) => format!("{}:{}", configuration.sources[source].name, at.line),
        None => {
            let mut all = configuration.assignments.iter();
            let first = all.find(|one| one.condition == Some(condition));
            first.map(|one| configuration.place(one)).unwrap_or_default()
        }
    }
}
