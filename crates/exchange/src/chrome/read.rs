//! From trace events to the time of each thread's stacks.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{LossKind, Metric, ThreadId};
use serde::Deserialize;

use super::asynchronous::Asynchronous;
use super::samples::Samples;
use super::spans::{Mark, What, spans, stacks};
use super::trace::{Event, NO_THREAD, Trace};
use super::v8;
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use crate::json::{self, Loose, Number};
use crate::threads;

/// Process and thread, or process and profile, as the file writes them: numbers mostly, sometimes
/// names.
type Key<'a> = (&'a str, &'a str);

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let text = input.text()?;
    let trace = Trace::parse(&text)?;
    let mut gathered = Gathered::default();
    for event in &trace.events {
        match serde_json::from_str::<Event<'_>>(event.get()) {
            Ok(event) => gathered.add(event, builder),
            Err(_) => gathered.bad += 1,
        }
    }
    if let Some(why) = &trace.cut {
        builder.lose(LossKind::FileDamaged, 1, &format!("the list ends early: {why}"));
    }
    gathered.samples = Samples::new(&trace);
    gathered.build(&trace, builder);
    let recording = builder.recording();
    if recording.costs.is_empty() && recording.activity_edges.is_empty() && trace.metric.is_none() {
        return Err("it contains no spans, samples or CPU profiles".to_owned());
    }
    Ok(())
}

/// The events of a file, by thread.
#[derive(Default)]
struct Gathered<'a> {
    processes: BTreeMap<&'a str, String>,
    threads: BTreeMap<Key<'a>, Thread<'a>>,
    profiles: BTreeMap<Key<'a>, Pieces<'a>>,
    asynchronous: Asynchronous<'a>,
    samples: Samples<'a>,
    bad: u64,
    unused: u64,
}

#[derive(Default)]
struct Thread<'a> {
    name: String,
    marks: Vec<Mark<'a>>,
}

/// The pieces of one CPU profile, and the thread that it is of.
struct Pieces<'a> {
    thread: Key<'a>,
    pieces: Vec<(i128, Piece<'a>)>,
}

/// `args.data` of a `P` event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(borrow, default)]
    cpu_profile: Option<Part<'a>>,
    #[serde(default)]
    time_deltas: Vec<Number>,
    #[serde(default)]
    start_time: Number,
    #[serde(default)]
    end_time: Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    nodes: Vec<Loose<v8::Node<'a>>>,
    #[serde(default)]
    samples: Vec<Number>,
    #[serde(default)]
    end_time: Number,
}

impl<'a> Gathered<'a> {
    fn add(&mut self, event: Event<'a>, builder: &mut Builder) {
        let key = (json::word(event.pid), json::word(event.tid));
        match &*event.ph.0 {
            "B" | "E" | "X" => match mark(event, builder) {
                Some(mark) => self.threads.entry(key).or_default().marks.push(mark),
                None => self.bad += 1,
            },
            "b" | "e" | "S" | "F" => {
                self.bad += u64::from(!self.asynchronous.add(key, &event));
            }
            "M" => self.name(key, &event),
            "P" => self.piece(key, json::word(event.id), &event),
            _ => self.unused += 1,
        }
    }

    fn name(&mut self, key: Key<'a>, event: &Event<'a>) {
        let name = event.args.get().map_or("", |args| args.name.text());
        match event.name.text() {
            "process_name" => name.clone_into(self.processes.entry(key.0).or_default()),
            "thread_name" => name.clone_into(&mut self.threads.entry(key).or_default().name),
            _ => {}
        }
    }

    fn piece(&mut self, thread: Key<'a>, id: &'a str, event: &Event<'a>) {
        let data = event.args.get().and_then(|args| args.data);
        let piece = data.and_then(|data| serde_json::from_str::<Piece<'a>>(data.get()).ok());
        let (Some(piece), Some(time)) = (piece, event.ts.scaled(3)) else {
            self.bad += 1;
            return;
        };
        let empty = || Pieces { thread, pieces: Vec::new() };
        let profile = self.profiles.entry((thread.0, id)).or_insert_with(empty);
        // The pieces themselves come from the thread that gathers them.
        if event.name.text() == "Profile" {
            profile.thread = thread;
        }
        profile.pieces.push((time, piece));
    }

    fn build(mut self, trace: &Trace<'a>, builder: &mut Builder) {
        let own = trace.metric;
        let metric = own.unwrap_or(Metric::Wall);
        let rows = self.add_threads(own.is_some(), builder);
        let mut timed = BTreeSet::new();
        self.asynchronous.build(|key| rows.get(&key).copied().flatten(), builder);
        let samples = std::mem::take(&mut self.samples);
        samples.build(&trace.frames, |key| rows.get(&key).copied().flatten(), builder);
        for (key, thread) in self.threads {
            if thread.marks.is_empty() {
                continue;
            }
            timed.insert(key);
            let (spans, bad) = spans(thread.marks);
            let mut amounts = Vec::new();
            let cut = stacks(
                &spans,
                |caller, frame| builder.push(caller, frame),
                |stack, time, value| amounts.push((stack, time, value)),
            );
            for (stack, time, value) in amounts {
                let duration = if metric.is_time() { value } else { 0 };
                let thread = rows.get(&key).copied().flatten();
                let amount = Amount::at(Some(stack), metric, value);
                builder.add(Amount { time, duration, thread, ..amount });
            }
            self.bad += bad + cut;
        }
        for profile in self.profiles.into_values() {
            let thread = rows.get(&profile.thread).copied().flatten();
            let covered = timed.contains(&profile.thread);
            profile.build(builder, thread, !covered);
        }
        if self.bad > 0 {
            let detail = "events that are malformed or overlap";
            builder.lose(LossKind::RecordsMalformed, self.bad, detail);
        }
        if self.unused > 0 {
            let detail = "instants, counters, flows and steps of asynchronous events";
            builder.lose(LossKind::DetailLeftOut, self.unused, detail);
        }
    }

    /// A row for each thread that has any time. Where a process or thread has no number, or one
    /// that no kernel gives, the smallest that is free stands for it and its own is its name.
    fn add_threads(
        &mut self,
        own: bool,
        builder: &mut Builder,
    ) -> BTreeMap<Key<'a>, Option<ThreadId>> {
        let profiles = self.profiles.values().map(|profile| profile.thread);
        let sampled: BTreeSet<Key<'a>> = self.samples.threads().collect();
        for thread in profiles.chain(self.asynchronous.threads()).chain(sampled.iter().copied()) {
            self.threads.entry(thread).or_default();
        }
        let mut profiled: BTreeSet<Key<'a>> = self.profiles.values().map(|p| p.thread).collect();
        profiled.extend(self.asynchronous.threads());
        profiled.extend(sampled);
        let alive =
            |key: &Key<'a>, thread: &Thread<'_>| !thread.marks.is_empty() || profiled.contains(key);
        let pids = threads::numbers(self.threads.keys().map(|key| key.0));
        let tids = threads::numbers(self.threads.keys().map(|key| key.1));
        threads::lose_numbers(&pids, "processes", builder);
        threads::lose_numbers(&tids, "threads", builder);
        let mut rows = BTreeMap::new();
        for (key, thread) in self.threads.iter().filter(|(key, thread)| alive(key, thread)) {
            // Rows of no thread, as we write them.
            let none = tids[key.1] == NO_THREAD
                || (*key == ("0", "0") && !self.processes.contains_key("0"));
            if own && none {
                rows.insert(*key, None);
                continue;
            }
            let named = |name: &str, word: &str| match name {
                "" if threads::number(word).is_none() => word.to_owned(),
                name => name.to_owned(),
            };
            let process = self.processes.get(key.0).map_or("", String::as_str);
            let process = builder.process(pids[key.0], &named(process, key.0));
            let id = builder.thread(process, tids[key.1], &named(&thread.name, key.1));
            rows.insert(*key, Some(id));
        }
        rows
    }
}

fn mark<'a>(event: Event<'a>, builder: &mut Builder) -> Option<Mark<'a>> {
    let time = u64::try_from(event.ts.scaled(3)?).ok()?;
    let name = event.name.0.map_or(Cow::Borrowed(""), |name| name.0);
    if event.ph.0 == "E" {
        return Some(Mark { time, what: What::End(name) });
    }
    let (file, line) =
        event.args.get().map_or(("", None), |args| (args.filename.text(), args.line.small()));
    let frame = builder.located(if name.is_empty() { "?" } else { &name }, file, line);
    let what = match &*event.ph.0 {
        "B" => What::Begin(frame, name),
        _ => What::Whole(frame, u64::try_from(event.dur.scaled(3)?).ok()?),
    };
    Some(Mark { time, what })
}

impl Pieces<'_> {
    fn build(mut self, builder: &mut Builder, thread: Option<ThreadId>, timed: bool) {
        if !timed {
            let detail = "samples are only counted, because events of the same thread already \
                          cover its time";
            builder.lose(LossKind::MetricGuessed, 1, detail);
        }
        self.pieces.sort_by_key(|(time, _)| *time);
        let mut profile = v8::Profile::default();
        for (_, piece) in &self.pieces {
            profile.starts_at(piece.start_time);
            profile.ends_at(piece.end_time);
            if let Some(part) = &piece.cpu_profile {
                profile.ends_at(part.end_time);
                profile.nodes(&part.nodes, builder);
                profile.samples(&part.samples, &piece.time_deltas);
            }
        }
        profile.finish(builder, thread, timed);
    }
}
