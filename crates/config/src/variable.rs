//! Variables that hold more than one value: a document, or numbered keys and values.

use crate::profile::{Counted, InVariable};
use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment, git_key, read};
use crate::sources::state_of;
use crate::value::Raw;

/// How the name of a source starts that is one variable.
pub(crate) const IN_VARIABLE: &str = "variable ";

/// A source that one variable is.
fn source(layer: &str, name: &str) -> Source {
    Source {
        kind: SourceKind::ProcessEnvironment,
        name: format!("{IN_VARIABLE}{name}"),
        layer: layer.to_owned(),
        state: SourceState::Read,
        why: String::new(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    }
}

fn value_of<'a>(variables: &'a [(String, Raw)], name: &str) -> Option<&'a Raw> {
    variables.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

/// The document that a variable holds; none if it is not set.
pub(crate) fn document(
    layer: &str,
    of: &InVariable,
    variables: &[(String, Raw)],
) -> Option<(Source, Contents)> {
    let text = value_of(variables, &of.variable)?.expose();
    if text.is_empty() {
        return None;
    }
    let mut source = source(layer, &of.variable);
    let contents = read(of.format, text.as_bytes()).unwrap_or_else(|error| {
        (source.state, source.why) = (state_of(&error), error.to_string());
        Contents::default()
    });
    Some((source, contents))
}

/// The system properties of Java among the options that a variable holds: `-Dkey=value`; none if it has none.
pub(crate) fn properties(
    layer: &str,
    name: &str,
    variables: &[(String, Raw)],
) -> Option<(Source, Contents)> {
    let options = options(value_of(variables, name)?.expose());
    let properties = options.iter().filter_map(|one| one.strip_prefix("-D"));
    let entry = |one: &str| {
        let (key, value) = one.split_once('=').unwrap_or((one, ""));
        Entry::unplaced(vec![Segment::Name(key.to_owned())], Raw::new(value))
    };
    let entries: Vec<Entry> = properties.map(entry).collect();
    let contents = Contents { entries, ..Contents::default() };
    (!contents.entries.is_empty()).then(|| (source(layer, name), contents))
}

/// The words of a text; quotes hold one together.
fn options(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// More pairs than this are a slip of the count.
const MOST: usize = 10_000;

/// The keys and values of numbered variables; none if their count is not set.
pub(crate) fn counted(
    layer: &str,
    of: &Counted,
    variables: &[(String, Raw)],
) -> Option<(Source, Contents)> {
    let text = value_of(variables, &of.count)?.expose();
    let mut source = source(layer, &of.count);
    let mut contents = Contents::default();
    let refused = |mut source: Source, why: String| {
        (source.state, source.why) = (SourceState::Unparsable, why);
        Some((source, Contents::default()))
    };
    let Some(count) = text.trim().parse().ok().filter(|count| *count <= MOST) else {
        return refused(source, "it is no number of variables".to_owned());
    };
    for number in 0..count {
        let [key, value] = [&of.key, &of.value].map(|start| format!("{start}{number}"));
        let (Some(name), Some(raw)) = (value_of(variables, &key), value_of(variables, &value))
        else {
            return refused(source, format!("`{key}` or `{value}` is not set"));
        };
        contents.entries.push(Entry::unplaced(git_key(name.expose()), raw.clone()));
    }
    source.why = format!("with `{}` and `{}`", of.key, of.value);
    Some((source, contents))
}
