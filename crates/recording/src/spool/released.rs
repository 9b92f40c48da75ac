//! Which stretches of a spool have been released, joined where they touch.

use std::collections::BTreeMap;

use crate::zip::Note;

/// A stretch of released entries that one header stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Offset of its header.
    pub(crate) start: u64,
    /// End of its bytes.
    pub(crate) end: u64,
    /// The name in its header.
    pub(crate) name: String,
    /// What was in it.
    pub(crate) note: Note,
}

/// The released stretches of a file by their start.
#[derive(Debug, Default)]
pub(crate) struct Released(BTreeMap<u64, Run>);

impl Released {
    /// Adds an entry and joins it with the runs that end where it starts and start where it ends.
    /// What is now one run: its header has to be written anew and its bytes released.
    pub(crate) fn add(&mut self, mut run: Run) -> Run {
        if let Some(after) = self.0.remove(&run.end) {
            run.end = after.end;
            run.note = run.note.and(after.note);
        }
        let before = self.0.range(..run.start).next_back().map(|(start, run)| (*start, run.end));
        if let Some((start, end)) = before
            && end == run.start
            && let Some(before) = self.0.remove(&start)
        {
            run = Run { end: run.end, note: before.note.and(run.note), ..before };
        }
        self.0.insert(run.start, run.clone());
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, end: u64, rows: u64) -> Run {
        let note = Note { released: true, rows, span: (start, end) };
        Run { start, end, name: format!("{start}"), note }
    }

    #[test]
    fn touching_runs_become_one_under_the_first_header() {
        let mut released = Released::default();
        assert_eq!(released.add(run(10, 20, 1)), run(10, 20, 1));
        assert_eq!(released.add(run(30, 40, 2)), run(30, 40, 2));
        let joined = released.add(run(20, 30, 4));
        assert_eq!((joined.start, joined.end, joined.name.as_str()), (10, 40, "10"));
        assert_eq!((joined.note.rows, joined.note.span), (7, (10, 40)));
        assert_eq!(released.0.len(), 1);
    }
}
