//! Which kernel functions mean which cause: the table, one row a rule, a file a family.
//!
//! A row lists every name that the function had, oldest kernels included: names are data, and a
//! function that was renamed or inlined away on one kernel is matched by its neighbours. The
//! families were measured on Linux 6.18 with one thread a kind of wait; older names are from the
//! kernel's history. How a row applies is its [`Strength`]; see `classify.rs` for the walk.

mod peers;
mod running;
mod storage;
mod waits;

use culprit_model::Cause;

/// When a row applies to the stack that its function stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The function says what is waited for. The innermost such function of a stack decides.
    Names,
    /// The function only says how is waited (for block I/O, say). It decides when no function
    /// further out names the wait.
    Hints,
    /// The function decides only when nothing but the scheduler itself was called from it: the
    /// thread did not wait there, it was taken off the CPU.
    Leaves,
}

/// What the nearest caller that says so was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Context {
    /// Anything.
    #[default]
    Any,
    /// Changing or looking at the process's memory map, which one lock guards.
    MemoryMap,
    /// Serving a page fault, the memory map's lock in hand.
    PageFault,
    /// Ending the thread; what it does to its memory map is inlined there on current kernels.
    Exit,
}

/// One row: these functions mean this cause.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Function names without compiler suffix; a trailing `*` stands for any ending.
    pub functions: &'static [&'static str],
    /// When the row applies.
    pub strength: Strength,
    /// The context that it needs; [`Context::Any`] needs none. Rows of one function are tried in
    /// the table's order.
    pub under: Context,
    /// The cause.
    pub cause: Cause,
    /// What is waited for, in words that complete "waits for ...".
    pub awaits: &'static str,
    /// Where in the kernel's source the functions stand.
    pub source: &'static str,
}

const fn names(
    cause: Cause,
    awaits: &'static str,
    source: &'static str,
    functions: &'static [&'static str],
) -> Rule {
    Rule { functions, strength: Strength::Names, under: Context::Any, cause, awaits, source }
}

const fn hints(
    cause: Cause,
    awaits: &'static str,
    source: &'static str,
    functions: &'static [&'static str],
) -> Rule {
    Rule { functions, strength: Strength::Hints, under: Context::Any, cause, awaits, source }
}

const fn leaves(
    cause: Cause,
    awaits: &'static str,
    source: &'static str,
    functions: &'static [&'static str],
) -> Rule {
    Rule { functions, strength: Strength::Leaves, under: Context::Any, cause, awaits, source }
}

const fn under(under: Context, rule: Rule) -> Rule {
    Rule { under, ..rule }
}

/// Every rule, family by family. The order matters only between rows of one function.
pub const RULES: [&[Rule]; 4] = [waits::WAITS, peers::PEERS, storage::STORAGE, running::RUNNING];

/// Functions that set the context for what they call.
pub(in crate::causes) const CONTEXTS: &[(Context, &[&str])] = &[
    (
        Context::MemoryMap,
        &[
            "lock_mm_and_find_vma",
            "lock_vma_under_rcu",
            "do_user_addr_fault",
            "do_page_fault",
            "__do_page_fault",
            "vm_mmap_pgoff",
            "ksys_mmap_pgoff",
            "dup_mmap",
            "dup_mm",
            "__vm_munmap",
            "vm_munmap",
            "__do_munmap",
            "__x64_sys_munmap",
            "__x64_sys_brk",
            "__do_sys_brk",
            "do_mprotect_pkey",
            "__do_sys_mremap",
            "do_madvise",
            "madvise_lock",
            "do_mlock",
            "__mm_populate",
            "mmap_read_lock*",
            "mmap_write_lock*",
            "__get_user_pages*",
            "get_user_pages*",
            "faultin_page*",
            "fixup_user_fault",
            "gup_fast_fallback",
            "internal_get_user_pages_fast",
            "exit_mmap",
            "exit_mm",
            "m_start",
            "access_remote_vm",
            "__access_remote_vm",
            "process_vm_rw*",
        ],
    ),
    (Context::Exit, &["do_exit"]),
    (Context::PageFault, &["handle_mm_fault", "__handle_mm_fault", "filemap_fault", "__do_fault"]),
];

/// Functions at which an exception enters the kernel: what was called further out did not call
/// them, it was interrupted. A wait inside is the exception's alone.
pub(in crate::causes) const EXCEPTIONS: &[&str] = &[
    "asm_exc_*",
    "exc_page_fault",
    "page_fault",
    "async_page_fault",
    "el0_da",
    "el0_ia",
    "el1_abort",
    "el1h_64_sync*",
    "do_mem_abort",
    "asm_sysvec_*",
    "asm_common_interrupt",
];

/// Functions that take a thread off the CPU, whatever the reason.
pub(in crate::causes) const SCHEDULER: &[&str] = &[
    "__schedule",
    "schedule",
    "__schedule_loop",
    "schedule_preempt_disabled",
    "preempt_schedule*",
    "__cond_resched*",
    "_cond_resched",
    "dynamic_cond_resched",
    "raw_irqentry_exit_cond_resched",
    "irqentry_exit_cond_resched",
    "dynamic_irqentry_exit_cond_resched",
    "__traceiter_sched_switch",
    "perf_trace_sched_switch",
    "__perf_event_task_sched_out",
    "prepare_task_switch",
];

/// Functions from which a thread does not come back: its life ends there. Source: kernel/exit.c,
/// kernel/sched/core.c.
pub(in crate::causes) const DEATH: &[&str] = &["do_task_dead", "make_task_dead"];
