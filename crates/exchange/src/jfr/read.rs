//! From events to amounts at stacks.

use std::collections::BTreeMap;
use std::io::Read as _;

use culprit_model::{Cause, LossKind, Metric, Nanos, ProcessId, StackId, Text, ThreadId};

use super::chunk::{Chunk, HEADER, Header, Record};
use super::events::{NamedBy, On, Tells, Wait, is_fact, is_span, names_span, tells};
use super::names::{Known, Names};
use super::settings::Settings;
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use crate::nested::Spans;
use crate::rows::{Part, Rows};
use crate::unpack::MOST_UNPACKED;

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let mut reading = Reading::new(builder);
    while let Some((header, bytes)) = next(input).or_else(|why| reading.damaged(why))? {
        reading.chunk(header, &bytes);
    }
    reading.finish()
}

/// The next chunk; none behind the last.
fn next(input: &mut Input<'_>) -> Result<Option<(Header, Vec<u8>)>, Refusal> {
    let failed = |error: std::io::Error| error.to_string();
    let mut bytes = Vec::new();
    input.take(HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let header = Header::parse(&bytes).ok_or("the next bytes are not a chunk")?;
    let Header { major, minor, .. } = header;
    if major != 2 {
        return Err(format!(
            "it has format version {major}.{minor}; Culprit reads version 2 (Java 11 and later)"
        ));
    }
    if !header.compressed {
        return Err(
            "its numbers are not compressed, and Culprit reads only compressed numbers".to_owned()
        );
    }
    let rest = header.size.checked_sub(HEADER as u64).unwrap_or(MOST_UNPACKED);
    input.take(rest.min(MOST_UNPACKED)).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some((header, bytes)))
}

/// The chunks so far.
struct Reading<'b> {
    builder: &'b mut Builder,
    settings: Settings,
    process: Option<ProcessId>,
    rows: Rows,
    spans: Spans,
    /// Events that are not used, by name.
    unused: BTreeMap<String, u64>,
    chunks: u64,
    weighed: BTreeMap<(&'static str, u64), u64>,
    bad: u64,
    cut: u64,
    lost: u64,
}

impl<'b> Reading<'b> {
    fn new(builder: &'b mut Builder) -> Self {
        Self {
            builder,
            settings: Settings::default(),
            process: None,
            rows: Rows::default(),
            spans: Spans::default(),
            unused: BTreeMap::new(),
            chunks: 0,
            weighed: BTreeMap::new(),
            bad: 0,
            cut: 0,
            lost: 0,
        }
    }

    /// What comes behind a readable chunk and is none ends the file; before one it is refused.
    fn damaged(&mut self, why: Refusal) -> Result<Option<(Header, Vec<u8>)>, Refusal> {
        if self.chunks == 0 {
            return Err(why);
        }
        let what = format!("after chunk {}: {why}", self.chunks);
        self.builder.lose(LossKind::FileDamaged, 1, &what);
        Ok(None)
    }

    fn chunk(&mut self, header: Header, bytes: &[u8]) {
        if self.chunks == 0 {
            self.builder.starts_at(header.start);
            self.builder.recording().meta.start.realtime = header.start;
        }
        self.chunks += 1;
        self.builder.ends_at(header.end());
        let number = self.chunks;
        if header.size > bytes.len() as u64 || Chunk::end(bytes) < bytes.len() || header.size == 0 {
            let what = format!("chunk {number} is unfinished or ends early");
            self.builder.lose(LossKind::FileDamaged, 1, &what);
        }
        let Some(chunk) = Chunk::new(bytes, header) else {
            let what = format!("chunk {number} does not describe its events");
            self.builder.lose(LossKind::FileDamaged, 1, &what);
            return;
        };
        self.bad += chunk.malformed;
        self.facts(&chunk);
        let mut names = Names::default();
        for event in chunk.events() {
            let name = event.name();
            let mut one = One { reading: self, chunk: &chunk, names: &mut names, event };
            match tells(name) {
                Some(tells) => {
                    let read = one.add(tells);
                    self.bad += u64::from(read.is_none());
                }
                None if is_fact(name) => {}
                None if is_span(name) && one.span().is_some() => {}
                None => match self.unused.get_mut(name) {
                    Some(count) => *count += 1,
                    None => drop(self.unused.insert(name.to_owned(), 1)),
                },
            }
        }
    }

    /// Settings and the process, which may stand behind the events that need them.
    fn facts(&mut self, chunk: &Chunk<'_>) {
        for event in chunk.events() {
            match event.name() {
                "jdk.ActiveSetting" => {
                    let id = event.number("id").and_then(|id| chunk.name(id));
                    let texts = event.text("name").zip(event.text("value"));
                    if let (Some(of), Some((name, value))) = (id, texts) {
                        self.settings.set(of, name, value);
                    }
                }
                "jdk.JVMInformation" => self.process(&event),
                _ => {}
            }
        }
    }

    fn process(&mut self, event: &Record<'_>) {
        let command = event.text("javaArguments").unwrap_or_default();
        let program = command.split_whitespace().next().unwrap_or("java");
        let name = program.rsplit('/').next().unwrap_or(program).to_owned();
        let pid = event.number("pid").and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        let process = self.builder.process(pid, &name);
        self.builder.recording().processes[process.index()].command_line = (&*command).into();
        self.process = Some(process);
    }

    fn finish(self) -> Result<(), Refusal> {
        if self.chunks == 0 {
            return Err("it contains no chunk".to_owned());
        }
        self.rows.finish(self.builder);
        self.spans.finish(self.builder);
        for ((event, period), count) in self.weighed {
            let what = format!("each {event} is a sample and counts as {}", Nanos(period));
            self.builder.lose(LossKind::MetricGuessed, count, &what);
        }
        for (kind, count, detail) in [
            (LossKind::RecordsMalformed, self.bad, "malformed events or checkpoints"),
            (LossKind::StacksTruncated, self.cut, "stacks deeper than the recorder's limit"),
            (LossKind::StacksMissing, self.lost, "events without a stack"),
        ] {
            if count > 0 {
                self.builder.lose(kind, count, detail);
            }
        }
        for (name, count) in self.unused {
            self.builder.lose(LossKind::DetailLeftOut, count, &format!("{name} events"));
        }
        Ok(())
    }
}

/// One event.
struct One<'r, 'b, 'c> {
    reading: &'r mut Reading<'b>,
    chunk: &'c Chunk<'c>,
    names: &'r mut Names,
    event: Record<'c>,
}

impl One<'_, '_, '_> {
    /// Adds what it tells; none when it makes no sense.
    fn add(&mut self, tells: Tells) -> Option<()> {
        let known = self.stack();
        self.reading.cut += u64::from(known.cut);
        self.reading.lost += u64::from(known.stack.is_none());
        match tells {
            Tells::Running => self.running(),
            Tells::CpuTime => {
                let period = self.event.span("samplingPeriod")?;
                self.cpu(Part::Running, period)
            }
            Tells::Native => self.count(Metric::Samples, 1),
            Tells::Looked => {
                let times = self.event.number("samples").unwrap_or(1);
                let period = self.reading.settings.wall();
                self.looked("profiler.WallClockSample", period, times)
            }
            Tells::Waited(wait) => self.waited(wait),
            Tells::Heap { bytes, part, counted } => self.heap(bytes, part, counted),
            Tells::Live => {
                let bytes = self.event.number("allocationSize")?;
                let stack = self.of_class();
                self.put(stack, Metric::LiveBytes, bytes)?;
                self.put(stack, Metric::Live, 1)
            }
        }
    }

    /// Adds a stretch of a thread's time; none when it is an instant or nobody's.
    fn span(&mut self) -> Option<()> {
        let time = self.event.time()?;
        let duration = self.event.span("duration").filter(|duration| *duration > 0)?;
        let end = time.checked_add(duration).filter(|end| end.cast_signed() > 0)?;
        let thread = self.thread()?;
        let name = self.span_name();
        self.reading.spans.add(thread, (time, end), name);
        Some(())
    }

    /// The traced method, what the program calls the span, or else the event's type.
    fn span_name(&mut self) -> Text {
        let event = self.event.name();
        let named = match names_span(event) {
            Some(NamedBy::Method(field)) => {
                let key = self.event.key(field);
                key.map(|key| self.names.function(self.reading.builder, self.chunk, key))
            }
            Some(NamedBy::Text(field)) => self.event.text(field).map(Text::from),
            None => None,
        };
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| Text::from(event))
    }

    fn running(&mut self) -> Option<()> {
        const NAME: &str = "jdk.ExecutionSample";
        let settings = &self.reading.settings;
        let (period, wall) = (settings.period(NAME), settings.looks_at_the_clock());
        if wall || self.sleeps() {
            return self.looked(NAME, period, 1);
        }
        match period {
            Some(period) => {
                *self.reading.weighed.entry((NAME, period)).or_default() += 1;
                self.cpu(Part::Running, period)
            }
            None => self.count(Metric::Samples, 1),
        }
    }

    fn sleeps(&mut self) -> bool {
        let state = self.event.key("state").map(|key| self.names.text(self.chunk, key));
        state.is_some_and(|state| state.as_str() == "STATE_SLEEPING")
    }

    /// A look at a thread whether it runs or not.
    fn looked(&mut self, name: &'static str, period: Option<u64>, times: u64) -> Option<()> {
        let Some(period) = period else { return self.count(Metric::Samples, times) };
        *self.reading.weighed.entry((name, period)).or_default() += times;
        if !self.sleeps() {
            return self.cpu(Part::Looked, period.checked_mul(times)?);
        }
        let amount = self.amount(Metric::Wall, period.checked_mul(times)?)?;
        let amount = Amount { cause: Some(Cause::Other), count: times, ..amount };
        self.reading.rows.push(Part::Looked, amount);
        Some(())
    }

    /// CPU time: in the kernel where the leaf is.
    fn cpu(&mut self, part: Part, time: u64) -> Option<()> {
        let kernel = self.stack().kernel;
        let cause = if kernel { Cause::CpuKernel } else { Cause::CpuUser };
        let amount = self.amount(Metric::Wall, time)?;
        self.reading.rows.push(part, Amount { cause: Some(cause), ..amount });
        Some(())
    }

    fn waited(&mut self, wait: Wait) -> Option<()> {
        let time = self.event.span("duration")?;
        let stack = match wait.on {
            On::Nothing => self.stack().stack,
            On::Object(field) => {
                let class = self.class(field);
                self.leaf("[lock]", &class)
            }
            On::File => self.leaf("[file]", &self.event.text("path").unwrap_or_default()),
            On::Peer => {
                let peer = self.peer();
                self.leaf("[peer]", &peer)
            }
        };
        let amount = Amount { stack, ..self.amount(Metric::Wall, time)? };
        self.reading.rows.push(Part::Waited, Amount { cause: Some(wait.cause), ..amount });
        let bytes = wait.bytes.and_then(|field| self.event.number(field));
        match bytes.filter(|bytes| *bytes > 0) {
            Some(bytes) => self.put(stack, Metric::IoBytes, bytes),
            None => Some(()),
        }
    }

    fn heap(&mut self, bytes: &str, part: Part, counted: bool) -> Option<()> {
        let bytes = self.event.number(bytes)?;
        let stack = self.of_class();
        let amount = Amount { stack, ..self.amount(Metric::AllocBytes, bytes)? };
        self.reading.rows.push(part, amount);
        if counted {
            let amount = Amount { stack, ..self.amount(Metric::Allocs, 1)? };
            self.reading.rows.push(part, amount);
        }
        Some(())
    }

    fn count(&mut self, metric: Metric, times: u64) -> Option<()> {
        let amount = self.amount(metric, times)?;
        self.reading.builder.add(Amount { count: times, ..amount });
        Some(())
    }

    /// Adds an amount at another stack than the event's own.
    fn put(&mut self, stack: Option<StackId>, metric: Metric, value: u64) -> Option<()> {
        let amount = Amount { stack, ..self.amount(metric, value)? };
        self.reading.builder.add(amount);
        Some(())
    }

    /// An amount of this event at its stack.
    fn amount(&mut self, metric: Metric, value: u64) -> Option<Amount> {
        let time = self.event.time()?;
        let duration = if metric.is_time() { value } else { 0 };
        time.checked_add(duration).filter(|end| end.cast_signed() > 0)?;
        let (stack, thread) = (self.stack().stack, self.thread());
        Some(Amount { time, duration, thread, ..Amount::at(stack, metric, value) })
    }

    fn thread(&mut self) -> Option<ThreadId> {
        let key = self.event.key("sampledThread").or_else(|| self.event.key("eventThread"))?;
        let builder = &mut *self.reading.builder;
        let process = *self.reading.process.get_or_insert_with(|| builder.process(0, "java"));
        self.names.thread(builder, self.chunk, (process, key))
    }

    fn stack(&mut self) -> Known {
        let key = self.event.key("stackTrace").filter(|key| key.1 != 0);
        key.and_then(|key| self.names.stack(self.reading.builder, self.chunk, key))
            .unwrap_or_default()
    }

    /// The stack with a frame of its own kind at its leaf.
    fn leaf(&mut self, module: &str, name: &str) -> Option<StackId> {
        let stack = self.stack().stack;
        if name.is_empty() {
            return stack;
        }
        let module = Some(self.reading.builder.module(module));
        let frame = self.reading.builder.function(module, name, "", None);
        Some(self.reading.builder.push(stack, frame))
    }

    fn class(&mut self, field: &str) -> String {
        self.event.key(field).map(|key| self.names.class(self.chunk, key)).unwrap_or_default()
    }

    /// The stack with the class of what was allocated at its leaf.
    fn of_class(&mut self) -> Option<StackId> {
        let class = self.class("objectClass");
        self.leaf("[type]", &class)
    }

    fn peer(&self) -> String {
        let named = ["host", "address"].iter().filter_map(|field| self.event.text(field));
        let host = named.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        match self.event.number("port") {
            Some(port) if !host.is_empty() => format!("{host}:{port}"),
            _ => host,
        }
    }
}
