//! docs/sql.md is generated from the declarations, so that the two cannot differ.
//!
//! `make bless` writes it anew; the text around the tables is `sql_head.md` beside this file.

use std::fmt::Write as _;
use std::path::Path;

use culprit_query::{Question, SqlTable, View, questions, tables, views};

use crate::blessed::blessed;

#[test]
fn the_sql_document_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    blessed(&path, document().as_bytes());
}

fn document() -> String {
    let mut out = include_str!("sql_head.md").to_owned();
    writeln!(out, "\n## Worked questions").unwrap();
    questions().iter().for_each(|question| worked(question, &mut out));
    writeln!(out, "\n## Views\n\n| view | a row is |\n|---|---|").unwrap();
    for view in views() {
        writeln!(out, "| [{0}](#{0}) | {1} |", view.name, first(&view.doc)).unwrap();
    }
    views().iter().for_each(|view| describe_view(view, &mut out));
    let names: Vec<String> = tables().iter().map(|table| format!("`{}`", table.name)).collect();
    writeln!(out, "\n## Tables\n\n{}.\n", names.join(", ")).unwrap();
    writeln!(out, "What their columns mean is said in [format.md](format.md#the-tables).").unwrap();
    tables().iter().for_each(|table| describe(table, &mut out));
    out
}

fn first(doc: &str) -> &str {
    doc.split_once(". ").map_or(doc, |(first, _)| first).trim_end_matches('.')
}

fn worked(question: &Question, out: &mut String) {
    let Question { title, reading, sql, .. } = question;
    writeln!(out, "\n**{title}** {reading}\n\n```sql\n{sql}\n```").unwrap();
}

fn describe_view(view: &View, out: &mut String) {
    writeln!(out, "\n### {}\n\n{}\n", view.name, view.doc).unwrap();
    writeln!(out, "| column | type | unit | meaning |\n|---|---|---|---|").unwrap();
    for column in &view.columns {
        let doc = column.doc.replace('|', "\\|");
        writeln!(out, "| `{}` | {} | {} | {doc} |", column.name, column.ty, column.unit).unwrap();
    }
}

/// The columns of a table; those that format.md does not describe with their meaning.
fn describe(table: &SqlTable, out: &mut String) {
    let own = !culprit_model::TABLES.iter().any(|known| known.name == table.name);
    if !own {
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("`{}` {}", column.name, column.ty)).collect();
        writeln!(out, "\n### {}\n\n{}.", table.name, columns.join(", ")).unwrap();
        return;
    }
    let doc = table.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(out, "\n### {}\n\n{doc}\n", table.name).unwrap();
    writeln!(out, "| column | type | unit | meaning |\n|---|---|---|---|").unwrap();
    for column in &table.columns {
        let null = if column.nullable { ", may be null" } else { "" };
        let doc = column.doc.replace('|', "\\|");
        writeln!(out, "| `{}` | {}{null} | {} | {doc} |", column.name, column.ty, column.unit)
            .unwrap();
    }
}
