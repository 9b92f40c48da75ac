//! What a finding's cost is made of: the stretches of time that settling gave to it, for somebody who wants
//! to see them.
//!
//! ```text
//! held segments   |aaa|aa|   |bbb|     |a|        a: one stack, b: another
//! stretches       |aaaaa |   |bbb|     |a|        those that touch within one interval are one
//! stacks          a 6, b 3                        the time by thread, cause and stack
//! when            6 0 3 0 1                       the time by part of the recording
//! ```
//!
//! Lists are cut to what a person reads; the counts say how much they leave out.

use std::cmp::Reverse;

use culprit_engine::causes::FutexWaits;
use culprit_model::{Cause, Nanos, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::evidence::{Evidence, SegmentId};

/// The most stretches that are kept: some screens of a table.
pub const LONGEST: usize = 200;

/// The most stacks that are kept: below these, each is a small part of the cost.
pub const STACKS: usize = 30;

/// Parts of the recording in which time is added up: bars of a strip that a phone can show.
pub const WHEN: usize = 120;

/// The time that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grounds {
    /// How many stretches there are.
    pub count: usize,
    /// The longest of them, the longest first, of equal ones the earlier.
    pub longest: Vec<Stretch>,
    /// How many stacks there are.
    pub stack_count: usize,
    /// Those with the most time, the most first.
    pub stacks: Vec<SameStack>,
    /// The time in each of [`WHEN`] equal parts of the recording; of several threads, the sum.
    pub when: Vec<Nanos>,
}

/// A part of a thread's time without a gap, within one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Row of the `intervals` table.
    pub row: usize,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// What views call the interval's cause.
    pub cause: Cause,
    /// Who waited for this, the nearest first; none where it is the measured thread's own time.
    pub waiting: Vec<ThreadId>,
}

impl Stretch {
    /// How long.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// The time of one thread at one stack for one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameStack {
    /// Whose time.
    pub thread: ThreadId,
    /// What views call the cause.
    pub cause: Cause,
    /// Where the thread was; none if that was lost.
    pub stack: Option<StackId>,
    /// How long, together.
    pub time: Nanos,
    /// In how many stretches.
    pub count: usize,
}

/// A stretch with the segment that it begins with.
struct Piece {
    segment: SegmentId,
    row: usize,
    from: Time,
    to: Time,
}

/// The time that is held by these segments, which are in order. Takes time n log n in segments.
pub(crate) fn of(evidence: &Evidence<'_>, held: &[SegmentId]) -> Grounds {
    let mut pieces = pieces(evidence, held);
    let stacks = stacks(evidence, &pieces);
    let when = when(&pieces, evidence.recording.meta.wall);
    let count = pieces.len();
    pieces.sort_by_key(|piece| (Reverse(piece.to.since(piece.from)), piece.from, piece.row));
    pieces.truncate(LONGEST);
    let mut waits = FutexWaits::new(evidence.recording);
    let longest = pieces.iter().map(|piece| stretch(evidence, piece, &mut waits)).collect();
    let stack_count = stacks.len();
    Grounds { count, longest, stack_count, stacks: stacks.into_iter().take(STACKS).collect(), when }
}

fn pieces(evidence: &Evidence<'_>, held: &[SegmentId]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for id in held {
        let segment = evidence.chain.segment(*id);
        let (row, from) = (segment.interval.index(), segment.start);
        let to = from + segment.length;
        match pieces.last_mut() {
            Some(last) if last.row == row && last.to == from => last.to = to,
            _ => pieces.push(Piece { segment: *id, row, from, to }),
        }
    }
    pieces
}

fn stretch(evidence: &Evidence<'_>, piece: &Piece, waits: &mut FutexWaits<'_>) -> Stretch {
    let interval = &evidence.recording.intervals[piece.row];
    let links = evidence.chain.links(evidence.chain.segment(piece.segment));
    let mut waiting: Vec<_> = links.map(|link| evidence.interval(link.wait).thread).collect();
    waiting.dedup();
    Stretch {
        row: piece.row,
        from: piece.from,
        to: piece.to,
        cause: waits.cause(interval.cause, interval.stack),
        waiting,
    }
}

fn stacks(evidence: &Evidence<'_>, pieces: &[Piece]) -> Vec<SameStack> {
    let mut sums: FxHashMap<_, (Nanos, usize)> = FxHashMap::default();
    for piece in pieces {
        let interval = &evidence.recording.intervals[piece.row];
        let sum = sums.entry((interval.thread, interval.cause, interval.stack)).or_default();
        sum.0 += piece.to.since(piece.from);
        sum.1 += 1;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(key, (time, _))| (Reverse(*time), *key));
    let mut waits = FutexWaits::new(evidence.recording);
    let made = |((thread, cause, stack), (time, count))| SameStack {
        thread,
        cause: waits.cause(cause, stack),
        stack,
        time,
        count,
    };
    sums.into_iter().map(made).collect()
}

fn when(pieces: &[Piece], wall: Nanos) -> Vec<Nanos> {
    let mut sums = vec![Nanos::ZERO; WHEN];
    let part = wall.0.div_ceil(WHEN as u64).max(1);
    for piece in pieces {
        let mut from = piece.from.0;
        while from < piece.to.0 {
            let at = from / part;
            let to = ((at + 1) * part).min(piece.to.0);
            let Some(sum) = usize::try_from(at).ok().and_then(|at| sums.get_mut(at)) else { break };
            *sum += Nanos(to - from);
            from = to;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Options, find_with_grounds};
    use culprit_engine::threads::build_missing;
    use culprit_model::notation;

    fn recording() -> culprit_model::Recording {
        let drawing = "
            stack a cpu.user app!main;app!work
            stack l blocked.lock app!main;libc.so.6!pthread_mutex_lock;[kernel]!futex_do_wait
            stack s blocked.sleep app!nap;libc.so.6!clock_nanosleep;[kernel]!do_nanosleep
            app(1)/main(1)    allllllalllllla|
            app(1)/worker(2)  asssssassssssaa|
            wake 7 worker > main app!nap;libc.so.6!pthread_mutex_unlock
            wake 14 worker > main app!nap;libc.so.6!pthread_mutex_unlock
            root app(1)";
        let mut recording = notation::parse(drawing).expect("a drawing");
        build_missing(&mut recording, false);
        recording
    }

    #[test]
    fn the_stretches_of_a_finding_add_up_to_its_cost() {
        let recording = recording();
        let options = Options { all: true, ..Options::default() };
        let (report, grounds) = find_with_grounds(&recording, &options);
        assert_eq!(report, crate::find(&recording, &options), "grounds change no finding");
        assert_eq!(report.findings.len(), grounds.len());
        assert!(report.findings.iter().any(|finding| finding.cost > Nanos::ZERO));
        for (finding, grounds) in report.findings.iter().zip(&grounds) {
            let sum = |times: &mut dyn Iterator<Item = Nanos>| times.sum::<Nanos>();
            let id = finding.id;
            assert_eq!(grounds.count, grounds.longest.len(), "{id}: none is left out");
            assert_eq!(sum(&mut grounds.longest.iter().map(Stretch::length)), finding.cost, "{id}");
            assert_eq!(sum(&mut grounds.stacks.iter().map(|s| s.time)), finding.cost, "{id}");
            assert_eq!(sum(&mut grounds.when.iter().copied()), finding.cost, "{id}");
            assert!(grounds.longest.is_sorted_by_key(|one| Reverse(one.length())), "{id}");
            for one in &grounds.longest {
                let row = &recording.intervals[one.row];
                assert!(row.start <= one.from && one.to <= row.start + row.duration, "{id}");
                assert!(!one.waiting.contains(&row.thread), "{id}: nobody waits for itself");
            }
        }
    }

    #[test]
    fn what_touches_within_an_interval_is_one_stretch() {
        let recording = recording();
        let evidence = Evidence::of(&recording, &Options::default());
        let all = evidence.segments(|_, _| true);
        let whole = of(&evidence, &all);
        let every_second: Vec<_> = all.iter().copied().step_by(2).collect();
        assert!(of(&evidence, &every_second).count <= every_second.len());
        assert!(whole.count <= all.len());
        let touch = |a: &Stretch, b: &Stretch| a.row == b.row && a.to == b.from;
        let mut in_time = whole.longest.clone();
        in_time.sort_by_key(|one| (one.row, one.from));
        assert!(in_time.windows(2).all(|two| !touch(&two[0], &two[1])));
        assert_eq!(
            of(&evidence, &[]),
            Grounds { when: vec![Nanos::ZERO; WHEN], ..Grounds::default() }
        );
    }

    #[test]
    fn time_is_added_up_by_the_part_of_the_recording_that_it_passed_in() {
        let piece =
            |from, to| Piece { segment: SegmentId(0), row: 0, from: Time(from), to: Time(to) };
        let wall = 10 * WHEN as u64;
        let sums = when(&[piece(0, 15), piece(25, 30)], Nanos(wall));
        assert_eq!(sums[..4], [Nanos(10), Nanos(5), Nanos(5), Nanos::ZERO]);
        // What lies behind the end, which no clock should give, is left out.
        let sums = when(&[piece(wall - 1, wall + 50)], Nanos(wall));
        assert_eq!(sums.into_iter().sum::<Nanos>(), Nanos(1));
        assert_eq!(when(&[piece(0, 1)], Nanos::ZERO)[0], Nanos(1), "no recording is too short");
    }
}
