//! `import --from xdb-sqlserver` from a stand-in of a server against the import of the same rows from files.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::process::Output;

use culprit_audit::Store;
use culprit_audit::schema::{
    Address, Contact, Facet, InteractionId, InteractionRow, JsonPath, LongValue, PageView,
    PathText, StoredPlace, Term, UserAgent, VisitEvent,
};
use culprit_model::Row;
use culprit_testkit::tds::{TdsFault, TdsKeys, TdsServer, TdsSetup, TdsTable};
use culprit_testkit::{skip, stderr, stdout};

use crate::site::Site;

const TABLES: [&str; 5] =
    ["Contacts", "ContactFacets", "ContactIdentifiers", "Interactions", "InteractionFacets"];
const PASSWORD: &str = "s3cr;et'w\"ord";

/// The sample's two shards as two databases.
fn setup(site: &Site) -> TdsSetup {
    let database = |shard: usize| {
        let folder = site.path("sample/xdb-csv").join(format!("shard-{shard}"));
        let read =
            |name: &str| std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
        let tables = TABLES.iter().map(|name| TdsTable::of_xdb_csv(name, &read(name))).collect();
        (format!("Shard{shard}"), tables)
    };
    TdsSetup {
        databases: BTreeMap::from([database(0), database(1)]),
        users: BTreeMap::from([("reader".to_owned(), PASSWORD.to_owned())]),
        snapshots: true,
        ..TdsSetup::default()
    }
}

/// The address of a database of a server that encrypts nothing.
fn dsn(server: &TdsServer, shard: usize) -> String {
    format!(
        "Data Source=127.0.0.1,{};Initial Catalog=Shard{shard};User ID=reader;Encrypt=DANGER_PLAINTEXT",
        server.port
    )
}

/// Imports databases into a store.
fn import(site: &Site, dsns: &[String], store: &str, more: &[&str]) -> Output {
    let mut words = vec!["import", "--from", "xdb-sqlserver", "-o", store];
    words.extend(dsns.iter().map(String::as_str));
    words.extend(more);
    site.command(&words).env("SQLCMDPASSWORD", PASSWORD).output().unwrap()
}

fn same<R: Row + PartialEq + Debug>(one: &Store, other: &Store) {
    let (one, other) = (one.read::<R>().unwrap(), other.read::<R>().unwrap());
    assert_eq!(one.len(), other.len(), "{}", R::TABLE.name);
    for (row, expected) in one.iter().zip(&other) {
        assert_eq!(row, expected, "{}", R::TABLE.name);
    }
}

fn same_stores(site: &Site, one: &str, other: &str) {
    let open = |name| Store::open(site.path(name)).unwrap();
    let (one, other) = (open(one), open(other));
    same::<InteractionRow>(&one, &other);
    same::<InteractionId>(&one, &other);
    same::<PageView>(&one, &other);
    same::<VisitEvent>(&one, &other);
    same::<Contact>(&one, &other);
    same::<Facet>(&one, &other);
    same::<LongValue>(&one, &other);
    same::<JsonPath>(&one, &other);
    same::<UserAgent>(&one, &other);
    same::<StoredPlace>(&one, &other);
    same::<PathText>(&one, &other);
    same::<Address>(&one, &other);
    same::<Term>(&one, &other);
}

#[test]
fn a_sql_server_gives_the_store_that_its_export_gives() {
    let site = Site::sampled(1000, "xdb-csv");
    let server = TdsServer::start(setup(&site)).unwrap();
    let dsns = [dsn(&server, 0), dsn(&server, 1)];
    let output = import(&site, &dsns, "copied", &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
    same_stores(&site, "copied", "store");
    assert!(!site.path("copied.xdb-sqlserver").exists(), "the copies are removed");
    let asked = server.asked();
    let begun = asked.iter().filter(|sql| sql.contains("BEGIN TRANSACTION")).count();
    assert_eq!(begun, 2, "one snapshot a database: {asked:?}");
    // A second import adds nothing.
    let again = import(&site, &dsns, "copied", &["--json"]);
    assert!(stdout(&again).contains("\"changed\":false"), "{}", stdout(&again));
}

#[test]
fn only_changed_rows_are_read_again() {
    let site = Site::sampled(1000, "xdb-csv");
    let server = TdsServer::start(setup(&site)).unwrap();
    let dsns = [dsn(&server, 0), dsn(&server, 1)];
    assert!(import(&site, &dsns, "copied", &["--changed-only"]).status.success());
    assert!(!server.asked().iter().any(|sql| sql.contains("WHERE [LastModified]")));
    let again = import(&site, &dsns, "copied", &["--changed-only", "--json"]);
    assert!(stdout(&again).contains("\"changed\":false"), "{}", stderr(&again));
    let conditions: Vec<String> =
        server.asked().into_iter().filter(|sql| sql.contains("WHERE [LastModified] >= ")).collect();
    assert_eq!(conditions.len(), 8, "all tables but identifiers: {conditions:?}");
    let rows = |output: &Output| -> u64 {
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["counts"]["rows"].as_u64().unwrap()
    };
    let all = import(&site, &dsns, "copied", &["--json"]);
    assert!(rows(&again) < rows(&all) / 2, "{} of {}", rows(&again), rows(&all));
    same_stores(&site, "copied", "store");
    // Of three databases, nobody knows which shards they have.
    let three = [dsns.as_slice(), &dsns[..1]].concat();
    let output = import(&site, &three, "copied", &["--changed-only"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("one for each of 2 shards"), "{}", stderr(&output));
    let output = site.run(&["import", "--from", "xdb-csv", "sample", "-o", "s", "--changed-only"]);
    assert!(stderr(&output).contains("audit refresh"), "{}", stderr(&output));
}

#[test]
fn a_server_that_fails_leaves_the_store_as_it_was() {
    let site = Site::sampled(1000, "xdb-csv");
    let cases = [
        (TdsFault::Drop, "the connection ended in the middle of an answer"),
        (TdsFault::Error(1205, "was deadlocked".to_owned()), "was deadlocked (error 1205)"),
        (TdsFault::Garbage, "cannot read 127.0.0.1:"),
    ];
    for (fault, expected) in cases {
        for table in ["Contacts", "Interactions"] {
            let fault = Some((table.to_owned(), 100, fault.clone()));
            let server = TdsServer::start(TdsSetup { fault, ..setup(&site) }).unwrap();
            let before = site.json(&["orphans", "store"]);
            let output = import(&site, &[dsn(&server, 0), dsn(&server, 1)], "store", &[]);
            assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
            assert!(stderr(&output).contains(expected), "{}", stderr(&output));
            assert!(stderr(&output).contains("/Shard"), "{}", stderr(&output));
            assert!(
                !site.path("store.xdb-sqlserver").exists() && !stderr(&output).contains("s3cr")
            );
            assert_eq!(site.json(&["orphans", "store"]), before);
        }
    }
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let site = Site::sampled(50, "xdb-csv");
    let mut plain = setup(&site);
    plain.snapshots = false;
    plain.databases.insert("Empty".to_owned(), Vec::new());
    let server = TdsServer::start(plain).unwrap();
    let fails = |dsn: &str, code: i32, expected: &str| {
        let output = import(&site, &[dsn.to_owned()], "new", &[]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(expected) && !text.contains("s3cr"), "{text}");
    };
    let known = dsn(&server, 0);
    fails(&known.replace("ID=reader", "ID=writer"), 3, "Login failed for user 'writer'");
    fails(&known.replace("Shard0", "Nowhere"), 3, "Cannot open database \"Nowhere\"");
    fails(&known.replace("Shard0", "Empty"), 2, "there is no table `Contacts`");
    fails(&known.replace(";Encrypt=DANGER_PLAINTEXT", ""), 3, "it offers no encryption");
    fails("sqlserver://reader@127.0.0.1:1/x", 3, "127.0.0.1:1: ");
    fails("127.0.0.1", 2, "sqlserver://USER@HOST:PORT/DATABASE");
    // Without a snapshot, tables may not fit together.
    let output = import(&site, std::slice::from_ref(&known), "new", &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("ALLOW_SNAPSHOT_ISOLATION"), "{}", stderr(&output));
    // Another schema has no tables.
    let output = import(&site, &[known], "new", &["--schema", "dbo"]);
    assert!(stderr(&output).contains("schema `dbo` of 127.0.0.1:"), "{}", stderr(&output));
}

#[test]
fn connections_are_encrypted_and_certificates_checked() {
    let site = Site::sampled(200, "xdb-csv");
    let keys = match TdsKeys::make(&site.path(".")) {
        Ok(keys) => keys,
        Err(why) => return skip("sqlserver", &format!("openssl ({why})")),
    };
    let server = TdsServer::start(TdsSetup { keys: Some(keys), ..setup(&site) }).unwrap();
    let url = |shard: usize| format!("sqlserver://reader@127.0.0.1:{}/Shard{shard}", server.port);
    let output = import(&site, &[url(0), url(1)], "copied", &[]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("its certificate is not trusted"), "{}", stderr(&output));
    assert!(server.asked().is_empty(), "no login is sent");
    for trust in ["TrustServerCertificateCA=cert.pem", "TrustServerCertificate=true"] {
        let string = |shard: usize| {
            let string = dsn(&server, shard);
            string.replace("Encrypt=DANGER_PLAINTEXT", &format!("Encrypt=true;{trust}"))
        };
        let output = import(&site, &[string(0), string(1)], "copied", &[]);
        assert!(output.status.success(), "{trust}: {}", stderr(&output));
        same_stores(&site, "copied", "store");
        std::fs::remove_dir_all(site.path("copied")).unwrap();
    }
}
