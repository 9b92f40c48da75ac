//! What we ask the kernel to record: one typed description per event.
//!
//! A description says what fires, what a record holds, whom it watches and which stream it goes
//! to; [`EventSpec::attr`] turns it into the kernel's structure. The field order of a sample is
//! fixed by the kernel, and both the request and the reader follow [`Fields::layout`], so they
//! cannot disagree. The set was chosen by measurement: see
//! docs/recorder-cost.md of this crate.

use std::ffi::CStr;
use std::sync::Arc;

use culprit_kernel::Layout;
use culprit_kernel::attr::sample;
use culprit_symbols::{Arch, FileOffset, Registers};
use perf_event_open_sys::bindings as sys;
use perf_event_open_sys::bindings::perf_event_attr;

use crate::events::extras::Hardware;
use crate::probes::{Moment, ProbeId, UprobePmu};

/// A stream of records: each has its own ring on each CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stream {
    /// New executable mappings. Wakes the reader at once, so that files are opened while their
    /// process lives.
    Maps,
    /// Clock samples, dumps, wakeups, faults: big records that may be lost.
    Samples,
    /// The stack of each switch, alone: since Linux 6.2 the kernel prepares a sample once for all
    /// software events of one kind that fire together, also for those of other programs
    /// (`do_perf_sw_event` shares its `perf_sample_data`), so a number in these records may be
    /// another event's. Their ring tells what they are.
    Stacks,
    /// Switches, forks, exits, names: small records that carry the time accounting. Its only samples
    /// are those of [`Role::Switch`].
    Accounting,
    /// Hits of probes in programs, calls that move data, bytes on sockets: there may be very many,
    /// which must not cost any other record.
    Probes,
}

impl Stream {
    /// Every stream, in the order in which records of equal time are handled: a stack is taken
    /// just before the switch record that it belongs to.
    pub(crate) const ALL: [Self; 5] =
        [Self::Maps, Self::Samples, Self::Stacks, Self::Accounting, Self::Probes];

    /// Whether records carry the number of their event; streams of one event kind need not.
    pub(crate) const fn identified(self) -> bool {
        matches!(self, Self::Samples | Self::Probes)
    }

    /// What all records of its rings have: whose they are, when, and of which event.
    pub(crate) const fn layout(self) -> Layout {
        const WHO_AND_WHEN: Layout = Layout::new(sample::TID | sample::TIME, true);
        const IDENTIFIED: Layout =
            Layout::new(sample::IDENTIFIER | sample::TID | sample::TIME, true);
        if self.identified() { IDENTIFIED } else { WHO_AND_WHEN }
    }

    /// What its ring holds, in a word.
    pub(crate) const fn holds(self) -> &'static str {
        match self {
            Self::Maps => "mappings",
            Self::Samples => "samples",
            Self::Stacks => "stacks",
            Self::Accounting => "switches",
            Self::Probes => "probes",
        }
    }
}

/// What an event is for; the handler of its records is chosen by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Executable mappings.
    Maps,
    /// Switches, forks, exits, names.
    Accounting,
    /// Mappings of data, to name the file that a page fault touched.
    DataMaps,
    /// Never fires: owns a ring that other events write into.
    Anchor,
    /// The stack at each switch out, by frame pointers.
    SwitchStack,
    /// A dump of the user stack at some switches out, for unwinding by DWARF.
    SwitchDump,
    /// The CPU clock.
    Clock,
    /// `sched_waking` outside interrupts: the current thread is the waker.
    WakingThread,
    /// `sched_waking` in an interrupt: the kernel stack tells which.
    WakingInterrupt,
    /// `sched_switch`: the instant of a switch and the state of who left.
    Switch,
    /// `sched_wakeup`: a thread is on a run queue.
    Wakeup,
    /// `sched_wakeup_new`: a created thread gets onto a run queue for the first time.
    WakeupNew,
    /// A page fault that had to read.
    MajorFault,
    /// Any other page fault, sampled.
    MinorFault,
    /// A probe was hit.
    Probe(ProbeId),
    /// A dump of the user stack at some hits of probes where functions begin.
    ProbeDump,
    /// The same where functions have returned.
    ReturnDump,
    /// A program was executed: its arguments lie at the foot of the user stack.
    Executed,
    /// A call that moved data has returned.
    Transfer,
    /// A dump of the user stack at some of these.
    TransferDump,
    /// One of the processor's counters.
    Hardware(Hardware),
    /// A thread has sent on a socket.
    SocketSent,
    /// A thread has received on a socket.
    SocketReceived,
    /// A thread is about to have received on a TCP socket.
    SocketAddressed,
    /// A TCP socket connects or closes.
    SocketState,
    /// A program listens on a TCP socket or connects to one.
    Door,
}

impl Role {
    /// The stream that the event's records go to.
    pub(crate) const fn stream(self) -> Stream {
        match self {
            Self::Maps => Stream::Maps,
            Self::Accounting | Self::Switch => Stream::Accounting,
            Self::SwitchStack => Stream::Stacks,
            Self::Probe(_)
            | Self::ProbeDump
            | Self::ReturnDump
            | Self::Transfer
            | Self::TransferDump
            | Self::SocketSent
            | Self::SocketReceived
            | Self::SocketAddressed
            | Self::SocketState => Stream::Probes,
            _ => Stream::Samples,
        }
    }
}

/// What makes the kernel take a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A software event, by its `PERF_COUNT_SW_` number.
    Software(u32),
    /// A tracepoint, by the number in its `id` file.
    Tracepoint(u64),
    /// A counter of the processor, by its `PERF_COUNT_HW_` number.
    Hardware(u32),
    /// A function of a program.
    Probe(ProbePoint),
}

/// A place in a program for the kernel to stop at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbePoint {
    /// The kernel's PMU.
    pub(crate) pmu: UprobePmu,
    /// A path that leads to the file while the event is opened.
    pub(crate) path: Arc<CStr>,
    /// The first instruction.
    pub(crate) offset: FileOffset,
    /// When it fires.
    pub(crate) moment: Moment,
    /// The counter of listeners, for sites that have one.
    pub(crate) listeners: Option<FileOffset>,
}

/// How often a record is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    /// Every N-th event (for the clock: every N ns).
    Every(u64),
    /// About N records a second and CPU; the kernel adapts.
    PerSecond(u64),
}

/// Which optional parts a sample has; identifier, thread and time are always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fields {
    /// The address that was touched.
    pub(crate) address: bool,
    /// How many events the record stands for.
    pub(crate) period: bool,
    /// Kernel and user addresses by frame pointers.
    pub(crate) callchain: bool,
    /// The tracepoint's own record.
    pub(crate) raw: bool,
    /// User registers, a set of `PERF_REG_` bits; zero for none.
    pub(crate) registers: u64,
    /// Bytes of user stack to copy; zero for none.
    pub(crate) stack_bytes: u32,
}

/// Whom an event watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// The recorded threads.
    Target,
    /// All that runs on the CPU; filtered later.
    Machine,
}

/// One event, opened once per CPU and per attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventSpec {
    /// What it is for.
    pub(crate) role: Role,
    /// What fires it.
    pub(crate) source: Source,
    /// How often.
    pub(crate) rate: Rate,
    /// What a record holds.
    pub(crate) fields: Fields,
    /// Whom it watches.
    pub(crate) watch: Watch,
    /// Whether it may look into the kernel.
    pub(crate) kernel: bool,
    /// Whether the user part of the call chain is left out.
    pub(crate) kernel_chain_only: bool,
    /// A tracepoint's filter.
    pub(crate) filter: Option<String>,
}

/// What the running kernel can do beyond the oldest one that we support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Features {
    /// Count lost records per event (`PERF_FORMAT_LOST`, Linux 6.0).
    pub(crate) lost_count: bool,
}

/// What is the same for every event of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttrOptions {
    /// Fill of the ring, in bytes, that wakes the reader.
    pub(crate) watermark: u32,
    /// Follow the threads that the watched one creates; never for machine-wide events.
    pub(crate) inherit: bool,
    /// What the kernel can do.
    pub(crate) features: Features,
}

/// Registers that the unwinder wants besides the stack: all general ones.
pub(crate) const UNWIND_REGISTERS: u64 = match Arch::NATIVE {
    Some(arch) => Registers::perf_mask(arch),
    None => 0,
};

/// Registers at a switch: those that calls preserve, because at a system call no frame's rules need
/// others; the stack pointer also tells two calls of the same blocking function apart. On x86-64
/// rbx, rdi (glibc's `vfork` keeps its return address there), rbp, rsp, rip, r12 to r15; on ARM x19
/// to x30, sp and pc (`PERF_REG_X86_*`, `PERF_REG_ARM64_*`).
#[cfg(target_arch = "x86_64")]
pub(crate) const SWITCH_REGISTERS: u64 = 1 << 1 | 0b1111 << 5 | 0b1111 << 20;
#[cfg(target_arch = "aarch64")]
pub(crate) const SWITCH_REGISTERS: u64 = ((1 << 14) - 1) << 19;

#[cfg(target_arch = "x86_64")]
const STACK_POINTER: u64 = 1 << 7;
#[cfg(target_arch = "aarch64")]
const STACK_POINTER: u64 = 1 << 31;

/// The stack pointer among the registers that `mask` asked for.
pub(crate) fn stack_pointer(mask: u64, registers: &[u64]) -> Option<u64> {
    let below = mask & (STACK_POINTER - 1);
    registers.get(below.count_ones() as usize).copied()
}

impl EventSpec {
    /// An event that never fires, to own a ring.
    pub(crate) fn anchor() -> Self {
        Self {
            role: Role::Anchor,
            source: Source::Software(sys::PERF_COUNT_SW_DUMMY),
            rate: Rate::Every(1),
            fields: Fields::default(),
            watch: Watch::Target,
            kernel: false,
            kernel_chain_only: false,
            filter: None,
        }
    }

    /// The kernel's structure. That of a probe points to the path in `self`, which has to live
    /// until the event is opened.
    pub(crate) fn attr(&self, options: AttrOptions) -> perf_event_attr {
        let mut attr = perf_event_attr {
            size: u32::try_from(size_of::<perf_event_attr>()).unwrap_or(u32::MAX),
            ..perf_event_attr::default()
        };
        match &self.source {
            Source::Software(number) => {
                attr.type_ = sys::PERF_TYPE_SOFTWARE;
                attr.config = u64::from(*number);
            }
            Source::Tracepoint(id) => {
                attr.type_ = sys::PERF_TYPE_TRACEPOINT;
                attr.config = *id;
            }
            Source::Hardware(number) => {
                attr.type_ = sys::PERF_TYPE_HARDWARE;
                attr.config = u64::from(*number);
            }
            Source::Probe(point) => point.fill(&mut attr),
        }
        match self.rate {
            Rate::Every(period) => attr.sample_period = period,
            Rate::PerSecond(frequency) => {
                attr.sample_freq = frequency;
                attr.set_freq(1);
            }
        }
        let layout = self.fields.layout(self.role.stream());
        attr.sample_type = layout.sample_type;
        attr.sample_regs_user = layout.user_registers;
        attr.sample_stack_user = self.fields.stack_bytes;
        if options.features.lost_count {
            attr.read_format = u64::from(sys::PERF_FORMAT_LOST);
        }
        attr.set_disabled(1);
        attr.set_inherit(u64::from(options.inherit && self.watch == Watch::Target));
        attr.set_exclude_kernel(u64::from(!self.kernel));
        attr.set_exclude_hv(1);
        attr.set_exclude_idle(u64::from(self.role == Role::Clock));
        attr.set_exclude_callchain_user(u64::from(self.kernel_chain_only));
        let user_only = matches!(self.role, Role::Transfer | Role::TransferDump);
        attr.set_exclude_callchain_kernel(u64::from(user_only));
        attr.set_sample_id_all(1);
        // CLOCK_MONOTONIC: comparable with jitdump and with logs (through the recorded pairs).
        attr.set_use_clockid(1);
        attr.clockid = libc::CLOCK_MONOTONIC;
        attr.set_watermark(1);
        attr.wakeup_watermark = options.watermark;
        self.side_band(&mut attr);
        attr
    }

    /// Asks for the records that are not samples.
    fn side_band(&self, attr: &mut perf_event_attr) {
        match self.role {
            // Not with build ids (`build_id`): the kernel sets the record's flag for them once and hands the same
            // record to every other listener (perf_event_mmap_output, kernel/events/core.c). A perf that did not ask
            // takes device and inode for a build id then, and ends with "stack smashing detected" (perf 6.1).
            Role::Maps => {
                attr.set_mmap(1);
                attr.set_mmap2(1);
            }
            Role::DataMaps => attr.set_mmap_data(1),
            Role::Accounting => {
                attr.set_context_switch(1);
                attr.set_task(1);
                attr.set_comm(1);
                attr.set_comm_exec(1);
            }
            _ => {}
        }
    }
}

impl ProbePoint {
    fn fill(&self, attr: &mut perf_event_attr) {
        attr.type_ = self.pmu.number;
        attr.config = u64::from(self.moment == Moment::Return) << self.pmu.return_bit;
        // The counter's offset has 32 bits, enough for the data of any program.
        attr.config |= self.listeners.map_or(0, |at| at.0) << self.pmu.listeners_bit;
        attr.uprobe_path = self.path.as_ptr() as u64;
        attr.probe_offset = self.offset.0;
    }
}

impl Fields {
    /// What a sample of these fields looks like in `stream`.
    pub(crate) fn layout(self, stream: Stream) -> Layout {
        let optional = [
            (self.address, sample::ADDR),
            (self.period, sample::PERIOD),
            (self.callchain, sample::CALLCHAIN),
            (self.raw, sample::RAW),
            (self.registers != 0, sample::REGS_USER),
            (self.stack_bytes != 0, sample::STACK_USER),
        ];
        let wanted = optional.iter().filter(|(on, _)| *on).map(|(_, bit)| bit);
        let sample_type = stream.layout().sample_type | wanted.sum::<u64>();
        let mut layout = Layout::new(sample_type, true);
        layout.user_registers = self.registers;
        layout
    }
}
