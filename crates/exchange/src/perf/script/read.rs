//! From lines to amounts at stacks.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Frame, FrameId, LossKind, Metric, StackId, Text, ThreadId};
use rustc_hash::FxHashMap;

use super::super::event::{Counts, lose_shared_metrics};
use super::beginning::{Held, may_begin, source};
use super::frame::{self, Inline, Printed, Whose};
use super::head::{self, Head, Layout, field};
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;

/// Longer lines are cut: payloads of tracepoints can be long.
const LONGEST_LINE: u64 = 1 << 20;

/// Frames of one event; perf's own limit is 127 unless told otherwise.
const DEEPEST: usize = 4096;

pub(in super::super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    let mut held = Some(Held::default());
    let mut script = Script::new(builder);
    input.lines(LONGEST_LINE, |line, _| {
        let line = line.trim_end_matches(['\n', '\r']);
        match &mut held {
            Some(lines) => {
                lines.push(line);
                if lines.is_full() {
                    held.take().into_iter().for_each(|held| script.begin_with(&held));
                }
            }
            None => script.line(line),
        }
    })?;
    held.take().into_iter().for_each(|held| script.begin_with(&held));
    script.finish()
}

/// The sample under reading.
struct Open {
    thread: Option<ThreadId>,
    time: u64,
    metric: Metric,
    value: u64,
    /// The event as a leaf frame, where it must be told apart.
    event: Option<FrameId>,
    /// Where it was, if no call chain follows.
    inline: Option<(FrameId, bool)>,
    frames: Vec<FrameId>,
    /// How many of the last frames are inlined and wait for the module of the one they are in.
    inlined: usize,
    /// The address of the last frame.
    address: u64,
    kernel: bool,
}

/// What was met and is not read, or not whole.
#[derive(Debug, Default)]
struct Tally {
    samples: u64,
    foreign: u64,
    orphans: u64,
    detail: u64,
    data: u64,
    more: u64,
    records: BTreeMap<String, u64>,
    lost: u64,
    switches: u64,
    cut: u64,
    nameless: u64,
    without_symbols: u64,
    without_time: u64,
    without_event: u64,
    without_ids: u64,
    without_chain: u64,
    gone: u64,
}

struct Script<'a> {
    builder: &'a mut Builder,
    layout: Layout,
    /// Whether samples are call chains alone, with no line of their own.
    headless: bool,
    /// Whether frames have modules.
    modules: bool,
    /// Blank lines since the last that is not.
    blank: u64,
    open: Option<Open>,
    /// Numbers for commands of which the text has none.
    comms: FxHashMap<String, u32>,
    events: BTreeSet<String>,
    /// Threads whose process is not told.
    loose: BTreeSet<u32>,
    tally: Tally,
}

impl<'a> Script<'a> {
    fn new(builder: &'a mut Builder) -> Self {
        Self {
            builder,
            layout: Layout::default(),
            headless: false,
            modules: false,
            blank: 0,
            open: None,
            comms: FxHashMap::default(),
            events: BTreeSet::new(),
            loose: BTreeSet::new(),
            tally: Tally::default(),
        }
    }

    /// Learns from the first lines how samples begin, and reads them.
    fn begin_with(&mut self, held: &Held) {
        let lines = &held.lines;
        let chain =
            |at: usize| lines.get(at + 1).is_some_and(|next| frame::chained(next, true).is_some());
        let voters = lines.iter().enumerate().filter(|(_, line)| may_begin(line));
        let voters: Vec<_> = voters.map(|(at, line)| (line.as_str(), chain(at))).collect();
        self.layout = Layout::learn(&voters);
        self.modules = lines.iter().any(|line| frame::has_module(line));
        // Code in blocks is call chains, whose tabs are spaces by now.
        let blocks = self.layout.is_code() && lines.iter().any(|line| line.trim().is_empty());
        if blocks {
            self.layout = Layout::default();
        }
        let chained = lines.iter().any(|line| frame::chained(line, true).is_some());
        self.headless = self.layout.is_empty() && (chained || blocks);
        lines.iter().for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.close();
            self.blank += 1;
            return;
        }
        self.content(line);
        self.blank = 0;
    }

    fn content(&mut self, line: &str) {
        if let Some(printed) = frame::chained(line, self.modules) {
            return self.frame(&printed);
        }
        if let Some(head) = self.layout.read(line) {
            self.close();
            return self.begin(&head);
        }
        if line.starts_with('#') {
            return;
        }
        if head::is_record(line) {
            self.close();
            return self.record(line);
        }
        if (self.open.is_some() || self.headless) && line.starts_with([' ', '\t']) {
            if let Some(printed) = frame::indented(line, self.modules) {
                return self.frame(&printed);
            }
            match source(line) {
                Some(source) => self.source(source),
                None => self.tally.detail += 1,
            }
            return;
        }
        // What another program printed in between ends no sample.
        self.tally.foreign += 1;
    }

    fn begin(&mut self, head: &Head<'_>) {
        let tally = &mut self.tally;
        tally.samples += 1;
        tally.without_time += u64::from(!head.has(field::TIME));
        tally.without_event += u64::from(!head.has(field::EVENT));
        tally.without_ids += u64::from(!head.has(field::IDS));
        let thread = self.thread(head);
        let counts = Counts::new(head.event);
        let (metric, value, named) = match head.period {
            _ if head.has(field::EVENT) => {
                let (metric, value) = counts.value(head.period);
                (metric, value, counts.named)
            }
            // Of what event the period is, is not known.
            Some(period) => (Metric::Amount, period, false),
            None => (Metric::Samples, 1, false),
        };
        if head.has(field::EVENT) && !self.events.contains(head.event) {
            self.events.insert(head.event.to_owned());
        }
        let event = named.then(|| self.builder.named(&format!("[event]!{}", head.event)));
        self.tally.switches += u64::from(head.event == "sched:sched_switch");
        let inline = Inline::read(head.rest);
        self.tally.data += u64::from(inline.data);
        let inline = inline.frame.map(|printed| {
            let kernel = is_kernel(&printed);
            self.tally.more += u64::from(printed.more);
            (self.intern(&printed), kernel)
        });
        self.open = Some(Open {
            thread,
            time: head.time,
            metric,
            value,
            event,
            inline,
            frames: Vec::new(),
            inlined: 0,
            address: 0,
            kernel: false,
        });
    }

    /// The thread of a sample, as far as the text tells.
    fn thread(&mut self, head: &Head<'_>) -> Option<ThreadId> {
        let number = |id: i64| u32::try_from(id).ok();
        if head.has(field::IDS) {
            let Some(tid) = number(head.tid) else {
                self.tally.gone += 1;
                return None;
            };
            if head.pid.is_none() && !self.loose.contains(&tid) {
                self.loose.insert(tid);
            }
            let pid = head.pid.and_then(number).unwrap_or(tid);
            // A process has its main thread's name.
            let process = self.builder.process(pid, if pid == tid { head.comm } else { "" });
            return Some(self.builder.thread(process, tid, head.comm));
        }
        if head.comm.is_empty() {
            return None;
        }
        let next = u32::try_from(self.comms.len() + 1).unwrap_or(u32::MAX);
        let number = match self.comms.get(head.comm) {
            Some(known) => *known,
            None => *self.comms.entry(head.comm.to_owned()).or_insert(next),
        };
        let process = self.builder.process(number, head.comm);
        Some(self.builder.thread(process, number, head.comm))
    }

    /// A sample of which only the call chain is printed.
    fn begin_headless(&mut self) {
        self.tally.samples += 1;
        self.tally.without_time += 1;
        self.tally.without_event += 1;
        self.tally.without_ids += 1;
        self.open = Some(Open {
            thread: None,
            time: 0,
            metric: Metric::Samples,
            value: 1,
            event: None,
            inline: None,
            frames: Vec::new(),
            inlined: 0,
            address: 0,
            kernel: false,
        });
    }

    fn frame(&mut self, printed: &Printed<'_>) {
        if self.open.is_none() {
            if !self.headless {
                self.tally.orphans += 1;
                return;
            }
            self.chainless();
            self.begin_headless();
        }
        self.tally.more += u64::from(printed.more);
        let frame = self.intern(printed);
        let kernel = is_kernel(printed);
        if !printed.inlined {
            self.join_inlined(frame, printed.address);
        }
        let Some(open) = &mut self.open else { return };
        if open.frames.is_empty() {
            open.kernel = kernel;
        }
        if open.frames.len() < DEEPEST {
            open.frames.push(frame);
            open.inlined = if printed.inlined { open.inlined + 1 } else { 0 };
            open.address = printed.address;
        } else {
            self.tally.cut += 1;
        }
    }

    /// Headless samples whose chain is empty are two blank lines more.
    fn chainless(&mut self) {
        let usual = if self.tally.samples == 0 { 1 } else { 2 };
        for _ in 0..self.blank.saturating_sub(usual) / 2 {
            self.begin_headless();
            self.tally.without_chain += 1;
            self.close();
        }
    }

    /// Inlined functions are printed without a module; theirs is that of the function around them,
    /// which has the same address.
    fn join_inlined(&mut self, around: FrameId, address: u64) {
        let joins = |open: &&mut Open| open.inlined > 0 && open.address == address;
        let Some(open) = self.open.as_mut().filter(joins) else { return };
        let module = self.builder.recording().frame(around).module;
        let from = open.frames.len() - open.inlined;
        for at in from..open.frames.len() {
            let inlined = self.builder.recording().frame(open.frames[at]).clone();
            open.frames[at] = self.builder.frame(Frame { module, ..inlined });
        }
    }

    /// The place in the source of the frame before.
    fn source(&mut self, (file, line, inlined): (&str, u32, bool)) {
        let Some(open) = &mut self.open else { return };
        let inline = open.inline.as_mut().map(|(frame, _)| frame);
        let Some(last) = open.frames.last_mut().or(inline) else { return };
        let frame = self.builder.recording().frame(*last).clone();
        let known = line > 0 && file != "??";
        *last = self.builder.frame(Frame {
            file: known.then(|| Text::from(file)),
            line: known.then_some(line),
            inlined: frame.inlined || inlined,
            ..frame
        });
        if inlined {
            open.inlined += 1;
        }
    }

    fn intern(&mut self, printed: &Printed<'_>) -> FrameId {
        let Printed { address, symbol, module, inlined, .. } = *printed;
        let module = match (module, frame::whose(module, address)) {
            ("" | "[unknown]", Whose::User) => None,
            (_, Whose::Image) | ("" | "[unknown]", Whose::Kernel) => {
                Some(self.builder.module_named("[kernel]", "[kernel]"))
            }
            (_, Whose::GuestKernel) => {
                Some(self.builder.module_named("[guest.kernel]", "[guest.kernel]"))
            }
            (_, Whose::Guest) => Some(self.builder.module_named("[guest]", "[guest]")),
            (path, Whose::User | Whose::Kernel) => Some(self.builder.module(path)),
        };
        let function = match symbol {
            // Not asked for: addresses tell frames apart all the same.
            "" => {
                self.tally.without_symbols += 1;
                Text::from(format!("{address:#x}"))
            }
            "[unknown]" => {
                self.tally.nameless += 1;
                Text::from("?")
            }
            name => Text::from(name),
        };
        let frame = Frame::new(module, function, None);
        self.builder.frame(Frame { inlined, ..frame })
    }

    /// A record that is no sample, where perf was asked to show it.
    fn record(&mut self, line: &str) {
        let name = line.split_whitespace().find(|word| word.starts_with("PERF_RECORD_"));
        let name = name.unwrap_or("PERF_RECORD").trim_end_matches(':');
        let name: String = name.chars().take_while(|letter| *letter != '(').collect();
        if name.starts_with("PERF_RECORD_LOST") {
            let count = line.rsplit(' ').find_map(|word| word.parse::<u64>().ok());
            self.tally.lost = self.tally.lost.saturating_add(count.unwrap_or(1));
            return;
        }
        // Names of a damaged file may be any.
        if self.tally.records.len() < 64 || self.tally.records.contains_key(&name) {
            *self.tally.records.entry(name).or_default() += 1;
        } else {
            self.tally.foreign += 1;
        }
    }

    /// The sample ends: one amount at its stack.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if let Some((frame, kernel)) = open.inline {
            if open.frames.is_empty() {
                open.frames.push(frame);
                open.kernel = kernel;
            } else {
                self.tally.data += 1;
            }
        }
        let frames = open.frames.iter().rev().copied().chain(open.event);
        let stack: Option<StackId> = self.builder.stack(frames.collect::<Vec<_>>());
        let cause = match open.metric {
            Metric::Cpu if open.kernel => Some(Cause::CpuKernel),
            Metric::Cpu => Some(Cause::CpuUser),
            _ => None,
        };
        self.builder.add(Amount {
            time: open.time,
            thread: open.thread,
            cause,
            ..Amount::at(stack, open.metric, open.value)
        });
    }

    fn finish(mut self) -> Result<(), Refusal> {
        self.close();
        if self.headless {
            // The last line of the file ends one of them.
            self.blank += 1;
            self.chainless();
        }
        if self.tally.samples == 0 {
            return Err(
                "no line starts a sample: use `perf script -F` with time, event, and pid or tid; \
                 or the default columns of perf, or call chains"
                    .to_owned(),
            );
        }
        self.lose();
        let events = self.events.iter().map(String::as_str);
        lose_shared_metrics(events, self.builder);
        for process in 0..self.builder.recording().processes.len() {
            name_after_a_thread(self.builder, process);
        }
        Ok(())
    }

    fn lose(&mut self) {
        let loose = if self.loose.len() > 1 { self.loose.len() as u64 } else { 0 };
        let (tally, builder) = (&self.tally, &mut *self.builder);
        for (name, count) in &tally.records {
            builder.lose(LossKind::DetailLeftOut, *count, &format!("{name} records"));
        }
        let no_ids = if self.comms.is_empty() {
            "samples without the number of a process or thread: their thread is unknown"
        } else {
            "samples without the number of a process or thread: all samples of one command are \
             one thread"
        };
        for (kind, count, what) in [
            (LossKind::SamplesLost, tally.lost, "records that perf lost while recording"),
            (LossKind::DetailLeftOut, tally.foreign, "lines that perf did not write"),
            (LossKind::RecordsMalformed, tally.orphans, "frames without a sample"),
            (
                LossKind::DetailLeftOut,
                tally.detail,
                "sample lines without frames: registers, instructions, other fields",
            ),
            (LossKind::DetailLeftOut, tally.more, "fields after frames: registers, branches"),
            (LossKind::DetailLeftOut, tally.data, "addresses of data"),
            (LossKind::StacksTruncated, tally.cut, "frames beyond the 4096 nearest to the leaf"),
            (LossKind::SymbolsMissing, tally.nameless, "frames without a name ([unknown])"),
            (
                LossKind::SymbolsMissing,
                tally.without_symbols,
                "frames are addresses: the text has no symbols (-F sym)",
            ),
            (LossKind::StacksMissing, tally.without_chain, "samples with an empty call chain"),
            (LossKind::DetailLeftOut, tally.without_time, "samples without a time"),
            (
                LossKind::MetricGuessed,
                tally.without_event,
                "samples without the name of an event: the meaning of their periods is unknown",
            ),
            (LossKind::DetailLeftOut, tally.without_ids, no_ids),
            (
                LossKind::DetailLeftOut,
                tally.gone,
                "samples of threads that had ended, so perf no longer knew their number",
            ),
            (
                LossKind::DetailLeftOut,
                loose,
                "threads whose process is unknown: each counts as its own process",
            ),
            (
                LossKind::DetailLeftOut,
                tally.switches,
                "switches are only counted: the text does not show whether all switches were \
                 recorded, so Culprit computes no times",
            ),
        ] {
            if count > 0 {
                builder.lose(kind, count, what);
            }
        }
    }
}

fn is_kernel(printed: &Printed<'_>) -> bool {
    let whose = frame::whose(printed.module, printed.address);
    matches!(whose, Whose::Image | Whose::Kernel | Whose::GuestKernel)
}

/// A process whose main thread was not seen is called after its first thread that was.
fn name_after_a_thread(builder: &mut Builder, process: usize) {
    let recording = builder.recording();
    if recording.processes[process].name.is_empty() {
        let mut threads = recording.threads.iter();
        let name = threads.find(|thread| thread.process.index() == process);
        if let Some(name) = name.map(|thread| thread.name.clone()) {
            recording.processes[process].name = name;
        }
    }
}
