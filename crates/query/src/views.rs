//! Views: questions that have a name. One file a view in `views/`.
//!
//! A view's file opens with comments: what one row is, an empty comment, then a line a column:
//!
//! ```text
//! -- Time of a thread by cause.
//! --
//! -- recording text: The recording.
//! -- total bigint (ns): How long; a line that is
//! --   indented goes on with the meaning.
//! ```
//!
//! A test compares these with what the question gives.

macro_rules! views {
    ($($name:literal,)+) => {
        /// Name and text of every view, in the order in which they are documented.
        const VIEWS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("views/", $name, ".sql"))),)+];
    };
}
views! {
    "thread_states",
    "thread_times",
    "process_times",
    "blocked_by_cause",
    "top_functions",
    "function_causes",
    "call_edges",
    "thread_time",
    "wakers",
    "waits_by_waker",
    "run_delays",
    "cpu_times",
    "stack_frames",
    "stack_texts",
    "frame_names",
    "leaf_names",
    "thread_names",
    "sample_functions",
    "counter_changes",
    "fault_files",
    "cost_functions",
}

/// A view, or another question that documents its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub name: &'static str,
    /// What one row is.
    pub doc: String,
    /// Its columns in order.
    pub columns: Vec<ViewColumn>,
    /// Its question, without the comments.
    pub sql: &'static str,
}

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL.
    pub ty: &'static str,
    /// Its unit, or the table that it is a row of.
    pub unit: &'static str,
    /// Meaning.
    pub doc: String,
}

/// Every view.
#[must_use]
pub fn views() -> Vec<View> {
    VIEWS.iter().map(|(name, text)| documented(name, text)).collect()
}

/// A question with its documentation, from a text whose comments are those of a view.
#[must_use]
pub fn documented(name: &'static str, text: &'static str) -> View {
    let (doc, sql) = header(text);
    View { name, doc, columns: view_columns(text), sql }
}

/// Name and text of a view.
pub(crate) fn view(name: &str) -> Option<(&'static str, &'static str)> {
    VIEWS.iter().find(|(known, _)| *known == name).copied()
}

/// What one row is, and the question.
fn header(text: &'static str) -> (String, &'static str) {
    let comments = text.lines().take_while(|line| line.starts_with("--"));
    let length: usize = comments.clone().map(|line| line.len() + 1).sum();
    let doc = comments.map(|line| line[2..].trim()).take_while(|line| !line.is_empty());
    (doc.collect::<Vec<_>>().join(" "), text.get(length..).unwrap_or_default().trim())
}

/// The columns that a view's comments declare.
pub(crate) fn view_columns(text: &'static str) -> Vec<ViewColumn> {
    let mut columns: Vec<ViewColumn> = Vec::new();
    let comments = text.lines().take_while(|line| line.starts_with("--"));
    for line in comments.skip_while(|line| *line != "--").skip(1) {
        let line = line.trim_start_matches('-');
        let (head, meaning) = line.split_once(": ").unwrap_or((line, ""));
        match columns.last_mut() {
            Some(last) if line.starts_with("   ") => {
                last.doc.push(' ');
                last.doc.push_str(line.trim());
            }
            _ => columns.push(declared(head.trim(), meaning)),
        }
    }
    columns
}

/// `NAME TYPE (UNIT)`.
fn declared(head: &'static str, meaning: &str) -> ViewColumn {
    let (named, unit) = head.split_once(" (").unwrap_or((head, ""));
    let (name, ty) = named.split_once(' ').unwrap_or((named, ""));
    ViewColumn { name, ty, unit: unit.trim_end_matches(')'), doc: meaning.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_says_what_it_is() {
        for view in views() {
            assert!(view.doc.ends_with('.') && !view.sql.is_empty(), "{}", view.name);
            assert!(!view.columns.is_empty(), "{}", view.name);
            for column in &view.columns {
                let whole = !column.ty.is_empty() && column.doc.ends_with('.');
                assert!(whole, "{}.{}: {}", view.name, column.name, column.doc);
            }
        }
    }

    #[test]
    fn a_column_s_meaning_may_go_on() {
        let text = "-- A row.\n--\n-- a text: One\n--   two.\n-- b bigint (ns): Three.\nSELECT 1";
        let columns = view_columns(text);
        assert_eq!((columns[0].name, columns[0].doc.as_str()), ("a", "One two."));
        assert_eq!((columns[1].ty, columns[1].unit), ("bigint", "ns"));
        assert_eq!(header(text), ("A row.".to_owned(), "SELECT 1"));
    }
}
