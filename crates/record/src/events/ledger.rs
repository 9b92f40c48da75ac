//! The losses of a recording while it is made.
//!
//! Every drop, cut and guess ends here as one row per kind and detail, with a count and the time
//! from the first to the last. Order of first appearance, so the same input gives the same rows.

use culprit_model::{Loss, LossKind, Time};
use rustc_hash::FxHashMap;

/// Losses so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    rows: Vec<Row>,
    by_key: FxHashMap<(LossKind, String), usize>,
    changes: u64,
}

#[derive(Debug)]
struct Row {
    kind: LossKind,
    /// What it concerns; with the kind it makes the row.
    subject: String,
    /// Why, shown behind the subject.
    reason: String,
    count: u64,
    span: Option<(Time, Time)>,
}

impl Ledger {
    /// `count` more of a kind at one instant.
    pub(crate) fn at(&mut self, kind: LossKind, subject: &str, count: u64, time: Time) {
        self.between(kind, subject, count, time, time);
    }

    /// `count` more of a kind somewhere in a stretch of time.
    pub(crate) fn between(
        &mut self,
        kind: LossKind,
        subject: &str,
        count: u64,
        from: Time,
        to: Time,
    ) {
        if count == 0 {
            return;
        }
        let row = self.row(kind, subject);
        row.count += count;
        row.span = Some(match row.span {
            Some((first, last)) => (first.min(from), last.max(to)),
            None => (from, to),
        });
    }

    /// `count` more of a kind, over the whole recording.
    pub(crate) fn whole(&mut self, kind: LossKind, subject: &str, count: u64) {
        if count > 0 {
            self.row(kind, subject).count += count;
        }
    }

    /// Something that counts once, however often it is seen.
    pub(crate) fn once(&mut self, kind: LossKind, subject: &str, reason: &str) {
        let row = self.row(kind, subject);
        row.count = 1;
        reason.clone_into(&mut row.reason);
    }

    /// Something that was missing has turned up.
    pub(crate) fn recover(&mut self, kind: LossKind, subject: &str) {
        if let Some(at) = self.by_key.get(&(kind, subject.to_owned())) {
            self.rows[*at].count = 0;
        }
    }

    /// `count` that were noted for one subject belong to another.
    pub(crate) fn moved(&mut self, kind: LossKind, from: &str, to: &str, count: u64) {
        let Some(span) = self.by_key.get(&(kind, from.to_owned())).and_then(|at| {
            let row = &mut self.rows[*at];
            row.count = row.count.saturating_sub(count);
            row.span
        }) else {
            return;
        };
        self.between(kind, to, count, span.0, span.1);
    }

    /// The kernel's own count of what it dropped: the records in the rings tell less, because one
    /// is written only when there is room again.
    pub(crate) fn at_least(&mut self, kind: LossKind, subject: &str, count: u64) {
        let known: u64 = self.rows.iter().filter(|row| row.kind == kind).map(|row| row.count).sum();
        self.whole(kind, subject, count.saturating_sub(known));
    }

    /// How many of a kind so far.
    pub(crate) fn count(&self, kind: LossKind) -> u64 {
        self.rows.iter().filter(|row| row.kind == kind).map(|row| row.count).sum()
    }

    /// A number that differs whenever a loss was added.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The rows of the table.
    pub(crate) fn rows(&self) -> Vec<Loss> {
        let kept = self.rows.iter().filter(|row| row.count > 0);
        kept.map(|row| Loss {
            kind: row.kind,
            count: row.count,
            from: row.span.map(|(from, _)| from),
            to: row.span.map(|(_, to)| to),
            detail: match (row.subject.as_str(), row.reason.as_str()) {
                (subject, "") => subject.into(),
                ("", reason) => reason.into(),
                (subject, reason) => format!("{subject}: {reason}").into(),
            },
        })
        .collect()
    }

    fn row(&mut self, kind: LossKind, subject: &str) -> &mut Row {
        self.changes += 1;
        let next = self.rows.len();
        let at = *self.by_key.entry((kind, subject.to_owned())).or_insert(next);
        if at == next {
            self.rows.push(Row {
                kind,
                subject: subject.to_owned(),
                reason: String::new(),
                count: 0,
                span: None,
            });
        }
        &mut self.rows[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_a_kind_and_subject_with_its_stretch_of_time() {
        let mut ledger = Ledger::default();
        ledger.at(LossKind::SamplesLost, "CPU 0", 2, Time(5));
        ledger.at(LossKind::SamplesLost, "CPU 0", 3, Time(9));
        ledger.at(LossKind::SamplesLost, "CPU 1", 1, Time(7));
        let rows = ledger.rows();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].count, rows[0].from, rows[0].to), (5, Some(Time(5)), Some(Time(9))));
        assert_eq!(rows[1].detail.as_str(), "CPU 1");
    }

    #[test]
    fn the_kernels_count_adds_what_the_rings_did_not_tell() {
        let mut ledger = Ledger::default();
        ledger.at(LossKind::SamplesLost, "CPU 0", 2, Time(5));
        ledger.at_least(LossKind::SamplesLost, "not reported in time", 10);
        assert_eq!(ledger.count(LossKind::SamplesLost), 10);
        ledger.at_least(LossKind::SamplesLost, "not reported in time", 4);
        assert_eq!(ledger.count(LossKind::SamplesLost), 10);
    }

    #[test]
    fn a_count_moves_from_one_subject_to_another() {
        let mut ledger = Ledger::default();
        ledger.at(LossKind::StacksMissing, "none", 3, Time(5));
        ledger.moved(LossKind::StacksMissing, "none", "lent", 2);
        ledger.moved(LossKind::StacksMissing, "unheard of", "lent", 2);
        let rows: Vec<_> =
            ledger.rows().iter().map(|row| (row.detail.as_str().to_owned(), row.count)).collect();
        assert_eq!(rows, [("none".to_owned(), 1), ("lent".to_owned(), 2)]);
    }

    #[test]
    fn what_turned_up_is_no_loss() {
        let mut ledger = Ledger::default();
        ledger.once(LossKind::ModulesUnreadable, "/bin/x", "permission denied");
        assert_eq!(ledger.rows()[0].detail.as_str(), "/bin/x: permission denied");
        ledger.recover(LossKind::ModulesUnreadable, "/bin/x");
        assert_eq!(ledger.rows(), []);
    }
}
