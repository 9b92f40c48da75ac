//! Sums beside the rows: reports say the same with them and without, after every kind of change.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use culprit_audit::lists::{ListSet, stock_lists};
use culprit_audit::robots::{GroupBy, Preset, RobotGroup, RobotOptions, robots};
use culprit_audit::schema::{AgentRollup, ContactRollup, FacetSize};
use culprit_audit::{
    AuditStore, SampleFormat, SampleOptions, Store, bloat, orphans, tables_of, write_sample,
};
use culprit_query::{Limits, Stop};

use crate::imported::{Imported, imported, read};

const LIMITS: Limits = Limits { memory_bytes: 256 << 20, threads: 2 };

/// The store as it is, and as if it had rows alone.
fn both(folder: &Path) -> [AuditStore; 2] {
    let tables = tables_of(folder).unwrap();
    let is_sum = |name: &str| name.starts_with("rollup_") && name != "rollup_day";
    let rows = tables.iter().filter(|table| !is_sum(table.table.name)).cloned().collect();
    [tables, rows].map(|tables| AuditStore::new(tables, LIMITS, Stop::default()))
}

/// What is counted of each user agent with its verdict, and the fractions.
fn agents(store: &AuditStore) -> BTreeMap<Option<String>, (String, [f64; 3])> {
    let lists = ListSet::new(stock_lists(), Vec::new());
    let by = GroupBy::UserAgent;
    let options = RobotOptions { by, preset: Preset::Balanced, lists: &lists, networks: None };
    let groups = robots(store, &options).unwrap().groups;
    let shown = |group: &RobotGroup| {
        let mut counts = group.counts.clone();
        let gaps = counts.gaps.take().unwrap_or_default();
        let hours = counts.hours_c_ln_c.take().unwrap_or_default();
        let text = format!("{counts:?} {} {:?}", gaps.count, group.verdict.band);
        (group.user_agent.clone(), (text, [gaps.sum, gaps.squares, hours]))
    };
    groups.iter().map(shown).collect()
}

/// Reports of sums and of rows.
fn assert_same(folder: &Path) {
    let [sums, rows] = both(folder);
    assert_eq!(orphans(&sums).unwrap(), orphans(&rows).unwrap());
    assert_eq!(bloat(&sums, 5).unwrap(), bloat(&rows, 5).unwrap());
    let (sums, rows) = (agents(&sums), agents(&rows));
    assert_eq!(sums.len(), rows.len());
    for (agent, (counts, fractions)) in &rows {
        let (found, others) = &sums[agent];
        assert_eq!(found, counts, "{agent:?}");
        // Rows are added up in another order.
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        assert!(fractions.iter().zip(others).all(near), "{agent:?} {fractions:?} {others:?}");
    }
}

fn lengths(folder: &Path) -> [usize; 3] {
    let store = Store::open(folder).unwrap();
    let agents = store.read::<AgentRollup>().unwrap().len();
    let contacts = store.read::<ContactRollup>().unwrap().len();
    [agents, contacts, store.read::<FacetSize>().unwrap().len()]
}

/// Another sample, imported into the same store.
fn grown(sample: &Imported, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let formats = vec![SampleFormat::XdbJson];
    let options =
        SampleOptions { interactions: 1500, robots: 0.4, seed, days: 90, formats, malformed: 0 };
    write_sample(folder.path(), &options, &AtomicBool::new(false)).unwrap();
    read(folder.path(), &sample.store);
}

#[test]
fn reports_of_sums_are_those_of_rows() {
    let sample = imported(3000, 0.2);
    assert!(lengths(&sample.store).iter().all(|rows| *rows > 2), "{:?}", lengths(&sample.store));
    assert_same(&sample.store);
    let before = lengths(&sample.store);
    grown(&sample, 12);
    assert!(lengths(&sample.store)[0] > before[0]);
    assert_same(&sample.store);
}

/// A store of an earlier version has rows alone: its next import adds the sums of all of them.
#[test]
fn sums_that_are_missing_are_made_by_the_next_import() {
    let sample = imported(2000, 0.2);
    let path = sample.store.join("store.json");
    let mut list: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let files = list["files"].as_array_mut().unwrap();
    files.retain(|file| !file["table"].as_str().unwrap().starts_with("rollup_"));
    std::fs::write(&path, list.to_string()).unwrap();
    assert_eq!(lengths(&sample.store), [0; 3]);
    grown(&sample, 13);
    assert_same(&sample.store);
    let store = Store::open(&sample.store).unwrap();
    let summed: u64 = store.read::<FacetSize>().unwrap().iter().map(|row| row.facets).sum();
    assert_eq!(summed, store.rows("facets"));
}
