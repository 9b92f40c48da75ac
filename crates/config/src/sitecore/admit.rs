//! Whether an element counts: its `require` attributes.

use roxmltree::{Attribute, Node};

use super::expression::{Expression, evaluate};
use super::patch::{File, Merger, PATCH, SET};
use crate::provenance::{Condition, ConditionResult, Outcome};

/// The dialect of conditions.
pub(crate) const DIALECT: &str = "rule-require";

/// The conditions that an element is below.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context {
    /// The innermost condition: an index of the ledger's.
    pub(super) condition: Option<usize>,
    /// Whether it is about a rule that nothing defines.
    pub(super) is_ignored: bool,
}

/// Why an element does not count.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) condition: Option<usize>,
    pub(super) outcome: Outcome,
    pub(super) reason: String,
}

impl Merger<'_> {
    /// The context of an element that counts, or why it does not. Later attributes are not looked at
    /// once one is false.
    pub(super) fn admit(
        &mut self,
        file: File<'_>,
        node: Node<'_, '_>,
        mut context: Context,
    ) -> Result<Context, Refusal> {
        for attribute in node.attributes() {
            let Some(rule) = rule_of(attribute.namespace()) else { continue };
            if !matches!(attribute.name(), "require" | "r") || attribute.value().is_empty() {
                continue;
            }
            let condition = self.condition(file, &rule, attribute);
            let one = &self.ledger.conditions[condition];
            let (outcome, reason) = match one.result {
                ConditionResult::True => {
                    context = Context { condition: Some(condition), is_ignored: false };
                    continue;
                }
                ConditionResult::Ignored => {
                    context = Context { condition: Some(condition), is_ignored: true };
                    continue;
                }
                ConditionResult::False => (
                    Outcome::ConditionFalse,
                    format!("needs {rule} `{}`; {rule} is `{}`", one.text, one.inputs.1.join(", ")),
                ),
                ConditionResult::Error => (
                    Outcome::Unknown,
                    format!(
                        "its condition `{}` is malformed: the program does not start",
                        one.text
                    ),
                ),
            };
            return Err(Refusal { condition: Some(condition), outcome, reason });
        }
        Ok(context)
    }

    /// Notes a condition.
    fn condition(&mut self, file: File<'_>, rule: &str, attribute: Attribute<'_, '_>) -> usize {
        let defined = self.rules.iter().find(|one| one.name == rule);
        let values = defined.map(|one| one.values.clone()).unwrap_or_default();
        let result = match defined {
            Some(_) => evaluate(attribute.value(), &values),
            None if Expression::parse(attribute.value()).is_none() => ConditionResult::Error,
            None => ConditionResult::Ignored,
        };
        self.ledger.conditions.push(Condition {
            dialect: DIALECT,
            text: attribute.value().to_owned(),
            inputs: (rule.to_owned(), values),
            result,
            at: Some((file.source, file.lines.at(attribute.range().start))),
        });
        self.ledger.conditions.len() - 1
    }
}

/// The rule that a namespace is of.
fn rule_of(space: Option<&str>) -> Option<String> {
    let space = space.filter(|space| *space != SET)?;
    let rule = space.strip_prefix(PATCH)?.trim_end_matches('/');
    (!rule.is_empty()).then(|| rule.to_lowercase())
}
