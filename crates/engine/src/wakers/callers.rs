//! How many callers a function has, so that waits near a thread's start are told from those further in.
//!
//! ```text
//! clone3 < start_thread < run < serve < take < pthread_cond_wait < __futex_wait      3: run, serve, take
//!          start_thread < run < serve < answer < read                                3: run, serve, answer
//!                                                  pthread_cond_wait                 0, and some are missing
//! ```
//!
//! Functions that start a thread do not count: not every stack shows both. Nor do those in which a library waits:
//! a lock has more of them than a read.

use culprit_model::{Frame, Module, Recording};

use crate::names::{self, Families, Family};

/// The callers of the function that waits, itself included. Those that are all known come first, then the fewest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Callers {
    /// The stack does not reach the function in which its thread started, or functions of an interpreter are
    /// not known.
    pub are_missing: bool,
    /// How many are known.
    pub known: u32,
    /// The function takes a lock: whoever waits there has work.
    pub takes_lock: bool,
}

impl Callers {
    /// Of a wait without a stack.
    pub const UNKNOWN: Self = Self { are_missing: true, known: 0, takes_lock: false };
}

/// The callers in each stack of a recording, one entry a stack. Linear in frames and stacks.
#[must_use]
pub fn callers(recording: &Recording) -> Vec<Callers> {
    let of_module = |module: &Module| (module.is_kernel(), names::module(&module.name));
    let modules: Vec<(bool, Families)> = recording.modules.iter().map(of_module).collect();
    let role = |frame: &Frame| {
        let module = frame.module.and_then(|module| modules.get(module.index()));
        let (is_kernel, module) = module.copied().unwrap_or((false, Families::NONE));
        if is_kernel { Role::Kernel } else { Role::of(names::library(&frame.function, module)) }
    };
    let roles: Vec<Role> = recording.frames.iter().map(role).collect();
    let mut all: Vec<Callers> = Vec::with_capacity(recording.stacks.len());
    for stack in &recording.stacks {
        let role = roles.get(stack.frame.index()).copied().unwrap_or(Role::Kernel);
        let outer = stack.parent.and_then(|parent| all.get(parent.index())).copied();
        let outer =
            outer.unwrap_or(Callers { are_missing: role != Role::Start, ..Callers::UNKNOWN });
        all.push(match role {
            Role::StandIn => Callers { are_missing: true, ..outer },
            Role::Function => Callers { known: outer.known + 1, takes_lock: false, ..outer },
            Role::TakesLock => Callers { takes_lock: true, ..outer },
            Role::Start | Role::Waits | Role::Kernel => outer,
        });
    }
    all
}

/// What a frame is to a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Kernel,
    /// Starts a thread.
    Start,
    /// Stands for a function of an interpreter that is not known.
    StandIn,
    /// A library takes a lock in it.
    TakesLock,
    /// A library waits in it.
    Waits,
    Function,
}

impl Role {
    fn of(families: Families) -> Self {
        match families.has(Family::Wrapper) {
            _ if families.has(Family::Start) => Self::Start,
            _ if families.has(Family::StandsIn) => Self::StandIn,
            true if families.has(Family::Mutex) => Self::TakesLock,
            true => Self::Waits,
            false => Self::Function,
        }
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::notation::parse_raw;

    use super::*;

    #[test]
    fn starts_and_waits_of_libraries_are_no_callers() {
        for (stack, are_missing, known, takes_lock) in [
            (
                "clone3;start_thread;run;serve;pthread_cond_wait;[kernel]!futex_wait",
                false,
                2,
                false,
            ),
            ("start_thread;run;serve;read", false, 2, false),
            ("start_thread;run;serve;answer;read", false, 3, false),
            ("start_thread;run;pthread_mutex_lock;__lll_lock_wait", false, 1, true),
            ("serve;read", true, 1, false),
            ("pthread_cond_wait;[kernel]!futex_wait", true, 0, false),
        ] {
            let drawing = format!("stack b blocked.lock {stack}\napp(1)/main(1) UbbbU");
            let recording = parse_raw(&drawing).expect("a drawing");
            let wait = recording.switches.iter().find_map(|switch| switch.stack).expect("a stack");
            let found = callers(&recording)[wait.index()];
            assert_eq!(found, Callers { are_missing, known, takes_lock }, "{stack}");
        }
    }
}
