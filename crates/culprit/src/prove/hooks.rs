//! Hooks in language runtimes that copy all variables when they start, so that the bytes of a value say nothing.
//!
//! ```text
//! Python   PYTHONPATH         a module `sitecustomize`, in an archive          sitecustomize.py
//! Java     JAVA_TOOL_OPTIONS  a library that the JVM loads as an agent         javaenv.c of the recorder crate
//! ```
//!
//! They lie in our memory, as does the file that they report to: all are reached by `/proc/PID/fd/N`, and all are
//! gone when we end, however we end.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;

use culprit_record::observe::{Guarded, JAVA_AGENT};
use rustix::fs::{MemfdFlags, memfd_create};

use super::python;
use super::report::{Report, parse};

/// Leads to Python's hook, and to Java's.
const PYTHON: &str = "PYTHONPATH";
const JAVA: &str = "JAVA_TOOL_OPTIONS";

/// The hooks, and where they report.
#[derive(Debug)]
pub(super) struct Hooks {
    python: File,
    java: File,
    log: File,
}

fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

impl Hooks {
    /// Makes them.
    ///
    /// # Errors
    /// When the kernel gives no file in memory.
    pub(super) fn new() -> io::Result<Self> {
        let memory = |name: &str| memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
        let (mut archive, mut java, log) = (memory("hook")?, memory("agent")?, memory("log")?);
        archive.write_all(&python::archive(&path_of(&archive), &path_of(&log)))?;
        java.write_all(JAVA_AGENT)?;
        Ok(Self { python: archive, java, log })
    }

    /// The variables that lead to the hooks, given those that the command would have.
    pub(super) fn variables(&self, before: impl Fn(&str) -> Option<String>) -> [(&str, String); 2] {
        let joined = |name: &str, own: String, between: char| {
            let before = before(name).filter(|before| !before.is_empty());
            before.map_or(own.clone(), |before| format!("{own}{between}{before}"))
        };
        [
            (PYTHON, joined(PYTHON, path_of(&self.python), ':')),
            (JAVA, joined(JAVA, self.agent(), ' ')),
        ]
    }

    fn agent(&self) -> String {
        format!("-agentpath:{}={}", path_of(&self.java), path_of(&self.log))
    }

    /// What is to be taken out where a process cannot reach it: a JVM that does not find its agent does not start.
    pub(super) fn guarded(&self) -> Guarded {
        Guarded { variable: JAVA.to_owned(), text: self.agent(), file: path_of(&self.java).into() }
    }

    /// What was reported. A line that is not whole is left out.
    pub(super) fn reports(&mut self) -> io::Result<Vec<Report>> {
        let mut text = String::new();
        self.log.rewind()?;
        self.log.read_to_string(&mut text)?;
        Ok(parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stays() {
        let hooks = Hooks::new().expect("memory");
        let [(_, path), (_, options)] = hooks.variables(|_| None);
        let [(_, paths), (_, more)] = hooks.variables(|name| Some(format!("{name} x")));
        assert_eq!(paths, format!("{path}:PYTHONPATH x"));
        assert_eq!(more, format!("{options} JAVA_TOOL_OPTIONS x"));
        assert_eq!(hooks.variables(|_| Some(String::new()))[0].1, path);
    }

    #[test]
    fn what_is_written_is_reported() {
        let mut hooks = Hooks::new().expect("memory");
        writeln!(hooks.log, "{{\"pid\":8,\"use\":\"hello\"}}").expect("memory");
        assert_eq!(hooks.reports().expect("memory").len(), 1);
    }
}
