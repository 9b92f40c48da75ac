//! From what was gathered to amounts at stacks.

use std::collections::BTreeMap;

use culprit_model::{Cause, LossKind, Metric, Nanos, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::blocks::{Blocks, Trace};
use super::code::{Code, is_kernel};
use super::gather::{Gathered, Sample};
use super::meaning::Meaning;
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use crate::rows::{Part, Rows};

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let bytes = input.bytes()?;
    let (mut blocks, trace) = Blocks::open(&bytes)?;
    let mut gathered = Gathered::new(trace);
    for block in blocks.by_ref() {
        gathered.block(block);
    }
    if !blocks.ended {
        builder.lose(LossKind::FileDamaged, 1, "the file ends early");
    }
    builder.starts_at(trace.start);
    builder.ends_at(gathered.end);
    builder.recording().meta.start.realtime = trace.start;
    losses(builder, &gathered);
    people(builder, &gathered);
    let Gathered { samples, activities, code, .. } = gathered;
    activities.finish(builder, |builder, process, thread| {
        let process = builder.process(process, "");
        builder.thread(process, thread, "")
    });
    let (stacks, rows) = (FxHashMap::default(), Rows::default());
    let writing = Writing { builder, trace, code, stacks, left: bytes.len(), cut: 0, rows };
    writing.finish(&samples);
    Ok(())
}

fn losses(builder: &mut Builder, gathered: &Gathered<'_>) {
    for (kind, count, detail) in [
        (LossKind::RecordsMalformed, gathered.bad, "malformed events or blocks"),
        (LossKind::SamplesLost, gathered.lost, "events that the recorder dropped"),
    ] {
        if count > 0 {
            builder.lose(kind, count, detail);
        }
    }
    for (title, count) in &gathered.unused {
        builder.lose(LossKind::DetailLeftOut, *count, title);
    }
}

/// Processes and threads that have rows, with their names.
fn people(builder: &mut Builder, gathered: &Gathered<'_>) {
    let words = gathered.command.split_whitespace().next().unwrap_or_default();
    let own = words.rsplit(['/', '\\']).next().unwrap_or_default();
    let sampled = gathered.samples.iter().map(|sample| (sample.process, sample.thread));
    for (pid, thread) in sampled.chain(gathered.activities.threads()) {
        let name = match gathered.processes.get(&pid) {
            Some(name) => name.as_str(),
            None if pid == gathered.trace.process => own,
            None => "",
        };
        let process = builder.process(pid, name);
        // As on Linux a thread has its program's name until it gets one of its own.
        let name = gathered.names.get(&(pid, thread)).map_or(name, String::as_str);
        builder.thread(process, thread, name);
    }
    if let Some(process) = builder.recording().processes.first_mut() {
        process.command_line = gathered.command.as_str().into();
    }
}

/// The rows under making.
struct Writing<'a, 'b> {
    builder: &'b mut Builder,
    trace: Trace,
    code: Code,
    /// By process, and where the addresses stand.
    stacks: FxHashMap<(u32, &'a [u8]), Option<StackId>>,
    /// Addresses that may still be looked up. A trace has each stack once or a few times; one that
    /// has its stacks in ever more processes must not take for ever.
    left: usize,
    /// Stacks beyond that.
    cut: u64,
    rows: Rows,
}

impl<'a> Writing<'a, '_> {
    fn finish(mut self, samples: &[Sample<'a>]) {
        let switched = samples.iter().any(|sample| sample.what == Meaning::Switch);
        let mut twice = 0;
        for sample in samples {
            match sample.what {
                Meaning::Look => {}
                Meaning::LockStop | Meaning::WaitStop if switched => twice += 1,
                _ => self.add(sample),
            }
        }
        self.looks(samples);
        if twice > 0 {
            let what = "waits for locks, because context switches already cover this time";
            self.builder.lose(LossKind::DetailLeftOut, twice, what);
        }
        if self.cut > 0 {
            let what = "more stacks than a trace of this size can hold";
            self.builder.lose(LossKind::StacksMissing, self.cut, what);
        }
        self.rows.finish(self.builder);
        self.code.finish(self.builder);
    }

    fn add(&mut self, sample: &Sample<'a>) {
        let kernel = self.leaf(sample).is_some_and(is_kernel);
        match sample.what {
            Meaning::Cpu => self.cpu(sample, kernel),
            Meaning::Allocation => {
                let amount = self.amount(sample, Metric::AllocBytes, sample.value);
                let stack = self.below(amount.stack, "[type]", &sample.name);
                self.builder.add(Amount { stack, ..amount });
            }
            Meaning::Switch => self.wait(sample, Cause::Other),
            Meaning::LockStop | Meaning::WaitStop => self.wait(sample, Cause::Lock),
            _ => {
                let amount = self.amount(sample, Metric::Samples, 1);
                let stack = self.below(amount.stack, "[event]", &sample.name);
                self.builder.add(Amount { stack, ..amount });
            }
        }
    }

    /// A sample of a CPU: of so many periods, where the trace tells the period.
    fn cpu(&mut self, sample: &Sample<'a>, kernel: bool) {
        let time = self.trace.period.and_then(|period| period.checked_mul(sample.value));
        let Some(time) = time.filter(|time| time.cast_signed() >= 0) else {
            let amount = self.amount(sample, Metric::Samples, sample.value);
            return self.builder.add(Amount { count: sample.value, ..amount });
        };
        let cause = if kernel { Cause::CpuKernel } else { Cause::CpuUser };
        let amount = self.amount(sample, Metric::Wall, time);
        self.rows.push(Part::Running, Amount { cause: Some(cause), ..amount });
    }

    fn wait(&mut self, sample: &Sample<'a>, cause: Cause) {
        let amount = self.amount(sample, Metric::Wall, sample.value);
        self.rows.push(Part::Waited, Amount { cause: Some(cause), ..amount });
    }

    /// The sample profiler's looks: each lasts until the same thread's next, but not longer than
    /// two of the usual steps, since a thread that is not in managed code at all is not looked at.
    fn looks(&mut self, samples: &[Sample<'a>]) {
        let mut threads: BTreeMap<(u32, u32), Vec<&Sample<'a>>> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| sample.what == Meaning::Look) {
            threads.entry((sample.process, sample.thread)).or_default().push(sample);
        }
        threads.values_mut().for_each(|looks| looks.sort_by_key(|look| look.time));
        let gaps = |looks: &Vec<&Sample<'a>>| -> Vec<u64> {
            looks.windows(2).map(|pair| pair[1].time - pair[0].time).collect()
        };
        let mut steps: Vec<u64> = threads.values().flat_map(gaps).collect();
        steps.sort_unstable();
        let Some(usual) = steps.get(steps.len() / 2).copied().filter(|usual| *usual > 0) else {
            return threads.values().flatten().for_each(|look| self.look(look, None));
        };
        for looks in threads.values() {
            let gaps = gaps(looks).into_iter().chain([usual]);
            for (look, gap) in looks.iter().zip(gaps) {
                self.look(look, Some(gap.min(usual.saturating_mul(2))));
            }
        }
        let what = format!(
            "each sample of the sample profiler counts until the next one, usually {}",
            Nanos(usual)
        );
        self.builder.lose(LossKind::MetricGuessed, steps.len() as u64, &what);
    }

    fn look(&mut self, look: &Sample<'a>, time: Option<u64>) {
        let Some(time) = time else {
            let amount = self.amount(look, Metric::Samples, 1);
            return self.builder.add(amount);
        };
        let cause = (look.value == 1).then_some(Cause::CpuUser);
        let amount = self.amount(look, Metric::Wall, time);
        self.rows.push(Part::Looked, Amount { cause, ..amount });
    }

    fn amount(&mut self, sample: &Sample<'a>, metric: Metric, value: u64) -> Amount {
        let stack = self.stack(sample);
        let thread = self.thread(sample);
        let duration = if metric.is_time() { value } else { 0 };
        let time = sample.time;
        Amount { time, duration, thread: Some(thread), ..Amount::at(stack, metric, value) }
    }

    fn thread(&mut self, sample: &Sample<'a>) -> ThreadId {
        let process = self.builder.process(sample.process, "");
        self.builder.thread(process, sample.thread, "")
    }

    fn below(&mut self, stack: Option<StackId>, module: &str, name: &str) -> Option<StackId> {
        if name.is_empty() {
            return stack;
        }
        let module = Some(self.builder.module(module));
        let frame = self.builder.function(module, name, "", None);
        Some(self.builder.push(stack, frame))
    }

    fn stack(&mut self, sample: &Sample<'a>) -> Option<StackId> {
        let key = (sample.process, sample.stack);
        if let Some(known) = self.stacks.get(&key) {
            return *known;
        }
        let addresses: Vec<u64> = addresses(sample.stack, self.trace.pointer).collect();
        let Some(left) = self.left.checked_sub(addresses.len()) else {
            self.cut += 1;
            return None;
        };
        self.left = left;
        let mut stack = None;
        for (at, address) in addresses.into_iter().enumerate().rev() {
            let frame = self.code.frame(self.builder, sample.process, (address, at == 0));
            stack = Some(self.builder.push(stack, frame));
        }
        self.stacks.insert(key, stack);
        stack
    }

    fn leaf(&self, sample: &Sample<'a>) -> Option<u64> {
        addresses(sample.stack, self.trace.pointer).next()
    }
}

/// The addresses of a stack, leaf first.
fn addresses(stack: &[u8], pointer: usize) -> impl Iterator<Item = u64> {
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
    stack.chunks_exact(pointer).map(number)
}
