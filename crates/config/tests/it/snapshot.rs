//! Snapshots: the same configuration after reading, one key of many, damage, comparison.

use std::fs::File;

use culprit_config::{
    Configuration, KeyChange, NotASnapshot, Redactor, Snapshot, difference, inspect,
};

use crate::support::{chain, effective, folder, profile, request, write};

const JSON: &str = r#"{
  "ConnectionStrings": { "Main": "Server=db;Database=shop;Password=hunter2" },
  "Db": { "Password": "correct-horse" },
  "Level": "Information"
}"#;

fn configuration(json: &str, redactor: &Redactor) -> Configuration {
    let folder = folder(&[
        ("appsettings.json", json),
        ("appsettings.Staging.json", "{\"Level\": \"Debug\"}"),
    ]);
    let request = request(folder.path(), &[("Level", "Error"), ("Db_Passwort", "x")]);
    inspect(&profile("dotnet"), &request, redactor.clone())
}

fn snapshot(json: &str, key: u8) -> Snapshot {
    let redactor = Redactor::new([key; 32]);
    Snapshot::new("folder `app`", &redactor, vec![configuration(json, &redactor)])
}

#[test]
fn what_is_read_is_what_was_written() {
    let written = snapshot(JSON, 7);
    let text = written.to_text().unwrap();
    for secret in ["correct", "horse", "hunter2"] {
        assert!(!text.contains(secret), "{text}");
    }
    let read = Snapshot::read(&text).unwrap();
    let (one, other) = (&written.configurations[0], &read.configurations[0]);
    assert_eq!((read.key, &read.subject), (written.key, &written.subject));
    assert_eq!(effective(one), effective(other));
    for key in ["Level", "Db:Password", "ConnectionStrings:Main"] {
        assert_eq!(chain(one, key), chain(other, key));
    }
    assert_eq!((&one.sources, &one.findings), (&other.sources, &other.findings));
    assert_eq!((&one.defines, &one.variables), (&other.defines, &other.variables));
    assert_eq!(read.to_text().unwrap(), text, "a second time gives the same bytes");
}

#[test]
fn one_key_is_found_without_the_others() {
    let text = snapshot(JSON, 7).to_text().unwrap();
    let folder = folder(&[("kept.jsonl", &text)]);
    let file = File::open(folder.path().join("kept.jsonl")).unwrap();
    for name in ["level", "Db:Password", "password", "LEVEL"] {
        let read = Snapshot::read_keys(&file, name).unwrap();
        let one = &read.configurations[0];
        let all = &Snapshot::read(&text).unwrap().configurations[0];
        let keys = |one: &Configuration| -> Vec<String> {
            one.find(name).iter().map(|found| found.key.to_string()).collect()
        };
        assert_eq!(keys(one), keys(all), "{name}");
        assert!(!keys(one).is_empty() && one.effective.len() < all.effective.len(), "{name}");
    }
    assert!(Snapshot::read_keys(&file, "none").unwrap().configurations[0].effective.is_empty());
    let damaged = text.replacen("\"op\":\"set\"", "\"op\":\"sat\"", 1);
    write(folder.path(), "damaged.jsonl", damaged.as_bytes());
    let file = File::open(folder.path().join("damaged.jsonl")).unwrap();
    let error = Snapshot::read_keys(&file, "e").unwrap_err().to_string();
    assert!(error.starts_with("line 3: `sat` is not a word"), "{error}");
}

#[test]
fn damage_is_named_by_its_line_and_quotes_nothing() {
    let text = snapshot(JSON, 7).to_text().unwrap();
    assert_eq!(Snapshot::read(""), Err(NotASnapshot::Header));
    assert_eq!(Snapshot::read("{}"), Err(NotASnapshot::Header));
    let version = text.replacen("snapshot\":1", "snapshot\":9", 1);
    assert_eq!(Snapshot::read(&version), Err(NotASnapshot::Version(9)));
    let lines: Vec<&str> = text.lines().collect();
    for (wrong, what) in [
        ("{\"of\": 0, hunter2", "line 3: malformed at column"),
        (&lines[2].replacen("\"source\":", "\"source\":99", 1), "line 3: it names a source"),
        (&lines[2].replacen("\"of\":0", "\"of\":4", 1), "line 3: it names a profile"),
        (&lines[2].replacen("\"winner\":", "\"winner\":9", 1), "line 3: it names an assignment"),
        (&lines[2].replacen("\"won\"", "\"lost\"", 1), "line 3: `lost` is not a word"),
    ] {
        let text = format!("{}\n{}\n{wrong}\n", lines[0], lines[1]);
        let error = Snapshot::read(&text).unwrap_err().to_string();
        assert!(error.starts_with(what) && !error.contains("hunter2"), "{error}");
    }
    for cut in (0..text.len()).step_by(7).filter(|cut| text.is_char_boundary(*cut)) {
        // Whatever is left opens or is refused; it does not panic.
        let _ = Snapshot::read(&text[..cut]);
    }
}

#[test]
fn two_snapshots_are_compared_also_by_their_secrets() {
    let changed = JSON.replace("correct-horse", "other-secret!").replace("shop", "shop2");
    let compare = |before: &Snapshot, after: &Snapshot| -> Vec<(String, KeyChange)> {
        let found = difference(before, after);
        found.keys.into_iter().map(|one| (one.key, one.change)).collect()
    };
    let both = ["ConnectionStrings:Main", "Db:Password"].map(str::to_owned);
    let expected = both.clone().map(|key| (key, KeyChange::Changed));
    assert_eq!(compare(&snapshot(JSON, 7), &snapshot(&changed, 7)), expected);
    assert!(compare(&snapshot(JSON, 7), &snapshot(JSON, 7)).is_empty());
    // Of other keys only the lengths say something: these two are equally long.
    let one = JSON.replace("correct-horse", "correct-mouse");
    let unknown = both.map(|key| (key, KeyChange::Unknown));
    assert_eq!(compare(&snapshot(JSON, 7), &snapshot(&one, 8)), unknown);
    let without = snapshot(JSON, 7).without_key();
    assert_eq!(compare(&without, &without), unknown);
}

#[test]
fn keys_and_profiles_of_one_side_are_named() {
    let more = JSON.replace("\"Level\"", "\"More\": 1, \"Level\"");
    let found = difference(&snapshot(JSON, 7), &snapshot(&more, 7));
    assert_eq!((found.keys[0].key.as_str(), found.keys[0].change), ("More", KeyChange::Added));
    let found = difference(&snapshot(&more, 7), &snapshot(JSON, 7));
    assert_eq!(found.keys[0].change, KeyChange::Removed);
    let none = Snapshot { configurations: Vec::new(), ..snapshot(JSON, 7) };
    assert_eq!(difference(&snapshot(JSON, 7), &none).alone, [("dotnet".to_owned(), false)]);
}
