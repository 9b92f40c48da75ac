//! The threads of a recording, and the channels between them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::enrich::interpreters::Notice;
use crate::enrich::poller::Roster;
use crate::error::Error;
use crate::events::worker::{Counts, Wires};
use crate::probes::News;
use crate::rings::chunk::Chunk;
use crate::rings::perf::PerfSource;
use crate::rings::reader::{Budget, Lines, Opener, Reader, SampleRates, StopSignal};
use crate::rings::source::NoEvents;

/// Bytes on the way from reader to worker at most: at 48 MiB a second (130,000 switches) the
/// worker may stand still for four seconds before stacks are thrown away.
pub(super) const QUEUED_BYTES: usize = 192 << 20;

pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|source| Error::Recorder { what: "start a thread", source })
}

/// What empties the rings, and gives back the events, which are still open; without events it only keeps the
/// worker's clock going.
pub(super) fn reading(
    source: Option<PerfSource>,
    opener: Opener,
    early: Vec<Chunk>,
    lines: Lines,
) -> Box<dyn FnOnce() -> Option<PerfSource> + Send> {
    match source {
        Some(source) => {
            let reader = Reader::new(source, opener, early, lines);
            Box::new(move || Some(reader.run()))
        }
        None => {
            let reader = Reader::new(NoEvents, opener, early, lines);
            Box::new(move || {
                reader.run();
                None
            })
        }
    }
}

/// Events that are being closed, beside whatever is done meanwhile: the kernel waits for all CPUs some
/// 30 ms for each tracepoint. Dropping it waits for the end of that.
#[derive(Debug)]
pub struct Closing(Option<JoinHandle<()>>);

impl Closing {
    /// Without a thread of its own, they are closed here.
    pub(super) fn new(read: Option<PerfSource>) -> Self {
        Self(read.and_then(|source| spawn("culprit-close", move || drop(source)).ok()))
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // What it does cannot fail.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

/// The channels and flags between the three threads.
pub(crate) struct Crew {
    pub(crate) lines: Lines,
    pub(crate) wires: Wires,
    pub(crate) news: Sender<News>,
    pub(crate) readings: Sender<Vec<crate::enrich::poller::Reading>>,
    pub(crate) interpreters: Sender<Notice>,
    pub(crate) notices: Receiver<Notice>,
    pub(crate) roster: Arc<Roster>,
    pub(crate) counts: Arc<Counts>,
    /// To the reader: cgroups that recorded processes have joined.
    pub(crate) joined: Sender<OwnedFd>,
    pub(crate) stop_reader: Arc<StopSignal>,
    pub(crate) stop_poller: Arc<AtomicBool>,
}

impl Crew {
    pub(crate) fn new(rates: SampleRates) -> Self {
        let (batches_in, batches) = channel();
        let (spares, spares_out) = channel();
        let (readings_in, readings) = channel();
        let (news_in, news) = channel();
        let (interpreters, notices) = channel();
        let (joined_in, joined) = channel();
        let budget = Arc::new(Budget::new(QUEUED_BYTES));
        let roster = Arc::new(Roster::default());
        let counts = Arc::new(Counts::default());
        let stop_reader = Arc::new(StopSignal::new());
        Self {
            lines: Lines {
                out: batches_in,
                spares: spares_out,
                stop: Arc::clone(&stop_reader),
                budget: Arc::clone(&budget),
                rates,
                prober: None,
                interpreters: interpreters.clone(),
                joined,
            },
            wires: Wires {
                batches,
                spares,
                readings,
                news,
                prober: None,
                interpreters: interpreters.clone(),
                roster: Arc::clone(&roster),
                budget,
                counts: Arc::clone(&counts),
            },
            news: news_in,
            readings: readings_in,
            interpreters,
            notices,
            roster,
            counts,
            joined: joined_in,
            stop_reader,
            stop_poller: Arc::new(AtomicBool::new(false)),
        }
    }
}
