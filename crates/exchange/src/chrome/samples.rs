//! The tables `samples` and `stackFrames` of a trace: what React Native's Hermes writes, and all
//! that it writes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use culprit_model::{LossKind, Metric, StackId, ThreadId};

use super::trace::{Sample, StackFrame, Trace};
use crate::builder::{Amount, Builder};
use crate::decimal::Decimal;
use crate::json::{self, Loose};
use crate::weights::{Unit, Weights};

/// A sample that makes sense.
#[derive(Debug)]
struct Row<'a> {
    thread: (&'a str, &'a str),
    time: u64,
    weight: Decimal,
    /// The id of its frame.
    frame: &'a str,
}

/// The samples of a trace.
#[derive(Debug, Default)]
pub(super) struct Samples<'a> {
    rows: Vec<Row<'a>>,
    bad: u64,
}

impl<'a> Samples<'a> {
    pub(super) fn new(trace: &Trace<'a>) -> Self {
        let mut samples = Self::default();
        for raw in &trace.samples {
            match serde_json::from_str::<Sample<'a>>(raw.get()).ok().and_then(|row| row.read()) {
                Some(row) => samples.rows.push(row),
                None => samples.bad += 1,
            }
        }
        samples
    }

    /// The threads that they are of.
    pub(super) fn threads(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.rows.iter().map(|row| row.thread)
    }

    /// Hands them on as counts: how long a thread was at a stack is not told.
    pub(super) fn build(
        self,
        frames: &BTreeMap<Cow<'a, str>, Loose<StackFrame<'a>>>,
        thread: impl Fn((&'a str, &'a str)) -> Option<ThreadId>,
        builder: &mut Builder,
    ) {
        let mut stacks = BTreeMap::new();
        let mut weights = Weights::new(Unit::Free);
        let mut lost = 0;
        for row in self.rows {
            let stack = match stacks.get(row.frame) {
                Some(known) => *known,
                None => {
                    let stack = stack(row.frame, frames, builder);
                    *stacks.entry(row.frame).or_insert(stack)
                }
            };
            lost += u64::from(stack.is_none());
            let amount = Amount::at(stack, Metric::Samples, 0);
            let (time, thread) = (row.time, thread(row.thread));
            weights.push(Amount { time, thread, count: 0, ..amount }, row.weight);
        }
        weights.finish(builder, |builder, amount| {
            if amount.value > 0 {
                builder.add(amount);
            }
        });
        for (kind, count, what) in [
            (LossKind::StacksMissing, lost, "samples whose frames are not in the file"),
            (LossKind::RecordsMalformed, self.bad, "malformed samples"),
        ] {
            if count > 0 {
                builder.lose(kind, count, what);
            }
        }
    }
}

impl<'a> Sample<'a> {
    fn read(&self) -> Option<Row<'a>> {
        let time = Decimal::parse(json::word(self.ts))?.scaled(3)?;
        let weight = match self.weight {
            Some(weight) => Decimal::parse(json::word(Some(weight)))?,
            None => Decimal::parse("1")?,
        };
        Some(Row {
            thread: (json::word(self.pid), json::word(self.tid)),
            time: u64::try_from(time).ok()?,
            weight,
            frame: json::word(Some(self.sf?)),
        })
    }
}

/// The stack of a frame of the table; none where it or a caller is not there.
fn stack(
    id: &str,
    frames: &BTreeMap<Cow<'_, str>, Loose<StackFrame<'_>>>,
    builder: &mut Builder,
) -> Option<StackId> {
    let mut path = Vec::new();
    let mut next = Some(id);
    while let Some(id) = next {
        let frame = frames.get(id)?.get()?;
        // More steps than frames are a circle.
        if path.len() > frames.len() {
            return None;
        }
        path.push(&frame.name.0);
        next =
            frame.parent.filter(|parent| parent.get() != "null").map(|raw| json::word(Some(raw)));
    }
    let path: Vec<_> = path.into_iter().rev().map(|name| builder.named(name)).collect();
    builder.stack(path)
}
