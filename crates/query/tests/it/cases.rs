//! Fixture, question, rows: each file in `cases/` holds recordings in the notation of
//! `culprit_model`, questions, and what they must give. `make bless` rewrites the rows.
//!
//! ```text
//! recording NAME        an indented drawing follows
//! ask                   an indented question follows
//! rows                  and here its answer, the columns first; or the words of its error
//! ```

use std::path::Path;

use culprit_model::notation::parse;

use crate::blessed::blessed;
use crate::support::{ask, store};

/// A headed, indented part of a file.
struct Part {
    head: String,
    body: Vec<String>,
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("    "), parts.last_mut()) {
            (Some(line), Some(part)) => part.body.push(line.to_owned()),
            _ if line.is_empty() => {}
            _ => parts.push(Part { head: line.to_owned(), body: Vec::new() }),
        }
    }
    parts
}

/// The file as it should be: every question with the rows that it gives.
fn answered(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    let mut out = String::new();
    for part in parts(text).into_iter().filter(|part| part.head != "rows") {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&part.head);
        out.push('\n');
        part.body.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
        if let Some(name) = part.head.strip_prefix("recording ") {
            let path = folder.path().join(format!("{name}.culprit"));
            culprit_recording::write(&path, &parse(&part.body.join("\n")).unwrap()).unwrap();
            paths.push(path);
        }
        if part.head == "ask" {
            let rows = ask(&store(&paths), &part.body.join("\n"));
            let rows = rows.unwrap_or_else(|error| {
                error.to_string().lines().map(str::to_owned).chain(error.hints()).collect()
            });
            out.push_str("rows\n");
            for row in rows {
                out.push_str(format!("    {row}").trim_end());
                out.push('\n');
            }
        }
    }
    out
}

#[test]
fn every_question_gives_its_rows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        blessed(&file, answered(&text).as_bytes());
    }
}
