//! From the profiler's tables to amounts at stacks.

use culprit_model::{LossKind, Metric, ThreadId};

use super::columns::{File, Samples, Thread};
use super::gecko;
use super::names::{Libs, Stacks};
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use crate::json::{self, Number};
use crate::threads::{self, Numbers};

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let bytes = input.bytes()?;
    let file: File<'_> = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let started = file.started().unwrap_or(0);
    let parts = file.parts();
    let mut threads = Vec::new();
    let mut bad = 0;
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
    let mut left_out = 0;
    for (part, thread) in &mut threads {
        let id = add_thread(thread, &pids, &tids, builder);
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
                if let Some(samples) = thread.samples() {
                    reading.samples(&samples, &stacks);
                }
            }
        }
        reading.finish();
        left_out = u64::saturating_add(left_out, thread.left_out());
    }
    for (kind, count, detail) in [
        (LossKind::RecordsMalformed, bad, "threads that make no sense"),
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
    builder: &mut Builder,
) -> Option<ThreadId> {
    let (pid, tid) = (json::word(thread.pid), json::word(thread.tid));
    if thread.name.text() == super::NO_THREAD && (pid, tid) == ("0", "0") {
        return None;
    }
    let process = builder.process(pids.get(pid).copied()?, thread.process_name.text());
    Some(builder.thread(process, tids.get(tid).copied()?, thread.name.text()))
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
            self.weight(samples.weight(at), power, amount);
            // The first delta has no sample before it to count from.
            if at > 0 {
                self.cpu(samples.cpu(at), amount);
            }
        }
    }

    fn weight(&mut self, weight: Option<Number>, power: i32, amount: Amount) {
        let value = match weight {
            None => Some(1),
            Some(weight) => weight.scaled(power).and_then(|value| u64::try_from(value).ok()),
        };
        let Some(value) = value else {
            self.bad += 1;
            return;
        };
        let duration = if amount.metric.is_time() { value } else { 0 };
        let count = if amount.metric == Metric::Samples { value } else { 1 };
        if value > 0 {
            self.builder.add(Amount { value, duration, count, ..amount });
        }
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
            (LossKind::RecordsMalformed, self.bad, "samples that make no sense"),
            (LossKind::DetailLeftOut, self.nameless, "samples without a stack"),
        ] {
            if count > 0 {
                self.builder.lose(kind, count, detail);
            }
        }
    }
}
