//! What runs in the place: takes requests on standard input, does the work, answers.
//!
//! One request a line, one answer a line, both JSON. A [`Task`] is what one round of one probe does
//! in the place; its file under [`crate::probes`] has both halves. The worker ends when its input
//! does, which is also what happens when our process is killed; it then removes the folders that it
//! has worked in. What lives longer than a request (a server) is kept by [`Here::keep`].

mod child;
mod cpu;
mod folder;
mod io;
mod usage;

use std::any::Any;
use std::collections::BTreeSet;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use culprit_place::maker_lives;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use child::{Child, Peer, fork_and_exit};
pub use cpu::{stay_on, this_cpu};
pub use folder::Folder;
pub use io::{bytes_read, bytes_written};
pub use usage::{Clock, Laps, Meter, Usage, process_cpu_ns, thread_cpu_ns};

use crate::probes;

/// The hidden subcommand that [`serve`] stands behind.
pub const SUBCOMMAND: &str = "probe-worker";

/// As [`SUBCOMMAND`], from a copy of this program that was put into the place and goes before the
/// first request: then nothing of it is left, however all this ends.
pub const GUEST: &str = "probe-guest";

/// The hidden subcommand that does nothing: what starting a program takes is measured by it.
pub const NOTHING: &str = "probe-nothing";

/// What a line begins with that is no answer: a task may print, too.
pub const NOISE: u8 = b'#';

/// Does what a hidden subcommand stands for; false for any other word.
#[must_use]
pub fn takes_over(word: &std::ffi::OsStr) -> bool {
    if word == GUEST {
        remove_own_file();
    }
    if word == SUBCOMMAND || word == GUEST {
        serve();
    }
    word == SUBCOMMAND || word == GUEST || word == NOTHING
}

/// Removes this program's file and its folder, if that has a name which we give to copies. What is
/// running stays whole, and `/proc/self/exe` begins it once more.
fn remove_own_file() {
    let Ok(program) = std::env::current_exe() else { return };
    let folder = program.parent().filter(|folder| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| maker_lives(name).is_some())
    });
    if let Some(folder) = folder {
        // What the container's user may not remove, the place does.
        let _ = std::fs::remove_file(&program).and_then(|()| std::fs::remove_dir(folder));
    }
}

/// One round of work of one probe in a place: the request that carries it there.
pub trait Task: Serialize + DeserializeOwned {
    /// Its name in requests.
    const NAME: &'static str;
    /// What it tells.
    type Output: Serialize + DeserializeOwned;

    /// Does the work.
    ///
    /// # Errors
    /// When the place does not let it; the fault says what was tried.
    fn run(self, here: &mut Here) -> Result<Self::Output, Fault>;
}

/// Why a task failed, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Fault {
    /// What was tried, on what, and the kernel's answer.
    pub what: String,
    /// The way out.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a known way out.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// The kernel refused something.
    #[must_use]
    pub fn io(doing: &str, on: &Path, error: &std::io::Error) -> Self {
        let hint = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => Some(
                "free some space there, choose another folder, or give smaller sizes".to_owned(),
            ),
            // What makes no folders at all (`/proc`) says that there is none.
            Some(libc::EROFS | libc::EACCES | libc::EPERM | libc::ENOENT) => Some(
                "choose a folder that you can write to, such as `--place host:/tmp`, or in a \
                 container `--at folder:/PATH`"
                    .to_owned(),
            ),
            _ => None,
        };
        Self { what: format!("cannot {doing} `{}`: {error}", on.display()), hint }
    }

    /// With a way out.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) task: String,
    /// The folder to work in, which the worker makes and removes.
    pub(crate) dir: PathBuf,
    pub(crate) input: Value,
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// What the task told, and the CPU time that this process used for it.
    Done { output: Value, cpu_ns: u64 },
    /// Why it failed.
    Failed(Fault),
}

/// The place as a task finds it.
#[derive(Debug, Default)]
pub struct Here {
    dir: PathBuf,
    made: BTreeSet<PathBuf>,
    /// Folders above those that were not there.
    above: BTreeSet<PathBuf>,
    kept: Vec<Box<dyn Any + Send>>,
}

/// Set once nobody wants the work any more.
static STOPPED: AtomicBool = AtomicBool::new(false);

impl Here {
    /// A place for tests in this process.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), ..Self::default() }
    }

    /// The folder to work in, made when it is first asked for and removed when the worker ends.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn dir(&mut self) -> Result<&Path, Fault> {
        if !self.made.contains(&self.dir) {
            let above = self.dir.ancestors().skip(1).take_while(|folder| !folder.exists());
            self.above.extend(above.map(Path::to_path_buf));
            std::fs::create_dir_all(&self.dir)
                .map_err(|error| Fault::io("create the folder", &self.dir, &error))?;
            self.made.insert(self.dir.clone());
        }
        Ok(&self.dir)
    }

    /// Whether nobody waits for the work any more: long loops ask now and then, and end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        stopped()
    }

    /// Keeps something until the worker ends.
    pub fn keep(&mut self, thing: impl Any + Send) {
        self.kept.push(Box::new(thing));
    }

    /// What was kept last of this kind.
    pub fn kept<T: Any>(&mut self) -> Option<&mut T> {
        self.kept.iter_mut().rev().find_map(|thing| thing.downcast_mut())
    }

    fn clean_up(&mut self) {
        self.kept.clear();
        for folder in std::mem::take(&mut self.made) {
            // Nobody is left to be told; our side looks again where it can.
            let _ = std::fs::remove_dir_all(folder);
        }
        // The innermost first; one that somebody else has come to use is not empty, and stays.
        for folder in std::mem::take(&mut self.above).into_iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Whether nobody waits for the work any more.
#[must_use]
pub fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Answers requests on standard input until it ends.
pub fn serve() {
    let (send, requests) = mpsc::channel();
    // Its own thread, so that the end of the input is noticed in the middle of the work.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
        STOPPED.store(true, Ordering::Relaxed);
    });
    let mut here = Here::default();
    for line in requests {
        let reply = answer(&line, &mut here);
        let Ok(mut text) = serde_json::to_string(&reply) else { break };
        text.push('\n');
        let mut out = std::io::stdout().lock();
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    here.clean_up();
}

fn answer(line: &str, here: &mut Here) -> Reply {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return Reply::Failed(Fault::new(format!("cannot read a request: {error}"))),
    };
    here.dir = request.dir;
    let before = process_cpu_ns();
    match probes::run(&request.task, request.input, here) {
        Ok(output) => Reply::Done { output, cpu_ns: process_cpu_ns().saturating_sub(before) },
        Err(fault) => Reply::Failed(fault),
    }
}

/// Runs a task from its request's input.
///
/// # Errors
/// When the input is not its own, or the task fails.
pub(crate) fn run_task<T: Task>(input: Value, here: &mut Here) -> Result<Value, Fault> {
    let unreadable = |error: serde_json::Error| Fault::new(format!("`{}`: {error}", T::NAME));
    let task: T = serde_json::from_value(input).map_err(unreadable)?;
    serde_json::to_value(task.run(here)?).map_err(unreadable)
}
