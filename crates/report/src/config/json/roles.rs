//! `config roles --json`.

use crate::json::SCHEMA;
use culprit_config::{Combination, RoleCondition, RoleMatrix};
use serde::Serialize;

/// `config roles --json`.
#[derive(Debug, Serialize)]
pub struct ConfigRolesDocument<'a> {
    schema: u32,
    profiles: Vec<MatrixJson<'a>>,
}

#[derive(Debug, Serialize)]
struct MatrixJson<'a> {
    profile: &'a str,
    rules: Vec<RuleJson<'a>>,
    combinations: Vec<CombinationJson<'a>>,
    conditions: Vec<ConditionJson<'a>>,
}

#[derive(Debug, Serialize)]
struct RuleJson<'a> {
    name: &'a str,
    values: &'a [String],
    from: &'a str,
}

#[derive(Debug, Serialize)]
struct CombinationJson<'a> {
    rules: Vec<ValuesJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ValuesJson<'a> {
    name: &'a str,
    values: &'a [String],
}

#[derive(Debug, Serialize)]
struct ConditionJson<'a> {
    place: &'a str,
    rule: &'a str,
    text: &'a str,
    meaning: &'a str,
    now: String,
    verdict: String,
    results: Vec<String>,
}

impl<'a> ConfigRolesDocument<'a> {
    /// The document of the conditions of each profile.
    pub fn new(matrices: &'a [RoleMatrix]) -> Self {
        Self { schema: SCHEMA, profiles: matrices.iter().map(MatrixJson::from).collect() }
    }
}

impl<'a> From<&'a RoleMatrix> for MatrixJson<'a> {
    fn from(matrix: &'a RoleMatrix) -> Self {
        let rules = matrix.now.iter();
        Self {
            profile: &matrix.profile,
            rules: rules.map(|(name, values, from)| RuleJson { name, values, from }).collect(),
            combinations: matrix.combinations.iter().map(CombinationJson::from).collect(),
            conditions: matrix.conditions.iter().map(ConditionJson::from).collect(),
        }
    }
}

impl<'a> From<&'a Combination> for CombinationJson<'a> {
    fn from(one: &'a Combination) -> Self {
        let values = one.values.iter();
        Self { rules: values.map(|(name, values)| ValuesJson { name, values }).collect() }
    }
}

impl<'a> From<&'a RoleCondition> for ConditionJson<'a> {
    fn from(one: &'a RoleCondition) -> Self {
        Self {
            place: &one.place,
            rule: &one.rule,
            text: &one.text,
            meaning: &one.meaning,
            now: one.now.to_string(),
            verdict: one.verdict.to_string(),
            results: one.results.iter().map(ToString::to_string).collect(),
        }
    }
}
