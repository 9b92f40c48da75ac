//! A place in memory, for tests of what uses places: no process, no right, no engine.
//!
//! What a command does there is a value ([`Play`]) chosen by the test; what was done to the place
//! is a list ([`FakePlace::log`]) that the test compares.
//!
//! ```
//! use culprit_place::fake::{FakePlace, Play};
//! use culprit_place::{Command, Exit, Place};
//!
//! let place = FakePlace::new("sandbox".parse()?, |command| Play::exits(command.argv.len() as i32));
//! let running = place.hold(&Command::new(["ls", "-l"]), None)?.start()?;
//! assert_eq!(running.wait()?, Exit::Code(2));
//! assert_eq!(place.log(), ["hold ls -l", "start ls"]);
//! # Ok::<(), culprit_place::Error>(())
//! ```

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use culprit_model::Pid;

use crate::cgroup::Cgroup;
use crate::command::{Command, Exit, Signal};
use crate::error::{Error, Result};
use crate::facts::{PlaceFacts, Seccomp};
use crate::held::{Held, HeldProcess, LiveProcess};
use crate::place::Place;
use crate::spec::PlaceSpec;
use crate::streams::Streams;

/// What a command does in a fake place.
#[derive(Debug, Clone, Default)]
pub struct Play {
    /// What it writes to its standard output at the start.
    pub stdout: Vec<u8>,
    /// What it writes to its standard error at the start.
    pub stderr: Vec<u8>,
    /// How it ends; `None` runs until a signal ends it.
    pub exit: Option<Exit>,
}

impl Play {
    /// A command that ends at once with this status.
    #[must_use]
    pub fn exits(code: i32) -> Self {
        Self { exit: Some(Exit::Code(code)), ..Self::default() }
    }

    /// A command that writes this and ends with status 0.
    #[must_use]
    pub fn prints(text: &str) -> Self {
        Self { stdout: text.into(), ..Self::exits(0) }
    }
}

type Script = dyn Fn(&Command) -> Play + Send + Sync;
type Log = Arc<Mutex<Vec<String>>>;

/// A place in memory.
pub struct FakePlace {
    facts: PlaceFacts,
    script: Box<Script>,
    log: Log,
}

impl fmt::Debug for FakePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakePlace").field("facts", &self.facts).field("log", &self.log).finish()
    }
}

impl FakePlace {
    /// A place with this name in which commands do what `script` says.
    #[must_use]
    pub fn new(spec: PlaceSpec, script: impl Fn(&Command) -> Play + Send + Sync + 'static) -> Self {
        let facts = PlaceFacts {
            place: spec,
            work_dir: PathBuf::from("/"),
            work: None,
            root: None,
            kernel: "0.0".to_owned(),
            cpus: 1,
            cpu_quota_ns: None,
            memory_limit_bytes: None,
            seccomp: Seccomp::Unknown,
            network: "host".to_owned(),
            notes: Vec::new(),
        };
        Self { facts, script: Box::new(script), log: Log::default() }
    }

    /// The same place with other facts; their name becomes the place's.
    #[must_use]
    pub fn with_facts(self, facts: PlaceFacts) -> Self {
        Self { facts, ..self }
    }

    /// What was done so far, one line each: `hold ARGV`, `start NAME`, `let go NAME`,
    /// `SIGTERM NAME`, `remove`.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn note(log: &Log, line: String) {
    log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

impl Place for FakePlace {
    fn spec(&self) -> &PlaceSpec {
        &self.facts.place
    }

    fn facts(&self) -> Result<PlaceFacts> {
        Ok(self.facts.clone())
    }

    fn make_cgroup(&self) -> Result<Cgroup> {
        Err(Error::NoPerfCgroup)
    }

    fn hold(&self, command: &Command, _cgroup: Option<&Cgroup>) -> Result<Held> {
        if command.argv.is_empty() {
            return Err(Error::NoCommand);
        }
        let words: Vec<_> = command.argv.iter().map(|a| a.to_string_lossy()).collect();
        note(&self.log, format!("hold {}", words.join(" ")));
        let streams = Streams::of(command)?;
        let [_, stdout, stderr] = streams.to_copy()?;
        let held = FakeHeld {
            name: command.program(),
            play: (self.script)(command),
            files: [stdout, stderr],
            log: Arc::clone(&self.log),
            started: false,
        };
        Ok(Held::new(Box::new(held), streams.into_our_ends()))
    }

    fn remove(self: Box<Self>) -> Result<()> {
        note(&self.log, "remove".to_owned());
        Ok(())
    }
}

/// A number that no process has: beyond the kernel's largest (PID_MAX_LIMIT, 2^22).
const PID: Pid = Pid(u32::MAX);

#[derive(Debug)]
struct FakeHeld {
    name: String,
    play: Play,
    files: [Arc<File>; 2],
    log: Log,
    started: bool,
}

impl HeldProcess for FakeHeld {
    fn pid(&self) -> Option<Pid> {
        Some(PID)
    }

    fn start(mut self: Box<Self>) -> Result<Box<dyn LiveProcess>> {
        self.started = true;
        note(&self.log, format!("start {}", self.name));
        let play = std::mem::take(&mut self.play);
        for (file, text) in self.files.each_ref().into_iter().zip([play.stdout, play.stderr]) {
            let mut file = Arc::clone(file);
            // In a thread, for a pipe holds only so much until its reader comes.
            std::thread::spawn(move || file.write_all(&text));
        }
        Ok(Box::new(FakeLive {
            name: std::mem::take(&mut self.name),
            exit: Mutex::new(play.exit),
            changed: Condvar::new(),
            log: Arc::clone(&self.log),
        }))
    }
}

impl Drop for FakeHeld {
    fn drop(&mut self) {
        if !self.started {
            note(&self.log, format!("let go {}", self.name));
        }
    }
}

#[derive(Debug)]
struct FakeLive {
    name: String,
    exit: Mutex<Option<Exit>>,
    changed: Condvar,
    log: Log,
}

impl LiveProcess for FakeLive {
    fn pid(&self) -> Option<Pid> {
        Some(PID)
    }

    fn wait_at_most(&self, limit: Option<Duration>) -> Result<Option<Exit>> {
        let exit = self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = limit.unwrap_or(Duration::MAX);
        let waited = self.changed.wait_timeout_while(exit, limit, |e| e.is_none());
        Ok(*waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        note(&self.log, format!("{signal} {}", self.name));
        let mut exit = self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        exit.get_or_insert(Exit::Signal(signal));
        self.changed.notify_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FakePlace, Play};
    use crate::{Command, Exit, Place, PlaceSpec, Signal, Stdio};
    use std::io::Read;

    #[test]
    fn a_play_is_performed_and_noted() {
        let place = FakePlace::new(PlaceSpec::HOST, |command| match command.program().as_str() {
            "server" => Play::default(),
            _ => Play::prints(&"x".repeat(200_000)),
        });
        let server = place.hold(&Command::new(["server"]), None).unwrap().start().unwrap();
        assert_eq!(server.try_wait().unwrap(), None);
        let client = Command { stdout: Stdio::Pipe, ..Command::new(["client"]) };
        drop(place.hold(&client, None).unwrap());
        let mut running = place.hold(&client, None).unwrap().start().unwrap();
        let mut text = String::new();
        running.take_stdout().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text.len(), 200_000);
        server.signal(Signal::TERM).unwrap();
        assert_eq!(server.wait().unwrap(), Exit::Signal(Signal::TERM));
        let log = ["hold server", "start server", "hold client", "let go client", "hold client"];
        assert_eq!(place.log()[..5], log);
        assert_eq!(place.log()[5..], ["start client", "SIGTERM server"]);
        assert!(place.hold(&Command::default(), None).is_err());
    }
}
