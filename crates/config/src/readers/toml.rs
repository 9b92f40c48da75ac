//! TOML (`toml`, the parser of Cargo). It refuses duplicate keys and nesting deeper than 80 itself.

use toml::de::{DeTable, DeValue};

use super::{Contents, Entry, Segment, Unreadable};
use crate::position::Lines;
use crate::provenance::Op;
use crate::value::Raw;

pub(super) fn read(text: &str) -> Result<Contents, Unreadable> {
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Unreadable::syntax(lines.at(at), error.message())
    })?;
    let mut found = Vec::new();
    of_table(table.get_ref(), &mut Vec::new(), &mut found);
    // Tables are sorted by name; the lines are wanted in the order of the text.
    found.sort_by_key(|found| found.key_at);
    let entries = found.into_iter().map(|found| Entry {
        path: found.path,
        value: found.value,
        op: Op::Set,
        template: false,
        null: false,
        retyped: None,
        at: lines.at(found.key_at),
        end_line: lines.line(found.end),
        document: 0,
    });
    Ok(Contents { entries: entries.collect(), ..Contents::default() })
}

struct Found {
    path: Vec<Segment>,
    value: Raw,
    key_at: usize,
    end: usize,
}

fn of_table(table: &DeTable<'_>, path: &mut Vec<Segment>, found: &mut Vec<Found>) {
    for (key, value) in table {
        path.push(Segment::Name(key.get_ref().to_string()));
        of_value(value.get_ref(), (key.span().start, value.span().end), path, found);
        path.pop();
    }
}

fn of_value(
    value: &DeValue<'_>,
    (key_at, end): (usize, usize),
    path: &mut Vec<Segment>,
    found: &mut Vec<Found>,
) {
    let text = match value {
        DeValue::Table(table) => return of_table(table, path, found),
        DeValue::Array(array) => {
            for (at, element) in array.iter().enumerate() {
                path.push(Segment::Index(at));
                of_value(
                    element.get_ref(),
                    (element.span().start, element.span().end),
                    path,
                    found,
                );
                path.pop();
            }
            return;
        }
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => time.to_string(),
    };
    found.push(Found { path: path.clone(), value: Raw::new(text), key_at, end });
}
