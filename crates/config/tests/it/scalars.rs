//! Scalars of YAML give what the program makes of them: see `tests/fixtures/scalars/make.py`. What the program refuses,
//! Culprit refuses, with both places of a key that stands twice.

use culprit_config::{Configuration, Raw, SourceState, ValueFingerprint};
use serde_json::Value;

use crate::support::{chain, effective, inspected, redactor};

/// The fingerprint of the value of a key: `None` if a source could not be read, `Some(None)` if the key has none.
fn value(found: &Configuration, key: &str) -> Option<Option<ValueFingerprint>> {
    if found.has_gaps() {
        return None;
    }
    let effective = found.effective.iter().find(|one| one.key == key)?;
    Some(effective.winner.map(|at| found.assignments[at].value.fingerprint))
}

fn fingerprint(text: &str) -> Option<ValueFingerprint> {
    Some(redactor().value("", &Raw::new(text)).fingerprint)
}

#[test]
fn scalars_are_read_as_spring_and_compose_read_them() {
    let rows: Vec<[Value; 3]> =
        serde_json::from_str(include_str!("../fixtures/scalars/scalars.json")).unwrap();
    let mut different = Vec::new();
    for [scalar, spring, compose] in &rows {
        let scalar = scalar.as_str().unwrap();
        let text = format!("k: {scalar}\n");
        let found = inspected("spring", &[("application.yaml", &text)], &[]);
        let ours = value(&found, "k");
        let theirs = (!spring.is_null()).then(|| fingerprint(spring.as_str().unwrap()));
        if ours != theirs {
            different.push(format!("Spring: `{scalar}`: {:?}, not {spring}", effective(&found)));
        }
        let text = format!("services:\n  s:\n    environment:\n      K: {scalar}\n");
        let found = inspected("compose", &[("compose.yaml", &text)], &[]);
        let ours = value(&found, "s.K");
        let theirs = match compose {
            Value::Null => None,
            Value::String(text) => Some(fingerprint(text)),
            _ => Some(None),
        };
        if ours != theirs {
            different.push(format!("Compose: `{scalar}`: {:?}, not {compose}", effective(&found)));
        }
    }
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different.join("\n"));
    assert!(rows.len() >= 500, "{}", rows.len());
}

#[test]
fn a_value_that_is_no_text_says_what_it_is_taken_for() {
    let found = inspected("spring", &[("application.yaml", "a: NO\nb: 'NO'\nc: !!str NO\n")], &[]);
    assert_eq!(
        effective(&found),
        ["a=false < application.yaml:1", "b=NO < application.yaml:2", "c=NO < application.yaml:3"]
    );
    let reasons: Vec<&str> = found.assignments.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["YAML takes the text for a truth value; quotes keep the text", "", ""]);
    let compose = "services: {s: {environment: {A: 0123, B: '0123', C: 8080}}}\n";
    let found = inspected("compose", &[("compose.yaml", compose)], &[]);
    let reasons: Vec<&str> = found.assignments.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["YAML takes the text for an octal number; quotes keep the text", "", ""]);
}

#[test]
fn keys_that_are_no_texts_are_in_brackets_or_refused() {
    let found = inspected("spring", &[("application.yaml", "on: 1\nm: {0x10: 2, 1.50: 3}\n")], &[]);
    assert_eq!(
        effective(&found),
        [
            "[true]=1 < application.yaml:1",
            "m[1.5]=3 < application.yaml:2",
            "m[16]=2 < application.yaml:2"
        ]
    );
    for key in ["1", "true", "1.5", "null", "2001-01-01"] {
        let text = format!("services: {{s: {{environment: {{{key}: x}}}}}}\n");
        let found = inspected("compose", &[("compose.yaml", &text)], &[]);
        let file = found.sources.iter().find(|source| source.name == "compose.yaml").unwrap();
        assert_eq!(file.state, SourceState::Unparsable, "{key}");
    }
}

/// Why the first file was refused; empty if it was read.
fn refusal(profile: &str, file: &str, text: &str) -> String {
    let found = inspected(profile, &[(file, text)], &[]);
    let source = found.sources.iter().find(|source| source.name == file).unwrap();
    match source.state {
        SourceState::Unparsable => source.why.clone(),
        state => format!("{state}").replace("read", ""),
    }
}

#[test]
fn a_key_that_stands_twice_is_refused_where_the_program_refuses_it() {
    let twice = |line, before, program| {
        format!("{line}: repeats the key of {before}; {program} refuses the file")
    };
    let spring = |text| refusal("spring", "application.yaml", text);
    let of_spring = |line, before| twice(line, before, "Spring Boot");
    for (text, line, before) in [
        ("a: 1\nb: {c: 1,\n  c: 2}\n", "line 3, column 3", "line 2, column 5"),
        ("a: {b: 1}\n\"a\": {c: 2}\n", "line 2, column 1", "line 1, column 1"),
        ("yes: 1\ntrue: 2\n", "line 2, column 1", "line 1, column 1"),
    ] {
        assert_eq!(spring(text), of_spring(line, before), "{text}");
    }
    // Documents are mappings of their own, and SnakeYAML merges several mappings.
    for text in [
        "a: 1\n---\na: 2\n",
        "a: 1\nA: 2\n",
        "x: &x {p: 1}\ny: &y {p: 2}\nz:\n  <<: *x\n  <<: *y\n  p: 3\n",
        "true: 1\n\"true\": 2\n",
    ] {
        assert_eq!(spring(text), "", "{text}");
    }
    let compose = |text| refusal("compose", "compose.yaml", text);
    assert_eq!(
        compose("services:\n  s:\n    environment:\n      A: 1\n      A: 2\n"),
        twice("line 5, column 7", "line 4, column 7", "Compose")
    );
    let merged = "x-a: &a {P: 1}\nx-b:\n  <<: *a\n  <<: *a\nservices: {}\n";
    assert_eq!(compose(merged), twice("line 4, column 3", "line 3, column 3", "Compose"));
    assert_eq!(compose("services:\n  s:\n    environment: [A=1, A=2]\n"), "");
}

#[test]
fn net_refuses_a_key_of_json_that_stands_twice_in_any_case() {
    let of = |text| refusal("dotnet", "appsettings.json", text);
    assert_eq!(
        of("{\"Log\": {\"Level\": 1},\n \"log\": {\"level\": 2}}"),
        "line 2, column 10: repeats the key of line 1, column 10; .NET refuses the file"
    );
    assert!(of("{\"A:B\": 1, \"A\": {\"B\": 2}}").contains("repeats"));
    assert_eq!(of("{\"A\": {\"B\": 1}, \"A\": {\"C\": 2}}"), "", "groups are merged");
    // Node.js takes the later one.
    let files = [("package.json", "{}"), ("config/default.json", "{\"a\": 1, \"a\": 2}")];
    let found = inspected("node-config", &files, &[]);
    assert_eq!(effective(&found), ["a=2 < config/default.json:1"]);
    assert_eq!(chain(&found, "a").len(), 2);
}
