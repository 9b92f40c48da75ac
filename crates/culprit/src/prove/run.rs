//! One observed run of a command, or one observation of running processes.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use culprit_place::{Command, Exit, Held, Place, Running, Stdio};
use culprit_record::observe::{Observed, Observer, Subject as Observation, Wishes};

use super::hooks::Hooks;
use super::report::Report;
use super::wait::{held_words, is_engines, is_held, release};
use super::{Plan, Subject};
use crate::failure::{Context as _, Failure, chain};
use crate::places;
use crate::session::Control;

/// What a run gave.
#[derive(Debug)]
pub(super) struct ObservedRun {
    /// Facts of the kernel.
    pub(super) observed: Observed,
    /// How the command ended, where it ended by itself.
    pub(super) exit: Option<Exit>,
    /// What hooks in language runtimes reported.
    pub(super) reports: Vec<Report>,
    /// The decoy's name.
    pub(super) decoy: Option<String>,
    /// The variables that were watched.
    pub(super) watched: Vec<String>,
    /// Names that Culprit has added to the environment, or replaced.
    pub(super) ours: Vec<String>,
}

/// Bytes of a decoy's name and value: like those of real variables.
const DECOY_BYTES: usize = 12;

/// Bytes of the value before each watched one. Functions of the C library that look for a text's end read up to four
/// vectors of 64 bytes at a time, also behind that end: the next value must lie further away.
const SPACER_BYTES: usize = 384;

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
pub(super) fn round(
    plan: &Plan,
    watched: &[String],
    control: &Control,
) -> Result<ObservedRun, Failure> {
    match &plan.subject {
        Subject::Command(words, place) => command(plan, (words, place.as_ref()), watched, control),
        Subject::Running(pids, _) => {
            let wishes = Wishes { watched: watched.to_vec(), ..Wishes::default() };
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
            let (reports, ours, watched) = (Vec::new(), Vec::new(), watched.to_vec());
            Ok(ObservedRun { observed, exit: None, reports, decoy: None, watched, ours })
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
) -> Result<ObservedRun, Failure> {
    let decoy = if plan.decoy { Some(random_word()?) } else { None };
    // Hooks lie in our memory, which a container does not reach.
    let hooked = plan.runtimes && !is_engines(place);
    let mut hooks = hooked.then(Hooks::new).and_then(Result::ok);
    let mut command = quiet(&held_words(place, words)?)?;
    if let Some(path) = &plan.log {
        let log = std::fs::File::options().create(true).append(true).open(path);
        let log = log.or_bad_input(|| format!("cannot write `{}`", path.display()))?;
        let log = Arc::new(log);
        (command.stdout, command.stderr) = (Stdio::File(Arc::clone(&log)), Stdio::File(log));
    }
    let environment = place.environment().unwrap_or_default();
    let before = |name: &str| {
        let found = environment.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    };
    let mut ours = Vec::new();
    if let Some(hooks) = &hooks {
        for (name, value) in hooks.variables(before) {
            ours.push(name.to_owned());
            command.env.push((name.into(), value.into()));
        }
    }
    let watched_values = watched.iter().filter_map(|name| {
        let (name, value) = environment.iter().find(|(of, _)| of == name.as_str())?;
        (!ours.iter().any(|ours| name == ours.as_str())).then(|| (name.clone(), value.clone()))
    });
    let mut apart: Vec<(OsString, OsString)> = watched_values.collect();
    if let Some(decoy) = &decoy {
        ours.push(decoy.clone());
        apart.push((decoy.into(), random_word()?.into()));
    }
    for variable in apart {
        let spacer = random_word()?;
        command.env.push((spacer.clone().into(), "x".repeat(SPACER_BYTES).into()));
        command.env.push(variable);
        ours.push(spacer);
    }
    let mut names = watched.to_vec();
    names.extend(decoy.clone());
    let guarded = hooks.as_ref().map(Hooks::guarded);
    let wishes = Wishes { watched: names, decoy: decoy.clone(), guarded };
    let held = place.hold(&command, None).map_err(|error| places::failure(&error))?;
    let (observed, exit) = observe_held(held, wishes, (plan, control))?;
    let reports = hooks.as_mut().and_then(|hooks| hooks.reports().ok()).unwrap_or_default();
    Ok(ObservedRun { observed, exit, reports, decoy, watched: watched.to_vec(), ours })
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
) -> Result<(Observed, Option<Exit>), Failure> {
    let (pid, held, mut running) = match held.pid() {
        Some(pid) => (pid, Some(held), None),
        // There this program waits to be observed.
        None => {
            let running = held.start().map_err(|error| places::failure(&error))?;
            let ended =
                || Failure::refused("the container ended before it was observed".to_owned());
            let pid = running.pid().filter(|pid| is_held(*pid)).ok_or_else(ended)?;
            (pid, None, Some(running))
        }
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
        let started = match held {
            Some(held) => held.start().map(|started| running = Some(started)),
            None => {
                // One that is not observed, or cannot be released, waits and is ended.
                let _ = (!observing.is_finished()).then(|| release(pid));
                Ok(())
            }
        };
        // Not by waiting for the command: that would take the observer's reports of its stops.
        control.wait(plan.limit, &|| started.is_err() || observing.is_finished());
        let observed = joined(observing.join());
        let ended = match &started {
            Ok(()) => running.as_ref().map_or(Ok(None), end),
            Err(error) => Err(Failure::bad_input(chain(error)).hints(error.hints())),
        };
        let (exit, observed) = (ended?, observed?);
        if observed.processes.is_empty() {
            return Err(Failure::bad_input("the command was not executed".to_owned())
                .hint("Is its program in the container? Its message stands above"));
        }
        Ok((observed, exit))
    })
}

/// How a command ended by itself; none for one whose time is over, which is ended.
fn end(running: &Running) -> Result<Option<Exit>, Failure> {
    // The observer has seen its last instruction; what is left takes the kernel a moment.
    if let Ok(Some(exit)) = running.wait_at_most(MOST_ENDING) {
        return Ok(Some(exit));
    }
    let members = || {
        let pid = running.pid();
        pid.and_then(|pid| culprit_place::procfs::tree(pid).ok()).unwrap_or_default()
    };
    let ended = running.end(&members, crate::session::LAST_GRACE);
    ended.map(|_| None).map_err(|error| places::failure(&error))
}
