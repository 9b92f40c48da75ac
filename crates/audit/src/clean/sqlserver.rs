//! Level `source` for SQL Server: the clean-up as SQL text, to be read and run by an administrator.
//!
//! Each batch is one transaction: it deletes only rows whose `LastModified` is still the imported one,
//! and `OUTPUT .. INTO` archives them in tables beside the xDB's. Undo inserts from there.

use std::fmt::Write as _;

use culprit_model::counted;

use super::error::CleanError;
use super::folder::{CONTACTS, INTERACTIONS, NewFolder};
use super::keys::PlanKey;
use super::select::Selected;
use crate::schema::OwnerKind;
use crate::time::put_xdb;

/// Rows of one `VALUES` list at most, by the server's limit.
const VALUES: usize = 1000;
/// What the archive tables' names begin with.
const ARCHIVE: &str = "culprit_archive_";
/// The tables in the order of deletion, with their keys.
const OF_INTERACTION: [(&str, &str); 2] =
    [("InteractionFacets", "InteractionId"), ("Interactions", "InteractionId")];
const OF_CONTACT: [(&str, &str); 4] = [
    ("ContactFacets", "ContactId"),
    ("ContactIdentifiersIndex", "ContactId"),
    ("ContactIdentifiers", "ContactId"),
    ("Contacts", "ContactId"),
];

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Writes the files below `forward` and `undo`.
pub(super) fn write_sql(
    folder: &mut NewFolder,
    schema: &str,
    found: &Selected,
    batch_rows: u32,
) -> Result<(), CleanError> {
    let schema = bracketed(schema);
    folder.write("forward/0-archive-tables.sql", archive_tables(&schema).as_bytes())?;
    let rows = usize::try_from(batch_rows).unwrap_or(1).max(1);
    let mut number = 0_u64;
    for (name, keys) in [(INTERACTIONS, &found.interactions), (CONTACTS, &found.contacts)] {
        for of_shard in keys.chunk_by(|a, b| a.shard == b.shard) {
            for batch in of_shard.chunks(rows) {
                number += 1;
                let shard = batch.first().map_or(0, |key| key.shard);
                let file = format!("forward/{number:06}-{name}-shard-{shard}.sql");
                folder.write(&file, batch_text(&schema, number, batch).as_bytes())?;
            }
        }
    }
    folder.write("undo/1-insert.sql", undo(&schema).as_bytes())
}

fn all_tables() -> impl DoubleEndedIterator<Item = &'static (&'static str, &'static str)> {
    OF_INTERACTION.iter().chain(&OF_CONTACT)
}

/// Empty copies of the tables.
fn archive_tables(schema: &str) -> String {
    let mut text = String::from(
        "-- Run this once in the database of each shard, before the batches. The archive tables get the\n\
         -- deleted rows. Drop them when nobody needs the undo any more.\n",
    );
    for (table, _) in all_tables() {
        let _ = writeln!(
            text,
            "IF OBJECT_ID('{}.{ARCHIVE}{table}') IS NULL AND OBJECT_ID('{}.{table}') IS NOT NULL\n  \
             SELECT TOP 0 * INTO {schema}.[{ARCHIVE}{table}] FROM {schema}.[{table}];",
            schema.replace('\'', "''"),
            schema.replace('\'', "''")
        );
    }
    text
}

/// One batch of keys of one kind.
fn batch_text(schema: &str, number: u64, keys: &[PlanKey]) -> String {
    let (kind, shard) = keys.first().map_or((OwnerKind::Contact, 0), |key| (key.kind, key.shard));
    let tables: &[(&str, &str)] = match kind {
        OwnerKind::Interaction => &OF_INTERACTION,
        OwnerKind::Contact => &OF_CONTACT,
    };
    let (own, id) = tables[tables.len() - 1];
    let mut text = format!(
        "-- Batch {number}: {} of {own}. Run it in the database of shard {shard}.\n\
         SET XACT_ABORT ON; SET NOCOUNT ON; SET LOCK_TIMEOUT 2000;\n\
         BEGIN TRANSACTION;\n\
         DECLARE @keys TABLE (id uniqueidentifier PRIMARY KEY, modified datetime2(7) NULL);\n",
        counted(keys.len() as u64, "key")
    );
    for part in keys.chunks(VALUES) {
        text.push_str("INSERT INTO @keys (id, modified) VALUES\n");
        for (at, key) in part.iter().enumerate() {
            let modified = key.last_modified.map_or_else(
                || "NULL".to_owned(),
                |time| {
                    let mut out = Vec::new();
                    put_xdb(&mut out, time.0);
                    let time = String::from_utf8_lossy(&out).trim_end_matches('Z').to_owned();
                    format!("'{time}'")
                },
            );
            let end = if at + 1 == part.len() { ";" } else { "," };
            let _ = writeln!(text, "  ('{}', {modified}){end}", key.guid());
        }
    }
    let named = match kind {
        OwnerKind::Interaction => String::new(),
        OwnerKind::Contact => format!(
            "\n    AND NOT EXISTS (SELECT 1 FROM {schema}.[Interactions] v WHERE v.[ContactId] = k.id)"
        ),
    };
    let _ = writeln!(
        text,
        "-- Rows that were changed after the import stay. The import keeps milliseconds.\n\
         DECLARE @same TABLE (id uniqueidentifier PRIMARY KEY);\n\
         INSERT INTO @same (id)\n  SELECT k.id FROM @keys k\n  \
         JOIN {schema}.[{own}] o WITH (UPDLOCK, HOLDLOCK) ON o.[{id}] = k.id\n  \
         WHERE DATEADD(nanosecond, -(DATEPART(nanosecond, o.[LastModified]) % 1000000), \
         o.[LastModified]) = k.modified{named};"
    );
    for (table, key) in tables {
        let optional = *table == "ContactIdentifiersIndex";
        let delete = format!(
            "DELETE r OUTPUT deleted.* INTO {schema}.[{ARCHIVE}{table}]\n  \
             FROM {schema}.[{table}] r JOIN @same s ON s.id = r.[{key}];"
        );
        if optional {
            let name = schema.replace('\'', "''");
            let _ = writeln!(text, "IF OBJECT_ID('{name}.{table}') IS NOT NULL\n  {delete}");
        } else {
            let _ = writeln!(text, "{delete}");
        }
    }
    let _ = writeln!(
        text,
        "SELECT k.id AS skipped FROM @keys k WHERE k.id NOT IN (SELECT id FROM @same);\n\
         COMMIT TRANSACTION;"
    );
    text
}

/// Everything from the archive tables, contacts first.
fn undo(schema: &str) -> String {
    let mut text = String::from(
        "-- Run this in the database of each shard. Rows whose key was taken meanwhile stay as they are.\n\
         SET XACT_ABORT ON;\nBEGIN TRANSACTION;\n",
    );
    for (table, key) in all_tables().rev() {
        let more = match *table {
            "InteractionFacets" | "ContactFacets" => " AND t.[FacetKey] = a.[FacetKey]",
            "ContactIdentifiers" => {
                " AND t.[Source] = a.[Source] AND t.[Identifier] = a.[Identifier]"
            }
            _ => "",
        };
        let name = schema.replace('\'', "''");
        let _ = writeln!(
            text,
            "IF OBJECT_ID('{name}.{ARCHIVE}{table}') IS NOT NULL\n  INSERT INTO {schema}.[{table}]\n  \
             SELECT a.* FROM {schema}.[{ARCHIVE}{table}] a\n  WHERE NOT EXISTS (SELECT 1 FROM \
             {schema}.[{table}] t WHERE t.[{key}] = a.[{key}]{more});"
        );
    }
    text.push_str("COMMIT TRANSACTION;\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Utc;

    fn key(kind: OwnerKind, n: u64) -> PlanKey {
        let last_modified = Some(Utc(1_000));
        let state = culprit_model::Text::default();
        PlanKey { kind, id: n, shard: 1, guid_high: n, guid_low: 0, last_modified, state }
    }

    #[test]
    fn a_batch_archives_what_it_deletes_in_one_transaction_facets_first() {
        let keys: Vec<PlanKey> = (0..1001).map(|n| key(OwnerKind::Interaction, n)).collect();
        let text = batch_text("[x]", 3, &keys);
        assert_eq!(text.matches("INSERT INTO @keys").count(), 2, "{text}");
        assert!(
            text.contains(
                "('00000000-0000-0000-0000-000000000000', '1970-01-01T00:00:01.0000000'),"
            )
        );
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("BEGIN TRANSACTION") < at("[x].[InteractionFacets] r"));
        assert!(at("[x].[InteractionFacets] r") < at("[x].[Interactions] r"));
        assert!(at("[x].[Interactions] r") < at("COMMIT TRANSACTION"));
        let contacts = batch_text("[x]", 4, &[key(OwnerKind::Contact, 7)]);
        assert!(contacts.contains("NOT EXISTS (SELECT 1 FROM [x].[Interactions]"), "{contacts}");
    }

    #[test]
    fn undo_goes_the_other_way_round() {
        let text = undo("[x]");
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("INTO [x].[Contacts]") < at("INTO [x].[ContactFacets]"));
        assert!(at("INTO [x].[ContactFacets]") < at("INTO [x].[InteractionFacets]"));
    }
}
