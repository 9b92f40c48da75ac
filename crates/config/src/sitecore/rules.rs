//! The rules of conditions: `NAME:define` of appSettings.

use crate::framework::Settings;
use crate::ledger::Ledger;
use crate::profile::{Patches, RuleDefault};
use crate::sources::{Defined, Request};

/// The end of a key that defines a rule.
const DEFINE: &str = ":define";

/// The rules with their values, which are in lower case.
pub(super) fn rules(
    patches: &Patches,
    settings: &Settings,
    request: &Request,
    ledger: &Ledger,
) -> Vec<Defined> {
    let mut rules: Vec<Defined> = Vec::new();
    for (key, value, at) in settings.app_settings(ledger) {
        let key = key.trim().to_lowercase();
        let Some(name) = key.strip_suffix(DEFINE) else { continue };
        let from = ledger.place(at);
        rules.push(Defined { name: name.to_owned(), values: values_of(value), from });
    }
    for (name, values) in &request.defines {
        let name = name.to_lowercase();
        rules.retain(|rule| rule.name != name);
        let values = values.iter().map(|value| value.to_lowercase()).collect();
        rules.push(Defined { name, values, from: "--define".to_owned() });
    }
    for default in &patches.rules {
        normalise(default, &mut rules);
    }
    rules
}

/// `a|b,c;d` as values. A value with a blank inside is dropped, as the program does.
fn values_of(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec![String::new()];
    }
    let mut values: Vec<String> = Vec::new();
    for value in text.split(['|', ',', ';']).map(str::trim) {
        let value = value.to_lowercase();
        if !value.is_empty() && !value.contains(char::is_whitespace) && !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Gives a known rule its default and the values that its values stand for.
fn normalise(default: &RuleDefault, rules: &mut Vec<Defined>) {
    let own = |rule: &Defined| rule.name == default.name;
    let at = rules.iter().position(own).unwrap_or_else(|| {
        rules.push(Defined {
            name: default.name.clone(),
            values: Vec::new(),
            from: "default".to_owned(),
        });
        rules.len() - 1
    });
    let values = &mut rules[at].values;
    if values.iter().all(String::is_empty) {
        *values = vec![default.default.to_lowercase()];
        return;
    }
    let mut all: Vec<String> = Vec::new();
    for value in values.iter() {
        let base = value.rsplit_once('-').filter(|(base, number)| {
            default.numbered
                && !base.is_empty()
                && !number.is_empty()
                && number.chars().all(|c| c.is_ascii_digit())
        });
        all.extend(base.map(|(base, _)| base.to_owned()));
        let implied = default.implies.iter().filter(|(from, _)| from == value);
        all.extend(implied.flat_map(|(_, to)| to.clone()));
        all.push(value.clone());
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|value| seen.insert(value.clone()));
    *values = all;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_and_numbered_ones_mean_two() {
        assert_eq!(values_of("A | b;A,c d"), ["a", "b"]);
        let role = RuleDefault {
            name: "role".to_owned(),
            default: "Standalone".to_owned(),
            values: Vec::new(),
            numbered: true,
            implies: vec![("x".to_owned(), vec!["y".to_owned()])],
        };
        let of = |values: &[&str]| {
            let values = values.iter().map(|one| (*one).to_owned()).collect();
            let mut rules = vec![Defined { name: "role".to_owned(), values, from: String::new() }];
            normalise(&role, &mut rules);
            rules.remove(0).values
        };
        assert_eq!(of(&["delivery-1", "x"]), ["delivery", "delivery-1", "y", "x"]);
        assert_eq!(of(&[""]), ["standalone"]);
        let mut none = Vec::new();
        normalise(&role, &mut none);
        assert_eq!((none[0].values[0].as_str(), none[0].from.as_str()), ("standalone", "default"));
    }
}
