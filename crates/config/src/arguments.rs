//! Arguments of a program as a source of keys.

use crate::provenance::{Source, SourceKind, SourceState};
use crate::readers::{Contents, Entry, Segment};
use crate::value::Raw;

/// Keys that are given on a command line, as a source; none if there are none.
pub(crate) fn source(name: &str, pairs: Vec<(String, String)>) -> Option<(Source, Contents)> {
    let entry =
        |(key, value): (String, String)| Entry::unplaced(vec![Segment::Name(key)], Raw::new(value));
    let entries: Vec<Entry> = pairs.into_iter().map(entry).collect();
    let source = Source {
        kind: SourceKind::Arguments,
        name: name.to_owned(),
        layer: "command line".to_owned(),
        state: SourceState::Read,
        why: String::new(),
        at: None,
        sha256: None,
        bytes: 0,
        modified: None,
    };
    (!entries.is_empty()).then(|| (source, Contents { entries, ..Contents::default() }))
}

/// The keys of `--KEY=VALUE`, `--KEY VALUE`, `/KEY=VALUE`, `/KEY VALUE` and `KEY=VALUE`: the rules of
/// .NET's `CommandLineConfigurationProvider` without mappings. What has another form sets nothing.
pub(crate) fn of_switches(arguments: &[String]) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = arguments.iter();
    while let Some(one) = rest.next() {
        let long = one.strip_prefix("--").or_else(|| one.strip_prefix('/'));
        let pair = match (long, one.split_once('=')) {
            (Some(long), _) => match long.split_once('=') {
                Some((key, value)) => Some((key, value)),
                None => rest.next().map(|value| (long, value.as_str())),
            },
            (None, Some((key, value))) if !one.starts_with('-') => Some((key, value)),
            _ => None,
        };
        pairs.extend(pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_as_dotnet_reads_them() {
        let words = ["--A:B=1", "/C", "2", "D=3", "-x", "-y=4", "plain", "--E", "--F=5", "--last"];
        let arguments: Vec<String> = words.map(str::to_owned).to_vec();
        let pairs = of_switches(&arguments);
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("A:B", "1"), ("C", "2"), ("D", "3"), ("E", "--F=5")]);
    }
}
