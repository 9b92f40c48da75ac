//! docs/audit.md is generated from the tables' declarations, so that the two cannot differ.

use std::fmt::Write as _;
use std::path::Path;

use culprit_audit::schema::{Partition, StoreTable, TABLES};
use culprit_model::{Column, ColumnType};

use crate::blessed::blessed;

#[test]
fn the_document_of_the_store_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let mut out = include_str!("audit_head.md").to_owned();
    out.push_str("\n## The tables\n");
    TABLES.iter().for_each(|table| describe(table, &mut out));
    blessed(&path, out.as_bytes());
}

/// The words of a doc comment on one line.
fn line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn describe(StoreTable { table, partition }: &StoreTable, out: &mut String) {
    let files = match partition {
        Partition::DayAndShard => "Files by day and shard.",
        Partition::Shard => "Files by shard.",
        Partition::Whole => "One file.",
    };
    writeln!(out, "\n### {}\n\n{} {files}\n", table.name, line(table.doc)).unwrap();
    writeln!(out, "| column | type | unit | meaning |\n|---|---|---|---|").unwrap();
    for column in table.columns {
        let (name, unit, doc) = (column.name, column.unit, line(column.doc));
        writeln!(out, "| `{name}` | {} | {unit} | {doc} |", kind(column)).unwrap();
    }
}

fn kind(column: &Column) -> String {
    let name = match column.ty {
        ColumnType::Bool => "bool".to_owned(),
        ColumnType::U32 => "uint32".to_owned(),
        ColumnType::U64 => "uint64".to_owned(),
        ColumnType::I64 => "int64".to_owned(),
        ColumnType::Text => "string".to_owned(),
        ColumnType::Label(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
    };
    if column.nullable { format!("{name}, may be null") } else { name }
}

#[test]
fn names_are_unique() {
    for (at, StoreTable { table, .. }) in TABLES.iter().enumerate() {
        assert!(TABLES[..at].iter().all(|other| other.table.name != table.name), "{}", table.name);
        for (at, column) in table.columns.iter().enumerate() {
            let before = &table.columns[..at];
            assert!(before.iter().all(|other| other.name != column.name), "{}", column.name);
        }
    }
}
