//! From edges to activities, who worked on them, and intervals that each belong to one of them.

use culprit_model::{Loss, LossKind, Recording, Text};

use super::pair::Pairing;
use super::split::split;

/// Pairs the edges of a recording into activities and cuts its intervals where the thread went from
/// one activity to another. The edges are taken out; without any, nothing happens.
///
/// Edges that have no partner are a row of the losses. An activity that nothing ends has no end; it
/// is no loss, it may be under way. The cost is linear in edges and intervals.
pub fn build(recording: &mut Recording) {
    if recording.activity_edges.is_empty() {
        return;
    }
    let mut edges = std::mem::take(&mut recording.activity_edges);
    edges.retain(|edge| edge.thread.index() < recording.threads.len());
    edges.sort_by_key(|edge| edge.time);
    let span = edges.first().map(|edge| edge.time).zip(edges.last().map(|edge| edge.time));
    let mut pairing = Pairing::new(recording);
    edges.iter().for_each(|edge| pairing.take(edge));
    let paired = pairing.finish();
    for (count, what) in [
        (paired.without_start, "ends of activities without a start"),
        (paired.ended_by_others, "activities that ended with the activity around them"),
        (paired.without_request, "connections whose first record is an answer"),
    ] {
        if count > 0 {
            recording.losses.push(Loss {
                kind: LossKind::ActivitiesUnpaired,
                count,
                from: span.map(|(first, _)| first),
                to: span.map(|(_, last)| last),
                detail: Text::from(what),
            });
        }
    }
    recording.activities = paired.activities;
    recording.activity_work = paired.work;
    split(recording);
}
