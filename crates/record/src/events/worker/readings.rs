//! What was read from /proc and from runtimes, placed among the events.

use culprit_kernel::Task;
use culprit_model::{Counter, InterpreterStack, LossKind, Nanos, Observation};

use super::Worker;
use crate::enrich::asleep::Asleep;
use crate::enrich::poller::{Polled, Reading};
use crate::events::accounts::Account;
use crate::session::subjects::tasks_of;

/// A reading of a thread that is unknown for so long, ns, is of none that is recorded.
const UNPLACED: u64 = 1_000_000_000;

impl Worker {
    pub(super) fn read_polled(&mut self) {
        while let Ok(readings) = self.wires.readings.try_recv() {
            for reading in readings {
                self.reading(reading);
            }
        }
    }

    /// Places interpreted functions of threads that were not known yet when they were read: processes are
    /// read as soon as they have an interpreter, and records of threads come up to two rounds later.
    pub(super) fn place_unplaced(&mut self, now: u64) {
        for reading in std::mem::take(&mut self.unplaced) {
            if now.saturating_sub(reading.at) < UNPLACED {
                self.reading(reading);
            }
        }
    }

    fn reading(&mut self, reading: Reading) {
        let time = self.handler.time(reading.at);
        let tracker = &mut self.handler.tracker;
        let rows = &mut self.handler.rows;
        if let Polled::Managed { pid, news } = reading.what {
            return self.handler.managed.tell(pid, news, time);
        }
        match &reading.what {
            Polled::Account { task, took, on_cpu, ready } => {
                let Some(thread) = tracker.recorded(task.tid) else { return };
                let account = Account {
                    began: time - Nanos(*took),
                    at: time,
                    on_cpu: *on_cpu,
                    ready: *ready,
                };
                self.handler.accounts.read(thread, account);
            }
            Polled::Counter { pid, name, value } => {
                let process = pid.map(|pid| tracker.process_of(pid));
                // Of a process that is not recorded, nothing is kept.
                if process != Some(None) {
                    let (process, name) = (process.flatten(), (*name).into());
                    rows.counters.push(Counter { time, process, name, value: *value });
                }
            }
            Polled::Interpreted { .. } => self.interpreted(reading),
            Polled::Bytecode { pid, runner, functions } => {
                self.handler.bytecodes.add(*pid, runner, functions);
            }
            Polled::Managed { .. } => {}
            Polled::Polls { task, sockets } => self.handler.polls(*task, *sockets, time),
            Polled::Unread { pid, why } => {
                let path = format!("process {pid}");
                self.handler.ledger.once(LossKind::InterpreterFramesMissing, &path, why);
            }
            Polled::NeverRead(why) => {
                self.handler.ledger.at(LossKind::InterpreterFramesMissing, why, 1, time);
            }
            Polled::Joined(_) => self.joined.push(reading),
            Polled::Living(tasks) => {
                tracker.only(tasks, time, &mut self.handler.spaces);
                self.update_roster();
            }
            Polled::Doing { task, state, syscall, wchan, file } => {
                let Some(thread) = tracker.recorded(task.tid) else { return };
                rows.observations.push(Observation {
                    time,
                    thread,
                    state: u32::from(*state),
                    syscall: *syscall,
                    wchan: wchan.as_deref().map(Into::into),
                    file: file.as_deref().map(Into::into),
                });
            }
        }
    }

    /// Takes in what an interpreter runs on a thread.
    fn interpreted(&mut self, reading: Reading) {
        let Polled::Interpreted { task, took, frames, ran_on } = &reading.what else { return };
        let Some(thread) = self.handler.tracker.recorded_last(task.tid) else {
            self.unplaced.push(reading);
            return;
        };
        let time = self.handler.time(reading.at);
        let stack = self.resolver.interpreted_stack(thread, frames, &mut self.handler.modules);
        let (took, ran_on) = (Nanos(*took), Some(*ran_on));
        let row = InterpreterStack { time, took, thread, stack, ran_on };
        self.handler.rows.interpreter_stacks.push(row);
    }

    /// Meets processes again that moved to another cgroup before the horizon: what their records say of the time
    /// before comes first.
    pub(super) fn meet_joined(&mut self, horizon: u64) {
        let joined = std::mem::take(&mut self.joined).into_iter();
        let (now, later): (Vec<_>, Vec<_>) = joined.partition(|reading| reading.at < horizon);
        self.joined = later;
        let handler = &mut self.handler;
        for Reading { at, what } in now {
            let Polled::Joined(joined) = what else { continue };
            let (from, time) = (handler.time(joined.after), handler.time(at));
            for pid in &joined.members {
                handler.tracker.meet_again(*pid, time, &mut handler.spaces);
            }
            let tasks: Vec<Task> = joined.members.iter().flat_map(|pid| tasks_of(*pid)).collect();
            for task in &tasks {
                handler.tracker.thread(*task, time, &mut handler.spaces);
            }
            handler.adopt_sleepers(Asleep::look(tasks.into_iter(), None), time);
            let count = joined.members.len().max(1) as u64;
            handler.ledger.between(LossKind::ThreadsNotAttached, &joined.why(), count, from, time);
        }
    }
}
