//! The thread that empties the rings.
//!
//! It does as little as can be: copy, hand over, sleep. In rounds, at most [`ROUND`] apart, it
//! reads every ring and sends the copies with a horizon (see `order`); between rounds it wakes for
//! new mappings only, and opens their files at once, because the process may be gone a moment
//! later. It runs at real-time priority where that is allowed: a reader that is kept from the CPU
//! for some milliseconds is the usual reason for lost records.
//!
//! A round begins with the accounting: it says how often each CPU switches, and so how many stacks are
//! taken from now on. Only then the larger rings are copied.
//!
//! Memory is bounded by [`Budget`]: when the worker falls behind, fewer stacks are taken, by halves; when
//! that is not enough, one sample in [`KEPT`] is kept of a round and the others are counted. Switches are
//! never thrown away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::attr::{Role, Stream};
use crate::clock::monotonic_ns;
use crate::decode::{Body, EventShapes, Map, decode, head_at, is_sample, is_switch};
use crate::files::{FileOpener, OpenedFile};
use crate::interpreters::Notice;
use crate::order::Chunk;
use crate::pace::{DUMPS_SAVED, Pace};
use crate::plan::ClockRate;
use crate::probes::Request;
use crate::runtimes::{EndedEarly, FolderOpener, NameFolder};
use crate::source::{Dropped, EventSource, Ready};
use crate::sys::be_realtime;

/// Longest time between two rounds. A ring of 8 MiB takes 170 ms at 130,000 switches a second; the
/// watermark wakes the reader earlier than that. Shorter rounds cost more and bring nothing.
const ROUND: Duration = Duration::from_millis(100);

/// Longest time until a request to stop is seen, where nothing wakes the reader for it.
const SLICE: Duration = Duration::from_millis(20);

/// Of so many samples of a round one is kept, when the worker is as far behind as memory allows.
const KEPT: u64 = 16;

/// Parts of the queue's bound: for each that is full, limits are halved once.
const PRESSURE_PARTS: usize = 8;

/// What one round brought.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Everything older than this has been read, in this round or an earlier one.
    pub(crate) horizon: u64,
    /// When the round began.
    pub(crate) began: u64,
    /// What was in the rings.
    pub(crate) chunks: Vec<Chunk>,
    /// Files of new mappings.
    pub(crate) files: Vec<OpenedFile>,
    /// Folders of runtimes that were mapped, and whose could not be opened any more.
    pub(crate) folders: Vec<Result<NameFolder, EndedEarly>>,
    /// Some switches of this round were left without a stack on purpose.
    pub(crate) thinned: bool,
    /// When a CPU's switches were told by the tracepoint alone, and its wakeups by their wakings.
    pub(crate) traced_only: Vec<TracedOnly>,
    /// Records thrown away because the worker was behind.
    pub(crate) discarded: Discarded,
    /// The source's own count of lost records; only with the last batch.
    pub(crate) dropped: Option<Vec<Dropped>>,
    /// Nothing comes after this.
    pub(crate) last: bool,
}

/// A time in which a CPU's switch records and its `sched_wakeup` were stopped, because it switched so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TracedOnly {
    /// Which CPU.
    pub(crate) cpu: u32,
    /// From when: `CLOCK_MONOTONIC`, ns.
    pub(crate) from: u64,
    /// Until when; none while it goes on.
    pub(crate) to: Option<u64>,
}

/// Records thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Discarded {
    /// Samples and stacks.
    pub(crate) samples: u64,
    /// Hits of probes.
    pub(crate) hits: u64,
}

/// Bytes on the way from the reader to the worker, and how many there may be.
#[derive(Debug)]
pub(crate) struct Budget {
    queued: AtomicUsize,
    most: usize,
}

impl Budget {
    /// A budget of `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { queued: AtomicUsize::new(0), most }
    }

    /// Bytes that the worker has taken off the queue.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.queued.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) {
        self.queued.fetch_add(bytes, Ordering::Relaxed);
    }

    fn exhausted(&self) -> bool {
        self.queued.load(Ordering::Relaxed) > self.most
    }

    /// How many eighths of the bound are on the way.
    pub(crate) fn pressure(&self) -> u32 {
        let parts = self.queued.load(Ordering::Relaxed) * PRESSURE_PARTS / self.most.max(1);
        u32::try_from(parts).unwrap_or(u32::MAX)
    }
}

/// Opens what must be opened while processes live.
#[derive(Debug, Default)]
pub(crate) struct Opener {
    /// Files of mappings.
    pub(crate) files: FileOpener,
    /// Folders of language runtimes.
    pub(crate) folders: FolderOpener,
}

/// What was opened since the last round.
#[derive(Debug, Default)]
struct Opened {
    files: Vec<OpenedFile>,
    folders: Vec<Result<NameFolder, EndedEarly>>,
}

/// Everything that the reader works with.
pub(crate) struct Reader<S> {
    source: S,
    shapes: EventShapes,
    opener: Opener,
    budget: Arc<Budget>,
    stop: Arc<AtomicBool>,
    out: Sender<Batch>,
    spares: Receiver<Vec<u64>>,
    spare: Vec<Vec<u64>>,
    pending: Vec<Chunk>,
    opened: Opened,
    last_round: u64,
    /// When the rates were last looked at.
    last_paced: u64,
    paces: FxHashMap<(u32, Role), Pace>,
    /// CPUs whose switches the tracepoint tells alone now, with when that began.
    traced_only: FxHashMap<u32, u64>,
    /// What has changed of these since the last round.
    changed: Vec<TracedOnly>,
    rates: SampleRates,
    prober: Option<Sender<Request>>,
    interpreters: Sender<Notice>,
}

/// The reader's ends of its channels.
pub(crate) struct Lines {
    /// Batches to the worker.
    pub(crate) out: Sender<Batch>,
    /// Empty buffers from the worker.
    pub(crate) spares: Receiver<Vec<u64>>,
    /// Set to end the recording.
    pub(crate) stop: Arc<AtomicBool>,
    /// Bytes on the way.
    pub(crate) budget: Arc<Budget>,
    /// How often the program is looked at.
    pub(crate) rates: SampleRates,
    /// Who wants to know what is mapped, to place probes there.
    pub(crate) prober: Option<Sender<Request>>,
    /// To who reads interpreters: processes that map code may have one.
    pub(crate) interpreters: Sender<Notice>,
}

/// How often the program is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SampleRates {
    /// Stacks by frame pointers at switches, a second and CPU, at most; none for always.
    pub(crate) stacks: Option<u32>,
    /// Dumps at switches, likewise.
    pub(crate) dumps: Option<u32>,
    /// From when on the clock samples less often; none for never.
    pub(crate) clock: Option<EasedClock>,
}

/// A lower rate of the clock's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EasedClock {
    /// From when on: `CLOCK_MONOTONIC`, ns.
    from: u64,
    /// CPU time from one sample to the next, ns.
    period: u64,
}

impl EasedClock {
    /// The rate, samples a second, of a recording that began then.
    pub(crate) fn new(began: u64, rate: u32) -> Self {
        let period = 1_000_000_000 / u64::from(rate.max(1));
        Self { from: began.saturating_add(nanos(ClockRate::EASED_AFTER)), period }
    }
}

impl<S: EventSource> Reader<S> {
    /// A reader of `source`; `early` has been read already and goes with the first batch.
    pub(crate) fn new(source: S, opener: Opener, early: Vec<Chunk>, lines: Lines) -> Self {
        let Lines { out, spares, stop, budget, rates, prober, interpreters } = lines;
        Self {
            shapes: source.shapes(),
            source,
            opener,
            budget,
            stop,
            out,
            spares,
            spare: Vec::new(),
            pending: early,
            opened: Opened::default(),
            last_round: 0,
            last_paced: monotonic_ns(),
            paces: FxHashMap::default(),
            traced_only: FxHashMap::default(),
            changed: Vec::new(),
            rates,
            prober,
            interpreters,
        }
    }

    /// Reads until told to stop, or until the worker is gone. Gives the source back, so that its
    /// rings are unmapped by who opened them.
    pub(crate) fn run(mut self) -> S {
        // Not allowed without CAP_SYS_NICE; then the reader competes like everybody else.
        let _ = be_realtime();
        let mut next_round = monotonic_ns();
        while !self.stop.load(Ordering::Acquire) {
            let now = monotonic_ns();
            let left = Duration::from_nanos(next_round.saturating_sub(now));
            // A failed wait must not become a busy loop that is silent about it: read everything.
            let ready = self.source.wait(left.min(SLICE)).unwrap_or(Ready::All);
            let early = monotonic_ns() < next_round;
            match ready {
                Ready::Maps if early => self.read_maps(),
                Ready::Nothing if early => {}
                _ => {
                    next_round = monotonic_ns() + nanos(ROUND);
                    if !self.round(false) {
                        break;
                    }
                }
            }
        }
        self.source.stop();
        self.round(true);
        self.source
    }

    /// What is read from.
    #[cfg(test)]
    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    fn read_maps(&mut self) {
        let first = self.pending.len();
        self.source.drain(&[Stream::Maps], &mut self.spare, &mut self.pending);
        for chunk in &self.pending[first..] {
            each_map(chunk, &self.shapes, |map, at| {
                let (opener, opened, pid) = (&mut self.opener, &mut self.opened, map.task.pid);
                opened.files.extend(opener.files.see(pid, map.file, map.path));
                opened.folders.extend(opener.folders.see(pid, map.path));
                // Who is told may have ended; then nothing is placed or read any more.
                if let Some(prober) = &self.prober {
                    let path = String::from_utf8_lossy(map.path).into_owned();
                    let _ = prober.send(Request::Mapped { pid, path, at });
                }
                let _ = self.interpreters.send(Notice::Mapped(pid));
            });
        }
    }

    /// Reads every ring and sends the batch; false when nobody listens.
    pub(crate) fn round(&mut self, last: bool) -> bool {
        self.spare.extend(self.spares.try_iter());
        let began = monotonic_ns();
        self.read_maps();
        let first = self.pending.len();
        self.source.drain(&[Stream::Accounting], &mut self.spare, &mut self.pending);
        let thinned = self.set_paces(began);
        let rest = [Stream::Stacks, Stream::Samples, Stream::Probes];
        self.source.drain(&rest, &mut self.spare, &mut self.pending);
        let discarded =
            if self.budget.exhausted() { self.discard(first) } else { Discarded::default() };
        if let Some(eased) = self.rates.clock.take_if(|eased| began >= eased.from) {
            self.source.set_clock_period(eased.period);
        }
        let chunks = std::mem::take(&mut self.pending);
        self.budget.take(chunks.iter().map(|chunk| chunk.words.len() * 8).sum());
        let horizon = if last { u64::MAX } else { self.last_round };
        self.last_round = began;
        let dropped = if last { self.source.dropped() } else { None };
        let traced_only = std::mem::take(&mut self.changed);
        let Opened { files, folders } = std::mem::take(&mut self.opened);
        self.out
            .send(Batch {
                horizon,
                began,
                chunks,
                files,
                folders,
                thinned,
                traced_only,
                discarded,
                dropped,
                last,
            })
            .is_ok()
    }

    /// Thins out stacks and dumps of CPUs that switch often; true when a round's stacks were
    /// thinned.
    fn set_paces(&mut self, now: u64) -> bool {
        let length = now.saturating_sub(std::mem::replace(&mut self.last_paced, now));
        let halvings = self.budget.pressure();
        let mut thinned = false;
        let mut changes = Vec::new();
        let switching = self.pending.iter().filter(|chunk| chunk.stream == Stream::Accounting);
        for chunk in switching {
            let switches = switches_in(chunk, self.traced_only.contains_key(&chunk.cpu));
            let stacks = || Pace::new(self.rates.stacks);
            let dumps = || Pace::with_saved(self.rates.dumps, DUMPS_SAVED);
            let new: [(Role, &dyn Fn() -> Pace); 2] =
                [(Role::SwitchStack, &stacks), (Role::SwitchDump, &dumps)];
            for (role, new) in new {
                let pace = self.paces.entry((chunk.cpu, role)).or_insert_with(new);
                thinned |= role == Role::SwitchStack && pace.thins();
                if let Some(period) = pace.round(switches, (length, now), halvings)
                    && !self.source.set_period(chunk.cpu, role, period)
                {
                    *pace = Pace::new(None);
                }
                thinned |= role == Role::SwitchStack && pace.thins();
                if role == Role::SwitchStack {
                    changes.push((chunk.cpu, pace.thins()));
                }
            }
        }
        for (cpu, thins) in changes {
            self.leave_to_tracepoint(cpu, thins);
        }
        thinned
    }

    /// Stops what the tracepoint of switches tells, too, while a CPU's stacks are thinned: its switch records, and
    /// where threads are put on its queue. Starts them again afterwards.
    fn leave_to_tracepoint(&mut self, cpu: u32, thins: bool) {
        let since = self.traced_only.get(&cpu).copied();
        if thins == since.is_some() {
            return;
        }
        // What is recorded between the two instants may be told twice, which does no harm.
        let before = monotonic_ns();
        if !self.source.set_enabled(cpu, Role::Switches, !thins) {
            // There is no such event: switch records are all there is.
            return;
        }
        self.source.set_enabled(cpu, Role::Wakeup, !thins);
        let change = match since {
            None => TracedOnly { cpu, from: before, to: None },
            Some(from) => TracedOnly { cpu, from, to: Some(monotonic_ns()) },
        };
        match thins {
            true => self.traced_only.insert(cpu, before),
            false => self.traced_only.remove(&cpu),
        };
        self.changed.push(change);
    }

    fn discard(&mut self, first: usize) -> Discarded {
        let mut discarded = Discarded::default();
        for chunk in &mut self.pending[first..] {
            match chunk.stream {
                Stream::Samples | Stream::Stacks => discarded.samples += thin_out(chunk),
                Stream::Probes => {
                    discarded.hits += count_records(chunk);
                    chunk.words.clear();
                }
                Stream::Maps | Stream::Accounting => {}
            }
        }
        discarded
    }
}

/// The switches of recorded threads in a chunk: each has two switch records. Where the tracepoint tells them
/// alone, all switches.
fn switches_in(chunk: &Chunk, traced_only: bool) -> u64 {
    let mut start = 0;
    let (mut records, mut traced) = (0, 0);
    while let Some(Ok(head)) = head_at(&chunk.words, start, chunk.stream) {
        records += u64::from(is_switch(chunk.words[start]));
        traced += u64::from(is_sample(chunk.words[start]));
        start += head.words;
    }
    if traced_only { traced } else { records / 2 }
}

/// Keeps one record in [`KEPT`], evenly; gives how many were left out.
fn thin_out(chunk: &mut Chunk) -> u64 {
    let (mut start, mut kept, mut count, mut left_out) = (0, 0, 0, 0);
    while let Some(Ok(head)) = head_at(&chunk.words, start, chunk.stream) {
        let end = start + head.words;
        if count % KEPT == 0 {
            chunk.words.copy_within(start..end, kept);
            kept += head.words;
        } else {
            left_out += 1;
        }
        count += 1;
        start = end;
    }
    chunk.words.truncate(kept);
    left_out
}

/// Shows each mapping of code in a chunk, with its time.
fn each_map(chunk: &Chunk, shapes: &EventShapes, mut show: impl FnMut(&Map<'_>, u64)) {
    let mut start = 0;
    while let Some(Ok(head)) = head_at(&chunk.words, start, chunk.stream) {
        start += head.words;
        if let Ok(record) = decode(&chunk.words, head, chunk.stream, shapes)
            && let Body::Map(map) = record.body
        {
            show(&map, record.time);
        }
    }
}

fn count_records(chunk: &Chunk) -> u64 {
    let (mut start, mut count) = (0, 0);
    while let Some(Ok(head)) = head_at(&chunk.words, start, chunk.stream) {
        start += head.words;
        count += 1;
    }
    count
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Crew;

    /// A source without records that notes the period of its clock.
    #[derive(Default)]
    struct Clock(Vec<u64>);

    impl EventSource for Clock {
        fn shapes(&self) -> EventShapes {
            EventShapes::default()
        }

        fn wait(&mut self, _: Duration) -> std::io::Result<Ready> {
            Ok(Ready::Nothing)
        }

        fn drain(&mut self, _: &[Stream], _: &mut Vec<Vec<u64>>, _: &mut Vec<Chunk>) {}

        fn set_clock_period(&mut self, period: u64) {
            self.0.push(period);
        }
    }

    /// A source of switches on one CPU: so many records a round. Notes what it is told.
    #[derive(Default)]
    struct Switching {
        records: Vec<usize>,
        enabled: Vec<(Role, bool)>,
        thinned: Vec<(Role, bool)>,
    }

    /// A record of three words: header, thread, time.
    fn record(kind: u64, time: u64) -> [u64; 3] {
        [kind | 24 << 48, 7, time]
    }

    impl EventSource for Switching {
        fn shapes(&self) -> EventShapes {
            EventShapes::default()
        }

        fn wait(&mut self, _: Duration) -> std::io::Result<Ready> {
            Ok(Ready::Nothing)
        }

        fn drain(&mut self, streams: &[Stream], _: &mut Vec<Vec<u64>>, out: &mut Vec<Chunk>) {
            if streams == [Stream::Accounting] {
                let switch = u64::from(perf_event_open_sys::bindings::PERF_RECORD_SWITCH);
                let count = self.records.pop().unwrap_or_default() as u64;
                let words = (0..count).flat_map(|time| record(switch, time)).collect();
                out.push(Chunk { stream: Stream::Accounting, cpu: 0, words });
            }
        }

        fn set_period(&mut self, _: u32, role: Role, period: u64) -> bool {
            self.thinned.push((role, period > 1));
            true
        }

        fn set_enabled(&mut self, _: u32, role: Role, on: bool) -> bool {
            self.enabled.push((role, on));
            true
        }
    }

    #[test]
    fn very_many_switches_are_left_to_the_tracepoint_and_only_some_get_a_stack() {
        // So many that they are too many for a round of eight seconds, then hardly any.
        let source = Switching { records: vec![2, 400_000], ..Switching::default() };
        let rates = SampleRates { stacks: Some(25_000), dumps: Some(1_000), clock: None };
        let crew = Crew::new(rates);
        let mut reader = Reader::new(source, Opener::default(), Vec::new(), crew.lines);
        assert!(reader.round(false) && reader.round(false), "somebody listens");
        let source = reader.source;
        let (switches, wakeups) = (Role::Switches, Role::Wakeup);
        let told = [(switches, false), (wakeups, false), (switches, true), (wakeups, true)];
        assert_eq!(source.enabled, told);
        let stacks = source.thinned.iter().filter(|(role, _)| *role == Role::SwitchStack);
        assert_eq!(stacks.map(|(_, thins)| *thins).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_is_too_much_is_thinned_evenly() {
        let sample = u64::from(perf_event_open_sys::bindings::PERF_RECORD_SAMPLE);
        let words = (0..40).flat_map(|time| record(sample, time)).collect();
        let mut chunk = Chunk { stream: Stream::Stacks, cpu: 0, words };
        assert_eq!(thin_out(&mut chunk), 37);
        let times: Vec<u64> = chunk.words.chunks(3).map(|record| record[2]).collect();
        assert_eq!(times, [0, 16, 32]);
    }

    #[test]
    fn the_fuller_the_queue_the_fewer_stacks() {
        let budget = Budget::new(800);
        assert_eq!(budget.pressure(), 0);
        budget.take(350);
        assert_eq!(budget.pressure(), 3);
        budget.give_back(350);
        assert_eq!((budget.pressure(), budget.exhausted()), (0, false));
    }

    /// The periods that are set in two rounds of a recording that began so long ago.
    fn periods(age: Duration) -> Vec<u64> {
        let began = monotonic_ns().saturating_sub(nanos(age));
        let rates = SampleRates { clock: Some(EasedClock::new(began, 250)), ..Default::default() };
        let crew = Crew::new(rates);
        let mut reader = Reader::new(Clock::default(), Opener::default(), Vec::new(), crew.lines);
        assert!(reader.round(false) && reader.round(false), "somebody listens");
        reader.source.0
    }

    #[test]
    fn the_clock_is_eased_once_and_only_after_its_time() {
        assert_eq!(periods(ClockRate::EASED_AFTER), [4_000_000]);
        assert!(periods(ClockRate::EASED_AFTER / 4).is_empty());
    }
}
