//! Whether the kernel touched a value for the program, or for a recorder that copied a stack at that time.
//!
//! A watchpoint fires for the kernel's own loads, too. Only its stack in the kernel shows for whom it
//! loads:
//!
//! ```text
//! strncpy_from_user  getname  do_sys_openat2  __x64_sys_openat  do_syscall_64        the program's own call
//! copy_from_user_nmi  perf_output_sample  perf_tp_event  syscall_trace_enter  do_syscall_64       a recorder
//! copy_from_user_nofault  bpf_probe_read_user  ...  __sysvec_apic_timer_interrupt                 a recorder
//! ```
//!
//! The environment lies at the top of the stack, so that each profiler that copies stacks touches it.
//! Sources: arch/x86/lib/usercopy.c, mm/maccess.c, kernel/events/core.c (`perf_output_sample`),
//! kernel/trace/bpf_trace.c, arch/x86/entry/syscall_64.c.

use std::sync::Arc;

use culprit_symbols::{Avma, KernelSymbols};

use crate::events::worker::kernel_symbols;

/// For whom the kernel touched a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behalf {
    /// A system call of the thread copied it.
    Program,
    /// `execve` copied it, with the variables that it hands to the next program or with the arguments.
    Exec,
    /// A recorder, or an interrupt. It says nothing about the program.
    Other,
    /// The kernel hides the names of its functions.
    Unknown,
}

/// Addresses from here on are markers in a call chain (`PERF_CONTEXT_MAX`).
const MARKERS: u64 = 0_u64.wrapping_sub(4095);

/// Where system calls enter (arch/x86/entry): beyond these frames the thread is in user mode.
const CALL_ENTRIES: [&str; 8] = [
    "do_syscall_64",
    "x64_sys_call",
    "__x64_sys_",
    "__ia32_",
    "__do_fast_syscall_32",
    "do_fast_syscall_32",
    "do_int80_",
    "int80_emulation",
];

/// The calls that execute a program.
const EXECS: [&str; 6] = [
    "__x64_sys_execve",
    "__ia32_sys_execve",
    "__ia32_compat_sys_execve",
    "__x64_compat_sys_execve",
    "do_execveat_common",
    "do_execve",
];

/// Copies that may not wait for a page, which system calls do not use, and what calls recorders. An interrupt that
/// came into a system call is not that call.
const OTHERS: [&str; 27] = [
    "copy_from_user_nmi",
    "copy_from_user_nofault",
    "strncpy_from_user_nofault",
    "__perf_event_overflow",
    "perf_callchain",
    "perf_output_",
    "perf_prepare_sample",
    "perf_tp_event",
    "perf_trace_",
    "perf_pending_",
    "trace_event_",
    "trace_call_bpf",
    "__traceiter_",
    "__bpf_trace_",
    "__bpf_prog_",
    "bpf_trace_run",
    "bpf_probe_read",
    "bpf_copy_from_user",
    "bpf_get_stack",
    "ftrace_",
    "kprobe_",
    "uprobe_",
    "unwind_user",
    "unwind_deferred",
    "syscall_trace_enter",
    "syscall_exit_work",
    "task_work_run",
];
/// The same, for interrupts and exceptions.
const INTERRUPTS: [&str; 7] = [
    "asm_sysvec_",
    "sysvec_",
    "__sysvec_",
    "asm_common_interrupt",
    "common_interrupt",
    "asm_exc_",
    "exc_",
];

/// Judges kernel stacks. The names are loaded when the first is judged: most programs need none.
#[derive(Debug, Default)]
pub(super) struct KernelStacks {
    symbols: Option<Option<Arc<KernelSymbols>>>,
}

impl KernelStacks {
    /// For whom an access with this call chain was, its addresses innermost first.
    pub(super) fn behalf(&mut self, chain: &[u64]) -> Behalf {
        let symbols = self.symbols.get_or_insert_with(|| kernel_symbols().ok());
        let Some(symbols) = symbols else { return Behalf::Unknown };
        let addresses = chain.iter().filter(|address| **address < MARKERS);
        let named = addresses.filter_map(|address| symbols.lookup(Avma(*address)));
        of_frames(named.map(|symbol| (symbol.name, symbol.module)))
    }
}

/// For whom, by the frames, innermost first: function and module.
fn of_frames<'a>(frames: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Behalf {
    let starts = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
    for (name, module) in frames {
        if module == Some("bpf") || starts(name, &OTHERS) || starts(name, &INTERRUPTS) {
            return Behalf::Other;
        }
        if starts(name, &EXECS) {
            return Behalf::Exec;
        }
        if starts(name, &CALL_ENTRIES) {
            return Behalf::Program;
        }
    }
    Behalf::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stack: &str) -> Behalf {
        of_frames(stack.split(' ').map(|name| match name.split_once('/') {
            Some((module, name)) => (name, Some(module)),
            None => (name, None),
        }))
    }

    #[test]
    fn a_copy_of_the_programs_own_call_is_the_programs() {
        // Taken from Linux 6.18: `openat`, `write`, and a call of a 32-bit program.
        for stack in [
            "strncpy_from_user getname_flags.part.0 do_sys_openat2 __x64_sys_openat do_syscall_64",
            "_copy_from_iter copy_page_from_iter anon_pipe_write vfs_write ksys_write do_syscall_64",
            "strncpy_from_user getname_flags do_sys_openat2 __ia32_compat_sys_openat",
            "strncpy_from_user bpf_obj_pin_user __sys_bpf __x64_sys_bpf do_syscall_64",
        ] {
            assert_eq!(of(stack), Behalf::Program, "{stack}");
        }
    }

    #[test]
    fn what_a_program_is_started_with_is_handed_on() {
        let stack =
            "_copy_from_user copy_strings do_execveat_common.isra.0 __x64_sys_execve do_syscall_64";
        assert_eq!(of(stack), Behalf::Exec);
    }

    #[test]
    fn a_copy_of_a_recorder_is_nobodys_wherever_the_thread_was() {
        for stack in [
            "copy_from_user_nmi perf_output_sample perf_event_output_forward __perf_event_overflow \
             perf_swevent_event perf_tp_event perf_trace_sys_enter syscall_trace_enter do_syscall_64",
            "rep_movs_alternative perf_output_sample perf_event_output_forward \
             __perf_event_overflow perf_swevent_hrtimer __hrtimer_run_queues hrtimer_interrupt",
            "copy_from_user_nofault bpf_probe_read_user bpf/bpf_prog_12_f trace_call_bpf do_syscall_64",
            "_copy_from_user bpf/bpf_prog_12_f uprobe_dispatcher handle_swbp",
            "_copy_from_user foreign_tracer asm_sysvec_apic_timer_interrupt _copy_from_user do_syscall_64",
            "_copy_from_user handler irqentry_exit_to_user_mode",
        ] {
            assert_eq!(of(stack), Behalf::Other, "{stack}");
        }
    }
}
