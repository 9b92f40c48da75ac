//! The thread that makes rows of records and writes them out.
//!
//! ```text
//! reader --batches--> worker: sort, handle, name, flush --parts--> file
//! poller --readings->
//! ```
//!
//! Everything of a recording but the rings belongs to it, so nothing here is locked. When writing
//! fails (a full disk), it says so, goes on emptying its queues without keeping anything, and the
//! recording ends early with what is in the file.

mod readings;
mod remains;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use culprit_kernel::{Map, Record, Sorter, Task};
use culprit_model::{LossKind, Nanos};
use culprit_recording::{Error as WriteError, SpoolWriter};
use culprit_symbols::KernelSymbols;

use crate::clock::monotonic_ns;
use crate::enrich::asleep::SleeperRow;
use crate::enrich::interpreters::Notice;
use crate::enrich::managed::ManagedCode;
use crate::enrich::poller::{Reading, Roster};
use crate::events::attr::{Role, Stream};
use crate::events::decode::{Body, EventShapes, decode};
use crate::events::handle::{Context, Handler};
use crate::events::space::SpaceId;
use crate::events::stacks::{RawStack, RawStacks};
use crate::events::tables::{Growing, Written};
use crate::probes::{News, Request, Trouble};
use crate::rings::chunk::Chunk;
use crate::rings::reader::{Batch, Budget, Discarded};
use crate::rings::source::Dropped;
use crate::symbolize::resolve::{Code, Resolver};
pub(crate) use remains::Remains;

/// Longest time between two flushes: what a killed recorder loses at most.
const FLUSH_EVERY: u64 = 1_000_000_000;

/// Time to the first flush. Each next one comes after twice as long, up to [`FLUSH_EVERY`]: a
/// recording that is killed soon has lost no more than half of its time.
const FIRST_FLUSH: u64 = 50_000_000;

/// Counts for whoever watches the recording.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Switch rows so far.
    pub(crate) switches: AtomicU64,
    /// Clock samples so far.
    pub(crate) samples: AtomicU64,
    /// Records lost so far.
    pub(crate) lost: AtomicU64,
    /// Bytes written so far.
    pub(crate) bytes: AtomicU64,
    /// Recorded threads that live.
    pub(crate) living: AtomicU64,
    /// Set when nothing can be written any more.
    pub(crate) failed: std::sync::atomic::AtomicBool,
}

/// The worker's ends of its channels, and what it shares.
pub(crate) struct Wires {
    /// From the reader.
    pub(crate) batches: Receiver<Batch>,
    /// Empty buffers, back to the reader.
    pub(crate) spares: Sender<Vec<u64>>,
    /// From the poller.
    pub(crate) readings: Receiver<Vec<Reading>>,
    /// From the prober.
    pub(crate) news: Receiver<News>,
    /// To the prober, where there is one.
    pub(crate) prober: Option<Sender<Request>>,
    /// To who reads interpreters.
    pub(crate) interpreters: Sender<Notice>,
    /// For the poller.
    pub(crate) roster: Arc<Roster>,
    /// Bytes on the way.
    pub(crate) budget: Arc<Budget>,
    /// For whoever watches.
    pub(crate) counts: Arc<Counts>,
}

/// Makes rows of records.
pub(crate) struct Worker {
    pub(crate) handler: Handler,
    pub(crate) resolver: Resolver,
    shapes: EventShapes,
    sorter: Sorter<Chunk>,
    spool: SpoolWriter,
    written: Written,
    wires: Wires,
    next_flush: u64,
    flush_after: u64,
    roster_at: u64,
    failure: Option<WriteError>,
    last_time: u64,
    thinned: bool,
    /// Of threads that are not known yet.
    unplaced: Vec<Reading>,
    /// Cgroups that processes joined at a time up to which the records have not been handled.
    joined: Vec<Reading>,
    /// Who loads the kernel's symbols, until they are needed.
    kernel: Option<KernelLoading>,
}

/// The kernel's symbols while they are loaded, or why they cannot be.
pub(crate) type KernelLoading = JoinHandle<Result<Arc<KernelSymbols>, String>>;

impl Worker {
    /// A worker that writes to `spool`.
    pub(crate) fn new(
        context: Context,
        shapes: EventShapes,
        spool: SpoolWriter,
        wires: Wires,
        kernel: KernelLoading,
    ) -> Self {
        let mut handler = Handler::new(context);
        handler.managed = ManagedCode::new(wires.interpreters.clone());
        Self {
            handler,
            resolver: Resolver::default(),
            shapes,
            sorter: Sorter::default(),
            spool,
            written: Written::default(),
            wires,
            next_flush: monotonic_ns() + FIRST_FLUSH,
            flush_after: FIRST_FLUSH,
            roster_at: u64::MAX,
            failure: None,
            last_time: 0,
            thinned: false,
            unplaced: Vec::new(),
            joined: Vec::new(),
            kernel: Some(kernel),
        }
    }

    /// Works until the last batch.
    pub(crate) fn run(mut self) -> Remains {
        while let Ok(batch) = self.wires.batches.recv() {
            self.take_kernel();
            let last = batch.last;
            // First the readings: they are of threads that the batch may show to have ended.
            self.read_polled();
            self.read_news();
            let began = batch.began;
            self.batch(batch);
            self.place_unplaced(began);
            if last || self.handler.rows.full() || monotonic_ns() >= self.next_flush {
                self.flush();
            }
            if last {
                break;
            }
        }
        let Self { handler, resolver, failure, spool, .. } = self;
        Remains { handler, resolver, failure, spool }
    }

    /// Takes the kernel's symbols when the first records are there, which need them. They have been
    /// loaded since before the command's start, so its first waits are seen while they last.
    fn take_kernel(&mut self) {
        let Some(loading) = self.kernel.take() else { return };
        let loaded = loading.join().unwrap_or_else(|_| Err("reading them failed".to_owned()));
        match loaded {
            Ok(kernel) => self.resolver.set_kernel(kernel),
            Err(reason) if self.handler.context.switch_stacks => {
                self.handler.ledger.once(LossKind::KernelSymbolsMissing, "", &reason);
            }
            Err(_) => {} // no kernel address will ask for a name
        }
    }

    /// Processes that exist when the recording starts, with what they have mapped.
    pub(crate) fn adopt(
        &mut self,
        pid: i32,
        tids: &[i32],
        maps: &[culprit_place::procfs::Mapping],
    ) {
        let handler = &mut self.handler;
        handler.tracker.adopt(pid, tids, &mut handler.spaces);
        // The maps are given: they need not be read again.
        handler.tracker.take_met();
        self.known_maps(pid, maps, 0);
        self.update_roster();
    }

    fn batch(&mut self, batch: Batch) {
        let bytes: usize = batch.chunks.iter().map(|chunk| chunk.words.len() * 8).sum();
        self.shapes.add(batch.shapes);
        for refusal in batch.refusals {
            let why = format!("in a cgroup that they joined: {refusal}");
            self.handler.ledger.whole(LossKind::ThreadsNotAttached, &why, 1);
        }
        self.handler.modules.deliver(batch.files);
        self.handler.modules.deliver_folders(batch.folders);
        self.count_discarded(batch.discarded, batch.began);
        for chunk in batch.chunks {
            if let Some(empty) = self.sorter.add(chunk) {
                give_back(&self.wires.spares, empty);
            }
        }
        // Records of the round before are handled now, too.
        self.handler.thinned = batch.thinned || self.thinned;
        self.thinned = batch.thinned;
        self.release(batch.horizon);
        self.meet_joined(batch.horizon);
        self.handler.read_deep_waits();
        self.handler.settle_sleepers();
        self.wires.budget.give_back(bytes);
        for pid in self.handler.tracker.take_met() {
            let maps = culprit_place::procfs::maps(crate::symbolize::modules::kernel_pid(pid));
            self.known_maps(pid, &maps.unwrap_or_default(), batch.began);
        }
        if let Some(dropped) = batch.dropped {
            self.count_dropped(&dropped);
        }
        self.judge_slowdown(batch.began);
        if batch.last {
            self.handler.end_sampling();
            self.handler.end_deep_waits();
            for (cpu, half) in self.handler.instants.rest() {
                self.handler.halves(cpu, [Some(half)]);
            }
            self.handler.end_sleepers();
            let counts = self.sorter.counts();
            let ledger = &mut self.handler.ledger;
            ledger.whole(LossKind::RecordsMalformed, "cut short in a ring", counts.malformed);
            ledger.whole(LossKind::RecordsMalformed, "processed after later records", counts.late);
        }
        self.update_roster();
        let counts = &self.wires.counts;
        counts.lost.store(self.lost(), Ordering::Relaxed);
        self.last_time = batch.began;
    }

    /// Stops the tracing of every allocation where it leaves the program no time to run.
    fn judge_slowdown(&mut self, now: u64) {
        let Some(why) = self.handler.slowdown.take_verdict() else { return };
        if let Some(prober) = &self.wires.prober {
            // It may have ended, and its probes with it.
            let _ = prober.send(Request::StopAllocations);
        }
        let time = self.handler.time(now);
        self.handler.ledger.at(LossKind::AllocationsMissing, &why, 1, time);
    }

    /// Handles every record that is older than the horizon.
    fn release(&mut self, horizon: u64) {
        let Self { sorter, handler, resolver, shapes, wires, .. } = self;
        let done = |chunk| give_back(&wires.spares, chunk);
        sorter.release(horizon, done, |chunk, place| {
            let record = place.of(&chunk.words).unwrap_or_default();
            match decode(record, chunk.stream, shapes) {
                Err(_) => {
                    let time = handler.time(place.time);
                    let ring = format!("in the ring of {}", chunk.stream.holds());
                    handler.ledger.at(LossKind::RecordsMalformed, &ring, 1, time);
                }
                Ok(body) => {
                    count_lost(handler, &body, chunk, place.time);
                    handler.handle(&body, (chunk.cpu, place.time), resolver);
                }
            }
        });
    }

    fn known_maps(&mut self, pid: i32, maps: &[culprit_place::procfs::Mapping], at: u64) {
        let time = self.handler.time(at);
        for map in maps.iter().filter(|map| map.path != "[vsyscall]") {
            let seen = Map {
                task: Task { pid, tid: pid },
                address: map.range.start,
                length: map.range.end.saturating_sub(map.range.start),
                offset: map.offset,
                executable: map.execute,
                file: None,
                build_id: None,
                path: map.path.as_bytes(),
            };
            if !map.execute {
                self.handler.known_data(&seen);
                continue;
            }
            if let Some(opened) = crate::enrich::files::open_now(pid, &map.path) {
                self.handler.modules.deliver(vec![opened]);
            }
            self.handler.known_map(&seen, time);
        }
    }

    fn count_dropped(&mut self, dropped: &[Dropped]) {
        let kind = |role: Role| match (role, role.stream()) {
            (Role::Accounting, _) => LossKind::SwitchesLost,
            (_, Stream::Probes) => LossKind::ProbeHitsLost,
            _ => LossKind::SamplesLost,
        };
        for lost in [LossKind::SwitchesLost, LossKind::SamplesLost, LossKind::ProbeHitsLost] {
            let of_kind = dropped.iter().filter(|drop| kind(drop.role) == lost);
            let count = of_kind.map(|drop| drop.count).sum();
            self.handler.ledger.at_least(lost, "counted by the kernel", count);
        }
    }

    fn count_discarded(&mut self, discarded: Discarded, began: u64) {
        let (from, to) = (self.handler.time(self.last_time), self.handler.time(began));
        let subject = "the recorder fell behind";
        if discarded.samples > 0 {
            self.handler.wakers_lost = to;
        }
        // Whether of probes or of other events on their ring, nobody has looked.
        self.handler.hits_lost += discarded.hits;
        let ledger = &mut self.handler.ledger;
        ledger.between(LossKind::SamplesLost, subject, discarded.samples, from, to);
        ledger.between(LossKind::ProbeHitsLost, subject, discarded.hits, from, to);
    }

    /// What the prober has done.
    fn read_news(&mut self) {
        while let Ok(news) = self.wires.news.try_recv() {
            self.shapes.add(news.shapes);
            let handler = &mut self.handler;
            for probe in news.probes {
                handler.twins.extend(probe.twin);
                handler.probes.push(probe);
            }
            for trouble in news.troubles {
                match trouble {
                    Trouble::Late(path, late) => {
                        let why = format!("probe placed {} after the code was mapped", Nanos(late));
                        handler.ledger.once(LossKind::ProbesLate, &path, &why);
                    }
                    Trouble::Refused(path, why) => {
                        handler.ledger.once(LossKind::ProbesRefused, &path, &why);
                    }
                }
            }
            let dropped = news.dropped.iter().filter(|drop| matches!(drop.role, Role::Probe(_)));
            let dropped = dropped.map(|drop| drop.count).sum::<u64>();
            handler.hits_lost += dropped;
            handler.ledger.at_least(LossKind::ProbeHitsLost, "counted by the kernel", dropped);
        }
    }

    fn lost(&self) -> u64 {
        let ledger = &self.handler.ledger;
        let kinds = [LossKind::SwitchesLost, LossKind::SamplesLost, LossKind::ProbeHitsLost];
        kinds.into_iter().map(|kind| ledger.count(kind)).sum()
    }

    fn update_roster(&mut self) {
        let changes = self.handler.tracker.changes();
        if changes != self.roster_at {
            self.roster_at = changes;
            let living = self.handler.tracker.living();
            self.wires.counts.living.store(living.len() as u64, Ordering::Relaxed);
            self.wires.roster.set(living);
            // It may have ended, because nobody is left to read.
            let _ = self.wires.interpreters.send(Notice::Roster);
        }
        if let Some(processes) = self.handler.doors.take_changes() {
            self.wires.roster.set_servers_and_clients(processes);
        }
    }

    fn flush(&mut self) {
        self.flush_after = (2 * self.flush_after).min(FLUSH_EVERY);
        self.next_flush = monotonic_ns() + self.flush_after;
        let handler = &mut self.handler;
        handler.rows.mappings = handler.tracker.take_mappings();
        handler.rows.marks = handler.tracker.take_marks();
        let counts = &self.wires.counts;
        let add =
            |counter: &AtomicU64, rows: usize| counter.fetch_add(rows as u64, Ordering::Relaxed);
        add(&counts.switches, handler.rows.switches.len());
        add(&counts.samples, handler.rows.samples.len());
        let asleep = handler.take_sleepers();
        let mut code = Code {
            modules: &mut handler.modules,
            managed: &mut handler.managed,
            bytecodes: &handler.bytecodes,
            spaces: &handler.spaces,
            ledger: &mut handler.ledger,
        };
        self.resolver.resolve_new(&mut handler.raw, &mut code);
        for SleeperRow { thread, since, cpu, functions, user } in asleep {
            let stack = self.resolver.waiting_stack(user, &functions, &mut code);
            handler.rows.was_asleep((thread, since), cpu, stack);
        }
        let growing = Growing {
            processes: handler.tracker.processes(),
            threads: handler.tracker.threads(),
            modules: &handler.modules,
            resolver: &self.resolver,
            raw: &handler.raw,
            ledger: &handler.ledger,
        };
        if self.failure.is_none() {
            let result = handler.rows.flush(&mut self.spool, &mut self.written, &growing);
            if let Err(error) = result {
                if matches!(error, culprit_recording::Error::DiskFull { .. }) {
                    // Without it the report can only say that the file has no end.
                    let _ = self.spool.note_stop("the disk was full");
                }
                self.failure = Some(error);
                counts.failed.store(true, Ordering::Release);
            }
        } else {
            handler.rows = crate::events::tables::Rows::default();
        }
        counts.bytes.store(self.spool.len(), Ordering::Relaxed);
        self.forget_left();
    }

    /// Finishes the stacks of spaces in which nobody lives any more, and forgets their addresses.
    fn forget_left(&mut self) {
        let mut left = self.handler.tracker.take_left();
        left.sort_unstable();
        if left.is_empty() {
            return;
        }
        let stacks: Vec<RawStack> = of_spaces(&self.handler.raw, &left);
        let handler = &mut self.handler;
        let mut code = Code {
            modules: &mut handler.modules,
            managed: &mut handler.managed,
            bytecodes: &handler.bytecodes,
            spaces: &handler.spaces,
            ledger: &mut handler.ledger,
        };
        self.resolver.repair(&stacks, &handler.raw, &mut code);
        handler.raw.forget(&stacks);
        for space in &left {
            handler.spaces.forget(*space);
        }
    }
}

/// The kernel's symbols, read once a process: a comparison makes many recordings, and what a
/// module that is loaded meanwhile brings is rarely waited in. The first time costs a tenth of a second.
pub(crate) fn kernel_symbols() -> Result<Arc<KernelSymbols>, String> {
    static KERNEL: OnceLock<Arc<KernelSymbols>> = OnceLock::new();
    if let Some(known) = KERNEL.get() {
        return Ok(Arc::clone(known));
    }
    let loaded = KernelSymbols::load().map_err(|error| error.to_string())?;
    Ok(Arc::clone(KERNEL.get_or_init(|| Arc::new(loaded))))
}

/// The stacks of these spaces, which are sorted.
fn of_spaces(raw: &RawStacks, spaces: &[SpaceId]) -> Vec<RawStack> {
    raw.kept().filter(|stack| spaces.binary_search(&raw.space(*stack)).is_ok()).collect()
}

/// Losses that a ring tells of itself.
fn count_lost(handler: &mut Handler, body: &Body<'_>, chunk: &Chunk, at: u64) {
    let Body::Record(record, _) = body else { return };
    let time = handler.time(at);
    let (kind, count) = match (record, chunk.stream) {
        (Record::Lost(count), Stream::Accounting) => (LossKind::SwitchesLost, *count),
        (Record::Lost(count), Stream::Probes) => (LossKind::ProbeHitsLost, *count),
        (Record::Lost(count), _) => {
            handler.wakers_lost = time;
            (LossKind::SamplesLost, *count)
        }
        (Record::Throttle, _) => (LossKind::SamplingThrottled, 1),
        _ => return,
    };
    handler.ledger.at(kind, &format!("CPU {}", chunk.cpu), count, time);
}

/// Gives the buffer of a chunk back to the reader, which may have gone; then nobody wants it.
fn give_back(spares: &Sender<Vec<u64>>, chunk: Chunk) {
    let _ = spares.send(chunk.words);
}
