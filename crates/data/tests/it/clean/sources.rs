//! `import --from xdb-postgres` against the import of the same rows from files.

use culprit_audit::Store;
use culprit_audit::schema::{
    Address, Contact, Facet, InteractionId, InteractionRow, JsonPath, LongValue, PageView,
    PathText, StoredPlace, Term, UserAgent, VisitEvent,
};
use culprit_model::Row;
use culprit_testkit::{stderr, stdout};

use super::server::Server;
use super::{Site, failed};

fn same<R: Row + PartialEq + std::fmt::Debug>(one: &Store, other: &Store) {
    let (one, other) = (one.read::<R>().unwrap(), other.read::<R>().unwrap());
    assert_eq!(one.len(), other.len(), "{}", R::TABLE.name);
    for (row, expected) in one.iter().zip(&other) {
        assert_eq!(row, expected, "{}", R::TABLE.name);
    }
}

#[test]
fn a_database_gives_the_store_that_its_export_gives() {
    let Some(server) = Server::start("import xdb-postgres") else { return };
    let site = Site::new(1000);
    let shards = site.shards();
    drop(server.xdb("shard0", &shards[..1]));
    drop(server.xdb("shard1", &shards[1..]));
    let dsns = [server.dsn("shard0"), server.dsn("shard1")];
    site.ok(&["import", "--from", "xdb-postgres", &dsns[0], &dsns[1], "-o", "copied"]);
    let open = |name| Store::open(site.path(name)).unwrap();
    let (copied, files) = (open("copied"), open("store"));
    same::<InteractionRow>(&copied, &files);
    same::<InteractionId>(&copied, &files);
    same::<PageView>(&copied, &files);
    same::<VisitEvent>(&copied, &files);
    same::<Contact>(&copied, &files);
    same::<Facet>(&copied, &files);
    same::<LongValue>(&copied, &files);
    same::<JsonPath>(&copied, &files);
    same::<UserAgent>(&copied, &files);
    same::<StoredPlace>(&copied, &files);
    same::<PathText>(&copied, &files);
    same::<Address>(&copied, &files);
    same::<Term>(&copied, &files);
    assert!(!site.path("copied.xdb-postgres").exists(), "the copies are removed");
    // A second import adds nothing.
    let again =
        site.json(&["import", "--from", "xdb-postgres", &dsns[0], &dsns[1], "-o", "copied"]);
    assert_eq!(again["changed"], false, "{again}");
    let (code, text) = failed(&site.run(&["refresh", "copied"]));
    assert!(code == Some(2) && text.contains("was made from a database"), "{text}");
    assert!(text.contains("--from xdb-postgres") && text.contains("--changed-only"), "{text}");
}

#[test]
fn no_message_has_a_password() {
    let site = Site::empty();
    let secret = "s3cr3t-w0rd";
    for dsn in [
        format!("postgres://culprit:{secret}@127.0.0.1:1/xdb"),
        format!("host=127.0.0.1 port=1 user=culprit password={secret} dbname=xdb"),
        format!("postgres://culprit:{secret}@127.0.0.1:wrong/xdb"),
        format!("password={secret} nonsense"),
    ] {
        let output = site.run(&["import", "--from", "xdb-postgres", &dsn, "-o", "store", "--json"]);
        assert!(!output.status.success());
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!text.contains(secret), "{text}");
        assert!(text.contains("database") || text.contains("127.0.0.1:1/xdb"), "{text}");
    }
}
