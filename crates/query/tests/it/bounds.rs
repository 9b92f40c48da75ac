//! Memory is bounded, and a question can be stopped.

use culprit_query::{Error, Limits, Stop};

use crate::support::{LIMITS, ask, ask_within, fixture, store};

#[test]
fn a_question_that_needs_more_memory_is_told_so() {
    let limits = Limits { memory_bytes: 4 << 20, ..LIMITS };
    let sql =
        "SELECT count(*) FROM (SELECT DISTINCT value * 7919 % 3000017 FROM range(0, 3000000))";
    let error = ask_within(&[fixture()], limits, sql).unwrap_err();
    assert!(matches!(&error, Error::Memory { limit_mib: 4, .. }), "{error}");
    assert!(error.is_refusal() && error.hints()[0].contains("--memory"));
    let limits = Limits { memory_bytes: 1 << 10, ..LIMITS };
    let error = ask_within(&[fixture()], limits, "SELECT * FROM intervals").unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn a_stopped_question_ends() {
    let stop = Stop::default();
    let store = store(&[fixture()]);
    let sql = "SELECT sum(a.value * b.value) FROM range(0, 1000000) a, range(0, 1000000) b";
    let pull = stop.clone();
    let puller = std::thread::spawn(move || pull.pull());
    let ended = store.ask(sql, &stop).and_then(|mut answer| answer.next_rows());
    assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
    puller.join().unwrap();
    assert!(ask(&store, "SELECT 1").is_ok());
}

#[test]
fn deep_and_long_questions_are_answered_or_refused() {
    let store = store(&[]);
    let long = format!("SELECT 1 WHERE {}", vec!["1 = 2"; 500].join(" OR "));
    assert!(ask(&store, &long).is_ok());
    let deep = format!("SELECT {}1{}", "(".repeat(3000), ")".repeat(3000));
    assert!(ask(&store, &deep).is_err());
    assert!(matches!(ask(&store, &" ".repeat(2 << 20)), Err(Error::TooLong { .. })));
}
