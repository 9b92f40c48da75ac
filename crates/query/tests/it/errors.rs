//! What is wrong with a question is said in the words of who asked it.

use culprit_query::Error;

use crate::support::{ask, fixture, store};

fn error(sql: &str) -> (String, String) {
    let error = ask(&store(&[fixture()]), sql).unwrap_err();
    (error.to_string(), error.hints().join("\n"))
}

#[test]
fn unknown_names_have_suggestions() {
    let (text, hint) = error("SELECT * FROM interval");
    assert!(
        text.contains("unknown table `interval`") && hint.contains("`intervals`"),
        "{text} {hint}"
    );
    let (text, hint) = error("SELECT i.durations FROM intervals i");
    assert!(text.contains("`durations`") && hint.contains("`duration`"), "{text} {hint}");
    let (text, hint) = error("SELECT total FROM thread_states WHERE thred = 1");
    assert!(text.contains("`thred`") && hint.contains("`thread`"), "{text} {hint}");
    let (text, _) = error("SELECT summ(duration) FROM intervals");
    assert!(text.contains("summ"), "{text}");
    let (text, hint) = error("DESCRIBE thread_stats");
    assert!(text.contains("thread_stats") && hint.contains("thread_states"), "{text} {hint}");
    let (text, _) = error("SELECT * FROM information_schema.tables");
    assert!(text.contains("unknown table"), "{text}");
}

#[test]
fn what_cannot_be_computed_says_why() {
    let (text, _) = error("SELECT 1 / 0");
    assert!(text.to_lowercase().contains("divide by zero"), "{text}");
    let (text, _) = error("SELECT sum(cause) FROM intervals");
    assert!(text.contains("cannot answer the question"), "{text}");
    let (_, hint) = error("SELECT from FROM losses");
    assert!(hint.contains("double quotes"), "{hint}");
}

#[test]
fn writing_and_files_are_refused_however_they_are_hidden() {
    let store = store(&[fixture()]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.csv");
    let copy = format!("COPY (SELECT 1) TO '{}'", file.display());
    for sql in
        [copy.as_str(), "SELECT 1 INTO x", "CREATE TABLE x AS SELECT 1", "DELETE FROM threads"]
    {
        assert!(ask(&store, sql).is_err(), "{sql}");
    }
    assert!(!file.exists());
    for sql in ["SELECT * FROM '/etc/passwd'", "SELECT * FROM read_csv('/etc/passwd')"] {
        let error = ask(&store, sql).unwrap_err();
        assert!(matches!(error, Error::UnknownTable { .. } | Error::Plan { .. }), "{error}");
    }
}

#[test]
fn plans_can_be_looked_at() {
    let store = store(&[fixture()]);
    for sql in [
        "EXPLAIN SELECT * FROM thread_states",
        "EXPLAIN ANALYZE SELECT sum(duration) FROM intervals",
    ] {
        let lines = ask(&store, sql).unwrap();
        assert!(
            lines.len() > 1 && lines.join("\n").contains("intervals")
                || lines.join("\n").contains("DataSource"),
            "{lines:?}"
        );
    }
    let tables = ask(&store, "SHOW TABLES").unwrap().join("\n");
    assert!(tables.contains("\nintervals | table") && tables.contains("\ntop_functions | view"));
    assert_eq!(ask(&store, "SHOW TABLES LIKE 'stack%'").unwrap().len(), 5);
    let columns = ask(&store, "DESCRIBE threads").unwrap();
    assert!(columns[1].starts_with("recording | text") && columns[2].starts_with("id | uint32"));
}
