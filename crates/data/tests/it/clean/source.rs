//! The level `source` on a real PostgreSQL.

use std::collections::BTreeSet;

use culprit_audit::clean::PlanKey;
use culprit_recording::rows_from_parquet;
use postgres::{Client, NoTls};

use super::server::{Server, digests};
use super::{Site, failed, files};
use crate::audit_json::{compare, documented};

/// Guards that a robot-heavy sample with a recent plan fails or that the tests are not about.
const CALM: [&str; 4] = ["--allow", "share-of-all", "--allow", "share-of-day"];
/// Rows of a batch: some dozen batches.
const BATCH: [&str; 2] = ["--batch-rows", "40"];

/// A site whose database has the same rows as its store, and a plan for it.
pub(super) struct Lab {
    pub(super) site: Site,
    pub(super) dsn: String,
    pub(super) client: Client,
    pub(super) confirm: String,
    pub(super) server: Server,
}

impl Lab {
    pub(super) fn new(test: &str, interactions: u32) -> Option<Self> {
        let server = Server::start(test)?;
        let site = Site::new(interactions);
        let client = server.xdb("xdb", &site.shards());
        let dsn = server.dsn("xdb");
        let confirm = plan(&site, &dsn, "plan");
        Some(Self { site, dsn, client, confirm, server })
    }

    /// The arguments of `apply` or `undo`.
    pub(super) fn arguments<'a>(&'a self, action: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let head = [
            "clean",
            action,
            "plan",
            "--against",
            &self.dsn,
            "--execute",
            "--confirm",
            &self.confirm,
        ];
        let backup: &[&str] = if action == "apply" { &["--backup", "a copy"] } else { &[] };
        [&head, backup, &CALM, more].concat()
    }
}

fn plan(site: &Site, dsn: &str, name: &str) -> String {
    let more = ["--level", "source", "--against", dsn];
    site.plan(
        name,
        &[&more[..], &["--spare", "conversion", "--spare", "known-contact"], &BATCH].concat(),
    )
}

#[test]
fn rows_leave_the_database_and_come_back_byte_for_byte() {
    let Some(mut lab) = Lab::new("clean source", 2000) else { return };
    let before = digests(&mut lab.client);
    let plan = lab.site.json(&["clean", "show", "plan"]);
    let verify = ["clean", "verify", "plan", "--against", &lab.dsn];
    let verified = lab.site.json(&[&verify[..], &CALM].concat());
    let counts = &plan["plan"]["counts"];
    let keys = counts["interactions"].as_u64().unwrap() + counts["contacts"].as_u64().unwrap();
    assert_eq!(verified["same"], keys, "{verified}");
    let sections = documented();
    compare("audit clean plan", &plan, &sections);
    compare("audit clean verify", &verified, &sections);
    let dry = lab.site.ok(&["clean", "apply", "plan", "--against", &lab.dsn]);
    assert!(dry.contains("0 deleted"), "{dry}");
    assert_eq!(digests(&mut lab.client), before, "nothing was changed so far");
    let applied = lab.site.json(&lab.arguments("apply", &[]));
    assert_eq!((&applied["expected_gone"], &applied["seen_gone"]), (&keys.into(), &keys.into()));
    assert_eq!(applied["skipped"].as_array().unwrap().len(), 0, "{applied}");
    assert_eq!(applied["deleted_rows"]["Interactions"], counts["interactions"]);
    assert_eq!(
        applied["deleted_rows"]["InteractionFacets"].as_u64(),
        counts["interactions"].as_u64().map(|n| 2 * n)
    );
    let after = digests(&mut lab.client);
    for ((table, had, _), (_, has, _)) in before.iter().zip(&after) {
        let gone = applied["deleted_rows"][table].as_i64().unwrap_or(0);
        assert_eq!(had - has, gone, "{table}");
        assert!(gone > 0, "{table}");
    }
    // A second time does nothing; the archives are as large as what left.
    assert_eq!(lab.site.json(&lab.arguments("apply", &[]))["batches"], 0);
    let status = lab.site.json(&["clean", "status", "plan"]);
    assert_eq!(status["archived_rows"], applied["deleted_rows"]);
    compare("audit clean apply", &applied, &sections);
    compare("audit clean status", &status, &sections);
    assert_eq!(
        (&status["finished"], &status["batches"]["deleted"]),
        (&true.into(), &status["batches"]["all"])
    );
    // One batch alone, then all others.
    let one = lab.site.json(&lab.arguments("undo", &["--only-batch", "1"]));
    assert_eq!((&one["batches"], &one["rows"]["Interactions"]), (&1.into(), &40.into()));
    let undone = lab.site.json(&lab.arguments("undo", &[]));
    compare("audit clean undo", &undone, &sections);
    assert_eq!((&undone["left"], &undone["kept"]), (&0.into(), &0.into()));
    assert_eq!(digests(&mut lab.client), before);
    let (code, text) = failed(&lab.site.run(&lab.arguments("apply", &[])));
    assert!(code == Some(2) && text.contains("it was undone"), "{text}");
}

/// The keys of a plan.
fn planned(site: &Site, kind: &str) -> BTreeSet<String> {
    planned_by(site, "plan", kind)
}

fn planned_by(site: &Site, plan: &str, kind: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for shard in 0..2 {
        let file = site.path(plan).join("keys").join(format!("{kind}-shard-{shard}.parquet"));
        let rows: Vec<PlanKey> = rows_from_parquet(&std::fs::read(file).unwrap()).unwrap();
        found.extend(rows.iter().map(|key| {
            let digits = format!("{:016x}{:016x}", key.guid_high, key.guid_low);
            let parts =
                [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
            parts.join("-")
        }));
    }
    found
}

/// The interactions in the database.
fn rows_left(client: &mut Client) -> BTreeSet<String> {
    let sql = "SELECT \"InteractionId\"::text FROM xdb_collection.\"Interactions\"";
    client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

#[test]
fn rows_that_a_writer_touches_are_skipped_and_listed() {
    let Some(mut lab) = Lab::new("clean writer", 3000) else { return };
    let all = rows_left(&mut lab.client);
    let planned = planned(&lab.site, "interactions");
    // One in a hundred rows, planned ones among them: some before, the others while the batches run.
    let touched: Vec<String> =
        all.iter().step_by(150).chain(planned.iter().step_by(40)).cloned().collect();
    let touch = |client: &mut Client, id: &str| {
        let sql = format!(
            "UPDATE xdb_collection.\"Interactions\" SET \"LastModified\" = now()::timestamp, \
             \"ConcurrencyToken\" = gen_random_uuid() WHERE \"InteractionId\" = '{id}'"
        );
        client.execute(&sql, &[]).unwrap() == 1
    };
    let mut hit: BTreeSet<String> = BTreeSet::new();
    for id in touched.iter().step_by(2) {
        assert!(touch(&mut lab.client, id));
        hit.insert(id.clone());
    }
    let mut writer = Client::connect(&lab.dsn, NoTls).unwrap();
    let applied = std::thread::scope(|scope| {
        let during = scope.spawn(|| {
            let mut hit = BTreeSet::new();
            for id in touched.iter().skip(1).step_by(2) {
                if touch(&mut writer, id) {
                    hit.insert(id.clone());
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            hit
        });
        let applied = lab.site.json(&lab.arguments("apply", &[]));
        hit.extend(during.join().unwrap());
        applied
    });
    let skipped: BTreeSet<&str> = applied["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["why"].as_str().unwrap().contains("changed"))
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    // What was touched is still there; of the plan, nothing else is.
    let left = rows_left(&mut lab.client);
    assert!(hit.is_subset(&left), "a touched row was deleted");
    let expected: BTreeSet<&str> = planned.intersection(&left).map(String::as_str).collect();
    assert_eq!(skipped, expected);
    assert!(planned.iter().step_by(40).step_by(2).all(|id| skipped.contains(id.as_str())));
    assert_eq!(applied["expected_gone"], applied["seen_gone"]);
}

#[test]
fn every_guard_stops_what_it_is_for_and_can_be_overridden() {
    let Some(mut lab) = Lab::new("clean guards", 1000) else { return };
    let before = digests(&mut lab.client);
    let dsn = lab.dsn.clone();
    let apply = |plan: &str, confirm: &str, more: &[&str]| {
        let head = ["clean", "apply", plan, "--against", &dsn, "--execute", "--confirm", confirm];
        lab.site.run(&[&head, more].concat())
    };
    let stops = |output: &std::process::Output, guard: &str| {
        let (code, text) = failed(output);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains(&format!("guard `{guard}`")), "{guard}: {text}");
        assert!(text.contains(&format!("--allow {guard}")), "{guard}: {text}");
    };
    stops(&apply("plan", &lab.confirm, &CALM), "backup");
    // Everything, known contacts and conversions included; nothing may be younger than 100 years.
    let more = ["--level", "source", "--against", &dsn, "--retention-days", "36500"];
    let select = [
        "clean",
        "plan",
        "store",
        "--select",
        "user-agent=o",
        "--select",
        "contacts=without-interactions",
        "-o",
        "all",
    ];
    let made = lab.site.json(&[&select[..], &more].concat());
    let confirm = made["confirm"].as_str().unwrap();
    let all = ["known-contact", "conversion", "retention", "share-of-all", "share-of-day"];
    for guard in all {
        let others: Vec<&str> = all
            .iter()
            .filter(|other| **other != guard)
            .flat_map(|other| ["--allow", *other])
            .collect();
        stops(&apply("all", confirm, &[&others[..], &["--backup", "b"]].concat()), guard);
    }
    lab.client
        .batch_execute("CREATE TABLE xdb_collection.orders (i uuid REFERENCES xdb_collection.\"Interactions\" ON DELETE CASCADE)")
        .unwrap();
    stops(&lab.site.run(&lab.arguments("apply", &[])), "side-effects");
    // A dry run ends as `apply` does, and still says what it found.
    let verify = ["clean", "verify", "plan", "--against", &dsn];
    let verify = [&verify[..], &CALM].concat();
    stops(&lab.site.run(&verify), "side-effects");
    let told = lab.site.run(&[&verify[..], &["--json"]].concat());
    let document: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(document["same"].as_u64().unwrap() > 0, "{document}");
    assert_eq!(failed(&told).0, Some(3));
    lab.site.ok(&[&verify[..], &["--allow", "side-effects"]].concat());
    lab.client.batch_execute("DROP TABLE xdb_collection.orders").unwrap();
    let copy = lab.server.xdb("copy", &lab.site.shards());
    drop(copy);
    let other = lab.server.dsn("copy");
    let head = [
        "clean",
        "apply",
        "plan",
        "--against",
        &other,
        "--execute",
        "--confirm",
        &lab.confirm,
        "--backup",
        "b",
    ];
    stops(&lab.site.run(&[&head[..], &CALM].concat()), "other-target");
    assert_eq!(digests(&mut lab.client), before, "no guard let anything through");
    // Another clean-up holds the lease.
    let lock = std::fs::File::create(lab.site.path("plan/apply.lock")).unwrap();
    lock.lock().unwrap();
    let (code, text) = failed(&lab.site.run(&lab.arguments("apply", &[])));
    assert!(code == Some(3) && text.contains("another"), "{text}");
    drop(lock);
    lab.client
        .batch_execute("ALTER TABLE xdb_collection.\"Interactions\" ADD COLUMN more int")
        .unwrap();
    let (code, text) = failed(&lab.site.run(&lab.arguments("apply", &[])));
    assert!(code == Some(2) && text.contains("were changed after the plan was made"), "{text}");
}

#[test]
fn a_held_lock_stops_the_batches_and_a_damaged_archive_stops_everything() {
    let Some(mut lab) = Lab::new("clean stops", 1000) else { return };
    let before = digests(&mut lab.client);
    // Somebody holds the last planned row: the batches before it are done.
    let mut holder = Client::connect(&lab.dsn, NoTls).unwrap();
    let mut held = holder.transaction().unwrap();
    held.batch_execute("SELECT 1 FROM xdb_collection.\"Contacts\" FOR UPDATE").unwrap();
    let (code, text) = failed(&lab.site.run(&lab.arguments("apply", &["--lock-wait", "50"])));
    assert!(code == Some(3) && text.contains("lock timeout"), "{text}");
    held.rollback().unwrap();
    let status = lab.site.json(&["clean", "status", "plan"]);
    assert!(status["stopped"].as_str().unwrap().contains("lock timeout"), "{status}");
    assert!(status["batches"]["deleted"].as_u64().unwrap() > 0, "{status}");
    // The archive of a batch that is done is damaged: nothing more is deleted, and nothing put back.
    let archive = files(&lab.site.path("plan/archive")).remove(0);
    let whole = std::fs::read(&archive).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&archive, &damaged).unwrap();
    let now = digests(&mut lab.client);
    for (action, more) in [("apply", [].as_slice()), ("undo", &["--only-batch", "1"])] {
        let (code, text) = failed(&lab.site.run(&lab.arguments(action, more)));
        assert!(code == Some(3) && text.contains("batch-000001"), "{action}: {text}");
        if action == "apply" {
            assert_eq!(digests(&mut lab.client), now);
        }
    }
    // An undo of everything comes to it last, and says how far it came.
    let (code, text) = failed(&lab.site.run(&lab.arguments("undo", &[])));
    assert!(code == Some(3) && text.contains("Put back: batch"), "{text}");
    assert!(text.contains("Still deleted: batch 1\n"), "{text}");
    assert!(text.contains("restore the file") && !text.contains("--only-batch"), "{text}");
    let status = lab.site.json(&["clean", "status", "plan"]);
    assert_eq!(status["batches"]["deleted"], 1, "{status}");
    std::fs::write(&archive, &whole).unwrap();
    lab.site.json(&lab.arguments("undo", &[]));
    assert_eq!(digests(&mut lab.client), before);
}

#[test]
fn a_key_that_was_taken_meanwhile_is_kept() {
    let Some(mut lab) = Lab::new("clean kept", 500) else { return };
    lab.site.json(&lab.arguments("apply", &[]));
    let archived = lab.site.json(&["clean", "status", "plan"]);
    assert!(archived["archived_rows"]["Contacts"].as_u64().unwrap() > 0);
    // Somebody came back under the same key.
    let id = planned(&lab.site, "contacts").pop_first().unwrap();
    let insert = format!(
        "INSERT INTO xdb_collection.\"Contacts\" VALUES ('{id}', '2026-07-01', '2026-07-01', '{id}', 0, '\\x00')"
    );
    lab.client.batch_execute(&insert).unwrap();
    let undone = lab.site.json(&lab.arguments("undo", &[]));
    assert_eq!((&undone["kept"], &undone["left"]), (&1.into(), &0.into()), "{undone}");
    assert_eq!(undone["kept_rows"][0]["key"], id, "{undone}");
    let sql = format!(
        "SELECT \"LastModified\"::text FROM xdb_collection.\"Contacts\" WHERE \"ContactId\" = '{id}'"
    );
    assert_eq!(lab.client.query_one(&sql, &[]).unwrap().get::<_, String>(0), "2026-07-01 00:00:00");
}

/// Somebody deleted and changed rows after the import.
#[test]
fn a_plan_counts_what_the_database_still_has() {
    let Some(mut lab) = Lab::new("clean counts", 1000) else { return };
    let before = lab.site.json(&["clean", "show", "plan"])["plan"].clone();
    let ids: Vec<String> = planned(&lab.site, "interactions").into_iter().collect();
    let (gone, changed) = (&ids[0], &ids[1]);
    let of = |client: &mut Client, id: &str| -> String {
        let sql = format!(
            "SELECT \"ContactId\"::text FROM xdb_collection.\"Interactions\" WHERE \"InteractionId\" = '{id}'"
        );
        client.query_one(&sql, &[]).unwrap().get(0)
    };
    let contact = of(&mut lab.client, changed);
    assert!(planned(&lab.site, "contacts").contains(&contact));
    let sql = format!(
        "DELETE FROM xdb_collection.\"InteractionFacets\" WHERE \"InteractionId\" = '{gone}'; \
         DELETE FROM xdb_collection.\"Interactions\" WHERE \"InteractionId\" = '{gone}'; \
         UPDATE xdb_collection.\"Interactions\" SET \"LastModified\" = now()::timestamp \
         WHERE \"InteractionId\" = '{changed}'"
    );
    lab.client.batch_execute(&sql).unwrap();
    plan(&lab.site, &lab.dsn, "again");
    let after = lab.site.json(&["clean", "show", "again"])["plan"].clone();
    let count = |plan: &serde_json::Value, key: &str| plan["counts"][key].as_u64().unwrap();
    assert_eq!((count(&after, "missing"), count(&after, "changed")), (1, 1), "{after}");
    assert_eq!(count(&after, "interactions"), count(&before, "interactions") - 2);
    let days = after["days"].as_array().unwrap().iter();
    assert_eq!(
        days.map(|day| day["interactions"].as_u64().unwrap()).sum::<u64>(),
        count(&after, "interactions")
    );
    for bytes in ["raw_bytes", "facet_bytes"] {
        assert!(count(&after, bytes) < count(&before, bytes), "{bytes}: {after}");
    }
    // Its contact still has a visit.
    assert!(!planned_by(&lab.site, "again", "contacts").contains(&contact));
    let (code, text) = failed(&lab.site.run(&["clean", "verify", "again"]));
    assert!(code == Some(2) && text.contains("--against DSN"), "{text}");
}

#[test]
fn a_role_that_may_not_delete_is_named() {
    let Some(mut lab) = Lab::new("clean rights", 500) else { return };
    lab.client
        .batch_execute(
            "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA xdb_collection TO reader; \
             GRANT SELECT ON ALL TABLES IN SCHEMA xdb_collection TO reader",
        )
        .unwrap();
    let dsn = lab.dsn.replace("user=culprit", "user=reader");
    let (code, text) = failed(&lab.site.run(&["clean", "verify", "plan", "--against", &dsn]));
    assert!(code == Some(3) && text.contains("no DELETE right"), "{text}");
}

#[test]
fn a_role_that_may_not_lock_rows_is_named_before_anything_is_done() {
    let Some(mut lab) = Lab::new("clean locks", 500) else { return };
    let before = digests(&mut lab.client);
    lab.client
        .batch_execute(
            "CREATE ROLE cleaner LOGIN; GRANT USAGE ON SCHEMA xdb_collection TO cleaner; \
             GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA xdb_collection TO cleaner",
        )
        .unwrap();
    lab.dsn = lab.dsn.replace("user=culprit", "user=cleaner");
    // It may see less of the server than the role that made the plan.
    let more = ["--allow", "other-target"];
    let verify = ["clean", "verify", "plan", "--against", &lab.dsn];
    let verify = [&verify[..], &CALM, &more].concat();
    for arguments in [verify.clone(), lab.arguments("apply", &more)] {
        let (code, text) = failed(&lab.site.run(&arguments));
        assert!(code == Some(3) && text.contains("no UPDATE right"), "{text}");
        assert!(text.contains("GRANT UPDATE ON") && text.contains("TO cleaner"), "{text}");
    }
    let status = lab.site.json(&["clean", "status", "plan"]);
    assert_eq!(status["state"], "planned", "{status}");
    lab.client
        .batch_execute("GRANT UPDATE ON ALL TABLES IN SCHEMA xdb_collection TO cleaner")
        .unwrap();
    lab.site.ok(&verify);
    lab.site.ok(&lab.arguments("apply", &more));
    lab.site.ok(&lab.arguments("undo", &more));
    assert_eq!(digests(&mut lab.client), before);
}
