//! perf.data, as `perf record` writes it to a file or into a pipe, zstd-compressed or not.
//!
//! Every sample is an amount of its event's metric at its stack. One pass; a stack of addresses is
//! named once for each state of its process's mappings. Switches are counted and no times computed
//! from them: how long a thread was away cannot be told from a file in which some may be missing.

mod check;
mod code;
mod header;

use culprit_model::{Cause, LossKind, Metric, StackId, ThreadId};
use linux_perf_data::linux_perf_event_reader::{
    CpuMode, EventRecord, Mmap2FileId, PerfEventType, RawEventRecord, RecordType, SampleFormat,
    SampleRecord, SamplingPolicy,
};
use linux_perf_data::{
    AttributeDescription, PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter,
};
use rustc_hash::FxHashMap;

use super::event::Counts;
use crate::builder::{Amount, Builder};
use crate::format::Refusal;
use crate::input::Input;
use code::Code;
use header::Repaired;

/// Frames of one sample that are kept.
const DEEPEST: usize = 4096;

/// From here on an entry of a call chain says whose frames follow.
const MARKERS: u64 = u64::MAX - 4094;
const KERNEL: u64 = u64::MAX - 127;

/// Executable, as `mmap` has it.
const PROT_EXEC: u32 = 4;

pub(super) fn detect(head: &[u8]) -> bool {
    head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP")
}

pub(super) fn read(input: &mut Input<'_>, builder: &mut Builder) -> Result<(), Refusal> {
    // A pipe's header holds nothing but its own size.
    let head = input.head();
    let little = head.starts_with(b"PERFILE2");
    let size = head.get(8..).and_then(|size| check::word(size, little));
    if size == Some(check::PIPE_HEADER) {
        let parsed = PerfFileReader::parse_pipe(check::Pipe::new(input, little))
            .map_err(|error| error.to_string())?;
        return records(parsed.perf_file, parsed.record_iter, builder);
    }
    let file = Repaired::new(input)?;
    let damage = file.damage;
    let parsed = PerfFileReader::parse_file(file).map_err(|error| error.to_string())?;
    if let Some(what) = damage {
        builder.lose(LossKind::FileDamaged, 1, what);
    }
    records(parsed.perf_file, parsed.record_iter, builder)
}

fn records<R: std::io::Read>(
    mut file: PerfFile,
    mut iter: PerfRecordIter<R>,
    builder: &mut Builder,
) -> Result<(), Refusal> {
    let mut data = Data::new(&file, builder);
    loop {
        match iter.next_record(&mut file) {
            Ok(None) => break,
            Ok(Some(PerfFileRecord::EventRecord { attr_index, record })) => {
                data.raw(attr_index, &record);
            }
            Ok(Some(PerfFileRecord::UserRecord(_))) => {}
            Err(error) => {
                let what = format!("the records cannot be read to their end: {error}");
                data.builder.lose(LossKind::FileDamaged, 1, &what);
                break;
            }
        }
    }
    data.finish()
}

/// One event that was recorded.
struct Event {
    name: String,
    counts: Counts,
    /// The period of samples that do not state it.
    period: Option<u64>,
    seen: u64,
}

impl Event {
    fn of(attribute: &AttributeDescription) -> Self {
        let name = match (&attribute.name, attribute.attr.type_) {
            (Some(name), _) => name.clone(),
            (None, kind) => unnamed(kind),
        };
        let period = match attribute.attr.sampling_policy {
            SamplingPolicy::Period(period) => Some(period.get()),
            _ => None,
        };
        Self { counts: Counts::of(&name), name, period, seen: 0 }
    }
}

/// The name of an event of which a file states only the kind.
fn unnamed(kind: PerfEventType) -> String {
    use linux_perf_data::linux_perf_event_reader::{HardwareEventId, SoftwareCounterType};
    let name = match kind {
        PerfEventType::Software(SoftwareCounterType::CpuClock) => "cpu-clock",
        PerfEventType::Software(SoftwareCounterType::TaskClock) => "task-clock",
        PerfEventType::Software(SoftwareCounterType::PageFaults) => "page-faults",
        PerfEventType::Hardware(HardwareEventId::CpuCycles, _) => "cycles",
        PerfEventType::Hardware(HardwareEventId::Instructions, _) => "instructions",
        PerfEventType::Hardware(HardwareEventId::CacheMisses, _) => "cache-misses",
        other => return format!("{other:?}").replace(' ', ""),
    };
    name.to_owned()
}

struct Data<'a> {
    builder: &'a mut Builder,
    events: Vec<Event>,
    code: Code,
    threads: FxHashMap<(i32, i32), ThreadId>,
    /// The number of a process's mappings and the addresses.
    stacks: FxHashMap<Box<[u64]>, Option<StackId>>,
    key: Vec<u64>,
    malformed: u64,
    /// Samples with values of counters, which the crate beneath takes for something else.
    counted: u64,
    lost: u64,
    throttled: u64,
    switches: u64,
    dumps: u64,
}

impl<'a> Data<'a> {
    fn new(file: &PerfFile, builder: &'a mut Builder) -> Self {
        let mut code = Code::default();
        let mut ids: Vec<_> = file.build_ids().unwrap_or_default().into_values().collect();
        ids.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        for info in ids {
            code.states(&String::from_utf8_lossy(&info.path), &info.build_id);
        }
        let attributes = file.event_attributes();
        if attributes.len() > 1 && attributes.iter().all(|event| event.event_ids.is_empty()) {
            let what =
                "events cannot be told apart in this file: all samples are taken for the first";
            builder.lose(LossKind::DetailLeftOut, attributes.len() as u64 - 1, what);
        }
        Self {
            builder,
            events: file.event_attributes().iter().map(Event::of).collect(),
            code,
            threads: FxHashMap::default(),
            stacks: FxHashMap::default(),
            key: Vec::new(),
            malformed: 0,
            counted: 0,
            lost: 0,
            throttled: 0,
            switches: 0,
            dumps: 0,
        }
    }

    fn raw(&mut self, attribute: usize, record: &RawEventRecord<'_>) {
        if record.record_type == RecordType::SAMPLE
            && record.parse_info.sample_format.contains(SampleFormat::READ)
        {
            self.counted += 1;
            return;
        }
        match check::fits(record).then(|| record.parse()) {
            Some(Ok(record)) => self.record(attribute, &record),
            _ => self.malformed += 1,
        }
    }

    fn record(&mut self, attribute: usize, record: &EventRecord<'_>) {
        match record {
            EventRecord::Sample(sample) => self.sample(attribute, sample),
            EventRecord::Comm(comm) => {
                if comm.is_execve {
                    self.code.exec(comm.pid);
                }
                let name = String::from_utf8_lossy(&comm.name.as_slice()).into_owned();
                self.thread(comm.pid, comm.tid, &name);
            }
            EventRecord::Fork(fork) => self.code.fork(fork.ppid, fork.pid),
            EventRecord::Mmap(map) if map.is_executable || map.pid == -1 => {
                let path = String::from_utf8_lossy(&map.path.as_slice()).into_owned();
                let place = (map.address, map.length, map.page_offset);
                self.code.map(map.pid, place, (&path, None), self.builder);
            }
            EventRecord::Mmap2(map) if map.protection & PROT_EXEC != 0 => {
                let path = String::from_utf8_lossy(&map.path.as_slice()).into_owned();
                let id = match &map.file_id {
                    Mmap2FileId::BuildId(id) => Some(id.as_slice()),
                    Mmap2FileId::InodeAndVersion(_) => None,
                };
                let place = (map.address, map.length, map.page_offset);
                self.code.map(map.pid, place, (&path, id), self.builder);
            }
            EventRecord::Lost(lost) => self.lost = self.lost.saturating_add(lost.count),
            EventRecord::Throttle(_) => self.throttled += 1,
            EventRecord::ContextSwitch(_) => self.switches += 1,
            _ => {}
        }
    }

    fn thread(&mut self, pid: i32, tid: i32, name: &str) -> ThreadId {
        let known = self.threads.get(&(pid, tid)).copied();
        if let (Some(known), true) = (known, name.is_empty()) {
            return known;
        }
        let number = |id: i32| u32::try_from(id).unwrap_or(0);
        let process = self.builder.process(number(pid), if pid == tid { name } else { "" });
        let thread = self.builder.thread(process, number(tid), name);
        self.threads.insert((pid, tid), thread);
        thread
    }

    fn sample(&mut self, attribute: usize, sample: &SampleRecord<'_>) {
        let (pid, tid) = (sample.pid.unwrap_or(-1), sample.tid.unwrap_or(-1));
        let thread = self.thread(pid, tid, "");
        let Some(event) = self.events.get_mut(attribute) else {
            self.malformed += 1;
            return;
        };
        event.seen += 1;
        let (metric, value) = event.counts.value(sample.period.or(event.period));
        let named = event.counts.named;
        self.dumps += u64::from(sample.user_stack.is_some());
        self.fill_key(pid, attribute, named, sample);
        let stack = match self.stacks.get(&*self.key) {
            Some(known) => *known,
            None => {
                let stack = self.stack(pid, attribute, named);
                self.stacks.insert(self.key.as_slice().into(), stack);
                stack
            }
        };
        let cause = (metric == Metric::Cpu).then_some(match sample.cpu_mode {
            CpuMode::Kernel | CpuMode::GuestKernel | CpuMode::Hypervisor => Cause::CpuKernel,
            _ => Cause::CpuUser,
        });
        self.builder.add(Amount {
            time: sample.timestamp.unwrap_or(0),
            thread: Some(thread),
            cause,
            ..Amount::at(stack, metric, value)
        });
    }

    /// What a stack is known by: the mappings' number, the event where it is a frame, and the chain.
    fn fill_key(&mut self, pid: i32, attribute: usize, named: bool, sample: &SampleRecord<'_>) {
        self.key.clear();
        self.key.push(self.code.number(pid));
        self.key.push(if named { attribute as u64 + 1 } else { 0 });
        match &sample.callchain {
            Some(chain) if !chain.is_empty() => {
                let chain = (0..chain.len().min(DEEPEST)).filter_map(|at| chain.get(at));
                self.key.extend(chain);
            }
            _ => {
                if sample.cpu_mode == CpuMode::Kernel {
                    self.key.push(KERNEL);
                }
                self.key.extend(sample.ip);
            }
        }
    }

    /// The stack of the chain in the key.
    fn stack(&mut self, pid: i32, attribute: usize, named: bool) -> Option<StackId> {
        let mut chain = Vec::new();
        let (mut kernel, mut interrupted) = (false, true);
        for entry in self.key.get(2..).unwrap_or_default() {
            if *entry >= MARKERS {
                (kernel, interrupted) = (*entry == KERNEL, true);
                continue;
            }
            // A return address is that of the instruction behind the call.
            let lookup = if interrupted { *entry } else { entry.saturating_sub(1) };
            chain.push((lookup, kernel));
            interrupted = false;
        }
        let mut stack = None;
        for (lookup, kernel) in chain.into_iter().rev() {
            let space = (!kernel).then_some(pid);
            for frame in self.code.frames(space, lookup, self.builder) {
                stack = Some(self.builder.push(stack, frame));
            }
        }
        if named {
            let name = format!("[event]!{}", self.events[attribute].name);
            let leaf = self.builder.named(&name);
            stack = Some(self.builder.push(stack, leaf));
        }
        stack
    }

    fn finish(self) -> Result<(), Refusal> {
        let builder = self.builder;
        if builder.recording().costs.is_empty() {
            let counted = "its samples hold values of counters (`:S`), which are not read";
            return Err(if self.counted > 0 { counted } else { "it holds no sample" }.to_owned());
        }
        for (kind, count, what) in [
            (LossKind::RecordsMalformed, self.malformed, "records that make no sense"),
            (
                LossKind::DetailLeftOut,
                self.counted,
                "samples that hold values of counters (`:S`), which are not read",
            ),
            (LossKind::SamplesLost, self.lost, "records that perf lost while recording"),
            (
                LossKind::SamplingThrottled,
                self.throttled,
                "times that the kernel held sampling back",
            ),
            (
                LossKind::StacksTruncated,
                self.dumps,
                "copied user stacks (--call-graph dwarf), which are not unwound: only the frames that perf noted itself are there",
            ),
            (
                LossKind::DetailLeftOut,
                self.switches,
                "switch records, from which no thread time is computed; `culprit record` measures it",
            ),
        ] {
            if count > 0 {
                builder.lose(kind, count, what);
            }
        }
        let switch =
            self.events.iter().filter(|event| event.name.starts_with("sched:sched_switch"));
        for event in switch.filter(|event| event.seen > 0) {
            let sampled = event.period != Some(1);
            let what = if sampled {
                "sched:sched_switch was sampled: switches between the samples are missing, so that no durations can be computed from them"
            } else {
                "sched:sched_switch events are counted; no thread time is computed from them; `culprit record` measures it"
            };
            builder.lose(LossKind::DetailLeftOut, event.seen, what);
        }
        Ok(())
    }
}
