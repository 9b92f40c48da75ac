//! Other programs read the tables: DuckDB and pandas get the sums that we get.
//!
//! Skipped where Python or the packages cannot be had.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use culprit_recording::write;
use culprit_testkit::python::python_readers;

use crate::sample;

/// Prints `READER CAUSE SUM ROWS-WITH-STACK` for each cause, and checks what else is promised.
const SCRIPT: &str = r#"
import io, json, sys, zipfile
import duckdb, pandas, pyarrow.parquet as parquet
path, folder = sys.argv[1:]
archive = zipfile.ZipFile(path)
assert archive.testzip() is None
assert all(e.compress_type == zipfile.ZIP_STORED for e in archive.infolist())
archive.extractall(folder)
assert json.loads(archive.read("meta.json"))["schema"] == 1
table = f"{folder}/intervals.parquet"
for cause, total, stacks in duckdb.sql(
    f"SELECT cause, sum(duration), count(stack) FROM '{table}' GROUP BY 1"
).fetchall():
    print("duckdb", cause, int(total), stacks)
rows = pandas.read_parquet(table)
for cause, group in rows.groupby("cause"):
    print("pandas", cause, int(group.duration.sum()), int(group["stack"].count()))
joined = duckdb.sql(f"""
    SELECT count(*) FROM '{table}' i
    JOIN read_parquet('{folder}/threads.parquet', file_row_number = true) t ON i.thread = t.file_row_number
""").fetchall()[0][0]
assert joined == len(rows), (joined, len(rows))
meta = parquet.read_schema(table).metadata
assert meta[b"culprit.unit.duration"] == b"ns", meta
for name in archive.namelist():
    if name.endswith(".parquet"):
        pandas.read_parquet(io.BytesIO(archive.read(name)))
"#;

#[expect(clippy::disallowed_methods, reason = "the judge is another program")]
fn command(program: &Path) -> Command {
    Command::new(program)
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

#[test]
fn duckdb_and_pandas_get_our_sums() {
    let python = match python_readers() {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: duckdb and pandas: python3 with venv, and pip install ({why})");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    let recording = sample::recording(20_000);
    write(&path, &recording).unwrap();
    let output =
        run(command(&python).args(["-c", SCRIPT]).args([&path, &folder.path().join("unpacked")]))
            .unwrap();
    let mut expected = BTreeMap::new();
    for interval in &recording.intervals {
        for reader in ["duckdb", "pandas"] {
            let sums = expected.entry(format!("{reader} {}", interval.cause)).or_insert((0, 0));
            sums.0 += interval.duration.0;
            sums.1 += u64::from(interval.stack.is_some());
        }
    }
    let expected: Vec<String> =
        expected.into_iter().map(|(who, (sum, stacks))| format!("{who} {sum} {stacks}")).collect();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut found: Vec<&str> = stdout.lines().collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn unzip_finds_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    write(&path, &sample::recording(100)).unwrap();
    match run(command(Path::new("unzip")).arg("-tqq").arg(&path)) {
        Ok(_) => {}
        Err(why) if why.contains("No such file") => println!("skipped: unzip: the program unzip"),
        Err(why) => panic!("{why}"),
    }
}
