//! A builder: as it is written, and as the program understands it.

use roxmltree::{Document, Node};

use super::section::child;
use crate::position::Lines;
use crate::profile::{BuilderClass, Builders};

/// A builder as the file writes it.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) name: String,
    /// Its line.
    pub(super) line: u32,
    attributes: Vec<(String, String)>,
}

/// What a builder does with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It replaces the values of keys that are there.
    Strict,
    /// It takes all values with the prefix.
    Greedy,
    /// It replaces `${name}` in keys and values.
    Token,
}

impl Mode {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Greedy => "Greedy",
            Self::Token => "Token",
        }
    }
}

/// Whether a builder is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enabled {
    /// It is, and the program starts without its source.
    Optional,
    /// It is, and the program needs its source.
    Required,
    /// It is not.
    Disabled,
}

/// A builder as the program understands it.
#[derive(Debug, Clone)]
pub(super) struct Builder {
    pub(super) name: String,
    pub(super) mode: Mode,
    pub(super) prefix: String,
    pub(super) strip: bool,
    pub(super) enabled: Enabled,
    /// What is replaced in names, in this order.
    pub(super) char_map: Vec<(String, String)>,
    /// Whether its rules are assumed.
    pub(super) assumed: bool,
    /// The major version of its rules.
    pub(super) version: u32,
}

impl Written {
    /// All builders of a file.
    pub(super) fn all(document: &Document<'_>, lines: &Lines<'_>) -> Vec<Self> {
        let Some(list) = child(document, &["configBuilders", "builders"]) else {
            return Vec::new();
        };
        let written = |node: Node<'_, '_>| {
            let attributes =
                node.attributes().map(|one| (one.name().to_owned(), one.value().to_owned()));
            Some(Self {
                name: node.attribute("name")?.to_owned(),
                line: lines.line(node.range().start),
                attributes: attributes.collect(),
            })
        };
        list.children().filter(|node| node.has_tag_name("add")).filter_map(written).collect()
    }

    /// An attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The class, without its assembly.
    pub(super) fn class(&self) -> &str {
        self.get("type").unwrap_or_default().split(',').next().unwrap_or_default().trim()
    }

    /// The major version that the type names.
    fn version(&self) -> Option<u32> {
        let parts = self.get("type").unwrap_or_default().split(',');
        let version = parts.filter_map(|part| part.trim().strip_prefix("Version=")).next()?;
        version.split('.').next()?.parse().ok()
    }

    /// Whether it replaces tokens in sections of every kind, as versions 1 and 2 could.
    pub(super) fn expands_any_section(&self) -> bool {
        self.get("mode").is_some_and(|mode| mode.eq_ignore_ascii_case("expand"))
    }

    /// The class of the profile that it is of; none: it reads another source than the environment.
    pub(super) fn known<'a>(&self, rules: &'a Builders) -> Option<&'a BuilderClass> {
        let fits = |class: &&BuilderClass| match class.name.strip_suffix('*') {
            Some(start) => self.class().starts_with(start),
            None => self.class() == class.name,
        };
        rules.classes.iter().find(fits)
    }

    /// What the program makes of it. `lookup` gives values of appSettings for `${...}` in attributes.
    ///
    /// The error says why the program does not start.
    pub(super) fn understand(
        &self,
        rules: &Builders,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Builder, String> {
        let version = self.version().unwrap_or(rules.version);
        let class = self.known(rules);
        // Version 1 takes attributes as they are.
        let get = |name: &str| {
            let text = self.get(name)?;
            Some(if version < 2 { text.to_owned() } else { expand(text, lookup).0 })
        };
        let flag = |name: &str| match get(name) {
            None => Ok(None),
            Some(text) if text.trim().eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(text) if text.trim().eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(_) => Err(format!("`{name}` of the builder `{}` is no truth value", self.name)),
        };
        let mode = self.mode(version, get("mode").as_deref())?;
        if self.get("tokenPattern").is_some() && mode == Mode::Token {
            return Err(format!("Culprit does not follow `tokenPattern` of `{}`", self.name));
        }
        let char_map = match class.and_then(|class| class.char_map.as_ref()) {
            Some(map) => char_map(map)?,
            None if version >= 3 => {
                let mut map = char_map(&get("charMap").unwrap_or_default())?;
                if !map.iter().any(|(from, _)| from == ":") {
                    map.push((":".to_owned(), "__".to_owned()));
                }
                map
            }
            None if flag("mapHierarchySeparator")? == Some(true) => {
                vec![(":".to_owned(), "__".to_owned())]
            }
            None => Vec::new(),
        };
        Ok(Builder {
            name: self.name.clone(),
            mode,
            prefix: get("prefix").unwrap_or_default(),
            strip: flag("stripPrefix")?.unwrap_or(false),
            enabled: self.enabled(get("enabled").as_deref(), flag("optional")?)?,
            char_map,
            assumed: class.is_some_and(|class| class.assumed),
            version,
        })
    }

    fn mode(&self, version: u32, mode: Option<&str>) -> Result<Mode, String> {
        match mode.map(str::to_lowercase).as_deref() {
            None | Some("strict") => Ok(Mode::Strict),
            Some("greedy") => Ok(Mode::Greedy),
            Some("token") if version >= 3 => Ok(Mode::Token),
            Some("expand") if version < 3 => Ok(Mode::Token),
            Some(_) => {
                Err(format!("version {version} of the builder `{}` has no such mode", self.name))
            }
        }
    }

    fn enabled(&self, enabled: Option<&str>, optional: Option<bool>) -> Result<Enabled, String> {
        match (enabled.map(str::to_lowercase).as_deref(), optional) {
            (Some("disabled" | "false"), _) => Ok(Enabled::Disabled),
            (Some("enabled" | "true"), _) | (None, Some(false)) => Ok(Enabled::Required),
            (Some("optional"), _) | (None, _) => Ok(Enabled::Optional),
            _ => Err(format!("`enabled` of the builder `{}` has no such value", self.name)),
        }
    }
}

impl Builder {
    /// The name that it asks for; none if it asks for no value of this key.
    pub(super) fn asks_for(&self, key: &str) -> Option<String> {
        if key.is_empty() || !self.strip && !starts_with(key, &self.prefix) {
            return None;
        }
        Some(self.map(&self.source_name(key)))
    }

    /// The name that belongs to a key, before characters are replaced.
    pub(super) fn source_name(&self, key: &str) -> String {
        if self.strip { format!("{}{key}", self.prefix) } else { key.to_owned() }
    }

    /// A name with its characters replaced.
    pub(super) fn map(&self, name: &str) -> String {
        self.char_map.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
    }

    /// The key that a variable would set; none without the prefix.
    pub(super) fn key_of(&self, name: &str) -> Option<String> {
        let prefixes = [self.prefix.clone(), self.map(&self.prefix)];
        let prefix = prefixes.iter().find(|prefix| starts_with(name, prefix))?;
        Some(if self.strip { name[prefix.len()..].to_owned() } else { name.to_owned() })
    }
}

/// Whether a text starts with another, in any case.
pub(super) fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// `a=b,c=d`. `,,` and `==` stand for the character itself.
///
/// The original marks the doubled character with `0` while it splits, so that a `0` of the map becomes
/// that character, too.
fn char_map(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut map = Vec::new();
    for pair in text.replace(",,", "0").split(',').filter(|pair| !pair.is_empty()) {
        let pair = pair.replace('0', ",").replace("==", "0");
        let pair = pair.trim_start_matches('=');
        let (from, to) = pair
            .split_once('=')
            .filter(|(from, to)| !from.is_empty() && !to.is_empty())
            .ok_or_else(|| "`charMap` is no list of `from=to`".to_owned())?;
        map.push((from.replace('0', "="), to.replace('0', "=")));
    }
    Ok(map)
}

/// `${name}` replaced where there is a value: the default pattern `\$\{(\w[\w-_$@#+,.:~]*)\}`. Also the
/// names that were replaced.
pub(super) fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> (String, Vec<String>) {
    let (mut expanded, mut names) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let is_part = |c: char| c.is_alphanumeric() || "_-$@#+,.:~".contains(c);
        let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
        let name = &after[..end];
        let is_token = after[end..].starts_with('}')
            && name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let Some(value) = lookup(name).filter(|_| is_token) else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        names.push(name.to_owned());
        expanded.push_str(&value);
        rest = &after[end + 1..];
    }
    expanded.push_str(rest);
    (expanded, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_characters_are_read_as_the_original_does() {
        let map = |text: &str| char_map(text).unwrap();
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(map("@=a,$=S"), [pair("@", "a"), pair("$", "S")]);
        assert_eq!(map(",,=a"), [pair(",", "a")]);
        assert_eq!(map("a==b=c"), [pair("a=b", "c")]);
        // The mark of the original: a zero stands for a comma.
        assert_eq!(map("0=a"), [pair(",", "a")]);
        assert!(char_map("ab").is_err());
    }

    #[test]
    fn tokens_without_a_value_stay() {
        let lookup = |name: &str| (name == "a:b").then(|| "1".to_owned());
        assert_eq!(
            expand("x${a:b}y${c}${", &lookup),
            ("x1y${c}${".to_owned(), vec!["a:b".to_owned()])
        );
        assert_eq!(expand("${-a}", &|_| Some("1".to_owned())).0, "${-a}");
    }
}
