//! How much of each activity's life some thread worked on it or on a part of it.

use culprit_model::{Nanos, Recording, Time};

/// How often stretches are handed on from an activity to what it is part of while they leave gaps:
/// deeper down, an activity with gaps is left out of those around it. A program nests a handful of
/// operations that wait for each other; a damaged file that nests a million must not take for ever.
const MOST_CARRIED: u32 = 64;

/// Stretches of time, [start, end).
type Stretches = Vec<(Time, Time)>;

/// For each activity that ended, how long at least one thread worked on it or on a part of it
/// between its start and its end; zero for others.
pub(super) fn worked(recording: &Recording) -> Vec<Nanos> {
    let activities = &recording.activities;
    let mut stretches: Vec<Stretches> = vec![Stretches::new(); activities.len()];
    let mut carried = vec![0_u32; activities.len()];
    for row in &recording.activity_work {
        if let Some(own) = stretches.get_mut(row.activity.index()) {
            own.push((row.start, row.start + row.duration));
        }
    }
    let mut worked = vec![Nanos::ZERO; activities.len()];
    for (at, activity) in activities.iter().enumerate().rev() {
        let merged = merged(std::mem::take(&mut stretches[at]));
        if let Some(end) = activity.end {
            worked[at] = within(&merged, activity.start, end);
        }
        let Some(parent) = activity.parent.map(|id| id.index()).filter(|parent| *parent < at)
        else {
            continue;
        };
        let deep = if merged.len() > 1 { carried[at] + 1 } else { 0 };
        if deep <= MOST_CARRIED {
            carried[parent] = carried[parent].max(deep);
            stretches[parent].extend(merged);
        }
    }
    worked
}

/// The same time without overlap, in order.
fn merged(mut stretches: Stretches) -> Stretches {
    stretches.sort_unstable();
    let mut merged = Stretches::with_capacity(stretches.len().min(8));
    for (from, to) in stretches {
        match merged.last_mut().filter(|(_, end)| from <= *end) {
            Some((_, end)) => *end = to.max(*end),
            None => merged.push((from, to)),
        }
    }
    merged
}

fn within(stretches: &[(Time, Time)], from: Time, to: Time) -> Nanos {
    stretches.iter().map(|(start, end)| (*end).min(to).since((*start).max(from))).sum()
}
