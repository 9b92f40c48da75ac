//! Activities cut to a stretch of time. One that reaches over an edge of it was not seen whole: it
//! keeps what threads did for it, and has no end.

use culprit_model::{ActivityId, Recording, ThreadId, Time};

use super::Window;

/// Keeps the activities that were under way in the window, and the work in it.
pub(super) fn cut(recording: &mut Recording, window: Window) {
    recording.activity_work.retain_mut(|row| match window.stretch(row.start, row.duration) {
        Some(stretch) => {
            (row.start, row.duration) = stretch;
            true
        }
        None => false,
    });
    let mut keep = Vec::with_capacity(recording.activities.len());
    for row in &mut recording.activities {
        keep.push(row.start <= window.to && row.end.is_none_or(|end| end >= window.from));
        let whole = row.start >= window.from && row.end.is_some_and(|end| end <= window.to);
        row.end = row.end.filter(|_| whole).map(|end| window.time(end));
        row.end_thread = row.end_thread.filter(|_| whole);
        row.start = window.time(row.start);
    }
    retain(recording, &keep);
}

/// Puts the threads of activities right. One whose threads are both gone goes too.
pub(super) fn renumber(recording: &mut Recording, thread: impl Fn(ThreadId) -> Option<ThreadId>) {
    recording.activity_work.retain_mut(|row| {
        let place = thread(row.thread);
        row.thread = place.unwrap_or(row.thread);
        place.is_some()
    });
    let mut keep = Vec::with_capacity(recording.activities.len());
    for row in &mut recording.activities {
        let begun = thread(row.thread);
        let ended = row.end_thread.and_then(&thread);
        keep.push(begun.or(ended).is_some());
        row.thread = begun.or(ended).unwrap_or(row.thread);
        if row.end_thread.is_some() && ended.is_none() {
            (row.end, row.end_thread) = (None::<Time>, None);
        }
    }
    retain(recording, &keep);
}

/// Leaves these activities. Parts of one that goes become parts of what it was part of.
fn retain(recording: &mut Recording, keep: &[bool]) {
    let mut places: Vec<Option<ActivityId>> = Vec::with_capacity(keep.len());
    // What stands for each row: its own place, or that of the nearest one around it that stays.
    let mut stands: Vec<Option<ActivityId>> = Vec::with_capacity(keep.len());
    let mut next = 0;
    for (row, keep) in recording.activities.iter_mut().zip(keep) {
        let parent = row.parent.and_then(|parent| stands.get(parent.index()).copied().flatten());
        row.parent = parent;
        let place = keep.then(|| {
            next += 1;
            ActivityId::from_index(next - 1)
        });
        places.push(place);
        stands.push(place.or(parent));
    }
    let mut kept = places.iter();
    recording.activities.retain(|_| kept.next().is_some_and(Option::is_some));
    recording.activity_work.retain_mut(|row| {
        let place = places.get(row.activity.index()).copied().flatten();
        row.activity = place.unwrap_or(row.activity);
        place.is_some()
    });
}
