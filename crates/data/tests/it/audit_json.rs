//! The documents of `audit` have the keys that docs/json.md names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::site::Site;

/// The keys of each section; a key that refers to another section has all keys below it.
pub(crate) fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sections = text.split("\n## ").skip(1).map(|section| {
        let (title, rows) = section.split_once('\n').unwrap();
        let keys = rows.lines().filter_map(|line| {
            let (key, rest) = line.strip_prefix("| `")?.split_once('`')?;
            let refers = rest.contains("](#");
            Some(if refers { format!("{key}.*") } else { key.to_owned() })
        });
        (title.to_owned(), keys.collect())
    });
    sections.collect()
}

/// Every path of a document that ends in a value.
fn paths(at: &str, value: &Value, found: &mut BTreeSet<String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| paths(&below(key), value, found));
        }
        Value::Array(values) => {
            values.iter().for_each(|value| paths(&format!("{at}[]"), value, found));
        }
        _ => {
            found.insert(at.to_owned());
        }
    }
}

fn covers(documented: &str, found: &str) -> bool {
    match documented.strip_suffix(".*") {
        // A referred shape may be null, or an element of a list.
        Some(open) => {
            found == open || found.strip_prefix(open).is_some_and(|r| r.starts_with(['.', '[']))
        }
        None => found == documented,
    }
}

/// Compares a document with a section; gives the keys of the section that it has.
pub(crate) fn compare(
    section: &str,
    document: &Value,
    sections: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<String> {
    let keys = &sections[section];
    let mut found = BTreeSet::new();
    paths("", document, &mut found);
    let unknown: Vec<_> =
        found.iter().filter(|key| !keys.iter().any(|known| covers(known, key))).collect();
    assert!(unknown.is_empty(), "docs/json.md, section {section}, lacks {unknown:?}");
    keys.iter().filter(|known| found.iter().any(|key| covers(known, key))).cloned().collect()
}

/// What no small sample has, or only the level `source`.
const ELSEWHERE: [&str; 13] = [
    "gone[]",
    "warnings[]",
    "imports[]",
    "shards_missing[]",
    "entries[].people[]",
    "leaks[]",
    "plan.target",
    "archived_rows",
    "skipped[]",
    "plan.spared",
    "findings[]",
    "entries[].leaks[]",
    "leaked[]",
];

#[test]
fn documents_of_audit_have_the_documented_keys() {
    let site = Site::empty();
    let run = |arguments: &[&str]| site.json(arguments);
    let sections = documented();
    let list = "INDEXCRAWL/1.4\nNever/0\n";
    std::fs::write(site.path("list"), list).unwrap();
    let commands: &[(&str, &[&str])] = &[
        ("audit sample", &["sample", "-o", "sample", "--interactions", "3000"]),
        ("audit import", &["import", "--from", "xdb-json", "sample/xdb-json", "-o", "store"]),
        ("audit refresh", &["refresh", "store"]),
        (
            "audit visits",
            &["visits", "store", "--place", "country=UA", "--robots", "split", "--explain"],
        ),
        ("audit robots", &["robots", "store", "--limit", "0"]),
        ("audit blacklist", &["blacklist", "store", "--list", "list"]),
        ("audit orphans", &["orphans", "store"]),
        (
            "audit bloat",
            &["bloat", "store", "--price", "0.1", "--replicas", "1", "--budget", "600"],
        ),
        ("audit report", &["report", "store", "-o", "page.html"]),
        ("audit cap", &["cap", "store", "--path", "InteractionsCache.Referrers[]", "--guards"]),
        ("audit impact", &["impact", "store"]),
        ("audit diff", &["diff", "store", "--between", "2026-06-01", "2026-06-10..2026-06-11"]),
        (
            "audit clean plan",
            &[
                "clean",
                "plan",
                "store",
                "--select",
                "verdict=certain",
                "--spare",
                "conversion",
                "-o",
                "plan",
            ],
        ),
        ("audit clean status", &["clean", "status", "plan"]),
    ];
    for (section, arguments) in commands {
        let has = compare(section, &run(arguments), &sections);
        let never: Vec<_> = sections[*section]
            .iter()
            .filter(|key| {
                !has.contains(*key) && !ELSEWHERE.iter().any(|open| key.starts_with(open))
            })
            .collect();
        assert!(never.is_empty(), "{section}: never printed: {never:?}");
    }
    let plan = run(&["clean", "show", "plan"]);
    compare("audit clean plan", &plan, &sections);
    let confirm = plan["confirm"].as_str().unwrap();
    for (action, section) in [("apply", "audit clean apply"), ("undo", "audit clean undo")] {
        compare(
            section,
            &run(&["clean", action, "plan", "--execute", "--confirm", confirm]),
            &sections,
        );
    }
}
