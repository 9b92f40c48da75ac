//! Which events a recording uses: the event set of each rung, as data.
//!
//! The set is the cheapest one that was found to give exact times, a stack at every switch out
//! and wakers (docs/recorder-cost.md): switch records in a ring of their own; one
//! context-switches sample a switch; `sched_waking` split by a filter on the interrupt bits, so
//! that only wakeups from interrupts pay for a stack; `sched_switch` and `sched_wakeup` without
//! stacks, because their instants are those of the kernel's own accounts (see `instants`).

use perf_event_open_sys::bindings as sys;

use crate::events::attr::{
    EventSpec, Fields, Rate, Role, SWITCH_REGISTERS, Source, UNWIND_REGISTERS, Watch,
};
use crate::session::ladder::WakerPoints;

/// How user stacks are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stacks {
    /// Frame pointers at every switch and clock sample, and enough dumps of the user stack to
    /// repair what frame pointers lose.
    #[default]
    Auto,
    /// Frame pointers only: smallest, and nothing of the user's memory is copied.
    FramePointers,
    /// As `Auto` with more and larger dumps, for programs built without frame pointers.
    Dwarf,
}

/// Whether and how wakeups are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wakers {
    /// Not at all: a blocked thread's time then lasts until it runs again.
    None,
    /// Who made whom ready; what kind of interrupt, where it was one.
    #[default]
    Threads,
    /// As `Threads`, with the waker's stack. Costs about as much as the stacks of the switches.
    WithStacks,
}

/// What the plan has settled about the events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventChoice<'a> {
    /// Whether the kernel may be looked into.
    pub(crate) kernel: bool,
    /// Clock samples a second of CPU time.
    pub(crate) frequency: u32,
    /// How user stacks are found.
    pub(crate) stacks: Stacks,
    /// Whether thread wakeups carry the waker's stack.
    pub(crate) waker_stacks: bool,
    /// The wakeup tracepoints, where they may be used.
    pub(crate) wakers: Option<&'a WakerPoints>,
    /// Records a second that no event may exceed (`kernel.perf_event_max_sample_rate`).
    pub(crate) most_samples: u32,
    /// Whether the reader can change rates while it runs (see `pace`): not for events that are
    /// inherited.
    pub(crate) paced: bool,
}

/// Filters on the bits for hard and soft interrupts (TRACE_FLAG_HARDIRQ 0x8, TRACE_FLAG_SOFTIRQ
/// 0x10; include/linux/trace_events.h).
const IN_THREAD: &str = "!(common_flags & 24)";
const IN_INTERRUPT: &str = "common_flags & 24";

/// Bytes of user stack in a dump, and dumps a second and CPU at switches: up to that many, every
/// switch has one. A buffer of 8 KiB is common on stacks (the JDK's `writeBytes` has one), and who called its
/// function stands behind it. A dump of 8 KiB costs some 1.5 us where it is taken and 5 us where it is unwound,
/// so 1,000 of 12 KiB cost under 1 % of a CPU; 5,000 of 16 KiB fill a ring of 8 MiB in a tenth of a second,
/// which a reader at real-time priority keeps up with.
const AUTO_DUMP: (u32, u32) = (12 << 10, 1_000);
const DWARF_DUMP: (u32, u32) = (16 << 10, 5_000);

/// Bytes of the user stack that are taken when a program is executed: its arguments and the pointers
/// to them and to its environment, which the kernel lays there first.
const ARGUMENTS: u32 = 8 << 10;

/// Minor faults recorded a second and CPU; the others are counted in the period of the next one.
const MINOR_FAULTS: u32 = 500;

impl Stacks {
    /// Dumps at switches a second and CPU; none without dumps.
    pub(crate) fn dump_rate(self) -> Option<u32> {
        self.dump().map(|(_, rate)| rate)
    }

    /// Bytes of a dump, and dumps a second and CPU.
    pub(crate) fn dump(self) -> Option<(u32, u32)> {
        match self {
            Self::FramePointers => None,
            Self::Auto => Some(AUTO_DUMP),
            Self::Dwarf => Some(DWARF_DUMP),
        }
    }
}

impl EventChoice<'_> {
    /// The events, the stream's first owner of each ring first.
    pub(crate) fn events(&self) -> Vec<EventSpec> {
        let chain = Fields { callchain: true, ..Fields::default() };
        let mut events = vec![
            self.target(Role::Maps, sys::PERF_COUNT_SW_DUMMY, Fields::default()),
            self.target(Role::Accounting, sys::PERF_COUNT_SW_DUMMY, Fields::default()),
            EventSpec { rate: self.clock_rate(), ..self.clock(chain) },
        ];
        if self.kernel {
            events.extend(self.switch_events(chain));
        }
        events.push(self.target(Role::DataMaps, sys::PERF_COUNT_SW_DUMMY, Fields::default()));
        let touched = Fields { address: true, ..chain };
        events.push(self.target(Role::MajorFault, sys::PERF_COUNT_SW_PAGE_FAULTS_MAJ, touched));
        events.push(EventSpec {
            rate: self.at_most(MINOR_FAULTS),
            ..self.target(
                Role::MinorFault,
                sys::PERF_COUNT_SW_PAGE_FAULTS_MIN,
                Fields { period: true, ..touched },
            )
        });
        if let Some(points) = self.wakers {
            events.extend(self.executed(points));
            events.extend(self.waker_events(points));
        }
        events
    }

    fn dump(&self) -> Option<(Fields, u32)> {
        let (stack_bytes, rate) = self.stacks.dump()?;
        Some((Fields { registers: UNWIND_REGISTERS, stack_bytes, ..Fields::default() }, rate))
    }

    fn at_most(&self, rate: u32) -> Rate {
        Rate::PerSecond(rate.min(self.most_samples).max(1).into())
    }

    fn clock_rate(&self) -> Rate {
        Rate::Every(1_000_000_000 / u64::from(self.frequency.max(1)))
    }

    fn clock(&self, chain: Fields) -> EventSpec {
        let dump = self.dump().map(|(dump, _)| dump).unwrap_or_default();
        let fields = Fields { callchain: chain.callchain, ..dump };
        self.target(Role::Clock, sys::PERF_COUNT_SW_CPU_CLOCK, fields)
    }

    fn switch_events(&self, chain: Fields) -> Vec<EventSpec> {
        let switches = sys::PERF_COUNT_SW_CONTEXT_SWITCHES;
        let Some((dump, rate)) = self.dump() else {
            return vec![self.target(Role::SwitchStack, switches, chain)];
        };
        // Both ask for the same registers, because the kernel counts their room only once when
        // both events fire (see `Stream::Stacks`) and would write past a smaller record's end.
        let keyed = Fields { registers: SWITCH_REGISTERS, ..chain };
        let dump = Fields { registers: SWITCH_REGISTERS, ..dump };
        vec![
            self.target(Role::SwitchStack, switches, keyed),
            EventSpec {
                rate: if self.paced { Rate::Every(1) } else { self.at_most(rate) },
                ..self.target(Role::SwitchDump, switches, dump)
            },
        ]
    }

    /// Programs as they are executed, where the user's stacks may be copied.
    fn executed(&self, points: &WakerPoints) -> Option<EventSpec> {
        let (dump, _) = self.dump()?;
        let fields = Fields { stack_bytes: ARGUMENTS, ..dump };
        let source = Source::Tracepoint(points.exec.id);
        Some(EventSpec { source, ..self.target(Role::Executed, 0, fields) })
    }

    fn waker_events(&self, points: &WakerPoints) -> Vec<EventSpec> {
        let point = |role, id, filter: Option<&str>| EventSpec {
            source: Source::Tracepoint(id),
            fields: Fields { raw: true, ..Fields::default() },
            watch: Watch::Machine,
            kernel: true,
            filter: filter.map(str::to_owned),
            ..self.target(role, 0, Fields::default())
        };
        let (waking, wakeup) = (points.waking.id, points.wakeup.id);
        let mut in_thread = point(Role::WakingThread, waking, Some(IN_THREAD));
        in_thread.fields.callchain = self.waker_stacks;
        let mut in_interrupt = point(Role::WakingInterrupt, waking, Some(IN_INTERRUPT));
        in_interrupt.fields.callchain = true;
        in_interrupt.kernel_chain_only = true;
        vec![
            in_thread,
            in_interrupt,
            point(Role::Wakeup, wakeup, None),
            point(Role::WakeupNew, points.wakeup_new.id, None),
            point(Role::Switch, points.switch.id, None),
        ]
    }

    fn target(&self, role: Role, counter: u32, fields: Fields) -> EventSpec {
        EventSpec {
            role,
            source: Source::Software(counter),
            rate: Rate::Every(1),
            fields,
            watch: Watch::Target,
            kernel: self.kernel,
            kernel_chain_only: false,
            filter: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(choice: EventChoice<'_>) -> Vec<Role> {
        choice.events().iter().map(|event| event.role).collect()
    }

    const USER: EventChoice<'static> = EventChoice {
        kernel: false,
        frequency: 999,
        stacks: Stacks::Auto,
        waker_stacks: false,
        wakers: None,
        paced: true,
        most_samples: u32::MAX,
    };

    #[test]
    fn without_kernel_rights_no_event_looks_into_the_kernel() {
        let events = USER.events();
        assert!(events.iter().all(|event| !event.kernel));
        // It would open, and deliver nothing: the event fires in the kernel.
        assert!(!roles(USER).contains(&Role::SwitchStack));
    }

    #[test]
    fn frame_pointers_alone_copy_no_user_memory() {
        let choice = EventChoice { kernel: true, stacks: Stacks::FramePointers, ..USER };
        assert!(choice.events().iter().all(|event| event.fields.stack_bytes == 0));
        assert!(!roles(choice).contains(&Role::SwitchDump));
    }

    #[test]
    fn the_first_event_of_each_stream_of_the_target_comes_before_the_machines() {
        let events = EventChoice { kernel: true, ..USER }.events();
        let first_machine = events.iter().position(|event| event.watch == Watch::Machine);
        let last_target = events.iter().rposition(|event| event.watch == Watch::Target);
        assert!(first_machine.is_none() || first_machine > last_target);
    }
}
