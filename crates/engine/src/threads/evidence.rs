//! The raw rows of each thread, found by one counting sort a table.
//!
//! Tables are ordered by time over all threads; a timeline wants one thread at a time. Sorting row
//! numbers by thread keeps the order of time inside a thread and costs four bytes a row.

use culprit_model::{Recording, ThreadId, Time};

/// Row numbers of a table, thread by thread, in the table's order inside a thread.
#[derive(Debug)]
pub(super) struct ByThread {
    rows: Vec<u32>,
    /// Where each thread's rows begin; one more entry than threads.
    begins: Vec<usize>,
}

impl ByThread {
    /// Sorts the rows of a table. Rows of threads that the recording does not have are left out.
    pub(super) fn new<T>(threads: usize, table: &[T], thread: impl Fn(&T) -> ThreadId) -> Self {
        let mut begins = vec![0_usize; threads + 1];
        let known = |row: &T| Some(thread(row).index()).filter(|at| *at < threads);
        for at in table.iter().filter_map(known) {
            begins[at + 1] += 1;
        }
        for at in 0..threads {
            begins[at + 1] += begins[at];
        }
        let mut next = begins.clone();
        let mut rows = vec![0; begins[threads]];
        for (number, row) in (0_u32..).zip(table) {
            if let Some(at) = known(row) {
                rows[next[at]] = number;
                next[at] += 1;
            }
        }
        Self { rows, begins }
    }

    /// The rows of one thread.
    pub(super) fn of(&self, thread: ThreadId) -> &[u32] {
        &self.rows[self.begins[thread.index()]..self.begins[thread.index() + 1]]
    }
}

/// Every raw table of a recording by thread.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) switches: ByThread,
    pub(super) samples: ByThread,
    pub(super) wakeups: ByThread,
    pub(super) observations: ByThread,
}

impl Evidence {
    pub(super) fn of(recording: &Recording) -> Self {
        let threads = recording.threads.len();
        Self {
            switches: ByThread::new(threads, &recording.switches, |row| row.thread),
            samples: ByThread::new(threads, &recording.samples, |row| row.thread),
            wakeups: ByThread::new(threads, &recording.wakeups, |row| row.thread),
            observations: ByThread::new(threads, &recording.observations, |row| row.thread),
        }
    }
}

/// A time-ordered walk over one thread's rows of one table.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a, T> {
    table: &'a [T],
    rows: &'a [u32],
    at: usize,
    time: fn(&T) -> Time,
}

impl<'a, T> Cursor<'a, T> {
    pub(super) fn new(table: &'a [T], rows: &'a [u32], time: fn(&T) -> Time) -> Self {
        Self { table, rows, at: 0, time }
    }

    /// The row `ahead` places from here.
    pub(super) fn peek(&self, ahead: usize) -> Option<&'a T> {
        self.rows.get(self.at + ahead).map(|row| &self.table[*row as usize])
    }

    /// Steps over the rows before `time` and gives the last of them that was stepped over now.
    pub(super) fn skip_before(&mut self, time: Time) -> Option<&'a T> {
        let mut last = None;
        while let Some(row) = self.peek(0).filter(|row| (self.time)(row) < time) {
            last = Some(row);
            self.at += 1;
        }
        last
    }

    /// How many rows from here on are not later than `time`.
    pub(super) fn count_until(&self, time: Time) -> usize {
        let rest = self.rows.get(self.at..).unwrap_or_default();
        rest.iter().take_while(|row| (self.time)(&self.table[**row as usize]) <= time).count()
    }
}
