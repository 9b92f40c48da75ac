//! What differs between the SQL that is asked here and the SQL of Spark: all of it.
//!
//! | here | Spark |
//! |---|---|
//! | `"name"` is a column | `"name"` is a text; a column stands in backticks |
//! | `\` in a text is a character | `\` begins an escape |
//! | `''` in a text is a quote | `\'` |
//! | numbers without a sign | none: 32 bits fit into BIGINT, of 64 the bits count, as in `stored_array` |
//!
//! `/` between whole numbers drops the fraction here and keeps it there. Questions of this program divide by
//! a fraction, such as `1e3`; a question of a user that does not fails the comparison of the slice.

use culprit_model::{Column, ColumnType};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::Error;

/// 2^64.
const TWO_TO_64: &str = "18446744073709551616";
/// 2^63 - 1.
const GREATEST: &str = "9223372036854775807";

/// A question as Spark reads it.
///
/// # Errors
/// When it is no SQL.
pub(super) fn spark_text(sql: &str) -> Result<String, Error> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize();
    let tokens = tokens.map_err(|error| Error::Syntax { why: error.to_string(), at: None })?;
    Ok(tokens.iter().map(token).collect())
}

fn token(token: &Token) -> String {
    match token {
        Token::Word(word) if word.quote_style == Some('"') => quoted(&word.value),
        Token::SingleQuotedString(text) => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }
        other => other.to_string(),
    }
}

/// A name in backticks.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The type of a column for Spark.
pub(super) fn spark_type(column: &Column) -> &'static str {
    match column.ty {
        ColumnType::Bool => "BOOLEAN",
        ColumnType::U32 | ColumnType::U64 | ColumnType::I64 => "BIGINT",
        ColumnType::Text | ColumnType::Label(_) => "STRING",
    }
}

/// A column of a file as a column of that type.
///
/// Engines read a number of 64 bits without a sign as a decimal. Keys, sizes and times are far below 2^63;
/// any other may be a hash, which fills its bits.
pub(super) fn spark_column(column: &Column) -> String {
    let name = quoted(column.name);
    let ty = spark_type(column);
    let fills_64_bits = matches!(column.ty, ColumnType::U64) && column.unit.is_empty();
    if !fills_64_bits {
        return format!("CAST({name} AS {ty}) AS {name}");
    }
    format!(
        "CASE WHEN {name} > {GREATEST} THEN CAST(CAST({name} AS DECIMAL(20, 0)) - {TWO_TO_64} AS {ty}) \
         ELSE CAST({name} AS {ty}) END AS {name}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_keep_their_meaning() {
        let asked = "SELECT \"from\", 'it''s \\d' AS x -- \"kept\"\nFROM t WHERE a::BIGINT >= 1e3";
        let expected =
            "SELECT `from`, 'it\\'s \\\\d' AS x -- \"kept\"\nFROM t WHERE a::BIGINT >= 1e3";
        assert_eq!(spark_text(asked).unwrap(), expected);
        assert!(spark_text("SELECT 'open").is_err());
    }

    #[test]
    fn every_question_of_recordings_stays_itself_but_for_quotes() {
        for view in crate::views() {
            let text = spark_text(view.sql).unwrap();
            assert_eq!(text.replace('`', "\""), view.sql, "{}", view.name);
        }
    }
}
