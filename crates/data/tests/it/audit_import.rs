//! What imports say: of shards that are missing, of rows that were there already.

use culprit_testkit::{stderr, stdout};
use serde_json::Value;

use crate::site::Site;

const VISITS: [&str; 4] = ["visits", "store", "--place", "country=UA"];

fn import<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["import", "--from", "xdb-json", "-o", "store"][..], rest].concat()
}

/// Keys of the sample's first folder are those of the first two of four shards.
#[test]
fn the_last_shards_are_missing_until_they_are_imported() {
    let site = Site::empty();
    site.ok(&["sample", "-o", "sample", "--interactions", "3000", "--formats", "xdb-json"]);
    site.ok(&import(&["sample/xdb-json/shard-0", "--shards", "4"]));
    let asked = [&VISITS[..], &["--extrapolate"]].concat();
    let half = site.json(&asked);
    assert_eq!((half["shards"].as_u64(), half["shards_missing"].as_u64()), (Some(2), Some(2)));
    let visits = |document: &Value| -> u64 {
        let rows = document["rows"].as_array().unwrap().iter();
        rows.map(|row| row["sessions"].as_u64().unwrap()).sum()
    };
    let (counted, estimated) = (visits(&half), half["extrapolated"]["visits"].as_f64().unwrap());
    assert!((estimated - 2.0 * counted as f64).abs() < 1e-6, "{estimated} of {counted}");
    let said = site.run(&VISITS);
    assert!(stdout(&said).contains("2 of 4 shards"), "{}", stdout(&said));
    assert!(stderr(&said).contains("`--extrapolate`"), "{}", stderr(&said));
    let other = site.run(&import(&["sample/xdb-json/shard-1", "--shards", "2"]));
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("made for 4 shards"), "{}", stderr(&other));
    site.ok(&import(&["sample/xdb-json/shard-1"]));
    let whole = site.json(&asked);
    assert_eq!((whole["shards"].as_u64(), whole["shards_missing"].as_u64()), (Some(4), Some(0)));
    assert_eq!(whole["extrapolated"]["left_out"], "no shard is missing");
}

#[test]
fn a_log_has_no_shards_that_could_be_missing() {
    let site = Site::empty();
    site.ok(&["sample", "-o", "sample", "--interactions", "500", "--formats", "accesslog"]);
    let log = ["import", "--from", "accesslog", "sample/access.log", "-o", "store"];
    let output = site.run(&[&log[..], &["--shards", "2"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no shard keys"), "{}", stderr(&output));
    site.ok(&log);
    let document = site.json(&["visits", "store", "--place", "cidr=0.0.0.0/0"]);
    assert_eq!(
        (document["shards"].as_u64(), document["shards_missing"].as_u64()),
        (Some(1), Some(0))
    );
    let output = site.run(&["visits", "store", "--place", "country=UA"]);
    assert!(stderr(&output).contains("`--geoip FILE`"), "{}", stderr(&output));
}

/// Every row that was read is new, there already, not needed or damaged.
#[test]
fn a_second_import_finds_each_row_once() {
    let site = Site::sampled(2000, "xdb-json");
    let again = import(&["sample/xdb-json"]);
    let document = site.json(&again);
    let count = |name: &str| document["counts"][name].as_u64().unwrap();
    assert_eq!(count("unchanged"), count("rows") - count("ignored") - count("rejected"));
    assert_eq!(document["changed"], false);
    let said = site.ok(&again);
    let rows = count("unchanged");
    assert!(said.contains(&format!("{rows} rows already in the store")), "{said}");
}

#[test]
fn a_second_import_of_a_log_counts_its_visits() {
    let site = Site::empty();
    site.ok(&["sample", "-o", "sample", "--interactions", "500", "--formats", "accesslog"]);
    let log = ["import", "--from", "accesslog", "sample/access.log", "-o", "store"];
    let first = site.json(&log);
    let visits = &first["counts"]["interactions"];
    let said = site.ok(&log);
    assert!(said.contains(&format!("{visits} visits already in the store")), "{said}");
}

#[test]
fn a_store_is_made_only_where_nothing_else_is() {
    let site = Site::empty();
    site.ok(&["sample", "-o", "sample", "--interactions", "100", "--formats", "xdb-json"]);
    std::fs::write(site.path("file"), "mine").unwrap();
    // A folder of somebody who also has a folder of this name.
    std::fs::create_dir_all(site.path("full/events")).unwrap();
    std::fs::write(site.path("full/events/2026.txt"), "mine").unwrap();
    for place in ["file", "file/below", "full"] {
        let output = site.run(&["import", "--from", "xdb-json", "sample/xdb-json", "-o", place]);
        assert_eq!(output.status.code(), Some(2), "{place}: {}", stderr(&output));
        assert!(stderr(&output).contains("hint: name a new or empty folder"), "{place}");
    }
    assert_eq!(std::fs::read_to_string(site.path("full/events/2026.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(site.path("file")).unwrap(), "mine");
}

#[test]
fn a_sample_replaces_nothing_without_being_told_so() {
    let site = Site::empty();
    let sample = ["sample", "-o", "sample", "--interactions", "100", "--formats", "accesslog"];
    std::fs::create_dir(site.path("sample")).unwrap();
    site.ok(&sample);
    let log = || std::fs::read_to_string(site.path("sample/access.log")).unwrap();
    let first = log();
    let other = [&sample[..], &["--seed", "2"]].concat();
    let output = site.run(&other);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the folder `sample` is not empty"), "{}", stderr(&output));
    assert!(stderr(&output).contains("hint: `--force`"), "{}", stderr(&output));
    assert_eq!(log(), first);
    site.ok(&[&other[..], &["--force"]].concat());
    assert_ne!(log(), first);
}

#[test]
fn a_log_with_foreign_names_of_fields_makes_no_store_and_fails() {
    let site = Site::empty();
    let line = "{\"when\":\"2026-05-01T10:00:00Z\",\"client\":\"10.0.0.1\",\"target\":\"/\",\"code\":200}\n";
    std::fs::write(site.path("a.json"), line.repeat(3)).unwrap();
    let import = ["import", "--from", "json-log", "a.json", "-o", "store"];
    let output = site.run(&import);
    let talk = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(
        talk.contains("nothing was imported") && talk.contains("`--field address=NAME`"),
        "{talk}"
    );
    let named = ["time=when", "address=client", "path=target", "status=code"];
    let named = named.into_iter().flat_map(|field| ["--field", field]).collect::<Vec<_>>();
    site.ok(&[&import[..], &named].concat());
}

#[test]
fn a_database_of_the_other_kind_is_named() {
    let site = Site::empty();
    for (format, scheme, other) in [
        ("xdb-postgres", "sqlserver://", "xdb-sqlserver"),
        ("xdb-postgres", "mssql://", "xdb-sqlserver"),
        ("xdb-sqlserver", "postgres://", "xdb-postgres"),
        ("xdb-sqlserver", "postgresql://", "xdb-postgres"),
    ] {
        let address = format!("{scheme}reader:s3cret@127.0.0.1:1/x");
        let output = site.run(&["import", "--from", format, &address, "-o", "store"]);
        let talk = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{talk}");
        assert!(talk.contains(&format!("hint: give `--from {other}`")), "{talk}");
        assert!(!talk.contains("s3cret"), "{talk}");
    }
}

/// A log that knows no goals is no site without any.
#[test]
fn the_conversion_of_a_store_of_logs_is_unknown() {
    let site = Site::empty();
    let of = ["--formats", "xdb-json,accesslog"];
    site.ok(&[&["sample", "-o", "sample", "--interactions", "300"][..], &of].concat());
    site.ok(&["import", "--from", "accesslog", "sample/access.log", "-o", "log"]);
    site.ok(&["import", "--from", "xdb-json", "sample/xdb-json", "-o", "xdb"]);
    let known = |store: &str| site.json(&["impact", store])["before"]["conversion"].is_number();
    assert_eq!((known("log"), known("xdb")), (false, true));
    let line = |text: &str| {
        let line = text.lines().find(|line| line.contains("conversion")).unwrap_or(text);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(&site.ok(&["impact", "log"])), "conversion unknown unknown");
    let changes = site.ok(&["diff", "xdb", "log"]);
    assert!(
        line(&changes).starts_with("conversion without robots ")
            && line(&changes).ends_with("% unknown"),
        "{changes}"
    );
}

/// Exports of Google Analytics have no user agents, so nothing can be said of robots by them.
#[test]
fn questions_about_robots_say_when_visits_have_no_user_agent() {
    let site = Site::empty();
    let of = ["--formats", "ga4-json,snowplow-tsv"];
    site.ok(&[&["sample", "-o", "sample", "--interactions", "300"][..], &of].concat());
    site.ok(&["import", "--from", "ga4-json", "sample/ga4.ndjson", "-o", "store"]);
    site.ok(&["import", "--from", "snowplow-tsv", "sample/snowplow.tsv", "-o", "other"]);
    let warning = "warning: 300 of 300 interactions have no user agent";
    for question in [
        &["robots", "store"][..],
        &["visits", "store", "--place", "country=UA"],
        &["impact", "store"],
        &["report", "store", "-o", "page.html"],
    ] {
        let output = site.run(question);
        let talk = stderr(&output);
        assert!(output.status.success() && talk.contains(warning), "{question:?}: {talk}");
    }
    let found = site.json(&["impact", "store"]);
    assert_eq!(found["recognition"]["without_user_agent"], 300, "{found}");
    let talk = stderr(&site.run(&["robots", "other"]));
    assert!(!talk.contains("warning"), "{talk}");
}

#[test]
fn a_refresh_names_rows_that_cannot_be_read() {
    let site = Site::sampled(300, "xdb-json");
    assert!(!stderr(&site.run(&["refresh", "store"])).contains("cannot be read"));
    let path = site.path("sample/xdb-json/shard-0/Contacts.ndjson");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"ContactId\":\"cut\n");
    std::fs::write(&path, text).unwrap();
    let output = site.run(&["refresh", "store"]);
    let talk = stderr(&output);
    assert!(output.status.success() && talk.contains("1 of "), "{talk}");
    assert!(talk.contains("cannot be read: first row"), "{talk}");
}
