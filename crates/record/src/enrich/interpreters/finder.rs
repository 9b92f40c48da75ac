//! Finds interpreters in processes.

use culprit_place::procfs;
use culprit_symbols::runtimes::cpython::CPythonProgram;
use culprit_symbols::runtimes::php::PhpProgram;
use culprit_symbols::runtimes::ruby::RubyProgram;

use super::jvm::{self, JavaPrograms};
use super::programs::Programs;
use super::{ATTEMPTS, Interpreter, Process, Trouble, php, python, ruby};
use crate::clock::monotonic_ns;
use crate::enrich::poller::{Polled, Reading};
use crate::symbolize::modules::kernel_pid;

/// Finds interpreters in processes.
#[derive(Debug, Default)]
pub(super) struct Finder {
    python: Programs<CPythonProgram>,
    java: JavaPrograms,
    ruby: Programs<RubyProgram>,
    php: Programs<PhpProgram>,
}

impl Finder {
    /// Looks for an interpreter in a process that has none yet, when that is due. What is wrong with one
    /// is told.
    pub(super) fn find(&mut self, pid: i32, process: &mut Process) -> Option<Reading> {
        let now = monotonic_ns();
        let (pause, before) = match process {
            Process::Unknown { due, pause, why } if *due <= now => (*pause, why.take()),
            Process::Unreadable { due } if *due <= now => (ATTEMPTS.0, None),
            _ => return None,
        };
        let wait = |longer: u64, why| Process::Unknown {
            due: now + pause,
            pause: (pause + longer).min(ATTEMPTS.1),
            why,
        };
        match self.look(pid) {
            Ok(Some(interpreter)) => *process = Process::Read(interpreter),
            Ok(None) => *process = wait(pause, before),
            // It is about to start: what it runs first is missed by a fifth of the time that its start takes.
            Err(Trouble::Later(why)) => {
                let since = before.map_or(now, |(since, _)| since);
                *process = wait(pause / 4, Some((since, why)));
            }
            Err(Trouble::Never(why)) => {
                *process = Process::Unreadable { due: u64::MAX };
                return Some(Reading { at: now, what: Polled::Unread { pid, why } });
            }
        }
        None
    }

    fn look(&mut self, pid: i32) -> Result<Option<Box<dyn Interpreter>>, Trouble> {
        let Ok(maps) = procfs::maps(kernel_pid(pid)) else { return Ok(None) };
        if let Some(java) = jvm::find(pid, &maps, &mut self.java)? {
            return Ok(Some(java));
        }
        if let Some(python) = python::find(pid, &maps, &mut self.python)? {
            return Ok(Some(python));
        }
        if let Some(ruby) = ruby::find(pid, &maps, &mut self.ruby)? {
            return Ok(Some(ruby));
        }
        php::find(pid, &maps, &mut self.php)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_cannot_be_read_is_looked_at_again_when_it_maps_code() {
        let mut process = Process::Unreadable { due: u64::MAX };
        let mut finder = Finder::default();
        assert!(finder.find(i32::MAX, &mut process).is_none());
        assert!(matches!(process, Process::Unreadable { due: u64::MAX }));
        process.mapped(0);
        finder.find(i32::MAX, &mut process);
        assert!(matches!(process, Process::Unknown { .. }), "no such process");
    }
}
