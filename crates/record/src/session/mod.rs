//! A recording from arming to its end.
//!
//! ```text
//! plan -> arm -> (the command starts) -> run ... stop -> finish
//!          |       reader, poller, worker at work         |
//!          rings open, file begun                          rows read back, names settled
//! ```
//!
//! Four threads: the reader empties rings, the poller reads /proc, another one reads interpreters, the
//! worker makes rows. They share nothing but channels, counters and flags.

mod crew;
pub(crate) mod finish;
pub(crate) mod ladder;
pub(crate) mod plan;
pub(crate) mod subjects;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use culprit_kernel::Record;
use culprit_model::{ClockPair, LossKind, Meta, Pid};
use culprit_place::Cgroup;
use culprit_recording::{SpoolOptions, SpoolWriter};

use crate::clock::{monotonic_ns, own_cpu_ns, pair};
use crate::enrich::datagrams::DatagramDrops;
use crate::enrich::dotnet::{self, Asking};
use crate::enrich::files::FileOpener;
use crate::enrich::interpreters::{Interpreters, LastAnswers, Notice};
use crate::enrich::joined::Cgroups;
use crate::enrich::poller::{Poller, Roster};
use crate::enrich::runtimes::FolderOpener;
use crate::error::Error;
use crate::events::decode::{Body, decode};
use crate::events::handle::Context;
use crate::events::sets::Wakers;
use crate::events::switching::PointFields;
use crate::events::worker::{Counts, Remains, Worker, kernel_symbols};
use crate::probes::{Definitions, News, Opening, Prober, Request, Scene, Toll, Way};
use crate::rings::chunk::Chunk;
use crate::rings::perf::PerfSource;
use crate::rings::reader::{EasedClock, Opener, SampleRates, StopSignal};
use crate::rings::source::EventSource;
use crate::session::plan::{HOST_FACT, Plan, Target};
use crate::session::subjects::{SubjectKind, Subjects, processes_with_threads, tids};
pub use crew::Closing;
pub(crate) use crew::Crew;
use crew::{QUEUED_BYTES, reading, spawn};

/// Everything of bounded size beside the rings: the queue, unique stacks, rows until a flush.
pub(crate) const BUFFER_BYTES: usize = QUEUED_BYTES + (120 << 20) + (16 << 20);

/// Ends a recording from another thread. Clones share the request.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<(Mutex<Option<u64>>, Condvar)>);

impl StopHandle {
    /// A handle that has not been used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the recording to end. Any number of times; the first one counts.
    pub fn stop(&self) {
        let mut stopped = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.get_or_insert_with(monotonic_ns);
        self.0.1.notify_all();
    }

    /// Whether it was asked to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped_at().is_some()
    }

    /// When it was first asked to end: `CLOCK_MONOTONIC`, ns.
    #[must_use]
    pub fn stopped_at(&self) -> Option<u64> {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the request; true when it came in time.
    fn wait(&self, at_most: Duration) -> bool {
        let guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(guard, at_most, |stopped| stopped.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}

/// How a recording is coming along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Switches written so far.
    pub switches: u64,
    /// Clock samples written so far.
    pub samples: u64,
    /// Records lost so far.
    pub lost: u64,
    /// Bytes of the file so far.
    pub bytes: u64,
    /// Recorded threads that live.
    pub threads: u64,
}

/// The command that waits to be started, for recordings of a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting<'a> {
    /// Its process, where it exists already; a container's begins with the start.
    pub pid: Option<Pid>,
    /// The cgroup that it will run in, where [`Plan::wants_cgroup`].
    pub cgroup: Option<&'a Cgroup>,
}

/// A recording under way.
#[derive(Debug)]
pub struct Armed {
    pub(crate) meta: Meta,
    pub(crate) output: PathBuf,
    pub(crate) root: Option<Pid>,
    pub(crate) target: Target,
    roster: Arc<Roster>,
    counts: Arc<Counts>,
    stop_reader: Arc<StopSignal>,
    stop_poller: Arc<AtomicBool>,
    pub(crate) toll: Option<Toll>,
    /// The library that samples allocations, as the command's root names it.
    pub(crate) sampler: Option<PathBuf>,
    prober: Option<(Sender<Request>, JoinHandle<()>)>,
    reader: JoinHandle<Option<PerfSource>>,
    poller: JoinHandle<()>,
    notices: Sender<Notice>,
    interpreters: JoinHandle<LastAnswers>,
    asking: Option<Asking>,
    worker: JoinHandle<Remains>,
    cpu_before: u64,
}

impl Plan {
    /// Opens everything and starts recording. A waiting command is to be started after this.
    ///
    /// # Errors
    /// When an event cannot be opened, a process or cgroup does not exist, or the file cannot be
    /// written.
    pub fn arm(self, waiting: Waiting<'_>) -> Result<Armed, Error> {
        let cpu_before = own_cpu_ns();
        let kernel = spawn("culprit-kernel", kernel_symbols)?;
        let subjects = Subjects::find(&self.options.target, waiting)?;
        let paced = !matches!(subjects.kind, SubjectKind::Processes(_));
        let events = self.events(paced);
        let opener = Opener {
            files: FileOpener::keeping_roots_of(&subjects.pids()),
            folders: FolderOpener::new(self.options.helped_runtimes.clone()),
        };
        let mut source = self.open(&events, &subjects)?;
        let list_below = if source.is_none() { subjects.roots.clone() } else { Vec::new() };
        let registers = subjects.registers_reader();
        let start = pair();
        let meta = self.meta(start);
        let bound = SpoolOptions { max_event_bytes: self.options.max_event_bytes };
        let spool = SpoolWriter::create(&self.options.output, &meta, bound)?;
        let started = source.as_mut().map(|source| self.start(source, &subjects));
        let early = started.transpose()?.unwrap_or_default();
        let later = self.options.clock.later.filter(|_| paced);
        let mut crew = Crew::new(SampleRates {
            stacks: self.options.stack_rate,
            dumps: self.options.stacks.dump_rate(),
            clock: later.map(|rate| EasedClock::new(start.monotonic, rate)),
        });
        let prober = self.prober(&subjects, source.as_mut(), crew.news)?;
        let (requests, of_prober) = channel();
        crew.lines.prober = prober.is_some().then(|| requests.clone());
        crew.wires.prober.clone_from(&crew.lines.prober);
        let shapes = source.as_ref().map(EventSource::shapes).unwrap_or_default();
        let rings = source.as_ref().map_or(0, EventSource::memory_bytes);
        let context = self.context(start.monotonic, &subjects);
        let mut worker = Worker::new(context, shapes, spool, crew.wires, kernel);
        self.note_shortfalls(&mut worker, source.as_ref());
        // From here on the rings are emptied: to look at every process of a busy machine takes
        // seconds, in which they would run over.
        let reader = spawn("culprit-rings", reading(source, opener, early, crew.lines))?;
        subjects.adopt(&mut worker, registers.as_ref());
        let ask = self.options.ask_runtimes && self.options.target != Target::Command;
        let asking = ask.then(|| dotnet::ask(subjects.pids()));
        let placed = prober.map(|p| self.place_probes(p, of_prober, waiting, &subjects));
        let prober = placed.transpose()?.map(|placed| (requests, placed));
        let interpreters = Interpreters {
            roster: Arc::clone(&crew.roster),
            out: crew.readings.clone(),
            notices: crew.notices,
        };
        let poller = Poller {
            roster: Arc::clone(&crew.roster),
            cgroups: Cgroups::new(subjects.counters(), subjects.followed(crew.joined)),
            drops: DatagramDrops::default(),
            observe: self.rights.kernel.is_err(),
            list_below,
            out: crew.readings,
            stop: Arc::clone(&crew.stop_poller),
        };
        Ok(Armed {
            meta: Meta {
                recorder_memory_bytes: (rings + BUFFER_BYTES) as u64,
                later_frequency: later.unwrap_or(0),
                ..meta
            },
            output: self.options.output.clone(),
            root: waiting.pid,
            target: self.options.target,
            roster: crew.roster,
            counts: crew.counts,
            stop_reader: crew.stop_reader,
            stop_poller: crew.stop_poller,
            worker: spawn("culprit-rows", move || worker.run())?,
            poller: spawn("culprit-poll", move || poller.run())?,
            notices: crew.interpreters,
            interpreters: spawn("culprit-frames", move || interpreters.run())?,
            asking,
            toll: self.found.probes.map(|(_, toll)| toll),
            sampler: self.options.extras.sampler().map(|library| library.path.clone()),
            prober,
            reader,
            cpu_before,
        })
    }

    /// What the handler of records must know.
    fn context(&self, start: u64, subjects: &Subjects) -> Context {
        Context {
            start,
            points: self.wakers().and_then(PointFields::of),
            switch_stacks: self.rights.kernel.is_ok(),
            returned: self.found.calls.map(|point| point.returned),
            sockets: self.found.sockets.map(|points| points.fields),
            doors: self.found.doors.map(|point| point.fields),
            requests: self.options.extras.requests.clone(),
            hits_of_all: !matches!(subjects.kind, SubjectKind::Processes(_)),
            toll: self.found.probes.map(|(_, toll)| toll),
        }
    }

    /// Opens the events; none on the rung that has no events.
    fn open(
        &self,
        events: &[crate::events::attr::EventSpec],
        subjects: &Subjects,
    ) -> Result<Option<PerfSource>, Error> {
        if self.rights.user.is_err() {
            return Ok(None);
        }
        let attachment = subjects.attachment()?;
        let features = self.rights.features;
        let source = PerfSource::open(events, &attachment, &self.cpus, self.sizes, features);
        self.rights.trials.close();
        source.map(Some)
    }

    /// Who places probes, where some are wanted.
    fn prober(
        &self,
        subjects: &Subjects,
        source: Option<&mut PerfSource>,
        news: Sender<News>,
    ) -> Result<Option<Prober>, Error> {
        let (Some((pmu, _)), Some(source)) = (self.found.probes, source) else { return Ok(None) };
        let opening = Opening {
            way: Definitions::open().map_or(Way::Pmu(pmu), Way::Defined),
            features: self.rights.features,
            attachment: subjects.attachment()?,
            anchors: source.probe_anchors(&self.cpus)?,
            dump: self.options.stacks.dump(),
        };
        Ok(Some(Prober::new(self.options.extras.wishes(), opening, news)))
    }

    /// Places probes in what exists already, and goes on in a thread.
    fn place_probes(
        &self,
        mut prober: Prober,
        requests: Receiver<Request>,
        waiting: Waiting<'_>,
        subjects: &Subjects,
    ) -> Result<JoinHandle<()>, Error> {
        if !self.options.command.is_empty() {
            let held = waiting.pid.and_then(|pid| i32::try_from(pid.0).ok());
            prober.first_look(&Scene::Command(held, self.options.command.clone()));
        }
        if self.options.target != Target::Command {
            prober.first_look(&Scene::Running(subjects.pids()));
        }
        spawn("culprit-probes", move || prober.run(&requests))
    }

    /// Starts the events, then looks for threads that were created while they were opened. A
    /// thread that an attached one created is followed by the kernel; its fork record says so.
    fn start(&self, source: &mut PerfSource, subjects: &Subjects) -> Result<Vec<Chunk>, Error> {
        source.start().map_err(|source| Error::Recorder { what: "start the events", source })?;
        let mut early = Vec::new();
        let SubjectKind::Processes(known) = &subjects.kind else { return Ok(early) };
        let mut attached: BTreeSet<i32> = tids(known).collect();
        for _ in 0..MOST_LOOKS {
            let now = processes_with_threads(&subjects.roots);
            let fresh: Vec<i32> = tids(&now).filter(|tid| !attached.contains(tid)).collect();
            if fresh.is_empty() {
                break;
            }
            source.drain(&[crate::events::attr::Stream::Accounting], &mut Vec::new(), &mut early);
            let followed = forked(&early, source);
            for tid in fresh {
                attached.insert(tid);
                if !followed.contains(&tid) {
                    // It may have ended since; then it is no loss.
                    source.add_thread(tid).ok();
                }
            }
        }
        Ok(early)
    }

    /// Rows of the loss table that are known before the first record.
    fn note_shortfalls(&self, worker: &mut Worker, source: Option<&PerfSource>) {
        let ledger = &mut worker.handler.ledger;
        if self.rights.kernel.is_err() {
            ledger.once(LossKind::KernelStacksMissing, "", &self.degraded.join("; "));
        }
        if self.wakers().is_none() {
            ledger.once(LossKind::WakersMissing, "", &self.without_wakers());
        }
        if let Some(why) = self.found.without() {
            ledger.once(LossKind::CountersMissing, "", &why);
        }
        let Some(source) = source else { return };
        if source.sizes() != self.sizes {
            let (got, wanted) = (source.sizes().stacks, self.sizes.stacks);
            let words = format!("{} KiB per CPU instead of {} KiB", got >> 10, wanted >> 10);
            ledger.once(LossKind::RingsSmall, "", &words);
        }
        let refused = source.refused_threads() as u64;
        ledger.whole(
            LossKind::ThreadsNotAttached,
            "threads that ended, or that Culprit may not access",
            refused,
        );
    }

    /// What is known of the place, after the machine's name.
    fn place_facts(&self) -> Vec<(String, String)> {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host = (HOST_FACT.to_owned(), name);
        [host].into_iter().chain(self.options.place_facts.iter().cloned()).collect()
    }

    fn without_wakers(&self) -> String {
        match self.options.wakers {
            Wakers::None => "wakers were not requested".to_owned(),
            _ => self.degraded.join("; "),
        }
    }

    fn meta(&self, start: ClockPair) -> Meta {
        Meta {
            command: self.options.command.clone(),
            place: self.options.place.clone(),
            place_facts: self.place_facts(),
            start,
            rung: self.rung,
            degraded: self.degraded.clone(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            cpus: u32::try_from(self.cpus.len()).unwrap_or(u32::MAX),
            frequency: self.options.clock.first,
            recorder_memory_bytes: self.memory_bytes(),
            complete: false,
            ..Meta::default()
        }
    }
}

/// How often threads are listed again: each look finds only what was created during the last.
const MOST_LOOKS: usize = 8;

/// The threads whose creation these accounting records tell.
fn forked(chunks: &[Chunk], source: &PerfSource) -> BTreeSet<i32> {
    let shapes = source.shapes();
    let mut children = BTreeSet::new();
    for chunk in chunks {
        for (_, record) in chunk.records() {
            let body = decode(record, chunk.stream, &shapes);
            if let Ok(Body::Record(Record::Fork { child, .. }, _)) = body {
                children.insert(child.tid);
            }
        }
    }
    children
}

impl Armed {
    /// Waits until `stop` is used, the recorded processes have all ended (for recordings of running
    /// processes), or nothing can be written any more. Calls `progress` four times a second.
    pub fn run(&self, stop: &StopHandle, progress: &mut dyn FnMut(&Progress)) {
        while !stop.wait(Duration::from_millis(250)) {
            let now = self.progress();
            progress(&now);
            let over = matches!(self.target, Target::Processes(_)) && now.threads == 0;
            if over || self.counts.failed.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// The recorded processes that live, as of a moment ago: also those that have left their process
    /// group, because the kernel tells of every birth.
    #[must_use]
    pub fn living(&self) -> Vec<Pid> {
        let mut pids: Vec<Pid> = self
            .roster
            .get()
            .iter()
            .map(|task| crate::symbolize::modules::kernel_pid(task.pid))
            .collect();
        pids.dedup();
        pids
    }

    /// How the recording is coming along.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            switches: load(&self.counts.switches),
            samples: load(&self.counts.samples),
            lost: load(&self.counts.lost),
            bytes: load(&self.counts.bytes),
            threads: load(&self.counts.living),
        }
    }

    /// Stops the three threads in their order: the last accounts are read while the events still
    /// run, and the worker ends with the reader's last batch.
    pub(crate) fn halt(self) -> Result<(Meta, PathBuf, Remains, Closing), Error> {
        let panicked =
            |what| move |_| Error::Recorder { what, source: std::io::ErrorKind::Other.into() };
        self.stop_poller.store(true, Ordering::Release);
        self.poller.thread().unpark();
        self.poller.join().map_err(panicked("read /proc"))?;
        // It may have ended before, because nobody is left to hear it.
        let _ = self.notices.send(Notice::Stop);
        let answers = self.interpreters.join().map_err(panicked("read interpreters"))?;
        if let Some((requests, prober)) = self.prober {
            // It may have panicked, which the join tells.
            let _ = requests.send(Request::Stop);
            prober.join().map_err(panicked("place probes"))?;
        }
        self.stop_reader.give();
        let read = self.reader.join().map_err(panicked("read the ring buffers"))?;
        let end = pair();
        let closing = Closing::new(read);
        let mut remains = self.worker.join().map_err(panicked("process the records"))?;
        if let Some(asking) = self.asking {
            remains.take_folders(asking.finish());
        }
        remains.take_answers(answers.read());
        let mut meta = self.meta;
        meta.end = end;
        meta.wall = culprit_model::Nanos(end.monotonic.saturating_sub(meta.start.monotonic));
        meta.recorder_cpu = culprit_model::Nanos(own_cpu_ns().saturating_sub(self.cpu_before));
        Ok((meta, self.output, remains, closing))
    }
}
