//! Every question on an engine over Spark Connect, row for row as this machine answers it.
//!
//! The quick test asks Sail, which speaks the protocol. `make accuracy` asks Apache Spark: a master and two
//! workers, one of which ends in the middle.

use culprit_audit::{AuditStore, questions, tables_of};
use culprit_query::{Dataset, Engine, Limits, SparkAddress, Stop};
use culprit_testkit::spark::{SparkCluster, SparkServer};
use culprit_testkit::{skip, wait_until};

use crate::imported::{Imported, imported};
use crate::oracle::{Cell, ours, same, sorted};
use crate::questions::parameters;

/// An engine at an address that sees the folder where it is, or elsewhere.
fn engine(address: &str, path: Option<&str>) -> Engine {
    let address = SparkAddress::parse(address).unwrap();
    Engine { address, path: path.map(str::to_owned) }
}

fn rows(store: &AuditStore, question: &str) -> Vec<Vec<Cell>> {
    let rows =
        store.ask(question, &parameters()).unwrap_or_else(|e| panic!("{question}: {e}")).rows;
    sorted(rows.iter().map(|row| row.iter().map(ours).collect()).collect())
}

/// The store on an engine that sees it where it is.
fn on(sample: &Imported, address: &str) -> AuditStore {
    sample.open(256).on(engine(address, None), &sample.store).unwrap()
}

/// All questions on an engine and here.
fn assert_same_rows(sample: &Imported, there: &AuditStore) {
    let here = sample.open(256);
    let mut answered = 0;
    for question in questions() {
        let (name, expected) = (question.name, rows(&here, question.name));
        let found = rows(there, name);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (row, expected) in found.iter().zip(&expected) {
            let equal = row.iter().zip(expected).all(|(a, b)| same(a, b));
            assert!(equal && row.len() == expected.len(), "{name}: {row:?} is not {expected:?}");
        }
        answered += 1;
    }
    let checked = there.checked().unwrap();
    assert!(answered > 30 && checked.questions == answered, "{checked:?}");
    assert!(checked.rows > 100 && checked.slice.starts_with("day="), "{checked:?}");
}

/// What distributed engines have got wrong: sets with NULLs, `NOT IN` with a NULL, an outer join that feeds
/// another join, an empty stage below an aggregate, ties in a window, a join with a table of one row.
const SHAPES: [&str; 8] = [
    "SELECT place_id FROM interactions INTERSECT SELECT place_id FROM interactions WHERE pages > 1",
    "SELECT ua_id, place_id FROM interactions EXCEPT \
     SELECT ua_id, place_id FROM interactions WHERE pages > 1",
    "SELECT count(*) AS n FROM contacts WHERE reported_interactions NOT IN \
     (SELECT override_classification FROM contacts)",
    "SELECT count(*) AS n FROM contacts WHERE contact_id NOT IN (SELECT contact_id FROM interactions)",
    "SELECT x.shard, count(*) AS contacts, sum(x.n) AS visits FROM (SELECT c.contact_id, c.shard, \
     count(i.interaction_id) AS n FROM contacts c LEFT JOIN interactions i ON i.contact_id = \
     c.contact_id GROUP BY c.contact_id, c.shard) x JOIN contacts d ON d.contact_id = x.contact_id \
     GROUP BY x.shard",
    "SELECT count(*) AS n, sum(pages) AS pages, max(start_utc) AS latest FROM interactions \
     WHERE pages > 1000000",
    "SELECT shard, pages, count(*) AS n FROM (SELECT shard, pages, rank() OVER (PARTITION BY shard \
     ORDER BY pages) AS place FROM interactions) r WHERE place < 100 GROUP BY shard, pages",
    "SELECT r.run_id, count(*) AS n FROM runs r CROSS JOIN interactions i GROUP BY r.run_id",
];

/// The shapes on an engine and here.
fn assert_same_shapes(sample: &Imported, address: &str) {
    let stop = Stop::default();
    let limits = Limits { memory_bytes: 256 << 20, threads: 2 };
    let here = Dataset::new(tables_of(&sample.store).unwrap(), limits);
    let there = here.clone().on(engine(address, None), &sample.store, &stop).unwrap();
    for sql in SHAPES {
        let of = |data: &Dataset| {
            let rows = data.rows(sql, &stop).unwrap_or_else(|error| panic!("{sql}: {error}")).rows;
            sorted(rows.iter().map(|row| row.iter().map(ours).collect()).collect())
        };
        let (found, expected) = (of(&there), of(&here));
        assert!(!expected.is_empty() || sql.contains("EXCEPT"), "{sql}");
        assert_eq!(found, expected, "{sql}");
    }
}

#[test]
fn an_engine_gives_the_same_rows_for_every_question() {
    let server = match SparkServer::sail() {
        Ok(server) => server,
        Err(why) => {
            return skip("spark", &format!("pysail: python3 with venv, and pip install ({why})"));
        }
    };
    let sample = imported(20_000, 0.2);
    assert_same_rows(&sample, &on(&sample, &server.address()));
    assert_same_shapes(&sample, &server.address());
}

#[test]
#[ignore = "statistical: make accuracy"]
fn a_cluster_gives_the_same_rows_although_a_worker_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = match SparkCluster::start(folder.path()) {
        Ok(cluster) => cluster,
        Err(why) => {
            return skip("spark", &format!("pyspark: python3, pip install, a Java ({why})"));
        }
    };
    let sample = imported(20_000, 0.2);
    let (store, address) = (on(&sample, &cluster.address()), cluster.address());
    // Both workers answer.
    assert_same_rows(&sample, &store);
    assert_same_shapes(&sample, &address);
    let before = cluster.tasks_of_first_worker();
    assert!(before > 0 && cluster.tasks_of_second_worker() > 0);
    // One of them ends while it runs a task of a question.
    let again = on(&sample, &address);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            assert_same_rows(&sample, &again);
            assert_same_shapes(&sample, &address);
        });
        let runs = || cluster.tasks_of_first_worker() > before + 20 || asking.is_finished();
        wait_until("the worker that is to end runs tasks", runs);
        assert!(!asking.is_finished());
        cluster.end_worker();
        asking.join().unwrap();
    });
}

/// An engine that sees other files answers another question.
#[test]
fn an_engine_with_other_files_is_not_believed() {
    let server = match SparkServer::sail() {
        Ok(server) => server,
        Err(why) => {
            return skip("spark", &format!("pysail: python3 with venv, and pip install ({why})"));
        }
    };
    let (one, other) = (imported(2_000, 0.2), imported(2_000, 0.6));
    let path = format!("file://{}", other.store.display());
    let store = one.open(256).on(engine(&server.address(), Some(&path)), &one.store).unwrap();
    let error = store.ask("impact_days", &parameters()).unwrap_err();
    let text = std::error::Error::source(&error).unwrap().to_string();
    assert!(text.contains("the slice `day=") && text.contains(" there, "), "{text}");
    assert!(text.ends_with(" here"), "{text}");
}
