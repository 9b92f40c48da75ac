//! Views give the columns that they document, and the sums that the rest of culprit gives.

use std::collections::BTreeMap;

use culprit_engine::calls::{CallTree, Query, by_name};
use culprit_model::notation::parse;
use culprit_model::{Filter, Nanos, Time, WakeSource, Wakeup, WakeupKind};
use culprit_query::{Stop, Value, tables, views};

use crate::support::{ask, fixture, store};

#[test]
fn every_view_has_its_documented_columns() {
    let store = store(&[fixture()]);
    for view in views() {
        let sql = format!("SELECT * FROM {} LIMIT 0", view.name);
        let answer = store.ask(&sql, &Stop::default());
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", view.name));
        let found: Vec<_> = answer
            .columns()
            .iter()
            .map(|c| (c.name.as_str(), c.ty.as_str(), c.unit.as_str()))
            .collect();
        let documented: Vec<_> = view.columns.iter().map(|c| (c.name, c.ty, c.unit)).collect();
        assert_eq!(found, documented, "{}", view.name);
    }
}

#[test]
fn every_table_has_its_documented_columns() {
    let store = store(&[fixture()]);
    for table in tables() {
        let answer = store.ask(&format!("SELECT * FROM {} LIMIT 1", table.name), &Stop::default());
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", table.name));
        let found: Vec<_> = answer.columns().iter().map(|c| (&*c.name, &*c.ty, &*c.unit)).collect();
        let ty = |ty: &'static str| if ty == "word" { "text" } else { ty };
        let documented: Vec<_> =
            table.columns.iter().map(|c| (c.name, ty(c.ty), c.unit.as_str())).collect();
        assert_eq!(found, documented, "{}", table.name);
    }
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => u64::try_from(*number).unwrap(),
        Value::Unsigned(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

fn rows(sql: &str) -> Vec<Vec<Value>> {
    let mut answer = store(&[fixture()]).ask(sql, &Stop::default()).unwrap();
    let mut all = Vec::new();
    while let Some(rows) = answer.next_rows().unwrap() {
        all.extend(rows);
    }
    all
}

/// As a report adds up: within the recording, of recorded threads.
#[test]
fn thread_states_are_the_sums_of_the_intervals() {
    let recording = culprit_recording::open(fixture()).unwrap().recording;
    let mut expected: BTreeMap<(u64, String), u64> = BTreeMap::new();
    for row in &recording.intervals {
        let end = (row.start + row.duration).min(Time(recording.meta.wall.0));
        let within = end.since(row.start);
        if recording.thread(row.thread).recorded && within > Nanos::ZERO {
            let key = (u64::from(row.thread.0), row.cause.to_string());
            *expected.entry(key).or_default() += within.0;
        }
    }
    let found: BTreeMap<_, _> = rows("SELECT thread, cause, total FROM thread_states")
        .iter()
        .map(|row| ((number(&row[0]), text(&row[1])), number(&row[2])))
        .collect();
    assert!(!found.is_empty());
    assert_eq!(found, expected);
}

/// The call tree's sums by name are those of the views.
#[test]
fn functions_have_the_totals_of_the_call_tree() {
    let recording = culprit_recording::open(fixture()).unwrap().recording;
    let query = Query::compile(&Filter::default()).unwrap();
    let tree = CallTree::of(&recording, &query);
    let expected: BTreeMap<String, u64> =
        by_name(&tree).into_iter().map(|row| (row.name.to_string(), row.inc)).collect();
    let found = rows("SELECT name, total FROM top_functions");
    assert!(!found.is_empty());
    for row in found {
        assert_eq!(expected.get(&text(&row[0])), Some(&number(&row[1])), "{:?}", row[0]);
    }
}

/// A wakeup whose waking was not recorded is one of its own, also after another one's waking.
#[test]
fn a_wakeup_that_two_rows_tell_is_one() {
    let mut recording = parse(
        "tick 10ms
        app(10)/main(10)      UUllllrUllllUU
        app(10)/worker(11)    UUUUUUUUUUUUUU
        wake 6 worker > main app!put",
    )
    .unwrap();
    let (told, kind) = (recording.wakeups.clone(), |row: &Wakeup| row.kind);
    assert_eq!(told.iter().map(kind).collect::<Vec<_>>(), [WakeupKind::Waking, WakeupKind::Wakeup]);
    let by_interrupt = Wakeup {
        time: Time(120_000_000),
        kind: WakeupKind::Wakeup,
        source: WakeSource::Interrupt,
        waker: None,
        waker_stack: None,
        ..told[0]
    };
    // The waking's rows as an importer may have them: the second later than the first.
    recording.wakeups =
        vec![told[0].clone(), Wakeup { time: Time(60_020_000), ..told[1] }, by_interrupt];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.culprit");
    culprit_recording::write(&path, &recording).unwrap();
    let sql = "SELECT time, thread_name, source, waker_at FROM wakers ORDER BY time";
    let rows = ask(&store(&[path]), sql).unwrap();
    assert_eq!(
        rows[1..],
        ["60000000 | main | thread | app!put", "120000000 | main | interrupt | -"]
    );
}

#[test]
fn asking_twice_gives_the_same() {
    let store = store(&[fixture()]);
    let sql = "SELECT * FROM top_functions ORDER BY total DESC, name";
    assert_eq!(ask(&store, sql).unwrap(), ask(&store, sql).unwrap());
}
