//! Whether two engines gave the same rows.
//!
//! Rows are compared as a set in which each may occur several times, because neither engine promises an
//! order. Whole numbers, texts and truths must be equal. Fractions may differ in the tenth digit: engines add
//! them up in different orders.

use std::cmp::Ordering;

use crate::value::Value;

/// How far fractions may differ, as a share of the larger one.
const TOLERANCE: f64 = 1e-9;
/// Characters of a row that an error shows.
const SHOWN: usize = 200;

/// What differs first: what was computed here, and there. None when nothing does.
pub(super) fn difference(
    mut here: Vec<Vec<Value>>,
    mut there: Vec<Vec<Value>>,
) -> Option<(String, String)> {
    here.sort_by(|a, b| rows(a, b));
    there.sort_by(|a, b| rows(a, b));
    for (a, b) in here.iter().zip(&there) {
        if !(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))) {
            return Some((row(a), row(b)));
        }
    }
    match here.len().cmp(&there.len()) {
        Ordering::Equal => None,
        _ => Some((count(&here), count(&there))),
    }
}

fn count(rows: &[Vec<Value>]) -> String {
    match rows {
        [one] => format!("1 row, {}", row(one)),
        rows => format!("{} rows", rows.len()),
    }
}

/// A row as an error shows it.
fn row(row: &[Value]) -> String {
    let text = format!("({})", row.iter().map(cell).collect::<Vec<_>>().join(", "));
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => format!("'{text}'"),
        Value::List(values) => {
            format!("[{}]", values.iter().map(cell).collect::<Vec<_>>().join(", "))
        }
        Value::Record(values) => {
            let named = values.iter().map(|(name, value)| format!("{name}: {}", cell(value)));
            format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What is exact first, so that fractions that differ a little do not change the order of rows.
fn rows(a: &[Value], b: &[Value]) -> Ordering {
    let exact = |row: &[Value]| row.iter().filter(|v| !is_fraction(v)).map(key).collect::<Vec<_>>();
    let fractions = |row: &[Value]| row.iter().filter_map(fraction).collect::<Vec<_>>();
    exact(a).cmp(&exact(b)).then_with(|| {
        let (a, b) = (fractions(a), fractions(b));
        let pairs = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
        pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
    })
}

fn is_fraction(value: &Value) -> bool {
    matches!(value, Value::Float(_))
}

fn fraction(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// Whole numbers of both kinds in one order.
fn key(value: &Value) -> (u8, i128, String) {
    match whole(value) {
        Some(number) => (1, number, String::new()),
        None => (2, 0, cell(value)),
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::Unsigned(number) => Some(i128::from(*number)),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "beyond 2^53 the tolerance is larger than the loss")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        // A decimal comes as a text.
        Value::Text(text) => text.parse().ok(),
        _ => whole(value).map(|number| number as f64),
    }
}

fn same(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a == b;
    }
    if is_fraction(a) || is_fraction(b) || whole(a).is_some() || whole(b).is_some() {
        let (Some(a), Some(b)) = (number(a), number(b)) else { return false };
        return a.total_cmp(&b).is_eq() || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Record(a), Value::Record(b)) => {
            let pair = |((_, a), (_, b)): (&(String, Value), &(String, Value))| same(a, b);
            a.len() == b.len() && a.iter().zip(b).all(pair)
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(rows: &[&[i64]]) -> Vec<Vec<Value>> {
        rows.iter().map(|row| row.iter().map(|n| Value::Int(*n)).collect()).collect()
    }

    #[test]
    fn order_and_kinds_of_numbers_do_not_count() {
        let here = vec![
            vec![Value::Unsigned(7), Value::Float(0.1 + 0.2), Value::Text("a".to_owned())],
            vec![Value::Null, Value::Float(1.0), Value::Text("b".to_owned())],
        ];
        let there = vec![
            vec![Value::Null, Value::Float(1.0), Value::Text("b".to_owned())],
            vec![Value::Int(7), Value::Float(0.3), Value::Text("a".to_owned())],
        ];
        assert_eq!(difference(here, there), None);
        assert_eq!(difference(ints(&[&[2]]), vec![vec![Value::Text("2.0".to_owned())]]), None);
    }

    #[test]
    fn a_difference_shows_both_sides() {
        let differs = difference(ints(&[&[1, 5], &[2, 6]]), ints(&[&[2, 7], &[1, 5]]));
        assert_eq!(differs, Some(("(2, 6)".to_owned(), "(2, 7)".to_owned())));
        let differs = difference(ints(&[&[1], &[1]]), ints(&[&[1]]));
        assert_eq!(differs, Some(("2 rows".to_owned(), "1 row, (1)".to_owned())));
        let float = |number| vec![vec![Value::Float(number)]];
        assert!(difference(float(1.0), float(1.000_000_1)).is_some());
        assert!(difference(float(1.0), vec![vec![Value::Null]]).is_some());
        assert_eq!(difference(float(f64::NAN), float(f64::NAN)), None);
    }
}
