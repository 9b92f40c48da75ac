//! docs/format.md is generated from the tables' declarations, so that the two cannot differ.
//!
//! `make bless` writes it anew; the text around the tables is `format_head.md` beside this file.

use std::fmt::Write as _;
use std::path::Path;

use culprit_model::{Column, ColumnType, TABLES, Table};
use culprit_recording::SCHEMA;

use crate::blessed::blessed;

#[test]
fn the_format_document_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    blessed(&path, document().as_bytes());
}

fn document() -> String {
    let mut out = include_str!("format_head.md").replace("{SCHEMA}", &SCHEMA.to_string());
    let names: Vec<String> = TABLES.iter().map(|t| format!("[{0}](#{0})", t.name)).collect();
    writeln!(out, "\n## The tables\n\n{}.", names.join(", ")).unwrap();
    TABLES.iter().for_each(|table| describe(table, &mut out));
    out
}

fn describe(table: &Table, out: &mut String) {
    writeln!(out, "\n### {}\n\n{}\n", table.name, unindent(table.doc)).unwrap();
    writeln!(out, "| column | type | unit | meaning |\n|---|---|---|---|").unwrap();
    for column in table.columns {
        let doc = column.doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let (name, unit) = (column.name, column.unit);
        writeln!(out, "| `{name}` | {} | {unit} | {doc} |", type_name(column)).unwrap();
    }
    for column in table.columns {
        if let ColumnType::Label(words) = column.ty {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            writeln!(out, "\n`{}` is one of {}.", column.name, words.join(", ")).unwrap();
        }
    }
}

fn type_name(column: &Column) -> String {
    let name = match column.ty {
        ColumnType::Bool => "bool",
        ColumnType::U32 => "uint32",
        ColumnType::U64 => "uint64",
        ColumnType::I64 => "int64",
        ColumnType::Text => "string",
        ColumnType::Label(_) => "word",
    };
    if column.nullable { format!("{name}, may be null") } else { name.to_owned() }
}

/// A doc comment without the space that stands before each of its lines.
fn unindent(doc: &str) -> String {
    let lines: Vec<&str> = doc.lines().map(|l| l.strip_prefix(' ').unwrap_or(l)).collect();
    lines.join("\n").trim().to_owned()
}
