//! What each source line of a function weighs.

use std::collections::BTreeMap;

use culprit_model::{FrameId, Recording, StackId, Text};
use rustc_hash::FxHashMap;

use super::index::RowKind;
use super::tree::CallTree;

/// What one line weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineValue {
    /// Value while the function was at the line, in itself or in what it called there.
    pub inc: u64,
    /// The part in which the function itself acted: nothing outside the kernel was called.
    pub exc: u64,
    /// Rows.
    pub count: u64,
}

/// The lines of a function, by file and line; line 0 stands for what has no line.
pub type Lines = BTreeMap<(Text, u32), LineValue>;

impl CallTree {
    /// What each source line of the functions of a name weighs . A line that
    /// stands twice in a stack counts once. `recording` is the tree's own.
    #[must_use]
    pub fn lines(&self, recording: &Recording, name: &str) -> Lines {
        let mut lines = Lines::new();
        let wanted: Vec<bool> = (0..recording.frames.len())
            .map(|at| recording.frame_name(FrameId::from_index(at)) == name)
            .collect();
        for (stack, (value, count)) in self.by_stack(recording) {
            let mut seen = Vec::new();
            let mut kernel_alone = true;
            for (nth, frame) in recording.stack(stack).enumerate() {
                let at = &recording.frames[frame.index()];
                let module = at.module.map(|module| recording.module(module).name.as_str());
                let kernel = module.is_some_and(|name| name.starts_with("[kernel"));
                let innermost = if kernel { nth == 0 } else { kernel_alone };
                kernel_alone &= kernel;
                if !wanted[frame.index()] {
                    continue;
                }
                let place = (at.file.clone().unwrap_or_default(), at.line.unwrap_or(0));
                let line = lines.entry(place.clone()).or_default();
                if innermost {
                    line.exc += value;
                }
                if !seen.contains(&place) {
                    line.inc += value;
                    line.count += count;
                    seen.push(place);
                }
            }
        }
        lines
    }

    /// What each stack weighs: value and rows.
    fn by_stack(&self, recording: &Recording) -> BTreeMap<StackId, (u64, u64)> {
        let mut sums: FxHashMap<StackId, (u64, u64)> = FxHashMap::default();
        self.each_row(|kind, at, value| {
            let stack = match kind {
                RowKind::Interval => recording.intervals.get(at).and_then(|row| row.stack),
                RowKind::Fault => recording.faults.get(at).and_then(|row| row.stack),
                RowKind::Cost => recording.costs.get(at).and_then(|row| row.stack),
            };
            if let Some(stack) = stack {
                let sum = sums.entry(stack).or_default();
                sum.0 += value;
                sum.1 += 1;
            }
        });
        sums.into_iter().collect()
    }
}
