//! The kernel's own account of each thread (`schedstat`), kept only where it can be compared.
//!
//! The account of a thread that runs is as old as the last tick, up to 10 ms. That of a thread on a
//! run queue may hold a part of its wait, when it was moved from one queue to another
//! (kernel/sched/stats.h, `sched_info_dequeue`). That of a thread that waits for something else is
//! exact. Which of them a reading was is known when the records around it have been handled:
//!
//! ```text
//! records     in ............ out              woken          in
//! readings         rough   ro|ugh     exact            queued
//! ```
//!
//! So readings wait for what next happens to their thread. A thread's sums are compared between its
//! birth, or else its first reading, and its last one, of the best kind that it has two of.

use std::collections::VecDeque;

use culprit_model::{Nanos, Thread, ThreadId, Time};

/// Readings that wait for a thread's next switch, at most: the newest say most, and an old one is
/// only wanted where the thread got back to a CPU while the newer ones were taken.
const MOST_WAITING: usize = 8;

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    /// When reading began.
    pub(crate) began: Time,
    /// When it had ended.
    pub(crate) at: Time,
    /// Time on a CPU since the thread's start, ns.
    pub(crate) on_cpu: u64,
    /// Time ready since the thread's start, ns.
    pub(crate) ready: u64,
}

/// The first and the last reading of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    first: Option<Account>,
    last: Option<Account>,
}

/// Where a thread is, as far as its records tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// No record has told yet.
    #[default]
    Unknown,
    Running,
    Queued,
    Blocked,
}

#[derive(Debug, Clone, Default)]
struct State {
    waiting: VecDeque<Account>,
    exact: Ends,
    queued: Ends,
    rough: Ends,
    place: Place,
    /// Since when it is there.
    since: Time,
}

/// The accounts of every thread.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    states: Vec<State>,
}

impl Accounts {
    /// A reading of a thread; it is later than all records handled so far.
    pub(crate) fn read(&mut self, thread: ThreadId, account: Account) {
        let state = self.state(thread);
        if state.waiting.len() == MOST_WAITING {
            state.waiting.pop_front();
        }
        state.waiting.push_back(account);
    }

    /// A thread got onto a CPU.
    pub(crate) fn came(&mut self, thread: ThreadId, time: Time) {
        self.state(thread).go(Place::Running, time);
    }

    /// A thread left its CPU, and could have gone on or not.
    pub(crate) fn left(&mut self, thread: ThreadId, time: Time, ready: bool) {
        self.state(thread).go(if ready { Place::Queued } else { Place::Blocked }, time);
    }

    /// A thread was made ready.
    pub(crate) fn woken(&mut self, thread: ThreadId, time: Time) {
        let state = self.state(thread);
        if state.place == Place::Blocked {
            state.go(Place::Queued, time);
        }
    }

    /// Writes into each thread's row what the kernel counted between two readings, or between the
    /// thread's birth and its last reading.
    pub(crate) fn apply(&mut self, threads: &mut [Thread]) {
        for (thread, state) in threads.iter_mut().zip(&mut self.states) {
            state.judge(Time(u64::MAX), state.place);
            let start = thread.start;
            let born = Account { began: start, at: start, on_cpu: 0, ready: 0 };
            if let Some((first, last)) = state.pair((start > Time::START).then_some(born)) {
                thread.sched_from = Some(first.at);
                thread.sched_to = Some(last.began.max(first.at));
                thread.sched_cpu = Some(Nanos(last.on_cpu.saturating_sub(first.on_cpu)));
                thread.sched_wait = Some(Nanos(last.ready.saturating_sub(first.ready)));
            }
        }
    }

    fn state(&mut self, thread: ThreadId) -> &mut State {
        if self.states.len() <= thread.index() {
            self.states.resize(thread.index() + 1, State::default());
        }
        &mut self.states[thread.index()]
    }
}

impl State {
    fn go(&mut self, place: Place, time: Time) {
        // Who comes was on a run queue, also before the first record that was seen.
        let before = match (self.place, place) {
            (Place::Unknown, Place::Running) => Place::Queued,
            (before, _) => before,
        };
        self.judge(time, before);
        self.place = place;
        self.since = time;
    }

    /// Sorts the readings that had begun before `time`, until which the thread was in this place.
    fn judge(&mut self, time: Time, place: Place) {
        while let Some(account) = self.waiting.pop_front_if(|account| account.began < time) {
            let within = account.began > self.since && account.at < time;
            let ends = match place {
                Place::Blocked if within => &mut self.exact,
                Place::Queued if within => &mut self.queued,
                _ => &mut self.rough,
            };
            ends.first.get_or_insert(account);
            ends.last = Some(account);
        }
    }

    /// The two readings to compare.
    fn pair(&self, born: Option<Account>) -> Option<(Account, Account)> {
        let pairs =
            [self.exact, self.queued, self.rough].map(|ends| born.or(ends.first).zip(ends.last));
        pairs.into_iter().flatten().find(|(first, last)| last.began > first.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::{ProcessId, Tid};

    const THREAD: ThreadId = ThreadId(0);

    fn account(began: u64, at: u64, on_cpu: u64) -> Account {
        Account { began: Time(began), at: Time(at), on_cpu, ready: 0 }
    }

    /// The span and the sum after these calls, for a thread that began then.
    fn applied(start: u64, steps: impl FnOnce(&mut Accounts)) -> Option<(u64, u64, u64)> {
        let mut accounts = Accounts::default();
        steps(&mut accounts);
        let mut threads = [Thread::new(ProcessId(0), Tid(1), "", Time(start))];
        accounts.apply(&mut threads);
        let [thread] = threads;
        Some((thread.sched_from?.0, thread.sched_to?.0, thread.sched_cpu?.0))
    }

    #[test]
    fn a_reading_off_the_cpu_counts_more_than_a_later_one_on_it() {
        let sums = applied(5, |accounts| {
            accounts.came(THREAD, Time(10));
            accounts.left(THREAD, Time(20), false);
            accounts.read(THREAD, account(24, 25, 10));
            accounts.came(THREAD, Time(30));
            accounts.read(THREAD, account(34, 35, 11));
            accounts.left(THREAD, Time(40), false);
        });
        assert_eq!(sums, Some((5, 24, 10)));
    }

    #[test]
    fn a_reading_during_which_the_thread_left_or_came_is_rough() {
        let sums = applied(5, |accounts| {
            accounts.came(THREAD, Time(10));
            accounts.read(THREAD, account(18, 22, 3));
            accounts.read(THREAD, account(24, 25, 10));
            accounts.read(THREAD, account(28, 31, 12));
            accounts.left(THREAD, Time(20), false);
            accounts.came(THREAD, Time(30));
            accounts.left(THREAD, Time(40), false);
        });
        assert_eq!(sums, Some((5, 24, 10)));
    }

    #[test]
    fn a_thread_of_before_is_compared_from_its_first_exact_reading() {
        let sums = applied(0, |accounts| {
            accounts.read(THREAD, account(1, 2, 100));
            accounts.left(THREAD, Time(20), false);
            accounts.read(THREAD, account(24, 25, 110));
            accounts.came(THREAD, Time(30));
            accounts.left(THREAD, Time(40), false);
            accounts.read(THREAD, account(50, 51, 120));
        });
        assert_eq!(sums, Some((25, 50, 10)));
    }

    #[test]
    fn a_thread_that_is_always_on_its_cpu_has_its_rough_readings() {
        let sums = applied(0, |accounts| {
            accounts.came(THREAD, Time(1));
            accounts.read(THREAD, account(9, 10, 100));
            accounts.read(THREAD, account(29, 30, 119));
        });
        assert_eq!(sums, Some((10, 29, 19)));
    }

    #[test]
    fn a_thread_that_is_asleep_at_the_end_has_its_last_reading() {
        let sums = applied(5, |accounts| {
            accounts.came(THREAD, Time(10));
            accounts.left(THREAD, Time(20), false);
            accounts.read(THREAD, account(50, 51, 10));
        });
        assert_eq!(sums, Some((5, 50, 10)));
    }

    #[test]
    fn a_reading_on_a_run_queue_counts_less_than_one_before_the_wakeup() {
        let sums = applied(5, |accounts| {
            accounts.came(THREAD, Time(10));
            accounts.left(THREAD, Time(20), false);
            accounts.read(THREAD, account(24, 25, 10));
            accounts.read(THREAD, account(34, 35, 10));
            accounts.woken(THREAD, Time(30));
            accounts.came(THREAD, Time(40));
            accounts.left(THREAD, Time(50), true);
            accounts.read(THREAD, account(54, 55, 20));
        });
        assert_eq!(sums, Some((5, 24, 10)));
    }

    #[test]
    fn one_reading_of_a_thread_of_before_tells_nothing() {
        assert_eq!(applied(0, |accounts| accounts.read(THREAD, account(5, 6, 10))), None);
    }
}
