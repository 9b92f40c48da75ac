//! Folders of Parquet tables that are no recordings: analytics stores, and what `culprit export --to tables`
//! writes.

use std::path::{Path, PathBuf};

use culprit_engine::fleet::{FleetFindingRow, FleetFrame, FleetRecording, FleetSample};
use culprit_model::{Row, Table};
use culprit_query::{TableFile, TableFiles};

use crate::failure::Failure;

/// What a store has besides its tables.
const STORE: &str = "store.json";
/// Folders below that of a table: a day and a host.
const DEPTH: u32 = 2;
/// The tables of a folder of recordings.
const FLEET: [Table; 4] =
    [FleetSample::TABLE, FleetFrame::TABLE, FleetRecording::TABLE, FleetFindingRow::TABLE];

/// The tables of a folder; none when it has no tables, such as a folder of recordings.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn tables(folder: &Path) -> Result<Option<Vec<TableFiles>>, Failure> {
    if folder.join(STORE).is_file() {
        let tables = culprit_audit::tables_of(folder);
        return tables.map(Some).map_err(crate::audit::question_failure);
    }
    if !folder.join(FleetSample::TABLE.name).is_dir() {
        return Ok(None);
    }
    let failed = |error: std::io::Error| {
        Failure::bad_input(format!("cannot read the folder `{}`: {error}", folder.display()))
    };
    let table = |table: Table| {
        let mut files = Vec::new();
        // Folders of earlier versions have fewer tables.
        if !folder.join(table.name).exists() {
            return Ok(TableFiles { table, files: Vec::new() });
        }
        list(&folder.join(table.name), DEPTH, &mut files).map_err(failed)?;
        files.sort();
        Ok(TableFiles { table, files: files.into_iter().map(TableFile::from).collect() })
    };
    FLEET.into_iter().map(table).collect::<Result<_, _>>().map(Some)
}

fn list(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && depth > 0 {
            list(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|ending| ending == "parquet") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_tables_are_told_from_folders_of_recordings() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.culprit"), "").unwrap();
        assert!(tables(folder.path()).unwrap().is_none());
        let part = folder.path().join("fleet_samples/day=2026-11-29/host=a");
        std::fs::create_dir_all(&part).unwrap();
        std::fs::write(part.join("samples.parquet"), "").unwrap();
        let tables = tables(folder.path()).unwrap().unwrap();
        assert_eq!(tables[0].files, [TableFile::from(part.join("samples.parquet"))]);
        assert!(tables[1].files.is_empty());
    }
}
