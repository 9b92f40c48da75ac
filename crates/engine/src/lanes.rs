//! Threads as lanes: bars of causes over time, as many as so many pixels can show.
//!
//! ```text
//! intervals  |cpu      |lock|cpu|lock|cpu|net            |
//! cells      |    |    |    |    |    |    |    |    |    |   a cell is a pixel long
//! bars       |cpu      |lock     |cpu    |net            |   short intervals: the cause of most time
//! ```
//!
//! An interval of at least a pixel is a bar of its own. Shorter ones that begin in one cell become one bar,
//! with the cause of most of their time. Cells count from the recording's start, so bars keep their shape
//! while a view is moved.

mod path;

use culprit_model::{Cause, Label as _, Nanos, Recording, ThreadId, Time};

use crate::causes::FutexWaits;

pub use path::PathBars;

/// The intervals of all threads as columns: half a pass over their rows' memory would cost more than all bars.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    starts: Vec<u64>,
    ends: Vec<u64>,
    /// Codes of the causes that views show.
    causes: Vec<u8>,
    /// First row of each thread; one more entry than threads.
    begins: Vec<usize>,
}

/// The bars of some lanes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// First bar of each lane; one more entry than lanes.
    pub first: Vec<u32>,
    /// Left edges, in pixels.
    pub left: Vec<f32>,
    /// Right edges, in pixels.
    pub right: Vec<f32>,
    /// Codes of the causes.
    pub cause: Vec<u8>,
}

impl Lanes {
    /// The lanes of a recording whose intervals are built. Linear in intervals.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let rows = &recording.intervals;
        let mut waits = FutexWaits::new(recording);
        let begin = |at| rows.partition_point(|row| row.thread < ThreadId::from_index(at));
        Self {
            starts: rows.iter().map(|row| row.start.0).collect(),
            ends: rows.iter().map(|row| (row.start + row.duration).0).collect(),
            causes: rows.iter().map(|row| waits.cause(row.cause, row.stack).code()).collect(),
            begins: (0..=recording.threads.len()).map(begin).collect(),
        }
    }

    /// The row of the interval in which a thread was at a time; none where it did not live.
    #[must_use]
    pub fn row_at(&self, thread: ThreadId, time: Time) -> Option<usize> {
        let rows = self.rows(thread);
        let after = self.starts[rows.clone()].partition_point(|start| *start <= time.0);
        let at = rows.start + after.checked_sub(1)?;
        (time.0 < self.ends[at]).then_some(at)
    }

    /// The last time up to this one at which a thread lived; none where it had not begun.
    #[must_use]
    pub fn last_alive(&self, thread: ThreadId, time: Time) -> Option<Time> {
        let rows = self.rows(thread);
        let begun = self.starts[rows.clone()].partition_point(|start| *start <= time.0);
        let at = rows.start + begun.checked_sub(1)?;
        Some(Time(time.0.min(self.ends[at].saturating_sub(1)).max(self.starts[at])))
    }

    /// The cause that views show for an interval.
    ///
    /// # Panics
    /// Past the last row.
    #[must_use]
    pub fn cause(&self, row: usize) -> Cause {
        Cause::ALL.get(usize::from(self.causes[row])).copied().unwrap_or_default()
    }

    /// The bars of threads within a range that is so many pixels wide. Linear in the intervals of the
    /// range; at most two bars a pixel and lane.
    #[must_use]
    pub fn bars(&self, threads: &[ThreadId], range: (Time, Time), pixels: u32) -> Bars {
        let mut bars = Bars { first: vec![0], ..Bars::default() };
        let scale = Scale::new(range, pixels);
        for thread in threads {
            if let Some(scale) = &scale {
                self.draw(self.rows(*thread), scale, &mut bars);
            }
            bars.first.push(u32::try_from(bars.cause.len()).unwrap_or(u32::MAX));
        }
        bars
    }

    /// The thread of a row; that of the last one past it.
    fn thread_of(&self, row: usize) -> ThreadId {
        ThreadId::from_index(self.begins.partition_point(|begin| *begin <= row).saturating_sub(1))
    }

    fn rows(&self, thread: ThreadId) -> std::ops::Range<usize> {
        match self.begins.get(thread.index()..thread.index() + 2) {
            Some(&[begin, end]) => begin..end,
            _ => 0..0,
        }
    }

    fn draw(&self, rows: std::ops::Range<usize>, scale: &Scale, bars: &mut Bars) {
        let lane = bars.cause.len();
        let first = rows.start + self.ends[rows.clone()].partition_point(|end| *end <= scale.from);
        let mut short = ShortBars::default();
        for at in first..rows.end {
            let (start, end) = (self.starts[at], self.ends[at]);
            if start >= scale.to {
                break;
            }
            let length = end - start;
            if length >= scale.cell {
                short.flush(lane, scale, bars);
                bars.push(scale, (start, end), self.causes[at]);
                continue;
            }
            if start >= short.limit {
                short.flush(lane, scale, bars);
                short.begin(start, scale);
            }
            short.end = end;
            short.sums[usize::from(self.causes[at])] += length;
        }
        short.flush(lane, scale, bars);
    }
}

/// From times to pixels.
struct Scale {
    from: u64,
    to: u64,
    /// Length of a pixel.
    cell: u64,
    pixels_a_nano: f64,
}

impl Scale {
    /// None for a range or a picture of no width.
    #[expect(clippy::cast_precision_loss, reason = "pixels need no more than 53 bits")]
    fn new((from, to): (Time, Time), pixels: u32) -> Option<Self> {
        let Nanos(length) = to.since(from);
        (length > 0 && pixels > 0).then(|| Self {
            from: from.0,
            to: to.0,
            cell: length.div_ceil(u64::from(pixels)),
            pixels_a_nano: f64::from(pixels) / length as f64,
        })
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a screen is some thousand pixels wide"
    )]
    fn edge(&self, time: u64) -> f32 {
        ((time.clamp(self.from, self.to) - self.from) as f64 * self.pixels_a_nano) as f32
    }
}

/// Intervals shorter than a pixel that become one bar.
#[derive(Default)]
struct ShortBars {
    start: u64,
    end: u64,
    /// Where the cell ends in which they begin; 0 where there are none.
    limit: u64,
    sums: [u64; Cause::ALL.len()],
    /// How many bars there are behind the last one of short intervals; 0 where there was none.
    behind: usize,
}

impl ShortBars {
    fn begin(&mut self, start: u64, scale: &Scale) {
        self.start = start;
        self.limit = (start / scale.cell + 1).saturating_mul(scale.cell);
    }

    fn flush(&mut self, lane: usize, scale: &Scale, bars: &mut Bars) {
        if self.limit == 0 {
            return;
        }
        self.limit = 0;
        let sums = std::mem::take(&mut self.sums);
        let Some((cause, _)) = (0_u8..)
            .zip(sums)
            .filter(|(_, sum)| *sum > 0)
            .max_by_key(|(cause, sum)| (*sum, std::cmp::Reverse(*cause)))
        else {
            return;
        };
        let count = bars.cause.len();
        match bars.cause.last() {
            // One bar says the same as two of one cause.
            Some(last) if *last == cause && self.behind == count && count > lane => {
                bars.right[count - 1] = scale.edge(self.end);
            }
            _ => bars.push(scale, (self.start, self.end), cause),
        }
        self.behind = bars.cause.len();
    }
}

impl Bars {
    fn push(&mut self, scale: &Scale, (start, end): (u64, u64), cause: u8) {
        self.left.push(scale.edge(start));
        self.right.push(scale.edge(end));
        self.cause.push(cause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::notation::parse;
    use culprit_model::{Basis, Interval, Thread, Tid};

    fn drawn(lanes: &Lanes, range: (u64, u64), pixels: u32) -> Vec<String> {
        let threads: Vec<_> = (0..lanes.begins.len() - 1).map(ThreadId::from_index).collect();
        let bars = lanes.bars(&threads, (Time(range.0), Time(range.1)), pixels);
        let bar = |at: usize| {
            let cause = Cause::ALL[usize::from(bars.cause[at])];
            format!("{}-{} {cause}", bars.left[at], bars.right[at])
        };
        let lane = |ends: &[u32]| {
            let bars: Vec<_> = (ends[0]..ends[1]).map(|at| bar(at as usize)).collect();
            bars.join(", ")
        };
        bars.first.windows(2).map(lane).collect()
    }

    fn lanes() -> Lanes {
        let drawing = "
            tick 1ns
            stack c cpu.user main
            stack l blocked.lock main;[kernel]!futex_do_wait
            stack n blocked.net main;[kernel]!tcp_recvmsg
            app(1)/main(1)   ccccclcclclnnnnnnnnn|
            app(1)/late(2)   ..........cccccccccc|";
        Lanes::of(&parse(drawing).unwrap())
    }

    #[test]
    fn intervals_of_a_pixel_and_more_are_bars_of_their_own() {
        let all = "0-5 cpu.user, 5-6 blocked.lock, 6-8 cpu.user, 8-9 blocked.lock, 9-10 cpu.user, \
                   10-11 blocked.lock, 11-20 blocked.net";
        assert_eq!(drawn(&lanes(), (0, 20), 20), [all, "10-20 cpu.user"]);
        // A range cuts its first and its last bar.
        let part = ["0-1 blocked.lock, 1-4 blocked.net", "0-4 cpu.user"];
        assert_eq!(drawn(&lanes(), (10, 14), 4), part);
    }

    #[test]
    fn shorter_ones_are_merged_to_the_cause_of_most_of_their_time() {
        // A pixel is 4 ns. 5 to 6, 6 to 8: most is on the CPU; 8 to 9, 9 to 10, 10 to 11: for the lock.
        let bars = "0-1.25 cpu.user, 1.25-2 cpu.user, 2-2.75 blocked.lock, 2.75-5 blocked.net";
        assert_eq!(drawn(&lanes(), (0, 20), 5), [bars, "2.5-5 cpu.user"]);
    }

    #[test]
    fn an_empty_range_or_picture_has_no_bars() {
        for (range, pixels) in [((5, 5), 100), ((9, 5), 100), ((0, 20), 0), ((30, 40), 100)] {
            assert_eq!(drawn(&lanes(), range, pixels), ["", ""], "{range:?} {pixels}");
        }
        assert_eq!(Lanes::default().bars(&[ThreadId(7)], (Time(0), Time(9)), 9).first, [0, 0]);
    }

    #[test]
    fn a_time_is_in_the_interval_that_holds_it() {
        let lanes = lanes();
        let at = |thread, time| lanes.row_at(ThreadId(thread), Time(time));
        assert_eq!([at(0, 0), at(0, 4), at(0, 5), at(0, 19)], [Some(0), Some(0), Some(1), Some(6)]);
        assert_eq!([at(0, 20), at(1, 9), at(1, 10), at(2, 0)], [None, None, Some(7), None]);
        let alive = |thread, time| lanes.last_alive(ThreadId(thread), Time(time)).map(|t| t.0);
        assert_eq!([alive(0, 7), alive(0, 19), alive(0, 500)], [Some(7), Some(19), Some(19)]);
        assert_eq!([alive(1, 9), alive(1, 10), alive(2, 0)], [None, Some(10), None]);
        assert_eq!(lanes.cause(1), Cause::Lock);
    }

    /// Rows of some hundred ns, as a program has them that does nothing but switch.
    fn long(rows: u32, threads: u32) -> Recording {
        let mut recording = parse("app(1)/main(1) c|\nstack c cpu.user main").unwrap();
        recording.intervals.clear();
        for thread in 0..threads {
            let mut start = Time(0);
            recording.threads.push(Thread::new(recording.threads[0].process, Tid(9), "t", start));
            for row in 0..rows / threads {
                let duration = Nanos(u64::from(row.wrapping_mul(2_654_435_761) >> 22));
                let cause = Cause::ALL[row as usize % Cause::ALL.len()];
                recording.intervals.push(Interval {
                    thread: ThreadId(thread),
                    start,
                    duration,
                    cause,
                    stack: None,
                    basis: Basis::None,
                    cpu: None,
                    waker: None,
                    waker_stack: None,
                    woken_by: None,
                    uncertain: false,
                });
                start = start + duration;
            }
            recording.meta.wall = recording.meta.wall.max(start.since(Time(0)));
        }
        recording
    }

    #[test]
    fn bars_tile_and_are_no_more_than_pixels_can_show() {
        let recording = long(40_000, 4);
        let lanes = Lanes::of(&recording);
        let threads: Vec<_> = (0..4).map(ThreadId).collect();
        let wall = recording.meta.wall.0;
        for (from, to) in [(0, wall), (wall / 3, wall / 2), (wall / 3, wall / 3 + 5_000)] {
            let bars = lanes.bars(&threads, (Time(from), Time(to)), 1_000);
            for lane in bars.first.windows(2) {
                let (first, end) = (lane[0] as usize, lane[1] as usize);
                assert!(end - first <= 2_002, "{} bars", end - first);
                let left = &bars.left[first..end];
                let apart = bars.right[first..end].iter().zip(&left[1..]).map(|(r, l)| l - r);
                assert!(apart.into_iter().all(|apart| apart.abs() < 0.01));
                assert!(left[0] == 0.0, "{}", left[0]);
            }
        }
    }
}
