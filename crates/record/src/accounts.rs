//! The kernel's own account of each thread (`schedstat`), kept only where it can be compared.
//!
//! The account of a thread that runs is as old as the last tick, up to 4 ms; that of a thread off
//! its CPU is exact. Which of the two a reading was is known when the records around it have been
//! handled:
//!
//! ```text
//! switches    in ......... out              in
//! readings         rough         exact
//! ```
//!
//! So a reading waits for the thread's next switch. The last exact one counts, and a rough one only
//! for a thread that was never off its CPU when it was looked at.

use culprit_model::{Nanos, Thread, ThreadId, Time};

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    /// When.
    pub(crate) at: Time,
    /// Time on a CPU since the thread's start, ns.
    pub(crate) on_cpu: u64,
    /// Time ready since the thread's start, ns.
    pub(crate) ready: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    first: Option<Account>,
    waiting: Option<Account>,
    exact: Option<Account>,
    rough: Option<Account>,
    running: bool,
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
        state.first.get_or_insert(account);
        state.waiting = Some(account);
    }

    /// A thread got onto a CPU: readings since it left are exact.
    pub(crate) fn came(&mut self, thread: ThreadId, time: Time) {
        let state = self.state(thread);
        state.running = true;
        if let Some(account) = state.waiting.take_if(|account| account.at < time) {
            state.exact = Some(account);
        }
    }

    /// A thread left its CPU: readings since it came are rough.
    pub(crate) fn left(&mut self, thread: ThreadId, time: Time) {
        let state = self.state(thread);
        state.running = false;
        if let Some(account) = state.waiting.take_if(|account| account.at < time) {
            state.rough = Some(account);
        }
    }

    /// Writes into each thread's row what the kernel counted between its first reading, or its
    /// birth, and its last.
    pub(crate) fn apply(&self, threads: &mut [Thread]) {
        for (thread, state) in threads.iter_mut().zip(&self.states) {
            let born = Account { at: thread.start, on_cpu: 0, ready: 0 };
            let first = if thread.start > Time::START { Some(born) } else { state.first };
            let last = first.and_then(|first| state.last_after(first.at));
            if let (Some(first), Some(last)) = (first, last) {
                thread.sched_from = Some(first.at);
                thread.sched_to = Some(last.at);
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
    /// The last reading after `time`, an exact one if there is one.
    fn last_after(&self, time: Time) -> Option<Account> {
        let off_cpu = self.waiting.filter(|_| !self.running);
        let best_first = [off_cpu, self.exact, self.waiting, self.rough];
        best_first.into_iter().flatten().find(|account| account.at > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culprit_model::{ProcessId, Text, Tid};

    const THREAD: ThreadId = ThreadId(0);

    fn account(at: u64, on_cpu: u64) -> Account {
        Account { at: Time(at), on_cpu, ready: 0 }
    }

    /// The last time and sum after these calls, for a thread of the recording's start.
    fn applied(steps: impl FnOnce(&mut Accounts)) -> (Option<Time>, Option<Nanos>) {
        let mut accounts = Accounts::default();
        accounts.read(THREAD, account(0, 100));
        steps(&mut accounts);
        let mut threads = [Thread {
            process: ProcessId(0),
            tid: Tid(1),
            name: Text::default(),
            start: Time::START,
            end: None,
            recorded: true,
            sched_from: None,
            sched_to: None,
            sched_cpu: None,
            sched_wait: None,
        }];
        accounts.apply(&mut threads);
        (threads[0].sched_to, threads[0].sched_cpu)
    }

    #[test]
    fn a_reading_off_the_cpu_counts_more_than_a_later_one_on_it() {
        let last = applied(|accounts| {
            accounts.came(THREAD, Time(10));
            accounts.left(THREAD, Time(20));
            accounts.read(THREAD, account(25, 110));
            accounts.came(THREAD, Time(30));
            accounts.read(THREAD, account(35, 111));
            accounts.left(THREAD, Time(40));
        });
        assert_eq!(last, (Some(Time(25)), Some(Nanos(10))));
    }

    #[test]
    fn a_thread_that_is_always_on_its_cpu_has_its_rough_readings() {
        let last = applied(|accounts| {
            accounts.came(THREAD, Time(10));
            accounts.read(THREAD, account(30, 119));
        });
        assert_eq!(last, (Some(Time(30)), Some(Nanos(19))));
    }

    #[test]
    fn a_thread_that_is_asleep_at_the_end_has_its_last_reading() {
        let last = applied(|accounts| {
            accounts.came(THREAD, Time(10));
            accounts.left(THREAD, Time(20));
            accounts.read(THREAD, account(50, 110));
        });
        assert_eq!(last, (Some(Time(50)), Some(Nanos(10))));
    }
}
