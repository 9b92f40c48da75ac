//! Constants of code that are literals: `const string Section = "Mail"`.
//!
//! A constant is known by its name and the type that has it. One with two values is not known.

/// What stands before a constant, besides its type.
const SIGNS: &[&str] = &["const ", "static final ", "static readonly ", "const val "];
/// What stands before the name of a type.
const TYPES: &[&str] = &["class ", "record ", "interface ", "object ", "struct ", "enum "];

/// A constant with the file and the type that have it.
struct Constant {
    file: usize,
    owner: String,
    name: String,
    value: String,
}

/// The constants of all files.
pub(super) struct Constants(Vec<Constant>);

impl Constants {
    /// Those of texts without comments.
    pub(super) fn new(texts: &[String]) -> Self {
        let mut all = Vec::new();
        for (file, text) in texts.iter().enumerate() {
            let mut owner = String::new();
            for line in text.lines() {
                for (at, part) in parts(line) {
                    match part {
                        Part::Owner(name) => owner = name.to_owned(),
                        Part::Sign => {
                            let found = value(&line[at..]);
                            all.extend(found.map(|(name, value)| Constant {
                                file,
                                owner: owner.clone(),
                                name: name.to_owned(),
                                value: value.to_owned(),
                            }));
                        }
                    }
                }
            }
        }
        Self(all)
    }

    /// The value of the constant at the start of a text, which is an argument, and the text behind it.
    pub(super) fn at<'c, 't: 'c>(
        &'c self,
        file: usize,
        text: &'t str,
    ) -> Option<(&'c str, &'t str)> {
        if let Some(rest) = text.strip_prefix("nameof(") {
            let end = rest.find(')')?;
            let name = rest[..end].rsplit('.').next()?;
            return Some((name, &rest[end + 1..]));
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let end = text.find(|c: char| !is_part(c))?;
        let (path, rest) = text.split_at(end);
        if !rest.starts_with([')', ',']) {
            return None;
        }
        let (owner, name) = match path.rsplit_once('.') {
            Some((owner, name)) => (owner.rsplit('.').next(), name),
            None => (None, path),
        };
        let fits = |one: &&Constant| {
            one.name == name && owner.map_or(one.file == file, |owner| one.owner == owner)
        };
        let mut values = self.0.iter().filter(fits).map(|one| one.value.as_str());
        let first = values.next()?;
        values.all(|other| other == first).then_some((first, rest))
    }
}

/// Whether an argument at the start of a text has the form of a constant: `Keys.Mail`, `PREFIX`.
pub(super) fn is_constant(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'));
    let (path, rest) = text.split_at(end.unwrap_or(text.len()));
    path.starts_with(char::is_uppercase) && rest.starts_with([')', ','])
}

/// A part of a line that matters here.
enum Part<'a> {
    /// The name of a type.
    Owner(&'a str),
    /// A constant follows.
    Sign,
}

/// The types and constants of a line, in their order.
fn parts(line: &str) -> Vec<(usize, Part<'_>)> {
    let is_word = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for word in TYPES {
        for (at, _) in line.match_indices(word).filter(|(at, _)| is_word(*at)) {
            let rest = line[at + word.len()..].trim_start();
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push((at, Part::Owner(&rest[..end])));
        }
    }
    for word in SIGNS {
        let signs = line.match_indices(word).filter(|(at, _)| is_word(*at));
        found.extend(signs.map(|(at, _)| (at + word.len(), Part::Sign)));
    }
    found.sort_by_key(|(at, _)| *at);
    found
}

/// `string NAME = "VALUE"`: the name and the value.
fn value(text: &str) -> Option<(&str, &str)> {
    let (before, after) = text.split_once('=')?;
    let before = before.split(':').next().unwrap_or_default();
    let name = before.split_whitespace().next_back()?;
    let (value, rest) = after.trim_start().strip_prefix('"')?.split_once('"')?;
    let is_whole = !rest.trim_start().starts_with('+') && !value.contains(['\\', '$']);
    is_whole.then_some((name, value))
}
