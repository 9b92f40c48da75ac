//! From the profiler's tables to amounts at stacks.

use std::collections::BTreeMap;

use culprit_model::{LossKind, Metric, ThreadId};

use super::columns::{File, Samples, Thread};
use super::gecko;
use super::names::{Libs, Stacks};
use crate::builder::{Amount, Builder};
use crate::decimal::Decimal;
use crate::format::Refusal;
use crate::input::Input;
use crate::json::{self, Number};
use crate::threads::{self, Numbers};
use crate::weights::{Unit, Weights};

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let text = input.text()?;
    let file: File<'_> = json::document(&text, builder)?;
    let started = file.started().unwrap_or(0);
    let processes = file.processes.len();
    let parts = file.parts();
    let mut threads = Vec::new();
    let mut bad = 0;
    // The first part is the file itself.
    let inner = parts.iter().skip(1).map(|part| part.processes.len()).sum::<usize>();
    let unread = (processes + 1 - parts.len() + inner) as u64;
    if unread > 0 {
        builder.lose(LossKind::RecordsMalformed, unread, "malformed profiles of processes");
    }
    for part in &parts {
        for raw in &part.threads {
            match serde_json::from_str::<Thread<'_>>(raw.get()) {
                Ok(thread) => threads.push((part, thread)),
                Err(_) => bad += 1,
            }
        }
    }
    if threads.is_empty() {
        return Err("it has no threads".to_owned());
    }
    builder.recording().meta.start.realtime = u64::try_from(started).unwrap_or(0);
    builder.starts_at(0);
    let pids = threads::numbers(threads.iter().map(|(_, thread)| json::word(thread.pid)));
    let tids = threads::numbers(threads.iter().map(|(_, thread)| json::word(thread.tid)));
    threads::lose_numbers(&pids, "processes", builder);
    threads::lose_numbers(&tids, "threads", builder);
    let mut known = BTreeMap::new();
    let mut left_out = 0;
    for (part, thread) in &mut threads {
        let id = add_thread(thread, &pids, &tids, &mut known, builder);
        let libs = Libs::new(&part.libs);
        let mut reading = Reading {
            id,
            shift: part.started().map_or(0, |time| time.saturating_sub(started)),
            metric: part.metric(),
            cpu: part.cpu_power(),
            bad: 0,
            nameless: 0,
            builder: &mut *builder,
        };
        match gecko::thread(thread) {
            Some(gecko) => {
                let stacks = gecko.stacks(reading.builder);
                reading.samples(&gecko.samples(), &stacks);
            }
            None => {
                let stacks =
                    Stacks::of(&thread.tables(), part.shared.get(), &libs, reading.builder);
                match thread.samples() {
                    Some(samples) => reading.samples(&samples, &stacks),
                    None => reading.bad += 1,
                }
            }
        }
        reading.finish();
        left_out = u64::saturating_add(left_out, thread.left_out());
    }
    for (kind, count, detail) in [
        (LossKind::RecordsMalformed, bad, "malformed threads"),
        (LossKind::DetailLeftOut, left_out, "markers and allocations"),
    ] {
        if count > 0 {
            builder.lose(kind, count, detail);
        }
    }
    Ok(())
}

/// The row of a thread; none for rows of no thread as we write them.
fn add_thread(
    thread: &Thread<'_>,
    pids: &Numbers<'_>,
    tids: &Numbers<'_>,
    known: &mut BTreeMap<(u32, u32), String>,
    builder: &mut Builder,
) -> Option<ThreadId> {
    let (pid, tid) = (json::word(thread.pid), json::word(thread.tid));
    if thread.name.text() == super::NO_THREAD && (pid, tid) == ("0", "0") {
        return None;
    }
    let (pid, mut tid) = (pids.get(pid).copied()?, tids.get(tid).copied()?);
    let name = thread.name.text();
    // Two threads of one number are told apart by their names.
    if known.get(&(pid, tid)).is_some_and(|known| known != name) {
        let used = |tid: &u32| known.contains_key(&(pid, *tid)) || tids.values().any(|t| t == tid);
        tid = (1..).find(|tid| !used(tid)).unwrap_or(tid);
        let what = "threads with the number of another thread: each gets a free number";
        builder.lose(LossKind::DetailLeftOut, 1, what);
    }
    known.insert((pid, tid), name.to_owned());
    let process = builder.process(pid, thread.process_name.text());
    Some(builder.thread(process, tid, name))
}

/// The samples of one thread under reading.
struct Reading<'a> {
    builder: &'a mut Builder,
    id: Option<ThreadId>,
    /// What is added to the thread's times: its process's start against the first's, ns.
    shift: i128,
    /// What weights count, in a profile that we wrote.
    metric: Option<Metric>,
    /// The power of ten from the file's CPU times to nanoseconds; none where they are no times.
    cpu: Option<i32>,
    bad: u64,
    nameless: u64,
}

impl Reading<'_> {
    fn samples(&mut self, samples: &Samples<'_>, stacks: &Stacks) {
        let (metric, power) = match samples.weight_type.text() {
            "tracing-ms" => (Metric::Wall, 6),
            "bytes" => (Metric::AllocBytes, 0),
            _ => (Metric::Samples, 0),
        };
        let metric = match self.metric {
            Some(own) if own.is_time() == metric.is_time() => own,
            _ => metric,
        };
        let unit = if metric.is_time() || metric.unit() == "bytes" {
            Unit::Metric(power)
        } else {
            Unit::Free
        };
        let mut weights = Weights::new(unit);
        let times = samples.times();
        self.bad += times.len().abs_diff(samples.stack.len()) as u64;
        for (at, (time, stack)) in times.into_iter().zip(&samples.stack).enumerate() {
            let Some(time) =
                time.and_then(|time| u64::try_from(time.saturating_add(self.shift)).ok())
            else {
                self.bad += 1;
                continue;
            };
            let Some(stack) = stack.index().and_then(|stack| stacks.get(stack)) else {
                self.nameless += 1;
                continue;
            };
            let amount = Amount { time, thread: self.id, ..Amount::at(Some(stack), metric, 1) };
            match samples.weight(at).unwrap_or(Number(Decimal::parse("1"))).0 {
                Some(weight) => weights.push(amount, weight),
                None => self.bad += 1,
            }
            // The first delta has no sample before it to count from.
            if at > 0 {
                self.cpu(samples.cpu(at), amount);
            }
        }
        weights.finish(self.builder, |builder, amount| {
            let value = amount.value;
            let duration = if amount.metric.is_time() { value } else { 0 };
            let count = if amount.metric == Metric::Samples { value } else { amount.count };
            if value > 0 {
                builder.add(Amount { duration, count, ..amount });
            }
        });
    }

    /// The CPU time since the sample before.
    fn cpu(&mut self, delta: Option<Number>, amount: Amount) {
        let time = delta.and_then(|delta| delta.scaled(self.cpu?));
        let value = time.and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
        if value > 0 {
            let time = amount.time.saturating_sub(value);
            let amount = Amount { metric: Metric::Cpu, time, duration: value, value, ..amount };
            self.builder.add(amount);
        }
    }

    fn finish(self) {
        for (kind, count, detail) in [
            (LossKind::RecordsMalformed, self.bad, "malformed samples"),
            (LossKind::DetailLeftOut, self.nameless, "samples without a stack"),
        ] {
            if count > 0 {
                self.builder.lose(kind, count, detail);
            }
        }
    }
}
