//! One observed run of a command, or one observation of running processes.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use culprit_place::{Command, Held, Place, Running, Stdio};
use culprit_record::observe::{Observed, Observer, Subject as Observation, Wishes};

use super::python::{self, PythonHook, Report};
use super::{Plan, Subject};
use crate::failure::{Context as _, Failure, chain};
use crate::places;
use crate::session::Control;

/// What a run gave.
#[derive(Debug)]
pub(super) struct Round {
    /// Facts of the kernel.
    pub(super) observed: Observed,
    /// What Python's hook reported.
    pub(super) python: Vec<Report>,
    /// The decoy's name.
    pub(super) decoy: Option<String>,
    /// The variables that were watched.
    pub(super) watched: Vec<String>,
    /// Names that Culprit has added to the environment, or replaced.
    pub(super) ours: Vec<String>,
}

/// Bytes of a decoy's name and value: like those of real variables.
const DECOY_BYTES: usize = 12;

/// A name or value that nobody uses.
fn random_word() -> Result<String, Failure> {
    let mut bytes = [0; DECOY_BYTES];
    getrandom_04::fill(&mut bytes).or_refused(|| "cannot get random numbers".to_owned())?;
    Ok(bytes.iter().map(|byte| char::from(b'A' + byte % 26)).collect())
}

/// How long a command may take from its last instruction to its end.
const MOST_ENDING: Duration = Duration::from_millis(200);

/// Runs or joins once.
///
/// # Errors
/// When the command cannot be started, or no process can be observed.
pub(super) fn round(plan: &Plan, watched: &[String], control: &Control) -> Result<Round, Failure> {
    match &plan.subject {
        Subject::Command(words, place) => command(plan, (words, place.as_ref()), watched, control),
        Subject::Running(pids, _) => {
            let wishes = Wishes { watched: watched.to_vec(), decoy: None };
            let observation = Observation::Running(pids.clone());
            let (ready, _) = channel();
            let observed = std::thread::scope(|scope| {
                let stop = control.stop();
                let observing =
                    scope.spawn(|| Observer::observe(wishes, &observation, &ready, stop));
                control.wait(plan.limit, &|| observing.is_finished());
                observing.join()
            });
            let observed = joined(observed)?;
            let (python, ours, watched) = (Vec::new(), Vec::new(), watched.to_vec());
            Ok(Round { observed, python, decoy: None, watched, ours })
        }
    }
}

fn joined<T>(result: std::thread::Result<std::io::Result<T>>) -> Result<T, Failure> {
    match result {
        Ok(Ok(observed)) => Ok(observed),
        Ok(Err(error)) => Err(Failure::refused(format!("cannot observe the process: {error}"))
            .hint("run `culprit` as root")
            .hint("end the debugger or tracer of the process")),
        Err(_) => Err(Failure::refused("the observer ended early".to_owned())),
    }
}

fn command(
    plan: &Plan,
    (words, place): (&[String], &dyn Place),
    watched: &[String],
    control: &Control,
) -> Result<Round, Failure> {
    let decoy = if plan.decoy { Some(random_word()?) } else { None };
    let mut hook = plan.runtimes.then(PythonHook::new).and_then(Result::ok);
    let mut command = quiet(words)?;
    let set = |command: &mut Command, name: &str, value: String| {
        command.env.push((OsString::from(name), OsString::from(value)));
    };
    if let Some(decoy) = &decoy {
        set(&mut command, decoy, random_word()?);
    }
    if let Some(hook) = &hook {
        let environment = place.environment().unwrap_or_default();
        let before = environment.iter().find(|(name, _)| *name == *python::VARIABLE);
        let before = before.map(|(_, value)| value.to_string_lossy().into_owned());
        set(&mut command, python::VARIABLE, hook.value(before.as_deref()));
    }
    let ours = command.env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let mut names = watched.to_vec();
    names.extend(decoy.clone());
    let wishes = Wishes { watched: names, decoy: decoy.clone() };
    let held = place.hold(&command, None).map_err(|error| places::failure(&error))?;
    let observed = observe_held(held, wishes, (plan, control))?;
    let python = hook.as_mut().and_then(|hook| hook.reports().ok()).unwrap_or_default();
    Ok(Round { observed, python, decoy, watched: watched.to_vec(), ours })
}

/// A command whose output does not mix with ours: its stdout is our stderr.
pub(super) fn quiet(words: &[String]) -> Result<Command, Failure> {
    let stderr =
        rustix::io::dup(std::io::stderr()).or_refused(|| "cannot use stderr".to_owned())?;
    let stdout = Stdio::File(Arc::new(stderr.into()));
    Ok(Command { stdout, ..Command::new(words.iter().cloned()) })
}

fn observe_held(
    held: Held,
    wishes: Wishes,
    (plan, control): (&Plan, &Control),
) -> Result<Observed, Failure> {
    let Some(pid) = held.pid() else {
        return Err(Failure::bad_input(
            "cannot observe a command in a container from its first instruction: the engine starts it"
                .to_owned(),
        )
        .hint("start the command in the container, and use `culprit config prove --container ID`")
        .hint("`--place sandbox` isolates a command without an engine"));
    };
    let observation = Observation::Held(pid);
    let (ready, is_ready) = channel();
    std::thread::scope(|scope| {
        let observing =
            scope.spawn(|| Observer::observe(wishes, &observation, &ready, control.stop()));
        // The channel closes without a word when the process cannot be observed.
        while !observing.is_finished() && is_ready.try_recv().is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let started = held.start();
        // Not by waiting for the command: that would take the observer's reports of its stops.
        control.wait(plan.limit, &|| started.is_err() || observing.is_finished());
        let observed = joined(observing.join());
        let ended = match &started {
            Ok(running) => end(running),
            Err(error) => Err(Failure::bad_input(chain(error)).hints(error.hints())),
        };
        ended.and(observed)
    })
}

/// Takes the end of a command note; ends one whose time is over.
fn end(running: &Running) -> Result<(), Failure> {
    // The observer has seen its last instruction; what is left takes the kernel a moment.
    if let Ok(Some(_)) = running.wait_at_most(MOST_ENDING) {
        return Ok(());
    }
    let members = || {
        let pid = running.pid();
        pid.and_then(|pid| culprit_place::procfs::tree(pid).ok()).unwrap_or_default()
    };
    let ended = running.end(&members, crate::session::LAST_GRACE);
    ended.map(|_| ()).map_err(|error| places::failure(&error))
}
