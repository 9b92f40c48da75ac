//! What `cap --guards` prints holds in a real PostgreSQL.

use serde_json::{Value, json};

use super::Site;
use super::server::Server;

/// What the writer of a facet gets from the database.
fn written(client: &mut postgres::Client, facet: &Value) -> Result<u64, String> {
    let sql = r#"UPDATE xdb_collection."ContactFacets" SET "FacetData" = $1
        WHERE "ContactId" = (SELECT "ContactId" FROM xdb_collection."ContactFacets"
            WHERE "FacetKey" = 'InteractionsCache' LIMIT 1)
        AND "FacetKey" = 'InteractionsCache'"#;
    client
        .execute(sql, &[&facet.to_string()])
        .map_err(|error| error.as_db_error().unwrap().message().to_owned())
}

#[test]
fn a_database_refuses_what_is_beyond_the_limits() {
    let Some(server) = Server::start("cap guards") else { return };
    let site = Site::new(500);
    let mut client = server.xdb("xdb", &site.shards());
    let cap = ["cap", "store", "--path", "InteractionsCache.Referrers[]", "--limit", "512"];
    let report = site.json(&[&cap[..], &["--guards"]].concat());
    assert_eq!(site.json(&cap)["guards"], json!([]), "only when asked");
    let guard = |target: &str| {
        let all = report["guards"].as_array().unwrap();
        let one = all.iter().find(|guard| guard["target"] == target).unwrap();
        one["text"].as_str().unwrap().to_owned()
    };
    client.batch_execute(&guard("postgres")).unwrap();
    // Letters of three bytes: 510 bytes fit, 513 do not.
    let referrers = |texts: &[String]| json!({"InteractionsCount": 1, "Referrers": texts});
    assert_eq!(written(&mut client, &referrers(&["€".repeat(170)])), Ok(1));
    let refused = written(&mut client, &referrers(&["€".repeat(171)])).unwrap_err();
    assert!(refused.contains("culprit_limit_interactionscache_referrers"), "{refused}");
    // Each fits, together they do not.
    let together = report["container_p999_bytes"].as_u64().unwrap().max(512).next_power_of_two();
    let most = usize::try_from(together / 512).unwrap();
    assert_eq!(written(&mut client, &referrers(&vec!["x".repeat(512); most])), Ok(1));
    assert!(written(&mut client, &referrers(&vec!["x".repeat(512); most + 1])).is_err());
    assert_eq!(written(&mut client, &json!({"Referrers": []})), Ok(1));
    for target in ["sqlserver", "writer"] {
        let text = guard(target);
        assert!(text.contains("512") && text.contains(&together.to_string()), "{text}");
        assert!(text.contains("Referrers") && text.contains("InteractionsCache"), "{text}");
    }
    let text = site.ok(&[&cap[..], &["--guards", "--schema", "it's [x]"]].concat());
    assert!(text.contains("\"it's [x]\".\"ContactFacets\""), "{text}");
    assert!(text.contains("[it's [x]]].[ContactFacets]"), "{text}");
}
