//! The levels `label` and `store`, and what plans of all levels share.

use culprit_audit::Store;
use culprit_audit::schema::DayRollup;
use serde_json::Value;

use super::{Site, failed, files};

fn visits(site: &Site, more: &[&str]) -> Value {
    let report = site.json(&[&["impact", "store"], more].concat());
    report["before"]["visits"].clone()
}

/// The rows of all tables of a store, as bytes of its files by table.
fn table_bytes(site: &Site) -> Vec<(String, Vec<u8>)> {
    let root = site.path("store");
    let rows =
        files(&root).into_iter().filter(|path| path.extension().is_some_and(|e| e == "parquet"));
    let named = rows.map(|path| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let (place, _) = name.rsplit_once("g").unwrap();
        (place.to_owned(), std::fs::read(&path).unwrap())
    });
    // A run stays in the ledger.
    named.filter(|(place, _)| !place.starts_with("runs/")).collect()
}

/// Interactions in the sums of days, with a label and without.
fn day_sums(site: &Site) -> (u64, u64) {
    let rows = Store::open(site.path("store")).unwrap().read::<DayRollup>().unwrap();
    let sum = |labelled: bool| {
        rows.iter().filter(|row| row.label.is_some() == labelled).map(|row| row.sessions).sum()
    };
    (sum(true), sum(false))
}

/// A clean-up hides what came in: whether the site's list let it in is another question.
#[test]
fn the_blacklist_counts_labelled_visits_as_before() {
    let site = Site::new(2000);
    let list = site.path("sample/ExcludeRobots.config").display().to_string();
    let question = ["blacklist", "store", "--list", &list];
    let before = site.json(&question);
    assert!(before["leaked_interactions"].as_u64().unwrap() > 0, "{before}");
    let entries = before["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["dead"] == true), "{before}");
    let confirm = site.plan("plan", &[]);
    site.ok(&["clean", "apply", "plan", "--execute", "--confirm", &confirm]);
    let output = site.run(&question);
    let talk = culprit_testkit::stderr(&output);
    assert!(output.status.success() && !talk.contains("left out"), "{talk}");
    assert_eq!(site.json(&question), before);
    let output = site.run(&["impact", "store"]);
    let talk = culprit_testkit::stderr(&output);
    assert!(talk.contains("left out by `culprit audit clean`"), "{talk}");
}

#[test]
fn labels_leave_rows_out_of_reports_and_come_off_again() {
    let site = Site::new(2000);
    let before = table_bytes(&site);
    let all = visits(&site, &[]);
    let confirm = site.plan("plan", &[]);
    let plan = site.json(&["clean", "show", "plan"]);
    let (planned, after) = (&plan["plan"]["counts"], &plan["plan"]["after"]);
    assert!(planned["interactions"].as_u64().unwrap() > 100, "{plan}");
    assert!(planned["contacts"].as_u64().unwrap() > 0, "{plan}");
    let shown = site.ok(&["clean", "apply", "plan"]);
    assert!(shown.contains(&format!("--confirm {confirm}")), "{shown}");
    assert_eq!(visits(&site, &[]), all, "without --execute nothing is changed");
    let wrong = site.run(&["clean", "apply", "plan", "--execute", "--confirm", "00000000"]);
    assert_eq!(failed(&wrong).0, Some(2));
    let apply = ["clean", "apply", "plan", "--execute", "--confirm", &confirm];
    let done = site.json(&apply);
    assert_eq!((&done["expected"], &done["seen"]), (after, after));
    assert_eq!(visits(&site, &[]), after["visits"]);
    assert_eq!(visits(&site, &["--with-labelled"]), all);
    let (labelled, left) = day_sums(&site);
    assert_eq!(
        (Some(labelled), Some(left)),
        (planned["interactions"].as_u64(), after["visits"].as_u64())
    );
    let said = site.run(&["orphans", "store"]);
    assert!(culprit_testkit::stderr(&said).contains("left out by `culprit audit clean`"));
    // A second time changes nothing, and a second plan finds nothing.
    assert_eq!(site.json(&apply)["seen"], *after);
    let again = site.run(&["clean", "plan", "store", "--select", "verdict=certain", "-o", "again"]);
    assert!(failed(&again).1.contains("nothing is selected"), "{again:?}");
    let undone = site.json(&["clean", "undo", "plan", "--execute", "--confirm", &confirm]);
    assert_eq!(undone["seen"], plan["plan"]["before"]);
    assert_eq!(visits(&site, &[]), all);
    assert!(table_bytes(&site) == before, "the tables are as they were");
}

#[test]
fn a_store_is_rebuilt_without_the_rows_and_put_back() {
    let site = Site::new(2000);
    let before = table_bytes(&site);
    let confirm = site.plan("plan", &["--level", "store"]);
    let plan = site.json(&["clean", "show", "plan"]);
    // On a quiet day of a small sample, most visits may be robots'.
    let apply =
        ["clean", "apply", "plan", "--execute", "--confirm", &confirm, "--allow", "share-of-day"];
    let done = site.json(&apply);
    assert_eq!(
        (&done["seen"], &done["expected"]),
        (&plan["plan"]["after"], &plan["plan"]["after"])
    );
    assert_eq!(visits(&site, &["--with-labelled"]), plan["plan"]["after"]["visits"]);
    assert_eq!(site.json(&apply), done, "a second time changes nothing");
    assert_eq!(Some(day_sums(&site).1), plan["plan"]["after"]["visits"].as_u64());
    // The rebuilt store takes imports as the old one did: only the removed rows are new.
    let orphans = site.json(&["orphans", "store"]);
    assert!(orphans["contacts"].as_u64().unwrap() > 0, "{orphans}");
    let undone = site.json(&["clean", "undo", "plan", "--execute", "--confirm", &confirm]);
    assert_eq!(undone["seen"], plan["plan"]["before"]);
    assert!(table_bytes(&site) == before, "the store is as it was");
    // After an import into the rebuilt store, the old one is not put back over it.
    site.json(&apply);
    let report = site.json(&["import", "--from", "xdb-csv", "sample/xdb-csv", "-o", "store"]);
    assert_eq!(report["counts"]["interactions"], plan["plan"]["counts"]["interactions"]);
    assert_eq!(visits(&site, &[]), plan["plan"]["before"]["visits"]);
    let late = site.run(&["clean", "undo", "plan", "--execute", "--confirm", &confirm]);
    assert!(failed(&late).1.contains("its store was changed after it was rebuilt"), "{late:?}");
}

/// A contact that loses all its interactions leaves as they do.
#[test]
fn the_guard_of_known_contacts_counts_them_and_their_interactions() {
    let site = Site::new(2000);
    let plan = |name: &str, more: &[&str]| {
        let plan = ["clean", "plan", "store", "--select", "user-agent=chrome", "--level", "store"];
        site.json(&[&plan[..], &["-o", name], more].concat())["plan"].clone()
    };
    let (all, spared) = (plan("all", &[]), plan("spared", &["--spare", "known-contact"]));
    let less = |what: &str| {
        let count = |plan: &Value| plan["counts"][what].as_u64().unwrap();
        count(&all) - count(&spared)
    };
    let (interactions, contacts) = (less("interactions"), less("contacts"));
    assert!(interactions > 1 && contacts > 1, "{all}");
    let why = |plan: &Value| {
        let guards = plan["guards"].as_array().unwrap();
        let guard = guards.iter().find(|guard| guard["guard"] == "known-contact").unwrap();
        guard["why"].as_str().unwrap().to_owned()
    };
    let expected = format!(
        "{} selected rows of contacts known by name: {interactions} interactions and {contacts} contacts",
        interactions + contacts
    );
    assert_eq!(why(&all), expected);
    assert_eq!(why(&spared), "0 selected rows of contacts known by name");
}

#[test]
fn an_edited_plan_is_refused_whichever_file_was_edited() {
    let site = Site::new(500);
    site.plan("plan", &[]);
    for path in files(&site.path("plan")) {
        let bytes = std::fs::read(&path).unwrap();
        let mut edited = bytes.clone();
        // In `plan.json` a digit of a count, elsewhere any byte.
        let at = edited.iter().rposition(u8::is_ascii_digit).unwrap();
        edited[at] ^= 1;
        std::fs::write(&path, &edited).unwrap();
        for action in ["show", "status"] {
            let (code, text) = failed(&site.run(&["clean", action, "plan"]));
            assert_eq!(code, Some(2), "{text}");
            assert!(text.contains("changed after") || text.contains("damaged"), "{text}");
        }
        std::fs::write(&path, &bytes).unwrap();
    }
    site.ok(&["clean", "show", "plan"]);
}

#[test]
fn a_plan_of_sql_text_lists_every_key_once() {
    let site = Site::new(1000);
    let more = ["--level", "source", "--target", "sqlserver", "--batch-rows", "50"];
    site.plan("plan", &more);
    let plan = site.json(&["clean", "show", "plan"]);
    let sql: Vec<String> = files(&site.path("plan/forward"))
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let keys: Vec<&str> =
        sql.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("  ('")).collect();
    let counts = &plan["plan"]["counts"];
    let expected = counts["interactions"].as_u64().unwrap() + counts["contacts"].as_u64().unwrap();
    assert_eq!(keys.len() as u64, expected);
    let distinct: std::collections::BTreeSet<&&str> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
    let apply = site.run(&["clean", "verify", "plan"]);
    assert!(failed(&apply).1.contains("SQL text only"), "{apply:?}");
}

/// What is on the disk of what was done: the words of the lines.
fn journal(site: &Site) -> Vec<String> {
    let text = std::fs::read_to_string(site.path("plan/journal.jsonl")).unwrap_or_default();
    let event = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["event"].as_str().unwrap().to_owned()
    };
    text.lines().map(event).collect()
}

fn state(site: &Site) -> (String, bool) {
    let status = site.json(&["clean", "status", "plan"]);
    (status["state"].as_str().unwrap().to_owned(), status["at_ms"].is_number())
}

#[test]
fn labels_have_a_state_a_journal_and_an_undo_after_imports() {
    let site = Site::new(800);
    let confirm = site.plan("plan", &[]);
    let consent = ["plan", "--execute", "--confirm", &confirm];
    let never = site.run(&[&["clean", "undo"], &consent[..]].concat());
    let (code, text) = failed(&never);
    assert!(code == Some(2) && text.contains("never applied"), "{text}");
    assert!(!text.contains("makes a new plan"), "{text}");
    assert_eq!(state(&site), ("planned".to_owned(), false));
    site.json(&[&["clean", "apply"], &consent[..]].concat());
    assert_eq!(state(&site), ("applied".to_owned(), true));
    // An import between: one more visit.
    let row = "{\"InteractionId\":\"00000000-0000-4000-8000-000000000001\",\"ContactId\":\
               \"22def722-a7fa-42a4-8ce5-bbc796b35e31\",\"StartDateTime\":\"2026-05-01T01:00:00Z\",\
               \"EndDateTime\":\"2026-05-01T01:00:00Z\"}\n";
    std::fs::write(site.path("more.ndjson"), row).unwrap();
    site.json(&["import", "--from", "xdb-json", "more.ndjson", "-o", "store"]);
    site.json(&[&["clean", "apply"], &consent[..]].concat());
    let undone = site.json(&[&["clean", "undo"], &consent[..]].concat());
    assert_eq!(undone["seen"]["visits"], 801);
    assert_eq!(state(&site), ("undone".to_owned(), true));
    assert_eq!(journal(&site), ["started", "labelled", "undo-started", "undo-finished"]);
    let (code, text) = failed(&site.run(&[&["clean", "apply"], &consent[..]].concat()));
    assert!(code == Some(2) && text.contains("it was undone"), "{text}");
}

#[test]
fn a_rebuilt_store_has_a_state_a_journal_and_hints_that_fit() {
    let site = Site::new(800);
    let confirm = site.plan("plan", &["--level", "store"]);
    let consent = ["plan", "--execute", "--confirm", &confirm, "--allow", "share-of-day"];
    let (code, text) = failed(&site.run(&[&["clean", "undo"], &consent[..]].concat()));
    assert!(code == Some(2) && text.contains("never applied"), "{text}");
    // What a run leaves that is killed while it writes.
    std::fs::create_dir(site.path(&format!("store.new-{confirm}"))).unwrap();
    let status = site.ok(&["clean", "status", "plan"]);
    assert!(status.contains("State: planned") && status.contains("store.new-"), "{status}");
    site.json(&[&["clean", "apply"], &consent[..]].concat());
    let status = site.ok(&["clean", "status", "plan"]);
    assert!(status.contains("State: applied") && status.contains("store.before-"), "{status}");
    assert!(!status.contains("store.new-"), "{status}");
    site.json(&[&["clean", "undo"], &consent[..]].concat());
    assert_eq!(state(&site), ("undone".to_owned(), true));
    let steps = ["started", "rebuilt", "exchanged", "undo-started", "undo-finished"];
    assert_eq!(journal(&site), steps);
    let allowed = std::fs::read_to_string(site.path("plan/journal.jsonl")).unwrap();
    assert!(allowed.contains("\"allowed\":[\"share-of-day\"]"), "{allowed}");
    site.json(&[&["clean", "apply"], &consent[..]].concat());
    std::fs::remove_dir_all(site.path(&format!("store.before-{confirm}"))).unwrap();
    let (_, text) = failed(&site.run(&[&["clean", "undo"], &consent[..]].concat()));
    assert!(text.contains("restore") && !text.contains("new plan"), "{text}");
}
