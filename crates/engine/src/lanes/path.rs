//! A critical path as bars: what the run was waiting for at each moment, and in which thread.
//!
//! ```text
//! path    |main cpu    |worker cpu|w disk|main cpu|
//! bars    |main cpu    |worker cpu|w disk|main cpu|     a bar names its cause and its thread
//! ```
//!
//! As for lanes, a stretch of at least a pixel is a bar of its own. Shorter ones that begin in one cell become
//! one bar, of the thread and cause of most of their time.

use culprit_model::{ThreadId, Time};

use super::{Lanes, Scale};
use crate::wakers::Segment;

/// The bars of a path, in order of time. Where nothing was recorded there is a gap.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathBars {
    /// Left edges, in pixels.
    pub left: Vec<f32>,
    /// Right edges, in pixels.
    pub right: Vec<f32>,
    /// Codes of the causes.
    pub cause: Vec<u8>,
    /// Whose time it was.
    pub thread: Vec<ThreadId>,
}

/// What a stretch is of.
type Of = (ThreadId, u8);

impl Lanes {
    /// The bars of a path of the same recording within a range that is so many pixels wide. Linear in the
    /// stretches of the range.
    #[must_use]
    pub fn path_bars(&self, path: &[Segment], range: (Time, Time), pixels: u32) -> PathBars {
        let mut bars = PathBars::default();
        let Some(scale) = Scale::new(range, pixels) else { return bars };
        let mut short = Short::default();
        let first = path.partition_point(|stretch| stretch.to.0 <= scale.from);
        for stretch in path[first..].iter().take_while(|stretch| stretch.from.0 < scale.to) {
            let (start, end) = (stretch.from.0, stretch.to.0);
            let row =
                stretch.interval.map(|row| row.index()).filter(|row| *row < self.causes.len());
            let of = row.map(|row| (self.thread_of(row), self.causes[row]));
            let is_short = end - start < scale.cell;
            if !is_short || of.is_none() || start >= short.limit {
                short.flush(&scale, &mut bars);
            }
            match of {
                Some(of) if is_short => short.add(of, (start, end), &scale),
                Some(of) => bars.push(&scale, (start, end), of),
                None => {}
            }
        }
        short.flush(&scale, &mut bars);
        bars
    }
}

impl PathBars {
    fn push(&mut self, scale: &Scale, (start, end): (u64, u64), of: Of) {
        let (left, right) = (scale.edge(start), scale.edge(end));
        let continues = self.thread.last().zip(self.cause.last()) == Some((&of.0, &of.1));
        match self.right.last_mut() {
            // One bar says the same as two.
            Some(last) if continues && left - *last < 0.01 => *last = right,
            _ => {
                self.left.push(left);
                self.right.push(right);
                self.cause.push(of.1);
                self.thread.push(of.0);
            }
        }
    }
}

/// Stretches shorter than a pixel that become one bar.
#[derive(Default)]
struct Short {
    start: u64,
    end: u64,
    /// Where the cell ends in which they begin; 0 where there are none.
    limit: u64,
    /// A cell has few threads and causes, however many stretches.
    sums: Vec<(Of, u64)>,
}

impl Short {
    fn add(&mut self, of: Of, (start, end): (u64, u64), scale: &Scale) {
        if self.sums.is_empty() {
            self.start = start;
            self.limit = (start / scale.cell + 1).saturating_mul(scale.cell);
        }
        self.end = end;
        match self.sums.iter_mut().find(|(known, _)| *known == of) {
            Some((_, sum)) => *sum += end - start,
            None => self.sums.push((of, end - start)),
        }
    }

    fn flush(&mut self, scale: &Scale, bars: &mut PathBars) {
        let most = self.sums.iter().max_by_key(|(of, sum)| (*sum, std::cmp::Reverse(*of)));
        if let Some((of, _)) = most {
            bars.push(scale, (self.start, self.end), *of);
        }
        self.sums.clear();
        self.limit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::build_missing;
    use crate::wakers::CommandPath;
    use culprit_model::{Cause, Label as _, Recording, notation};

    fn recording() -> Recording {
        let drawing = "
            tick 1us
            stack c cpu.user main
            stack l blocked.lock main;[kernel]!futex_do_wait
            stack d blocked.disk work;[kernel]!io_schedule
            app(1)/main(1)    cccllllllllccccc|
            app(1)/worker(2)  ccccccddddcccccc|
            wake 11 worker > main work;unlock
            root app(1)";
        let mut recording = notation::parse(drawing).expect("a drawing");
        build_missing(&mut recording, false);
        recording
    }

    fn drawn(recording: &Recording, range: (u64, u64), pixels: u32) -> Vec<String> {
        let path = CommandPath::of(recording).expect("a command");
        let bars =
            Lanes::of(recording).path_bars(path.segments(), (Time(range.0), Time(range.1)), pixels);
        let bar = |at: usize| {
            let cause = Cause::ALL[usize::from(bars.cause[at])];
            let thread = recording.thread_name(bars.thread[at]);
            format!("{}-{} {thread} {cause}", bars.left[at], bars.right[at])
        };
        (0..bars.cause.len()).map(bar).collect()
    }

    #[test]
    fn the_bars_of_a_path_are_of_the_threads_that_the_run_waited_for() {
        let recording = recording();
        let all = [
            "0-3 main (1) cpu.user",
            "3-6 worker (2) cpu.user",
            "6-10 worker (2) blocked.disk",
            "10-11 worker (2) cpu.user",
            "11-16 main (1) cpu.user",
        ];
        assert_eq!(drawn(&recording, (0, 16_000), 16), all);
        assert_eq!(
            drawn(&recording, (7_000, 11_000), 4),
            ["0-3 worker (2) blocked.disk", all[3]].map(|bar| bar.replace("10-11", "3-4"))
        );
    }

    #[test]
    fn short_stretches_of_a_cell_are_one_bar_of_what_took_most() {
        // A pixel is 8 us. 0 to 3 main runs, 3 to 6 the worker, 6 to 10 it reads: all three begin in it.
        let bars = drawn(&recording(), (0, 16_000), 2);
        assert_eq!(bars, ["0-1.25 worker (2) blocked.disk", "1.25-2 main (1) cpu.user"]);
    }

    #[test]
    fn an_empty_range_or_path_has_no_bars() {
        let recording = recording();
        for (range, pixels) in
            [((5, 5), 100), ((9, 5), 100), ((0, 16_000), 0), ((20_000, 30_000), 9)]
        {
            assert!(drawn(&recording, range, pixels).is_empty(), "{range:?} {pixels}");
        }
        let none = Lanes::of(&recording).path_bars(&[], (Time(0), Time(9)), 9);
        assert_eq!(none, PathBars::default());
        // A path of another recording must not be a panic.
        let path = CommandPath::of(&recording).unwrap();
        let other = Lanes::default().path_bars(path.segments(), (Time(0), Time(9_000)), 9);
        assert_eq!(other, PathBars::default());
    }
}
