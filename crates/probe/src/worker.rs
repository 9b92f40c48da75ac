//! Our end of a measuring program that runs in a place.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use culprit_model::Pid;
use culprit_place::{
    Cgroup, Command, CounterReader, Counters, Group, Place, PlaceSpec, Running, Stdio, procfs,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Result};
use crate::inside::{GUEST, NOISE, Reply, Request, SUBCOMMAND, Task};

/// How often it is looked whether the user has lost patience.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// What a worker gets to clean up after itself before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// A measuring program in a place, ready for tasks. Dropping it ends it.
#[derive(Debug)]
pub struct Worker {
    place: String,
    running: Running,
    to: Option<File>,
    from: File,
    /// What was read beyond the last answer.
    read: Vec<u8>,
    cgroup: Option<Cgroup>,
    counters: Option<CounterReader>,
    cpu_ns: u64,
}

impl Worker {
    /// Starts one: `program` is our own binary as the place names it. In a container of somebody
    /// else's that is a copy, which removes itself.
    ///
    /// # Errors
    /// When the place cannot run it.
    pub fn start(place: &dyn Place, program: &Path, cgroup: Option<Cgroup>) -> Result<Self> {
        let word = match place.spec() {
            PlaceSpec::Container { .. } => GUEST,
            _ => SUBCOMMAND,
        };
        Self::run(place, &[program.as_os_str(), word.as_ref()], cgroup)
    }

    /// Starts one by a command line of the place at whose end the measuring program stands.
    ///
    /// # Errors
    /// When the place cannot run it.
    pub(crate) fn run(place: &dyn Place, line: &[&OsStr], cgroup: Option<Cgroup>) -> Result<Self> {
        let command = Command {
            stdin: Stdio::Pipe,
            stdout: Stdio::Pipe,
            stderr: Stdio::Null,
            // A Ctrl-C is ours to pass on: workers clean up when their input ends.
            group: Group::Own,
            ..Command::new(line)
        };
        let mut running = place.hold(&command, cgroup.as_ref())?.start()?;
        let name = place.spec().to_string();
        let missing = |what: &str| Error::Worker { place: name.clone(), what: what.to_owned() };
        let to = running.take_stdin().ok_or_else(|| missing("has no input"))?;
        let from = running.take_stdout().ok_or_else(|| missing("has no output"))?;
        let counters = cgroup.as_ref().and_then(|cgroup| cgroup.counters().ok());
        Ok(Self {
            place: name,
            running,
            to: Some(to),
            from,
            read: Vec::new(),
            cgroup,
            counters,
            cpu_ns: 0,
        })
    }

    /// Has a task done, in this folder of the place.
    ///
    /// # Errors
    /// When it fails, when the worker ends, or when `interrupted` becomes true.
    pub fn ask<T: Task>(
        &mut self,
        task: &T,
        dir: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<T::Output> {
        let place = self.place.clone();
        let odd = |error: serde_json::Error| Error::Worker {
            place: place.clone(),
            what: format!("sent an invalid answer: {error}"),
        };
        let input = serde_json::to_value(task).map_err(odd)?;
        let request = Request { task: T::NAME.to_owned(), dir: dir.to_path_buf(), input };
        let mut line = serde_json::to_string(&request).map_err(odd)?;
        line.push('\n');
        self.send(line.as_bytes())?;
        let line = self.receive(interrupted)?;
        match serde_json::from_slice(&line).map_err(odd)? {
            Reply::Failed(fault) => Err(fault.into()),
            Reply::Done { output, cpu_ns } => {
                let output = serde_json::from_value(output).map_err(odd)?;
                self.cpu_ns += cpu_ns;
                Ok(output)
            }
        }
    }

    /// CPU time of all its tasks so far.
    #[must_use]
    pub const fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// The process, in our pid namespace, where the place could tell.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        self.running.pid()
    }

    /// The counters of its cgroup; all empty where it has none of its own.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters.as_ref().map(CounterReader::read).unwrap_or_default()
    }

    fn send(&mut self, line: &[u8]) -> Result<()> {
        let Some(to) = &mut self.to else { return Err(self.gone()) };
        to.write_all(line).map_err(|_| self.gone())
    }

    fn receive(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Vec<u8>> {
        loop {
            if let Some(line) = take_answer(&mut self.read) {
                return Ok(line);
            }
            if interrupted() {
                return Err(Error::Interrupted);
            }
            let mut ready = [PollFd::new(&self.from, PollFlags::IN)];
            if !matches!(poll(&mut ready, Some(&LOOK)), Ok(1..)) {
                continue;
            }
            let mut some = [0; 16 << 10];
            match self.from.read(&mut some) {
                Ok(0) => return Err(self.gone()),
                Ok(count) => self.read.extend_from_slice(&some[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.gone()),
            }
        }
    }

    fn gone(&self) -> Error {
        let ended = self.running.wait_at_most(Duration::from_millis(500));
        let what = match ended {
            Ok(Some(exit)) => format!("ended before its work was done ({exit})"),
            _ => "stopped answering".to_owned(),
        };
        Error::Worker { place: self.place.clone(), what }
    }

    fn members(&self) -> Vec<Pid> {
        match &self.cgroup {
            Some(own) if own.is_ours() => own.members().unwrap_or_default(),
            _ => self.running.pid().and_then(|pid| procfs::tree(pid).ok()).unwrap_or_default(),
        }
    }
}

impl Worker {
    /// Ends its input, which tells it to clean up and end.
    pub(crate) fn close(&mut self) {
        self.to = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.close();
        let mut left = GRACE;
        while !left.is_zero() {
            match self.running.wait_at_most(Duration::from_millis(50)) {
                Ok(None) => left = left.saturating_sub(Duration::from_millis(50)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // It hangs, or the engine does: the place's removal tries once more.
        let _ = self.running.end(&|| self.members(), Duration::from_secs(1));
    }
}
/// The first line that is an answer; what a task has printed before it is dropped.
fn take_answer(read: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut begin = 0;
    let answer = loop {
        let length = read[begin..].iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        match length {
            None => break None,
            Some(length) if read[begin] == NOISE => begin += length,
            Some(length) => {
                let line = read[begin..begin + length].to_vec();
                begin += length;
                break Some(line);
            }
        }
    };
    read.drain(..begin);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_prints_is_no_answer() {
        let mut read = b"###\n#x\n{1}\n#y\n{2".to_vec();
        assert_eq!(take_answer(&mut read).as_deref(), Some(&b"{1}\n"[..]));
        assert_eq!(take_answer(&mut read), None);
        assert_eq!(read, b"{2");
    }
}
