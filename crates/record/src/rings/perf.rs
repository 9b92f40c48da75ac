//! The kernel's perf events as a source: opened per CPU and attachment, a ring a stream and CPU.
//!
//! All events of one stream and CPU write into one ring. The ring belongs to an *anchor*, an event
//! on our own process that never fires: a recorded thread may end at any time, and the ring of an
//! ended event can no longer be waited for. Everything is opened stopped and started at once at the
//! end, so that no ring fills while the others are still being opened.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Error;
use crate::events::attr::{AttrOptions, EventSpec, Features, Role, Stream, Watch};
use crate::events::decode::{EventShape, EventShapes};
use crate::rings::chunk::Chunk;
use crate::rings::source::{Dropped, EventSource, Ready};
use crate::sys::{
    MappedRing, Scope, disable, enable, event_id, open_event, redirect, set_filter, set_period,
};

/// Bytes of each ring of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingSizes {
    /// Of the accounting stream.
    pub(crate) accounting: usize,
    /// Of the stacks at switches.
    pub(crate) stacks: usize,
    /// Of the sample stream.
    pub(crate) samples: usize,
    /// Of the stream of mappings.
    pub(crate) maps: usize,
    /// Of the hits of probes; 0 without probes.
    pub(crate) probes: usize,
}

/// What the threads to record are reached by.
#[derive(Debug)]
pub(crate) enum Attachment {
    /// These threads, and what they create.
    Threads(Vec<i32>),
    /// A cgroup with all below it.
    Cgroup(OwnedFd),
    /// Everything.
    Machine,
}

/// Open events and their rings.
#[derive(Debug)]
pub(crate) struct PerfSource {
    events: Vec<OpenEvent>,
    /// The events that each attachment gets, on these CPUs.
    specs: Vec<EventSpec>,
    cpus: Vec<u32>,
    rings: Vec<Ring>,
    sizes: RingSizes,
    features: Features,
    refused: usize,
}

#[derive(Debug)]
struct OpenEvent {
    fd: OwnedFd,
    cpu: u32,
    /// Made for one thread, and copied by the kernel for those that it creates.
    copied: bool,
    shape: EventShape,
    stream: Stream,
}

/// A ring and the event that it was mapped on.
#[derive(Debug)]
struct Ring {
    stream: Stream,
    cpu: u32,
    anchor: OwnedFd,
    memory: MappedRing,
}

impl RingSizes {
    /// The sizes that are wanted on a machine of `cpus` CPUs: at 130,000 switches a second, 8 MiB
    /// of stacks last 330 ms at 200 bytes each, 8 MiB of accounting 400 ms at 160 bytes (two switch
    /// records of 32 and a traced switch of 96), and 8 MiB of samples 300 ms with two traced
    /// wakeups of 80 bytes a switch and dumps of 12 KiB at the usual rate. The reader comes at half. In all at most 1.5 GiB,
    /// so less a CPU on machines of more than 64 CPUs.
    pub(crate) fn wanted(cpus: usize) -> Self {
        const MOST: usize = 512 << 20;
        let each = (MOST / cpus.max(1)).clamp(1 << 20, 8 << 20);
        let each = 1 << each.ilog2();
        Self { accounting: each, stacks: each, samples: each, maps: 128 << 10, probes: 0 }
    }

    /// The same with rings for probes: 8 MiB last 120 ms at 200,000 hits a second of 350 bytes. In all
    /// at most 2 GiB.
    pub(crate) fn with_probes(self) -> Self {
        Self { probes: self.samples, ..self }
    }

    /// Bytes of all rings of `cpus` CPUs.
    pub(crate) fn total(self, cpus: usize) -> usize {
        (self.accounting + self.stacks + self.samples + self.maps + self.probes) * cpus
    }

    /// The next smaller sizes; none below what still makes sense.
    pub(crate) fn halved(self) -> Option<Self> {
        let page = rustix::param::page_size();
        let half = |bytes: usize| (bytes / 2).max(4 * page).min(bytes);
        let smaller = Self {
            accounting: half(self.accounting),
            stacks: half(self.stacks),
            samples: half(self.samples),
            maps: half(self.maps),
            probes: half(self.probes),
        };
        (smaller != self).then_some(smaller)
    }

    fn of(self, stream: Stream) -> usize {
        match stream {
            Stream::Accounting => self.accounting,
            Stream::Stacks => self.stacks,
            Stream::Samples => self.samples,
            Stream::Maps => self.maps,
            Stream::Probes => self.probes,
        }
    }
}

impl PerfSource {
    /// Opens `specs` on every CPU for the attachment. Rings that do not fit the limit on locked
    /// memory are tried at half the size, and so on. Threads that ended or are not ours to see are
    /// skipped and counted.
    ///
    /// # Errors
    /// When an event is refused, or not even small rings can be mapped.
    pub(crate) fn open(
        specs: &[EventSpec],
        attachment: &Attachment,
        cpus: &[u32],
        mut sizes: RingSizes,
        features: Features,
    ) -> Result<Self, Error> {
        loop {
            let of_target = specs.iter().filter(|spec| spec.watch == Watch::Target);
            let mut source = Self {
                events: Vec::new(),
                specs: of_target.cloned().collect(),
                cpus: cpus.to_vec(),
                rings: Vec::new(),
                sizes,
                features,
                refused: 0,
            };
            match source.open_all(specs, attachment, cpus) {
                Err(Error::Map { bytes, source }) => {
                    sizes = sizes.halved().ok_or(Error::Map { bytes, source })?;
                }
                Err(other) => return Err(other),
                Ok(()) => return Ok(source),
            }
        }
    }

    /// Starts every event.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn start(&self) -> io::Result<()> {
        enable_all(&self.events)
    }

    /// Attaches to one more thread, whose events start at once.
    ///
    /// # Errors
    /// When the thread ended, or is not ours to see.
    pub(crate) fn add_thread(&mut self, tid: i32) -> Result<(), Error> {
        self.add(Scope::Thread(tid)).map(drop)
    }

    /// Opens and starts the events of one more attachment; gives what they look like.
    fn add(&mut self, scope: Scope<'_>) -> Result<Vec<EventShape>, Error> {
        let first = self.events.len();
        let (specs, cpus) = (self.specs.clone(), self.cpus.clone());
        let opened = specs.iter().try_for_each(|spec| self.open_on_cpus(spec, scope, &cpus));
        let started = opened.and_then(|()| {
            let result = enable_all(&self.events[first..]);
            result.map_err(|source| Error::Recorder { what: "start an event", source })
        });
        if let Err(error) = started {
            self.events.truncate(first);
            return Err(error);
        }
        Ok(self.events[first..].iter().map(|event| event.shape).collect())
    }

    /// What samples look like, in the order in which the events were opened.
    #[cfg(test)]
    pub(crate) fn shape_list(&self) -> Vec<EventShape> {
        self.events.iter().map(|event| event.shape).collect()
    }

    /// For each CPU what owns the ring of probes, which is mapped now.
    ///
    /// # Errors
    /// When a ring cannot be mapped.
    pub(crate) fn probe_anchors(&mut self, cpus: &[u32]) -> Result<Vec<(u32, OwnedFd)>, Error> {
        let copied = |source| Error::Recorder { what: "share a ring buffer", source };
        let mut anchor = |cpu: &u32| {
            let ring = self.ring(Stream::Probes, *cpu)?;
            Ok((*cpu, ring.anchor.try_clone().map_err(copied)?))
        };
        cpus.iter().map(&mut anchor).collect()
    }

    /// The sizes that the rings have.
    pub(crate) fn sizes(&self) -> RingSizes {
        self.sizes
    }

    /// Threads that could not be attached to.
    pub(crate) fn refused_threads(&self) -> usize {
        self.refused
    }

    fn open_all(
        &mut self,
        specs: &[EventSpec],
        attachment: &Attachment,
        cpus: &[u32],
    ) -> Result<(), Error> {
        let (target, machine): (Vec<_>, Vec<_>) =
            specs.iter().partition(|spec| spec.watch == Watch::Target);
        match attachment {
            Attachment::Threads(tids) => self.open_threads(&target, tids, cpus)?,
            Attachment::Cgroup(dir) => {
                for spec in target {
                    self.open_on_cpus(spec, Scope::Cgroup(dir.as_fd()), cpus)?;
                }
            }
            Attachment::Machine => {
                for spec in target {
                    self.open_on_cpus(spec, Scope::Machine, cpus)?;
                }
            }
        }
        for spec in machine {
            self.open_on_cpus(spec, Scope::Machine, cpus)?;
        }
        Ok(())
    }

    fn open_threads(
        &mut self,
        specs: &[&EventSpec],
        tids: &[i32],
        cpus: &[u32],
    ) -> Result<(), Error> {
        let mut last = None;
        for &tid in tids {
            let attached =
                specs.iter().try_for_each(|spec| self.open_on_cpus(spec, Scope::Thread(tid), cpus));
            match attached {
                Ok(()) => {}
                Err(Error::Open { event, cpu, source }) if skippable(&source) => {
                    self.refused += 1;
                    last = Some(Error::Open { event, cpu, source });
                }
                Err(other) => return Err(other),
            }
        }
        match last {
            Some(Error::Open { source, .. }) if self.refused == tids.len() => {
                // The first thread of a process has its number.
                Err(Error::NotAttached { pid: tids[0], source })
            }
            _ => Ok(()),
        }
    }

    fn open_on_cpus(
        &mut self,
        spec: &EventSpec,
        scope: Scope<'_>,
        cpus: &[u32],
    ) -> Result<(), Error> {
        let stream = spec.role.stream();
        let inherit = matches!(scope, Scope::Thread(_));
        let options = AttrOptions { watermark: 0, inherit, features: self.features };
        for &cpu in cpus {
            let opened = open_one(spec, options, scope, cpu);
            let (fd, id) = opened.map_err(|source| Error::Open {
                event: format!("{:?}", spec.role),
                cpu,
                source,
            })?;
            let anchor = self.ring(stream, cpu)?.anchor.as_fd();
            redirect(fd.as_fd(), anchor)
                .map_err(|source| Error::Recorder { what: "share a ring buffer", source })?;
            let shape = EventShape::new(id, spec.role, spec.fields);
            self.events.push(OpenEvent { fd, cpu, copied: inherit, shape, stream });
        }
        Ok(())
    }

    /// The ring of a stream and CPU, mapped when it is first wanted.
    fn ring(&mut self, stream: Stream, cpu: u32) -> Result<&Ring, Error> {
        let known = self.rings.iter().position(|ring| ring.stream == stream && ring.cpu == cpu);
        let at = match known {
            Some(at) => at,
            None => {
                let ring = map_ring(stream, cpu, self.sizes.of(stream), self.features)?;
                self.rings.push(ring);
                self.rings.len() - 1
            }
        };
        Ok(&self.rings[at])
    }
}

/// Starts events. Accounting comes last, so that no thread is known to have switched before its mappings and
/// stacks could be seen.
fn enable_all(events: &[OpenEvent]) -> io::Result<()> {
    for stream in Stream::ALL {
        let mut of_stream = events.iter().filter(|event| event.stream == stream);
        of_stream.try_for_each(|event| enable(event.fd.as_fd()))?;
    }
    Ok(())
}

fn open_one(
    spec: &EventSpec,
    options: AttrOptions,
    scope: Scope<'_>,
    cpu: u32,
) -> io::Result<(OwnedFd, u64)> {
    let fd = open_event(&mut spec.attr(options), scope, cpu)?;
    if let Some(filter) = &spec.filter {
        set_filter(fd.as_fd(), &CString::new(filter.as_str())?)?;
    }
    let id = event_id(fd.as_fd())?;
    Ok((fd, id))
}

fn map_ring(stream: Stream, cpu: u32, size: usize, features: Features) -> Result<Ring, Error> {
    // The maps ring wakes the reader with its first record, the others when they are half full.
    let watermark = match stream {
        Stream::Maps => 1,
        Stream::Stacks | Stream::Samples | Stream::Accounting | Stream::Probes => {
            u32::try_from(size / 2).unwrap_or(u32::MAX)
        }
    };
    let own = Scope::Thread(rustix::process::getpid().as_raw_nonzero().get());
    let options = AttrOptions { watermark, inherit: false, features };
    let anchor = open_event(&mut EventSpec::anchor().attr(options), own, cpu)
        .map_err(|source| Error::Open { event: "Anchor".to_owned(), cpu, source })?;
    let memory = MappedRing::map(anchor.as_fd(), size)
        .map_err(|source| Error::Map { bytes: size, source })?;
    Ok(Ring { stream, cpu, anchor, memory })
}

/// A thread that ended, or whose memory we may not look at: the others are still worth recording.
fn skippable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EACCES | libc::EPERM))
}

impl EventSource for PerfSource {
    fn shapes(&self) -> EventShapes {
        EventShapes::new(self.events.iter().map(|event| event.shape).collect())
    }

    fn wait(&mut self, timeout: Duration, wake: Option<BorrowedFd<'_>>) -> io::Result<Ready> {
        let rings = self.rings.iter().map(|ring| PollFd::new(&ring.anchor, PollFlags::IN));
        let wake = wake.map(|wake| PollFd::from_borrowed_fd(wake, PollFlags::IN));
        // Those of the rings come first, in their order.
        let mut polled: Vec<PollFd<'_>> = rings.chain(wake).collect();
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Ready::Nothing),
            other => other?,
        };
        let awake = |stream| {
            let mut pairs = self.rings.iter().zip(&polled);
            pairs.any(|(ring, fd)| ring.stream == stream && fd.revents().contains(PollFlags::IN))
        };
        let half_full = Stream::ALL.into_iter().filter(|stream| *stream != Stream::Maps).any(awake);
        Ok(if half_full { Ready::All } else { Ready::Maps })
    }

    fn drain(&mut self, streams: &[Stream], spare: &mut Vec<Vec<u64>>, out: &mut Vec<Chunk>) {
        for ring in self.rings.iter_mut().filter(|ring| streams.contains(&ring.stream)) {
            if ring.memory.pending() == 0 {
                continue;
            }
            let mut words = spare.pop().unwrap_or_default();
            words.clear();
            ring.memory.drain_into(&mut words);
            out.push(Chunk { stream: ring.stream, cpu: ring.cpu, words });
        }
    }

    fn set_period(&mut self, cpu: u32, role: Role, period: u64) -> bool {
        // The copies of an inherited event keep the period that they were made with.
        let of_role = |event: &&OpenEvent| event.cpu == cpu && event.shape.role == role;
        let mut events =
            self.events.iter().filter(|event| !event.copied).filter(of_role).peekable();
        events.peek().is_some() && events.all(|event| set_period(event.fd.as_fd(), period).is_ok())
    }

    fn set_clock_period(&mut self, period: u64) {
        let clocks = self.events.iter().filter(|event| event.shape.role == Role::Clock);
        for event in clocks.filter(|event| !event.copied) {
            // It only fails on a period that the kernel would not have taken at first.
            let _ = set_period(event.fd.as_fd(), period);
        }
    }

    fn add_cgroup(&mut self, cgroup: BorrowedFd<'_>) -> io::Result<Vec<EventShape>> {
        self.add(Scope::Cgroup(cgroup)).map_err(|error| match error {
            Error::Open { source, .. } | Error::Recorder { source, .. } => source,
            other => io::Error::other(other.to_string()),
        })
    }

    fn stop(&mut self) {
        for event in &self.events {
            // Only fails on a descriptor that is no event, which these are not.
            let _ = disable(event.fd.as_fd());
        }
    }

    fn dropped(&mut self) -> Option<Vec<Dropped>> {
        if !self.features.lost_count {
            return None;
        }
        let counted = self.events.iter().map(|event| Dropped {
            role: event.shape.role,
            count: read_lost(&event.fd).unwrap_or(0),
        });
        Some(counted.filter(|dropped| dropped.count > 0).collect())
    }

    fn memory_bytes(&self) -> usize {
        self.rings.iter().map(|ring| ring.memory.memory()).sum()
    }
}

/// `read` of an event with PERF_FORMAT_LOST alone gives `{u64 value; u64 lost}`.
pub(crate) fn read_lost(event: &OwnedFd) -> io::Result<u64> {
    let mut words = [0_u64; 2];
    rustix::io::read(event, bytemuck::bytes_of_mut(&mut words))?;
    Ok(words[1])
}
