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

use culprit_model::{Frame, Module, ModuleId, Recording};

use crate::names::{Families, Family, library};

/// The callers of the function that waits, itself included. Those that are all known come first, then the fewest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Callers {
    /// The stack does not reach the function in which its thread started.
    pub are_missing: bool,
    /// How many are known.
    pub known: u32,
}

impl Callers {
    /// Of a wait without a stack.
    pub const UNKNOWN: Self = Self { are_missing: true, known: 0 };
}

/// The callers in each stack of a recording, one entry a stack. Linear in frames and stacks.
#[must_use]
pub fn callers(recording: &Recording) -> Vec<Callers> {
    let kernels: Vec<bool> = recording.modules.iter().map(Module::is_kernel).collect();
    let of_kernel = |module: ModuleId| kernels.get(module.index()) == Some(&true);
    let facts = |frame: &Frame| match frame.module.is_some_and(of_kernel) {
        true => (false, false),
        false => {
            let families = library(&frame.function, Families::NONE);
            let starts = families.has(Family::Start);
            (starts, !starts && !families.has(Family::Wrapper))
        }
    };
    let facts: Vec<(bool, bool)> = recording.frames.iter().map(facts).collect();
    let mut all: Vec<Callers> = Vec::with_capacity(recording.stacks.len());
    for stack in &recording.stacks {
        let (starts, counts) = facts.get(stack.frame.index()).copied().unwrap_or_default();
        let outer = stack.parent.and_then(|parent| all.get(parent.index())).copied();
        let outer = outer.unwrap_or(Callers { are_missing: !starts, known: 0 });
        all.push(Callers { known: outer.known + u32::from(counts), ..outer });
    }
    all
}

#[cfg(test)]
mod tests {
    use culprit_model::notation::parse_raw;

    use super::*;

    #[test]
    fn starts_and_waits_of_libraries_are_no_callers() {
        for (stack, are_missing, known) in [
            ("clone3;start_thread;run;serve;pthread_cond_wait;[kernel]!futex_wait", false, 2),
            ("start_thread;run;serve;read", false, 2),
            ("start_thread;run;serve;answer;read", false, 3),
            ("serve;read", true, 1),
            ("pthread_cond_wait;[kernel]!futex_wait", true, 0),
        ] {
            let drawing = format!("stack b blocked.lock {stack}\napp(1)/main(1) UbbbU");
            let recording = parse_raw(&drawing).expect("a drawing");
            let wait = recording.switches.iter().find_map(|switch| switch.stack).expect("a stack");
            let found = callers(&recording)[wait.index()];
            assert_eq!(found, Callers { are_missing, known }, "{stack}");
        }
    }
}
