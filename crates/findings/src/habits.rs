//! How each program of a run waits: for what, where, and who ends it.
//!
//! When a program polls in one place, the other place shows what it could do: there the same
//! program may wait for an event and be woken by whoever makes it happen. No knowledge of the
//! program is needed for that, only the two recordings.

use std::collections::BTreeMap;

use culprit_model::{Cause, Evidence as Fact, Finding, Label, Nanos, Recording, Text, WakeSource};

use crate::evidence::{KnownFrames, Stacks};
use crate::rule::fact;
use crate::rules::poll_sleep_loop;

/// One way of waiting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Habit {
    process: Text,
    cause: Cause,
    function: Text,
    ended: Option<WakeSource>,
}

/// Every way in which a run's programs waited: how often and how long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Habits {
    waits: BTreeMap<Habit, (u64, Nanos)>,
}

impl Habits {
    /// Sums a recording's waits; linear in intervals.
    pub(crate) fn of(recording: &Recording) -> Self {
        let stacks = Stacks::of(recording, &KnownFrames::of(recording));
        let mut waits = BTreeMap::new();
        for interval in recording.intervals.iter().filter(|i| i.cause.is_blocked()) {
            let process = recording.process(recording.thread(interval.thread).process);
            let function = stacks
                .focus(interval.stack)
                .map_or_else(|| Text::from("?"), |frame| Text::from(recording.frame_name(frame)));
            let habit = Habit {
                process: process.name.clone(),
                cause: interval.cause,
                function,
                ended: interval.woken_by,
            };
            let sum: &mut (u64, Nanos) = waits.entry(habit).or_default();
            sum.0 += 1;
            sum.1 += interval.duration;
        }
        Self { waits }
    }

    /// For a polling loop: how the same program waits for events in this run, which was in `place`. A
    /// sentence and a fact.
    pub(crate) fn instead_of(&self, finding: &Finding, place: &str) -> Option<(String, Fact)> {
        let site = finding.at.first().filter(|_| finding.id == poll_sleep_loop::DOC.id)?;
        let name = site.process.rsplit_once(" (").map_or(&*site.process, |(name, _)| name);
        let (habit, (count, _)) = self
            .waits
            .iter()
            .filter(|(h, _)| h.process.as_str() == name && h.ended == Some(WakeSource::Thread))
            .max_by_key(|(h, (count, total))| (*count, *total, std::cmp::Reverse(*h)))?;
        let sentence = format!(
            "In {place}, {name} waits for an event instead: other threads wake it, {count} times in \
             one run.",
        );
        let what = format!(
            "waits of {name} in {place} that another thread ended: {} in {}",
            habit.cause.word(),
            habit.function
        );
        Some((sentence, fact(what, *count as f64, "count")))
    }
}
