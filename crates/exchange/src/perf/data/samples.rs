//! Samples in the order of time: what each counts, and where it was.

use culprit_kernel::record::Mode;
use culprit_kernel::{List, Sample};
use culprit_model::{
    Cause, Metric, Sample as ClockSample, SampleKind, StackId, ThreadId, Time, UNKNOWN_CPU,
};
use culprit_symbols::{CodeAddress, Registers};

use super::apply::Apply;
use super::chains::{self, front};
use super::events::{Event, Role};
use super::switches::{Source, Switching, Told};
use super::tracing::Points;
use crate::builder::Amount;

/// Rows that are kept at most, some 60 bytes each.
const MOST_SAMPLES: u64 = 1 << 26;

/// What a sample counts, and where.
#[derive(Debug, Clone, Copy)]
struct Look {
    time: u64,
    thread: ThreadId,
    stack: Option<StackId>,
    cpu: u32,
    /// In the kernel.
    kernel: bool,
    /// The number of its event.
    event: u32,
    /// How many events it stands for, where the file says so.
    period: Option<u64>,
}

impl Apply<'_> {
    /// A sample of an event.
    pub(super) fn sample(
        &mut self,
        time: u64,
        (mode, number): (Mode, u32),
        sample: &Sample<'_>,
        points: &Points,
    ) {
        self.tally.samples += 1;
        if self.tally.samples > MOST_SAMPLES {
            self.tally.beyond += 1;
            return;
        }
        let Some(event) = self.events.all.get_mut(number as usize) else { return };
        event.seen += 1;
        let (role, period) = (event.role, sample.period.or(event.period));
        let mask = event.attr.layout.user_registers;
        self.tally.branches += u64::from(sample.branches);
        let context = context(mode);
        self.tally.guests += u64::from(matches!(mode, Mode::GuestKernel | Mode::GuestUser));
        let mut leaf = self.fill_key(context, sample);
        let (thread, space) = self.place(sample.task);
        let pid = sample.task.pid;
        if let Some((registers, stack)) = sample.registers.zip(sample.stack) {
            leaf = self.unwind(pid, (mask, registers), stack).unwrap_or(leaf);
        }
        let chain = self.chains.intern(&self.key);
        let look = Look {
            time,
            thread,
            stack: self.stack((pid, space), chain, leaf),
            cpu: sample.cpu.unwrap_or(UNKNOWN_CPU),
            kernel: is_kernel(context),
            event: number,
            period,
        };
        let told = match role {
            _ if sample.counted.is_some_and(|counted| counted.group) => self.values(&look, sample),
            _ if self.switching.source == Source::None => None,
            Role::Switch => self.switched(&look, sample, points),
            Role::Wake { point, waking } => self.woken(&look, sample, points, (point, waking)),
            Role::Clock | Role::Count => None,
        };
        if told.is_none() {
            self.add(&look);
        }
    }

    /// What a stack is known by, and its leaf: see [`front`].
    fn fill_key(&mut self, mut context: u64, sample: &Sample<'_>) -> u64 {
        let key = &mut self.key;
        key.clear();
        key.extend([sample.cgroup.map_or(0, |id| id.wrapping_add(1)), 0]);
        let mut chain = sample.chain.into_iter().flat_map(List::iter).take(chains::DEEPEST);
        let mut leaf = None;
        for entry in chain.by_ref() {
            if entry < chains::MARKERS {
                leaf = Some(entry);
                break;
            }
            context = entry;
        }
        key[front::CONTEXT] = context;
        key.extend(chain);
        leaf.or(sample.ip).unwrap_or(0)
    }

    /// Puts the user's frames, from a copy of its stack, behind those of the kernel. Gives the leaf where that is one
    /// of them.
    fn unwind(
        &mut self,
        pid: i32,
        (mask, registers): (u64, List<'_>),
        stack: &[u8],
    ) -> Option<u64> {
        let registers: Vec<u64> = registers.iter().collect();
        let registers = self.arch.and_then(|arch| Registers::from_perf(arch, mask, &registers));
        let mut frames = Vec::new();
        let whole = registers.is_some_and(|registers| {
            self.code.unwind(pid, registers, stack, &mut frames, self.builder)
        });
        self.unwound.0 += 1;
        self.unwound.1 += u64::from(!whole);
        let key = &mut self.key;
        if key[front::CONTEXT] == chains::USER {
            // The kernel noted no more than where the thread was.
            key.truncate(front::LENGTH);
            key.extend(entries(frames.get(1..).unwrap_or_default()));
            return frames.first().map(|frame| frame.lookup().0);
        }
        let kernel = key[front::LENGTH..].iter().take_while(|entry| **entry != chains::USER);
        let kernel = kernel.count();
        key.truncate(front::LENGTH + kernel);
        key.push(chains::USER);
        key.extend(entries(&frames));
        None
    }

    /// What the counters of a group have counted since the sample before.
    fn values(&mut self, look: &Look, sample: &Sample<'_>) -> Option<()> {
        for (id, value) in sample.counted?.values() {
            let Some(event) = self.events.known_id(id) else {
                self.tally.unknown_ids += 1;
                continue;
            };
            let before = self.counted.insert(id, value).unwrap_or(0);
            let period = Some(value.saturating_sub(before));
            self.add(&Look { event, period, ..*look });
        }
        Some(())
    }

    /// `sched_switch`; none where its record is cut.
    fn switched(&mut self, look: &Look, sample: &Sample<'_>, points: &Points) -> Option<()> {
        let told = points.switch?.read(sample.raw?, self.order)?;
        let thread = self.switching.learn(told.prev, sample.task.tid, look.thread);
        let next = (told.next, self.numbered(told.next));
        let (cpu, state, stack) = (look.cpu, told.state, look.stack);
        let told = Told { cpu, prev: (told.prev, thread), state, next, stack };
        self.switching.tell(look.time, told, self.builder.recording());
        Some(())
    }

    /// `sched_waking` or `sched_wakeup`; none where its record is cut.
    fn woken(
        &mut self,
        look: &Look,
        sample: &Sample<'_>,
        points: &Points,
        (point, waking): (u64, bool),
    ) -> Option<()> {
        let told = points.wake.get(&point)?.read(sample.raw?, self.order)?;
        if let Some(thread) = self.numbered(told.tid) {
            let (by, recording) = ((look.thread, look.stack), self.builder.recording());
            Switching::wake(look.time, thread, by, (told, waking), recording);
        }
        Some(())
    }

    /// The thread that a tracepoint means by a number.
    fn numbered(&self, number: i32) -> Option<ThreadId> {
        self.switching.by_number(number).unwrap_or_else(|| self.tasks.by_tid(number))
    }

    /// One amount, or one look of the clock where thread time says what it weighs.
    #[inline]
    fn add(&mut self, look: &Look) {
        let Look { time, thread, stack, cpu, kernel, event: number, period } = *look;
        let Some(event) = self.events.all.get(number as usize) else { return };
        let Event { role, counts, .. } = *event;
        if role == Role::Clock && self.switching.source != Source::None {
            let kind = if kernel { SampleKind::Kernel } else { SampleKind::User };
            let row = ClockSample { time: Time(time), thread, kind, cpu, stack };
            self.builder.recording().samples.push(row);
            self.weights.push((period.unwrap_or(1), period.is_some()));
            return;
        }
        let stack = if counts.named { self.named(stack, number) } else { stack };
        let (metric, value) = counts.value(period);
        let amount = Amount { time, thread: Some(thread), ..Amount::at(stack, metric, value) };
        self.builder.add(Amount { cause: cause(metric, kernel), ..amount });
    }
}

/// Frames as they stand in a chain: behind a marker an address is that of the instruction itself.
fn entries(frames: &[CodeAddress]) -> impl Iterator<Item = u64> + '_ {
    frames
        .iter()
        .enumerate()
        .flat_map(|(at, frame)| match frame {
            CodeAddress::InstructionPointer(address) if at > 0 => {
                [Some(chains::USER), Some(address.0)]
            }
            CodeAddress::InstructionPointer(address) => [None, Some(address.0)],
            CodeAddress::ReturnAddress(address) => [None, Some(address.0)],
        })
        .flatten()
}

/// Whose a sample is that has no chain.
fn context(mode: Mode) -> u64 {
    match mode {
        Mode::Kernel => chains::KERNEL,
        Mode::Hypervisor => chains::HYPERVISOR,
        Mode::GuestKernel => chains::GUEST_KERNEL,
        Mode::GuestUser => chains::GUEST_USER,
        Mode::User | Mode::Unknown => chains::USER,
    }
}

fn is_kernel(context: u64) -> bool {
    matches!(context, chains::KERNEL | chains::HYPERVISOR | chains::GUEST | chains::GUEST_KERNEL)
}

/// The cause of time on a CPU.
pub(super) fn cause(metric: Metric, kernel: bool) -> Option<Cause> {
    let cause = if kernel { Cause::CpuKernel } else { Cause::CpuUser };
    (metric == Metric::Cpu).then_some(cause)
}
