//! DuckDB as an outside judge: the same texts on the same files give the same rows. And every report
//! with little memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use culprit_audit::lists::{ListSet, stock_lists};
use culprit_audit::robots::{GroupBy, Preset, RobotOptions, robots};
use culprit_audit::schema::TABLES;
use culprit_audit::visits::{
    Attribute, Bucket, PlaceSpec, RobotVisits, VisitOptions, Zone, visits,
};
use culprit_audit::{AuditStore, bloat, impact, orphans, questions, tables_of, text};
use culprit_model::ColumnType;
use culprit_query::{Value, with_parameters};
use culprit_testkit::python::python_readers;

use crate::imported::{Imported, imported};
use crate::questions::parameters;

/// Reads `{"tables": [[name, [files], "columns"]], "questions": [[name, sql]]}` and prints the rows of each
/// question as one line of JSON.
const SCRIPT: &str = r#"
import decimal, duckdb, json, sys
task = json.load(open(sys.argv[1]))
db = duckdb.connect()
# Its bar would be printed among the rows on a busy machine.
db.execute("SET enable_progress_bar = false")
for name, files, columns in task["tables"]:
    if files:
        db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r}, hive_partitioning = false)")
    else:
        db.execute(f"CREATE TABLE {name} ({columns})")
plain = lambda cell: float(cell) if isinstance(cell, decimal.Decimal) else cell
for name, sql in task["questions"]:
    try:
        rows = [[plain(cell) for cell in row] for row in db.execute(sql).fetchall()]
    except Exception as error:
        sys.exit(f"{name}: {error}\n{sql}")
    print(json.dumps(rows))
"#;

/// The tables as DuckDB makes them when they have no file.
fn tables(store: &Path) -> serde_json::Value {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for table in tables_of(store).unwrap() {
        let paths = table.files.iter().map(|file| file.path.display().to_string()).collect();
        files.insert(table.table.name, paths);
    }
    let column = |column: &culprit_model::Column| {
        let ty = match column.ty {
            ColumnType::Bool => "BOOLEAN",
            ColumnType::U32 => "UINTEGER",
            ColumnType::U64 => "UBIGINT",
            ColumnType::I64 => "BIGINT",
            ColumnType::Text | ColumnType::Label(_) => "VARCHAR",
        };
        format!("{} {ty}", column.name)
    };
    let table = |table: &culprit_audit::schema::StoreTable| {
        let columns: Vec<String> = table.table.columns.iter().map(column).collect();
        serde_json::json!([table.table.name, files[table.table.name], columns.join(", ")])
    };
    TABLES.iter().map(table).collect()
}

/// What DuckDB answers; none with the reason where there is no DuckDB.
#[expect(clippy::disallowed_methods, reason = "the judge is another program")]
fn duckdb(sample: &Imported, asked: &[(String, String)]) -> Result<Vec<serde_json::Value>, String> {
    let python = python_readers()?;
    let task = serde_json::json!({"tables": tables(&sample.store), "questions": asked});
    let file = sample.store.with_file_name("task.json");
    std::fs::write(&file, task.to_string()).unwrap();
    let output = Command::new(python).args(["-c", SCRIPT]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Ok(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// A cell that both engines write alike; hashes fill 64 bits, which one of them calls negative.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(crate) enum Cell {
    Null,
    Number(f64),
    Text(String),
}

pub(crate) fn ours(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Int(number) => Cell::Number(number.cast_unsigned() as f64),
        Value::Unsigned(number) => Cell::Number(*number as f64),
        Value::Float(number) => Cell::Number(*number),
        Value::Text(text) => Cell::Text(text.clone()),
        other => panic!("{other:?}"),
    }
}

fn theirs(value: &serde_json::Value) -> Cell {
    match value {
        serde_json::Value::Null => Cell::Null,
        serde_json::Value::Number(number) => Cell::Number(match number.as_i64() {
            Some(number) => number.cast_unsigned() as f64,
            None => number.as_f64().unwrap(),
        }),
        serde_json::Value::String(text) => Cell::Text(text.clone()),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn sorted(mut rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    rows
}

/// Counts are equal, means within 1e-9 of their size.
pub(crate) fn same(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        _ => a == b,
    }
}

#[test]
fn duckdb_gives_the_same_rows_for_every_question() {
    let sample = imported(20_000, 0.2);
    let asked: Vec<(String, String)> = questions()
        .iter()
        .map(|question| {
            let sql = with_parameters(&text(question.name), &parameters()).unwrap();
            (question.name.to_owned(), sql)
        })
        .collect();
    let answers = match duckdb(&sample, &asked) {
        Ok(answers) => answers,
        Err(why) => {
            println!("skipped: duckdb: python3 with venv, and pip install ({why})");
            return;
        }
    };
    let store = sample.open(256);
    for ((name, _), answer) in asked.iter().zip(answers) {
        let rows = store.ask(name, &parameters()).unwrap().rows;
        let rows = rows.iter().map(|row| row.iter().map(ours).collect()).collect();
        let answer = answer.as_array().unwrap().iter();
        let answer = answer.map(|row| row.as_array().unwrap().iter().map(theirs).collect());
        let (rows, answer) = (sorted(rows), sorted(answer.collect()));
        assert_eq!(rows.len(), answer.len(), "{name}");
        for (row, expected) in rows.iter().zip(&answer) {
            let equal = row.iter().zip(expected).all(|(a, b)| same(a, b));
            assert!(equal && row.len() == expected.len(), "{name}: {row:?} is not {expected:?}");
        }
    }
}

/// Everything that a report asks, with this much memory.
fn all_reports(store: &AuditStore) -> Result<(), culprit_audit::AuditError> {
    let lists = ListSet::new(stock_lists(), Vec::new());
    for by in [GroupBy::UserAgent, GroupBy::UserAgentAndNetwork, GroupBy::Contact, GroupBy::Address]
    {
        let options = RobotOptions { by, preset: Preset::Balanced, lists: &lists, networks: None };
        robots(store, &options)?;
    }
    let options = VisitOptions {
        place: PlaceSpec::parse("country=UA").unwrap(),
        zone: Zone::parse("Europe/Kyiv").unwrap(),
        by: Bucket::Day,
        min_sessions: 1,
        attribute: Attribute::Contact,
        robots: RobotVisits::Split,
        robot_agents: vec![1, 2],
        extrapolate: true,
    };
    visits(store, &options)?;
    orphans(store)?;
    bloat(store, 50)?;
    impact(store, &[1, 2])?;
    Ok(())
}

#[test]
fn every_report_finishes_with_little_memory_or_names_what_needs_more() {
    let sample = imported(100_000, 0.2);
    all_reports(&sample.open(256)).unwrap();
    // A sixteenth of it: an error says what wanted more.
    if let Err(error) = all_reports(&sample.open(16)) {
        let text = error.to_string();
        assert!(text.contains("more memory than 16 MiB"), "{text}");
        assert!(text.contains(" wanted ") || text.contains("reading `"), "{text}");
    }
}

/// The truth of the sample, day by day, in the place's own zone.
#[test]
fn visits_of_a_place_are_those_of_the_truth() {
    let sample = imported(20_000, 0.2);
    let store = sample.open(256);
    let options = VisitOptions {
        place: PlaceSpec::parse("postal=49000,country=UA").unwrap(),
        zone: Zone::parse("Europe/Kyiv").unwrap(),
        by: Bucket::Day,
        min_sessions: 1,
        attribute: Attribute::Interaction,
        robots: RobotVisits::Exclude,
        robot_agents: Vec::new(),
        extrapolate: false,
    };
    let report = visits(&store, &options).unwrap();
    let found: BTreeMap<String, (u64, u64)> =
        report.rows.iter().map(|row| (row.start.clone(), (row.sessions, row.pages))).collect();
    let expected: BTreeMap<String, (u64, u64)> = sample.truth.places["UA 49000"]
        .iter()
        .map(|(day, sums)| {
            (day.clone(), (sums.visits + sums.robot_visits, sums.pages + sums.robot_pages))
        })
        .collect();
    assert_eq!(found, expected);
    let found = orphans(&store).unwrap();
    assert_eq!(found.without, sample.truth.contacts_without_interactions);
    let with_row = sample.truth.contacts - sample.truth.contacts_without_row;
    assert_eq!(found.contacts, with_row);
    let report = bloat(&store, 1).unwrap();
    let longest = report.paths.iter().filter(|p| p.kind == "text").map(|p| p.sizes.max).max();
    assert!(longest.unwrap() >= sample.truth.longest_referrer_bytes, "{longest:?}");
}
