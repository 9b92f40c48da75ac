//! A question's text: parsed, refused if it is more than a question, and what it asks of.

use std::collections::BTreeSet;

use datafusion::common::{DataFusionError, TableReference};
use datafusion::sql::parser::{DFParserBuilder, ExplainStatement, Statement};
use datafusion::sql::resolve::resolve_table_references;
use datafusion::sql::sqlparser::ast::{
    DescribeAlias, Expr as SqlExpr, OrderByKind, ShowStatementFilter, ShowStatementFilterPosition,
    ShowStatementOptions, Statement as Sql,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::ParserError;

use crate::error::{Error, Place};
use crate::near::near;
use crate::schema;
use crate::views::{view, views};

/// Longer questions are a mistake. Parsing takes hundreds of bytes for each of the text.
const LONGEST: usize = 1 << 20;
/// How deep expressions and subqueries may be nested.
const DEEPEST: usize = 100;
/// What stands where a table may stand and is none.
const FUNCTIONS: [&str; 3] = ["generate_series", "range", "unnest"];

/// What is asked.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Which tables there are, those like a pattern.
    Tables {
        /// A pattern of SQL's `LIKE`; empty for all.
        like: Option<String>,
    },
    /// Which columns a table or view has.
    Columns {
        /// Its name.
        of: String,
    },
    /// Rows.
    Rows {
        /// The question.
        statement: Box<Statement>,
        /// The tables and views that it names.
        names: BTreeSet<String>,
    },
}

/// Parses a question.
///
/// # Errors
/// When it is no SQL, not exactly one question, or would change something.
pub(crate) fn parse(text: &str) -> Result<Asked, Error> {
    if text.len() > LONGEST {
        return Err(Error::TooLong { bytes: text.len(), limit: LONGEST });
    }
    let dialect = GenericDialect {};
    let parser = DFParserBuilder::new(text).with_dialect(&dialect).with_recursion_limit(DEEPEST);
    let statements = parser.build().and_then(|mut parser| parser.parse_statements());
    let mut statements = statements.map_err(|error| syntax(text, &error))?;
    let count = statements.len();
    match (statements.pop_front(), count) {
        (None, _) => Err(Error::Empty),
        (Some(statement), 1) => classify(by_all(statement)),
        _ => Err(Error::Several { count }),
    }
}

/// `ORDER BY ALL` orders by all columns; the parser takes the word for a column.
fn by_all(mut statement: Statement) -> Statement {
    let Statement::Statement(sql) = &mut statement else { return statement };
    let Sql::Query(query) = sql.as_mut() else { return statement };
    if let Some(order) = &mut query.order_by
        && let OrderByKind::Expressions(all) = &order.kind
        && let [one] = &all[..]
        && let SqlExpr::Identifier(word) = &one.expr
        && word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case("all")
    {
        order.kind = OrderByKind::All(one.options);
    }
    statement
}

fn classify(statement: Statement) -> Result<Asked, Error> {
    if let Statement::Statement(sql) = &statement {
        match sql.as_ref() {
            Sql::ShowTables { show_options, .. } => {
                return Ok(Asked::Tables { like: pattern(show_options) });
            }
            Sql::ShowColumns { show_options, .. } => {
                let of = show_options.show_in.as_ref().and_then(|of| of.parent_name.as_ref());
                return Ok(Asked::Columns { of: of.map(bare).unwrap_or_default() });
            }
            Sql::ExplainTable {
                describe_alias: DescribeAlias::Describe | DescribeAlias::Desc,
                table_name,
                ..
            } => return Ok(Asked::Columns { of: bare(table_name) }),
            _ => {}
        }
    }
    if !only_reads(&statement) {
        let words = statement.to_string();
        let words: Vec<&str> = words.split_whitespace().take(2).collect();
        return Err(Error::Changes { what: words.join(" ") });
    }
    let names = named(&statement)?;
    Ok(Asked::Rows { statement: Box::new(statement), names })
}

fn only_reads(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(sql) => match sql.as_ref() {
            Sql::Query(_) => true,
            Sql::Explain { statement, .. } => matches!(statement.as_ref(), Sql::Query(_)),
            _ => false,
        },
        Statement::Explain(ExplainStatement { statement, .. }) => only_reads(statement),
        _ => false,
    }
}

fn pattern(options: &ShowStatementOptions) -> Option<String> {
    use ShowStatementFilterPosition::{Infix, Suffix};
    let (Infix(filter) | Suffix(filter)) = options.filter_position.as_ref()?;
    match filter {
        ShowStatementFilter::Like(text)
        | ShowStatementFilter::ILike(text)
        | ShowStatementFilter::NoKeyword(text) => Some(text.clone()),
        ShowStatementFilter::Where(_) => None,
    }
}

fn bare(name: &datafusion::sql::sqlparser::ast::ObjectName) -> String {
    name.to_string().replace('"', "")
}

/// The tables and views that a statement names.
fn named(statement: &Statement) -> Result<BTreeSet<String>, Error> {
    let (references, _) = resolve_table_references(statement, true)
        .map_err(|error| Error::Plan { why: error.strip_backtrace() })?;
    let mut names = BTreeSet::new();
    for reference in references {
        let name = match &reference {
            TableReference::Bare { table } => table.to_string(),
            other => return Err(unknown(&other.to_string())),
        };
        if !FUNCTIONS.contains(&name.as_str()) {
            names.insert(name);
        }
    }
    Ok(names)
}

/// The text whose rows two engines must agree on, from a question that they both read: without the
/// last `LIMIT`, which may choose among equal rows. None for what is about the engine, such as `EXPLAIN`.
pub(crate) fn comparable(statement: &Statement, text: &str) -> Option<String> {
    let Statement::Statement(sql) = statement else { return None };
    let Sql::Query(query) = sql.as_ref() else { return None };
    if query.limit_clause.is_none() && query.fetch.is_none() {
        return Some(text.to_owned());
    }
    let mut all = query.clone();
    (all.limit_clause, all.fetch, all.order_by) = (None, None, None);
    Some(all.to_string())
}

/// The views that names stand for, each after those that it names itself, and all tables behind
/// them.
///
/// # Errors
/// When nothing has one of the names.
pub(crate) fn behind(
    names: &BTreeSet<String>,
) -> Result<(Vec<&'static str>, BTreeSet<&'static str>), Error> {
    let (mut views, mut tables) = (Vec::new(), BTreeSet::new());
    for name in names {
        collect(name, &mut views, &mut tables)?;
    }
    Ok((views, tables))
}

fn collect(
    name: &str,
    views: &mut Vec<&'static str>,
    tables: &mut BTreeSet<&'static str>,
) -> Result<(), Error> {
    if let Some(table) = schema::table(name) {
        tables.insert(table.name);
        return Ok(());
    }
    let Some((name, sql)) = view(name) else { return Err(unknown(name)) };
    if views.contains(&name) {
        return Ok(());
    }
    if let Asked::Rows { names, .. } = parse(sql)? {
        for name in &names {
            collect(name, views, tables)?;
        }
    }
    views.push(name);
    Ok(())
}

/// There is no such table; some are called like it.
pub(crate) fn unknown(name: &str) -> Error {
    let views = views();
    let tables = schema::declared();
    let known = tables.iter().map(|table| table.name).chain(views.iter().map(|view| view.name));
    unknown_among(name, known)
}

/// There is no such table among these.
pub(crate) fn unknown_among<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    let last = name.rsplit('.').next().unwrap_or(name);
    Error::UnknownTable { name: name.to_owned(), near: near(last, known) }
}

/// What the parser said, and where.
pub(crate) fn syntax(text: &str, error: &DataFusionError) -> Error {
    let said = match error.find_root() {
        DataFusionError::SQL(error, _) => match error.as_ref() {
            ParserError::TokenizerError(why) | ParserError::ParserError(why) => why.clone(),
            ParserError::RecursionLimitExceeded => "it is nested too deeply".to_owned(),
        },
        other => other.strip_backtrace(),
    };
    let (why, at) = said.split_once(" at Line: ").map_or((said.as_str(), None), |(why, at)| {
        (why, at.split_once(", Column: ").and_then(|(line, column)| place(text, line, column)))
    });
    let why = why.trim_end_matches([',', ' ']);
    Error::Syntax { why: why.replace("Expected: ", "expected ").replace("EOF", "its end"), at }
}

fn place(text: &str, line: &str, column: &str) -> Option<Place> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let (line, column): (usize, usize) = (digits(line).parse().ok()?, digits(column).parse().ok()?);
    let of_line = text.lines().nth(line.checked_sub(1)?)?;
    Some(Place { line, column, text: of_line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        match parse(text) {
            Ok(Asked::Rows { names, .. }) => names.into_iter().collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_names_its_tables_and_not_its_own_parts() {
        assert_eq!(
            names("WITH x AS (SELECT * FROM Threads) SELECT * FROM x, stacks"),
            ["stacks", "threads"]
        );
        assert_eq!(names("EXPLAIN ANALYZE SELECT 1 FROM intervals"), ["intervals"]);
        assert_eq!(names("SELECT * FROM range(3)"), [""; 0]);
    }

    #[test]
    fn what_would_change_something_is_refused() {
        for text in [
            "DROP TABLE threads",
            "CREATE VIEW x AS SELECT 1",
            "INSERT INTO threads VALUES (1)",
            "COPY threads TO 'x.csv'",
            "SET datafusion.execution.batch_size = 1",
            "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
            "EXPLAIN COPY threads TO 'x.csv'",
        ] {
            assert!(matches!(parse(text), Err(Error::Changes { .. })), "{text}");
        }
    }

    #[test]
    fn a_slip_is_shown_in_its_line() {
        let error = parse("SELECT cause\nFORM intervals GROUP BY").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("at line 2, column"), "{text}");
        assert!(matches!(parse("  -- nothing\n"), Err(Error::Empty)));
        assert!(matches!(parse("SELECT 1; SELECT 2"), Err(Error::Several { count: 2 })));
        assert!(matches!(parse(&"(".repeat(5000)), Err(Error::Syntax { .. })));
    }

    #[test]
    fn what_two_engines_must_agree_on_has_no_last_limit() {
        let of = |text: &str| match parse(text) {
            Ok(Asked::Rows { statement, .. }) => comparable(&statement, text),
            other => panic!("{other:?}"),
        };
        let same = "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 2) ORDER BY a";
        assert_eq!(of(same).as_deref(), Some(same));
        let limited = "WITH t AS (SELECT 1 AS a) SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 1";
        assert_eq!(of(limited).as_deref(), Some("WITH t AS (SELECT 1 AS a) SELECT a FROM t"));
        assert_eq!(of("EXPLAIN SELECT 1"), None);
    }

    #[test]
    fn every_view_stands_on_tables() {
        for view in views() {
            let names = BTreeSet::from([view.name.to_owned()]);
            let (views, tables) = behind(&names).unwrap();
            assert!(views.last() == Some(&view.name) && !tables.is_empty(), "{}", view.name);
        }
    }
}
