//! From a profile to pprof's messages, packed with gzip.

use std::io::{self, Write};

use culprit_model::Step;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;

use super::types::written;
use super::wire::Message;
use crate::profile::Profile;
use crate::threads::{self, Threads};

pub(super) fn write(profile: &Profile<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    Writing::default().write(profile, &mut packed)?;
    packed.finish()?;
    Ok(())
}

/// Texts, each once, by the order of their first use.
#[derive(Default)]
struct Numbered<T>(FxHashMap<T, u64>);

impl<T: Eq + std::hash::Hash> Numbered<T> {
    /// The number of an entry, and whether it is new.
    fn number(&mut self, entry: T) -> (u64, bool) {
        let next = self.0.len() as u64;
        let number = *self.0.entry(entry).or_insert(next);
        (number, number == next)
    }
}

/// Messages under way. Numbers of mappings, functions and locations count from 1.
#[derive(Default)]
struct Writing<'a> {
    message: Message,
    /// Texts in order of first use: they are written behind everything else.
    strings: Vec<&'a str>,
    known: Numbered<&'a str>,
    mappings: Numbered<&'a str>,
    functions: Numbered<(&'a str, Option<&'a str>)>,
    locations: Numbered<(u64, u64, Option<u32>)>,
}

impl<'a> Writing<'a> {
    /// A message may be written in pieces, its fields in any order.
    fn write(mut self, profile: &'a Profile<'_>, out: &mut impl Write) -> io::Result<()> {
        let writing = &mut self;
        writing.string("");
        let (word, unit) = written(profile.metric);
        let mut kind = Message::default();
        kind.number(1, writing.string(word)).number(2, writing.string(unit));
        writing.message.message(1, &kind);
        for (thread, rows) in Threads::of(profile).iter() {
            let mut sums = FxHashMap::default();
            let mut order = Vec::new();
            for row in rows {
                let sum: &mut u64 = sums.entry(row.leaf).or_insert_with(|| {
                    order.push(row);
                    0
                });
                *sum = sum.saturating_add(row.value);
            }
            for row in order {
                let mut sample = Message::default();
                for step in threads::frames(profile, row).into_iter().rev() {
                    let location = writing.location(profile, step);
                    sample.number(1, location);
                }
                sample.number(2, sums[&row.leaf].min(i64::MAX.unsigned_abs()));
                if let Some(id) = thread {
                    let thread = profile.recording.thread(id);
                    let process = profile.recording.process(thread.process);
                    writing.label(&mut sample, "process", &process.name, process.pid.0);
                    writing.label(&mut sample, "thread", &thread.name, thread.tid.0);
                }
                writing.message.message(2, &sample);
                out.write_all(&writing.message.0)?;
                writing.message.0.clear();
            }
        }
        let meta = &profile.recording.meta;
        writing.message.number(9, meta.start.realtime).number(10, meta.wall.0);
        for text in std::mem::take(&mut writing.strings) {
            writing.message.bytes(6, text.as_bytes());
        }
        out.write_all(&writing.message.0)
    }

    fn string(&mut self, text: &'a str) -> u64 {
        let (number, new) = self.known.number(text);
        if new {
            self.strings.push(text);
        }
        number
    }

    /// Name and number of a process or thread.
    fn label(&mut self, sample: &mut Message, key: &'static str, name: &'a str, number: u32) {
        let mut text = Message::default();
        text.number(1, self.string(key)).number(2, self.string(name));
        sample.message(3, &text);
        let mut message = Message::default();
        let key = if key == "process" { "pid" } else { "tid" };
        message.number(1, self.string(key)).number(3, u64::from(number));
        sample.message(3, &message);
    }

    fn location(&mut self, profile: &Profile<'a>, step: &'a Step) -> u64 {
        let (module, function) = threads::place(profile, step);
        let (file, line) = threads::source(profile, step);
        let mapping = module.map_or(0, |path| self.mapping(path));
        let function = self.function(function, file);
        let (number, new) = self.locations.number((mapping, function, line));
        if new {
            let mut at = Message::default();
            at.number(1, function).number(2, u64::from(line.unwrap_or(0)));
            let mut location = Message::default();
            location.number(1, number + 1).number(2, mapping).message(4, &at);
            self.message.message(4, &location);
        }
        number + 1
    }

    fn mapping(&mut self, path: &'a str) -> u64 {
        let (number, new) = self.mappings.number(path);
        if new {
            let mut mapping = Message::default();
            mapping.number(1, number + 1).number(5, self.string(path)).number(7, 1);
            self.message.message(3, &mapping);
        }
        number + 1
    }

    fn function(&mut self, name: &'a str, file: Option<&'a str>) -> u64 {
        let (number, new) = self.functions.number((name, file));
        if new {
            let name = self.string(name);
            let file = self.string(file.unwrap_or(""));
            let mut function = Message::default();
            function.number(1, number + 1).number(2, name).number(3, name).number(4, file);
            self.message.message(5, &function);
        }
        number + 1
    }
}
