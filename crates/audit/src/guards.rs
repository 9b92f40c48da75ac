//! The limits of a cap as texts for whatever writes the values: constraints of databases, and a rule
//! for a program.
//!
//! Two limits: for each value, and for all values of one owner together, because a limit on a value
//! or on their number does not bound what an owner takes.

use crate::bloat::SHORTEST_KEPT;
use crate::cap::CapReport;
use crate::import::EVENTS;
use crate::opened::{AuditError, AuditStore, Cells};

/// Bytes of a name in PostgreSQL at most; those of SQL Server may be longer.
const LONGEST_NAME: usize = 63;

/// A limit as a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterGuard {
    /// What it is for: `postgres`, `sqlserver`, `writer`.
    pub target: &'static str,
    /// The text.
    pub text: String,
}

/// A step from a document to the values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The field of an object.
    Key(String),
    /// Any field of an object.
    AnyKey,
    /// The elements of an array.
    Elements,
}

/// What the texts are made of.
struct Limits<'a> {
    schema: &'a str,
    facet: &'a str,
    /// Table, and the column with the JSON.
    table: (&'static str, &'static str),
    name: String,
    steps: Vec<Step>,
    value: u64,
    together: u64,
}

/// The limit that was asked about as texts. The limit for an owner is the power of two that at most
/// one owner of 1,000 exceeds now.
///
/// # Errors
/// When a name in the path cannot be told from the signs between names, or a question fails.
pub fn writer_guards(
    store: &AuditStore,
    report: &CapReport,
    schema: &str,
) -> Result<Vec<WriterGuard>, AuditError> {
    let (facet, path) = report.path.split_once('.').unwrap_or((&report.path, ""));
    let steps = steps(path).ok_or_else(|| AuditError::Asked {
        what: format!("`{}` cannot be written as a path of a database", report.path),
        hint: "a name in it has other signs than letters, digits and `_`".to_owned(),
    })?;
    let limits = Limits {
        schema,
        facet,
        table: table(store, facet)?,
        name: constraint_name(&report.path),
        steps,
        value: report.asked.limit,
        together: report.container_p999.max(report.asked.limit).next_power_of_two(),
    };
    Ok(vec![
        WriterGuard { target: "postgres", text: limits.postgres() },
        WriterGuard { target: "sqlserver", text: limits.sql_server() },
        WriterGuard { target: "writer", text: limits.rule() },
    ])
}

/// The table that has the facet's text, and its column.
fn table(store: &AuditStore, facet: &str) -> Result<(&'static str, &'static str), AuditError> {
    if facet == EVENTS {
        return Ok(("Interactions", "Events"));
    }
    let rows = store.ask("bloat_sizes", &[])?.rows;
    let of = rows.iter().map(|row| Cells(row)).find(|cells| cells.text(0) == Some(facet));
    let is_visit = of.is_some_and(|cells| cells.text(1) == Some("interaction"));
    Ok((if is_visit { "InteractionFacets" } else { "ContactFacets" }, "FacetData"))
}

/// The steps of a path such as `InteractionCaches[].Referrers[]`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for (at, part) in path.split('.').enumerate() {
        let key = part.trim_end_matches("[]");
        let plain = !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        match key {
            "{}" => steps.push(Step::AnyKey),
            // The document itself is an array.
            "" if at == 0 => {}
            _ if plain => steps.push(Step::Key(key.to_owned())),
            _ => return None,
        }
        steps.extend((0..(part.len() - key.len()) / 2).map(|_| Step::Elements));
    }
    (!steps.is_empty()).then_some(steps)
}

/// A name of letters, digits and `_`.
fn constraint_name(path: &str) -> String {
    let mut name = String::from("culprit_limit_");
    for letter in path.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => name.push(letter.to_ascii_lowercase()),
            _ if !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    name.truncate(LONGEST_NAME);
    name.trim_end_matches('_').to_owned()
}

impl Limits<'_> {
    /// What the two numbers are.
    fn comment(&self) -> String {
        format!(
            "-- Limits in bytes of UTF-8: {} for each value (`--limit`), {} for all values of 64 bytes or more of one owner.\n",
            self.value, self.together
        )
    }

    fn postgres(&self) -> String {
        let Self { facet, name, value, together, .. } = self;
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let (schema, table) = (quoted(self.schema), self.table.0);
        let function = format!("{schema}.{}", quoted(name));
        let column = quoted(self.table.1);
        let condition = match self.table.1 {
            EVENTS => String::new(),
            _ => format!("{} <> '{}' OR ", quoted("FacetKey"), facet.replace('\'', "''")),
        };
        let path: String = self.steps.iter().map(Step::json_path).collect();
        format!(
            "-- PostgreSQL. Rows that exist are not checked. Text that is no JSON is refused, too.\n\
             {}CREATE FUNCTION {function}(document text) RETURNS boolean\n\
             LANGUAGE sql IMMUTABLE AS $guard$\n  \
             SELECT coalesce(max(octet_length(v #>> '{{}}')) <= {value}\n    \
             AND coalesce(sum(octet_length(v #>> '{{}}')) FILTER (WHERE octet_length(v #>> '{{}}') >= {SHORTEST_KEPT}), 0) <= {together}, true)\n  \
             FROM jsonb_path_query(document::jsonb, '${path}') AS v\n  \
             WHERE jsonb_typeof(v) = 'string'\n\
             $guard$;\n\
             ALTER TABLE {schema}.{} ADD CONSTRAINT {}\n  \
             CHECK ({condition}{function}({column})) NOT VALID;\n",
            self.comment(),
            quoted(table),
            quoted(name)
        )
    }

    fn sql_server(&self) -> String {
        let Self { facet, name, value, together, .. } = self;
        let bracketed = |name: &str| format!("[{}]", name.replace(']', "]]"));
        let (schema, table) = (bracketed(self.schema), bracketed(self.table.0));
        let function = format!("{schema}.{}", bracketed(name));
        let column = bracketed(self.table.1);
        let condition = match self.table.1 {
            EVENTS => String::new(),
            _ => format!("[FacetKey] <> N'{}' OR ", facet.replace('\'', "''")),
        };
        let (from, filters) = self.applied();
        format!(
            "-- SQL Server 2019 or later. Rows that exist are not checked. Try it on a copy first.\n\
             {}CREATE FUNCTION {function}(@document nvarchar(max)) RETURNS bit AS\n\
             BEGIN\n  \
             RETURN (SELECT CASE WHEN max(bytes) > {value} OR sum(CASE WHEN bytes >= {SHORTEST_KEPT} THEN bytes ELSE 0 END) > {together} THEN 0 ELSE 1 END\n  \
             FROM (\n    \
             SELECT DATALENGTH(CAST(s{last}.[value] COLLATE Latin1_General_100_BIN2_UTF8 AS varchar(max))) \
             AS bytes\n    \
             FROM {from}\n    \
             WHERE {filters}s{last}.[type] = 1\n  \
             ) AS v)\n\
             END\n\
             GO\n\
             ALTER TABLE {schema}.{table} WITH NOCHECK ADD CONSTRAINT {}\n  \
             CHECK ({condition}{function}({column}) = 1);\n",
            self.comment(),
            bracketed(name),
            last = self.steps.len()
        )
    }

    /// The values by OPENJSON, one a step: a field is one of an object's rows. JSON_VALUE would give
    /// nothing for texts of more than 4,000 letters.
    fn applied(&self) -> (String, String) {
        let (mut from, mut filters) = (String::new(), String::new());
        for (step, number) in self.steps.iter().zip(1..) {
            let document = match number {
                1 => "@document".to_owned(),
                _ => format!("s{}.[value]", number - 1),
            };
            let apply = if number == 1 { "" } else { "\n    CROSS APPLY " };
            from.push_str(&format!("{apply}OPENJSON({document}) AS s{number}"));
            if let Step::Key(key) = step {
                filters.push_str(&format!("s{number}.[key] = N'{key}' AND "));
            }
        }
        (from, filters)
    }

    fn rule(&self) -> String {
        let Self { facet, value, together, .. } = self;
        let path: String = self.steps.iter().map(Step::json_path).collect();
        format!(
            "Before `{facet}` is written, cut each text at `${path}` after {value} bytes of UTF-8, \
             between two letters. Then leave out the oldest texts of {SHORTEST_KEPT} bytes or more until all of these have \
             {together} bytes at most.\n"
        )
    }
}

impl Step {
    /// As SQL/JSON writes it.
    fn json_path(&self) -> String {
        match self {
            Self::Key(key) => format!(".\"{key}\""),
            Self::AnyKey => ".*".to_owned(),
            Self::Elements => "[*]".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_steps_or_nothing() {
        let path =
            |text| steps(text).map(|all| all.iter().map(Step::json_path).collect::<String>());
        assert_eq!(path("A[].B"), Some(".\"A\"[*].\"B\"".to_owned()));
        assert_eq!(path("[].Url"), Some("[*].\"Url\"".to_owned()));
        assert_eq!(path("A.{}[][]"), Some(".\"A\".*[*][*]".to_owned()));
        for wrong in ["", "A.@odata.type", "A.{other}", "A..B", "A'B"] {
            assert_eq!(path(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_of_constraints_fit_every_database() {
        assert_eq!(constraint_name("Cache.A[].Referrers[]"), "culprit_limit_cache_a_referrers");
        assert!(constraint_name(&"é".repeat(99)).len() <= LONGEST_NAME);
        assert!(constraint_name(&"Path.".repeat(99)).len() <= LONGEST_NAME);
    }
}
