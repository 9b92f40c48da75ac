//! Every question on an engine over Spark Connect, row for row as this machine answers it.
//!
//! The quick test asks Sail, which speaks the protocol. `make accuracy` asks Apache Spark: a master and two
//! workers, one of which ends in the middle.

use culprit_audit::{AuditStore, questions};
use culprit_query::{Engine, SparkAddress};
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
    let store = on(&sample, &cluster.address());
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| assert_same_rows(&sample, &store));
        for count in 1..=3 {
            let some = || store.checked().unwrap().questions >= count || asking.is_finished();
            wait_until("some questions are answered", some);
        }
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
