//! The worked questions, and files that are cut.

use culprit_query::{questions, sources};

use crate::support::{ask, fixture, store};

#[test]
fn every_worked_question_is_answered() {
    let store = store(&[fixture()]);
    let mut answered = 0;
    for question in questions() {
        assert!(question.title.ends_with('?') && question.reading.ends_with('.'), "{question:?}");
        let rows = ask(&store, question.sql);
        let rows = rows.unwrap_or_else(|error| panic!("{}: {error}", question.name));
        answered += usize::from(rows.len() > 1);
    }
    assert!(questions().len() >= 10 && answered >= 5, "{answered}");
}

#[test]
fn a_recording_cut_anywhere_is_answered_or_refused() {
    let whole = std::fs::read(fixture()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.culprit");
    for part in 0..12 {
        std::fs::write(&path, &whole[..whole.len() * part / 12]).unwrap();
        let found = sources(std::slice::from_ref(&path)).unwrap();
        assert_eq!(found[0].name, "cut");
        if culprit_recording::peek(&path).is_ok() {
            let store = store(std::slice::from_ref(&path));
            ask(&store, "SELECT cause, total FROM thread_states").unwrap();
            let lost = ask(&store, "SELECT kind FROM losses WHERE kind = 'file-damaged'").unwrap();
            assert!(lost.len() > 1, "{part}");
        }
    }
}
