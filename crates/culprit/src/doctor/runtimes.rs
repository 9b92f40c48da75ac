//! Which language runtimes get function names, and how. docs/runtimes.md says more.

use culprit_model::RUNTIMES;

use super::kernel::SYS_PTRACE;
use super::{Check, State, System};

/// Runtimes whose functions are in the memory of their processes, which Yama may protect
/// (Documentation/admin-guide/LSM/Yama.rst).
pub(super) fn memory(system: &System) -> Check {
    const ID: &str = "runtimes-memory";
    const READ: &str = "CPython 3.8 to 3.14, Ruby 2.7 to 3.4, PHP 7.4 to 8.4, JDK 11 to 25: names \
                        are read from the memory of the process";
    const LIFT: &str = "sysctl kernel.yama.ptrace_scope=0";
    let scope = system.number("/proc/sys/kernel/yama/ptrace_scope").unwrap_or(0);
    let found = format!("kernel.yama.ptrace_scope is {scope}");
    match scope {
        ..=0 => Check::fine(ID, READ),
        1 | 2 if system.capable(SYS_PTRACE) => Check::fine(ID, READ),
        1 => Check::not(
            State::Degraded,
            ID,
            found,
            "function names of Python, Ruby, PHP and Java in processes that `culprit record` does \
             not start itself",
            LIFT,
        ),
        2 => Check::not(
            State::Degraded,
            ID,
            found,
            "function names of Python, Ruby, PHP and Java",
            LIFT,
        ),
        _ => Check::not(
            State::Degraded,
            ID,
            found,
            "function names of Python, Ruby and PHP, even for root; a JVM that ends by itself \
             writes its own",
            "boot with kernel.yama.ptrace_scope=1: 3 stays until then",
        ),
    }
}

/// Runtimes that write names because of the environment that they start with.
pub(super) fn commands() -> Check {
    let names: Vec<&str> = RUNTIMES.iter().map(|runtime| runtime.name).collect();
    let value =
        format!("{}: `culprit record -- CMD` sets their variables for names", names.join(", "));
    Check::fine("runtimes", value)
}

/// Runtimes whose running processes write names, asked or not.
pub(super) fn running() -> Check {
    let value = "processes that already run: .NET 8 and newer is asked by its diagnostics socket; \
                 Node.js and older .NET have names only if they were started with their variables";
    Check::fine("runtimes-running", value)
}
