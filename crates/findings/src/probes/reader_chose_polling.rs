//! `reader-chose-polling`: a reader looks now and then, although it would be notified where it reads.
//!
//! Told by the probe `notify`: in the same place, on the same folder, a reader that is notified and one
//! that decides for itself, as `tail` does, wait for the same rows.

use culprit_engine::stats::{Bands, Verdict, compare_paired};
use culprit_model::{Finding, Severity};

use super::finding;
use super::measured::{Measured, MeasuredArm, length};
use crate::rule::{Group, RuleDoc, Specificity, Threshold, fact};

/// How many times as late rows are, in the median, from which a reader is one that looks.
const MIN_RATIO: f64 = 10.0;

/// Readers that decide how they learn of rows, as the probe names them, and what they are called.
const READERS: [(&str, &str); 5] = [
    ("tail", "a reader that decides like `tail -F`"),
    ("tail-F", "`tail -F`"),
    ("tail-f", "`tail -f`"),
    ("busybox-tail", "`busybox tail -f`"),
    ("tail-exhausted", "a reader that gets no inotify instance"),
];

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "reader-chose-polling",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A reader polls a file at intervals, although file notification works in this place.",
    signature: "`culprit bench notify` writes the same rows for a notified reader (inotify) and \
                for readers that decide for themselves, into the same folder. Every row reaches \
                the notified reader. The other reader shows it many times later.",
    not_reported: &["a place where the notified reader misses rows"],
    why: "A reader polls when it distrusts the file system (GNU `tail` distrusts overlay), or when \
          its user has no inotify instance left. Each row then waits for the next check: half an \
          interval on average. If the writer waits for its row, each row takes a whole interval.",
    fix: &[
        "Put the file on a file system that the reader trusts: a volume or a tmpfs.",
        "Read a FIFO or a pipe with `cat` instead of following a file.",
        "Shorten the reader's interval: `tail -s 0.02`.",
        "Use inotify in a reader of your own.",
        "If no instance is left, raise the limit on the host: `sysctl \
         fs.inotify.max_user_instances=N`.",
    ],
    check: "culprit bench notify --place docker:IMAGE --at layer --at volume; the arm that you use \
            must not have this finding",
    thresholds: &[Threshold {
        what: "how many times as late the reader shows a row (median, lower bound)",
        value: MIN_RATIO,
        unit: "ratio",
        reason: "A notified reader needs 0.02 to 0.1 ms. The shortest polling interval in use, 10 \
                 ms, makes a row 50 times as late. At half, readers on busy machines are reported; \
                 at double, nothing is missed.",
        source: "inotify 20 us, `tail` on overlay 590 ms (medians), Linux 6.18",
    }],
};

pub(super) fn find(measured: &Measured<'_>) -> Vec<Finding> {
    let arms = measured.arms.iter().filter(|arm| !arm.is_control);
    arms.flat_map(|arm| READERS.iter().filter_map(|reader| told(arm, *reader))).collect()
}

fn told(arm: &MeasuredArm<'_>, (reader, name): (&str, &str)) -> Option<Finding> {
    let values = |id: String| -> Vec<f64> {
        let of = |round: &Option<std::collections::BTreeMap<&str, f64>>| {
            round.as_ref().and_then(|values| values.get(id.as_str()).copied()).unwrap_or(0.0)
        };
        arm.rounds.iter().map(of).collect()
    };
    let late = |reader: &str| values(format!("latency_ns.{reader}.p50"));
    let heard = values("delivered.inotify".to_owned());
    if !heard.iter().zip(&arm.rounds).all(|(share, round)| round.is_none() || *share >= 1.0) {
        return None;
    }
    let ratio = compare_paired(&late("inotify"), &late(reader), Bands::one(0.0))?;
    if ratio.verdict != Verdict::Slower || ratio.interval.low < MIN_RATIO {
        return None;
    }
    let median = |id: String| arm.median(&id);
    let (notified, looked) =
        (median("latency_ns.inotify.p50".to_owned())?, median(format!("latency_ns.{reader}.p50"))?);
    let title = format!(
        "{}: {name} polls and shows a row {} after the write, a notified reader {} after it",
        arm.label,
        length(looked),
        length(notified)
    );
    let rows = |reader: &str| median(format!("rows_per_second.{reader}"));
    let facts = [
        Some(fact("delay of a row, this reader (p50)", looked, "ns")),
        Some(fact("delay of a row, notified reader (p50)", notified, "ns")),
        Some(fact("how many times as late this reader is", ratio.value, "ratio")),
        Some(fact("lower bound of this ratio", ratio.interval.low, "ratio")),
        rows(reader).map(|rows| fact("rows a second, this reader", rows, "1/s")),
        rows("inotify").map(|rows| fact("rows a second, notified reader", rows, "1/s")),
        Some(fact("rounds", ratio.rounds as f64, "count")),
    ];
    let facts = facts.into_iter().flatten().collect();
    Some(finding(&DOC, title, Severity::High, ratio.interval.coverage, facts))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Arm, measured};
    use super::*;

    fn of(tail_ns: f64, delivered: f64) -> Vec<String> {
        let values = [
            ("latency_ns.tail.p50", tail_ns),
            ("latency_ns.inotify.p50", 21_000.0),
            ("delivered.inotify", delivered),
        ];
        let host = [("latency_ns.tail.p50", 1e5), values[1], ("delivered.inotify", 1.0)];
        let arms = [Arm::host(&host), Arm::engine(&values)];
        measured("notify", &arms, find).into_iter().map(|found| found.title).collect()
    }

    #[test]
    fn a_reader_that_looks_where_another_is_notified_is_told() {
        let told = of(590e6, 1.0);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("shows a row 593 ms after"), "{told:?}");
    }

    #[test]
    fn a_notified_reader_and_a_place_without_notification_are_not() {
        assert_eq!(of(1e5, 1.0), Vec::<String>::new());
        assert_eq!(of(590e6, 0.5), Vec::<String>::new());
    }
}
