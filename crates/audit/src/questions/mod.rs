//! What is asked of a store: SQL texts without any function of ours, one a file, with typed
//! parameters. The same text runs on any engine that reads the store's files.
//!
//! A file opens with comments: what one row is, an empty comment, then a line a column.

use culprit_query::{View, documented};

macro_rules! questions {
    ($($name:literal,)+) => {
        /// Name and text of every question.
        const QUESTIONS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!($name, ".sql"))),)+];
    };
}
questions! {
    "user_agents",
    "places",
    "place_visits",
    "addresses",
    "span",
    "rejected",
    "robot_groups",
    "robot_contacts",
    "robot_addresses",
    "robot_gaps",
    "robot_hours",
    "robot_traffic",
    "robot_networks",
    "contact_names",
    "address_names",
    "network_names",
    "visit_rows",
    "visit_sums",
    "visit_pages",
    "visit_durations",
    "visit_shards",
    "visit_steps",
    "visit_published",
    "orphan_contacts",
    "orphan_facets",
    "agent_visits",
    "bloat_sizes",
    "bloat_paths",
    "bloat_long",
    "bloat_duplicates",
    "bloat_top",
    "bloat_junk",
    "bloat_days",
    "cap_owners",
    "impact_days",
    "impact_contacts",
    "impact_facets",
    "diff_totals",
    "diff_agents",
    "diff_places",
    "left_out",
    "source_formats",
    "rolled_agents",
    "rolled_contacts",
    "rolled_days",
    "rolled_facets",
    "rolled_owners",
}

/// Every question: what a row is, its columns, its text.
#[must_use]
pub fn questions() -> Vec<View> {
    QUESTIONS.iter().map(|(name, text)| documented(name, text)).collect()
}

/// The table that visit questions use, and is a question itself.
const VISIT_ROWS: &str = "visit_rows";

/// The text of a question as an engine runs it; empty for an unknown name.
#[must_use]
pub fn text(name: &str) -> String {
    let sql = |wanted: &str| {
        let found = QUESTIONS.iter().find(|(known, _)| *known == wanted);
        found.map_or("", |(name, text)| documented(name, text).sql)
    };
    let own = sql(name);
    if name == VISIT_ROWS || !own.contains(VISIT_ROWS) {
        return own.to_owned();
    }
    // Its own tables follow in the same list.
    let rest = own.strip_prefix("WITH ").map_or_else(|| own.to_owned(), |rest| format!(", {rest}"));
    format!("WITH {VISIT_ROWS} AS (\n{}\n)\n{rest}", sql(VISIT_ROWS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_says_what_its_columns_are() {
        for question in questions() {
            let name = question.name;
            assert!(question.doc.ends_with('.') && !question.sql.is_empty(), "{name}");
            assert!(!question.columns.is_empty(), "{name}");
            for column in &question.columns {
                assert!(!column.ty.is_empty() && column.doc.ends_with('.'), "{name} {column:?}");
            }
        }
    }
}
