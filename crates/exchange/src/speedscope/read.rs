//! From speedscope's profiles to amounts at stacks.

use culprit_model::{FrameId, Label as _, LossKind, Metric, StackId, ThreadId};
use serde::Deserialize;

use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use crate::json::{self, Loose, Number, Str};
use crate::threads;
use crate::weights::{Unit, Weights};

/// Open frames that are searched for the one that a closing belongs to: it is the innermost in any
/// file that makes sense.
const SEARCHED: usize = 1_000;

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    shared: Shared<'a>,
    #[serde(borrow)]
    profiles: Vec<Loose<Profile<'a>>>,
}

#[derive(Deserialize)]
struct Shared<'a> {
    #[serde(borrow)]
    frames: Vec<Loose<Frame<'a>>>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    name: Str<'a>,
    #[serde(borrow, default)]
    file: Loose<Str<'a>>,
    #[serde(default)]
    line: Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    #[serde(borrow, default)]
    name: Loose<Str<'a>>,
    #[serde(borrow, default)]
    unit: Loose<Str<'a>>,
    /// A word of ours, which the format does not have: units alone do not tell CPU from wall.
    #[serde(borrow, default)]
    metric: Loose<Str<'a>>,
    /// Also ours: whose profile it is.
    #[serde(borrow, default)]
    culprit: Loose<Whose<'a>>,
    #[serde(default)]
    start_value: Number,
    #[serde(default)]
    end_value: Number,
    #[serde(borrow, default)]
    events: Option<Vec<Loose<Event<'a>>>>,
    #[serde(default)]
    samples: Vec<Loose<Vec<Number>>>,
    #[serde(default)]
    weights: Vec<Number>,
}

/// The thread of a profile that we wrote.
#[derive(Deserialize)]
struct Whose<'a> {
    #[serde(borrow)]
    process: Str<'a>,
    pid: u32,
    #[serde(borrow)]
    thread: Str<'a>,
    tid: u32,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    at: Number,
    frame: Number,
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let text = input.text()?;
    let file: File<'_> = json::document(&text, builder)?;
    let frames: Vec<Option<FrameId>> = file
        .shared
        .frames
        .iter()
        .map(|frame| {
            let Frame { name, file, line } = frame.get()?;
            Some(builder.located(&name.0, file.text(), line.small()))
        })
        .collect();
    let several = file.profiles.len() > 1;
    for profile in &file.profiles {
        let Some(profile) = profile.get() else {
            builder.lose(LossKind::RecordsMalformed, 1, "malformed profiles");
            continue;
        };
        let mut reading = Reading::new(profile, builder, &frames, several);
        match &profile.events {
            Some(events) => reading.evented(profile, events),
            None => reading.sampled(profile),
        }
        reading.finish();
    }
    Ok(())
}

/// One profile under reading.
struct Reading<'a> {
    builder: &'a mut Builder,
    frames: &'a [Option<FrameId>],
    metric: Metric,
    /// The power of ten that turns the file's values into the metric's unit.
    power: i32,
    thread: Option<ThreadId>,
    /// The frame of the profile's name, where that is no thread and there are other profiles.
    root: Option<StackId>,
    bad: u64,
}

impl<'a> Reading<'a> {
    fn new(
        profile: &Profile<'_>,
        builder: &'a mut Builder,
        frames: &'a [Option<FrameId>],
        several: bool,
    ) -> Self {
        let (metric, power) = metric(profile, builder);
        let name = profile.name.text();
        let thread = match profile.culprit.get() {
            Some(Whose { process, pid, thread, tid }) => {
                let process = builder.process(*pid, &process.0);
                Some(builder.thread(process, *tid, &thread.0))
            }
            None => threads::parse(name).map(|names| names.add(builder)),
        };
        let root = (several && thread.is_none() && !name.is_empty()).then(|| {
            let frame = builder.named(name);
            builder.push(None, frame)
        });
        Self { builder, frames, metric, power, thread, root, bad: 0 }
    }

    fn value(&self, number: Number) -> Option<u64> {
        u64::try_from(number.scaled(self.power)?).ok()
    }

    /// The stack of a frame called by another; the caller where there is no such frame.
    fn push(&mut self, caller: Option<StackId>, frame: Number) -> Option<StackId> {
        let known = frame.index().and_then(|at| self.frames.get(at).copied().flatten());
        match known {
            Some(frame) => Some(self.builder.push(caller, frame)),
            None => {
                self.bad += 1;
                caller
            }
        }
    }

    /// Adds a value at a stack from a point of the profile's own axis on.
    fn add(&mut self, stack: Option<StackId>, from: u64, value: u64) {
        if value == 0 {
            return;
        }
        let (time, duration) = if self.metric.is_time() { (from, value) } else { (0, 0) };
        let amount = Amount::at(stack, self.metric, value);
        self.builder.add(Amount { time, duration, thread: self.thread, ..amount });
    }

    fn sampled(&mut self, profile: &Profile<'_>) {
        let missing = profile.samples.len().abs_diff(profile.weights.len());
        self.bad += missing as u64;
        let unit = if self.metric.unit() == "count" || self.metric == Metric::Amount {
            Unit::Free
        } else {
            Unit::Metric(self.power)
        };
        let mut weights = Weights::new(unit);
        for (sample, weight) in profile.samples.iter().zip(&profile.weights) {
            let (Some(sample), Some(weight)) = (sample.get(), weight.0) else {
                self.bad += 1;
                continue;
            };
            let stack = sample.iter().fold(self.root, |at, frame| self.push(at, *frame));
            weights.push(Amount::at(stack, self.metric, 0), weight);
        }
        let mut now = self.value(profile.start_value).unwrap_or(0);
        let (is_time, thread) = (self.metric.is_time(), self.thread);
        weights.finish(self.builder, |builder, amount| {
            let (time, duration) = if is_time { (now, amount.value) } else { (0, 0) };
            if amount.value > 0 {
                builder.add(Amount { time, duration, thread, ..amount });
            }
            now = now.saturating_add(amount.value);
        });
    }

    fn evented(&mut self, profile: &Profile<'_>, events: &[Loose<Event<'_>>]) {
        let mut open: Vec<(Option<usize>, Option<StackId>)> = Vec::new();
        let mut now = self.value(profile.start_value).unwrap_or(0);
        for event in events {
            let at = event.get().and_then(|event| Some((event, self.value(event.at)?)));
            let Some((event, at)) = at.filter(|(_, at)| *at >= now) else {
                self.bad += 1;
                continue;
            };
            let leaf = open.last().map(|(_, stack)| *stack);
            if let Some(stack) = leaf {
                self.add(stack, now, at - now);
            }
            now = at;
            let frame = event.frame.index();
            if event.kind.0 == "O" {
                let stack = self.push(leaf.unwrap_or(self.root), event.frame);
                open.push((frame, stack));
            } else {
                // What was opened inside ends with it.
                let searched = open.len().saturating_sub(SEARCHED);
                let closed = open[searched..].iter().rposition(|(opened, _)| *opened == frame);
                let closed = closed.map(|at| searched + at);
                self.bad += closed.map_or(1, |closed| (open.len() - 1 - closed) as u64);
                open.truncate(closed.unwrap_or(open.len()));
            }
        }
        if let Some((_, stack)) = open.last() {
            let end = self.value(profile.end_value).unwrap_or(now);
            self.add(*stack, now, end.saturating_sub(now));
        }
    }

    fn finish(self) {
        if self.bad > 0 {
            let detail = "malformed samples, events or frames";
            self.builder.lose(LossKind::RecordsMalformed, self.bad, detail);
        }
    }
}

/// What a profile counts, and the power of ten to the metric's unit.
fn metric(profile: &Profile<'_>, builder: &mut Builder) -> (Metric, i32) {
    let unit = profile.unit.text();
    let own = Metric::from_word(profile.metric.text());
    if let Some(power) = json::time_unit(unit) {
        return (own.filter(|metric| metric.is_time()).unwrap_or(Metric::Wall), power);
    }
    let counted = own.filter(|metric| !metric.is_time());
    let metric = counted.unwrap_or_else(|| {
        if unit != "bytes" {
            return Metric::Amount;
        }
        builder.lose(LossKind::MetricGuessed, 1, "bytes are counted as allocated memory");
        Metric::AllocBytes
    });
    (metric, 0)
}
