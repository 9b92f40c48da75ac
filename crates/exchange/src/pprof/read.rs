//! From pprof's messages to amounts at stacks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use culprit_model::{Frame, FrameId, LossKind, Metric, ModuleId, Nanos, StackId, Text, ThreadId};
use rustc_hash::FxHashMap;

use super::labels::{Who, Whose};
use super::types::{Meaning, meaning};
use super::wire::{Value, fields};
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use crate::threads::{self, Numbers};
use crate::weights::lose_negative;

/// More sample types are none: Datadog's profilers, which write the most, have about twenty.
const MOST_TYPES: usize = 256;

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let bytes = input.bytes()?;
    let mut reading = Reading::new(&bytes, builder);
    match reading.types.len() {
        0 => return Err("it has no sample type".to_owned()),
        many if many > MOST_TYPES => {
            return Err(format!("it has {many} sample types, more than Culprit reads"));
        }
        _ => {}
    }
    let samples = std::mem::take(&mut reading.samples);
    let who: Vec<Option<Who<'_>>> = samples.iter().map(|sample| reading.who(sample)).collect();
    let known = || who.iter().flatten();
    let pids = threads::numbers(known().map(|who| &*who.process.word));
    let tids = threads::numbers(known().map(|who| &*who.thread.word));
    threads::lose_numbers(&pids, "processes", reading.builder);
    threads::lose_numbers(&tids, "threads", reading.builder);
    for (sample, who) in samples.into_iter().zip(&who) {
        let thread = who.as_ref().map(|who| add_thread(who, &pids, &tids, reading.builder));
        reading.sample(sample, thread);
    }
    reading.finish();
    Ok(())
}

/// A file taken apart into its messages.
struct Reading<'a, 'b> {
    builder: &'b mut Builder,
    strings: Vec<&'a [u8]>,
    /// The meaning of each value of a sample; none for those that are not kept.
    types: Vec<Option<Meaning>>,
    samples: Vec<&'a [u8]>,
    mappings: FxHashMap<u64, &'a [u8]>,
    functions: FxHashMap<u64, &'a [u8]>,
    locations: FxHashMap<u64, &'a [u8]>,
    /// The frames of the locations used so far, outermost first.
    frames: FxHashMap<u64, Vec<FrameId>>,
    bad: u64,
    labels: u64,
    /// Values below zero of each metric, and what they add up to.
    negative: BTreeMap<Metric, (u64, u128)>,
}

impl<'a, 'b> Reading<'a, 'b> {
    fn new(bytes: &'a [u8], builder: &'b mut Builder) -> Self {
        let mut reading = Self {
            builder,
            strings: Vec::new(),
            types: Vec::new(),
            samples: Vec::new(),
            mappings: FxHashMap::default(),
            functions: FxHashMap::default(),
            locations: FxHashMap::default(),
            frames: FxHashMap::default(),
            bad: 0,
            labels: 0,
            negative: BTreeMap::new(),
        };
        let mut types = Vec::new();
        let (mut began, mut lasted) = (0, 0);
        for field in fields(bytes) {
            match field {
                Ok((1, value)) => types.push(value.message()),
                Ok((2, value)) => reading.samples.push(value.message()),
                Ok((3, value)) => reading.bad += keep(&mut reading.mappings, value),
                Ok((4, value)) => reading.bad += keep(&mut reading.locations, value),
                Ok((5, value)) => reading.bad += keep(&mut reading.functions, value),
                Ok((6, value)) => {
                    // What is no text is counted once.
                    reading.builder.text(value.message());
                    reading.strings.push(value.message());
                }
                Ok((9, value)) => began = value.number(),
                Ok((10, value)) => lasted = value.number(),
                Ok(_) => {}
                Err(_) => reading.builder.lose(LossKind::FileDamaged, 1, "the file ends early"),
            }
        }
        reading.types(&types);
        reading.builder.starts_at(0);
        reading.builder.ends_at(lasted);
        reading.builder.recording().meta.start.realtime = began;
        reading
    }

    /// What each value of a sample counts. Where two are of one metric, the first is kept.
    fn types(&mut self, types: &[&'a [u8]]) {
        for message in types.iter().take(MOST_TYPES + 1) {
            let field = |number| number_of(message, number);
            let (word, unit) = (self.string(field(1)), self.string(field(2)));
            let meaning = meaning(&word, &unit);
            let twice = self.types.iter().flatten().any(|other| other.metric == meaning.metric);
            if twice {
                let detail = format!("values of the sample type `{word}` ({unit})");
                self.builder.lose(LossKind::DetailLeftOut, 1, &detail);
            } else if !meaning.certain {
                let detail = format!("`{word}` ({unit}) is counted as {}", meaning.metric);
                self.builder.lose(LossKind::MetricGuessed, 1, &detail);
            }
            self.types.push((!twice).then_some(meaning));
        }
    }

    fn string(&self, index: u64) -> Cow<'a, str> {
        let known = usize::try_from(index).ok().and_then(|at| self.strings.get(at));
        String::from_utf8_lossy(known.copied().unwrap_or_default())
    }

    /// Whose a sample is, by its labels.
    fn who(&mut self, sample: &'a [u8]) -> Option<Who<'a>> {
        let labels = fields(sample).flatten().filter(|(field, _)| *field == 3);
        let mut whose = Whose::default();
        for (_, label) in labels {
            let label = label.message();
            let key = self.string(number_of(label, 1));
            let text = self.string(number_of(label, 2));
            let number = number_of(label, 3).cast_signed();
            self.labels += u64::from(!whose.add(&key, text, number));
        }
        whose.who()
    }

    fn sample(&mut self, sample: &'a [u8], thread: Option<ThreadId>) {
        let (mut locations, mut values) = (Vec::new(), Vec::new());
        for field in fields(sample) {
            match field {
                Ok((1, value)) => locations.extend(value.numbers()),
                Ok((2, value)) => values.extend(value.numbers().map(u64::cast_signed)),
                Ok(_) => {}
                Err(_) => self.bad += 1,
            }
        }
        let stack = self.stack(&locations);
        let types = self.types.iter().zip(&values);
        let kept = types.filter_map(|(meaning, value)| Some(((*meaning)?, *value)));
        let mut amounts: Vec<(Metric, u64)> = Vec::new();
        for (Meaning { metric, times, .. }, value) in kept {
            if value < 0 {
                let negative = self.negative.entry(metric).or_default();
                let taken_back = u128::from(value.unsigned_abs()) * u128::from(times);
                *negative = (negative.0 + 1, negative.1.saturating_add(taken_back));
                continue;
            }
            match value.unsigned_abs().checked_mul(times) {
                Some(value) => amounts.push((metric, value)),
                None => self.bad += 1,
            }
        }
        let counted = amounts.iter().find(|(metric, _)| *metric == Metric::Samples);
        let count = counted.map_or(1, |(_, value)| *value);
        for (metric, value) in amounts.into_iter().filter(|(_, value)| *value > 0) {
            let amount = Amount::at(stack, metric, value);
            self.builder.add(Amount { count, thread, ..amount });
        }
        self.bad += u64::from(values.len() != self.types.len());
    }

    /// The stack of these locations, leaf first.
    fn stack(&mut self, locations: &[u64]) -> Option<StackId> {
        let mut stack = None;
        for id in locations.iter().rev() {
            if !self.frames.contains_key(id) {
                let frames = self.location(*id);
                self.frames.insert(*id, frames);
            }
            for frame in &self.frames[id] {
                stack = Some(self.builder.push(stack, *frame));
            }
        }
        stack
    }

    /// The frames of a location: a function and what was inlined into it, outermost first.
    fn location(&mut self, id: u64) -> Vec<FrameId> {
        let Some(location) = self.locations.get(&id).copied() else {
            self.bad += 1;
            return Vec::new();
        };
        let module = self.module(number_of(location, 2));
        let lines = fields(location).flatten().filter(|(field, _)| *field == 4);
        let lines: Vec<_> = lines.map(|(_, value)| value.message()).collect();
        if lines.is_empty() {
            let detail = module.map_or_else(String::new, |id| {
                self.builder.recording().module(id).path.to_string()
            });
            self.builder.lose(LossKind::SymbolsMissing, 1, &detail);
            return vec![self.frame(module, &[], false)];
        }
        let last = lines.len() - 1;
        let frames = lines.iter().enumerate().rev();
        frames.map(|(at, line)| self.frame(module, line, at < last)).collect()
    }

    fn frame(&mut self, module: Option<ModuleId>, line: &[u8], inlined: bool) -> FrameId {
        let id = number_of(line, 1);
        let function = self.functions.get(&id).copied();
        self.bad += u64::from(id != 0 && function.is_none());
        let function = function.unwrap_or_default();
        let field = |number| self.string(number_of(function, number));
        let named = [field(2), field(3)].into_iter().find(|name| !name.is_empty());
        let function = Text::from(&*named.unwrap_or(Cow::Borrowed("?")));
        let file = Some(field(4)).filter(|file| !file.is_empty());
        let file = file.map(|file| Text::from(&*file));
        let line = u32::try_from(number_of(line, 2)).ok().filter(|line| *line > 0);
        self.builder.frame(Frame { file, line, inlined, ..Frame::new(module, function, None) })
    }

    fn module(&mut self, mapping: u64) -> Option<ModuleId> {
        let mapping = self.mappings.get(&mapping).copied()?;
        let path = self.string(number_of(mapping, 5));
        if path.is_empty() {
            return None;
        }
        let id = self.builder.module(&path);
        let build_id = self.string(number_of(mapping, 6));
        if !build_id.is_empty() {
            let module = &mut self.builder.recording().modules[id.index()];
            module.build_id.get_or_insert_with(|| Text::from(&*build_id));
        }
        Some(id)
    }

    fn finish(self) {
        for (metric, (count, sum)) in self.negative {
            let sum = match u64::try_from(sum) {
                Ok(sum) if metric.unit() == "ns" => format!("{} ({metric})", Nanos(sum)),
                _ => format!("{sum} ({metric})"),
            };
            lose_negative(self.builder, count, &sum);
        }
        if self.bad > 0 {
            let detail = "malformed values, samples or locations";
            self.builder.lose(LossKind::RecordsMalformed, self.bad, detail);
        }
        if self.labels > 0 {
            self.builder.lose(LossKind::DetailLeftOut, self.labels, "labels of samples");
        }
    }
}

/// The row of a thread. Words that are no number are names where there is no other.
fn add_thread(
    who: &Who<'_>,
    pids: &Numbers<'_>,
    tids: &Numbers<'_>,
    builder: &mut Builder,
) -> ThreadId {
    let number = |numbers: &Numbers<'_>, word: &str| numbers.get(word).copied().unwrap_or(0);
    let process = builder.process(number(pids, &who.process.word), who.process.shown());
    builder.thread(process, number(tids, &who.thread.word), who.thread.shown())
}

/// Keeps a message by the number that it gives itself; 1 when another one had the number.
fn keep<'a>(messages: &mut FxHashMap<u64, &'a [u8]>, value: Value<'a>) -> u64 {
    let message = value.message();
    let before = messages.insert(number_of(message, 1), message);
    u64::from(before.is_some_and(|before| before != message))
}

/// A number in a message; the last counts where it stands there twice, 0 where it is missing.
fn number_of(message: &[u8], field: u64) -> u64 {
    let values = fields(message).flatten().filter(|(number, _)| *number == field);
    values.last().map_or(0, |(_, value)| value.number())
}
