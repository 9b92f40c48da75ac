//! Intervals cut so that each belongs to one activity, or to none.
//!
//! ```text
//! intervals  | cpu               | sleep     | cpu       |
//! work            | handle                       |
//! after      | cpu| cpu          | sleep     |cpu| cpu   |
//! ```

use culprit_model::{Interval, Recording, Time};

/// Cuts the intervals of a recording at the edges of the work on activities. Both are in order of
/// thread and start, so one pass is enough.
pub(super) fn split(recording: &mut Recording) {
    if recording.activity_work.is_empty() || recording.intervals.is_empty() {
        return;
    }
    let mut cuts = recording.activity_work.iter().peekable();
    let mut rows = Vec::with_capacity(recording.intervals.len() + recording.activity_work.len());
    for row in std::mem::take(&mut recording.intervals) {
        let (thread, end) = (row.thread, row.start + row.duration);
        let mut rest = row;
        while let Some(work) = cuts.peek() {
            let over = (work.thread, work.start + work.duration) <= (thread, rest.start);
            if over {
                cuts.next();
                continue;
            }
            if work.thread != thread {
                break;
            }
            let edges = [work.start, work.start + work.duration];
            let Some(edge) = edges.into_iter().find(|edge| *edge > rest.start && *edge < end)
            else {
                break;
            };
            rest = cut(&rest, edge, &mut rows);
        }
        rows.push(rest);
    }
    recording.intervals = rows;
}

/// Writes the part of a row before a time, and gives the rest. What ended a wait ended its rest.
fn cut(row: &Interval, at: Time, rows: &mut Vec<Interval>) -> Interval {
    let duration = at.since(row.start);
    let before =
        Interval { duration, waker: None, waker_stack: None, woken_by: None, ..row.clone() };
    rows.push(before);
    Interval { start: at, duration: row.duration.saturating_sub(duration), ..row.clone() }
}
