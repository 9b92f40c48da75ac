//! Places probes: in the files that exist when a recording starts, and in each file that is mapped
//! later.
//!
//! ```text
//! arm     --Scene----> first_look    the command's program, the C libraries of its root, or all
//!                                     that running processes have mapped
//! reader  --Request--> Prober         a thread of its own: symbols take milliseconds, a probe too
//! Prober  --News-----> worker         sent before the probe can fire: no record comes unannounced
//! ```
//!
//! Files are told apart by device and inode, as probes are. Every probe is one event a CPU, which
//! writes into the ring of [`Stream::Probes`] there. They are opened for the recorded cgroup or the
//! whole machine, never inherited: the kernel would read the path of the probe anew from the memory
//! of whoever forks (`perf_uprobe_init`) and fail the fork.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use culprit_model::Pid;
use culprit_place::procfs;

use super::programs::{C_LIBRARIES, open_in, programs};
use super::{
    Definitions, Moment, PROBE_REGISTERS, Probe, ProbeId, STACK_TOP, Site, Trap, UprobePmu, Wish,
};
use crate::clock::monotonic_ns;
use crate::events::attr::{
    AttrOptions, EventSpec, Features, Fields, ProbePoint, Rate, Role, Source, UNWIND_REGISTERS,
    Watch,
};
use crate::events::decode::EventShape;
use crate::rings::perf::{Attachment, read_lost};
use crate::rings::source::Dropped;
use crate::symbolize::modules::{MEMORY_FILE, kernel_pid};
use crate::sys::{Scope, disable, enable, event_id, open_event, redirect};

/// What to do.
#[derive(Debug)]
pub(crate) enum Request {
    /// A process mapped a file as code, at this instant of the monotonic clock.
    Mapped {
        /// Which process.
        pid: i32,
        /// The file as its root names it.
        path: String,
        /// When.
        at: u64,
    },
    /// Take probes of every allocation away, and place no more.
    StopAllocations,
    /// The recording ends: take all probes away.
    Stop,
}

/// What has become of it.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Events that may fire from now on.
    pub(crate) shapes: Vec<EventShape>,
    /// Their probes.
    pub(crate) probes: Vec<Probe>,
    /// What went wrong.
    pub(crate) troubles: Vec<Trouble>,
    /// Records that the kernel could not write; told at the end.
    pub(crate) dropped: Vec<Dropped>,
}

/// Something that the recording has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A file ran for so many ns before it was probed.
    Late(String, u64),
    /// A file could not be probed, and why.
    Refused(String, String),
}

/// What exists when the recording starts.
#[derive(Debug)]
pub(crate) enum Scene {
    /// A held process and the command that it will execute; without a process the command will run
    /// in a root that does not exist yet, which may share the machine's own libraries.
    Command(Option<i32>, Vec<String>),
    /// Running processes.
    Running(Vec<i32>),
}

/// How the kernel is told of a probe.
#[derive(Debug)]
pub(crate) enum Way {
    /// By a definition that the events of all CPUs share.
    Defined(Definitions),
    /// By each event.
    Pmu(UprobePmu),
}

/// How probes are opened.
#[derive(Debug)]
pub(crate) struct Opening {
    /// How the kernel is told of them.
    pub(crate) way: Way,
    /// What the kernel can do.
    pub(crate) features: Features,
    /// Whom they watch; threads are reached by watching the machine.
    pub(crate) attachment: Attachment,
    /// Each CPU's owner of the ring that records go to.
    pub(crate) anchors: Vec<(u32, OwnedFd)>,
    /// Bytes and rate a second and CPU of the dumps that teach stacks; none without.
    pub(crate) dump: Option<(u32, u32)>,
}

/// Places probes and takes them away.
#[derive(Debug)]
pub(crate) struct Prober {
    wishes: Vec<Wish>,
    files: BTreeSet<(u64, u64)>,
    placed: Vec<Probe>,
    /// Before `opening`: a definition is taken away when no event uses it any more.
    events: Vec<(Role, OwnedFd)>,
    opening: Opening,
    news: Sender<News>,
}

impl Prober {
    /// A prober that has placed nothing.
    pub(crate) fn new(wishes: Vec<Wish>, opening: Opening, news: Sender<News>) -> Self {
        let (files, placed, events) = (BTreeSet::new(), Vec::new(), Vec::new());
        Self { wishes, opening, files, placed, events, news }
    }

    /// Places probes in what exists already. Returns when they can fire.
    pub(crate) fn first_look(&mut self, scene: &Scene) {
        match scene {
            Scene::Command(held, argv) => {
                let pid = held.map_or_else(|| Pid(std::process::id()), kernel_pid);
                let programs = argv.first().map(|word| programs(pid, word));
                for (file, path) in programs.into_iter().flatten() {
                    self.look(&file, &path, None);
                }
                for path in C_LIBRARIES {
                    if let Some(file) = open_in(pid, path) {
                        self.look(&file, path, None);
                    }
                }
                self.look_at_sampler();
            }
            Scene::Running(pids) => {
                for pid in pids {
                    let maps = procfs::maps(kernel_pid(*pid)).unwrap_or_default();
                    for map in maps.into_iter().filter(|map| map.execute) {
                        self.mapped(*pid, &map.path, None);
                    }
                }
            }
        }
    }

    /// The library that the command preloads lies on this machine, whatever the command's root is.
    fn look_at_sampler(&mut self) {
        let library = self.wishes.iter().find_map(|wish| match wish {
            Wish::SampledAllocations(library) => Some(library.clone()),
            _ => None,
        });
        let Some(library) = library else { return };
        match File::open(&library.file) {
            Ok(file) => self.look(&file, &library.path.to_string_lossy(), None),
            Err(error) => {
                let path = library.file.display().to_string();
                let troubles = vec![Trouble::Refused(path, error.to_string())];
                self.tell(News { troubles, ..News::default() });
            }
        }
    }

    /// Places probes in what is mapped, until the recording ends; then takes all away.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        loop {
            match requests.recv() {
                Ok(Request::Mapped { pid, path, at }) => self.mapped(pid, &path, Some(at)),
                Ok(Request::StopAllocations) => self.stop_allocations(),
                Ok(Request::Stop) | Err(_) => break,
            }
        }
        for (_, event) in &self.events {
            // Only fails on a descriptor that is no event, which these are not.
            let _ = disable(event.as_fd());
        }
        let unfound = self.wishes.iter().flat_map(|wish| wish.unfound(&self.placed));
        let refused = |(name, end): (String, String)| {
            Trouble::Refused(name, format!("no program or library that ran has `{end}`"))
        };
        let troubles: Vec<Trouble> = unfound.map(refused).collect();
        self.tell(News { troubles, ..News::default() });
        self.tell_dropped(&self.events);
    }

    /// Tells how many records of these events the kernel could not write.
    fn tell_dropped(&self, events: &[(Role, OwnedFd)]) {
        if self.opening.features.lost_count {
            let counted = events
                .iter()
                .map(|(role, event)| Dropped { role: *role, count: read_lost(event).unwrap_or(0) });
            let dropped = counted.filter(|dropped| dropped.count > 0).collect();
            self.tell(News { dropped, ..News::default() });
        }
    }

    /// The kernel takes a probe away when its last event is closed: one that is only stopped still traps.
    fn stop_allocations(&mut self) {
        self.wishes.retain(|wish| *wish != Wish::Allocations);
        let placed = &self.placed;
        let is_allocation = |id: &ProbeId| {
            let probe = placed.iter().find(|probe| probe.id == *id);
            probe.is_some_and(|probe| probe.site.purpose.wants_stacks())
        };
        // Dumps are taken at allocations only.
        let ends = |(role, _): &(Role, OwnedFd)| match role {
            Role::Probe(id) => is_allocation(id),
            role => matches!(role, Role::ProbeDump | Role::ReturnDump),
        };
        let (ended, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.events).into_iter().partition(ends);
        self.events = kept;
        self.tell_dropped(&ended);
    }

    fn mapped(&mut self, pid: i32, path: &str, at: Option<u64>) {
        if path.starts_with('/')
            && !path.starts_with("//anon")
            && !path.starts_with(MEMORY_FILE)
            && let Some(file) = open_in(kernel_pid(pid), path)
        {
            self.look(&file, path, at);
        }
    }

    /// Places probes in a file unless that has been done; `at` is when it began to run.
    fn look(&mut self, file: &File, path: &str, at: Option<u64>) {
        let Ok(metadata) = file.metadata() else { return };
        if !metadata.is_file() || !self.files.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        let mut news = News::default();
        for wish in self.wishes.clone() {
            // What cannot be read as a program is told by the module that it is.
            let sites = wish.sites(file, path).unwrap_or_default();
            let family = family(&sites);
            for site in sites {
                if let Err(error) = self.place(file, site, &family, &mut news) {
                    news.troubles.push(Trouble::Refused(path.to_owned(), error.to_string()));
                    break;
                }
            }
        }
        if let Some(at) = at.filter(|_| !news.probes.is_empty()) {
            let late = monotonic_ns().saturating_sub(at);
            news.troubles.push(Trouble::Late(path.to_owned(), late));
        }
        let first = self.events.len() - news.shapes.len();
        self.tell(news);
        for (_, event) in &self.events[first..] {
            let _ = enable(event.as_fd());
        }
    }

    fn tell(&self, news: News) {
        // The worker may be gone; then nobody wants to know.
        let _ = self.news.send(news);
    }

    /// Opens a probe's events, stopped.
    fn place(
        &mut self,
        file: &File,
        site: Site,
        family: &Arc<[Range<u64>]>,
        news: &mut News,
    ) -> io::Result<()> {
        let id = ProbeId(u32::try_from(self.placed.len()).unwrap_or(u32::MAX));
        let source = match &mut self.opening.way {
            Way::Defined(definitions) => Source::Tracepoint(definitions.define(file, &site)?),
            Way::Pmu(pmu) => Source::Probe(ProbePoint {
                pmu: *pmu,
                path: CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?.into(),
                offset: site.place.offset,
                moment: site.moment,
                listeners: site.listeners,
            }),
        };
        let hit = hit_spec(id, source.clone());
        let specs = match self.opening.dump {
            Some((stack_bytes, _)) if site.purpose.wants_dumps() => {
                let fields = Fields { registers: UNWIND_REGISTERS, stack_bytes, ..hit.fields };
                vec![EventSpec { fields, ..hit }]
            }
            Some(dump) if site.purpose.wants_stacks() => {
                vec![hit, dump_spec(source, site.moment, dump)]
            }
            _ => vec![hit],
        };
        let (mut opened, mut shapes) = (Vec::new(), Vec::new());
        for spec in &specs {
            for (cpu, anchor) in &self.opening.anchors {
                let (fd, event) = self.open(spec, *cpu, anchor)?;
                shapes.push(EventShape::new(event, spec.role, spec.fields));
                opened.push((spec.role, fd));
            }
        }
        let alike = |probe: &&Probe| probe.site == site;
        let twin = self.placed.iter().find(alike).map(|probe| probe.twin.unwrap_or(probe.id));
        let trap = trap(file, &site);
        let file = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let probe = Probe { id, file, site, family: Arc::clone(family), twin, trap };
        self.placed.push(probe.clone());
        self.events.extend(opened);
        news.shapes.extend(shapes);
        news.probes.push(probe);
        Ok(())
    }

    fn open(&self, spec: &EventSpec, cpu: u32, anchor: &OwnedFd) -> io::Result<(OwnedFd, u64)> {
        let scope = match &self.opening.attachment {
            Attachment::Cgroup(folder) => Scope::Cgroup(folder.as_fd()),
            Attachment::Threads(_) | Attachment::Machine => Scope::Machine,
        };
        let features = self.opening.features;
        let options = AttrOptions { watermark: 0, inherit: false, features };
        let fd = open_event(&mut spec.attr(options), scope, cpu)?;
        redirect(fd.as_fd(), anchor.as_fd())?;
        let id = event_id(fd.as_fd())?;
        Ok((fd, id))
    }
}

/// How the kernel gets past a probe; what cannot be read counts as stepped over, the dearer.
fn trap(file: &File, site: &Site) -> Trap {
    let mut code = [0; 4];
    match site.moment {
        Moment::Return => Trap::Light,
        Moment::Entry => match file.read_exact_at(&mut code, site.place.offset.0) {
            Ok(()) => Trap::of(code),
            Err(_) => Trap::Stepped,
        },
    }
}

/// The event that records every hit: few bytes, because there may be hundreds of thousands a second.
pub(super) fn hit_spec(id: ProbeId, source: Source) -> EventSpec {
    EventSpec {
        role: Role::Probe(id),
        source,
        rate: Rate::Every(1),
        fields: Fields {
            callchain: true,
            registers: PROBE_REGISTERS,
            stack_bytes: STACK_TOP,
            ..Fields::default()
        },
        watch: Watch::Target,
        kernel: false,
        kernel_chain_only: false,
        filter: None,
    }
}

/// The event that copies the stack of some hits, to teach where others came from.
fn dump_spec(source: Source, moment: Moment, (stack_bytes, rate): (u32, u32)) -> EventSpec {
    let fields =
        Fields { callchain: true, registers: UNWIND_REGISTERS, stack_bytes, ..Fields::default() };
    let role = match moment {
        Moment::Entry => Role::ProbeDump,
        Moment::Return => Role::ReturnDump,
    };
    let rate = Rate::PerSecond(rate.into());
    EventSpec { role, rate, fields, ..hit_spec(ProbeId(0), source) }
}

/// The code of the functions of some sites.
fn family(sites: &[Site]) -> Arc<[Range<u64>]> {
    let range = |site: &Site| {
        let start = site.place.offset.0;
        start..start.saturating_add(site.place.size)
    };
    sites.iter().map(range).collect()
}
