//! A question of a case: a command of ours, and what its document must say.
//!
//! Some cases are no slow program but a property of places, which probes measure, or a file that is
//! made in one place and read in another. Such a case asks the program itself, by the commands that a
//! user would type, and looks at the JSON that they print.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use culprit_model::values::number;

/// A command of ours with what is expected of its document.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Other programs' commands that run before it, in the case's folder.
    #[serde(default)]
    pub before: Vec<Vec<String>>,
    /// Variables that the command is given beside those of the shell.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The command, without the program's name.
    pub command: Vec<String>,
    /// The same with less to do, for `--short`.
    pub short: Option<Vec<String>>,
    /// What must hold.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

/// What a document must say.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The same in words.
    pub says: String,
    /// A JSON pointer (RFC 6901): a list, of whose items one must fit, or a value.
    pub at: String,
    /// Members of the item and what they are; `*part*` for a part of a text.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// What an item that is a text is; `*part*` for a part of it.
    pub text: Option<String>,
    /// The member that is a number; none to ask for the item alone. With slashes, a pointer below
    /// the item; empty for the item itself.
    pub key: Option<String>,
    /// Its least value. Of an interval's lower end it says that the interval lies above it.
    pub at_least: Option<f64>,
    /// Its largest value.
    pub at_most: Option<f64>,
    /// No item may fit.
    #[serde(default)]
    pub absent: bool,
}

impl Question {
    /// What is asked, in a word or two: `bench disk`.
    pub fn subject(&self) -> String {
        let words = self.command.iter().take_while(|word| !word.starts_with('-'));
        let most = if self.command.first().is_some_and(|word| word == "bench") { 2 } else { 1 };
        words.take(most).cloned().collect::<Vec<_>>().join(" ")
    }

    /// The command as it is typed.
    pub fn line(&self) -> String {
        line(&self.command)
    }

    /// What makes no sense in it.
    pub(super) fn check(&self) -> Result<(), String> {
        self.expect.iter().try_for_each(|expectation| {
            let of = |wrong: &str| Err(format!("`{}`: {wrong}", expectation.says));
            let bounded = expectation.at_least.is_some() || expectation.at_most.is_some();
            if !expectation.at.starts_with('/') {
                return of("`at` must be a JSON pointer such as `/findings`");
            }
            match (&expectation.key, bounded, expectation.absent) {
                (Some(_), true, false) | (None, false, _) => Ok(()),
                (Some(_), false, _) => of("`key` needs `at_least` or `at_most`"),
                (None, true, _) => of("`at_least` and `at_most` need a `key`"),
                (Some(_), true, true) => of("`absent` cannot be used with `key`"),
            }
        })
    }
}

/// A command of ours as it is typed in a shell.
pub(crate) fn line(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.,:/@%+".contains(c))
    };
    let quoted = words.iter().map(|word| {
        if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    format!("culprit {}", quoted.collect::<Vec<_>>().join(" "))
}

impl Expectation {
    /// Whether a document says it, and what it says instead.
    pub(super) fn judge(&self, document: &Value) -> (bool, String) {
        let found = document.pointer(&self.at);
        let items: Vec<&Value> = match found {
            None => Vec::new(),
            Some(Value::Array(items)) => items.iter().collect(),
            Some(value) => vec![value],
        };
        let fitting: Vec<&Value> = items.into_iter().filter(|item| self.fits(item)).collect();
        let Some(key) = &self.key else {
            let held = fitting.is_empty() == self.absent;
            let told = match (held, self.absent) {
                (true, _) => String::new(),
                (false, true) => format!(": found {} in `{}`", self.wanted(), self.at),
                (false, false) => format!(": nothing in `{}` has {}", self.at, self.wanted()),
            };
            return (held, format!("{}{told}", self.says));
        };
        let pointer = if key.is_empty() { String::new() } else { format!("/{key}") };
        let values: Vec<f64> = fitting
            .iter()
            .filter_map(|item| item.pointer(&pointer).and_then(Value::as_f64))
            .collect();
        let within = |value: f64| {
            self.at_least.is_none_or(|least| value >= least)
                && self.at_most.is_none_or(|most| value <= most)
        };
        let bounds = [("at least", self.at_least), ("at most", self.at_most)];
        let bounds = bounds
            .iter()
            .filter_map(|(word, bound)| bound.map(|bound| format!("{word} {}", number(bound))));
        let bounds = bounds.collect::<Vec<_>>().join(", ");
        match values.iter().copied().find(|value| within(*value)).or(values.first().copied()) {
            Some(value) => (
                within(value),
                format!("{}: {key} is {}, expected {bounds}", self.says, number(value)),
            ),
            None => {
                (false, format!("{}: nothing in `{}` has {}", self.says, self.at, self.wanted()))
            }
        }
    }

    fn fits(&self, item: &Value) -> bool {
        let members = self.with.iter().map(|(key, wanted)| (format!("/{key}"), wanted));
        let itself = self.text.iter().map(|wanted| (String::new(), wanted));
        members.chain(itself).all(|(pointer, wanted)| {
            let text = match item.pointer(&pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => return false,
                Some(other) => other.to_string(),
            };
            let part = wanted.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'));
            part.map_or_else(|| text == *wanted, |part| text.contains(part))
        })
    }

    /// What an item must have, in words.
    fn wanted(&self) -> String {
        let pairs = self.with.iter().map(|(key, value)| format!("{key} `{value}`"));
        let keys = self.key.iter().map(|key| format!("a number {key}"));
        let text = self.text.iter().map(|text| format!("the text `{text}`"));
        let all: Vec<String> = pairs.chain(text).chain(keys).collect();
        if all.is_empty() { "anything".to_owned() } else { all.join(" and ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expectation(text: &str) -> Expectation {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn an_item_of_a_list_is_found_by_its_members_and_judged_by_a_number() {
        let document = json!({"compare": [
            {"b": "docker:@host volume", "metric": "iops", "low": 0.97, "at": {"p50": 3}},
            {"b": "docker:@host layer", "metric": "iops", "low": 0.4},
        ]});
        let asked = |with: &str, rest: &str| {
            let text = format!("says = 's'\nat = '/compare'\nwith = {{ {with} }}\n{rest}");
            expectation(&text).judge(&document)
        };
        assert!(asked("b = '*volume*', metric = 'iops'", "key = 'low'\nat_least = 0.95").0);
        assert!(asked("b = '*volume*'", "key = 'at/p50'\nat_most = 3").0);
        let (held, told) = asked("b = '*layer*'", "key = 'low'\nat_least = 0.95");
        assert!(!held && told.contains("0.4") && told.contains("at least 0.95"), "{told}");
        assert!(!asked("b = 'layer'", "key = 'low'\nat_least = 0").0, "not a part");
        assert!(asked("b = '*tmpfs*'", "absent = true").0);
        let (held, told) = asked("metric = 'iops'", "absent = true");
        assert!(!held && told.contains("metric `iops`"), "{told}");
        let (held, told) = asked("b = '*tmpfs*'", "");
        assert!(!held && told.contains("nothing in `/compare`"), "{told}");
    }

    #[test]
    fn a_single_value_is_an_item_too() {
        let document = json!({"image": {"bytes": 5, "name": "x"}, "remarks": ["a", "b c"]});
        assert!(expectation("says = 's'\nat = '/remarks'\ntext = '*c*'").judge(&document).0);
        assert!(!expectation("says = 's'\nat = '/remarks'\ntext = 'c'").judge(&document).0);
        let text = "says = 's'\nat = '/image'\nkey = 'bytes'\nat_least = 5\nat_most = 5";
        assert!(expectation(text).judge(&document).0);
        assert!(!expectation(&text.replace("/image", "/images")).judge(&document).0);
    }

    #[test]
    fn a_line_can_be_typed() {
        let words = ["bench", "disk", "--diskspd", "-b4k -w60", "it's"].map(str::to_owned);
        assert_eq!(line(&words), r"culprit bench disk --diskspd '-b4k -w60' 'it'\''s'");
    }
}
