//! `idle-await`: the measured thing waits for a timer while nobody works.

use culprit_model::{Cause, Interval, WakeSource};

use crate::evidence::{Evidence, Segment};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::rules::poll_sleep_loop::guilty_loops;
use crate::tally;

/// The rule.
pub(crate) struct IdleAwait;

/// Share of the wall time from which a function that waits for timers is listed.
const MIN_IDLE: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "idle-await",
    group: Group::Waiting,
    specificity: Specificity::Work,
    claim: "Much of the time passes in a timer or back-off while nobody works.",
    signature: "A wait that a timer ended lies on the measured thing's own path, and no recorded \
                thread worked during most of it; it is no round of a polling loop that others end.",
    why: "A fixed pause lasts as long as it was written, whether or not what it waits for is long done.",
    fix: "Shorten the pause, or replace it by a wait for the event that it stands for. A back-off \
          should start small. If the pause is wanted (a rate limit, a test's delay), leave it.",
    check: "culprit record -o fixed.culprit -- CMD; `culprit findings fixed.culprit` must show less idle time",
    thresholds: &[Threshold {
        what: "share of the wall time at which it is listed",
        value: MIN_IDLE,
        unit: "share",
        reason: "Short deliberate pauses are common at start and end of programs; below a tenth \
                 their removal is within what runs usually differ by.",
        source: "the medium severity bound",
    }],
};

impl Rule for IdleAwait {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let polling = guilty_loops(evidence);
        let polls = |i: &Interval| evidence.loops.loop_of(i).is_some_and(|l| polling[l]);
        let idle = evidence.segments(|s, i| is_timer(i) && !polls(i) && nobody_works(evidence, s));
        if !evidence.chain.one_shot {
            return Vec::new();
        }
        tally::by(evidence, &idle, |s| Some(tally::waiting_function(evidence, s)))
            .into_iter()
            .map(|t| {
                let threads = t.segments.iter().map(|s| {
                    let thread = evidence.of_segment(evidence.chain.segment(*s)).thread;
                    evidence.recording.thread_name(thread)
                });
                let who = tally::named(threads.collect());
                let waits = evidence.waits(&t.segments).len();
                let title = format!(
                    "for {} of {} nothing works but a timer, set in `{}` by {who}",
                    COST, evidence.chain.wall, t.key
                );
                let claim = Claim::new(&DOC, title, t.segments)
                    .at(Site::Work)
                    .sure(0.9)
                    .time("waited for timers with nobody working", t.total)
                    .fact("waits", waits as f64, "count");
                Claim { listed_from: MIN_IDLE, ..claim }
            })
            .collect()
    }
}

/// True for a wait that only its own timer ended.
fn is_timer(interval: &Interval) -> bool {
    match interval.cause {
        Cause::Sleep => interval.woken_by.is_none_or(|w| w == WakeSource::Timer),
        cause => cause.is_blocked() && interval.woken_by == Some(WakeSource::Timer),
    }
}

fn nobody_works(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let end = segment.start + segment.length;
    evidence.work.with_at_least(1, segment.start, end).share_of(segment.length) < 0.5
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::Cause;

    const NAP: &str = "main;back_off;libc.so.6!clock_nanosleep;k:do_nanosleep";

    fn pause(ms: u64) -> Scene {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 500, Cause::CpuUser, "main;work");
        scene.wait(main, ms, Cause::Sleep, NAP, End::Timer);
        scene
    }

    #[test]
    fn a_long_pause_with_nobody_working_is_told() {
        let found = first(&pause(1500).done(), "idle-await").expect("found");
        assert_eq!(found.cost.0, 1_500_000_000);
        assert!(
            found.title.contains("a timer, set in `program!back_off` by program (100)"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_short_pause_or_one_in_which_others_work_is_not() {
        assert!(first(&pause(50).done(), "idle-await").is_none());
        let mut scene = pause(1500);
        let process = culprit_model::ProcessId(0);
        let other = scene.thread(process, "other", 500);
        scene.run(other, 1500, Cause::CpuUser, "clone3;work");
        assert!(first(&scene.done(), "idle-await").is_none());
    }
}
