//! One command in an engine: its streams, its start and its end, carried by a thread of its own.
//!
//! ```text
//!   caller   open ────────────── start ─────────────────────────── wait
//!   thread        attach ─ ready ─────── begin ─ begun, pid ─ copy ── ended
//! ```
//!
//! A new container and a command in an existing one differ in four calls ([`Subject`]); the rest
//! is the same. The thread has its own event loop and blocks only itself when a reader of the
//! command's output is slow.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error as Reply;
use culprit_model::Pid;
use futures_util::{Stream, StreamExt};

use super::client::runtime;
use super::stdin::{self, Input};
use crate::command::{Command, Exit, Signal, Stdio};
use crate::error::{Error, Result};
use crate::held::{HeldProcess, LiveProcess};
use crate::streams::Streams;

/// What the engine sends of a command's output.
pub(super) type Output = Pin<Box<dyn Stream<Item = std::result::Result<LogOutput, Reply>> + Send>>;

pub(super) type Calling<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A command in an engine, as far as its two kinds differ.
pub(super) trait Subject: Send + Sync + fmt::Debug + 'static {
    /// Connects to its streams before the start, where that can be done.
    fn attach(&self) -> Calling<'_, Option<(Output, Input)>>;
    /// Starts it; gives the streams that could not be had before.
    fn begin(&self) -> Calling<'_, Option<(Output, Input)>>;
    /// Its process in our pid namespace.
    fn pid(&self) -> Calling<'_, Option<Pid>>;
    /// Waits for its end and tells its status.
    fn end(&self) -> Calling<'_, Exit>;
    /// Sends it a signal.
    fn signal(&self, pid: Option<Pid>, signal: Signal) -> Result<()>;
    /// Leaves nothing of it, whether it runs or not.
    fn discard(&self);
}

/// Our ends of its three streams; `None` where nobody wants it.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) stdin: Option<Arc<File>>,
    pub(super) stdout: Arc<File>,
    pub(super) stderr: Arc<File>,
}

impl Files {
    pub(super) fn of(streams: &Streams, command: &Command) -> Result<Self> {
        let [stdin, stdout, stderr] = streams.to_copy()?;
        let stdin = Some(stdin).filter(|_| !matches!(command.stdin, Stdio::Null));
        Ok(Self { stdin, stdout, stderr })
    }
}

/// A command that was made and not started.
#[derive(Debug)]
pub(super) struct HeldSession {
    subject: Arc<dyn Subject>,
    go: Sender<()>,
    begun: Receiver<Result<Option<Pid>>>,
    ended: Arc<Ended>,
    started: bool,
}

/// Connects to the streams of a command that is not started.
pub(super) fn open(subject: Arc<dyn Subject>, files: Files) -> Result<HeldSession> {
    let (go, on_go) = channel();
    let (tell, begun) = channel();
    let ended = Arc::new(Ended::default());
    let mut held = HeldSession {
        subject: Arc::clone(&subject),
        go,
        begun,
        ended: Arc::clone(&ended),
        started: false,
    };
    let thread = std::thread::Builder::new().name("culprit-engine".to_owned());
    let carry = move || carry(&*subject, files, &on_go, &tell, &ended);
    thread.spawn(carry).map_err(|e| Error::file("make", "a thread", e))?;
    held.hear()?;
    Ok(held)
}

/// The thread's whole life.
fn carry(
    subject: &dyn Subject,
    files: Files,
    go: &Receiver<()>,
    tell: &Sender<Result<Option<Pid>>>,
    ended: &Ended,
) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        // A caller that has gone away needs no answer, here and below.
        Err(error) => return drop(tell.send(Err(error))),
    };
    let attached = match runtime.block_on(subject.attach()) {
        Ok(attached) => attached,
        Err(error) => return drop(tell.send(Err(error))),
    };
    if tell.send(Ok(None)).is_err() || go.recv().is_err() {
        return;
    }
    let begun = runtime.block_on(async {
        let late = subject.begin().await?;
        Ok((late, subject.pid().await?))
    });
    let streams = match begun {
        Ok((late, pid)) => {
            let _caller_may_be_gone = tell.send(Ok(pid));
            attached.or(late)
        }
        Err(error) => return drop(tell.send(Err(error))),
    };
    let exit = runtime.block_on(async {
        if let Some((output, input)) = streams {
            copy(output, input, files).await;
        } else {
            drop(files);
        }
        subject.end().await
    });
    ended.set(exit);
}

/// Copies until the output ends. The input is no reason to wait: a command may end without having
/// read it.
async fn copy(output: Output, input: Input, files: Files) {
    let Files { stdin, stdout, stderr } = files;
    let reading = async {
        match stdin {
            Some(file) => stdin::copy(file, input).await,
            None => drop(input),
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = write_out(output, &stdout, &stderr) => {}
        () = reading => {}
    }
}

async fn write_out(mut output: Output, stdout: &File, stderr: &File) {
    while let Some(Ok(part)) = output.next().await {
        // Where our reader has gone, the rest goes nowhere, and the command is not held up by it.
        let _reader_gone = match part {
            LogOutput::StdErr { message } => (&*stderr).write_all(&message),
            LogOutput::StdOut { message } | LogOutput::Console { message } => {
                (&*stdout).write_all(&message)
            }
            LogOutput::StdIn { .. } => Ok(()),
        };
    }
}

impl HeldSession {
    fn hear(&mut self) -> Result<Option<Pid>> {
        let vanished =
            || Err(Error::file("use", "the engine's thread", std::io::ErrorKind::BrokenPipe));
        self.begun.recv().unwrap_or_else(|_| vanished())
    }
}

impl HeldProcess for HeldSession {
    fn pid(&self) -> Option<Pid> {
        None
    }

    fn start(mut self: Box<Self>) -> Result<Box<dyn LiveProcess>> {
        // A thread that is gone shows in what is heard from it.
        let _shown_next = self.go.send(());
        let pid = self.hear()?;
        self.started = true;
        let (subject, ended) = (Arc::clone(&self.subject), Arc::clone(&self.ended));
        Ok(Box::new(LiveSession { subject, pid, ended }))
    }
}

impl Drop for HeldSession {
    fn drop(&mut self) {
        if !self.started {
            self.subject.discard();
        }
    }
}

/// A command that runs in an engine.
#[derive(Debug)]
struct LiveSession {
    subject: Arc<dyn Subject>,
    pid: Option<Pid>,
    ended: Arc<Ended>,
}

impl LiveProcess for LiveSession {
    fn pid(&self) -> Option<Pid> {
        self.pid
    }

    fn wait_at_most(&self, limit: Option<Duration>) -> Result<Option<Exit>> {
        self.ended.wait(limit)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        match self.ended.wait(Some(Duration::ZERO)) {
            Ok(None) => self.subject.signal(self.pid, signal),
            _ => Ok(()),
        }
    }
}

impl Drop for LiveSession {
    fn drop(&mut self) {
        self.subject.discard();
    }
}

/// How a command ended, once it has.
#[derive(Debug, Default)]
struct Ended {
    exit: Mutex<Option<std::result::Result<Exit, Failure>>>,
    changed: Condvar,
}

/// An engine's failure to tell the end, kept so that it can be told more than once.
#[derive(Debug, Clone)]
struct Failure(Arc<Error>);

impl Ended {
    fn set(&self, exit: Result<Exit>) {
        let exit = exit.map_err(|e| Failure(Arc::new(e)));
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = Some(exit);
        self.changed.notify_all();
    }

    fn wait(&self, limit: Option<Duration>) -> Result<Option<Exit>> {
        let exit = self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        let exit = match limit {
            None => self
                .changed
                .wait_while(exit, |e| e.is_none())
                .unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let waited = self.changed.wait_timeout_while(exit, limit, |e| e.is_none());
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        match &*exit {
            None => Ok(None),
            Some(Ok(exit)) => Ok(Some(*exit)),
            Some(Err(Failure(why))) => Err(Error::EngineLost { why: why.to_string() }),
        }
    }
}
