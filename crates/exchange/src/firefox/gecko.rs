//! The gecko form: tables of rows, each with a schema that says where a column stands.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::columns::{Samples, Thread};
use super::names::Stacks;
use crate::builder::Builder;
use crate::json::{Loose, Number, Str};

#[derive(Deserialize)]
struct Table<'a> {
    schema: BTreeMap<String, Number>,
    #[serde(borrow)]
    data: Vec<Vec<&'a RawValue>>,
}

impl<'a> Table<'a> {
    fn of(raw: Option<&'a RawValue>) -> Option<Self> {
        serde_json::from_str(raw?.get()).ok()
    }

    /// A column's number in a row; rows may end early.
    fn number(&self, row: &[&RawValue], column: &str) -> Number {
        let at = self.schema.get(column).and_then(|at| at.index());
        let cell = at.and_then(|at| row.get(at));
        cell.and_then(|cell| serde_json::from_str(cell.get()).ok()).unwrap_or_default()
    }

    fn column(&self, name: &str) -> Vec<Number> {
        self.data.iter().map(|row| self.number(row, name)).collect()
    }
}

/// A thread in the gecko form.
pub(super) struct Gecko<'a> {
    samples: Table<'a>,
    stacks: Table<'a>,
    frames: Table<'a>,
    strings: Vec<Loose<Str<'a>>>,
}

/// The thread's tables, if they are of the gecko form.
pub(super) fn thread<'a>(thread: &Thread<'a>) -> Option<Gecko<'a>> {
    Some(Gecko {
        samples: Table::of(thread.samples)?,
        stacks: Table::of(thread.stack_table)?,
        frames: Table::of(thread.frame_table)?,
        strings: serde_json::from_str(thread.string_table?.get()).ok()?,
    })
}

impl Gecko<'_> {
    pub(super) fn samples(&self) -> Samples<'_> {
        Samples {
            stack: self.samples.column("stack"),
            time: Some(self.samples.column("time")),
            time_deltas: None,
            weight: None,
            weight_type: Loose::default(),
            cpu: Some(self.samples.column("threadCPUDelta")),
        }
    }

    pub(super) fn stacks(&self, builder: &mut Builder) -> Stacks {
        let frames: Vec<_> = self
            .frames
            .data
            .iter()
            .map(|row| {
                let location = self.frames.number(row, "location").index();
                let location = location.and_then(|at| self.strings.get(at)).map(Loose::text)?;
                let line = self.frames.number(row, "line").small();
                Some(place(location, line, builder))
            })
            .collect();
        let rows = self.stacks.data.iter().map(|row| {
            let frame = self.stacks.number(row, "frame").index();
            let caller = self.stacks.number(row, "prefix").index();
            (caller, frame.and_then(|at| frames.get(at).copied().flatten()))
        });
        Stacks::from_rows(rows, builder)
    }
}

/// The frame of a location: `function (in module)`, `function (url:line:column)`, a label, an
/// address without a name.
fn place(location: &str, line: Option<u32>, builder: &mut Builder) -> culprit_model::FrameId {
    let split = location.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match split {
        Some((function, rest)) if rest.starts_with("in ") => {
            let module = builder.module(&rest[3..]);
            builder.function(Some(module), function, "", line)
        }
        Some((function, rest)) if rest.contains(['/', ':']) => {
            let mut parts = rest.rsplitn(3, ':');
            let (column, row, url) = (parts.next(), parts.next(), parts.next());
            let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
            let (url, line) = match (url, number(row), number(column)) {
                (Some(url), Some(row), Some(_)) => (url, line.or(Some(row))),
                _ => (rest, line),
            };
            let module = builder.module(url);
            builder.function(Some(module), function, url, line)
        }
        _ => builder.located(location, "", line),
    }
}
