//! Tables on the engine: a view over the files of each, with the types that it has here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::Engine;
use super::client::Client;
use super::dialect::{quoted, spark_column, spark_type};
use super::proto::{DataSource, Read, RelationKind, Sql};
use crate::dataset::TableFiles;
use crate::error::Error;

/// Characters that would make a path a pattern on the engine.
const PATTERNS: &[char] = &['*', '?', '[', ']', '{', '}', '\\'];

/// The tables that a session has.
#[derive(Debug, Default)]
pub(super) struct Registered(Mutex<BTreeSet<&'static str>>);

impl Registered {
    /// Makes a table known, once.
    ///
    /// # Errors
    /// When the engine cannot read its files, or their paths cannot be said to it.
    pub(super) async fn add(
        &self,
        client: &Client,
        session: &str,
        table: &TableFiles,
        (folder, engine): (&Path, &Engine),
    ) -> Result<(), Error> {
        let name = table.table.name;
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return Ok(());
        }
        // Nothing but the files can be wrong with what is sent here.
        let failed = |error: Error| match error {
            Error::EngineFailed { address, why, .. } => {
                Error::EngineTable { address, table: name, why }
            }
            other => other,
        };
        if !table.files.is_empty() {
            let paths = paths(table, folder, engine.path.as_deref())?;
            let source =
                DataSource { format: Some("parquet".to_owned()), options: BTreeMap::new(), paths };
            let read = RelationKind::Read(Read { data_source: Some(source) });
            client.create_view(session, files_of(name), read).await.map_err(failed)?;
        }
        let view = RelationKind::Sql(Sql { query: view(table) });
        client.create_view(session, name.to_owned(), view).await.map_err(failed)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        Ok(())
    }
}

/// The view over the files themselves.
fn files_of(name: &str) -> String {
    format!("culprit_files_{name}")
}

/// The table as questions see it; without files it has no rows.
fn view(table: &TableFiles) -> String {
    let columns = table.table.columns.iter();
    if table.files.is_empty() {
        let empty = columns.map(|column| {
            format!("CAST(NULL AS {}) AS {}", spark_type(column), quoted(column.name))
        });
        return format!("SELECT {} WHERE 1 = 0", empty.collect::<Vec<_>>().join(", "));
    }
    let columns: Vec<String> = columns.map(spark_column).collect();
    format!("SELECT {} FROM {}", columns.join(", "), quoted(&files_of(table.table.name)))
}

/// The files where the engine sees them.
fn paths(
    table: &TableFiles,
    folder: &Path,
    engine_path: Option<&str>,
) -> Result<Vec<String>, Error> {
    let path = |file: &Path| {
        let wrong = |why: &str| Error::EnginePath { path: file.to_owned(), why: why.to_owned() };
        let file = std::path::absolute(file).map_err(|error| wrong(&error.to_string()))?;
        let inside = file.strip_prefix(folder).map_err(|_| wrong("it is outside of the folder"))?;
        let inside = inside.to_str().ok_or_else(|| wrong("it is no UTF-8"))?;
        let base = match (engine_path, folder.to_str()) {
            (Some(path), _) => path.trim_end_matches('/').to_owned(),
            (None, Some(folder)) => format!("file://{folder}"),
            (None, None) => return Err(wrong("it is no UTF-8")),
        };
        let whole = format!("{base}/{inside}");
        if whole.contains(PATTERNS) {
            return Err(wrong("a character in it makes it a pattern for the engine"));
        }
        Ok(whole)
    };
    table.files.iter().map(|file| path(&file.path)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use culprit_model::{Row as _, Thread};

    use super::*;

    fn table(files: &[&str]) -> TableFiles {
        TableFiles {
            table: Thread::TABLE,
            files: files.iter().map(|file| PathBuf::from(file).into()).collect(),
        }
    }

    #[test]
    fn files_are_named_as_the_engine_sees_them() {
        let table = table(&["/data/store/threads/day=1/a.parquet"]);
        let here = Path::new("/data/store");
        let inside = "threads/day=1/a.parquet";
        let of = |engine_path| paths(&table, here, engine_path).unwrap();
        assert_eq!(of(None), [format!("file:///data/store/{inside}")]);
        assert_eq!(of(Some("s3a://b/store/")), [format!("s3a://b/store/{inside}")]);
        assert!(paths(&table, Path::new("/other"), None).is_err());
        assert!(paths(&table, here, Some("s3a://b/{a,b}")).is_err());
    }

    #[test]
    fn a_table_without_files_has_its_columns() {
        let text = view(&table(&[]));
        assert!(text.contains("CAST(NULL AS STRING) AS `name`") && text.ends_with("WHERE 1 = 0"));
        assert!(view(&table(&["a"])).ends_with("FROM `culprit_files_threads`"));
    }
}
