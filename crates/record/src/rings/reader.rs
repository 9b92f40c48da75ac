//! The thread that empties the rings.
//!
//! It does as little as can be: copy, hand over, sleep. In rounds, at most [`ROUND`] apart, it
//! reads every ring and sends the copies with a horizon (see `order`); between rounds it wakes for
//! new mappings only, and opens their files at once, because the process may be gone a moment
//! later. It runs at real-time priority where that is allowed: a reader that is kept from the CPU
//! for some milliseconds is the usual reason for lost records.
//!
//! Memory is bounded by [`Budget`]: when the worker falls behind, samples are thrown away and
//! counted, switches never are.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use culprit_kernel::{Map, Record, order};
use rustc_hash::FxHashMap;
use rustix::event::{EventfdFlags, eventfd};

use crate::clock::monotonic_ns;
use crate::enrich::files::{FileOpener, OpenedFile};
use crate::enrich::interpreters::Notice;
use crate::enrich::runtimes::{EndedEarly, FolderOpener, NameFolder};
use crate::events::attr::{Role, Stream};
use crate::events::decode::{Body, EventShape, EventShapes, decode};
use crate::probes::Request;
use crate::rings::chunk::Chunk;
use crate::rings::pace::{DUMPS_SAVED, Pace};
use crate::rings::source::{Dropped, EventSource, Ready};
use crate::session::plan::ClockRate;
use crate::sys::be_realtime;

/// Longest time between two rounds. A ring of 8 MiB takes 170 ms at 130,000 switches a second; the
/// watermark wakes the reader earlier than that. Shorter rounds cost more and bring nothing.
const ROUND: Duration = Duration::from_millis(100);

/// Longest time until a cgroup that was joined is seen.
const SLICE: Duration = Duration::from_millis(20);

/// The sign that ends the reading. It also wakes the reader.
#[derive(Debug)]
pub(crate) struct StopSignal {
    given: AtomicBool,
    /// Readable once it is given; none where no descriptor was left.
    wake: Option<OwnedFd>,
}

impl StopSignal {
    pub(crate) fn new() -> Self {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { given: AtomicBool::new(false), wake }
    }

    pub(crate) fn give(&self) {
        self.given.store(true, Ordering::Release);
        if let Some(wake) = &self.wake {
            // Without it, the sign is seen a moment later.
            let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
        }
    }

    fn is_given(&self) -> bool {
        self.given.load(Ordering::Acquire)
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(AsFd::as_fd)
    }
}

/// What one round brought.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Everything older than this has been read, in this round or an earlier one.
    pub(crate) horizon: u64,
    /// When the round began.
    pub(crate) began: u64,
    /// What was in the rings.
    pub(crate) chunks: Vec<Chunk>,
    /// What the records of new events look like.
    pub(crate) shapes: Vec<EventShape>,
    /// Why events could not be opened on cgroups that processes have joined.
    pub(crate) refusals: Vec<io::Error>,
    /// Files of new mappings.
    pub(crate) files: Vec<OpenedFile>,
    /// Folders of runtimes that were mapped, and whose could not be opened any more.
    pub(crate) folders: Vec<Result<NameFolder, EndedEarly>>,
    /// Some switches of this round were left without a stack on purpose.
    pub(crate) thinned: bool,
    /// Records thrown away because the worker was behind.
    pub(crate) discarded: Discarded,
    /// The source's own count of lost records; only with the last batch.
    pub(crate) dropped: Option<Vec<Dropped>>,
    /// Nothing comes after this.
    pub(crate) last: bool,
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
    stop: Arc<StopSignal>,
    out: Sender<Batch>,
    spares: Receiver<Vec<u64>>,
    spare: Vec<Vec<u64>>,
    pending: Vec<Chunk>,
    opened: Opened,
    last_round: u64,
    paces: FxHashMap<(u32, Role), Pace>,
    rates: SampleRates,
    prober: Option<Sender<Request>>,
    interpreters: Sender<Notice>,
    joined: Receiver<OwnedFd>,
    /// What the records of events look like that the worker has not been told of.
    fresh: Vec<EventShape>,
    /// Likewise, why some could not be opened.
    refusals: Vec<io::Error>,
}

/// The reader's ends of its channels.
pub(crate) struct Lines {
    /// Batches to the worker.
    pub(crate) out: Sender<Batch>,
    /// Empty buffers from the worker.
    pub(crate) spares: Receiver<Vec<u64>>,
    /// Given to end the recording.
    pub(crate) stop: Arc<StopSignal>,
    /// Bytes on the way.
    pub(crate) budget: Arc<Budget>,
    /// How often the program is looked at.
    pub(crate) rates: SampleRates,
    /// Who wants to know what is mapped, to place probes there.
    pub(crate) prober: Option<Sender<Request>>,
    /// To who reads interpreters: processes that map code may have one.
    pub(crate) interpreters: Sender<Notice>,
    /// Cgroups that recorded processes have joined.
    pub(crate) joined: Receiver<OwnedFd>,
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
        let Lines { out, spares, stop, budget, rates, prober, interpreters, joined } = lines;
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
            paces: FxHashMap::default(),
            rates,
            prober,
            interpreters,
            joined,
            fresh: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Reads until told to stop, or until the worker is gone. Gives the source back, so that its
    /// rings are unmapped by who opened them.
    pub(crate) fn run(mut self) -> S {
        // Not allowed without CAP_SYS_NICE; then the reader competes like everybody else.
        let _ = be_realtime();
        let mut next_round = monotonic_ns();
        while !self.stop.is_given() {
            self.follow();
            let now = monotonic_ns();
            let left = Duration::from_nanos(next_round.saturating_sub(now));
            // A failed wait must not become a busy loop that is silent about it: read everything.
            let ready = self.source.wait(left.min(SLICE), self.stop.wake()).unwrap_or(Ready::All);
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

    /// Goes on with what recorded processes do in cgroups that they have joined.
    fn follow(&mut self) {
        while let Ok(cgroup) = self.joined.try_recv() {
            match self.source.add_cgroup(cgroup.as_fd()) {
                Ok(shapes) => {
                    self.shapes.add(shapes.clone());
                    self.fresh.extend(shapes);
                }
                Err(refusal) => self.refusals.push(refusal),
            }
        }
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
        let rest = [Stream::Stacks, Stream::Samples, Stream::Accounting, Stream::Probes];
        self.source.drain(&rest, &mut self.spare, &mut self.pending);
        let discarded =
            if self.budget.exhausted() { self.discard(first) } else { Discarded::default() };
        let thinned = self.set_paces(began);
        if let Some(eased) = self.rates.clock.take_if(|eased| began >= eased.from) {
            self.source.set_clock_period(eased.period);
        }
        let chunks = std::mem::take(&mut self.pending);
        self.budget.take(chunks.iter().map(|chunk| chunk.words.len() * 8).sum());
        let horizon = if last { u64::MAX } else { self.last_round };
        self.last_round = began;
        let dropped = if last { self.source.dropped() } else { None };
        let Opened { files, folders } = std::mem::take(&mut self.opened);
        self.out
            .send(Batch {
                horizon,
                began,
                chunks,
                shapes: std::mem::take(&mut self.fresh),
                refusals: std::mem::take(&mut self.refusals),
                files,
                folders,
                thinned,
                discarded,
                dropped,
                last,
            })
            .is_ok()
    }

    /// Thins out stacks and dumps of CPUs that switch often; true when a round's stacks were
    /// thinned.
    fn set_paces(&mut self, now: u64) -> bool {
        let length = now.saturating_sub(self.last_round);
        let mut thinned = false;
        let switching = self.pending.iter().filter(|chunk| chunk.stream == Stream::Accounting);
        for chunk in switching {
            let switches = switches_in(chunk);
            let stacks = || Pace::new(self.rates.stacks);
            let dumps = || Pace::with_saved(self.rates.dumps, DUMPS_SAVED);
            let new: [(Role, &dyn Fn() -> Pace); 2] =
                [(Role::SwitchStack, &stacks), (Role::SwitchDump, &dumps)];
            for (role, new) in new {
                let pace = self.paces.entry((chunk.cpu, role)).or_insert_with(new);
                thinned |= role == Role::SwitchStack && pace.thins();
                if let Some(period) = pace.round(switches, length, now)
                    && !self.source.set_period(chunk.cpu, role, period)
                {
                    *pace = Pace::new(None);
                }
            }
        }
        thinned
    }

    fn discard(&mut self, first: usize) -> Discarded {
        let mut discarded = Discarded::default();
        for chunk in &mut self.pending[first..] {
            match chunk.stream {
                Stream::Samples | Stream::Stacks => discarded.samples += count_records(chunk),
                Stream::Probes => discarded.hits += count_records(chunk),
                Stream::Maps | Stream::Accounting => continue,
            }
            chunk.words.clear();
        }
        discarded
    }
}

/// The switches of recorded threads in a chunk: each has two switch records.
fn switches_in(chunk: &Chunk) -> u64 {
    let headers = chunk.records().filter_map(|(_, record)| order::split(record));
    headers.filter(|(header, _)| header.is_switch()).count() as u64 / 2
}

/// Shows each mapping of code in a chunk, with its time.
fn each_map(chunk: &Chunk, shapes: &EventShapes, mut show: impl FnMut(&Map<'_>, u64)) {
    for (place, record) in chunk.records() {
        if let Ok(Body::Record(Record::Map(map), _)) = decode(record, chunk.stream, shapes)
            && map.executable
        {
            show(&map, place.time);
        }
    }
}

fn count_records(chunk: &Chunk) -> u64 {
    chunk.records().count() as u64
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

        fn wait(&mut self, _: Duration, _: Option<BorrowedFd<'_>>) -> io::Result<Ready> {
            Ok(Ready::Nothing)
        }

        fn drain(&mut self, _: &[Stream], _: &mut Vec<Vec<u64>>, _: &mut Vec<Chunk>) {}

        fn set_clock_period(&mut self, period: u64) {
            self.0.push(period);
        }
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
