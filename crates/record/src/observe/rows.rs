//! The programs that are observed, while they run: what is armed in them and what was seen so far.

use std::rc::Rc;

use culprit_model::Pid;
use culprit_place::procfs;

use super::block::Entry;
use super::classify::{Accesses, By};
use super::code::CodeNames;
use super::facts::{Lookup, ObservedProcess, Reader};
use super::files::Files;
use super::names::{Counted, PROCESS_ENV};
use super::watch::{Access, Watchpoint};

/// The watchpoints of one program; processes that it forks share them.
pub(super) type Armed = Rc<Vec<Watchpoint>>;

/// A program in a process, until it ends.
#[derive(Debug)]
pub(super) struct Row {
    /// What is known at its start.
    pub(super) process: ObservedProcess,
    /// The process.
    pub(super) pid: i32,
    /// When it began, ns of the monotonic clock.
    pub(super) since: u64,
    /// Its watchpoints.
    pub(super) armed: Armed,
    /// Watchpoints of other threads on the same values, where the process was joined late.
    more: Vec<Watchpoint>,
    accesses: Vec<Accesses>,
    /// First calls of functions that hand out variables: function and name, and who called.
    first_calls: Vec<(String, String, Reader)>,
    /// Its files.
    pub(super) files: Files,
    /// Whether all libraries that it had mapped when its first thread ended were probed.
    pub(super) covered: bool,
}

impl Row {
    /// A program that begins, or is met while it runs.
    pub(super) fn new(pid: i32, since: u64, entries: &[Entry]) -> Self {
        let of = Pid(u32::try_from(pid).unwrap_or(0));
        let mut process = ObservedProcess {
            pid: of,
            command: procfs::command_line(of).unwrap_or_default(),
            program: std::fs::read_link(format!("/proc/{of}/exe"))
                .map(|path| path.to_string_lossy().into_owned())
                .unwrap_or_default(),
            whole_life: true,
            ..ObservedProcess::default()
        };
        for entry in entries {
            let again = process.present.contains(&entry.name);
            let list = if again { &mut process.repeated } else { &mut process.present };
            list.push(entry.name.clone());
        }
        Self {
            process,
            pid,
            since,
            armed: Armed::default(),
            more: Vec::new(),
            accesses: Vec::new(),
            first_calls: Vec::new(),
            files: Files::default(),
            covered: false,
        }
    }

    /// A process that this one forked.
    pub(super) fn fork(&self, pid: i32, since: u64) -> Self {
        let mut forked = Self::new(pid, since, &[]);
        forked.process.parent = Some(self.process.pid);
        forked.process.forked = true;
        forked.process.late = self.process.late;
        forked.process.present.clone_from(&self.process.present);
        forked.process.repeated.clone_from(&self.process.repeated);
        forked.arm(Rc::clone(&self.armed));
        forked
    }

    /// Gives it watchpoints.
    pub(super) fn arm(&mut self, armed: Armed) {
        self.accesses = armed.iter().map(|point| Accesses::new(&point.name)).collect();
        self.armed = armed;
    }

    /// Gives it more watchpoints, of other threads, on the same values.
    pub(super) fn arm_more(&mut self, points: Vec<Watchpoint>) {
        self.more.extend(points);
    }

    /// All its watchpoints.
    pub(super) fn points(&self) -> impl Iterator<Item = &Watchpoint> {
        self.armed.iter().chain(&self.more)
    }

    /// Takes note of a watchpoint that the kernel has stopped for a moment, if it is one of its own.
    pub(super) fn pause(&self, id: u64) {
        self.points().for_each(|point| point.pause(id));
    }

    /// Takes an access in that was made for the program, if it is to one of its values.
    pub(super) fn add(&mut self, access: &Access, by: By, names: &mut CodeNames) -> bool {
        let mut points = self.armed.iter().chain(&self.more);
        let Some(point) = points.find(|point| point.owns(access.id)) else { return false };
        let of_point = |seen: &&mut Accesses| seen.name() == point.name;
        let Some(seen) = self.accesses.iter_mut().find(of_point) else { return false };
        let watched = (by == By::Program).then_some(point.address);
        let stack = names.stack(self.pid, &access.registers, &access.stack, watched);
        seen.add(stack, point.address, by);
        true
    }

    /// Takes the first call of a function in.
    pub(super) fn add_first_call(&mut self, function: String, name: String, reader: Reader) {
        self.first_calls.push((function, name, reader));
    }

    /// The facts, now that it has ended. `decoy` is the variable that no program knows.
    pub(super) fn finish(mut self, decoy: Option<&str>, counted: Vec<Counted>) -> ObservedProcess {
        let decoy = self.accesses.iter().find(|seen| Some(seen.name()) == decoy);
        let points = self.armed.iter().zip(&self.accesses);
        self.process.watched = points
            .map(|(point, seen)| {
                let mut sum = seen.sum(decoy.filter(|decoy| decoy.name() != seen.name()));
                sum.spent = point.is_spent();
                sum
            })
            .collect();
        self.process.lookups = counted
            .into_iter()
            .map(|Counted { function, name, count, .. }| {
                let first = self.first_calls.iter().find(|(of, for_name, _)| {
                    (of.as_str(), for_name.as_str()) == (function.as_str(), name.as_str())
                });
                let reader = first.map(|(_, _, reader)| reader.clone());
                let interface = (function == PROCESS_ENV).then_some(PROCESS_ENV);
                Lookup { name, function, interface, count, reader }
            })
            .collect();
        self.process.files = self.files.finish();
        self.process
    }
}
